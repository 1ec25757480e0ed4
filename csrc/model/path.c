/*
 * path.c - the paths and URIs of kstat2, as names of kstat(3KSTAT): kstat2_parse_path() and
 * kstat2_parse_uri() of kstat2.h. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "kstat2.h"

struct segment {
	const char *s;
	size_t n;
};

static bool
as_instance(const struct segment *seg, int *instance)
{
	const char *p = seg->s;
	uint64_t v;

	if (ks_scan_u64(&p, seg->s + seg->n, &v) != 0 || p != seg->s + seg->n || v > INT32_MAX)
		return false;
	*instance = (int)v;
	return true;
}

static int
copy(char to[KSTAT_STRLEN], const struct segment *seg)
{
	if (seg->n == 0 || seg->n >= KSTAT_STRLEN)
		return ks_fail(EINVAL, "kstat path: a segment has 1 to %d bytes, not '%.*s'",
		    KSTAT_STRLEN - 1, seg->n > 64 ? 64 : (int)seg->n, seg->s);
	memcpy(to, seg->s, seg->n);
	to[seg->n] = '\0';
	return 0;
}

static int
assemble(const struct segment *seg, size_t n, kstat2_path_t *path)
{
	size_t name = n - 1;

	memset(path, 0, sizeof(*path));
	if (n != 3 && n != 4)
		return ks_fail(EINVAL, "kstat path: class, module, instance and name are needed");
	/* If both are numbers the last one is the instance, as in "cpu_info/1". */
	if (n == 4 && as_instance(&seg[3], &path->p_instance))
		name = 2;
	else if (n == 4 && !as_instance(&seg[2], &path->p_instance))
		return ks_fail(EINVAL, "kstat path: one of the last two segments is the instance, "
		    "a number");
	if (copy(path->p_class, &seg[0]) != 0 || copy(path->p_module, &seg[1]) != 0)
		return -1;
	return copy(path->p_name, &seg[name]);
}

int
kstat2_parse_path(const char *const ks_pseg[], uint32_t ks_npseg, kstat2_path_t *path)
{
	struct segment seg[4];

	if (ks_pseg == NULL || path == NULL || ks_npseg > 4)
		return ks_fail(EINVAL, "kstat path: class, module, instance and name are needed");
	for (uint32_t i = 0; i < ks_npseg; i++) {
		if (ks_pseg[i] == NULL)
			return ks_fail(EINVAL, "kstat path: segment %u is missing", i);
		seg[i] = (struct segment){ ks_pseg[i], strlen(ks_pseg[i]) };
	}
	return assemble(seg, ks_npseg, path);
}

int
kstat2_parse_uri(const char *uri, kstat2_path_t *path)
{
	static const char scheme[] = "kstat:";
	struct segment seg[4];
	size_t n = 0;

	if (uri == NULL || path == NULL)
		return ks_fail(EINVAL, "no URI given");
	if (strncmp(uri, scheme, sizeof(scheme) - 1) == 0)
		uri += sizeof(scheme) - 1;
	if (*uri != '/')
		return ks_fail(EINVAL, "'%.80s' is not a URI such as kstat:/misc/my_drv/1/data_in", uri);
	while (*uri == '/') {
		if (n == 4)
			return ks_fail(EINVAL, "kstat path: more than four segments");
		seg[n].s = ++uri;
		uri += strcspn(uri, "/");
		seg[n].n = (size_t)(uri - seg[n].s);
		n++;
	}
	return assemble(seg, n, path);
}
