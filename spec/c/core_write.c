/*
 * core_write.c - exercises ks_write_values() over a writable kstat made up here: says which checks
 * fail, and how many there were. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "chain/values.h"
#include "source/source.h"

struct writable {
	struct ks_source base;
	int32_t i32;
	uint32_t u32;
	int64_t i64;
	uint64_t u64;
	double d;
	float f;
	char c[16];
	char text[32];
	int writes;
};

static int
writable_scan(struct ks_source *src, struct ks_scan *scan)
{
	static const struct ks_offer offers[] = {
		{ .module = "app", .name = "yes", .class_ = "misc", .type = KSTAT_TYPE_NAMED,
		    .flags = KSTAT_FLAG_WRITABLE, .cookie = 1 },
		{ .module = "app", .name = "no", .class_ = "misc", .type = KSTAT_TYPE_NAMED, .cookie = 2 },
		{ .module = "app", .name = "intr", .class_ = "misc", .type = KSTAT_TYPE_INTR,
		    .flags = KSTAT_FLAG_WRITABLE, .cookie = 3 },
	};

	(void)src;
	for (size_t i = 0; i < 3; i++) {
		if (ks_scan_offer(scan, &offers[i]) != 0)
			return -1;
	}
	return 1;
}

static void
add_double(struct ks_record *r, const char *name, double v)
{
	kstat_named_t *kn = ks_record_add(r, sizeof(*kn));

	if (kn != NULL) {
		kn->data_type = KSTAT_DATA_DOUBLE;
		(void)strcpy(kn->name, name);
		kn->value.d = v;
	}
}

static int
writable_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct writable *w = (struct writable *)src;
	kstat_named_t *kn;

	(void)ksp;
	if (cookie == 3)
		return ks_record_add(r, sizeof(kstat_intr_t)) == NULL ? -1 : 0;
	ks_named_i32(r, "i32", w->i32);
	ks_named_u32(r, "u32", w->u32);
	ks_named_i64(r, "i64", w->i64);
	ks_named_u64(r, "u64", w->u64);
	add_double(r, "d", w->d);
	ks_named_chars(r, "c", w->c, strnlen(w->c, sizeof(w->c)));
	ks_named_string(r, "text", w->text, strlen(w->text));
	ks_named_ints(r, "ints", &w->u64, 1);
	kn = ks_record_add(r, sizeof(*kn));
	if (kn != NULL) {
		(void)snprintf(kn->name, sizeof(kn->name), "f");
		kn->data_type = KSTAT_DATA_FLOAT;
		kn->value.f = w->f;
	}
	return 0;
}

static int
writable_write(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const void *data)
{
	struct writable *w = (struct writable *)src;
	const kstat_named_t *kn = data;

	(void)ksp;
	(void)cookie;
	w->i32 = kn[0].value.i32;
	w->u32 = kn[1].value.ui32;
	w->i64 = kn[2].value.i64;
	w->u64 = kn[3].value.ui64;
	w->d = kn[4].value.d;
	memcpy(w->c, kn[5].value.c, sizeof(w->c));
	(void)snprintf(w->text, sizeof(w->text), "%s", KSTAT_NAMED_STR_PTR(&kn[6]));
	w->f = kn[8].value.f;
	w->writes++;
	return 0;
}

static void
writable_close(struct ks_source *src)
{
	(void)src;
}

static const struct ks_source_ops ops = {
	.name = "writable", .scan = writable_scan, .read = writable_read, .write = writable_write,
	.close = writable_close
};

static int checks, failures;

#define CHECK(expr) do { \
		checks++; \
		if (!(expr)) { \
			failures++; \
			printf("line %d: not so: %s (errno %d)\n", __LINE__, #expr, errno); \
		} \
	} while (0)

static kstat_ctl_t *kc;
static kstat_t *yes;

static struct ks_value
integer(int64_t v)
{
	return (struct ks_value){ .kind = KS_VALUE_I64, .i64 = v };
}

static struct ks_value
unsigned_integer(uint64_t v)
{
	return (struct ks_value){ .kind = KS_VALUE_U64, .u64 = v };
}

static struct ks_value
real(double v)
{
	return (struct ks_value){ .kind = KS_VALUE_DOUBLE, .d = v };
}

static struct ks_value
string(const char *v)
{
	return (struct ks_value){ .kind = KS_VALUE_STRING, .str = v, .len = (uint32_t)strlen(v) };
}

/* 0, or errno. */
static int
put(const char *stat, struct ks_value v)
{
	struct ks_pair pair = { .name = stat, .value = v };

	errno = 0;
	return ks_write_values(kc, yes, &pair, 1) < 0 ? errno : 0;
}

