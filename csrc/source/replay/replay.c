/* replay.c - see replay.h. SPDX-License-Identifier: MIT */
#include "source/replay/replay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "source/replay/recording/frame_file.h"

/*
 * False also if the file cannot be read: the capture's own opening then says why. A pipe is not
 * looked into, for what is read from it here would be lost; it can only be a capture.
 */
static bool
is_recording(const char *path)
{
	char start[KS_REC_MAGIC_SIZE];
	struct stat st;
	FILE *f = NULL;
	bool is;

	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		f = fopen(path, "re");
	if (f == NULL)
		return false;
	is = fread(start, 1, sizeof(start), f) == sizeof(start) &&
	    memcmp(start, KS_REC_MAGIC, sizeof(start)) == 0;
	(void)fclose(f);
	return is;
}

int
ks_replay_fail_outside(const char *path, const struct ks_window *w)
{
	if (w->from_text != NULL && w->to_text != NULL)
		return ks_fail(ENODATA, "%.200s: no sample from %.40s to %.40s", path, w->from_text,
		    w->to_text);
	if (w->from_text != NULL)
		return ks_fail(ENODATA, "%.200s: no sample at or after %.40s", path, w->from_text);
	return ks_fail(ENODATA, "%.200s: no sample at or before %.40s", path, w->to_text);
}

/* Moves a capture to the first sample of the window. */
static int
enter(struct ks_source *src, const char *path, const struct ks_window *w)
{
	for (;;) {
		int64_t now;
		int rc;

		if (src->ops->time_of_day(src, &now) <= 0)
			return ks_fail(EINVAL, "%.200s: its samples have no time of day to choose by "
			    "(kstat -T u -j writes it)", path);
		if (now > w->to)
			return ks_replay_fail_outside(path, w);
		if (now >= w->from)
			return 0;
		rc = src->ops->advance(src);
		if (rc < 0)
			return -1;
		if (rc == 0)
			return ks_replay_fail_outside(path, w);
	}
}

struct ks_source *
ks_source_replay_open(const char *path, const struct ks_window *w)
{
	struct ks_source *src;

	if (is_recording(path))
		return ks_source_recording_open(path, w);
	src = ks_source_capture_open(path);
	if (src == NULL || (w->from_text == NULL && w->to_text == NULL))
		return src;
	ks_source_capture_until(src, w->to);
	if (enter(src, path, w) != 0) {
		int error = errno;

		src->ops->close(src);
		errno = error;
		return NULL;
	}
	return src;
}
