/*
 * entry_image.h - the entry of a kstat in a segment, laid out in memory of one's own. Its maker owns it.
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_ENTRY_IMAGE_H
#define PROVIDER_SEGMENT_ENTRY_IMAGE_H

#include "base/buf.h"
#include "provider/segment/segment.h"

struct ks_seg_image {
	struct ks_seg_entry e;
	struct ks_buf fields; /* struct ks_seg_field[] */
	struct ks_buf strings;
	struct ks_buf data;
};

/*
 * Lays out p, which is published and not yet installed: its names, descriptions and first values. 0, or -1 with
 * errno EINVAL (names or types that cannot be, too large), ENOMEM. To be freed in either case.
 */
int ks_seg_image_make(struct ks_seg_image *im, const struct ks_provider *p);
void ks_seg_image_free(struct ks_seg_image *im);

#endif
