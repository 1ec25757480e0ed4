/* sample.c - see sample.h. SPDX-License-Identifier: MIT */
#include "chain/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "chain/chain.h"
#include "model/record.h"

/* Open addressing: positions in ksp plus one, 0 is free. Grown so that half of it stays free. */
struct sample_index {
	size_t mask;
	uint32_t slot[];
};

static size_t
hash_name(const char *module, int instance, const char *name)
{
	uint64_t h = ks_hash_string(KS_HASH_INIT, module);

	h = ks_hash_bytes(h, &instance, sizeof(instance));
	h = ks_hash_string(h, name);
	return (size_t)(h ^ (h >> 32));
}

static bool
has_name(const kstat_t *k, const char *module, int instance, const char *name)
{
	return k->ks_instance == instance && strcmp(k->ks_module, module) == 0 &&
	    strcmp(k->ks_name, name) == 0;
}

/* The slot that holds this name, or the free one where it goes. */
static uint32_t *
slot_of(const struct ks_sample *s, const char *module, int instance, const char *name)
{
	struct sample_index *ix = s->index;
	size_t i = hash_name(module, instance, name) & ix->mask;

	while (ix->slot[i] != 0 && !has_name(s->ksp[ix->slot[i] - 1], module, instance, name))
		i = (i + 1) & ix->mask;
	return &ix->slot[i];
}

static int
grow(struct ks_sample *s)
{
	size_t cap = s->cap == 0 ? 64 : 2 * s->cap;
	kstat_t **ksp = realloc(s->ksp, cap * sizeof(kstat_t *));
	struct sample_index *ix;

	if (ksp == NULL)
		return ks_fail(ENOMEM, "out of memory for a sample");
	s->ksp = ksp;
	ix = calloc(1, sizeof(*ix) + 2 * cap * sizeof(ix->slot[0]));
	if (ix == NULL)
		return ks_fail(ENOMEM, "out of memory for a sample");
	ix->mask = 2 * cap - 1;
	free(s->index);
	s->index = ix;
	s->cap = cap;
	for (size_t i = 0; i < s->n; i++) {
		const kstat_t *k = s->ksp[i];
		uint32_t *slot = slot_of(s, k->ks_module, k->ks_instance, k->ks_name);

		if (*slot == 0)
			*slot = (uint32_t)i + 1;
	}
	return 0;
}

struct ks_sample *
ks_sample_new(kstat_ctl_t *kc)
{
	struct ks_sample *s = calloc(1, sizeof(*s));

	if (s == NULL || grow(s) != 0) {
		ks_sample_free(s);
		return ks_fail_null(ENOMEM, "out of memory for a sample");
	}
	s->taken = ks_chain_is_replay(kc) ? 0 : gethrtime();
	s->time_of_day = ks_chain_time_of_day(kc);
	return s;
}

void
ks_sample_free(struct ks_sample *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->ksp[i]); /* header and data are one block */
	free(s->ksp);
	free(s->index);
	free(s);
}

/* Header and data in one block of memory. */
static kstat_t *
copy_kstat(const kstat_t *from, bool with_data)
{
	size_t head = (sizeof(*from) + 15) & ~(size_t)15;
	size_t size = with_data ? from->ks_data_size : 0;
	kstat_t *to = malloc(head + size);

	if (to == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a sample");
	*to = *from;
	to->ks_next = NULL;
	to->ks_data = with_data ? (char *)to + head : NULL;
	to->ks_data_size = size;
	if (size > 0) {
		memcpy(to->ks_data, from->ks_data, size);
		if (to->ks_type == KSTAT_TYPE_NAMED)
			ks_named_relocate(to->ks_data, to->ks_ndata, from->ks_data, size);
	}
	return to;
}

/* Adds a copy of a kstat that is not in the sample yet. */
static const kstat_t *
add_copy(struct ks_sample *s, kstat_ctl_t *kc, const kstat_t *ksp, bool with_data)
{
	kstat_t *copy;
	uint32_t *slot;

	if (s->n == s->cap && grow(s) != 0)
		return NULL;
	copy = copy_kstat(ksp, with_data);
	if (copy == NULL)
		return NULL;
	slot = slot_of(s, ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	if (*slot == 0)
		*slot = (uint32_t)s->n + 1;
	s->ksp[s->n++] = copy;
	if (ks_chain_is_replay(kc) && copy->ks_snaptime > s->taken)
		s->taken = copy->ks_snaptime;
	return copy;
}

/* The copy that the sample has; NULL if there is none. */
static const kstat_t *
copy_of(const struct ks_sample *s, const kstat_t *ksp)
{
	const kstat_t *k = ks_sample_lookup(s, ksp->ks_module, ksp->ks_instance, ksp->ks_name);

	/* One of the same name that is another kstat (a capture may hold such) is added too. */
	return k != NULL && k->ks_kid == ksp->ks_kid ? k : NULL;
}

const kstat_t *
ks_sample_add(struct ks_sample *s, kstat_ctl_t *kc, kstat_t *ksp)
{
	const kstat_t *copy = copy_of(s, ksp);

	return copy != NULL ? copy : add_copy(s, kc, ksp, kstat_read(kc, ksp, NULL) >= 0);
}

int
ks_sample_add_selected(struct ks_sample *s, kstat_ctl_t *kc,
    const struct ks_selector *const *selectors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ks_selection sel;

		if (ks_selector_select(selectors[i], kc, &sel) != 0)
			return -1;
		for (size_t j = 0; j < sel.n; j++) {
			if (ks_sample_add(s, kc, sel.ksp[j]) == NULL) {
				ks_selection_free(&sel);
				return -1;
			}
		}
		ks_selection_free(&sel);
	}
	return 0;
}

const kstat_t *
ks_sample_lookup(const struct ks_sample *s, const char *module, int instance, const char *name)
{
	uint32_t at = *slot_of(s, module, instance, name);

	return at == 0 ? NULL : s->ksp[at - 1];
}

/* --- differences -------------------------------------------------------------- */

static bool
is_signed(const struct ks_value *v)
{
	return v->kind == KS_VALUE_I64 || v->kind == KS_VALUE_NSEC || v->kind == KS_VALUE_TIME;
}

/* A 32-bit counter that fell from its upper half to its lower one is taken to have wrapped. */
static bool
wrapped(uint64_t prev, uint64_t now, uint8_t bits)
{
	return bits == 32 && now < prev && prev - now > UINT32_MAX / 2;
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
		double before = prev->kind == KS_VALUE_DOUBLE ? prev->d :
		    is_signed(prev) ? (double)prev->i64 : (double)prev->u64;

		if (!counter || now->d >= before)
			out->d = now->d - before;
	} else if (is_signed(now)) {
		if (!counter || now->i64 >= prev->i64)
			out->u64 = now->u64 - prev->u64;
	} else if (now->u64 >= prev->u64) {
		out->u64 = now->u64 - prev->u64;
	} else if (!counter) {
		out->kind = KS_VALUE_I64; /* a gauge that fell */
		out->u64 = now->u64 - prev->u64;
	} else if (wrapped(prev->u64, now->u64, now->bits)) {
		out->u64 = (uint32_t)(now->u64 - prev->u64);
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
