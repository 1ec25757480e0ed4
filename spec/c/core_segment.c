/*
 * core_segment.c - exercises published kstats, seen through a chain over the segment source, in the
 * directory $KSTAT_DIR: says which checks fail, and how many there were. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "chain/chain.h"
#include "kstat_provider.h"
#include "provider/segment/segment.h"
#include "provider/segment/directory.h"
#include "source/sources.h"
#include "check.h"

static kstat_ctl_t *kc;

static kstat_t *
see(const char *module, int instance, const char *name)
{
	(void)kstat_chain_update(kc);
	return kstat_lookup(kc, module, instance, name);
}

static kstat_t *
read_kstat(const char *module, int instance, const char *name)
{
	kstat_t *k = see(module, instance, name);

	CHECK(k != NULL);
	CHECK(k == NULL || kstat_read(kc, k, NULL) > 0);
	return k;
}

static uint64_t
u64(kstat_t *k, const char *stat)
{
	kstat_named_t *kn = kstat_data_lookup(k, stat);

	CHECK(kn != NULL);
	return kn != NULL ? kn->value.ui64 : 0;
}

static bool
exists(const char *name)
{
	char path[512];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s.kseg", getenv("KSTAT_DIR"), name);
	return stat(path, &st) == 0;
}

/* A NAMED kstat with two counters. */
static kstat_t *
counters(kstat_pub_t *pub, const char *name, uchar_t flags)
{
	kstat_t *k = kstat_publish_create(pub, "seg", 0, name, "misc", KSTAT_TYPE_NAMED, 2, flags);

	if (k == NULL)
		return NULL;
	kstat_named_init(&KSTAT_NAMED_PTR(k)[0], "a", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(k)[1], "b", KSTAT_DATA_UINT32);
	return kstat_install(k) == 0 ? k : NULL;
}

/* --- every kind of data ------------------------------------------------------------------------ */

static void
named(kstat_pub_t *pub)
{
	static const uint64_t ints[] = { 7, 8 };
	kstat_t *p = kstat_publish_create(pub, "seg", 2, "all", "misc", KSTAT_TYPE_NAMED, 8,
	    KSTAT_FLAG_WRITABLE), *k;
	kstat_named_t *kn = p->ks_data;
	kstat2_md_t md = { .md_type = KSTAT2_NVMT_BYTES, .md_desc = "bytes that passed" };
	const struct ks_meta *m;
	double d = 2.5;
	struct ks_seg_entry *entry;
	char *before;

	kstat_named_init(&kn[0], "count", KSTAT_DATA_UINT64);
	kn[0].value.ui64 = 5;
	kstat_named_init(&kn[1], "i32", KSTAT_DATA_INT32);
	kn[1].value.i32 = -3;
	kstat_named_init(&kn[2], "dbl", KSTAT_DATA_DOUBLE);
	kstat_named_init(&kn[3], "chars", KSTAT_DATA_CHAR);
	memcpy(kn[3].value.c, "sixteen bytes ok", 16);
	kstat_named_init(&kn[4], "str", KSTAT_DATA_STRING);
	kstat_named_setstr(&kn[4], "first");
	kstat_named_init(&kn[5], "ints", KSTAT_DATA_INTS);
	kstat_named_setints(&kn[5], ints, 2);
	kstat_named_init(&kn[6], "strs", KSTAT_DATA_STRS);
	kstat_named_init(&kn[7], "max", KSTAT_DATA_UINT64);
	CHECK(kstat2_set_md(p, "count", &md) == 0);
	CHECK(see("seg", 2, "all") == NULL);
	CHECK(kstat_counter(p, "count") == NULL && errno == EINVAL);
	CHECK(kstat_install(p) == 0);
	CHECK(p->ks_data == NULL && !(p->ks_flags & KSTAT_FLAG_INVALID));
	k = read_kstat("seg", 2, "all");
	CHECK(k->ks_crtime == p->ks_crtime && k->ks_ndata == 8 && strcmp(k->ks_class, "misc") == 0);
	CHECK(u64(k, "count") == 5);
	kn = kstat_data_lookup(k, "i32");
	CHECK(kn->value.i32 == -3 && kn->data_type == KSTAT_DATA_INT32);
	kn = kstat_data_lookup(k, "chars");
	CHECK(memcmp(kn->value.c, "sixteen bytes ok", 16) == 0);
	kn = kstat_data_lookup(k, "str");
	CHECK(strcmp(KSTAT_NAMED_STR_PTR(kn), "first") == 0 && KSTAT_NAMED_STR_BUFLEN(kn) == 6);
	kn = kstat_data_lookup(k, "ints");
	CHECK(kn->value.string.len == 16 && kn->value.string.addr.ints[1] == 8);
	kn = kstat_data_lookup(k, "strs");
	CHECK(kn->value.string.len == 0);
	m = ks_chain_meta(kc, k, "count");
	CHECK(m != NULL && strcmp(m->unit, "bytes") == 0 && strcmp(m->desc, "bytes that passed") == 0 &&
	    m->kind == KS_KIND_COUNTER);
	CHECK(ks_chain_meta(kc, k, "i32") == NULL);

	kstat_counter_add(kstat_counter(p, "count"), 10);
	kstat_counter_set(kstat_counter(p, "i32"), (uint64_t)-77);
	kstat_counter_set_double(kstat_counter(p, "dbl"), d + 0.5);
	kstat_counter_add_double(kstat_counter(p, "dbl"), -0.5);
	kstat_counter_max(kstat_counter(p, "max"), 9);
	kstat_counter_max(kstat_counter(p, "max"), 4);
	CHECK(kstat_counter(p, "str") == NULL && errno == EINVAL);
	CHECK(kstat_counter(p, "none") == NULL && errno == ENOENT);
	CHECK(kstat_named_store(p, "str", "a longer text than before", 25) == 0);
	CHECK(kstat_named_store(p, "strs", "x\0yy", 5) == 0);
	CHECK(kstat_named_store(p, "chars", "abc", 3) == 0);
	CHECK(kstat_named_store(p, "chars", "seventeen bytes..", 17) == -1 && errno == ENOSPC);
	CHECK(kstat_named_store(p, "count", "x", 1) == -1 && errno == EINVAL);
	k = read_kstat("seg", 2, "all");
	CHECK(u64(k, "count") == 15 && u64(k, "max") == 9);
	CHECK(((kstat_named_t *)kstat_data_lookup(k, "i32"))->value.i32 == -77);
	CHECK(((kstat_named_t *)kstat_data_lookup(k, "dbl"))->value.d == d);
	kn = kstat_data_lookup(k, "str");
	CHECK(strcmp(KSTAT_NAMED_STR_PTR(kn), "a longer text than before") == 0);
	kn = kstat_data_lookup(k, "strs");
	CHECK(kn->value.string.len == 5 && strcmp(KSTAT_NAMED_STR_PTR(kn) + 2, "yy") == 0);
	kn = kstat_data_lookup(k, "chars");
	CHECK(memcmp(kn->value.c, "abc\0\0", 5) == 0);

	/* Texts are fit to be printed, and not rewritten by those who read them. */
	CHECK(kstat_named_store(p, "chars", "a\nb\x7f", 4) == 0 && kstat_named_store(p, "str", "\033[2J\n", 5) == 0);
	k = read_kstat("seg", 2, "all");
	kn = kstat_data_lookup(k, "chars");
	CHECK(memcmp(kn->value.c, "a?b?\0", 5) == 0);
	kn = kstat_data_lookup(k, "str");
	CHECK(strcmp(KSTAT_NAMED_STR_PTR(kn), "?[2J?") == 0);
	entry = ((struct ks_provider *)p)->published->entry;
	before = malloc(entry->size);
	memcpy(before, entry, entry->size);
	CHECK(kstat_write(kc, k, NULL) > 0);
	CHECK(memcmp(before, entry, entry->size) == 0);
	free(before);

	/* Writing from a reader: the numbers. */
	kn = kstat_data_lookup(k, "count");
	kn->value.ui64 = 1000;
	CHECK(kstat_write(kc, k, NULL) > 0);
	CHECK(kstat_counter_get(kstat_counter(p, "count")) == 1000);
	kn->data_type = KSTAT_DATA_INT64;
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EINVAL);
	kstat_delete(p);
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENXIO);
	CHECK(see("seg", 2, "all") == NULL);
}

