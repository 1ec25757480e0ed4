/*
 * core_base.c - checks csrc/base/ from the inside: the growing array and the hash table by random operations
 * that a simple model repeats, and the strings of JSON. SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/table.h"
#include "check.h"

#define KEYS 3000

static bool refuse; /* no request for memory is served */

__attribute__((visibility("default"))) void *
malloc(size_t size)
{
	static void *(*next)(size_t);

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
	return refuse ? NULL : next(size);
}

__attribute__((visibility("default"))) void *
realloc(void *p, size_t size)
{
	static void *(*next)(void *, size_t);

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "realloc");
	return refuse ? NULL : next(p, size);
}

static uint32_t
random_below(uint32_t n)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((state >> 33) % n);
}

static void
check_array(void)
{
	uint64_t *v = NULL, *before;
	size_t cap = 0;

	for (size_t i = 0; i < 100000; i++) {
		if (!KS_RESERVE(v, cap, i + 1))
			break;
		v[i] = i * i;
	}
	CHECK(cap >= 100000 && cap < 200000);
	for (size_t i = 0; i < 100000; i++) {
		if (v[i] != i * i)
			CHECK(!"items are kept");
	}
	before = v;
	refuse = true;
	CHECK(KS_RESERVE(v, cap, cap));
	errno = 0;
	CHECK(!KS_RESERVE(v, cap, cap + 1) && errno == ENOMEM);
	refuse = false;
	CHECK(!KS_RESERVE(v, cap, SIZE_MAX / sizeof(*v) + 1) && errno == ENOMEM);
	CHECK(!KS_RESERVE(v, cap, SIZE_MAX) && errno == ENOMEM);
	CHECK(v == before && cap < 200000 && v[99999] == 99999ULL * 99999);
	free(v);
}

/* What the table holds, said simply: key i is in it with the slot slot[i]. */
struct model {
	uint32_t slot[KEYS];
	uint32_t key_of[2 * KEYS]; /* of each slot */
	uint64_t spread;           /* hashes are keys modulo this */
	size_t n;
};

static bool
has_key(const void *things, uint32_t slot, const void *key)
{
	return ((const struct model *)things)->key_of[slot] == *(const uint32_t *)key;
}

static void
change_key(struct ks_table *t, struct model *m, uint32_t key)
{
	uint32_t slot = m->slot[key], other = key + (slot == key ? KEYS : 0);
	uint64_t hash = key % m->spread;

	if (slot == KS_NO_SLOT) {
		CHECK(!ks_table_remove(t, hash, key));
		CHECK(ks_table_add(t, hash, other));
		m->n++;
	} else if (random_below(4) == 0) {
		CHECK(ks_table_replace(t, hash, slot, other));
	} else {
		CHECK(ks_table_remove(t, hash, slot));
		other = KS_NO_SLOT;
		m->n--;
	}
	if (other != KS_NO_SLOT)
		m->key_of[other] = key;
	m->slot[key] = other;
}

static bool
is_same(const struct ks_table *t, const struct model *m)
{
	if (t->n != m->n)
		return false;
	for (uint32_t key = 0; key < KEYS; key++) {
		if (ks_table_find(t, key % m->spread, has_key, m, &key) != m->slot[key])
			return false;
	}
	return true;
}

static void
check_table(uint64_t spread)
{
	static struct model m;
	struct ks_table t = { 0 };

	memset(&m, 0xff, sizeof(m));
	m.spread = spread;
	m.n = 0;
	for (int round = 0; round < 60; round++) {
		uint32_t among = 1 + random_below(KEYS);

		for (int i = 0; i < 1000; i++)
			change_key(&t, &m, random_below(among));
		CHECK(is_same(&t, &m));
	}
	ks_table_clear(&t);
	memset(&m.slot, 0xff, sizeof(m.slot));
	m.n = 0;
	CHECK(is_same(&t, &m));
	ks_table_free(&t);
	CHECK(is_same(&t, &m));
}

static bool
has_number(const void *things, uint32_t slot, const void *key)
{
	(void)things;
	return slot == *(const uint32_t *)key;
}

