/*
 * chain.c - libkstat over an open chain: updates, lookups, reads, writes. See kstat.h and chain.h.
 * SPDX-License-Identifier: MIT
 */
#include "chain/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "chain/handle.h"
#include "model/distribution.h"
#include "model/histstat.h"
#include "model/meta.h"
#include "model/shape.h"
#include "source/sources.h"

/* --- updates --------------------------------------------------------------- */

/* Looks how long ago the last update of a live chain was. */
static void
look_at_clocks(struct ks_chain *chain)
{
	hrtime_t now = gethrtime(), step = now - chain->updated.at;
	int64_t time = ks_time_of_day();

	chain->updated.is_cut = ks_is_gap(step, chain->updated.step) ||
	    ks_is_sleep(ks_time_between(chain->updated.time_of_day, time), step);
	chain->updated.at = now;
	chain->updated.step = step;
	chain->updated.time_of_day = time;
}

/* Brings the chain up to date behind what moved a replay: 1, 0 it stayed at its last sample, -1 it failed. */
static kid_t
update(struct ks_chain *chain, int moved)
{
	if (moved < 0)
		return -1;
	if (ks_replay_source(chain) == NULL)
		look_at_clocks(chain);
	chain->ended = moved == 0;
	chain->was_read = false;
	switch (ks_chain_scan(chain)) {
	case -1:
		return -1;
	case 0:
		return 0;
	default:
		return chain->kc.kc_chain_id;
	}
}

kid_t
kstat_chain_update(kstat_ctl_t *kc)
{
	struct ks_chain *chain = ks_chain_of(kc);

	if (kc == NULL)
		return ks_fail(EINVAL, "kstat_chain_update: no handle");
	return chain->was_read ? ks_chain_step(kc) : update(chain, !chain->ended);
}

kid_t
ks_chain_step(kstat_ctl_t *kc)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));

	return update(ks_chain_of(kc), src != NULL ? src->ops->advance(src) : 1);
}

/* Fails because nobody recorded the machine for the chain. */
static kid_t
fail_live(void)
{
	return ks_fail(EOPNOTSUPP, "this is the machine now; only a recording or a capture has other times");
}

kid_t
ks_chain_seek(kstat_ctl_t *kc, int64_t ns, unsigned *back)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));

	return src == NULL ? fail_live() : update(ks_chain_of(kc), src->ops->seek(src, ns, back));
}

kid_t
ks_chain_previous(kstat_ctl_t *kc, unsigned *back)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));

	return src == NULL ? fail_live() : update(ks_chain_of(kc), src->ops->previous(src, back));
}

kid_t
kstat_replay_seek(kstat_ctl_t *kc, int64_t *ns)
{
	unsigned back = 0;
	kid_t id;

	if (kc == NULL || ns == NULL)
		return ks_fail(EINVAL, "kstat_replay_seek: no handle or no time");
	id = ks_chain_seek(kc, *ns, &back);
	if (id >= 0)
		*ns = ks_chain_time_of_day(kc, NULL);
	return id;
}

int
ks_chain_want(kstat_ctl_t *kc, const struct ks_selector *const *also, size_t n)
{
	struct ks_chain *chain = ks_chain_of(kc);
	const struct ks_only only = chain->only;
	int rc;

	for (const kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		if (ks_selector_matches(also[n - 1], k))
			return -1;
	}
	if (only.n > 0 || ks_replay_source(chain) != NULL)
		return -1;
	chain->only.also = also;
	chain->only.nalso = n;
	chain->asks_more = true;
	rc = ks_chain_scan(chain);
	chain->asks_more = false;
	if (rc < 0)
		chain->only = only;
	return rc;
}

bool
ks_chain_ended(kstat_ctl_t *kc)
{
	return ks_chain_of(kc)->ended;
}

const struct ks_change *
ks_chain_changes(kstat_ctl_t *kc, size_t *n)
{
	*n = ks_chain_of(kc)->nchanges;
	return ks_chain_of(kc)->change;
}

/* --- finding ------------------------------------------------------------------ */

