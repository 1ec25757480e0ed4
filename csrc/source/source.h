/*
 * source.h - where kstats come from. A source lists the kstats it has (scan), delivers the
 * data of one (read), and accepts new data (write). The chain asks; sources know no readers.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kstat.h"
#include "model/meta.h"
#include "model/record.h"

/* One kstat as a source offers it. The chain copies what it keeps. */
struct ks_offer {
	const char *module; /* at most 30 bytes each; longer names are cut */
	int instance;
	const char *name;
	const char *class_;
	uchar_t type;      /* KSTAT_TYPE_* */
	uchar_t flags;     /* KSTAT_FLAG_* */
	hrtime_t crtime;   /* part of the identity: a kstat created anew has another one */
	uint_t ndata;      /* as far as known before a read */
	size_t data_size;
	uint64_t cookie;   /* whatever lets the source find it again */
};

struct ks_scan; /* the chain's side of a scan */

/* 0, or -1 with errno ENOMEM. Order of offers is chain order; kstats already there keep their place. */
int ks_scan_offer(struct ks_scan *scan, const struct ks_offer *offer);

/*
 * False if nothing of that module and class is looked for (NULL: not known yet): the source may
 * leave it out and save the work. The answer never changes while a chain is open.
 */
bool ks_scan_wants(const struct ks_scan *scan, const char *module, const char *class_);

/* A line for the person about something that could not be read; the scan goes on. */
void ks_scan_warn(struct ks_scan *scan, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same of a replay that is damaged: what is shown of it is not all that it held. */
void ks_scan_damage(struct ks_scan *scan, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

struct ks_source;

/* Return values: 0 or more is success, -1 failure with errno and ks_fail()'s message. */
struct ks_source_ops {
	const char *name; /* "linux", "local", "segment", "capture" */

	/*
	 * Offers every kstat there is now. Returns 1 if it did, 0 if nothing can have changed
	 * since the last scan (then nothing need be offered, and all its kstats stay).
	 */
	int (*scan)(struct ks_source *src, struct ks_scan *scan);

	/*
	 * Builds the data of one kstat in an empty record. errno ENXIO: it is gone; EAGAIN: busy,
	 * try again; EACCES: not readable by this user.
	 */
	int (*read)(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r);

	/*
	 * Optional. A line for the person about something that reads since the last question found
	 * unreadable, whether they failed or did without; NULL: nothing. Valid until the next call.
	 */
	const char *(*trouble)(struct ks_source *src);

	/* Optional. data: ks_data_size bytes laid out as ks_data. errno EACCES if not writable. */
	int (*write)(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const void *data);

	/* Optional. Metadata of one statistic, valid until the next scan; NULL: not known here. */
	const struct ks_meta *(*meta)(struct ks_source *src, const kstat_t *ksp, uint64_t cookie,
	    const char *stat);

	/* Optional; only a replay has it: moves to the next sample. 1 moved, 0 there is none left. */
	int (*advance)(struct ks_source *src);

	/* Optional; replay: the current sample's own time of day (ns since 1970). 1 known, 0 not. */
	int (*time_of_day)(struct ks_source *src, int64_t *ns);

	/* Optional; replay: the descriptor of the file that is read. */
	int (*file)(struct ks_source *src);

	/*
	 * Optional. The publication that a kstat belongs to, valid until the next question, and the
	 * process that opened it (0: of another pid namespace); NULL: it is gone.
	 */
	const char *(*publisher)(struct ks_source *src, uint64_t cookie, uint32_t *pid);
	void (*close)(struct ks_source *src);
};

/* The first member of every source's own structure. */
struct ks_source {
	const struct ks_source_ops *ops;
};

/*
 * The sources. Each returns NULL with errno and a message on failure.
 * linux: roots of /proc and /sys, NULL for the default.
 */
struct ks_source *ks_source_linux_open(const char *proc, const char *sys);
struct ks_source *ks_source_capture_open(const char *path);

/*
 * Ends a capture before its first sample that is later than a time of day (ns since 1970). What has no
 * time of day belongs to the sample before.
 */
void ks_source_capture_until(struct ks_source *src, int64_t to);

struct ks_source *ks_source_local_open(void);
struct ks_source *ks_source_segment_open(void);

#endif
