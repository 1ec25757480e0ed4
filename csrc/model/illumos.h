/*
 * illumos.h - the statistics of the NAMED kstats of illumos, in its order and with its types. Programs that were
 * written for illumos look statistics up by their position, without a check, and by their type.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_ILLUMOS_H
#define MODEL_ILLUMOS_H

#include "model/shape.h"

/*
 * Returns the statistics that illumos has in such a kstat, or NULL if illumos has no such kstat, or has no fixed
 * list for it. The list is a text: groups with '|' between them, each of which is the letter of a type, a blank and
 * names with commas between them. The letters are those of ks_shape_add_list() (model/shape.h).
 */
const char *ks_illumos_stats(const char *module, const char *name, const char *class_);

/*
 * Stores the shape of these statistics, which stays for the life of the process; NULL if illumos has no such kstat.
 * Returns 0, or -1 with errno ENOMEM.
 */
int ks_illumos_shape(const char *module, const char *name, const char *class_, const struct ks_shape **shape);

/*
 * Returns true for the drivers, n bytes, of loop devices and the like. Programs show the first disks of the chain, and
 * the files that snaps are mounted from are no disks to them: these devices come behind all others.
 */
bool ks_illumos_is_late(const char *driver, size_t n);

#endif
