/*
 * nvidia.c - GPUs of NVIDIA (module nvidia): nvidia:N:gpuN, and kstats of their own for what takes long to read. They
 * are there for those who name the module or the class, if the driver runs: /proc/driver/nvidia exists. Their figures
 * come from the driver's library (nvml.h). Threads ask it (ask.h), for all GPUs at the same time, so that a reading of
 * any number of GPUs that hang waits once, and those that are well are read.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/linux/ask.h"
#include "source/linux/devices.h"
#include "source/linux/hardware/nvml.h"

#define LOOK_AGAIN (10 * KS_NANOSEC) /* after which a library that could not be started is tried again */

enum { PART_GPU, PART_ENERGY, PART_VIOLATION, PART_PCIE, PART_NVLINK, PART_XID, PART_PROCESS, NPARTS };

#define DCGM(name) "DCGM_FI_" name
#define NUMBER(stat, type, unit, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_##type, KSTAT_DATA_UINT64, unit, key, desc)
#define PERCENT(stat, key, desc) NUMBER(stat, PCT, "%", key, desc)
#define EVENTS(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define MILLIWATT(stat, key, desc) \
	KS_OF_PER(stat, KS_KIND_GAUGE, KSTAT2_NVMT_WATT, KSTAT_DATA_UINT64, 1000, "mW", key, desc)
#define MHZ(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_GAUGE, KSTAT2_NVMT_FREQ, KSTAT_DATA_UINT64, 1000000, "MHz", key, desc)
#define NSEC_K(stat, key, desc) \
	{ KS_META_NSEC(stat, KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, desc), KSTAT_DATA_UINT64, key }

/* --- statistics ---------------------------------------------------------------------------------- */

enum { G_STATE, G_NAME, G_UUID, G_BUS, G_DRIVER, G_UTIL, G_MEMORY_UTIL, G_TOTAL, G_USED, G_RESERVED, G_TEMP, G_POWER,
	G_POWER_LIMIT, G_CLOCK, G_SM_CLOCK, G_MEMORY_CLOCK, G_VIDEO_CLOCK, G_CLOCK_MAX, G_SM_CLOCK_MAX,
	G_MEMORY_CLOCK_MAX, G_VIDEO_CLOCK_MAX, G_PSTATE, G_REASONS, G_THROTTLE, G_BY_POWER, G_BY_HEAT, G_CORRECTED,
	G_UNCORRECTED, G_CORRECTED_EVER, G_UNCORRECTED_EVER, G_ROWS_CORRECTED, G_ROWS_UNCORRECTED, G_ROWS_PENDING,
	G_ROWS_FAILED, G_PCIE_GEN, G_PCIE_WIDTH, G_PCIE_GEN_MAX, G_PCIE_WIDTH_MAX };

