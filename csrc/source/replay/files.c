/* files.c - see files.h. SPDX-License-Identifier: MIT */
#include "source/replay/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "source/replay/recording/frame_file.h"
#include "source/replay/replay.h"

/* --- times --------------------------------------------------------------------------- */

/* The times of the samples of a capture, which is read for them. */
static int
capture_times(const char *path, const int64_t *start, bool (*visit)(void *context, int64_t time), void *context)
{
	struct ks_window all = KS_WINDOW_ALL;
	struct ks_source *src;
	int64_t time;
	int rc, error;

	all.start = start != NULL ? *start : 0;
	src = ks_source_replay_open(path, &all);
	rc = src != NULL ? 1 : -1;
	while (rc > 0) {
		if (src->ops->time_of_day(src, &time) == 0 && start == NULL)
			rc = ks_fail(EINVAL, "%.200s: its samples have no time of day to choose by "
			    "(kstat -T u -j writes it)", path);
		else if (!visit(context, time))
			rc = 0;
		else
			rc = src->ops->advance(src);
	}
	error = errno;
	if (src != NULL)
		src->ops->close(src);
	errno = error;
	return rc;
}

/* Opens a recording, and stores its size. Returns the descriptor, or -1. */
static int
open_recording(const char *path, off_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		(void)ks_fail(errno, "%.200s: %s", path, strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	*size = st.st_size;
	return fd;
}

/* Closes a recording; a failure gets its path. */
static int
close_recording(const char *path, int fd, int rc)
{
	char why[80];

	if (rc < 0) {
		(void)snprintf(why, sizeof(why), "%s", kstat_errmsg());
		(void)ks_fail(errno, "%.200s: %s", path, why);
	}
	(void)close(fd);
	return rc;
}

/* Where to begin so that there are samples before a time, if there are any. */
static off_t
find_start(int fd, off_t size, int64_t from, bool *is_set)
{
	bool ordered;
	off_t at = ks_rec_find_start(fd, size, from, &ordered);

	if (is_set != NULL)
		*is_set = !ordered;
	return from > INT64_MIN && at > KS_REC_MAGIC_SIZE ? ks_rec_find_key_before(fd, at) : KS_REC_MAGIC_SIZE;
}

int
ks_file_times(const char *path, int64_t from, const int64_t *start, bool *is_set,
    bool (*visit)(void *context, int64_t time), void *context)
{
	struct stat st;
	off_t size;
	int fd;

	if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return ks_fail(ESPIPE, "%.200s: a time is looked for in files alone, and this is none", path);
	if (is_set != NULL)
		*is_set = true;
	if (!ks_replay_is_recording(path))
		return capture_times(path, start, visit, context);
	fd = open_recording(path, &size);
	return fd < 0 ? -1 : close_recording(path, fd, ks_rec_times(fd, find_start(fd, size, from, is_set), size, visit,
	    context));
}

/* The times of a file, as far as they were visited. */
struct ends {
	int64_t first, last;
	int64_t begin, end;    /* of the longest run, */
	int64_t began;         /* of this one */
	size_t n, longest;     /* samples of these */
	bool any, is_set;
};

#define DAY (86400 * KS_NANOSEC)

static bool
note_time(void *context, int64_t time)
{
	struct ends *e = context;
	bool is_set = e->any && (time < e->last || ks_time_between(e->last, time) > DAY);

	if (!e->any)
		e->first = time;
	if (!e->any || is_set) {
		e->began = time;
		e->n = 0;
	}
	if (++e->n > e->longest) {
		e->longest = e->n;
		e->begin = e->began;
		e->end = time;
	}
	e->last = time;
	e->is_set |= is_set;
	e->any = true;
	return true;
}

static bool
note_first(void *context, int64_t time)
{
	(void)note_time(context, time);
	return false;
}

/* True if the clock was perhaps set while a recording was made: nearly all of its time is in one half of its bytes. */
static bool
is_uneven(int fd, off_t size, const struct ends *e)
{
	int64_t all = ks_time_between(e->first, e->last), half;
	struct ks_rec_frame f;
	uint32_t set_back;

	if (ks_rec_is_key(fd, ks_rec_find_key_before(fd, size), &f, &set_back) && set_back > 0)
		return true;
	if (all >= 0 && all <= 2 * DAY)
		return false;
	half = ks_rec_is_key(fd, ks_rec_find_key_before(fd, size / 2), &f, &set_back) ?
	    ks_time_between(e->first, f.time_of_day) : 0;
	return half < all / 10 || half > all / 10 * 9;
}

/* As ks_file_ends(), of a recording. */
static int
recording_ends(const char *path, struct ends *e)
{
	off_t size;
	int fd = open_recording(path, &size), rc;

	if (fd < 0)
		return -1;
	rc = ks_rec_times(fd, KS_REC_MAGIC_SIZE, size, note_first, e);
	if (e->any) {
		(void)ks_rec_last_time(fd, size, &e->last); /* where it is damaged, it ends before that */
		e->end = e->last;
		if (is_uneven(fd, size, e)) {
			*e = (struct ends){ .any = false };
			rc = ks_rec_times(fd, KS_REC_MAGIC_SIZE, size, note_time, e);
		}
	}
	return close_recording(path, fd, e->any ? 0 : rc);
}

/* Stores the times of a file. 1, 0 if there is none, -1 as ks_file_times(). */
static int
file_ends(const char *path, struct ends *e)
{
	int rc;

	*e = (struct ends){ .any = false };
	rc = ks_replay_is_recording(path) ? recording_ends(path, e) :
	    ks_file_times(path, INT64_MIN, NULL, NULL, note_time, e);
	return rc != 0 && !e->any ? -1 : e->any;
}

int
ks_file_end(const char *path, int64_t *last)
{
	struct ends e;
	int rc = file_ends(path, &e);

	*last = e.last;
	return rc;
}

/* --- the list ------------------------------------------------------------------------- */

/* Adds a file, whose path the list owns from then on; NULL: out of memory. */
static int
add_file(struct ks_files *files, char *path, int64_t first, int64_t last)
{
	if (path == NULL || !KS_RESERVE(files->file, files->cap, files->n + 1)) {
		free(path);
		return ks_fail(ENOMEM, "out of memory for a list of files");
	}
	files->file[files->n++] = (struct ks_file){ .path = path, .first = first, .last = last, .from = INT64_MIN,
		.is_looked_at = last < INT64_MAX };
	return 0;
}

static void
note_damage(struct ks_buf *damages)
{
	if (damages != NULL)
		ks_buf_add(damages, kstat_errmsg(), strlen(kstat_errmsg()) + 1);
}

/* True if there is a recording in a directory; notes one that cannot be read, or does not begin as it should. */
static bool
is_entry(const char *path, struct ks_buf *damages)
{
	size_t n = strlen(path);
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	errno = 0;
	if (ks_replay_is_recording(path))
		return true;
	if (errno == ENOENT)
		return false; /* its recorder removed it meanwhile */
	if (errno != 0)
		(void)ks_fail(errno, "%.200s: %s", path, strerror(errno));
	else if (n > 4 && strcmp(path + n - 4, ".rec") == 0)
		(void)ks_fail(EBADMSG, "%.200s: damaged at byte 0: not a recording", path);
	else
		return false;
	note_damage(damages);
	return false;
}

/* Looks at a file. 1, 0 if it is passed over, as it has no sample, or cannot be read, which is noted; -1 with errno. */
static int
look(struct ks_file *f, struct ks_buf *damages)
{
	struct ends e;
	int rc = file_ends(f->path, &e);

	f->is_looked_at = rc > 0;
	if (rc > 0) {
		f->first = e.begin;
		f->last = e.end;
		f->is_set = e.is_set;
	} else if (rc < 0 && ks_is_lack(errno)) {
		return -1;
	} else if (rc < 0 && errno != ENOENT) { /* its recorder removed it meanwhile */
		note_damage(damages);
	}
	return rc > 0;
}

int
ks_file_look(struct ks_file *f, struct ks_buf *damages)
{
	return f->is_looked_at ? 1 : !is_entry(f->path, damages) ? 0 : look(f, damages);
}

/* Adds a file and looks at it. */
static int
add_known(struct ks_files *files, const char *path, struct ks_buf *damages)
{
	int rc = add_file(files, strdup(path), 0, INT64_MAX) == 0 ? look(&files->file[files->n - 1], damages) : -1;

	if (rc == 0)
		ks_files_remove(files, files->n - 1);
	return rc < 0 ? -1 : 0;
}

/* The time that a recorder gave a file for a name; INT64_MIN: it is no such name. */
static int64_t
time_of_name(const char *name)
{
	struct tm tm = { .tm_mon = -1 };
	const char *rest = strptime(name, "kstat-%Y%m%d-%H%M%S", &tm);

	if (rest == NULL || strcmp(rest + strspn(rest, "-0123456789"), ".rec") != 0 || tm.tm_year < 0 || tm.tm_year > 300)
		return INT64_MIN;
	return (int64_t)timegm(&tm) * KS_NANOSEC;
}

static int
add_directory(struct ks_files *files, const char *path, struct ks_buf *damages)
{
	struct ks_buf name = KS_BUF_INIT;
	DIR *dir = opendir(path);
	struct dirent *entry;
	int64_t time;
	int rc = 0;

	if (dir == NULL)
		return ks_fail(errno, "%.200s: %s", path, strerror(errno));
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		ks_buf_reset(&name);
		ks_buf_addf(&name, "%s/%s", path, entry->d_name);
		ks_buf_addc(&name, '\0');
		time = entry->d_type == DT_REG ? time_of_name(entry->d_name) : INT64_MIN;
		if (name.failed)
			rc = ks_fail(ENOMEM, "out of memory for a list of files");
		else if (time > INT64_MIN)
			rc = add_file(files, strdup(name.data), time, INT64_MAX);
		else if (is_entry(name.data, damages))
			rc = add_known(files, name.data, damages);
	}
	ks_buf_free(&name);
	(void)closedir(dir);
	return rc;
}

