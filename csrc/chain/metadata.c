/* metadata.c - metadata for programs in C: kstat2_get_md(). SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "chain/chain.h"

static kstat2_nv_metakind_t
kind_of(const struct ks_meta *m)
{
	switch (m->kind) {
	case KS_KIND_COUNTER:
		return KSTAT2_NVMK_COUNTER;
	case KS_KIND_TEXT:
		return KSTAT2_NVMK_TEXT;
	case KS_KIND_TIME:
		return KSTAT2_NVMK_TIME;
	default:
		return KSTAT2_NVMK_GAUGE;
	}
}

int
kstat2_get_md(kstat_ctl_t *kc, const kstat_t *ksp, const char *stat, kstat2_md_t *md)
{
	const struct ks_meta *m;

	if (kc == NULL || ksp == NULL || stat == NULL || md == NULL)
		return ks_fail(EINVAL, "kstat2_get_md: a handle, a kstat, a statistic and room are needed");
	if (ks_chain_find(kc, ksp->ks_kid) == NULL)
		return -1;
	m = ks_chain_meta(kc, ksp, stat);
	if (m == NULL)
		return ks_fail(ENOENT, "nothing is known of %s:%d:%s:%s", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name, stat);
	*md = (kstat2_md_t){
		.md_type = (kstat2_nv_metatype_t)m->type,
		.md_flags = m->flags,
		.md_kind = kind_of(m),
		.md_scale = m->scale == 0 ? 1 : m->scale,
		.md_unit = m->unit != NULL ? m->unit : "",
		.md_desc = m->desc != NULL && *m->desc != '\0' ? m->desc : NULL
	};
	return 0;
}