kstat_t *
kstat_lookup(kstat_ctl_t *kc, const char *ks_module, int ks_instance, const char *ks_name)
{
	int by = (ks_module != NULL ? KS_BY_MODULE : 0) | (ks_instance != -1 ? KS_BY_INSTANCE : 0) |
	    (ks_name != NULL ? KS_BY_NAME : 0);
	struct ks_node *node;

	if (kc == NULL)
		return ks_fail_null(EINVAL, "kstat_lookup: no handle");
	node = ks_nodes_lookup(&ks_chain_of(kc)->nodes, by, ks_module, ks_instance, ks_name);
	if (node == NULL)
		return ks_fail_null(ENOENT, "no kstat %s:%d:%s", ks_module != NULL ? ks_module : "*",
		    ks_instance, ks_name != NULL ? ks_name : "*");
	return &node->k;
}

kstat_t *
ks_chain_find(kstat_ctl_t *kc, kid_t kid)
{
	struct ks_node *node = ks_nodes_by_kid(&ks_chain_of(kc)->nodes, kid);

	if (node == NULL)
		return ks_fail_null(ENXIO, "the kstat left the chain");
	return &node->k;
}

void *
kstat_data_lookup(kstat_t *ksp, const char *name)
{
	size_t size = 0;

	if (ksp != NULL && ksp->ks_type == KSTAT_TYPE_NAMED)
		size = sizeof(kstat_named_t);
	else if (ksp != NULL && ksp->ks_type == KSTAT_TYPE_TIMER)
		size = sizeof(kstat_timer_t);
	if (size == 0 || ksp->ks_data == NULL || name == NULL)
		return ks_fail_null(EINVAL, "kstat_data_lookup: needs a NAMED or TIMER kstat that was read");
	/* Either record starts with its name. */
	for (char *at = ksp->ks_data, *end = at + ksp->ks_ndata * size; at < end; at += size) {
		if (strncmp(at, name, KSTAT_STRLEN) == 0)
			return at;
	}
	return ks_fail_null(ENOENT, "%s:%d:%s has no statistic %s", ksp->ks_module, ksp->ks_instance,
	    ksp->ks_name, name);
}

/* --- reading and writing ------------------------------------------------------ */

