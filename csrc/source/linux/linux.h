/*
 * linux.h - what the files of the Linux source share. A subsystem is a file of a folder here: it declares the
 * files of /proc that it reads, the kinds of kstats it has ("parts"), and how it lists the things they are
 * about ("units"). CONTRIBUTING.md says how to add one.
 *
 * Rounds: a round reads each file of /proc at most once, and each kstat at most once. The second reading of a
 * kstat starts a new round, as every scan does. So a reading of the whole chain reads each file once, and no
 * caller gets the same data twice.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_LINUX_H
#define SOURCE_LINUX_LINUX_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "kstat.h"
#include "model/record.h"
#include "model/shape.h"
#include "source/linux/field.h"
#include "source/linux/image.h"
#include "source/linux/text.h"
#include "source/source.h"

/*
 * The subsystems, in the order of the chain. For each X(name), a file of its folders defines the variable
 * ks_linux_name with KS_SUBSYSTEM(name, ...).
 */
#define KS_SUBSYSTEMS(X) \
	X(unix) \
	X(cpu) \
	X(total) \
	X(solaris) \
	X(disk) X(device) \
	X(link) X(netdev) X(qdisc) X(ethtool) \
	X(intr) X(softirq) \
	X(intr_cpu) X(softirq_cpu) X(perf) \
	X(mib) X(mib6) \
	X(sockets) X(listen) X(tcp_state) X(ports) X(namespaces) \
	X(softnet) \
	X(neighbour) \
	X(fs) X(nfs) X(rpc) X(fs_detail) \
	X(spl) \
	X(pressure) \
	X(slab) \
	X(hwmon) X(drm) X(nvidia) \
	X(process) X(thread) X(procs) \
	X(hardware) X(power) \
	X(numa) X(zone) X(buddy) X(swap) X(pool) \
	X(block) X(mdstat) \
	X(table) X(shared) X(keys) \
	X(cgroup)

#define KS_SUBSYSTEM_ID(name) KS_SUB_##name,
enum { KS_SUBSYSTEMS(KS_SUBSYSTEM_ID) KS_SUB_COUNT };

/*
 * The things that a subsystem has kstats for: CPUs, disks, links, interrupts. A unit keeps its slot, which is part of its
 * cookies, as long as the thing exists. A thing that was removed and came back is a new unit with a new crtime.
 */
#define KS_UNIT_NAME 64  /* size of a key with its NUL; longer keys are cut */
#define KS_UNIT_PARTS 16 /* kinds of kstats that one unit may have: bits of ks_unit.parts */

struct ks_unit {
	char key[KS_UNIT_NAME];    /* what names the thing in its file */
	char name[KSTAT_STRLEN];   /* '@' in the names of its kstats; at first the key */
	char module[KSTAT_STRLEN]; /* '@' in their modules */
	int instance;
	bool alive;
	bool seen;         /* found by the scan under way */
	uint16_t parts;    /* which kinds of kstats it has, one bit each */
	uint32_t long_texts; /* bytes that the headers of its kstats reserve for texts of any length, such as paths */
	uint32_t at, len;  /* its line in the image that was parsed last */
	uint64_t seq;      /* ks_image.seq of that image */
	uint64_t ident;    /* changes when another thing takes over the name; 0: not known */
	hrtime_t crtime;   /* 0: since boot, as far as is known */
	uint64_t served[KS_UNIT_PARTS]; /* the round in which each of its kstats was read last */
	void *extra;       /* the subsystem's; freed with free() */
};

_Static_assert(KS_UNIT_PARTS <= 8 * sizeof(((struct ks_unit *)0)->parts), "a part needs a bit");

struct ks_units {
	struct ks_unit *v; /* slots */
	size_t cap;
	uint32_t n;        /* slots in use or free */
	uint32_t dead;     /* free slots */
	uint32_t free_at;  /* where to look for a free slot */
	struct ks_table by_key; /* slots of the units that are alive */
	uint32_t hint;     /* slot of the unit that is probably the next in the file */
	uint64_t seq;      /* ks_image.seq of the image in which the lines of the units were found */
	bool scanned;      /* a first scan is complete */
	bool changed;      /* a unit came or went in the scan under way */
	hrtime_t last;     /* when units were looked for before; set before a scan */
	hrtime_t now;      /* when the scan under way began */
	hrtime_t crtime;   /* for units that the scan under way finds: halfway between then and now */
};

void ks_units_free(struct ks_units *u);

