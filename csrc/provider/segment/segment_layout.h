/*
 * segment_layout.h - the file in which a process publishes kstats: what lies where, and how a record is
 * changed and read. Writers map the file, and take from it nothing that decides about addresses without a
 * check (space.c); readers copy from it with pread() and believe nothing (source/segment/segment_file.c). All
 * fields have fixed widths and the writer's byte order.
 *
 *     header        KS_SEG_HEADER bytes
 *     entry         one per kstat, KS_SEG_ALIGN-aligned, one directly behind the other up to
 *     entry ...     header.used
 *
 *     entry:        struct ks_seg_entry
 *                   data        what updates change
 *                   fields      struct ks_seg_field[nfields]
 *                   strings     units and descriptions
 *
 * The protocol. A publisher makes the file under another name, locks one of its first bytes for writing,
 * fills the header and renames it; the kernel drops that lock with the last mapping, and a file that nobody
 * locks is a dead publisher's. Kstats come and go under header.lock: header.changes is made odd, the entry is
 * written behind header.used or into the place of a deleted one, its state becomes KS_SEG_INSTALLED,
 * header.used moves on, and header.changes becomes even again. So a reader that saw the same even number
 * before and after it copied entries has them as they were together, and a publisher that dies leaves at
 * most a place that nobody uses. What does not change while an entry is installed has a check
 * (ks_seg_entry_check()). A place is given up before it is used again, for a second at least: who still
 * updates the old kstat writes into a place of the same form. Updates take no lock of the segment; each of
 * the four forms of data has its own way:
 *
 *   cells     64-bit numbers, each changed by one atomic operation: named numbers, interrupt
 *             counts. With shards, a row of cells for each thread that claimed one; the reader sums.
 *   records   values that change together (an I/O kstat, a timer, a string): KS_REC_COPIES copies and
 *             a word (word.h) that says which is current. A writer locks the word, writes the next
 *             copy and commits: whatever it dies on, the current copy is untouched. Each copy ends in a
 *             check of its bytes and its number, so that one pread() is enough: a copy whose
 *             check holds and whose number is the word's is the record as it was at one instant.
 *   counts    the buckets of a histogram with a log of the last updates, which has the sums of all values, too
 *             (hist.h): a reader copies the buckets while they change, and brings its copy to one commit by the log.
 *   bytes     RAW data of a known layout that minds its own consistency.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_SEGMENT_LAYOUT_H
#define PROVIDER_SEGMENT_SEGMENT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/printable.h"
#include "kstat_provider.h"
#include "provider/hist.h"
#include "provider/segment/record_check.h"
#include "provider/segment/word.h"

#define KS_SEG_MAGIC 0x53544154534b4753ULL
#define KS_SEG_VERSION 2u
#define KS_SEG_BYTE_ORDER 0x01020304u
#define KS_SEG_HEADER 4096u
#define KS_SEG_ALIGN 64u
#define KS_SEG_SUFFIX ".kseg"
#define KS_SEG_NAME (KSTAT_PUBLISH_NAME_MAX + 1) /* bytes of a publication's name with its NUL */

/* Limits, which readers enforce. */
#define KS_SEG_MOST_BYTES (1ULL << 30)
#define KS_SEG_MOST_ENTRIES 1048576u
#define KS_SEG_MOST_FIELDS 4096u
#define KS_SEG_MOST_STRINGS (1u << 20)
#define KS_SEG_MOST_SHARDS 1024u
#define KS_SEG_MOST_LABEL 255u /* bytes of the text of a histogram's label, without its NUL */
#define KS_SEG_MOST_DATA (64u << 20)
#define KS_SEG_MOST_PUBLISHERS 256 /* of one file: each locks one of its first bytes for writing */

