/*
 * cpu_table.c - sums the lines of files with a column for each CPU, /proc/interrupts and /proc/softirqs;
 * see cpus.h. SPDX-License-Identifier: MIT
 */
#include "source/linux/cpu/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void
ks_columns_free(struct ks_columns *c)
{
	free(c->v);
	free(c->row);
	memset(c, 0, sizeof(*c));
}

bool
ks_cpu_of_heading(struct ks_text *heading, uint64_t *cpu)
{
	struct ks_text word;

	if (!ks_text_word(heading, &word) || !ks_text_starts(&word, "CPU"))
		return false;
	word.p += strlen("CPU");
	return ks_text_u64(&word, cpu) && *cpu < KS_CPU_MAX;
}

/* Parses the heading, "CPU0 CPU1 ...". */
static void
parse_heading(struct ks_linux *lx, struct ks_columns *c, struct ks_text *line)
{
	uint64_t cpu;

	c->n = 0;
	while (c->n < KS_CPU_MAX && ks_cpu_of_heading(line, &cpu)) {
		if (!KS_RESERVE(c->v, c->cap, c->n + 1)) {
			lx->lack = ENOMEM;
			break;
		}
		c->v[c->n++] = (struct ks_column){ .cpu = (uint32_t)cpu };
	}
}

/* Adds a line to the sums if it has a number for every CPU. */
static void
add_line(struct ks_columns *c, struct ks_text line)
{
	struct ks_text start;
	uint64_t v, sum = 0;
	size_t i;
	bool device, calls, tlb;

	ks_text_skip(&line);
	device = line.p < line.end && *line.p >= '0' && *line.p <= '9';
	/* These lines have a number for the whole machine: with one CPU it looks like a column. */
	if (ks_text_starts(&line, "ERR:") || ks_text_starts(&line, "Err:") || ks_text_starts(&line, "MIS:"))
		return;
	while (line.p < line.end && *line.p != ':')
		line.p++;
	if (line.p == line.end)
		return;
	line.p++;
	start = line;
	for (i = 0; i < c->n && ks_text_u64(&line, &v); i++) {
		c->v[i].total += v;
		sum += v;
	}
	if (i == c->n && KS_RESERVE(c->row, c->row_cap, c->nrows + 1))
		c->row[c->nrows++] = (struct ks_row){ start.p, line.p, sum };
	if (i == c->n && device)
		return;
	ks_text_skip(&line);
	calls = ks_text_starts(&line, "Function call");
	tlb = ks_text_starts(&line, "TLB shootdowns");
	if (i == c->n && !calls && !tlb)
		return;
	/* Subtract a line that has too few columns, or count calls and shootdowns apart. */
	for (size_t k = 0; k < i && ks_text_u64(&start, &v); k++) {
		if (i < c->n)
			c->v[k].total -= v;
		else if (calls)
			c->v[k].calls += v;
		else
			c->v[k].tlb += v;
	}
}

size_t
ks_columns_of_row(struct ks_columns *c, const struct ks_image *im, const struct ks_text *numbers, uint64_t *sum)
{
	struct ks_text t = *numbers;

	ks_text_trim(&t);
	for (size_t i = 0; c->seq == im->seq && i < c->nrows; i++, c->next++) {
		c->next = c->next < c->nrows ? c->next : 0;
		if (c->row[c->next].start == numbers->p) {
			*sum = c->row[c->next].sum;
			return c->row[c->next].end == t.end ? c->n : 0;
		}
	}
	return 0;
}

const struct ks_column *
ks_columns_of_cpu(struct ks_linux *lx, struct ks_columns *c, const struct ks_image *im, uint32_t cpu)
{
	if (c->seq != im->seq) {
		struct ks_text all = ks_text_of(im->data, im->len), line;

		c->n = c->nrows = c->next = 0;
		c->seq = im->seq;
		if (ks_text_line(&all, &line))
			parse_heading(lx, c, &line);
		while (c->n > 0 && ks_text_line(&all, &line))
			add_line(c, line);
	}
	/* The columns ascend and rarely miss one. */
	for (size_t i = cpu < c->n ? cpu : c->n; i > 0; i--) {
		if (c->v[i - 1].cpu <= cpu) {
			if (c->v[i - 1].cpu == cpu)
				return &c->v[i - 1];
			break;
		}
	}
	return cpu < c->n && c->v[cpu].cpu == cpu ? &c->v[cpu] : NULL;
}
