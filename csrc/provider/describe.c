/*
 * describe.c - metadata of statistics, found by name in a table of each kstat. See provider.h.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "provider/provider.h"

const char *
ks_unit_of(kstat2_nv_metatype_t type, uint64_t scale, kstat2_nv_metaflag_t flags)
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
free_described(struct ks_described *d)
{
	free((char *)d->meta.stat);
	free((char *)d->meta.unit);
	free((char *)d->meta.desc);
	free(d);
}

void
ks_provider_forget_described(struct ks_provider *p)
{
	for (size_t i = 0; p->described != NULL && i <= p->described_mask; i++) {
		for (struct ks_described *d = p->described[i], *next; d != NULL; d = next) {
			next = d->next;
			free_described(d);
		}
	}
	free(p->described);
	p->described = NULL;
}

/* Where the description of a statistic is linked in, or would be. There is a table. */
static struct ks_described **
place_of(const struct ks_provider *p, const char *stat)
{
	struct ks_described **at =
	    &p->described[ks_hash_string(KS_HASH_INIT, stat) & p->described_mask];

	while (*at != NULL && strcmp((*at)->meta.stat, stat) != 0)
		at = &(*at)->next;
	return at;
}

/* Keeps at most one description a bucket on average. 0, or -1 with errno ENOMEM. */
static int
make_room(struct ks_provider *p)
{
	size_t size = p->described == NULL ? 8 : 2 * (p->described_mask + 1);
	struct ks_described **old = p->described, **table;
	size_t buckets = old == NULL ? 0 : p->described_mask + 1;

	if (p->ndescribed < buckets)
		return 0;
	table = calloc(size, sizeof(*table));
	if (table == NULL)
		return ks_fail(ENOMEM, "out of memory for metadata");
	p->described = table;
	p->described_mask = size - 1;
	for (size_t i = 0; i < buckets; i++) {
		for (struct ks_described *d = old[i], *next; d != NULL; d = next) {
			next = d->next;
			d->next = NULL;
			*place_of(p, d->meta.stat) = d;
		}
	}
	free(old);
	return 0;
}

int
ks_provider_describe(struct ks_provider *p, const char *stat, const kstat2_md_t *md)
{
	struct ks_described *d, **at;
	const char *unit;

	if ((unsigned)md->md_type > KSTAT2_NVMT_LIMIT || (unsigned)md->md_kind > KSTAT2_NVMK_TIME ||
	    (md->md_flags & ~(KSTAT2_NVMF_FRACT | KSTAT2_NVMF_PARTS)) != 0)
		return ks_fail(EINVAL, "%s: no such metatype, kind or flag", stat);
	if (make_room(p) != 0)
		return -1;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return ks_fail(ENOMEM, "out of memory for metadata");
	unit = md->md_unit != NULL ? md->md_unit : ks_unit_of(md->md_type, md->md_scale, md->md_flags);
	d->meta.stat = strndup(stat, KSTAT_STRLEN - 1);
	d->meta.unit = strdup(unit);
	d->meta.desc = strdup(md->md_desc != NULL ? md->md_desc : "");
	d->meta.kind = kind_of(md);
	d->meta.type = (uint8_t)md->md_type;
	d->meta.flags = md->md_flags;
	d->meta.scale = md->md_scale;
	if (d->meta.stat == NULL || d->meta.unit == NULL || d->meta.desc == NULL) {
		free_described(d);
		return ks_fail(ENOMEM, "out of memory for metadata");
	}
	at = place_of(p, d->meta.stat);
	if (*at != NULL) { /* a later description of the same statistic wins */
		d->next = (*at)->next;
		free_described(*at);
	} else {
		p->ndescribed++;
	}
	*at = d;
	return 0;
}

const struct ks_meta *
ks_provider_meta(const struct ks_provider *p, const char *stat)
{
	const struct ks_described *d = p->described != NULL ? *place_of(p, stat) : NULL;

	return d != NULL ? &d->meta : NULL;
}

/* False if the kstat is known to have no such statistic. */
static bool
may_have(struct ks_provider *p, const char *stat)
{
	static const char *const of_histogram[] = { "buckets", "type", "range_min", "range_max", "stepping" };
	const kstat_named_t *kn = p->ks.ks_data;
	uint_t n = p->ks.ks_ndata, at = p->described_next;

	for (size_t i = 0; p->histogram != NULL && i < sizeof(of_histogram) / sizeof(*of_histogram); i++) {
		if (strcmp(of_histogram[i], stat) == 0)
			return true;
	}
	if (p->histogram != NULL)
		return false;
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
