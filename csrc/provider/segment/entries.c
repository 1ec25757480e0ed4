/*
 * entries.c - kstats in a segment: created, installed and deleted. See segment.h and
 * segment_layout.h. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "model/meta.h"
#include "provider/segment/space.h"

/* What kstat_publish_latency() takes where nothing is given. */
#define DEFAULT_SCALE 5u /* so a percentile is wrong by at most 1.1 % */
#define SHORTEST_NS 1000u
#define LONGEST_NS 1000000000000u
#define LARGEST (1ULL << 40) /* of what is no time */

/* --- installing and deleting ----------------------------------------------------------------------------------- */

/* Readers see an odd number while entries change, and look again. */
static void
begin_change(struct ks_seg_header *h)
{
	atomic_store(&h->changes, atomic_load(&h->changes) | 1);
}

static void
end_change(struct ks_seg_header *h)
{
	atomic_store(&h->changes, (atomic_load(&h->changes) | 1) + 1);
}

static int
install_image(struct ks_provider *p, struct ks_seg_image *im)
{
	struct kstat_pub *pub = p->published->pub;
	struct ks_seg_header *h = pub->header;
	struct ks_seg_entry *e = NULL, *other = NULL;
	uint64_t v = ks_word_lock(&h->lock);
	int rc;

	if (v == KS_WORD_BUSY)
		return -1;
	begin_change(h);
	rc = ks_seg_index_update(pub);
	if (rc == 0) {
		e = ks_seg_find_entry(pub, &im->e, &other);
		if (e == NULL)
			e = ks_seg_place(pub, im);
	}
	if (e != NULL) {
		if (other != NULL)
			atomic_store(&other->state, KS_SEG_REPLACED);
		atomic_store(&e->state, KS_SEG_INSTALLED);
		rc = ks_seg_index_update(pub);
	}
	end_change(h);
	ks_word_abort(&h->lock, v);
	if (e == NULL)
		return -1;
	/* The kstat keeps its layout to itself: the image gives up its fields. */
	p->published->entry = e;
	p->published->e = im->e;
	p->published->fields = (struct ks_seg_field *)(void *)im->fields.data;
	im->fields = (struct ks_buf)KS_BUF_INIT;
	return 0;
}

/* Sets the kstat_t to what the entry is, and gives up the template. */
static void
attach(struct ks_provider *p)
{
	struct ks_seg_entry *e = p->published->entry;

	p->ks.ks_crtime = e->crtime;
	p->ks.ks_flags &= (uchar_t)~(KSTAT_FLAG_INVALID | KSTAT_FLAG_DORMANT);
	if (p->histogram != NULL) {
		p->histogram->place.log = p->published->e.log;
		p->histogram->place.hist = (struct ks_hist *)((char *)e + p->published->e.data);
	}
	if (p->owns_data)
		free(p->ks.ks_data);
	p->owns_data = false;
	p->ks.ks_data = NULL;
}

int
ks_published_install(struct ks_provider *p)
{
	struct ks_seg_image im;
	int rc, error;

	for (int i = 0; i < KS_QUEUE_TIMES; i++) {
		kstat2_t *times = p->published->times[i];

		if (times != NULL && (times->ks_flags & KSTAT_FLAG_INVALID) &&
		    ks_published_install((struct ks_provider *)times) != 0)
			return -1;
	}
	ks_publish_lock();
	rc = ks_seg_image_make(&im, p);
	if (rc == 0)
		rc = install_image(p, &im);
	if (rc == 0)
		attach(p);
	error = errno;
	ks_seg_image_free(&im);
	ks_publish_unlock();
	errno = error;
	return rc;
}

/* Looks for the installed kstat of that name, and with `remove` deletes it. As kstat_publish_exists(). */
static int
find_installed(struct kstat_pub *pub, const char *module, int instance, const char *name, bool remove)
{
	struct ks_seg_entry like = { .instance = instance }, *e = NULL;
	uint64_t v;
	int rc;

	if (pub == NULL || module == NULL || name == NULL || strlen(module) >= KSTAT_STRLEN ||
	    strlen(name) >= KSTAT_STRLEN)
		return ks_fail(EINVAL, "a segment, and names of at most %d bytes are needed", KSTAT_STRLEN - 1);
	strcpy(like.module, module);
	strcpy(like.name, name);
	ks_publish_lock();
	v = ks_word_lock(&pub->header->lock);
	rc = v == KS_WORD_BUSY ? -1 : ks_seg_index_update(pub);
	if (rc == 0) {
		/* No entry has the size 0, so all entries of that name have another layout. */
		(void)ks_seg_find_entry(pub, &like, &e);
		rc = e != NULL && atomic_load(&e->state) == KS_SEG_INSTALLED;
	}
	if (rc > 0 && remove) {
		begin_change(pub->header);
		ks_seg_free_entry(pub, e, gethrtime());
		end_change(pub->header);
	}
	if (v != KS_WORD_BUSY)
		ks_word_abort(&pub->header->lock, v);
	ks_publish_unlock();
	return rc;
}

