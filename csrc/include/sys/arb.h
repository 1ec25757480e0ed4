/* sys/arb.h - what stats(3) includes for its trees: see "Differences" in statsblob(3). SPDX-License-Identifier: MIT */
#ifndef SYS_ARB_H
#define SYS_ARB_H
#endif
