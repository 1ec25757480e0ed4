/*
 * sys/buf.h - the Solaris header of struct biostats, the data of unix:0:biostats. SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_SOLARIS_BUF_H
#define KSTAT_SOLARIS_BUF_H
#include <kstat.h>

struct biostats {
	kstat_named_t bio_lookup, bio_hit, bio_bufwant, bio_bufwait, bio_bufbusy, bio_bufdup;
};

#endif
