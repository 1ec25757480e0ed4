/*
 * watch.c - whether directories of publications changed since they were looked through.
 * SPDX-License-Identifier: MIT
 */
#include "source/segment/segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "provider/segment/directory.h"

/*
 * Time stamps of files advance with the kernel's tick: a directory that changed this short a time
 * (ns) before it was looked at may change again without showing it.
 */
#define TICK 20000000

void
ks_seg_forget_watched(struct ks_segments *s)
{
	while (s->nwatched > 0)
		free(s->watched[--s->nwatched].path);
}

static void
look_at_watched(struct ks_watched *w, struct stat *st)
{
	if (lstat(w->path, st) != 0)
		memset(st, 0, sizeof(*st));
}

/* Remembers what a path is now. Without memory nothing is remembered, and all is looked through. */
static int
watch(const char *path, void *arg)
{
	struct ks_segments *s = arg;
	struct ks_watched w = { .path = strdup(path) };
	struct timespec now;
	struct stat st;

	if (w.path == NULL || !KS_RESERVE(s->watched, s->watched_cap, s->nwatched + 1)) {
		free(w.path);
		ks_seg_forget_watched(s);
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

void
ks_seg_watch_all(struct ks_segments *s)
{
	ks_seg_forget_watched(s);
	if (ks_seg_each_watched(watch, s) != 0)
		ks_seg_forget_watched(s);
}

bool
ks_seg_nothing_came_or_went(struct ks_segments *s)
{
	char own[PATH_MAX];
	const char *only = getenv("KSTAT_DIR");

	/* The first is the own directory, or the only one: it follows the environment. */
	if (s->nwatched == 0 || ks_seg_own_dir(own) != 0 || strcmp(own, s->watched[0].path) != 0 ||
	    (only != NULL && *only != '\0') != (s->nwatched == 1))
		return false;
	for (size_t i = 0; i < s->nwatched; i++) {
		const struct ks_watched *w = &s->watched[i];
		struct stat st;

		look_at_watched(&s->watched[i], &st);
		if (st.st_dev != w->dev || st.st_ino != w->ino || st.st_uid != w->uid ||
		    st.st_mtim.tv_sec != w->mtime.tv_sec || st.st_mtim.tv_nsec != w->mtime.tv_nsec)
			return false;
	}
	return true;
}