/* Starts a scan: no unit counts as found yet. */
void ks_units_begin(struct ks_units *u);

/* Starts a scan that only adds and removes some units; it needs no end. ks_units.changed is its result. */
void ks_units_go_on(struct ks_units *u);

/* Removes a unit. */
void ks_units_remove(struct ks_units *u, struct ks_unit *unit);

/*
 * Returns the unit of that key, a new one if there is none; NULL with errno ENOMEM. *is_new is true if the
 * caller must name its kstats. A unit with another ident is replaced by a new one. A unit that the scan finds
 * twice stays as it is, and *is_new is false.
 */
struct ks_unit *ks_units_see(struct ks_units *u, const char *key, size_t len, uint64_t ident,
    bool *is_new);

/* Ends a scan: units that it did not find are removed. Returns 1 if any unit came or went, else 0. */
int ks_units_end(struct ks_units *u);

/* Returns the unit of that key, or NULL. Fastest if the keys come in the order of the slots. */
struct ks_unit *ks_units_find(struct ks_units *u, const char *key, size_t len);

/* Writes a key for a path: the path itself, or its beginning and its hash. Returns the length of the key. */
size_t ks_key_of_path(char key[KS_UNIT_NAME], const char *path);

/* Copies a name of n bytes into a field of size bytes; what does not fit is cut. */
void ks_name_set(char *to, size_t size, const char *s, size_t n);

struct ks_linux;

typedef int ks_part_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r);
typedef void ks_part_collect(struct ks_linux *lx, struct ks_text text, struct ks_values *vals);
typedef int ks_part_add(struct ks_linux *lx, struct ks_text text, struct ks_record *r);

/*
 * One kind of kstat. In module and name, '@' is replaced by the unit's module or name, '#' by its instance.
 * The macros below set what is the same for all parts of a type; the rest is given by name.
 */
struct ks_part {
	const char *module;
	const char *name;
	const char *class_;
	uchar_t type;
	size_t size;                   /* of the data, for types of a fixed size */
	const struct ks_field *fields; /* NAMED: a table of its statistics, or NULL */
	/*
	 * One of these three makes a kstat. The last two get the contents of the part's file, or what take_key left of
	 * the unit's line if the subsystem has a listing: collect sets the values of fields; add adds to the record, and
	 * returns as read does. Meanwhile lx->unit is the unit, and lx->im is where the text is from.
	 */
	ks_part_read *read;            /* returns 0, or -1 with errno and message */
	ks_part_collect *collect;
	ks_part_add *add;
	const struct ks_meta *(*meta)(const char *stat); /* optional: for statistics that are not in fields */
	const struct ks_subsystem *needs; /* another one whose units the kstat is made of, or NULL */
	const struct ks_file *file;    /* what the kstat is made of, without which it is not there; NULL: none */
	bool named;                    /* only those have it who spell out its kind (ks_scan_spells()) */
	const struct ks_devices *devices; /* for ks_devices_scan(): where the things are (devices.h) */

	/* The rest is for the catalogue alone; `make doc` writes it. All are optional. */
	const struct ks_meta *known; /* statistics that meta describes, which a NULL stat ends */
	/* Further ones, or examples of them; NULLs among them are skipped. RAW: the members that Linux counts, if not all. */
	const char *const *names;
	size_t nnames;
	const char *from;            /* what the kstat is made of, in place of its file or devices */
	const char *since;           /* the first Linux that has it, then those of statistics: "4.20; full_* 5.13" */
	const char *keys;            /* whose names the keys of its fields are, if they are names */
	const char *title;           /* its name, if the name of no kstat follows from module and name */
};

/* Members of a part: the names of an array, and names that are listed. */
#define KS_NAMES_OF(array) .names = (array), .nnames = sizeof(array) / sizeof((array)[0])
#define KS_NAMES(...) \
	.names = (const char *const[]){ __VA_ARGS__ }, \
	.nnames = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)

#define KS_NAMED_PART(module_, name_, class, ...) \
	{ .module = (module_), .name = (name_), .class_ = (class), .type = KSTAT_TYPE_NAMED, __VA_ARGS__ }
#define KS_RAW_PART(module_, name_, class, size_, ...) \
	{ .module = (module_), .name = (name_), .class_ = (class), .type = KSTAT_TYPE_RAW, .size = (size_), \
	    __VA_ARGS__ }
#define KS_IO_PART(module_, name_, class, ...) \
	{ .module = (module_), .name = (name_), .class_ = (class), .type = KSTAT_TYPE_IO, \
	    .size = sizeof(kstat_io_t), __VA_ARGS__ }
