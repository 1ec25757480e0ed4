/*
 * image.h - the contents of a file of /proc or /sys in memory. The descriptor stays open and is read again
 * with pread(). One reading serves every kstat that is made of the file.
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

#include "kstat.h"
#include "source/linux/kept.h"
#include "source/linux/reading.h"
#include "source/linux/text.h"

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
