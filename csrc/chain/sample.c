/* sample.c - see sample.h. SPDX-License-Identifier: MIT */
#include "chain/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "chain/chain.h"
#include "chain/handle.h"
#include "model/key.h"
#include "model/record.h"

static bool
has_key(const void *sample, uint32_t slot, const void *key)
{
	return ks_key_matches(key, ((const struct ks_sample *)sample)->ksp[slot]);
}

static bool
has_kid(const void *sample, uint32_t slot, const void *kid)
{
	return ((const struct ks_sample *)sample)->ksp[slot]->ks_kid == *(const kid_t *)kid;
}

struct ks_sample *
ks_sample_new(kstat_ctl_t *kc)
{
	struct ks_sample *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a sample");
	s->taken = ks_chain_now(kc);
	s->next_kid = ks_chain_of(kc)->nodes.next_kid;
	s->real = gethrtime();
	s->time_of_day = ks_chain_time_of_day(kc, &s->seconds);
	return s;
}

/* A copy, header and data in one block, counts in ks_lock how many other samples have it. */
static kstat_t *
share(kstat_t *copy)
{
	copy->ks_lock = (void *)((uintptr_t)copy->ks_lock + 1);
	return copy;
}

static void
release(kstat_t *copy)
{
	if (copy->ks_lock == NULL)
		free(copy);
	else
		copy->ks_lock = (void *)((uintptr_t)copy->ks_lock - 1);
}

void
ks_sample_free(struct ks_sample *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++)
		release(s->ksp[i]);
	free(s->ksp);
	ks_table_free(&s->index);
	ks_table_free(&s->later);
	ks_sample_free(s->left);
	free(s);
}

hrtime_t
ks_sample_time(const struct ks_sample *s, const kstat_t *copy)
{
	return copy->ks_private != NULL ? s->real : s->taken;
}

