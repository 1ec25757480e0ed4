/* blobstat.c - see blobstat.h. SPDX-License-Identifier: MIT */
#include "model/blobstat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "stats/abi.h"
#include "stats/q.h"

#define MAGIC 0x31744261745362ffULL /* no blob starts with its first byte, in either byte order */
#define NO_VOI UINT16_MAX

struct table {
	uint64_t magic;
	uint32_t size; /* bytes of the table, this header included */
	uint32_t nvois;
	uint32_t nstats;
	uint32_t pad;
	/* vois, stats, bytes */
};

struct stat {
	char name[KSTAT_STRLEN];
	uint8_t kind;      /* enum ks_value_kind */
	uint64_t value;    /* a number's bits, or an offset in the bytes */
	uint32_t len;      /* as struct ks_value */
	uint32_t desc;     /* offset in the bytes; 0 is "" */
	uint16_t voi;      /* the VOI whose unit it has; NO_VOI: none */
	uint8_t bits;
	uint8_t meta_kind; /* enum ks_kind */
	uint8_t meta_type; /* kstat2_nv_metatype_t */
	uint8_t pad[3];
};

_Static_assert(sizeof(struct table) == 24 && sizeof(struct stat) == 56, "table of statistics");
_Static_assert(sizeof(struct ks_blob_voi) == 128, "description of a VOI");

/* --- descriptions ----------------------------------------------------------------------- */

static void
set_text(char *to, size_t size, const char *from)
{
	size_t n = from == NULL ? 0 : strnlen(from, size - 1);

	memset(to, 0, size);
	for (size_t i = 0, len; i < n; i += len) {
		bool printable;

		len = ks_character(from + i, n - i, &printable);
		if (printable)
			memcpy(to + i, from + i, len);
		else
			memset(to + i, '_', len);
	}
}

void
ks_blob_voi_set(struct ks_blob_voi *v, int32_t id, const char *name, const char *unit,
    const char *desc)
{
	v->id = id;
	set_text(v->name, sizeof(v->name), name);
	set_text(v->unit, sizeof(v->unit), unit);
	set_text(v->desc, sizeof(v->desc), desc);
}

size_t
ks_blob_voi_name_max(const struct statsblob *blob, int32_t id)
{
	const struct ks_sb *sb = ks_sb(blob);
	const struct ks_voi *voi = ks_sb_find(sb, id);
	const char *longest = "_sum";

	if (voi != NULL && ks_sb_find_vs(sb, voi, VS_STYPE_HIST) != NULL)
		longest = "_buckets";
	else if (voi != NULL && ks_sb_find_vs(sb, voi, VS_STYPE_TDGST) != NULL)
		longest = "_count";
	return KSTAT_STRLEN - 1 - strlen(longest);
}

static bool
is_text(const char *s, size_t size)
{
	size_t n = strnlen(s, size);

	return n < size && ks_is_printable(s, n);
}

bool
ks_blob_vois_check(const struct ks_blob_voi *vois, size_t n)
{
	int32_t last = -1;

	for (size_t i = 0; i < n; i++) {
		const struct ks_blob_voi *v = &vois[i];

		if (v->id <= last || !is_text(v->name, sizeof(v->name)) ||
		    !is_text(v->unit, sizeof(v->unit)) || !is_text(v->desc, sizeof(v->desc)))
			return false;
		last = v->id;
	}
	return n <= KS_BLOB_MOST_VOIS;
}

/* --- building ------------------------------------------------------------------------------ */

/* Adds n bytes and returns their offset; the byte at offset 0 is the empty text. */
static uint32_t
add_bytes(struct ks_blobstat_table *t, const void *p, size_t n)
{
	uint32_t at;

	if (t->bytes.len == 0 || t->bytes.len % 8 != 0)
		(void)ks_buf_zeroed(&t->bytes, 8 - t->bytes.len % 8);
	at = (uint32_t)t->bytes.len;
	if (n > UINT32_MAX / 2 || t->bytes.len > UINT32_MAX / 2) {
		t->bytes.failed = true;
		return 0;
	}
	if (n > 0)
		ks_buf_add(&t->bytes, p, n);
	return at;
}

