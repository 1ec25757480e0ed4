/*
 * image.h - a file of /proc or /sys in memory. The descriptor stays open and is read again
 * with pread; one reading serves every kstat that the file feeds.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_IMAGE_H
#define SOURCE_LINUX_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kstat.h"

enum ks_root { KS_ROOT_PROC, KS_ROOT_SYS };

/*
 * How the running kernel makes a file, which tells where it ends without a further read: as one
 * record, or as records of less than KS_BRIEF bytes, of which it hands out at least a page at once
 * unless there are no more; or as such records with a column for each CPU beside, of which the first
 * line has the headings. (What follows the columns of an interrupt names its devices: with more than
 * KS_BRIEF bytes of them on one interrupt the lines behind it could be missed.)
 */
enum ks_made { KS_MADE_ANYHOW, KS_MADE_WHOLE, KS_MADE_BRIEFLY, KS_MADE_BY_CPU };

#define KS_BRIEF 1024

struct ks_image {
	const char *path; /* below its root; not owned */
	enum ks_root root;
	enum ks_made made;
	bool absent;      /* this kernel does not have it, and never will */
	int fd;           /* -1 while closed */
	int err;          /* errno of the last reading, 0 if it worked */
	char *data;       /* owned; NUL-terminated, though the file may hold NULs itself */
	size_t len;
	size_t cap;
	bool whole;       /* no more is there to be read */
	uint64_t round;   /* round of the last reading; 0: never read */
	uint64_t seq;     /* counts the readings, so that what was parsed can tell its age */
	hrtime_t taken;   /* when the reading began */
	hrtime_t took;    /* how long it lasted */
};

/* A directory of files: one of the two roots. */
struct ks_files {
	int fd;      /* of the directory */
	char *name;  /* owned; for messages */
	bool kernel; /* the running kernel's own, not a recorded tree */
};

void ks_image_free(struct ks_image *im);

/*
 * Reads the file into the image, at least the first `enough` bytes if it has them. Returns 0, or an
 * errno, which is also kept in the image: the contents are then empty.
 */
int ks_image_read(struct ks_image *im, const struct ks_files *root, size_t enough);

/* Reads the rest of one that was read in part; 0 or an errno, as above. */
int ks_image_rest(struct ks_image *im, const struct ks_files *root);

/* Reads another file into the image and closes it; 0 or an errno, as above. */
int ks_image_once(struct ks_image *im, const struct ks_files *root, const char *path);

/*
 * Reads a small file once: at most size - 1 bytes and a NUL go to `to`, trailing white space
 * is dropped. Returns the length, or -1 with errno (no message).
 */
int ks_file_small(const struct ks_files *root, const char *path, char *to, size_t size);

/* The same for a file that holds one number. */
int ks_file_u64(const struct ks_files *root, const char *path, uint64_t *v);

#endif
