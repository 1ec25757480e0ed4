/* files.c - see files.h. SPDX-License-Identifier: MIT */
#include "source/replay/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "source/replay/recording/frame_file.h"
#include "source/replay/replay.h"

/* --- times --------------------------------------------------------------------------- */

/* The times of the samples of a capture, which is read for them. */
static int
capture_times(const char *path, bool (*visit)(void *context, int64_t time), void *context)
{
	struct ks_source *src = ks_source_replay_open(path, &KS_WINDOW_ALL);
	int64_t time;
	int rc = src != NULL ? 1 : -1, error;

	while (rc > 0) {
		if (src->ops->time_of_day(src, &time) == 0)
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
find_start(int fd, off_t size, int64_t from)
{
	bool ordered;
	off_t at = from > INT64_MIN ? ks_rec_find_start(fd, size, from, &ordered) : KS_REC_MAGIC_SIZE;

	return at > KS_REC_MAGIC_SIZE ? ks_rec_find_key_before(fd, at) : at;
}

int
ks_file_times(const char *path, int64_t from, bool (*visit)(void *context, int64_t time), void *context)
{
	struct stat st;
	off_t size;
	int fd;

	if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return ks_fail(ESPIPE, "%.200s: a time is looked for in files alone, and this is none", path);
	if (!ks_replay_is_recording(path))
		return capture_times(path, visit, context);
	fd = open_recording(path, &size);
	return fd < 0 ? -1 : close_recording(path, fd, ks_rec_times(fd, find_start(fd, size, from), size, visit, context));
}

struct ends {
	int64_t first, last;
	bool any;
};

static bool
note_time(void *context, int64_t time)
{
	struct ends *e = context;

	if (!e->any)
		e->first = time;
	e->last = time;
	e->any = true;
	return true;
}

static bool
note_first(void *context, int64_t time)
{
	(void)note_time(context, time);
	return false;
}

/* True if a recording begins with a keyframe whose time is damaged. */
static bool
is_start_damaged(int fd, off_t size)
{
	struct ks_rec_frame f;
	uint32_t set_back;
	bool torn;

	return ks_rec_frame_read(fd, KS_REC_MAGIC_SIZE, size, &f, &torn) > 0 && f.kind == KS_REC_KEY &&
	    f.version >= KS_REC_VERSION && !ks_rec_is_key(fd, KS_REC_MAGIC_SIZE, &f, &set_back);
}

int
ks_file_ends(const char *path, int64_t *first, int64_t *last)
{
	bool is_recording = ks_replay_is_recording(path), damaged = false;
	struct ends e = { 0, 0, false };
	off_t size;
	int fd, rc;

	if (ks_file_times(path, INT64_MIN, is_recording ? note_first : note_time, &e) != 0 && !e.any)
		return -1;
	if (is_recording && e.any) {
		fd = open_recording(path, &size);
		damaged = fd >= 0 && is_start_damaged(fd, size);
		if (damaged)
			rc = ks_fail(EBADMSG, "damaged at byte %d", KS_REC_MAGIC_SIZE);
		else
			rc = fd < 0 ? -1 : ks_rec_last_time(fd, size, &e.last);
		if (fd >= 0)
			(void)close_recording(path, fd, rc); /* where it is damaged, it ends before that */
	}
	if (damaged)
		return -1;
	*first = e.first;
	*last = e.last;
	return e.any;
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
	files->file[files->n++] = (struct ks_file){ path, first, last };
	return 0;
}

static void
note_damage(struct ks_buf *damages)
{
	ks_buf_add(damages, kstat_errmsg(), strlen(kstat_errmsg()) + 1);
}

/*
 * Adds a file with its times. One without samples is passed over, and one that its recorder removed meanwhile; what
 * cannot be read is noted.
 */
static int
add_known(struct ks_files *files, const char *path, struct ks_buf *damages)
{
	int64_t first, last;
	int rc = ks_file_ends(path, &first, &last);

	if (rc >= 0)
		return rc == 0 ? 0 : add_file(files, strdup(path), first, last);
	if (ks_is_lack(errno))
		return -1;
	if (errno != ENOENT)
		note_damage(damages);
	return 0;
}

/* True if an entry of a directory is a recording; notes one that cannot be read, or does not begin as it should. */
static bool
is_entry(const char *path, struct ks_buf *damages)
{
	size_t n = strlen(path);
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	if (ks_replay_is_recording(path))
		return true;
	if (access(path, R_OK) != 0 && errno == ENOENT)
		return false; /* its recorder removed it meanwhile */
	if (access(path, R_OK) != 0)
		(void)ks_fail(errno, "%.200s: %s", path, strerror(errno));
	else if (n > 4 && strcmp(path + n - 4, ".rec") == 0)
		(void)ks_fail(EBADMSG, "%.200s: damaged at byte 0: not a recording", path);
	else
		return false;
	note_damage(damages);
	return false;
}

static int
add_directory(struct ks_files *files, const char *path, struct ks_buf *damages)
{
	struct ks_buf name = KS_BUF_INIT;
	DIR *dir = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (dir == NULL)
		return ks_fail(errno, "%.200s: %s", path, strerror(errno));
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		ks_buf_reset(&name);
		ks_buf_addf(&name, "%s/%s", path, entry->d_name);
		ks_buf_addc(&name, '\0');
		if (name.failed)
			rc = ks_fail(ENOMEM, "out of memory for a list of files");
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

static int
compare(const void *a, const void *b)
{
	const struct ks_file *x = a, *y = b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : strcmp(x->path, y->path);
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
	if (files->n > 1)
		qsort(files->file, files->n, sizeof(files->file[0]), compare);
	if (rc == 0 && files->n == 0 && damages->len > 0)
		return ks_fail(EBADMSG, "%s", damages->data);
	if (rc == 0 && files->n == 0)
		return ks_fail(ENOENT, "%.200s: no recording in this directory", paths);
	return rc;
}

size_t
ks_files_before(const struct ks_files *files, size_t i)
{
	size_t found = 0;

	for (size_t k = 1; k < i; k++) {
		if (files->file[k].last > files->file[found].last)
			found = k;
	}
	return found;
}

size_t
ks_files_at(const struct ks_files *files, int64_t time)
{
	size_t n = 1;

	while (n < files->n && files->file[n].first <= time)
		n++;
	return ks_files_before(files, n);
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