static int
add_path(struct ks_files *files, const char *path, struct ks_buf *damages)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		files->several = true;
		return add_directory(files, path, damages);
	}
	if (!files->several)
		return add_file(files, strdup(path), INT64_MIN, INT64_MAX);
	if (strcmp(path, "-") == 0)
		return ks_fail(EINVAL, "standard input is read alone, not among other files");
	if (stat(path, &st) != 0)
		return ks_fail(errno, "%.200s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ks_fail(EINVAL, "%.200s: not a plain file: what is read once is read alone", path);
	return add_known(files, path, damages);
}

/* By time; of files that a recorder began in one second each has a number more in its name: NAME.rec, NAME-2.rec, ... */
static int
compare(const void *a, const void *b)
{
	const struct ks_file *x = a, *y = b;
	size_t n = strlen(x->path), m = strlen(y->path);

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return n != m ? (n > m) - (n < m) : strcmp(x->path, y->path);
}

static void
sort(struct ks_files *files)
{
	if (files->n > 1)
		qsort(files->file, files->n, sizeof(files->file[0]), compare);
	for (size_t i = 0; i + 1 < files->n; i++) {
		if (!files->file[i].is_looked_at && files->file[i + 1].first > files->file[i].first)
			files->file[i].last = files->file[i + 1].first - 1;
	}
}

