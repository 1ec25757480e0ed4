/*
 * codec.h - one sample of a recording as bytes, and back. Writer and reader keep the same state: the
 * sample before, and what each number is expected to be next. A sample says which kstats left, changed
 * shape and came, and by how much each number differs from what was expected.
 *
 * All integers are varints (base/varint.h), signed ones folded. A sample is
 *     the steps of the time of day and of the time of the sample,
 *     1 if snaptimes are exact (from version 5 on; before they always are), see below,
 *     the number of kstats that left, and of each its distance from the one before,
 *     the number that changed shape, and of each the distance and the new definition,
 *     the number that came, and their definitions,
 *     a count of fields that are as expected, then (difference, count) pairs.
 *
 * A definition is the header of a kstat, the names and types of its data records if these have names (0x80 is
 * added to the type of a hidden one, see model/shape.h),
 * and what its statistics mean (not in a stream that starts with a keyframe of version 1): 0 if nothing
 * is known; 1, the number of statistics and the meaning of each; or N + 2 if another kstat's statistics
 * mean the same, where N is the number of meanings that the stream held before that kstat's. At its end is who
 * publishes the kstat (from version 3 on): an empty text for nobody, or the name of the publication, the user's number
 * and that of the process. Behind it are the hidden fields of a RAW structure that is known (from version 4 on):
 * KS_REC_MARKED bits in numbers of 64, the first field in the lowest bit. The last is the machine that the kstat is of,
 * where a recording holds several (from version 5 on): an empty text for that which recorded it.
 *
 * The fields of a kstat are its state (readable or not), the numbers and texts of its data section (of a statsblob the
 * data section as one text), and its snaptime (before version 5 in front of the data). A snaptime is expected to be
 * later by the step of the sample's time, and by as much more as the one before it was: see ks_rec_set_snaptime(). A
 * recording of the machine does not keep snaptimes exactly, which are different for each file of the kernel, but to a
 * 1024th of the interval. So a process that sleeps takes no byte. The difference of a text is followed by its
 * length plus one and its bytes; the numbers of an array are little-endian there, those of a statsblob as its
 * writer had them. KS_REC_SOME_CHANGED is the difference of an array that is as long as before (from version 5 on): how
 * many of its numbers changed follows, and of each the distance from the one before and by how much. The difference of a number whose values have a power of ten in common is in units of this
 * power, doubled; an odd one, KS_REC_NOT_IN_UNITS, says that the exact difference follows.
 *
 * A number that moved once is not expected to move again: that costs a fifth less than to expect the mean of its steps,
 * since most processes wake up now and then. A recorder that has to wait within a sample is late from there on, which
 * is written once for the kstats of a class and not for each.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_RECORDING_CODEC_H
#define SOURCE_REPLAY_RECORDING_CODEC_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/table.h"
#include "kstat.h"
#include "source/replay/sample_store.h"
#include "source/source.h"

#define KS_REC_NOT_IN_UNITS 1
#define KS_REC_SOME_CHANGED 2 /* the difference of an array; that of another text, or of a whole array, is 1 */

/*
 * The first versions of keyframes behind which definitions say what statistics mean, who publishes a kstat, which
 * fields of a structure are hidden, and which machine a kstat is of.
 */
#define KS_REC_DESCRIBED 2
#define KS_REC_ATTRIBUTED 3
#define KS_REC_MARKED_SINCE 4
#define KS_REC_ROUGH_SINCE 5
#define KS_REC_HOSTED 5

#define KS_REC_MARKED (8 * KS_RAW_MARKS) /* fields that a definition can hide */

/*
 * The state of writer and reader: the last sample and what the next one is expected to be. A keyframe starts from an
 * empty one; a light keyframe starts from a copy of that which the keyframe left.
 */

/* What is known of a number from the samples before. */
struct ks_rec_trend {
	uint64_t step; /* by how much it is expected to change */
	uint64_t last; /* by how much it changed last */
	int64_t unit;  /* what divides it, a power of ten */
};

struct ks_rec_state {
	struct ks_buf meanings;     /* the writer's: what it said that statistics mean, each list once */
	struct ks_table known;      /* the writer's: finds these lists by their hash */
	uint32_t nmeanings;         /* the writer's: their statistics */
	uint32_t era;               /* the writer's: counts from 0, which is the keyframe, where copies were made */
	unsigned version;           /* the reader's: of the last keyframe; what definitions have depends on it */
	struct ks_store *sample;    /* the last one; borrowed */
	struct ks_rec_trend *trend; /* of each value of the sample; owned */
	size_t cap;
	size_t unused;        /* values of the sample that belonged to kstats that left or changed shape */
	size_t unused_text;   /* the same in bytes of its text */
	uint64_t time_of_day; /* ns since 1970 */
	uint64_t taken;       /* ns of gethrtime() */
	bool rough;           /* the writer's: snaptimes need not be exact, see above */
	uint64_t before;      /* the writer's: when the last sample was taken, which may be later than the state's */
};

/* A kstat of the sample that is to be written. */
struct ks_rec_kstat {
	const kstat_t *k;
	bool was_read;            /* its data is of this sample; else it could not be read */
	struct ks_source *source; /* knows what its statistics mean and who publishes it, by the cookie; NULL: nobody does */
	uint64_t cookie;
	const char *host; /* the machine that it is of, if the recording holds several; "": that which records it */
};

/* --- writer and reader ------------------------------------------------------------------ */

void ks_rec_state_free(struct ks_rec_state *s);

/* Forgets everything, the sample as well: what a keyframe starts from. */
void ks_rec_state_reset(struct ks_rec_state *s);

