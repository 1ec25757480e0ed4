/*
 * core_provider.c - exercises the kstats of this process, seen through a chain over the local
 * source: says which checks fail, and how many there were. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "kstat_provider.h"
#include "source/sources.h"
#include "check.h"

static kstat_ctl_t *kc;

static kstat_t *
see(const char *module, int instance, const char *name)
{
	(void)kstat_chain_update(kc);
	return kstat_lookup(kc, module, instance, name);
}

/* --- the example of the reference: system_pages ------------------------------------------- */

static struct {
	kstat_named_t physmem;
	kstat_named_t nalloc;
} pages;

static int updates, writes;
static uint64_t physmem = 1000;

static int
pages_update(kstat_t *ksp, int rw)
{
	if (rw == KSTAT_WRITE)
		return EACCES;
	CHECK(ksp->ks_private == &physmem);
	updates++;
	pages.physmem.value.ul = physmem;
	pages.nalloc.value.ul++;
	return 0;
}

static void
named_virtual(void)
{
	kstat_t *ksp = kstat_create("unix", 0, "my_pages", "pages", KSTAT_TYPE_NAMED,
	    sizeof(pages) / sizeof(kstat_named_t), KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_WRITABLE);
	kstat_t *k;
	kstat_named_t *kn;

	CHECK(ksp != NULL);
	kstat_named_init(&pages.physmem, "physmem", KSTAT_DATA_ULONG);
	kstat_named_init(&pages.nalloc, "nalloc", KSTAT_DATA_ULONG);
	CHECK(kstat_install(ksp) == -1 && errno == EINVAL);
	ksp->ks_data = &pages;
	ksp->ks_update = pages_update;
	ksp->ks_private = &physmem;
	CHECK(see("unix", 0, "my_pages") == NULL);
	CHECK(kstat_install(ksp) == 0);
	CHECK(kstat_install(ksp) == -1 && errno == EINVAL);
	k = see("unix", 0, "my_pages");
	CHECK(k != NULL && k->ks_crtime == ksp->ks_crtime && strcmp(k->ks_class, "pages") == 0);
	CHECK(updates == 0);
	CHECK(kstat_read(kc, k, NULL) > 0);
	CHECK(updates == 1);
	kn = kstat_data_lookup(k, "physmem");
	CHECK(kn != NULL && kn->value.ul == 1000);
	physmem = 2000;
	CHECK(kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "physmem");
	CHECK(kn != NULL && kn->value.ul == 2000);
	CHECK(k->ks_snaptime >= ksp->ks_crtime);
	/* What the update function refuses reaches the writer, and leaves no trace. */
	kn->value.ul = 5;
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EACCES);
	CHECK(strstr(kstat_errmsg(), "unix:0:my_pages") != NULL);
	CHECK(pages.physmem.value.ul == 2000);
	kstat_delete(ksp);
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENXIO);
	CHECK(see("unix", 0, "my_pages") == NULL);
}

static int
note_write(kstat_t *ksp, int rw)
{
	if (rw == KSTAT_WRITE && KSTAT_NAMED_PTR(ksp)[0].value.i32 < 0)
		return ERANGE;
	writes += rw == KSTAT_WRITE;
	return 0;
}