struct ks_seg_header {
	uint64_t magic;
	uint32_t version;
	uint32_t byte_order;
	uint64_t capacity;    /* bytes that may be used */
	uint64_t generation;  /* random */
	uint64_t boot;        /* hash of the kernel's boot ID: times of another boot mean nothing */
	uint64_t pid_space;   /* inode of the pid namespace in which owners are numbered */
	uint64_t creator;     /* ks_owner_self() of the creating process's main thread */
	uint32_t creator_pid;
	uint32_t flags;       /* KSTAT_PUBLISH_* */
	char publisher[KS_SEG_NAME];
	uint64_t check;       /* of everything above */
	uint64_t pad[15];
	/* What changes. */
	ks_word lock;         /* held while entries are added or removed */
	_Atomic uint64_t changes;   /* grows with each entry that comes or goes; odd in the middle of it */
	_Atomic uint64_t used;      /* bytes up to the end of the last entry */
	_Atomic uint64_t condemned; /* not 0: a publisher found damage, and the next kstat_publish() replaces the file */
	_Atomic uint64_t reused;    /* how often a deleted entry's place was used again */
	_Atomic uint32_t free_first; /* deleted entries, oldest first: offset / KS_SEG_ALIGN; 0: none */
	_Atomic uint32_t free_last;
};

/*
 * What becomes of an entry. Whoever changes a state holds header.lock, and makes header.changes odd before
 * and even after it; readers who find it odd or changed look again. The content is written before the state
 * says that it is there. A deleted entry is FREE and in the list of free places, from which one of the same
 * form may take its place after a while, so that a late update of the old kstat does no harm.
 */
enum ks_seg_state {
	KS_SEG_FREE,      /* deleted, or not yet installed */
	KS_SEG_INSTALLED,
	KS_SEG_DORMANT,   /* deleted, and kept for the next that creates it */
	KS_SEG_ORPHAN,    /* left by an earlier image of this process, hidden until created again */
	KS_SEG_REPLACED   /* superseded by an entry of another layout; old workers may still update it */
};

/* What a histogram counts: its buckets are the only statistic that is described, so that it needs no field. */
struct ks_seg_measure {
	uint64_t scale; /* as in struct ks_seg_field */
	uint32_t md_flags;
	uint32_t unit, desc;
	uint8_t kind;
	uint8_t md_type;
	uint8_t pad[10];
};

struct ks_seg_entry {
	uint32_t magic;
	uint32_t version;
	uint64_t size; /* of the whole entry, a multiple of KS_SEG_ALIGN */
	_Atomic uint32_t state;
	uint32_t mflags; /* KSTAT2_MF_*; of a free entry: the next one, as in the header */
	int64_t crtime;  /* of a free entry: when it was freed */
	uint64_t check; /* ks_seg_entry_check() */
	/* From here on nothing changes while the entry is installed. */
	char module[32];
	char name[32];
	char class_[32];
	int32_t instance;
	uint8_t type;  /* KSTAT_TYPE_* */
	uint8_t flags; /* KSTAT_FLAG_* */
	uint8_t form;  /* enum ks_seg_form */
	uint8_t hist_type;
	uint32_t ndata;
	uint32_t nfields;
	uint32_t fields;       /* offsets from the entry's start */
	uint32_t strings;
	uint32_t strings_size;
	uint32_t data;
	uint64_t data_size;
	uint32_t ncells;    /* in a row */
	uint32_t shards;    /* rows, at least 1 */
	uint32_t row;       /* bytes from one row to the next */
	uint32_t owners;    /* offset in the data of one ks_word per row: who claimed it; 0: none */
	uint64_t range_min, range_max, stepping; /* histograms */
	union {
		char layout[32];               /* RAW: what the bytes are, or "" */
		struct ks_seg_measure measure; /* histograms */
	};
	uint32_t log;       /* histograms: entries of the log */
	uint32_t pad;
};

#define KS_SEG_ENTRY_MAGIC 0x4b454e54u

enum ks_seg_form {
	KS_FORM_FIELDS, /* NAMED, INTR, TIMER: cells and records as the fields say */
	KS_FORM_RECORD, /* IO, RAW: one record at the start of the data */
	KS_FORM_COUNTS, /* a histogram */
	KS_FORM_BYTES   /* RAW: ndata bytes at the start of the data */
};

