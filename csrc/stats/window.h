/*
 * window.h - the values of a time that slides, and what they come to. Adding a value and asking take constant time, but
 * for ranks, which take what a search and a move in an array of their number take, and lines, which look at each value. Each value takes 16 bytes.
 * Whoever asks says first from when on values count: ks_window_expire() removes all others.
 * The caller owns the structure; ks_window_free() frees what it points to. SPDX-License-Identifier: MIT
 */
#ifndef STATS_WINDOW_H
#define STATS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum ks_window_kind {
	KS_WINDOW_ALL,      /* every value of the time */
	KS_WINDOW_SPAN,     /* and the newest one of those before it */
	KS_WINDOW_CHANGES,  /* what was counted in intervals: each value belongs to the time since the one before */
	KS_WINDOW_LEAST,    /* what the least one is, or will be when others are too old */
	KS_WINDOW_GREATEST, /* likewise */
	KS_WINDOW_RANKED    /* every value, and their order */
};

/* A sum with what rounding took from it, so that a large value that has left leaves nothing behind. */
struct ks_window_sum {
	double high, low;
};

struct ks_window {
	enum ks_window_kind kind;
	uint32_t head, n, cap; /* a ring: the oldest value is at head */
	uint32_t old;          /* SPAN, CHANGES: 1 if the oldest is the one before the time, which is not in the sums */
	double *value;
	double *time;          /* NULL if ranked */
	uint32_t *tick, *order; /* ranked: times in units of `unit`, and the slots in the order of their values */
	double last, unit;
	struct ks_window_sum sum, length; /* of values; CHANGES: of the times in which they were counted */
};

#define KS_WINDOW_MOST UINT32_C(0x10000000) /* values */

/* seconds: the longest time that is asked for; what is ranked has its times in parts of 2^-30 of that. */
void ks_window_init(struct ks_window *w, enum ks_window_kind kind, double seconds);
void ks_window_free(struct ks_window *w);

/* Removes the values whose time is at most `from`. */
void ks_window_expire(struct ks_window *w, double from);

/*
 * Adds a finite value; times in seconds do not fall. In CHANGES a NaN begins: nothing is known of the time before.
 * -1 with errno ENOMEM; or EFBIG beyond KS_WINDOW_MOST values.
 */
int ks_window_add(struct ks_window *w, double time, double value);

/* How many values are in the time, and the i-th oldest of them. */
uint32_t ks_window_count(const struct ks_window *w);
double ks_window_at(const struct ks_window *w, uint32_t i);

/* Each returns false if the values do not say: there are none, or too few. */
bool ks_window_sum(const struct ks_window *w, double *sum);
bool ks_window_rate(const struct ks_window *w, double *per_second); /* CHANGES: what was counted by its time */
bool ks_window_value(const struct ks_window *w, double time, double *value); /* SPAN: of exactly that time */
/* SPAN: the line of least squares through the values and that of the time `before`, if it is the one before them. */
bool ks_window_trend(const struct ks_window *w, double before, double now, double *slope, double *at_now);
bool ks_window_quantile(const struct ks_window *w, double q, double *value); /* RANKED: 0 <= q <= 1 */

#endif
