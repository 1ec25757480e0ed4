/*
 * segment.c - fuzzes the reader of published kstats. A sound segment with kstats of every form, a
 * statsblob among them, is changed as the input says, in part with its checks made right again, and read: also while it
 * is being cut off, and, as root, as if it were a stranger's. Whatever the bytes, reading must end and stay inside
 * memory. So must the publisher, if its mapping is changed as a hostile worker could.
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob_checks.h"
#include "chain/chain.h"
#include "kstat_blob.h"
#include "kstat_provider.h"
#include "output/render.h"
#include "provider/segment/directory.h"
#include "provider/segment/segment.h"
#include "source/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM (64u << 10)

static char dir[] = "/dev/shm/kstat-fuzz-XXXXXX";
static char base[ROOM];
static _Alignas(KS_SEG_ALIGN) char image[ROOM];
static size_t used;
static int fd = -1;

/* Two shards of a blob, with its log full and its copies of several ages. */
static void
publish_statsblob(kstat_pub_t *pub)
{
	struct voistatspec all[] = { STATS_VSS_SUM(), STATS_VSS_MAX(),
		STATS_VSS_CRHIST32_LIN(-10, 10, 10, 0), STATS_VSS_TDGSTCLUST32(4, 4) };
	struct voistatspec q[] = { STATS_VSS_QMIN(8),
		STATS_VSS_DRHIST32_USR(HBKTS(DRBKT(0, 800), DRBKT(800, 1600)), 0) };
	int tpl = stats_tpl_alloc("fuzz", 0);
	kstat_t *k;

	if (tpl < 0 ||
	    stats_tpl_add_voistats((uint32_t)tpl, 0, "all", VSD_DTYPE_INT_S64, NVSS(all), all, 0) != 0 ||
	    stats_tpl_add_voistats((uint32_t)tpl, 2, "q", VSD_DTYPE_Q_U32, NVSS(q), q, 0) != 0)
		abort();
	k = kstat_publish_statsblob(pub, "fuzz", 0, "blob", "misc", (uint32_t)tpl, 2, 0);
	if (k == NULL || kstat_blob_describe(k, 0, "us", "some values") != 0 || kstat_install(k) != 0)
		abort();
	for (int i = 0; i < 300; i++) {
		if (kstat_blob_update_int(kstat_blob(k), i % 2 * 2, i, false) != 0)
			abort();
	}
}

