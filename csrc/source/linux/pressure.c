/*
 * pressure.c - how much work waited for want of CPU, memory or I/O, from /proc/pressure:
 * pressure:0:cpu, io, memory and irq. SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "source/linux/linux.h"

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

/* Takes "some avg10=0.18 avg60=0.34 avg300=0.10 total=159886802"; false if it is something else. */
static bool
take_line(struct ks_text line, struct ks_values *vals)
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

static int
read_pressure(struct ks_linux *lx, struct ks_record *r, enum ks_image_id id)
{
	const struct ks_image *im = ks_linux_image(lx, id);
	struct ks_values vals = { .have = 0 };
	struct ks_text all, line;

	if (im == NULL)
		return -1;
	all = ks_text_of(im->data, im->len);
	while (ks_text_line(&all, &line)) {
		if (!take_line(line, &vals) && !ks_text_empty(&line))
			ks_linux_odd_line(lx, im, &line);
	}
	ks_fields_add(r, fields, &vals);
	return 0;
}

static int
read_cpu(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	(void)unit;
	return read_pressure(lx, r, KS_IMG_PSI_CPU);
}

static int
read_io(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	(void)unit;
	return read_pressure(lx, r, KS_IMG_PSI_IO);
}

static int
read_memory(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	(void)unit;
	return read_pressure(lx, r, KS_IMG_PSI_MEMORY);
}

static int
read_irq(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	(void)unit;
	return read_pressure(lx, r, KS_IMG_PSI_IRQ);
}

#define PRESSURE(name, read) \
	{ "pressure", name, "pressure", KSTAT_TYPE_NAMED, 0, fields, read, NULL }

static const struct ks_part parts[] = {
	PRESSURE("cpu", read_cpu),
	PRESSURE("io", read_io),
	PRESSURE("memory", read_memory),
	PRESSURE("irq", read_irq),
	{ .module = NULL },
};

static int
scan_pressure(struct ks_linux *lx, struct ks_units *units)
{
	static const char *const paths[] = { "pressure/cpu", "pressure/io", "pressure/memory",
		"pressure/irq" };
	struct ks_unit *unit;
	char text[16];
	bool fresh, probed = false;

	if (units->scanned)
		return 0;
	ks_units_begin(units);
	unit = ks_units_see(units, "pressure", 8, 0, &fresh);
	if (unit == NULL)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		if ((lx->wanted[KS_SUB_PRESSURE] >> i & 1) == 0)
			continue;
		/* Some kernels have the files though they do not keep the figures. */
		if (!probed && ks_file_small(&lx->root[KS_ROOT_PROC], paths[i], text, sizeof(text)) < 0 &&
		    errno == EOPNOTSUPP)
			break;
		probed = true;
		if (ks_linux_exists(lx, KS_ROOT_PROC, paths[i]))
			unit->parts |= (uint16_t)(1u << i);
	}
	return ks_units_end(units);
}

const struct ks_subsystem ks_linux_pressure = { parts, scan_pressure, NULL, NULL };
