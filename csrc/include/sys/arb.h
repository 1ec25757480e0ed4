/*
 * sys/arb.h - the header that FreeBSD's stats(3) includes for its trees, which are no part of the interface here:
 * statsblob(3) says so under "Differences". SPDX-License-Identifier: MIT
 */
#ifndef SYS_ARB_H
#define SYS_ARB_H
#endif
