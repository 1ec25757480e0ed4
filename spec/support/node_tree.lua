--- What node_exporter calls our statistics: for comparing both on the same files (spec/tools/node_tree_spec.lua).
-- lua/kstat/node/table has those that `kstatlua exporter --names node` offers; here are the others.
local M = {}

-- Chips by the names that node_exporter makes of their paths.
local CHIPS = { coretemp = "2:coretemp", nct6775 = "5:nct6775" }

-- What stands in braces in the table below: a label of the sample, or one of these, which are made of labels.
local MADE_OF = {
  chip = function(l) return CHIPS[l.chip] end,
  -- The frequencies of a chip have the names of their labels.
  freq = function(l) return ({ sclk = "freq1", mclk = "freq2" })[l.sensor] end,
  set = function(l) return l.uuid:sub(1, 30) end,
  mount = function(l) return l.protocol == "tcp" and "40" or "41" end,
  op = function(l) return l.operation:lower() end,
  softirq = function(l) return ({ block_iopoll = "IRQ_POLL" })[l.vector] or l.vector:upper() end,
  line = function(l)
    return l.devices == "" and "0:" .. l.type
      or l.type .. ":" .. l.devices:gsub("^%d+%-%l+ +", ""):gsub(":", "_")
  end,
}

-- Family, kstat and statistic, divisor (or *factor).
local TABLE = [[
  node_btrfs_size_bytes                           btrfs:0:{set}:{block_group_type}_total_bytes
  node_btrfs_used_bytes                           btrfs:0:{set}:{block_group_type}_bytes_used
  node_edac_channel_correctable_errors_total      edac:{controller}:csrow{csrow}:ch{channel}_ce_count
  node_edac_channel_uncorrectable_errors_total    edac:{controller}:csrow{csrow}:ch{channel}_ue_count
  node_hwmon_freq_freq_mhz                        hwmon:{chip}:{freq} 1e6
  node_interrupts_total                           intr_cpu:{line}:cpu{cpu}
  node_softirqs_total                             softirq:0:{softirq}:soft
  node_mountstats_nfs_age_seconds_total           nfs:{mount}:mountstats:age
  node_mountstats_nfs_direct_read_bytes_total     nfs:{mount}:mountstats:directreadbytes
  node_mountstats_nfs_direct_write_bytes_total    nfs:{mount}:mountstats:directwrittenbytes
  node_mountstats_nfs_read_bytes_total            nfs:{mount}:mountstats:normalreadbytes
  node_mountstats_nfs_read_pages_total            nfs:{mount}:mountstats:readpages
  node_mountstats_nfs_total_read_bytes_total      nfs:{mount}:mountstats:serverreadbytes
  node_mountstats_nfs_total_write_bytes_total     nfs:{mount}:mountstats:serverwrittenbytes
  node_mountstats_nfs_write_bytes_total           nfs:{mount}:mountstats:normalwrittenbytes
  node_mountstats_nfs_write_pages_total           nfs:{mount}:mountstats:writepages
  node_mountstats_nfs_event_attribute_invalidate_total nfs:{mount}:mountstats:attrinvalidate
  node_mountstats_nfs_event_data_invalidate_total nfs:{mount}:mountstats:datainvalidate
  node_mountstats_nfs_event_dnode_revalidate_total nfs:{mount}:mountstats:dentryrevalidate
  node_mountstats_nfs_event_inode_revalidate_total nfs:{mount}:mountstats:inoderevalidate
  node_mountstats_nfs_event_jukebox_delay_total   nfs:{mount}:mountstats:delay
  node_mountstats_nfs_event_pnfs_read_total       nfs:{mount}:mountstats:pnfs_read
  node_mountstats_nfs_event_pnfs_write_total      nfs:{mount}:mountstats:pnfs_write
  node_mountstats_nfs_event_short_read_total      nfs:{mount}:mountstats:shortread
  node_mountstats_nfs_event_short_write_total     nfs:{mount}:mountstats:shortwrite
  node_mountstats_nfs_event_silly_rename_total    nfs:{mount}:mountstats:sillyrename
  node_mountstats_nfs_event_truncation_total      nfs:{mount}:mountstats:setattrtrunc
  node_mountstats_nfs_event_vfs_access_total      nfs:{mount}:mountstats:vfsaccess
  node_mountstats_nfs_event_vfs_file_release_total nfs:{mount}:mountstats:vfsrelease
  node_mountstats_nfs_event_vfs_flush_total       nfs:{mount}:mountstats:vfsflush
  node_mountstats_nfs_event_vfs_fsync_total       nfs:{mount}:mountstats:vfsfsync
  node_mountstats_nfs_event_vfs_getdents_total    nfs:{mount}:mountstats:vfsgetdents
  node_mountstats_nfs_event_vfs_lock_total        nfs:{mount}:mountstats:vfslock
  node_mountstats_nfs_event_vfs_lookup_total      nfs:{mount}:mountstats:vfslookup
  node_mountstats_nfs_event_vfs_open_total        nfs:{mount}:mountstats:vfsopen
  node_mountstats_nfs_event_vfs_read_page_total   nfs:{mount}:mountstats:vfsreadpage
  node_mountstats_nfs_event_vfs_read_pages_total  nfs:{mount}:mountstats:vfsreadpages
  node_mountstats_nfs_event_vfs_setattr_total     nfs:{mount}:mountstats:vfssetattr
  node_mountstats_nfs_event_vfs_update_page_total nfs:{mount}:mountstats:vfsupdatepage
  node_mountstats_nfs_event_vfs_write_page_total  nfs:{mount}:mountstats:vfswritepage
  node_mountstats_nfs_event_vfs_write_pages_total nfs:{mount}:mountstats:vfswritepages
  node_mountstats_nfs_event_write_extension_total nfs:{mount}:mountstats:extendwrite
  node_mountstats_nfs_operations_major_timeouts_total nfs:{mount}:op_timeouts:{op}
  node_mountstats_nfs_operations_queue_time_seconds_total nfs:{mount}:op_queue_time:{op} 1e9
  node_mountstats_nfs_operations_received_bytes_total nfs:{mount}:op_received:{op}
  node_mountstats_nfs_operations_request_time_seconds_total nfs:{mount}:op_time:{op} 1e9
  node_mountstats_nfs_operations_requests_total   nfs:{mount}:op_count:{op}
  node_mountstats_nfs_operations_response_time_seconds_total nfs:{mount}:op_rtt_time:{op} 1e9
  node_mountstats_nfs_operations_sent_bytes_total nfs:{mount}:op_sent:{op}
  node_mountstats_nfs_operations_transmissions_total nfs:{mount}:op_transmissions:{op}
  node_mountstats_nfs_transport_backlog_queue_total nfs:{mount}:mountstats:backlog
  node_mountstats_nfs_transport_bad_transaction_ids_total nfs:{mount}:mountstats:bad_xids
  node_mountstats_nfs_transport_bind_total        nfs:{mount}:mountstats:binds
  node_mountstats_nfs_transport_connect_total     nfs:{mount}:mountstats:connects
  node_mountstats_nfs_transport_idle_time_seconds nfs:{mount}:mountstats:idle_time
  node_mountstats_nfs_transport_maximum_rpc_slots nfs:{mount}:mountstats:max_slots
  node_mountstats_nfs_transport_pending_queue_total nfs:{mount}:mountstats:pending
  node_mountstats_nfs_transport_receives_total    nfs:{mount}:mountstats:receives
  node_mountstats_nfs_transport_sending_queue_total nfs:{mount}:mountstats:sending
  node_mountstats_nfs_transport_sends_total       nfs:{mount}:mountstats:sends
]]