#define KS_INTR_PART(module_, name_, class, ...) \
	{ .module = (module_), .name = (name_), .class_ = (class), .type = KSTAT_TYPE_INTR, \
	    .size = sizeof(kstat_intr_t), __VA_ARGS__ }

struct ks_subsystem {
	const struct ks_part *parts;
	size_t nparts;
	/*
	 * Brings the units up to date. Returns 1 if they changed, 0 if not, -1 without memory. Warns about
	 * files that cannot be read, and goes on. NULL: ks_listing_scan() does it if there is a listing (listing.h),
	 * else ks_linux_scan_files().
	 */
	int (*scan)(struct ks_linux *lx, struct ks_units *units);
	const struct ks_listing *listing;
	/*
	 * For subsystems that are slow to list and seldom wanted: on the running machine they are left out
	 * unless $KSTAT_WITH, a list with commas or "all", names this word, or the caller of the scan names it as
	 * a module. Recorded trees always have them. Parts with a fixed name are also there if a selector names
	 * them, such as cpu::throttle.
	 */
	const char *optional;
	bool is_partly; /* without that it lists less, in place of nothing */
	/*
	 * There are so many of its kstats that only those are listed of which the caller spells out the module or the
	 * class, on recorded trees too.
	 */
	bool on_demand;
	/* Optional, with ks_linux_scan_files(): false if the file of a part is there and has nothing for it. */
	bool (*has_part)(struct ks_linux *lx, size_t part);
	/*
	 * Optional, for modules that follow from the machine's devices ('@'). Returns false if no device has a
	 * kstat that the scan wants, without reading a file of data.
	 */
	bool (*has_wanted)(struct ks_linux *lx);
	bool for_program; /* only programs in C that know kstats from illumos have its kstats */
	bool on_events; /* of the running machine it lists what changes only when a device comes or goes */
	/* Optional, with that: true if something has changed without an event; the scan goes on as if there was one. */
	bool (*has_changed)(struct ks_linux *lx);
	size_t state_size;             /* of the subsystem's own state, which starts as zeros */
	void (*start)(void *state);    /* optional: for state that must not start as zeros */
	void (*release)(void *state);  /* optional: releases what the state owns */
};

/* Defines a subsystem with an array of parts; what follows are further members, given by name. */
#define KS_SUBSYSTEM(name, parts_, ...) \
	_Static_assert(sizeof(parts_) / sizeof((parts_)[0]) <= KS_UNIT_PARTS, "too many parts for a unit"); \
	const struct ks_subsystem ks_linux_##name = { .parts = (parts_), \
		.nparts = sizeof(parts_) / sizeof((parts_)[0]), __VA_ARGS__ }

#define KS_SUBSYSTEM_EXTERN(name) extern const struct ks_subsystem ks_linux_##name;
KS_SUBSYSTEMS(KS_SUBSYSTEM_EXTERN)

struct ks_linux {
	struct ks_source src;
	struct ks_dir root[2]; /* by enum ks_root */
	struct {
		struct ks_shape shape[KS_UNIT_PARTS]; /* of the NAMED parts; made when they are needed first */
		struct ks_units units;
		void *state; /* owned; what its subsystem keeps, by KS_SUB_* */
		bool off;    /* it is left out */
		bool optional; /* only its parts that a selector names are listed, or less if it is_partly */
		bool absent; /* the machine has no device with a kstat that is wanted */
		uint16_t wanted; /* the parts that the caller of the scan may want, one bit each */
		const char *reads[KS_UNIT_PARTS]; /* ks_scan_reads() of each part, and the fields that are not among them */
		uint64_t unread[KS_UNIT_PARTS];
	} sub[KS_SUB_COUNT];
	struct {
		hrtime_t now;    /* the time of a recorded tree at the last scan; 0: it is not known */
		hrtime_t uptime; /* as the tree had it then */
		hrtime_t real;   /* gethrtime() then */
	} tree;
	struct ks_long_names {
		uint64_t *hash; /* of the names of full length that the scan under way offered; owned */
		size_t n, cap;
		struct ks_table by_hash; /* their positions in hash[] */
	} long_names;
	struct {
		char (*module)[KSTAT_STRLEN]; /* of the devices of the machine, for ks_linux_owns(); owned */
		size_t n, cap;
		bool known; /* in this scan */
	} drivers;
	struct ks_image *images; /* files that were read at least once; owned */
	struct ks_image scratch; /* for files that one kstat alone uses, see ks_linux_once() */
	struct ks_file scratch_file;
	char scratch_path[600];
	struct ks_kept kept;     /* small files that stay open once a kstat is read again */
	uint64_t round;
	uint64_t page;           /* size of the kernel's pages in bytes */
	bool listed;             /* a first scan is complete */
	bool for_program;        /* ks_scan.for_program */
	hrtime_t asked;          /* when absent was found out */
	hrtime_t looked;         /* time of the last scan or reading */
	uint64_t events;         /* the kernel's count of devices that came or went; 0: not known */
	bool counts_events;      /* some subsystem uses that count */
	bool settled;            /* during a scan: no device came or went since the last scan */
	struct {
		const struct ks_image *im; /* mountinfo as it was read last; NULL: it cannot be read */
		uint64_t news;             /* counts the changes that were noticed; 0: nobody has looked yet */
		uint64_t hash;             /* of the contents */
		hrtime_t read;             /* when it was read last */
	} mounts;                /* what fs/mount.c knows for all who list mounts */
	struct ks_trouble *troubles; /* warnings about files, see trouble.c; owned */
	char trouble[512];       /* text of the last one that was returned */
	int lack;                /* why something is missing that no warning names; 0: nothing is */

