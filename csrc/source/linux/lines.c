/* lines.c - see lines.h. SPDX-License-Identifier: MIT */
#include "source/linux/lines.h"

#include <string.h>

#define BEYOND 128 /* bytes behind the begin of the last line that it and longer numbers may take */

/* --- all lines ------------------------------------------------------------------------ */

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

/* --- few of many ---------------------------------------------------------------------- */

struct ks_walk
ks_walk_of(struct ks_lines *lines, const struct ks_image *im, bool kernel,
    int (*classify)(const struct ks_text *line))
{
	return (struct ks_walk){ .lines = lines, .classify = classify, .im = im, .kernel = kernel,
		.known = lines->known, .fits = true, .rest = ks_text_of(im->data, im->len) };
}

size_t
ks_lines_reach(const struct ks_lines *lines)
{
	return lines->known && lines->n > 0 ? lines->useful[lines->n - 1].at + BEYOND : SIZE_MAX;
}

static bool
ends_key(char c)
{
	return c == ' ' || c == ':';
}

static size_t
key_length(const struct ks_text *line)
{
	const char *p = line->p;

	while (p < line->end && !ends_key(*p))
		p++;
	return (size_t)(p - line->p);
}

/* Takes what is behind a key of that length as the value. */
static void
take_value(struct ks_walk *w, size_t key)
{
	w->value = w->line;
	w->value.p += key;
	if (w->value.p < w->value.end && *w->value.p == ':')
		w->value.p++;
}

static bool
has_key(const char *p, const char *end, const struct ks_useful *u)
{
	return (size_t)(end - p) > u->len && memcmp(p, u->key, u->len) == 0 && ends_key(p[u->len]);
}

static bool
is_at_its_place(const struct ks_walk *w, const struct ks_useful *u)
{
	const char *data = w->im->data;

	return u->at < w->im->len && (u->at == 0 || data[u->at - 1] == '\n') &&
	    has_key(data + u->at, data + w->im->len, u);
}

static bool
next_known(struct ks_walk *w)
{
	struct ks_lines *lines = w->lines;
	struct ks_useful *u = &lines->useful[w->taken];
	bool found;

	if (w->taken == lines->n)
		return false;
	found = is_at_its_place(w, u);
	if (found) {
		w->rest.p = w->im->data + u->at;
		(void)ks_text_line(&w->rest, &w->line);
	}
	while (!found && ks_text_line(&w->rest, &w->line))
		found = has_key(w->line.p, w->line.end, u);
	/* The last line of a part may be cut anywhere. */
	found = found && (w->im->whole || w->line.end < w->im->data + w->im->len);
	if (!found) { /* or it is another file after all: some mount one over it */
		lines->known = false;
		return false;
	}
	u->at = (uint32_t)(w->line.p - w->im->data);
	w->what = u->what;
	take_value(w, u->len);
	w->taken++;
	return true;
}

/* Remembers the line as one of use. */
static void
remember(struct ks_walk *w, size_t key)
{
	struct ks_useful *u = &w->lines->useful[w->taken];

	w->fits = w->fits && w->taken < KS_USEFUL && key > 0 && key <= KS_LINE_KEY &&
	    w->im->len <= UINT32_MAX;
	if (!w->fits)
		return;
	memcpy(u->key, w->line.p, key);
	u->len = (uint8_t)key;
	u->what = (int16_t)w->what;
	u->at = (uint32_t)(w->line.p - w->im->data);
}

bool
ks_walk_next(struct ks_walk *w)
{
	if (w->known)
		return next_known(w);
	while (ks_text_line(&w->rest, &w->line)) {
		size_t key;

		w->what = w->classify(&w->line);
		if (w->what == KS_USELESS)
			continue;
		key = key_length(&w->line);
		take_value(w, key);
		remember(w, key);
		w->taken++;
		return true;
	}
	w->lines->n = w->fits ? (uint8_t)w->taken : 0;
	w->lines->known = w->kernel && w->fits && w->taken > 0;
	return false;
}
