/*
 * warn.c - the functions of source.h that format a warning for the caller of a scan.
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stdio.h>

#include "source/source.h"

static void __attribute__((format(printf, 3, 0)))
warn(struct ks_scan *scan, bool damaged, const char *fmt, va_list ap)
{
	char line[512];

	(void)vsnprintf(line, sizeof(line), fmt, ap);
	scan->ops->warn(scan, damaged, line);
}

void
ks_scan_warn(struct ks_scan *scan, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn(scan, false, fmt, ap);
	va_end(ap);
}

void
ks_scan_damage(struct ks_scan *scan, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn(scan, true, fmt, ap);
	va_end(ap);
}