	/* What is under way. */
	struct ks_scan *scan;
	const struct ks_part *part; /* the kind of the kstat that is read */
	const char *reads;          /* what is needed of it; NULL: all; and the fields that are not, one bit each */
	uint64_t unread;
	struct ks_unit *unit;       /* its unit, and the image that its text is from: see ks_part */
	const struct ks_image *im;
	struct ks_texts texts;      /* copies of texts for its values */
	char text[512];
	hrtime_t taken;             /* when the oldest image was read that the reading has used; 0: none */
	bool is_unparsed;           /* some images were read that are parsed now */
};

/* Notes that the kstat under way uses what was read at that time, if the reading worked. */
static inline void
ks_linux_taken(struct ks_linux *lx, int err, hrtime_t taken)
{
	if (err == 0 && (lx->taken == 0 || taken < lx->taken))
		lx->taken = taken;
}

/* --- files --------------------------------------------------------------------------------------------- */

/*
 * Returns the file as this round has it. The contents stay until the next call for that file. On failure NULL
 * with errno and a message that names the file.
 */
const struct ks_image *ks_linux_image(struct ks_linux *lx, const struct ks_file *file);

/*
 * The same as ks_linux_image() for a caller that can do without the file: NULL with errno and no message. The
 * user is warned of a file that exists and cannot be read.
 */
const struct ks_image *ks_linux_try(struct ks_linux *lx, const struct ks_file *file);

/*
 * Reads the file of a unit that is read for one kstat alone, by its path. The contents stay until the next such call,
 * and are lx->im meanwhile. On failure NULL with errno and message: ENXIO if there is no such file.
 */
const struct ks_image *ks_linux_once(struct ks_linux *lx, const struct ks_unit *unit, enum ks_root root,
    const char *path);

/* The same without a message: returns 0 or an errno. The user is warned of neither. */
int ks_linux_try_once(struct ks_linux *lx, enum ks_root root, const char *path);

/* The same for a file of which it is known how the kernel makes it. */
int ks_linux_try_made(struct ks_linux *lx, enum ks_root root, const char *path, enum ks_made made);

/* Counts the time up to now as the time that it took to read and to parse the images that were read last. */
void ks_linux_parsed(struct ks_linux *lx);

/* True if this round has read the file already. */
bool ks_linux_was_read(const struct ks_linux *lx, const struct ks_file *file);

/* True if the file exists, whether or not it can be read. Warns if that cannot be found out. */
bool ks_linux_exists(const struct ks_linux *lx, enum ks_root root, const char *path);

/* The inode of a file or a link; 0 if it is not known. It differs if the thing was removed and came back. */
uint64_t ks_linux_inode(const struct ks_linux *lx, enum ks_root root, const char *path);

/* Reads the number that a file holds; false if it is not known. Warns if the file cannot be read. */
bool ks_linux_number(struct ks_linux *lx, enum ks_root root, const char *path, uint64_t *v);

/* Opens a directory; NULL with errno. Warns if it exists and cannot be opened. */
DIR *ks_linux_open_directory(struct ks_linux *lx, enum ks_root root, const char *path);