static void
writing(void)
{
	kstat_t *ksp = kstat_create("prov", 3, "limits", "misc", KSTAT_TYPE_NAMED, 2,
	    KSTAT_FLAG_WRITABLE);
	kstat_t *k;
	kstat_named_t *kn, *text;
	char other[] = "other", *same;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	kstat_named_init(&KSTAT_NAMED_PTR(ksp)[0], "limit", KSTAT_DATA_INT32);
	kstat_named_init(&KSTAT_NAMED_PTR(ksp)[1], "text", KSTAT_DATA_STRING);
	CHECK(kstat_named_setstr(&KSTAT_NAMED_PTR(ksp)[1], "fixed") == 0);
	CHECK(kstat_named_setstr(&KSTAT_NAMED_PTR(ksp)[0], "no") == -1 && errno == EINVAL);
	ksp->ks_update = note_write;
	ksp->ks_lock = &lock;
	CHECK(kstat_install(ksp) == 0);
	k = see("prov", 3, "limits");
	CHECK(kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "text");
	CHECK(kn != NULL && strcmp(KSTAT_NAMED_STR_PTR(kn), "fixed") == 0 &&
	    KSTAT_NAMED_STR_BUFLEN(kn) == 6);
	kn = kstat_data_lookup(k, "limit");
	kn->value.i32 = 77;
	CHECK(kstat_write(kc, k, NULL) > 0);
	CHECK(writes == 1 && KSTAT_NAMED_PTR(ksp)[0].value.i32 == 77);
	/* The text may be constant memory: nobody writes there, and what was to be written beside it is not. */
	kn->value.i32 = 78;
	text = kstat_data_lookup(k, "text");
	same = KSTAT_NAMED_STR_PTR(text);
	KSTAT_NAMED_STR_PTR(text) = other;
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EACCES);
	CHECK(strstr(kstat_errmsg(), "prov:3:limits: text: ") != NULL);
	CHECK(writes == 1 && KSTAT_NAMED_PTR(ksp)[0].value.i32 == 77);
	KSTAT_NAMED_STR_PTR(text) = same;
	kn->value.i32 = -1;
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == ERANGE);
	CHECK(KSTAT_NAMED_PTR(ksp)[0].value.i32 == 77);
	kstat_named_init(kn, "other", KSTAT_DATA_INT32);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EINVAL);
	CHECK(pthread_mutex_trylock(&lock) == 0);
	kstat_delete(ksp);
	ksp = kstat_create("prov", 3, "limits", "misc", KSTAT_TYPE_NAMED, 0, 0);
	CHECK(kstat_install(ksp) == 0);
	k = see("prov", 3, "limits");
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_ndata == 0);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EACCES);
	CHECK(kstat_delete_byname("prov", 3, "limits") == 0);
	CHECK(kstat_delete_byname("prov", 3, "limits") == -1 && errno == ENOENT);
}

static void
contracts(void)
{
	kstat_t *a, *b;

	CHECK(kstat_create("m", 0, "n", "c", 5, 1, 0) == NULL && errno == EINVAL);
	CHECK(kstat_create("m", 0, "n", "c", KSTAT_TYPE_IO, 2, 0) == NULL && errno == EINVAL);
	CHECK(kstat_create("m", 0, "n", "c", KSTAT_TYPE_INTR, 0, 0) == NULL && errno == EINVAL);
	CHECK(kstat_create("m", 0, "n", "c", KSTAT_TYPE_TIMER, 0, 0) == NULL && errno == EINVAL);
	CHECK(kstat_create("", 0, "n", "c", KSTAT_TYPE_IO, 1, 0) == NULL && errno == EINVAL);
	CHECK(kstat_create("m", 0, "n", "c", KSTAT_TYPE_IO, 1, KSTAT_FLAG_DORMANT) == NULL &&
	    errno == EINVAL);
	CHECK(kstat_create("m", 0, "n", "c", KSTAT_TYPE_IO, 1,
	    KSTAT_FLAG_PERSISTENT | KSTAT_FLAG_VIRTUAL) == NULL && errno == EINVAL);
	CHECK(kstat_create("m", 0, "n", "c", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_VAR_SIZE) == NULL &&
	    errno == EINVAL);
	a = kstat_create("sd", 4, NULL, "disk", KSTAT_TYPE_IO, 1, 0);
	CHECK(a != NULL && strcmp(a->ks_name, "sd4") == 0 && (a->ks_flags & KSTAT_FLAG_INVALID));
	CHECK(kstat_create("sd", 4, "sd4", "disk", KSTAT_TYPE_IO, 1, 0) == NULL && errno == EEXIST);
	b = kstat_create("a name that is longer than thirty bytes", 0, "n", "c", KSTAT_TYPE_IO, 1, 0);
	CHECK(b != NULL && strcmp(b->ks_module, "a name that is longer than thi") == 0);
	kstat_delete(a);
	kstat_delete(b);
	kstat_delete(NULL);
}

