/*
 * hardware.c - tables of the machine's devices beside CPUs, disks and links: thermal zones, supplies and batteries,
 * energy (RAPL), memory controllers (EDAC), InfiniBand, Fibre Channel, watchdogs, NVMe controllers.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/devices.h"

#define EVENTS(stat, key, desc) KS_COUNT_K(stat, KSTAT_DATA_UINT64, key, desc)
#define GAUGE(stat, key, desc) KS_GAUGE_K(stat, KSTAT_DATA_UINT64, key, desc)
#define MEASURE(stat, type, data, per, unit, key, desc) \
	KS_OF_PER(stat, KS_KIND_GAUGE, KSTAT2_NVMT_##type, KSTAT_DATA_##data, per, unit, key, desc)
#define PERCENT(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_PCT, KSTAT_DATA_UINT32, "%", key, desc)
#define SECONDS(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_UINT64, "s", key, desc)

/* --- thermal zones ------------------------------------------------------------------------ */

#define MILLIDEGREES(stat, key, desc) MEASURE(stat, TEMP_C, INT64, 1000, "1/1000 C", key, desc)

static const struct ks_field thermal_fields[] = {
	MILLIDEGREES("temp", "temp", "temperature of the zone"),
	MILLIDEGREES("trip_point_0", "trip_point_0_temp", "temperature at which the first measure is taken"),
	KS_TEXT_K("trip_point_0_type", "trip_point_0_type",
	    "what the first measure is: active, passive, hot, critical"),
	MILLIDEGREES("trip_point_1", "trip_point_1_temp", "temperature at which the second measure is taken"),
	KS_TEXT_K("trip_point_1_type", "trip_point_1_type", "what the second measure is"),
	KS_TEXT_STATE_K("policy", "policy", "the governor that chooses the measures"),
	KS_TEXT_STATE_K("mode", "mode", "enabled if the kernel acts on the temperature"),
	KS_FIELD_END
};

/* --- supplies and batteries ------------------------------------------------------------------- */

#define MICRO(stat, type, unit, desc) MEASURE(stat, type, INT64, 1000000, unit, stat, desc)

static const struct ks_field supply_fields[] = {
	KS_TEXT_K("type", "type", "kind of supply: Mains, Battery, UPS, USB"),
	KS_TEXT_STATE_K("status", "status", "Charging, Discharging, Not charging or Full"),
	KS_STATE_K("online", "online", "1 if the supply delivers power, 0 if not"),
	KS_STATE_K("present", "present", "1 if the battery is in its place"),
	PERCENT("capacity", "capacity", "charge of the battery, as it says itself"),
	KS_TEXT_STATE_K("capacity_level", "capacity_level", "charge of the battery in a word"),
	KS_TEXT_STATE_K("health", "health", "condition of the battery in a word"),
	EVENTS("cycle_count", "cycle_count", "times that the battery was charged and used up"),
	MICRO("voltage_now", VOLT, "uV", "voltage of the supply"),
	MICRO("voltage_min_design", VOLT, "uV", "lowest voltage that the battery is made for"),
	MICRO("voltage_max_design", VOLT, "uV", "highest voltage that the battery is made for"),
	MICRO("current_now", CURR, "uA", "current of the supply"),
	MICRO("current_max", CURR, "uA", "highest current that the supply delivers"),
	MICRO("power_now", WATT, "uW", "power drawn from the battery, or charged into it"),
	MICRO("energy_now", UNKNOWN, "uWh", "energy in the battery"),
	MICRO("energy_full", UNKNOWN, "uWh", "energy in the battery when it is full"),
	MICRO("energy_full_design", UNKNOWN, "uWh", "energy in the battery when it was new and full"),
	MICRO("charge_now", UNKNOWN, "uAh", "charge of the battery"),
	MICRO("charge_full", UNKNOWN, "uAh", "charge of the battery when it is full"),
	MICRO("charge_full_design", UNKNOWN, "uAh", "charge of the battery when it was new and full"),
	PERCENT("charge_start_threshold", "charge_control_start_threshold", "charge at which charging starts"),
	PERCENT("charge_stop_threshold", "charge_control_end_threshold", "charge at which charging stops"),
	MEASURE("temp", TEMP_C, INT64, 10, "1/10 C", "temp", "temperature of the battery"),
	SECONDS("time_to_empty", "time_to_empty_now", "time until the battery is empty"),
	SECONDS("time_to_full", "time_to_full_now", "time until the battery is full"),
	KS_TEXT_K("technology", "technology", "chemistry of the battery"),
	KS_TEXT_K("manufacturer", "manufacturer", "who made the supply"),
	KS_TEXT_K("model_name", "model_name", "model of the supply"),
	KS_TEXT_K("serial_number", "serial_number", "serial number of the supply"),
	KS_FIELD_END
};

