/*
 * core_overwritten.c - workers that overwrite a shared segment without pause, while others count in it.
 * Nobody else may die of it, and after the next reload readers see whole kstats. Says what went wrong, or
 * "unharmed". Usage: core_overwritten SECONDS; KSTAT_DIR set. SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "chain/chain.h"
#include "kstat_blob.h"
#include "kstat_provider.h"
#include "provider/blob_layout.h"
#include "provider/segment/segment.h"
#include "source/source.h"
#include "source/sources.h"
#include "stats/abi.h"

#define COUNTING 3  /* processes that count */
#define ATTACKING 2 /* and that overwrite */
#define BLOBS 3

/* --- what is counted ------------------------------------------------------------------------------- */

struct counted {
	kstat_blob_t *blob[BLOBS];
	kstat_t *named, *io, *timer, *histogram;
};

static uint32_t template;

/*
 * Values of interest of all kinds: digests of both sizes, fixed point, histograms that are searched, relative
 * ones.
 */
static bool
make_template(void)
{
	struct voistatspec large[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(), STATS_VSS_TDGSTCLUST64(100, 4) };
	struct voistatspec few[] = { STATS_VSS_MIN(), STATS_VSS_CRHIST32_EXP(1, 1000000, 2, 1, 0),
		STATS_VSS_TDGSTCLUST32(20, 4) };
	struct voistatspec fixed[] = { STATS_VSS_QSUM(8), STATS_VSS_QMAX(8), STATS_VSS_TDGSTCLUST64(30, 8) };
	struct voistatspec wide[] = { STATS_VSS_TDGSTCLUST64(600, 2) };
	struct voistatspec sum[] = { STATS_VSS_SUM(), STATS_VSS_CRHIST64_LIN(0, 900, 100, 0) };
	int id = stats_tpl_alloc("overwritten", 0);

	template = (uint32_t)id;
	return id >= 0 &&
	    stats_tpl_add_voistats(template, 0, "large", VSD_DTYPE_INT_S64, NVSS(large), large, 0) == 0 &&
	    stats_tpl_add_voistats(template, 1, "few", VSD_DTYPE_INT_U32, NVSS(few), few, 0) == 0 &&
	    stats_tpl_add_voistats(template, 2, "fixed", VSD_DTYPE_Q_S64, NVSS(fixed), fixed, 0) == 0 &&
	    stats_tpl_add_voistats(template, 3, "wide", VSD_DTYPE_INT_U64, NVSS(wide), wide, 0) == 0 &&
	    stats_tpl_add_voistats(template, 4, "sum", VSD_DTYPE_INT_S64, NVSS(sum), sum, SB_VOI_RELUPDATE) == 0;
}

static bool
publish_blobs(kstat_pub_t *pub, struct counted *c)
{
	for (int i = 0; i < BLOBS; i++) {
		char name[16];
		kstat_t *k;

		(void)snprintf(name, sizeof(name), "blob%d", i);
		k = kstat_publish_statsblob(pub, "over", 0, name, "misc", template, 1, 0);
		if (k == NULL || kstat_install(k) != 0 || (c->blob[i] = kstat_blob(k)) == NULL)
			return false;
	}
	return true;
}

static bool
publish_all(kstat_pub_t *pub, struct counted *c)
{
	const char *pseg[] = { "misc", "over", "0", "sizes" };

	c->named = kstat_publish_create(pub, "over", 0, "named", "misc", KSTAT_TYPE_NAMED, 2, 0);
	c->io = kstat_publish_create(pub, "over", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	c->timer = kstat_publish_create(pub, "over", 0, "timer", "misc", KSTAT_TYPE_TIMER, 1, 0);
	c->histogram = kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LOG2, KSTAT_NVMT_BYTES, 1, 0, 0, 0, 0, 0, "", 0);
	if (c->named == NULL || c->io == NULL || c->timer == NULL || c->histogram == NULL)
		return false;
	kstat_named_init(&KSTAT_NAMED_PTR(c->named)[0], "a", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(c->named)[1], "text", KSTAT_DATA_STRING);
	kstat_timer_init(KSTAT_TIMER_PTR(c->timer), "t");
	return kstat_publish_shards(c->named, 4) == 0 && kstat_install(c->named) == 0 && kstat_install(c->io) == 0 &&
	    kstat_install(c->timer) == 0 && kstat2_install(c->histogram) == 0 && publish_blobs(pub, c);
}

