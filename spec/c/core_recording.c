/*
 * core_recording.c - records a made-up machine whose kstats come, go, change shape and fail, and
 * reads the recording back.
 *
 *     core_recording write FILE STEPS [KSTATS]   records STEPS samples, appending; prints bytes
 *     core_recording read FILE [FROM [TO]]       prints "STEPS samples, N values differ" (FROM and TO: base/when.h)
 *     core_recording seek FILE STEPS             goes to the samples in another order, and prints the same
 *     core_recording seek-damaged FILE COPY STEPS KSTATS   the same in copies that are damaged or cut
 *     core_recording idle FILE                   records a machine that sleeps
 *     core_recording decode                      decodes samples that are whole, cut and too long
 *     core_recording damage FILE COPY            cuts and corrupts COPY of FILE everywhere, reads each
 *
 * The machine's state is a function of the time of day, so the reader knows what must be there.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "chain/chain.h"
#include "chain/values.h"
#include "output/recorder.h"
#include "source/replay/recording/codec.h"
#include "source/replay/recording/frame_file.h"
#include "source/replay/replay.h"
#include "source/source.h"

#define START 1700000000 /* seconds since 1970 */

struct machine {
	struct ks_source base;
	int64_t step; /* seconds since START */
	int kstats;
};

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static int
machine_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct machine *m = (struct machine *)src;

	for (int i = 0; i < m->kstats; i++) {
		char name[16];
		struct ks_offer offer = { .module = "machine", .instance = i, .name = name,
			.class_ = "misc", .type = (uchar_t)(1 + i % 4), .cookie = (uint64_t)i,
			/* one in eleven is created anew every seven steps */
			.crtime = i % 11 == 10 ? m->step / 7 : 0 };

		(void)snprintf(name, sizeof(name), "k%d", i);
		if (i % 13 == 12 && m->step / 5 % 2 == 1)
			continue; /* away */
		if (ks_scan_offer(scan, &offer) != 0)
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

static void
read_named(struct ks_record *r, int64_t step, uint64_t i)
{
	uint64_t ints[3] = { (uint64_t)step, i, UINT64_MAX }, buckets[20] = { (uint64_t)step };
	char text[32];

	ks_named_u64(r, "steady", (uint64_t)step * 1000 * (i + 1));
	/* This one gets another name from time to time, while their number stays. */
	ks_named_u64(r, step / 4 % 2 == 1 ? "noise" : "noisy", (uint64_t)step * 100 + mix((uint64_t)step + i) % 16);
	ks_named_u32(r, "wraps", (uint32_t)(step * 0x40000001));
	ks_named_i64(r, "falls", -step * INT64_C(0x7ffffffffffff));
	ks_named_i32(r, "signed", (int32_t)(mix((uint64_t)step) & 7) - 4);
	add_double(r, "real", (double)step / 3);
	ks_named_chars(r, "chars", "sixteen bytes!!!", 10 + (size_t)(step % 7));
	(void)snprintf(text, sizeof(text), "step %lld", (long long)step / 10);
	ks_named_string(r, "text", step % 3 == 0 ? NULL : text, strlen(text));
	ks_named_ints(r, "ints", ints, (size_t)(step % 4));
	for (int b = 1; b < 20; b++)
		buckets[b] = mix((uint64_t)(step / (b % 9 + 1)));
	ks_named_ints(r, "buckets", buckets, 20);
	if (step / 6 % 2 == 1)
		ks_named_u64(r, "sometimes", 1);
}

static int
machine_read(struct ks_source *src, const kstat_t *ksp, uint64_t i, struct ks_record *r)
{
	const struct machine *m = (const struct machine *)src;
	uint64_t noise = mix((uint64_t)m->step * 31 + i);

	if (i % 17 == 16 && m->step % 4 == 1)
		return ks_fail(EIO, "broken");
	r->snaptime = (m->step + 1) * KS_NANOSEC + (hrtime_t)(i * 1000 + noise % 100);
	switch (ksp->ks_type) {
	case KSTAT_TYPE_NAMED:
		read_named(r, m->step, i);
		break;
	case KSTAT_TYPE_INTR: {
		kstat_intr_t *ki = ks_record_add(r, sizeof(*ki));

		ki->intrs[KSTAT_INTR_HARD] = (uint_t)(m->step * 1000000007);
		break;
	}
	case KSTAT_TYPE_IO: {
		kstat_io_t *io = ks_record_add(r, sizeof(*io));

		io->nread = noise;
		io->reads = (uint_t)m->step;
		io->rlentime = -5;
		io->rcnt = (uint_t)(noise & 3);
		break;
	}
	default: {
		kstat_timer_t *kt = ks_record_add(r, sizeof(*kt));

		(void)snprintf(kt->name, sizeof(kt->name), "timer");
		kt->num_events = (u_longlong_t)m->step;
		kt = ks_record_add(r, sizeof(*kt));
		kt->max_time = m->step;
		break;
	}
	}
	return 0;
}

static int
machine_advance(struct ks_source *src)
{
	((struct machine *)src)->step++;
	return 1;
}

static int
machine_time_of_day(struct ks_source *src, int64_t *ns)
{
	*ns = (START + ((struct machine *)src)->step) * KS_NANOSEC;
	return 1;
}

static void
machine_close(struct ks_source *src)
{
	free(src);
}

static const struct ks_source_ops machine_ops = {
	.name = "machine", .scan = machine_scan, .read = machine_read, .advance = machine_advance,
	.time_of_day = machine_time_of_day, .close = machine_close
};

/* Each file is read at another moment of a sample, and that moment varies. */
static hrtime_t
idle_snaptime(int64_t step, int64_t i)
{
	return step * 10 * KS_NANOSEC + i * 20000 + (hrtime_t)(mix((uint64_t)(step * 1000 + i)) % 8000000);
}

static int
idle_read(struct ks_source *src, const kstat_t *ksp, uint64_t i, struct ks_record *r)
{
	(void)ksp;
	ks_named_u64(r, "utime", i * 10000000);
	ks_named_u64(r, "minf", i);
	r->snaptime = idle_snaptime(((struct machine *)src)->step, (int64_t)i);
	return 0;
}

static int
idle_scan(struct ks_source *src, struct ks_scan *scan)
{
	for (int i = 0; i < ((struct machine *)src)->kstats; i++) {
		const struct ks_offer offer = { .module = "process", .instance = i, .name = "idle",
			.class_ = "process", .type = KSTAT_TYPE_NAMED, .cookie = (uint64_t)i };

		if (ks_scan_offer(scan, &offer) != 0)
			return -1;
	}
	return 1;
}

/* No replay: its snaptimes need not be kept. */
static const struct ks_source_ops idle_ops = { .name = "idle", .scan = idle_scan, .read = idle_read,
	.close = machine_close };

static char *
load(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *bytes = NULL;

	if (f != NULL && stat(path, &st) == 0)
		bytes = malloc(*n = (size_t)st.st_size);
	if (bytes == NULL || fread(bytes, 1, *n, f) != *n || fclose(f) != 0)
		exit(1);
	return bytes;
}

static void
store(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		exit(1);
}

static kstat_ctl_t *
open_machine(int64_t step, int kstats)
{
	struct machine *m = calloc(1, sizeof(*m));

	m->base.ops = &machine_ops;
	m->step = step;
	m->kstats = kstats;
	return ks_chain_open_source(&m->base, NULL);
}

static int
fail(void)
{
	printf("%s\n", kstat_errmsg());
	return 1;
}

static int
write_recording(const char *path, int steps, int kstats)
{
	struct ks_recorder *rec = ks_recorder_open(path);
	struct ks_rec_status status;
	kstat_ctl_t *kc;

	if (rec == NULL)
		return fail();
	ks_recorder_status(rec, &status);
	/* The file's size tells whether it is continued: then go on where it would. */
	kc = open_machine(status.size > 16 ? steps : 0, kstats);
	for (int i = 0; i < steps; i++) {
		if (i > 0 && ks_chain_step(kc) < 0)
			return fail();
		if (ks_recorder_add(rec, kc, NULL, 0) != 0)
			return fail();
	}
	ks_recorder_status(rec, &status);
	printf("%llu bytes\n", (unsigned long long)status.size);
	ks_recorder_close(rec);
	return kstat_close(kc);
}

/* Compares all statistics of two kstats, the second NULL if it is missing. */
static int
compare(const kstat_t *want, const kstat_t *have)
{
	struct ks_values w = { NULL, 0, 0 }, h = { NULL, 0, 0 };
	struct ks_buf a = KS_BUF_INIT, b = KS_BUF_INIT;
	int differ = have == NULL;

	if (have != NULL) {
		(void)ks_values_collect(&w, want, true);
		(void)ks_values_collect(&h, have, true);
		differ += w.n != h.n;
		for (size_t i = 0; i < w.n && i < h.n; i++) {
			const struct ks_value *x = &w.pair[i].value, *y = &h.pair[i].value;

			differ += strcmp(w.pair[i].name, h.pair[i].name) != 0 || x->kind != y->kind ||
			    x->bits != y->bits || x->len != y->len;
			if (x->kind >= KS_VALUE_INTS || x->kind == KS_VALUE_STRING)
				differ += memcmp(x->str, y->str,
				    x->kind == KS_VALUE_INTS ? 8 * x->len : x->len) != 0;
			else
				differ += x->u64 != y->u64;
		}
	}
	ks_buf_free(&a);
	ks_buf_free(&b);
	ks_values_free(&w);
	ks_values_free(&h);
	return differ;
}

/* Compares the sample of a replay with the machine at that time. Returns how many values differ. */
static int
compare_sample(kstat_ctl_t *kc, kstat_ctl_t *truth)
{
	int differ = ks_chain_length(kc) != ks_chain_length(truth);

	for (kstat_t *k = truth->kc_chain; k != NULL; k = k->ks_next) {
		kstat_t *r = kstat_lookup(kc, k->ks_module, k->ks_instance, k->ks_name);
		bool readable = kstat_read(truth, k, NULL) >= 0;

		if (r == NULL || (kstat_read(kc, r, NULL) >= 0) != readable)
			differ++;
		else if (readable)
			differ += compare(k, r);
	}
	return differ;
}

static int
read_recording(const char *path, const char *from, const char *to, int kstats)
{
	kstat_ctl_t *kc = ks_chain_open_replay(&(struct ks_past){ .paths = path, .from = from, .to = to }, NULL), *truth;
	int samples = 1, differ = 0;
	const char *warning;
	int64_t last;

	if (kc == NULL)
		return fail();
	last = ks_chain_time_of_day(kc, NULL);
	truth = open_machine(last / KS_NANOSEC - START, kstats);
	for (;;) {
		differ += compare_sample(kc, truth);
		if (ks_chain_step(kc) < 0) {
			printf("%s\n", kstat_errmsg());
			break;
		}
		if (ks_chain_time_of_day(kc, NULL) == last)
			break;
		last = ks_chain_time_of_day(kc, NULL);
		samples++;
		while (ks_chain_time_of_day(truth, NULL) < last)
			(void)ks_chain_step(truth);
	}
	while ((warning = ks_chain_warning(kc)) != NULL)
		printf("%s\n", warning);
	printf("%d samples, %d values differ\n", samples, differ);
	(void)kstat_close(truth);
	return kstat_close(kc);
}

/* Goes to samples in any order, and from half of them one back or on. */
static int
seek_recording(const char *path, int steps, int kstats)
{
	kstat_ctl_t *kc = ks_chain_open_replay(&(struct ks_past){ .paths = path }, NULL);
	int differ = 0, moves = 0;

	for (uint64_t i = 0; kc != NULL && i < 200; i++) {
		int64_t at = (int64_t)(mix(i) % (uint64_t)steps), ns = (START + at) * KS_NANOSEC + (int64_t)(i % 2);
		kstat_ctl_t *truth;
		kid_t id = kstat_replay_seek(kc, &ns);

		differ += ns != (START + at) * KS_NANOSEC;
		if (i % 4 == 0 && at > 0 && at-- > 0)
			id = ks_chain_previous(kc, &(unsigned){ 1 });
		else if (i % 4 == 1 && at + 1 < steps && ++at > 0)
			id = ks_chain_step(kc);
		if (id < 0)
			return fail();
		truth = open_machine(at, kstats);
		differ += compare_sample(kc, truth);
		(void)kstat_close(truth);
		moves++;
	}
	printf("%d samples, %d values differ\n", moves, differ);
	return kc != NULL ? kstat_close(kc) : fail();
}

/* Goes to samples of a file of which a byte is wrong or the end is missing, again and again. */
static int
seek_damaged(const char *path, const char *copy, int steps, int kstats)
{
	int found = 0, differ = 0, told = 0;
	size_t n;
	char *bytes = load(path, &n);

	for (uint64_t i = 0; i < 400; i++) {
		size_t at = mix(i) % n;
		kstat_ctl_t *kc;

		bytes[at] ^= (char)(1 << i % 8);
		store(copy, bytes, i % 4 == 0 ? at : n);
		bytes[at] ^= (char)(1 << i % 8);
		kc = ks_chain_open_replay(&(const struct ks_past){ .paths = copy }, NULL);
		for (int j = 0; kc != NULL && j < 3; j++) {
			int64_t ns = (START + (int64_t)(mix(i * 3 + (uint64_t)j) % (uint64_t)steps)) * KS_NANOSEC;

			if (kstat_replay_seek(kc, &ns) >= 0) {
				kstat_ctl_t *truth = open_machine(ns / KS_NANOSEC - START, kstats);

				differ += compare_sample(kc, truth);
				found++;
				(void)kstat_close(truth);
			} else {
				told += errno == EBADMSG && strstr(kstat_errmsg(), "damaged at byte ") != NULL;
			}
		}
		if (kc != NULL)
			(void)kstat_close(kc);
	}
	free(bytes);
	printf("samples found: %s, damage told: %s, %d values differ\n", found > 100 ? "many" : "few",
	    told > 100 ? "often" : "seldom", differ);
	return 0;
}

/* A machine of which nothing changes but the snaptimes: how large its samples are, and by how much these are wrong. */
static int
idle(const char *path)
{
	struct ks_recorder *rec = ks_recorder_open(path);
	struct machine *m = calloc(1, sizeof(*m));
	int64_t step = 10 * KS_NANOSEC, wrong = 0;
	uint64_t size = 0, most = 0;
	struct ks_rec_status status;
	kstat_ctl_t *kc;

	m->base.ops = &idle_ops;
	m->kstats = 500;
	kc = ks_chain_open_source(&m->base, NULL);
	for (m->step = 1; m->step <= 70; m->step++) {
		if (kc == NULL || rec == NULL || ks_recorder_add(rec, kc, NULL, 0) != 0)
			return fail();
		ks_recorder_status(rec, &status);
		if (m->step > 2 && status.size - size > most)
			most = status.size - size;
		size = status.size;
	}
	(void)kstat_close(kc);
	ks_recorder_close(rec);
	kc = ks_chain_open_replay(&(const struct ks_past){ .paths = path }, NULL);
	for (int64_t i = 1; kc != NULL && i <= 70 && ks_chain_time_of_day(kc, NULL) > 0; i++, (void)ks_chain_step(kc)) {
		for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
			int64_t error = kstat_read(kc, k, NULL) < 0 ? step : k->ks_snaptime - idle_snaptime(i, k->ks_instance);

			wrong += error > step / 1024 || error < -step / 1024;
		}
	}
	printf("at most %s bytes, %lld snaptimes are wrong\n", most <= 40 ? "40" : "too many", (long long)wrong);
	return kc != NULL ? kstat_close(kc) : fail();
}

