/* raw_meta.h - metadata of the members of known RAW layouts. SPDX-License-Identifier: MIT */
#ifndef MODEL_RAW_META_H
#define MODEL_RAW_META_H

#include "model/meta.h"
#include "model/raw_layout.h"

/* Returns the metadata of one member, or NULL if the layout has no member of that name. */
const struct ks_meta *ks_raw_meta(const struct ks_raw_layout *layout, const char *stat);

#endif