/* The next entry of a directory; NULL at its end. Warns if the rest cannot be read. */
const struct dirent *ks_linux_next_entry(struct ks_linux *lx, DIR *dir);

/* Warns if a directory exists and what is in it cannot be used. */
void ks_linux_check_directory(struct ks_linux *lx, enum ks_root root, const char *path);

/*
 * Calls a function with the name of each entry of a directory of the running kernel, but for "." and "..",
 * until it returns true. Returns true in that case, and if the directory cannot be read.
 */
bool ks_linux_any_entry(struct ks_linux *lx, enum ks_root root, const char *path,
    bool (*is_meant)(struct ks_linux *lx, const char *name));

/*
 * A scan for a subsystem (KS_SUB_*) with a single unit, which never changes: the unit has those parts that
 * may be wanted and whose files exist. Results as for ks_subsystem.scan.
 */
int ks_linux_scan_files(struct ks_linux *lx, size_t sub);

/* Ends a scan that is not repeated, unless for a lack (lx->lack, which was 0 at its begin and `before` until then). */
void ks_linux_scanned(struct ks_linux *lx, struct ks_units *units, int before);

/* --- trouble.c: warnings. Each file is named once, and again if it was well in between. ---------------- */

/* Notes how an attempt to read a file or a directory ended: 0, or an errno, of which the user is warned. */
void ks_linux_note_path(struct ks_linux *lx, enum ks_root root, const char *path, int err);

/* True if the last attempt that was noted for this path failed. */
bool ks_linux_is_unreadable(struct ks_linux *lx, enum ks_root root, const char *path);

/* Warns that a line of an image, or a part of a line, cannot be parsed, and is left out. */
void ks_linux_odd_line(struct ks_linux *lx, const struct ks_image *im, const struct ks_text *line);

/* The same for a file of which `text` is the whole contents. */
void ks_linux_odd_path(struct ks_linux *lx, enum ks_root root, const char *path, const char *text,
    const struct ks_text *line);

/* What is the matter with a GPU, after an attempt to ask it that ended so (ask.h, nvml.h); "ok" for 0. */
const char *ks_linux_gpu_state(int err);

/* Advice in parentheses about an errno, or an empty string. */
const char *ks_linux_remedy(int err);

/* The next warning that was not returned yet, or NULL: ks_source_ops.trouble and .forget_trouble. */
const char *ks_linux_trouble(struct ks_source *src, bool *is_lack);
void ks_linux_forget_troubles(struct ks_source *src);

/*
 * The time now on the clock of crtimes and snaptimes: gethrtime(), or the time of a recorded tree. That begins at
 * its uptime and advances by each step of it; while the uptime stands still or falls, it runs on from one scan to
 * the next as it does here. Without a file uptime it is gethrtime().
 */
hrtime_t ks_linux_now(const struct ks_linux *lx);

/* --- wanted.c and offer.c: what the scan asks for, and what it gets ------------------------------------ */

/* Leaves out the subsystems of which nobody wants a kstat, at the first scan; warns of unknown words of $KSTAT_WITH. */
void ks_linux_choose(struct ks_linux *lx, struct ks_scan *scan);

/* True if a list such as "slab,cgroup" or "all" names the thing. */
bool ks_linux_is_listed(const char *list, const char *name);

/* Finds out which subsystems have no device that is wanted; once more when one may have come. */
void ks_linux_leave_out_absent(struct ks_linux *lx);

/* Offers the kstats of all units. 1, or -1 with errno and message. */
int ks_linux_offer_all(struct ks_linux *lx, struct ks_scan *scan);

/*
 * Returns the shape of the kstats of a part: the statistics of illumos in its order, then those of the part's table.
 * NULL without memory.
 */
const struct ks_shape *ks_linux_shape_of(struct ks_linux *lx, size_t sub, size_t p);

/* True if a module is one of Linux, or of a device of this machine: ks_source_ops.owns. */
bool ks_linux_owns(struct ks_source *src, const char *module);

/* --- helpers ------------------------------------------------------------------------------------------- */

/* The subsystem of that number (KS_SUB_*), and the number of the one that has these units. */
const struct ks_subsystem *ks_linux_subsystem(size_t sub);
size_t ks_linux_subsystem_of(const struct ks_linux *lx, const struct ks_units *units);

/* True if a subsystem has this module, whatever devices the machine has. */
bool ks_linux_has_module(const char *module);

/* Fails with ENXIO because the thing that a kstat was about is gone; returns -1. */
int ks_linux_gone(const struct ks_unit *unit);

#endif
