/*
 * capture_json.h - parses captures: what `kstat -j` printed, illumos's or ours. One array is
 * one sample; arrays follow each other with anything blank between, and before an array the
 * line that -T prints may stand. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_CAPTURE_JSON_H
#define SOURCE_CAPTURE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/capture_input.h"
#include "source/capture_sample.h"

#define KS_CAPTURE_MESSAGE 400

struct ks_capture_parser {
	const char *path; /* for messages; the owner keeps it */
	struct ks_capture_input in;
	struct ks_capture_sample sample;
	uint64_t number;    /* of the sample in `sample`, from 1; 0: none yet */
	bool has_time;      /* a time stamp stood before it */
	int64_t time;       /* ns since 1970 */
	/* What of the sample had to be left out: the first such thing, and how many there were. */
	char problem[KS_CAPTURE_MESSAGE];
	size_t problems;
	/* Why the capture cannot be read any further; errno 0: it can. */
	int damage_errno;
	char damage[KS_CAPTURE_MESSAGE];
};

/* path "-": standard input. 0, or -1 with errno and message; free it in either case. */
int ks_capture_parser_open(struct ks_capture_parser *p, const char *path);

void ks_capture_parser_free(struct ks_capture_parser *p);

/*
 * Parses the next array into p->sample. 1: there is one (of a damaged array, what was complete
 * before the damage, which p->damage tells). 0: the capture has no more; -1 with errno and
 * message: it is damaged here. In both cases p->sample stays as it is.
 */
int ks_capture_parser_next(struct ks_capture_parser *p);

#endif