static void
io_and_timers(void)
{
	kstat_t *io = kstat_create("sd", 0, "sd0", "disk", KSTAT_TYPE_IO, 1, 0);
	kstat_t *timers = kstat_create("prov", 0, "events", "misc", KSTAT_TYPE_TIMER, 2, 0);
	kstat_t *intr = kstat_create("prov", 0, "intr", "controller", KSTAT_TYPE_INTR, 1, 0);
	kstat_t *raw = kstat_create("prov", 0, "bytes", "misc", KSTAT_TYPE_RAW, 5, 0);
	kstat_t *k;
	hrtime_t entered;

	CHECK(kstat_waitq_exit(KSTAT_IO_PTR(io)) == -1 && errno == EINVAL);
	CHECK(kstat_waitq_enter(NULL) == -1 && errno == EINVAL);
	CHECK(kstat_waitq_enter(KSTAT_IO_PTR(io)) == 0);
	CHECK(kstat_waitq_to_runq(KSTAT_IO_PTR(io)) == 0);
	entered = KSTAT_IO_PTR(io)->rlastupdate;
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[0], "first");
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[1], "second");
	CHECK(kstat_timer_start_at(&KSTAT_TIMER_PTR(timers)[1], 5) == 0);
	CHECK(kstat_timer_stop_at(&KSTAT_TIMER_PTR(timers)[1], 12) == 0);
	KSTAT_INTR_PTR(intr)->intrs[KSTAT_INTR_MULTSVC] = 9;
	memcpy(raw->ks_data, "bytes", 5);
	CHECK(kstat_install(io) == 0 && kstat_install(timers) == 0 && kstat_install(intr) == 0 &&
	    kstat_install(raw) == 0);
	k = see("sd", 0, "sd0");
	CHECK(kstat_read(kc, k, NULL) > 0);
	/* The request in service counts already, up to the time of the snapshot. */
	CHECK(KSTAT_IO_PTR(k)->rcnt == 1 && KSTAT_IO_PTR(k)->rlastupdate == k->ks_snaptime);
	CHECK(KSTAT_IO_PTR(k)->rtime == k->ks_snaptime - entered);
	CHECK(KSTAT_IO_PTR(io)->rtime == 0 && KSTAT_IO_PTR(io)->rlastupdate == entered);
	k = see("prov", 0, "events");
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_ndata == 2);
	CHECK(((kstat_timer_t *)kstat_data_lookup(k, "second"))->elapsed_time == 7);
	k = see("prov", 0, "intr");
	CHECK(kstat_read(kc, k, NULL) > 0 && KSTAT_INTR_PTR(k)->intrs[KSTAT_INTR_MULTSVC] == 9);
	k = see("prov", 0, "bytes");
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_data_size == 5 && memcmp(k->ks_data, "bytes", 5) == 0);
	kstat_delete(io);
	kstat_delete(timers);
	kstat_delete(intr);
	kstat_delete(raw);
}

