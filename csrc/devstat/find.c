/*
 * find.c - finds a device of one list in another list.
 *
 * An index holds the devices sorted by the members that identify them, so that n searches take n log n steps
 * whatever the names are.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devstat/device.h"

struct devstat_index {
	size_t n;
	struct devstat *sorted[];
};

/* Orders devices by what identifies them; returns 0 if both are the same device. */
static int
compare(const struct devstat *a, const struct devstat *b)
{
	if (a->unit_number != b->unit_number)
		return a->unit_number < b->unit_number ? -1 : 1;
	if (a->creation_time.sec != b->creation_time.sec)
		return a->creation_time.sec < b->creation_time.sec ? -1 : 1;
	if (a->creation_time.frac != b->creation_time.frac)
		return a->creation_time.frac < b->creation_time.frac ? -1 : 1;
	if (strncmp(a->device_name, b->device_name, DEVSTAT_NAME_LEN) != 0)
		return strncmp(a->device_name, b->device_name, DEVSTAT_NAME_LEN);
	return strncmp(a->system_name, b->system_name, KSTAT_STRLEN);
}

/* The same for sorting; equal devices keep the order of the list. */
static int
compare_entries(const void *a, const void *b)
{
	const struct devstat *x = *(struct devstat *const *)a, *y = *(struct devstat *const *)b;
	int order = compare(x, y);

	return order != 0 ? order : x < y ? -1 : x > y;
}

devstat_index_t *
devstat_index_open(struct devstat *devices, int numdevs)
{
	devstat_index_t *ix;
	size_t n = numdevs > 0 ? (size_t)numdevs : 0;

	if (numdevs < 0 || (devices == NULL && numdevs > 0)) {
		(void)ks_devstat_fail(EINVAL, "%s: no devices", __func__);
		return NULL;
	}
	ix = malloc(sizeof(*ix) + n * sizeof(*ix->sorted));
	if (ix == NULL) {
		(void)ks_devstat_fail(ENOMEM, "%s: out of memory", __func__);
		return NULL;
	}
	ix->n = n;
	for (size_t i = 0; i < n; i++)
		ix->sorted[i] = &devices[i];
	if (n > 1)
		qsort(ix->sorted, n, sizeof(*ix->sorted), compare_entries);
	return ix;
}

struct devstat *
devstat_index_find(const devstat_index_t *ix, const struct devstat *device)
{
	size_t low = 0, high = ix != NULL && device != NULL ? ix->n : 0, end = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(ix->sorted[middle], device) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && compare(ix->sorted[low], device) == 0 ? ix->sorted[low] : NULL;
}

void
devstat_index_close(devstat_index_t *ix)
{
	free(ix);
}

struct devstat *
devstat_finddev(struct devstat *devices, int numdevs, const struct devstat *device, int hint)
{
	int up, down;

	if (devices == NULL || device == NULL || numdevs <= 0)
		return NULL;
	if (hint < 0)
		hint = 0;
	if (hint >= numdevs)
		hint = numdevs - 1;
	/* Devices that came or went only shift the others, so the search starts at the hint and goes both ways. */
	for (down = hint, up = hint + 1; down >= 0 || up < numdevs; down--, up++) {
		if (down >= 0 && compare(&devices[down], device) == 0)
			return &devices[down];
		if (up < numdevs && compare(&devices[up], device) == 0)
			return &devices[up];
	}
	return NULL;
}
