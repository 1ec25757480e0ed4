/*
 * columns.h - lines of a table with columns of fixed widths. SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_COLUMNS_H
#define CHAIN_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct ks_column {
	char conversion; /* 'f' or 'd'; '\0': its cells are made elsewhere */
	int least, precision; /* of the conversion; precision -1: its own */
	bool left;
	int width;
};

struct ks_layout {
	bool squeeze; /* a cell that is too wide takes its room from those that follow */
	int gap;      /* spaces between columns */
	size_t n;
	struct ks_column *column;
};

/* Takes a format that is one conversion, with a width and a precision at most; false for others. */
bool ks_column_take_format(struct ks_column *c, const char *format);

/* Returns the columns of a text on a terminal: bytes of UTF-8 that continue a character have none. */
int ks_text_columns(const char *text, size_t len);

/* A line in the making: its cells are added in their order, layout.n of them. */
struct ks_line {
	const struct ks_layout *layout;
	struct ks_buf *to;
	size_t i; /* of the next cell */
	int over, pending;
};

struct ks_line ks_line_begin(const struct ks_layout *layout, struct ks_buf *to);
void ks_line_text(struct ks_line *line, const char *text, size_t len);
/* By the column's format; "-" if it is not finite. */
void ks_line_number(struct ks_line *line, double v);
/* Adds the newline; spaces at the end were never added. */
void ks_line_end(struct ks_line *line);

#endif
