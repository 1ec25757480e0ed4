/*
 * listing.h - files that are parsed line by line. Lines with columns: a line for each unit, as in /proc/diskstats, or
 * for each subject, as in /proc/net/rpc/nfs. A listing lists the units, and finds the line of a unit again when the
 * file was read anew. Named values: each line is "name value" or "name: value".
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_LISTING_H
#define SOURCE_LINUX_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "source/linux/linux.h"

struct ks_listing {
	const struct ks_file *file;

	/*
	 * Removes from a line all but what the reader of a unit needs, and writes the unit's key. Returns the
	 * length of the key; 0 if the line is not that of a unit.
	 */
	size_t (*take_key)(struct ks_text *line, char key[KS_UNIT_NAME]);

	/* Optional. True for a known line without a unit, such as a heading. The user is warned of others. */
	bool (*is_heading)(const struct ks_image *im, const struct ks_text *line);

	/* Optional. A number that differs if another thing has taken over the name; 0 if not known. */
	uint64_t (*identity)(struct ks_linux *lx, const char *key);

	/*
	 * Called for each new unit in a scan: names its kstats. 0, or -1 with errno ENOMEM. NULL: a unit has the first
	 * part, and is called as the first word of its key.
	 */
	int (*set_up)(struct ks_linux *lx, struct ks_unit *unit);
};

/* A key for ks_listing.take_key that is a part of the line. */
static inline size_t
ks_listing_key(char key[KS_UNIT_NAME], const struct ks_text *t)
{
	ks_name_set(key, KS_UNIT_NAME, t->p, ks_text_size(t));
	return strlen(key);
}

/* Brings the units up to date with the lines of the file: results as for ks_subsystem.scan. */
int ks_listing_scan(struct ks_linux *lx, struct ks_units *units, const struct ks_listing *listing);

/*
 * The same in two passes: new units of the second follow those of the first, wherever the file has their lines. pass_of
 * returns 1 or 2 for the key of a line and what take_key left of it; 0 if there is to be no unit for it.
 */
int ks_listing_scan_twice(struct ks_linux *lx, struct ks_units *units, const struct ks_listing *listing,
    int (*pass_of)(struct ks_linux *lx, const char *key, struct ks_text rest));

/*
 * Finds the line of a unit in the file as this round has it, as take_key left it. Returns the image; on
 * failure NULL with errno (ENXIO: the unit is gone) and message.
 */
const struct ks_image *ks_listing_find(struct ks_linux *lx, struct ks_units *units,
    const struct ks_listing *listing, const struct ks_unit *unit, struct ks_text *line);

/* Finds the line whose first word is that, and what follows it there; false if there is no such line. */
bool ks_columns_line(struct ks_text all, struct ks_text word, struct ks_text *rest);

/*
 * Collects the values of a table whose keys are the first word of a line and the columns, from 0, of which the
 * statistic is the sum: "rc 0 1". ks_part.collect for the fields of the part.
 */
ks_part_collect ks_columns_collect;

/* --- named values ---------------------------------------------------------------------- */

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
