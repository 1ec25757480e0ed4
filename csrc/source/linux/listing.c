/* listing.c - see listing.h. SPDX-License-Identifier: MIT */
#include "source/linux/listing.h"

#define MOST_COLUMNS 16

/* Remembers where in the image a unit's line is. */
static void
remember(struct ks_unit *unit, const struct ks_image *im, const struct ks_text *line)
{
	unit->at = (uint32_t)(line->p - im->data);
	unit->len = (uint32_t)ks_text_size(line);
	unit->seq = im->seq;
}

static int
name_by_key(struct ks_linux *lx, struct ks_unit *unit)
{
	(void)lx;
	ks_name_set(unit->name, sizeof(unit->name), unit->key, strcspn(unit->key, " "));
	unit->parts = 1;
	return 0;
}

/* Brings the units of a pass up to date (pass_of NULL: all). 0, or -1 with errno ENOMEM. */
static int
scan_lines(struct ks_linux *lx, struct ks_units *units, const struct ks_listing *listing, const struct ks_image *im,
    int (*pass_of)(struct ks_linux *lx, const char *key, struct ks_text rest), int pass)
{
	struct ks_text all = ks_text_of(im->data, im->len), line;

	while (ks_text_line(&all, &line)) {
		struct ks_text rest = line;
		char key[KS_UNIT_NAME];
		size_t len = listing->take_key(&rest, key);
		struct ks_unit *unit;
		uint64_t ident = 0;
		bool is_new;

		if (len == 0) {
			if (pass == 1 && !ks_text_empty(&line) &&
			    (listing->is_heading == NULL || !listing->is_heading(im, &line)))
				ks_linux_odd_line(lx, im, &line);
			continue;
		}
		if (pass_of != NULL && pass_of(lx, key, rest) != pass)
			continue;
		if (listing->identity != NULL && !lx->settled)
			ident = listing->identity(lx, key);
		unit = ks_units_see(units, key, len, ident, &is_new);
		if (unit == NULL || (is_new && (listing->set_up != NULL ? listing->set_up : name_by_key)(lx, unit) != 0))
			return -1;
		remember(unit, im, &rest);
	}
	return 0;
}

int
ks_listing_scan_twice(struct ks_linux *lx, struct ks_units *units, const struct ks_listing *listing,
    int (*pass_of)(struct ks_linux *lx, const char *key, struct ks_text rest))
{
	const struct ks_image *im = ks_linux_try(lx, listing->file);

	ks_units_begin(units);
	if (im != NULL) {
		if (scan_lines(lx, units, listing, im, pass_of, 1) != 0 ||
		    (pass_of != NULL && scan_lines(lx, units, listing, im, pass_of, 2) != 0))
			return -1;
		units->seq = im->seq;
	}
	return ks_units_end(units);
}

int
ks_listing_scan(struct ks_linux *lx, struct ks_units *units, const struct ks_listing *listing)
{
	return ks_listing_scan_twice(lx, units, listing, NULL);
}

/* Finds the lines of all units in an image that was read anew. */
static void
find_all(struct ks_units *units, const struct ks_image *im, const struct ks_listing *listing)
{
	struct ks_text all = ks_text_of(im->data, im->len), line;
	char key[KS_UNIT_NAME];

	while (ks_text_line(&all, &line)) {
		size_t len = listing->take_key(&line, key);
		struct ks_unit *unit = len > 0 ? ks_units_find(units, key, len) : NULL;

		if (unit != NULL)
			remember(unit, im, &line);
	}
	units->seq = im->seq;
}

const struct ks_image *
ks_listing_find(struct ks_linux *lx, struct ks_units *units, const struct ks_listing *listing,
    const struct ks_unit *unit, struct ks_text *line)
{
	const struct ks_image *im = ks_linux_image(lx, listing->file);

	if (im == NULL)
		return NULL;
	if (units->seq != im->seq)
		find_all(units, im, listing);
	if (unit->seq != im->seq) {
		(void)ks_linux_gone(unit);
		return NULL;
	}
	*line = ks_text_of(im->data + unit->at, unit->len);
	return im;
}