static struct stat *
add(struct ks_blobstat_table *t, const char *voi, const char *suffix, const struct ks_value *v)
{
	struct stat *s = ks_buf_zeroed(&t->stats, sizeof(*s));
	size_t n = strlen(suffix), most = KSTAT_STRLEN - 1 - n;
	size_t len = strnlen(voi, most);

	if (s == NULL)
		return NULL;
	memcpy(s->name, voi, len);
	memcpy(s->name + len, suffix, n);
	s->kind = v->kind;
	s->bits = v->bits;
	s->voi = NO_VOI;
	s->meta_kind = KS_KIND_GAUGE;
	switch (v->kind) {
	case KS_VALUE_STRING:
	case KS_VALUE_STRS:
	case KS_VALUE_INTS:
		s->len = v->len;
		s->value = add_bytes(t, v->str,
		    v->kind == KS_VALUE_INTS ? v->len * sizeof(uint64_t) : v->len);
		break;
	default:
		s->value = v->u64;
	}
	return s;
}

static bool
ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcmp(s + n - m, end) == 0;
}

void
ks_blobstat_table_add(struct ks_blobstat_table *t, const char *name, const struct ks_value *v)
{
	struct stat *s = add(t, name, "", v);

	/* In a capture the name alone says what the statistic means. */
	if (s == NULL)
		return;
	if (v->kind == KS_VALUE_STRING || v->kind == KS_VALUE_STRS)
		s->meta_kind = KS_KIND_TEXT;
	else if ((v->kind == KS_VALUE_U64 && (ends_in(name, "_sum") || ends_in(name, "_count") ||
	    ends_in(name, "_oob"))) || (v->kind == KS_VALUE_INTS && ends_in(name, "_buckets")))
		s->meta_kind = KS_KIND_COUNTER;
}

/* Writes the finished table to the record. */
static int
finish(struct ks_blobstat_table *t, const struct ks_blob_voi *vois, size_t n, struct ks_record *r)
{
	size_t nstats = t->stats.len / sizeof(struct stat);
	struct table head = { .magic = MAGIC, .nvois = (uint32_t)n, .nstats = (uint32_t)nstats };
	size_t size;
	bool failed;

	(void)add_bytes(t, NULL, 0);
	size = sizeof(head) + n * sizeof(*vois) + t->stats.len + t->bytes.len;
	failed = t->stats.failed || t->bytes.failed || size > UINT32_MAX;
	if (!failed) {
		head.size = (uint32_t)size;
		ks_buf_add(&r->heap, &head, sizeof(head));
		if (n > 0)
			ks_buf_add(&r->heap, vois, n * sizeof(*vois));
		if (t->stats.len > 0)
			ks_buf_add(&r->heap, t->stats.data, t->stats.len);
		ks_buf_add(&r->heap, t->bytes.data, t->bytes.len);
	}
	ks_buf_free(&t->stats);
	ks_buf_free(&t->bytes);
	return failed || r->heap.failed ? ks_fail(ENOMEM, "out of memory for statistics") : 0;
}

int
ks_blobstat_table_finish(struct ks_blobstat_table *t, struct ks_record *r)
{
	return finish(t, NULL, 0, r);
}

/* --- the statistics of a VOI ------------------------------------------------------------------- */

/* The VOI whose statistics are being added. */
struct work {
	struct ks_blobstat_table t;
	struct ks_buf scratch;
	const struct ks_sb *sb;
	const struct ks_voi *voi;
	const struct ks_blob_voi *about; /* NULL: not described */
	uint16_t about_index;
	char name[32];
};

/* Sets the description "desc: what", or "what". `unit` is true if the statistic has the unit of the VOI. */
static void
describe(struct work *w, struct stat *s, enum ks_kind kind, bool unit, const char *what)
{
	struct ks_buf *b = &w->scratch;

	ks_buf_reset(b);
	if (w->about != NULL && w->about->desc[0] != '\0') {
		ks_buf_adds(b, w->about->desc);
		ks_buf_adds(b, ": ");
	}
	ks_buf_adds(b, what);
	ks_buf_addc(b, '\0');
	w->t.bytes.failed |= b->failed;
	if (!b->failed)
		s->desc = add_bytes(&w->t, b->data, b->len);
	s->meta_kind = (uint8_t)kind;
	s->meta_type = unit ? KSTAT2_NVMT_UNKNOWN : KSTAT2_NVMT_CNT;
	s->voi = unit && w->about != NULL ? w->about_index : NO_VOI;
}

static void
add_stat(struct work *w, const char *suffix, const struct ks_value *v, enum ks_kind kind, bool unit,
    const char *what)
{
	struct stat *s = add(&w->t, w->name, suffix, v);

	if (s != NULL)
		describe(w, s, kind, unit, what);
}

static struct ks_value
value_of(unsigned dt, uint64_t word)
{
	struct ks_value v = { .kind = ks_dtypes[dt].is_signed ? KS_VALUE_I64 : KS_VALUE_U64,
		.bits = (uint8_t)(8 * ks_dtypes[dt].size) };

	v.u64 = word;
	if (ks_dtypes[dt].is_q) {
		v.kind = KS_VALUE_DOUBLE;
		v.d = ks_q_double(dt, word);
	}
	return v;
}

