/*
 * core_disk_own.c - for linux_machine_spec.lua: a chain that reads few of this machine's disks, which come
 * from files of their own, beside one that reads all of them, and /proc/diskstats itself. Prints
 * what is not so; a line "pending <TAB> why" where the machine has too few disks.
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define MANY 5       /* disks that are no longer few */
#define MAX_DISKS 64
#define TIMES 50

/* What only grows, in the units of the kstats. */
enum { READS, NREAD, WRITES, NWRITTEN, BUSY, TIMES_SUM, COUNTERS };

struct counters {
	uint64_t v[COUNTERS];
};

/* The line of a disk; false if there is none with all its columns. */
static bool
from_diskstats(const char *disk, struct counters *c)
{
	FILE *f = fopen("/proc/diskstats", "r");
	char line[512], name[128];
	uint64_t v[11];
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
		found = sscanf(line, "%*u %*u %127s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, name, &v[0], &v[1], &v[2],
		    &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9]) == 11 && strcmp(name, disk) == 0;
	}
	if (f != NULL)
		(void)fclose(f);
	if (found) {
		*c = (struct counters){ { [READS] = (uint32_t)v[0], [NREAD] = v[2] * 512,
		    [WRITES] = (uint32_t)v[4], [NWRITTEN] = v[6] * 512, [BUSY] = v[9] * 1000000,
		    [TIMES_SUM] = (v[3] + v[7]) * 1000000 } };
	}
	return found;
}

/* Reads an I/O kstat and checks what any reading of it has. */
static struct counters
from_kstat(kstat_ctl_t *kc, kstat_t *ksp)
{
	hrtime_t last = ksp->ks_snaptime;
	const kstat_io_t *io;

	CHECK(kstat_read(kc, ksp, NULL) >= 0);
	io = ksp->ks_data;
	if (io == NULL)
		return (struct counters){ { 0 } };
	CHECK(ksp->ks_snaptime > last && ksp->ks_snaptime <= gethrtime());
	CHECK(io->rlastupdate == ksp->ks_snaptime);
	return (struct counters){ { [READS] = io->reads, [NREAD] = io->nread, [WRITES] = io->writes,
	    [NWRITTEN] = io->nwritten, [BUSY] = (uint64_t)io->rtime,
	    [TIMES_SUM] = (uint64_t)io->rlentime } };
}

static bool
at_most(const struct counters *a, const struct counters *b)
{
	for (size_t i = 0; i < COUNTERS; i++) {
		if (a->v[i] > b->v[i])
			return false;
	}
	return true;
}

/* Descriptors on files /sys/.../DISK/stat; with a disk, only its own. The last one goes to *fd. */
static int
own_files(const char *disk, int *fd)
{
	DIR *dir = opendir("/proc/self/fd");
	char tail[128], to[512];
	struct dirent *e;
	int n = 0;

	(void)snprintf(tail, sizeof(tail), "%s%s/stat", disk != NULL ? "/" : "", disk != NULL ? disk : "");
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);

		if (len < (ssize_t)strlen(tail) || strncmp(to, "/sys/", 5) != 0)
			continue;
		to[len] = '\0';
		if (strcmp(to + len - strlen(tail), tail) != 0)
			continue;
		n++;
		if (fd != NULL)
			*fd = atoi(e->d_name);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return n;
}

/* --- disks ------------------------------------------------------------------------------- */

struct disks {
	kstat_t *k[MAX_DISKS];
	size_t n;
};

/* The disks and partitions of a chain, the busiest first, so that its figures are not all 0. */
static struct disks
disks_of(kstat_ctl_t *kc)
{
	struct disks d = { .n = 0 };
	struct counters most = { { 0 } }, c;

	for (kstat_t *k = kc->kc_chain; k != NULL && d.n < MAX_DISKS; k = k->ks_next) {
		if (k->ks_type != KSTAT_TYPE_IO ||
		    (strcmp(k->ks_class, "disk") != 0 && strcmp(k->ks_class, "partition") != 0) ||
		    !from_diskstats(k->ks_name, &c))
			continue;
		d.k[d.n] = k;
		if (c.v[READS] > most.v[READS]) {
			d.k[d.n] = d.k[0];
			d.k[0] = k;
			most = c;
		}
		d.n++;
	}
	return d;
}

/* Reads the first n disks, and checks each against diskstats before and after. */
static void
read_disks(kstat_ctl_t *kc, const struct disks *d, size_t n)
{
	struct counters before, now, after;

	for (size_t i = 0; i < n; i++) {
		bool there = from_diskstats(d->k[i]->ks_name, &before);
		hrtime_t then = gethrtime();

		now = from_kstat(kc, d->k[i]);
		there = there && from_diskstats(d->k[i]->ks_name, &after);
		CHECK(there && at_most(&now, &after));
		/* What this round has of the file is older for a disk that is not its first. */
		if (d->k[i]->ks_snaptime >= then)
			CHECK(at_most(&before, &now));
	}
}

/* Whether the files of the first n disks are open. */
static bool
has_own_files(const struct disks *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (own_files(d->k[i]->ks_name, NULL) != 1)
			return false;
	}
	return true;
}

/* --- what is so --------------------------------------------------------------------------- */