/* Counts once in everything. What fails, fails with a message. */
static void
count(const struct counted *c, uint64_t i)
{
	int64_t v = (int64_t)(i * 6364136223846793005ULL >> 40) - (i % 64 == 0 ? 1 << 30 : 0);

	for (int b = 0; b < BLOBS; b++) {
		(void)kstat_blob_update_int(c->blob[b], 0, i % 1000 == 0 ? v * (1 << 28) : v, false);
		(void)kstat_blob_update_int(c->blob[b], 1, v & 0xfffff, false);
		(void)kstat_blob_update_dbl(c->blob[b], 2, (double)v / 7, false);
		(void)kstat_blob_update_uint(c->blob[b], 3, (uint64_t)v, false);
		(void)kstat_blob_update_int(c->blob[b], 4, v % 100, true);
	}
	kstat_counter_add(kstat_counter(c->named, "a"), 1);
	kstat_counter_add(kstat_counter_own(c->named, "a", NULL), 1);
	(void)kstat_named_store(c->named, "text", "some text", 9);
	(void)kstat_ioq_runq_enter(kstat_ioq(c->io));
	(void)kstat_ioq_done(kstat_ioq(c->io), KSTAT_IO_READ, 512);
	(void)kstat_etimer_event(kstat_etimer(c->timer, "t"), 1, 2);
	(void)kstat2_hist_add_value(c->histogram, (uint64_t)v);
}

/* What is done to whole blobs. */
static void
use_blob(const struct counted *c, uint64_t i)
{
	struct statsblob *copy = NULL;
	kstat_blob_t *b = c->blob[i % BLOBS];

	if (kstat_blob_copy(b, &copy) == 0 && i % 2 == 0)
		(void)kstat_blob_merge(b, copy);
	if (i % 16 == 0)
		(void)kstat_blob_store(b, NULL);
	stats_blob_destroy(copy);
}

static _Noreturn void
go_on_counting(const struct counted *c)
{
	for (uint64_t i = 1;; i++) {
		count(c, i);
		if (i % 200 == 0)
			use_blob(c, i / 200);
	}
}

/* --- what overwrites it ------------------------------------------------------------------------------ */

static uint64_t state;

static uint64_t
any(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 16;
}

/* A word of any kind: noise, a small number, one that is almost right, all bits. */
static uint64_t
any_word(uint64_t was)
{
	switch (any() % 5) {
	case 0:
		return any() << 32 ^ any();
	case 1:
		return any() % 300;
	case 2:
		return was + any() % 5 - 2;
	case 3:
		return was ^ 1ULL << any() % 64;
	default:
		return any() % 2 == 0 ? 0 : UINT64_MAX;
	}
}

static void
overwrite(char *at, size_t room)
{
	uint64_t v;
	size_t n = 1 + any() % 8;

	memcpy(&v, at, room < 8 ? room : 8);
	v = any_word(v);
	memcpy(at, &v, n < room ? n : room);
}

/*
 * Into the blob that is changed: its head, a slot, or the head of a digest; what leads to a digest being
 * merged.
 */
static void
overwrite_blob(kstat_blob_t *b)
{
	const struct ks_sb *form = ks_sb(ks_blob_form_of(b));
	char *blob = (char *)ks_blob_of(ks_blob_row_of(b, 0), b->blob_size);
	uint32_t at = (uint32_t)(any() % ks_sb_nvois(form));
	const struct ks_voi *voi = ks_sb_voi(form, at);
	const struct ks_vs *vs = ks_sb_find_vs(form, voi, VS_STYPE_TDGST);

	if (any() % 4 == 0 || vs == NULL)
		overwrite(blob + any() % form->statsdata_off, 8);
	else
		overwrite(blob + vs->data_off + any() % 40, 8);
}

/* Into what leads to the blob: its kstat's head, the numbers, the log and the copies of its row. */
static void
overwrite_row(kstat_blob_t *b)
{
	char *row = (char *)ks_blob_row_of(b, 0);

	switch (any() % 4) {
	case 0:
		overwrite(b->memory + any() % (b->first - 8), 8);
		break;
	case 1:
		overwrite(row + 8 + any() % 16, 8);
		break;
	default:
		overwrite(row + 64 + any() % (b->row_size - 72), 8);
	}
}

/*
 * Plain noise, everywhere but in the words that lock: each of these that looks held costs the others a
 * second.
 */
