/*
 * capture.h - what the files that read a capture share: its text, messages about it, and the steps from an array of JSON
 * to a sample. capture.c is the reader of captures. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_CAPTURE_H
#define SOURCE_REPLAY_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

#include "base/buf.h"
#include "source/replay/sample_store.h"

/* --- input.c -------------------------------------------------------------------------------- */

/*
 * The text of a capture, piece by piece: a file or standard input of any size, plain or compressed by gzip, which its
 * contents show. illumos escapes "?", which is not valid JSON: that backslash is removed. A backslash and the character
 * that it escapes are always in the same piece.
 */

struct ks_capture_input {
	char *text; /* owned; the current piece */
	size_t len; /* its bytes */
	size_t pos; /* where in the piece the reader is */
	uint64_t base; /* where the piece starts in the whole (uncompressed) text */
	char before; /* the last byte of the previous piece; at the start a newline */
	struct ks_buf removed; /* size_t: places in the piece from which a backslash was removed */
	bool carry; /* the previous piece ended in a backslash, which starts the next one */
	int fd;
	bool sniffed, gzip, ended;
	bool in_member; /* inside a gzip member, of which a file may have several */
	z_stream z;
	unsigned char *packed; /* owned; compressed bytes */
};

/* Opens path ("-": standard input). 0, or -1 with errno; free it in either case. */
int ks_capture_input_open(struct ks_capture_input *in, const char *path);

/* Goes back to the first byte. 0, or -1 with errno ESPIPE: it is a pipe. */
int ks_capture_input_rewind(struct ks_capture_input *in);

void ks_capture_input_free(struct ks_capture_input *in);

/* True if text[at] is the first byte of a line. */
static inline bool
ks_capture_input_starts_line(const struct ks_capture_input *in, size_t at)
{
	return (at > 0 ? in->text[at - 1] : in->before) == '\n';
}

/* Where the byte text[at] is in the whole text. */
uint64_t ks_capture_input_position(const struct ks_capture_input *in, size_t at);

/* Messages name the file, the sample and the byte of the uncompressed text. */
#define KS_CAPTURE_MESSAGE 400

struct ks_capture_notes {
	const char *path;                  /* for messages; the owner keeps it */
	const struct ks_capture_input *in; /* what is being read */
	yajl_handle yajl;                  /* of the array under way; NULL between arrays */
	uint64_t number;                   /* of the last array, from 1 */
	/* What was left out of the array: a message about the first such thing, and their number. */
	char problem[KS_CAPTURE_MESSAGE];
	size_t problems;
	/* Text that was passed over: a message about the first such place, and their number. */
	char damage[KS_CAPTURE_MESSAGE];
	size_t damages;
	/* Why the capture cannot be read any further; end_errno 0: it can. */
	char end[KS_CAPTURE_MESSAGE];
	int end_errno;
};

/* Returns where the parser is in the whole text. */
uint64_t ks_capture_position(const struct ks_capture_notes *n);

