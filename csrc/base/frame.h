/*
 * frame.h - what a terminal shows, and the few bytes that change it. A frame is the cells of a window: a cell has one
 * character with what combines with it, and a style. A wide character has two cells, the second of which is empty.
 *
 * Rows of a list that moved are moved on the terminal, since lists are sorted anew at each tick. A line is erased
 * behind a text and never before it, so that nothing flickers where the synchronized update is not known.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct ks_cell {
	char bytes[9];  /* zero behind len */
	uint8_t len;    /* 0: the right half of a wide character */
	uint8_t style;
	bool narrow;    /* every terminal takes one column for it */
};

struct ks_frame {
	struct ks_cell *cells; /* owned: rows times columns, row by row */
	size_t cap;
	int columns, rows;
};

#define KS_FRAME_INIT { NULL, 0, 0, 0 }

void ks_frame_free(struct ks_frame *f);

/* Makes it a blank frame of that size, both at least 1. False with errno ENOMEM: the frame is as it was. */
bool ks_frame_clear(struct ks_frame *f, int columns, int rows);

/*
 * Fills a row, counted from 0, of a blank frame with a text of n bytes and cuts what goes beyond its last column.
 * Styles are ESC [ numbers m: 0 or none (plain), 1 (bold), 2 (dim), 4 (underlined), 7 (reverse), 31, 32, 33 (red,
 * green, yellow); other numbers do nothing. Every other control character and byte that is not UTF-8 becomes a `?`, and
 * if utf8 is false every byte that is not ASCII. A wide character for which a single column is left ends the line.
 */
void ks_frame_line(struct ks_frame *f, int row, const char *text, size_t n, bool utf8);

/*
 * Appends the bytes that turn a window that shows `before`, a frame of the same size, into one that shows `now`; NULL:
 * nothing is known about the window, of which every row is then written. Appends nothing if nothing changes. The
 * position of the cursor may be any, before and after; the style is the plain one, and there is no wrapping. `before`
 * is no frame that was shown afterwards.
 */
void ks_frame_update(struct ks_buf *out, const struct ks_frame *now, struct ks_frame *before);

#endif