static void
overwrite_any(kstat_pub_t *pub, uint64_t used)
{
	uint64_t at = any() % (used - 8);

	if (at + 8 > offsetof(struct ks_seg_header, lock) && at < offsetof(struct ks_seg_header, changes))
		return;
	overwrite((char *)pub->header + at, 8);
	if (any() % 4096 == 0)
		atomic_store(&pub->header->lock, any_word(0));
}

static void
unlock(const struct counted *c)
{
	for (int i = 0; i < BLOBS; i++)
		atomic_fetch_and(&ks_blob_row_of(c->blob[i], 0)->word, ~KS_WORD_OWNER);
}

static _Noreturn void
go_on_overwriting(kstat_pub_t *pub, const struct counted *c, unsigned seed)
{
	uint64_t used = atomic_load(&pub->header->used);

	state = seed;
	for (uint64_t i = 0;; i++) {
		if (i % 1000 < 600)
			overwrite_blob(c->blob[any() % BLOBS]);
		else if (i % 1000 < 998)
			overwrite_row(c->blob[any() % BLOBS]);
		else
			overwrite_any(pub, used);
		if (i % 4096 == 0)
			unlock(c);
	}
}

/* --- the master --------------------------------------------------------------------------------------- */

static const char *
look(const char *path)
{
	static char wrong[700];
	kstat_ctl_t *kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	int seen = 0;

	for (kstat_t *k = kc != NULL ? kc->kc_chain : NULL; k != NULL; k = k->ks_next) {
		if (strcmp(k->ks_module, "over") == 0 && kstat_read(kc, k, NULL) >= 0)
			seen++;
	}
	if (kc != NULL)
		(void)kstat_close(kc);
	if (seen == 4 + BLOBS)
		return NULL;
	(void)snprintf(wrong, sizeof(wrong), "%s: %d kstats are readable after a reload: %.200s", path, seen, kstat_errmsg());
	return wrong;
}

/* A reload while the workers of before go on, or after they ended. */
static const char *
reload(void)
{
	static struct counted c;
	kstat_pub_t *pub = kstat_publish("master", 0);
	char path[300];

	if (pub == NULL || !publish_all(pub, &c))
		return kstat_errmsg();
	for (uint64_t i = 0; i < 100; i++)
		count(&c, i);
	kstat_publish_path(pub, path, sizeof(path));
	return look(path);
}

static pid_t pids[COUNTING + ATTACKING];

static void
stop(int from, int n)
{
	for (int i = from; i < from + n; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
}

/* The number of a process that ended by itself, or -1. */
static int
ended(int *status)
{
	for (int i = 0; i < COUNTING + ATTACKING; i++) {
		if (waitpid(pids[i], status, WNOHANG) == pids[i])
			return i;
	}
	return -1;
}

/* Some seconds of it, and a reload. */
static const char *
attack(unsigned seed, int seconds)
{
	static struct counted c;
	static char wrong[80];
	kstat_pub_t *pub = kstat_publish("master", 0);
	const char *message = NULL;
	int who = -1, status;

	if (pub == NULL || !publish_all(pub, &c))
		return kstat_errmsg();
	for (int i = 0; i < COUNTING + ATTACKING; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pids[i] == 0 && i < COUNTING)
			go_on_counting(&c);
		if (pids[i] == 0)
			go_on_overwriting(pub, &c, seed + (unsigned)i);
	}
	for (int i = 0; i < seconds * 20 && (who = ended(&status)) < 0; i++)
		(void)usleep(50000);
	if (who >= 0) {
		(void)snprintf(wrong, sizeof(wrong), "process %d died of signal %d, seed %u", who, WTERMSIG(status), seed);
		pids[who] = fork(); /* so that all can be stopped */
		if (pids[who] == 0)
			pause();
		message = wrong;
	}
	stop(COUNTING, ATTACKING);
	if (message == NULL)
		message = reload();
	stop(0, COUNTING);
	return message;
}

int
main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10, status;

	if (!make_template())
		return 2;
	for (unsigned seed = 1; seconds > 0; seed += 100, seconds -= 2) {
		pid_t master = fork();

		if (master == 0) {
			const char *wrong;

			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)alarm(60);
			wrong = attack(seed, 2);
			if (wrong != NULL)
				printf("%s\n", wrong);
			(void)fflush(stdout);
			_exit(wrong != NULL);
		}
		if (waitpid(master, &status, 0) != master || status != 0) {
			printf("the master ended with status %d, seed %u\n", status, seed);
			return 1;
		}
		(void)kstat_publish_gc(KSTAT_GC_PERSISTENT, NULL, NULL);
	}
	printf("unharmed\n");
	return 0;
}