/* Makes `to` what `from` is; its sample becomes a copy. 0, or -1 with errno ENOMEM. */
int ks_rec_state_copy(struct ks_rec_state *to, const struct ks_rec_state *from);

/*
 * Appends the bytes of a sample of n kstats to `out` and makes it the state. The kstats come in the order
 * of their ks_kid; the newest snaptime is the time of the sample. 0, or -1 with errno ENOMEM (the state is then
 * useless until reset).
 */
int ks_rec_encode(struct ks_rec_state *s, const struct ks_rec_kstat *in, size_t n, int64_t time_of_day,
    struct ks_buf *out);

/*
 * Makes the sample of these bytes the state. 0, or -1 with errno EBADMSG or ENOMEM and a message: then
 * the state and its sample are useless until reset.
 */
int ks_rec_decode(struct ks_rec_state *s, const void *bytes, size_t n);

/* --- for encoding and decoding ------------------------------------------------------------ */

/*
 * Starts the values of a kstat at the end of the sample: those of a structure are all there then. Numbers
 * are 0, texts null strings. 0, or -1 with errno ENOMEM or EFBIG.
 */
int ks_rec_start_values(struct ks_rec_state *s, struct ks_store_kstat *k);

/*
 * Adds a value of a NAMED kstat, or the fields of an event of a TIMER, whose name is in the text of the
 * sample. 0, or -1 with errno ENOMEM or EFBIG.
 */
int ks_rec_add_record(struct ks_rec_state *s, struct ks_store_kstat *k, uint32_t name, uint8_t data_type);

/* Hides the fields of a RAW structure whose bit is set; the lowest bit is that of the field `from`. */
void ks_rec_set_marks(struct ks_rec_state *s, const struct ks_store_kstat *k, size_t from, uint64_t bits);

/* Fails with what was wrong when something could not be added to the sample. */
int ks_rec_fail(const struct ks_rec_state *s);

/* Removes what is unused if it is as much as what is used. 0, or -1 with errno ENOMEM. */
int ks_rec_compact(struct ks_rec_state *s);

/* True for NAMED and TIMER: their data records have names, which a definition lists. */
static inline bool
ks_rec_has_names(uint8_t type)
{
	return type == KSTAT_TYPE_NAMED || type == KSTAT_TYPE_TIMER;
}

/* Brings the numbers of an array of n bytes from the host's byte order to that of recordings, and back. */
static inline void
ks_rec_order(char *p, size_t n)
{
	uint64_t word;

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		word = htole64(word);
		memcpy(p, &word, sizeof(word));
	}
}

/* Extends the sign of a difference of numbers of that width (4 or 8 bytes); cuts a number to it. */
static inline uint64_t
ks_rec_extend(uint64_t difference, unsigned width)
{
	return width == 4 ? (uint64_t)(int64_t)(int32_t)difference : difference;
}

static inline uint64_t
ks_rec_cut(uint64_t value, unsigned width)
{
	return width == 4 ? (uint32_t)value : value;
}

/* What a number is expected to be. */
static inline uint64_t
ks_rec_expected(const struct ks_store_value *v, const struct ks_rec_trend *t)
{
	return ks_rec_cut(v->u64 + t->step, v->width);
}

#define KS_REC_LANES 16

/* The times of a sample, ns. */
struct ks_rec_times {
	uint64_t step;    /* since the one that the state is of */
	bool exact;       /* snaptimes are kept exactly */
	/*
	 * By how much snaptimes are later than expected, from the last difference on: where they are not exact, those of the
	 * classes with one hash, which are read at one time; else there is one.
	 */
	uint64_t late[KS_REC_LANES];
	int64_t interval; /* the writer's: since the sample before, or 0: snaptimes are kept exactly */
};

/* Prepares a kstat whose class is known for the first snaptime that is said of it. */
static inline void
ks_rec_start_snaptime(const struct ks_rec_state *s, struct ks_store_kstat *k)
{
	k->base = (hrtime_t)s->taken;
	k->fresh = true;
	k->lane = 0;
	for (const char *c = ks_store_text(s->sample, k->class_); *c != '\0'; c++)
		k->lane = (uint8_t)((k->lane * 7 + (unsigned char)*c) % KS_REC_LANES);
}

/* What the snaptime of a kstat is expected to be. */
static inline uint64_t
ks_rec_expected_snaptime(const struct ks_store_kstat *k, const struct ks_rec_times *t)
{
	return (uint64_t)k->base + t->step + (t->exact ? t->late[0] : k->fresh ? 0 : t->late[k->lane]);
}

/*
 * Sets a snaptime that differs by so much from what is expected. In a sample with exact ones it is what the next
 * sample's is expected from. In others that is the time without the lateness, which belongs to the sample alone: a
 * recorder that has to wait within a sample is late there, and not in the next one.
 */
static inline void
ks_rec_set_snaptime(struct ks_store_kstat *k, struct ks_rec_times *t, uint64_t difference)
{
	uint64_t snaptime = ks_rec_expected_snaptime(k, t) + difference;

	if (t->exact || !k->fresh)
		t->late[t->exact ? 0 : k->lane] += difference;
	k->base = (hrtime_t)(t->exact || k->fresh ? snaptime : (uint64_t)k->base + t->step);
	k->snaptime = (hrtime_t)snaptime;
	k->fresh = false;
}

/* Sets a number, and what is known of it in that version. */
void ks_rec_set_number(struct ks_store_value *v, struct ks_rec_trend *t, uint64_t now, unsigned version);

/* Sets a text to a copy of n bytes, NULL for none. 0, or -1 with errno ENOMEM. */
int ks_rec_set_text(struct ks_rec_state *s, struct ks_store_value *v, const char *p, uint32_t n);

#endif
