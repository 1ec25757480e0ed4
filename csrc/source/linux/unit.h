/*
 * unit.h - the things a subsystem has kstats for: CPUs, disks, links, interrupts. A unit keeps
 * its slot, and so its cookie, as long as the thing exists; a thing that went and came back is
 * a new unit with a new crtime.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_UNIT_H
#define SOURCE_LINUX_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat.h"

#define KS_UNIT_NAME 64  /* bytes of a key with its NUL; longer ones are cut */
#define KS_UNIT_PARTS 16 /* kinds of kstats that one unit may have */

struct ks_unit {
	char key[KS_UNIT_NAME];    /* what names the thing in its file */
	char name[KSTAT_STRLEN];   /* '@' in the names of its kstats */
	char module[KSTAT_STRLEN]; /* '@' in their modules */
	int instance;
	bool alive;
	bool seen;         /* met in the scan under way */
	uint16_t parts;    /* which kinds of kstats it has, one bit each */
	uint32_t at, len;  /* its line in the image last parsed */
	uint64_t seq;      /* the reading of the image that the line belongs to */
	uint64_t ident;    /* changes when another thing takes the name; 0: not known */
	hrtime_t crtime;   /* 0: since boot, as far as we know */
	uint64_t served[KS_UNIT_PARTS]; /* round in which each of its kstats was read last */
	void *extra;       /* the subsystem's; freed with free() */
};

struct ks_units {
	struct ks_unit *v; /* slots */
	uint32_t n;        /* slots in use or free */
	uint32_t cap;
	uint32_t dead;     /* free slots */
	uint32_t free_at;  /* where to look for one */
	uint32_t *hash;    /* slot + 1 of each key; 0 is empty */
	uint32_t hash_cap; /* a power of two, or 0 */
	uint32_t hint;     /* where the next unit of an unchanged file is */
	bool scanned;      /* a first scan is complete */
	bool changed;
	hrtime_t last;     /* when was looked for units before; set before a scan */
	hrtime_t crtime;   /* of units that the scan under way finds: halfway between then and now */
};

void ks_units_free(struct ks_units *u);

/* Starts a scan: no unit is seen yet. */
void ks_units_begin(struct ks_units *u);

/*
 * The unit of that key, a new one if there is none; NULL with errno ENOMEM. *fresh tells that
 * it is new, and its kstats are to be set up. A unit whose ident is another one is replaced.
 * A unit met twice in a scan keeps what it has; fresh is then false.
 */
struct ks_unit *ks_units_see(struct ks_units *u, const char *key, size_t len, uint64_t ident,
    bool *fresh);

/* Ends a scan: units not seen are gone. Returns 1 if there was any change, else 0. */
int ks_units_end(struct ks_units *u);

/* The unit of that key, or NULL. Files list units in the order of the last time: hint helps. */
struct ks_unit *ks_units_find(struct ks_units *u, const char *key, size_t len);

/* Makes a key of a path: the path itself, or its begin and its hash. Returns its length. */
size_t ks_key_of_path(char key[KS_UNIT_NAME], const char *path);

/* Copies a name of n bytes into a field of size bytes, cut if need be. */
void ks_name_set(char *to, size_t size, const char *s, size_t n);

#endif
