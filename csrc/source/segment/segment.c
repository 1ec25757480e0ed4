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
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/table.h"
#include "provider/segment/directory.h"
#include "source/segment/segment_file.h"
#include "source/source.h"

#define MOST_FILES 4096 /* of use; and as many that are of none */
#define MOST_NAMES 16384 /* looked at in one directory */
#define MOST_TOLD 3     /* files that are of no use, named at one look */

/*
 * What publications may cost. This user and root are trusted; a stranger has a share, and all strangers together no
 * more than four, however many user IDs one person has. Descriptors are shares of what the process may open, so
 * that enough of them are left for the machine's own kstats.
 */
#define TRUSTED_BYTES (256u << 20)
#define STRANGER_BYTES (16u << 20)
#define STRANGER_FILES 64
#define STRANGER_LOOKS 65536            /* entries, in one update */
#define LOOKS_OF_A_FILE 32              /* what a name in a directory costs */
#define STRANGER_PATIENCE 200000000LL   /* ns in one update */
#define STRANGERS 4

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
	bool trusted; /* it belongs to this user or to root */
};

/* A user who publishes. */
struct publisher {
	struct ks_seg_budget budget;
	uid_t uid;
	const char *cut;     /* what there was no room for at the last look, or NULL */
	bool told;           /* that it was cut */
	bool hidden, told_hidden; /* some names were already taken */
	struct publisher *next;
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
	struct ks_seg_budget all, strangers; /* of all publications; of those of strangers */
	struct publisher *publishers;
	struct ks_table trusted; /* names of kstats of trusted publishers, as at the last offer */
	const struct ks_seg_kstat **named; /* by slot */
	size_t nnamed, named_cap;
	struct ks_meta found; /* the answer to the last question about metadata */
	size_t found_kstat;   /* of which kstat of its file, and of which of its statistics, that was */
	uint32_t found_field;
	char publisher[NAME_MAX + 1]; /* and about who publishes */
};

struct pass {
	struct segments *s;
	struct ks_scan *scan;
	bool changed;
	bool lacked;  /* descriptors or memory: some files could not be looked at */
	bool no_memory; /* to remember them */
	size_t told, untold; /* files to complain about: named, and not */
	size_t useless;      /* as in struct segments */
};

/* --- what publishers may cost ---------------------------------------------------------------------- */

static bool
is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static void
open_budgets(struct segments *s)
{
	struct rlimit rl;
	uint64_t files = getrlimit(RLIMIT_NOFILE, &rl) == 0 ? (uint64_t)rl.rlim_cur : 1024;

	s->all = (struct ks_seg_budget){ .most_files = files / 2, .most_bytes = UINT64_MAX,
		.most_looks = UINT64_MAX, .most_patience = INT64_MAX };
	s->strangers = (struct ks_seg_budget){ .whole = &s->all, .most_files = files / 4,
		.most_bytes = (uint64_t)STRANGERS * STRANGER_BYTES, .most_looks = STRANGERS * STRANGER_LOOKS,
		.most_patience = STRANGERS * STRANGER_PATIENCE };
}

/* Finds the user or adds one; NULL with errno ENOMEM. */
static struct publisher *
find_publisher(struct segments *s, uid_t uid)
{
	struct publisher *p = s->publishers;

	while (p != NULL && p->uid != uid)
		p = p->next;
	if (p != NULL)
		return p;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	p->uid = uid;
	p->budget = (struct ks_seg_budget){ .whole = &s->all, .most_files = MOST_FILES,
		.most_bytes = TRUSTED_BYTES, .most_looks = UINT64_MAX, .most_patience = INT64_MAX };
	if (!is_trusted(uid))
		p->budget = (struct ks_seg_budget){ .whole = &s->strangers, .most_files = STRANGER_FILES,
			.most_bytes = STRANGER_BYTES, .most_looks = STRANGER_LOOKS,
			.most_patience = STRANGER_PATIENCE };
	p->budget.patience = p->budget.most_patience;
	p->next = s->publishers;
	s->publishers = p;
	return p;
}

static void
start_pass(struct ks_seg_budget *b)
{
	b->looks = 0;
	b->patience = b->most_patience;
}

