--- The names of node_exporter for hardware: errors of memory, sensors, power, arrays, adapters. See kstat.node.table.
-- @module kstat.node.table.hardware
local each = require("kstat.node.table.lines").each

-- Lines for the sensors of a kind: what they measure and their limits, in a unit, and how they are set.
local function sensors(kind, unit, divisor)
  local with_unit = ("node_hwmon_KIND_$UNIT KIND#_$ DIVISOR sensor=\"KIND*\""):gsub("UNIT", unit)
  local without = "node_hwmon_KIND_$ KIND#_$ 1 sensor=\"KIND*\""
  local lines = ("node_hwmon_KINDUNIT KIND# DIVISOR sensor=\"KIND*\"\n"):gsub("UNIT", unit)
    .. each("max min crit lcrit emergency max_hyst min_hyst crit_hyst average cap highest lowest target offset",
      with_unit)
    .. each("max_alarm min_alarm crit_alarm lcrit_alarm emergency_alarm", kind == "fan" and without or with_unit)
    .. each("alarm fault enable mode manual pulses div tolerance output", without)
    .. "node_hwmon_KIND_beep_enabled KIND#_beep 1 sensor=\"KIND*\"\n"
  return (lines:gsub("KIND", kind):gsub("DIVISOR", divisor))
end

