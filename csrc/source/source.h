/*
 * source.h - the interface of sources, which are where kstats come from. A source lists its kstats
 * (scan), returns the data of one (read) and accepts new data (write). Sources know nothing of chains:
 * the caller of a scan passes the functions that the source calls back (struct ks_scan_ops).
 *
 * A source is opened, scanned, and then read and scanned in any order until it is closed, by one thread at a
 * time. Its owner calls it, and it calls back only within a scan. A kstat that it offered is named by the
 * cookie of the last offer, and stays readable until a scan that offers others and not this one. What the
 * offer points to, and what a function returns, belongs to the source and is valid for the call, unless
 * something else is said.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat.h"
#include "model/meta.h"
#include "model/origin.h"
#include "model/record.h"

/* One kstat as a source offers it. The caller copies what it keeps. */
struct ks_offer {
	const char *module; /* module, name and class: at most 30 bytes each, the rest is cut */
	int instance;
	const char *name;
	const char *class_;
	uchar_t type;      /* KSTAT_TYPE_* */
	uchar_t flags;     /* KSTAT_FLAG_* */
	hrtime_t crtime;   /* part of the identity: a kstat that was removed and created again has another one */
	uint_t ndata;      /* as the header has them before the first read: data_size has room for all that a */
	size_t data_size;  /* read may return; both are 0 if that is not known before */
	uint_t nforeign;   /* how many of the ndata values ks_record_make_plain() removes */
	uint64_t cookie;   /* by which the source finds the kstat again */
	bool published;    /* by a process: struct ks_source_ops.publisher says by which */
	const char *host;  /* part of the identity: the machine, where a recording holds several; else NULL */
};

/* What the caller of a scan makes of a user who publishes. */
enum ks_hearing {
	KS_HEARS_NOT,
	KS_HEARS_STRANGER, /* within bounds, and under no module of the machine */
	KS_HEARS_TRUSTED,
};

struct ks_scan;

/*
 * What the caller of a scan provides; for a chain that is csrc/chain/scan.c. Sources call the functions
 * below, which say what each is for.
 */
struct ks_scan_ops {
	int (*offer)(struct ks_scan *scan, const struct ks_offer *offer);
	bool (*wants)(const struct ks_scan *scan, const char *module, const char *class_,
	    const char *name);
	bool (*wants_only)(const struct ks_scan *scan, bool (*has)(const char *module));
	bool (*names)(const struct ks_scan *scan, const char *module);
	bool (*asks_for)(const struct ks_scan *scan, const char *module, const char *class_, int instance,
	    const char *name);
	bool (*spells)(const struct ks_scan *scan, const char *class_, const char *ending, const char *stat);
	void (*warn)(struct ks_scan *scan, bool damaged, const char *line);
	bool (*owns)(const struct ks_scan *scan, const char *module);
	enum ks_hearing (*hears)(const struct ks_scan *scan, uint32_t uid);
	bool (*is_other)(const struct ks_scan *scan);
	const char *(*reads)(const struct ks_scan *scan, const char *module, const char *class_, const char *name);
	bool (*mistakes)(const struct ks_scan *scan, const char *class_);
};

/* The first member of the caller's own structure. */
struct ks_scan {
	const struct ks_scan_ops *ops;
	bool for_program; /* for a program in C that knows kstats from illumos; stays while a source is open */
	bool asks_more;   /* the caller asks for kstats for which it did not at the scan before */
};

/*
 * Offers a kstat to the caller. Returns 0, or -1 with errno ENOMEM and a message. The kstats of a chain
 * are in the order of the offers; those that are already there keep their places.
 */
static inline int
ks_scan_offer(struct ks_scan *scan, const struct ks_offer *offer)
{
	return scan->ops->offer(scan, offer);
}

/*
 * False if the caller wants no kstat of that module, class and name (NULL: not known yet): the source
 * need not offer it, and can save the work. The answer never changes while a source is open.
 */
