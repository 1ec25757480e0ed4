/*
 * core_frames.c - for linux_spec.lua: named values that a record had are recalled with their names and types, and
 * never those of another key or mask. Prints what is not so. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model/record.h"

#define MANY 1000 /* far more than are remembered at once */

static const char keys[MANY];

/* Fills a record as key and mask say: one value for each bit, named after both. */
static void
fill(struct ks_record *r, const char *key, uint64_t mask)
{
	ks_record_reset(r);
	for (int i = 0; i < 8; i++) {
		char name[KSTAT_STRLEN];

		if ((mask >> i & 1) == 0)
			continue;
		(void)snprintf(name, sizeof(name), "%d.%d", (int)(key - keys), i);
		if (i % 2 == 0)
			ks_named_u64(r, name, UINT64_MAX - (uint64_t)i);
		else
			ks_named_u32(r, name, (uint32_t)i);
	}
}

/* Whether a record that starts by recalling has what fill() writes; false if nothing is known. */
static bool
recalls(struct ks_record *r, const char *key, uint64_t mask)
{
	struct ks_record expected = { .ndata = 0 };
	const kstat_named_t *kn;
	bool same;

	ks_record_reset(r);
	kn = ks_record_recall(r, key, mask);
	if (kn == NULL) {
		CHECK(r->ndata == 0 && ks_record_size(r) == 0);
		return false;
	}
	fill(&expected, key, mask);
	same = r->ndata == expected.ndata && r->fixed.len == expected.fixed.len;
	for (uint_t i = 0; same && i < r->ndata; i++) {
		const kstat_named_t *other = (const kstat_named_t *)(const void *)expected.fixed.data + i;

		same = memcmp(kn[i].name, other->name, KSTAT_STRLEN) == 0 &&
		    kn[i].data_type == other->data_type;
	}
	CHECK(same);
	ks_record_free(&expected);
	return true;
}

int
main(void)
{
	struct ks_record r = { .ndata = 0 };
	int known = 0;

	CHECK(!recalls(&r, keys, 7));
	fill(&r, keys, 7);
	ks_record_remember(&r, keys, 7);
	CHECK(recalls(&r, keys, 7));
	CHECK(!recalls(&r, keys, 6) && !recalls(&r, keys + 1, 7));
	fill(&r, keys + 1, 129);
	ks_record_remember(&r, keys + 1, 129);
	CHECK(recalls(&r, keys, 7) && recalls(&r, keys + 1, 129));
	/* What an empty record has is not worth it. */
	ks_record_reset(&r);
	ks_record_remember(&r, keys, 0);
	CHECK(!recalls(&r, keys, 0));
	/* More than there is room for: some are forgotten, none is mistaken. */
	for (int i = 0; i < MANY; i++) {
		fill(&r, keys + i, 3);
		ks_record_remember(&r, keys + i, 3);
		CHECK(recalls(&r, keys + i, 3));
	}
	for (int i = 0; i < MANY; i++)
		known += recalls(&r, keys + i, 3);
	CHECK(known > 0 && known < MANY);
	ks_record_free(&r);
	printf("%d checks\n", checks);
	return failures > 0;
}