static const struct ks_field gpu_fields[] = {
	[G_STATE] = KS_TEXT_STATE("state", KSTAT_DATA_STRING, "\"ok\", or why there are no figures"),
	[G_NAME] = KS_TEXT_K("model", DCGM("DEV_NAME"), "what the GPU is called by its maker"),
	[G_UUID] = KS_TEXT_K("uuid", DCGM("DEV_UUID"), "identifier of the GPU that no other one has"),
	[G_BUS] = KS_TEXT_K("pci_bus_id", DCGM("DEV_PCI_BUSID"), "address of the GPU on the PCI bus"),
	[G_DRIVER] = KS_TEXT_K("driver_version", DCGM("DRIVER_VERSION"), "version of NVIDIA's driver"),
	[G_UTIL] = PERCENT("gpu_util", DCGM("DEV_GPU_UTIL"), "share of the last moments in which a kernel ran on the GPU"),
	[G_MEMORY_UTIL] = PERCENT("memory_util", DCGM("DEV_MEM_COPY_UTIL"),
	    "share of the last moments in which memory of the GPU was read or written"),
	[G_TOTAL] = KS_AMOUNT_K("memory_total", DCGM("DEV_FB_TOTAL"), "memory that the GPU has"),
	[G_USED] = KS_AMOUNT_K("memory_used", DCGM("DEV_FB_USED"),
	    "memory of the GPU that is allocated; with drivers before 510 also what is reserved"),
	[G_RESERVED] = KS_AMOUNT_K("memory_reserved", DCGM("DEV_FB_RESERVED"),
	    "memory of the GPU that the driver and the firmware keep for themselves"),
	[G_TEMP] = NUMBER("temp", TEMP_C, "C", DCGM("DEV_GPU_TEMP"), "temperature of the GPU's die"),
	[G_POWER] = MILLIWATT("power", DCGM("DEV_POWER_USAGE"), "power that the GPU and its memory draw"),
	[G_POWER_LIMIT] = MILLIWATT("power_limit", DCGM("DEV_ENFORCED_POWER_LIMIT"),
	    "power above which the driver lowers the clocks"),
	[G_CLOCK] = MHZ("clock_graphics", NULL, "clock of the graphics engines"),
	[G_SM_CLOCK] = MHZ("clock_sm", DCGM("DEV_SM_CLOCK"), "clock of the multiprocessors (SM)"),
	[G_MEMORY_CLOCK] = MHZ("clock_memory", DCGM("DEV_MEM_CLOCK"), "clock of the GPU's memory"),
	[G_VIDEO_CLOCK] = MHZ("clock_video", DCGM("DEV_VIDEO_CLOCK"), "clock of the video encoder and decoder"),
	[G_CLOCK_MAX] = MHZ("clock_graphics_max", NULL, "highest clock of the graphics engines"),
	[G_SM_CLOCK_MAX] = MHZ("clock_sm_max", DCGM("DEV_MAX_SM_CLOCK"), "highest clock of the multiprocessors"),
	[G_MEMORY_CLOCK_MAX] = MHZ("clock_memory_max", DCGM("DEV_MAX_MEM_CLOCK"), "highest clock of the GPU's memory"),
	[G_VIDEO_CLOCK_MAX] = MHZ("clock_video_max", DCGM("DEV_MAX_VIDEO_CLOCK"),
	    "highest clock of the video encoder and decoder"),
	[G_PSTATE] = NUMBER("pstate", STATE, "", DCGM("DEV_PSTATE"),
	    "performance state: 0 is the fastest, 15 the slowest"),
	[G_REASONS] = NUMBER("throttle_reasons", FLAGS, "", DCGM("DEV_CLOCK_THROTTLE_REASONS"),
	    "why the clocks are not at their highest, as NVML's bits"),
	[G_THROTTLE] = KS_TEXT_STATE("throttle", KSTAT_DATA_STRING,
	    "what keeps the clocks from their highest, in words with commas; \"none\" if nothing does"),
	[G_BY_POWER] = KS_STATE_K("throttled_power", NULL, "1 if the clocks are lowered because of the power drawn"),
	[G_BY_HEAT] = KS_STATE_K("throttled_heat", NULL, "1 if the clocks are lowered because of the temperature"),
	[G_CORRECTED] = EVENTS("ecc_corrected", DCGM("DEV_ECC_SBE_VOL_TOTAL"),
	    "memory errors corrected since the driver was loaded"),
	[G_UNCORRECTED] = EVENTS("ecc_uncorrected", DCGM("DEV_ECC_DBE_VOL_TOTAL"),
	    "memory errors that could not be corrected since the driver was loaded"),
	[G_CORRECTED_EVER] = EVENTS("ecc_corrected_ever", DCGM("DEV_ECC_SBE_AGG_TOTAL"),
	    "memory errors corrected in the life of the GPU"),
	[G_UNCORRECTED_EVER] = EVENTS("ecc_uncorrected_ever", DCGM("DEV_ECC_DBE_AGG_TOTAL"),
	    "memory errors that could not be corrected in the life of the GPU"),
	[G_ROWS_CORRECTED] = EVENTS("rows_remapped_corrected", DCGM("DEV_CORRECTABLE_REMAPPED_ROWS"),
	    "rows of memory replaced by spare ones because of corrected errors"),
	[G_ROWS_UNCORRECTED] = EVENTS("rows_remapped_uncorrected", DCGM("DEV_UNCORRECTABLE_REMAPPED_ROWS"),
	    "rows of memory replaced by spare ones because of errors that could not be corrected"),
	[G_ROWS_PENDING] = KS_STATE_K("rows_pending", DCGM("DEV_ROW_REMAP_PENDING"),
	    "1 if a row will be replaced when the GPU is reset"),
	[G_ROWS_FAILED] = KS_STATE_K("rows_failed", DCGM("DEV_ROW_REMAP_FAILURE"),
	    "1 if a row could not be replaced: there are no spare ones"),
	[G_PCIE_GEN] = NUMBER("pcie_generation", STATE, "", DCGM("DEV_PCIE_LINK_GEN"),
	    "generation at which the PCIe link runs; an idle GPU lowers it"),
	[G_PCIE_WIDTH] = NUMBER("pcie_width", CNT, "", DCGM("DEV_PCIE_LINK_WIDTH"), "lanes of the PCIe link in use"),
	[G_PCIE_GEN_MAX] = NUMBER("pcie_generation_max", STATE, "", DCGM("DEV_PCIE_MAX_LINK_GEN"),
	    "highest generation of PCIe that GPU and machine have in common"),
	[G_PCIE_WIDTH_MAX] = NUMBER("pcie_width_max", CNT, "", DCGM("DEV_PCIE_MAX_LINK_WIDTH"),
	    "most lanes of PCIe that GPU and machine have in common"),
	KS_FIELD_END
};