static bool
holds_text(kstat_t *k, const char *stat, const char *text)
{
	kstat_named_t *kn = kstat_data_lookup(k, stat);

	return kn != NULL && strcmp(KSTAT_NAMED_STR_PTR(kn), text) == 0 &&
	    KSTAT_NAMED_STR_BUFLEN(kn) == strlen(text) + 1;
}

static void
give_text(kstat_t *k, const char *stat, char *text, size_t n)
{
	kstat_named_t *kn = kstat_data_lookup(k, stat);

	KSTAT_NAMED_STR_PTR(kn) = text;
	KSTAT_NAMED_STR_BUFLEN(kn) = (uint32_t)n;
}

/* Texts and arrays are written from outside, or the write is refused and nothing changes. */
static void
texts(kstat_pub_t *pub)
{
	static const uint64_t two[] = { 1, 2 };
	uint64_t three[] = { 7, 8, 9 };
	kstat_t *p = kstat_publish_create(pub, "seg", 0, "texts", "misc", KSTAT_TYPE_NAMED, 5,
	    KSTAT_FLAG_WRITABLE), *k;
	kstat_named_t *kn = p->ks_data;
	char given[] = "given from outside", list[] = "x\0yy", longer[80];

	memset(longer, 'l', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	kstat_named_init(&kn[0], "n", KSTAT_DATA_UINT64);
	kstat_named_init(&kn[1], "chars", KSTAT_DATA_CHAR);
	kstat_named_init(&kn[2], "str", KSTAT_DATA_STRING);
	kstat_named_init(&kn[3], "ints", KSTAT_DATA_INTS);
	kstat_named_setints(&kn[3], two, 2);
	kstat_named_init(&kn[4], "strs", KSTAT_DATA_STRS);
	CHECK(kstat_publish_shards(p, 1) == 0 && kstat_install(p) == 0);
	k = read_kstat("seg", 0, "texts");
	/* As read, with an empty array in the place of none. */
	CHECK(kstat_write(kc, k, NULL) > 0);
	((kstat_named_t *)kstat_data_lookup(k, "n"))->value.ui64 = 5;
	memcpy(((kstat_named_t *)kstat_data_lookup(k, "chars"))->value.c, "sixteen bytes ok", 16);
	give_text(k, "str", given, sizeof(given));
	give_text(k, "ints", (char *)three, sizeof(three));
	give_text(k, "strs", list, sizeof(list));
	CHECK(kstat_write(kc, k, NULL) > 0);
	k = read_kstat("seg", 0, "texts");
	CHECK(u64(k, "n") == 5 && holds_text(k, "str", given));
	CHECK(memcmp(((kstat_named_t *)kstat_data_lookup(k, "chars"))->value.c, "sixteen bytes ok", 16) == 0);
	kn = kstat_data_lookup(k, "ints");
	CHECK(kn->value.string.len == 24 && memcmp(kn->value.string.addr.ints, three, 24) == 0);
	kn = kstat_data_lookup(k, "strs");
	CHECK(kn->value.string.len == sizeof(list) && memcmp(KSTAT_NAMED_STR_PTR(kn), list, 5) == 0);
	/* The publisher goes on with the same record. */
	CHECK(kstat_named_store(p, "str", "again", 5) == 0);
	k = read_kstat("seg", 0, "texts");
	CHECK(holds_text(k, "str", "again"));

	/* No room, a broken array, a lock that a thread holds: nothing changes. */
	((kstat_named_t *)kstat_data_lookup(k, "n"))->value.ui64 = 6;
	give_text(k, "str", longer, sizeof(longer));
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EINVAL);
	CHECK(strstr(kstat_errmsg(), "seg:0:texts:str: its publisher left room for 64 bytes") != NULL);
	k = read_kstat("seg", 0, "texts");
	CHECK(u64(k, "n") == 5 && holds_text(k, "str", "again"));
	give_text(k, "ints", (char *)three, 23);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EINVAL);
	k = read_kstat("seg", 0, "texts");
	give_text(k, "strs", list, sizeof(list) - 3);
	CHECK(kstat_write(kc, k, NULL) > 0);
	k = read_kstat("seg", 0, "texts");
	give_text(k, "strs", list + 2, 2);
	CHECK(kstat_write(kc, k, NULL) == -1 && errno == EINVAL);

	/* The null string is one, too. */
	k = read_kstat("seg", 0, "texts");
	give_text(k, "str", NULL, 0);
	CHECK(kstat_write(kc, k, NULL) > 0);
	k = read_kstat("seg", 0, "texts");
	CHECK(KSTAT_NAMED_STR_PTR((kstat_named_t *)kstat_data_lookup(k, "str")) == NULL);

	/* In another user's file root writes numbers; texts are the owner's. */
	if (geteuid() == 0) {
		char path[512];

		kstat_publish_path(pub, path, sizeof(path));
		CHECK(chown(path, 65534, (gid_t)-1) == 0);
		((kstat_named_t *)kstat_data_lookup(k, "n"))->value.ui64 = 7;
		CHECK(kstat_write(kc, k, NULL) > 0);
		give_text(k, "str", given, sizeof(given));
		((kstat_named_t *)kstat_data_lookup(k, "n"))->value.ui64 = 8;
		CHECK(kstat_write(kc, k, NULL) == -1 && errno == EPERM);
		k = read_kstat("seg", 0, "texts");
		CHECK(u64(k, "n") == 7);
		CHECK(KSTAT_NAMED_STR_PTR((kstat_named_t *)kstat_data_lookup(k, "str")) == NULL);
		CHECK(chown(path, 0, (gid_t)-1) == 0);
	}
	kstat_delete(p);
}