static inline bool
ks_scan_wants(const struct ks_scan *scan, const char *module, const char *class_, const char *name)
{
	return scan->ops->wants(scan, module, class_, name);
}

/* True if the caller names the modules of all kstats that it wants in full, and has() is true for each module. */
static inline bool
ks_scan_wants_only(const struct ks_scan *scan, bool (*has)(const char *module))
{
	return scan->ops->wants_only(scan, has);
}

/* True if the caller names this module in full: it asks for kstats that take too long to show to everybody. */
static inline bool
ks_scan_names(const struct ks_scan *scan, const char *module)
{
	return scan->ops->names(scan, module);
}

/*
 * The statistics that the caller needs of kstats of that module, class and name (NULL: not known yet), with commas
 * between; NULL: all. A source may leave out others, and what is of no use without a statistic that has no value.
 */
static inline const char *
ks_scan_reads(const struct ks_scan *scan, const char *module, const char *class_, const char *name)
{
	return scan->ops->reads != NULL ? scan->ops->reads(scan, module, class_, name) : NULL;
}

#define KS_ANY_INSTANCE (-1) /* for ks_scan_asks_for(): the instance is not known yet */

/*
 * For kstats that are too many to list for everybody, such as those of processes. True if the caller wants a kstat of
 * that module, class, instance and name (NULL: not known yet) and spells its module or its class out.
 */
static inline bool
ks_scan_asks_for(const struct ks_scan *scan, const char *module, const char *class_, int instance, const char *name)
{
	return scan->ops->asks_for != NULL && scan->ops->asks_for(scan, module, class_, instance, name);
}

/* The class of the command lines of processes, which may hold secrets: the caller may refuse to have them. */
#define KS_CLASS_ARGS "process_args"

/*
 * For kstats that take so long to read that only those have them who name them, and not the things that they are about.
 * True if the caller spells out this class, this ending of a name such as ",args", or this statistic (NULL: none).
 */
static inline bool
ks_scan_spells(const struct ks_scan *scan, const char *class_, const char *ending, const char *stat)
{
	return scan->ops->spells != NULL && scan->ops->spells(scan, class_, ending, stat);
}

/* True if an earlier source of the caller has this module: what strangers publish under it is left out. */
static inline bool
ks_scan_owns(const struct ks_scan *scan, const char *module)
{
	return scan->ops->owns != NULL && scan->ops->owns(scan, module);
}

/* True if kstats of an earlier source came: modules may be owned now that were not. */
static inline bool
ks_scan_is_other(const struct ks_scan *scan)
{
	return scan->ops->is_other != NULL && scan->ops->is_other(scan);
}

/*
 * True if the caller would take what a stranger publishes of this class for the machine's: programs that know libkstat
 * from illumos look for classes, such as "disk", and nothing that they know says who publishes a kstat.
 */
static inline bool
ks_scan_mistakes(const struct ks_scan *scan, const char *class_)
{
	return scan->ops->mistakes != NULL && scan->ops->mistakes(scan, class_);
}

/* What the caller makes of the publications of a user. */
enum ks_hearing ks_scan_hears(const struct ks_scan *scan, uint32_t uid);

