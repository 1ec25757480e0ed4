/*
 * chain.h - the chain behind kstat_ctl_t, for the floors above: what kstat.h does not offer.
 * Every function takes the kstat_ctl_t that kstat_open() and its companions return.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_CHAIN_H
#define CHAIN_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "kstat.h"
#include "model/meta.h"
#include "model/origin.h"

struct ks_past;
struct ks_selector;
struct ks_source;

/*
 * What a chain holds: the kstats that any of n selectors matches. Nothing else is looked for, at
 * opening and at updates, which makes both cheaper. The selectors are borrowed while the chain is
 * open. NULL, or n 0: everything but what is only listed for those who ask for it (ks_scan_asks_for()). `also` are
 * further selectors, which add such kstats and bound nothing.
 */
struct ks_only {
	const struct ks_selector *const *selector;
	size_t n;
	const struct ks_selector *const *also;
	size_t nalso;
	enum ks_args {
		KS_ARGS_NAMED, /* it holds the command lines of processes if a selector spells that out */
		KS_ARGS_ALL,   /* of all processes that it holds, too */
		KS_ARGS_NONE   /* whatever selectors say */
	} args;
	bool for_program; /* the chain is as programs expect it that know libkstat from illumos: see kstat_open() */
	/*
	 * Whose kstats it holds. By default everybody's, and published ones are marked (ks_is_published()): a selector
	 * that names a module or a class of the machine does not match them, so that a report about the machine is
	 * about nothing else. If all selectors are of that kind, nobody's publications are looked for.
	 */
	bool plain;   /* they get no mark: whoever shows them says who publishes them */
	bool machine; /* the machine's alone */
	bool reserved; /* set at opening: of publishers only root, whose reserved modules are the machine's (origin.h) */
	bool published; /* what processes publish alone; of a capture everything */
	const uint32_t *trusted; /* unless it is NULL: of published ones this user's, root's and those of these */
	size_t ntrusted;
};

/*
 * Opens a chain over one source alone, which it owns from then on (also on failure).
 * NULL with errno.
 */
kstat_ctl_t *ks_chain_open_source(struct ks_source *src, const struct ks_only *only);

/* As kstat_open(). */
kstat_ctl_t *ks_chain_open(const struct ks_only *only);

/*
 * As kstat_open_capture(), for a part of the past (source/replay/replay.h). What is NULL is that of the environment:
 * KSTAT_SOURCE, KSTAT_AT, or KSTAT_FROM and KSTAT_TO, and KSTAT_HOST; without KSTAT_SOURCE the recordings of this machine
 * are read, in KSTAT_RECORDINGS or /var/log/kstat, and times count from now. `start` and `most` are always those of the
 * environment.
 */
kstat_ctl_t *ks_chain_open_replay(const struct ks_past *past, const struct ks_only *only);

/*
 * Lets the chain hold what `also`, which take the place of those of its struct ks_only and are borrowed as they are, ask
 * for, and looks for that now; nothing is read. 1 if kstats came or went, 0 if none did, -1 if all stays as it is: a replay has all
 * there is, a chain may be bounded, or have a kstat already that the last of them matches.
 */
int ks_chain_want(kstat_ctl_t *kc, const struct ks_selector *const *also, size_t n);

/* The kstat with this ID, or NULL with errno ENXIO: it left the chain. */
kstat_t *ks_chain_find(kstat_ctl_t *kc, kid_t kid);

/*
 * As kstat_chain_update(), and a replay always moves to its next sample.
 * Returns the new KCID, 0 if the chain did not change, -1 with errno.
 */
kid_t ks_chain_step(kstat_ctl_t *kc);

/*
 * Moves a replay to the latest sample that was taken at or before a time of day (ns since 1970), whatever the order of
 * the samples, or to the sample before this one; *back is how many samples further back it goes, or how many at all, and
 * becomes how many there were. As kstat_chain_update(); -1 with errno ENODATA: there is no such sample, and the chain
 * stays where it is, EOPNOTSUPP: it is no replay, ESPIPE: a pipe cannot be read twice, EBADMSG: damaged there.
 */
kid_t ks_chain_seek(kstat_ctl_t *kc, int64_t ns, unsigned *back);
kid_t ks_chain_previous(kstat_ctl_t *kc, unsigned *back);

/* True if this is a replay and the last update found no sample left to move to. */
bool ks_chain_ended(kstat_ctl_t *kc);

/* What the last update that changed the chain did. */
struct ks_change {
	char module[KSTAT_STRLEN];
	int instance;
	char name[KSTAT_STRLEN];
	bool added; /* else deleted */
};

/* The changes of the last update (none if it changed nothing); owned by the chain. */
const struct ks_change *ks_chain_changes(kstat_ctl_t *kc, size_t *n);

