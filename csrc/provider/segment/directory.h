/*
 * directory.h - the directories in which segments lie, and what tells a live segment from one
 * that its publishers left behind. SPDX-License-Identifier: MIT
 */
#ifndef PROVIDER_SEGMENT_DIRECTORY_H
#define PROVIDER_SEGMENT_DIRECTORY_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Where this process publishes: $KSTAT_DIR, else /run/kstat for root, else
 * $XDG_RUNTIME_DIR/kstat, else /dev/shm/kstat-UID, or the first of kstat-UID.1, kstat-UID.2, ... that no other user
 * has made. 0, or -1 with errno ENAMETOOLONG.
 */
int ks_seg_own_dir(char to[PATH_MAX]);

/* A directory of segments that was opened: what its path leads to later does not matter. */
struct ks_seg_dir {
	int fd;            /* -1: it was refused */
	uid_t uid;         /* who owns it */
	char path[PATH_MAX];
};

/*
 * Opens a directory, and no link to one, to be closed with close(2). 0, or -1 with errno: ENOENT, ENOTDIR,
 * ELOOP, or EACCES if it is neither `uid`'s nor root's, or if others may change what is in it. `anybody`: it
 * may be anybody's, for those who believe nothing that is in it.
 */
int ks_seg_dir_open(struct ks_seg_dir *d, const char *path, uid_t uid, bool anybody);

/* Lists an open directory from its start; NULL with errno. The directory itself stays open. */
DIR *ks_seg_dir_list(const struct ks_seg_dir *d);

/*
 * Calls fn for each directory in which a reader looks: $KSTAT_DIR alone if it is set; else the own one,
 * /run/kstat, those of the users under /run/user, and of the /dev/shm/kstat-UID and kstat-UID.N those that belong to
 * their users, eight of each. The
 * directory is closed when fn returns. Stops when fn returns non-zero, and returns that. The own directory and
 * /run/kstat are passed with fd -1 if they were refused, with the reason in errno and the message. So is each
 * directory, or parent of directories, for which descriptors or memory were short (ks_is_lack()). No more than 1,024
 * users' directories of either kind are visited.
 */
int ks_seg_each_dir(int (*fn)(const struct ks_seg_dir *d, void *arg), void *arg);

/*
 * Calls fn for every path whose existence and modification time together tell whether
 * ks_seg_each_dir() would find other directories, or other files in them. Stops as above. -1 if descriptors or
 * memory were short to find all of them.
 */
int ks_seg_each_watched(int (*fn)(const char *path, void *arg), void *arg);

/* What publishers' names consist of; '.' is not the first. */
#define KS_SEG_NAME_CHARACTERS \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

/* Length of the publisher's name in a file name of a segment ("NAME.kseg"), or 0. */
size_t ks_seg_name_length(const char *file);

/*
 * True if a process publishes there. Publishers lock a byte each for writing, which takes a descriptor that may
 * write: what readers lock does not count.
 */
bool ks_seg_is_live(int fd);

/*
 * Waits, a second at most, until nobody publishes there; true if so. A dead process holds its lock for a moment
 * more if another one is looking into its memory, as ps does.
 */
bool ks_seg_wait_end(int fd);

/*
 * Takes part in publishing: locks a byte, which the kernel unlocks when the last descriptor and the last mapping
 * that came from this opening of the file are gone. 0, or -1 with errno EAGAIN: others lock all of them.
 */
int ks_seg_hold(int fd);

/* The kernel's boot as a number; 0 if unknown. */
uint64_t ks_seg_boot(void);

/*
 * Locks a directory of segments for making and removing files. `wait`: two seconds at most, root in another user's
 * a tenth of one; else not at all. Returns a descriptor to close, or -1 with errno EAGAIN, that of open(2), or EACCES if it is
 * not a regular file. In another user's directory the file is not made: ENOENT.
 */
int ks_seg_lock_dir(const struct ks_seg_dir *d, bool wait);

#endif
