/*
 * provider_api.c - what a provider's program finds in the public headers besides kstat_create(9F): says which
 * checks fail, and how many there were. $KSTAT_DIR is an empty directory, the arguments are trees of /proc and
 * /sys. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <kstat_provider.h>
#include "check.h"

static kstat_ctl_t *kc;

static kstat_t *
see(const char *name)
{
	(void)kstat_chain_update(kc);
	return kstat_lookup(kc, "api", 0, name);
}

/* --- the bounds of a histogram's buckets --------------------------------------------------- */

static void
bounds(void)
{
	const char *path[] = { "misc", "api", "0", "delays" };
	const char *published_path[] = { "misc", "api", "0", "sizes" };
	kstat_pub_t *pub = kstat_publish("api-bounds", 0);
	kstat2_t *own = kstat2_create_histogram(path, 4, ALL_ZONES, KSTAT2_NVHIST_LINEAR, KSTAT2_NVMT_T_REL, 1,
	    KSTAT2_NVMF_NONE, NULL, 0, 100, 300, 50, 0, "delays", KSTAT2_MF_NONE);
	kstat2_t *shared = kstat2_publish_histogram(pub, published_path, 4, KSTAT2_NVHIST_LOG10_LIN,
	    KSTAT2_NVMT_BYTES, 1, KSTAT2_NVMF_NONE, 1, 2, 10, 0, NULL, KSTAT2_MF_NONE);
	static const uint64_t low[] = { 0, 100, 150, 200, 250, 300 };
	static const uint64_t high[] = { 99, 149, 199, 249, 299, UINT64_MAX };
	uint64_t from = 1, to = 1;
	kstat_t *k;

	CHECK(kstat2_install(own) == 0 && kstat2_install(shared) == 0);
	k = see("delays");
	CHECK(kstat2_hist_bounds(k, 0, &from, &to) == -1 && errno == EINVAL);
	CHECK(kstat2_hist_add_value(own, 160) == 0);
	CHECK(kstat_read(kc, k, NULL) > 0);
	for (uint32_t i = 0; i < 6; i++) {
		CHECK(kstat2_hist_bounds(k, i, &from, &to) == 0);
		CHECK(from == low[i] && to == high[i]);
	}
	from = to = 7;
	CHECK(kstat2_hist_bounds(k, 6, &from, &to) == -1 && errno == EINVAL && from == 7 && to == 7);
	CHECK(kstat2_hist_bounds(k, 0, NULL, &to) == -1 && errno == EINVAL);
	CHECK(kstat2_hist_bounds(NULL, 0, &from, &to) == -1 && errno == EINVAL);
	k = see("sizes");
	CHECK(kstat_read(kc, k, NULL) > 0);
	CHECK(kstat2_hist_bounds(k, 10, &from, &to) == 0 && from == 100 && to == 199);
	kstat2_delete(own);
	kstat2_delete(shared);
	own = kstat_create("api", 0, "plain", "misc", KSTAT_TYPE_NAMED, 0, 0);
	CHECK(kstat_install(own) == 0 && kstat_read(kc, see("plain"), NULL) > 0);
	CHECK(kstat2_hist_bounds(see("plain"), 0, &from, &to) == -1 && errno == EINVAL);
	kstat_delete(own);
	kstat_unpublish(pub);
}

/* --- queues: an operation reads or writes ---------------------------------------------------- */