static void
shards(kstat_pub_t *pub)
{
	kstat_t *p = kstat_publish_create(pub, "seg", 0, "sharded", "misc", KSTAT_TYPE_NAMED, 2,
	    KSTAT_FLAG_WRITABLE), *k;
	kstat2_md_t gauge = { .md_type = KSTAT2_NVMT_CNT, .md_kind = KSTAT2_NVMK_GAUGE };
	kstat_counter_t *own, *whole;
	int mine = 0;

	kstat_named_init(&KSTAT_NAMED_PTR(p)[0], "hits", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(p)[1], "level", KSTAT_DATA_UINT64);
	CHECK(kstat2_set_md(p, "level", &gauge) == 0);
	CHECK(kstat_publish_shards(p, 0) == -1 && errno == EINVAL);
	CHECK(kstat_publish_shards(p, 4) == 0);
	CHECK(kstat_install(p) == 0);
	whole = kstat_counter(p, "hits");
	own = kstat_counter_own(p, "hits", &mine);
	CHECK(mine == 1 && own != whole && (uintptr_t)own / 64 != (uintptr_t)whole / 64);
	CHECK(kstat_counter_own(p, "hits", NULL) == own);
	CHECK(kstat_counter_own(p, "level", &mine) == kstat_counter(p, "level") && mine == 0);
	kstat_counter_add(own, 3);
	kstat_counter_add(whole, 4);
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			kstat_counter_add(kstat_counter_own(p, "hits", NULL), 100);
			_exit(kstat_counter_own(p, "hits", NULL) == own);
		}
		CHECK(waitpid(pid, &mine, 0) == pid && mine == 0);
	}
	k = read_kstat("seg", 0, "sharded");
	CHECK(u64(k, "hits") == 507);
	((kstat_named_t *)kstat_data_lookup(k, "hits"))->value.ui64 = 10;
	CHECK(kstat_write(kc, k, NULL) > 0);
	k = read_kstat("seg", 0, "sharded");
	CHECK(u64(k, "hits") == 10);
	kstat_delete(p);
}

/* The largest number of shards is published and read. */
static void
most_shards(kstat_pub_t *pub)
{
	kstat_t *p = kstat_publish_create(pub, "seg", 0, "most", "misc", KSTAT_TYPE_NAMED, 1, 0);

	kstat_named_init(&KSTAT_NAMED_PTR(p)[0], "hits", KSTAT_DATA_UINT64);
	CHECK(kstat_publish_shards(p, 1025) == -1 && errno == EINVAL);
	CHECK(kstat_publish_shards(p, 1024) == 0 && kstat_install(p) == 0);
	kstat_counter_add(kstat_counter_own(p, "hits", NULL), 7);
	CHECK(u64(read_kstat("seg", 0, "most"), "hits") == 7);
	kstat_delete(p);
}

