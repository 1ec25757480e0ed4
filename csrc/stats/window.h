/*
 * window.h - the values of the last so many seconds, and what they come to. Adding a value and asking take constant
 * time, but for ranks, which take what a search and a move in an array of their number take. Each value takes 16 bytes.
 * The caller owns the structure; ks_window_free() frees what it points to. SPDX-License-Identifier: MIT
 */
#ifndef STATS_WINDOW_H
#define STATS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum ks_window_kind {
	KS_WINDOW_ALL,      /* every value of the time */
	KS_WINDOW_SPAN,     /* and the one with which the time begins */
	KS_WINDOW_LEAST,    /* what the least one is, or will be when others are too old */
	KS_WINDOW_GREATEST, /* likewise */
	KS_WINDOW_RANKED    /* every value, and their order */
};

/* Sums of times and values as they differ from `time` and `value`, so that large ones do not cancel out. */
struct ks_window_sums {
	double time, value;
	double t, v, tt, tv;
};

struct ks_window {
	enum ks_window_kind kind;
	double seconds;
	double gap; /* between the last two times */
	double last;
	uint32_t head, n, cap; /* a ring: the oldest value is at head */
	double *value;
	double *time;            /* NULL if ranked */
	uint32_t *ms, *order;    /* ranked: times since `start` in ms, and the slots in the order of their values */
	double start;
	struct ks_window_sums sums;
	uint32_t removed; /* since the sums were made anew */
};

#define KS_WINDOW_MOST UINT32_C(0x10000000) /* values */

void ks_window_init(struct ks_window *w, enum ks_window_kind kind, double seconds);
void ks_window_free(struct ks_window *w);

/*
 * Adds a finite value; times in seconds do not fall. Values that are older than the window leave it, where a tenth of
 * the gap between two times counts as none. -1 with errno ENOMEM; or EFBIG beyond KS_WINDOW_MOST values.
 */
int ks_window_add(struct ks_window *w, double time, double value);

/* The i-th oldest value, i < w->n. */
double ks_window_at(const struct ks_window *w, uint32_t i);

/* Each returns false if the values do not say: there are none, or too few. */
bool ks_window_sum(const struct ks_window *w, double *sum);
bool ks_window_rate(const struct ks_window *w, double *per_second); /* SPAN: from the first value to the last one */
bool ks_window_ago(const struct ks_window *w, double *value);       /* SPAN: the value as old as the window */
bool ks_window_trend(const struct ks_window *w, double *slope, double *now); /* the line of least squares */
bool ks_window_quantile(const struct ks_window *w, double q, double *value); /* RANKED: 0 <= q <= 1 */

#endif