static void
directions(void)
{
	kstat_pub_t *pub = kstat_publish("api-queue", 0);
	kstat_t *own = kstat_publish_create(pub, "api", 0, "queue", "misc", KSTAT_TYPE_IO, 1, 0), *k;
	static const int wrong[] = { 9, -1, 2 };
	kstat_ioq_t *q;
	kstat_io_t before, after;

	CHECK(kstat_install(own) == 0);
	q = kstat_ioq(own);
	for (int i = 0; i < 4; i++)
		CHECK(kstat_ioq_runq_enter_at(q, 10 + i) == 0);
	k = see("queue");
	CHECK(kstat_ioq_done_at(q, KSTAT_IO_WRITE, 5, 20) == 0 && kstat_ioq_count(q, KSTAT_IO_READ, 7) == 0);
	CHECK(kstat_read(kc, k, &before) > 0);
	CHECK(before.writes == 1 && before.nwritten == 5 && before.reads == 1 && before.nread == 7 &&
	    before.rcnt == 3);
	for (int i = 0; i < 3; i++) {
		CHECK(kstat_ioq_done_at(q, wrong[i], 5, 30) == -1 && errno == EINVAL);
		CHECK(kstat_ioq_done(q, wrong[i], 5) == -1 && errno == EINVAL);
		CHECK(kstat_ioq_count(q, wrong[i], 5) == -1 && errno == EINVAL);
	}
	CHECK(strcmp(kstat_errmsg(), "2 is neither KSTAT_IO_READ nor KSTAT_IO_WRITE") == 0);
	CHECK(kstat_read(kc, k, &after) > 0);
	CHECK(after.reads == before.reads && after.nread == before.nread && after.writes == before.writes &&
	    after.nwritten == before.nwritten && after.rcnt == before.rcnt);
	CHECK(kstat_ioq_done(q, KSTAT_IO_READ, 1) == 0 && kstat_ioq_done(q, KSTAT_IO_WRITE, 2) == 0);
	CHECK(kstat_read(kc, k, &after) > 0);
	CHECK(after.reads == 2 && after.nread == 8 && after.writes == 2 && after.nwritten == 7 && after.rcnt == 1);
	kstat_delete(own);
	kstat_unpublish(pub);
}

/* --- names that Solaris's sources use ----------------------------------------------------------- */

static void
names(void)
{
	kstat_named_t value;
	kstat_timer_t timer;
	hrtime_t before = gethrtime();
	kstat_t *own = kstat_create("api", 0, "still", "misc", KSTAT_TYPE_NAMED, 1,
	    KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_WRITABLE), *k;

	own->ks_update = default_kstat_update;
	CHECK(default_kstat_update(own, KSTAT_READ) == 0 && default_kstat_update(own, KSTAT_WRITE) == 0);
	CHECK(kstat_install(own) == -1 && errno == EINVAL);
	own->ks_data = &value;
	kstat_named_init(&value, "v", KSTAT_DATA_UINT64);
	value.value.ui64 = 5;
	CHECK(kstat_install(own) == 0);
	k = see("still");
	CHECK(kstat_read(kc, k, NULL) > 0 && KSTAT_NAMED_PTR(k)->value.ui64 == 5);
	KSTAT_NAMED_PTR(k)->value.ui64 = 6;
	CHECK(kstat_write(kc, k, NULL) > 0 && value.value.ui64 == 6);
	kstat_delete(own);
	kstat_timer_init(&timer, "event");
	KSTAT_TIMER_START(&timer);
	CHECK(timer.start_time >= before && timer.num_events == 0);
	KSTAT_TIMER_STOP(&timer);
	CHECK(timer.stop_time >= timer.start_time && timer.num_events == 1);
	CHECK(timer.elapsed_time == timer.stop_time - timer.start_time && timer.max_time == timer.elapsed_time);
}

/* --- metadata, given and asked for ----------------------------------------------------------------- */

static void
is_described(kstat_t *k, const char *stat, const kstat2_md_t *want, const char *unit)
{
	kstat2_md_t md;

	CHECK(kstat2_get_md(kc, k, stat, &md) == 0);
	CHECK(md.md_type == want->md_type && md.md_flags == want->md_flags && md.md_kind == want->md_kind &&
	    md.md_scale == want->md_scale);
	CHECK(md.md_unit != NULL && strcmp(md.md_unit, unit) == 0);
	CHECK((md.md_desc == NULL) == (want->md_desc == NULL) &&
	    (md.md_desc == NULL || strcmp(md.md_desc, want->md_desc) == 0));
}

