/*
 * sys/flock.h - the Solaris header of struct flock, which on Linux is in fcntl.h; no C library of Linux has a
 * file of this name. SPDX-License-Identifier: MIT
 */
#ifndef SYS_FLOCK_H
#define SYS_FLOCK_H
#include <fcntl.h>
#endif
