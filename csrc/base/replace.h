/* replace.h - replacing a file by a complete one. SPDX-License-Identifier: MIT */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H

#include <stddef.h>

/*
 * Writes n bytes beside the file (or beside what a symbolic link leads to) and renames them, so that readers see the
 * old text or all of the new one. An existing file keeps its mode. 0, or -1 with errno, and the old file is as it was:
 * EINVAL if it is no regular file, such as a device, else as open(2), write(2), rename(2).
 */
int ks_replace_file(const char *path, const void *text, size_t n);

#endif
