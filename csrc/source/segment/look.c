/*
 * look.c - which files of publications there are. The directories are looked through if one of them changed;
 * files stay open. SPDX-License-Identifier: MIT
 */
#include "source/segment/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "provider/segment/directory.h"

#define MOST_NAMES 16384 /* looked at in one directory */
#define MOST_TOLD 3     /* files that are of no use, named at one look */
#define LOOKS_OF_A_FILE 32              /* what a name in a directory costs */

/* --- files come and go --------------------------------------------------------------------------- */

void
ks_seg_drop(struct ks_segments *s, size_t i)
{
	struct ks_seg_budget *b = s->seg[i].file.budget;

	s->nuseless -= !s->seg[i].usable;
	ks_seg_file_close(&s->seg[i].file);
	if (b != NULL)
		ks_seg_budget_give_back(b, 1, 0, 0);
	/* Others of that user that were cut may have room now. */
	for (size_t k = 0; k < s->n && b != NULL; k++) {
		if (s->seg[k].file.budget == b &&
		    (s->seg[k].file.cut != NULL || s->seg[k].file.left_out > 0))
			s->seg[k].file.scanned = false;
	}
	free(s->seg[i].path);
	memmove(&s->seg[i], &s->seg[i + 1], (s->n - i - 1) * sizeof(s->seg[0]));
	s->n--;
}

static struct ks_segment *
find_path(struct ks_segments *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->seg[i].path, path) == 0)
			return &s->seg[i];
	}
	return NULL;
}

/* Whether this failure is none of the file's, so that it may be of use another time. */
static bool
is_lack(int error)
{
	return ks_is_lack(error) || error == EIO;
}

/* A lack of descriptors or memory is complained about in each pass, since the next one looks again. */
static void
complain_of_lack(struct ks_seg_pass *p)
{
	if (!p->lacked)
		ks_scan_damage(p->scan, "%s: some publications are not shown", kstat_errmsg());
	p->lacked = true;
}

