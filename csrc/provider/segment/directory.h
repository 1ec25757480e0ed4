/*
 * directory.h - the directories in which segments lie, and what tells a live segment from one
 * that its publishers left behind. SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_DIRECTORY_H
#define PROVIDER_SEGMENT_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where this process publishes: $KSTAT_DIR, else /run/kstat for root, else
 * $XDG_RUNTIME_DIR/kstat, else /dev/shm/kstat-UID. 0, or -1 with errno ENAMETOOLONG.
 */
int ks_seg_own_dir(char to[PATH_MAX]);

/*
 * Calls fn for each directory in which a reader looks: $KSTAT_DIR alone if it is set; else the own
 * one, /run/kstat, those of the users under /run/user, and each /dev/shm/kstat-UID that belongs to
 * its user. Stops when fn returns non-zero, and returns that.
 */
int ks_seg_each_dir(int (*fn)(const char *dir, void *arg), void *arg);

/*
 * Calls fn for every path whose existence and modification time together tell whether
 * ks_seg_each_dir() would find other directories, or other files in them. Stops as above.
 */
int ks_seg_each_watched(int (*fn)(const char *path, void *arg), void *arg);

/* What publishers' names consist of; '.' is not the first. */
#define KS_SEG_NAME_CHARACTERS \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

/* Length of the publisher's name in a file name of a segment ("NAME.kseg"), or 0. */
size_t ks_seg_name_length(const char *file);

/* True if somebody holds the segment open as its publisher. */
bool ks_seg_is_live(int fd);

/*
 * Waits, a second at most, until nobody holds it; true if so. A dead process holds a segment for a moment
 * more if another one is looking into its memory, as ps does.
 */
bool ks_seg_wait_end(int fd);

/* Takes part in publishing (a lock that the kernel drops with the last copy of fd). 0 or -1. */
int ks_seg_hold(int fd);

/* The kernel's boot and this process's pid namespace, as numbers; 0 if unknown. */
uint64_t ks_seg_boot(void);
uint64_t ks_seg_pid_space(void);

/*
 * Locks a directory of segments for making and removing files; waits two seconds at most.
 * Returns a descriptor to close, or -1 with errno EAGAIN or that of open(2).
 */
int ks_seg_lock_dir(const char *dir);

#endif
