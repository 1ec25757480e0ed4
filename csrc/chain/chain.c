/*
 * chain.c - libkstat: one chain merged from sources. See kstat.h and chain.h.
 * SPDX-License-Identifier: MIT
 */
#include "chain/chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "chain/node.h"
#include "chain/selector.h"
#include "chain/warnings.h"
#include "model/decode.h"
#include "source/replay.h"
#include "source/source.h"

#define MOST_SOURCES 4
#define MOST_NAMESAKES 64 /* tried before a kstat counts as new; a capture may hold any number */

struct ks_chain {
	kstat_ctl_t kc; /* first: clients hold a pointer to it */
	struct ks_source *source[MOST_SOURCES]; /* system before published: earlier wins */
	size_t nsources;
	struct ks_nodes nodes;
	struct ks_only only;   /* n 0: everything */
	struct ks_record record; /* scratch of kstat_read() */
	uint64_t scans;
	struct ks_change *change; /* of the last update that changed anything */
	size_t nchanges, change_cap;
	struct ks_warnings warnings;
	bool was_read;         /* data was read since the last update */
	bool ended;            /* replay: the last update stayed at the last sample */
	int64_t replay_start;  /* time of day of the first sample, ns since 1970 */
	int64_t replay_passed; /* ns */
};

struct ks_scan {
	struct ks_chain *chain;
	struct ks_source *source;
	uint64_t number;
	bool changed;
	struct ks_node *expected; /* follows the last match: sources offer in a steady order */
};

static struct ks_chain *
chain_of(kstat_ctl_t *kc)
{
	return (struct ks_chain *)kc;
}

/* --- scanning ------------------------------------------------------------- */

static int
note_change(struct ks_chain *chain, const kstat_t *k, bool added)
{
	struct ks_change *c;

	if (chain->nchanges == chain->change_cap) {
		size_t cap = chain->change_cap == 0 ? 64 : 2 * chain->change_cap;

		c = realloc(chain->change, cap * sizeof(*c));
		if (c == NULL)
			return ks_fail(ENOMEM, "out of memory for the changes of the chain");
		chain->change = c;
		chain->change_cap = cap;
	}
	c = &chain->change[chain->nchanges++];
	memcpy(c->module, k->ks_module, sizeof(c->module));
	memcpy(c->name, k->ks_name, sizeof(c->name));
	c->instance = k->ks_instance;
	c->added = added;
	return 0;
}

static bool
same_kstat(const struct ks_node *node, const struct ks_scan *scan, const struct ks_offer *offer)
{
	return node->source == scan->source && node->seen != scan->number &&
	    node->k.ks_crtime == offer->crtime && node->k.ks_type == offer->type &&
	    strncmp(node->k.ks_class, offer->class_, KSTAT_STRLEN - 1) == 0;
}

static int
matched(struct ks_scan *scan, struct ks_node *node, const struct ks_offer *offer)
{
	node->seen = scan->number;
	node->cookie = offer->cookie;
	node->k.ks_flags = offer->flags;
	scan->expected = (struct ks_node *)node->k.ks_next;
	return 0;
}

static bool
is_wanted(const struct ks_chain *chain, const struct ks_offer *offer)
{
	kstat_t head = { .ks_instance = offer->instance };

	if (chain->only.n == 0)
		return true;
	(void)snprintf(head.ks_module, sizeof(head.ks_module), "%s", offer->module);
	(void)snprintf(head.ks_name, sizeof(head.ks_name), "%s", offer->name);
	(void)snprintf(head.ks_class, sizeof(head.ks_class), "%s", offer->class_);
	return ks_selector_any_matches(chain->only.selector, chain->only.n, &head);
}

bool
ks_scan_wants(const struct ks_scan *scan, const char *module, const char *class_)
{
	const struct ks_only *only = &scan->chain->only;

	for (size_t i = 0; i < only->n; i++) {
		const struct ks_selector *s = only->selector[i];

		if ((module == NULL || ks_pattern_match(&s->module, module, strlen(module))) &&
		    (class_ == NULL || ks_pattern_match(&s->class_, class_, strlen(class_))))
			return true;
	}
	return only->n == 0;
}

