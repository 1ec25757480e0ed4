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
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "provider/segment/directory.h"
#include "source/segment/segment_file.h"
#include "source/source.h"

#define MOST_FILES 4096 /* of use; and as many that are of none */
#define MOST_TOLD 3     /* files that are of no use, named at one look */

/*
 * A file of a directory; also one that is of no use, so that it is complained about once. The latter
 * is closed: its inode number may pass to another file, so that its ctime is compared, too.
 */
struct segment {
	struct ks_seg_file file;
	uint32_t id; /* upper half of its kstats' cookies */
	dev_t dev;
	ino_t ino;
	struct timespec ctime; /* of one of no use: until it changes, it stays so */
	char *path;
	bool usable;
	bool told; /* what is wrong with it */
	bool seen;
};

/* What a path was at the last look; mtime 0 if there was nothing. */
struct watched {
	char *path;
	dev_t dev;
	ino_t ino;
	uid_t uid;
	struct timespec mtime;
};

struct segments {
	struct ks_source src;
	struct watched *watched;
	size_t nwatched, watched_cap;
	struct segment *seg;
	size_t n, cap;
	size_t nuseless; /* of the n */
	size_t useless;  /* that are not remembered, at the last look */
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
	size_t told, untold; /* files to complain about: named, and not */
	size_t useless;      /* as in struct segments */
};

/* --- files come and go --------------------------------------------------------------------------- */

static void
drop(struct segments *s, size_t i)
{
	s->nuseless -= !s->seg[i].usable;
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

/* A file is complained about once, until it is in order again; of many only the first are named. */
static void
complain(struct pass *p, struct segment *seg)
{
	if (seg->told)
		return;
	seg->told = true;
	if (p->told++ < MOST_TOLD)
		ks_scan_warn(p->scan, "%s", kstat_errmsg());
	else
		p->untold++;
}

/* A directory that is not to be trusted is complained about when a chain first looks at it. */
static void
complain_of_directory(struct pass *p)
{
	if (!p->s->scanned)
		ks_scan_warn(p->scan, "%s: its publications are not shown", kstat_errmsg());
}

/* One line for all files that were not named. */
static void
complain_of_others(struct pass *p)
{
	if (p->untold > 0)
		ks_scan_warn(p->scan, "%zu other file%s of published kstats cannot be read", p->untold,
		    p->untold == 1 ? "" : "s");
}

/* Whether there is room for one more, of use or not: what is of no use does not crowd out the others. */
static bool
has_room(struct pass *p, bool usable)
{
	struct segments *s = p->s;

	if ((usable ? s->n - s->nuseless : s->nuseless) < MOST_FILES)
		return true;
	if (usable)
		ks_scan_warn(p->scan, "%s: more than %d files of published kstats", s->seg[0].path, MOST_FILES);
	else
		p->useless++;
	return false;
}

/* NULL with errno ENOMEM; or E2BIG, and the file is not remembered. */
static struct segment *
add(struct pass *p, const struct ks_seg_dir *dir, const char *name, const char *path,
    const struct stat *st)
{
	struct segments *s = p->s;
	struct segment new = { .dev = st->st_dev, .ino = st->st_ino, .ctime = st->st_ctim }, *seg;
	int error;

	if (s->n == s->cap) {
		size_t cap = s->cap == 0 ? 8 : 2 * s->cap;

		seg = realloc(s->seg, cap * sizeof(*seg));
		if (seg == NULL)
			return ks_fail_null(ENOMEM, "out of memory for published kstats");
		s->seg = seg;
		s->cap = cap;
	}
	new.usable = ks_seg_file_open(&new.file, dir->fd, name, path) == 0;
	error = errno;
	if (!has_room(p, new.usable)) {
		ks_seg_file_close(&new.file);
		errno = E2BIG;
		return NULL;
	}
	new.path = strdup(path);
	if (new.path == NULL) {
		ks_seg_file_close(&new.file);
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	}
	new.id = ++s->last_id;
	s->nuseless += !new.usable;
	/* A directory of files that are of no use must not take all descriptors of the process. */
	if (!new.usable)
		ks_seg_file_close(&new.file);
	seg = &s->seg[s->n++];
	*seg = new;
	/* What one may not read is simply not there, as a PRIV segment of another user. */
	if (!seg->usable && error != EACCES && error != ENOENT)
		complain(p, seg);
	p->changed |= seg->usable;
	return seg;
}

static void
look_into(struct pass *p, struct segment *seg)
{
	int rc = seg->usable ? ks_seg_file_scan(&seg->file) : 0;

	p->changed |= rc != 0;
	if (rc < 0)
		complain(p, seg);
	else if (rc > 0)
		seg->told = false;
}

/* True if another file has the name, or this one may be of use now. */
static bool
is_another(const struct segment *seg, const struct stat *st)
{
	return seg->ino != st->st_ino || seg->dev != st->st_dev ||
	    (!seg->usable && (seg->ctime.tv_sec != st->st_ctim.tv_sec ||
	    seg->ctime.tv_nsec != st->st_ctim.tv_nsec));
}

static void
look_at(struct pass *p, const struct ks_seg_dir *dir, const char *name, const struct stat *st)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct segment *seg;

	(void)snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	seg = find_path(p->s, path);

	if (seg != NULL && is_another(seg, st)) {
		/* A new generation. */
		p->changed |= seg->usable;
		drop(p->s, (size_t)(seg - p->s->seg));
		seg = NULL;
	}
	if (seg == NULL)
		seg = add(p, dir, name, path, st);
	if (seg == NULL) {
		p->error = errno;
		return;
	}
	seg->seen = true;
	look_into(p, seg);
}

