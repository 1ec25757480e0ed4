/* hash.h - string hashing for tables in memory. SPDX-License-Identifier: MIT */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define KS_HASH_INIT 0xcbf29ce484222325ULL /* FNV-1a */

static inline uint64_t
ks_hash_bytes(uint64_t h, const void *p, size_t n)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * 0x100000001b3ULL;
	return h;
}

/* Mixes a string and a separator, so that ("ab","c") and ("a","bc") differ. */
static inline uint64_t
ks_hash_string(uint64_t h, const char *s)
{
	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return (h ^ 0xff) * 0x100000001b3ULL;
}

#endif