int
ks_scan_offer(struct ks_scan *scan, const struct ks_offer *given)
{
	struct ks_chain *chain = scan->chain;
	struct ks_node *node = NULL;
	struct ks_offer offer = *given;
	char module[KSTAT_STRLEN], name[KSTAT_STRLEN];
	int namesakes = 0;

	(void)snprintf(module, sizeof(module), "%s", offer.module);
	(void)snprintf(name, sizeof(name), "%s", offer.name);
	offer.module = module;
	offer.name = name;
	if (scan->expected != NULL && scan->expected->k.ks_instance == offer.instance &&
	    strcmp(scan->expected->k.ks_name, name) == 0 &&
	    strcmp(scan->expected->k.ks_module, module) == 0 &&
	    same_kstat(scan->expected, scan, &offer))
		return matched(scan, scan->expected, &offer);
	while (namesakes++ < MOST_NAMESAKES &&
	    (node = ks_nodes_named(&chain->nodes, node, module, offer.instance, name)) != NULL) {
		if (same_kstat(node, scan, &offer))
			return matched(scan, node, &offer);
		if (node->source != scan->source && node->seen == scan->number)
			return 0; /* what an earlier source has cannot be shadowed */
	}
	if (!is_wanted(chain, &offer))
		return 0;
	node = ks_nodes_append(&chain->nodes, scan->source, &offer);
	if (node == NULL)
		return -1;
	node->seen = scan->number;
	scan->changed = true;
	return note_change(chain, &node->k, true);
}

void
ks_scan_warn(struct ks_scan *scan, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ks_warnings_add(&scan->chain->warnings, fmt, ap);
	va_end(ap);
}

/* Nothing of this source can have changed: all its kstats count as offered. */
static void
keep_all(struct ks_chain *chain, const struct ks_scan *scan)
{
	if (chain->nodes.first == NULL)
		return;
	for (kstat_t *k = &chain->nodes.first->k; k != NULL; k = k->ks_next) {
		if (((struct ks_node *)k)->source == scan->source)
			((struct ks_node *)k)->seen = scan->number;
	}
}

static int
remove_unseen(struct ks_chain *chain, struct ks_scan *scan)
{
	struct ks_node *prev = NULL;
	struct ks_node *node = chain->nodes.first;

	while (node != NULL) {
		struct ks_node *next = (struct ks_node *)node->k.ks_next;

		if (node->seen == scan->number) {
			prev = node;
		} else {
			if (note_change(chain, &node->k, false) != 0)
				return -1;
			ks_nodes_remove_after(&chain->nodes, prev);
			scan->changed = true;
		}
		node = next;
	}
	return 0;
}

/* Asks every source. 1 if the chain changed, 0 if not, -1 with errno; what is there stays then. */
static int
scan_sources(struct ks_chain *chain)
{
	struct ks_scan scan = { .chain = chain, .number = ++chain->scans };
	bool failed = false;
	int error = 0;
	char message[512] = "";

	chain->nchanges = 0;
	for (size_t i = 0; i < chain->nsources; i++) {
		int rc;

		scan.source = chain->source[i];
		scan.expected = chain->nodes.first;
		rc = scan.source->ops->scan(scan.source, &scan);
		if (rc <= 0)
			keep_all(chain, &scan);
		if (rc < 0) {
			failed = true;
			error = errno;
			(void)snprintf(message, sizeof(message), "%s", kstat_errmsg());
		}
	}
	if (remove_unseen(chain, &scan) != 0)
		return -1;
	if (scan.changed) {
		chain->kc.kc_chain = chain->nodes.first == NULL ? NULL : &chain->nodes.first->k;
		chain->kc.kc_chain_id++;
	}
	if (failed)
		return ks_fail(error, "%s", message);
	return scan.changed;
}

/* --- opening and closing ---------------------------------------------------- */

int
kstat_close(kstat_ctl_t *kc)
{
	struct ks_chain *chain = chain_of(kc);

	if (kc == NULL)
		return ks_fail(EINVAL, "kstat_close: no handle");
	for (size_t i = 0; i < chain->nsources; i++)
		chain->source[i]->ops->close(chain->source[i]);
	ks_nodes_free(&chain->nodes);
	ks_record_free(&chain->record);
	ks_warnings_free(&chain->warnings);
	free(chain->change);
	free(chain);
	return 0;
}

/* Closes a chain that could not be opened fully, keeping errno. */
static kstat_ctl_t *
abandon(struct ks_chain *chain)
{
	int error = errno;

	(void)kstat_close(&chain->kc);
	errno = error;
	return NULL;
}

