/*
 * linux_source.c - what the machine's own kstats cost: opening, finding that nothing changed,
 * and reading all of them, beside a program that only reads the same files of /proc.
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kstat.h"

#define RUNS 300
#define MAX_FILES 64

/* CPU time of this process in microseconds. */
static double
cpu_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double
least(double best, double since)
{
	double t = cpu_us() - since;

	return t < best ? t : best;
}

/* The files of /proc and /sys that the library keeps open, by their descriptors. */
static int
open_files(int fds[MAX_FILES])
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;
	int n = 0;

	while (dir != NULL && n < MAX_FILES && (e = readdir(dir)) != NULL) {
		char link[512], target[512];
		ssize_t len;

		(void)snprintf(link, sizeof(link), "/proc/self/fd/%s", e->d_name);
		len = readlink(link, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		if (strncmp(target, "/proc/", 6) != 0 && strncmp(target, "/sys/", 5) != 0)
			continue;
		if (strstr(target, "/fd") == NULL)
			fds[n++] = atoi(e->d_name);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return n;
}

static void
read_raw(const int *fds, int n)
{
	static char buf[1 << 20];

	for (int i = 0; i < n; i++) {
		off_t at = 0;
		ssize_t got;

		while ((got = pread(fds[i], buf, sizeof(buf), at)) > 0)
			at += got;
	}
}

static void
figure(const char *name, double ours, const char *what, double theirs, double goal)
{
	printf("%s\t%.0f us\t%s: %.0f us\t%.2f\tat most %.1f\t%s\n", name, ours, what, theirs,
	    ours / theirs, goal, ours <= goal * theirs ? "met" : "missed");
}

int
main(void)
{
	double opening = 1e9, update = 1e9, all = 1e9, raw = 1e9, since;
	int fds[MAX_FILES], nfiles;
	kstat_ctl_t *kc;
	size_t n = 0;

	for (int i = 0; i < RUNS; i++) {
		since = cpu_us();
		kc = kstat_open_roots(NULL, NULL);
		opening = least(opening, since);
		if (kc == NULL) {
			fprintf(stderr, "linux_source: %s\n", kstat_errmsg());
			return 1;
		}
		(void)kstat_close(kc);
	}
	kc = kstat_open_roots(NULL, NULL);
	for (int i = 0; kc != NULL && i < RUNS; i++) {
		since = cpu_us();
		if (kstat_chain_update(kc) < 0)
			return 1;
		update = least(update, since);
		since = cpu_us();
		n = 0;
		for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next, n++)
			(void)kstat_read(kc, ksp, NULL);
		for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next)
			(void)kstat_read(kc, ksp, NULL);
		all = least(all, since);
	}
	nfiles = open_files(fds);
	for (int i = 0; i < RUNS; i++) {
		since = cpu_us();
		read_raw(fds, nfiles);
		raw = least(raw, since);
	}
	fprintf(stderr, "linux_source: %zu kstats from %d files that stay open\n", n, nfiles);
	figure("live open", opening, "a millisecond", 1000, 0.5);
	figure("live update without change", update, "a millisecond", 1000, 0.2);
	/* The first of the two readings uses files that the update has read. */
	figure("live read of everything", all / 2, "pread of the same files", raw, 3);
	return kstat_close(kc) == 0 ? 0 : 1;
}