static void
metadata(void)
{
	static const kstat2_md_t kilo = { KSTAT2_NVMT_BYTES, KSTAT2_NVMF_NONE, KSTAT2_NVMK_GAUGE, 1024, NULL,
		"memory that it holds" };
	static const kstat2_md_t milli = { KSTAT2_NVMT_T_ACC, KSTAT2_NVMF_FRACT, KSTAT2_NVMK_COUNTER, 1000, NULL,
		NULL };
	static const kstat2_md_t bytes = { KSTAT2_NVMT_BYTES, KSTAT2_NVMF_NONE, KSTAT2_NVMK_COUNTER, 1, NULL,
		"bytes read" };
	kstat_pub_t *pub = kstat_publish("api-metadata", 0);
	kstat_t *own[2], *k, gone;
	kstat2_md_t md = { KSTAT2_NVMT_ID, 77, KSTAT2_NVMK_TEXT, 5, "x", "y" };

	own[0] = kstat_create("api", 0, "local", "misc", KSTAT_TYPE_NAMED, 3, 0);
	own[1] = kstat_publish_create(pub, "api", 0, "shared", "misc", KSTAT_TYPE_NAMED, 3, 0);
	for (int i = 0; i < 2; i++) {
		kstat_named_t *kn = own[i]->ks_data;

		/* As long as a value has no name, any may be that of a statistic. */
		kstat_named_init(&kn[0], "held", KSTAT_DATA_UINT64);
		CHECK(kstat2_set_md(own[i], "time", &milli) == 0);
		kstat_named_init(&kn[1], "time", KSTAT_DATA_UINT64);
		kstat_named_init(&kn[2], "a_name_with_thirty_characters_and_more", KSTAT_DATA_UINT64);
		CHECK(kstat2_set_md(own[i], "held", &kilo) == 0);
		CHECK(kstat2_set_md(own[i], "nosuch", &kilo) == -1 && errno == ENOENT);
		CHECK(kstat2_set_md(own[i], "hel", &kilo) == -1 && errno == ENOENT);
		CHECK(kstat2_set_md(own[i], "", &kilo) == -1 && errno == ENOENT);
		CHECK(kstat2_set_md(own[i], "a_name_with_thirty_characters_and_more", &kilo) == 0);
		CHECK(kstat2_set_md(own[i], "time", &milli) == 0 && kstat2_set_md(own[i], "held", &kilo) == 0);
		CHECK(kstat_install(own[i]) == 0);
		k = see(own[i]->ks_name);
		CHECK(kstat2_get_md(kc, k, "nosuch", &md) == -1 && errno == ENOENT);
		CHECK(md.md_flags == 77 && md.md_scale == 5);
		is_described(k, "held", &kilo, "KiB");
		is_described(k, "time", &milli, "ms");
		is_described(k, "a_name_with_thirty_characters_", &kilo, "KiB");
		CHECK(kstat2_get_md(kc, k, "crtime", &md) == 0 && md.md_kind == KSTAT2_NVMK_TIME &&
		    strcmp(md.md_unit, "ns") == 0);
		md.md_flags = 77;
		md.md_scale = 5;
	}
	CHECK(kstat2_get_md(NULL, k, "held", &md) == -1 && errno == EINVAL);
	CHECK(kstat2_get_md(kc, NULL, "held", &md) == -1 && errno == EINVAL);
	CHECK(kstat2_get_md(kc, k, NULL, &md) == -1 && errno == EINVAL);
	CHECK(kstat2_get_md(kc, k, "held", NULL) == -1 && errno == EINVAL);
	gone = *k;
	kstat_delete(own[0]);
	kstat_delete(own[1]);
	CHECK(see("shared") == NULL && kstat2_get_md(kc, &gone, "held", &md) == -1 && errno == ENXIO);
	own[0] = kstat_create("api", 0, "io", "misc", KSTAT_TYPE_IO, 1, 0);
	CHECK(kstat2_set_md(own[0], "anything", &kilo) == 0 && kstat_install(own[0]) == 0);
	is_described(see("io"), "nread", &bytes, "bytes");
	kstat_delete(own[0]);
	own[0] = kstat_create("api", 0, "varies", "misc", KSTAT_TYPE_NAMED, 0,
	    KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE);
	CHECK(kstat2_set_md(own[0], "later", &kilo) == 0);
	kstat_delete(own[0]);
	kstat_unpublish(pub);
}

/* --- KSTAT_FLAG_LONGSTRINGS --------------------------------------------------------------------------- */

static bool
is_flagged(const kstat_t *k)
{
	return (k->ks_flags & KSTAT_FLAG_LONGSTRINGS) != 0;
}

static int
make_text(kstat_t *ksp, int rw)
{
	static kstat_named_t text;

	(void)rw;
	kstat_named_init(&text, "text", KSTAT_DATA_STRING);
	ksp->ks_data = &text;
	ksp->ks_ndata = 1;
	ksp->ks_data_size = sizeof(text);
	return kstat_named_setstr(&text, "long");
}