/* Reads a damaged copy to its end; what comes of it is not told, only that it comes to an end. */
static int
try_copy(const char *copy, const char *bytes, size_t n)
{
	kstat_ctl_t *kc;
	int samples = 0;

	store(copy, bytes, n);
	kc = kstat_open_capture(copy);
	if (kc == NULL)
		return 0;
	do {
		int64_t now = ks_chain_time_of_day(kc, NULL);

		samples++;
		for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next)
			(void)kstat_read(kc, k, NULL);
		if (ks_chain_step(kc) < 0 || ks_chain_time_of_day(kc, NULL) == now)
			break;
	} while (samples < 1000000);
	(void)kstat_close(kc);
	return samples;
}

static int
damage(const char *path, const char *copy)
{
	size_t n, most = 0;
	int last = 0, grew = 0;
	char *bytes = load(path, &n);

	for (size_t cut = 0; cut <= n; cut += 1 + cut / 64) {
		int samples = try_copy(copy, bytes, cut);

		grew += samples >= last;
		last = samples;
		most++;
	}
	printf("%zu cuts, each with as many samples as the one before or more: %s\n", most,
	    grew == (int)most ? "yes" : "no");
	for (size_t at = 0; at < n; at += 1 + n / 3000) {
		bytes[at] ^= (char)(1 << at % 8);
		(void)try_copy(copy, bytes, n);
		bytes[at] ^= (char)(1 << at % 8);
	}
	printf("corrupted everywhere, and came to an end\n");
	free(bytes);
	return 0;
}