int
ks_files_look(struct ks_files *files, struct ks_buf *damages)
{
	bool any = false;

	for (size_t i = files->several ? files->n : 0; i-- > 0;) {
		int rc = (any |= !files->file[i].is_looked_at) ? ks_file_look(&files->file[i], damages) : 1;

		if (rc < 0)
			return -1;
		if (rc == 0)
			ks_files_remove(files, i);
	}
	if (any)
		sort(files);
	return any;
}

/* Removes the first n files. */
static void
remove_first(struct ks_files *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(files->file[i].path);
	files->n -= n;
	if (n > 0)
		memmove(files->file, files->file + n, files->n * sizeof(files->file[0]));
}

/* The failure of a list that has nothing but damage: the first one, and how many more there are. */
static int
fail_damaged(const struct ks_buf *damages)
{
	size_t more = 0;

	for (size_t at = strlen(damages->data) + 1; at < damages->len; at += strlen(damages->data + at) + 1)
		more++;
	return more == 0 ? ks_fail(EBADMSG, "%s", damages->data) :
	    ks_fail(EBADMSG, "%s; %zu more file%s damaged, and none is whole", damages->data, more,
	    more == 1 ? " is" : "s are");
}

/* Looks at the first file and the last one: clocks that were wrong when a file began name it far from its time. */
static int
look_at_ends(struct ks_files *files, struct ks_buf *damages)
{
	size_t from = 0; /* so many at the beginning are no recordings: they go together, for there may be many */

	for (int rc = 1; files->n > from;) {
		size_t i;

		if (rc > 0) {
			remove_first(files, from);
			from = 0;
			sort(files);
		}
		i = files->file[from].is_looked_at ? files->n - 1 : from;
		if (files->file[i].is_looked_at)
			break;
		rc = ks_file_look(&files->file[i], damages);
		if (rc < 0)
			return -1;
		if (rc == 0 && i == from)
			from++;
		else if (rc == 0)
			ks_files_remove(files, i);
	}
	remove_first(files, from);
	return 0;
}

