/*
 * origin.h - who publishes a kstat, and what counts as the machine's although somebody does. The machine's kstats have no
 * origin.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_ORIGIN_H
#define MODEL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/printable.h"
#include "kstat.h"

struct ks_origin {
	const char *name; /* of the publication */
	uint32_t uid;     /* of the user who owns its file */
	uint32_t pid;     /* of the process that opened it; 0: that is not known here, or a stranger's file names another's */
};

/*
 * Whether the header of a kstat of a chain, or a copy of it, is marked as published. The mark is in the byte that
 * kstat(3KSTAT) reserves, so that it goes wherever the header goes. Chains that give published kstats no mark: see
 * struct ks_only.
 */
static inline bool
ks_is_published(const kstat_t *ksp)
{
	return ksp->ks_resv != 0;
}

/*
 * Modules of the machine that no file of the kernel has: a program of root's measures them and publishes them as the
 * machine's own (kstatlua latency). What anybody else publishes there is told apart, as in every module of the machine.
 */
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