static void
records(kstat_pub_t *pub)
{
	kstat_t *io = kstat_publish_create(pub, "sd", 0, "sd0", "disk", KSTAT_TYPE_IO, 1, 0), *k;
	kstat_t *timers = kstat_publish_create(pub, "seg", 0, "timers", "misc", KSTAT_TYPE_TIMER, 2, 0);
	kstat_t *intr = kstat_publish_create(pub, "seg", 0, "intr", "misc", KSTAT_TYPE_INTR, 1, 0);
	kstat_t *raw = kstat_publish_create(pub, "seg", 0, "raw", "misc", KSTAT_TYPE_RAW, 11, 0);
	kstat_t *mnt = kstat_publish_create(pub, "nfs", 7, "mntinfo", "misc", KSTAT_TYPE_RAW, 492, 0);
	kstat_t *mem = kstat_publish_create(pub, "seg", 0, "mem", "misc", KSTAT_TYPE_RAW, 100, 0);
	kstat_ioq_t *q;
	hrtime_t before;

	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[0], "one");
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[1], "two");
	memcpy(raw->ks_data, "hello world", 11);
	memcpy(mnt->ks_data, "tcp\nunix:0:x:y\t1", 17);
	((char *)mnt->ks_data)[140] = '\n';
	CHECK(kstat_publish_layout(mem, "statsblob 1", 1) == 0);
	CHECK(kstat_ioq(io) == NULL && errno == EINVAL);
	CHECK(kstat_install(io) == 0 && kstat_install(timers) == 0 && kstat_install(intr) == 0 &&
	    kstat_install(mnt) == 0 && kstat_install(raw) == 0 && kstat_install(mem) == 0);
	q = kstat_ioq(io);
	CHECK(q != NULL && kstat_ioq_runq_exit(q) == -1 && errno == EINVAL);
	CHECK(kstat_ioq_waitq_enter_at(q, 1000) == 0 && kstat_ioq_waitq_to_runq_at(q, 1500) == 0 &&
	    kstat_ioq_done_at(q, KSTAT_IO_WRITE, 512, 1700) == 0 &&
	    kstat_ioq_count(q, KSTAT_IO_READ, 8) == 0);
	k = read_kstat("sd", 0, "sd0");
	CHECK(KSTAT_IO_PTR(k)->wtime == 500 && KSTAT_IO_PTR(k)->rtime == 200 &&
	    KSTAT_IO_PTR(k)->writes == 1 && KSTAT_IO_PTR(k)->nwritten == 512 &&
	    KSTAT_IO_PTR(k)->reads == 1 && KSTAT_IO_PTR(k)->nread == 8 && KSTAT_IO_PTR(k)->rcnt == 0);
	before = gethrtime();
	CHECK(kstat_ioq_runq_enter(q) == 0);
	k = read_kstat("sd", 0, "sd0");
	/* What is in service counts up to the time of the snapshot. */
	CHECK(KSTAT_IO_PTR(k)->rcnt == 1 && KSTAT_IO_PTR(k)->rlastupdate == k->ks_snaptime &&
	    KSTAT_IO_PTR(k)->rtime >= 200 && KSTAT_IO_PTR(k)->rtime <= 200 + gethrtime() - before + 1000);
	CHECK(kstat_etimer_start_at(kstat_etimer(timers, "two"), 5) == 0 &&
	    kstat_etimer_stop_at(kstat_etimer(timers, "two"), 25) == 0 &&
	    kstat_etimer_event(kstat_etimer(timers, NULL), 100, 107) == 0);
	CHECK(kstat_etimer(timers, "three") == NULL && errno == ENOENT);
	k = read_kstat("seg", 0, "timers");
	CHECK(((kstat_timer_t *)kstat_data_lookup(k, "two"))->max_time == 20);
	CHECK(((kstat_timer_t *)kstat_data_lookup(k, "one"))->elapsed_time == 7 && k->ks_ndata == 2);
	kstat_counter_add(kstat_counter(intr, "watchdog"), 3);
	k = read_kstat("seg", 0, "intr");
	CHECK(KSTAT_INTR_PTR(k)->intrs[KSTAT_INTR_WATCHDOG] == 3);
	k = read_kstat("nfs", 7, "mntinfo");
	CHECK(strcmp(k->ks_data, "tcp?unix:0:x:y?1") == 0 && ((char *)k->ks_data)[140] == '\n');
	k = read_kstat("seg", 0, "raw");
	CHECK(k->ks_data_size == 11 && memcmp(k->ks_data, "hello world", 11) == 0);
	CHECK(kstat_raw_store(raw, "HELLO WORLD") == 0 && kstat_raw_store(mem, "") == -1);
	k = read_kstat("seg", 0, "raw");
	CHECK(memcmp(k->ks_data, "HELLO WORLD", 11) == 0);
	CHECK(kstat_publish_memory(raw) == NULL && errno == EINVAL);
	CHECK((uintptr_t)kstat_publish_memory(mem) % 64 == 0);
	memcpy((char *)kstat_publish_memory(mem) + 90, "blob", 4);
	k = read_kstat("seg", 0, "mem");
	CHECK(k->ks_data_size == 100 && memcmp((char *)k->ks_data + 90, "blob", 4) == 0);
	kstat_delete(io);
	kstat_delete(timers);
	kstat_delete(intr);
	kstat_delete(raw);
	kstat_delete(mem);
}

static void
histograms(kstat_pub_t *pub)
{
	const char *pseg[] = { "misc", "my_drv", "1", "data_in" };
	kstat2_t *h = kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LINEAR, KSTAT_NVMT_BYTES, 1, 0,
	    0, 1024, 128, 0, "data read by my_drv", 0);
	kstat_named_t *kn;
	kstat_t *k;

	CHECK(kstat2_hist_add_value(h, 1) == -1 && errno == EINVAL);
	CHECK(kstat2_install(h) == 0);
	CHECK(kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LOG2, KSTAT_NVMT_BYTES, 1, 0,
	    0, 0, 0, 0, "", KSTAT2_MF_PRIV) == NULL && errno == EPERM);
	for (uint64_t i = 0; i < 300; i++)
		CHECK(kstat2_hist_add_value(h, i % 3 * 128) == 0);
	k = read_kstat("my_drv", 1, "data_in");
	CHECK(kstat2_lookup_uri(kc, "kstat:/misc/my_drv/1/data_in") == k);
	kn = kstat_data_lookup(k, "buckets");
	CHECK(kn->value.string.len == 4 * 8 && kn->value.string.addr.ints[0] == 100 &&
	    kn->value.string.addr.ints[1] == 0 && kn->value.string.addr.ints[3] == 100);
	CHECK(strcmp(((kstat_named_t *)kstat_data_lookup(k, "type"))->value.c, "linear") == 0);
	CHECK(strcmp(ks_chain_meta(kc, k, "buckets")->desc, "data read by my_drv") == 0);
	kstat2_delete(h);
}

static uint64_t
value_of(kstat_t *k, const char *stat)
{
	return ((kstat_named_t *)kstat_data_lookup(k, stat))->value.ui64;
}

