/* alike.h - which names fall together. SPDX-License-Identifier: MIT */
#ifndef BASE_ALIKE_H
#define BASE_ALIKE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Stores what is left of a name that people and formats take for the same as others, and its length: small letters
 * without accents, digits, and one '_' for whatever lies between them. Letters of other alphabets that look like Latin
 * ones are these; what has no width is nothing. `to` has `size` > 0 bytes, of which the last is a NUL.
 */
size_t ks_alike(const char *name, char *to, size_t size);

/* True if two names fall together: as families of metrics, as keys, paths and files, or as modules that are taken. */
bool ks_are_alike(const char *a, const char *b);

#endif
