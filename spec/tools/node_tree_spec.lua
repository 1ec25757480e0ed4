-- node_exporter and kstat on the same files: every value that node_exporter shows for them and that kstat has, too.
local names = require("support.node_tree")
local run = require("support.run")

local PROGRAM = run.shell("command -v prometheus-node-exporter").out:match("%S+")
if not PROGRAM then
  describe("node_exporter on the same files", function() pending("is compared where it is installed") end)
  return
end

-- Trees of our own, one over the other; the last has what node_exporter asks for beside them.
local TREES = { "zfs", "hardware", "fs", "small", "storage", "node" }

-- What is about files, and not about this machine.
local COLLECTORS = [[bcache btrfs buddyinfo conntrack cpu cpufreq diskstats edac entropy fibrechannel filefd hwmon
  infiniband interrupts ksmd lnstat loadavg mdadm meminfo meminfo_numa mountstats netclass netdev netstat nfs nfsd nvme
  powersupplyclass pressure processes rapl schedstat slabinfo sockstat softnet stat thermal_zone vmstat xfs zfs
  zoneinfo]]

local OPTIONS = " --collector.bcache.priorityStats --collector.stat.softirq --no-collector.netdev.netlink"
  .. " --web.disable-exporter-metrics --web.listen-address=127.0.0.1:0"

-- Where kstat is right to differ, by patterns for family and labels.
local OTHER = {
  { "^node_nfs_requests_total$", "GetDeviceInfo", "node_exporter has these two in the wrong order" },
  { "^node_nfs_requests_total$", "LayoutGet", "the same" },
  { "^node_nfsd_requests_total$", "RelLockOwner", "node_exporter takes this and the next two from the wrong place" },
  { "^node_nfsd_requests_total$", "Verify", "the same" },
  { "^node_nfsd_requests_total$", "Write", "the same" },
}

-- What kstat lacks though it has the statistic elsewhere, and node_exporter does not show 0 for it.
local ABSENT = {
  { "^node_disk_info$", "", "the numbers of devices are in /sys/class/block/NAME/dev, which the trees lack" },
  { "^node_zfs_zpool_dataset", "dataset=tank/home,", "its name goes on: tank/home of users" },
  { "^node_nfsd_requests_total$", "LookupRoot", "no server has it: it is lookupp, under another name" },
}

-- What kstat has as a text, or of something that the tree does not have as a file.
local ELSEWHERE = { "_info$", "^node_hwmon_chip_names$", "^node_hwmon_sensor_label$", "^node_md_state$",
  "^node_md_blocks_synced$", "^node_zfs_zpool_state$", "^node_lnstat_entries_total$", "^node_network_up$",
  "^node_zoneinfo_nr_%l+_anon_pages$", "^node_scrape_", "^node_arp_entries$",
  "^node_udp_queues$", "^node_ipvs_" }

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

-- What a node_exporter shows of the files below a directory.
local function their_metrics(dir)
  local server = run.start(("%s --path.procfs=%s/proc --path.sysfs=%s/sys --collector.disable-defaults%s%s"):format(
    PROGRAM, dir, dir, COLLECTORS:gsub("(%S+)%s*", " --collector.%1"), OPTIONS), dir .. "/log")
  local is_there, text = pcall(run.await, "the port of node_exporter", function()
    return run.shell(([[port=$(ss -ltnpH | grep 'pid=%s,' | grep -o '127.0.0.1:[0-9]*') && curl -sf $port/metrics]])
      :format(server)).out:match("^.+$")
  end)
  run.stop(server)
  assert(is_there, text)
  return text
end

describe("node_exporter on the same files", function()
  local ours, mine, metrics = {}, {}, nil

  setup(function()
    local dir = run.directory()
    for _, tree in ipairs(TREES) do
      run.shell(("cp -a %s/. %s"):format(run.tree(tree), dir))
    end
    -- The second set of bcache lacks files that every set has.
    run.shell(("cd %s && rm -r sys/fs/bcache/*2 && mv proc/self proc/10 && ln -s 10 proc/self"):format(dir))
    metrics = their_metrics(dir)
    local environment = ("env KSTAT_DIR=/nonexistent KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s"):format(dir, dir, run.bin)
    local listing = run.shell(environment .. "/kstat -p ::: intr_cpu::: softirq_cpu:::")
    assert.equal("", listing.err)
    for id, value in listing.out:gmatch("([^\n]-)\t([^\n]*)\n") do
      ours[id] = value
    end
    local text = run.shell(environment .. [[/kstatlua -e '
      local node, enabled = require("kstat.node"), {}
      for name in pairs(node.collectors()) do
        enabled[name] = true
      end
      local ks = require("kstat").open({ only = node.selectors(enabled) })
      io.write(require("kstat.core").exposition(ks, (node.names(enabled, {})), "prometheus"):step(true))']]).out
    for family, _, by_name, value in each_sample(text) do
      mine[family] = mine[family] or {}
      table.insert(mine[family], { by_name, value })
    end
    run.remove_directory(dir)
  end)

  -- Our value of a sample with all these labels, and perhaps more, which newer versions of node_exporter have; or nil.
  local function our_value(family, by_name)
    for _, one in ipairs(mine[family]) do
      local is_same = true
      for name, value in pairs(by_name) do
        is_same = is_same and (one[1][name] or "") == value
      end
      if is_same then
        return one[2]
      end
    end
    return nil
  end

  -- Calls found(family, labels, theirs, our value or nil) for each sample that kstat claims to have, and
  -- not_found(family) for the others.
  local function walk(found, not_found)
    local sums = {}
    for family, labels, by_name, value in each_sample(metrics) do
      local id, factor, is_sum
      if mine[family] then
        found(family, labels, value, our_value(family, by_name))
      else
        id, factor, is_sum = names.statistic(family, by_name)
      end
      if is_sum then
        sums[id] = (sums[id] or 0) + value
      elseif id then
        found(family, labels, value, tonumber(ours[id]) and tonumber(ours[id]) * factor)
      elseif not mine[family] then
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
    assert.truthy(equal >= 1150 and n >= 540, equal .. " samples of " .. n .. " families")
  end)

  it("has no other families than those that doc/linux.md lists", function()
    local prefixes, unknown, known = lacking(), {}, {}
    walk(function(family) known[family] = true end, function(family)
      local best
      for prefix in pairs(prefixes) do
        if family:sub(1, #prefix) == prefix and (not best or #prefix > #best) then
          best = prefix
        end
      end
      if best then
        prefixes[best] = prefixes[best] + 1
      else
        unknown[family] = true
        for _, pattern in ipairs(ELSEWHERE) do
          unknown[family] = not family:find(pattern) and unknown[family] or nil
        end
      end
    end)
    assert.same({}, unknown)
    for prefix, n in pairs(prefixes) do
      for family in pairs(known) do
        assert.truthy(n > 0 or family:sub(1, #prefix) ~= prefix, prefix .. " is listed, and kstat has " .. family)
      end
    end
  end)
end)