/* What is counted for each pass starts again; `all`: the files will be looked for again, too. */
static void
start_budgets(struct segments *s, bool all)
{
	start_pass(&s->all);
	start_pass(&s->strangers);
	for (struct publisher *p = s->publishers; p != NULL; p = p->next) {
		start_pass(&p->budget);
		if (all)
			p->cut = NULL;
	}
}

/* One line for each user whose publications were cut, until they no longer are. */
static void
complain_of_users(struct segments *s, struct ks_scan *scan)
{
	for (struct publisher *p = s->publishers; p != NULL; p = p->next) {
		const char *cut = p->cut;

		for (size_t i = 0; i < s->n && cut == NULL; i++) {
			if (s->seg[i].file.budget == &p->budget)
				cut = s->seg[i].file.cut;
		}
		if (cut != NULL && !p->told)
			ks_scan_warn(scan, "the publications of user %lu were cut: too many %s%s",
			    (unsigned long)p->uid, strcmp(cut, "memory") == 0 ? "bytes of " : "", cut);
		p->told = cut != NULL;
		if (p->hidden && !p->told_hidden)
			ks_scan_warn(scan, "kstats of user %lu are not shown: their names are those of this user's "
			    "or root's", (unsigned long)p->uid);
		p->told_hidden = p->hidden;
	}
}

/* --- files come and go --------------------------------------------------------------------------- */

