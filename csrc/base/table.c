/* table.c - see table.h. Cells are probed one after the other. SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CELLS 16

static size_t
count_cells(const struct ks_table *t)
{
	return t->cell == NULL ? 0 : t->mask + 1;
}

static void
empty(struct ks_table_cell *cell, size_t n)
{
	memset(cell, 0xff, n * sizeof(*cell)); /* KS_NO_SLOT in each */
}

/* Four cells of five may be in use. */
static size_t
most_slots(size_t cells)
{
	return cells / 5 * 4 + cells % 5 * 4 / 5;
}

static void
insert(struct ks_table *t, struct ks_table_cell cell)
{
	size_t i = cell.hash & t->mask;

	while (t->cell[i].slot != KS_NO_SLOT)
		i = (i + 1) & t->mask;
	t->cell[i] = cell;
	t->n++;
}

/* The cell of a slot, or NULL. */
static struct ks_table_cell *
find_cell(const struct ks_table *t, uint64_t hash, uint32_t slot)
{
	size_t i = ks_table_mix(hash) & t->mask;

	if (t->n == 0 || slot == KS_NO_SLOT)
		return NULL;
	for (; t->cell[i].slot != KS_NO_SLOT; i = (i + 1) & t->mask) {
		if (t->cell[i].slot == slot)
			return &t->cell[i];
	}
	return NULL;
}

bool
ks_table_reserve(struct ks_table *t, size_t n)
{
	size_t cells = count_cells(t), old = cells, bytes;
	struct ks_table grown = { 0 };

	if (n <= most_slots(cells))
		return true;
	if (cells == 0)
		cells = FIRST_CELLS;
	while (most_slots(cells) < n && cells <= SIZE_MAX / 2)
		cells *= 2;
	if (most_slots(cells) >= n && !__builtin_mul_overflow(cells, sizeof(*grown.cell), &bytes))
		grown.cell = malloc(bytes);
	if (grown.cell == NULL) {
		errno = ENOMEM;
		return false;
	}
	grown.mask = cells - 1;
	empty(grown.cell, cells);
	for (size_t i = 0; i < old; i++) {
		if (t->cell[i].slot != KS_NO_SLOT)
			insert(&grown, t->cell[i]);
	}
	free(t->cell);
	*t = grown;
	return true;
}

bool
ks_table_add(struct ks_table *t, uint64_t hash, uint32_t slot)
{
	if (!ks_table_reserve(t, t->n + 1))
		return false;
	insert(t, (struct ks_table_cell){ ks_table_mix(hash), slot });
	return true;
}

bool
ks_table_replace(struct ks_table *t, uint64_t hash, uint32_t slot, uint32_t by)
{
	struct ks_table_cell *cell = find_cell(t, hash, slot);

	if (cell == NULL)
		return false;
	cell->slot = by;
	return true;
}

/* Cells behind the gap move into it if they can be found there, so that no mark of the slot remains. */
bool
ks_table_remove(struct ks_table *t, uint64_t hash, uint32_t slot)
{
	struct ks_table_cell *cell = find_cell(t, hash, slot);
	size_t gap;

	if (cell == NULL)
		return false;
	gap = (size_t)(cell - t->cell);
	for (size_t i = (gap + 1) & t->mask; t->cell[i].slot != KS_NO_SLOT; i = (i + 1) & t->mask) {
		size_t from_home = (i - t->cell[i].hash) & t->mask;

		if (from_home >= ((i - gap) & t->mask)) {
			t->cell[gap] = t->cell[i];
			gap = i;
		}
	}
	t->cell[gap].slot = KS_NO_SLOT;
	t->n--;
	return true;
}

void
ks_table_clear(struct ks_table *t)
{
	if (t->n > 0)
		empty(t->cell, count_cells(t));
	t->n = 0;
}

void
ks_table_free(struct ks_table *t)
{
	free(t->cell);
	*t = (struct ks_table){ 0 };
}