static void
add_simple(struct work *w, enum voi_stype stype, const char *suffix, const char *what)
{
	const struct ks_vs *vs = ks_sb_find_vs(w->sb, w->voi, (int)stype);
	unsigned dt = w->voi->dtype;
	struct ks_value v;

	if (vs == NULL || (stype != VS_STYPE_SUM && (vs->flags & KS_VS_SET) == 0))
		return;
	v = value_of(dt, ks_ldval(ks_sb_data(w->sb, vs), dt));
	/* A sum of values that may be negative may fall. */
	add_stat(w, suffix, &v, stype == VS_STYPE_SUM && !ks_dtypes[dt].is_signed ? KS_KIND_COUNTER :
	    KS_KIND_GAUGE, true, what);
}

static void
add_distribution(struct work *w)
{
	static const double quantiles[] = { 0.5, 0.9, 0.99, 0.999 };
	static const struct {
		const char *suffix, *what, *since_creation;
	} names[] = {
		{ "_p50", "median", "median since creation" },
		{ "_p90", "90th percentile", "90th percentile since creation" },
		{ "_p99", "99th percentile", "99th percentile since creation" },
		{ "_p999", "99.9th percentile", "99.9th percentile since creation" }
	};
	/* A digest does not subtract; of the rest a difference of two samples shows the interval. */
	bool is_digest = ks_sb_find_vs(w->sb, w->voi, VS_STYPE_HIST) == NULL;
	const struct statsblob *b = (const struct statsblob *)(const void *)w->sb;
	struct ks_value v = { .kind = KS_VALUE_U64, .bits = 64 };
	double value[sizeof(quantiles) / sizeof(quantiles[0])];

	if (stats_voi_count(b, w->voi->id, &v.u64) != 0)
		return;
	add_stat(w, "_count", &v, KS_KIND_COUNTER, false, "samples");
	v.kind = KS_VALUE_DOUBLE;
	ks_voi_quantiles(b, w->voi->id, quantiles, sizeof(quantiles) / sizeof(quantiles[0]), value);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		v.d = value[i];
		if (isfinite(v.d))
			add_stat(w, names[i].suffix, &v, KS_KIND_GAUGE, true,
			    is_digest ? names[i].since_creation : names[i].what);
	}
}

/* Adds the lower bounds: as numbers if all are whole and none is negative, else as text. */
static void
add_bounds(struct work *w, const unsigned char *hist, unsigned dt, unsigned n)
{
	unsigned voi_dt = w->voi->dtype;
	struct ks_value v = { .kind = KS_VALUE_INTS, .bits = 64, .len = n };
	struct ks_buf b = KS_BUF_INIT;

	for (unsigned i = 0; i < n; i++) {
		struct ks_value x = value_of(voi_dt, ks_ldval(ks_hist_bkt(hist, dt, i), voi_dt));

		if (x.kind == KS_VALUE_DOUBLE || (x.kind == KS_VALUE_I64 && x.i64 < 0))
			v.kind = KS_VALUE_STRS;
	}
	for (unsigned i = 0; i < n; i++) {
		struct ks_value x = value_of(voi_dt, ks_ldval(ks_hist_bkt(hist, dt, i), voi_dt));

		if (v.kind == KS_VALUE_INTS)
			ks_buf_add(&b, &x.u64, sizeof(x.u64));
		else if (x.kind == KS_VALUE_DOUBLE)
			ks_buf_addf(&b, "%.15g%c", x.d, '\0');
		else
			ks_buf_addf(&b, "%lld%c", (long long)x.i64, '\0');
	}
	if (v.kind == KS_VALUE_STRS)
		v.len = (uint32_t)b.len;
	v.str = b.data;
	w->t.bytes.failed |= b.failed;
	if (!b.failed)
		add_stat(w, "_bounds", &v, v.kind == KS_VALUE_STRS ? KS_KIND_TEXT : KS_KIND_GAUGE, true,
		    "least value of each bucket");
	ks_buf_free(&b);
}