static void
check_refusal(void)
{
	struct ks_table t = { 0 };
	uint32_t n = 100;
	size_t cells;

	refuse = true;
	CHECK(!ks_table_add(&t, 0, 0) && errno == ENOMEM && t.n == 0);
	refuse = false;
	CHECK(ks_table_reserve(&t, n));
	cells = t.mask + 1;
	refuse = true;
	for (uint32_t i = 0; i < n; i++)
		CHECK(ks_table_add(&t, i, i));
	while (ks_table_add(&t, n, n) && n < cells)
		n++;
	refuse = false;
	CHECK(n < cells && t.n == n);
	CHECK(!ks_table_reserve(&t, SIZE_MAX) && errno == ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		CHECK(ks_table_find(&t, i, has_number, NULL, &i) == i);
	CHECK(ks_table_find(&t, n, has_number, NULL, &n) == KS_NO_SLOT);
	CHECK(ks_table_add(&t, n, n) && t.n == n + 1);
	ks_table_free(&t);
}

/* Bytes that are no UTF-8, as longer forms than needed, become U+FFFD; control bytes and DEL are escaped. */
static void
check_json(void)
{
#define NONE "\xef\xbf\xbd"
	static const char *const strings[][2] = { { "\x01\x7f", "\"\\u0001\\u007f\"" },
		{ "\xc0\x80", "\"" NONE NONE "\"" }, { "\xe0\x9f\xbf", "\"" NONE NONE NONE "\"" },
		{ "\xf0\x8f\xbf\xbf", "\"" NONE NONE NONE NONE "\"" },
		{ "\xe0\xa0\x80\xf0\x90\x80\x80", "\"\xe0\xa0\x80\xf0\x90\x80\x80\"" } };

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		struct ks_buf b = { .len = 0 };
		struct ks_json j = { .out = &b };

		ks_json_string(&j, strings[i][0], strlen(strings[i][0]));
		CHECK(b.len == strlen(strings[i][1]) && memcmp(b.data, strings[i][1], b.len) == 0);
		ks_buf_free(&b);
	}
}

/* Names fall together by case, blanks, what is no letter, look-alikes, a NUL and accents, and by nothing else. */
static void
check_alike(void)
{
	static const char *const like_cpu_stat[] = { "cpu_stat", "CPU_Stat", " cpu_stat", "cpu_stat ", "cpu-stat", "cpu  stat",
		"-cpu.stat-", "\xd1\x81pu_stat", "\xef\xbd\x83pu_stat", "cpu_st\xc3\xa1t", "cpu_sta\xcc\x81t", "cpu_\xe2\x80\x8bstat",
		"cpu\377stat", "cpu_stat\0more", "c\xe1\xb9\x95u_st\xe1\xba\xa1t", "cp\xcc\x81u_sta\xcc\xa3t", "c\xe2\x80\xaepu_stat",
		"ᴄᴘᴜ_ꜱᴛᴀᴛ", "𝐜𝐩𝐮_𝓼𝓉𝒶𝔱", "ᶜᵖᵘ_ˢᵗᵃᵗ", "ⓒⓟⓤ_🅂🅃🄰🅃", "ᏟᏢՍ_ꓢꓔꓮꓔ", "ꮯꮲu_ꮪtꭺt", "ⅽᴩŭ_şťāț", "cpµ_stat",
		"cpμ_stat" };
	static const char *const others[] = { "cpustat", "cpu_stats", "cpu_sta", "c_pu_stat", "", "_" };
	char name[8];

	for (size_t i = 0; i < sizeof(like_cpu_stat) / sizeof(like_cpu_stat[0]); i++)
		CHECK(ks_are_alike(like_cpu_stat[i], like_cpu_stat[0]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!ks_are_alike(others[i], like_cpu_stat[0]));
	CHECK(ks_are_alike("tcp6 ov", "𝕥𝗰𝘱𝟨-𝜊𝝼"));
	CHECK(ks_are_alike("", "_-_"));
	CHECK(ks_alike("A B C D E F G", name, sizeof(name)) == 7 && strcmp(name, "a_b_c_d") == 0);
	CHECK(ks_alike("\xe6\x97\xa5\xe6\x9c\xac", name, 1) == 0 && name[0] == '\0');
}

int
main(void)
{
	check_array();
	check_alike();
	check_table(UINT64_MAX);
	check_table(100); /* many keys of one hash */
	check_refusal();
	check_json();
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
