/* match.h - the words for kinds of devices. SPDX-License-Identifier: MIT */
#ifndef DEVSTAT_MATCH_H
#define DEVSTAT_MATCH_H

#include <stddef.h>

#include "devstat.h"

/* Returns the first known word that these len bytes start with, without regard to case, or NULL. */
const struct devstat_match_table *ks_devstat_word(const char *item, size_t len);

/* Returns the word for a device's type (DEVSTAT_MATCH_TYPE) or interface (DEVSTAT_MATCH_IF), or NULL. */
const char *ks_devstat_type_word(devstat_type_flags type, devstat_match_flags field);

#endif
