/*
 * widen.h - continues counters that the kernel keeps in fewer bits than we do: milliseconds of disks, cells of
 * /proc/interrupts. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_WIDEN_H
#define SOURCE_LINUX_WIDEN_H

#include <stdbool.h>
#include <stdint.h>

/* What is kept of a counter from one reading to the next. All zeros before the first. */
struct ks_widened {
	bool known;
	uint64_t raw, value; /* as the file had it last; continued */
};

/*
 * Returns what a counter of 32 bits, or a sum of such counters, stands at if it is continued when it passes its
 * width. The first reading counts as it is. A counter that fell otherwise counted nothing.
 */
static inline uint64_t
ks_widen(struct ks_widened *w, uint64_t now)
{
	uint32_t step = (uint32_t)now - (uint32_t)w->raw;

	if (!w->known)
		w->value = now;
	else if (now >= w->raw)
		w->value += now - w->raw;
	else if (step <= INT32_MAX)
		w->value += step;
	w->raw = now;
	w->known = true;
	return w->value;
}

#endif
