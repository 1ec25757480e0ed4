/* watch.c - see watch.h. SPDX-License-Identifier: MIT */
#include "chain/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "chain/chain.h"

#define FIRST_CAP 8 /* a power of two, as are its doubles */

struct pair {
	kstat_t *ksp;
	kstat_t before; /* its data is owned */
};

struct ks_watch {
	kstat_ctl_t *kc;
	size_t n, cap;
	struct pair *pair; /* owned; cap */
	int *slot;         /* owned; twice cap, by address of the kstat: the number of its pair and 1, or 0 */
};

struct ks_watch *
ks_watch_new(kstat_ctl_t *kc)
{
	struct ks_watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return ks_fail_null(ENOMEM, "out of memory");
	w->kc = kc;
	return w;
}

void
ks_watch_free(struct ks_watch *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->n; i++)
		free(w->pair[i].before.ks_data);
	free(w->pair);
	free(w->slot);
	free(w);
}

/* The slot of a kstat, or the empty one that it is to have. */
static int *
slot_of(const struct ks_watch *w, const kstat_t *ksp)
{
	size_t mask = 2 * w->cap - 1, at = (size_t)((uintptr_t)ksp * 0x9e3779b97f4a7c15u >> 32);

	while (w->slot[at & mask] != 0 && w->pair[w->slot[at & mask] - 1].ksp != ksp)
		at++;
	return &w->slot[at & mask];
}

/* Room for another pair; 0, or -1 with errno. */
static int
make_room(struct ks_watch *w)
{
	size_t cap = w->cap > 0 ? 2 * w->cap : FIRST_CAP;
	struct pair *pair;
	int *slot;

	if (w->n < w->cap)
		return 0;
	if (cap > INT_MAX / 2)
		return ks_fail(ENOMEM, "too many kstats");
	pair = realloc(w->pair, cap * sizeof(*pair));
	if (pair != NULL)
		w->pair = pair;
	slot = calloc(2 * cap, sizeof(*slot));
	if (pair == NULL || slot == NULL) {
		free(slot);
		return ks_fail(ENOMEM, "out of memory");
	}
	free(w->slot);
	w->slot = slot;
	w->cap = cap;
	for (size_t i = 0; i < w->n; i++)
		*slot_of(w, w->pair[i].ksp) = (int)i + 1;
	return 0;
}

int
ks_watch_add(struct ks_watch *w, kstat_t *ksp)
{
	struct pair *pair;
	int *slot;

	if (make_room(w) != 0)
		return -1;
	slot = slot_of(w, ksp);
	if (*slot != 0)
		return *slot - 1;
	if (ksp->ks_data == NULL)
		return ks_fail(EINVAL, "%s:%d:%s was not read", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	pair = &w->pair[w->n];
	*pair = (struct pair){ .ksp = ksp, .before = *ksp };
	/* Room for the next reading; of another size if that turns out to have one. */
	pair->before.ks_data = malloc(ksp->ks_data_size > 0 ? ksp->ks_data_size : 1);
	if (pair->before.ks_data == NULL)
		return ks_fail(ENOMEM, "out of memory");
	*slot = (int)++w->n;
	return (int)w->n - 1;
}

/* Exchanges the two readings; all else that describes the kstat stays. */
static void
turn(struct pair *p)
{
	kstat_t *ksp = p->ksp, *before = &p->before;
	void *data = ksp->ks_data;
	size_t size = ksp->ks_data_size;
	uint_t ndata = ksp->ks_ndata;
	hrtime_t snaptime = ksp->ks_snaptime;

	ksp->ks_data = before->ks_data;
	ksp->ks_data_size = before->ks_data_size;
	ksp->ks_ndata = before->ks_ndata;
	ksp->ks_snaptime = before->ks_snaptime;
	before->ks_data = data;
	before->ks_data_size = size;
	before->ks_ndata = ndata;
	before->ks_snaptime = snaptime;
}

int
ks_watch_read(struct ks_watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		turn(&w->pair[i]);
		if (kstat_read(w->kc, w->pair[i].ksp, NULL) >= 0)
			continue;
		for (size_t k = 0; k <= i; k++)
			turn(&w->pair[k]);
		return -1;
	}
	return 0;
}

size_t
ks_watch_length(const struct ks_watch *w)
{
	return w->n;
}

const kstat_t *
ks_watch_last(const struct ks_watch *w, size_t i)
{
	return ks_chain_find(w->kc, w->pair[i].before.ks_kid);
}

bool
ks_watch_delta(const struct ks_watch *w, size_t i, struct ks_delta *d)
{
	return ks_delta_between(d, &w->pair[i].before, w->pair[i].ksp);
}
