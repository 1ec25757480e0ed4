/* watch.c - see watch.h. SPDX-License-Identifier: MIT */
#include "chain/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "chain/chain.h"

struct pair {
	kstat_t *ksp;
	kstat_t before; /* its data is owned */
};

struct ks_watch {
	kstat_ctl_t *kc;
	size_t n;
	struct pair *pair; /* owned */
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
	free(w);
}

int
ks_watch_add(struct ks_watch *w, kstat_t *ksp)
{
	struct pair *pair;

	for (size_t i = 0; i < w->n; i++) {
		if (w->pair[i].ksp == ksp)
			return (int)i;
	}
	if (ksp->ks_data == NULL)
		return ks_fail(EINVAL, "%s:%d:%s was not read", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name);
	pair = realloc(w->pair, (w->n + 1) * sizeof(*pair));
	if (pair == NULL)
		return ks_fail(ENOMEM, "out of memory");
	w->pair = pair;
	pair += w->n;
	*pair = (struct pair){ .ksp = ksp, .before = *ksp };
	/* Room for the next reading; of another size if that turns out to have one. */
	pair->before.ks_data = malloc(ksp->ks_data_size > 0 ? ksp->ks_data_size : 1);
	if (pair->before.ks_data == NULL)
		return ks_fail(ENOMEM, "out of memory");
	return (int)w->n++;
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