static void
drop(struct segments *s, size_t i)
{
	struct ks_seg_budget *b = s->seg[i].file.budget;

	s->nuseless -= !s->seg[i].usable;
	ks_seg_file_close(&s->seg[i].file);
	if (b != NULL)
		ks_seg_budget_give_back(b, 1, 0);
	/* Others of that user that were cut may have room now. */
	for (size_t k = 0; k < s->n && b != NULL; k++) {
		if (s->seg[k].file.budget == b && s->seg[k].file.cut != NULL)
			s->seg[k].file.scanned = false;
	}
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

/* A lack of descriptors or memory is complained about in each pass, since the next one looks again. */
static void
complain_of_lack(struct pass *p)
{
	if (!p->lacked)
		ks_scan_damage(p->scan, "%s: some publications are not shown", kstat_errmsg());
	p->lacked = true;
}

/* A file is complained about once, until it is in order again; of many only the first are named. */
static void
complain(struct pass *p, struct segment *seg)
{
	if (ks_is_lack(errno)) {
		complain_of_lack(p);
		return;
	}
	if (seg->told)
		return;
	seg->told = true;
	if (p->told++ < MOST_TOLD)
		ks_scan_warn(p->scan, "%s", kstat_errmsg());
	else
		p->untold++;
}

/* One line for all files that were not named. */
static void
complain_of_others(struct pass *p)
{
	if (p->untold > 0)
		ks_scan_warn(p->scan, "%zu other file%s of published kstats cannot be read", p->untold,
		    p->untold == 1 ? "" : "s");
}

/* Whether one more that is of no use is remembered: these do not crowd out the others. */
static bool
has_room(struct pass *p, bool usable)
{
	if (usable || p->s->nuseless < MOST_FILES)
		return true;
	p->useless++;
	return false;
}

/*
 * Opens the file, if its user may have another one open. 0, with errno if it is of no use; or -1 with errno: E2BIG,
 * one too many, or a lack, after which it may be of use another time.
 */
static int
open_segment(struct pass *p, struct segment *new, const struct ks_seg_dir *dir, const char *name,
    const char *path, uid_t uid)
{
	struct publisher *user = find_publisher(p->s, uid);
	int error;

	new->file.fd = -1;
	if (user == NULL)
		return -1;
	new->trusted = is_trusted(uid);
	if (!KS_SEG_TAKE(&user->budget, files, 1)) {
		user->cut = "files";
		return ks_fail(E2BIG, "%s: too many files", path);
	}
	new->usable = ks_seg_file_open(&new->file, dir->fd, name, path) == 0;
	if (new->usable) {
		new->file.budget = &user->budget;
		return 0;
	}
	error = errno;
	ks_seg_file_close(&new->file);
	ks_seg_budget_give_back(&user->budget, 1, 0);
	errno = error;
	return ks_is_lack(error) ? -1 : 0;
}

/* NULL with errno as above, or ENOMEM: the file is not remembered. */
static struct segment *
add(struct pass *p, const struct ks_seg_dir *dir, const char *name, const char *path,
    const struct stat *st)
{
	struct segments *s = p->s;
	struct segment new = { .dev = st->st_dev, .ino = st->st_ino, .ctime = st->st_ctim }, *seg;
	int error;

	if (!KS_RESERVE(s->seg, s->cap, s->n + 1))
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	if (open_segment(p, &new, dir, name, path, st->st_uid) != 0)
		return NULL;
	error = errno;
	new.path = has_room(p, new.usable) ? strdup(path) : NULL;
	if (new.path == NULL) {
		error = new.usable || s->nuseless < MOST_FILES ? ENOMEM : E2BIG;
		ks_seg_budget_give_back(new.file.budget, 1, 0);
		ks_seg_file_close(&new.file);
		errno = error;
		return NULL;
	}
	new.id = ++s->last_id;
	s->nuseless += !new.usable;
	seg = &s->seg[s->n++];
	*seg = new;
	/* What one may not read is simply not there, as a PRIV segment of another user. */
	if (!seg->usable && error != EACCES && error != ENOENT)
		complain(p, seg);
	return seg;
}

static void
look_into(struct pass *p, struct segment *seg)
{
	int rc = seg->usable ? ks_seg_file_scan(&seg->file, p->scan) : 0;

	p->changed |= rc != 0;
	if (rc < 0 && ks_is_lack(errno))
		seg->file.scanned = false;
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
		if (ks_is_lack(errno))
			complain_of_lack(p);
		p->no_memory |= errno == ENOMEM;
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

	if (w.path == NULL || !KS_RESERVE(s->watched, s->watched_cap, s->nwatched + 1)) {
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

/* Files of a directory, or of those below it, that cannot be listed now are what they were. */
static void
keep_files(struct pass *p, const char *dir)
{
	size_t n = strlen(dir);

	for (size_t i = 0; i < p->s->n; i++) {
		struct segment *seg = &p->s->seg[i];

		if (!seg->seen && strncmp(seg->path, dir, n) == 0 && seg->path[n] == '/') {
			seg->seen = true;
			look_into(p, seg);
		}
	}
}

/* Complains that a directory, or the rest of it, could not be opened or listed. */
static void
list_failed(struct pass *p, const struct ks_seg_dir *dir)
{
	if (dir->fd >= 0)
		(void)ks_fail(errno, "cannot list %s: %s", dir->path, strerror(errno));
	if (ks_is_lack(errno)) {
		complain_of_lack(p);
		keep_files(p, dir->path);
	} else if (dir->fd >= 0) {
		ks_scan_damage(p->scan, "%s", kstat_errmsg());
	} else if (!p->s->scanned) {
		/* One that is not to be trusted is complained about when a chain first looks at it. */
		ks_scan_warn(p->scan, "%s: its publications are not shown", kstat_errmsg());
	}
}

static struct dirent *
next_entry(struct pass *p, const struct ks_seg_dir *dir, DIR *d)
{
	struct dirent *de;

	errno = 0;
	de = readdir(d);
	if (de == NULL && errno != 0)
		list_failed(p, dir);
	return de;
}

/* Takes what one more file of a user costs, also one that is of no use, from the user's budget. */
static bool
may_look_at(struct pass *p, uid_t uid)
{
	struct publisher *user = find_publisher(p->s, uid);

	if (user == NULL) {
		p->no_memory = true;
		return false;
	}
	if (KS_SEG_TAKE(&user->budget, looks, LOOKS_OF_A_FILE))
		return true;
	user->cut = "files";
	return false;
}

static int
scan_dir(const struct ks_seg_dir *dir, void *arg)
{
	struct pass *p = arg;
	DIR *d = dir->fd >= 0 ? ks_seg_dir_list(dir) : NULL;
	struct dirent *de;

	if (d == NULL)
		list_failed(p, dir);
	for (int i = 0; d != NULL && i < MOST_NAMES && (de = next_entry(p, dir, d)) != NULL; i++) {
		struct stat st;

		if (ks_seg_name_length(de->d_name) > 0 &&
		    fstatat(dir->fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		    may_look_at(p, st.st_uid))
			look_at(p, dir, de->d_name, &st);
	}
	if (d != NULL)
		(void)closedir(d);
	return 0;
}

/* --- the source -------------------------------------------------------------------------------------- */

static uint64_t
name_hash(const struct ks_seg_kstat *k)
{
	return ks_hash_string(ks_hash_string(KS_HASH_INIT, k->e.module), k->e.name) ^ (uint32_t)k->e.instance;
}

static bool
has_name(const void *things, uint32_t slot, const void *key)
{
	const struct ks_seg_entry *a = &((const struct ks_seg_kstat *const *)things)[slot]->e;
	const struct ks_seg_entry *b = &((const struct ks_seg_kstat *)key)->e;

	return a->instance == b->instance && strcmp(a->name, b->name) == 0 && strcmp(a->module, b->module) == 0;
}

static bool
is_named(const struct segments *s, const struct ks_seg_kstat *k)
{
	return ks_table_find(&s->trusted, name_hash(k), has_name, s->named, k) != KS_NO_SLOT;
}

/* Remembers the names that strangers cannot have. 0, or -1 with errno ENOMEM. */
static int
remember_name(struct segments *s, const struct ks_seg_kstat *k)
{
	if (is_named(s, k))
		return 0;
	if (!KS_RESERVE(s->named, s->named_cap, s->nnamed + 1) ||
	    !ks_table_add(&s->trusted, name_hash(k), (uint32_t)s->nnamed))
		return ks_fail(ENOMEM, "out of memory for published kstats");
	s->named[s->nnamed++] = k;
	return 0;
}

/* The size of the data section before the first read, with all the room that texts have. */
static size_t
data_size(const struct ks_seg_kstat *k)
{
	size_t size = k->e.ndata * sizeof(kstat_named_t), room = 0;

	switch (k->e.type) {
	case KSTAT_TYPE_RAW:
		return k->e.ndata;
	case KSTAT_TYPE_INTR:
		return sizeof(kstat_intr_t);
	case KSTAT_TYPE_IO:
		return sizeof(kstat_io_t);
	case KSTAT_TYPE_TIMER:
		return k->e.ndata * sizeof(kstat_timer_t);
	default:
		break;
	}
	if (k->e.form == KS_FORM_COUNTS)
		return size + k->hist.n * sizeof(uint64_t);
	for (uint32_t i = 0; i < k->e.nfields; i++) {
		if (k->fields[i].storage == KS_STORE_RECORD)
			room += ks_named_room(k->fields[i].size);
	}
	/* A file may say that all texts are in the same place. */
	return size + (room < k->e.data_size ? room : k->e.data_size);
}

static uint_t
count_foreign(const struct ks_seg_kstat *k)
{
	uint_t n = k->e.form == KS_FORM_COUNTS; /* the buckets */

	for (uint32_t i = 0; k->e.form == KS_FORM_FIELDS && k->e.type == KSTAT_TYPE_NAMED && i < k->e.nfields; i++)
		n += ks_named_is_foreign((uchar_t)k->fields[i].data_type);
	return n;
}

static int
offer_all(struct segments *s, const struct segment *seg, struct ks_scan *scan)
{
	for (size_t i = 0; i < seg->file.n; i++) {
		const struct ks_seg_kstat *k = &seg->file.kstat[i];
		bool is_blob = ks_seg_is_statsblob(k); /* what its statistics take is known from a read */
		const struct ks_offer o = {
			.module = k->e.module, .instance = k->e.instance, .name = k->e.name,
			.class_ = k->e.class_, .type = k->e.type,
			.flags = (uchar_t)(k->e.flags | (k->has_text ? KSTAT_FLAG_LONGSTRINGS : 0) |
			    (is_blob ? KSTAT_FLAG_STATSBLOB : 0) |
			    (ks_seg_is_dormant(&seg->file, k) ? KSTAT_FLAG_DORMANT : 0)),
			.crtime = k->e.crtime, .ndata = is_blob ? 0 : k->e.ndata,
			.data_size = is_blob ? 0 : data_size(k), .nforeign = count_foreign(k),
			.cookie = (uint64_t)seg->id << 32 | (k->offset / KS_SEG_ALIGN)
		};

		if (!seg->trusted && is_named(s, k)) {
			((struct publisher *)(void *)seg->file.budget)->hidden = true;
			continue;
		}
		if ((seg->trusted && remember_name(s, k) != 0) || ks_scan_offer(scan, &o) != 0)
			return -1;
	}
	return 0;
}

/* Offers everything if anything changed: what this user and root publish comes first. */
static int
finish(struct segments *s, struct pass *p)
{
	int rc = 0;

	if (!s->scanned || p->changed) {
		ks_table_clear(&s->trusted);
		s->nnamed = 0;
		for (struct publisher *user = s->publishers; user != NULL; user = user->next)
			user->hidden = false;
		for (int trusted = 1; trusted >= 0 && rc == 0; trusted--) {
			for (size_t i = 0; i < s->n && rc == 0; i++) {
				if (s->seg[i].usable && s->seg[i].trusted == (trusted == 1))
					rc = offer_all(s, &s->seg[i], p->scan);
			}
		}
		s->scanned = true;
		rc = rc == 0 ? 1 : -1;
	}
	complain_of_users(s, p->scan);
	return rc;
}

static int
segment_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct segments *s = (struct segments *)src;
	struct pass p = { .s = s, .scan = scan };

	start_budgets(s, false);
	if (nothing_came_or_went(s)) {
		for (size_t i = 0; i < s->n; i++)
			look_into(&p, &s->seg[i]);
		complain_of_others(&p);
		return finish(s, &p);
	}
	/* What changes after this look is seen at the next one. */
	start_budgets(s, true);
	forget_watched(s);
	if (ks_seg_each_watched(watch, s) != 0)
		forget_watched(s);
	for (size_t i = 0; i < s->n; i++)
		s->seg[i].seen = false;
	(void)ks_seg_each_dir(scan_dir, &p);
	for (size_t i = s->n; i-- > 0; ) {
		if (!s->seg[i].seen) {
			p.changed |= s->seg[i].usable;
			drop(s, i);
		}
	}
	/* What could not be looked at is looked for again. */
	if (p.lacked || p.no_memory)
		forget_watched(s);
	if (p.no_memory)
		return ks_fail(ENOMEM, "out of memory for published kstats");
	if (p.useless > s->useless)
		p.untold += p.useless - s->useless;
	s->useless = p.useless;
	complain_of_others(&p);
	return finish(s, &p);
}

static const struct ks_seg_kstat *
find(struct segments *s, uint64_t cookie, struct ks_seg_file **f)
{
	uint64_t offset = (cookie & UINT32_MAX) * KS_SEG_ALIGN;

	for (size_t i = 0; i < s->n; i++) {
		if (s->seg[i].id == cookie >> 32) {
			*f = &s->seg[i].file;
			/* Mostly further statistics of a kstat are asked about. */
			return s->found_kstat < (*f)->n && (*f)->kstat[s->found_kstat].offset == offset ?
			    &(*f)->kstat[s->found_kstat] : ks_seg_file_find(*f, offset);
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
	if (k == NULL)
		return NULL;
	s->found_kstat = (size_t)(k - f->kstat);
	for (uint32_t i = 0; i < k->e.nfields; i++) {
		const struct ks_seg_field *field;

		/* Mostly the next one is asked about. */
		s->found_field = s->found_field + 1 < k->e.nfields ? s->found_field + 1 : 0;
		field = &k->fields[s->found_field];
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
	struct publisher *p;

	while (s->n > 0)
		drop(s, s->n - 1);
	forget_watched(s);
	while ((p = s->publishers) != NULL) {
		s->publishers = p->next;
		free(p);
	}
	ks_table_free(&s->trusted);
	free(s->named);
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
	open_budgets(s);
	return &s->src;
}
