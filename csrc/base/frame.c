/*
 * frame.c - see frame.h. SPDX-License-Identifier: MIT
 *
 * An update goes through the window row by row and from left to right, and writes the cells that changed. Between two
 * of them the cursor moves by whatever is shortest: a position, steps from where it is, or the unchanged characters
 * between, written again. Where it is, is unknown at the start, behind the last column, and behind a character of
 * which terminals disagree how many columns it takes: positions follow then, so that a mistake stays a mistake of that
 * character alone.
 */
#include "base/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/printable.h"

enum {
	BOLD = 1,
	DIM = 2,
	UNDERLINE = 4,
	REVERSE = 8,
	RED = 16, /* green and yellow are twice and three times that */
	COLOUR = 48
};

#define ON_BLANKS (UNDERLINE | REVERSE) /* the styles in which a blank is seen */
#define ERASE_LINE "\033[K"

static const struct {
	uint8_t bit;
	uint8_t mask; /* what it replaces */
	uint8_t number;
} styles[] = {
	{ BOLD, BOLD, 1 }, { DIM, DIM, 2 }, { UNDERLINE, UNDERLINE, 4 }, { REVERSE, REVERSE, 7 },
	{ RED, COLOUR, 31 }, { 2 * RED, COLOUR, 32 }, { 3 * RED, COLOUR, 33 }
};

#define STYLES (sizeof(styles) / sizeof(styles[0]))

void
ks_frame_free(struct ks_frame *f)
{
	free(f->cells);
	*f = (struct ks_frame)KS_FRAME_INIT;
}

static const struct ks_cell blank = { .bytes = " ", .len = 1, .narrow = true };

bool
ks_frame_clear(struct ks_frame *f, int columns, int rows)
{
	size_t n = (size_t)columns * (size_t)rows;

	if (!KS_RESERVE(f->cells, f->cap, n))
		return false;
	f->columns = columns;
	f->rows = rows;
	for (size_t i = 0; i < n; i++)
		f->cells[i] = blank;
	return true;
}

/* --- a line of text as cells ---------------------------------------------------------------- */

static unsigned
apply_number(unsigned style, unsigned number)
{
	if (number == 0)
		return 0;
	for (size_t i = 0; i < STYLES; i++) {
		if (styles[i].number == number)
			return (style & ~(unsigned)styles[i].mask) | styles[i].bit;
	}
	return style;
}

/* Returns the length of the style that a text of n > 0 bytes begins with, and applies it; 0: there is none. */
static size_t
read_style(const char *s, size_t n, unsigned *style)
{
	unsigned now = *style, number = 0;

	if (n < 3 || s[0] != '\033' || s[1] != '[')
		return 0;
	for (size_t i = 2; i < n; i++) {
		if (s[i] >= '0' && s[i] <= '9') {
			number = number < 100 ? number * 10 + (unsigned)(s[i] - '0') : number;
			continue;
		}
		if (s[i] != ';' && s[i] != 'm')
			return 0;
		now = apply_number(now, number);
		number = 0;
		if (s[i] == 'm') {
			*style = now;
			return i + 1;
		}
	}
	return 0;
}

/* Sets a cell to a character of ASCII. */
static void
set_plain(struct ks_cell *cell, char c, unsigned style)
{
	if (c == ' ' && (style & ON_BLANKS) == 0)
		style = 0;
	*cell = (struct ks_cell){ .bytes = { c }, .len = 1, .style = (uint8_t)style, .narrow = true };
}

#define JOINER "\342\200\215" /* U+200D */

/*
 * Appends what combines with the character of a cell. What does not fit is left out, and so is the joiner, which in some
 * terminals makes one of two characters, and takes in whatever is written behind it.
 */
static void
combine(struct ks_cell *row, int column, const char *bytes, size_t len)
{
	struct ks_cell *cell = column > 0 ? &row[column - 1] : NULL;

	if (cell != NULL && cell->len == 0)
		cell--;
	if (cell == NULL || cell->len + len > sizeof(cell->bytes) || memcmp(bytes, JOINER, len) == 0)
		return;
	memcpy(cell->bytes + cell->len, bytes, len);
	cell->len = (uint8_t)(cell->len + len);
	cell->narrow = false;
}

