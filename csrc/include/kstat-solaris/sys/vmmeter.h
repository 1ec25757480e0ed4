/*
 * sys/vmmeter.h - the Solaris header of struct flushmeter, the data of unix:0:flushmeter, which Linux does not have.
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_SOLARIS_VMMETER_H
#define KSTAT_SOLARIS_VMMETER_H
#include <kstat_types.h>

struct flushmeter {
	uint_t f_ctx, f_segment, f_page, f_partial, f_usr, f_region;
};

#endif
