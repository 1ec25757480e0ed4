/*
 * template.c - the list of templates behind a mutex: the one piece of mutable global state of
 * the blobs, as the manual page has it. SPDX-License-Identifier: MIT
 */
#include "stats/template.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "stats/plan.h"
#include "stats/q.h"
#include "stats/tdigest/tdigest.h"

static pthread_mutex_t tpl_lock = PTHREAD_MUTEX_INITIALIZER;
static struct statsblob_tpl **tpl_list;
static uint32_t tpl_count;
static size_t tpl_cap;

void
ks_tpl_lock(void)
{
	(void)pthread_mutex_lock(&tpl_lock);
}

void
ks_tpl_unlock(void)
{
	(void)pthread_mutex_unlock(&tpl_lock);
}

/*
 * A child of fork() has only the thread that forked, and a lock that another thread held would
 * stay locked in it. So the forking thread takes the lock first, and parent and child release it.
 * (A child could not release a reader/writer lock: to glibc its thread is not the one that locked.)
 * These handlers run in the opposite order of their registration, and other code of the library
 * takes this lock last. So they are registered first, when the library is loaded.
 */
static __attribute__((constructor)) void
watch_forks(void)
{
	(void)pthread_atfork(ks_tpl_lock, ks_tpl_unlock, ks_tpl_unlock);
}

struct statsblob_tpl *
ks_tpl_get(int64_t id)
{
	return id >= 0 && id < (int64_t)tpl_count ? tpl_list[id] : NULL;
}

uint32_t
ks_tpl_count(void)
{
	return tpl_count;
}

int
ks_tpl_find(const char *name, size_t len, uint32_t hash)
{
	if (name == NULL && hash == 0)
		return -1;
	for (uint32_t i = tpl_count; i-- > 0;) {
		const struct statsblob_tpl *t = tpl_list[i];

		if (name != NULL && (strlen(t->name) != len || memcmp(t->name, name, len) != 0))
			continue;
		if (hash == 0 || t->image->tplhash == hash)
			return (int)i;
	}
	return -1;
}

void
ks_tpl_plan(struct statsblob_tpl *t)
{
	/* A lack of memory is no failure, because updates without a plan are only slower. */
	if (!t->planned)
		ks_plan_add(t->image);
	t->planned = true;
}

int
ks_tpl_by_hash(uint32_t hash)
{
	for (uint32_t i = tpl_count; i-- > 0;) {
		if (tpl_list[i]->image->tplhash == hash)
			return (int)i;
	}
	return -1;
}

uint32_t
ks_tpl_hash32(uint32_t h, const void *p, size_t n)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < n; i++)
		h = h * 33 + s[i];
	return h;
}

/*
 * ABI v1's hash covers an initial image with narrower fixed-point limits than this library's
 * images have. That image is written to scratch, which is as large.
 */
static uint32_t
image_hash(const struct statsblob_tpl *t, const struct ks_sb *image, char *const *names,
    struct ks_sb *scratch)
{
	uint32_t h = ks_tpl_hash32(0, t->name, strlen(t->name)), n = ks_sb_nvois(image);

	memcpy(scratch, image, image->cursz);
	scratch->tplhash = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_voi *voi = ks_sb_voi(scratch, i);

		if (voi->id < 0)
			continue;
		h = ks_tpl_hash32(h, names[i], strlen(names[i]));
		if (!ks_dtypes[voi->dtype].is_q)
			continue;
		for (int st = VS_STYPE_MAX; st <= VS_STYPE_MIN; st++) {
			const struct ks_vs *vs = ks_sb_find_vs(scratch, voi, st);
			unsigned dt = voi->dtype, ctl;
			uint64_t w;

			if (vs == NULL)
				continue;
			w = ks_ldval(ks_sb_data(scratch, vs), dt);
			ctl = (unsigned)(w & KS_Q_CTL);
			if (st == VS_STYPE_MAX && w == ks_q_min(dt, ctl))
				ks_stval(ks_sb_data(scratch, vs), dt, ks_q_abi_min(dt, ctl));
			else if (st == VS_STYPE_MIN && w == ks_q_max(dt, ctl))
				ks_stval(ks_sb_data(scratch, vs), dt, ks_q_abi_max(dt, ctl));
		}
	}
	return ks_tpl_hash32(h, scratch, image->cursz);
}

static struct ks_sb *
image_new(size_t size)
{
	struct ks_sb *sb = calloc(1, size);

	if (sb == NULL)
		return NULL;
	sb->abi = STATS_ABI_V1;
	sb->endian = KS_SB_ENDIAN;
	sb->maxsz = sb->cursz = (uint16_t)size;
	return sb;
}