/* Counts that were made elsewhere: sums that fit them, and nothing of what does not fit. */
static void
bulk_counts(kstat_pub_t *pub)
{
	uint64_t counts[6] = { 0, 3, 0, 2, 0, 0 }; /* 0, 1, 2, 3-4, 5-8, 9-16 */
	kstat2_t *h = kstat_publish_latency(pub, "my_drv", 1, "bulk", NULL, 0, NULL, 0, 1, 16);
	kstat2_t *narrow = kstat_publish_latency(pub, "my_drv", 1, "narrow", NULL, 0, NULL, 4, 1, 16);
	kstat_t *k;

	CHECK(h != NULL && narrow != NULL);
	CHECK(kstat2_hist_add_counts(h, counts, 6, 9) == -1 && errno == EINVAL);
	CHECK(kstat2_install(h) == 0 && kstat2_install(narrow) == 0);
	CHECK(kstat2_hist_add_counts(h, counts, 6, 9) == 0);
	CHECK(kstat2_hist_add_value(h, 7) == 0);
	k = read_kstat("my_drv", 1, "bulk");
	CHECK(value_of(k, "sum") == 16 && value_of(k, "min") == 1 && value_of(k, "max") == 7);
	CHECK(((kstat_named_t *)kstat_data_lookup(k, "buckets"))->value.string.addr.ints[3] == 2);
	CHECK(kstat2_hist_add_counts(h, counts, 6, 1000) == 0 && kstat2_hist_add_counts(h, counts, 6, 1) == 0 &&
	    kstat2_hist_add_counts(h, counts, 4, 0) == 0 && kstat2_hist_add_counts(h, counts, 0, 5) == 0);
	k = read_kstat("my_drv", 1, "bulk");
	CHECK(value_of(k, "sum") == 16 + 11 + 9 + 10 && value_of(k, "out_of_range") == 0);
	CHECK(kstat2_hist_add_counts(h, counts, 7, 0) == -1 && errno == EINVAL);
	CHECK(kstat2_hist_add_counts(h, NULL, 1, 0) == -1 && errno == EINVAL);
	CHECK(kstat2_hist_add_counts(NULL, counts, 1, 0) == -1 && errno == EINVAL);
	CHECK(kstat2_hist_add_counts(narrow, counts, 6, 0) == -1 && errno == EINVAL); /* between 1 and 2 */
	counts[1] = UINT64_MAX;
	CHECK(kstat2_hist_add_counts(h, counts, 6, 0) == -1 && errno == EINVAL);
	k = read_kstat("my_drv", 1, "bulk");
	CHECK(value_of(k, "sum") == 46);
	kstat2_delete(h);
	kstat2_delete(narrow);
}

static struct ks_seg_entry *
entry_of(kstat_t *p)
{
	return ((struct ks_provider *)p)->published->entry;
}

/* A histogram that claims more buckets than lie in its entry is left out: others may lie behind it. */
static void
too_many_buckets(void)
{
	const char *pseg[] = { "misc", "my_drv", "2", "data_in" };
	kstat_pub_t *pub = kstat_publish("buckets", 0);
	kstat2_t *h = kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LINEAR, KSTAT_NVMT_BYTES, 1, 0,
	    0, 1024, 128, 0, "", 0);
	struct ks_seg_entry *e;
	const char *warning;

	CHECK(kstat2_install(h) == 0);
	e = entry_of(h);
	e->range_max = 1000 * 128;
	e->check = ks_seg_entry_check(e, (struct ks_seg_field *)((char *)e + e->fields), (char *)e + e->strings);
	CHECK(see("my_drv", 2, "data_in") == NULL);
	warning = ks_chain_warning(kc);
	CHECK(warning != NULL && strstr(warning, "a kstat whose data does not fit its type") != NULL);
	kstat_unpublish(pub);
}

