/*
 * handle.h - the structure behind a kstat_ctl_t, for the chain's own files and the recorder, which asks the source of a
 * kstat what its statistics mean. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_HANDLE_H
#define CHAIN_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "chain/chain.h"
#include "chain/node.h"
#include "select/selector.h"
#include "source/source.h"

/* The warnings of a chain, each returned once: warnings.c. */
struct ks_warnings {
	char **line; /* owned, in the order in which they came */
	size_t n, cap;
	size_t returned; /* how many of them */
	bool lost;       /* there was no memory for a line, and no line was returned that says so */
};

void ks_warnings_free(struct ks_warnings *w);

/* Adds a line unless it was added before; lines beyond a thousand are dropped. Without memory one line says so. */
void ks_warnings_add(struct ks_warnings *w, const char *line);

/* The oldest line that was not returned yet, or NULL. */
const char *ks_warnings_take(struct ks_warnings *w);

#define KS_MOST_SOURCES 4

/*
 * The chain. It owns its sources and its nodes. Sources are asked in their order, and a kstat belongs to the
 * first that has its name. Only a scan adds and removes nodes, and it alone changes kc_chain_id and the list
 * of changes. A kstat_t that clients hold stays good from one scan to the next; its data, until its next read
 * or the end of the chain. A chain is for one thread at a time.
 */
struct ks_chain {
	kstat_ctl_t kc; /* first: clients hold a pointer to it */
	struct ks_source *source[KS_MOST_SOURCES]; /* system before published: earlier wins */
	size_t nsources;
	struct ks_nodes nodes;
	struct ks_only only;   /* n 0: everything */
	struct ks_record record; /* scratch of kstat_read() */
	uint64_t walks;
	bool is_walking;
	struct ks_buf md_texts;  /* unit and description that kstat2_get_md() returned last */
	uint64_t scans;
	struct ks_change *change; /* of the last update that changed anything */
	size_t nchanges, change_cap;
	struct {
		kstat_t **ksp;  /* owned */
		size_t n;
		kid_t chain_id; /* kc_chain_id then; 0: there is none */
	} sorted;              /* all kstats that are shown, in the order of selections (selection.c) */
	struct ks_warnings warnings;
	struct {
		hrtime_t at, step;     /* of the last update, or of opening; from the one before to that, 0: there is none */
		int64_t time_of_day;
		bool is_cut;
	} updated;             /* of a live chain */
	bool asks_more;        /* during a scan, see struct ks_scan */
	bool was_read;         /* data was read since the last update */
	bool plain;            /* values of types that illumos does not have are left out */
	bool computes;         /* data that is read has the statistics that the decoder computes, for C programs */
	bool ended;            /* replay: the last update stayed at the last sample */
	bool damaged;          /* replay: not all of it was shown, see ks_chain_damaged() */
};

static inline struct ks_chain *
ks_chain_of(kstat_ctl_t *kc)
{
	return (struct ks_chain *)kc;
}

/*
 * The source of unix:0:kstat_headers. Its data are the headers of all kstats of the chain. NULL with errno ENOMEM.
 */
struct ks_source *ks_source_headers_open(const struct ks_chain *chain);

/* Scans every source. 1 if the chain changed, 0 if not, -1 with errno, and the chain stays as it is. */
int ks_chain_scan(struct ks_chain *chain);

/* The source of a chain that replays a capture or a recording; NULL: it is live. */
static inline struct ks_source *
ks_replay_source(const struct ks_chain *chain)
{
	for (size_t i = 0; i < chain->nsources; i++) {
		if (chain->source[i]->ops->advance != NULL)
			return chain->source[i];
	}
	return NULL;
}

#endif