/* Parameters that are enumerations of the library. */
enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO };
enum { ECC_CORRECTED, ECC_UNCORRECTED };
enum { ECC_SINCE_START, ECC_EVER };
enum { POLICY_POWER, POLICY_THERMAL, POLICY_SYNC_BOOST, POLICY_BOARD, POLICY_LOW_USE, POLICY_RELIABILITY };
enum { FIELD_DATA_TX = 138, FIELD_DATA_RX };
enum { LINK_REPLAY, LINK_RECOVERY, LINK_CRC_FLIT, LINK_CRC_DATA };

static const struct ks_nvml_call gpu_calls[] = {
	{ "nvmlDeviceGetUtilizationRates", KS_NVML_PAIR, G_UTIL, 0, 0, 0 },
	{ "nvmlDeviceGetMemoryInfo_v2", KS_NVML_MEMORY_V2, G_TOTAL, 0, 0, 0 },
	{ "nvmlDeviceGetMemoryInfo", KS_NVML_MEMORY, G_TOTAL, 0, 0, 0 },
	{ "nvmlDeviceGetTemperature", KS_NVML_OF, G_TEMP, 0, 0, 0 },
	{ "nvmlDeviceGetPowerUsage", KS_NVML_ONE, G_POWER, 0, 0, 0 },
	{ "nvmlDeviceGetEnforcedPowerLimit", KS_NVML_ONE, G_POWER_LIMIT, 0, 0, 0 },
	{ "nvmlDeviceGetClockInfo", KS_NVML_OF, G_CLOCK, CLOCK_GRAPHICS, 0, 0 },
	{ "nvmlDeviceGetClockInfo", KS_NVML_OF, G_SM_CLOCK, CLOCK_SM, 0, 0 },
	{ "nvmlDeviceGetClockInfo", KS_NVML_OF, G_MEMORY_CLOCK, CLOCK_MEMORY, 0, 0 },
	{ "nvmlDeviceGetClockInfo", KS_NVML_OF, G_VIDEO_CLOCK, CLOCK_VIDEO, 0, 0 },
	/* A greatest clock takes 1 to 2 ms. */
	{ "nvmlDeviceGetMaxClockInfo", KS_NVML_OF, G_CLOCK_MAX, CLOCK_GRAPHICS, 0, 1 },
	{ "nvmlDeviceGetMaxClockInfo", KS_NVML_OF, G_SM_CLOCK_MAX, CLOCK_SM, 0, 2 },
	{ "nvmlDeviceGetMaxClockInfo", KS_NVML_OF, G_MEMORY_CLOCK_MAX, CLOCK_MEMORY, 0, 3 },
	{ "nvmlDeviceGetMaxClockInfo", KS_NVML_OF, G_VIDEO_CLOCK_MAX, CLOCK_VIDEO, 0, 4 },
	{ "nvmlDeviceGetPerformanceState", KS_NVML_ONE, G_PSTATE, 0, 0, 0 },
	{ "nvmlDeviceGetCurrentClocksEventReasons", KS_NVML_WIDE, G_REASONS, 0, 0, 0 },
	{ "nvmlDeviceGetCurrentClocksThrottleReasons", KS_NVML_WIDE, G_REASONS, 0, 0, 0 },
	{ "nvmlDeviceGetTotalEccErrors", KS_NVML_WIDE_OF, G_CORRECTED, ECC_CORRECTED, ECC_SINCE_START, 0 },
	{ "nvmlDeviceGetTotalEccErrors", KS_NVML_WIDE_OF, G_UNCORRECTED, ECC_UNCORRECTED, ECC_SINCE_START, 0 },
	{ "nvmlDeviceGetTotalEccErrors", KS_NVML_WIDE_OF, G_CORRECTED_EVER, ECC_CORRECTED, ECC_EVER, 0 },
	{ "nvmlDeviceGetTotalEccErrors", KS_NVML_WIDE_OF, G_UNCORRECTED_EVER, ECC_UNCORRECTED, ECC_EVER, 0 },
	{ "nvmlDeviceGetRemappedRows", KS_NVML_FOUR, G_ROWS_CORRECTED, 0, 0, 0 },
	{ "nvmlDeviceGetCurrPcieLinkGeneration", KS_NVML_ONE, G_PCIE_GEN, 0, 0, 0 },
	{ "nvmlDeviceGetCurrPcieLinkWidth", KS_NVML_ONE, G_PCIE_WIDTH, 0, 0, 0 },
	{ "nvmlDeviceGetMaxPcieLinkGeneration", KS_NVML_ONE, G_PCIE_GEN_MAX, 0, 0, 5 },
	{ "nvmlDeviceGetMaxPcieLinkWidth", KS_NVML_ONE, G_PCIE_WIDTH_MAX, 0, 0, 6 },
	{ NULL, 0, 0, 0, 0, 0 }
};

