/*
 * lines.h - the lines that a reader takes of a file of many, "key value" or "key: value". A running kernel
 * writes the same lines again, at the same places unless a number before them grew longer: so they are looked
 * for where they were, by their keys. Without this a further sample of vmstat takes twice the instructions and 20 %
 * more CPU time (`bench/run tools`). SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_LINES_H
#define SOURCE_LINUX_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "source/linux/image.h"
#include "source/linux/text.h"

#define KS_USEFUL 64    /* lines that are remembered */
#define KS_LINE_KEY 27  /* the longest key that is */
#define KS_USELESS (-1) /* what a line is that the reader does not take */

/* What is remembered of a file from one reading to the next. All zeros: nothing. */
struct ks_lines {
	bool known; /* all lines were looked at, and those of use are these */
	uint8_t n;
	struct ks_useful {
		char key[KS_LINE_KEY];
		uint8_t len;
		int16_t what;
		uint32_t at; /* where the line began */
	} useful[KS_USEFUL];
};

struct ks_walk {
	struct ks_lines *lines;
	int (*classify)(const struct ks_text *line);
	const struct ks_image *im;
	bool kernel, known; /* of a running kernel; the lines of use were known when it began */
	bool fits;          /* what was found so far can be remembered */
	size_t taken;       /* lines of use so far */
	struct ks_text rest;

	/* What ks_walk_next() found: the whole line, what is behind its key, and what it is. */
	struct ks_text line, value;
	int what;
};

/*
 * A walk over the lines of use of an image. classify tells what a line is, by its key alone, or KS_USELESS.
 * kernel: the file is a running kernel's; in a recorded tree it may be another at each reading, so nothing is
 * taken as known.
 */
struct ks_walk ks_walk_of(struct ks_lines *lines, const struct ks_image *im, bool kernel,
    int (*classify)(const struct ks_text *line));

/* How many bytes of the file a walk is likely to need. */
size_t ks_lines_reach(const struct ks_lines *lines);

/* False at the end, and where a known line is missing: then the next walk looks at all lines. */
bool ks_walk_next(struct ks_walk *w);

#endif