/* --- columns of named lines --------------------------------------------------------- */

bool
ks_columns_line(struct ks_text all, struct ks_text key, struct ks_text *rest)
{
	struct ks_text word;

	while (ks_text_line(&all, rest)) {
		if (ks_text_word(rest, &word) && ks_text_equal(&word, &key))
			return true;
	}
	return false;
}

void
ks_columns_collect(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	const struct ks_field *table = lx->part->fields;
	struct ks_text before = { NULL, NULL };
	uint64_t v[MOST_COLUMNS];
	size_t n = 0;

	for (size_t i = 0; table[i].meta.stat != NULL; i++) {
		struct ks_text key = ks_text_of(table[i].key, strlen(table[i].key)), word, rest;
		uint64_t column;

		(void)ks_text_word(&key, &word);
		/* Statistics of one line follow each other in a table. */
		if (before.p == NULL || !ks_text_equal(&before, &word)) {
			bool found = ks_columns_line(all, word, &rest);

			n = found ? ks_text_numbers(&rest, v, MOST_COLUMNS) : 0;
			if (found && n == 0)
				ks_linux_odd_line(lx, lx->im, &rest);
			before = word;
		}
		while (ks_text_u64(&key, &column) && column < n)
			ks_have_more(vals, i, v[column]);
	}
}

/* --- named values ---------------------------------------------------------------------- */

bool
ks_lines_take(struct ks_text *line, struct ks_text *name)
{
	ks_text_skip(line);
	name->p = line->p;
	/* Letters are behind the colon in ASCII. */
	while (line->p < line->end && (*line->p > ':' || (*line->p != ':' && !ks_text_blank(*line->p))))
		line->p++;
	name->end = line->p;
	line->p += line->p < line->end;
	return name->p < name->end;
}

bool
ks_lines_number(struct ks_text value, uint64_t *v)
{
	if (!ks_text_u64(&value, v))
		return false;
	ks_text_skip(&value);
	if (value.p == value.end)
		return true;
	return ks_text_is(&value, "kB") && !__builtin_mul_overflow(*v, (uint64_t)1024, v);
}

bool
ks_lines_split(struct ks_linux *lx, struct ks_text line, struct ks_text *name, uint64_t *v)
{
	struct ks_text rest = line;

	if (ks_text_starts(&rest, "Node ")) {
		rest.p += strlen("Node ");
		(void)ks_text_u64(&rest, v);
	}
	if (ks_lines_take(&rest, name) && ks_lines_number(rest, v))
		return true;
	if (lx->im != NULL && !ks_text_empty(&line))
		ks_linux_odd_line(lx, lx->im, &line);
	return false;
}

bool
ks_lines_next(struct ks_linux *lx, struct ks_text *all, struct ks_text *name, uint64_t *v)
{
	struct ks_text line;

	while (ks_text_line(all, &line)) {
		if (ks_lines_split(lx, line, name, v))
			return true;
	}
	return false;
}

void
ks_lines_collect_into(struct ks_linux *lx, struct ks_text all, const struct ks_field *fields, struct ks_values *vals)
{
	struct ks_text name;
	size_t next = 0;
	uint64_t v;

	while (ks_lines_next(lx, &all, &name, &v)) {
		size_t i = ks_field_by_key(fields, name.p, ks_text_size(&name), next);

		if (i == KS_NO_FIELD)
			continue;
		ks_have(vals, i, v);
		next = i + 1;
	}
}

void
ks_lines_collect(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	ks_lines_collect_into(lx, all, lx->part->fields, vals);
}

int
ks_lines_add(struct ks_linux *lx, struct ks_text all, struct ks_record *r)
{
	char stat[KSTAT_STRLEN];
	struct ks_text name;
	uint64_t v;

	while (ks_lines_next(lx, &all, &name, &v)) {
		ks_name_set(stat, sizeof(stat), name.p, ks_text_size(&name));
		ks_named_u64(r, stat, v);
	}
	return 0;
}
