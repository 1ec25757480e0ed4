/* segment_walk.c - see segment_walk.h. SPDX-License-Identifier: MIT */
#include "source/segment/segment_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "provider/segment/directory.h"

#define FIRST_PIECE 4096u
#define MOST_PIECE (256u << 10)
#define TRIES 3 /* copies of a piece whose entries change meanwhile; then what is there counts */

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
	w->piece = FIRST_PIECE;
	return 0;
}

void
ks_seg_walk_close(struct ks_seg_walk *w)
{
	ks_seg_file_close(&w->file);
}

static bool
read_changes(const struct ks_seg_walk *w, uint64_t *changes)
{
	return ks_seg_file_read(&w->file, changes, sizeof(*changes), offsetof(struct ks_seg_header, changes));
}

/* Copies n bytes from an offset into the buffer. */
static bool
copy_piece(struct ks_seg_walk *w, uint64_t offset, size_t n)
{
	uint64_t before, after;

	ks_buf_reset(&w->file.buf);
	if (ks_buf_room(&w->file.buf, n) == NULL) {
		errno = ENOMEM;
		return false;
	}
	for (int i = 0; i < TRIES; i++) {
		if (!read_changes(w, &before) || !ks_seg_file_read(&w->file, w->file.buf.data, n, offset) ||
		    !read_changes(w, &after))
			return false;
		if (before == after && before % 2 == 0)
			break;
	}
	w->start = offset;
	w->file.buf.len = n;
	return true;
}

const char *
ks_seg_walk_bytes(struct ks_seg_walk *w, uint64_t offset, size_t n)
{
	uint64_t used = atomic_load(&w->file.h.used), end = w->start + w->file.buf.len, from;
	size_t size;

	if (w->file.buf.len > 0 && offset >= w->start && n <= end - w->start &&
	    offset - w->start <= end - w->start - n)
		return w->file.buf.data + (offset - w->start);
	from = offset / KS_SEG_ALIGN * KS_SEG_ALIGN;
	if (n > used || offset > used - n)
		return ks_fail_null(EINVAL, "%s: damaged at byte %llu: the file ends", w->file.path,
		    (unsigned long long)offset);
	w->piece = w->file.buf.len > 0 && offset >= w->start && offset <= end ? w->piece * 2 : FIRST_PIECE;
	w->piece = w->piece < MOST_PIECE ? w->piece : MOST_PIECE;
	size = offset - from + n > w->piece ? offset - from + n : w->piece;
	if (size > used - from)
		size = used - from;
	if (!copy_piece(w, from, size)) {
		w->file.buf.len = 0;
		return ks_fail_null(errno != 0 ? errno : EIO, "%s: it cannot be read, or was cut off", w->file.path);
	}
	return w->file.buf.data + (offset - from);
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
