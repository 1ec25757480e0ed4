--- Kstats under the names of node_exporter, for dashboards and alerts that exist.
--
-- The names, labels and units are those of node_exporter 1.x on Linux, and so are its collectors and its filters. What
-- the machine lacks is left out.
-- @module kstat.node
local GROUPS = require("kstat.node.table")
local core = require("kstat.core")
local rows = require("kstat.node.rows")
local selector = require("kstat.read.selector")

local node = {}

-- The filters by labels: the collector and the label whose values they keep or drop, and node_exporter's default.
local FILTERS = {
  ["arp.device-exclude"] = { "arp", "device", "drop" },
  ["arp.device-include"] = { "arp", "device", "keep" },
  ["diskstats.device-exclude"] = { "diskstats", "device", "drop",
    "^(z?ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\\d+n\\d+p)\\d+$" },
  ["diskstats.device-include"] = { "diskstats", "device", "keep" },
  ["filesystem.fs-types-exclude"] = { "filesystem", "fstype", "drop", "^(autofs|binfmt_misc|bpf|cgroup2?|configfs|"
    .. "debugfs|devpts|devtmpfs|fusectl|hugetlbfs|iso9660|mqueue|nsfs|overlay|proc|procfs|pstore|rpc_pipefs|"
    .. "securityfs|selinuxfs|squashfs|erofs|sysfs|tracefs)$" },
  ["filesystem.fs-types-include"] = { "filesystem", "fstype", "keep" },
  ["filesystem.mount-points-exclude"] = { "filesystem", "mountpoint", "drop",
    "^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)" },
  ["filesystem.mount-points-include"] = { "filesystem", "mountpoint", "keep" },
  ["netclass.ignored-devices"] = { "netclass", "device", "drop" },
  ["netdev.device-exclude"] = { "netdev", "device", "drop" },
  ["netdev.device-include"] = { "netdev", "device", "keep" },
  ["powersupply.ignored-supplies"] = { "powersupplyclass", "power_supply", "drop" },
}

-- Names that older versions have for them.
local OLD = {
  ["diskstats.ignored-devices"] = "diskstats.device-exclude",
  ["filesystem.ignored-mount-points"] = "filesystem.mount-points-exclude",
  ["filesystem.ignored-fs-types"] = "filesystem.fs-types-exclude",
  ["netdev.device-blacklist"] = "netdev.device-exclude",
  ["netdev.device-whitelist"] = "netdev.device-include",
}

-- Which statistics of a collector are shown is a filter, too: it replaces the table's list.
local FIELDS = { ["netstat.fields"] = "netstat", ["vmstat.fields"] = "vmstat" }

-- Collectors that have nothing to say about most machines, and did not fail then.
local QUIET = { arp = true, bcache = true, btrfs = true, cpufreq = true, edac = true, netclass = true,
  powersupplyclass = true, thermal_zone = true, xfs = true }

-- What a statistic in the table is: its kind, the statistic, and what stands beside it.
local function parse_stat(text)
  local mark, rest = text:match("^([~+!])(.*)$")
  if mark then
    return ({ ["~"] = "rounded", ["+"] = "one_more", ["!"] = "not" })[mark], rest, ""
  end
  local left, sign, right = text:match("^(.-)([=?@])(.*)$")
  if sign then
    local kind = ({ ["="] = "is", ["?"] = "if", ["@"] = "texts" })[sign]
    return kind, sign == "@" and right or left, sign == "@" and left or right
  end
  return text == "1" and "always" or text:find("[*#]") and "matching" or "stat", text, ""
end

-- The names of a group, see core.metric_names.
local function names_of(group, text)
  local names = {}
  for family, stat, times, number, labels in
    text:gmatch("(node_[^ ]+) +([^ ]+) +(%*?)([%w.]+) *([^\n]*)\n") do
    local name, is_counter = family:gsub("_total$", "")
    local kind, of, other = parse_stat(stat)
    local factor = tonumber(number)
    names[#names + 1] = { family = name, stat = of, kind = kind, other = other, labels = labels,
      per = times == "" and factor, times = times == "*" and factor,
      type = group.kind or is_counter > 0 and "counter" or "gauge" }
  end
  return names
end

