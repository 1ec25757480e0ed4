/* sys/arb.h - what stats(3) includes for its trees: see "Differences" in statsblob(3). SPDX-License-Identifier: MIT */