return {
  { "edac", "edac::/^mc/", labels = { "controller", "instance" }, [[
    node_edac_correctable_errors_total            ce_count         1
    node_edac_uncorrectable_errors_total          ue_count         1
    node_edac_csrow_correctable_errors_total      ce_noinfo_count  1  csrow="unknown"
    node_edac_csrow_uncorrectable_errors_total    ue_noinfo_count  1  csrow="unknown"
  ]] },
  { "edac", "edac::/^csrow/", labels = { "controller", "instance", "csrow", "name csrow*" }, [[
    node_edac_csrow_correctable_errors_total      ce_count      1
    node_edac_csrow_uncorrectable_errors_total    ue_count      1
  ]] },
  { "hwmon", "hwmon:::", labels = { "chip", "chip", "chip_name", "name" }, "node_hwmon_chip_names 1 1\n" },
  { "hwmon", "hwmon:::", labels = { "chip", "chip" },
    'node_hwmon_sensor_label label@*_label 1 sensor="*"\n'
    .. sensors("temp", "_celsius", "1000") .. sensors("in", "_volts", "1000") .. sensors("curr", "_amps", "1000")
    .. sensors("power", "_watt", "1e6") .. sensors("energy", "_joule_total", "1e6")
    .. sensors("humidity", "", "100000") .. sensors("fan", "_rpm", "1") .. sensors("pwm", "", "1")
    .. sensors("intrusion", "", "1") },
  { "thermal_zone", "thermal:::", labels = { "zone", "instance", "type", "name" }, [[
    node_thermal_zone_temp           temp        1000
  ]] },
  { "thermal_zone", "thermal::cooling", labels = { "name", "instance", "type", "type" }, [[
    node_cooling_device_cur_state    cur_state   1
    node_cooling_device_max_state    max_state   1
  ]] },
  { "powersupplyclass", "power_supply:::", labels = { "power_supply", "name" }, [[
    node_power_supply_capacity              capacity            1
    node_power_supply_charge_ampere         charge_now          1e6
    node_power_supply_charge_full           charge_full         1e6
    node_power_supply_charge_full_design    charge_full_design  1e6
    node_power_supply_current_ampere        current_now         1e6
    node_power_supply_current_max           current_max         1e6
    node_power_supply_cyclecount            cycle_count         1
    node_power_supply_energy_full           energy_full         1e6
    node_power_supply_energy_full_design    energy_full_design  1e6
    node_power_supply_energy_watthour       energy_now          1e6
    node_power_supply_online                online              1
    node_power_supply_power_watt            power_now           1e6
    node_power_supply_present               present             1
    node_power_supply_temp_celsius          temp                10
    node_power_supply_time_to_empty_seconds time_to_empty       1
    node_power_supply_time_to_full_seconds  time_to_full        1
    node_power_supply_voltage_max_design    voltage_max_design  1e6
    node_power_supply_voltage_min_design    voltage_min_design  1e6
    node_power_supply_voltage_volt          voltage_now         1e6
  ]] },
  { "powersupplyclass", "power_supply:::", labels = { "power_supply", "name", "capacity_level", "capacity_level",
    "health", "health", "manufacturer", "manufacturer", "model_name", "model_name", "serial_number", "serial_number",
    "status", "status", "technology", "technology", "type", "type" }, [[
    node_power_supply_info                  1                   1
  ]] },
  { "rapl", "rapl::core", labels = { "index", "instance", "path", "path" },
    "node_rapl_core_joules_total energy 1e6\n" },
  { "rapl", "rapl::/^package/", labels = { "index", "instance", "path", "path" },
    "node_rapl_package_joules_total energy 1e6\n" },
  { "rapl", "rapl::dram", labels = { "index", "instance", "path", "path" },
    "node_rapl_dram_joules_total energy 1e6\n" },
  { "mdadm", "md::/,status$/", labels = { "device", "name *,status" }, [[
    node_md_blocks                   blocks          1
    node_md_blocks_synced            blocks_synced   1
    node_md_disks                    disks_active    1  state="active"
    node_md_disks                    disks_failed    1  state="failed"
    node_md_disks                    disks_spare     1  state="spare"
    node_md_disks_required           disks_required  1
  ]] .. each("active inactive recovering resync check", "node_md_state activity=$ 1 state=\"$\"") },
  { "mdadm", "md::/,array$/", labels = { "device", "name *,array" }, [[
    node_md_degraded                 degraded        1
    node_md_raid_disks               raid_disks      1
  ]] },
  { "nvme", "nvme::/,controller$/", labels = { "device", "name *,controller", "cntlid", "cntlid", "firmware_revision",
    "firmware_rev", "model", "model", "serial", "serial", "state", "state" }, "node_nvme_info 1 1\n" },
  { "infiniband", "infiniband:::", once = true, labels = { "board_id", "board_id", "device", "name",
    "firmware_version", "fw_ver", "hca_type", "hca_type" }, "node_infiniband_info 1 1\n" },
  { "infiniband", "infiniband:::", labels = { "device", "name", "port", "instance" }, [[
    node_infiniband_state_id                              state                         1
    node_infiniband_physical_state_id                     phys_state                    1
    node_infiniband_rate_bytes_per_second                 rate                          *125000000
    node_infiniband_legacy_data_received_bytes_total      port_rcv_data_64              *4
    node_infiniband_legacy_data_transmitted_bytes_total   port_xmit_data_64             *4
    node_infiniband_legacy_packets_received_total         port_rcv_packets_64           1
    node_infiniband_legacy_packets_transmitted_total      port_xmit_packets_64          1
    node_infiniband_legacy_unicast_packets_received_total port_unicast_rcv_packets      1
    node_infiniband_legacy_unicast_packets_transmitted_total port_unicast_xmit_packets  1
    node_infiniband_legacy_multicast_packets_received_total port_multicast_rcv_packets  1
    node_infiniband_legacy_multicast_packets_transmitted_total port_multicast_xmit_packets 1
    node_infiniband_port_data_received_bytes_total        port_rcv_data                 *4
    node_infiniband_port_data_transmitted_bytes_total     port_xmit_data                *4
    node_infiniband_port_packets_received_total           port_rcv_packets              1
    node_infiniband_port_packets_transmitted_total        port_xmit_packets             1
    node_infiniband_unicast_packets_received_total        unicast_rcv_packets           1
    node_infiniband_unicast_packets_transmitted_total     unicast_xmit_packets          1
    node_infiniband_multicast_packets_received_total      multicast_rcv_packets         1
    node_infiniband_multicast_packets_transmitted_total   multicast_xmit_packets        1
    node_infiniband_port_constraint_errors_received_total port_rcv_constraint_errors    1
    node_infiniband_port_constraint_errors_transmitted_total port_xmit_constraint_errors 1
    node_infiniband_port_discards_received_total          port_rcv_discards             1
    node_infiniband_port_discards_transmitted_total       port_xmit_discards            1
    node_infiniband_port_errors_received_total            port_rcv_errors               1
    node_infiniband_port_receive_remote_physical_errors_total port_rcv_remote_phys_errors 1
    node_infiniband_port_receive_switch_relay_errors_total port_rcv_switch_relay_errors 1
    node_infiniband_port_transmit_wait_total              port_xmit_wait                1
    node_infiniband_excessive_buffer_overrun_errors_total excessive_buffer_overruns     1
    node_infiniband_vl15_dropped_total                    VL15_dropped                  1
  ]] .. each("link_downed link_error_recovery local_link_integrity_errors symbol_error",
    "node_infiniband_$_total $ 1") },
  { "fibrechannel", "fc:::", labels = { "dev_loss_tmo", "dev_loss_tmo", "fabric_name", "fabric_name 0x*",
    "fc_host", "name", "port_id", "port_id 0x*", "port_name", "port_name 0x*", "port_state", "port_state", "port_type",
    "port_type", "speed", "speed", "supported_classes", "supported_classes", "supported_speeds", "supported_speeds",
    "symbolic_name", "symbolic_name" }, "node_fibrechannel_info 1 1\n" },
  { "fibrechannel", "fc:::", labels = { "fc_host", "name" },
    each("dumped_frames error_frames fcp_packet_aborts rx_frames rx_words seconds_since_last_reset tx_frames tx_words",
      "node_fibrechannel_$_total $ 1")
    .. each("invalid_crc link_failure loss_of_signal loss_of_sync nos", "node_fibrechannel_$_total $_count 1")
    .. "node_fibrechannel_invalid_tx_words_total invalid_tx_word_count 1\n" },
  { "watchdog", "watchdog:::", labels = { "name", "name" },
    each("access_cs0 bootstatus fw_version nowayout", "node_watchdog_$ $ 1")
    .. each("pretimeout timeleft timeout", "node_watchdog_$_seconds $ 1") },
  { "watchdog", "watchdog:::", labels = { "identity", "identity", "name", "name", "options", "options",
    "pretimeout_governor", "pretimeout_governor", "state", "state", "status", "status" },
    "node_watchdog_info 1 1\n" },
}
