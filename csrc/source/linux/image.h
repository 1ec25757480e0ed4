/*
 * image.h - files of /proc and /sys: their contents in memory, the descriptors that stay open, and when something was
 * read last. The descriptor of an image stays open and is read again with pread(). One reading serves every kstat that
 * is made of the file.
 *
 * How the kernel makes a file is remembered: without that vmstat takes 7 % more CPU time.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_IMAGE_H
#define SOURCE_LINUX_IMAGE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/table.h"
#include "kstat.h"
#include "source/linux/text.h"

/*
 * Descriptors of small files stay open from one sample to the next. To open, read and close a file of /sys takes three
 * times as long as to read one that is open, and a sample of a whole machine reads hundreds (`bench/run machine`). The
 * kernel fails to read a file of a device that is gone, also if another device has its name by then; so the next
 * reading opens the file of that name anew.
 *
 * Without them a sample of the machine takes 90 % more CPU time, and 2 % more instructions.
 */
struct ks_kept {
	struct ks_kept_file {
		char *path;    /* below the directory; owned */
		int dir;       /* the directory's descriptor */
		int fd;        /* -1 while it is taken out */
		uint64_t used; /* ks_kept.scan when it was read last */
	} *v;
	size_t n, cap;
	size_t most;       /* files that may be kept */
	uint32_t next;     /* where the next file probably is: they are read in the same order each time */
	uint64_t scan;     /* counts the scans */
	struct ks_table by_path;
};

/* An open directory in which files are read: one of the two roots, or one below. */
struct ks_dir {
	int fd;
	char *name;  /* owned; for messages */
	bool kernel; /* it is the running kernel's own, not a recorded tree */
	int *lack;   /* where an error is noted for which ks_is_lack() is true; or NULL */
	bool few_files;       /* the process may open so few files that none stays open */
	struct ks_kept *kept; /* where small files below it stay open; NULL: no file does, it is not read again so far */
	const char *below;    /* the directory is this one below fd; NULL: it is fd itself */
};

/* True if the process may open so few files that large ones must not stay open, either. */
bool ks_kept_none(void);

/* Sets how many files may be kept: a part of what the process may open, and none if that is little. */
void ks_kept_start(struct ks_kept *k);

/* Closes all. */
void ks_kept_free(struct ks_kept *k);

/* A scan begins. If the last one found changes, files are closed that nobody has read since the scan before. */
void ks_kept_scan(struct ks_kept *k, int changed);

/*
 * When something was read that serves several kstats of a round: a file, an answer of the kernel.
 *
 * A kstat must not show old data, so what was read is read again once it is older than 20 ms, even within a round.
 * But what takes long may be older, in proportion, or else reading it would become most of the work of a report on
 * thousands of things. And a report reads nothing more than twice: only who pauses between two kstats, as a person at
 * the prompt does, gets new data a third time.
 */
#define KS_READING_AGE 20000000   /* ns */
#define KS_READING_AGE_OF_WORK 16 /* times as long as it takes to read and to parse */
#define KS_READING_PAUSE 1000000000 /* ns between two uses; a report makes none */

/* All zeros before the first reading. */
struct ks_reading {
	uint64_t round; /* the round of the last one; 0: there is none, or it failed */
	hrtime_t taken; /* when it began */
	hrtime_t took;  /* how long it lasted, with the parsing that followed */
	hrtime_t used;  /* when a kstat was made of it last */
	bool is_again;  /* it was not the first one of its round */
};

/* Returns whether the next kstat of that round has to read again. */
static inline bool
ks_reading_is_due(struct ks_reading *g, uint64_t round)
{
	hrtime_t now, pause;

	if (g->round != round)
		return true;
	now = gethrtime();
	pause = now - g->used;
	g->used = now;
	return (!g->is_again || pause > KS_READING_PAUSE) &&
	    now - g->taken > KS_READING_AGE + KS_READING_AGE_OF_WORK * g->took;
}

static inline void
ks_reading_begin(struct ks_reading *g, uint64_t round)
{
	g->is_again = g->round == round;
	g->round = round;
	g->taken = g->used = gethrtime();
}

/* Ends a reading, with an errno or 0: what failed is read again by the next kstat. */
static inline void
ks_reading_end(struct ks_reading *g, int err)
{
	g->used = gethrtime();
	g->took = g->used - g->taken;
	if (err != 0)
		g->round = 0;
}

