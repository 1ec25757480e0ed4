/* uptime.c - see uptime.h. SPDX-License-Identifier: MIT */
#include "source/linux/system/uptime.h"

#include <time.h>

#include "base/clock.h"
#include "source/linux/cpu/cpus.h"

const struct ks_file ks_loadavg_file = { KS_ROOT_PROC, "loadavg", KS_MADE_WHOLE, false };
static const struct ks_file uptime_file = { KS_ROOT_PROC, "uptime", KS_MADE_WHOLE, false };

bool
ks_linux_uptime(struct ks_linux *lx, uint64_t *centiseconds)
{
	const struct ks_image *im;
	struct timespec up;
	struct ks_text t;

	if (lx->root[KS_ROOT_PROC].kernel && clock_gettime(CLOCK_BOOTTIME, &up) == 0) {
		/* What the kernel prints there, without a file to read. */
		*centiseconds = (uint64_t)up.tv_sec * 100 + (uint64_t)up.tv_nsec / 10000000;
		return true;
	}
	im = ks_linux_try(lx, &uptime_file);
	if (im == NULL)
		return false;
	t = ks_text_of(im->data, im->len);
	if (ks_text_fixed(&t, 2, centiseconds))
		return true;
	ks_linux_odd_line(lx, im, &t);
	return false;
}

bool
ks_linux_boot_time(struct ks_linux *lx, uint64_t *seconds)
{
	struct timespec boot;
	const struct ks_stat *st;
	int64_t now;

	if (lx->root[KS_ROOT_PROC].kernel && clock_gettime(CLOCK_BOOTTIME, &boot) == 0) {
		/* What the kernel computes for btime, without the long /proc/stat. */
		now = ks_time_of_day();
		now -= (int64_t)boot.tv_sec * KS_NANOSEC + boot.tv_nsec;
		*seconds = (uint64_t)(now / KS_NANOSEC);
		return true;
	}
	st = ks_linux_stat(lx);
	if (st == NULL || (st->have & 1u << KS_STAT_BTIME) == 0)
		return false;
	*seconds = st->v[KS_STAT_BTIME];
	return true;
}