/* A queue whose writer was killed in a change is read: nobody else will end that change. */
static void
dead_writer(void)
{
	kstat_pub_t *pub = kstat_publish("writer", 0);
	kstat_t *p = kstat_publish_create(pub, "sd", 1, "sd1", "disk", KSTAT_TYPE_IO, 1, 0);
	int status;
	pid_t pid;

	CHECK(kstat_install(p) == 0 && kstat_ioq_runq_enter(kstat_ioq(p)) == 0);
	pid = fork();
	if (pid == 0) {
		(void)ks_word_lock((ks_word *)(void *)((char *)entry_of(p) + entry_of(p)->data));
		(void)raise(SIGKILL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	CHECK(KSTAT_IO_PTR(read_kstat("sd", 1, "sd1"))->rcnt == 1);
	kstat_unpublish(pub);
}

/* --- life and death -------------------------------------------------------------------------------- */

static void
again(kstat_pub_t *pub)
{
	kstat_t *first = counters(pub, "again", 0), *second, *k;
	hrtime_t crtime = first->ks_crtime;

	kstat_counter_add(kstat_counter(first, "a"), 5);
	CHECK(kstat_publish("core", 0) == pub);
	second = counters(pub, "again", 0);
	CHECK(second != NULL && kstat_counter(second, "a") == kstat_counter(first, "a"));
	CHECK(second->ks_crtime == crtime);
	k = read_kstat("seg", 0, "again");
	CHECK(u64(k, "a") == 5);
	/* Another layout starts anew. */
	second = kstat_publish_create(pub, "seg", 0, "again", "misc", KSTAT_TYPE_NAMED, 1, 0);
	kstat_named_init(second->ks_data, "a", KSTAT_DATA_UINT64);
	CHECK(kstat_install(second) == 0);
	kstat_counter_add(kstat_counter(first, "a"), 5);
	k = read_kstat("seg", 0, "again");
	CHECK(k->ks_ndata == 1 && u64(k, "a") == 0 && k->ks_crtime > crtime);
	kstat_delete(second);
	kstat_unpublish(pub);
}

static void
come_and_go(kstat_pub_t *pub)
{
	uint64_t used = 0;

	for (int i = 0; i < 40000; i++) {
		kstat_t *k = counters(pub, i % 2 ? "odd" : "even", 0);

		if (k == NULL) {
			CHECK(k != NULL);
			break;
		}
		if (i == 0)
			used = atomic_load(&pub->header->used);
		kstat_delete(k);
	}
	/* Space is not used again within a second, but it is used again. */
	CHECK(used > 0 && atomic_load(&pub->header->used) <= pub->header->capacity);
	for (int i = 0; i < 200000; i++) {
		kstat_t *k = counters(pub, "loop", 0);

		if (k == NULL) {
			CHECK(k != NULL);
			break;
		}
		kstat_delete(k);
		if (atomic_load(&pub->header->reused) > 100)
			break;
	}
	CHECK(atomic_load(&pub->header->reused) > 0);
}

/* True if nobody holds the segment, at once or when others have looked into the dead one's memory. */
static bool
has_ended(const char *name)
{
	char path[512];
	int fd;
	bool ended = false;

	(void)snprintf(path, sizeof(path), "%s/%s.kseg", getenv("KSTAT_DIR"), name);
	fd = open(path, O_RDONLY);
	for (int i = 0; i < 60 && fd >= 0 && !ended; i++)
		ended = ks_seg_wait_end(fd);
	(void)close(fd);
	return ended;
}

/* A process that publishes two kstats and is killed. */
static void
publish_and_die(const char *name, bool hold_lock)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		kstat_pub_t *pub = kstat_publish(name, 0);
		kstat_t *a, *b;

		if (pub == NULL || (a = counters(pub, "mortal", 0)) == NULL ||
		    (b = counters(pub, "kept", KSTAT_FLAG_PERSISTENT)) == NULL)
			_exit(1);
		kstat_counter_add(kstat_counter(a, "a"), 1);
		kstat_counter_add(kstat_counter(b, "a"), 7);
		if (hold_lock)
			(void)ks_word_lock(&pub->header->lock);
		(void)raise(SIGKILL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	CHECK(has_ended(name));
}

static void
death(void)
{
	kstat_pub_t *pub;
	kstat_t *k, *p;

	publish_and_die("dead", true);
	CHECK(exists("dead"));
	CHECK(see("seg", 0, "mortal") == NULL);
	k = read_kstat("seg", 0, "kept");
	CHECK(u64(k, "a") == 7 && (k->ks_flags & KSTAT_FLAG_DORMANT));
	CHECK(kstat_publish_gc(0, NULL, NULL) == 0 && exists("dead"));
	/* The next publisher starts clean, but for what was to be kept. */
	pub = kstat_publish("dead", 0);
	CHECK(pub != NULL && see("seg", 0, "mortal") == NULL);
	p = counters(pub, "kept", KSTAT_FLAG_PERSISTENT);
	CHECK(p != NULL && kstat_counter_get(kstat_counter(p, "a")) == 7);
	p = counters(pub, "mortal", 0);
	CHECK(p != NULL && kstat_counter_get(kstat_counter(p, "a")) == 0);
	k = read_kstat("seg", 0, "kept");
	CHECK(!(k->ks_flags & KSTAT_FLAG_DORMANT));
	kstat_unpublish(pub);
	CHECK(exists("dead"));
	CHECK(kstat_publish_gc(KSTAT_GC_PERSISTENT, NULL, NULL) == 1 && !exists("dead"));
	CHECK(see("seg", 0, "kept") == NULL);
	CHECK(kstat_publish_gc(8, NULL, NULL) == -1 && errno == EINVAL);
}

/* Shares the memory of its parent, which is killed, and so holds what was mapped there for 100 ms more. */
static int linger_start[2];

static int
linger(void *arg)
{
	char c;

	(void)arg;
	(void)syscall(SYS_read, linger_start[0], &c, 1);
	(void)syscall(SYS_nanosleep, &(struct timespec){ 0, 100000000 }, NULL);
	(void)syscall(SYS_exit, 0);
	return 0;
}

/*
 * A publisher that died, but whose memory and lock the kernel keeps: waited for, within reason. False if a
 * machine that is busy kept them for longer.
 */
static bool
lingering(bool too_long)
{
	static char stack[65536];
	int status, up[2];
	kstat_pub_t *pub;
	kstat_t *p;
	bool waited;
	char c;
	pid_t pid;

	CHECK(pipe(linger_start) == 0 && pipe(up) == 0);
	pid = fork();
	if (pid == 0) {
		pub = kstat_publish("lingers", 0);
		p = pub != NULL ? counters(pub, "lingers", 0) : NULL;
		if (p == NULL || clone(linger, stack + sizeof(stack), CLONE_VM, NULL) < 0)
			_exit(1);
		kstat_counter_add(kstat_counter(p, "a"), 1);
		(void)!write(up[1], "x", 1);
		for (;;)
			(void)pause();
	}
	CHECK(read(up[0], &c, 1) == 1);
	CHECK(kstat_publish("lingers", 0) == NULL && errno == EBUSY);
	CHECK(strstr(kstat_errmsg(), "dead") == NULL);
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
	CHECK(u64(read_kstat("seg", 0, "lingers"), "a") == 1);
	if (!too_long)
		CHECK(write(linger_start[1], "x", 1) == 1);
	pub = kstat_publish("lingers", 0);
	waited = pub != NULL;
	CHECK(waited ? see("seg", 0, "lingers") == NULL :
	    errno == EBUSY && strstr(kstat_errmsg(), "published by process ") != NULL);
	if (too_long)
		CHECK(write(linger_start[1], "x", 1) == 1);
	kstat_unpublish(pub);
	CHECK(waited ? !exists("lingers") :
	    has_ended("lingers") && kstat_publish_gc(0, NULL, NULL) == 1);
	for (int i = 0; i < 2; i++) {
		(void)close(up[i]);
		(void)close(linger_start[i]);
	}
	return waited;
}

/* Another process with the name: refused, unless both want it. */
static void
sharing(void)
{
	int up[2], down[2], status;
	char c;
	pid_t pid;
	kstat_pub_t *pub;
	kstat_t *k, *p;

	CHECK(pipe(up) == 0 && pipe(down) == 0);
	pid = fork();
	if (pid == 0) {
		pub = kstat_publish("common", 0);
		p = pub != NULL ? counters(pub, "common", 0) : NULL;
		if (p == NULL || write(up[1], "x", 1) != 1 || read(down[0], &c, 1) != 1)
			_exit(1);
		kstat_counter_add(kstat_counter(p, "a"), 1);
		exit(0);
	}
	CHECK(read(up[0], &c, 1) == 1);
	CHECK(kstat_publish("common", 0) == NULL && errno == EBUSY);
	pub = kstat_publish("common", KSTAT_PUBLISH_SHARED);
	CHECK(pub != NULL);
	p = counters(pub, "common", 0);
	CHECK(p != NULL);
	kstat_counter_add(kstat_counter(p, "a"), 2);
	CHECK(write(down[1], "x", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	/* The other one went by exit(); the segment stays, for it is still published. */
	k = read_kstat("seg", 0, "common");
	CHECK(u64(k, "a") == 3);
	kstat_unpublish(pub);
	CHECK(!exists("common") && see("seg", 0, "common") == NULL);
	for (int i = 0; i < 2; i++) {
		(void)close(up[i]);
		(void)close(down[i]);
	}
}

/* The image of a process is replaced: the values go on. */
static int
after_exec(void)
{
	kstat_pub_t *pub = kstat_publish("exec", 0);
	kstat_t *p;

	kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	if (pub == NULL || kc == NULL || see("seg", 0, "goes on") != NULL)
		return 1;
	p = counters(pub, "goes on", 0);
	if (p == NULL || kstat_counter_get(kstat_counter(p, "a")) != 42)
		return 2;
	return see("seg", 0, "goes on") != NULL && see("seg", 0, "not again") == NULL ? 0 : 3;
}

static void
exec_again(const char *self)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		kstat_pub_t *pub = kstat_publish("exec", 0);
		kstat_t *p = pub != NULL ? counters(pub, "goes on", 0) : NULL;

		if (p == NULL || counters(pub, "not again", 0) == NULL)
			_exit(9);
		kstat_counter_add(kstat_counter(p, "a"), 42);
		(void)execl(self, self, "exec", (char *)NULL);
		_exit(8);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(!exists("exec"));
}

static void
names_and_modes(void)
{
	kstat_pub_t *pub;
	char path[512];
	struct stat st;
	char name[KSTAT_PUBLISH_NAME_MAX + 2];

	memset(name, 'n', sizeof(name));
	name[KSTAT_PUBLISH_NAME_MAX + 1] = '\0';
	CHECK(kstat_publish(name, 0) == NULL && errno == EINVAL);
	name[KSTAT_PUBLISH_NAME_MAX] = '\0';
	pub = kstat_publish(name, 0);
	CHECK(pub != NULL && counters(pub, "long", 0) != NULL);
	CHECK(u64(read_kstat("seg", 0, "long"), "a") == 0);
	kstat_unpublish(pub);
	CHECK(kstat_publish("", 0) == NULL && errno == EINVAL);
	CHECK(kstat_publish("../etc", 0) == NULL && errno == EINVAL);
	CHECK(kstat_publish(".hidden", 0) == NULL && errno == EINVAL);
	CHECK(kstat_publish("x", 64) == NULL && errno == EINVAL);
	pub = kstat_publish("private", KSTAT_PUBLISH_PRIV);
	CHECK(pub != NULL);
	kstat_publish_path(pub, path, sizeof(path));
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(kstat_publish_create(pub, "m", 0, "n", "c", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_VIRTUAL) == NULL &&
	    errno == EINVAL);
	kstat_unpublish(pub);
	CHECK(!exists("private"));
	pub = kstat_publish("public", 0);
	kstat_publish_path(pub, path, sizeof(path));
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
	kstat_unpublish(pub);
}

/* Two statistics of one name are refused; a description given twice is the later one. */
static void
duplicates(void)
{
	enum { MANY = 4096 };
	kstat_pub_t *pub = kstat_publish("twice", 0);
	kstat_t *p = kstat_publish_create(pub, "seg", 0, "twice", "misc", KSTAT_TYPE_NAMED, MANY, 0), *k;
	kstat2_md_t md = { .md_type = KSTAT2_NVMT_BYTES, .md_scale = 1 };
	const struct ks_meta *m;
	char name[KSTAT_STRLEN], desc[KSTAT_STRLEN];

	md.md_desc = desc;
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "stat%d", i);
		(void)snprintf(desc, sizeof(desc), "number %d", i);
		kstat_named_init(&KSTAT_NAMED_PTR(p)[i], name, KSTAT_DATA_UINT64);
		CHECK(kstat2_set_md(p, name, &md) == 0);
	}
	kstat_named_init(&KSTAT_NAMED_PTR(p)[0], "stat4095", KSTAT_DATA_UINT64);
	CHECK(kstat_install(p) == -1 && errno == EINVAL);
	CHECK(strcmp(kstat_errmsg(), "seg:0:twice: more than one statistic is named 'stat4095'") == 0);
	CHECK(see("seg", 0, "twice") == NULL);
	kstat_named_init(&KSTAT_NAMED_PTR(p)[0], "stat0", KSTAT_DATA_UINT64);
	md.md_desc = "the later one";
	CHECK(kstat2_set_md(p, "stat7", &md) == 0);
	CHECK(kstat_install(p) == 0);
	k = read_kstat("seg", 0, "twice");
	CHECK(k != NULL && k->ks_ndata == MANY);
	m = ks_chain_meta(kc, k, "stat7");
	CHECK(m != NULL && strcmp(m->desc, "the later one") == 0);
	m = ks_chain_meta(kc, k, "stat4094");
	CHECK(m != NULL && strcmp(m->desc, "number 4094") == 0);
	kstat_unpublish(pub);
}

/* What each kstat's header has names no statistic, and one of another program gets a number. */
static void
header_names(void)
{
	static const char *const taken[] = { "class", "crtime", "snaptime" };
	static const char *const shown[] = { "class_2", "crtime_2", "snaptime_2", "d" };
	kstat_pub_t *pub = kstat_publish("headers", 0);
	kstat_t *p = kstat_publish_create(pub, "seg", 0, "headers", "misc", KSTAT_TYPE_NAMED, 4, 0), *k;
	struct ks_seg_entry *e;
	struct ks_seg_field *f;

	kstat_named_init(&KSTAT_NAMED_PTR(p)[3], "d", KSTAT_DATA_UINT64);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			kstat_named_init(&KSTAT_NAMED_PTR(p)[j], j == 0 ? taken[i] : j == 1 ? "b" : "c", KSTAT_DATA_UINT64);
		CHECK(kstat_install(p) == -1 && errno == EINVAL);
		CHECK(strstr(kstat_errmsg(), taken[i]) != NULL);
		kstat_named_init(&KSTAT_NAMED_PTR(p)[0], "a", KSTAT_DATA_UINT64);
	}
	CHECK(kstat_install(p) == 0);
	e = entry_of(p);
	f = (struct ks_seg_field *)((char *)e + e->fields);
	for (int i = 0; i < 3; i++)
		(void)strcpy(f[i].name, taken[i]);
	e->check = ks_seg_entry_check(e, f, (char *)e + e->strings);
	k = read_kstat("seg", 0, "headers");
	CHECK(k != NULL && k->ks_ndata == 4);
	for (int i = 0; k != NULL && i < 4; i++)
		CHECK(strcmp(KSTAT_NAMED_PTR(k)[i].name, shown[i]) == 0);
	kstat_unpublish(pub);
}