static void
add_histogram(struct work *w)
{
	const struct ks_vs *vs = ks_sb_find_vs(w->sb, w->voi, VS_STYPE_HIST);
	struct ks_value v = { .kind = KS_VALUE_INTS, .bits = 64 };
	struct ks_buf b = KS_BUF_INIT;
	const unsigned char *hist;
	unsigned n;

	if (vs == NULL)
		return;
	hist = ks_sb_data(w->sb, vs);
	n = ks_hist_nbkts(vs->dtype, vs->dsz);
	for (unsigned i = 0; i < n; i++) {
		uint64_t count = ks_hist_cnt(hist, vs->dtype, i);

		ks_buf_add(&b, &count, sizeof(count));
	}
	v.len = n;
	v.str = b.data;
	w->t.bytes.failed |= b.failed;
	if (!b.failed)
		add_stat(w, "_buckets", &v, KS_KIND_COUNTER, false, "samples in each bucket");
	ks_buf_free(&b);
	add_bounds(w, hist, vs->dtype, n);
	v = (struct ks_value){ .kind = KS_VALUE_U64, .bits = 64 };
	v.u64 = ks_hist_oob(hist, vs->dtype);
	add_stat(w, "_oob", &v, KS_KIND_COUNTER, false, "samples in no bucket");
}

int
ks_blobstat_build(struct ks_record *r, const struct statsblob *blob,
    const struct ks_blob_voi *vois, size_t n)
{
	struct work w = { .sb = ks_sb(blob) };
	uint32_t slots = ks_sb_nvois(w.sb);
	int rc;

	for (uint32_t i = 0, at = 0; i < slots; i++) {
		w.voi = ks_sb_voi(w.sb, i);
		if (w.voi->id < 0)
			continue;
		while (at < n && vois[at].id < w.voi->id)
			at++;
		w.about = at < n && vois[at].id == w.voi->id ? &vois[at] : NULL;
		w.about_index = (uint16_t)at;
		if (w.about != NULL && w.about->name[0] != '\0') {
			memcpy(w.name, w.about->name, sizeof(w.name));
		} else {
			ks_buf_reset(&w.scratch);
			ks_buf_addf(&w.scratch, "voi%d", (int)w.voi->id);
			set_text(w.name, sizeof(w.name), w.scratch.failed ? "voi" : w.scratch.data);
		}
		add_simple(&w, VS_STYPE_SUM, "_sum", "sum of the values");
		add_simple(&w, VS_STYPE_MAX, "_max", "greatest value");
		add_simple(&w, VS_STYPE_MIN, "_min", "least value");
		add_distribution(&w);
		add_histogram(&w);
	}
	ks_buf_free(&w.scratch);
	ks_buf_add(&r->fixed, blob, w.sb->cursz);
	r->ndata = w.sb->cursz;
	rc = finish(&w.t, vois, n, r);
	return rc == 0 && r->fixed.failed ? ks_fail(ENOMEM, "out of memory for statistics") : rc;
}

/* --- bytes from a file ----------------------------------------------------------------------------- */

static const struct ks_blob_voi *
vois_of(const struct table *t)
{
	return (const struct ks_blob_voi *)(t + 1);
}

static const struct stat *
stats_of(const struct table *t)
{
	return (const struct stat *)(vois_of(t) + t->nvois);
}

static const char *
bytes_of(const struct table *t)
{
	return (const char *)(stats_of(t) + t->nstats);
}

static bool
check_stat(const struct table *t, const struct stat *s, size_t nbytes)
{
	const char *bytes = bytes_of(t);
	uint64_t n = s->len;

	if (s->name[0] == '\0' || !is_text(s->name, sizeof(s->name)) || s->desc >= nbytes ||
	    memchr(bytes + s->desc, '\0', nbytes - s->desc) == NULL ||
	    (s->voi != NO_VOI && s->voi >= t->nvois) || s->meta_kind > KS_KIND_TIME)
		return false;
	switch (s->kind) {
	case KS_VALUE_I64:
	case KS_VALUE_U64:
	case KS_VALUE_DOUBLE:
		return true;
	case KS_VALUE_INTS:
		n *= sizeof(uint64_t);
		break;
	case KS_VALUE_STRING:
	case KS_VALUE_STRS:
		break;
	default:
		return false;
	}
	if (s->value > nbytes || n > nbytes - s->value)
		return false;
	return s->kind != KS_VALUE_STRS || n == 0 || bytes[s->value + n - 1] == '\0';
}

/* Returns whether n aligned bytes start with a valid table whose VOIs are valid, too. */
static bool
check_table(const struct table *t, size_t n)
{
	size_t left;

	if (n < sizeof(*t) || t->magic != MAGIC || t->size > n || t->size < sizeof(*t))
		return false;
	left = t->size - sizeof(*t);
	if (t->nvois > KS_BLOB_MOST_VOIS || t->nvois > left / sizeof(struct ks_blob_voi))
		return false;
	left -= t->nvois * sizeof(struct ks_blob_voi);
	if (t->nstats > left / sizeof(struct stat))
		return false;
	left -= t->nstats * sizeof(struct stat);
	if (left == 0 || bytes_of(t)[0] != '\0' || !ks_blob_vois_check(vois_of(t), t->nvois))
		return false;
	for (uint32_t i = 0; i < t->nstats; i++) {
		if (!check_stat(t, &stats_of(t)[i], left))
			return false;
	}
	return true;
}

