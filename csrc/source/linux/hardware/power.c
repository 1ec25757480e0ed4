/*
 * power.c - what the machine does to save power and to stay cool: cpu:N:throttle, cpu:N:cstates, cpu:N:pstates and
 * thermal:N:cooling. A machine with many CPUs has thousands of files of these, so that they are optional.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "source/linux/devices.h"

#define CPUS "devices/system/cpu"
#define MOST_STATES 32 /* of a CPU: the kernel has at most 10 */

#define EVENTS(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define MILLISECONDS(stat, key, desc) \
	KS_OF_PER(stat, KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, KSTAT_DATA_UINT64, 1000, "ms", key, desc)

static const struct ks_field throttle_fields[] = {
	EVENTS("core_throttle_count", "thermal_throttle/core_throttle_count",
	    "times that the core was slowed down because it was too hot"),
	EVENTS("package_throttle_count", "thermal_throttle/package_throttle_count",
	    "times that the whole chip was slowed down because it was too hot"),
	EVENTS("core_power_limit_count", "thermal_throttle/core_power_limit_count",
	    "times that the core was slowed down because it took too much power"),
	EVENTS("package_power_limit_count", "thermal_throttle/package_power_limit_count",
	    "times that the whole chip was slowed down because it took too much power"),
	MILLISECONDS("core_throttle_time", "thermal_throttle/core_throttle_total_time_ms",
	    "time in which the core was slowed down"),
	MILLISECONDS("package_throttle_time", "thermal_throttle/package_throttle_total_time_ms",
	    "time in which the whole chip was slowed down"),
	KS_OF("core_id", KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT32, "", "topology/core_id", "the CPU's core"),
	KS_OF("chip_id", KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT32, "", "topology/physical_package_id",
	    "the CPU's chip"),
	KS_FIELD_END
};

#define KILOHERTZ(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_GAUGE, KSTAT2_NVMT_FREQ, KSTAT_DATA_UINT64, 1000, "kHz", "cpufreq/" key, desc)

static const struct ks_field frequency_fields[] = {
	KILOHERTZ("current", "scaling_cur_freq", "frequency that the CPU runs at, as the kernel sets it"),
	KILOHERTZ("min", "scaling_min_freq", "lowest frequency that the kernel may set"),
	KILOHERTZ("max", "scaling_max_freq", "highest frequency that the kernel may set"),
	KILOHERTZ("hardware_min", "cpuinfo_min_freq", "lowest frequency that the CPU can run at"),
	KILOHERTZ("hardware_max", "cpuinfo_max_freq", "highest frequency that the CPU can run at"),
	KS_TEXT_STATE_K("governor", "cpufreq/scaling_governor", "what chooses the frequency"),
	KS_TEXT_K("driver", "cpufreq/scaling_driver", "what sets the frequency"),
	KS_FIELD_END
};

static const struct ks_field cooling_fields[] = {
	KS_TEXT_K("type", "type", "what is cooled or slowed down: a fan, a processor"),
	KS_GAUGE_K("cur_state", KSTAT_DATA_UINT64, "cur_state", "how much it cools now, 0 is not at all"),
	KS_GAUGE_K("max_state", KSTAT_DATA_UINT64, "max_state", "how much it can cool at most"),
	KS_FIELD_END
};

/* --- idle states ---------------------------------------------------------------------------------- */

/* What the kernel has for each state; the statistic is the state's name, "_", and this. */
static const struct ks_field state_fields[] = {
	KS_OF_PER("time", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, KSTAT_DATA_UINT64, 1000000, "us", "time",
	    "time in this idle state"),
	EVENTS("usage", "usage", "times that this idle state was entered"),
	EVENTS("rejected", "rejected", "times that this idle state was refused"),
	EVENTS("above", "above", "times that a lighter idle state would have been better"),
	EVENTS("below", "below", "times that a deeper idle state would have been better"),
	KS_FIELD_END
};
KS_FIELDS_FIT(state_fields);

static const struct ks_meta *
cstates_meta(const char *stat)
{
	const char *last = strrchr(stat, '_');

	return last != NULL ? ks_field_meta(state_fields, last + 1) : NULL;
}