/* True if the kstats come from a capture or a recording. */
bool ks_chain_is_replay(kstat_ctl_t *kc);

/*
 * True if the sample of a replay makes no difference with the one before: a start of the machine or a gap lies between; of
 * a live chain, if the last update came behind a gap, as of a process that was stopped, or a machine that slept. Stores
 * whether a replay's machine was started again.
 */
bool ks_chain_is_cut(kstat_ctl_t *kc, bool *is_restarted);

/* True if the replay is one interval, ks_past.at: the samples from its first one to its last one. */
bool ks_chain_is_interval(kstat_ctl_t *kc);

/*
 * True if the replay is of a time that was asked for, ks_past.from and to. Stores when that begins, ns since 1970
 * (INT64_MIN: that was not said), and whether it is a capture.
 */
bool ks_chain_is_bounded(kstat_ctl_t *kc, int64_t *from, bool *is_capture);

/*
 * True if something was left out: for want of memory or descriptors, or of a replay that is damaged, or a regular
 * expression was given up on it; warnings say what. A recording that ends inside a sample is not damaged:
 * that is how a killed recorder leaves it.
 */
bool ks_chain_damaged(kstat_ctl_t *kc);

/* The descriptor of the file that a replay reads; -1: none. */
int ks_chain_file(kstat_ctl_t *kc);

/* The time now on the clock of snaptimes: of the machine, or of a recorded tree in its place. */
hrtime_t ks_chain_now(kstat_ctl_t *kc);

/* True if the times of a kstat of the chain are gethrtime(), not of a replay or of the clock of a source. */
bool ks_chain_has_gethrtime(kstat_ctl_t *kc, const kstat_t *ksp);

/*
 * Returns the time of day of what is read now, in ns since 1970. Live: now. Replay: the sample's own time where the
 * file has one; otherwise the first sample has KSTAT_REPLAY_TIME (or the time of opening), and the time goes on by the
 * snaptimes. Unless it is NULL, *seconds gets the time as clocks show it: the second that began last, or the nearest
 * one if the time follows the snaptimes.
 */
int64_t ks_chain_time_of_day(kstat_ctl_t *kc, int64_t *seconds);

/*
 * Returns the metadata of one statistic (crtime, snaptime and class too), valid until the next update or the
 * thread's next call; NULL if none is known. kc NULL, the chain is closed: what the model knows by itself.
 */
const struct ks_meta *ks_chain_meta(kstat_ctl_t *kc, const kstat_t *ksp, const char *stat);

/*
 * Stores who publishes a kstat; the name is valid until the next call. o NULL: only whether somebody does. False if the kstat is the machine's or this
 * process's, left the chain, or is of a capture or an older recording that does not say.
 */
bool ks_chain_publisher(kstat_ctl_t *kc, const kstat_t *ksp, struct ks_origin *o);

/*
 * Returns the name of the machine that a kstat is of, in a recording of several (kstatlua convert), until the next
 * update; else NULL, also if the kstat left the chain.
 */
const char *ks_chain_host(kstat_ctl_t *kc, const kstat_t *ksp);

/* About how many published statistics are not in the chain, because their users publish too many. */
uint64_t ks_chain_left_out(kstat_ctl_t *kc);

/*
 * Warnings are lines for the person about what could not be read. Returns the oldest that was not returned yet, or
 * NULL; it is valid until the next call.
 */
const char *ks_chain_warning(kstat_ctl_t *kc);

/* Forgets all warnings: what still cannot be read is a new one. */
void ks_chain_warn_again(kstat_ctl_t *kc);

/*
 * Adds a warning for each regular expression of the selectors that was given up, once. Callers that match kstats of
 * the chain without ks_selector_select() call it afterwards. Does nothing if kc is NULL: the chain is closed.
 */
void ks_chain_warn_of_selectors(kstat_ctl_t *kc, const struct ks_selector *const *selectors,
    size_t n);

/*
 * Reads a kstat into a copy of it, header and data in one block of memory that the caller frees; the kstat itself
 * keeps what it holds. The copy has no hidden data records (model/shape.h). NULL with errno, as kstat_read().
 */
kstat_t *ks_chain_read_copy(kstat_ctl_t *kc, const kstat_t *ksp);

/* The same into the memory of `b`, whose contents it replaces. */
const kstat_t *ks_chain_read_into(kstat_ctl_t *kc, const kstat_t *ksp, struct ks_buf *b);

/*
 * Says that many kstats of the chain are read one after the other, from the begin of such a walk to its end, and nothing
 * else is done meanwhile: then sources may copy several at once. Only the two functions above take part in it.
 */
void ks_chain_begin_walk(kstat_ctl_t *kc);
void ks_chain_end_walk(kstat_ctl_t *kc);

/* The number of kstats in the chain. */
size_t ks_chain_length(kstat_ctl_t *kc);

#endif
