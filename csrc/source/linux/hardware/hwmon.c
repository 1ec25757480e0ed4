/*
 * hwmon.c - sensors from /sys/class/hwmon: hwmon:N:CHIP, class sensor. A statistic is named as
 * in the kernel (temp1, fan2, in0), followed by _label, _max, _crit and so on; values are in
 * the kernel's units, which are in the metadata. SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/described.h"
#include "source/linux/devices.h"

#define MAX_SENSORS 512 /* of a chip: a limit for a directory that lies */

#define SENSOR(type, per, unit, desc) KS_META_PER("", KS_KIND_GAUGE, KSTAT2_NVMT_##type, per, unit, desc)

/* Kinds of sensors by the letters of their names. */
static const struct kind {
	const char *prefix;
	struct ks_meta meta;
} kinds[] = {
	{ "temp", SENSOR(TEMP_C, 1000, "1/1000 C", "temperature") },
	{ "fan", KS_META("", KS_KIND_GAUGE, KSTAT2_NVMT_RPM, "RPM", "speed of a fan") },
	{ "in", SENSOR(VOLT, 1000, "mV", "voltage") },
	{ "curr", SENSOR(CURR, 1000, "mA", "current") },
	{ "power", SENSOR(WATT, 1000000, "uW", "power") },
	{ "energy", KS_META_PER("", KS_KIND_COUNTER, KSTAT2_NVMT_UNKNOWN, 1000000, "uJ", "energy used") },
	{ "humidity", SENSOR(PCT, 1000, "1/1000 %", "relative humidity") },
	{ "freq", KS_META("", KS_KIND_GAUGE, KSTAT2_NVMT_FREQ, "Hz", "frequency") },
	{ "pwm", KS_META_PER("", KS_KIND_GAUGE, KSTAT2_NVMT_UNKNOWN, 255, "1/255",
	    "share of its full power that a fan gets") },
	{ "intrusion", KS_META("", KS_KIND_GAUGE, KSTAT2_NVMT_STATE, "", "1: the chassis was opened") },
};

/* What a file of a sensor holds, by the end of its name: the file of a fan's power has none. */
static const char *const amounts[] = { "", "_input", "_max", "_min", "_crit", "_lcrit", "_emergency", "_max_hyst",
	"_min_hyst", "_crit_hyst", "_lcrit_hyst", "_emergency_hyst", "_average", "_cap", "_highest", "_lowest",
	"_rated_max", "_rated_min", "_offset", "_target", "_tolerance", "_output", NULL };
static const char *const states[] = { "_fault", "_beep", "_enable", "_mode", "_manual", "_pulses", "_div", NULL };

static bool
ends_with(const char *s, size_t len, const char *const *ends)
{
	for (; *ends != NULL; ends++) {
		if (strlen(*ends) == len && strncmp(s, *ends, len) == 0)
			return true;
	}
	return false;
}

/* The kind of a name such as temp1_max, and where the part behind the number starts. */
static const struct kind *
kind_of(const char *name, const char **rest)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (strncmp(name, kinds[i].prefix, n) == 0 && isdigit((unsigned char)name[n])) {
			*rest = name + n + strspn(name + n, "0123456789");
			return &kinds[i];
		}
	}
	return NULL;
}

static const struct ks_meta *
sensor_meta(const char *stat)
{
	static const struct ks_meta label = KS_META_TEXT("", "what the sensor measures");
	static const struct ks_meta alarm = KS_META("", KS_KIND_GAUGE, KSTAT2_NVMT_STATE, "",
	    "1: a limit of the sensor is passed");
	static const struct ks_meta state = KS_META("", KS_KIND_GAUGE, KSTAT2_NVMT_STATE, "",
	    "how the sensor or the fan is set, or 1 for a fault, in the terms of its driver");
	static const char *const meanings[] = { ", as measured", ", as measured", ": upper limit", ": lower limit",
		": critical upper limit", ": critical lower limit", ": limit of an emergency",
		" at which the alarm of the upper limit ends", " at which the alarm of the lower limit ends",
		" at which the alarm of the critical upper limit ends",
		" at which the alarm of the critical lower limit ends", " at which the emergency ends",
		", on the average", ": limit that the chip keeps", ": the highest that was seen",
		": the lowest that was seen", ": upper limit by the data sheet", ": lower limit by the data sheet",
		": what is added to the measurement", ": what the chip aims at", ": deviation that is tolerated",
		": what the chip sets" };
	static const struct ks_meta chip = KS_META_TEXT("", "where the chip is: its bus and device");
	const char *rest;
	const struct kind *k = kind_of(stat, &rest);

	if (k == NULL)
		return strcmp(stat, "chip") == 0 ? &chip : NULL;
	if (strcmp(rest, "_label") == 0)
		return &label;
	if (ends_with(rest, strlen(rest), states))
		return &state;
	if (strstr(rest, "_alarm") != NULL)
		return &alarm;
	for (size_t i = 0; amounts[i] != NULL; i++) {
		if (strcmp(rest, amounts[i]) == 0)
			return ks_described_as(&k->meta, k->meta.desc, "", meanings[i]);
	}
	return &k->meta;
}