/* --- energy ------------------------------------------------------------------------------------ */

enum { RAPL_ENERGY, RAPL_RANGE };

static const struct ks_field rapl_fields[] = {
	[RAPL_ENERGY] = KS_OF_PER("energy", KS_KIND_COUNTER, KSTAT2_NVMT_UNKNOWN, KSTAT_DATA_UINT64, 1000000, "uJ",
	    "energy_uj", "energy used; only root may read it"),
	[RAPL_RANGE] = KS_OF_PER("max_energy_range", KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, KSTAT_DATA_UINT64, 1000000,
	    "uJ", "max_energy_range_uj", "energy at which the machine's own counter starts again"),
	MEASURE("power_limit_long", WATT, UINT64, 1000000, "uW", "constraint_0_power_limit_uw",
	    "power that may be used for long"),
	MEASURE("power_limit_short", WATT, UINT64, 1000000, "uW", "constraint_1_power_limit_uw",
	    "power that may be used for a moment"),
	KS_STATE_K("enabled", "enabled", "1 if the limits are enforced"),
	KS_TEXT_K("path", "/", "directory of the counter"),
	KS_FIELD_END
};

/* The counter starts again after less than an hour under load: it is continued. */
static void
continue_energy(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	uint64_t now = vals->v[RAPL_ENERGY].u;

	(void)lx;
	(void)dir;
	if ((vals->have >> RAPL_ENERGY & 1) == 0)
		return;
	if (now < dev->raw)
		dev->more += (vals->have >> RAPL_RANGE & 1) != 0 && vals->v[RAPL_RANGE].u >= dev->raw ?
		    vals->v[RAPL_RANGE].u : dev->raw - now;
	dev->raw = now;
	vals->v[RAPL_ENERGY].u = now + dev->more;
}

/* --- memory controllers -------------------------------------------------------------------------- */

static const struct ks_field controller_fields[] = {
	EVENTS("ce_count", "ce_count", "memory errors that were corrected"),
	EVENTS("ue_count", "ue_count", "memory errors that could not be corrected"),
	EVENTS("ce_noinfo_count", "ce_noinfo_count", "errors corrected in an unknown place"),
	EVENTS("ue_noinfo_count", "ue_noinfo_count", "errors not corrected in an unknown place"),
	KS_OF_TIMES("size", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1048576, "MiB", "size_mb",
	    "memory that the controller manages"),
	SECONDS("seconds_since_reset", "seconds_since_reset", "time since the counts were set to 0"),
	KS_TEXT_K("mc_name", "mc_name", "kind of memory controller"),
	KS_FIELD_END
};

static const struct ks_field row_fields[] = {
	EVENTS("ce_count", "ce_count", "errors corrected in this row of memory"),
	EVENTS("ue_count", "ue_count", "errors not corrected in this row of memory"),
	EVENTS("ch0_ce_count", "ch0_ce_count", "errors corrected in channel 0 of the row"),
	EVENTS("ch0_ue_count", "ch0_ue_count", "errors not corrected in channel 0 of the row"),
	EVENTS("ch1_ce_count", "ch1_ce_count", "errors corrected in channel 1 of the row"),
	EVENTS("ch1_ue_count", "ch1_ue_count", "errors not corrected in channel 1 of the row"),
	EVENTS("ch2_ce_count", "ch2_ce_count", "errors corrected in channel 2 of the row"),
	EVENTS("ch3_ce_count", "ch3_ce_count", "errors corrected in channel 3 of the row"),
	KS_TEXT_K("ch0_dimm_label", "ch0_dimm_label", "module of memory of channel 0"),
	KS_TEXT_K("ch1_dimm_label", "ch1_dimm_label", "module of memory of channel 1"),
	KS_FIELD_END
};

