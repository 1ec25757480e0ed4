/*
 * recording.c - the size of a recording of a whole machine over a day, one sample every 10 s, and the
 * cost of a sample. The machine is invented: 64 CPUs, 60 disks, 20 links, 150 interrupts and others, 500
 * kstats with 8,000 values. About 1,500 of them change between two samples as counters and gauges do: by
 * random numbers around a rate; times change in steps of the kernel's clocks, bytes in blocks. An argument
 * names the file to which the recording goes.
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "chain/chain.h"
#include "chain/values.h"
#include "output/recorder.h"
#include "source/source.h"

#define SAMPLES 8640 /* a day at 10 s */
#define CPUS 64
#define DISKS 60
#define LINKS 20
#define INTRS 150
#define OTHERS 80
#define MOST_VALUES 64

enum group { CPU_STAT, CPU_SYS, CPU_INFO, DISK, LINK, INTR, OTHER, GROUPS };

static const struct {
	const char *module;
	int kstats, values, moving; /* number of kstats, values of each, and how many of these change */
	uchar_t type;
} groups[GROUPS] = {
	[CPU_STAT] = { "cpu_stat", CPUS, 50, 8, KSTAT_TYPE_NAMED },
	[CPU_SYS] = { "cpu", CPUS, 22, 7, KSTAT_TYPE_NAMED },
	[CPU_INFO] = { "cpu_info", CPUS, 16, 1, KSTAT_TYPE_NAMED },
	[DISK] = { "sd", DISKS, 12, 8, KSTAT_TYPE_IO },
	[LINK] = { "link", LINKS, 16, 6, KSTAT_TYPE_NAMED },
	[INTR] = { "intr", INTRS, 5, 1, KSTAT_TYPE_INTR },
	[OTHER] = { "other", OTHERS, 10, 3, KSTAT_TYPE_NAMED },
};

struct machine {
	struct ks_source base;
	int64_t step;
	uint64_t random;
	uint64_t value[GROUPS][INTRS][MOST_VALUES];
};

static double
uniform(struct machine *m)
{
	m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(m->random >> 11) * 0x1p-53;
}

/* Returns a number of events in an interval, with that mean and roughly Poisson's distribution. */
static uint64_t
events(struct machine *m, double mean)
{
	double n = 0;

	if (mean > 30) {
		n = mean + sqrt(mean) * sqrt(-2 * log(uniform(m) + 1e-12)) * cos(6.283185 * uniform(m));
	} else {
		for (double p = uniform(m); p > exp(-mean); p *= uniform(m))
			n++;
	}
	return n > 0 ? (uint64_t)n : 0;
}

static void
advance_disk(struct machine *m, uint64_t *v, int i)
{
	uint64_t reads = events(m, i % 2 == 0 ? 20.0 * (1 + i) : 0.05);
	uint64_t writes = events(m, i % 2 == 0 ? 30.0 * (1 + i) : 0.05);
	uint64_t busy = events(m, (double)(reads + writes) * 0.8);

	v[0] += reads * 4096 * (1 + events(m, 3));
	v[1] += writes * 4096 * (1 + events(m, 3));
	v[2] += reads;
	v[3] += writes;
	v[4] += busy * 1000000;
	v[5] += (busy + events(m, (double)busy)) * 1000000;
	v[6] = events(m, 0.5);
}

static void
advance(struct machine *m)
{
	for (int g = 0; g < GROUPS; g++) {
		for (int i = 0; i < groups[g].kstats; i++) {
			uint64_t *v = m->value[g][i];

			if (g == DISK) {
				advance_disk(m, v, i);
				continue;
			}
			for (int j = 0; j < groups[g].moving; j++) {
				if (g == INTR && i % 3 != 0)
					continue;
				if (g == CPU_INFO || (g == OTHER && j == 0))
					v[j] = 1000000 + events(m, 1000); /* a gauge */
				else if (g == CPU_SYS && j < 4)
					v[j] += 10000000 * events(m, 250.0 / (1 + j)); /* ns in ticks */
				else
					v[j] += events(m, 10.0 * pow(3, j % 6)); /* 1 to 243 a second */
			}
		}
	}
}

static int
machine_scan(struct ks_source *src, struct ks_scan *scan)
{
	(void)src;
	for (int g = 0; g < GROUPS; g++) {
		for (int i = 0; i < groups[g].kstats; i++) {
			char name[KSTAT_STRLEN];
			struct ks_offer offer = { .module = groups[g].module, .instance = i, .name = name,
				.class_ = "misc", .type = groups[g].type, .cookie = (uint64_t)(g * 1000 + i) };

			(void)snprintf(name, sizeof(name), "%s%d", groups[g].module, i);
			if (ks_scan_offer(scan, &offer) != 0)
				return -1;
		}
	}
	return 1;
}