int
kstat_publish_exists(kstat_pub_t *pub, const char *ks_module, int ks_instance, const char *ks_name)
{
	return find_installed(pub, ks_module, ks_instance, ks_name, false);
}

int
kstat_publish_remove(kstat_pub_t *pub, const char *ks_module, int ks_instance, const char *ks_name)
{
	return find_installed(pub, ks_module, ks_instance, ks_name, true);
}

const volatile hrtime_t *
kstat_publish_crtime(const kstat_t *ksp)
{
	const struct ks_provider *p = (const struct ks_provider *)ksp;

	if (ksp == NULL || p->published == NULL || p->published->entry == NULL)
		return ks_fail_null(EINVAL, "the kstat is not published");
	return (const volatile hrtime_t *)(const volatile void *)&p->published->entry->crtime;
}

void
ks_published_delete(struct ks_provider *p)
{
	struct ks_seg_entry *e = p->published->entry;
	struct ks_seg_header *h = p->published->pub->header;
	uint64_t v;

	for (int i = 0; i < KS_QUEUE_TIMES; i++) {
		if (p->published->times[i] != NULL)
			ks_published_delete((struct ks_provider *)p->published->times[i]);
	}
	ks_publish_lock();
	v = e != NULL ? ks_word_lock(&h->lock) : KS_WORD_BUSY;
	if (v != KS_WORD_BUSY) {
		begin_change(h);
		if (e->crtime != p->ks.ks_crtime) {
			; /* Somebody removed it before, and another kstat may lie there by now. */
		} else if (atomic_load(&e->state) == KS_SEG_INSTALLED &&
		    (p->published->e.flags & KSTAT_FLAG_PERSISTENT)) {
			atomic_store(&e->state, KS_SEG_DORMANT);
		} else if (atomic_load(&e->state) == KS_SEG_INSTALLED) {
			ks_seg_free_entry(p->published->pub, e, gethrtime());
		}
		end_change(h);
		ks_word_abort(&h->lock, v);
	}
	ks_published_free(p->published);
	ks_publish_unlock();
}

/* --- creating ------------------------------------------------------------------------------------------------------ */

/* Enters a kstat into the segment's list. NULL with errno; p is freed then. */
static kstat_t *
enlist(struct kstat_pub *pub, struct ks_provider *p)
{
	struct ks_published *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		ks_provider_free(p);
		return ks_fail_null(ENOMEM, "out of memory for a kstat");
	}
	d->pub = pub;
	d->provider = p;
	d->shards = 1;
	p->published = d;
	ks_publish_lock();
	d->next = pub->kstats;
	pub->kstats = d;
	ks_publish_unlock();
	return &p->ks;
}

kstat_t *
kstat_publish_create(kstat_pub_t *pub, const char *ks_module, int ks_instance,
    const char *ks_name, const char *ks_class, uchar_t ks_type, uint_t ks_ndata, uchar_t ks_flags)
{
	struct ks_provider *p;

	if (pub == NULL || (ks_flags & (KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE)) != 0)
		return ks_fail_null(EINVAL, "a published kstat is neither VIRTUAL nor VAR_SIZE");
	p = ks_provider_new(ks_module, ks_instance, ks_name, ks_class, ks_type, ks_ndata, ks_flags);
	if (p == NULL)
		return NULL;
	p->ks.ks_data = calloc(1, p->ks.ks_data_size == 0 ? 1 : p->ks.ks_data_size);
	p->owns_data = true;
	if (p->ks.ks_data == NULL) {
		ks_provider_free(p);
		return ks_fail_null(ENOMEM, "out of memory for the data of a kstat");
	}
	return enlist(pub, p);
}

kstat2_t *
kstat2_publish_histogram(kstat_pub_t *pub, const char *ks_pseg[], uint32_t ks_npseg,
    kstat2_nv_hist_type_t type, kstat2_nv_metatype_t content_type, uint64_t scale,
    kstat2_nv_metaflag_t md_flags, uint64_t range_min, uint64_t range_max, uint64_t stepping,
    uint32_t ks_flags, const char *desc, kstat2_metaflag_t ks_mflags)
{
	kstat2_md_t md = { .md_type = content_type, .md_flags = md_flags, .md_scale = scale,
		.md_kind = KSTAT2_NVMK_COUNTER, .md_desc = desc };
	kstat2_path_t path;
	struct ks_provider *p;

	if (pub == NULL)
		return ks_fail_null(EINVAL, "no segment given");
	if (kstat2_parse_path((const char *const *)ks_pseg, ks_npseg, &path) != 0)
		return NULL;
	if ((ks_mflags & KSTAT2_MF_PRIV) && !(pub->flags & KSTAT_PUBLISH_PRIV))
		return ks_fail_null(EPERM, "a PRIV kstat needs a segment published with KSTAT_PUBLISH_PRIV");
	p = ks_histogram_new(&path, type, range_min, range_max, stepping, &md, ks_flags, ks_mflags);
	return p != NULL ? enlist(pub, p) : NULL;
}