static void
own_strings(void)
{
	static const struct {
		uchar_t type;
		bool flagged;
	} cases[] = {
		{ KSTAT_DATA_STRING, true }, { KSTAT_DATA_STRS, true }, { KSTAT_DATA_CHAR, false },
		{ KSTAT_DATA_INTS, false }, { KSTAT_DATA_UINT64, false }
	};
	kstat_pub_t *pub = kstat_publish("api-strings", 0);
	kstat_t *own, *k;

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		own = i % 2 == 0 ? kstat_create("api", 0, "text", "misc", KSTAT_TYPE_NAMED, 2, 0) :
		    kstat_publish_create(pub, "api", 0, "text", "misc", KSTAT_TYPE_NAMED, 2, 0);
		kstat_named_init(&KSTAT_NAMED_PTR(own)[0], "number", KSTAT_DATA_UINT32);
		kstat_named_init(&KSTAT_NAMED_PTR(own)[1], "value", cases[i / 2].type);
		CHECK(kstat_install(own) == 0 && is_flagged(own) == cases[i / 2].flagged);
		k = see("text");
		CHECK(k != NULL && is_flagged(k) == cases[i / 2].flagged);
		CHECK(kstat_read(kc, k, NULL) > 0 && is_flagged(k) == cases[i / 2].flagged);
		kstat_delete(own);
	}
	/* Where an update brings strings, a read finds out; that stays so when the chain is updated. */
	own = kstat_create("api", 0, "later", "misc", KSTAT_TYPE_NAMED, 0,
	    KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE);
	own->ks_update = make_text;
	CHECK(kstat_install(own) == 0);
	k = see("later");
	CHECK(!is_flagged(k) && kstat_read(kc, k, NULL) > 0 && is_flagged(k));
	CHECK(kstat_install(kstat_create("api", 0, "more", "misc", KSTAT_TYPE_NAMED, 0, 0)) == 0);
	CHECK(see("later") == k && is_flagged(k));
	kstat_delete(own);
	CHECK(kstat_delete_byname("api", 0, "more") == 0);
	kstat_unpublish(pub);
}

/* The system's own, in the trees proc and sys of a recorded one. */
static void
system_strings(const char *proc, const char *sys)
{
	kstat_ctl_t *tree = kstat_open_roots(proc, sys);
	kstat_t *k = kstat_lookup(tree, "cpu_info", 0, NULL);
	int flagged = 0;

	CHECK(k != NULL && is_flagged(k));
	k = kstat_lookup(tree, "cpu", 0, "vm");
	CHECK(k != NULL && !is_flagged(k));
	for (k = tree->kc_chain; k != NULL; k = k->ks_next) {
		const kstat_named_t *kn;
		bool strings = false;

		if (kstat_read(tree, k, NULL) < 0)
			continue;
		kn = k->ks_data;
		for (uint_t i = 0; k->ks_type == KSTAT_TYPE_NAMED && i < k->ks_ndata; i++)
			strings |= kn[i].data_type == KSTAT_DATA_STRING;
		flagged += strings;
		CHECK(!strings || is_flagged(k));
		CHECK(k->ks_type == KSTAT_TYPE_NAMED || !is_flagged(k));
	}
	CHECK(flagged > 3);
	kstat_close(tree);
}

/* The texts of a handle's metadata stay while another handle is asked. */
static void
two_handles(const char *proc, const char *sys)
{
	kstat_ctl_t *tree[2] = { kstat_open_roots(proc, sys), kstat_open_roots(proc, sys) };
	kstat2_md_t md[2];

	for (int i = 0; i < 2; i++)
		CHECK(kstat2_get_md(tree[i], kstat_lookup(tree[i], "unix", 0, "vm_events"), i == 0 ? "first" : "second",
		    &md[i]) == 0);
	CHECK(strncmp(md[0].md_desc, "first: ", 7) == 0 && strncmp(md[1].md_desc, "second: ", 8) == 0);
	kstat_close(tree[0]);
	kstat_close(tree[1]);
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	kc = kstat_open();
	if (kc == NULL || kstat2_all_types(kc) != 0)
		return 1;
	bounds();
	directions();
	names();
	metadata();
	own_strings();
	system_strings(argv[1], argv[2]);
	two_handles(argv[1], argv[2]);
	kstat_close(kc);
	printf("%d checks, %d failures\n", checks, failures);
	return 0;
}
