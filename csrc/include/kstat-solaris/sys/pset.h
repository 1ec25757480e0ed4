/*
 * sys/pset.h - names of sets of processors. There are no functions, since Linux has no such sets.
 * SPDX-License-Identifier: MIT
 */
#ifndef KSTAT_SOLARIS_PSET_H
#define KSTAT_SOLARIS_PSET_H

typedef int psetid_t;

#define PS_NONE (-1)
#define PS_QUERY (-2)
#define PS_MYID (-3)

#endif