/* A file is complained about once, until it is in order again; of many only the first are named. */
static void
complain(struct ks_seg_pass *p, struct ks_segment *seg)
{
	if (is_lack(errno)) {
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
complain_of_others(struct ks_seg_pass *p)
{
	if (p->untold > 0)
		ks_scan_warn(p->scan, "%zu other file%s of published kstats cannot be read", p->untold,
		    p->untold == 1 ? "" : "s");
}

/* Whether one more that is of no use is remembered: these do not crowd out the others. */
static bool
has_room(struct ks_seg_pass *p, bool usable)
{
	if (usable || p->s->nuseless < KS_SEG_MOST_FILES)
		return true;
	p->useless++;
	return false;
}

/*
 * Opens the file, if its user may have another one open. 0, with errno if it is of no use; or -1 with errno: E2BIG,
 * one too many, or a lack, after which it may be of use another time.
 */
static int
open_segment(struct ks_seg_pass *p, struct ks_segment *new, const struct ks_seg_dir *dir, const char *name,
    const char *path, uid_t uid)
{
	struct ks_publisher *user;
	int error;

	new->file.fd = -1;
	new->trusted = ks_scan_hears(p->scan, uid) == KS_HEARS_TRUSTED;
	user = ks_seg_find_publisher(p->s, uid, new->trusted);
	if (user == NULL)
		return -1;
	if (!KS_SEG_TAKE(&user->budget, files, 1)) {
		user->cut = "files";
		return ks_fail(E2BIG, "%s: too many files", path);
	}
	new->usable = ks_seg_file_open(&new->file, dir->fd, name, path) == 0;
	if (new->usable) {
		new->file.budget = &user->budget;
		new->file.piece = &p->s->piece;
		return 0;
	}
	error = errno;
	ks_seg_file_close(&new->file);
	ks_seg_budget_give_back(&user->budget, 1, 0, 0);
	errno = error;
	return is_lack(error) ? -1 : 0;
}

/* NULL with errno as above, or ENOMEM: the file is not remembered. */
static struct ks_segment *
add(struct ks_seg_pass *p, const struct ks_seg_dir *dir, const char *name, const char *path,
    const struct stat *st)
{
	struct ks_segments *s = p->s;
	struct ks_segment new = { .dev = st->st_dev, .ino = st->st_ino, .ctime = st->st_ctim }, *seg;
	int error;

	if (!KS_RESERVE(s->seg, s->cap, s->n + 1))
		return ks_fail_null(ENOMEM, "out of memory for published kstats");
	if (open_segment(p, &new, dir, name, path, st->st_uid) != 0)
		return NULL;
	error = errno;
	new.path = has_room(p, new.usable) ? strdup(path) : NULL;
	if (new.path == NULL) {
		error = new.usable || s->nuseless < KS_SEG_MOST_FILES ? ENOMEM : E2BIG;
		ks_seg_budget_give_back(new.file.budget, 1, 0, 0);
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
look_into(struct ks_seg_pass *p, struct ks_segment *seg)
{
	int rc = seg->usable ? ks_seg_file_scan(&seg->file, p->scan) : 0;

	p->changed |= rc != 0;
	if (rc < 0 && is_lack(errno))
		seg->file.scanned = false;
	if (rc < 0)
		complain(p, seg);
	else if (rc > 0)
		seg->told = false;
}

/* True if another file has the name, or this one may be of use now. */
static bool
is_another(const struct ks_segment *seg, const struct stat *st)
{
	return seg->ino != st->st_ino || seg->dev != st->st_dev ||
	    (!seg->usable && (seg->ctime.tv_sec != st->st_ctim.tv_sec ||
	    seg->ctime.tv_nsec != st->st_ctim.tv_nsec));
}

static void
look_at(struct ks_seg_pass *p, const struct ks_seg_dir *dir, const char *name, const struct stat *st)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct ks_segment *seg;

	(void)snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	seg = find_path(p->s, path);

	if (seg != NULL && is_another(seg, st)) {
		/* The file was published anew. */
		p->changed |= seg->usable;
		ks_seg_drop(p->s, (size_t)(seg - p->s->seg));
		seg = NULL;
	}
	if (seg == NULL)
		seg = add(p, dir, name, path, st);
	if (seg == NULL) {
		if (is_lack(errno))
			complain_of_lack(p);
		p->no_memory |= errno == ENOMEM;
		return;
	}
	seg->seen = true;
	look_into(p, seg);
}

/* --- listing ---------------------------------------------------------------------------------------- */

/* Files of a directory, or of those below it, that cannot be listed now are what they were. */
static void
keep_files(struct ks_seg_pass *p, const char *dir)
{
	size_t n = strlen(dir);

	for (size_t i = 0; i < p->s->n; i++) {
		struct ks_segment *seg = &p->s->seg[i];

		if (!seg->seen && strncmp(seg->path, dir, n) == 0 && seg->path[n] == '/') {
			seg->seen = true;
			look_into(p, seg);
		}
	}
}

/* Complains that a directory, or the rest of it, could not be opened or listed. */
static void
list_failed(struct ks_seg_pass *p, const struct ks_seg_dir *dir)
{
	if (dir->fd >= 0)
		(void)ks_fail(errno, "cannot list %s: %s", dir->path, strerror(errno));
	if (is_lack(errno)) {
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
next_entry(struct ks_seg_pass *p, const struct ks_seg_dir *dir, DIR *d)
{
	struct dirent *de;

	errno = 0;
	de = readdir(d);
	if (de == NULL && errno != 0)
		list_failed(p, dir);
	return de;
}

/*
 * Takes what one more file of a user costs, also one that is of no use, from the user's budget. False if there is no
 * room, or the reader does not hear this user.
 */
static bool
may_look_at(struct ks_seg_pass *p, uid_t uid)
{
	enum ks_hearing hearing = ks_scan_hears(p->scan, uid);
	struct ks_publisher *user;

	if (hearing == KS_HEARS_NOT)
		return false;
	user = ks_seg_find_publisher(p->s, uid, hearing == KS_HEARS_TRUSTED);
	if (user == NULL) {
		p->no_memory = true;
		return false;
	}
	if (KS_SEG_TAKE(&user->budget, looks, LOOKS_OF_A_FILE))
		return true;
	user->cut = "files";
	return false;
}

/* Looks at a file of that name, if it is one of kstats. */
static void
look_at_name(struct ks_seg_pass *p, const struct ks_seg_dir *dir, const char *name)
{
	struct stat st;

	if (ks_seg_name_length(name) == 0)
		return;
	if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISREG(st.st_mode) && may_look_at(p, st.st_uid))
			look_at(p, dir, name, &st);
	} else if (errno != ENOENT) {
		(void)ks_fail(errno, "%s/%s: %s", dir->path, name, strerror(errno));
		complain_of_lack(p);
	}
}

static int
scan_dir(const struct ks_seg_dir *dir, void *arg)
{
	struct ks_seg_pass *p = arg;
	DIR *d = dir->fd >= 0 ? ks_seg_dir_list(dir) : NULL;
	struct dirent *de;

	if (d == NULL)
		list_failed(p, dir);
	for (int i = 0; d != NULL && i < MOST_NAMES && (de = next_entry(p, dir, d)) != NULL; i++)
		look_at_name(p, dir, de->d_name);
	if (d != NULL)
		(void)closedir(d);
	return 0;
}

int
ks_seg_look(struct ks_seg_pass *p)
{
	struct ks_segments *s = p->s;

	ks_seg_start_budgets(s, false);
	if (ks_seg_nothing_came_or_went(s)) {
		for (size_t i = 0; i < s->n; i++)
			look_into(p, &s->seg[i]);
		complain_of_others(p);
		return 0;
	}
	/* What changes after this look is seen at the next one. */
	ks_seg_start_budgets(s, true);
	ks_seg_watch_all(s);
	for (size_t i = 0; i < s->n; i++)
		s->seg[i].seen = false;
	(void)ks_seg_each_dir(scan_dir, p);
	for (size_t i = s->n; i-- > 0; ) {
		if (!s->seg[i].seen) {
			p->changed |= s->seg[i].usable;
			ks_seg_drop(s, i);
		}
	}
	/* What could not be looked at is looked for again. */
	if (p->lacked || p->no_memory)
		ks_seg_forget_watched(s);
	if (p->no_memory)
		return ks_fail(ENOMEM, "out of memory for published kstats");
	if (p->useless > s->useless)
		p->untold += p->useless - s->useless;
	s->useless = p->useless;
	complain_of_others(p);
	return 0;
}
