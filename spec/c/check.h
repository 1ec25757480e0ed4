/*
 * check.h - what C programs of specs check with: each failure is a line that names the place, and main() ends
 * by `failures`. SPDX-License-Identifier: MIT
 */
#ifndef SPEC_CHECK_H
#define SPEC_CHECK_H

#include <stdio.h>

#include "kstat.h"

static int checks, failures;

#define CHECK(expr) do { \
		checks++; \
		if (!(expr)) { \
			failures++; \
			printf("line %d: not so: %s (%s)\n", __LINE__, #expr, kstat_errmsg()); \
		} \
	} while (0)

#endif