static const struct ks_field energy_fields[] = {
	KS_OF_PER("energy", KS_KIND_COUNTER, KSTAT2_NVMT_UNKNOWN, KSTAT_DATA_UINT64, 1000, "mJ",
	    DCGM("DEV_TOTAL_ENERGY_CONSUMPTION"), "energy that the GPU has used since the driver was loaded"),
	KS_FIELD_END
};

static const struct ks_nvml_call energy_calls[] = {
	{ "nvmlDeviceGetTotalEnergyConsumption", KS_NVML_WIDE, 0, 0, 0, 0 },
	{ NULL, 0, 0, 0, 0, 0 }
};

enum { V_POWER, V_HEAT, V_BOARD, V_RELIABILITY };

static const struct ks_field violation_fields[] = {
	[V_POWER] = NSEC_K("power_nsec", DCGM("DEV_POWER_VIOLATION"),
	    "time in which the clocks were lowered because of the power limit"),
	[V_HEAT] = NSEC_K("thermal_nsec", DCGM("DEV_THERMAL_VIOLATION"),
	    "time in which the clocks were lowered because of the temperature"),
	[V_BOARD] = NSEC_K("board_limit_nsec", DCGM("DEV_BOARD_LIMIT_VIOLATION"),
	    "time in which the clocks were lowered because of a limit of the board"),
	[V_RELIABILITY] = NSEC_K("reliability_nsec", DCGM("DEV_RELIABILITY_VIOLATION"),
	    "time in which the clocks were lowered for the sake of reliability"),
	KS_FIELD_END
};

static const struct ks_nvml_call violation_calls[] = {
	{ "nvmlDeviceGetViolationStatus", KS_NVML_VIOLATION, V_POWER, POLICY_POWER, 0, 0 },
	{ "nvmlDeviceGetViolationStatus", KS_NVML_VIOLATION, V_HEAT, POLICY_THERMAL, 0, 0 },
	{ "nvmlDeviceGetViolationStatus", KS_NVML_VIOLATION, V_BOARD, POLICY_BOARD, 0, 0 },
	{ "nvmlDeviceGetViolationStatus", KS_NVML_VIOLATION, V_RELIABILITY, POLICY_RELIABILITY, 0, 0 },
	{ NULL, 0, 0, 0, 0, 0 }
};

enum { E_SENT, E_RECEIVED, E_REPLAYS };

#define KBS(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1000, "KB/s", key, desc)

static const struct ks_field pcie_fields[] = {
	[E_SENT] = KBS("tx_rate", DCGM("DEV_PCIE_TX_THROUGHPUT"), "what the GPU sent over PCIe, measured for 20 ms"),
	[E_RECEIVED] = KBS("rx_rate", DCGM("DEV_PCIE_RX_THROUGHPUT"),
	    "what the GPU received over PCIe, measured for 20 ms"),
	[E_REPLAYS] = EVENTS("replays", DCGM("DEV_PCIE_REPLAY_COUNTER"), "packets that were sent again over PCIe"),
	KS_FIELD_END
};

static const struct ks_nvml_call pcie_calls[] = {
	{ "nvmlDeviceGetPcieThroughput", KS_NVML_OF, E_SENT, 0, 0, 0 },
	{ "nvmlDeviceGetPcieThroughput", KS_NVML_OF, E_RECEIVED, 1, 0, 0 },
	{ "nvmlDeviceGetPcieReplayCounter", KS_NVML_ONE, E_REPLAYS, 0, 0, 0 },
	{ NULL, 0, 0, 0, 0, 0 }
};

enum { N_LINKS, N_SENT, N_RECEIVED, N_REPLAYS, N_RECOVERIES, N_FLIT, N_DATA };

#define KIB(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_COUNTER, KSTAT2_NVMT_BYTES, KSTAT_DATA_UINT64, 1024, "KiB", key, desc)

