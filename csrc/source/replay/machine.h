/*
 * machine.h - which machine a sample is of, and which start of it. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_REPLAY_MACHINE_H
#define SOURCE_REPLAY_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "source/replay/files.h"
#include "source/replay/reader.h"

struct ks_machine {
	char host[65];    /* the name of the machine; "": the sample does not say */
	uint64_t started; /* when it was started, seconds since 1970; 0: the sample does not say */
	int64_t time;     /* of day of the sample, ns since 1970 */
	hrtime_t newest;  /* its newest snaptime */
};

/*
 * Stores what the sample of a reader says. What it does not say is what the sample before said. -1 if that was of another
 * machine; there is no message.
 */
int ks_machine_look(struct ks_machine *m, const struct ks_replay *r, const struct ks_machine *before);

/* True if a kstat of a sample is of the machine that is shown. */
static inline bool
ks_machine_has(const struct ks_replay *r, const struct ks_store_kstat *k)
{
	return !k->has_host || r->window.host == NULL || strcmp(ks_store_text(&r->sample, k->host), r->window.host) == 0;
}

/* True if the machine was started again between two samples. */
bool ks_machine_is_restarted(const struct ks_machine *before, const struct ks_machine *now);

/* Fails because two files are of two machines: errno is EINVAL. */
int ks_machine_fail(const char *path, const struct ks_machine *m, const char *other_path, const struct ks_machine *other);

#define KS_MOST_NAMED 5 /* machines that a refusal names */

/* Fails with errno EINVAL: of the machine that was chosen nothing is there, but of these. Returns -1. */
int ks_machine_refuse(const struct ks_machine *other, size_t n, const char *host);

/*
 * The time before which a file has only what an earlier one has, too, recorded at the same time by the same clock;
 * INT64_MIN: there is no such file.
 */
int64_t ks_machine_begin(struct ks_files *files, size_t i);

/*
 * Goes to the first sample of a recording of several machines that has the one which is shown. 0, or -1 with errno:
 * EINVAL there is none.
 */
int ks_machine_find(struct ks_replay *r);

/* Leaves the files of a machine in the list, if it has several. 0, or -1 with errno EINVAL: there are none. */
int ks_machine_choose(struct ks_files *files, const char *host);

/* Checks that the files with samples of a window are of one machine, as far as they say. 0, or -1 with errno EINVAL. */
int ks_machine_check(const struct ks_files *files, const struct ks_window *w);

#endif
