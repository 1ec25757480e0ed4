/* recorder.c - see recorder.h. SPDX-License-Identifier: MIT */
#include "chain/recorder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "chain/chain.h"
#include "model/decode.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_writer.h"

/* A keyframe costs about ten other frames; after one, a reader may start. */
#define FRAMES_PER_KEY 360

struct ks_recorder {
	struct ks_rec_writer file;
	struct ks_store sample;
	struct ks_rec_state state;
	struct ks_buf bytes;
	unsigned frames;      /* since the last keyframe; 0: the next one is a keyframe */
	uint64_t samples;
	kstat_t **found;      /* the kstats of the sample being written, in chain order */
	kstat_t *unread;      /* headers of those that could not be read */
	size_t found_cap, unread_cap;
};

/* --- opening --------------------------------------------------------------------- */

static const struct ks_meta *
describe(void *kc, const kstat_t *ksp, const char *stat)
{
	return ks_chain_meta(kc, ksp, stat);
}

static bool
publisher(void *kc, const kstat_t *ksp, struct ks_origin *o)
{
	return ks_chain_publisher(kc, ksp, o);
}

struct ks_recorder *
ks_recorder_open(const char *path)
{
	struct ks_recorder *rec = calloc(1, sizeof(*rec));
	int error;

	if (rec == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a recorder");
	rec->state.sample = &rec->sample;
	rec->state.describe = describe;
	rec->state.publisher = publisher;
	if (ks_rec_writer_open(&rec->file, path) == 0)
		return rec;
	error = errno;
	ks_recorder_close(rec);
	errno = error;
	return NULL;
}

void
ks_recorder_close(struct ks_recorder *rec)
{
	if (rec == NULL)
		return;
	ks_rec_writer_close(&rec->file);
	ks_rec_state_free(&rec->state);
	ks_store_free(&rec->sample);
	ks_buf_free(&rec->bytes);
	free(rec->found);
	free(rec->unread);
	free(rec);
}

uint64_t
ks_recorder_samples(const struct ks_recorder *rec)
{
	return rec->samples;
}

int64_t
ks_recorder_size(const struct ks_recorder *rec)
{
	return rec->file.size;
}

/* --- one sample --------------------------------------------------------------------- */

/* Reads what is wanted into rec->found; stores how many, and the newest snaptime. */
static int
read_kstats(struct ks_recorder *rec, kstat_ctl_t *kc, const struct ks_selector *const *selectors,
    size_t n, size_t *count, hrtime_t *newest)
{
	size_t found = 0, unread = 0, most = ks_chain_length(kc);

	*newest = 0;
	if (!KS_RESERVE(rec->found, rec->found_cap, most) ||
	    !KS_RESERVE(rec->unread, rec->unread_cap, most))
		return ks_fail(ENOMEM, "out of memory for a recorder");
	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (!ks_is_shown(ksp) || !ks_selector_any_matches(selectors, n, ksp))
			continue;
		rec->found[found] = ksp;
		if (kstat_read(kc, ksp, NULL) < 0) {
			rec->unread[unread] = *ksp;
			rec->unread[unread].ks_data = NULL;
			rec->found[found] = &rec->unread[unread++];
		} else if (ksp->ks_snaptime > *newest) {
			*newest = ksp->ks_snaptime;
		}
		found++;
	}
	ks_chain_warn_of_selectors(kc, selectors, n);
	*count = found;
	return 0;
}

int
ks_recorder_add(struct ks_recorder *rec, kstat_ctl_t *kc,
    const struct ks_selector *const *selectors, size_t n)
{
	int64_t now = ks_chain_time_of_day(kc, NULL);
	unsigned frames = rec->frames;
	hrtime_t newest;
	size_t count = 0;

	if (read_kstats(rec, kc, selectors, n, &count, &newest) != 0)
		return -1;
	if (frames == 0)
		ks_rec_state_reset(&rec->state);
	ks_buf_reset(&rec->bytes);
	rec->state.context = kc;
	rec->frames = 0; /* after a failure the state is ahead of the file: the next frame starts anew */
	if (ks_rec_encode(&rec->state, (const kstat_t *const *)rec->found, count, now, newest, &rec->bytes) != 0 ||
	    ks_rec_writer_add(&rec->file, frames == 0, now, &rec->bytes, ks_chain_file(kc)) != 0)
		return -1;
	rec->samples++;
	rec->frames = (frames + 1) % FRAMES_PER_KEY;
	return 0;
}