static const struct ks_field nvlink_fields[] = {
	[N_LINKS] = KS_GAUGE_K("links", KSTAT_DATA_UINT64, NULL, "NVLinks of the GPU that are active"),
	[N_SENT] = KIB("tx", DCGM("PROF_NVLINK_TX_BYTES"), "data that the GPU sent over all NVLinks"),
	[N_RECEIVED] = KIB("rx", DCGM("PROF_NVLINK_RX_BYTES"), "data that the GPU received over all NVLinks"),
	[N_REPLAYS] = EVENTS("replay_errors", DCGM("DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"),
	    "times that something had to be sent again over an NVLink"),
	[N_RECOVERIES] = EVENTS("recovery_errors", DCGM("DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"),
	    "times that an NVLink had to recover"),
	[N_FLIT] = EVENTS("crc_flit_errors", DCGM("DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"),
	    "units of flow control with a wrong checksum that came over NVLinks"),
	[N_DATA] = EVENTS("crc_data_errors", DCGM("DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"),
	    "data with a wrong checksum that came over NVLinks"),
	KS_FIELD_END
};

static const struct ks_nvml_call nvlink_calls[] = {
	{ "nvmlDeviceGetNvLinkState", KS_NVML_LINKS, N_LINKS, 0, 0, 0 },
	{ "nvmlDeviceGetFieldValues", KS_NVML_FIELD, N_SENT, FIELD_DATA_TX, 0, 0 },
	{ "nvmlDeviceGetFieldValues", KS_NVML_FIELD, N_RECEIVED, FIELD_DATA_RX, 0, 0 },
	{ "nvmlDeviceGetNvLinkErrorCounter", KS_NVML_LINKS_OF, N_REPLAYS, LINK_REPLAY, 0, 0 },
	{ "nvmlDeviceGetNvLinkErrorCounter", KS_NVML_LINKS_OF, N_RECOVERIES, LINK_RECOVERY, 0, 0 },
	{ "nvmlDeviceGetNvLinkErrorCounter", KS_NVML_LINKS_OF, N_FLIT, LINK_CRC_FLIT, 0, 0 },
	{ "nvmlDeviceGetNvLinkErrorCounter", KS_NVML_LINKS_OF, N_DATA, LINK_CRC_DATA, 0, 0 },
	{ NULL, 0, 0, 0, 0, 0 }
};

enum { X_ERRORS, X_LAST };

static const struct ks_field xid_fields[] = {
	[X_ERRORS] = EVENTS("errors", NULL,
	    "XID errors of the GPU since this kstat was created, which is when the program began to listen for them"),
	[X_LAST] = NUMBER("last", ID, "", DCGM("DEV_XID_ERRORS"), "number of the last XID error; absent if there was none"),
	KS_FIELD_END
};

static const struct ks_nvml_call xid_calls[] = {
	{ "nvmlEventSetWait_v2", KS_NVML_XID, X_ERRORS, 0, 0, 0 },
	{ "nvmlEventSetWait", KS_NVML_XID, X_ERRORS, 0, 0, 0 },
	{ NULL, 0, 0, 0, 0, 0 }
};

enum { P_MEMORY, P_SM, P_MEMORY_UTIL, P_ENCODER, P_DECODER };

static const struct ks_field process_fields[] = {
	[P_MEMORY] = KS_AMOUNT("memory", "memory of the GPU that the process has allocated"),
	[P_SM] = PERCENT("sm_util", NULL, "share of the last second in which the multiprocessors worked for the process"),
	[P_MEMORY_UTIL] = PERCENT("mem_util", NULL, "share in which memory of the GPU was used for the process"),
	[P_ENCODER] = PERCENT("enc_util", NULL, "share in which the video encoder worked for the process"),
	[P_DECODER] = PERCENT("dec_util", NULL, "share in which the video decoder worked for the process"),
	KS_FIELD_END
};

static const struct ks_nvml_call *const calls_of[NPARTS] = { gpu_calls, energy_calls, violation_calls, pcie_calls,
	nvlink_calls, xid_calls };

/* --- questions ------------------------------------------------------------------------------------ */

struct state {
	hrtime_t tried;       /* when the library was started; 0: it was not tried yet */
	bool was_told;        /* the user knows why it cannot be started */
	bool has_list;        /* the GPUs are listed */
	bool has_processes;   /* somebody asks for the processes on a GPU, which come and go */
	struct {
		uint64_t round;
		hrtime_t asked;
	} part[NPARTS];       /* when all GPUs were asked last */
};

