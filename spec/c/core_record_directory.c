/*
 * core_record_directory.c - records a made-up machine with a clock of its own into a directory, and looks at the limits
 * after each sample.
 *
 *     core_record_directory DIR FIRST SAMPLES SECONDS KEEP BYTES
 *
 * The machine is started, and recorded first, FIRST seconds after 2023-11-14 22:00 UTC; then SAMPLES times, every
 * SECONDS. KEEP is in seconds. Prints what was written, and by how much descriptors and memory (kB) grew since a tenth
 * of the samples. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "chain/chain.h"
#include "check.h"
#include "output/recorder.h"
#include "source/source.h"

#define START 1699999200 /* seconds since 1970 */
#define KSTATS 5
#define MOST_FILES 1000

struct machine {
	struct ks_source base;
	int64_t boot, now; /* seconds since 1970 */
	int64_t seconds;
};

static int
machine_scan(struct ks_source *src, struct ks_scan *scan)
{
	(void)src;
	for (int i = 0; i < KSTATS; i++) {
		struct ks_offer offer = { .module = "machine", .instance = i, .name = "numbers", .class_ = "misc",
			.type = KSTAT_TYPE_NAMED };

		if (ks_scan_offer(scan, &offer) != 0)
			return -1;
	}
	return 1;
}

static int
machine_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	const struct machine *m = (const struct machine *)src;

	(void)cookie;
	r->snaptime = (m->now - m->boot + 1) * KS_NANOSEC;
	ks_named_u64(r, "noise", (uint64_t)(m->now + ksp->ks_instance) * UINT64_C(0x9e3779b97f4a7c15));
	return 0;
}

static int
machine_advance(struct ks_source *src)
{
	struct machine *m = (struct machine *)src;

	m->now += m->seconds;
	return 1;
}

static int
machine_time_of_day(struct ks_source *src, int64_t *ns)
{
	*ns = ((struct machine *)src)->now * KS_NANOSEC;
	return 1;
}

static void
machine_close(struct ks_source *src)
{
	(void)src;
}

static const struct ks_source_ops machine_ops = {
	.name = "machine", .scan = machine_scan, .read = machine_read, .advance = machine_advance,
	.time_of_day = machine_time_of_day, .close = machine_close
};

/* The time in the name of a file; 0: it has none. */
static int64_t
time_of_name(const char *name)
{
	struct tm tm = { 0 };

	return strptime(name, "kstat-%Y%m%d-%H%M%S", &tm) != NULL ? (int64_t)timegm(&tm) : 0;
}

static int
compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Counts the files of a directory, adds up their bytes and stores the times of their names in order. */
static size_t
look(const char *path, int64_t times[MOST_FILES], uint64_t *bytes)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	size_t n = 0;

	*bytes = 0;
	while (dir != NULL && n < MOST_FILES && (e = readdir(dir)) != NULL) {
		struct stat st;

		times[n] = time_of_name(e->d_name);
		if (times[n] == 0 || fstatat(dirfd(dir), e->d_name, &st, 0) != 0)
			continue;
		*bytes += (uint64_t)st.st_size;
		n++;
	}
	CHECK(dir != NULL && closedir(dir) == 0);
	qsort(times, n, sizeof(times[0]), compare_times);
	return n;
}

static long
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = 0;

	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		(void)closedir(dir);
	return n;
}

static long
memory(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		(void)sscanf(line, "VmRSS: %ld", &kb);
	if (f != NULL)
		(void)fclose(f);
	return kb;
}

static void
wait_until_written(const struct ks_recorder *rec)
{
	const struct timespec moment = { .tv_nsec = 20000 };
	struct ks_rec_status status;

	for (ks_recorder_status(rec, &status); status.waiting > 0; ks_recorder_status(rec, &status))
		(void)nanosleep(&moment, NULL);
}

/* Checks the limits; returns how many files there are. */
static size_t
check_limits(const char *path, const struct machine *m, int64_t keep, uint64_t limit)
{
	static int64_t times[MOST_FILES];
	uint64_t bytes;
	size_t n = look(path, times, &bytes);

	CHECK(bytes <= limit);
	for (size_t i = 1; i < n; i++)
		CHECK(times[i] - m->seconds >= m->now - keep);
	return n;
}

int
main(int argc, char **argv)
{
	int64_t number[6] = { 0 };
	struct machine m = { .base.ops = &machine_ops };
	struct ks_rec_limits limits;
	struct ks_rec_status status;
	struct ks_recorder *rec;
	long fds = 0, kb = 0;
	size_t files = 0;
	kstat_ctl_t *kc;

	if (argc != 7)
		return 2;
	for (int i = 2; i < argc; i++)
		number[i - 1] = strtoll(argv[i], NULL, 10);
	m.boot = m.now = START + number[1];
	m.seconds = number[3];
	limits = (struct ks_rec_limits){ number[4] * KS_NANOSEC, (uint64_t)number[5] };
	kc = ks_chain_open_source(&m.base, NULL);
	rec = ks_recorder_open_directory(argv[1], &limits);
	CHECK(kc != NULL && rec != NULL);
	for (int64_t i = 0; failures == 0 && i < number[2]; i++) {
		CHECK(i == 0 || ks_chain_step(kc) >= 0);
		CHECK(ks_recorder_add(rec, kc, NULL, 0) == 0);
		wait_until_written(rec);
		files = check_limits(argv[1], &m, number[4], limits.bytes);
		if (i == number[2] / 10) {
			fds = descriptors();
			kb = memory();
		}
	}
	if (failures == 0) {
		fds = descriptors() - fds;
		kb = memory() - kb;
		ks_recorder_end(rec);
		ks_recorder_status(rec, &status);
		printf("%llu written, %llu dropped, %zu files, %ld descriptors, %ld kB\n",
		    (unsigned long long)status.samples, (unsigned long long)status.dropped, files, fds, kb);
	}
	ks_recorder_close(rec);
	(void)kstat_close(kc);
	return failures > 0;
}