/* Warns the user, in one line, that something could not be read. The scan goes on. */
void ks_scan_warn(struct ks_scan *scan, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Warns the user that something is missing that is there: a replay is damaged, or memory, a descriptor or an I/O
 * error stood in the way. Commands end with another status then.
 */
void ks_scan_damage(struct ks_scan *scan, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

struct ks_source;

/* What lies between a sample of a replay and the one before. */
enum ks_cut {
	KS_CUT_NONE,
	KS_CUT_GAP,  /* nothing was recorded for long, or the machine slept */
	KS_CUT_BOOT, /* the machine was started again: no kstat is the same */
};

/* Unless stated otherwise these return 0 or more on success, and -1 with errno and a message. */
struct ks_source_ops {
	const char *name; /* "linux", "local", "segment", "replay" */

	/*
	 * Offers every kstat that the source has now, and returns 1. Returns 0 if nothing can have changed
	 * since the last scan: then it offers nothing, and all its kstats stay in the chain.
	 */
	int (*scan)(struct ks_source *src, struct ks_scan *scan);

	/*
	 * Builds the data of one kstat in an empty record. errno is ENXIO if the kstat is gone, EAGAIN if it
	 * is busy and can be read later, EACCES if this user must not read it.
	 */
	int (*read)(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r);

	/*
	 * Optional. Returns one warning about a file that reads since the last call could not use, whether
	 * those reads failed or left something out; NULL if there is none. Valid until the next call. *is_lack is
	 * true if the reason is no fact about the file: there was no memory, no descriptor, or an I/O error.
	 */
	const char *(*trouble)(struct ks_source *src, bool *is_lack);

	/* Optional. Forgets what it returned there: what still cannot be read is returned again. */
	void (*forget_trouble)(struct ks_source *src);

	/* Optional. data: ks_data_size bytes laid out as ks_data. errno EACCES if not writable. */
	int (*write)(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const void *data);

	/*
	 * Optional. Returns the metadata of one statistic, valid until the next scan or the thread's next call of
	 * such a function, of any source; NULL if the source has none, or with errno ENOMEM.
	 */
	const struct ks_meta *(*meta)(struct ks_source *src, const kstat_t *ksp, uint64_t cookie,
	    const char *stat);

	/* Optional, for replays: moves to the next sample. Returns 1, or 0 if there is none left. */
	int (*advance)(struct ks_source *src);

	/*
	 * For replays: moves to the latest sample that was taken at or before a time of day (ns since 1970; of equals the
	 * last, but where clocks were set back over that time the first one), or to one before this one; *back is how many
	 * samples it is before that, or this one (for previous() at least 1). Where there are not as many it moves to the
	 * first one; *back becomes how many there were. 1, or -1 with errno ENODATA if there is none: then the sample stays.
	 */
	int (*seek)(struct ks_source *src, int64_t ns, unsigned *back);
	int (*previous)(struct ks_source *src, unsigned *back);

	/*
	 * Optional, for replays: whether the current sample makes no difference with the one before. is_interval: the
	 * samples are those of the one interval that was asked for.
	 */
	enum ks_cut (*cut)(struct ks_source *src);
	bool (*is_interval)(struct ks_source *src);

	/*
	 * Optional, for replays: whether a time was asked for that is no such interval. Stores its begin, ns since 1970
	 * (INT64_MIN: none was named), and whether this is a capture.
	 */
	bool (*is_bounded)(struct ks_source *src, int64_t *from, bool *is_capture);

	/* Optional. Returns the time now on the clock of its crtimes and snaptimes, if that is not gethrtime(). */
	hrtime_t (*now)(struct ks_source *src);

	/* Optional, for replays: time of day of the current sample, ns since 1970. Returns 1, 0 if not known. */
	int (*time_of_day)(struct ks_source *src, int64_t *ns);

	/* Optional, for replays: returns the descriptor of the file that is replayed. */
	int (*file)(struct ks_source *src);

	/*
	 * Optional, for sources with published kstats. Stores who publishes one; its name is valid until the next call.
	 * False: nobody, or the kstat is gone.
	 */
	bool (*publisher)(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_origin *o);

	/* Optional. About how many published statistics the last scan left out, because they were too many. */
	uint64_t (*left_out)(const struct ks_source *src);

	/* Optional. True if a module is the source's own, whatever the scan asked for. */
	bool (*owns)(struct ks_source *src, const char *module);
	void (*close)(struct ks_source *src);
};

/* The first member of every source's own structure. */
struct ks_source {
	const struct ks_source_ops *ops;
};

#endif
