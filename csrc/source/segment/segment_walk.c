/* segment_walk.c - see segment_walk.h. SPDX-License-Identifier: MIT */
#include "source/segment/segment_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "provider/segment/directory.h"

int
ks_seg_walk_open(struct ks_seg_walk *w, const char *path)
{
	memset(w, 0, sizeof(*w));
	if (ks_seg_file_open(&w->file, AT_FDCWD, path, path) != 0 ||
	    !ks_seg_file_read(&w->file, &w->file.h, sizeof(w->file.h), 0)) {
		int error = errno;

		ks_seg_walk_close(w);
		errno = error;
		return -1;
	}
	w->at = KS_SEG_HEADER;
	return 0;
}

void
ks_seg_walk_close(struct ks_seg_walk *w)
{
	ks_seg_file_close(&w->file);
	ks_buf_free(&w->piece.buf);
}

const char *
ks_seg_walk_bytes(struct ks_seg_walk *w, uint64_t offset, size_t n)
{
	const char *bytes;

	w->file.piece = &w->piece; /* the walk may have been moved since it was opened */
	bytes = ks_seg_piece_bytes(&w->file, 1, offset, n);
	return bytes != NULL ? bytes : ks_fail_null(EIO, "%s: it ends before byte %llu, or cannot be read", w->file.path,
	    (unsigned long long)(offset + n));
}

int
ks_seg_walk_next(struct ks_seg_walk *w, struct ks_seg_entry *e, uint64_t *offset, size_t most)
{
	uint64_t used = atomic_load(&w->file.h.used);

	for (; w->at < used && most > 0; most--) {
		const char *bytes;
		uint32_t state;

		bytes = ks_seg_walk_bytes(w, w->at, sizeof(*e));
		if (bytes == NULL)
			return -1;
		memcpy(e, bytes, sizeof(*e));
		if (e->magic != KS_SEG_ENTRY_MAGIC || e->size < sizeof(*e) || e->size % KS_SEG_ALIGN != 0 ||
		    e->size > used - w->at)
			return ks_fail(EINVAL, "%s: damaged at byte %llu: no kstat where one should start", w->file.path,
			    (unsigned long long)w->at);
		*offset = w->at;
		w->at += e->size;
		state = atomic_load(&e->state);
		if (state == KS_SEG_INSTALLED || state == KS_SEG_DORMANT)
			return KS_WALK_KSTAT;
	}
	return w->at < used ? KS_WALK_MORE : KS_WALK_END;
}
