/*
 * core_sweep.c - calls the public functions of the library, for `make sweep`, which lets one request for memory or one
 * system call of it fail. A call that fails has a line on standard error, and the status is 3 then; what it was made
 * for is used all the same, as far as it is there. So have what a chain warns of, and one that is damaged.
 * $KSTAT_DIR is an empty directory; the arguments are trees of /proc and /sys, and a capture. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <devstat.h>
#include <kstat_blob.h>
#include <kstat_provider.h>
#include <statsblob.h>

#include "chain/chain.h"

static int status;

/* Reports a call that failed; returns whether it worked. */
static bool
ok(bool worked, const char *call, const char *why)
{
	if (worked)
		return true;
	(void)fprintf(stderr, "%s: %s\n", call, why != NULL && *why != '\0' ? why : "failed");
	if (why == NULL || *why == '\0')
		abort(); /* there must be a line */
	status = 3;
	return false;
}

#define OK(call) ok((call), #call, kstat_errmsg())
#define DEV(call) ok((call), #call, devstat_errbuf)
#define RET(call) ok((call) == 0, #call, "statsblob")

/* Prints what a chain could not read, and closes it. */
static void
close_chain(kstat_ctl_t *kc)
{
	const char *line;

	while ((line = ks_chain_warning(kc)) != NULL)
		(void)fprintf(stderr, "%s\n", line);
	if (ks_chain_damaged(kc))
		status = 3;
	(void)OK(kstat_close(kc) == 0);
}

/* --- consumers -------------------------------------------------------------------------------- */

static void
show(const char *what, kstat_ctl_t *kc, kstat_t *k)
{
	kstat2_md_t md;
	kstat_named_t *n;

	if (k == NULL || !OK(kstat_read(kc, k, NULL) >= 0))
		return;
	(void)printf("%s %s:%d:%s %u", what, k->ks_module, k->ks_instance, k->ks_name, k->ks_ndata);
	n = k->ks_type == KSTAT_TYPE_NAMED && k->ks_ndata > 0 ? k->ks_data : NULL;
	if (n != NULL && OK(kstat_data_lookup(k, n->name) == n))
		(void)printf(" %s", n->name);
	if (n != NULL && kstat2_get_md(kc, k, n->name, &md) == 0)
		(void)printf(" %s", md.md_unit);
	else if (n != NULL)
		(void)OK(errno == ENOENT);
	(void)printf("\n");
}

static void
show_all(const char *what, kstat_ctl_t *kc)
{
	for (int i = 0; i < 2; i++) {
		for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next)
			show(what, kc, k);
		(void)OK(kstat_chain_update(kc) >= 0);
	}
	close_chain(kc);
}

static void
consumers(char **argv)
{
	kstat_ctl_t *kc = kstat_open_roots(argv[1], argv[2]);
	kstat2_path_t path;

	if (OK(kc != NULL)) {
		show("lookup", kc, kstat_lookup(kc, "unix", 0, "system_misc"));
		show("uri", kc, kstat2_lookup_uri(kc, "kstat:/misc/unix/system_misc/0"));
		show_all("tree", kc);
	}
	kc = kstat_open_capture(argv[3]);
	if (OK(kc != NULL))
		show_all("capture", kc);
	(void)OK(kstat2_parse_uri("kstat:/misc/unix/system_misc/0", &path) == 0);
}

/* --- providers --------------------------------------------------------------------------------- */

static void
name_all(kstat_t *k)
{
	static const char text[] = "text";
	kstat_named_t *n = k->ks_data;
	const kstat2_md_t md = { .md_type = KSTAT2_NVMT_BYTES, .md_unit = "bytes", .md_desc = "a size" };

	kstat_named_init(&n[0], "number", KSTAT_DATA_UINT64);
	kstat_named_init(&n[1], "text", KSTAT_DATA_STRING);
	(void)OK(kstat_named_setstr(&n[1], text) == 0);
	(void)OK(kstat2_set_md(k, "number", &md) == 0);
}

