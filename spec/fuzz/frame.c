/*
 * frame.c - fuzzes frames: the first byte of the input is the number of columns, the second that of rows, the rest is
 * lines of frames, which follow one another after form feeds. A small terminal obeys the updates, shows then what the
 * frame has, and never gets a byte that is no part of an update. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/printable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	struct ks_frame cells;
	int row, column;
	bool behind; /* the last column */
	unsigned char style;
} terminal;

#define CHECK(condition) ((condition) ? (void)0 : abort())

static struct ks_cell *
cell_at(int column)
{
	return &terminal.cells.cells[terminal.row * terminal.cells.columns + column];
}

static void
erase(int column)
{
	*cell_at(column) = (struct ks_cell){ .bytes = " ", .len = 1, .narrow = true };
}

/* What is left of a wide character of which one half is overwritten is a blank. */
static void
cut_wide(int column)
{
	if (cell_at(column)->len == 0)
		erase(column - 1);
	else if (column + 1 < terminal.cells.columns && cell_at(column + 1)->len == 0)
		erase(column + 1);
}

static void
put(const char *s, size_t len)
{
	bool narrow, blank = len == 1 && *s == ' ';
	int columns = ks_character_columns(s, len, &narrow), last = terminal.column - !terminal.behind;
	struct ks_cell *cell;

	if (columns == 0) {
		cell = cell_at(cell_at(last)->len == 0 ? last - 1 : last);
		CHECK(cell->len + len <= sizeof(cell->bytes));
		memcpy(cell->bytes + cell->len, s, len);
		cell->len += (uint8_t)len;
		cell->narrow = false;
		return;
	}
	CHECK(!terminal.behind && terminal.column + columns <= terminal.cells.columns);
	for (int i = 0; i < columns; i++) {
		cut_wide(terminal.column + i);
		*cell_at(terminal.column + i) = (struct ks_cell){ .style = terminal.style };
	}
	cell = cell_at(terminal.column);
	memcpy(cell->bytes, s, len);
	cell->len = (uint8_t)len;
	cell->narrow = narrow;
	if (blank && (cell->style & 12) == 0)
		cell->style = 0; /* neither underlined nor reverse: it is not seen */
	terminal.behind = terminal.column + columns == terminal.cells.columns;
	terminal.column += terminal.behind ? columns - 1 : columns;
}

static void
set_style(long number)
{
	static const unsigned char bits[] = { 0, 1, 2, 0, 4, 0, 0, 8 };

	if (number == 0)
		terminal.style = 0;
	else if (number > 30)
		terminal.style = (unsigned char)((terminal.style & 15) | (number - 30) << 4);
	else
		terminal.style |= bits[number];
}

/* Inserts or deletes lines where the cursor is; those at the end of the window leave it, or blank ones come. */
static void
edit_lines(int n, bool insert)
{
	int columns = terminal.cells.columns, rows = terminal.cells.rows, row = terminal.row, rest = rows - row - n;
	struct ks_cell *here = cell_at(0), *there = here + n * columns;

	CHECK(rest >= 0);
	memmove(insert ? there : here, insert ? here : there, sizeof(*here) * (size_t)(rest * columns));
	for (terminal.row = insert ? row : rows - n; n > 0; n--, terminal.row++) {
		for (int i = 0; i < columns; i++)
			erase(i);
	}
	terminal.row = row;
}

