/* array.h - the one way in which arrays grow. SPDX-License-Identifier: MIT */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes the array hold at least `need` items of `size` bytes. `array` is the address of the pointer to its
 * first item (NULL for an empty array) and *cap the number of items that fit, which at least doubles when the
 * array grows. New items are not initialized. False with errno ENOMEM: pointer, items and *cap are unchanged.
 */
bool ks_array_reserve(void *array, size_t *cap, size_t need, size_t size);

/* The same for the pointer `v` and its capacity `cap`, which are lvalues. Growing is the rare case. */
#define KS_RESERVE(v, cap, need) \
	((need) <= (cap) || ks_array_reserve(&(v), &(cap), (need), sizeof(*(v))))

#endif
