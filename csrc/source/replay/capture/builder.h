/*
 * builder.h - builds the kstats of a sample from the members of their JSON objects, one by one. What
 * cannot be kept is noted and left out. Functions that return int say whether to go on: 1, or 0 without
 * memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_BUILDER_H
#define SOURCE_REPLAY_CAPTURE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>

#include "source/replay/capture/note.h"
#include "source/replay/sample_store.h"

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

#endif
