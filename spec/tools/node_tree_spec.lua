-- node_exporter's own test data, read by kstat: every value that node_exporter shows for it and that kstat has, too.
local names = require("support.node_tree")
local run = require("support.run")
local L = require("support.linux")

local metrics = run.vector("node_exporter/metrics.txt")

-- Where kstat is right to differ, by patterns for family and labels.
local OTHER = {
  { "^node_load", "", "the kernel prints two decimals; kstat has 1/256, as Solaris does" },
  { "^node_bcache_.*target", "", "the kernel prints 20.4G, of which node_exporter takes 4/1024 for the fraction" },
  { "^node_bcache_writeback_rate$", "", "the same" },
  { "^node_nfs_requests_total$", "GetDeviceInfo", "node_exporter has these two in the wrong order" },
  { "^node_nfs_requests_total$", "LayoutGet", "the same" },
  { "^node_softirqs_total$", "", "node_exporter reads stat, kstat softirqs; in the tree they are of two machines" },
}

-- What kstat lacks though it has the statistic elsewhere, and node_exporter does not show 0 for it.
local ABSENT = {
  { "^node_disk_", "mmcblk0p", "the I/O kstats of partitions have it, but no kstat of class disk_detail" },
  { "^node_nfsd_requests_total$", "WdelegGetattr", "it is nfs:0:nfsd:wdeleg_getattr" },
  { "_queue_time_seconds", "ACCESS", "a time below 0 in the file" },
  { "^node_network_", "", "kstat asks netlink or /proc/net/dev, which the tree does not have" },
}

-- What kstat has as a text, or of something that the tree does not have as a file.
local ELSEWHERE = { "^node_%l+_info$", "^node_hwmon_chip_names$", "^node_hwmon_sensor_label$", "^node_disk_%l+_info$",
  "^node_disk_device_mapper_info$", "^node_dmmultipath_", "^node_mountstats_nfs_mountpoint_info$",
  "^node_time_clocksource_current_info$", "^node_md_state$", "^node_md_blocks_synced$", "^node_nvme_info$",
  "^node_power_supply_info$", "^node_cpu_frequency_hertz$", "^node_lnstat_entries_total$",
  "^node_qdisc_", "^node_network_carrier", "^node_network_mtu", "^node_network_receive", "^node_network_speed",
  "^node_network_transmit", "^node_network_up$", "^node_network_iface_id$", "^node_bonding_",
  "^node_zoneinfo_nr_", "^node_scrape_", "^node_textfile_" }

local function is_listed(list, family, labels)
  for _, one in ipairs(list) do
    if family:find(one[1]) and labels:find(one[2], 1, true) then
      return true
    end
  end
  return false
end

-- The samples of an exposition: function(family, labels as a text, labels by name, value).
local function each_sample(text)
  return coroutine.wrap(function()
    for line in text:gmatch("[^\n]+") do
      local family, rest = line:match("^(node_[%w_]+)(.*)$")
      if family then
        local labels, by_name = {}, {}
        for name, value in rest:gmatch('([%w_]+)="([^"]*)"') do
          labels[#labels + 1] = name .. "=" .. value
          by_name[name] = value
        end
        table.sort(labels)
        coroutine.yield(family, table.concat(labels, ","), by_name, tonumber(rest:match("(%S+)$")))
      end
    end
  end)
end

-- The families that doc/linux.md says kstat does not have, as prefixes.
local function lacking()
  local section = run.read_file("doc/linux.md"):match("\n## What node_exporter shows and kstat does not\n(.-)\n## ")
  local prefixes = {}
  for prefix in section:gmatch("`(node_[%w_]+)`") do
    prefixes[prefix] = 0
  end
  return prefixes
end

describe("node_exporter's own tree", function()
  local ours, mine = {}, {}

  setup(function()
    local environment = ("env KSTAT_DIR=/nonexistent KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s"):format(L.node_exporter,
      L.node_exporter, run.bin)
    local listing = run.shell(environment .. "/kstat -p ::: intr_cpu::: softirq_cpu:::")
    assert.equal("", listing.err)
    for id, value in listing.out:gmatch("([^\n]-)\t([^\n]*)\n") do
      ours[id] = value
    end
    local text = run.shell(environment .. [[/kstatlua -e '
      local names, ks = require("kstat.node_names").names(), require("kstat").open()
      io.write(require("kstat.core").exposition(ks, names, "prometheus"):step(true))']]).out
    for family, labels, _, value in each_sample(text) do
      mine[family] = mine[family] or {}
      mine[family][labels] = value
    end
  end)

  -- Calls found(family, labels, theirs, our value or nil) for each sample that kstat claims to have, and
  -- not_found(family) for the others.
  local function walk(found, not_found)
    local sums = {}
    for family, labels, by_name, value in each_sample(metrics) do
      local id, factor, is_sum = names.statistic(family, by_name)
      if mine[family] then
        found(family, labels, value, mine[family][labels])
      elseif is_sum then
        sums[id] = (sums[id] or 0) + value
      elseif id then
        found(family, labels, value, tonumber(ours[id]) and tonumber(ours[id]) * factor)
      else
        not_found(family)
      end
    end
    for id, sum in pairs(sums) do
      found("node_lnstat", id, sum, tonumber(ours[id]))
    end
  end

  it("has the same values in kstat wherever kstat has them", function()
    local equal, wrong, families = 0, {}, {}
    walk(function(family, labels, theirs, value)
      local name = ("%s{%s}: %s, node_exporter: %s"):format(family, labels, tostring(value), theirs)
      if value and math.abs(value - theirs) <= 1e-9 * math.abs(theirs) then
        equal = equal + 1
        families[family] = true
      elseif value and not is_listed(OTHER, family, labels)
        or not value and theirs ~= 0 and not is_listed(ABSENT, family, labels) then
        wrong[#wrong + 1] = name
      end
    end, function() end)
    assert.same({}, wrong)
    local n = 0
    for _ in pairs(families) do
      n = n + 1
    end
    assert.truthy(equal >= 1400 and n >= 500, equal .. " samples of " .. n .. " families")
  end)

  it("has no other families than those that doc/linux.md lists", function()
    local prefixes, unknown = lacking(), {}
    walk(function() end, function(family)
      local best
      for prefix in pairs(prefixes) do
        if family:sub(1, #prefix) == prefix and (not best or #prefix > #best) then
          best = prefix
        end
      end
      if best then
        prefixes[best] = prefixes[best] + 1
      elseif not family:find("^node_zfs_") then -- spec/core/linux_zfs_spec.lua compares these
        unknown[family] = true
        for _, pattern in ipairs(ELSEWHERE) do
          unknown[family] = not family:find(pattern) and unknown[family] or nil
        end
      end
    end)
    assert.same({}, unknown)
    for prefix, n in pairs(prefixes) do
      assert.truthy(n > 0, prefix .. " is listed, and kstat has it")
    end
  end)
end)