static const struct ks_field dimm_fields[] = {
	EVENTS("ce_count", "dimm_ce_count", "errors corrected in this module of memory"),
	EVENTS("ue_count", "dimm_ue_count", "errors not corrected in this module of memory"),
	KS_TEXT_K("label", "dimm_label", "name of the module on the board"),
	KS_TEXT_K("location", "dimm_location", "place of the module as the controller numbers it"),
	KS_TEXT_K("mem_type", "dimm_mem_type", "kind of memory"),
	KS_OF_TIMES("size", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1048576, "MiB", "size",
	    "size of the module"),
	KS_FIELD_END
};

/* --- InfiniBand ---------------------------------------------------------------------------------- */

#define WORDS(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_COUNTER, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 4, "words", key, desc)
/* The names of two files are too long for statistics, which have shorter ones. */
#define PORT(stat, desc) EVENTS(stat, "counters/" stat, desc)

static const struct ks_field port_fields[] = {
	KS_STATE_K("state", "state", "state of the port: 1 down, 2 initialized, 3 armed, 4 active"),
	KS_STATE_K("phys_state", "phys_state",
	    "state of the link: 2 polling, 3 disabled, 4 training, 5 up, 6 recovering from errors"),
	KS_OF_TIMES("rate", KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1000000000, "Gbit/s", "rate",
	    "rate of the link"),
	KS_TEXT_K("board_id", "../../board_id", "identifier of the adapter's board"),
	KS_TEXT_K("fw_ver", "../../fw_ver", "version of the adapter's firmware"),
	KS_TEXT_K("hca_type", "../../hca_type", "model of the adapter"),
	KS_TEXT_K("link_layer", "link_layer", "InfiniBand or Ethernet"),
	WORDS("port_rcv_data", "counters/port_rcv_data", "data received, in words of four bytes"),
	WORDS("port_xmit_data", "counters/port_xmit_data", "data sent, in words of four bytes"),
	PORT("port_rcv_packets", "packets received through the port"),
	PORT("port_xmit_packets", "packets sent through the port"),
	PORT("unicast_rcv_packets", "packets received for this port alone"),
	PORT("unicast_xmit_packets", "packets sent to one port"),
	PORT("multicast_rcv_packets", "packets received for many ports"),
	PORT("multicast_xmit_packets", "packets sent to many ports"),
	PORT("port_xmit_wait", "ticks in which there was data to send and no credit to send it"),
	PORT("port_rcv_errors", "packets received with an error"),
	PORT("port_xmit_discards", "packets not sent because the port was down or busy"),
	PORT("port_rcv_discards", "packets received through the port and dropped"),
	PORT("port_rcv_constraint_errors", "packets received that a filter refused"),
	PORT("port_xmit_constraint_errors", "packets that a filter did not let out"),
	EVENTS("port_rcv_remote_phys_errors", "counters/port_rcv_remote_physical_errors",
	    "packets received that another switch had marked as bad"),
	PORT("port_rcv_switch_relay_errors", "packets received that could not be forwarded"),
	PORT("symbol_error", "errors of single symbols on the link"),
	PORT("local_link_integrity_errors", "times that errors on the link passed a threshold"),
	EVENTS("excessive_buffer_overruns", "counters/excessive_buffer_overrun_errors",
	    "times that buffers overflowed for long"),
	PORT("link_downed", "times that the link failed to recover and went down"),
	PORT("link_error_recovery", "times that the link recovered from an error"),
	PORT("VL15_dropped", "management packets dropped for want of buffers"),
	WORDS("port_rcv_data_64", "counters_ext/port_rcv_data_64",
	    "data received, as older drivers count it, in words of four bytes"),
	WORDS("port_xmit_data_64", "counters_ext/port_xmit_data_64",
	    "data sent, as older drivers count it, in words of four bytes"),
	EVENTS("port_rcv_packets_64", "counters_ext/port_rcv_packets_64",
	    "packets received, as older drivers count them"),
	EVENTS("port_xmit_packets_64", "counters_ext/port_xmit_packets_64",
	    "packets sent, as older drivers count them"),
	EVENTS("port_unicast_rcv_packets", "counters_ext/port_unicast_rcv_packets",
	    "packets received for this port alone, as older drivers count them"),
	EVENTS("port_unicast_xmit_packets", "counters_ext/port_unicast_xmit_packets",
	    "packets sent to one port, as older drivers count them"),
	EVENTS("port_multicast_rcv_packets", "counters_ext/port_multicast_rcv_packets",
	    "packets received for many ports, as older drivers count them"),
	EVENTS("port_multicast_xmit_packets", "counters_ext/port_multicast_xmit_packets",
	    "packets sent to many ports, as older drivers count them"),
	EVENTS("rx_write_requests", "hw_counters/rx_write_requests", "requests to write that were received"),
	EVENTS("rx_read_requests", "hw_counters/rx_read_requests", "requests to read that were received"),
	EVENTS("out_of_sequence", "hw_counters/out_of_sequence", "packets received out of order"),
	EVENTS("out_of_buffer", "hw_counters/out_of_buffer",
	    "packets dropped because the receiver had posted no buffer"),
	EVENTS("packet_seq_err", "hw_counters/packet_seq_err", "negative acknowledgements for lost packets"),
	EVENTS("local_ack_timeout_err", "hw_counters/local_ack_timeout_err",
	    "times that the acknowledgement of the other end did not come in time"),
	EVENTS("rnr_nak_retry_err", "hw_counters/rnr_nak_retry_err",
	    "answers of the other end that it has no buffer yet"),
	KS_FIELD_END
};

