/*
 * lines.h - files of named values: each line is "name value" or "name: value". What has columns is in listing.h.
 *
 * A reader that uses few of many lines walks over these with a memory (struct ks_walk). A running kernel writes the
 * same lines each time, at the same places unless a number before them got longer. So a line is looked for where it
 * was, by its name. Without this a further sample of vmstat takes 1.7 times the instructions (`bench/run tools`).
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_LINES_H
#define SOURCE_LINUX_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "source/linux/linux.h"

/* Takes a name from a line; what is left of the line is the value. False if there is no name. */
bool ks_lines_take(struct ks_text *line, struct ks_text *name);

/* Parses a value that is one number and nothing else; behind "kB" it is in bytes then. */
bool ks_lines_number(struct ks_text value, uint64_t *v);

/*
 * Splits a line with one number. Lines of a NUMA node begin with "Node 0", which is no part of the name. False for other
 * lines, of which the user is warned unless they are empty, or lx->im is NULL.
 */
bool ks_lines_split(struct ks_linux *lx, struct ks_text line, struct ks_text *name, uint64_t *v);

/* Takes the next of such lines; false at the end. */
bool ks_lines_next(struct ks_linux *lx, struct ks_text *all, struct ks_text *name, uint64_t *v);

/* Collects the values of fields whose keys are names; ks_part.collect for the fields of the part. */
void ks_lines_collect_into(struct ks_linux *lx, struct ks_text all, const struct ks_field *fields,
    struct ks_values *vals);
ks_part_collect ks_lines_collect;

/* Adds all lines with their names; ks_part.add. */
ks_part_add ks_lines_add;

#define KS_USEFUL 64    /* most lines that are remembered */
#define KS_LINE_KEY 27  /* length of the longest key that is remembered */
#define KS_USELESS (-1) /* returned for lines that the reader ignores */

/* What is remembered of a file from one reading to the next. All zeros if nothing is. */
struct ks_lines {
	bool known; /* all lines were read once, and useful has those that the reader uses */
	uint8_t n;
	struct ks_useful {
		char key[KS_LINE_KEY];
		uint8_t len;
		int16_t what;
		uint32_t at; /* offset of the line in the last image */
	} useful[KS_USEFUL];
};

struct ks_walk {
	struct ks_lines *lines;
	int (*classify)(const struct ks_text *line);
	const struct ks_image *im;
	bool kernel, known; /* the file is a running kernel's; the lines were known at the start */
	bool fits;          /* all that was found so far can be remembered */
	size_t taken;       /* used lines so far */
	struct ks_text rest;

	/* The line that ks_walk_next() found, the part behind its key, and what classify returned for it. */
	struct ks_text line, value;
	int what;
};

/*
 * Starts a walk over the lines of an image that the reader uses. classify returns a number for a line, which
 * must follow from its key alone, or KS_USELESS. kernel: the file is a running kernel's. A file of a recorded
 * tree may be another one at each reading, so nothing is remembered of it.
 */
struct ks_walk ks_walk_of(struct ks_lines *lines, const struct ks_image *im, bool kernel,
    int (*classify)(const struct ks_text *line));

/* How many bytes of the file a walk probably needs. */
size_t ks_lines_reach(const struct ks_lines *lines);

/*
 * Finds the next line. False at the end, and if a line that is remembered is missing: then nothing is
 * remembered any more (lines->known is false), and the caller walks once more.
 */
bool ks_walk_next(struct ks_walk *w);

#endif