static struct ks_node *
node_of(struct ks_chain *chain, const kstat_t *ksp)
{
	struct ks_node *node;

	if (chain == NULL || ksp == NULL)
		return ks_fail_null(EINVAL, "no kstat given");
	node = ks_nodes_by_kid(&chain->nodes, ksp->ks_kid);
	if (node == NULL)
		return ks_fail_null(ENXIO, "%.30s:%d:%.30s is gone", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	return node;
}

/*
 * Makes ksp->ks_data fit. Even an empty data section gets memory: ks_data is NULL until the first read. The room of
 * named values never shrinks: who allocated as much as the header said can read again into the same memory.
 */
static int
fit_data(kstat_t *ksp, size_t size)
{
	void *data;

	if (ksp->ks_type == KSTAT_TYPE_NAMED && ksp->ks_data_size > size)
		size = ksp->ks_data_size;
	if (ksp->ks_data != NULL && ksp->ks_data_size == size)
		return 0;
	data = calloc(1, size == 0 ? 1 : size);
	if (data == NULL)
		return ks_fail(ENOMEM, "out of memory for the data of %s:%d:%s", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	free(ksp->ks_data);
	ksp->ks_data = data;
	ksp->ks_data_size = size;
	return 0;
}

/* Reads from the source and keeps its warnings. errno and the message stay those of the read. */
static int
read_from(struct ks_chain *chain, const struct ks_node *node, struct ks_record *r)
{
	const struct ks_source_ops *ops = node->source->ops;
	int rc = ops->read(node->source, &node->k, node->cookie, r);
	int error = rc < 0 ? errno : 0;
	const char *line;
	bool is_lack;

	while (ops->trouble != NULL && (line = ops->trouble(node->source, &is_lack)) != NULL) {
		ks_warnings_add(&chain->warnings, line);
		chain->damaged |= is_lack;
	}
	if (rc < 0)
		errno = error;
	return rc;
}

/* Warns of a kstat that is there and could not be read, for want of memory or because it is damaged; errno stays. */
static void
warn_of_lack(struct ks_chain *chain)
{
	int error = errno;

	if (ks_is_lack(error) || error == EBADMSG) {
		ks_warnings_add(&chain->warnings, kstat_errmsg());
		chain->damaged = true;
	}
	errno = error;
}

/* Reads a kstat into the chain's record, which is returned; NULL with errno. */
static struct ks_record *
read_record(struct ks_chain *chain, const struct ks_node *node, bool is_walking)
{
	const kstat_t *ksp = &node->k;
	struct ks_record *r = &chain->record;

	ks_record_reset(r);
	r->walk = is_walking ? chain->walks : 0;
	chain->was_read = true;
	if (read_from(chain, node, r) < 0)
		return NULL;
	if (ks_record_failed(r))
		return ks_fail_null(ENOMEM, "out of memory for the data of %s:%d:%s", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	if (chain->plain && ksp->ks_type == KSTAT_TYPE_NAMED)
		ks_record_make_plain(r);
	if (chain->computes && ksp->ks_type == KSTAT_TYPE_NAMED)
		ks_dist_reserve(r);
	if (r->snaptime == 0 && node->source->ops->advance == NULL)
		r->snaptime = gethrtime(); /* what a replay does not know stays 0 */
	return r;
}

/* Writes the data that was read to k->ks_data, which has room for it, and what a reading changes in the header. */
static void
finish_reading(const struct ks_record *r, kstat_t *k)
{
	ks_record_finish(r, k->ks_type, k->ks_data);
	k->ks_ndata = r->ndata;
	/* The records of RAW data are its bytes, unless its provider counts in units of its own. */
	if (k->ks_type == KSTAT_TYPE_RAW && (k->ks_flags & (KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_STATSBLOB)) == 0)
		k->ks_ndata = (uint_t)ks_record_size(r);
	if (r->strings)
		k->ks_flags |= KSTAT_FLAG_LONGSTRINGS;
	k->ks_snaptime = r->snaptime;
}

#define COPY_HEAD ((sizeof(kstat_t) + 15) & ~(size_t)15) /* bytes of a copy before its data */

/* Reads a kstat for a copy of it; NULL with errno. */
static const struct ks_record *
read_for_copy(struct ks_chain *chain, const kstat_t *ksp)
{
	const struct ks_node *node = node_of(chain, ksp);
	struct ks_record *r = node != NULL ? read_record(chain, node, chain->is_walking) : NULL;

	if (r != NULL && ksp->ks_type == KSTAT_TYPE_NAMED)
		ks_record_drop_hidden(r);
	return r;
}

/* Makes the copy at an address; NULL with errno if that is NULL, or there is no record. */
static kstat_t *
finish_copy(struct ks_chain *chain, const struct ks_record *r, const kstat_t *ksp, void *at)
{
	kstat_t *copy = at;

	if (r != NULL && copy == NULL)
		(void)ks_fail(ENOMEM, "out of memory for a sample");
	if (r == NULL || copy == NULL) {
		warn_of_lack(chain);
		return NULL;
	}
	*copy = *ksp;
	copy->ks_next = NULL;
	copy->ks_data = (char *)copy + COPY_HEAD;
	copy->ks_data_size = ks_record_size(r);
	finish_reading(r, copy);
	return copy;
}

kstat_t *
ks_chain_read_copy(kstat_ctl_t *kc, const kstat_t *ksp)
{
	struct ks_chain *chain = ks_chain_of(kc);
	const struct ks_record *r = read_for_copy(chain, ksp);

	return finish_copy(chain, r, ksp, r != NULL ? malloc(COPY_HEAD + ks_record_size(r)) : NULL);
}

const kstat_t *
ks_chain_read_into(kstat_ctl_t *kc, const kstat_t *ksp, struct ks_buf *b)
{
	struct ks_chain *chain = ks_chain_of(kc);
	const struct ks_record *r = read_for_copy(chain, ksp);

	ks_buf_reset(b);
	return finish_copy(chain, r, ksp, r != NULL ? ks_buf_room(b, COPY_HEAD + ks_record_size(r)) : NULL);
}

void
ks_chain_begin_walk(kstat_ctl_t *kc)
{
	ks_chain_of(kc)->walks++;
	ks_chain_of(kc)->is_walking = true;
}

void
ks_chain_end_walk(kstat_ctl_t *kc)
{
	ks_chain_of(kc)->is_walking = false;
}

kid_t
kstat_read(kstat_ctl_t *kc, kstat_t *ksp, void *buf)
{
	struct ks_chain *chain = ks_chain_of(kc);
	const struct ks_node *node = node_of(chain, ksp);
	const struct ks_record *r = node != NULL ? read_record(chain, node, false) : NULL;
	size_t size = r != NULL ? ks_record_size(r) : 0;

	/* A buffer is as large as the header said, which therefore stays as it is. */
	if (buf != NULL && size > ksp->ks_data_size)
		return ks_fail(EOVERFLOW, "%s:%d:%s has %zu bytes now, and its header says %zu: read it without a "
		    "buffer first", ksp->ks_module, ksp->ks_instance, ksp->ks_name, size, ksp->ks_data_size);
	if (r == NULL || fit_data(ksp, size) != 0) {
		warn_of_lack(chain);
		return -1;
	}
	finish_reading(r, ksp);
	if (chain->computes && ks_histstat_is(ksp))
		ks_dist_fill(ksp);
	if (buf != NULL) {
		memcpy(buf, ksp->ks_data, size);
		if (ksp->ks_type == KSTAT_TYPE_NAMED)
			ks_named_relocate(buf, ksp->ks_ndata, ksp->ks_data, size);
	}
	return kc->kc_chain_id;
}

kid_t
kstat_write(kstat_ctl_t *kc, kstat_t *ksp, void *buf)
{
	struct ks_node *node = node_of(ks_chain_of(kc), ksp);

	if (node == NULL)
		return -1;
	if (buf == NULL)
		buf = ksp->ks_data;
	if (buf == NULL)
		return ks_fail(EINVAL, "%s:%d:%s was not read: there is no data to write",
		    ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	if (node->source->ops->write == NULL || !(node->k.ks_flags & KSTAT_FLAG_WRITABLE))
		return ks_fail(EACCES, "%s:%d:%s is not writable", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	if (node->source->ops->write(node->source, ksp, node->cookie, buf) < 0)
		return -1;
	return kc->kc_chain_id;
}

/* --- what else is known --------------------------------------------------------- */

bool
ks_chain_is_replay(kstat_ctl_t *kc)
{
	return ks_replay_source(ks_chain_of(kc)) != NULL;
}

bool
ks_chain_is_cut(kstat_ctl_t *kc, bool *is_restarted)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));
	enum ks_cut cut = src != NULL && src->ops->cut != NULL ? src->ops->cut(src) : KS_CUT_NONE;

	*is_restarted = cut == KS_CUT_BOOT;
	return src == NULL ? ks_chain_of(kc)->updated.is_cut : cut != KS_CUT_NONE;
}

bool
ks_chain_is_interval(kstat_ctl_t *kc)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));

	return src != NULL && src->ops->is_interval != NULL && src->ops->is_interval(src);
}