/* A question about a kind of statistics of a GPU, and its answer. */
struct reading {
	unsigned gpu, part;
	struct ks_values vals;
};

static int
ask_reading(void *data)
{
	struct reading *q = data;

	return ks_nvml_read(q->gpu, calls_of[q->part], &q->vals);
}

static int
ask_list(void *data)
{
	return ks_nvml_list(data);
}

static int
ask_start(void *data)
{
	ks_nvml_start(data);
	return 0;
}

static struct ks_question
question_of(unsigned gpu, unsigned part)
{
	if (part == PART_PROCESS)
		return (struct ks_question){ "kstat-nvml", ask_list, gpu, sizeof(struct ks_nvml_processes) };
	return (struct ks_question){ "kstat-nvml", ask_reading, (uint64_t)gpu << 8 | part, sizeof(struct reading) };
}

/* The number of the GPU that a unit is of: that of its name. */
static unsigned
gpu_of(const struct ks_unit *unit)
{
	return (unsigned)strtoul(unit->name + strlen("gpu"), NULL, 10);
}

/* Starts to ask all GPUs that are listed for a kind of statistics, once in a round. Returns when they were asked. */
static hrtime_t
ask_all(struct ks_linux *lx, unsigned part)
{
	struct state *s = lx->sub[KS_SUB_nvidia].state;
	const struct ks_units *units = &lx->sub[KS_SUB_nvidia].units;

	/* The answers for one GPU may be long in coming: then those for the others are as old. */
	if (s->part[part].round == lx->round && gethrtime() - s->part[part].asked < ks_ask_limit())
		return s->part[part].asked;
	s->part[part].round = lx->round;
	s->part[part].asked = gethrtime();
	for (uint32_t i = 0; i < units->n; i++) {
		struct reading data = { gpu_of(&units->v[i]), part, { .have = 0 } };
		const struct ks_question q = question_of(data.gpu, part);

		if (units->v[i].alive && (units->v[i].parts >> part & 1) != 0 && part != PART_PROCESS)
			ks_ask_start(&q, &data, s->part[part].asked);
	}
	return s->part[part].asked;
}

/* Notes how a question about a GPU ended, of which the user is warned. */
static int
note(struct ks_linux *lx, unsigned gpu, int err)
{
	char path[16];

	(void)snprintf(path, sizeof(path), "gpu%u", gpu);
	ks_linux_note_path(lx, KS_ROOT_GPU, path, err);
	return err;
}

/* --- reading --------------------------------------------------------------------------------------- */

static const struct {
	uint64_t bits;
	const char *name;
} reasons[] = {
	{ 0x1, "idle" }, { 0x2, "application clocks" }, { 0x4, "power cap" }, { 0x8, "hardware slowdown" },
	{ 0x10, "sync boost" }, { 0x20, "thermal" }, { 0x40, "hardware thermal" }, { 0x80, "power brake" },
	{ 0x100, "display clocks" },
};

#define BY_POWER (0x4 | 0x80)
#define BY_HEAT (0x20 | 0x40)

/* Explains the bits of the reasons for low clocks. */
static void
add_reasons(struct ks_values *vals, struct ks_texts *texts)
{
	uint64_t bits = vals->v[G_REASONS].u;
	char text[160] = "none";
	size_t n = 0;

	if ((vals->have >> G_REASONS & 1) == 0)
		return;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if ((bits & reasons[i].bits) != 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n > 0 ? ", " : "", reasons[i].name);
	}
	ks_have_copy(vals, G_THROTTLE, texts, ks_text_of(text, strlen(text)));
	ks_have(vals, G_BY_POWER, (bits & BY_POWER) != 0);
	ks_have(vals, G_BY_HEAT, (bits & BY_HEAT) != 0);
}

static void
add_facts(struct ks_values *vals, unsigned gpu, int err)
{
	const struct ks_nvml_gpu *g = ks_nvml_gpu(gpu);

	ks_have_text(vals, G_STATE, ks_linux_gpu_state(err));
	if (g->name[0] != '\0')
		ks_have_text(vals, G_NAME, g->name);
	if (g->uuid[0] != '\0')
		ks_have_text(vals, G_UUID, g->uuid);
	if (g->bus[0] != '\0')
		ks_have_text(vals, G_BUS, g->bus);
	if (*ks_nvml_driver() != '\0')
		ks_have_text(vals, G_DRIVER, ks_nvml_driver());
}

static const struct ks_part parts[NPARTS];

