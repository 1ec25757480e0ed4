--- The options of node_exporter, so that its command lines go on working.
--
-- `--collector.NAME` and `--no-collector.NAME` choose collectors; filters and other options of collectors, `--web.…`
-- and `--path.…` mean what they mean there, as far as there is something here that they can be about. The others are
-- accepted, and a line says that they do nothing.
-- @module kstat.node.options
local core = require("kstat.core")
local node = require("kstat.node")
local variable = require("kstat.base.environment").variable

local node_options = {}

-- Options with an argument that mean something here: the field that they set. Those in `list` may be repeated.
local TAKEN = { ["web.listen-address"] = "listen", ["web.telemetry-path"] = "path", ["web.config.file"] = "config",
  ["web.config"] = "config", ["collector.textfile.directory"] = "textfile" }
local LISTS = { listen = true, textfile = true }

-- Switches that mean something here, and what they set.
local SWITCHES = { ["collector.disable-defaults"] = "none", ["web.disable-exporter-metrics"] = "bare",
  ["web.systemd-socket"] = "systemd" }

-- Where these file systems are is said elsewhere: the only value that means something, and what says it here.
local ROOTS = { ["path.procfs"] = { "/proc", "KSTAT_PROC" }, ["path.sysfs"] = { "/sys", "KSTAT_SYS" } }

-- Options that have no meaning here: true where an argument follows.
local WITHOUT_MEANING = { ["path.rootfs"] = true, ["path.udev.data"] = true, ["log.level"] = true,
  ["log.format"] = true, ["runtime.gomaxprocs"] = true, ["web.max-requests"] = true,
  ["collector.cpu.guest"] = false, ["collector.netclass.netlink"] = false, ["collector.netdev.netlink"] = false,
  ["collector.netclass.ignore-invalid-speed"] = false, ["collector.systemd.enable-task-metrics"] = false,
  ["collector.systemd.enable-restarts-metrics"] = false, ["collector.systemd.enable-start-time-metrics"] = false,
  ["collector.filesystem.mount-timeout"] = true, ["collector.filesystem.stat-workers"] = true,
  ["collector.rapl.enable-zone-label"] = false, ["collector.stat.softirq"] = false,
  ["collector.bcache.priorityStats"] = false }

-- Whether the next word is the argument of an option without meaning; those that are not known here mostly have one.
local function takes_argument(name, word)
  if not word or word:find("^%-%-") then
    return false
  end
  return WITHOUT_MEANING[name] ~= false and not name:find("%.enable") and name:find("^collector%.[^.]+%.") ~= nil
    or WITHOUT_MEANING[name] == true
end

local function check_filter(name, text)
  local ok, message = core.pattern("/" .. text .. "/")
  return ok and text, ok or ("--collector.%s: %s"):format(name, message)
end

-- Takes a switch for a collector; false: the name is none of node_exporter's.
local function take_collector(taken, name)
  local off = name:match("^no%-collector%.(.+)$")
  local on = name:match("^collector%.([%w_]+)$")
  if not (off or on) or TAKEN[name] or SWITCHES[name] then
    return false
  end
  if taken.all[on or off] == nil then
    taken.notes[#taken.notes + 1] = ("--%s: kstat has no such collector"):format(name)
  else
    taken.chosen[on or off] = on ~= nil
  end
  return true
end

-- Takes an option with its argument. nil, message: it is wrong.
local function take_value(taken, name, value)
  local filter = node.filter(name:match("^collector%.(.+)$") or "")
  local field = TAKEN[name]
  if filter then
    local text, message = check_filter(filter, value)
    taken.filters[filter] = text
    return text and true, message
  elseif ROOTS[name] then
    local default, where = ROOTS[name][1], ROOTS[name][2]
    return value == (variable(where) or default),
      ("--%s: the environment variable %s says that here"):format(name, where)
  elseif field == "path" and not value:find("^/") then
    return nil, ("--%s: a path such as /metrics expected, not '%s'"):format(name, value)
  elseif field and LISTS[field] then
    taken[field] = taken[field] or {}
    table.insert(taken[field], value)
  elseif field then
    taken[field] = value
  else
    taken.notes[#taken.notes + 1] = ("--%s means nothing here, and is passed over"):format(name)
  end
  return true
end

local function is_theirs(name)
  return name:find("^%a+%.") ~= nil or name:find("^no%-collector%.") ~= nil
end

-- Which collectors are on in the end.
local function enabled(taken)
  local on = {}
  for name, by_default in pairs(taken.all) do
    local chosen = taken.chosen[name]
    on[name] = chosen or chosen == nil and by_default and not taken.none or nil
  end
  return on
end

--- Takes node_exporter's options out of a command line.
-- @tparam {string,...} words
-- @treturn table what it says: `enabled` and `filters`, as kstat.node has them; `listen`, `path`, `config`, `textfile`;
-- `bare`; `systemd`: its socket is meant; `asks`, whether it is about collectors;
-- `notes`, lines about options that do nothing
-- @treturn {string,...} the other words
-- @fails a line about what is wrong
function node_options.take(words)
  local taken = { all = node.collectors(), chosen = {}, filters = {}, notes = {} }
  local rest, i = {}, 1
  while i <= #words do
    local name, value = words[i]:match("^%-%-([%w._-]+)=?(.*)$")
    local has_value = name and words[i]:find("=", 1, true)
    if not name or not is_theirs(name) then
      rest[#rest + 1] = words[i]
    elseif SWITCHES[name] then
      taken[SWITCHES[name]] = true
    elseif not take_collector(taken, name) then
      local known = TAKEN[name] or ROOTS[name] or node.filter(name:match("^collector%.(.+)$") or "")
      if not has_value and (known or takes_argument(name, words[i + 1])) then
        i = i + 1
        value = words[i]
      elseif not known and WITHOUT_MEANING[name] == nil and not name:find("^collector%.") then
        return nil, ("unknown option '--%s'"):format(name)
      end
      if value == nil then
        return nil, ("--%s: an argument is missing"):format(name)
      end
      local ok, message = take_value(taken, name, value)
      if not ok then
        return nil, message
      end
    end
    taken.asks = taken.asks or name and is_theirs(name) and name:find("collector%.") ~= nil
    i = i + 1
  end
  taken.enabled = enabled(taken)
  return taken, rest
end

return node_options
