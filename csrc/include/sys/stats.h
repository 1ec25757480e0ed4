/* sys/stats.h - FreeBSD's path of statsblob.h. SPDX-License-Identifier: MIT */
#ifndef SYS_STATS_H
#define SYS_STATS_H
#include <statsblob.h>
#endif
