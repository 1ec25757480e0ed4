/*
 * segment_file.h - one file of published kstats, as a reader sees it: everything is copied with
 * pread() and checked before it is believed. A file may be truncated, half-written or hostile: it
 * can only be reported. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_SEGMENT_SEGMENT_FILE_H
#define SOURCE_SEGMENT_SEGMENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/histstat.h"
#include "model/meta.h"
#include "model/record.h"
#include "provider/segment/segment_layout.h"
#include "source/source.h"

/* What kstats have in common that differ in name, instance, times and values alone; it was checked. */
struct ks_seg_shape {
	struct ks_seg_shape *next;
	struct ks_seg_entry e;       /* of the first one of them */
	struct ks_seg_field *fields; /* e.nfields of them */
	char *strings;               /* e.strings_size bytes that end in a NUL; fit to be printed */
	struct ks_hist_layout hist;  /* KS_FORM_COUNTS */
	bool has_text;               /* NAMED: values of KSTAT_DATA_STRING or _STRS */
	bool is_changed;             /* fields and strings are not as the file has them */
};

/* A kstat of the file; what is here was checked and does not change. */
struct ks_seg_kstat {
	uint64_t offset; /* of its entry */
	uint64_t check;
	int64_t crtime;
	const struct ks_seg_shape *shape; /* of the file */
	uint32_t state;
	int32_t instance;
	char name[32];
};

/*
 * What the publications of one user, or of all strangers together, may cost a reader. What goes beyond it is left
 * out.
 */
struct ks_seg_budget {
	struct ks_seg_budget *whole; /* of which this is a part, or NULL */
	uint64_t files, most_files;  /* open */
	uint64_t statistics, most_statistics; /* about how many values there are to show */
	uint64_t bytes, most_bytes;  /* of memory, with the data that reads will take */
	uint64_t looks, most_looks;  /* entries looked at in this pass */
	int64_t patience, most_patience; /* ns left in this pass to wait for records that keep changing */
};

/*
 * A large piece of a file, for who reads many kstats in the order in which they lie there: one copy serves them all.
 * It is used only in the walk in which it was made (struct ks_record), for what was read must not be older than that.
 */
struct ks_seg_piece {
	const struct ks_seg_file *of; /* NULL: there is none */
	uint64_t walk;
	uint64_t start;  /* its offset in the file, a multiple of KS_SEG_ALIGN */
	size_t size;     /* of the next one: it grows where pieces follow one another, */
	size_t served;   /* and as many bytes of them are asked for as to be worth it */
	hrtime_t taken;  /* before it was copied */
	struct ks_buf buf;
};

struct ks_seg_file {
	int fd;
	struct ks_seg_piece *piece;   /* that of the source; NULL: none; not owned */
	struct ks_seg_budget *budget; /* of its user; not owned */
	uint64_t spent;               /* bytes of the budget */
	uint64_t statistics;          /* the same of these */
	uint64_t left_out;            /* statistics that the budget had no room for at the last scan */
	const char *cut;              /* what the budget had no room for at the last scan, or NULL */
	char *path;            /* owned */
	struct ks_seg_header h; /* as it was when it was last scanned */
	bool scanned;
	bool live;             /* at the last scan */
	struct ks_seg_kstat *kstat; /* owned, by offset */
	size_t n, cap;
	struct ks_seg_shape *shape;  /* owned; the one that was found last is the first */
	struct ks_buf buf;     /* scratch of reads */
};

/*
 * Opens the file of that name in an open directory; `path` is what messages call it. f->fd is -1 and errno set
 * if it cannot be opened. The message says why it is no segment that this process can make sense of (-1, errno
 * EINVAL).
 */
int ks_seg_file_open(struct ks_seg_file *f, int dir, const char *name, const char *path);
void ks_seg_file_close(struct ks_seg_file *f);

/* --- budgets: publisher.c --------------------------------------------------------------------- */

/* Takes n from what a budget and its whole have left: the member at `used` counts up to that at `most`. False: no room. */
bool ks_seg_budget_take(struct ks_seg_budget *b, size_t used, size_t most, uint64_t n);

