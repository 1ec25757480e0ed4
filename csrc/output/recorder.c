/* recorder.c - see recorder.h. SPDX-License-Identifier: MIT */
#include "output/recorder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "chain/handle.h"
#include "model/decode.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"

/*
 * A reader starts at a keyframe, which costs as much as twenty other frames, and goes on from one of the light
 * keyframes behind it, which cost as much as two.
 */
#define FRAMES_PER_KEY 360
#define FRAMES_PER_LIGHT 60

struct ks_recorder {
	struct ks_rec_queue *queue; /* of a directory; NULL: there is a file */
	struct ks_rec_writer file;
	struct ks_store sample;     /* the one before, as its reader has it */
	struct ks_store key_sample; /* that of the last keyframe */
	struct ks_rec_state state, of_key;
	struct ks_buf bytes;
	unsigned frames;            /* since the last keyframe; 0: the next one is a keyframe */
	uint64_t samples;
	int64_t day;                /* of the last one, days since 1970 */
	struct ks_rec_kstat *found; /* the kstats of the sample being written, in chain order */
	kstat_t *heads;             /* owned: their headers, where they are of several machines */
	size_t n, cap, heads_cap;
};

/* A recorder that has neither a file nor a directory yet; NULL with errno. */
static struct ks_recorder *
new_recorder(void)
{
	struct ks_recorder *rec = calloc(1, sizeof(*rec));

	if (rec == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a recorder");
	rec->state.sample = &rec->sample;
	rec->of_key.sample = &rec->key_sample;
	rec->file.fd = -1;
	return rec;
}

/* Returns the recorder if it was opened; else closes it, and returns NULL with errno. */
static struct ks_recorder *
opened(struct ks_recorder *rec, bool is_open)
{
	int error = errno;

	if (is_open)
		return rec;
	ks_recorder_close(rec);
	errno = error;
	return NULL;
}

struct ks_recorder *
ks_recorder_open(const char *path)
{
	struct ks_recorder *rec = new_recorder();

	return rec != NULL ? opened(rec, ks_rec_writer_open(&rec->file, path) == 0) : NULL;
}

struct ks_recorder *
ks_recorder_open_directory(const char *path, const struct ks_rec_limits *limits)
{
	struct ks_recorder *rec = new_recorder();

	if (rec == NULL)
		return NULL;
	rec->queue = ks_rec_queue_open(path, limits);
	return opened(rec, rec->queue != NULL);
}

void
ks_recorder_end(struct ks_recorder *rec)
{
	if (rec->queue != NULL)
		ks_rec_queue_end(rec->queue);
}

void
ks_recorder_close(struct ks_recorder *rec)
{
	if (rec == NULL)
		return;
	ks_rec_queue_close(rec->queue);
	ks_rec_writer_close(&rec->file);
	ks_rec_state_free(&rec->state);
	ks_rec_state_free(&rec->of_key);
	ks_store_free(&rec->sample);
	ks_store_free(&rec->key_sample);
	ks_buf_free(&rec->bytes);
	free(rec->found);
	free(rec->heads);
	free(rec);
}

const char *
ks_recorder_path(const struct ks_recorder *rec)
{
	return rec->queue != NULL ? ks_rec_queue_path(rec->queue) : rec->file.path;
}

void
ks_recorder_status(const struct ks_recorder *rec, struct ks_rec_status *to)
{
	*to = (struct ks_rec_status){ .samples = rec->samples, .size = (uint64_t)rec->file.size };
	if (rec->queue != NULL)
		ks_rec_queue_status(rec->queue, to);
}

/* Reads what is wanted of a machine and adds it to rec->found. 0, or -1 with errno ENOMEM. */
static int
read_kstats(struct ks_recorder *rec, const struct ks_rec_host *host, const struct ks_selector *const *selectors,
    size_t n)
{
	struct ks_node *node = ks_chain_of(host->kc)->nodes.first;

	for (; node != NULL; node = (struct ks_node *)node->k.ks_next) {
		if (!ks_selector_any_matches(selectors, n, &node->k) || !ks_is_shown(&node->k))
			continue;
		if (!KS_RESERVE(rec->found, rec->cap, rec->n + 1))
			return ks_fail(ENOMEM, "out of memory for a recorder");
		rec->found[rec->n++] = (struct ks_rec_kstat){ &node->k, kstat_read(host->kc, &node->k, NULL) >= 0,
			node->source, node->cookie, node->host != NULL ? node->host : host->name };
	}
	ks_chain_warn_of_selectors(host->kc, selectors, n);
	return 0;
}

/*
 * Gives the kstats from `first` to before `end`, of machine number i of n, headers in which they are on the one clock,
 * and have IDs that no other machine's kstats have. 0, or -1 with errno.
 */
static int
unite(struct ks_recorder *rec, size_t first, size_t end, size_t i, size_t n, int64_t shift)
{
	kid_t most = (kid_t)(INT_MAX / n), base = (kid_t)i * most;

	for (size_t k = first; k < end; k++) {
		kstat_t *head = &rec->heads[k];

		*head = *rec->found[k].k;
		if (head->ks_kid >= most)
			return ks_fail(EOVERFLOW, "too many kstats came and went in the recordings of %zu machines", n);
		head->ks_kid += base;
		head->ks_crtime = (hrtime_t)((uint64_t)head->ks_crtime + (uint64_t)shift);
		head->ks_snaptime = (hrtime_t)((uint64_t)head->ks_snaptime + (uint64_t)shift);
		rec->found[k].k = head;
	}
	return 0;
}

/*
 * Puts the kstats in the order of the sample before, and new ones behind these: what lies behind a new one would have to
 * be defined again. Those of machine number i end at end[i], and their IDs are below `most` times i + 1.
 */
static int
keep_order(struct ks_recorder *rec, const size_t *end, size_t n, kid_t most)
{
	size_t at[KS_REC_MOST_HOSTS + 1] = { 0 }, count = 0;
	struct ks_rec_kstat *found = rec->found, *to = malloc((rec->n + 1) * sizeof(*to));

	if (to == NULL)
		return ks_fail(ENOMEM, "out of memory for a recorder");
	memcpy(at + 1, end, n * sizeof(*end));
	for (size_t i = 0; i < rec->sample.nkstats; i++) {
		kid_t kid = rec->sample.kstat[i].kid;
		size_t host = (size_t)(kid / most);

		while (host < n && at[host] < end[host] && found[at[host]].k->ks_kid < kid)
			at[host]++;
		if (host >= n || at[host] == end[host] || found[at[host]].k->ks_kid > kid)
			continue;
		to[count++] = found[at[host]];
		found[at[host]++].k = NULL;
	}
	for (size_t i = 0; i < rec->n; i++) {
		if (found[i].k != NULL)
			to[count++] = found[i];
	}
	memcpy(found, to, count * sizeof(*to));
	free(to);
	return 0;
}

/* Makes rec->bytes the sample in rec->found, as a frame of that kind has it. 0, or -1 with errno. */
static int
encode(struct ks_recorder *rec, enum ks_rec_kind kind, int64_t now)
{
	if (kind == KS_REC_KEY)
		ks_rec_state_reset(&rec->state);
	else if (kind == KS_REC_LIGHT && ks_rec_state_copy(&rec->state, &rec->of_key) != 0)
		return -1;
	ks_buf_reset(&rec->bytes);
	if (ks_rec_encode(&rec->state, rec->found, rec->n, now, &rec->bytes) != 0)
		return -1;
	if (kind != KS_REC_KEY)
		return 0;
	rec->state.era++;
	return ks_rec_state_copy(&rec->of_key, &rec->state);
}

/* True if the next sample has to be a keyframe, beside those that come by their number. */
static bool
wants_key(struct ks_recorder *rec, int64_t day)
{
	struct ks_rec_status status;
	bool is_new_day = day != rec->day;

	ks_recorder_status(rec, &status);
	rec->day = day;
	return rec->queue != NULL && (status.wants_key || is_new_day);
}

/* Writes the sample whose bytes were made, or lets it be written. 0, or -1 with errno. */
static int
put_sample(struct ks_recorder *rec, enum ks_rec_kind kind, int64_t now, struct ks_rec_input input)
{
	const struct ks_rec_item item = { .kind = kind, .time_of_day = now, .input = input, .bytes = rec->bytes,
		.boot = now - (int64_t)rec->state.taken };

	if (rec->queue != NULL) {
		ks_rec_queue_add(rec->queue, &item);
		rec->bytes = (struct ks_buf)KS_BUF_INIT;
		return 0;
	}
	if (ks_rec_writer_pack(&rec->file, kind, now, &rec->bytes) != 0)
		return -1;
	return ks_rec_writer_put(&rec->file, input);
}

/* Writes the sample of the kstats in rec->found. 0, or -1 with errno. */
static int
add_found(struct ks_recorder *rec, int64_t now, int input)
{
	unsigned frames = wants_key(rec, ks_rec_day(now)) ? 0 : rec->frames;
	enum ks_rec_kind kind = frames == 0 ? KS_REC_KEY :
	    frames % FRAMES_PER_LIGHT == 0 ? KS_REC_LIGHT : KS_REC_DIFFERENCE;

	rec->frames = 0; /* after a failure the state is ahead of the file: the next frame starts anew */
	if (encode(rec, kind, now) != 0 || put_sample(rec, kind, now, ks_rec_input_of(input)) != 0)
		return -1;
	rec->samples++;
	rec->frames = (frames + 1) % FRAMES_PER_KEY;
	return 0;
}

int
ks_recorder_add(struct ks_recorder *rec, kstat_ctl_t *kc,
    const struct ks_selector *const *selectors, size_t n)
{
	const struct ks_rec_host own = { .kc = kc, .name = "" };

	if (rec->queue != NULL && !ks_rec_queue_has_place(rec->queue, ks_chain_is_replay(kc)))
		return 0;
	rec->n = 0;
	if (read_kstats(rec, &own, selectors, n) != 0)
		return -1;
	rec->state.rough = !ks_chain_is_replay(kc);
	return add_found(rec, ks_chain_time_of_day(kc, NULL), ks_chain_file(kc));
}

static int
by_kid(const void *a, const void *b)
{
	kid_t x = (*(const kstat_t *const *)a)->ks_kid, y = (*(const kstat_t *const *)b)->ks_kid;

	return (x > y) - (x < y);
}

int
ks_recorder_add_copies(struct ks_recorder *rec, kstat_ctl_t *kc, const struct ks_sample *s, const kstat_t **copy,
    size_t n)
{
	if (rec->queue != NULL && !ks_rec_queue_has_place(rec->queue, ks_chain_is_replay(kc)))
		return 0;
	if (!KS_RESERVE(rec->found, rec->cap, n + 1))
		return ks_fail(ENOMEM, "out of memory for a recorder");
	qsort(copy, n, sizeof(*copy), by_kid);
	for (rec->n = 0; rec->n < n; rec->n++) {
		const kstat_t *k = copy[rec->n];
		const struct ks_node *node = ks_nodes_by_kid(&ks_chain_of(kc)->nodes, k->ks_kid);

		rec->found[rec->n] = (struct ks_rec_kstat){ .k = k, .was_read = k->ks_data != NULL, .host = "" };
		if (node == NULL)
			continue;
		rec->found[rec->n].source = node->source;
		rec->found[rec->n].cookie = node->cookie;
		rec->found[rec->n].host = node->host != NULL ? node->host : "";
	}
	rec->state.rough = !ks_chain_is_replay(kc);
	return add_found(rec, s->time_of_day, ks_chain_file(kc));
}

int
ks_recorder_add_hosts(struct ks_recorder *rec, const struct ks_rec_host *hosts, size_t nhosts,
    const struct ks_selector *const *selectors, size_t n)
{
	size_t end[KS_REC_MOST_HOSTS], first = 0;
	int64_t now = INT64_MIN;

	if (nhosts > KS_REC_MOST_HOSTS)
		return ks_fail(EINVAL, "a recording holds at most %d machines", KS_REC_MOST_HOSTS);
	rec->n = 0;
	rec->state.rough = false;
	for (size_t i = 0; i < nhosts; end[i++] = rec->n) {
		if (hosts[i].kc == NULL)
			continue;
		if (ks_rec_writer_start(&rec->file, ks_rec_input_of(ks_chain_file(hosts[i].kc))) != 0 ||
		    read_kstats(rec, &hosts[i], selectors, n) != 0)
			return -1;
		if (ks_chain_time_of_day(hosts[i].kc, NULL) > now)
			now = ks_chain_time_of_day(hosts[i].kc, NULL);
	}
	if (!KS_RESERVE(rec->heads, rec->heads_cap, rec->n + 1))
		return ks_fail(ENOMEM, "out of memory for a recorder");
	for (size_t i = 0; i < nhosts; first = end[i++]) {
		if (unite(rec, first, end[i], i, nhosts, hosts[i].shift) != 0)
			return -1;
	}
	if (keep_order(rec, end, nhosts, (kid_t)(INT_MAX / nhosts)) != 0)
		return -1;
	return add_found(rec, now, -1);
}