/* Returns a new template, or NULL without memory. The caller holds the lock. */
static struct statsblob_tpl *
tpl_new(const char *name)
{
	struct statsblob_tpl *t = calloc(1, sizeof(*t));
	struct ks_sb scratch;

	if (t == NULL)
		return NULL;
	t->name = strdup(name);
	t->image = image_new(sizeof(struct ks_sb));
	if (t->name == NULL || t->image == NULL) {
		free(t->name);
		free(t->image);
		free(t);
		return NULL;
	}
	t->image->stats_off = t->image->statsdata_off = sizeof(struct ks_sb);
	t->image->tplhash = image_hash(t, t->image, NULL, &scratch);
	return t;
}

int
stats_tpl_alloc(const char *name, uint32_t flags)
{
	struct statsblob_tpl *t;
	int ret;

	if (name == NULL)
		return -ENOMEM; /* the errno of the reference */
	/* In a list of specs these characters would end the name. */
	if (strlen(name) > TPL_MAX_NAME_LEN || flags != 0 || strstr(name, "\":") != NULL ||
	    strstr(name, "\"=") != NULL)
		return -EINVAL;
	ks_tpl_lock();
	ret = -ENOMEM;
	if (ks_tpl_find(name, strlen(name), 0) >= 0) {
		ret = -EEXIST;
	} else if (KS_RESERVE(tpl_list, tpl_cap, (size_t)tpl_count + 1)) {
		t = tpl_count < INT32_MAX ? tpl_new(name) : NULL;
		if (t != NULL) {
			tpl_list[tpl_count] = t;
			ret = (int)tpl_count++;
		}
	}
	ks_tpl_unlock();
	return ret;
}

int
stats_tpl_fetch_allocid(const char *name, uint32_t hash)
{
	int id;

	ks_tpl_lock();
	id = ks_tpl_find(name, name != NULL ? strlen(name) : 0, hash);
	ks_tpl_unlock();
	return id < 0 ? -ESRCH : id;
}

int
stats_tpl_fetch(int tpl_id, struct statsblob_tpl **tpl)
{
	struct statsblob_tpl *t;

	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	ks_tpl_unlock();
	if (t == NULL)
		return ENOENT;
	if (tpl != NULL)
		*tpl = t;
	return 0;
}

int
stats_tpl_id2name(uint32_t tpl_id, char *buf, size_t len)
{
	const struct statsblob_tpl *t;
	int ret = 0;

	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	if (t == NULL)
		ret = ENOENT;
	else if (buf == NULL || len <= strlen(t->name))
		ret = EOVERFLOW;
	else
		memcpy(buf, t->name, strlen(t->name) + 1);
	ks_tpl_unlock();
	return ret;
}

int
stats_tpl_id2hash(uint32_t tpl_id, uint32_t *hash)
{
	const struct statsblob_tpl *t;

	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	if (t != NULL && hash != NULL)
		*hash = t->image->tplhash;
	ks_tpl_unlock();
	return t == NULL ? ENOENT : 0;
}

int
stats_tpl_blobsize(uint32_t tpl_id, size_t *size)
{
	const struct statsblob_tpl *t;

	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	if (t != NULL && size != NULL)
		*size = t->image->cursz;
	ks_tpl_unlock();
	return t == NULL ? ENOENT : 0;
}

/* Returns whether a VOI of this type may have a statistic with that initial data. */
static int
spec_check(const struct voistatspec *vss, unsigned voi_dt)
{
	unsigned dt = vss->vs_dtype;

	if (vss->iv == NULL || dt >= VSD_NUM_DTYPES)
		return EINVAL;
	if (vss->vsdsz > KS_SB_MAX)
		return EFBIG;
	switch (vss->stype) {
	case VS_STYPE_SUM:
	case VS_STYPE_MAX:
	case VS_STYPE_MIN:
		return dt == voi_dt && vss->vsdsz == ks_dtypes[dt].size ? 0 : EINVAL;
	case VS_STYPE_HIST:
		if (!ks_dtype_is_hist(dt) || vss->vsdsz < KS_HIST_HDR + ks_dtypes[dt].stride ||
		    (vss->vsdsz - KS_HIST_HDR) % ks_dtypes[dt].stride != 0)
			return EINVAL;
		return 0;
	case VS_STYPE_TDGST:
		return ks_dtype_is_tdgst(dt) ? ks_tdgst_check(vss->iv, vss->vsdsz, (int)dt) : EINVAL;
	default:
		return EINVAL;
	}
}

/* Runs the constructors on copies of the specs; stores the sum of the data's sizes in *size. */
static int
specs_build(enum vsd_dtype voi_dt, uint32_t n, const struct voistatspec *vss,
    struct voistatspec *built, size_t *size)
{
	*size = 0;
	for (uint32_t i = 0; i < n; i++) {
		int ret = 0;

		built[i] = vss[i];
		if (vss[i].hlpr != NULL) {
			built[i].iv = NULL;
			ret = vss[i].hlpr(voi_dt, &built[i], vss[i].hlprinfo);
		}
		if (ret == 0)
			ret = spec_check(&built[i], voi_dt);
		if (ret != 0)
			return ret;
		*size += built[i].vsdsz;
		if (*size > KS_SB_MAX)
			return EFBIG;
	}
	return 0;
}

