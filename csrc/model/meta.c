/* meta.c - see meta.h. SPDX-License-Identifier: MIT */
#include "model/meta.h"

#include <string.h>

const struct ks_meta ks_meta_not_counted = KS_META_OF("", KS_KIND_COUNTER, KSTAT2_NVMT_UNKNOWN,
    KSTAT2_NVMF_NOT_COUNTED, 1, "", "a statistic of illumos that Linux does not count");

const struct ks_meta *
ks_meta_find(const struct ks_meta *table, const char *stat)
{
	for (; table->stat != NULL; table++) {
		if (strcmp(table->stat, stat) == 0)
			return table;
	}
	return NULL;
}

const char *
ks_kind_name(uint8_t kind)
{
	static const char *const names[] = { "counter", "gauge", "text", "time" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}
