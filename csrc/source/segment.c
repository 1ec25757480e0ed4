/*
 * segment.c - the kstats that processes of this host publish. The directories are looked through at
 * each update; files stay open. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "provider/segment_dir.h"
#include "source/segment_file.h"
#include "source/source.h"

#define MOST_FILES 4096

/* A file of a directory; also one that is of no use, so that it is complained about once. */
struct segment {
	struct ks_seg_file file;
	uint32_t id; /* upper half of its kstats' cookies */
	dev_t dev;
	ino_t ino;
	char *path;
	bool usable;
	bool seen;
};

struct segments {
	struct ks_source src;
	struct segment *seg;
	size_t n, cap;
	uint32_t last_id;
	bool scanned;
	struct ks_meta found; /* the answer to the last question about metadata */
	char publisher[NAME_MAX + 1]; /* and about who publishes */
};

struct pass {
	struct segments *s;
	struct ks_scan *scan;
	bool changed;
	int error;
};

/* --- files come and go --------------------------------------------------------------------------- */

static void
drop(struct segments *s, size_t i)
{
	ks_seg_file_close(&s->seg[i].file);
	free(s->seg[i].path);
	memmove(&s->seg[i], &s->seg[i + 1], (s->n - i - 1) * sizeof(s->seg[0]));
	s->n--;
}

static struct segment *
find_path(struct segments *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->seg[i].path, path) == 0)
			return &s->seg[i];
	}
	return NULL;
}

static struct segment *
add(struct pass *p, const char *path, const struct stat *st)
{
	struct segments *s = p->s;
	struct segment *seg;

	if (s->n == MOST_FILES) {
		ks_scan_warn(p->scan, "%s: more than %d files of published kstats", path, MOST_FILES);
		return NULL;
	}
	if (s->n == s->cap) {
		size_t cap = s->cap == 0 ? 8 : 2 * s->cap;

		seg = realloc(s->seg, cap * sizeof(*seg));
		if (seg == NULL)
			return ks_fail_null(ENOMEM, "out of memory for published kstats");
		s->seg = seg;
		s->cap = cap;
	}
	seg = &s->seg[s->n];
	memset(seg, 0, sizeof(*seg));
	seg->path = strdup(path);
	if (seg->path == NULL)
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	seg->id = ++s->last_id;
	seg->dev = st->st_dev;
	seg->ino = st->st_ino;
	s->n++;
	seg->usable = ks_seg_file_open(&seg->file, path) == 0;
	/* What one may not read is simply not there, as a PRIV segment of another user. */
	if (!seg->usable && errno != EACCES && errno != ENOENT)
		ks_scan_warn(p->scan, "%s", kstat_errmsg());
	p->changed |= seg->usable;
	return seg;
}

static void
look_at(struct pass *p, const char *path, const struct stat *st)
{
	struct segment *seg = find_path(p->s, path);
	int rc;

	if (seg != NULL && (seg->ino != st->st_ino || seg->dev != st->st_dev)) {
		/* Another file has the name: a new generation. */
		p->changed |= seg->usable;
		drop(p->s, (size_t)(seg - p->s->seg));
		seg = NULL;
	}
	if (seg == NULL)
		seg = add(p, path, st);
	if (seg == NULL) {
		p->error = errno;
		return;
	}
	seg->seen = true;
	if (!seg->usable)
		return;
	rc = ks_seg_file_scan(&seg->file);
	p->changed |= rc != 0;
	if (rc < 0)
		ks_scan_warn(p->scan, "%s", kstat_errmsg());
}