/* Puts a character that is not ASCII into the cells from a column on; returns the column behind it, or -1. */
static int
put_wide(struct ks_frame *f, struct ks_cell *row, int column, const char *bytes, size_t len, unsigned style)
{
	bool narrow;
	int columns = ks_character_columns(bytes, len, &narrow);

	if (column + columns > f->columns)
		return -1;
	if (columns == 0) {
		combine(row, column, bytes, len);
		return column;
	}
	row[column] = (struct ks_cell){ .len = (uint8_t)len, .style = (uint8_t)style, .narrow = narrow };
	memcpy(row[column].bytes, bytes, len);
	if (columns == 2)
		row[column + 1] = (struct ks_cell){ .style = (uint8_t)style };
	return column + columns;
}

void
ks_frame_line(struct ks_frame *f, int row, const char *text, size_t n, bool utf8)
{
	struct ks_cell *cells = f->cells + (size_t)row * (size_t)f->columns;
	unsigned style = 0;
	int column = 0;

	for (size_t i = 0, len; i < n && column >= 0; i += len) {
		bool printable;

		len = ks_plain_length(text + i, n - i);
		for (size_t k = 0; k < len; k++) {
			if (column == f->columns)
				return;
			set_plain(&cells[column++], text[i + k], style);
		}
		if (len > 0 || (len = read_style(text + i, n - i, &style)) > 0)
			continue;
		len = ks_character(text + i, n - i, &printable);
		if (printable && utf8) {
			column = put_wide(f, cells, column, text + i, len, style);
			continue;
		}
		if (column == f->columns)
			return;
		set_plain(&cells[column++], '?', style);
		len = utf8 ? len : 1;
	}
}

/* --- from one frame to the next --------------------------------------------------------------- */

struct update {
	struct ks_buf *out;
	const struct ks_frame *now;
	struct ks_frame *before;       /* NULL: unknown */
	int row, column;               /* of the cursor, counted from 0; -1: unknown, the column always if the row is */
	unsigned style;
};

static bool
is_blank(const struct ks_cell *cell)
{
	return cell->len == 1 && cell->bytes[0] == ' ' && cell->style == 0;
}

/* Whether the cell must be written; n: its number in the frame. */
static bool
differs(const struct update *u, size_t n)
{
	return u->before == NULL || memcmp(&u->now->cells[n], &u->before->cells[n], sizeof(struct ks_cell)) != 0;
}

static size_t
cell_number(const struct update *u, int row, int column)
{
	return (size_t)row * (size_t)u->now->columns + (size_t)column;
}

/* Changes the style: adds what is missing if nothing is to be taken away, else begins with the plain one. */
static void
set_style(struct update *u, unsigned style)
{
	unsigned have = u->style;
	const char *between = "\033[";

	if (style == have)
		return;
	if (style == 0) {
		ks_buf_adds(u->out, "\033[m");
		u->style = 0;
		return;
	}
	for (size_t i = 0; i < STYLES; i++) {
		if ((have & styles[i].mask) != 0 && (style & styles[i].mask) == 0) {
			have = 0;
			between = "\033[;";
			break;
		}
	}
	for (size_t i = 0; i < STYLES; i++) {
		if ((style & styles[i].mask) == styles[i].bit && (have & styles[i].mask) != styles[i].bit) {
			ks_buf_addf(u->out, "%s%d", between, styles[i].number);
			between = ";";
		}
	}
	ks_buf_addc(u->out, 'm');
	u->style = style;
}

/* --- moves of the cursor --- */

#define AGAIN_MAX 8 /* bytes that are written again at most: no step over them is longer */

struct move {
	char text[64];
	size_t len;
};

static void
add(struct move *m, const char *bytes, size_t n)
{
	memcpy(m->text + m->len, bytes, n);
	m->len += n;
}

static void
repeat(struct move *m, char c, int n)
{
	while (n-- > 0)
		m->text[m->len++] = c;
}

static void
add_number(struct move *m, int n)
{
	char digits[12];
	size_t at = sizeof(digits);

	for (; n > 0; n /= 10)
		digits[--at] = (char)('0' + n % 10);
	add(m, digits + at, sizeof(digits) - at);
}

/* Appends ESC [ n final, in which 1 is left out. */
static void
add_step(struct move *m, int n, char final)
{
	add(m, "\033[", 2);
	if (n > 1)
		add_number(m, n);
	m->text[m->len++] = final;
}

/* Appends steps down in the same column: a vertical tab is one, and no terminal driver changes it. */
static void
add_down(struct move *m, int n)
{
	if (n <= 4)
		repeat(m, '\v', n);
	else
		add_step(m, n, 'B');
}

/* Whether a cell can be written without a change of the style. */
static bool
fits_style(const struct update *u, const struct ks_cell *cell)
{
	return cell->style == u->style || (is_blank(cell) && (u->style & ON_BLANKS) == 0);
}