/* Sizes of a blob after a VOI is added. */
struct growth {
	size_t vois;  /* VOI slots in all */
	size_t slots; /* statistic slots of the new VOI */
	size_t data;  /* bytes of data of the new VOI */
	size_t size;  /* of the blob */
	size_t shift; /* of the old VOIs' statistic slots */
};

/* Writes the new VOI's slots and data in front of the older ones. */
static void
image_put_voi(struct ks_sb *new, const struct growth *g, int32_t id, unsigned dt, uint32_t n,
    const struct voistatspec *built, uint32_t flags)
{
	struct ks_voi *voi = ks_sb_voi(new, (uint32_t)id);
	size_t off = new->statsdata_off;
	struct ks_vs *vs;

	voi->id = (int16_t)id;
	voi->dtype = (uint8_t)dt;
	voi->maxstat = (int8_t)(g->slots - 1);
	voi->stats_off = new->stats_off;
	voi->flags = (flags & SB_VOI_RELUPDATE) != 0 ? KS_VOI_REL : 0;
	for (size_t i = 0; i < g->slots; i++)
		ks_sb_vs(new, voi, (int)i)->stype = -1;
	if (voi->flags & KS_VOI_REL) {
		vs = ks_sb_vs(new, voi, VS_STYPE_VOISTATE);
		*vs = (struct ks_vs){ .data_off = (uint16_t)off, .dsz = 8 };
		off += 8;
	}
	for (uint32_t i = 0; i < n; i++) {
		vs = ks_sb_vs(new, voi, built[i].stype);
		*vs = (struct ks_vs){ .stype = (int8_t)built[i].stype,
			.dtype = (uint8_t)built[i].vs_dtype, .data_off = (uint16_t)off,
			.dsz = (uint16_t)built[i].vsdsz };
		memcpy((unsigned char *)new + off, built[i].iv, built[i].vsdsz);
		off += built[i].vsdsz;
	}
}

static struct ks_sb *
image_grow(const struct ks_sb *old, const struct growth *g)
{
	struct ks_sb *new = image_new(g->size);
	size_t oldslots = old->statsdata_off - old->stats_off;
	uint32_t oldvois = ks_sb_nvois(old);

	if (new == NULL)
		return NULL;
	new->stats_off = (uint16_t)(sizeof(*new) + g->vois * sizeof(struct ks_voi));
	new->statsdata_off = (uint16_t)(new->stats_off + g->slots * sizeof(struct ks_vs) + oldslots);
	for (uint32_t i = 0; i < g->vois; i++) {
		struct ks_voi *voi = ks_sb_voi(new, i);

		if (i < oldvois)
			*voi = *ks_sb_voi(old, i);
		else
			*voi = (struct ks_voi){ .id = -1, .maxstat = -1 };
		if (voi->id >= 0)
			voi->stats_off = (uint16_t)(voi->stats_off + g->shift);
	}
	memcpy((char *)new + new->stats_off + g->slots * sizeof(struct ks_vs),
	    (const char *)old + old->stats_off, oldslots);
	for (uint32_t i = 0; i < oldvois; i++) {
		const struct ks_voi *voi = ks_sb_voi(new, i);

		for (int st = 0; voi->id >= 0 && st <= voi->maxstat; st++) {
			struct ks_vs *vs = ks_sb_vs(new, voi, st);

			if (vs->stype >= 0)
				vs->data_off = (uint16_t)(vs->data_off + g->shift + g->data);
		}
	}
	memcpy((char *)new + new->statsdata_off + g->data, (const char *)old + old->statsdata_off,
	    (size_t)old->cursz - old->statsdata_off);
	return new;
}