bool
ks_chain_is_bounded(kstat_ctl_t *kc, int64_t *from, bool *is_capture)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));

	*from = INT64_MIN;
	*is_capture = false;
	return src != NULL && src->ops->is_bounded != NULL && src->ops->is_bounded(src, from, is_capture);
}

bool
ks_chain_damaged(kstat_ctl_t *kc)
{
	return ks_chain_of(kc)->damaged;
}

int
ks_chain_file(kstat_ctl_t *kc)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));

	return src != NULL && src->ops->file != NULL ? src->ops->file(src) : -1;
}

hrtime_t
ks_chain_now(kstat_ctl_t *kc)
{
	const struct ks_chain *chain = ks_chain_of(kc);

	for (size_t i = 0; i < chain->nsources; i++) {
		if (chain->source[i]->ops->now != NULL)
			return chain->source[i]->ops->now(chain->source[i]);
	}
	return gethrtime();
}

bool
ks_chain_has_gethrtime(kstat_ctl_t *kc, const kstat_t *ksp)
{
	const struct ks_node *node = ks_nodes_by_kid(&ks_chain_of(kc)->nodes, ksp->ks_kid);

	return node != NULL && node->source->ops->now == NULL && !ks_chain_is_replay(kc);
}

int64_t
ks_chain_time_of_day(kstat_ctl_t *kc, int64_t *seconds)
{
	struct ks_source *src = ks_replay_source(ks_chain_of(kc));
	int64_t ns = ks_time_of_day(), half = KS_NANOSEC / 2, up;
	bool exact = src == NULL || src->ops->time_of_day(src, &ns) > 0;

	if (exact || __builtin_add_overflow(ns, half, &up))
		up = ns;
	if (seconds != NULL)
		*seconds = up / KS_NANOSEC - (up % KS_NANOSEC < 0);
	return ns;
}