/* Appends the way to a column that is not further left: what the row shows there, written again, or a step. */
static void
add_forward(const struct update *u, struct move *m, int row, int from, int to)
{
	const struct ks_cell *cells = u->now->cells + cell_number(u, row, 0);
	struct move step = { .len = 0 }, again = { .len = 0 };

	if (from == to)
		return;
	add_step(&step, to - from, 'C');
	for (int i = from; i < to; i++) {
		if (!cells[i].narrow || !fits_style(u, &cells[i]) || again.len + cells[i].len > AGAIN_MAX) {
			again = step;
			break;
		}
		add(&again, cells[i].bytes, cells[i].len);
	}
	if (again.len > step.len)
		again = step;
	add(m, again.text, again.len);
}

static void
add_sideways(const struct update *u, struct move *m, int row, int to)
{
	int back = u->column - to;

	if (back <= 0)
		add_forward(u, m, row, u->column, to);
	else if (back <= 4)
		repeat(m, '\b', back);
	else
		add_step(m, back, 'D');
}

static void
keep_shorter(struct move *best, const struct move *other)
{
	if (other->len < best->len)
		*best = *other;
}

/* Moves the cursor; rows are only gone down. */
static void
go(struct update *u, int row, int column)
{
	struct move best = { .len = 0 }, down = { .len = 0 }, other;

	if (u->row == row && u->column == column)
		return;
	add(&best, "\033[", 2);
	if (row > 0)
		add_number(&best, row + 1);
	if (column > 0) {
		add(&best, ";", 1);
		add_number(&best, column + 1);
	}
	add(&best, "H", 1);
	if (u->row >= 0) {
		add_down(&down, row - u->row);
		other = down;
		add_step(&other, column + 1, 'G');
		keep_shorter(&best, &other);
		other = down;
		add(&other, "\r", 1);
		add_forward(u, &other, row, 0, column);
		keep_shorter(&best, &other);
	}
	if (u->row >= 0 && u->column >= 0) {
		other = down;
		add_sideways(u, &other, row, column);
		keep_shorter(&best, &other);
	}
	ks_buf_add(u->out, best.text, best.len);
	u->row = row;
	u->column = column;
}

/* --- the rows --- */

static void
write_cell(struct update *u, int row, int column)
{
	const struct ks_cell *cell = &u->now->cells[cell_number(u, row, column)];

	if (cell->len == 0)
		return; /* was written with its left half */
	go(u, row, column);
	if (!fits_style(u, cell))
		set_style(u, cell->style);
	ks_buf_add(u->out, cell->bytes, cell->len);
	u->column = cell->narrow && column + 1 < u->now->columns ? column + 1 : -1;
}

static void
erase_line(struct update *u)
{
	if ((u->style & ON_BLANKS) != 0)
		set_style(u, 0);
	ks_buf_adds(u->out, ERASE_LINE);
}

static bool
has_disputed(const struct ks_cell *cells, int n)
{
	while (n > 0 && (cells[n - 1].narrow || cells[n - 1].len == 0))
		n--;
	return n > 0;
}

/*
 * Writes what changed in a row. Blanks at its end are erased behind the text if that is shorter. Where nothing is known
 * of a row, one with a character that may be narrower on the terminal is erased first: that covers less than it should.
 */
static void
update_row(struct update *u, int row)
{
	const size_t first = cell_number(u, row, 0);
	int columns = u->now->columns, text = columns, from, to = columns;

	if (u->before != NULL && memcmp(&u->now->cells[first], &u->before->cells[first],
	    (size_t)columns * sizeof(struct ks_cell)) == 0)
		return;
	while (text > 0 && is_blank(&u->now->cells[first + (size_t)text - 1]))
		text--;
	if (u->before == NULL && has_disputed(&u->now->cells[first], columns)) {
		go(u, row, 0);
		erase_line(u);
	}
	while (to > 0 && !differs(u, first + (size_t)to - 1))
		to--;
	for (from = text; from < to && !differs(u, first + (size_t)from); from++)
		;
	if (to - from < (int)sizeof(ERASE_LINE) - 1)
		text = to;
	for (int i = 0; i < text && i < to; i++) {
		if (differs(u, first + (size_t)i))
			write_cell(u, row, i);
	}
	if (text >= to)
		return;
	if (u->row != row || u->column < text || u->column > from)
		go(u, row, from);
	erase_line(u);
}

/* --- rows that moved --- */

/*
 * A row that comes into a list or leaves it moves all rows below. What moved is moved on the terminal, too: lines are
 * deleted at one end of the block and inserted at its other end, so that all other rows stay where they are. `before`
 * is changed in the same way, and the rows that were inserted are blank in it.
 */