/* --- whether there is anything to look for --------------------------------------------------------- */

/*
 * Time stamps of files advance with the kernel's tick: a directory that changed this short a time
 * (ns) before it was looked at may change again without showing it.
 */
#define TICK 20000000

static void
forget_watched(struct segments *s)
{
	while (s->nwatched > 0)
		free(s->watched[--s->nwatched].path);
}

static void
look_at_watched(struct watched *w, struct stat *st)
{
	if (lstat(w->path, st) != 0)
		memset(st, 0, sizeof(*st));
}

/* Remembers what a path is now. Without memory nothing is remembered, and all is looked through. */
static int
watch(const char *path, void *arg)
{
	struct segments *s = arg;
	struct watched w = { .path = strdup(path) };
	struct timespec now;
	struct stat st;

	if (s->nwatched == s->watched_cap) {
		size_t cap = s->watched_cap == 0 ? 8 : 2 * s->watched_cap;
		struct watched *grown = realloc(s->watched, cap * sizeof(*grown));

		if (grown != NULL) {
			s->watched = grown;
			s->watched_cap = cap;
		}
	}
	if (w.path == NULL || s->nwatched == s->watched_cap) {
		free(w.path);
		forget_watched(s);
		return -1;
	}
	look_at_watched(&w, &st);
	w.dev = st.st_dev;
	w.ino = st.st_ino;
	w.uid = st.st_uid;
	w.mtime = st.st_mtim;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if ((now.tv_sec - w.mtime.tv_sec) * 1000000000LL + now.tv_nsec - w.mtime.tv_nsec < TICK)
		w.mtime.tv_nsec = -1; /* never equal */
	s->watched[s->nwatched++] = w;
	return 0;
}

/* True if every directory is as it was: the files in them are those that are known. */
static bool
nothing_came_or_went(struct segments *s)
{
	char own[PATH_MAX];
	const char *only = getenv("KSTAT_DIR");

	/* The first is the own directory, or the only one: it follows the environment. */
	if (s->nwatched == 0 || ks_seg_own_dir(own) != 0 || strcmp(own, s->watched[0].path) != 0 ||
	    (only != NULL && *only != '\0') != (s->nwatched == 1))
		return false;
	for (size_t i = 0; i < s->nwatched; i++) {
		const struct watched *w = &s->watched[i];
		struct stat st;

		look_at_watched(&s->watched[i], &st);
		if (st.st_dev != w->dev || st.st_ino != w->ino || st.st_uid != w->uid ||
		    st.st_mtim.tv_sec != w->mtime.tv_sec || st.st_mtim.tv_nsec != w->mtime.tv_nsec)
			return false;
	}
	return true;
}

/* --- listing ---------------------------------------------------------------------------------------- */

static int
scan_dir(const struct ks_seg_dir *dir, void *arg)
{
	struct pass *p = arg;
	DIR *d = dir->fd >= 0 ? ks_seg_dir_list(dir) : NULL;
	struct dirent *de;

	if (dir->fd < 0)
		complain_of_directory(p);
	while (d != NULL && (de = readdir(d)) != NULL) {
		struct stat st;

		if (ks_seg_name_length(de->d_name) > 0 &&
		    fstatat(dir->fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			look_at(p, dir, de->d_name, &st);
	}
	if (d != NULL)
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
			.flags = (uchar_t)(k->e.flags | (k->has_text ? KSTAT_FLAG_LONGSTRINGS : 0) |
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

/* Offers everything if anything changed. */
static int
finish(struct segments *s, struct pass *p)
{
	if (s->scanned && !p->changed)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->seg[i].usable && offer_all(&s->seg[i], p->scan) != 0)
			return -1;
	}
	s->scanned = true;
	return 1;
}

static int
segment_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct segments *s = (struct segments *)src;
	struct pass p = { .s = s, .scan = scan };

	if (nothing_came_or_went(s)) {
		for (size_t i = 0; i < s->n; i++)
			look_into(&p, &s->seg[i]);
		complain_of_others(&p);
		return finish(s, &p);
	}
	/* What changes after this look is seen at the next one. */
	forget_watched(s);
	(void)ks_seg_each_watched(watch, s);
	for (size_t i = 0; i < s->n; i++)
		s->seg[i].seen = false;
	(void)ks_seg_each_dir(scan_dir, &p);
	for (size_t i = s->n; i-- > 0; ) {
		if (!s->seg[i].seen) {
			p.changed |= s->seg[i].usable;
			drop(s, i);
		}
	}
	if (p.error == ENOMEM) {
		forget_watched(s);
		return ks_fail(ENOMEM, "out of memory for published kstats");
	}
	if (p.useless > s->useless)
		p.untold += p.useless - s->useless;
	s->useless = p.useless;
	complain_of_others(&p);
	return finish(s, &p);
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
	*pid = f->h.pid_space == ks_pid_space() ? f->h.creator_pid : 0;
	return s->publisher;
}

static void
segment_close(struct ks_source *src)
{
	struct segments *s = (struct segments *)src;

	while (s->n > 0)
		drop(s, s->n - 1);
	forget_watched(s);
	free(s->watched);
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