enum ks_seg_storage {
	KS_STORE_CELL,    /* the cell of row 0 */
	KS_STORE_SHARDED, /* the sum of the cells of all rows */
	KS_STORE_RECORD,
	KS_STORE_NONE,    /* metadata only */
	KS_STORE_TEXT     /* a string that never changes: its bytes, and NULs up to its size, in the data */
};

struct ks_seg_field {
	char name[32];
	uint8_t data_type; /* KSTAT_DATA_* */
	uint8_t storage;   /* enum ks_seg_storage */
	uint8_t kind;      /* metadata: as struct ks_meta */
	uint8_t md_type;
	uint32_t offset;   /* in the data: of the cell in row 0, or of the record */
	uint32_t size;     /* of the record's value, or of the text, bytes */
	uint32_t md_flags;
	uint64_t scale;
	uint32_t unit;     /* offsets in the strings; 0 is "" */
	uint32_t desc;
};

_Static_assert(offsetof(struct ks_seg_header, lock) == 256, "segment header");
_Static_assert(sizeof(struct ks_seg_entry) == 256, "segment entry");
_Static_assert(sizeof(struct ks_seg_measure) == 32, "what a histogram counts");
_Static_assert(sizeof(struct ks_seg_field) == 64, "segment field");
_Static_assert(sizeof(kstat_io_t) == 80, "kstat_io_t is part of the segment's layout");

/* The value of a string or array field: this, then its bytes. */
struct ks_seg_text {
	uint32_t len;     /* bytes that count */
	uint32_t present; /* 0: the null string */
};

/* The changing values of a timer are the members of its kstat_timer_t from num_events on. */
#define KS_SEG_TIMER_SIZE (sizeof(kstat_timer_t) - offsetof(kstat_timer_t, num_events))
_Static_assert(KS_SEG_TIMER_SIZE == 48, "kstat_timer_t is part of the segment's layout");

static inline void *
ks_seg_timer_values(const kstat_timer_t *kt)
{
	return (char *)(uintptr_t)kt + offsetof(kstat_timer_t, num_events);
}

/* A number as its 64-bit cell. */
static inline uint64_t
ks_seg_cell_of(const kstat_named_t *kn)
{
	uint64_t bits;
	double d;

	switch (kn->data_type) {
	case KSTAT_DATA_INT32:
		return (uint64_t)(int64_t)kn->value.i32;
	case KSTAT_DATA_UINT32:
		return kn->value.ui32;
	case KSTAT_DATA_FLOAT:
		d = (double)kn->value.f;
		memcpy(&bits, &d, sizeof(bits));
		return bits;
	default:
		return kn->value.ui64;
	}
}

static inline uint64_t
ks_seg_header_check(const struct ks_seg_header *h)
{
	return ks_hash_bytes(KS_HASH_INIT, h, offsetof(struct ks_seg_header, check));
}

/* Of what never changes: the entry from `module` on, its fields and its strings. */
static inline uint64_t
ks_seg_entry_check(const struct ks_seg_entry *e, const void *fields, const void *strings)
{
	const char *from = (const char *)e + offsetof(struct ks_seg_entry, module);
	uint64_t h = ks_hash_bytes(KS_HASH_INIT ^ e->size ^ e->mflags, from,
	    sizeof(*e) - offsetof(struct ks_seg_entry, module));

	h = ks_hash_bytes(h, fields, (size_t)e->nfields * sizeof(struct ks_seg_field));
	return ks_hash_bytes(h, strings, e->strings_size);
}

/* --- records -------------------------------------------------------------------------------- */

#define KS_REC_COPIES 4u /* a power of two */

struct ks_rec {
	ks_word word;
	uint64_t reserved;
	uint64_t copy[]; /* KS_REC_COPIES times: the value, rounded up to 8 bytes, and its check */
};

/* A name that can be shown: terminated, not empty, of characters that a terminal may be given. */
static inline bool
ks_seg_is_name(const char s[32])
{
	size_t n = strnlen(s, 32);

	return n > 0 && n < KSTAT_STRLEN && ks_is_printable(s, n);
}

