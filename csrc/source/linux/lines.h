/*
 * lines.h - files of named values: each line is "name value" or "name: value". What has columns is in listing.h.
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

#endif
