/*
 * table.h - the one hash table. It finds things by 64-bit hashes of their keys.
 *
 * The table does not hold the things, which belong to its user, but the number of each: its slot, for
 * instance its position in an array. So the user can move the things. A thing whose key or number changes is
 * removed before, and added again after, or ks_table_replace() gives it the new number.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_NO_SLOT UINT32_MAX /* what ks_table_find() returns if there is none; never the number of a slot */

struct ks_table_cell {
	uint32_t hash; /* as ks_table_mix() returns it */
	uint32_t slot; /* KS_NO_SLOT: the cell is empty */
};

/* A table of zeros is empty. */
struct ks_table {
	struct ks_table_cell *cell; /* owned */
	size_t mask;                /* number of cells, a power of two, minus one */
	size_t n;                   /* slots in the table */
};

/* Returns whether the thing of this slot has this key. `things` and `key` are those of ks_table_find(). */
typedef bool ks_table_equal(const void *things, uint32_t slot, const void *key);

/* Spreads a hash, so that a number may be its own. */
static inline uint32_t
ks_table_mix(uint64_t hash)
{
	return (uint32_t)((hash ^ hash >> 32) * 0x9e3779b97f4a7c15ULL >> 32);
}

/*
 * Returns the slot whose thing has the key, or KS_NO_SLOT; of several, any one. `equal` is called for slots
 * that have the same hash, or one that looks alike.
 */
static inline uint32_t
ks_table_find(const struct ks_table *t, uint64_t hash, ks_table_equal *equal, const void *things,
    const void *key)
{
	uint32_t mixed = ks_table_mix(hash);

	if (t->n == 0)
		return KS_NO_SLOT;
	for (size_t i = mixed & t->mask; t->cell[i].slot != KS_NO_SLOT; i = (i + 1) & t->mask) {
		if (t->cell[i].hash == mixed && equal(things, t->cell[i].slot, key))
			return t->cell[i].slot;
	}
	return KS_NO_SLOT;
}

/*
 * Adds a slot. Its key should not be in the table yet: things of the same key belong into a list of their
 * user, since many equal hashes make a table slow. False with errno ENOMEM: the table is unchanged.
 */
bool ks_table_add(struct ks_table *t, uint64_t hash, uint32_t slot);

/* Removes a slot that was added with this hash. False: there is none. */
bool ks_table_remove(struct ks_table *t, uint64_t hash, uint32_t slot);

/* Puts another slot in the place of one that was added with this hash. False: there is none. */
bool ks_table_replace(struct ks_table *t, uint64_t hash, uint32_t slot, uint32_t by);

/* Makes the table hold n slots without a further allocation. False with errno ENOMEM: it is unchanged. */
bool ks_table_reserve(struct ks_table *t, size_t n);

/* Removes every slot and keeps the memory. */
void ks_table_clear(struct ks_table *t);

/* Releases the memory; the table is empty then, and may be used again. */
void ks_table_free(struct ks_table *t);

#endif