/* Notes that something is left out of the current array, the rest of which can be read. */
void ks_capture_problem(struct ks_capture_notes *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes that the text at this byte is damaged; later arrays may be whole. Returns 0, so that yajl stops. */
int ks_capture_damage(struct ks_capture_notes *n, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes that nothing can be read from this byte on. Returns 0, so that yajl stops. */
int ks_capture_end(struct ks_capture_notes *n, int error, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

int ks_capture_out_of_memory(struct ks_capture_notes *n);

/* Stores the next byte, without moving: 1. 0 at the end; -1 after a failure, which is in the notes. */
int ks_capture_peek(struct ks_capture_input *in, struct ks_capture_notes *n, char *c);

/* --- restore.c: undoes what printing did ---------------------------------------------------- */

/* Names of equal rank are in reverse order, "class" is among the statistics, members of C structures are single ones. */

/* Compares names as kstat(8) sorts them: by bytes, upper case as lower case. */
int ks_capture_compare(const char *a, const char *b);

/* Compares two kstats as kstat(8) sorts them: module, instance, name. */
int ks_capture_compare_kstats(const struct ks_store *s, const struct ks_store_kstat *a,
    const struct ks_store_kstat *b);

/*
 * Restores a kstat whose values are the last ones of the store. `reversed`: values of equal names are in
 * reverse order. INTR, IO, TIMER and known RAW kstats get their values in the order of the structure's
 * fields; if these lack members, have others, or do not fit, the kstat becomes NAMED, so that what was
 * captured is shown and nothing is made up. A RAW kstat of unknown layout loses its values, except the
 * statistics of a statsblob.
 */
void ks_capture_restore(struct ks_store *s, struct ks_store_kstat *k, bool reversed);

/* Puts kstats of equal rank, which were printed in reverse order, back into theirs. */
void ks_capture_restore_order(struct ks_store *s);

/*
 * "1700000000" (seconds since 1970), "Tue Nov 14 22:13:20 UTC 2023", or the same without zone.
 * UTC, GMT and Z are known; any other zone, or none, counts as this process's own.
 * 0 and the time in ns since 1970, or -1 if the n bytes at s are no such line.
 */
int ks_capture_time(const char *s, size_t n, int64_t *ns);

/* --- builder.c: builds the kstats of a sample from the members of their JSON objects -------- */

/* What cannot be kept is noted and left out. Functions that return int say whether to go on: 1, or 0 without memory. */

/* The member of a kstat, or what is special about one of its data, whose value comes next. */
enum ks_capture_member {
	KS_MEMBER_OTHER, KS_MEMBER_MODULE, KS_MEMBER_INSTANCE, KS_MEMBER_NAME, KS_MEMBER_CLASS,
	KS_MEMBER_TYPE, KS_MEMBER_STATSBLOB, KS_MEMBER_SNAPTIME, KS_MEMBER_DATA, KS_MEMBER_PUBLISHER, KS_MEMBER_HOST,
	/* within the publisher */
	KS_MEMBER_PUBLICATION, KS_MEMBER_UID, KS_MEMBER_PID,
	/* among the data */
	KS_MEMBER_CRTIME, KS_MEMBER_REJECTED
};

struct ks_capture_builder {
	/*
	 * The first kstat of a sample is built in a store of its own. When it is complete, it replaces
	 * the sample before, and the others are added to it. So at most one sample is in memory, and an
	 * array without a whole kstat leaves the sample before as it is.
	 */
	struct ks_store *sample; /* borrowed, as the notes */
	struct ks_store first;   /* owned */
	struct ks_store *store;  /* one of the two: where kstats are added */
	struct ks_capture_notes *notes;
	bool passing;            /* the sample is not wanted: kstats are dropped */
	bool ordered, ties; /* the kstats are in the order in which kstat(8) prints; some are equal in rank */
	enum ks_capture_member member;
	struct ks_store_kstat k;
	size_t text; /* the end of the text before the kstat */
	bool values_ordered, values_tie; /* the same of its statistics */
	bool bad; /* this kstat cannot be kept; the problem was noted */
	bool has_instance, has_crtime, has_snaptime, has_statistics;
	hrtime_t header_snaptime;
	uint32_t previous_key; /* of the kstat's data, in the text */
	struct ks_store_value v; /* the statistic that is being built */
	bool list_rejected;
};

/* Starts a sample. */
void ks_capture_sample_start(struct ks_capture_builder *b);

/*
 * The array ended, or cannot be read any further. Returns true if its kstats are the sample now, and
 * false if the sample is still the one before: it has none, and `only_if_any` is true.
 */
bool ks_capture_sample_finish(struct ks_capture_builder *b, bool only_if_any);

/* Removes what was built of a kstat that was begun. */
void ks_capture_kstat_drop(struct ks_capture_builder *b);

void ks_capture_kstat_begin(struct ks_capture_builder *b);
int ks_capture_kstat_end(struct ks_capture_builder *b);

/* Members of the header: each key, and what follows it. */
void ks_capture_header_key(struct ks_capture_builder *b, const unsigned char *key, size_t n);
void ks_capture_header_number(struct ks_capture_builder *b, const char *s, size_t n);
int ks_capture_header_string(struct ks_capture_builder *b, const unsigned char *s, size_t n);
void ks_capture_header_other(struct ks_capture_builder *b); /* of whatever other type */

/* A key of the header's object "publisher"; its values are passed as those of the header. */
void ks_capture_publisher_key(struct ks_capture_builder *b, const unsigned char *key, size_t n);

/* Members of the data. */
int ks_capture_data_key(struct ks_capture_builder *b, const unsigned char *key, size_t n);
int ks_capture_data_null(struct ks_capture_builder *b);
int ks_capture_data_boolean(struct ks_capture_builder *b, bool value);
int ks_capture_data_number(struct ks_capture_builder *b, const char *s, size_t n);
int ks_capture_data_string(struct ks_capture_builder *b, const unsigned char *s, size_t n);
void ks_capture_data_object(struct ks_capture_builder *b);

/* An array among the data, of integers or strings. False: its elements are to be passed over. */
bool ks_capture_list_begin(struct ks_capture_builder *b);
int ks_capture_list_number(struct ks_capture_builder *b, const char *s, size_t n);
int ks_capture_list_string(struct ks_capture_builder *b, const unsigned char *s, size_t n);
void ks_capture_list_other(struct ks_capture_builder *b);
int ks_capture_list_end(struct ks_capture_builder *b);

/* --- parse_array.c: parses one array of kstats, as JSON, into a sample that was started ----- */

/*
 * Parses what follows the "[" of an array. Returns true if the array is complete; the input is behind it
 * then. Returns false after damage, which is in the notes; the input is then where the search for later
 * arrays starts, unless the notes say that nothing more can be read. Complete kstats are in the sample.
 */
bool ks_capture_array_parse(struct ks_capture_input *in, struct ks_capture_builder *b);

#endif
