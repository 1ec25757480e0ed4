/*
 * linux.c - the table of subsystems, and what all files of the Linux source need; see linux.h.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/linux.h"

#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/known_meta.h"

#define SUBSYSTEM_POINTER(name) &ks_linux_##name,
static const struct ks_subsystem *const subsystems[KS_SUB_COUNT] = { KS_SUBSYSTEMS(SUBSYSTEM_POINTER) };

const struct ks_subsystem *
ks_linux_subsystem(size_t sub)
{
	return subsystems[sub];
}

size_t
ks_linux_subsystem_of(const struct ks_linux *lx, const struct ks_units *units)
{
	size_t s = 0;

	while (&lx->sub[s].units != units)
		s++;
	return s;
}

bool
ks_linux_is_header(const char *stat)
{
	return ks_meta_is_header(stat);
}

int
ks_linux_gone(const struct ks_unit *unit)
{
	return ks_fail(ENXIO, "%s is gone", unit->name);
}

hrtime_t
ks_linux_now(const struct ks_linux *lx)
{
	return lx->tree.now != 0 ? lx->tree.now : gethrtime();
}
