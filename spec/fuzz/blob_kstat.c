/*
 * blob_kstat.c - fuzzes what readers of statsblob kstats do: bytes of a published one, and of a
 * recorded one. A sound one is changed as the input says, with its checks made right again, so that
 * the change gets behind them. Whatever the bytes, reading must end and stay inside memory, and
 * what it makes must be sound. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kstat_blob.h"
#include "model/blobstat.h"
#include "model/decode.h"
#include "model/meta.h"
#include "provider/blob_layout.h"
#include "provider/segment/segment_layout.h"
#include "source/segment/segment_file.h"
#include "blob_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *base, *image;
static size_t used, data_size;
static char *section; /* the data section that base reads as */

static void
walk(struct ks_record *r)
{
	kstat_t k = { .ks_type = KSTAT_TYPE_RAW, .ks_flags = KSTAT_FLAG_STATSBLOB, .ks_ndata = r->ndata };
	struct ks_cursor c;
	struct ks_value v;
	const char *name;
	uint64_t sum = 0;

	k.ks_data_size = ks_record_size(r);
	k.ks_data = malloc(k.ks_data_size + 1);
	if (k.ks_data == NULL)
		abort();
	ks_record_finish(r, KSTAT_TYPE_RAW, k.ks_data);
	if (k.ks_ndata > 0 && stats_blob_check(k.ks_data, k.ks_ndata) != 0)
		abort();
	if (ks_blobstat_find(&k) == NULL)
		abort();
	ks_cursor_open(&c, &k);
	while (ks_cursor_next(&c, &name, &v)) {
		const struct ks_meta *m = ks_blobstat_meta(&k, name);

		if (m == NULL || strlen(name) >= KSTAT_STRLEN)
			abort();
		sum += strlen(m->unit) + strlen(m->desc);
		if (v.kind == KS_VALUE_STRING || v.kind == KS_VALUE_STRS || v.kind == KS_VALUE_INTS) {
			for (size_t i = 0; i < v.len * (v.kind == KS_VALUE_INTS ? 8u : 1u); i++)
				sum += (unsigned char)v.str[i];
		}
	}
	free(k.ks_data);
	/* Neither the compiler may drop the sum, nor anybody care for it. */
	if (sum == 0x123456789abcdefULL)
		abort();
}

/* The thread's ID chose the row of the updates; an input means the same in every process if that is always one. */
static void
order_rows(void)
{
	const struct ks_blob_head *h = (const void *)base;
	char *row = base + h->first, *other = malloc(h->row);

	if (other == NULL)
		abort();
	if (ks_thread_self() % h->shards == 0) {
		memcpy(other, row, h->row);
		memcpy(row, row + h->row, h->row);
		memcpy(row + h->row, other, h->row);
	}
	free(other);
}

static void
set_up(void)
{
	struct voistatspec all[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
		STATS_VSS_CRHIST32_LIN(-10, 10, 10, 0), STATS_VSS_TDGSTCLUST64(6, 4) };
	struct voistatspec q[] = { STATS_VSS_QSUM(8), STATS_VSS_QMAX(8),
		STATS_VSS_DRHIST32_USR(HBKTS(DRBKT(0, 800), DRBKT(800, 1600)), 0) };
	int tpl = stats_tpl_alloc("fuzz", 0);
	struct ks_record r = KS_RECORD_INIT;
	kstat_t *k;

	if (stats_tpl_add_voistats((uint32_t)tpl, 0, "all", VSD_DTYPE_INT_S64, NVSS(all), all, 0) != 0 ||
	    stats_tpl_add_voistats((uint32_t)tpl, 2, "q", VSD_DTYPE_Q_U32, NVSS(q), q, 0) != 0)
		abort();
	k = kstat_create_statsblob("fuzz", 0, "blob", "misc", (uint32_t)tpl, 2, 0);
	if (k == NULL || kstat_blob_describe(k, 0, "us", "some values") != 0 || kstat_install(k) != 0)
		abort();
	for (int i = 0; i < 300; i++) {
		if (kstat_blob_update_int(kstat_blob(k), i % 2 * 2, i, false) != 0)
			abort();
	}
	used = k->ks_ndata;
	base = k->ks_data;
	order_rows();
	image = malloc(used);
	if (image == NULL || ks_seg_blob_read(base, used, &r) != 1)
		abort();
	data_size = ks_record_size(&r);
	section = malloc(data_size);
	if (section == NULL)
		abort();
	ks_record_finish(&r, KSTAT_TYPE_RAW, section);
	ks_record_free(&r);
}

/* Three bytes of the input say where, what follows goes there: 1 to 8 bytes. */
static void
change(char *to, size_t room, const uint8_t *data, size_t size)
{
	while (size >= 4) {
		size_t at = ((size_t)data[0] | (size_t)data[1] << 8) % room, n = data[2] % 8 + 1u;

		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		if (n > room - at)
			n = room - at;
		memcpy(to + at, data, n);
		data += n;
		size -= n;
	}
}

static void
read_published(const uint8_t *data, size_t size)
{
	struct ks_record r = KS_RECORD_INIT;
	int rc;

	memcpy(image, base, used);
	change(image, used, data, size);
	blob_make_checks_right(image, used);
	rc = ks_seg_blob_read(image, used, &r);
	if (rc < 0 && errno != EIO && errno != ENOMEM)
		abort();
	if (rc > 0)
		walk(&r);
	ks_record_free(&r);
}

static void
read_recorded(const uint8_t *data, size_t size, bool table_alone)
{
	size_t skip = table_alone ? (((struct statsblob *)(void *)section)->cursz + 7u) & ~(size_t)7 : 0;
	struct ks_record r = KS_RECORD_INIT;
	char *copy = malloc(data_size - skip);

	if (copy == NULL)
		abort();
	memcpy(copy, section + skip, data_size - skip);
	change(copy, data_size - skip, data, size);
	if (ks_blobstat_rebuild(&r, copy, data_size - skip) == 0)
		walk(&r);
	else if (errno != EBADMSG && errno != EOPNOTSUPP && errno != ENOMEM)
		abort();
	ks_record_free(&r);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (base == NULL)
		set_up();
	if (size == 0)
		return 0;
	switch (data[0] % 4) {
	case 0:
		read_recorded(data + 1, size - 1, false);
		break;
	case 1:
		read_recorded(data + 1, size - 1, true);
		break;
	default:
		read_published(data + 1, size - 1);
	}
	return 0;
}
