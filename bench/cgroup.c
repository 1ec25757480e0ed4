/*
 * cgroup.c - what 100,000 control groups cost: finding them, finding that none came or went, reading them, and the
 * memory for them, beside a program that walks over the same directories and reads the same files. The groups are
 * directories of a tmpfs with the files of version 2, which are links to one set of files. With a number as its
 * argument it makes that many groups. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kstat.h"

#define RUNS 3
#define CHANGES 100
#define SLICE "sys/fs/cgroup/system.slice"

static const struct {
	const char *name, *text;
} files[] = {
	{ "cpu.stat", "usage_usec 900\nuser_usec 600\nsystem_usec 300\nnice_usec 0\ncore_sched.force_idle_usec 0\n"
	    "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n" },
	{ "cpu.max", "max 100000\n" },
	{ "cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n" },
	{ "memory.current", "4096000\n" }, { "memory.peak", "8192000\n" }, { "memory.max", "max\n" },
	{ "memory.high", "max\n" }, { "memory.swap.current", "0\n" }, { "memory.swap.max", "max\n" },
	{ "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n" },
	{ "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n" },
	{ "io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n" },
	{ "io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n" },
	{ "irq.pressure", "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n" },
	{ "pids.current", "12\n" }, { "pids.max", "4915\n" }, { "pids.events", "max 0\n" },
};
#define NFILES (sizeof(files) / sizeof(files[0]))

static char root[64];
static long directories;

static void
check(bool is_true, const char *what)
{
	if (!is_true) {
		perror(what);
		exit(1);
	}
}

/* CPU time of this process in milliseconds. */
static double
cpu_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double
least(double best, double since)
{
	double t = cpu_ms() - since;

	return t < best ? t : best;
}

/* Current memory of this process in bytes. */
static double
memory(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident = 0;

	check(f != NULL && fscanf(f, "%ld %ld", &size, &resident) == 2, "statm");
	(void)fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void
clean_up(void)
{
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes a group with its files, which are links. */
static void
make_group(int top, const char *name)
{
	char path[128];

	check(mkdirat(top, name, 0700) == 0, name);
	for (size_t i = 0; i < NFILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, files[i].name);
		check(linkat(top, files[i].name, top, path, 0) == 0, path);
	}
}

/* Makes n groups below a slice; returns a descriptor of the slice. */
static int
make_tree(long n)
{
	static const char *const dirs[] = { "proc", "sys", "sys/fs", "sys/fs/cgroup", SLICE };
	char name[64];
	int top;

	(void)snprintf(root, sizeof(root), "/dev/shm/kstat-bench.XXXXXX");
	check(mkdtemp(root) != NULL && chdir(root) == 0, root);
	check(atexit(clean_up) == 0, "atexit");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		check(mkdir(dirs[i], 0700) == 0, dirs[i]);
	check(close(open("sys/fs/cgroup/cgroup.controllers", O_WRONLY | O_CREAT, 0600)) == 0, "cgroup.controllers");
	top = open(SLICE, O_RDONLY | O_DIRECTORY);
	check(top >= 0, SLICE);
	for (size_t i = 0; i < NFILES; i++) {
		int fd = openat(top, files[i].name, O_WRONLY | O_CREAT, 0600);

		check(fd >= 0 && write(fd, files[i].text, strlen(files[i].text)) > 0, files[i].name);
		(void)close(fd);
	}
	for (long i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "application-number-%06ld.service", i);
		make_group(top, name);
	}
	return top;
}

static int
count_directory(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)ftw;
	directories += kind == FTW_D;
	return 0;
}

static int
read_directory(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	char name[512], text[4096];

	(void)st;
	(void)ftw;
	for (size_t i = 0; kind == FTW_D && i < NFILES; i++) {
		int fd;

		(void)snprintf(name, sizeof(name), "%s/%s", path, files[i].name);
		fd = open(name, O_RDONLY);
		while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
			;
		if (fd >= 0)
			(void)close(fd);
	}
	return 0;
}

static void
figure(const char *name, double ours, const char *what, double theirs, double goal)
{
	printf("%s\t%.3g ms\t%s: %.3g ms\t%.3g\tat most %.3g\t%s\n", name, ours, what, theirs, ours / theirs, goal,
	    ours <= goal * theirs ? "met" : "missed");
}

/* Makes and removes groups, and returns the time of the update that finds this. */
static double
time_of_changes(kstat_ctl_t *kc, int top, int run)
{
	char name[64];
	double since;

	for (int i = 0; i < CHANGES; i++) {
		(void)snprintf(name, sizeof(name), "came-%d-%d.service", run, i);
		check(mkdirat(top, name, 0700) == 0, name);
		(void)snprintf(name, sizeof(name), "came-%d-%d.service", run - 1, i);
		(void)unlinkat(top, name, AT_REMOVEDIR);
	}
	since = cpu_ms();
	check(kstat_chain_update(kc) > 0, "update");
	return cpu_ms() - since;
}

/* Reads all kstats of groups; returns how many. */
static long
read_all(kstat_ctl_t *kc, const char *module)
{
	long n = 0;

	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		if (strcmp(k->ks_module, module) == 0)
			n += kstat_read(kc, k, NULL) >= 0;
	}
	return n;
}

int
main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100000, found = 0;
	double opening, watching, still = 1e9, changes = 1e9, all = 1e9, walk = 1e9, plain = 1e9, before, since;
	double thousands = (double)n / 1000;
	int top = make_tree(n);
	kstat_ctl_t *kc;

	for (int i = 0; i < RUNS; i++) {
		since = cpu_ms();
		(void)nftw("sys/fs/cgroup", count_directory, 64, FTW_PHYS);
		walk = least(walk, since);
		since = cpu_ms();
		(void)nftw("sys/fs/cgroup", read_directory, 64, FTW_PHYS);
		plain = least(plain, since);
	}
	before = memory();
	since = cpu_ms();
	kc = kstat_open_roots("proc", "sys");
	opening = cpu_ms() - since;
	check(kc != NULL, "kstat_open_roots");
	since = cpu_ms();
	check(kstat_chain_update(kc) >= 0, "update");
	watching = cpu_ms() - since;
	before = memory() - before;
	for (int i = 0; i < RUNS; i++) {
		since = cpu_ms();
		check(kstat_chain_update(kc) == 0, "nothing changed");
		still = least(still, since);
		since = cpu_ms();
		found = read_all(kc, "cgroup");
		all = least(all, since);
	}
	for (int i = 0; i < RUNS; i++) {
		since = time_of_changes(kc, top, i);
		changes = since < changes ? since : changes;
	}
	fprintf(stderr, "cgroup: %ld groups, %zu files each, %ld directories\n", found, NFILES, directories / RUNS);
	figure("cgroups, first look", opening, "nftw", walk, 1);
	figure("cgroups, look that starts to watch", watching, "nftw", walk, 1.5);
	figure("cgroups, look without change", still, "1 ms per thousand groups", thousands, 1);
	figure("cgroups, look after 200 changes", changes, "1 ms per thousand groups", thousands, 1);
	figure("cgroups, reading all files", all, "nftw, open, read, close", plain, 1);
	printf("cgroups, memory of one\t%.0f bytes\tlimit: 2048 bytes\t%.2f\tat most 1\t%s\n", before / (double)n,
	    before / (double)n / 2048, before <= 2048.0 * (double)n ? "met" : "missed");
	return kstat_close(kc) == 0 ? 0 : 1;
}