static int
scan_dir(const char *dir, void *arg)
{
	struct pass *p = arg;
	DIR *d = opendir(dir);
	struct dirent *de;

	if (d == NULL)
		return 0;
	while ((de = readdir(d)) != NULL) {
		char path[PATH_MAX];
		struct stat st;

		if (ks_seg_name_length(de->d_name) == 0 ||
		    snprintf(path, sizeof(path), "%s/%s", dir, de->d_name) >= (int)sizeof(path) ||
		    fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		look_at(p, path, &st);
	}
	(void)closedir(d);
	return 0;
}

/* --- the source -------------------------------------------------------------------------------------- */

static int
offer_all(const struct segment *seg, struct ks_scan *scan)
{
	for (size_t i = 0; i < seg->file.n; i++) {
		const struct ks_seg_kstat *k = &seg->file.kstat[i];
		const struct ks_offer o = {
			.module = k->e.module, .instance = k->e.instance, .name = k->e.name,
			.class_ = k->e.class_, .type = k->e.type,
			.flags = (uchar_t)(k->e.flags |
			    (ks_seg_is_statsblob(k) ? KSTAT_FLAG_STATSBLOB : 0) |
			    (ks_seg_is_dormant(&seg->file, k) ? KSTAT_FLAG_DORMANT : 0)),
			.crtime = k->e.crtime, .ndata = k->e.ndata,
			.cookie = (uint64_t)seg->id << 32 | (k->offset / KS_SEG_ALIGN)
		};

		if (ks_scan_offer(scan, &o) != 0)
			return -1;
	}
	return 0;
}

static int
segment_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct segments *s = (struct segments *)src;
	struct pass p = { .s = s, .scan = scan };

	for (size_t i = 0; i < s->n; i++)
		s->seg[i].seen = false;
	(void)ks_seg_each_dir(scan_dir, &p);
	for (size_t i = s->n; i-- > 0; ) {
		if (!s->seg[i].seen) {
			p.changed |= s->seg[i].usable;
			drop(s, i);
		}
	}
	if (p.error == ENOMEM)
		return ks_fail(ENOMEM, "out of memory for published kstats");
	if (s->scanned && !p.changed)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->seg[i].usable && offer_all(&s->seg[i], scan) != 0)
			return -1;
	}
	s->scanned = true;
	return 1;
}

static const struct ks_seg_kstat *
find(struct segments *s, uint64_t cookie, struct ks_seg_file **f)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->seg[i].id == cookie >> 32) {
			*f = &s->seg[i].file;
			return ks_seg_file_find(*f, (cookie & UINT32_MAX) * KS_SEG_ALIGN);
		}
	}
	return NULL;
}

static int
segment_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct ks_seg_file *f = NULL;
	const struct ks_seg_kstat *k = find((struct segments *)src, cookie, &f);

	if (k == NULL)
		return ks_fail(ENXIO, "%s:%d:%s is no longer published", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	return ks_seg_kstat_read(f, k, r);
}

static int
segment_write(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const void *data)
{
	struct ks_seg_file *f = NULL;
	const struct ks_seg_kstat *k = find((struct segments *)src, cookie, &f);

	if (k == NULL)
		return ks_fail(ENXIO, "%s:%d:%s is no longer published", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	return ks_seg_kstat_write(f, k, data, ksp->ks_ndata);
}

static const struct ks_meta *
segment_meta(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const char *stat)
{
	struct segments *s = (struct segments *)src;
	struct ks_seg_file *f = NULL;
	const struct ks_seg_kstat *k = find(s, cookie, &f);

	(void)ksp;
	for (uint32_t i = 0; k != NULL && i < k->e.nfields; i++) {
		const struct ks_seg_field *field = &k->fields[i];

		if (strcmp(field->name, stat) != 0)
			continue;
		if (field->kind > KS_KIND_TIME)
			return NULL; /* its publisher did not describe it */
		s->found = (struct ks_meta){ .stat = field->name, .kind = field->kind,
			.type = field->md_type, .flags = field->md_flags, .scale = field->scale,
			.unit = k->strings + field->unit, .desc = k->strings + field->desc };
		return &s->found;
	}
	return NULL;
}

static const char *
segment_publisher(struct ks_source *src, uint64_t cookie, uint32_t *pid)
{
	struct segments *s = (struct segments *)src;
	struct ks_seg_file *f = NULL;
	const char *file;

	if (find(s, cookie, &f) == NULL)
		return NULL;
	/* The name of the file is the publication's; what the file says of itself need not be true. */
	file = strrchr(f->path, '/');
	file = file != NULL ? file + 1 : f->path;
	(void)snprintf(s->publisher, sizeof(s->publisher), "%.*s", (int)ks_seg_name_length(file), file);
	*pid = f->h.pid_space == ks_seg_pid_space() ? f->h.creator_pid : 0;
	return s->publisher;
}

static void
segment_close(struct ks_source *src)
{
	struct segments *s = (struct segments *)src;

	while (s->n > 0)
		drop(s, s->n - 1);
	free(s->seg);
	free(s);
}

static const struct ks_source_ops segment_ops = {
	.name = "segment",
	.scan = segment_scan,
	.read = segment_read,
	.write = segment_write,
	.meta = segment_meta,
	.publisher = segment_publisher,
	.close = segment_close
};

struct ks_source *
ks_source_segment_open(void)
{
	struct segments *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	s->src.ops = &segment_ops;
	return &s->src;
}
