/*
 * origin.h - who publishes a kstat. The machine's kstats have no origin.
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_ORIGIN_H
#define MODEL_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
