/*
 * kept.h - descriptors of small files that stay open from one sample to the next. To open, read and close a file of
 * /sys takes three times as long as to read one that is open, and a sample of a whole machine reads hundreds
 * (`bench/run machine`). The kernel fails to read a file of a device that is gone, also if another device has its name
 * by then; so the next reading opens the file of that name anew.
 *
 * Without them a sample of the machine takes 90 % more CPU time, and 2 % more instructions.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_KEPT_H
#define SOURCE_LINUX_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

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
 * Takes the descriptor of a file out, so that it can be read with pread(); -1 if there is none. *slot is for
 * ks_kept_put().
 */
int ks_kept_take(const struct ks_dir *dir, const char *name, uint32_t *slot);

/* Keeps a descriptor that was taken or opened, or closes it. */
void ks_kept_put(const struct ks_dir *dir, const char *name, uint32_t slot, int fd);

#endif