local RULES = {}
for line in TABLE:gmatch("[^\n]+") do
  local family, id, times, number = line:match("^ *(node_%S+) +(%S+) *(%*?)(%S*)$")
  local factor = tonumber(number) or 1
  RULES[family] = { id = id, factor = times == "*" and factor or 1 / factor }
end

-- Families whose names say which statistic they are: patterns, and kstats for {stat}.
local BY_NAME = {
  -- node_exporter shows these for each CPU.
  { "^node_lnstat_(.*)_total$", "{subsystem}:{stat}", sum = true },
}
local SUBSYSTEMS = { arp_cache = "neighbour:0:arp", ndisc_cache = "neighbour:0:ndisc",
  nf_conntrack = "conntrack:0:nf_conntrack" }
MADE_OF.subsystem = function(l) return SUBSYSTEMS[l.subsystem] end

local function rule_of(family, labels)
  for _, one in ipairs(BY_NAME) do
    local name = family:match(one[1])
    -- The numbers of entries are no counters: those of all CPUs are the same.
    if name and name ~= "entries" then
      labels.stat = name
      return { id = one[2], factor = 1, sum = one.sum }
    end
  end
  return RULES[family]
end

--- Which of our statistics is a sample of node_exporter.
-- @tparam string family
-- @tparam table labels by name
-- @treturn string|nil "module:instance:name:statistic"; nil if there is none
-- @treturn number what its value is to be multiplied with
-- @treturn boolean whether the samples of several CPUs add up to it
function M.statistic(family, labels)
  local rule = rule_of(family, labels)
  if not rule then
    return nil
  end
  local id = rule.id:gsub("{([%w_]+)}", function(word)
    return tostring((MADE_OF[word] or function(l) return l[word] end)(labels))
  end)
  return id, rule.factor, rule.sum
end

return M
