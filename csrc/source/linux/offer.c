/*
 * offer.c - offers the kstats of all units: their names, and what their headers say.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/printable.h"
#include "model/illumos.h"
#include "model/raw_layout.h"
#include "source/linux/linux.h"

/*
 * Writes the module or the name of a kstat, fit to be printed. Returns true if this was cut or cleaned, so that the
 * name of another device may have become the same.
 */
static bool
expand(char to[KSTAT_STRLEN], const char *pattern, const char *at, int instance)
{
	size_t n = 0;

	for (; *pattern != '\0' && n < KSTAT_STRLEN - 1; pattern++) {
		char number[KS_NUMBER_MAX];
		const char *s = *pattern == '@' ? at : number;
		size_t len;

		if (*pattern != '@' && *pattern != '#') {
			to[n++] = *pattern;
			continue;
		}
		len = s == at ? strlen(at) : ks_format_i64(number, instance);
		len = len < KSTAT_STRLEN - 1 - n ? len : KSTAT_STRLEN - 1 - n;
		memcpy(to + n, s, len);
		n += len;
	}
	to[n] = '\0';
	if (ks_is_printable(to, n))
		return n == KSTAT_STRLEN - 1;
	ks_clean_text(to, n);
	return true;
}

static bool
is_hash(const void *hashes, uint32_t slot, const void *hash)
{
	return ((const uint64_t *)hashes)[slot] == *(const uint64_t *)hash;
}

/*
 * Names may be cut or cleaned ones. One that an earlier such kstat of this scan has is made distinct by a hash of
 * what names its device. Returns 0, or -1 without memory.
 */
static int
make_distinct(struct ks_linux *lx, const char *module, int instance, char name[KSTAT_STRLEN],
    const struct ks_part *part, const struct ks_unit *unit)
{
	struct ks_long_names *l = &lx->long_names;
	uint64_t hash = ks_hash_string(ks_hash_string(KS_HASH_INIT, module), name) + (uint64_t)instance;

	if (ks_table_find(&l->by_hash, hash, is_hash, l->hash, &hash) != KS_NO_SLOT) {
		hash = ks_hash_string(ks_hash_string(KS_HASH_INIT, unit->key), part->name);
		(void)snprintf(name + strnlen(name, KSTAT_STRLEN - 10), 10, "~%08x", (unsigned)(hash ^ hash >> 32));
		return 0;
	}
	if (!KS_RESERVE(l->hash, l->cap, l->n + 1) || !ks_table_add(&l->by_hash, hash, (uint32_t)l->n))
		return ks_fail(ENOMEM, "out of memory");
	l->hash[l->n++] = hash;
	return 0;
}

const struct ks_shape *
ks_linux_shape_of(struct ks_linux *lx, size_t sub, size_t p)
{
	const struct ks_part *part = &ks_linux_subsystem(sub)->parts[p];
	struct ks_shape *shape = &lx->sub[sub].shape[p];
	const char *list;
	size_t listed;
	bool made = true;

	if (shape->n > 0 || part->type != KSTAT_TYPE_NAMED)
		return shape;
	list = ks_illumos_stats(part->module, part->name, part->class_);
	shape->retypes = list != NULL && part->fields == NULL;
	if (list != NULL)
		made = ks_shape_add_list(shape, list);
	listed = shape->n;
	for (const struct ks_field *f = part->fields; made && f != NULL && f->meta.stat != NULL; f++)
		made = ks_shape_add(shape, listed, f->meta.stat, strlen(f->meta.stat), f->data);
	if (made)
		return shape;
	ks_shape_free(shape);
	return NULL;
}

#define STRING_ROOM 128 /* bytes of each text on the average; see also ks_unit.long_texts */

/* What the headers of all kstats of a part have in common. */
struct template {
	uchar_t flags;
	uint_t ndata;
	size_t size;
};

/*
 * The size of NAMED kstats whose files name the statistics is not known before a read. Strings that are not in the
 * shape are noticed then, too.
 */
static struct template
template_of(const struct ks_linux *lx, const struct ks_part *part, const struct ks_shape *shape)
{
	struct template t = { .ndata = 1, .size = part->size };

	if (part->type == KSTAT_TYPE_RAW) {
		t.size += lx->for_program ? 0 : KS_RAW_MARKS;
		t.ndata = (uint_t)t.size;
	}
	if (part->type != KSTAT_TYPE_NAMED)
		return t;
	t = (struct template){ .flags = shape->nstrings > 0 ? KSTAT_FLAG_LONGSTRINGS : 0, .ndata = (uint_t)shape->n,
		.size = shape->n * sizeof(kstat_named_t) + shape->nstrings * STRING_ROOM };
	if (part->fields == NULL || part->meta != NULL)
		t = (struct template){ .flags = (uchar_t)(t.flags | KSTAT_FLAG_VAR_SIZE) };
	return t;
}

static int
offer(struct ks_linux *lx, struct ks_scan *scan, const struct ks_part *part, const struct template *t,
    const struct ks_unit *unit, uint64_t cookie)
{
	char module[KSTAT_STRLEN], name[KSTAT_STRLEN];

	(void)expand(module, part->module, unit->module, unit->instance);
	if (expand(name, part->name, unit->name, unit->instance) &&
	    make_distinct(lx, module, unit->instance, name, part, unit) != 0)
		return -1;
	return ks_scan_offer(scan, &(struct ks_offer){
	    .module = module,
	    .instance = unit->instance,
	    .name = name,
	    .class_ = part->class_,
	    .type = part->type,
	    .flags = t->flags,
	    .crtime = unit->crtime,
	    .ndata = t->ndata,
	    .data_size = t->size > 0 && (t->flags & KSTAT_FLAG_LONGSTRINGS) != 0 ? t->size + unit->long_texts : t->size,
	    .cookie = cookie,
	});
}

/* A cookie is the subsystem, the part and the unit's slot. */
static uint64_t
cookie_of(size_t sub, size_t part, size_t slot)
{
	return (uint64_t)sub << 48 | (uint64_t)part << 32 | slot;
}

int
ks_linux_offer_all(struct ks_linux *lx, struct ks_scan *scan)
{
	lx->long_names.n = 0;
	ks_table_clear(&lx->long_names.by_hash);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_subsystem *sub = ks_linux_subsystem(s);
		const struct ks_units *units = &lx->sub[s].units;
		struct template t[KS_UNIT_PARTS];

		for (size_t p = 0; units->n > 0 && p < sub->nparts; p++) {
			const struct ks_shape *shape = ks_linux_shape_of(lx, s, p);

			if (shape == NULL)
				return ks_fail(ENOMEM, "out of memory");
			t[p] = template_of(lx, &sub->parts[p], shape);
		}
		for (size_t u = 0; u < units->n; u++) {
			for (size_t p = 0; units->v[u].alive && p < sub->nparts; p++) {
				if (((units->v[u].parts & lx->sub[s].wanted) >> p & 1) != 0 &&
				    offer(lx, scan, &sub->parts[p], &t[p], &units->v[u], cookie_of(s, p, u)) != 0)
					return -1;
			}
		}
	}
	return 1;
}
