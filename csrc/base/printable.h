/*
 * printable.h - texts of strangers: which of them a terminal may be given, how wide they are there, and which names fall
 * together. SPDX-License-Identifier: MIT
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the length in bytes of the character at s, of which n > 0 bytes are there, and stores whether it may be
 * printed: not if it is a control character (C0, DEL, C1), one that turns the direction of the text around or
 * starts a line (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069), or a byte that is not UTF-8.
 */
size_t ks_character(const char *s, size_t n, bool *printable);

/*
 * Returns the columns that a terminal takes for a printable character of len bytes: 2 for a wide one, 0 for one that
 * combines with the character before. *narrow becomes true if it is one that every terminal shows in one column.
 */
int ks_character_columns(const char *s, size_t len, bool *narrow);

/* True if all n bytes may be printed. */
bool ks_is_printable(const char *s, size_t n);

/* Returns how many of the first bytes are printable ASCII: most texts are nothing else. */
size_t ks_plain_length(const char *s, size_t n);

/*
 * Returns the columns of a text on a terminal: what makes colours (ESC [ ... m) has none, and everything that may not
 * be printed has one, that of a `?` in its place.
 */
size_t ks_text_columns(const char *s, size_t n);

/*
 * Stores what is left of a name that people and formats take for the same as others, and its length: small letters
 * without accents, digits, and one '_' for whatever lies between them. Letters of other alphabets that look like Latin
 * ones are these; what has no width is nothing. `to` has `size` > 0 bytes, of which the last is a NUL.
 */
size_t ks_alike(const char *name, char *to, size_t size);

/* True if two names fall together: as families of metrics, as keys, paths and files, or as modules that are taken. */
bool ks_are_alike(const char *a, const char *b);

#endif