static int
read_gpu(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct reading data = { gpu_of(unit), (unsigned)(lx->part - parts), { .have = 0 } };
	const struct ks_question q = question_of(data.gpu, data.part);
	struct ks_texts texts = { lx->text, sizeof(lx->text), 0 };
	int err = note(lx, data.gpu, ks_ask_wait(&q, &data, ask_all(lx, data.part), &lx->taken));

	if (data.part == PART_GPU) {
		add_reasons(&data.vals, &texts);
		add_facts(&data.vals, data.gpu, err);
	}
	ks_fields_add(r, lx->part->fields, &data.vals);
	return 0;
}

static int
read_process(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_nvml_processes list = { .gpu = gpu_of(unit) };
	const struct ks_question q = question_of(list.gpu, PART_PROCESS);
	struct ks_values vals = { .have = 0 };
	unsigned i = 0;

	(void)note(lx, list.gpu, ks_ask_wait(&q, &list, ask_all(lx, PART_PROCESS), &lx->taken));
	while (i < list.n && list.v[i].pid != (unsigned)unit->instance)
		i++;
	if (i == list.n)
		return ks_linux_gone(unit);
	for (size_t k = P_MEMORY; k <= P_DECODER; k++) {
		const uint64_t all[] = { list.v[i].memory, list.v[i].sm_util, list.v[i].memory_util, list.v[i].encoder_util,
			list.v[i].decoder_util };

		if (all[k] != UINT64_MAX)
			ks_have(&vals, k, all[k]);
	}
	ks_fields_add(r, process_fields, &vals);
	return 0;
}

#define PART(fields_, name, class, from_, title_, ...) \
	KS_NAMED_PART("nvidia", name, class, .fields = KS_TABLE(fields_), .read = read_gpu, .keys = "DCGM", \
	    .from = from_, .title = "nvidia:" title_, __VA_ARGS__)

static const struct ks_part parts[NPARTS] = {
	[PART_GPU] = PART(gpu_fields, "@", "gpu", "libnvidia-ml.so.1", "N:gpuN", .named = false),
	[PART_ENERGY] = PART(energy_fields, "@,energy", "gpu_energy", "libnvidia-ml.so.1 in 3 ms", "N:gpuN,energy",
	    .named = true),
	[PART_VIOLATION] = PART(violation_fields, "@,violation", "gpu_violation", "libnvidia-ml.so.1 in 3 ms",
	    "N:gpuN,violation", .named = true),
	[PART_PCIE] = PART(pcie_fields, "@,pcie", "gpu_pcie", "libnvidia-ml.so.1 in 40 ms", "N:gpuN,pcie",
	    .named = true),
	[PART_NVLINK] = PART(nvlink_fields, "@,nvlink", "gpu_nvlink", "libnvidia-ml.so.1", "N:gpuN,nvlink",
	    .named = true),
	[PART_XID] = PART(xid_fields, "@,xid", "gpu_xid", "libnvidia-ml.so.1", "N:gpuN,xid", .named = true),
	[PART_PROCESS] = KS_NAMED_PART("nvidia", "@,process", "gpu_process", .fields = KS_TABLE(process_fields),
	    .read = read_process, .from = "libnvidia-ml.so.1 in 2 ms", .title = "nvidia:PID:gpuN,process",
	    .named = true),
};

/* --- scanning --------------------------------------------------------------------------------------- */

/* Those of the parts from `first` to `last` that somebody asks for of a GPU or a process on it. */
static uint16_t
asked_parts(const struct ks_linux *lx, unsigned first, unsigned last, const char *gpu, int instance)
{
	uint16_t asked = 0;

	for (unsigned i = first; i <= last; i++) {
		char name[KSTAT_STRLEN];

		(void)snprintf(name, sizeof(name), "%s%s", gpu, parts[i].name + 1);
		if ((lx->sub[KS_SUB_nvidia].wanted >> i & 1) != 0 &&
		    ks_scan_asks_for(lx->scan, "nvidia", parts[i].class_, instance, name))
			asked |= (uint16_t)(1u << i);
	}
	return asked;
}

/* Adds a unit that has some of the parts; none if these are none. Returns -1 without memory. */
static int
add_unit(struct ks_units *units, unsigned gpu, int instance, uint16_t has, hrtime_t crtime)
{
	char key[KS_UNIT_NAME];
	struct ks_unit *unit;
	bool is_new;
	int n = snprintf(key, sizeof(key), "gpu%u,%u,%d", gpu, has, instance);

	if (has == 0)
		return 0;
	unit = ks_units_see(units, key, (size_t)n, 0, &is_new);
	if (unit == NULL)
		return -1;
	if (is_new) {
		(void)snprintf(unit->name, sizeof(unit->name), "gpu%u", gpu);
		unit->instance = instance;
		unit->parts = has;
		unit->crtime = crtime;
	}
	return 0;
}

