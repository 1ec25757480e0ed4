/* sys/stats.h - where programs for FreeBSD look. SPDX-License-Identifier: MIT */
#include <statsblob.h>
