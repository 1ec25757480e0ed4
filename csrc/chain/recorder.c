/* recorder.c - see recorder.h. SPDX-License-Identifier: MIT */
#include "chain/recorder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "chain/handle.h"
#include "model/decode.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"

/* A keyframe costs about ten other frames; after one, a reader may start. */
#define FRAMES_PER_KEY 360

struct ks_recorder {
	struct ks_rec_writer file;
	struct ks_store sample;     /* the one before, as its reader has it */
	struct ks_rec_state state;
	struct ks_buf bytes;
	unsigned frames;            /* since the last keyframe; 0: the next one is a keyframe */
	uint64_t samples;
	struct ks_rec_kstat *found; /* the kstats of the sample being written, in chain order */
	size_t n, cap;
};

struct ks_recorder *
ks_recorder_open(const char *path)
{
	struct ks_recorder *rec = calloc(1, sizeof(*rec));
	int error;

	if (rec == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a recorder");
	rec->state.sample = &rec->sample;
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
	free(rec);
}

const char *
ks_recorder_path(const struct ks_recorder *rec)
{
	return rec->file.path;
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

/* Reads what is wanted into rec->found. 0, or -1 with errno ENOMEM. */
static int
read_kstats(struct ks_recorder *rec, kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n)
{
	struct ks_node *node = ks_chain_of(kc)->nodes.first;

	rec->n = 0;
	for (; node != NULL; node = (struct ks_node *)node->k.ks_next) {
		if (!ks_selector_any_matches(selectors, n, &node->k) || !ks_is_shown(&node->k))
			continue;
		if (!KS_RESERVE(rec->found, rec->cap, rec->n + 1))
			return ks_fail(ENOMEM, "out of memory for a recorder");
		rec->found[rec->n++] = (struct ks_rec_kstat){ &node->k, kstat_read(kc, &node->k, NULL) >= 0,
			node->source, node->cookie };
	}
	ks_chain_warn_of_selectors(kc, selectors, n);
	return 0;
}

int
ks_recorder_add(struct ks_recorder *rec, kstat_ctl_t *kc,
    const struct ks_selector *const *selectors, size_t n)
{
	int64_t now = ks_chain_time_of_day(kc, NULL);
	int input = ks_chain_file(kc);
	unsigned frames = rec->frames;

	if (read_kstats(rec, kc, selectors, n) != 0)
		return -1;
	if (frames == 0)
		ks_rec_state_reset(&rec->state);
	ks_buf_reset(&rec->bytes);
	rec->frames = 0; /* after a failure the state is ahead of the file: the next frame starts anew */
	if (ks_rec_encode(&rec->state, rec->found, rec->n, now, &rec->bytes) != 0 ||
	    ks_rec_writer_pack(&rec->file, frames == 0, now, &rec->bytes) != 0 ||
	    ks_rec_writer_put(&rec->file, input) != 0)
		return -1;
	rec->samples++;
	rec->frames = (frames + 1) % FRAMES_PER_KEY;
	return 0;
}