/* Adds the processes on a GPU. Returns -1 without memory. */
static int
add_processes(struct ks_linux *lx, struct ks_units *units, unsigned gpu)
{
	struct state *s = lx->sub[KS_SUB_nvidia].state;
	struct ks_nvml_processes list = { .gpu = gpu };
	const struct ks_question q = question_of(gpu, PART_PROCESS);
	char name[16];
	hrtime_t when;
	int rc = 0;

	(void)snprintf(name, sizeof(name), "gpu%u", gpu);
	if (asked_parts(lx, PART_PROCESS, PART_PROCESS, name, KS_ANY_INSTANCE) == 0)
		return 0;
	s->has_processes = true;
	(void)note(lx, gpu, ks_ask_wait(&q, &list, ask_all(lx, PART_PROCESS), &when));
	for (unsigned i = 0; i < list.n && rc == 0; i++) {
		int pid = (int)list.v[i].pid;

		rc = add_unit(units, gpu, pid, asked_parts(lx, PART_PROCESS, PART_PROCESS, name, pid), units->crtime);
	}
	return rc;
}

/* Adds a GPU. *watch becomes true if somebody asks for its XID errors. Returns -1 without memory. */
static int
add_gpu(struct ks_linux *lx, struct ks_units *units, unsigned gpu, bool *watch)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "gpu%u", gpu);
	*watch |= asked_parts(lx, PART_XID, PART_XID, name, (int)gpu) != 0;
	return add_unit(units, gpu, (int)gpu, asked_parts(lx, PART_GPU, PART_NVLINK, name, (int)gpu), 0);
}

/* Adds the kstat of a GPU's XID errors: it was created when the program began to listen. Returns -1 without memory. */
static int
add_xids(struct ks_linux *lx, struct ks_units *units, unsigned gpu, hrtime_t watched)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "gpu%u", gpu);
	return !ks_nvml_gpu(gpu)->is_watched ? 0 :
	    add_unit(units, gpu, (int)gpu, asked_parts(lx, PART_XID, PART_XID, name, (int)gpu), watched);
}

/* True if the driver runs. A recorded tree has no GPU unless a library was named that is to stand for it. */
static bool
has_driver(const struct ks_linux *lx)
{
	return (lx->root[KS_ROOT_PROC].kernel || ks_nvml_is_replaced()) &&
	    ks_linux_exists(lx, KS_ROOT_PROC, "driver/nvidia");
}

/*
 * Starts the library, or finds that it runs; watch: and has it note XID errors. The user is warned once if it cannot be
 * started.
 */
static struct ks_nvml_start
start(struct ks_linux *lx, struct state *s, bool watch)
{
	struct ks_nvml_start data = { .watch = watch };
	const struct ks_question q = { "kstat-nvml", ask_start, 0, sizeof(data) };
	hrtime_t when;
	int err = ks_ask_wait(&q, &data, s->tried = gethrtime(), &when);

	if (err != 0)
		(void)snprintf(data.why, sizeof(data.why), "the driver's library does not answer");
	if (data.why[0] != '\0' && !s->was_told)
		ks_scan_warn(lx->scan, "GPUs of NVIDIA are missing: %s", data.why);
	s->was_told = data.why[0] != '\0';
	s->has_list = data.why[0] == '\0';
	return data;
}

static int
scan_nvidia(struct ks_linux *lx, struct ks_units *units)
{
	struct state *s = lx->sub[KS_SUB_nvidia].state;
	struct ks_nvml_start found = { .n = 0 };
	bool watch = false;
	int rc = 0;

	if (units->scanned && (s->has_list ? !s->has_processes : gethrtime() - s->tried < LOOK_AGAIN))
		return 0;
	if (has_driver(lx))
		found = start(lx, s, false);
	ks_units_begin(units);
	for (unsigned i = 0; i < found.n && rc == 0; i++) {
		rc = add_gpu(lx, units, i, &watch);
		if (rc == 0)
			rc = add_processes(lx, units, i);
	}
	if (watch && found.watched == 0)
		found = start(lx, s, true);
	for (unsigned i = 0; watch && i < found.n && rc == 0; i++)
		rc = add_xids(lx, units, i, found.watched);
	return rc == 0 ? ks_units_end(units) : -1;
}

KS_SUBSYSTEM(nvidia, parts, .scan = scan_nvidia, .on_demand = true, .state_size = sizeof(struct state));