/* --- reading ------------------------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* The sensor files of a directory, sorted, so that temp2 comes before temp10. */
static size_t
list_files(struct ks_linux *lx, DIR *dir, char *names[MAX_SENSORS])
{
	const struct dirent *e;
	size_t n = 0;

	while (n < MAX_SENSORS && (e = ks_linux_next_entry(lx, dir)) != NULL) {
		const char *rest;

		if (kind_of(e->d_name, &rest) == NULL)
			continue;
		if (!ends_with(rest, strlen(rest), amounts) && !ends_with(rest, strlen(rest), states) &&
		    strcmp(rest, "_label") != 0 && strstr(rest, "_alarm") == NULL)
			continue;
		names[n] = strdup(e->d_name);
		if (names[n] == NULL) {
			lx->lack = ENOMEM;
			break;
		}
		n++;
	}
	qsort(names, n, sizeof(names[0]), by_name);
	return n;
}

static void
add_file(const struct ks_dir *dir, struct ks_record *r, const char *name)
{
	char text[128], stat[KSTAT_STRLEN];
	const char *p = text;
	size_t len = strlen(name);
	int64_t v;
	int n = ks_file_small(dir, name, text, sizeof(text));

	if (n < 0)
		return; /* a sensor that is off, or does not answer, has no value */
	if (len > 6 && strcmp(name + len - 6, "_input") == 0)
		len -= 6;
	ks_name_set(stat, sizeof(stat), name, len);
	if (len > 6 && strcmp(name + len - 6, "_label") == 0)
		ks_named_string(r, stat, text, (size_t)n);
	else if (ks_scan_i64(&p, text + n, &v) == 0)
		ks_named_i64(r, stat, v);
}

/* Adds the sensors of a directory. Returns how many files it has for them, or -1 with errno. */
static int
add_sensors(struct ks_linux *lx, const char *path, struct ks_record *r)
{
	const struct ks_dir *sys = &lx->root[KS_ROOT_SYS];
	DIR *list = ks_dir_list(sys, path);
	char *names[MAX_SENSORS];
	struct ks_dir dir;
	size_t n;

	if (list == NULL)
		return -1;
	dir = (struct ks_dir){ .fd = dirfd(list), .kernel = sys->kernel, .lack = sys->lack };
	n = list_files(lx, list, names);
	for (size_t i = 0; i < n; i++) {
		add_file(&dir, r, names[i]);
		free(names[i]);
	}
	(void)closedir(list);
	return (int)n;
}

/* Appends a name in small letters; every run of other bytes than letters and digits is one '_', but none at its ends. */
static void
add_clean(struct ks_buf *b, const char *name)
{
	size_t start = b->len;

	for (; *name != '\0'; name++) {
		char c = (char)tolower((unsigned char)*name);
		bool is_plain = isalnum((unsigned char)c) || c == ':';

		if (is_plain || b->len > start)
			ks_buf_addc(b, is_plain ? c : '_');
	}
	while (b->len > start && b->data[b->len - 1] == '_')
		b->len--;
}

/*
 * Adds the text `chip`: the bus and the device of the chip, which stay, or else its name or its directory. 0, or -1
 * with errno ENOMEM.
 */
static int
add_place(struct ks_linux *lx, const struct ks_unit *unit, const char *path, struct ks_record *r)
{
	char link[PATH_MAX], device[PATH_MAX], *name, *bus = NULL;
	struct ks_buf b = { .data = NULL };
	bool failed;

	(void)snprintf(link, sizeof(link), "%s/%s/device", lx->root[KS_ROOT_SYS].name, path);
	if (realpath(link, device) == NULL || (name = strrchr(device, '/')) == NULL) {
		(void)snprintf(device, sizeof(device), "%s", unit->name);
		name = device;
	} else {
		*name++ = '\0';
		bus = strrchr(device, '/');
	}
	if (bus != NULL) {
		add_clean(&b, bus + 1);
		ks_buf_addc(&b, '_');
	}
	add_clean(&b, name);
	if (!b.failed && b.len > 0)
		ks_named_string(r, "chip", b.data, b.len);
	failed = b.failed;
	ks_buf_free(&b);
	return failed ? ks_fail(ENOMEM, "out of memory") : 0;
}

static int
read_chip(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_device *dev = unit->extra;
	char path[256];
	int n = add_sensors(lx, dev->path, r);

	ks_linux_note_path(lx, KS_ROOT_SYS, dev->path, n < 0 ? errno : 0);
	if (n < 0)
		return ks_linux_gone(unit);
	/* Older drivers have their sensors beside the device itself. */
	(void)snprintf(path, sizeof(path), "%.200s/device", dev->path);
	if (n == 0)
		(void)add_sensors(lx, path, r);
	return add_place(lx, unit, dev->path, r);
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("hwmon", "@", "sensor", .read = read_chip, .meta = sensor_meta,
	    .devices = KS_DEVICES("class/hwmon", "hwmon", .label = "name"),
	    KS_NAMES("temp1", "temp1_max", "temp1_min", "temp1_crit", "temp1_max_hyst", "temp1_alarm", "temp1_fault",
	    "temp1_label", "fan1", "fan1_min", "fan1_target", "in0", "curr1", "power1", "power1_average", "power1_cap",
	    "energy1", "humidity1", "freq1", "pwm1", "chip")),
};

KS_SUBSYSTEM(hwmon, parts, .scan = ks_devices_scan, .on_events = true);
