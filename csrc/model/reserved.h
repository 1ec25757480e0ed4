/*
 * reserved.h - modules of the machine that no file of the kernel has: a program of root's measures them and publishes
 * them as the machine's own (kstatlua latency). What anybody else publishes there is told apart, as in every module of
 * the machine. SPDX-License-Identifier: MIT
 */
#ifndef MODEL_RESERVED_H
#define MODEL_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/alike.h"

static const char *const ks_reserved_module[] = { "latency", "exits", NULL };
static const char *const ks_reserved_class[] = { "disk_latency", "runq_latency", "runq_latency_group",
	"connect_latency", "exits", "exits_command", NULL };

static inline bool
ks_is_among(const char *const *list, const char *text)
{
	while (*list != NULL && strcmp(*list, text) != 0)
		list++;
	return *list != NULL;
}

/* Whether a module is one of them, or looks like one. */
static inline bool
ks_looks_reserved(const char *module)
{
	return ks_are_alike(module, ks_reserved_module[0]) || ks_are_alike(module, ks_reserved_module[1]);
}

#endif