/* The caller holds the lock. */
static int
tpl_add(struct statsblob_tpl *t, int32_t id, const char *name, unsigned dt, uint32_t n,
    const struct voistatspec *built, size_t datasz, uint32_t flags)
{
	const struct ks_sb *old = t->image;
	uint32_t oldvois = ks_sb_nvois(old);
	struct ks_sb *new, *scratch;
	struct growth g = { 0 };
	char **names, *copy;

	if (ks_sb_find(old, id) != NULL)
		return EOPNOTSUPP;
	for (uint32_t i = 0; name[0] != '\0' && i < oldvois; i++) {
		if (ks_sb_voi(old, i)->id >= 0 && strcmp(t->voi_names[i], name) == 0)
			return EEXIST;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (g.slots <= (size_t)built[i].stype)
			g.slots = (size_t)built[i].stype + 1;
	}
	g.vois = (uint32_t)id >= oldvois ? (size_t)id + 1 : oldvois;
	g.data = datasz + ((flags & SB_VOI_RELUPDATE) != 0 ? 8 : 0);
	g.shift = (g.vois - oldvois) * sizeof(struct ks_voi) + g.slots * sizeof(struct ks_vs);
	g.size = old->cursz + g.shift + g.data;
	if (g.size > KS_SB_MAX)
		return EFBIG;
	names = realloc(t->voi_names, g.vois * sizeof(*names));
	if (names == NULL)
		return ENOMEM;
	for (size_t i = oldvois; i < g.vois; i++)
		names[i] = NULL;
	t->voi_names = names;
	copy = strdup(name);
	new = image_grow(old, &g);
	scratch = malloc(g.size);
	if (copy == NULL || new == NULL || scratch == NULL) {
		free(copy);
		free(new);
		free(scratch);
		return ENOMEM;
	}
	image_put_voi(new, &g, id, dt, n, built, flags);
	names[id] = copy;
	new->tplhash = image_hash(t, new, names, scratch);
	free(scratch);
	t->planned = false;
	free(t->image);
	t->image = new;
	return 0;
}

/* Returns whether a VOI of the template has that name, type and flag, and these very statistics. */
static bool
voi_equals(const struct statsblob_tpl *t, int32_t id, const char *name, unsigned dt, uint32_t n,
    const struct voistatspec *built, uint32_t flags)
{
	const struct ks_voi *voi = ks_sb_find(t->image, id);
	bool rel = (flags & SB_VOI_RELUPDATE) != 0;
	uint32_t found = 0;

	if (voi == NULL || strcmp(t->voi_names[id], name) != 0 || voi->dtype != dt ||
	    ((voi->flags & KS_VOI_REL) != 0) != rel)
		return false;
	for (int st = 0; st <= voi->maxstat; st++)
		found += st != VS_STYPE_VOISTATE && ks_sb_find_vs(t->image, voi, st) != NULL;
	for (uint32_t i = 0; i < n; i++) {
		const struct ks_vs *vs = ks_sb_find_vs(t->image, voi, (int)built[i].stype);

		if (vs == NULL || vs->dtype != built[i].vs_dtype || vs->dsz != built[i].vsdsz ||
		    memcmp(ks_sb_data(t->image, vs), built[i].iv, vs->dsz) != 0)
			return false;
	}
	return found == n;
}

/* As stats_tpl_add_voistats(); `again`: a VOI that is there already in the same form is no failure. */
static int
add_voistats(uint32_t tpl_id, int32_t voi_id, const char *voi_name, enum vsd_dtype voi_dtype,
    uint32_t nvss, struct voistatspec *vss, uint32_t flags, bool again)
{
	struct voistatspec *built;
	struct statsblob_tpl *t;
	size_t datasz;
	int ret;

	if (voi_id < 0 || voi_name == NULL || !ks_dtype_is_voi(voi_dtype) || nvss == 0 ||
	    vss == NULL || (flags & ~(uint32_t)SB_VOI_RELUPDATE) != 0)
		return EINVAL;
	if (nvss > KS_SB_MAX || voi_id > INT16_MAX)
		return EFBIG;
	built = calloc(nvss, sizeof(*built));
	if (built == NULL)
		return ENOMEM;
	ret = specs_build(voi_dtype, nvss, vss, built, &datasz);
	ks_tpl_lock();
	t = ks_tpl_get(tpl_id);
	if (t == NULL)
		ret = EINVAL;
	else if (ret == 0 && !(again && voi_equals(t, voi_id, voi_name, voi_dtype, nvss, built, flags)))
		ret = tpl_add(t, voi_id, voi_name, voi_dtype, nvss, built, datasz, flags);
	ks_tpl_unlock();
	for (uint32_t i = 0; i < nvss; i++) {
		if (built[i].hlpr != NULL)
			free(built[i].iv);
	}
	free(built);
	return ret;
}

int
stats_tpl_add_voistats(uint32_t tpl_id, int32_t voi_id, const char *voi_name,
    enum vsd_dtype voi_dtype, uint32_t nvss, struct voistatspec *vss, uint32_t flags)
{
	return add_voistats(tpl_id, voi_id, voi_name, voi_dtype, nvss, vss, flags, false);
}

int
ks_tpl_ensure_voistats(uint32_t tpl_id, int32_t voi_id, const char *voi_name,
    enum vsd_dtype voi_dtype, uint32_t nvss, struct voistatspec *vss, uint32_t flags)
{
	return add_voistats(tpl_id, voi_id, voi_name, voi_dtype, nvss, vss, flags, true);
}