static void
own(void)
{
	const char *path[] = { "misc", "own", "0", "delays" };
	kstat_t *k = kstat_create("own", 0, "named", "misc", KSTAT_TYPE_NAMED, 2, KSTAT_FLAG_WRITABLE), *h;
	kstat_t *io = kstat_create("own", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	kstat_ctl_t *kc;

	if (OK(k != NULL)) {
		name_all(k);
		(void)OK(kstat_install(k) == 0);
	}
	if (OK(io != NULL) && OK(kstat_install(io) == 0))
		(void)OK(kstat_runq_enter(KSTAT_IO_PTR(io)) == 0);
	h = kstat2_create_histogram(path, 4, ALL_ZONES, KSTAT2_NVHIST_LOG2, KSTAT2_NVMT_T_REL, 1, KSTAT2_NVMF_NONE,
	    NULL, 0, 0, 0, 0, 0, "delays", KSTAT2_MF_NONE);
	if (OK(h != NULL) && OK(kstat2_install(h) == 0))
		(void)OK(kstat2_hist_add_value(h, 5) == 0);
	kc = kstat_open();
	if (OK(kc != NULL)) {
		kstat_t *seen = kstat_lookup(kc, "own", 0, "named");

		if (seen != NULL && OK(kstat_read(kc, seen, NULL) >= 0)) {
			((kstat_named_t *)seen->ks_data)->value.ui64 = 7;
			(void)OK(kstat_write(kc, seen, NULL) >= 0);
		}
		show("own", kc, seen);
		show("own", kc, kstat_lookup(kc, "own", 0, "io"));
		show("own", kc, kstat_lookup(kc, "own", 0, "delays"));
		close_chain(kc);
	}
	kstat_delete(k);
	kstat_delete(io);
	kstat2_delete(h);
}

static void
removed(const char *path, void *arg)
{
	(void)path;
	(void)arg;
}

static void
published(void)
{
	const char *path[] = { "misc", "pub", "0", "sizes" };
	kstat_pub_t *pub = kstat_publish("sweep", 0);
	kstat_t *k, *io, *t, *h;
	kstat_ctl_t *kc;
	kstat_counter_t *c;
	kstat_etimer_t *e;

	if (!OK(pub != NULL))
		return;
	k = kstat_publish_create(pub, "pub", 0, "named", "misc", KSTAT_TYPE_NAMED, 2, 0);
	if (OK(k != NULL)) {
		name_all(k);
		(void)OK(kstat_publish_shards(k, 2) == 0);
		if (OK(kstat_install(k) == 0)) {
			if (OK((c = kstat_counter_own(k, "number", NULL)) != NULL))
				kstat_counter_add(c, 3);
			(void)OK(kstat_named_store(k, "text", "other", 5) == 0);
		}
	}
	io = kstat_publish_create(pub, "pub", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	if (OK(io != NULL) && OK(kstat_install(io) == 0))
		(void)OK(kstat_ioq_count(kstat_ioq(io), KSTAT_IO_READ, 512) == 0);
	t = kstat_publish_create(pub, "pub", 0, "timer", "misc", KSTAT_TYPE_TIMER, 1, 0);
	if (OK(t != NULL)) {
		kstat_timer_init(t->ks_data, "work");
		if (OK(kstat_install(t) == 0) && OK((e = kstat_etimer(t, "work")) != NULL))
			(void)OK(kstat_etimer_event(e, 1, 2) == 0);
	}
	h = kstat2_publish_histogram(pub, path, 4, KSTAT2_NVHIST_LOG10, KSTAT2_NVMT_BYTES, 1, KSTAT2_NVMF_NONE, 0, 0, 0,
	    0, NULL, KSTAT2_MF_NONE);
	if (OK(h != NULL) && OK(kstat2_install(h) == 0))
		(void)OK(kstat2_hist_add_value(h, 5) == 0);
	kc = kstat_open();
	if (OK(kc != NULL)) {
		for (kstat_t *seen = kc->kc_chain; seen != NULL; seen = seen->ks_next) {
			if (strcmp(seen->ks_module, "pub") == 0)
				show("published", kc, seen);
		}
		close_chain(kc);
	}
	kstat_delete(k);
	kstat_delete(io);
	kstat_delete(t);
	kstat2_delete(h);
	kstat_unpublish(pub);
	(void)OK(kstat_publish_gc(0, removed, NULL) >= 0);
}

/* --- statsblobs ---------------------------------------------------------------------------------- */

static void
blobs(void)
{
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_TDGSTCLUST64(20, 4) };
	struct statsblob *sb, *copy = NULL, *copied = NULL;
	struct sbuf *text = stats_sbuf_new(NULL, NULL, 0, SBUF_AUTOEXTEND);
	int id = stats_tpl_alloc("sweep", 0);
	kstat_blob_t *b;
	double value;
	kstat_t *k;

	if (!ok(id >= 0, "stats_tpl_alloc", "statsblob"))
		return;
	if (!RET(stats_tpl_add_voistats((uint32_t)id, 0, "v", VSD_DTYPE_INT_U32, 2, vss, 0)))
		return;
	sb = stats_blob_alloc((uint32_t)id, 0);
	if (ok(sb != NULL, "stats_blob_alloc", "statsblob")) {
		for (uint32_t i = 0; i < 100; i++)
			(void)RET(stats_voi_update_abs_u32(sb, 0, i));
		if (RET(stats_blob_clone(&copy, 0, sb, SB_CLONE_ALLOCDST)))
			(void)RET(stats_blob_merge(sb, copy));
		if (text != NULL && RET(stats_blob_tostr(sb, text, SB_STRFMT_JSON, 0)) &&
		    RET(stats_sbuf_finish(text)))
			(void)printf("blob %td\n", stats_sbuf_len(text));
		if (RET(stats_voi_quantile(sb, 0, 0.5, &value, NULL)))
			(void)printf("median %.0f\n", value);
	}
	(void)ok(text != NULL, "stats_sbuf_new", "statsblob");
	k = kstat_create_statsblob("own", 0, "blob", "misc", (uint32_t)id, 1, 0);
	if (OK(k != NULL) && OK(kstat_blob_describe(k, 0, "us", "delays") == 0) && OK(kstat_install(k) == 0) &&
	    OK((b = kstat_blob(k)) != NULL)) {
		(void)RET(kstat_blob_update_uint(b, 0, 5, false));
		(void)RET(kstat_blob_copy(b, &copied));
	}
	kstat_delete(k);
	stats_blob_destroy(sb);
	stats_blob_destroy(copy);
	stats_blob_destroy(copied);
	if (text != NULL)
		stats_sbuf_delete(text);
}

/* --- devices ---------------------------------------------------------------------------------------- */

static void
select_devices(struct statinfo *s)
{
	struct devstat_match *matches = NULL;
	struct device_selection *chosen = NULL;
	char match[] = "da,scsi", *names[] = { NULL };
	int nmatches = 0, nchosen = 0, n = 0;
	long generation = 0;

	(void)DEV(devstat_buildmatch(match, &matches, &nmatches) == 0);
	if (DEV(devstat_selectdevs(&chosen, &nchosen, &n, &generation, s->dinfo->generation, s->dinfo->devices,
	    s->dinfo->numdevs, matches, nmatches, names, 0, DS_SELECT_ADD, 5, 0) >= 0))
		(void)printf("selected %d of %d\n", nchosen, n);
	devstat_free(matches);
	devstat_free(chosen);
}

static void
devices(void)
{
	struct devinfo info = { 0 };
	struct statinfo s = { .dinfo = &info };
	devstat_registry_t *reg = devstat_registry_create();
	struct devstat *d;

	for (int i = 0; i < 2; i++) {
		if (DEV(devstat_getdevs(NULL, &s) >= 0))
			(void)printf("devices %d\n", info.numdevs);
	}
	select_devices(&s);
	devstat_freedevs(&info);
	devstat_close();
	if (!ok(reg != NULL, "devstat_registry_create", kstat_errmsg()))
		return;
	d = devstat_new_entry(reg, "da", 0, 512, DEVSTAT_ALL_SUPPORTED, DEVSTAT_TYPE_DIRECT, DEVSTAT_PRIORITY_DISK);
	if (ok(d != NULL, "devstat_new_entry", "devstat")) {
		devstat_start_transaction(d, NULL);
		devstat_end_transaction(d, 512, DEVSTAT_TAG_SIMPLE, DEVSTAT_READ, NULL, NULL);
	}
	memset(&info, 0, sizeof(info));
	if (DEV(devstat_registry_getdevs(reg, &s) >= 0))
		(void)printf("registered %d\n", info.numdevs);
	devstat_freedevs(&info);
	devstat_registry_destroy(reg);
}

int
main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (setenv("KSTAT_PROC", argv[1], 1) != 0 || setenv("KSTAT_SYS", argv[2], 1) != 0)
		return fputs("out of memory\n", stderr), 3;
	consumers(argv);
	own();
	published();
	blobs();
	devices();
	return status;
}