#define KS_SEG_TAKE(b, what, n) ks_seg_budget_take((b), offsetof(struct ks_seg_budget, what), \
	offsetof(struct ks_seg_budget, most_##what), (n))

/* Gives back n of each. */
void ks_seg_budget_give_back(struct ks_seg_budget *b, uint64_t files, uint64_t bytes, uint64_t statistics);

/* --- scanning and pieces ---------------------------------------------------------------------- */

/*
 * Looks which kstats there are of those that the scan wants: those installed, of a live segment; of a dead one
 * those that are kept; all within the file's budget.
 * 1 if they may differ from last time, 0 if nothing changed, -1 with errno and a message if
 * the file is damaged (EINVAL) or a read failed: what could be read before that is there.
 */
int ks_seg_file_scan(struct ks_seg_file *f, const struct ks_scan *scan);

/* Copies n bytes at an offset. False with errno, 0 if the file does not have them. */
bool ks_seg_file_read(const struct ks_seg_file *f, void *to, size_t n, uint64_t offset);

/* Returns what is wrong with the fixed part of an entry, or NULL: nothing. */
const char *ks_seg_entry_wrong(const struct ks_seg_entry *e);

/* Returns the same of the fields and strings of a form whose fixed part is in order, and completes its hist and has_text. */
const char *ks_seg_shape_wrong(struct ks_seg_shape *shape);

/* Fills *k from an entry of the form at an offset. */
void ks_seg_kstat_set(struct ks_seg_kstat *k, const struct ks_seg_shape *shape, const struct ks_seg_entry *e,
    uint64_t offset);

/*
 * Returns n bytes at an offset of the file, as aligned as there, in a copy that was made in this walk. NULL: there is
 * none, and they are read by themselves.
 */
const char *ks_seg_piece_bytes(struct ks_seg_file *f, uint64_t walk, uint64_t offset, size_t n);

/* Where a buffer has an address that is as aligned as an entry in the file. */
static inline char *
ks_seg_aligned(const struct ks_buf *b)
{
	return b->data + (KS_SEG_ALIGN - (uintptr_t)b->data % KS_SEG_ALIGN) % KS_SEG_ALIGN;
}

/* The kstat whose entry starts at offset, or NULL. */
const struct ks_seg_kstat *ks_seg_file_find(const struct ks_seg_file *f, uint64_t offset);

/* True if its bytes are a statsblob kstat (provider/blob_layout.h). */
bool ks_seg_is_statsblob(const struct ks_seg_entry *e);

/* True if it is to be shown with KSTAT_FLAG_DORMANT. */
bool ks_seg_is_dormant(const struct ks_seg_file *f, const struct ks_seg_kstat *k);

/*
 * Builds the data, with texts fit to be printed (ks_clean_text()). 0, or -1 with errno ENXIO (gone), EAGAIN (busy),
 * EIO (damaged).
 */
int ks_seg_kstat_read(struct ks_seg_file *f, const struct ks_seg_kstat *k, struct ks_record *r);

/*
 * Reads the counts of a histogram, which lie in f->buf then, or in data: a copy of its data, where nothing was counted
 * since then. 0, or -1 with errno.
 */
int ks_seg_counts_read(struct ks_seg_file *f, const struct ks_seg_kstat *k, const char *data, struct ks_histstat *h);

/*
 * Stores the values of a NAMED kstat: all, or none and -1 with errno EACCES, EPERM, EINVAL (a text that its place has
 * no room for is one), ENXIO, EAGAIN. Texts and arrays that are as they were stay untouched; others take
 * their record's lock, for which the file is mapped: only its owner may change them.
 */
int ks_seg_kstat_write(struct ks_seg_file *f, const struct ks_seg_kstat *k,
    const kstat_named_t *values, uint_t n);

/*
 * Merges the shards of a statsblob kstat, of a copy of its n bytes: the blob, which was checked, is what the buffer begins
 * with. As ks_seg_blob_read().
 */
int ks_seg_blob_merge(const char *bytes, size_t n, struct ks_buf *b);

/*
 * Builds the data of a statsblob kstat from a copy of its n bytes. 1; 0: it was changing, copy again; -1 with errno:
 * EIO damaged, ENOMEM.
 */
int ks_seg_blob_read(const char *bytes, size_t n, struct ks_record *r);

/* --- for reading and writing ------------------------------------------------------------------ */

/* True if the entry is still the one that was checked: another one may have its place. */
bool ks_seg_kstat_is(const struct ks_seg_kstat *k, const struct ks_seg_entry *now);

/*
 * Copies the entry and the first `size` bytes of its data into f->buf, with the data at an address that is
 * as aligned as in the file, so that each number is copied whole. Returns the data, or NULL with errno.
 */
char *ks_seg_kstat_copy(struct ks_seg_file *f, const struct ks_seg_kstat *k, size_t size);

/* A number of such a copy: the sum of its parts. */
uint64_t ks_seg_cell(const struct ks_seg_entry *e, const struct ks_seg_field *field, const char *data);

#endif