/* Names that could not be told apart keep a kstat from being seen, until they are set right. */
static void
duplicates(void)
{
	enum { MANY = 20000 };
	kstat_t *ksp = kstat_create("prov", 1, "twice", "misc", KSTAT_TYPE_NAMED, MANY, 0);
	kstat_t *timers = kstat_create("prov", 1, "events", "misc", KSTAT_TYPE_TIMER, 2, 0);
	kstat_named_t *kn = ksp->ks_data;
	char name[KSTAT_STRLEN];

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "stat%d", i);
		kstat_named_init(&kn[i], name, KSTAT_DATA_UINT64);
	}
	kstat_named_init(&kn[MANY - 1], "stat17", KSTAT_DATA_STRING);
	CHECK(kstat_install(ksp) == -1 && errno == EINVAL);
	CHECK(strcmp(kstat_errmsg(), "prov:1:twice: more than one statistic is named 'stat17'") == 0);
	CHECK(see("prov", 1, "twice") == NULL);
	kstat_named_init(&kn[MANY - 1], "Stat17", KSTAT_DATA_UINT64);
	CHECK(kstat_install(ksp) == 0);
	CHECK(kstat_read(kc, see("prov", 1, "twice"), NULL) > 0);
	kstat_delete(ksp);
	/* Names of 30 bytes that differ in the last, and values that get their names later. */
	ksp = kstat_create("prov", 1, "twice", "misc", KSTAT_TYPE_NAMED, 4, 0);
	kn = ksp->ks_data;
	kstat_named_init(&kn[0], "a_name_with_thirty_characters1", KSTAT_DATA_UINT64);
	kstat_named_init(&kn[1], "a_name_with_thirty_characters2", KSTAT_DATA_UINT64);
	CHECK(kstat_install(ksp) == 0);
	kstat_delete(ksp);
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[0], "event");
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[1], "event");
	CHECK(kstat_install(timers) == -1 && errno == EINVAL);
	CHECK(strstr(kstat_errmsg(), "'event'") != NULL);
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[1], "other");
	CHECK(kstat_install(timers) == 0);
	kstat_delete(timers);
}

static void
persistent(void)
{
	kstat_t *ksp = kstat_create("sd", 1, "sd1", "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
	kstat_t *again, *k;
	hrtime_t created;

	KSTAT_IO_PTR(ksp)->reads = 42;
	created = ksp->ks_crtime;
	CHECK(kstat_install(ksp) == 0);
	kstat_delete(ksp);
	k = see("sd", 1, "sd1");
	CHECK(k != NULL && (k->ks_flags & KSTAT_FLAG_DORMANT));
	CHECK(kstat_read(kc, k, NULL) > 0 && KSTAT_IO_PTR(k)->reads == 42);
	CHECK(kstat_create("sd", 1, "sd1", "disk", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_PERSISTENT) == NULL &&
	    errno == EEXIST);
	again = kstat_create("sd", 1, "sd1", "disk", KSTAT_TYPE_IO, 1, 0);
	CHECK(again != NULL && KSTAT_IO_PTR(again)->reads == 42 && again->ks_crtime == created);
	CHECK(kstat_install(again) == 0);
	k = see("sd", 1, "sd1");
	CHECK(k != NULL && !(k->ks_flags & KSTAT_FLAG_DORMANT));
	kstat_delete(again);
	CHECK(see("sd", 1, "sd1") == NULL);
}

static int
snapshot(kstat_t *ksp, void *buf, int rw)
{
	kstat_named_t *kn = buf;

	if (rw == KSTAT_WRITE)
		return EACCES;
	memcpy(buf, ksp->ks_data, ksp->ks_data_size);
	kn[0].value.ui64 *= 2;
	return 0;
}

static int
grow(kstat_t *ksp, int rw)
{
	static kstat_named_t values[3];

	if (rw == KSTAT_WRITE)
		return EACCES;
	if (ksp->ks_ndata < 3)
		ksp->ks_ndata++;
	ksp->ks_data = values;
	ksp->ks_data_size = ksp->ks_ndata * sizeof(values[0]);
	kstat_named_init(&values[ksp->ks_ndata - 1], "v", KSTAT_DATA_UINT64);
	return 0;
}

static int
suicide(kstat_t *ksp, int rw)
{
	(void)rw;
	kstat_delete(ksp);
	return 0;
}

static int
recursive(kstat_t *ksp, int rw)
{
	kstat_t *self = kstat_lookup(kc, ksp->ks_module, ksp->ks_instance, ksp->ks_name);

	(void)rw;
	CHECK(kstat_read(kc, self, NULL) == -1 && errno == EDEADLK);
	return ENOMSG;
}

static void
callbacks(void)
{
	kstat_t *ksp = kstat_create("prov", 0, "snap", "misc", KSTAT_TYPE_NAMED, 1, 0);
	kstat_t *var = kstat_create("prov", 0, "var", "misc", KSTAT_TYPE_NAMED, 0,
	    KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE);
	kstat_t *dead = kstat_create("prov", 0, "dead", "misc", KSTAT_TYPE_NAMED, 1, 0);
	kstat_t *loop = kstat_create("prov", 0, "loop", "misc", KSTAT_TYPE_NAMED, 1, 0);
	kstat_t *k;

	kstat_named_init(ksp->ks_data, "value", KSTAT_DATA_UINT64);
	KSTAT_NAMED_PTR(ksp)->value.ui64 = 21;
	ksp->ks_snapshot = snapshot;
	var->ks_update = grow;
	dead->ks_update = suicide;
	loop->ks_update = recursive;
	CHECK(kstat_install(ksp) == 0 && kstat_install(var) == 0 && kstat_install(dead) == 0 &&
	    kstat_install(loop) == 0);
	k = see("prov", 0, "snap");
	CHECK(kstat_read(kc, k, NULL) > 0 && KSTAT_NAMED_PTR(k)->value.ui64 == 42);
	k = see("prov", 0, "var");
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_ndata == 1);
	CHECK(kstat_read(kc, k, NULL) > 0 && k->ks_ndata == 2);
	k = see("prov", 0, "dead");
	CHECK(kstat_read(kc, k, NULL) > 0);
	CHECK(see("prov", 0, "dead") == NULL);
	k = see("prov", 0, "loop");
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENOMSG);
	kstat_delete(ksp);
	kstat_delete(var);
	kstat_delete(loop);
}