static void
publish_all(kstat_pub_t *pub)
{
	const char *linear[] = { "misc", "fuzz", "0", "linear" };
	const char *log2[] = { "misc", "fuzz", "0", "log2" };
	kstat_t *named = kstat_publish_create(pub, "fuzz", 0, "named", "misc", KSTAT_TYPE_NAMED, 6,
	    KSTAT_FLAG_WRITABLE);
	kstat_t *io = kstat_publish_create(pub, "fuzz", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	kstat_t *timers = kstat_publish_create(pub, "fuzz", 0, "timers", "misc", KSTAT_TYPE_TIMER, 2,
	    KSTAT_FLAG_PERSISTENT);
	kstat_t *intr = kstat_publish_create(pub, "fuzz", 0, "intr", "misc", KSTAT_TYPE_INTR, 1, 0);
	kstat_t *raw = kstat_publish_create(pub, "fuzz", 0, "raw", "misc", KSTAT_TYPE_RAW, 100, 0);
	kstat_t *mem = kstat_publish_create(pub, "fuzz", 0, "mem", "misc", KSTAT_TYPE_RAW, 64, 0);
	kstat2_t *h1 = kstat2_publish_histogram(pub, linear, 4, KSTAT2_NVHIST_LINEAR, KSTAT_NVMT_BYTES,
	    1, 0, 0, 1024, 128, 0, "bytes", 0);
	kstat2_t *h2 = kstat2_publish_histogram(pub, log2, 4, KSTAT2_NVHIST_LOG2, KSTAT_NVMT_BYTES, 1, 0,
	    0, 0, 0, 0, "bytes", 0);
	kstat2_t *h3 = kstat_publish_latency(pub, "fuzz", 0, "latency", NULL, 0, NULL, 2, 100, 100000);
	kstat2_t *h4 = kstat_publish_latency(pub, "fuzz", 0, "dense", NULL, 0, NULL, 8, 1, 8);
	kstat2_md_t md = { .md_type = KSTAT2_NVMT_BYTES, .md_desc = "some bytes" };
	kstat_named_t *kn = named->ks_data;

	kstat_named_init(&kn[0], "u64", KSTAT_DATA_UINT64);
	kstat_named_init(&kn[1], "i32", KSTAT_DATA_INT32);
	kstat_named_init(&kn[2], "dbl", KSTAT_DATA_DOUBLE);
	kstat_named_init(&kn[3], "chars", KSTAT_DATA_CHAR);
	kstat_named_init(&kn[4], "string", KSTAT_DATA_STRING);
	(void)kstat_named_setstr(&kn[4], "text");
	kstat_named_init(&kn[5], "ints", KSTAT_DATA_INTS);
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[0], "one");
	kstat_timer_init(&KSTAT_TIMER_PTR(timers)[1], "two");
	ks_publish_dense(h4);
	if (kstat_publish_label(h3, "route", "/search") != 0)
		abort();
	if (kstat2_set_md(named, "u64", &md) != 0 || kstat_publish_shards(named, 3) != 0 ||
	    kstat_publish_layout(mem, "layout", 1) != 0 || kstat_install(named) != 0 ||
	    kstat_install(io) != 0 || kstat_install(timers) != 0 || kstat_install(intr) != 0 ||
	    kstat_install(raw) != 0 || kstat_install(mem) != 0 || kstat2_install(h1) != 0 ||
	    kstat2_install(h2) != 0 || kstat2_install(h3) != 0 || kstat2_install(h4) != 0)
		abort();
	(void)kstat2_hist_add_value(h1, 5);
	for (uint64_t i = 0; i < 300; i++)
		(void)kstat2_hist_add_value(i % 2 == 0 ? h3 : h4, i * i);
	(void)kstat_ioq_waitq_enter(kstat_ioq(io));
}

/* The sound segment, and the file that is changed: live, because this process holds its lock. */
static void
set_up(void)
{
	char path[128];
	kstat_pub_t *pub;

	if (mkdtemp(dir) == NULL || setenv("KSTAT_DIR", dir, 1) != 0 ||
	    (pub = kstat_publish("base", 0)) == NULL)
		abort();
	publish_all(pub);
	publish_statsblob(pub);
	used = atomic_load(&pub->header->used);
	if (used > ROOM)
		abort();
	memcpy(base, pub->header, used);
	kstat_publish_path(pub, path, sizeof(path));
	kstat_unpublish(pub);
	(void)unlink(path); /* it has PERSISTENT kstats */
	(void)snprintf(path, sizeof(path), "%s/changed.kseg", dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ks_seg_hold(fd) != 0)
		abort();
}