static struct ks_chain *
new_chain(const struct ks_only *only)
{
	struct ks_chain *chain = calloc(1, sizeof(*chain));

	if (chain == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a kstat handle");
	if (only != NULL)
		chain->only = *only;
	chain->kc.kc_kd = -1;
	chain->kc.kc_chain_id = 1;
	if (ks_nodes_init(&chain->nodes) != 0)
		return (struct ks_chain *)abandon(chain);
	return chain;
}

/* Adds a source if there is one; false if opening it failed. */
static bool
add_source(struct ks_chain *chain, struct ks_source *src)
{
	if (src != NULL)
		chain->source[chain->nsources++] = src;
	return src != NULL;
}

static kstat_ctl_t *
first_scan(struct ks_chain *chain)
{
	if (scan_sources(chain) < 0)
		return abandon(chain);
	chain->nchanges = 0;
	return &chain->kc;
}

/* Published kstats are an addition: without them the machine's own are still there. */
static void
warn_last_error(struct ks_chain *chain)
{
	struct ks_scan scan = { .chain = chain };

	ks_scan_warn(&scan, "%s", kstat_errmsg());
}

/* A bound of the replay from the environment, which stays as it is if there is none. */
static int
replay_bound(const char *variable, int64_t *ns)
{
	const char *text = getenv(variable);

	if (text == NULL || *text == '\0' || ks_scan_time_of_day(text, ns) == 0)
		return 0;
	return ks_fail(EINVAL, "%s: '%.40s' is neither seconds since 1970 nor a time such as "
	    "2026-11-21 14:05", variable, text);
}

kstat_ctl_t *
ks_chain_open(const struct ks_only *only)
{
	const char *capture = getenv("KSTAT_SOURCE");
	int64_t from = INT64_MIN, to = INT64_MAX;
	struct ks_chain *chain;

	if (capture != NULL && *capture != '\0') {
		if (replay_bound("KSTAT_FROM", &from) != 0 || replay_bound("KSTAT_TO", &to) != 0)
			return NULL;
		return ks_chain_open_replay(capture, from, to, only);
	}
	chain = new_chain(only);
	if (chain == NULL)
		return NULL;
	if (!add_source(chain, ks_source_linux_open(getenv("KSTAT_PROC"), getenv("KSTAT_SYS"))))
		return abandon(chain);
	if (!add_source(chain, ks_source_local_open()))
		return abandon(chain);
	if (!add_source(chain, ks_source_segment_open()))
		warn_last_error(chain);
	return first_scan(chain);
}

kstat_ctl_t *
kstat_open(void)
{
	return ks_chain_open(NULL);
}

kstat_ctl_t *
ks_chain_open_source(struct ks_source *src, const struct ks_only *only)
{
	struct ks_chain *chain;

	if (src == NULL)
		return NULL; /* its opening failed and left errno */
	chain = new_chain(only);
	if (chain == NULL) {
		src->ops->close(src);
		errno = ENOMEM;
		return NULL;
	}
	(void)add_source(chain, src);
	return first_scan(chain);
}

kstat_ctl_t *
kstat_open_roots(const char *proc, const char *sys)
{
	return ks_chain_open_source(ks_source_linux_open(proc, sys), NULL);
}

/* The time of day that a replay starts at, from the environment. 0, or -1 with errno EINVAL. */
static int
replay_time(int64_t *ns)
{
	const char *text = getenv("KSTAT_REPLAY_TIME");

	if (text == NULL || *text == '\0') {
		*ns = ks_time_of_day();
		return 0;
	}
	if (ks_scan_seconds(text, strlen(text), ns) != 0)
		return ks_fail(EINVAL, "KSTAT_REPLAY_TIME: '%.40s' is not a number of seconds since 1970",
		    text);
	return 0;
}

kstat_ctl_t *
ks_chain_open_replay(const char *path, int64_t from, int64_t to, const struct ks_only *only)
{
	struct ks_chain *chain;

	if (path == NULL)
		return ks_fail_null(EINVAL, "no capture named");
	chain = new_chain(only);
	if (chain == NULL)
		return NULL;
	if (replay_time(&chain->replay_start) != 0 ||
	    !add_source(chain, ks_source_replay_open(path, from, to)))
		return abandon(chain);
	return first_scan(chain);
}

kstat_ctl_t *
kstat_open_capture(const char *path)
{
	return ks_chain_open_replay(path, INT64_MIN, INT64_MAX, NULL);
}

/* --- updates --------------------------------------------------------------- */

static kid_t
update(struct ks_chain *chain, bool advance)
{
	for (size_t i = 0; advance && i < chain->nsources; i++) {
		struct ks_source *src = chain->source[i];

		if (src->ops->advance != NULL) {
			int moved = src->ops->advance(src);

			if (moved < 0)
				return -1;
			chain->ended = moved == 0;
		}
	}
	chain->was_read = false;
	switch (scan_sources(chain)) {
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
	struct ks_chain *chain = chain_of(kc);

	if (kc == NULL)
		return ks_fail(EINVAL, "kstat_chain_update: no handle");
	return update(chain, chain->was_read);
}

kid_t
ks_chain_step(kstat_ctl_t *kc)
{
	return update(chain_of(kc), true);
}

bool
ks_chain_ended(kstat_ctl_t *kc)
{
	return chain_of(kc)->ended;
}

const struct ks_change *
ks_chain_changes(kstat_ctl_t *kc, size_t *n)
{
	*n = chain_of(kc)->nchanges;
	return chain_of(kc)->change;
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
	node = ks_nodes_lookup(&chain_of(kc)->nodes, by, ks_module, ks_instance, ks_name);
	if (node == NULL)
		return ks_fail_null(ENOENT, "no kstat %s:%d:%s", ks_module != NULL ? ks_module : "*",
		    ks_instance, ks_name != NULL ? ks_name : "*");
	return &node->k;
}

kstat_t *
ks_chain_find(kstat_ctl_t *kc, kid_t kid)
{
	struct ks_node *node = ks_nodes_by_kid(&chain_of(kc)->nodes, kid);

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

/* Makes ksp->ks_data fit. Even an empty data section gets memory: ks_data tells "was read". */
static int
fit_data(kstat_t *ksp, size_t size)
{
	void *data;

	if (ksp->ks_data != NULL && ksp->ks_data_size == size)
		return 0;
	data = malloc(size == 0 ? 1 : size);
	if (data == NULL)
		return ks_fail(ENOMEM, "out of memory for the data of %s:%d:%s", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	free(ksp->ks_data);
	ksp->ks_data = data;
	ksp->ks_data_size = size;
	return 0;
}

kid_t
kstat_read(kstat_ctl_t *kc, kstat_t *ksp, void *buf)
{
	struct ks_chain *chain = chain_of(kc);
	struct ks_node *node = node_of(chain, ksp);
	struct ks_record *r;

	if (node == NULL)
		return -1;
	r = &chain->record;
	ks_record_reset(r);
	chain->was_read = true;
	if (node->source->ops->read(node->source, &node->k, node->cookie, r) < 0)
		return -1;
	if (ks_record_failed(r))
		return ks_fail(ENOMEM, "out of memory for the data of %s:%d:%s", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	if (fit_data(ksp, ks_record_size(r)) != 0)
		return -1;
	ks_record_finish(r, ksp->ks_type, ksp->ks_data);
	ksp->ks_ndata = r->ndata;
	ksp->ks_snaptime = r->snaptime;
	if (r->snaptime == 0 && node->source->ops->advance == NULL)
		ksp->ks_snaptime = gethrtime(); /* what a replay does not know stays 0 */
	if (buf != NULL) {
		memcpy(buf, ksp->ks_data, ksp->ks_data_size);
		if (ksp->ks_type == KSTAT_TYPE_NAMED)
			ks_named_relocate(buf, ksp->ks_ndata, ksp->ks_data, ksp->ks_data_size);
	}
	return kc->kc_chain_id;
}

kid_t
kstat_write(kstat_ctl_t *kc, kstat_t *ksp, void *buf)
{
	struct ks_node *node = node_of(chain_of(kc), ksp);

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

static struct ks_source *
replay_source(struct ks_chain *chain)
{
	for (size_t i = 0; i < chain->nsources; i++) {
		if (chain->source[i]->ops->advance != NULL)
			return chain->source[i];
	}
	return NULL;
}

bool
ks_chain_is_replay(kstat_ctl_t *kc)
{
	return replay_source(chain_of(kc)) != NULL;
}

int64_t
ks_chain_time_of_day(kstat_ctl_t *kc)
{
	struct ks_chain *chain = chain_of(kc);
	struct ks_source *src = replay_source(chain);
	int64_t ns;

	if (src == NULL)
		return ks_time_of_day();
	if (src->ops->time_of_day != NULL && src->ops->time_of_day(src, &ns) > 0)
		return ns;
	return chain->replay_start + chain->replay_passed;
}

void
ks_chain_pass(kstat_ctl_t *kc, int64_t interval)
{
	chain_of(kc)->replay_passed += interval;
}

const struct ks_meta *
ks_chain_meta(kstat_ctl_t *kc, const kstat_t *ksp, const char *stat)
{
	struct ks_node *node = ks_nodes_by_kid(&chain_of(kc)->nodes, ksp->ks_kid);
	const struct ks_meta *m = NULL;

	if (node != NULL && node->source->ops->meta != NULL)
		m = node->source->ops->meta(node->source, ksp, node->cookie, stat);
	return m != NULL ? m : ks_meta_of_model(ksp, stat);
}

const char *
ks_chain_warning(kstat_ctl_t *kc)
{
	return ks_warnings_take(&chain_of(kc)->warnings);
}

size_t
ks_chain_length(kstat_ctl_t *kc)
{
	return chain_of(kc)->nodes.n;
}
