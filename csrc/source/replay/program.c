/*
 * program.c - what programs in C that know kstats from illumos get of a replay beyond what the file has: the records
 * of illumos, whole, in its order and with its types, and in the first CPU what Linux counts for the machine alone.
 * A capture tells neither order nor types, and a recording may be of a version that did not have all of this.
 * SPDX-License-Identifier: MIT
 */
#include "source/replay/reader.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "model/illumos.h"
#include "model/raw_layout.h"

/* --- order --------------------------------------------------------------------------- */

bool
ks_program_is_late(const struct ks_replay *r, const struct ks_store_kstat *k)
{
	const char *module = ks_store_text(&r->sample, k->module);

	return k->type == KSTAT_TYPE_IO && ks_illumos_is_late(module, strlen(module));
}

/* --- kstats that are 0 --------------------------------------------------------------- */

/* Kstats of module unix that Linux has for programs in C alone, so that its captures have none of them. */
static const struct {
	const char *name, *class_;
	uchar_t type;
} zeros[] = {
	{ "dnlcstats", "misc", KSTAT_TYPE_NAMED }, { "biostats", "misc", KSTAT_TYPE_NAMED },
	{ "vminfo", "vm", KSTAT_TYPE_RAW }, { "ncstats", "misc", KSTAT_TYPE_RAW },
};

#define ZEROS (sizeof(zeros) / sizeof(zeros[0]))
#define ZERO_COOKIE ((uint64_t)1 << 32) /* that of the first of them; a sample has fewer kstats */

bool
ks_program_has(uint64_t cookie)
{
	return cookie >= ZERO_COOKIE && cookie - ZERO_COOKIE < ZEROS;
}

/* The kstat of module unix with that name; NULL if the sample does not have it. */
static const struct ks_store_kstat *
find_unix(const struct ks_store *s, const char *name)
{
	for (size_t i = 0; i < s->nkstats; i++) {
		if (strcmp(ks_store_text(s, s->kstat[i].name), name) == 0 &&
		    strcmp(ks_store_text(s, s->kstat[i].module), "unix") == 0)
			return &s->kstat[i];
	}
	return NULL;
}

int
ks_program_read(const struct ks_replay *r, uint64_t cookie, struct ks_record *record)
{
	size_t i = (size_t)(cookie - ZERO_COOKIE);
	const struct ks_shape *shape;

	record->snaptime = r->newest;
	if (zeros[i].type == KSTAT_TYPE_RAW)
		(void)ks_record_add(record, ks_raw_layout_find("unix", zeros[i].name)->size);
	else if (ks_illumos_shape("unix", zeros[i].name, zeros[i].class_, &shape) != 0)
		return -1;
	else
		ks_shape_apply(shape, record, true);
	return 0;
}

/* Stores the number and the size of the data records that were read. -1 with errno. */
static int
measure(const struct ks_record *record, struct ks_offer *offer)
{
	const kstat_named_t *kn = (const kstat_named_t *)(const void *)record->fixed.data;

	if (ks_record_failed(record))
		return ks_fail(ENOMEM, "out of memory");
	offer->data_size = ks_record_size(record);
	offer->ndata = offer->type == KSTAT_TYPE_RAW ? (uint_t)offer->data_size : record->ndata;
	offer->nforeign = 0;
	for (uint_t i = 0; offer->type == KSTAT_TYPE_NAMED && i < record->ndata; i++)
		offer->nforeign += ks_named_is_foreign(kn[i].data_type);
	return 0;
}

int
ks_program_offer(struct ks_replay *r, struct ks_scan *scan)
{
	struct ks_record record = KS_RECORD_INIT;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ZEROS; i++) {
		struct ks_offer offer = { .module = "unix", .name = zeros[i].name, .class_ = zeros[i].class_,
			.type = zeros[i].type, .cookie = ZERO_COOKIE + i };

		if (find_unix(&r->sample, offer.name) != NULL)
			continue;
		ks_record_reset(&record);
		if (ks_program_read(r, offer.cookie, &record) != 0 || measure(&record, &offer) != 0 ||
		    ks_scan_offer(scan, &offer) != 0)
			rc = -1;
	}
	ks_record_free(&record);
	return rc;
}

/* --- the first CPU --------------------------------------------------------------------- */

/* True if no CPU of the sample has a lower number. */
static bool
is_first(const struct ks_store *s, const struct ks_store_kstat *k)
{
	const char *module = ks_store_text(s, k->module);

	for (size_t i = 0; i < s->nkstats; i++) {
		if (s->kstat[i].instance < k->instance && strcmp(ks_store_text(s, s->kstat[i].module), module) == 0)
			return false;
	}
	return true;
}