/* --- Fibre Channel ------------------------------------------------------------------------------- */

#define FC(stat, desc) EVENTS(stat, "statistics/" stat, desc)

static const struct ks_field fc_fields[] = {
	KS_TEXT_STATE_K("port_state", "port_state", "state of the port: Online, Linkdown and so on"),
	KS_TEXT_K("port_type", "port_type", "how the port is attached"),
	KS_TEXT_STATE_K("speed", "speed", "speed of the link in words"),
	KS_TEXT_K("port_name", "port_name", "worldwide name of the port"),
	KS_TEXT_K("node_name", "node_name", "worldwide name of the adapter"),
	KS_TEXT_K("symbolic_name", "symbolic_name", "model, firmware and driver"),
	KS_TEXT_K("port_id", "port_id", "address of the port in the fabric"),
	KS_TEXT_K("fabric_name", "fabric_name", "worldwide name of the fabric"),
	KS_TEXT_K("supported_classes", "supported_classes", "classes of service that the port offers"),
	KS_TEXT_K("supported_speeds", "supported_speeds", "speeds that the port can use"),
	KS_TEXT_STATE_K("dev_loss_tmo", "dev_loss_tmo", "seconds after which a remote port that is gone is given up"),
	FC("rx_frames", "frames received"),
	FC("tx_frames", "frames sent"),
	WORDS("rx_words", "statistics/rx_words", "data received, in words of four bytes"),
	WORDS("tx_words", "statistics/tx_words", "data sent, in words of four bytes"),
	FC("fcp_input_requests", "SCSI commands that read"),
	FC("fcp_output_requests", "SCSI commands that write"),
	FC("fcp_control_requests", "SCSI commands that neither read nor write"),
	FC("fcp_packet_aborts", "SCSI commands that were given up"),
	FC("error_frames", "frames received with errors"),
	FC("dumped_frames", "frames dropped for want of buffers"),
	FC("invalid_crc_count", "frames received with a wrong checksum"),
	FC("invalid_tx_word_count", "words received that the code does not allow"),
	FC("link_failure_count", "times that the link failed"),
	FC("loss_of_signal_count", "times that the signal was lost"),
	FC("loss_of_sync_count", "times that the synchronization was lost"),
	FC("lip_count", "times that a loop was initialized"),
	FC("nos_count", "times that the port was not operational"),
	FC("prim_seq_protocol_err_count", "errors of the protocol of the link"),
	SECONDS("seconds_since_last_reset", "statistics/seconds_since_last_reset",
	    "time since the counts were set to 0"),
	KS_FIELD_END
};

/* --- watchdogs ------------------------------------------------------------------------------------- */

