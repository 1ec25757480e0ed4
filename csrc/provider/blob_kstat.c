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
#include "provider/blob_layout.h"
#include "provider/segment/segment.h"
#include "stats/blob.h"
#include "stats/template.h"

/* --- creating --------------------------------------------------------------------------------------- */

static void
set_head(const kstat_blob_t *known, void *memory)
{
	const struct ks_blob_voi *vois = ks_blob_known_vois(known);
	struct ks_blob_head h = { .magic = KS_BLOB_MAGIC, .version = KS_BLOB_VERSION,
		.blob_size = (uint32_t)known->blob_size, .nvois = known->nvois, .shards = known->shards,
		.first = known->first, .row = known->row_size };

	h.check = ks_hash_bytes(ks_hash_bytes(KS_HASH_INIT, &h, offsetof(struct ks_blob_head, check)), vois,
	    known->nvois * sizeof(*vois));
	memcpy(memory, &h, sizeof(h));
	memcpy(ks_blob_vois_of(memory), vois, known->nvois * sizeof(*vois));
}

/*
 * What is needed of a template, as it is now: the first contents of a kstat, and what its process knows of
 * it.
 */
struct made {
	size_t size;
	char *bytes;
	kstat_blob_t *known;
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

static int
fill(struct made *m, struct statsblob_tpl *t, uint32_t nvois, uint_t shards)
{
	size_t blob_size = t->image->cursz, row_size = ks_blob_row_size(blob_size), first = ks_blob_first(nvois);
	size_t size = ks_blob_known_size(blob_size, nvois);
	struct ks_sb *blob;
	uint32_t slots = ks_sb_nvois(t->image), at = 0;
	char made[16];

	m->size = first + shards * row_size;
	m->bytes = calloc(1, m->size);
	m->known = calloc(1, size);
	if (m->bytes == NULL || m->known == NULL) {
		free(m->known);
		free(m->bytes);
		return ks_fail(ENOMEM, "out of memory for a statsblob");
	}
	*m->known = (kstat_blob_t){ .size = size, .blob_size = blob_size, .row_size = row_size,
		.first = (uint32_t)first, .shards = shards, .nvois = nvois };
	ks_tpl_plan(t);
	blob = ks_sb(ks_blob_form_of(m->known));
	memcpy(blob, t->image, blob_size);
	blob->maxsz = blob->cursz;
	blob->created = blob->lastrst = ks_sb_now();
	for (uint32_t i = 0; i < slots; i++) {
		if (ks_sb_voi(t->image, i)->id >= 0)
			ks_blob_voi_set(&ks_blob_known_vois(m->known)[at++], (int32_t)i, voi_name(t, i, made), NULL,
			    NULL);
	}
	set_head(m->known, m->bytes);
	for (uint32_t i = 0; i < shards; i++)
		ks_blob_init_row(m->known, (void *)(m->bytes + first + i * row_size));
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

/* Gives a new kstat its first contents; NULL stays NULL. */
static kstat_t *
take(kstat_t *k, struct made *m)
{
	if (k != NULL) {
		memcpy(k->ks_data, m->bytes, m->size);
		k->ks_flags |= KSTAT_FLAG_STATSBLOB;
		((struct ks_provider *)k)->blob = m->known;
	} else {
		free(m->known);
	}
	free(m->bytes);
	return k;
}

kstat_t *
kstat_create_statsblob(const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uint32_t tpl_id, uint_t shards, uchar_t ks_flags)
{
	struct made m;

	if (ks_flags != 0)
		return ks_fail_null(EINVAL, "a statsblob kstat of this process has no flags");
	if (make(&m, tpl_id, shards) != 0)
		return NULL;
	return take(kstat_create(ks_module, ks_instance, ks_name, ks_class, KSTAT_TYPE_RAW, (uint_t)m.size, 0), &m);
}

/* The name of the layout tells all that must be the same for a kstat to go on with its values. */
static int
name_layout(kstat_t *k)
{
	const struct ks_blob_head *h = k->ks_data;
	const struct ks_sb *form = ks_sb(ks_blob_form_of(((struct ks_provider *)k)->blob));
	char layout[32];

	(void)snprintf(layout, sizeof(layout), KS_BLOB_LAYOUT "%08x:%08x",
	    (unsigned)form->tplhash, (unsigned)(h->check ^ h->check >> 32));
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
	k = take(kstat_publish_create(pub, ks_module, ks_instance, ks_name, ks_class, KSTAT_TYPE_RAW, (uint_t)m.size,
	    ks_flags), &m);
	if (k != NULL)
		(void)name_layout(k);
	return k;
}

int
kstat_blob_describe(kstat_t *ksp, int32_t voi_id, const char *unit, const char *desc)
{
	struct ks_provider *p = (struct ks_provider *)ksp;

	if (ksp == NULL || (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) == 0 ||
	    (ksp->ks_flags & KSTAT_FLAG_INVALID) == 0)
		return ks_fail(EINVAL, "no statsblob kstat, or one that is installed already");
	for (uint32_t i = 0; i < p->blob->nvois; i++) {
		struct ks_blob_voi *v = &ks_blob_known_vois(p->blob)[i];
		char name[sizeof(v->name)];

		if (v->id != voi_id)
			continue;
		memcpy(name, v->name, sizeof(name));
		ks_blob_voi_set(v, voi_id, name, unit, desc);
		set_head(p->blob, ksp->ks_data);
		return p->published != NULL ? name_layout(ksp) : 0;
	}
	return ks_fail(EINVAL, "%s:%d:%s has no value of interest %d", ksp->ks_module,
	    ksp->ks_instance, ksp->ks_name, (int)voi_id);
}

kstat_blob_t *
kstat_blob(kstat_t *ksp)
{
	struct ks_provider *p = (struct ks_provider *)ksp;
	char *memory;

	if (ksp == NULL || (ksp->ks_flags & KSTAT_FLAG_STATSBLOB) == 0 ||
	    (ksp->ks_flags & KSTAT_FLAG_INVALID) != 0 || p->blob == NULL)
		return ks_fail_null(EINVAL, "not a statsblob kstat, or not installed");
	if (p->blob->memory != NULL)
		return p->blob;
	memory = p->published == NULL ? ksp->ks_data : kstat_publish_memory(ksp);
	if (memory == NULL)
		return NULL;
	/* It may be older than this kstat_t, and others that share the segment may have written there. */
	set_head(p->blob, memory);
	p->blob->memory = memory;
	ks_blob_renew(p->blob);
	return p->blob;
}

int32_t
kstat_blob_voi(const kstat_blob_t *b, const char *name)
{
	for (uint32_t i = 0; b != NULL && name != NULL && i < b->nvois; i++) {
		const struct ks_blob_voi *v = &ks_blob_known_vois(b)[i];

		if (strncmp(v->name, name, sizeof(v->name)) == 0)
			return v->id;
	}
	return ks_fail(ENOENT, "there is no value of interest %.40s", name != NULL ? name : "");
}