static void
remove_files(void)
{
	char path[64];
	static const char *const files[] = { "changed.kseg", ".lock" };

	for (int i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}

/* The same of the log of a histogram at `data`. */
static void
make_log_right(char *data, size_t size)
{
	for (size_t at = sizeof(struct ks_hist); at + sizeof(struct ks_hist_entry) <= size &&
	    at < sizeof(struct ks_hist) + KS_HIST_LOG * sizeof(struct ks_hist_entry); at += sizeof(struct ks_hist_entry)) {
		struct ks_hist_entry e;

		memcpy(&e, data + at, sizeof(e));
		e.check = ks_hist_check(e.key, e.count, &e.sums);
		memcpy(data + at, &e, sizeof(e));
	}
}

/* Makes the checks right where the entries can be found at all. */
static void
make_checks_right(void)
{
	struct ks_seg_header *h = (struct ks_seg_header *)image;
	size_t at = KS_SEG_HEADER;

	h->magic = KS_SEG_MAGIC;
	h->version = KS_SEG_VERSION;
	h->byte_order = KS_SEG_BYTE_ORDER;
	h->check = ks_seg_header_check(h);
	while (at + sizeof(struct ks_seg_entry) <= used) {
		struct ks_seg_entry e;
		uint64_t check;

		memcpy(&e, image + at, sizeof(e));
		if (strncmp(e.layout, KS_BLOB_LAYOUT, strlen(KS_BLOB_LAYOUT)) == 0 && e.data <= used - at &&
		    (at + e.data) % KS_SEG_ALIGN == 0)
			blob_make_checks_right(image + at + e.data, used - at - e.data);
		if (e.form == KS_FORM_COUNTS && e.data <= used - at && e.data_size <= used - at - e.data &&
		    e.log == KS_HIST_LOG)
			make_log_right(image + at + e.data, e.data_size);
		if (e.fields <= used - at && e.nfields <= (used - at - e.fields) / sizeof(struct ks_seg_field) &&
		    e.strings <= used - at && e.strings_size <= used - at - e.strings) {
			check = ks_seg_entry_check(&e, image + at + e.fields, image + at + e.strings);
			memcpy(image + at + offsetof(struct ks_seg_entry, check), &check, sizeof(check));
		}
		if (e.size < sizeof(e) || e.size > used - at)
			break;
		at += e.size;
	}
}

static int
append(void *buf, const char *p, size_t n)
{
	ks_buf_add(buf, p, n);
	return 0;
}

/*
 * Whatever a histogram holds, it merges with itself; unless that would be more values than can be counted, and then it
 * stays what it was.
 */
static void
merge(kstat_ctl_t *kc, const kstat_t *k)
{
	kstat_hist_t *all = kstat_hist_read(kc, k, NULL), *again = kstat_hist_read(kc, k, NULL);

	if (all != NULL && again != NULL) {
		uint64_t count = kstat_hist_count(again);
		bool is_full = count > UINT64_MAX / 2;

		if ((kstat_hist_merge(all, again) != 0) != is_full ||
		    kstat_hist_count(all) != (is_full ? count : 2 * count))
			abort();
	}
	(void)kstat_hist_quantile(all, 0.99);
	kstat_hist_free(all);
	kstat_hist_free(again);
}

static void
look(kstat_ctl_t *kc, size_t cut)
{
	static const struct ks_selector everything;
	const struct ks_selector *selectors[] = { &everything };
	struct ks_buf text = KS_BUF_INIT;

	while (ks_chain_warning(kc) != NULL)
		continue;
	if (ks_render_write(kc, selectors, 1, KS_FORMAT_JSON_CLASS, append, &text) < 0)
		abort();
	ks_buf_free(&text);
	if (cut != 0 && ftruncate(fd, (off_t)(cut % used)) != 0)
		abort();
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		if (kstat_read(kc, k, NULL) > 0 && (k->ks_flags & KSTAT_FLAG_WRITABLE))
			(void)kstat_write(kc, k, NULL);
		merge(kc, k);
	}
}

/* --- the publisher --------------------------------------------------------------------------------------- */

static kstat_t *
publish_named(kstat_pub_t *pub, const char *name, uint_t ndata, uchar_t flags)
{
	kstat_t *k = kstat_publish_create(pub, "own", 0, name, "misc", KSTAT_TYPE_NAMED, ndata, flags);

	if (k == NULL)
		abort();
	for (uint_t i = 0; i < ndata; i++)
		kstat_named_init(&KSTAT_NAMED_PTR(k)[i], i == 0 ? "a" : "b", KSTAT_DATA_UINT64);
	(void)kstat_publish_shards(k, 3);
	return kstat_install(k) == 0 ? k : NULL;
}

static void
count(kstat_t *k)
{
	int64_t taken;

	kstat_counter_add(kstat_counter(k, "a"), 1);
	(void)kstat_counter_reclaim(k, "a", &taken);
	kstat_counter_add(kstat_counter_own(k, "a", NULL), 1);
}

