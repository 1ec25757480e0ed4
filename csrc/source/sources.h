/*
 * sources.h - the sources that there are, and what that of Linux knows without being open; replays are in
 * replay/replay.h. Functions that open one return NULL with errno and a message on failure.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_SOURCES_H
#define SOURCE_SOURCES_H

#include "source/source.h"

/* proc, sys: directories to read in place of /proc and /sys; NULL for these. */
struct ks_source *ks_source_linux_open(const char *proc, const char *sys);

/*
 * True if a selector with this module and this class (NULL: any, or a pattern) names kstats of the machine: a module
 * that Linux has whatever its devices are, or without a module a class that is not "misc".
 */
bool ks_source_linux_is_named(const char *module, const char *class_);

/*
 * What Linux's own statistic of that name means in a kstat of that module, name, class and type: for captures, which do not
 * say. NULL: it has none; *stranger is set to whether Linux has no such kstat. Valid until the thread's next call of such a function.
 */
const struct ks_meta *ks_source_linux_describe(const kstat_t *ksp, const char *stat, bool *stranger);

struct ks_source *ks_source_local_open(void);
struct ks_source *ks_source_segment_open(void);

#endif
