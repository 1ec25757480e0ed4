/*
 * unit.h - the things that a subsystem has kstats for: CPUs, disks, links, interrupts. A unit keeps its slot,
 * which is part of its cookies, as long as the thing exists. A thing that was removed and came back is a new
 * unit with a new crtime.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_UNIT_H
#define SOURCE_LINUX_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "kstat.h"

#define KS_UNIT_NAME 64  /* size of a key with its NUL; longer keys are cut */
#define KS_UNIT_PARTS 16 /* kinds of kstats that one unit may have: bits of ks_unit.parts */

struct ks_unit {
	char key[KS_UNIT_NAME];    /* what names the thing in its file */
	char name[KSTAT_STRLEN];   /* '@' in the names of its kstats; at first the key */
	char module[KSTAT_STRLEN]; /* '@' in their modules */
	int instance;
	bool alive;
	bool seen;         /* found by the scan under way */
	uint16_t parts;    /* which kinds of kstats it has, one bit each */
	uint32_t long_texts; /* bytes that the headers of its kstats reserve for texts of any length, such as paths */
	uint32_t at, len;  /* its line in the image that was parsed last */
	uint64_t seq;      /* ks_image.seq of that image */
	uint64_t ident;    /* changes when another thing takes over the name; 0: not known */
	hrtime_t crtime;   /* 0: since boot, as far as is known */
	uint64_t served[KS_UNIT_PARTS]; /* the round in which each of its kstats was read last */
	void *extra;       /* the subsystem's; freed with free() */
};

_Static_assert(KS_UNIT_PARTS <= 8 * sizeof(((struct ks_unit *)0)->parts), "a part needs a bit");

struct ks_units {
	struct ks_unit *v; /* slots */
	size_t cap;
	uint32_t n;        /* slots in use or free */
	uint32_t dead;     /* free slots */
	uint32_t free_at;  /* where to look for a free slot */
	struct ks_table by_key; /* slots of the units that are alive */
	uint32_t hint;     /* slot of the unit that is probably the next in the file */
	uint64_t seq;      /* ks_image.seq of the image in which the lines of the units were found */
	bool scanned;      /* a first scan is complete */
	bool changed;      /* a unit came or went in the scan under way */
	hrtime_t last;     /* when units were looked for before; set before a scan */
	hrtime_t now;      /* when the scan under way began */
	hrtime_t crtime;   /* for units that the scan under way finds: halfway between then and now */
};

void ks_units_free(struct ks_units *u);

/* Starts a scan: no unit counts as found yet. */
void ks_units_begin(struct ks_units *u);

/* Starts a scan that only adds and removes some units; it needs no end. ks_units.changed is its result. */
void ks_units_go_on(struct ks_units *u);

/* Removes a unit. */
void ks_units_remove(struct ks_units *u, struct ks_unit *unit);

/*
 * Returns the unit of that key, a new one if there is none; NULL with errno ENOMEM. *is_new is true if the
 * caller must name its kstats. A unit with another ident is replaced by a new one. A unit that the scan finds
 * twice stays as it is, and *is_new is false.
 */
struct ks_unit *ks_units_see(struct ks_units *u, const char *key, size_t len, uint64_t ident,
    bool *is_new);

/* Ends a scan: units that it did not find are removed. Returns 1 if any unit came or went, else 0. */
int ks_units_end(struct ks_units *u);

/* Returns the unit of that key, or NULL. Fastest if the keys come in the order of the slots. */
struct ks_unit *ks_units_find(struct ks_units *u, const char *key, size_t len);

/* Writes a key for a path: the path itself, or its beginning and its hash. Returns the length of the key. */
size_t ks_key_of_path(char key[KS_UNIT_NAME], const char *path);

/* Copies a name of n bytes into a field of size bytes; what does not fit is cut. */
void ks_name_set(char *to, size_t size, const char *s, size_t n);

#endif
