/* replace.h - replacing a file by a complete one. SPDX-License-Identifier: MIT */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H

#include <stddef.h>

/*
 * Replaces a file (or what a symbolic link leads to) by n bytes, so that readers see the old text or all of the
 * new one. The new file has no name before it is complete, or else `.NAME.kstat` in the same directory, which the
 * next call removes. An existing file of this user keeps its mode. 0, or -1 with errno and a message, and the old
 * file is as it was: EINVAL if it is no regular file, such as a device; EACCES if another user's link leads there,
 * from a directory to which everybody may write; else as open(2), write(2), rename(2).
 */
int ks_replace_file(const char *path, const void *text, size_t n);

#endif
