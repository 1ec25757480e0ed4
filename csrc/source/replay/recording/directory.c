/* directory.c - see directory.h. SPDX-License-Identifier: MIT */
#include "source/replay/recording/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

#define LEAST_FREE (256ull << 20) /* bytes */
#define LEAST_SHARE 20            /* one part in so many */
#define FILES 8                   /* into which the limit is divided */
#define MOST_OF_A_NAME 1000       /* files that began in one second */

/* Fails with what errno says of something. */
static int
fail(const char *what)
{
	return ks_fail(errno, "%s: %s", what, strerror(errno));
}

int64_t
ks_rec_day(int64_t time_of_day)
{
	const int64_t day = 86400 * KS_NANOSEC;

	return time_of_day / day - (time_of_day % day < 0);
}

/* --- the files that are there ------------------------------------------------------ */

static bool
is_our_name(const char *name)
{
	size_t digits;

	if (strncmp(name, "kstat-", 6) != 0)
		return false;
	digits = strspn(name + 6, "0123456789-");
	return digits >= 15 && strcmp(name + 6 + digits, ".rec") == 0 &&
	    strlen(name) < sizeof(((struct ks_rec_old *)0)->name);
}

/* Opens a file for reading if it is a recording of ours, or the beginning of one; else returns -1. */
static int
open_ours(const struct ks_rec_dir *d, const char *name, struct stat *st)
{
	int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char magic[KS_REC_MAGIC_SIZE];
	ssize_t got = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid())
		got = ks_rec_read_at(fd, magic, sizeof(magic), 0);
	if (got >= 0 && memcmp(magic, KS_REC_MAGIC, (size_t)got) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Notes the time of a sample, as the first or as the last one. */
static bool
note_time(void *file, int64_t time)
{
	struct ks_rec_old *f = file;

	if (f->first == INT64_MIN)
		f->first = time;
	f->last = time;
	return true;
}

static int
add_old(struct ks_rec_dir *d, const char *name)
{
	struct ks_rec_old *f;
	struct stat st;
	int fd = is_our_name(name) ? open_ours(d, name, &st) : -1;

	if (fd < 0)
		return 0;
	if (!KS_RESERVE(d->old, d->cap, d->n + 1)) {
		(void)close(fd);
		return ks_fail(ENOMEM, "out of memory for a recorder");
	}
	f = &d->old[d->n++];
	(void)strcpy(f->name, name);
	f->size = st.st_size;
	f->first = f->last = INT64_MIN;
	(void)ks_rec_times(fd, KS_REC_MAGIC_SIZE, f->size, note_time, f);
	d->old_bytes += (uint64_t)f->size;
	(void)close(fd);
	return 0;
}

static int
compare_old(const void *a, const void *b)
{
	const struct ks_rec_old *x = a, *y = b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : strcmp(x->name, y->name);
}

/* Looks for the files of ours; none is open for writing. */
static int
find_old(struct ks_rec_dir *d)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	d->n = 0;
	d->old_bytes = 0;
	if (dir == NULL) {
		rc = fail(d->path);
		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	while (rc == 0 && (e = readdir(dir)) != NULL)
		rc = add_old(d, e->d_name);
	(void)closedir(dir);
	if (d->n > 0)
		qsort(d->old, d->n, sizeof(*d->old), compare_old);
	return rc;
}

/* --- limits ------------------------------------------------------------------------- */

/* Forgets a file of the list. */
static void
forget(struct ks_rec_dir *d, size_t i)
{
	d->old_bytes -= (uint64_t)d->old[i].size;
	memmove(&d->old[i], &d->old[i + 1], (--d->n - i) * sizeof(*d->old));
}

/* Removes the oldest file, unless something else has its name by now. */
static int
remove_oldest(struct ks_rec_dir *d)
{
	const char *name = d->old[0].name;
	struct stat st;
	int fd = open_ours(d, name, &st);

	if (fd >= 0) {
		(void)close(fd);
		if (unlinkat(d->fd, name, 0) != 0 && errno != ENOENT)
			return ks_fail(errno, "%s/%s: cannot be removed: %s", d->path, name, strerror(errno));
	}
	forget(d, 0);
	return 0;
}

/* Removes files until n more bytes are within the limits. */
static int
make_room(struct ks_rec_dir *d, uint64_t n, int64_t now)
{
	n += (uint64_t)d->file.size;
	if (n > d->limits.bytes)
		return ks_fail(EFBIG, "%s: a sample needs more than %llu bytes, the limit of all files together",
		    d->path, (unsigned long long)d->limits.bytes);
	while (d->n > 0 && (d->old_bytes + n > d->limits.bytes || (!d->jumped && d->old[0].last < now - d->limits.keep))) {
		if (remove_oldest(d) != 0)
			return -1;
	}
	return 0;
}

/* Fails if the file system is too full for us. One that does not say how large it is never is. */
static int
check_free(const struct ks_rec_dir *d)
{
	struct statvfs fs;
	uint64_t available;

	if (fstatvfs(d->fd, &fs) != 0)
		return fail(d->path);
	available = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (fs.f_blocks == 0 || (available >= LEAST_FREE && fs.f_bavail >= fs.f_blocks / LEAST_SHARE))
		return 0;
	return ks_fail(ENOSPC, "%s: less than 5 %% or 256 MB of the file system are free", d->path);
}

/* --- the file that is written ------------------------------------------------------- */

static void
end_file(struct ks_rec_dir *d)
{
	if (d->is_open)
		ks_rec_writer_close(&d->file);
	d->is_open = false;
	d->file.size = 0;
}

/* Opens the file of that name for writing. */
static int
open_file(struct ks_rec_dir *d, const char *name, bool is_new)
{
	char *path;
	int rc, error;

	if (asprintf(&path, "%s/%s", d->path, name) < 0)
		return ks_fail(ENOMEM, "out of memory for a recorder");
	rc = ks_rec_writer_open_in(&d->file, d->fd, path, is_new);
	error = errno;
	free(path);
	d->is_open = true;
	if (rc != 0)
		end_file(d);
	errno = error;
	return rc;
}

/* Continues the newest file if it is of this day and boot, not full and not damaged. False: it does not. */
static bool
continue_file(struct ks_rec_dir *d, const struct ks_rec_item *item)
{
	const struct ks_rec_old *f = d->n > 0 ? &d->old[d->n - 1] : NULL;

	if (f == NULL || f->last < item->boot || f->last > item->time_of_day ||
	    ks_rec_day(f->first) != ks_rec_day(item->time_of_day) ||
	    (uint64_t)f->size >= d->limits.bytes / FILES || open_file(d, f->name, false) != 0)
		return false;
	forget(d, d->n - 1);
	return true;
}

/* The number of a file among those that began in that second; 0 if it began in another one. */
static int
number_of(const char *name, const char *began)
{
	size_t n = strlen("kstat-") + strlen(began);

	if (strncmp(name + strlen("kstat-"), began, strlen(began)) != 0)
		return 0;
	return name[n] == '-' ? atoi(name + n + 1) : 1;
}

/*
 * Makes a file that begins with this sample. Names are not used again while later files of that second are there: a
 * reader would take the new file for one of which it knows that it was removed.
 */
static int
make_file(struct ks_rec_dir *d, const struct ks_rec_item *item)
{
	time_t seconds = (time_t)(item->time_of_day / KS_NANOSEC);
	char name[sizeof(d->old->name)], began[16];
	struct tm tm;
	int number = 1;

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(began, sizeof(began), "%Y%m%d-%H%M%S", &tm);
	for (size_t i = 0; i < d->n; i++) {
		int last = number_of(d->old[i].name, began);

		if (number <= last)
			number = last + 1;
	}
	for (; number < MOST_OF_A_NAME; number++) {
		(void)snprintf(name, sizeof(name), number == 1 ? "kstat-%s.rec" : "kstat-%s-%d.rec", began, number);
		if (open_file(d, name, true) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

static int
start_file(struct ks_rec_dir *d, const struct ks_rec_item *item)
{
	end_file(d);
	if (find_old(d) != 0 || (!continue_file(d, item) && make_file(d, item) != 0))
		return -1;
	d->day = ks_rec_day(item->time_of_day);
	return 0;
}

static bool
is_full(const struct ks_rec_dir *d)
{
	return (uint64_t)d->file.size >= d->limits.bytes / FILES;
}

/* True if somebody removed an open file or directory. */
static bool
is_gone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* Opens the directory and locks it. It is made if there is none. */
static int
open_directory(struct ks_rec_dir *d)
{
	if (mkdir(d->path, 0750) != 0 && errno != EEXIST)
		return fail(d->path);
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0)
		return fail(d->path);
	if (ks_rec_lock(d->fd) == 0)
		return 0;
	return errno == EWOULDBLOCK ?
	    ks_fail(EWOULDBLOCK, "%s: another recorder writes into this directory", d->path) : fail(d->path);
}

/*
 * A clock that is set ahead would make all files too old at once. So once it went on by more than a day beyond the
 * machine's own time, files go by their bytes alone until the recorder is started again.
 */
static void
watch_clock(struct ks_rec_dir *d, int64_t time_of_day)
{
	int64_t now = gethrtime();

	if (d->seen != 0 && time_of_day - d->seen > now - d->seen_at + 86400 * KS_NANOSEC)
		d->jumped = true;
	d->seen = time_of_day;
	d->seen_at = now;
}

/* Opens the directory again if somebody removed it; what is there by its name now is another one. */
static int
find_directory(struct ks_rec_dir *d)
{
	if (d->fd >= 0 && !is_gone(d->fd))
		return 0;
	if (d->fd >= 0)
		(void)close(d->fd);
	d->fd = -1;
	return open_directory(d);
}

bool
ks_rec_dir_wants_key(const struct ks_rec_dir *d)
{
	return d->is_broken || !d->is_open || is_full(d);
}

static int
add(struct ks_rec_dir *d, const struct ks_rec_item *item)
{
	bool is_key = item->kind == KS_REC_KEY;

	watch_clock(d, item->time_of_day);
	if (find_directory(d) != 0 || make_room(d, 0, item->time_of_day) != 0 || check_free(d) != 0)
		return -1;
	if (d->is_broken && !is_key)
		return ks_fail(EAGAIN, "%s: a sample before this one was not written", d->path);
	if (!d->is_open || is_gone(d->file.fd) || (is_key && (is_full(d) || d->day != ks_rec_day(item->time_of_day)))) {
		if (!is_key)
			return ks_fail(EAGAIN, "%s: the file was removed", d->path);
		if (start_file(d, item) != 0)
			return -1;
	}
	if (ks_rec_writer_pack(&d->file, item->kind, item->time_of_day, &item->bytes) != 0 ||
	    make_room(d, KS_REC_MAGIC_SIZE + d->file.frame.len, item->time_of_day) != 0)
		return -1;
	return ks_rec_writer_put(&d->file, item->input);
}

int
ks_rec_dir_add(struct ks_rec_dir *d, const struct ks_rec_item *item)
{
	int rc = add(d, item);

	d->is_broken = rc != 0;
	return rc;
}

/* --- opening ------------------------------------------------------------------------- */

int
ks_rec_dir_open(struct ks_rec_dir *d, const char *path, const struct ks_rec_limits *limits)
{
	*d = (struct ks_rec_dir){ .path = strdup(path), .fd = -1, .limits = *limits, .is_broken = true };
	if (d->path == NULL)
		return ks_fail(ENOMEM, "out of memory for a recorder");
	return open_directory(d);
}

void
ks_rec_dir_close(struct ks_rec_dir *d)
{
	end_file(d);
	if (d->fd >= 0)
		(void)close(d->fd);
	free(d->old);
	free(d->path);
}