/* --- kstat2 ------------------------------------------------------------------------------ */

static void
histograms(void)
{
	const char *pseg[] = { "misc", "my_drv", "1", "data_in" };
	const char *other[] = { "misc", "my_drv", "data_out", "1" };
	uint64_t own[10] = { 0, 3 };
	kstat2_t *h = kstat2_create_histogram(pseg, 4, ALL_ZONES, KSTAT2_NVHIST_LINEAR,
	    KSTAT_NVMT_BYTES, 1, KSTAT2_NVMF_NONE, NULL, 0, 0, 1024, 128, 0, "data read by my_drv",
	    KSTAT2_MF_NONE);
	kstat2_t *o = kstat2_create_histogram(other, 4, GLOBAL_ZONEID, KSTAT2_NVHIST_LINEAR,
	    KSTAT_NVMT_BYTES, 1, KSTAT2_NVMF_NONE, own, 10, 0, 1024, 128, 0, "data written",
	    KSTAT2_MF_STABLE);
	const struct ks_meta *m;
	kstat_t *k;
	kstat_named_t *kn;

	CHECK(h != NULL && o != NULL);
	CHECK(kstat2_create_histogram(other, 4, ALL_ZONES, KSTAT2_NVHIST_LINEAR, KSTAT_NVMT_BYTES, 1,
	    0, own, 3, 0, 1024, 128, 0, "", 0) == NULL && errno == EEXIST);
	CHECK(kstat2_create_histogram(pseg, 4, ALL_ZONES, KSTAT2_NVHIST_LINEAR, KSTAT_NVMT_BYTES, 1,
	    0, NULL, 0, 0, 1000, 128, 0, "", 0) == NULL && errno == EINVAL);
	CHECK(kstat2_create_histogram(pseg, 2, ALL_ZONES, KSTAT2_NVHIST_LOG2, KSTAT_NVMT_BYTES, 1,
	    0, NULL, 0, 0, 0, 0, 0, "", 0) == NULL && errno == EINVAL);
	CHECK(kstat2_install(h) == 0 && kstat2_install(o) == 0);
	k = see("my_drv", 1, "data_in");
	CHECK(k != NULL && kstat2_lookup_uri(kc, "kstat:/misc/my_drv/1/data_in") == k);
	CHECK(kstat2_lookup_uri(kc, "/misc/my_drv/data_in/1") == k);
	CHECK(kstat2_lookup_uri(kc, "/net/my_drv/1/data_in") == NULL && errno == ENOENT);
	CHECK(kstat2_lookup_uri(kc, "my_drv/1") == NULL && errno == EINVAL);
	CHECK(kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "buckets");
	CHECK(kn != NULL && kn->data_type == KSTAT2_NVVT_INTS && kn->value.string.len == 0);
	CHECK(kstat2_hist_add_value(h, 0) == 0 && kstat2_hist_add_value(h, 1) == 0 &&
	    kstat2_hist_add_value(h, 127) == 0 && kstat2_hist_add_value(h, 300) == 0);
	CHECK(kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "buckets");
	/* Only the buckets up to the highest used one are there. */
	CHECK(kn->value.string.len == 4 * 8 && kn->value.string.addr.ints[0] == 1 &&
	    kn->value.string.addr.ints[1] == 2 && kn->value.string.addr.ints[2] == 0 &&
	    kn->value.string.addr.ints[3] == 1);
	CHECK(kstat2_hist_add_value(h, UINT64_MAX) == 0);
	CHECK(kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "buckets");
	CHECK(kn->value.string.len == 10 * 8 && kn->value.string.addr.ints[9] == 1);
	kn = kstat_data_lookup(k, "stepping");
	CHECK(kn != NULL && kn->value.ui64 == 128);
	m = ks_chain_meta(kc, k, "buckets");
	CHECK(m != NULL && m->type == KSTAT2_NVMT_BYTES && strcmp(m->unit, "bytes") == 0 &&
	    strcmp(m->desc, "data read by my_drv") == 0);
	k = see("my_drv", 1, "data_out");
	CHECK(kstat2_hist_add_value(o, 5) == 0 && own[1] == 4);
	CHECK(kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "buckets");
	CHECK(kn->value.string.len == 2 * 8 && kn->value.string.addr.ints[1] == 4);
	CHECK(kstat2_hist_add_value(NULL, 1) == -1 && errno == EINVAL);
	kstat2_delete(h);
	kstat2_delete(o);
}

