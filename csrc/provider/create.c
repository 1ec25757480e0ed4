/* create.c - creating kstats, and the names of their statistics. See provider.h. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/histstat.h"
#include "model/meta.h"
#include "provider/provider.h"

#define KNOWN_FLAGS (KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_WRITABLE | \
    KSTAT_FLAG_PERSISTENT | KSTAT_FLAG_INVALID | KSTAT_FLAG_LONGSTRINGS)

/* NULL is the empty name. */
static void
set_name(char to[KSTAT_STRLEN], const char *from)
{
	memset(to, 0, KSTAT_STRLEN);
	if (from != NULL)
		memcpy(to, from, strnlen(from, KSTAT_STRLEN - 1));
}

/* The size of the data section; 0 for success, or -1 with EINVAL. */
static int
data_size(uchar_t type, uint_t ndata, bool var_size, size_t *size)
{
	static const struct {
		const char *name;
		size_t size;
		bool one;
	} types[KSTAT_NUM_TYPES] = {
		{ "RAW", 1, false },
		{ "NAMED", sizeof(kstat_named_t), false },
		{ "INTR", sizeof(kstat_intr_t), true },
		{ "IO", sizeof(kstat_io_t), true },
		{ "TIMER", sizeof(kstat_timer_t), false }
	};

	if (type >= KSTAT_NUM_TYPES)
		return ks_fail(EINVAL, "there is no kstat type %d", type);
	if (types[type].one && ndata != 1)
		return ks_fail(EINVAL, "a kstat of type %s has one data record, not %u", types[type].name,
		    ndata);
	if (ndata == 0 && type != KSTAT_TYPE_NAMED && !var_size)
		return ks_fail(EINVAL, "a kstat of type %s has at least one data record",
		    types[type].name);
	if (ndata > (1u << 30) / types[type].size)
		return ks_fail(EINVAL, "%u data records of type %s are too many", ndata,
		    types[type].name);
	*size = ndata * types[type].size;
	return 0;
}

static int
check_flags(unsigned flags)
{
	if ((flags & ~(unsigned)KNOWN_FLAGS) != 0)
		return ks_fail(EINVAL, "kstat flags 0x%x are not for kstat_create()",
		    flags & ~(unsigned)KNOWN_FLAGS);
	if ((flags & KSTAT_FLAG_PERSISTENT) && (flags & KSTAT_FLAG_VIRTUAL))
		return ks_fail(EINVAL, "a PERSISTENT kstat cannot be VIRTUAL: its data outlives the provider");
	if ((flags & KSTAT_FLAG_VAR_SIZE) && !(flags & KSTAT_FLAG_VIRTUAL))
		return ks_fail(EINVAL, "a VAR_SIZE kstat must be VIRTUAL: the provider supplies its data");
	return 0;
}

struct ks_provider *
ks_provider_new(const char *module, int instance, const char *name, const char *class_,
    uchar_t type, uint_t ndata, unsigned flags)
{
	struct ks_provider *p;
	size_t size = 0;
	char generated[KSTAT_STRLEN + 16];

	if (module == NULL || *module == '\0' || class_ == NULL || instance < 0)
		return ks_fail_null(EINVAL, "a kstat needs a module, a class and an instance from 0 on");
	if (data_size(type, ndata, (flags & KSTAT_FLAG_VAR_SIZE) != 0, &size) != 0 ||
	    check_flags(flags) != 0)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a kstat");
	if (name == NULL || *name == '\0') {
		(void)snprintf(generated, sizeof(generated), "%.30s%d", module, instance);
		name = generated;
	}
	set_name(p->ks.ks_module, module);
	set_name(p->ks.ks_name, name);
	set_name(p->ks.ks_class, class_);
	p->ks.ks_instance = instance;
	p->ks.ks_type = type;
	p->ks.ks_flags = (uchar_t)(flags | KSTAT_FLAG_INVALID);
	p->ks.ks_ndata = ndata;
	p->ks.ks_data_size = size;
	p->ks.ks_crtime = gethrtime();
	return p;
}

static void
free_histogram(struct ks_histogram *h, bool owns_counts)
{
	if (owns_counts)
		free(h->place.hist);
	for (size_t i = 0; i < h->nlabels; i++)
		free(h->labels[i].value);
	free(h->labels);
	free(h);
}

void
ks_provider_free(struct ks_provider *p)
{
	ks_provider_forget_described(p);
	if (p->histogram != NULL)
		free_histogram(p->histogram, p->published == NULL);
	free(p->blob);
	if (p->owns_data)
		free(p->ks.ks_data);
	free(p->desc);
	free(p);
}

uint64_t
ks_md_unit_ns(const kstat2_md_t *md)
{
	uint64_t scale = md->md_scale == 0 ? 1 : md->md_scale, ns;

	if (md->md_type != KSTAT2_NVMT_T_REL)
		return 0;
	if (md->md_flags & KSTAT2_NVMF_FRACT)
		return KS_NANOSEC % scale == 0 ? KS_NANOSEC / scale : 0;
	return __builtin_mul_overflow(scale, KS_NANOSEC, &ns) ? 0 : ns;
}

