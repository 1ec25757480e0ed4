/*
 * warn.c - the functions of source.h that ask the caller of a scan, or warn it.
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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

enum ks_hearing
ks_scan_hears(const struct ks_scan *scan, uint32_t uid)
{
	if (scan->ops->hears != NULL)
		return scan->ops->hears(scan, uid);
	return uid == 0 || uid == geteuid() ? KS_HEARS_TRUSTED : KS_HEARS_STRANGER;
}