/* Adds one idle state; false if the CPU does not have it. */
static bool
add_state(const struct ks_dir *sys, const struct ks_device *cpu, unsigned number, struct ks_record *r)
{
	struct ks_texts texts = { NULL, 0, 0 };
	struct ks_values vals = { .have = 0 };
	char path[256], name[KSTAT_STRLEN], stat[2 * KSTAT_STRLEN];
	struct ks_dir dir;
	uint64_t absent = 0;

	(void)snprintf(path, sizeof(path), "%.200s/cpuidle/state%u", cpu->path, number);
	dir = ks_dir_below(sys, path);
	if (!ks_dir_exists(&dir))
		return false;
	if (ks_file_small(&dir, "name", name, sizeof(name)) <= 0)
		(void)snprintf(name, sizeof(name), "state%u", number);
	ks_attributes_read(&dir, state_fields, &absent, &vals, &texts);
	for (size_t i = 0; state_fields[i].meta.stat != NULL; i++) {
		(void)snprintf(stat, sizeof(stat), "%.20s_%s", name, state_fields[i].meta.stat);
		if ((vals.have >> i & 1) != 0)
			ks_named_u64(r, stat, vals.v[i].u);
	}
	return true;
}

static int
read_cstates(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_device *cpu = unit->extra;
	const struct ks_dir dir = ks_dir_below(&lx->root[KS_ROOT_SYS], cpu->path);
	unsigned i = 0;

	if (!ks_dir_exists(&dir))
		return ks_linux_gone(unit);
	while (i < MOST_STATES && add_state(&lx->root[KS_ROOT_SYS], cpu, i, r))
		i++;
	return 0;
}

/* --- frequencies ------------------------------------------------------------------------------------- */

static const struct ks_meta *
pstates_meta(const char *stat)
{
	static const struct ks_meta time = KS_META_PER("", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, 100, "1/100 s",
	    "time at this frequency, as the kernel set it");
	static const struct ks_meta transitions = KS_META_COUNTER("", "times that the frequency was changed");

	if (strcmp(stat, "transitions") == 0)
		return &transitions;
	return strstr(stat, "kHz") != NULL ? &time : NULL;
}

/* Each line of time_in_state is a frequency in kHz and a time in hundredths of a second. */
static int
read_pstates(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_device *cpu = unit->extra;
	const struct ks_dir dir = ks_dir_below(&lx->root[KS_ROOT_SYS], cpu->path);
	char path[128], stat[KSTAT_STRLEN];
	struct ks_text all, line;
	uint64_t v[2];

	if (!ks_dir_exists(&dir))
		return ks_linux_gone(unit);
	if (ks_file_u64(&dir, "cpufreq/stats/total_trans", v) == 0)
		ks_named_u64(r, "transitions", v[0]);
	(void)snprintf(path, sizeof(path), "%.64s/cpufreq/stats/time_in_state", cpu->path);
	if (ks_linux_try_once(lx, KS_ROOT_SYS, path) != 0)
		return 0;
	all = ks_text_of(lx->scratch.data, lx->scratch.len);
	while (ks_text_line(&all, &line)) {
		if (ks_text_numbers(&line, v, 2) != 2) {
			ks_linux_odd_line(lx, lx->im, &line);
			continue;
		}
		(void)snprintf(stat, sizeof(stat), "%llukHz", (unsigned long long)v[0]);
		ks_named_u64(r, stat, v[1]);
	}
	return 0;
}

static const struct ks_part parts[] = {
	KS_DEVICE_PART("cpu", "throttle", "misc", throttle_fields, KS_DEVICES(CPUS, "cpu",
	    .needs = "thermal_throttle", .alike = true)),
	KS_NAMED_PART("cpu", "cstates", "misc", .read = read_cstates, .meta = cstates_meta,
	    .devices = KS_DEVICES(CPUS, "cpu", .needs = "cpuidle/state0", .alike = true),
	    .from = "/sys/devices/system/cpu/cpu*/cpuidle", KS_NAMES("C1_time", "C1_usage", "C1_rejected",
	    "C1_above", "C1_below")),
	KS_NAMED_PART("cpu", "pstates", "misc", .read = read_pstates, .meta = pstates_meta,
	    .devices = KS_DEVICES(CPUS, "cpu", .needs = "cpufreq/stats/time_in_state", .alike = true),
	    .from = "/sys/devices/system/cpu/cpu*/cpufreq/stats", KS_NAMES("2400000kHz", "transitions")),
	KS_DEVICE_PART("cpu", "frequency", "misc", frequency_fields, KS_DEVICES(CPUS, "cpu",
	    .needs = "cpufreq", .alike = true)),
	KS_DEVICE_PART("thermal", "cooling", "sensor", cooling_fields, KS_DEVICES("class/thermal",
	    "cooling_device")),
};

KS_SUBSYSTEM(power, parts, .scan = ks_devices_scan, .on_events = true, .optional = "power");
