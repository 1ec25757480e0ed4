/* replay.c - see replay.h. SPDX-License-Identifier: MIT */
#include "source/replay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "source/recording_file.h"

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

/* Passes over the samples before the window. */
static int
skip_until(struct ks_source *src, const char *path, int64_t from)
{
	for (;;) {
		int64_t now;
		int rc;

		if (src->ops->time_of_day(src, &now) <= 0)
			return ks_fail(EINVAL, "%s: its samples have no time of day to choose by "
			    "(kstat -T u -j writes it)", path);
		if (now >= from)
			return 0;
		rc = src->ops->advance(src);
		if (rc < 0)
			return -1;
		if (rc == 0)
			return ks_fail(ENODATA, "%s: no sample in the time asked for", path);
	}
}

struct ks_source *
ks_source_replay_open(const char *path, int64_t from, int64_t to)
{
	struct ks_source *src;

	if (is_recording(path))
		return ks_source_recording_open(path, from, to);
	if (to != INT64_MAX)
		return ks_fail_null(EINVAL, "%s: only a recording can be ended at a time; convert it "
		    "with kstatlua convert", path);
	src = ks_source_capture_open(path);
	if (src != NULL && from != INT64_MIN && skip_until(src, path, from) != 0) {
		int error = errno;

		src->ops->close(src);
		errno = error;
		return NULL;
	}
	return src;
}