-- Compiles an expression; none, or one that matches everything or nothing by its form, is false.
local function pattern_of(text)
  return text and text ~= "" and assert(core.pattern("/" .. text .. "/")) or false
end

-- Returns the expressions that keep and drop kstats by a label of a group; nil: none.
local function filters_of(group, label, filters)
  local keep, drop = group.keep and group.keep[label], nil
  for name, filter in pairs(FILTERS) do
    if filter[1] == group[1] and filter[2] == label then
      local text = filters[name]
      if filter[3] == "keep" then
        keep = text or keep
      else
        drop = text or filter[4]
      end
    end
  end
  return keep, drop
end

-- The labels of a group.
local function labels_of(group, filters)
  local list, labels = group.labels or {}, {}
  for i = 1, #list, 2 do
    local from, part = list[i + 1]:match("^(%S+) ?(.*)$")
    local keep, drop = filters_of(group, list[i], filters)
    labels[#labels + 1] = { name = list[i], from = from, part = part ~= "" and part, keep = pattern_of(keep),
      drop = pattern_of(drop) }
  end
  return labels
end

--- The names of the collectors that there are, and whether each is on by default.
-- @treturn table
function node.collectors()
  local all = {}
  for _, group in ipairs(GROUPS) do
    all[group[1]] = not group.off
  end
  for name, is_on in pairs(rows.COLLECTORS) do
    all[name] = is_on
  end
  return all
end

--- Whether there is a filter of this name, without `--collector.` before it.
-- @string name
-- @treturn ?string its name today
function node.filter(name)
  name = OLD[name] or name
  return (FILTERS[name] or FIELDS[name]) and name
end

--- The selectors of all kstats that collectors have, for `kstat.open`'s `only`.
-- @tparam table enabled collectors: name and true
-- @treturn {spec,...}
function node.selectors(enabled)
  local list = {}
  for _, group in ipairs(GROUPS) do
    if enabled[group[1]] then
      list[#list + 1] = group[2]
    end
  end
  return list
end

--- The table of names, for `core.exposition`, and the collector of each of its groups.
-- @tparam table enabled collectors: name and true
-- @tparam table filters name and expression
-- @treturn names
-- @treturn {string,...}
function node.names(enabled, filters)
  local list, collectors, last = {}, {}, nil
  for _, group in ipairs(GROUPS) do
    if enabled[group[1]] then
      local text, fields = group[3], nil
      for name, collector in pairs(FIELDS) do
        if filters[name] and group.fields and group[1] == collector then
          text, fields = group.fields .. " * 1\n", pattern_of(filters[name])
        end
      end
      list[#list + 1], collectors[#list + 1] = { selector = assert(selector.compile(group[2])), fields = fields,
        fields_at = #("node_" .. group[1] .. "_"), also = last ~= nil and last[2] == group[2], once = group.once,
        labels = labels_of(group, filters), names = names_of(group, text) }, group[1]
      last = group
    end
  end
  return core.metric_names(list), collectors
end

--- Adds what each collector took, and whether it found what it is for.
-- @tparam metrics w of `core.metrics`
-- @tparam {integer,...} costs of the exposition: time (ns) and samples of each group
-- @tparam {string,...} collectors of the groups
-- @tparam table others of the collectors that are no kstats: name and { time (ns), samples }
function node.add_costs(w, costs, collectors, others)
  local total, order = {}, {}
  for i, name in ipairs(collectors) do
    local t = total[name]
    if not t then
      t = { 0, 0 }
      total[name], order[#order + 1] = t, name
    end
    t[1], t[2] = t[1] + costs[2 * i - 1], t[2] + costs[2 * i]
  end
  for name, t in pairs(others) do
    if not total[name] then
      total[name], order[#order + 1] = { 0, 0 }, name
    end
    total[name] = { total[name][1] + t[1], total[name][2] + t[2] }
  end
  table.sort(order)
  w:family("node_scrape_collector_duration_seconds", "gauge", "time that a collector took")
  for _, name in ipairs(order) do
    w:add(core.metric_labels("collector", name), total[name][1], nil, 1e9)
  end
  w:family("node_scrape_collector_success", "gauge", "1 if a collector found what it is for")
  for _, name in ipairs(order) do
    w:add(core.metric_labels("collector", name), (total[name][2] > 0 or QUIET[name]) and 1 or 0)
  end
end

return node
