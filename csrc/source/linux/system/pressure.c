/*
 * pressure.c - how much work waited for want of CPU, memory or I/O, from /proc/pressure:
 * pressure:0:cpu, io, memory and irq. SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "source/linux/system/uptime.h"

static const struct ks_file cpu_file = { KS_ROOT_PROC, "pressure/cpu", KS_MADE_WHOLE, false };
static const struct ks_file io_file = { KS_ROOT_PROC, "pressure/io", KS_MADE_WHOLE, false };
static const struct ks_file memory_file = { KS_ROOT_PROC, "pressure/memory", KS_MADE_WHOLE, false };
static const struct ks_file irq_file = { KS_ROOT_PROC, "pressure/irq", KS_MADE_WHOLE, false };

enum { P_SOME10, P_SOME60, P_SOME300, P_SOME, P_FULL10, P_FULL60, P_FULL300, P_FULL };

#define AVERAGE(stat, desc) \
	KS_FRACT(stat, KS_KIND_GAUGE, KSTAT2_NVMT_PCT, KSTAT_DATA_UINT32, 100, "1/100 %", desc)

static const struct ks_field fields[] = {
	[P_SOME10] = AVERAGE("some_avg10", "share of the last 10 s in which some work waited"),
	[P_SOME60] = AVERAGE("some_avg60", "share of the last minute in which some work waited"),
	[P_SOME300] = AVERAGE("some_avg300", "share of the last 5 minutes in which some work waited"),
	[P_SOME] = KS_NSEC("some_nsec", "time in which some work waited"),
	[P_FULL10] = AVERAGE("full_avg10", "share of the last 10 s in which all work waited"),
	[P_FULL60] = AVERAGE("full_avg60", "share of the last minute in which all work waited"),
	[P_FULL300] = AVERAGE("full_avg300", "share of the last 5 minutes in which all work waited"),
	[P_FULL] = KS_NSEC("full_nsec", "time in which all work waited"),
	KS_FIELD_END
};

/* Parses "some avg10=0.18 avg60=0.34 avg300=0.10 total=159886802"; false if it is something else. */
static bool
parse_line(struct ks_text line, struct ks_values *vals)
{
	static const char *const names[] = { "avg10=", "avg60=", "avg300=", "total=" };
	struct ks_text word;
	size_t base;
	uint64_t v;

	if (!ks_text_word(&line, &word))
		return false;
	if (ks_text_is(&word, "some"))
		base = P_SOME10;
	else if (ks_text_is(&word, "full"))
		base = P_FULL10;
	else
		return false;
	while (ks_text_word(&line, &word)) {
		for (size_t i = 0; i < 4; i++) {
			struct ks_text number = word;

			if (!ks_text_starts(&word, names[i]))
				continue;
			number.p += strlen(names[i]);
			/* Microseconds become nanoseconds. */
			if (i < 3 ? ks_text_fixed(&number, 2, &v) : ks_text_u64(&number, &v))
				ks_have(vals, base + i, i < 3 ? v : v * 1000);
		}
	}
	return true;
}

static void
collect_pressure(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	struct ks_text line;

	while (ks_text_line(&all, &line)) {
		if (!parse_line(line, vals) && !ks_text_empty(&line))
			ks_linux_odd_line(lx, lx->im, &line);
	}
}

bool
ks_pressure_cpu_us(struct ks_linux *lx, uint64_t *us)
{
	const struct ks_image *im = ks_linux_try(lx, &cpu_file);
	struct ks_text all = im != NULL ? ks_text_of(im->data, im->len) : ks_text_of("", 0), line;
	struct ks_values vals = { .have = 0 };

	if (!ks_text_line(&all, &line) || !parse_line(line, &vals) || (vals.have >> P_SOME & 1) == 0)
		return false;
	*us = vals.v[P_SOME].u / 1000;
	return true;
}

#define PRESSURE(name, file_, ...) \
	KS_NAMED_PART("pressure", name, "pressure", .fields = KS_TABLE(fields), .collect = collect_pressure, \
	    .file = (file_), .since = __VA_ARGS__)

static const struct ks_part parts[] = {
	PRESSURE("cpu", &cpu_file, "4.20; full_* 5.13"),
	PRESSURE("io", &io_file, "4.20"),
	PRESSURE("memory", &memory_file, "4.20"),
	PRESSURE("irq", &irq_file, "6.1"),
};

static int
scan_pressure(struct ks_linux *lx, struct ks_units *units)
{
	int first = __builtin_ffs(lx->sub[KS_SUB_pressure].wanted) - 1;
	char text[16];

	/* Some kernels have the files though they do not keep the figures. */
	if (!units->scanned && first >= 0 && ks_file_small(&lx->root[KS_ROOT_PROC], parts[first].file->path,
	    text, sizeof(text)) < 0 && errno == EOPNOTSUPP) {
		ks_units_begin(units);
		return ks_units_end(units);
	}
	return ks_linux_scan_files(lx, KS_SUB_pressure);
}

KS_SUBSYSTEM(pressure, parts, .scan = scan_pressure);