const struct ks_meta *
ks_chain_meta(kstat_ctl_t *kc, const kstat_t *ksp, const char *stat)
{
	struct ks_node *node = kc != NULL ? ks_nodes_by_kid(&ks_chain_of(kc)->nodes, ksp->ks_kid) : NULL;
	bool described = node != NULL && node->source->ops->meta != NULL;
	const struct ks_meta *m = NULL;

	if (described)
		m = node->source->ops->meta(node->source, ksp, node->cookie, stat);
	if (described && m == NULL && ks_histstat_is(ksp)) {
		m = node->source->ops->meta(node->source, ksp, node->cookie, "buckets");
		m = m != NULL ? ks_meta_of_values(m, stat) : NULL;
	}
	if (m == NULL)
		m = ks_meta_of_model(ksp, stat);
	if (m == NULL && node != NULL && !node->published && !node->stranger && node->source->ops->advance != NULL)
		m = ks_source_linux_describe(ksp, stat, &node->stranger);
	return m;
}

bool
ks_chain_publisher(kstat_ctl_t *kc, const kstat_t *ksp, struct ks_origin *o)
{
	struct ks_node *node = ks_nodes_by_kid(&ks_chain_of(kc)->nodes, ksp->ks_kid);

	return node != NULL && node->published &&
	    (o == NULL || node->source->ops->publisher(node->source, ksp, node->cookie, o));
}

const char *
ks_chain_host(kstat_ctl_t *kc, const kstat_t *ksp)
{
	struct ks_node *node = ks_nodes_by_kid(&ks_chain_of(kc)->nodes, ksp->ks_kid);

	return node != NULL ? node->host : NULL;
}

uint64_t
ks_chain_left_out(kstat_ctl_t *kc)
{
	const struct ks_chain *chain = ks_chain_of(kc);
	uint64_t n = 0;

	for (size_t i = 0; i < chain->nsources; i++) {
		if (chain->source[i]->ops->left_out != NULL)
			n += chain->source[i]->ops->left_out(chain->source[i]);
	}
	return n;
}

const char *
ks_chain_warning(kstat_ctl_t *kc)
{
	return ks_warnings_take(&ks_chain_of(kc)->warnings);
}

void
ks_chain_warn_again(kstat_ctl_t *kc)
{
	struct ks_chain *chain = ks_chain_of(kc);

	ks_warnings_free(&chain->warnings);
	for (size_t i = 0; i < chain->nsources; i++) {
		if (chain->source[i]->ops->forget_trouble != NULL)
			chain->source[i]->ops->forget_trouble(chain->source[i]);
	}
}

size_t
ks_chain_length(kstat_ctl_t *kc)
{
	return ks_chain_of(kc)->nodes.n;
}
