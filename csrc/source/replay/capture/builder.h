/*
 * builder.h - one kstat of a capture, built from the members of its JSON object as they
 * come. What cannot be kept is noted and left out. Functions that return int say whether to go
 * on: 1, or 0 if there is no memory. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_CAPTURE_BUILDER_H
#define SOURCE_REPLAY_CAPTURE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>

#include "source/replay/capture/note.h"
#include "source/replay/capture/capture_sample.h"

/* The member of a kstat, or what is special about one of its data, whose value comes next. */
enum ks_capture_member {
	KS_MEMBER_OTHER, KS_MEMBER_MODULE, KS_MEMBER_INSTANCE, KS_MEMBER_NAME, KS_MEMBER_CLASS,
	KS_MEMBER_TYPE, KS_MEMBER_STATSBLOB, KS_MEMBER_SNAPTIME, KS_MEMBER_DATA,
	/* among the data */
	KS_MEMBER_CRTIME, KS_MEMBER_REJECTED
};

struct ks_capture_builder {
	struct ks_capture_sample *sample; /* borrowed, as the notes */
	struct ks_capture_notes *notes;
	enum ks_capture_member member;
	struct ks_capture_kstat k;
	bool bad; /* this kstat cannot be kept; the problem was noted */
	bool has_instance, has_crtime, has_snaptime, has_statistics;
	hrtime_t header_snaptime;
	size_t previous_key; /* of the kstat's data, in the text */
	struct ks_capture_value v; /* the statistic that is being built */
	bool list_rejected;
};

void ks_capture_kstat_begin(struct ks_capture_builder *b);
int ks_capture_kstat_end(struct ks_capture_builder *b);

/* Members of the header: each key, and what follows it. */
void ks_capture_header_key(struct ks_capture_builder *b, const unsigned char *key, size_t n);
void ks_capture_header_number(struct ks_capture_builder *b, const char *s, size_t n);
int ks_capture_header_string(struct ks_capture_builder *b, const unsigned char *s, size_t n);
void ks_capture_header_other(struct ks_capture_builder *b); /* of whatever other type */

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