static const struct ks_field watchdog_fields[] = {
	KS_TEXT_K("identity", "identity", "kind of watchdog"),
	KS_TEXT_STATE_K("state", "state", "active if the machine is reset when nobody calls it"),
	KS_OF("bootstatus", KS_KIND_GAUGE, KSTAT2_NVMT_FLAGS, KSTAT_DATA_UINT32, "", "bootstatus",
	    "why the machine was started, as the watchdog's bits; 0 if not by the watchdog"),
	KS_STATE_K("nowayout", "nowayout", "1 if it cannot be stopped"),
	SECONDS("timeout", "timeout", "time without a call after which the machine is reset"),
	SECONDS("timeleft", "timeleft", "time that is left of it"),
	SECONDS("pretimeout", "pretimeout", "time before the reset at which it warns"),
	KS_TEXT_STATE_K("pretimeout_governor", "pretimeout_governor", "what the warning does: noop or panic"),
	GAUGE("fw_version", "fw_version", "version of its firmware"),
	KS_STATE_K("access_cs0", "access_cs0", "1 if the machine was started from the second flash memory"),
	KS_TEXT_STATE_K("status", "status", "what the watchdog says of itself, as its bits"),
	KS_TEXT_K("options", "options", "what the watchdog can do, as its bits"),
	KS_FIELD_END
};

/* --- NVMe controllers --------------------------------------------------------------------------------- */

static const struct ks_field nvme_fields[] = {
	KS_TEXT_STATE_K("state", "state",
	    "live, or what the controller is doing: resetting, connecting, deleting, dead"),
	KS_TEXT_K("model", "model", "model of the controller"),
	KS_TEXT_K("serial", "serial", "serial number of the controller"),
	KS_TEXT_K("firmware_rev", "firmware_rev", "revision of the firmware of the controller"),
	KS_TEXT_K("transport", "transport", "how it is attached: pcie, tcp, rdma, fc, loop"),
	KS_TEXT_K("address", "address", "where it is attached"),
	KS_TEXT_K("subsysnqn", "subsysnqn", "name of the subsystem that it belongs to"),
	KS_OF("cntlid", KS_KIND_GAUGE, KSTAT2_NVMT_ID, KSTAT_DATA_UINT32, "", "cntlid",
	    "number of the controller in its subsystem"),
	GAUGE("queue_count", "queue_count", "queues in use, that of commands to itself included"),
	GAUGE("sqsize", "sqsize", "longest queue of commands, less one"),
	KS_FIELD_END
};

static const struct ks_part parts[] = {
	KS_DEVICE_PART("thermal", "@", "sensor", thermal_fields, KS_DEVICES("class/thermal", "thermal_zone",
	    .label = "type")),
	KS_DEVICE_PART("power_supply", "@", "power", supply_fields, KS_DEVICES("class/power_supply", "")),
	KS_DEVICE_PART("rapl", "@", "power", rapl_fields, KS_DEVICES("class/powercap", "intel-rapl",
	    .needs = "energy_uj", .label = "name", .add = continue_energy), .since = "3.13"),
	KS_DEVICE_PART("edac", "@", "memory", controller_fields, KS_DEVICES("devices/system/edac/mc", "mc",
	    .needs = "ce_count")),
	KS_DEVICE_PART("edac", "@", "memory", row_fields, KS_DEVICES("devices/system/edac/mc", "mc",
	    .inside = "", .inner = "csrow")),
	KS_DEVICE_PART("edac", "@", "memory", dimm_fields, KS_DEVICES("devices/system/edac/mc", "mc",
	    .inside = "", .inner = "dimm")),
	KS_DEVICE_PART("infiniband", "@", "net", port_fields, KS_DEVICES("class/infiniband", "",
	    .inside = "ports", .inner = "", .by = KS_BY_OUTER)),
	KS_DEVICE_PART("fc", "@", "controller", fc_fields, KS_DEVICES("class/fc_host", "host")),
	KS_DEVICE_PART("watchdog", "@", "misc", watchdog_fields, KS_DEVICES("class/watchdog", "watchdog")),
	KS_DEVICE_PART("nvme", "@,controller", "controller", nvme_fields, KS_DEVICES("class/nvme", "nvme")),
};

KS_SUBSYSTEM(hardware, parts, .scan = ks_devices_scan, .on_events = true);
