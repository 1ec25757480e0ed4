/*
 * describe.c - metadata of statistics, found by name in a table of each kstat. See provider.h.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "model/meta.h"
#include "provider/provider.h"

/* The unit that follows from a metatype and scale: "bytes", "ms", ... */
static const char *
derive_unit(kstat2_nv_metatype_t type, uint64_t scale, kstat2_nv_metaflag_t flags)
{
	static const char *const plain[] = {
		"", "", "", "s", "s", "s", "percent", "", "degrees C", "rpm", "V", "W", "A", "bytes",
		"bits", "", "Hz", "", ""
	};
	bool fract = (flags & KSTAT2_NVMF_FRACT) != 0 && scale > 1;

	if ((unsigned)type >= sizeof(plain) / sizeof(plain[0]))
		return "";
	if (scale <= 1)
		return plain[type];
	if (fract && strcmp(plain[type], "s") == 0)
		return scale == 1000 ? "ms" : scale == 1000000 ? "us" : scale == 1000000000 ? "ns" : "ticks";
	if (fract && scale == 1000)
		return type == KSTAT2_NVMT_TEMP_C ? "millidegrees C" : type == KSTAT2_NVMT_VOLT ? "mV" :
		    type == KSTAT2_NVMT_CURR ? "mA" : type == KSTAT2_NVMT_WATT ? "mW" : "";
	if (!fract && type == KSTAT2_NVMT_BYTES)
		return scale == 1024 ? "KiB" : scale == 1u << 20 ? "MiB" : scale == 1u << 30 ? "GiB" :
		    scale == 512 ? "sectors" : scale == 4096 ? "pages" : "";
	if (!fract && type == KSTAT2_NVMT_FREQ)
		return scale == 1000 ? "kHz" : scale == 1000000 ? "MHz" : "";
	return "";
}

static uint8_t
kind_of(const kstat2_md_t *md)
{
	switch (md->md_kind) {
	case KSTAT2_NVMK_COUNTER:
		return KS_KIND_COUNTER;
	case KSTAT2_NVMK_GAUGE:
		return KS_KIND_GAUGE;
	case KSTAT2_NVMK_TEXT:
		return KS_KIND_TEXT;
	case KSTAT2_NVMK_TIME:
		return KS_KIND_TIME;
	default:
		break;
	}
	switch (md->md_type) {
	case KSTAT2_NVMT_CNT:
	case KSTAT2_NVMT_T_ACC:
	case KSTAT2_NVMT_BYTES:
	case KSTAT2_NVMT_BITS:
		return KS_KIND_COUNTER;
	case KSTAT2_NVMT_ID:
		return KS_KIND_TEXT;
	default:
		return KS_KIND_GAUGE;
	}
}

/* --- the table ---------------------------------------------------------------------------- */

static void
free_texts(struct ks_meta *m)
{
	free((char *)m->stat);
	free((char *)m->unit);
	free((char *)m->desc);
}

void
ks_provider_forget_described(struct ks_provider *p)
{
	for (size_t i = 0; i < p->ndescribed; i++)
		free_texts(&p->described[i]);
	free(p->described);
	p->described = NULL;
	p->ndescribed = p->described_cap = 0;
	ks_table_free(&p->described_by_name);
}

static bool
is_named(const void *provider, uint32_t slot, const void *stat)
{
	return strcmp(((const struct ks_provider *)provider)->described[slot].stat, stat) == 0;
}

static struct ks_meta *
find_described(const struct ks_provider *p, const char *stat)
{
	uint32_t slot = ks_table_find(&p->described_by_name, ks_hash_string(KS_HASH_INIT, stat), is_named,
	    p, stat);

	return slot == KS_NO_SLOT ? NULL : &p->described[slot];
}

int
ks_provider_describe(struct ks_provider *p, const char *stat, const kstat2_md_t *md)
{
	const char *unit = md->md_unit;
	struct ks_meta m, *before;
	size_t n = p->ndescribed + 1;

	if ((unsigned)md->md_type > KSTAT2_NVMT_LIMIT || (unsigned)md->md_kind > KSTAT2_NVMK_TIME ||
	    (md->md_flags & ~(KSTAT2_NVMF_FRACT | KSTAT2_NVMF_PARTS)) != 0)
		return ks_fail(EINVAL, "%s: no such metatype, kind or flag", stat);
	if (unit == NULL)
		unit = derive_unit(md->md_type, md->md_scale, md->md_flags);
	m = (struct ks_meta){ .stat = strndup(stat, KSTAT_STRLEN - 1), .unit = strdup(unit),
		.desc = strdup(md->md_desc != NULL ? md->md_desc : ""), .kind = kind_of(md),
		.type = (uint8_t)md->md_type, .flags = md->md_flags, .scale = md->md_scale };
	if (m.stat == NULL || m.unit == NULL || m.desc == NULL || n >= KS_NO_SLOT ||
	    !KS_RESERVE(p->described, p->described_cap, n) || !ks_table_reserve(&p->described_by_name, n)) {
		free_texts(&m);
		return ks_fail(ENOMEM, "out of memory for metadata");
	}
	before = find_described(p, m.stat);
	if (before != NULL) { /* a later description of the same statistic wins */
		free_texts(before);
		*before = m;
		return 0;
	}
	p->described[p->ndescribed] = m;
	(void)ks_table_add(&p->described_by_name, ks_hash_string(KS_HASH_INIT, m.stat),
	    (uint32_t)p->ndescribed++);
	return 0;
}

const struct ks_meta *
ks_provider_meta(const struct ks_provider *p, const char *stat)
{
	return find_described(p, stat);
}

/* False if the kstat is known to have no such statistic. */
static bool
may_have(struct ks_provider *p, const char *stat)
{
	const kstat_named_t *kn = p->ks.ks_data;
	uint_t n = p->ks.ks_ndata, at = p->described_next;

	if (p->histogram != NULL)
		return ks_meta_of_histogram(stat) != NULL;
	if (p->ks.ks_type != KSTAT_TYPE_NAMED || kn == NULL || p->ks.ks_snapshot != NULL ||
	    (p->ks.ks_flags & KSTAT_FLAG_VAR_SIZE))
		return true;
	/* They are mostly described in their order, so the next is looked at first. */
	for (uint_t i = 0; i < n; i++, at++) {
		at = at < n ? at : 0;
		if (kn[at].name[0] == '\0')
			return true;
		if (strncmp(kn[at].name, stat, KSTAT_STRLEN - 1) == 0) {
			p->described_next = at + 1;
			return true;
		}
	}
	return false;
}

int
kstat2_set_md(kstat_t *ksp, const char *stat, const kstat2_md_t *md)
{
	if (ksp == NULL || stat == NULL || md == NULL)
		return ks_fail(EINVAL, "kstat2_set_md: a kstat, a statistic and metadata are needed");
	if (!(ksp->ks_flags & KSTAT_FLAG_INVALID))
		return ks_fail(EINVAL, "%s:%d:%s is installed: metadata comes before that", ksp->ks_module,
		    ksp->ks_instance, ksp->ks_name);
	if (!may_have((struct ks_provider *)ksp, stat))
		return ks_fail(ENOENT, "%s:%d:%s has no statistic %s", ksp->ks_module, ksp->ks_instance,
		    ksp->ks_name, stat);
	return ks_provider_describe((struct ks_provider *)ksp, stat, md);
}
