/*
 * blob_kstat.c - statsblob kstats: how they are made. See kstat_blob.h, and blob_layout.h for what lies where
 * and why. SPDX-License-Identifier: MIT
 */
#include "kstat_blob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "provider/blob_memory.h"
#include "provider/segment/segment.h"
#include "stats/blob.h"
#include "stats/template.h"

/* --- creating --------------------------------------------------------------------------------------- */

static uint64_t
head_check(const kstat_blob_t *b)
{
	const struct ks_blob_head *h = ks_blob_head_of(b);
	uint64_t check = ks_hash_bytes(KS_HASH_INIT, h, offsetof(struct ks_blob_head, check));

	return ks_hash_bytes(check, ks_blob_vois_of(b), h->nvois * sizeof(struct ks_blob_voi));
}

/* What is needed of a template, as it is now. */
struct made {
	size_t size;
	char *bytes;
};

/* What readers call the i-th VOI; in `made` if it has no name of its own. */
static const char *
voi_name(const struct statsblob_tpl *t, uint32_t i, char made[static 16])
{
	if (t->voi_names[i][0] != '\0')
		return t->voi_names[i];
	(void)snprintf(made, 16, "voi%u", (unsigned)i);
	return made;
}

/*
 * Names of VOIs become part of those of statistics: one that was cut could not be told from
 * another, nor be found. 0, or -1 with errno EINVAL.
 */
static int
check_name(const struct statsblob_tpl *t, uint32_t i)
{
	size_t most = ks_blob_voi_name_max((const void *)t->image, (int32_t)i);
	uint32_t slots = ks_sb_nvois(t->image);
	char made[16], other[16];
	const char *name = voi_name(t, i, made);

	if (strlen(name) > most)
		return ks_fail(EINVAL,
		    "the value of interest %.64s: published, its name may have at most %zu bytes", name,
		    most);
	if (!ks_is_printable(name, strlen(name)))
		return ks_fail(EINVAL, "the name of the value of interest %u contains a control character",
		    (unsigned)i);
	/* Names given are unique in a template. */
	for (uint32_t k = 0; name == made && k < slots; k++) {
		if (k != i && ks_sb_voi(t->image, k)->id >= 0 &&
		    strcmp(voi_name(t, k, other), name) == 0)
			return ks_fail(EINVAL, "two values of interest are called %s", name);
	}
	return 0;
}

/*
 * Whether blobs of the template can be published; stores the number of its VOIs. 0, or -1 with
 * errno EINVAL.
 */
static int
check_template(const struct statsblob_tpl *t, uint_t shards, uint32_t *nvois)
{
	uint32_t slots;
	bool rel = false;

	if (t == NULL)
		return ks_fail(EINVAL, "there is no such template of statistics");
	slots = ks_sb_nvois(t->image);
	*nvois = 0;
	for (uint32_t i = 0; i < slots; i++) {
		const struct ks_voi *voi = ks_sb_voi(t->image, i);

		if (voi->id < 0)
			continue;
		if (check_name(t, i) != 0)
			return -1;
		++*nvois;
		rel |= (voi->flags & KS_VOI_REL) != 0;
	}
	if (*nvois == 0)
		return ks_fail(EINVAL, "the template has no values of interest");
	if (*nvois > KS_BLOB_MOST_VOIS)
		return ks_fail(EINVAL, "the template has too many values of interest");
	if (shards == 0 || shards > KS_BLOB_MOST_SHARDS)
		return ks_fail(EINVAL, "1 to 64 shards are possible");
	if (rel && shards > 1)
		return ks_fail(EINVAL, "values that are updated relatively cannot be sharded");
	return 0;
}

static void
init_row(struct ks_blob_row *row, const void *blob, size_t blob_size)
{
	size_t n = ks_blob_rounded(blob_size);

	for (uint32_t i = 0; i < KS_BLOB_COPIES; i++)
		ks_blob_copy_of(row, i, blob_size)->number = KS_BLOB_NONE;
	memcpy(ks_blob_of(row, blob_size), blob, blob_size);
	memcpy(ks_blob_copy_of(row, 0, blob_size) + 1, blob, blob_size);
	ks_blob_copy_of(row, 0, blob_size)->number = 0;
	ks_blob_copy_of(row, 0, blob_size)->check = ks_rec_check(ks_blob_copy_of(row, 0, blob_size) + 1, n, 0);
}

static int
fill(struct made *m, struct statsblob_tpl *t, uint32_t nvois, uint_t shards)
{
	struct ks_blob_head h = { .magic = KS_BLOB_MAGIC, .version = KS_BLOB_VERSION,
		.blob_size = t->image->cursz, .nvois = nvois, .shards = shards };
	kstat_blob_t *b;
	struct ks_sb *blob;
	uint32_t slots = ks_sb_nvois(t->image), at = 0;
	char made[16];

	h.first = (uint32_t)ks_blob_first(nvois);
	h.row = ks_blob_row_size(h.blob_size);
	m->size = h.first + shards * h.row;
	m->bytes = calloc(1, m->size);
	blob = malloc(h.blob_size);
	if (m->bytes == NULL || blob == NULL) {
		free(blob);
		free(m->bytes);
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	}
	ks_tpl_plan(t);
	memcpy(blob, t->image, h.blob_size);
	blob->maxsz = blob->cursz;
	blob->created = blob->lastrst = ks_sb_now();
	b = (kstat_blob_t *)(void *)m->bytes;
	*ks_blob_head_of(b) = h;
	for (uint32_t i = 0; i < slots; i++) {
		if (ks_sb_voi(t->image, i)->id >= 0)
			ks_blob_voi_set(&ks_blob_vois_of(b)[at++], (int32_t)i, voi_name(t, i, made), NULL,
			    NULL);
	}
	ks_blob_head_of(b)->check = head_check(b);
	for (uint32_t i = 0; i < shards; i++)
		init_row(ks_blob_row_of(b, i), (const void *)blob, h.blob_size);
	free(blob);
	return 0;
}