/* The last two are for warnings alone: the path is that of a mount, or the name of a GPU. */
enum ks_root { KS_ROOT_PROC, KS_ROOT_SYS, KS_ROOT_MOUNT, KS_ROOT_GPU };

#define KS_BRIEF 1024
#define KS_SHORT 2048

/*
 * How the running kernel produces a file. From this follows where the file ends, without one more read:
 * - POLLED: no more is known of it than of ANYHOW, but poll() reports changes: it stays open, always.
 * - WHOLE: a single record, which a read returns as a whole if there is room.
 * - BRIEFLY: records of less than KS_BRIEF bytes. A read returns less than a page only at the end.
 * - BY_CPU: the same, and each record has a column for each CPU, as the heading in the first line has. (What
 *   follows the columns of an interrupt names its devices: with more than KS_BRIEF bytes of these on one
 *   interrupt, the lines behind it could be missed.)
 */
enum ks_made { KS_MADE_ANYHOW, KS_MADE_POLLED, KS_MADE_WHOLE, KS_MADE_BRIEFLY, KS_MADE_BY_CPU };

/* Declares a file that is read again and again, where it is parsed. Files are known by their addresses. */
struct ks_file {
	enum ks_root root;
	const char *path; /* below its root */
	enum ks_made made;
	bool is_for_root; /* only root may read it: nobody is warned that others cannot */
};

struct ks_image {
	struct ks_image *next;
	const struct ks_file *file;
	bool absent;      /* this kernel does not have it, and never will */
	int fd;           /* -1 while closed */
	int err;          /* errno of the last reading, 0 if it worked */
	char *data;       /* owned; NUL-terminated, though the file may hold NULs itself */
	size_t len;
	size_t cap;
	uint64_t seq;     /* counts the readings: what was parsed from an image remembers it */
	struct ks_reading reading; /* the last one */
	bool is_unparsed; /* it was read for the kstat, or the scan, that is under way */
};

static inline struct ks_text
ks_image_text(const struct ks_image *im)
{
	return ks_text_of(im->data, im->len);
}

/* Returns a directory below another whose `below` is NULL. It is not opened; the path must stay. */
struct ks_dir ks_dir_below(const struct ks_dir *dir, const char *path);

/* Opens a directory in a directory to list it; NULL with errno, which is noted if it is a lack. */
DIR *ks_dir_list(const struct ks_dir *dir, const char *path);

/* True if the directory exists; false with errno. */
bool ks_dir_exists(const struct ks_dir *dir);

/* Notes an error for the source that the directory belongs to, if it is a lack; others are ignored. */
void ks_note_lack(const struct ks_dir *dir, int err);

/* As that, and an error of input and output, too: for calls that have none on a healthy machine, as looking does. */
void ks_note_fault(const struct ks_dir *dir, int err);

/* As that, and a permission that is missing, too: a look needs none but of the directories above. */
void ks_note_look(const struct ks_dir *dir, int err);

/* openat() with O_CLOEXEC, again where a signal interrupts it, as it does below a mount of lxcfs. */
int ks_open_at(int dir, const char *path, int flags);

void ks_image_free(struct ks_image *im);

/*
 * Reads the file into the image, in a round. Returns 0 or an errno, which the image keeps; its contents are empty
 * then.
 */
int ks_image_read(struct ks_image *im, const struct ks_dir *root, uint64_t round);

/* Reads the image's file anew; its descriptor is not the image's. Returns as ks_image_read() does. */
int ks_image_once(struct ks_image *im, const struct ks_dir *root);

/*
 * Reads a file: at most size bytes. Returns how many, or -1 with errno and no message. The file may stay open. The
 * kernel returns less than KS_SHORT bytes only at the end.
 */
ssize_t ks_file_read(const struct ks_dir *dir, const char *path, char *to, size_t size);

/*
 * Reads a small file: copies at most size - 1 bytes without trailing white space, and a NUL. Returns the
 * length, or -1 with errno and no message.
 */
int ks_file_small(const struct ks_dir *root, const char *path, char *to, size_t size);

/* Reads a file that holds one number. Returns 0, or -1 with errno (EINVAL: no number) and no message. */
int ks_file_u64(const struct ks_dir *root, const char *path, uint64_t *v);

#endif