static kstat2_t *
eight_buckets(uint64_t stepping, uint32_t flags)
{
	const char *pseg[] = { "misc", "my_drv", "3", "kept" };

	return kstat2_create_histogram(pseg, 4, ALL_ZONES, KSTAT2_NVHIST_LINEAR, KSTAT_NVMT_BYTES, 1,
	    KSTAT2_NVMF_NONE, NULL, 0, 0, 8 * stepping, stepping, flags, "", KSTAT2_MF_NONE);
}

/* A PERSISTENT histogram goes on only with the ranges that it had, not with as many buckets of others. */
static void
persistent_histogram(void)
{
	kstat2_t *first = eight_buckets(128, KSTAT2_FLAG_PERSISTENT), *again;

	CHECK(first != NULL && kstat2_install(first) == 0);
	kstat2_delete(first);
	CHECK(eight_buckets(64, 0) == NULL && errno == EEXIST);
	again = eight_buckets(128, 0);
	CHECK(again != NULL && again == first && kstat2_install(again) == 0);
	kstat2_delete(again);
}

static void
metadata(void)
{
	static const uint64_t per_cpu[] = { 4, 5, 6 };
	static const char names[] = "user\0system";
	kstat_t *ksp = kstat_create("prov", 0, "meta", "misc", KSTAT_TYPE_NAMED, 3, 0);
	kstat2_md_t md = { .md_type = KSTAT2_NVMT_TEMP_C, .md_scale = 1000,
		.md_flags = KSTAT2_NVMF_FRACT, .md_desc = "temperature of the core" };
	const struct ks_meta *m;
	kstat_t *k;
	kstat_named_t *kn = ksp->ks_data;

	kstat_named_init(&kn[0], "temp", KSTAT_DATA_INT32);
	kstat_named_init(&kn[1], "per_cpu", KSTAT2_NVVT_INTS);
	kstat_named_init(&kn[2], "states", KSTAT2_NVVT_STRS);
	CHECK(kstat_named_setints(&kn[1], per_cpu, 3) == 0);
	CHECK(kstat_named_setstrs(&kn[2], names, sizeof(names)) == 0);
	CHECK(kstat2_set_md(ksp, "temp", &md) == 0);
	md.md_type = (kstat2_nv_metatype_t)99;
	CHECK(kstat2_set_md(ksp, "temp", &md) == -1 && errno == EINVAL);
	CHECK(kstat_install(ksp) == 0);
	CHECK(kstat2_set_md(ksp, "temp", &md) == -1 && errno == EINVAL);
	k = see("prov", 0, "meta");
	m = ks_chain_meta(kc, k, "temp");
	CHECK(m != NULL && m->kind == KS_KIND_GAUGE && strcmp(m->unit, "millidegrees C") == 0 &&
	    strcmp(m->desc, "temperature of the core") == 0);
	CHECK(ks_chain_meta(kc, k, "per_cpu") == NULL);
	CHECK(kstat_read(kc, k, NULL) > 0);
	kn = kstat_data_lookup(k, "per_cpu");
	CHECK(kn->value.string.len == 24 && kn->value.string.addr.ints[2] == 6);
	kn = kstat_data_lookup(k, "states");
	CHECK(kn->value.string.len == 12 && strcmp(KSTAT_NAMED_STR_PTR(kn) + 5, "system") == 0);
	kstat_delete(ksp);
}