int
ks_files_list(struct ks_files *files, const char *paths, struct ks_buf *damages)
{
	struct stat st;
	char *list = strdup(paths), *rest = list, *path;
	int rc = list != NULL ? 0 : ks_fail(ENOMEM, "out of memory for a list of files");

	*files = (struct ks_files){ .several = stat(paths, &st) != 0 && strchr(paths, '\n') != NULL };
	if (list != NULL && !files->several)
		rc = add_path(files, paths, damages);
	else
		while (rc == 0 && (path = strsep(&rest, "\n")) != NULL)
			rc = *path != '\0' ? add_path(files, path, damages) : 0;
	free(list);
	if (rc != 0 || (files->several && look_at_ends(files, damages) != 0))
		return -1;
	if (files->n == 0 && damages->len > 0)
		return fail_damaged(damages);
	if (files->n == 0)
		return ks_fail(ENOENT, "%.200s: no recording in this directory", paths);
	return 0;
}

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int
ks_files_join(struct ks_files *files, struct ks_files *other)
{
	size_t n = files->n;
	char **path = malloc((n + 1) * sizeof(*path));
	bool added = path != NULL && KS_RESERVE(files->file, files->cap, n + other->n);

	for (size_t i = 0; added && i < n; i++)
		path[i] = files->file[i].path;
	if (added)
		qsort(path, n, sizeof(*path), compare_paths);
	for (size_t i = 0; added && i < other->n; i++) {
		if (bsearch(&other->file[i].path, path, n, sizeof(*path), compare_paths) != NULL)
			continue;
		files->file[files->n++] = other->file[i];
		other->file[i].path = NULL;
	}
	free(path);
	ks_files_free(other);
	return added ? 0 : ks_fail(ENOMEM, "out of memory for a list of files");
}

size_t
ks_files_at(struct ks_files *files, int64_t time)
{
	size_t latest = 0;

	for (size_t i = 0; i < files->n; i++) {
		struct ks_file *f = &files->file[i];

		if (f->first > time)
			continue;
		/* Of what is there twice, as clocks were set back between two files, the first is meant. */
		if (f->last >= time && i > 0 && !f[-1].is_looked_at && ks_file_look(&f[-1], NULL) > 0 && f[-1].last >= time)
			i--;
		if (files->file[i].last >= time) {
			latest = i;
			break;
		}
		if (f->last > files->file[latest].last || files->file[latest].first > time)
			latest = i;
	}
	return latest;
}

void
ks_files_remove(struct ks_files *files, size_t i)
{
	free(files->file[i].path);
	files->n--;
	memmove(&files->file[i], &files->file[i + 1], (files->n - i) * sizeof(files->file[0]));
}

void
ks_files_free(struct ks_files *files)
{
	while (files->n > 0)
		ks_files_remove(files, files->n - 1);
	free(files->file);
	files->file = NULL;
}
