/*
 * core_exchange.c - files that one machine writes and another reads. SPDX-License-Identifier: MIT
 *
 *     core_exchange write DIR     writes blob, long (a blob with a VOI of type long), recording, segment.kseg
 *     core_exchange read DIR      prints a line for each: a value that it holds, or why it cannot be used
 *
 * $KSTAT_DIR is an empty directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "check.h"
#include "kstat_blob.h"
#include "output/recorder.h"
#include "source/segment/segment_file.h"
#include "source/sources.h"

#define VALUES 1000

static char path[4096];

static const char *
file(const char *dir, const char *name)
{
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
save(const char *to, const void *bytes, size_t n)
{
	FILE *f = fopen(to, "wb");

	CHECK(f != NULL && fwrite(bytes, 1, n, f) == n);
	CHECK(f != NULL && fclose(f) == 0);
}

/* Reads a whole file of at most `most` bytes. */
static size_t
load(const char *from, void *to, size_t most)
{
	FILE *f = fopen(from, "rb");
	size_t n = 0;

	CHECK(f != NULL);
	if (f != NULL) {
		n = fread(to, 1, most, f);
		(void)fclose(f);
	}
	return n;
}

static uint32_t
template(const char *name, enum vsd_dtype type)
{
	struct voistatspec all[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_CRHIST64_LIN(0, 900, 100, 0),
		STATS_VSS_TDGSTCLUST64(20, 4) };
	uint32_t tpl = (uint32_t)stats_tpl_alloc(name, 0);

	CHECK(stats_tpl_add_voistats(tpl, 0, "v", type, NVSS(all), all, 0) == 0);
	return tpl;
}

static void
write_long(const char *dir)
{
	struct statsblob *b = stats_blob_alloc(template("long", VSD_DTYPE_INT_SLONG), 0);

	CHECK(b != NULL && stats_voi_update_abs_slong(b, 0, 7) == 0);
	if (b != NULL)
		save(file(dir, "long"), b, b->cursz);
	stats_blob_destroy(b);
}

static void
write_all(const char *dir)
{
	kstat_pub_t *pub = kstat_publish("exchange", 0);
	kstat_t *k = kstat_publish_statsblob(pub, "m", 0, "blob", "misc", template("t", VSD_DTYPE_INT_S64), 1, 0);
	kstat_ctl_t *kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	struct ks_recorder *rec = ks_recorder_open(file(dir, "recording"));
	static char bytes[1 << 20];
	glob_t live = { 0 };

	CHECK(k != NULL && kstat_install(k) == 0 && kc != NULL);
	if (failures > 0)
		return;
	for (int i = 0; i < VALUES; i++)
		CHECK(kstat_blob_update_int(kstat_blob(k), 0, i, false) == 0);
	(void)kstat_chain_update(kc);
	if (rec != NULL) { /* NULL without zlib */
		CHECK(ks_recorder_add(rec, kc, NULL, 0) == 0);
		ks_recorder_close(rec);
	}
	k = kstat_lookup(kc, "m", 0, "blob");
	CHECK(k != NULL && kstat_read(kc, k, NULL) >= 0);
	if (k != NULL && k->ks_data != NULL)
		save(file(dir, "blob"), k->ks_data, k->ks_ndata);
	CHECK(glob(file(getenv("KSTAT_DIR"), "*.kseg"), 0, NULL, &live) == 0);
	if (live.gl_pathc > 0)
		save(file(dir, "segment.kseg"), bytes, load(live.gl_pathv[0], bytes, sizeof(bytes)));
	globfree(&live);
	(void)kstat_close(kc);
	write_long(dir);
}

static void
read_blob(const char *dir, const char *name)
{
	static _Alignas(8) char bytes[1 << 16];
	size_t n = load(file(dir, name), bytes, sizeof(bytes));
	struct statsblob *b = (struct statsblob *)(void *)bytes;
	int64_t sum = 0;
	int err = stats_blob_check(bytes, n);

	if (err == 0 && strcmp(name, "blob") == 0)
		CHECK(stats_voistat_fetch_s64(b, 0, VS_STYPE_SUM, &sum) == 0);
	printf("%s: %s %" PRId64 "\n", name, err == 0 ? "good" : err == EINVAL ? "EINVAL" : "EOPNOTSUPP", sum);
}

static void
read_all(const char *dir)
{
	kstat_ctl_t *kc = kstat_open_capture(file(dir, "recording"));
	kstat_t *k = kc != NULL ? kstat_lookup(kc, "m", 0, "blob") : NULL;
	struct ks_seg_file f;

	read_blob(dir, "blob");
	read_blob(dir, "long");
	printf("recording: %s\n", k != NULL && kstat_read(kc, k, NULL) >= 0 ? "read" : kstat_errmsg());
	if (kc != NULL)
		(void)kstat_close(kc);
	(void)file(dir, "segment.kseg");
	if (ks_seg_file_open(&f, AT_FDCWD, path, "segment.kseg") == 0)
		puts("segment: read");
	else
		printf("segment: %s\n", kstat_errmsg());
	ks_seg_file_close(&f);
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "write") == 0)
		write_all(argv[2]);
	else
		read_all(argv[2]);
	return failures;
}