/* --- threads -------------------------------------------------------------------------------- */

static char failed_create[] = "create", failed_install[] = "install", failed_read[] = "read";

static void *
come_and_go(void *arg)
{
	int instance = *(int *)arg;
	kstat_ctl_t *own = ks_chain_open_source(ks_source_local_open(), NULL);

	for (int i = 0; i < 300; i++) {
		kstat_t *ksp = kstat_create("thread", instance, "busy", "misc", KSTAT_TYPE_NAMED, 1, 0);

		if (ksp == NULL)
			return failed_create;
		kstat_named_init(ksp->ks_data, "value", KSTAT_DATA_UINT64);
		if (kstat_install(ksp) != 0 || kstat_chain_update(own) == -1)
			return failed_install;
		for (kstat_t *k = own->kc_chain; k != NULL; k = k->ks_next) {
			if (kstat_read(own, k, NULL) == -1 && errno != ENXIO)
				return failed_read;
		}
		kstat_delete(ksp);
	}
	(void)kstat_close(own);
	return NULL;
}

static void
threads(void)
{
	enum { N = 4 };
	pthread_t thread[N];
	int instance[N];
	void *failed;

	for (int i = 0; i < N; i++) {
		instance[i] = i;
		CHECK(pthread_create(&thread[i], NULL, come_and_go, &instance[i]) == 0);
	}
	for (int i = 0; i < N; i++) {
		(void)pthread_join(thread[i], &failed);
		if (failed != NULL)
			printf("thread %d: %s: %s\n", i, (char *)failed, strerror(errno));
		CHECK(failed == NULL);
	}
}

int
main(void)
{
	kc = ks_chain_open_source(ks_source_local_open(), NULL);
	if (kc == NULL)
		return 1;
	contracts();
	named_virtual();
	writing();
	io_and_timers();
	duplicates();
	persistent();
	callbacks();
	histograms();
	persistent_histogram();
	metadata();
	threads();
	(void)kstat_chain_update(kc);
	CHECK(kc->kc_chain == NULL);
	(void)kstat_close(kc);
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