static void
one_disk_is_as_in_all(kstat_ctl_t *one, kstat_ctl_t *all)
{
	struct disks few = disks_of(one), every = disks_of(all);
	kstat_t *same = kstat_lookup(all, few.k[0]->ks_module, few.k[0]->ks_instance, few.k[0]->ks_name);
	struct counters last = { { 0 } }, own, whole;
	int fd = -1;

	CHECK(same != NULL);
	if (same == NULL)
		return;
	read_disks(one, &few, 1);
	CHECK(own_files(NULL, NULL) == 0); /* a single reading opens no further file */
	for (int i = 0; i < TIMES; i++) {
		own = from_kstat(one, few.k[0]);
		CHECK(at_most(&last, &own));
		read_disks(all, &every, every.n);
		whole = from_kstat(all, same);
		CHECK(at_most(&own, &whole));
		/* All but one again, so that every round of this chain reads many. */
		for (size_t k = 0; k < every.n; k++) {
			if (every.k[k] != same)
				(void)from_kstat(all, every.k[k]);
		}
		last = whole;
		if (i % 2 == 0)
			CHECK(kstat_chain_update(one) != -1);
		read_disks(one, &few, 1);
	}
	CHECK(own_files(NULL, NULL) == 1);
	CHECK(own_files(few.k[0]->ks_name, &fd) == 1);
	CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void
many_are_not_read_singly(kstat_ctl_t *kc)
{
	struct disks d = disks_of(kc);
	size_t few = (d.n - 1) / 2 < MANY ? (d.n - 1) / 2 : MANY - 1;

	for (int i = 0; i < 3; i++) {
		read_disks(kc, &d, few);
		read_disks(kc, &d, few);
		CHECK(has_own_files(&d, few));
		CHECK(i > 0 || own_files(NULL, NULL) == (int)few);
		/* The round in which there are more begins with few, whose files stay open. The others' are not opened. */
		read_disks(kc, &d, d.n);
		read_disks(kc, &d, d.n);
		CHECK(own_files(NULL, NULL) < MANY);
	}
}

/* Each of many disks may be the only one that is read. */
static void
turns_are_right(kstat_ctl_t *kc)
{
	struct disks d = disks_of(kc);

	for (int i = 0; i < 3; i++) {
		for (size_t k = 0; k < d.n; k++) {
			struct disks one = { .k = { d.k[k] }, .n = 1 };

			read_disks(kc, &one, 1);
			read_disks(kc, &one, 1);
			CHECK(own_files(NULL, NULL) <= (int)d.n);
		}
	}
	CHECK(own_files(NULL, NULL) > 0);
}

static void
detail_is_of_the_same_reading(kstat_ctl_t *kc)
{
	struct disks d = disks_of(kc);
	char name[KSTAT_STRLEN + 8];
	kstat_t *detail;

	(void)snprintf(name, sizeof(name), "%s,detail", d.k[0]->ks_name);
	detail = kstat_lookup(kc, d.k[0]->ks_module, d.k[0]->ks_instance, name);
	if (strcmp(d.k[0]->ks_class, "disk") != 0 || strlen(name) >= KSTAT_STRLEN)
		return;
	CHECK(detail != NULL);
	for (int i = 0; i < TIMES && detail != NULL; i++) {
		struct counters io = from_kstat(kc, d.k[0]);
		const kstat_named_t *reads, *nread;

		CHECK(kstat_read(kc, detail, NULL) >= 0);
		reads = kstat_data_lookup(detail, "reads");
		nread = kstat_data_lookup(detail, "nread");
		CHECK(reads != NULL && nread != NULL);
		if (reads == NULL || nread == NULL)
			return;
		/* Unless the machine stood still between them for longer than a reading lasts. */
		CHECK(detail->ks_snaptime >= d.k[0]->ks_snaptime);
		if (detail->ks_snaptime == d.k[0]->ks_snaptime)
			CHECK((uint32_t)reads->value.ui64 == io.v[READS] && nread->value.ui64 == io.v[NREAD]);
	}
}

/* What the descriptor stood for is gone: here, because it stands for something else. */
static void
diskstats_helps(kstat_ctl_t *kc)
{
	struct disks d = disks_of(kc);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd = -1;

	read_disks(kc, &d, 1);
	read_disks(kc, &d, 1);
	CHECK(own_files(d.k[0]->ks_name, &fd) == 1);
	CHECK(null >= 0 && dup3(null, fd, O_CLOEXEC) == fd);
	for (int i = 0; i < 3; i++)
		read_disks(kc, &d, 1);
	CHECK(own_files(NULL, NULL) == 0);
	(void)close(null);
}

int
main(void)
{
	static void (*const tests[])(kstat_ctl_t *) = { many_are_not_read_singly, turns_are_right,
		detail_is_of_the_same_reading, diskstats_helps };
	kstat_ctl_t *one = kstat_open(), *all = kstat_open();
	struct disks d;
	char path[128];

	if (one == NULL || all == NULL) {
		printf("cannot open: %s\n", kstat_errmsg());
		return 1;
	}
	d = disks_of(one);
	/* A name with a slash has none by that name, either. */
	(void)snprintf(path, sizeof(path), "/sys/class/block/%s/stat", d.n > 0 ? d.k[0]->ks_name : "");
	if (d.n < 3 || d.n >= MAX_DISKS || access(path, R_OK) != 0) {
		printf("pending\tneeds 3 to %d disks, and their files in /sys\n", MAX_DISKS - 1);
		return 0;
	}
	one_disk_is_as_in_all(one, all);
	CHECK(kstat_close(one) == 0);
	CHECK(kstat_close(all) == 0);
	CHECK(own_files(NULL, NULL) == 0);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		kstat_ctl_t *kc = kstat_open();

		CHECK(kc != NULL);
		if (kc == NULL)
			break;
		tests[i](kc);
		CHECK(kstat_close(kc) == 0);
		CHECK(own_files(NULL, NULL) == 0);
	}
	printf("%d of %d checks failed\n", failures, checks);
	return failures != 0;
}
