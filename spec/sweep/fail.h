/* fail.h - what fail.c reports to sweep.c. SPDX-License-Identifier: MIT */
#ifndef SWEEP_FAIL_H
#define SWEEP_FAIL_H

#include <stdatomic.h>

struct fail_report {
	_Atomic(unsigned long) calls; /* how many there were */
	char name[32];                /* of the call that failed */
};

#endif
