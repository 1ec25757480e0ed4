/*
 * timer.c - the event timer functions of kstat_provider.h. SPDX-License-Identifier: MIT
 */
#include "model/timer.h"

#include <errno.h>

#include "base/error.h"
#include "kstat_provider.h"

int
kstat_timer_start_at(kstat_timer_t *kt, hrtime_t t)
{
	if (kt == NULL)
		return ks_fail(EINVAL, "kstat_timer_start: no kstat_timer_t");
	ks_timer_start(kt, t);
	return 0;
}

int
kstat_timer_stop_at(kstat_timer_t *kt, hrtime_t t)
{
	if (kt == NULL)
		return ks_fail(EINVAL, "kstat_timer_stop: no kstat_timer_t");
	ks_timer_stop(kt, t);
	return 0;
}

int
kstat_timer_start(kstat_timer_t *kt)
{
	return kstat_timer_start_at(kt, gethrtime());
}

int
kstat_timer_stop(kstat_timer_t *kt)
{
	return kstat_timer_stop_at(kt, gethrtime());
}
