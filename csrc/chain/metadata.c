/* metadata.c - for programs in C: kstat2_get_md(), and kstat_hist_read(), which needs units. SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "chain/handle.h"
#include "model/distribution.h"
#include "model/shape.h"

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
kstat2_all_types(kstat_ctl_t *kc)
{
	if (kc == NULL)
		return ks_fail(EINVAL, "kstat2_all_types: no handle");
	ks_chain_of(kc)->plain = false;
	ks_chain_of(kc)->computes = true;
	return 0;
}

int
kstat2_get_md(kstat_ctl_t *kc, const kstat_t *ksp, const char *stat, kstat2_md_t *md)
{
	struct ks_buf *texts;
	const struct ks_meta *m;
	size_t unit_size;
	bool is_hidden;

	if (kc == NULL || ksp == NULL || stat == NULL || md == NULL)
		return ks_fail(EINVAL, "kstat2_get_md: a handle, a kstat, a statistic and room are needed");
	if (ks_chain_find(kc, ksp->ks_kid) == NULL)
		return -1;
	errno = 0;
	m = ks_chain_meta(kc, ksp, stat);
	if (m == NULL && errno == ENOMEM)
		return -1;
	is_hidden = ks_named_find_hidden(ksp, stat) != NULL;
	if (m == NULL && is_hidden)
		m = &ks_meta_not_counted;
	if (m == NULL)
		return ks_fail(ENOENT, "nothing is known of %s:%d:%s:%s", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name, stat);
	/* Copies, because metadata of some sources are valid only until another handle is asked for one. */
	texts = &ks_chain_of(kc)->md_texts;
	ks_buf_reset(texts);
	ks_buf_adds(texts, m->unit != NULL ? m->unit : "");
	ks_buf_addc(texts, '\0');
	unit_size = texts->len;
	ks_buf_adds(texts, m->desc != NULL ? m->desc : "");
	ks_buf_addc(texts, '\0');
	if (texts->failed)
		return ks_fail(ENOMEM, "out of memory");
	*md = (kstat2_md_t){
		.md_type = (kstat2_nv_metatype_t)m->type,
		.md_flags = m->flags | (is_hidden ? KSTAT2_NVMF_NOT_COUNTED : 0),
		.md_kind = kind_of(m),
		.md_scale = m->scale == 0 ? 1 : m->scale,
		.md_unit = texts->data,
		.md_desc = texts->data[unit_size] != '\0' ? texts->data + unit_size : NULL
	};
	return 0;
}

kstat_hist_t *
kstat_hist_read(kstat_ctl_t *kc, const kstat_t *ksp, const char *voi)
{
	const struct ks_meta *m;

	if (kc == NULL || ksp == NULL)
		return ks_fail_null(EINVAL, "kstat_hist_read: a handle and a kstat are needed");
	if (ks_chain_find(kc, ksp->ks_kid) == NULL)
		return NULL;
	if (ks_chain_of(kc)->plain)
		return ks_fail_null(EINVAL, "kstat_hist_read: kstat_read() returns buckets after kstat2_all_types() alone");
	m = ks_chain_meta(kc, ksp, "buckets");
	return ks_dist_read(ksp, NULL, voi, m != NULL ? m->unit : NULL);
}