kstat2_t *
kstat_publish_latency(kstat_pub_t *pub, const char *ks_module, int ks_instance, const char *ks_name,
    const char *ks_class, uchar_t ks_flags, const kstat2_md_t *md, int scale, uint64_t lowest, uint64_t highest)
{
	static const kstat2_md_t time = { .md_type = KSTAT2_NVMT_T_REL, .md_flags = KSTAT2_NVMF_FRACT,
		.md_scale = KS_NANOSEC, .md_kind = KSTAT2_NVMK_COUNTER };
	kstat2_path_t path = { .p_instance = ks_instance };
	kstat2_md_t m = md != NULL ? *md : time;
	uint64_t ns = ks_md_unit_ns(&m);
	struct ks_provider *p;

	if (pub == NULL || ks_module == NULL || ks_name == NULL)
		return ks_fail_null(EINVAL, "a segment, a module and a name are needed");
	(void)snprintf(path.p_module, sizeof(path.p_module), "%s", ks_module);
	(void)snprintf(path.p_name, sizeof(path.p_name), "%s", ks_name);
	(void)snprintf(path.p_class, sizeof(path.p_class), "%s", ks_class != NULL ? ks_class : "histogram");
	m.md_kind = KSTAT2_NVMK_COUNTER;
	if (lowest == 0)
		lowest = ns != 0 && ns < SHORTEST_NS ? SHORTEST_NS / ns : 1;
	if (highest == 0)
		highest = ns != 0 ? LONGEST_NS / ns : LARGEST;
	p = ks_histogram_new(&path, KSTAT2_NVHIST_EXPONENTIAL, lowest, highest,
	    scale < 0 ? DEFAULT_SCALE : (uint64_t)scale, &m, ks_flags, 0);
	return p != NULL ? enlist(pub, p) : NULL;
}

int
kstat_publish_label(kstat2_t *ksp, const char *name, const char *value)
{
	struct ks_provider *p = (struct ks_provider *)ksp;
	struct ks_histogram *h = ksp != NULL && p->published != NULL ? p->histogram : NULL;
	struct ks_label label = { .value = NULL };

	if (h == NULL || p->published->entry != NULL)
		return ks_fail(EINVAL, "kstat_publish_label() is for published histograms that are not installed");
	if (name == NULL || *name == '\0' || strlen(name) >= KSTAT_STRLEN || value == NULL ||
	    strlen(value) > KS_SEG_MOST_LABEL)
		return ks_fail(EINVAL, "a label has a name of 1 to %d bytes and a text of at most %u", KSTAT_STRLEN - 1,
		    KS_SEG_MOST_LABEL);
	for (size_t i = 0; i < h->nlabels; i++) {
		if (strcmp(h->labels[i].name, name) == 0)
			return ks_fail(EINVAL, "%s: two labels of that name", name);
	}
	if (ks_meta_has_histogram(name))
		return ks_fail(EINVAL, "%s: a label cannot have the name of a key or a statistic of histograms", name);
	label.value = strdup(value);
	if (label.value == NULL || !KS_RESERVE(h->labels, h->labels_cap, h->nlabels + 1)) {
		free(label.value);
		return ks_fail(ENOMEM, "out of memory for a label");
	}
	(void)strcpy(label.name, name);
	h->labels[h->nlabels++] = label;
	ksp->ks_ndata++;
	return 0;
}

/* A kstat of a segment that is not installed yet, or NULL with errno EINVAL. */
static struct ks_provider *
unfinished(kstat_t *ksp, uchar_t type, const char *what)
{
	struct ks_provider *p = (struct ks_provider *)ksp;

	if (ksp == NULL || p->published == NULL || p->published->entry != NULL ||
	    ksp->ks_type != type || p->histogram != NULL)
		return ks_fail_null(EINVAL, "%s is for published kstats of another type or state", what);
	return p;
}

int
kstat_publish_shards(kstat_t *ksp, uint_t n)
{
	uchar_t type = ksp != NULL && ksp->ks_type == KSTAT_TYPE_INTR ? KSTAT_TYPE_INTR :
	    KSTAT_TYPE_NAMED;
	struct ks_provider *p = unfinished(ksp, type, "kstat_publish_shards()");

	if (p == NULL)
		return -1;
	if (n == 0 || n > KS_SEG_MOST_SHARDS)
		return ks_fail(EINVAL, "1 to %u shards are possible, not %u", KS_SEG_MOST_SHARDS, n);
	p->published->shards = n;
	return 0;
}

void
ks_publish_dense(kstat_t *ksp)
{
	((struct ks_provider *)ksp)->published->is_dense = true;
}

int
kstat_publish_layout(kstat_t *ksp, const char *layout, int memory)
{
	struct ks_provider *p = unfinished(ksp, KSTAT_TYPE_RAW, "kstat_publish_layout()");

	if (p == NULL)
		return -1;
	if (layout == NULL || strlen(layout) >= sizeof(p->published->layout))
		return ks_fail(EINVAL, "the name of a layout has at most %zu bytes",
		    sizeof(p->published->layout) - 1);
	strcpy(p->published->layout, layout);
	p->published->bytes = memory != 0;
	return 0;
}
