/* array.c - see array.h. SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 8

bool
ks_array_reserve(void *array, size_t *cap, size_t need, size_t size)
{
	size_t grown = *cap < FIRST_CAP / 2 ? FIRST_CAP : *cap * 2, bytes;
	void *p;

	if (need <= *cap)
		return true;
	if (grown < need)
		grown = need;
	memcpy(&p, array, sizeof(p)); /* the pointer, whatever it points to */
	p = __builtin_mul_overflow(grown, size, &bytes) ? NULL : realloc(p, bytes);
	if (p == NULL) {
		errno = ENOMEM;
		return false;
	}
	memcpy(array, &p, sizeof(p));
	*cap = grown;
	return true;
}
