/*
 * when.h - times as people type them, for every option and every variable that takes one: 14:32, 14:32:10, 3:12am, noon,
 * now, today, yesterday 3:12, mon 9:00, last tuesday 16:00, 2026-11-21 14:05, -3h, -90s, 3h ago, 2 days ago, and seconds
 * since 1970; in either order, and in the zone of TZ, but for the last and for those that name a zone, as
 * 2026-11-21T14:05:10Z and +02:00 do.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_WHEN_H
#define BASE_WHEN_H

#include <stdint.h>

/* What else there is to say of a time. */
#define KS_WHEN_RELATIVE 1 /* it depends on the time that it counts from */
#define KS_WHEN_TWICE 2    /* clocks were set back, and showed it twice: it is the first one */
#define KS_WHEN_DAILY 8    /* it is a time of day, which is there again each day */
#define KS_WHEN_NEVER 4    /* clocks were set forward over it: it is the moment at which that was done */

/*
 * Reads a time. `reference` is what an incomplete one counts from, ns since 1970: -3h is so long before it, today and
 * yesterday are its days, a time of day alone and a weekday are the last such ones up to it. A day alone is its
 * midnight. A time that 64 bits cannot hold becomes INT64_MIN or INT64_MAX. Returns KS_WHEN_*, or -1: it is no time.
 */
int ks_when_read(const char *text, int64_t reference, int64_t *ns);

/* As ks_when_read(), but fails with errno EINVAL and a message, which names the forms. */
int ks_when_need(const char *text, int64_t reference, int64_t *ns);

/* The time up to which a text means something: whole seconds are what people see, and hold to the end of theirs. */
int64_t ks_when_end(const char *text, int64_t ns);

#define KS_WHEN_SIZE 32
#define KS_WHEN_REMARK_SIZE 160

/* Says what a time is that has KS_WHEN_TWICE or KS_WHEN_NEVER among its flags. Returns `to`. */
const char *ks_when_remark(char to[KS_WHEN_REMARK_SIZE], const char *text, int64_t ns, int flags);

/* Writes a time, ns since 1970, as "2026-11-21 14:05:10" of the zone. Returns `to`. */
const char *ks_when_write(char to[KS_WHEN_SIZE], int64_t ns);

#endif