/* The place of a deleted kstat is taken again, but not at once: another process may still be updating what was there. */
static void
places(void)
{
	kstat_pub_t *pub = kstat_publish("places", 0);
	struct ks_seg_entry *first = entry_of(counters(pub, "first", 0)), *second;
	kstat_t *p;

	CHECK(kstat_publish_remove(pub, "seg", 0, "first") == 1);
	p = counters(pub, "second", 0);
	second = entry_of(p);
	CHECK(second != first);
	first->crtime -= INT64_C(2000000000); /* as if it had been deleted before */
	CHECK(entry_of(counters(pub, "third", 0)) == first);
	CHECK(read_kstat("seg", 0, "third") != NULL && read_kstat("seg", 0, "second") != NULL);
	kstat_unpublish(pub);
}

/* What a publisher finds that shares its segment with one that writes nonsense: names that lie nowhere. */
static void
nonsense(void)
{
	kstat_pub_t *pub = kstat_publish("nonsense", 0);
	struct ks_seg_entry *e = entry_of(counters(pub, "first", 0));

	CHECK(kstat_publish_exists(pub, "seg", 0, "first") == 1);
	e->magic ^= 1;
	(void)atomic_fetch_add(&pub->header->reused, 1); /* all names are looked at again */
	CHECK(kstat_publish_exists(pub, "seg", 0, "first") == -1 && errno == EIO);
	e->magic ^= 1;
	CHECK(kstat_publish_exists(pub, "seg", 0, "first") == 1);
	kstat_unpublish(pub);
}

