/*
 * statsblob.c - fuzzes blobs from outside: what stats_blob_check() lets pass must be safe in
 * the hands of everything else, at an odd address too. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "stats/abi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A template, so that some inputs claim to be of one and use its update plan. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int id = stats_tpl_alloc("fuzz", 0);
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_MIN(), STATS_VSS_MAX(),
		STATS_VSS_CRHIST32_LIN(0, 50, 10, 0), STATS_VSS_TDGSTCLUST32(4, 4) };

	(void)argc;
	(void)argv;
	return stats_tpl_add_voistats((uint32_t)id, 0, "v", VSD_DTYPE_INT_S64, NVSS(vss), vss,
	    SB_VOI_RELUPDATE);
}

static int
on_visit(struct sb_visit *v, void *ctx)
{
	struct sbuf *s = sbuf_new_auto();

	(void)ctx;
	if (v->vs_data != NULL)
		(void)stats_voistatdata_tostr(v->vs_data, v->voi_dtype, v->vs_dtype,
		    (uint16_t)v->vs_dsz, SB_STRFMT_JSON, s, 1);
	sbuf_delete(s);
	return 0;
}

static void
use(struct statsblob *sb, struct statsblob *other)
{
	struct sbuf *s = sbuf_new_auto();
	struct statsblob *copy = NULL;
	double v, e;
	uint64_t n;

	/* Few VOIs are enough; a blob can have 8,000. */
	for (int32_t id = 0; id < 4; id++) {
		for (int i = 0; i < 20; i++) {
			(void)stats_voi_update_int(sb, id, i * i * i - 50, i % 3 == 0);
			(void)stats_voi_update_dbl(sb, id, i * 1e9 + 0.25, false);
		}
		(void)stats_voi_quantile(sb, id, 0.9, &v, &e);
		(void)stats_voi_cdf(sb, id, 3, &v);
		(void)stats_voi_count(sb, id, &n);
	}
	(void)stats_blob_visit(sb, on_visit, NULL);
	(void)stats_blob_visit_all(sb, on_visit, NULL);
	for (uint32_t flags = 0; flags < 4; flags++) {
		(void)stats_blob_tostr(sb, s, SB_STRFMT_JSON, flags);
		(void)stats_blob_tostr(sb, s, SB_STRFMT_FREEFORM, flags);
	}
	(void)stats_blob_merge(sb, other);
	if (stats_blob_snapshot(&copy, 0, sb, SB_CLONE_ALLOCDST | SB_CLONE_RSTSRC) != 0 ||
	    stats_blob_check(copy, copy->cursz) != 0 || stats_blob_check(sb, copy->cursz) != 0)
		abort();
	stats_blob_destroy(copy);
	sbuf_delete(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct statsblob *whole;
	unsigned char *mem;

	if (stats_blob_check(data, size) != 0)
		return 0;
	/* One byte off, and exactly as long as it says: reading on is seen. */
	size = ks_sb((const void *)data)->cursz;
	mem = malloc(size + 1);
	whole = malloc(size);
	if (mem != NULL && whole != NULL) {
		memcpy(mem + 1, data, size);
		memcpy(whole, data, size);
		use((void *)(mem + 1), whole);
	}
	free(mem);
	free(whole);
	return 0;
}