/* Returns whether bytes, enough for a table, would be usable on another machine. */
static bool
is_foreign(const void *bytes, size_t n)
{
	const struct table *t = bytes;

	return stats_blob_check(bytes, n) == EOPNOTSUPP || t->magic == __builtin_bswap64(MAGIC);
}

int
ks_blobstat_rebuild(struct ks_record *r, const void *bytes, size_t n)
{
	struct ks_buf copy = KS_BUF_INIT;
	const struct table *t;
	size_t blob = 0;
	int rc;

	if (n < sizeof(*t))
		return ks_fail(EBADMSG, "damaged statistics of a statsblob");
	/* The copy is aligned. The blob's size is the one in its header. */
	ks_buf_add(&copy, bytes, n);
	if (copy.failed)
		return ks_fail(ENOMEM, "out of memory for statistics");
	if (n >= sizeof(struct ks_sb) && stats_blob_check(copy.data, n) == 0) {
		blob = ks_sb((const void *)copy.data)->cursz;
		ks_sb((const void *)copy.data)->maxsz = (uint16_t)blob;
	}
	t = (const struct table *)(void *)(copy.data + ((blob + 7) & ~(size_t)7));
	if (blob == 0 && is_foreign(copy.data, n)) {
		rc = ks_fail(EOPNOTSUPP, "a statsblob of another byte order or version");
	} else if (n < ((blob + 7) & ~(size_t)7) + sizeof(*t) ||
	    !check_table(t, n - ((blob + 7) & ~(size_t)7))) {
		rc = ks_fail(EBADMSG, "damaged statistics of a statsblob");
	} else if (blob > 0) {
		rc = ks_blobstat_build(r, (const void *)copy.data, vois_of(t), t->nvois);
	} else {
		ks_buf_add(&r->heap, t, t->size);
		rc = r->heap.failed ? ks_fail(ENOMEM, "out of memory for statistics") : 0;
	}
	ks_buf_free(&copy);
	return rc;
}

/* --- reading ---------------------------------------------------------------------------------------- */

const void *
ks_blobstat_find(const kstat_t *ksp)
{
	size_t at = ((size_t)ksp->ks_ndata + 7) & ~(size_t)7;
	const struct table *t;

	if (ksp->ks_data == NULL || ksp->ks_data_size < at ||
	    ksp->ks_data_size - at < sizeof(*t))
		return NULL;
	t = (const struct table *)(void *)((char *)ksp->ks_data + at);
	return t->magic == MAGIC && t->size == ksp->ks_data_size - at ? t : NULL;
}

bool
ks_blobstat_stat(const void *table, uint32_t i, const char **name, struct ks_value *v)
{
	const struct table *t = table;
	const struct stat *s;

	if (i >= t->nstats)
		return false;
	s = &stats_of(t)[i];
	*name = s->name;
	*v = (struct ks_value){ .kind = s->kind, .bits = s->bits, .len = s->len };
	v->u64 = s->value;
	if (s->kind == KS_VALUE_INTS || s->kind == KS_VALUE_STRING || s->kind == KS_VALUE_STRS)
		v->str = bytes_of(t) + s->value;
	return true;
}

const struct ks_blob_voi *
ks_blobstat_vois(const void *table, size_t *n)
{
	const struct table *t = table;

	*n = t->nvois;
	return vois_of(t);
}

const struct ks_meta *
ks_blobstat_meta(const kstat_t *ksp, const char *stat)
{
	static _Thread_local struct ks_meta found;
	static _Thread_local uint32_t last; /* mostly the one behind that is asked about */
	const struct table *t = ks_blobstat_find(ksp);

	for (uint32_t i = 0; t != NULL && i < t->nstats; i++) {
		const struct stat *s;

		last = last + 1 < t->nstats ? last + 1 : 0;
		s = &stats_of(t)[last];
		if (strcmp(s->name, stat) != 0)
			continue;
		found = (struct ks_meta){ .stat = s->name, .kind = s->meta_kind, .type = s->meta_type,
			.unit = s->voi != NO_VOI ? vois_of(t)[s->voi].unit : "",
			.desc = bytes_of(t) + s->desc };
		return &found;
	}
	return NULL;
}
