/*
 * line.h - the layout of a table's lines: cells in columns, side by side. SPDX-License-Identifier: MIT
 */
#ifndef BASE_LINE_H
#define BASE_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct ks_column {
	char conversion; /* of its numbers: 'f' or 'd'; '\0': they come as texts */
	int least, precision; /* of the conversion; precision -1: printf's own */
	bool left;
	int width;
};

struct ks_layout {
	bool squeeze; /* a cell that is too wide takes its room from those that follow */
	bool keep;    /* blanks at the end of a line stay */
	const char *gap; /* the text between two columns, of gap_len bytes */
	size_t gap_len;
	size_t n;
	struct ks_column *column;
};

/* Takes a format that is one conversion f or d, with a width and a precision at most; false for others. */
bool ks_column_take_format(struct ks_column *c, const char *format);

/*
 * A line in the making. Its layout.n cells are added in their order, and ks_line_end() adds the newline. `over` is how
 * many columns the cells so far have taken from those that follow.
 */
struct ks_line {
	const struct ks_layout *layout;
	struct ks_buf *to;
	size_t start, i; /* where it starts; the next cell */
	int over;
};

struct ks_line ks_line_begin(const struct ks_layout *layout, struct ks_buf *to);
void ks_line_text(struct ks_line *line, const char *text, size_t len);
/* By the column's format; "-" if it is not finite. */
void ks_line_number(struct ks_line *line, double v);
void ks_line_end(struct ks_line *line);

#endif