/* Decodes samples of no kstats: zeros are the times, the counts, and how many fields are as expected. */
static int
decode(void)
{
	static const struct {
		const char *what;
		unsigned char bytes[8];
		size_t n;
	} cases[] = {
		{ "whole", { 0 }, 7 }, { "cut", { 0 }, 6 }, { "longer", { 0 }, 8 }, { "expecting more", { [6] = 1 }, 7 }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_store sample = { .text = KS_BUF_INIT, .most = 1 << 20 };
		struct ks_rec_state s = { .sample = &sample, .version = KS_REC_VERSION };
		int rc = ks_rec_decode(&s, cases[i].bytes, cases[i].n);

		printf("%s: %s\n", cases[i].what, rc == 0 ? "decoded" : kstat_errmsg());
		ks_rec_state_free(&s);
		ks_store_free(&sample);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "decode") == 0)
		return decode();
	if (argc >= 4 && strcmp(argv[1], "write") == 0)
		return write_recording(argv[2], atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 100);
	if (argc >= 3 && strcmp(argv[1], "read") == 0)
		return read_recording(argv[2], argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL, 100);
	if (argc == 4 && strcmp(argv[1], "seek") == 0)
		return seek_recording(argv[2], atoi(argv[3]), 100);
	if (argc == 6 && strcmp(argv[1], "seek-damaged") == 0)
		return seek_damaged(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]));
	if (argc == 3 && strcmp(argv[1], "idle") == 0)
		return idle(argv[2]);
	if (argc == 4 && strcmp(argv[1], "damage") == 0)
		return damage(argv[2], argv[3]);
	return 2;
}
