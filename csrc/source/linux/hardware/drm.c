/*
 * drm.c - GPUs from /sys/class/drm: drm:N:cardN, class gpu. Each driver (amdgpu, i915, xe) has files of its own;
 * sensors are in the directory of a hwmon device below the card. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "source/linux/devices.h"

enum { D_GPU_BUSY_PERCENT, D_MEM_BUSY_PERCENT, D_MEM_INFO_VRAM_TOTAL, D_MEM_INFO_VRAM_USED,
	D_MEM_INFO_VIS_VRAM_TOTAL, D_MEM_INFO_VIS_VRAM_USED, D_MEM_INFO_GTT_TOTAL, D_MEM_INFO_GTT_USED,
	D_MEM_INFO_VRAM_VENDOR, D_SCLK, D_MCLK, D_PCIE_REPLAY_COUNT, D_ACT, D_CUR, D_MIN, D_MAX, D_IDLE,
	D_THROTTLED, D_THROTTLED_PL1, D_THROTTLED_PL2, D_THROTTLED_PL4, D_THROTTLED_THERMAL,
	D_THROTTLED_PROCHOT, D_THROTTLED_RATL, D_THROTTLED_VR_THERMALERT, D_THROTTLED_VR_TDC, D_TEMP,
	D_TEMP_CRIT, D_POWER, D_POWER_LIMIT, D_ENERGY, D_FAN, D_ECC_UNCORRECTED, D_ECC_CORRECTED, D_LINK_SPEED,
	D_LINK_WIDTH, D_LINK_SPEED_MAX, D_LINK_WIDTH_MAX, D_POWER_STATE, D_UNIQUE_ID };

#define PERCENT(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_PCT, KSTAT_DATA_UINT32, "%", key, desc)
#define MHZ(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_GAUGE, KSTAT2_NVMT_FREQ, KSTAT_DATA_UINT64, 1000000, "MHz", key, desc)
#define MEASURE(stat, kind, type, per, unit, desc) \
	KS_FRACT(stat, KS_KIND_##kind, KSTAT2_NVMT_##type, KSTAT_DATA_UINT64, per, unit, desc)
#define LANES(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT32, "", key, desc)
#define REASON(name, desc) \
	KS_STATE_K("throttled_" name, "gt/gt0/throttle_reason_" name, "1 if the frequency is lowered because of " desc)

static const struct ks_field fields[] = {
	[D_GPU_BUSY_PERCENT] = PERCENT("gpu_busy_percent", "device/gpu_busy_percent",
	    "how busy the processor is"),
	[D_MEM_BUSY_PERCENT] = PERCENT("mem_busy_percent", "device/mem_busy_percent",
	    "how busy its memory is"),
	[D_MEM_INFO_VRAM_TOTAL] = KS_AMOUNT_K("mem_info_vram_total", "device/mem_info_vram_total",
	    "memory of its own"),
	[D_MEM_INFO_VRAM_USED] = KS_AMOUNT_K("mem_info_vram_used", "device/mem_info_vram_used",
	    "memory of its own that is in use"),
	[D_MEM_INFO_VIS_VRAM_TOTAL] = KS_AMOUNT_K("mem_info_vis_vram_total", "device/mem_info_vis_vram_total",
	    "memory of its own that CPUs can reach"),
	[D_MEM_INFO_VIS_VRAM_USED] = KS_AMOUNT_K("mem_info_vis_vram_used", "device/mem_info_vis_vram_used",
	    "memory of its own that CPUs can reach, in use"),
	[D_MEM_INFO_GTT_TOTAL] = KS_AMOUNT_K("mem_info_gtt_total", "device/mem_info_gtt_total",
	    "memory of the machine that it may use"),
	[D_MEM_INFO_GTT_USED] = KS_AMOUNT_K("mem_info_gtt_used", "device/mem_info_gtt_used",
	    "memory of the machine that it uses"),
	[D_MEM_INFO_VRAM_VENDOR] = KS_TEXT_K("mem_info_vram_vendor", "device/mem_info_vram_vendor",
	    "maker of the memory of the GPU"),
	[D_SCLK] = MHZ("sclk", "device/pp_dpm_sclk*", "frequency of the graphics engines of an AMD GPU"),
	[D_MCLK] = MHZ("mclk", "device/pp_dpm_mclk*", "frequency of the memory of an AMD GPU"),
	[D_PCIE_REPLAY_COUNT] = KS_COUNT_K("pcie_replay_count", KSTAT_DATA_UINT64, "device/pcie_replay_count",
	    "packets that were sent again over PCIe"),
	[D_ACT] = MHZ("gt_act_freq", "gt_act_freq_mhz",
	    "frequency at which an Intel GPU runs; 0 while it sleeps"),
	[D_CUR] = MHZ("gt_cur_freq", "gt_cur_freq_mhz", "frequency that the driver asked for"),
	[D_MIN] = MHZ("gt_min_freq", "gt_min_freq_mhz", "lowest frequency that is allowed"),
	[D_MAX] = MHZ("gt_max_freq", "gt_max_freq_mhz", "highest frequency that is allowed"),
	[D_IDLE] = KS_OF_PER("idle_msec", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, KSTAT_DATA_UINT64, 1000, "ms",
	    "gt/gt0/rc6_residency_ms", "time in which an Intel GPU slept (RC6) because it had no work"),
	[D_THROTTLED] = KS_STATE_K("throttled", "gt/gt0/throttle_reason_status",
	    "1 if the frequency of an Intel GPU is lowered"),
	[D_THROTTLED_PL1] = REASON("pl1", "the power of the last seconds (PL1)"),
	[D_THROTTLED_PL2] = REASON("pl2", "the power of the last moments (PL2)"),
	[D_THROTTLED_PL4] = REASON("pl4", "peaks of the power (PL4)"),
	[D_THROTTLED_THERMAL] = REASON("thermal", "the temperature"),
	[D_THROTTLED_PROCHOT] = REASON("prochot", "heat elsewhere in the package (PROCHOT)"),
	[D_THROTTLED_RATL] = REASON("ratl", "the average temperature (RATL)"),
	[D_THROTTLED_VR_THERMALERT] = REASON("vr_thermalert", "the temperature of the voltage regulator"),
	[D_THROTTLED_VR_TDC] = REASON("vr_tdc", "the current of the voltage regulator (TDC)"),
	[D_TEMP] = MEASURE("temp", GAUGE, TEMP_C, 1000, "1/1000 C", "temperature of the GPU"),
	[D_TEMP_CRIT] = MEASURE("temp_crit", GAUGE, TEMP_C, 1000, "1/1000 C",
	    "temperature that is critical for the GPU"),
	[D_POWER] = MEASURE("power", GAUGE, WATT, 1000000, "uW", "power that the GPU draws"),
	[D_POWER_LIMIT] = MEASURE("power_limit", GAUGE, WATT, 1000000, "uW",
	    "power above which its frequency is lowered"),
	[D_ENERGY] = MEASURE("energy", COUNTER, UNKNOWN, 1000000, "uJ", "energy that the GPU has used"),
	[D_FAN] = KS_UNITS("fan", KS_KIND_GAUGE, KSTAT2_NVMT_RPM, KSTAT_DATA_UINT64, "RPM",
	    "speed of the GPU's fan"),
	[D_ECC_UNCORRECTED] = KS_COUNT_K("ecc_uncorrected", KSTAT_DATA_UINT64, "device/ras/umc_err_count?ue:",
	    "errors of an AMD GPU's memory that could not be corrected"),
	[D_ECC_CORRECTED] = KS_COUNT_K("ecc_corrected", KSTAT_DATA_UINT64, "device/ras/umc_err_count?ce:",
	    "errors of an AMD GPU's memory that were corrected"),
	[D_LINK_SPEED] = KS_TEXT_STATE_K("link_speed", "device/current_link_speed",
	    "rate of each lane of the PCIe link"),
	[D_LINK_WIDTH] = LANES("link_width", "device/current_link_width", "lanes of the PCIe link in use"),
	[D_LINK_SPEED_MAX] = KS_TEXT_K("link_speed_max", "device/max_link_speed",
	    "highest rate of each lane of the PCIe link"),
	[D_LINK_WIDTH_MAX] = LANES("link_width_max", "device/max_link_width",
	    "most lanes that the PCIe link can have"),
	[D_POWER_STATE] = KS_TEXT_STATE_K("power_state", "device/power_state",
	    "state of its power supply: D0 is on"),
	[D_UNIQUE_ID] = KS_TEXT_K("unique_id", "device/unique_id", "identifier of the GPU"),
	KS_FIELD_END
};

#define XE "device/tile0/gt0/"
#define XE_REASON(name) XE "freq0/throttle/reason_" name

/* Files with a number that other drivers and versions have for some statistics. */
static const struct {
	const char *file; /* without a slash: in the directory of its sensors */
	uint8_t field;
} others[] = {
	{ XE "freq0/act_freq", D_ACT }, { XE "freq0/cur_freq", D_CUR }, { XE "freq0/min_freq", D_MIN },
	{ XE "freq0/max_freq", D_MAX }, { XE "gtidle/idle_residency_ms", D_IDLE },
	{ "power/rc6_residency_ms", D_IDLE }, { XE "freq0/throttle/status", D_THROTTLED },
	{ XE_REASON("pl1"), D_THROTTLED_PL1 }, { XE_REASON("pl2"), D_THROTTLED_PL2 },
	{ XE_REASON("pl4"), D_THROTTLED_PL4 }, { XE_REASON("thermal"), D_THROTTLED_THERMAL },
	{ XE_REASON("prochot"), D_THROTTLED_PROCHOT }, { XE_REASON("ratl"), D_THROTTLED_RATL },
	{ XE_REASON("vr_thermalert"), D_THROTTLED_VR_THERMALERT }, { XE_REASON("vr_tdc"), D_THROTTLED_VR_TDC },
	{ "temp1_input", D_TEMP }, { "temp2_input", D_TEMP }, /* xe has no first sensor */
	{ "temp1_crit", D_TEMP_CRIT }, { "temp2_crit", D_TEMP_CRIT }, { "power1_average", D_POWER },
	{ "power1_input", D_POWER }, { "power1_cap", D_POWER_LIMIT }, { "power1_max", D_POWER_LIMIT },
	{ "energy1_input", D_ENERGY }, { "fan1_input", D_FAN },
};

