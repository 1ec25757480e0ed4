/* lines.c - see lines.h. SPDX-License-Identifier: MIT */
#include "source/linux/lines.h"

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