/* Changes what a worker shares with its master, which then creates, updates and deletes kstats. */
static void
harm_publisher(const uint8_t *data, const uint8_t *end)
{
	kstat_pub_t *pub = kstat_publish("own", 0);
	kstat_t *k, *first = pub != NULL ? publish_named(pub, "first", 2, 0) : NULL;
	kstat2_t *times = kstat_publish_latency(pub, "own", 0, "times", NULL, 0, NULL, 0, 1, 100);
	const struct ks_hist_place *place;
	size_t n;

	if (times == NULL || kstat2_install(times) != 0)
		abort();
	place = &((struct ks_provider *)times)->histogram->place;
	if (first == NULL || (k = publish_named(pub, "gone", 1, 0)) == NULL)
		abort();
	kstat_delete(k);
	if (publish_named(pub, "kept", 1, KSTAT_FLAG_PERSISTENT) == NULL)
		abort();
	n = atomic_load(&pub->header->used) - 256;
	for (; end - data >= 3; data += 3 + data[2] % 8 + 1) {
		size_t at = (size_t)(data[0] | data[1] << 8) % n;

		for (size_t i = 0; i <= data[2] % 8u && data + 3 + i < end && at + i < n; i++)
			((char *)pub->header)[256 + at + i] = (char)data[3 + i];
		if (end - data < 3 + data[2] % 8 + 1)
			break;
	}
	atomic_store(&pub->header->lock, 0); /* or each would wait for a second */
	count(first);
	for (uint64_t i = 0; i < 5; i++) {
		atomic_store(&place->hist->word, (atomic_load(&place->hist->word) & ~KS_WORD_OWNER));
		(void)kstat2_hist_add_value(times, i);
	}
	for (int i = 0; i < 2; i++) {
		const char *names[] = { "first", "gone", "kept", "new" };

		for (int j = 0; j < 4; j++) {
			k = publish_named(pub, names[j], j == 0 ? 2 : 1, j == 2 ? KSTAT_FLAG_PERSISTENT : 0);
			if (k != NULL)
				count(k);
			if (k != NULL && j % 2 == 1)
				kstat_delete(k);
		}
	}
	kstat_unpublish(pub);
	(void)kstat_publish_gc(KSTAT_GC_PERSISTENT, NULL, NULL);
}

/* Input: flags, cut (2 bytes), then changes: offset (2 bytes), length and kind (1 byte), bytes. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	uint8_t flags;
	size_t cut;
	kstat_ctl_t *kc;

	if (fd < 0) {
		set_up();
		(void)atexit(remove_files);
	}
	if (size < 3)
		return 0;
	flags = data[0];
	cut = (size_t)(data[1] | data[2] << 8);
	if (flags & 16) {
		harm_publisher(data + 3, end);
		return 0;
	}
	memcpy(image, base, used);
	for (data += 3; end - data >= 3; ) {
		size_t at = (size_t)(data[0] | data[1] << 8) % used;
		size_t n = data[2] % 16 + 1;

		data += 3;
		if (n > (size_t)(end - data))
			n = (size_t)(end - data);
		if (n > used - at)
			n = used - at;
		memcpy(image + at, data, n);
		data += n;
	}
	if (flags & 1)
		make_checks_right();
	if (ftruncate(fd, 0) != 0 || pwrite(fd, image, used, 0) != (ssize_t)used)
		abort();
	if ((flags & 2) && ftruncate(fd, 16 << 20) != 0)
		abort();
	if (geteuid() == 0 && fchown(fd, flags & 8 ? 65534 : 0, (gid_t)-1) != 0)
		abort();
	kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	if (kc == NULL)
		return 0;
	look(kc, flags & 4 ? cut : 0);
	if (kstat_chain_update(kc) != -1)
		look(kc, 0);
	(void)kstat_close(kc);
	return 0;
}