/* The first contents of a kstat of that template. 0, or -1 with errno. */
static int
make(struct made *m, uint32_t tpl_id, uint_t shards)
{
	struct statsblob_tpl *t;
	uint32_t nvois = 0;
	int rc;

	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	rc = check_template(t, shards, &nvois);
	if (rc == 0)
		rc = fill(m, t, nvois, shards);
	ks_tpl_unlock();
	return rc;
}

kstat_t *
kstat_create_statsblob(const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags)
{
	struct made m;
	kstat_t *k;

	if (ks_flags != 0)
		return ks_fail_null(EINVAL, "a statsblob kstat of this process has no flags");
	if (make(&m, tpl_id, shards) != 0)
		return NULL;
	k = kstat_create(ks_module, ks_instance, ks_name, ks_class, KSTAT_TYPE_RAW, (uint_t)m.size, 0);
	if (k != NULL) {
		memcpy(k->ks_data, m.bytes, m.size);
		k->ks_flags |= KSTAT_FLAG_STATSBLOB;
	}
	free(m.bytes);
	return k;
}

/* The name of the layout tells all that must be the same for a kstat to go on with its values. */
static int
name_layout(kstat_t *k)
{
	const struct ks_blob_head *h = k->ks_data;
	struct ks_blob_row *row = ks_blob_row_of(k->ks_data, 0);
	char layout[32];

	(void)snprintf(layout, sizeof(layout), KS_BLOB_LAYOUT "%08x:%08x",
	    (unsigned)ks_sb(ks_blob_of(row, h->blob_size))->tplhash, (unsigned)(h->check ^ h->check >> 32));
	return kstat_publish_layout(k, layout, 1);
}

kstat_t *
kstat_publish_statsblob(kstat_pub_t *pub, const char *ks_module, int ks_instance,
    const char *ks_name, const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags)
{
	struct made m;
	kstat_t *k;

	if ((ks_flags & ~KSTAT_FLAG_PERSISTENT) != 0)
		return ks_fail_null(EINVAL, "a published statsblob kstat has no flag but PERSISTENT");
	if (make(&m, tpl_id, shards) != 0)
		return NULL;
	k = kstat_publish_create(pub, ks_module, ks_instance, ks_name, ks_class, KSTAT_TYPE_RAW,
	    (uint_t)m.size, ks_flags);
	if (k != NULL) {
		memcpy(k->ks_data, m.bytes, m.size);
		(void)name_layout(k);
		k->ks_flags |= KSTAT_FLAG_STATSBLOB;
	}
	free(m.bytes);
	return k;
}

int
kstat_blob_describe(kstat_t *ksp, int32_t voi_id, const char *unit, const char *desc)
{
	kstat_blob_t *b;

	if (ksp == NULL || (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) == 0 ||
	    (ksp->ks_flags & KSTAT_FLAG_INVALID) == 0)
		return ks_fail(EINVAL, "no statsblob kstat, or one that is installed already");
	b = ksp->ks_data;
	for (uint32_t i = 0; i < ks_blob_head_of(b)->nvois; i++) {
		struct ks_blob_voi *v = &ks_blob_vois_of(b)[i];
		char name[sizeof(v->name)];

		if (v->id != voi_id)
			continue;
		memcpy(name, v->name, sizeof(name));
		ks_blob_voi_set(v, voi_id, name, unit, desc);
		ks_blob_head_of(b)->check = head_check(b);
		return ((struct ks_provider *)ksp)->published != NULL ? name_layout(ksp) : 0;
	}
	return ks_fail(EINVAL, "%s:%d:%s has no value of interest %d", ksp->ks_module,
	    ksp->ks_instance, ksp->ks_name, (int)voi_id);
}

kstat_blob_t *
kstat_blob(kstat_t *ksp)
{
	const char *wrong;
	void *memory;

	if (ksp == NULL || (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) == 0 ||
	    (ksp->ks_flags & KSTAT_FLAG_INVALID) != 0)
		return ks_fail_null(EINVAL, "not a statsblob kstat, or not installed");
	if (((struct ks_provider *)ksp)->published == NULL)
		return ksp->ks_data;
	memory = kstat_publish_memory(ksp);
	/* Others that share the segment may have written there before this process created the kstat again. */
	wrong = memory != NULL ? ks_blob_check_head(memory, ksp->ks_ndata) : NULL;
	return wrong == NULL ? memory : ks_fail_null(EIO, "%s:%d:%s: %s", ksp->ks_module, ksp->ks_instance,
	    ksp->ks_name, wrong);
}

int32_t
kstat_blob_voi(const kstat_blob_t *b, const char *name)
{
	for (uint32_t i = 0; b != NULL && name != NULL && i < ks_blob_head_of(b)->nvois; i++) {
		if (strncmp(ks_blob_vois_of(b)[i].name, name, sizeof(ks_blob_vois_of(b)[i].name)) == 0)
			return ks_blob_vois_of(b)[i].id;
	}
	return ks_fail(ENOENT, "there is no value of interest %.40s", name != NULL ? name : "");
}
