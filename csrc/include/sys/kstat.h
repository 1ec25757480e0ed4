/* sys/kstat.h - the Solaris path of kstat.h. SPDX-License-Identifier: MIT */
#ifndef SYS_KSTAT_H
#define SYS_KSTAT_H
#include <kstat.h>
#endif