static int
machine_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct machine *m = (struct machine *)src;
	int g = (int)(cookie / 1000);
	const uint64_t *v = m->value[g][cookie % 1000];

	(void)ksp;
	/* Kstats that are made of one file of the kernel have one snaptime. */
	r->snaptime = (m->step + 1) * 10 * KS_NANOSEC + g * 40000 + (hrtime_t)(m->random >> 40) % 100000;
	if (g == DISK) {
		kstat_io_t *io = ks_record_add(r, sizeof(*io));

		io->nread = v[0];
		io->nwritten = v[1];
		io->reads = (uint_t)v[2];
		io->writes = (uint_t)v[3];
		io->rtime = (hrtime_t)v[4];
		io->rlentime = (hrtime_t)v[5];
		io->rlastupdate = r->snaptime;
		io->rcnt = (uint_t)v[6];
	} else if (g == INTR) {
		kstat_intr_t *ki = ks_record_add(r, sizeof(*ki));

		ki->intrs[0] = (uint_t)v[0];
	} else {
		for (int j = 0; j < groups[g].values; j++) {
			char name[KSTAT_STRLEN];

			(void)snprintf(name, sizeof(name), "statistic_%d", j);
			ks_named_u64(r, name, v[j]);
		}
	}
	return 0;
}

static int
machine_advance(struct ks_source *src)
{
	((struct machine *)src)->step++;
	advance((struct machine *)src);
	return 1;
}

static int
machine_time_of_day(struct ks_source *src, int64_t *ns)
{
	*ns = (1700000000 + 10 * ((struct machine *)src)->step) * KS_NANOSEC;
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

static double
cpu_seconds(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Returns the bytes of one sample as text of `kstat -p`, which people would keep without recordings. */
static double
text_size(kstat_ctl_t *kc, size_t *kstats, size_t *values)
{
	struct ks_values v = { NULL, 0, 0 };
	double bytes = 0;

	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		if (kstat_read(kc, k, NULL) < 0 || ks_values_collect(&v, k, true) != 0)
			continue;
		(*kstats)++;
		*values += v.n - 3; /* without class and times */
		for (size_t i = 0; i < v.n; i++) {
			char number[KS_NUMBER_MAX];

			bytes += (double)(strlen(k->ks_module) + strlen(k->ks_name) +
			    strlen(v.pair[i].name) + 8 + ks_format_u64(number, v.pair[i].value.u64));
		}
	}
	ks_values_free(&v);
	return bytes;
}

int
main(int argc, char **argv)
{
	struct machine *m = calloc(1, sizeof(*m));
	char path[] = "/tmp/kstat-bench-XXXXXX";
	size_t kstats = 0, values = 0;
	struct ks_recorder *rec;
	kstat_ctl_t *kc;
	struct ks_rec_status status;
	double cpu = 0, mb, text;
	int fd;

	if (m == NULL || (fd = mkstemp(path)) < 0)
		return 1;
	(void)close(fd);
	m->base.ops = &machine_ops;
	m->random = 1;
	kc = ks_chain_open_source(&m->base, NULL);
	rec = ks_recorder_open(path);
	if (kc == NULL || rec == NULL) {
		(void)fprintf(stderr, "%s\n", kstat_errmsg());
		return 1;
	}
	for (int i = 0; i < SAMPLES; i++) {
		double before;

		if (ks_chain_step(kc) < 0)
			return 1;
		before = cpu_seconds();
		if (ks_recorder_add(rec, kc, NULL, 0) != 0) {
			(void)fprintf(stderr, "%s\n", kstat_errmsg());
			return 1;
		}
		cpu += cpu_seconds() - before;
	}
	ks_recorder_status(rec, &status);
	mb = (double)status.size / 1e6;
	text = text_size(kc, &kstats, &values) * SAMPLES / 1e6;
	printf("recording a day, %zu kstats, %zu values\t%.1f MB\tkstat -p text %.0f MB\t%.4f\t"
	    "<= 25 MB\t%s\n", kstats, values, mb, text, mb / text, mb <= 25 ? "met" : "missed");
	printf("recording a sample\t%.2f ms\tthe interval, 10 s\t%.6f\t<= 0.001\t%s\n",
	    1000 * cpu / SAMPLES, cpu / SAMPLES / 10, cpu / SAMPLES <= 0.01 ? "met" : "missed");
	ks_recorder_close(rec);
	(void)kstat_close(kc);
	if (argc > 1)
		(void)rename(path, argv[1]);
	(void)unlink(path);
	return 0;
}