struct block {
	int first, last; /* rows of the new frame */
	int by;          /* that many rows further down they were before; negative: further up */
	int gain;        /* cells that need not be written */
};

#define FURTHEST 8    /* rows that a block moves at most */
#define LEAST_GAIN 30 /* cells: the two sequences take 20 bytes */
#define MOST_BLOCKS 4

/* Returns the number of cells in which a row of the new frame and one before differ; before -1 is a blank row. */
static int
distance(const struct update *u, int row, int from)
{
	const struct ks_cell *now = &u->now->cells[cell_number(u, row, 0)];
	const struct ks_cell *before = from < 0 ? NULL : &u->before->cells[cell_number(u, from, 0)];
	int n = 0;

	for (int i = 0; i < u->now->columns; i++)
		n += memcmp(&now[i], before != NULL ? &before[i] : &blank, sizeof(blank)) != 0;
	return n;
}

/* The rows that are blank once the block has moved: the first of them; their number is that by which it moves. */
static int
first_inserted(const struct block *b)
{
	return b->by > 0 ? b->last + 1 : b->first + b->by;
}

/* Finds the block that gains most by moving so many rows. */
static struct block
find_block(const struct update *u, int by, const int *still)
{
	struct block best = { .by = by, .gain = 0 }, b = best;
	int rows = u->now->rows, end = by > 0 ? rows - by : rows;

	for (int row = by > 0 ? 0 : -by; row < end; row++) {
		/* A row that did not change had better stay. */
		int gain = still[row] > 0 ? still[row] - distance(u, row, row + by) : -u->now->columns;

		if (b.gain <= 0)
			b = (struct block){ .first = row, .by = by };
		/* Different rows have some cells in common, too. */
		b.gain += gain < 0 || gain > still[row] / 2 ? gain : 0;
		b.last = row;
		if (b.gain > best.gain)
			best = b;
	}
	for (int i = 0; best.gain > 0 && i < abs(by); i++)
		best.gain += still[first_inserted(&best) + i] - distance(u, first_inserted(&best) + i, -1);
	return best;
}

static void
edit_lines(struct update *u, int row, int n, char final)
{
	struct move m = { .len = 0 };

	u->row = -1;
	go(u, row, 0);
	add_step(&m, n, final);
	ks_buf_add(u->out, m.text, m.len);
	u->row = -1;
}

static void
move_block(struct update *u, const struct block *b)
{
	struct ks_cell *cells = u->before->cells;
	int n = abs(b->by), inserted = first_inserted(b);

	edit_lines(u, b->by > 0 ? b->first : b->last + 1 - n, n, 'M');
	edit_lines(u, inserted, n, 'L');
	memmove(&cells[cell_number(u, b->first, 0)], &cells[cell_number(u, b->first + b->by, 0)],
	    cell_number(u, b->last + 1 - b->first, 0) * sizeof(*cells));
	for (size_t i = cell_number(u, inserted, 0); i < cell_number(u, inserted + n, 0); i++)
		cells[i] = blank;
}

/* Moves what gains most, if that is enough. */
static bool
move_rows(struct update *u, int *still)
{
	struct block best = { .gain = 0 };
	int changed = 0;

	for (int row = 0; row < u->now->rows; row++)
		changed += still[row] = distance(u, row, row);
	for (int by = -FURTHEST; by <= FURTHEST && changed >= LEAST_GAIN; by++) {
		if (by != 0 && abs(by) < u->now->rows) {
			struct block b = find_block(u, by, still);

			if (b.gain > best.gain)
				best = b;
		}
	}
	if (best.gain < LEAST_GAIN)
		return false;
	move_block(u, &best);
	return true;
}

static void
move_blocks(struct update *u)
{
	int *still = malloc((size_t)u->now->rows * sizeof(*still));

	for (int i = 0; still != NULL && i < MOST_BLOCKS && move_rows(u, still); i++)
		;
	free(still);
}

void
ks_frame_update(struct ks_buf *out, const struct ks_frame *now, struct ks_frame *before)
{
	struct update u = { .out = out, .now = now, .before = before, .row = -1, .column = -1 };
	size_t start = out->len, begun;

	ks_buf_adds(out, "\033[?2026h");
	begun = out->len;
	if (before == NULL)
		ks_buf_adds(out, "\033[m");
	else
		move_blocks(&u);
	for (int row = 0; row < now->rows; row++)
		update_row(&u, row);
	set_style(&u, 0);
	if (out->len == begun)
		out->len = start;
	else
		ks_buf_adds(out, "\033[?2026l");
}
