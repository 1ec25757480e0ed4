/*
 * mount.h - the lines of /proc/self/mountinfo, as file systems and disks need them.
 *
 * That nothing was mounted since the last look is remembered: without it `kstat -p fs::` takes 69 % more CPU time.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_MOUNT_H
#define SOURCE_LINUX_MOUNT_H

#include <sys/statvfs.h>

#include "source/linux/linux.h"

/*
 * A line of mountinfo: "36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw". The texts point into the line;
 * blanks, newlines and backslashes are escaped in them.
 */
struct ks_mount {
	uint64_t id;
	struct ks_text number;  /* "major:minor" of the device */
	struct ks_text root;    /* the directory of the file system that is mounted */
	struct ks_text point;   /* where it is mounted */
	struct ks_text options; /* of the mount */
	struct ks_text type, source;
	struct ks_text super;   /* options of the file system; may be empty */
};

/*
 * Returns true, and mountinfo (NULL: it cannot be read), if anything was mounted, unmounted or remounted since the last
 * call with the same *seen, which is 0 at first. Each subsystem that lists mounts has its own. The running kernel says
 * once that there was a change, to whoever asks first, so that changes are counted here for all; and the file, which is
 * large on a host with many containers, is seldom read.
 */
bool ks_linux_mounts_changed(struct ks_linux *lx, uint64_t *seen, const struct ks_image **im);

/* Parses a line; false if it is not that of a mount. */
bool ks_linux_parse_mount(struct ks_text line, struct ks_mount *m);

/* Copies a text without its escapes, "\040" for a blank; what does not fit is cut. Returns its length. */
size_t ks_linux_unescape(const struct ks_text *from, char *to, size_t size);

/*
 * Finds an option in a list, "rw,vers=3", and its value, which is empty if it has none. value may be NULL. False if
 * it is not there.
 */
bool ks_linux_option(struct ks_text options, const char *name, struct ks_text *value);

/*
 * Copies the first place where a device as a whole is mounted, else the first where part of it is.
 * number: "major:minor" of the device. source: the path by which file systems on several devices, which have
 * a number of their own, name it. Either may be empty. False if the device is not mounted, or if
 * /proc/self/mountinfo cannot be read.
 */
bool ks_linux_mount_point(struct ks_linux *lx, const char *number, const char *source, char *to,
    size_t size);

/*
 * statvfs() of a mount: mount_id is the one of mountinfo that is meant; another one at this path counts as ENOENT.
 * Automounts are not triggered. Returns 0 or an errno; the server of a file system may never answer. Unless unique is
 * NULL, *unique gets a number that no other mount has had since boot; 0: it is not known (Linux before 6.8).
 */
int ks_linux_statvfs(const char *path, uint64_t mount_id, struct statvfs *fs, uint64_t *unique);

#endif
