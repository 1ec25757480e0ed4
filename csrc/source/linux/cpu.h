/*
 * cpu.h - what the files about CPUs share. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_CPU_H
#define SOURCE_LINUX_CPU_H

#include "source/linux/linux.h"

#define KS_CPU_MAX 65536 /* more than any kernel knows: a limit for malformed lists */

/* Where a CPU's part of an image is. */
struct ks_line {
	uint32_t at, len;
	uint64_t seq; /* of the image */
};

/* What never changes while a CPU is there, from /sys; read at the first need. */
struct ks_cpu_facts {
	bool known;
	bool has_cache;
	uint64_t cache_id;
	uint64_t base_khz; /* 0: not told */
	bool has_frequency;
	char frequencies[512]; /* in Hz, ascending, with colons between; empty: not told */
};

/* The extra of a unit. */
struct ks_cpu {
	bool online;
	int64_t since; /* of this state, seconds since 1970; 0: since boot */
	struct ks_line stat, sched, info;
	uint32_t core; /* number of its core in the whole machine */
	struct ks_cpu_facts facts;
};

static inline struct ks_cpu *
ks_cpu_of(const struct ks_unit *unit)
{
	return unit->extra;
}

static inline struct ks_text
ks_line_text(const struct ks_image *im, const struct ks_line *line)
{
	return ks_text_of(im->data + line->at, line->len);
}

static inline struct ks_line
ks_line_of(const struct ks_image *im, const struct ks_text *t)
{
	return (struct ks_line){ (uint32_t)(t->p - im->data), (uint32_t)ks_text_size(t), im->seq };
}

/*
 * The column of a CPU in a table with one column per CPU, summed over its lines; NULL if
 * there is none.
 */
const struct ks_column *ks_columns_of_cpu(struct ks_columns *c, const struct ks_image *im,
    uint32_t cpu);

/* The unit of a CPU by its number as text. */
struct ks_unit *ks_cpu_unit(struct ks_linux *lx, const struct ks_text *number);

extern const struct ks_field ks_cpu_info_fields[];
ks_part_read ks_cpu_info_read;

#endif
