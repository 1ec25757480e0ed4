--- Tables of the kernel, as kstatlua use measures them.
--
-- @module kstat.use.tables
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")

local count, now = figures.count, figures.now

local FULL_TABLE = "Where nothing more fits, requests fail: that is saturation."

local limits = {
  { "table", "utilization", "entries", unit = "%", warning = 90,
    file = "/proc/sys/fs/file-nr, /proc/loadavg, /proc/sys/kernel, /proc/sys/net",
    reason = "The table of the kernel is almost full." },
  { "table", "saturation", "full", unit = "%", critical = 95, quiet = true, file = "the same",
    reason = FULL_TABLE .. " Tables grow fast: 5 % are soon used." },
  { "table", "saturation", "refused", unit = "", critical = 1,
    file = "/proc/net/stat: drop, early_drop, table_fulls",
    reason = "Entries that found no room: packets were dropped." },
}

local function measure(d, add)
  local k, conntrack = d:lookup("unix", 0, "tables"), d:lookup("conntrack", 0, "nf_conntrack")
  local function add_table(name, entries, most, refused, who)
    if entries and most then
      local used = figures.percent(entries, most)
      add("table", name, { entries = used, full = used, refused = refused }, { entries = who, full = who })
    end
  end
  local threads, pids = now(k, "threads_max"), now(k, "pid_max")
  add_table("files", now(k, "files"), now(k, "files_max"))
  add_table("pids", now(k, "threads"), threads and pids and math.min(threads, pids) or threads or pids, nil,
    culprits.threads(d))
  add_table("ptys", now(k, "ptys"), now(k, "ptys_max"))
  add_table("conntrack", now(conntrack, "entries"), now(conntrack, "entries_max"),
    count(conntrack, "drop", "early_drop"))
  for _, neighbours in ipairs(figures.select(d, "neighbour:::")) do
    add_table(neighbours.name, now(neighbours, "entries"), now(neighbours, "entries_max"),
      count(neighbours, "table_fulls"))
  end
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { module = "unix", instance = 0, name = "tables" }, { module = "conntrack" }, { module = "neighbour" } },
}