#define NOTHERS (sizeof(others) / sizeof(others[0]))

_Static_assert(NOTHERS <= 8 * sizeof(((struct ks_device *)0)->raw), "a file needs a bit");

/* The number of the hwmon device with the sensors of a card, plus 1; 0: it has none. */
static uint64_t
find_sensors(struct ks_linux *lx, const struct ks_dir *card)
{
	DIR *list = ks_dir_list(card, "device/hwmon");
	const struct dirent *e;
	uint64_t found = 0;

	while (list != NULL && found == 0 && (e = ks_linux_next_entry(lx, list)) != NULL) {
		if (strncmp(e->d_name, "hwmon", 5) == 0)
			found = strtoull(e->d_name + 5, NULL, 10) + 1;
	}
	if (list != NULL)
		(void)closedir(list);
	return found;
}

/*
 * Adds what is in the files of other drivers, and what the sensors say. Of the device, `more` is the number of the
 * latter, and `raw` has a bit for each file that is not there.
 */
static void
add_others(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	if (dev->more == 0)
		dev->more = find_sensors(lx, dir);
	for (size_t i = 0; i < NOTHERS; i++) {
		bool is_sensor = strchr(others[i].file, '/') == NULL;
		char path[64];
		uint64_t v;

		if ((vals->have >> others[i].field & 1) != 0 || (dev->raw >> i & 1) != 0 || (is_sensor && dev->more == 0))
			continue;
		if (is_sensor)
			(void)snprintf(path, sizeof(path), "device/hwmon/hwmon%llu/%s", (unsigned long long)dev->more - 1,
			    others[i].file);
		else
			(void)snprintf(path, sizeof(path), "%s", others[i].file);
		if (ks_file_u64(dir, path, &v) != 0)
			dev->raw |= (uint64_t)(errno == ENOENT && dir->kernel) << i;
		else if (others[i].field != D_POWER_LIMIT || v != 0) /* 0: there is no limit */
			ks_have(vals, others[i].field, v);
	}
}

static const struct ks_part parts[] = {
	/* Outputs such as card0-HDMI-A-1 are in the same directory; their devices are cards. */
	KS_DEVICE_PART("drm", "@", "gpu", fields, KS_DEVICES("class/drm", "card", .needs = "device/vendor",
	    .add = add_others), .since = "; throttled* 5.19"),
};

KS_SUBSYSTEM(drm, parts, .scan = ks_devices_scan, .on_events = true);