/* Adds a number of the machine to the NAMED data of its first CPU, unless the CPU has one of its own. */
static void
add_to_named(struct ks_record *record, const kstat_named_t *from)
{
	kstat_named_t *kn = (kstat_named_t *)(void *)record->fixed.data;

	for (uint_t i = 0; i < record->ndata; i++, kn++) {
		if (ks_named_is_hidden(kn) && strcmp(kn->name, from->name) == 0 && kn->data_type == from->data_type)
			kn->value = from->value;
	}
}

/* The same for a cpu_stat_t, all of whose counters have 32 bits. */
static void
add_to_structure(struct ks_record *record, const struct ks_raw_layout *l, const kstat_named_t *from)
{
	const struct ks_value v = { .kind = KS_VALUE_U64, .bits = 64, .u64 = from->value.ui64 };
	uint32_t own;

	for (const struct ks_raw_field *f = l->fields; f->name != NULL; f++) {
		memcpy(&own, record->fixed.data + f->offset, sizeof(own));
		if (own == 0 && f->type == KS_RAW_U32 && strcmp(f->name, from->name) == 0)
			ks_raw_set(record->fixed.data, f, &v);
	}
}

/* Adds what unix:0:`name`, which only Linux has, counts for the machine alone. `l` is that of a structure. */
static void
add_machine(const struct ks_replay *r, const char *name, const struct ks_raw_layout *l,
    struct ks_record *record)
{
	const struct ks_store *s = &r->sample;
	const struct ks_store_kstat *k = find_unix(s, name);
	struct ks_record machine = KS_RECORD_INIT;
	const kstat_named_t *kn;

	if (k == NULL || !k->readable || k->type != KSTAT_TYPE_NAMED || ks_store_read(s, k, &machine) != 0)
		return;
	kn = (const kstat_named_t *)(const void *)machine.fixed.data;
	for (uint_t i = 0; !ks_record_failed(&machine) && i < machine.ndata; i++) {
		if (kn[i].data_type == KSTAT_DATA_UINT64 && l != NULL)
			add_to_structure(record, l, &kn[i]);
		else if (kn[i].data_type == KSTAT_DATA_UINT64)
			add_to_named(record, &kn[i]);
	}
	ks_record_free(&machine);
}

int
ks_program_complete(const struct ks_replay *r, const struct ks_store_kstat *k, struct ks_record *record)
{
	const struct ks_store *s = &r->sample;
	const char *module = ks_store_text(s, k->module), *name = ks_store_text(s, k->name);
	bool is_stat = k->type == KSTAT_TYPE_RAW && strcmp(module, "cpu_stat") == 0;
	bool is_cpu = k->type == KSTAT_TYPE_NAMED && strcmp(module, "cpu") == 0;
	const struct ks_shape *shape = NULL;

	if (k->type == KSTAT_TYPE_NAMED && ks_illumos_shape(module, name, ks_store_text(s, k->class_), &shape) != 0)
		return -1;
	if (shape != NULL)
		ks_shape_apply(shape, record, true);
	if (k->type == KSTAT_TYPE_RAW && ks_store_layout(s, k) != NULL)
		record->fixed.len = ks_store_layout(s, k)->size; /* without marks of hidden fields */
	if (ks_record_failed(record) || !(is_stat || is_cpu) || !is_first(s, k))
		return 0;
	if (is_cpu) {
		add_machine(r, name, NULL, record);
	} else {
		add_machine(r, "sys", ks_raw_layout_find(module, name), record);
		add_machine(r, "vm", ks_raw_layout_find(module, name), record);
	}
	return 0;
}

int
ks_program_measure(const struct ks_replay *r, const struct ks_store_kstat *k, struct ks_offer *offer)
{
	const struct ks_shape *shape = NULL;
	struct ks_record record = KS_RECORD_INIT;
	int rc;

	if (k->type == KSTAT_TYPE_RAW && ks_store_layout(&r->sample, k) != NULL && offer->data_size > 0)
		offer->ndata = (uint_t)(offer->data_size = ks_store_layout(&r->sample, k)->size);
	if (k->type != KSTAT_TYPE_NAMED)
		return 0;
	if (ks_illumos_shape(offer->module, offer->name, offer->class_, &shape) != 0)
		return -1;
	if (shape == NULL)
		return 0;
	rc = ks_store_read(&r->sample, k, &record);
	ks_shape_apply(shape, &record, true);
	if (rc == 0)
		rc = measure(&record, offer);
	ks_record_free(&record);
	return rc;
}
