/*
 * devices.h - directories of devices, each with small files that hold a number or a text, as /sys/class/thermal has
 * them. A table says which file is which statistic; the functions here list the devices and read the files. A
 * subsystem needs no more than its tables, and ks_devices_scan() as its scan.
 *
 * The key of a field (field.h) is the path of a file below the device. "file#N" is word N of the file, from 0;
 * "file?LABEL" is the word behind the word LABEL; "file[]" is the word in brackets, and "file*" the word before an
 * asterisk, by which the kernel shows one of several choices. "." is the name of the device's directory, ".." of the
 * one above, "/" its whole path. Numbers may be hexadecimal with 0x. Those of a type in bytes may end in kB, k, M, G and
 * so on, which are powers of 1024. A file that is missing, or does not hold what it should, has no statistic.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_DEVICES_H
#define SOURCE_LINUX_DEVICES_H

#include "source/linux/linux.h"

/* What is kept of a device from one reading to the next: ks_unit.extra. */
struct ks_device {
	uint64_t absent;    /* fields whose files it does not have, one bit each */
	uint64_t raw, more; /* of a counter that has a width of its own: its last value, what to add to it */
	char path[];        /* of its directory, below the root */
};

/* How a kstat is named. The names of directories are cleaned of colons. */
enum ks_device_name {
	KS_BY_DIRECTORY, /* '@' is the device's directory, or the text of its file `label`; '#' is its number */
	KS_BY_NAME,      /* the same, with the instance 0 or the number of the outer directory */
	KS_BY_OUTER,     /* '@' is the outer directory, '#' and the instance the number of the inner one */
	KS_BY_BOTH       /* '@' is "inner,outer" */
};

struct ks_devices {
	enum ks_root root;
	const char *path;   /* the directory of the devices */
	const char *prefix; /* of their names; NULL: the directory itself is the one device */
	const char *inside; /* where in these the devices are ("": at the top); NULL: these are the devices */
	const char *inner;  /* with inside: the prefix of the devices' names, "" for any */
	const char *needs;  /* a file or directory that a device has; NULL: none */
	bool alike;         /* if the first device does not have that, none has */
	const char *label;  /* a file whose text is the name of the kstat; NULL: none */
	enum ks_device_name by;
	/* Optional: adds values that are not in single files. dir: the device's directory. */
	void (*add)(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals);
};

/*
 * The scan of a subsystem whose parts have directories of devices (ks_subsystem.scan), mostly one with on_events.
 */
int ks_devices_scan(struct ks_linux *lx, struct ks_units *units);

/* ks_part.read of such a part. */
ks_part_read ks_devices_read;

/*
 * Reads the files of a table of statistics from a directory, but for the fields that are `absent`; notes there which
 * files a running kernel does not have.
 */
void ks_attributes_read(const struct ks_dir *dir, const struct ks_field *fields, uint64_t *absent,
    struct ks_values *vals, struct ks_texts *texts);

/*
 * Counts the entries of a directory of `dir` by kinds: classify returns which of the counts an entry adds to, or -1.
 * Returns false if there is no such directory.
 */
bool ks_count_entries(struct ks_linux *lx, const struct ks_dir *dir, const char *path,
    int (*classify)(const struct ks_dir *entries, const char *name), uint64_t *counts);

/* The initializers of a field with a key, as those of field.h. */
#define KS_OF(stat, kind, type, data, unit, key, desc) { KS_META(stat, kind, type, unit, desc), data, key }
#define KS_OF_PER(stat, kind, type, data, per, unit, key, desc) \
	{ KS_META_PER(stat, kind, type, per, unit, desc), data, key }
#define KS_OF_TIMES(stat, kind, type, data, times, unit, key, desc) \
	{ KS_META_TIMES(stat, kind, type, times, unit, desc), data, key }
#define KS_TEXT_K(stat, key, desc) { KS_META_TEXT(stat, desc), KSTAT_DATA_STRING, key }
#define KS_TEXT_STATE_K(stat, key, desc) { KS_META_STATE(stat, desc), KSTAT_DATA_STRING, key }

/* Devices below /sys: the first members; further ones may follow, by name. */
#define KS_DEVICES(path_, prefix_, ...) \
	&(const struct ks_devices){ .root = KS_ROOT_SYS, .path = (path_), .prefix = (prefix_), __VA_ARGS__ }

/* A part whose kstats are such devices. fields: a table of statistics with keys; further members may follow. */
#define KS_DEVICE_PART(module, name, class, fields_, devices_, ...) \
	KS_NAMED_PART(module, name, class, .fields = KS_TABLE(fields_), .read = ks_devices_read, \
	    .devices = (devices_), __VA_ARGS__)

#endif