/* Bytes from one copy to the next, of a value of n bytes. */
static inline size_t
ks_rec_stride(size_t n)
{
	return ((n + 7) & ~(size_t)7) + sizeof(uint64_t);
}

/* Bytes of a record with a value of n bytes. */
static inline size_t
ks_rec_size(size_t n)
{
	return sizeof(struct ks_rec) + KS_REC_COPIES * ks_rec_stride(n);
}

/* Where the copy with that number lies in a record with a value of n bytes. */
static inline size_t
ks_rec_offset(uint32_t seq, size_t n)
{
	return sizeof(struct ks_rec) + (seq % KS_REC_COPIES) * ks_rec_stride(n);
}

/* Two 32-bit members as the word that they are in memory. */
static inline uint64_t
ks_rec_word(uint32_t first, uint32_t second)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint64_t)first << 32 | second;
#else
	return (uint64_t)second << 32 | first;
#endif
}

/* The same check of a kstat_io_t whose members are in registers. */
static inline uint64_t
ks_rec_check_io(const kstat_io_t *io, uint32_t seq)
{
	uint64_t h = KS_REC_CHECK_START(seq);

	h += KS_REC_CHECK_PAIR(io->nread, io->nwritten, 80);
	h += KS_REC_CHECK_PAIR(ks_rec_word(io->reads, io->writes), (uint64_t)io->wtime, 64);
	h += KS_REC_CHECK_PAIR((uint64_t)io->wlentime, (uint64_t)io->wlastupdate, 48);
	h += KS_REC_CHECK_PAIR((uint64_t)io->rtime, (uint64_t)io->rlentime, 32);
	h += KS_REC_CHECK_PAIR((uint64_t)io->rlastupdate, ks_rec_word(io->wcnt, io->rcnt), 16);
	return KS_REC_CHECK_END(h);
}

/*
 * The current copy of a record that lies in memory of one's own: `size` bytes at `rec`, value of n
 * bytes. NULL if it was being changed while it was copied.
 */
static inline const void *
ks_rec_current(const char *rec, size_t n)
{
	size_t rounded = (n + 7) & ~(size_t)7;
	const char *copy;
	uint64_t word, check;
	uint32_t seq;

	memcpy(&word, rec, sizeof(word));
	seq = KS_WORD_SEQ(word);
	copy = rec + ks_rec_offset(seq, n);
	memcpy(&check, copy + rounded, sizeof(check));
	return check == ks_rec_check(copy, rounded, seq) ? copy : NULL;
}

/* Makes a zeroed record valid: version 0 holds `value`. */
static inline void
ks_rec_init(struct ks_rec *rec, const void *value, size_t n)
{
	size_t rounded = (n + 7) & ~(size_t)7;
	uint64_t check;

	memset(rec->copy, 0, rounded);
	if (n > 0)
		memcpy(rec->copy, value, n);
	check = ks_rec_check(rec->copy, rounded, 0);
	memcpy((char *)rec->copy + rounded, &check, sizeof(check));
	atomic_store_explicit(&rec->word, 0, memory_order_release);
}

/* In the writer's process, with the word locked (v): the current copy, and where the next goes. */
static inline const void *
ks_rec_now(const struct ks_rec *rec, uint64_t v, size_t n)
{
	return (const char *)rec + ks_rec_offset(KS_WORD_SEQ(v), n);
}

static inline void *
ks_rec_next(struct ks_rec *rec, uint64_t v, size_t n)
{
	return (char *)rec + ks_rec_offset(KS_WORD_SEQ(v) + 1, n);
}

/* The next copy is written: makes it current and unlocks. n is a multiple of 8. */
static inline void
ks_rec_commit(struct ks_rec *rec, uint64_t v, void *next, size_t n)
{
	uint64_t check = ks_rec_check(next, n, (KS_WORD_SEQ(v) + 1) & KS_WORD_SEQ_MASK);

	memcpy((char *)next + n, &check, sizeof(check));
	ks_word_commit(&rec->word, v);
}

#endif