/* The header of a kstat that cannot be read, without data. */
static kstat_t *
copy_header(const kstat_t *from)
{
	kstat_t *to = malloc(sizeof(*to));

	if (to == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a sample");
	*to = *from;
	to->ks_next = NULL;
	to->ks_data = NULL;
	to->ks_data_size = 0;
	return to;
}

/* Reads a kstat into a copy; one that cannot be read has no data. NULL with errno ENOMEM. */
static kstat_t *
read_copy(struct ks_sample *s, kstat_ctl_t *kc, const kstat_t *ksp)
{
	kstat_t *copy = ks_chain_read_copy(kc, ksp);

	if (copy == NULL && errno != ENOMEM)
		copy = copy_header(ksp);
	if (copy == NULL)
		return NULL;
	copy->ks_lock = NULL;
	copy->ks_private = ks_chain_has_gethrtime(kc, ksp) ? copy : NULL;
	s->size += sizeof(*copy) + copy->ks_data_size;
	return copy;
}

/* Adds a kstat that is not in the sample yet: the copy of another sample of this moment, or NULL: what is read now. */
static const kstat_t *
add(struct ks_sample *s, kstat_ctl_t *kc, const kstat_t *ksp, kstat_t *copy)
{
	const struct ks_key key = ks_key_of(ksp, KS_BY_ALL);
	uint64_t hash = ks_key_hash(&key);
	bool is_first = ks_table_find(&s->index, hash, has_key, s, &key) == KS_NO_SLOT;

	if (!KS_RESERVE(s->ksp, s->cap, s->n + 1) || !ks_table_reserve(&s->index, s->n + 1) ||
	    (!is_first && !ks_table_reserve(&s->later, s->later.n + 1)))
		return ks_fail_null(ENOMEM, "out of memory for a sample");
	copy = copy != NULL ? share(copy) : read_copy(s, kc, ksp);
	if (copy == NULL)
		return NULL;
	(void)ks_table_add(is_first ? &s->index : &s->later, is_first ? hash : (uint64_t)ksp->ks_kid, (uint32_t)s->n);
	s->ksp[s->n++] = copy;
	return copy;
}

const kstat_t *
ks_sample_find(const struct ks_sample *s, const kstat_t *ksp)
{
	const kstat_t *k = ks_sample_lookup(s, ksp->ks_module, ksp->ks_instance, ksp->ks_name);

	uint32_t slot;

	if (k == NULL || k->ks_kid == ksp->ks_kid)
		return k;
	slot = ks_table_find(&s->later, (uint64_t)ksp->ks_kid, has_kid, s, &ksp->ks_kid);
	return slot == KS_NO_SLOT ? NULL : s->ksp[slot];
}

const kstat_t *
ks_sample_add(struct ks_sample *s, kstat_ctl_t *kc, kstat_t *ksp)
{
	const kstat_t *copy = ks_sample_find(s, ksp);

	return copy != NULL ? copy : add(s, kc, ksp, NULL);
}

int
ks_sample_add_as(struct ks_sample *s, kstat_ctl_t *kc, const struct ks_sample *earlier, bool is_same,
    const struct ks_selector *const *selectors, size_t n)
{
	for (size_t i = 0; i < earlier->n; i++) {
		kstat_t *known = earlier->ksp[i];
		struct ks_node *node = ks_nodes_by_kid(&ks_chain_of(kc)->nodes, known->ks_kid);

		if (node != NULL && ks_sample_find(s, &node->k) == NULL &&
		    add(s, kc, &node->k, is_same ? known : NULL) == NULL)
			return -1;
	}
	/* IDs grow along the chain. */
	for (struct ks_node *node = ks_chain_of(kc)->nodes.first; node != NULL; node = (struct ks_node *)node->k.ks_next) {
		if (node->k.ks_kid >= earlier->next_kid && ks_is_shown(&node->k) &&
		    ks_selector_any_matches(selectors, n, &node->k) && ks_sample_add(s, kc, &node->k) == NULL)
			return -1;
	}
	return 0;
}

int
ks_sample_share(struct ks_sample *s, const struct ks_sample *from)
{
	for (size_t i = 0; i < from->n; i++) {
		kstat_t *k = from->ksp[i];

		if (ks_sample_lookup(s, k->ks_module, k->ks_instance, k->ks_name) == NULL && add(s, NULL, k, k) == NULL)
			return -1;
	}
	return 0;
}

int
ks_sample_replace(struct ks_sample *s, kstat_t *copy)
{
	const struct ks_key key = ks_key_of(copy, KS_BY_ALL);
	uint32_t slot = ks_table_find(&s->index, ks_key_hash(&key), has_key, s, &key);

	if (slot == KS_NO_SLOT)
		return add(s, NULL, copy, copy) != NULL ? 0 : -1;
	release(s->ksp[slot]);
	s->ksp[slot] = share(copy);
	return 0;
}

bool
ks_sample_lacks(const struct ks_sample *s, const kstat_t *ksp)
{
	return ksp->ks_kid < s->next_kid && ks_sample_find(s, ksp) == NULL;
}

const kstat_t *
ks_sample_lookup(const struct ks_sample *s, const char *module, int instance, const char *name)
{
	const struct ks_key key = { KS_BY_ALL, module, instance, name };
	uint32_t slot = ks_table_find(&s->index, ks_key_hash(&key), has_key, s, &key);

	return slot == KS_NO_SLOT ? NULL : s->ksp[slot];
}

const kstat_t *
ks_sample_counterpart(const struct ks_sample *before, const kstat_t *now)
{
	const kstat_t *same = ks_sample_find(before, now);

	return same != NULL ? same : ks_sample_lookup(before, now->ks_module, now->ks_instance, now->ks_name);
}

/* --- differences -------------------------------------------------------------- */

static bool
is_signed(const struct ks_value *v)
{
	return v->kind == KS_VALUE_I64 || v->kind == KS_VALUE_NSEC || v->kind == KS_VALUE_TIME;
}

/* The step from one value to the next, modulo their width. */
static uint64_t
step(uint64_t prev, uint64_t now, unsigned bits)
{
	return (now - prev) & (UINT64_MAX >> (64 - bits));
}

uint64_t
ks_counted(uint64_t prev, uint64_t now, unsigned bits)
{
	uint64_t n = step(prev, now, bits);

	return now >= prev || n < 1ULL << (bits - 1) ? n : 0;
}

uint64_t
ks_counted_signed(int64_t prev, int64_t now, unsigned bits)
{
	uint64_t n = step((uint64_t)prev, (uint64_t)now, bits);

	return n < 1ULL << (bits - 1) ? n : 0;
}

static double
double_of(const struct ks_value *v)
{
	return v->kind == KS_VALUE_DOUBLE ? v->d : is_signed(v) ? (double)v->i64 : (double)v->u64;
}

bool
ks_value_delta(const struct ks_value *prev, const struct ks_value *now, bool counter, bool reset,
    struct ks_value *out)
{
	if (now->kind > KS_VALUE_TIME || now->kind == KS_VALUE_STRING || prev->kind > KS_VALUE_TIME ||
	    prev->kind == KS_VALUE_STRING)
		return false;
	*out = *now;
	if (reset)
		return true;
	if (now->kind == KS_VALUE_DOUBLE) {
		out->d = now->d - double_of(prev);
		if (counter && out->d < 0)
			out->d = 0;
	} else if (counter) {
		unsigned bits = now->bits == 32 ? 32 : 64;

		out->u64 = is_signed(now) ? ks_counted_signed(prev->i64, now->i64, bits) :
		    ks_counted(prev->u64, now->u64, bits);
	} else {
		if (!is_signed(now) && now->u64 < prev->u64)
			out->kind = KS_VALUE_I64; /* a gauge that fell */
		out->u64 = now->u64 - prev->u64;
	}
	return true;
}

bool
ks_value_number(const struct ks_value *v, double *number)
{
	switch (v->kind) {
	case KS_VALUE_I64:
		*number = (double)v->i64;
		return true;
	case KS_VALUE_U64:
		*number = (double)v->u64;
		return true;
	case KS_VALUE_DOUBLE:
		*number = v->d;
		return true;
	case KS_VALUE_NSEC:
	case KS_VALUE_TIME:
		*number = (double)v->i64 / (double)KS_NANOSEC;
		return true;
	default:
		return false;
	}
}