static void
integers(struct writable *w)
{
	CHECK(put("i32", integer(-5)) == 0 && w->i32 == -5);
	CHECK(put("i32", integer(INT32_MIN)) == 0 && w->i32 == INT32_MIN);
	CHECK(put("i32", integer((int64_t)INT32_MAX + 1)) == ERANGE);
	CHECK(put("i32", integer((int64_t)INT32_MIN - 1)) == ERANGE && w->i32 == INT32_MIN);
	CHECK(put("u32", unsigned_integer(UINT32_MAX)) == 0 && w->u32 == UINT32_MAX);
	CHECK(put("u32", integer(-1)) == ERANGE);
	CHECK(put("i64", integer(INT64_MIN)) == 0 && w->i64 == INT64_MIN);
	CHECK(put("i64", unsigned_integer((uint64_t)INT64_MAX + 1)) == ERANGE);
	CHECK(put("u64", unsigned_integer(UINT64_MAX)) == 0 && w->u64 == UINT64_MAX);
	CHECK(put("u64", real(0x1p63)) == 0 && w->u64 == UINT64_C(1) << 63);
	CHECK(put("u64", real(0x1p64)) == EINVAL);
	CHECK(put("i64", real(-7)) == 0 && w->i64 == -7);
	CHECK(put("u64", real(1.5)) == EINVAL);
	CHECK(put("u64", real(NAN)) == EINVAL);
	CHECK(put("u64", real(-INFINITY)) == EINVAL);
	CHECK(put("u64", string("5")) == EINVAL);
}

static void
others(struct writable *w)
{
	CHECK(put("d", real(1.25)) == 0 && w->d == 1.25);
	CHECK(put("d", integer(-3)) == 0 && w->d == -3);
	CHECK(put("f", real(0.5)) == 0 && w->f == 0.5f);
	CHECK(put("d", string("x")) == EINVAL);
	CHECK(put("c", string("exactly 16 bytes")) == 0 && memcmp(w->c, "exactly 16 bytes", 16) == 0);
	CHECK(put("c", string("seventeen bytes !")) == ERANGE);
	CHECK(put("c", string("")) == 0 && w->c[0] == '\0');
	CHECK(put("text", string("a longer text than before")) == 0 &&
	    strcmp(w->text, "a longer text than before") == 0);
	CHECK(put("text", integer(1)) == EINVAL);
	CHECK(put("ints", integer(1)) == EINVAL);
	CHECK(put("nothing", integer(1)) == ENOENT);
}

int
main(void)
{
	struct writable w = { .base = { &ops } };
	struct ks_pair pairs[] = { { .name = "i32", .value = integer(1) },
		{ .name = "u32", .value = integer(-1) } };
	int writes;

	kc = ks_chain_open_source(&w.base, NULL);
	yes = kstat_lookup(kc, "app", 0, "yes");
	integers(&w);
	others(&w);
	writes = w.writes;
	CHECK(writes == 13);
	CHECK(ks_write_values(kc, yes, pairs, 2) == -1 && errno == ERANGE);
	CHECK(w.writes == writes); /* all or nothing */
	CHECK(ks_write_values(kc, yes, pairs, 1) == kc->kc_chain_id && w.i32 == 1);
	CHECK(ks_write_values(kc, kstat_lookup(kc, "app", 0, "no"), pairs, 1) == -1 && errno == EACCES);
	CHECK(ks_write_values(kc, kstat_lookup(kc, "app", 0, "intr"), pairs, 1) == -1 && errno == EINVAL);
	CHECK(kstat_close(kc) == 0);
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