/* A reader leaves out kstats whose statistics have no type or storage that it knows, and says so. */
static void
unknown_types(void)
{
	static const struct {
		uint8_t type, storage;
	} odd[] = { { KSTAT_DATA_UINT64 + 70, KS_STORE_CELL }, { KSTAT_DATA_DOUBLE, KS_STORE_SHARDED },
		{ KSTAT_DATA_STRING, KS_STORE_CELL }, { KSTAT_DATA_UINT64, 99 },
		{ KSTAT_DATA_STRING, KS_STORE_TEXT }, { KSTAT_DATA_UINT64, KS_STORE_TEXT } };
	kstat_pub_t *pub = kstat_publish("types", 0);

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		char name[KSTAT_STRLEN];
		kstat_t *p;
		struct ks_seg_entry *e;
		struct ks_seg_field *f;

		(void)snprintf(name, sizeof(name), "odd%zu", i);
		p = counters(pub, name, 0);
		e = entry_of(p);
		f = (struct ks_seg_field *)((char *)e + e->fields);
		f->data_type = odd[i].type;
		f->storage = odd[i].storage;
		e->check = ks_seg_entry_check(e, f, (char *)e + e->strings);
		CHECK(see("seg", 0, name) == NULL);
		CHECK(i > 0 || strstr(ks_chain_warning(kc), "types.kseg: damaged at byte ") != NULL); /* is told once */
		kstat_delete(p);
	}
	kstat_unpublish(pub);
}

/* A link in the place of the lock of a directory is not followed. */
static void
locks(void)
{
	char lock[512];

	(void)snprintf(lock, sizeof(lock), "%s/.lock", getenv("KSTAT_DIR"));
	CHECK(unlink(lock) == 0 && symlink("/nowhere", lock) == 0);
	CHECK(kstat_publish("locks", 0) == NULL && errno == ELOOP && strstr(kstat_errmsg(), "/.lock: ") != NULL);
	CHECK(unlink(lock) == 0 && mkdir(lock, 0700) == 0);
	CHECK(kstat_publish("locks", 0) == NULL && errno == EISDIR);
	CHECK(rmdir(lock) == 0);
}

/* What a reader makes of a file that was cut off, or is none. */
static void
damage(void)
{
	kstat_pub_t *pub = kstat_publish("damage", 0);
	kstat_t *k;
	char path[512];
	const char *warning, *last = "";

	CHECK(counters(pub, "victim", 0) != NULL);
	k = read_kstat("seg", 0, "victim");
	kstat_publish_path(pub, path, sizeof(path));
	while (ks_chain_warning(kc) != NULL)
		continue;
	CHECK(truncate(path, 4100) == 0);
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == EIO);
	CHECK(truncate(path, 64 << 20) == 0);
	CHECK(kstat_read(kc, k, NULL) == -1 && errno == ENXIO);
	CHECK(truncate(path, 100) == 0);
	CHECK(see("seg", 0, "victim") == NULL);
	while ((warning = ks_chain_warning(kc)) != NULL)
		last = warning;
	CHECK(strstr(last, "damage.kseg") != NULL);
	CHECK(truncate(path, 64 << 20) == 0);
	kstat_unpublish(pub);
}

int
main(int argc, char **argv)
{
	kstat_pub_t *pub;
	bool waited = false;

	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		return after_exec();
	kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	pub = kstat_publish("core", 0);
	if (kc == NULL || pub == NULL) {
		printf("cannot start: %s\n", kstat_errmsg());
		return 1;
	}
	named(pub);
	texts(pub);
	shards(pub);
	most_shards(pub);
	records(pub);
	histograms(pub);
	bulk_counts(pub);
	too_many_buckets();
	dead_writer();
	again(pub);
	come_and_go(pub);
	kstat_unpublish(pub);
	CHECK(!exists("core"));
	death();
	CHECK(!lingering(true));
	for (int i = 0; i < 20 && !(waited = lingering(false)); i++)
		continue;
	CHECK(waited);
	sharing();
	exec_again(argv[0]);
	names_and_modes();
	duplicates();
	header_names();
	places();
	nonsense();
	unknown_types();
	locks();
	damage();
	(void)kstat_chain_update(kc);
	CHECK(kc->kc_chain == NULL);
	(void)kstat_close(kc);
	printf("%d checks, %d failures\n", checks, failures);
	return failures != 0;
}