struct ks_provider *
ks_histogram_new(const kstat2_path_t *path, kstat2_nv_hist_type_t type, uint64_t range_min,
    uint64_t range_max, uint64_t stepping, const kstat2_md_t *md, uint32_t ks_flags,
    kstat2_metaflag_t ks_mflags)
{
	struct ks_hist_layout layout;
	struct ks_provider *p;

	if ((ks_flags & ~(KSTAT2_FLAG_PERSISTENT | KSTAT2_FLAG_GZ_VIS)) != 0)
		return ks_fail_null(EINVAL, "kstat2 flags 0x%x are not for a histogram", ks_flags);
	if ((ks_mflags & ~(KSTAT2_MF_STABLE | KSTAT2_MF_PRIV)) != 0)
		return ks_fail_null(EINVAL, "there are no kstat2 meta-flags 0x%x", ks_mflags);
	if (ks_hist_layout_init(&layout, type, range_min, range_max, stepping) != 0)
		return NULL;
	p = ks_provider_new(path->p_module, path->p_instance, path->p_name, path->p_class,
	    KSTAT_TYPE_NAMED, KS_HISTSTAT_VALUES, ks_flags & KSTAT_FLAG_PERSISTENT);
	if (p == NULL)
		return NULL;
	p->mflags = ks_mflags;
	p->histogram = calloc(1, sizeof(*p->histogram));
	p->desc = md->md_desc != NULL ? strdup(md->md_desc) : NULL;
	if (p->histogram == NULL || (md->md_desc != NULL && p->desc == NULL)) {
		ks_provider_free(p);
		return ks_fail_null(ENOMEM, "out of memory for a histogram");
	}
	p->histogram->layout = layout;
	p->histogram->place.n = layout.n;
	p->histogram->unit_ns = ks_md_unit_ns(md);
	if (ks_provider_describe(p, "buckets", md) != 0) {
		ks_provider_free(p);
		return NULL;
	}
	return p;
}

/* --- named values and timers ----------------------------------------------------------------- */

void
kstat_named_init(kstat_named_t *knp, const char *name, uchar_t data_type)
{
	if (knp == NULL)
		return;
	memset(knp, 0, sizeof(*knp));
	set_name(knp->name, name);
	knp->data_type = data_type;
}

static int
set_reference(kstat_named_t *knp, uchar_t data_type, const void *src, size_t size)
{
	if (knp == NULL || knp->data_type != data_type)
		return ks_fail(EINVAL, "%s: the statistic has another type", knp == NULL ? "" : knp->name);
	if (size > UINT32_MAX / 2)
		return ks_fail(EINVAL, "%s: %zu bytes are too many", knp->name, size);
	memcpy(&knp->value.string.addr.ptr, &src, sizeof(src));
	knp->value.string.len = (uint32_t)size;
	return 0;
}

int
kstat_named_setstr(kstat_named_t *knp, const char *src)
{
	return set_reference(knp, KSTAT_DATA_STRING, src, src == NULL ? 0 : strlen(src) + 1);
}

int
kstat_named_setints(kstat_named_t *knp, const uint64_t *src, size_t n)
{
	if (n > UINT32_MAX / 2 / sizeof(*src))
		return ks_fail(EINVAL, "%zu numbers are too many", n);
	return set_reference(knp, KSTAT_DATA_INTS, src, n * sizeof(*src));
}

int
kstat_named_setstrs(kstat_named_t *knp, const char *src, size_t size)
{
	return set_reference(knp, KSTAT_DATA_STRS, src, size);
}

void
kstat_timer_init(kstat_timer_t *kt, const char *name)
{
	if (kt == NULL)
		return;
	memset(kt, 0, sizeof(*kt));
	set_name(kt->name, name);
}

static int
compare(const void *a, const void *b)
{
	return strncmp(*(const char *const *)a, *(const char *const *)b, KSTAT_STRLEN);
}

/* The names that records of `size` bytes begin with, but for empty ones; how many there are. */
static size_t
collect(const char **name, const char *data, size_t size, uint_t n)
{
	size_t found = 0;

	for (uint_t i = 0; i < n; i++) {
		if (data[i * size] != '\0')
			name[found++] = data + i * size;
	}
	return found;
}

int
ks_provider_check_names(const struct ks_provider *p)
{
	const kstat_t *k = &p->ks;
	size_t size = k->ks_type == KSTAT_TYPE_NAMED ? sizeof(kstat_named_t) : sizeof(kstat_timer_t);
	const char **name, *twice = NULL, *taken = NULL;
	size_t n;

	_Static_assert(offsetof(kstat_named_t, name) == 0 && offsetof(kstat_timer_t, name) == 0,
	    "records begin with their names");
	/*
	 * Where a snapshot function fills the copy, or an update function changes the size, ks_data need not hold
	 * records before the first read.
	 */
	if ((k->ks_type != KSTAT_TYPE_NAMED && k->ks_type != KSTAT_TYPE_TIMER) || k->ks_data == NULL ||
	    k->ks_ndata == 0 || k->ks_snapshot != NULL || (k->ks_flags & KSTAT_FLAG_VAR_SIZE))
		return 0;
	name = malloc(k->ks_ndata * sizeof(*name));
	if (name == NULL)
		return ks_fail(ENOMEM, "out of memory for the names of %u statistics", k->ks_ndata);
	n = collect(name, k->ks_data, size, k->ks_ndata);
	qsort(name, n, sizeof(*name), compare);
	for (size_t i = 1; i < n && twice == NULL; i++)
		twice = compare(&name[i - 1], &name[i]) == 0 ? name[i] : NULL;
	for (size_t i = 0; i < n && k->ks_type == KSTAT_TYPE_NAMED && taken == NULL; i++)
		taken = name[i][KSTAT_STRLEN - 1] == '\0' && ks_meta_is_header(name[i]) ? name[i] : NULL;
	free(name);
	if (taken != NULL)
		return ks_fail(EINVAL, "%s:%d:%s: no statistic can be named '%s', which each kstat has", k->ks_module,
		    k->ks_instance, k->ks_name, taken);
	if (twice != NULL)
		return ks_fail(EINVAL, "%s:%d:%s: more than one statistic is named '%.*s'", k->ks_module,
		    k->ks_instance, k->ks_name, KSTAT_STRLEN, twice);
	return 0;
}