/* Obeys what follows ESC [ and returns what follows that. */
static const char *
obey(const char *s)
{
	char *end;
	long first = strtol(s, &end, 10), second = *end == ';' ? strtol(end + 1, &end, 10) : 1;
	long n = first > 0 ? first : 1;

	switch (*end) {
	case 'H':
		terminal.row = (int)n - 1;
		terminal.column = (int)second - 1;
		terminal.behind = false;
		break;
	case 'G':
		terminal.column = (int)n - 1;
		terminal.behind = false;
		break;
	case 'B':
		terminal.row += (int)n;
		break;
	case 'C':
	case 'D':
		CHECK(!terminal.behind);
		terminal.column += *end == 'C' ? (int)n : -(int)n;
		break;
	case 'K':
		CHECK(!terminal.behind && (terminal.style & 12) == 0);
		cut_wide(terminal.column);
		for (int i = terminal.column; i < terminal.cells.columns; i++)
			erase(i);
		break;
	case 'L':
	case 'M':
		CHECK(terminal.column == 0 && terminal.style == 0);
		edit_lines((int)n, *end == 'L');
		break;
	default:
		for (end = (char *)(uintptr_t)s - 1; *end != 'm'; ) {
			set_style(strtol(end + 1, &end, 10));
			CHECK(*end == ';' || *end == 'm');
		}
		break;
	}
	return end + 1;
}

static void
write_update(const char *s, size_t n)
{
	const char *end = s + n;
	bool printable;

	CHECK(n > 16 && memcmp(s, "\033[?2026h", 8) == 0 && memcmp(end - 8, "\033[?2026l", 8) == 0);
	for (s += 8, end -= 8; s < end; ) {
		if (*s == '\033') {
			CHECK(s[1] == '[');
			s = obey(s + 2);
		} else if (*s == '\r' || *s == '\b') {
			CHECK(*s == '\r' || !terminal.behind);
			terminal.column = *s++ == '\r' ? 0 : terminal.column - 1;
			terminal.behind = false;
		} else if (*s == '\v') {
			terminal.row++;
			s++;
		} else {
			size_t len = ks_character(s, (size_t)(end - s), &printable);

			CHECK(printable);
			put(s, len);
			s += len;
		}
		CHECK(terminal.row >= 0 && terminal.row < terminal.cells.rows && terminal.column >= 0 &&
		    terminal.column < terminal.cells.columns);
	}
	CHECK(terminal.style == 0);
}

/* Fills a frame from the lines up to the next form feed; returns what follows it. */
static const char *
read_frame(struct ks_frame *f, const char *s, const char *end, int columns, int rows, bool utf8)
{
	const char *stop = memchr(s, '\f', (size_t)(end - s)), *line = s;

	CHECK(ks_frame_clear(f, columns, rows));
	stop = stop != NULL ? stop : end;
	for (int row = 0; row < rows && line < stop; row++) {
		const char *next = memchr(line, '\n', (size_t)(stop - line));

		next = next != NULL ? next : stop;
		ks_frame_line(f, row, line, (size_t)(next - line), utf8);
		line = next < stop ? next + 1 : stop;
	}
	return stop < end ? stop + 1 : end;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data + 2, *end = (const char *)data + size;
	struct ks_frame frames[2] = { KS_FRAME_INIT, KS_FRAME_INIT };
	struct ks_buf out = KS_BUF_INIT;
	int columns, rows;

	if (size < 3)
		return 0;
	columns = data[0] % 50 + 1;
	rows = data[1] % 64 % 20 + 1;
	terminal.row = terminal.column = 0;
	terminal.behind = false;
	CHECK(ks_frame_clear(&terminal.cells, columns, rows));
	for (int i = 0; i == 0 || s < end; i++) {
		struct ks_frame *now = &frames[i % 2];

		s = read_frame(now, s, end, columns, rows, data[1] < 128);
		ks_buf_reset(&out);
		ks_frame_update(&out, now, i > 0 ? &frames[(i + 1) % 2] : NULL);
		if (out.len > 0)
			write_update(out.data, out.len);
		CHECK(memcmp(now->cells, terminal.cells.cells, sizeof(*now->cells) * (size_t)(columns * rows)) == 0);
	}
	ks_buf_free(&out);
	ks_frame_free(&frames[0]);
	ks_frame_free(&frames[1]);
	ks_frame_free(&terminal.cells);
	return 0;
}
