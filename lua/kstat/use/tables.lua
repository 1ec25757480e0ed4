--- Tables of the kernel, as kstatlua use measures them.
-- @module kstat.use.tables
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")

local count, now = figures.count, figures.now

local FULL_TABLE = "Where nothing more fits, requests fail: that is saturation."

local limits = {
  { "table", "utilization", "entries", unit = "%", warning = 90,
    file = "/proc/sys/fs/file-nr, aio-nr, /proc/loadavg, /proc/sys/kernel, /proc/sys/net, /proc/key-users, inet_diag",
    reason = "The table of the kernel is almost full." },
  { "table", "saturation", "full", unit = "%", critical = 95, quiet = true, file = "the same",
    reason = FULL_TABLE .. " Tables grow fast: 5 % are soon used." },
  { "table", "utilization", "promised", unit = "%", warning = 90,
    file = "/proc/meminfo: Committed_AS, CommitLimit; /proc/sys/vm/overcommit_memory: 2",
    reason = "The kernel promises memory up to that limit, however much is free: malloc() fails next." },
  { "table", "saturation", "promised up to the limit", unit = "%", critical = 98, quiet = true, file = "the same",
    reason = FULL_TABLE },
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
  add_table("aio", now(k, "aio_requests"), now(k, "aio_requests_max"))
  add_table("ptys", now(k, "ptys"), now(k, "ptys_max"))
  add_table("conntrack", now(conntrack, "entries"), now(conntrack, "entries_max"),
    count(conntrack, "drop", "early_drop"))
  if now(k, "overcommit_memory") == 2 then
    local info = d:lookup("unix", 0, "meminfo")
    local share = figures.percent(now(info, "Committed_AS"), now(info, "CommitLimit"))
    local users = culprits.memory(d)
    add("table", "commit", { promised = share, ["promised up to the limit"] = share },
      { promised = users, ["promised up to the limit"] = users })
  end
  local ports = d:lookup("ports", 0, "tcp")
  local user = now(ports, "uid")
  add_table("ports", now(ports, "used"), now(ports, "ports"), nil, (now(ports, "to", "string") or "") ..
    (user and " by user " .. user or ""))
  for _, keyed in ipairs(figures.select(d, "keys:::")) do
    local keys, bytes = figures.percent(now(keyed, "keys"), now(keyed, "keys_max")),
      figures.percent(now(keyed, "bytes"), now(keyed, "bytes_max"))
    if keyed.name ~= "0" then -- root is judged by the limits of others, and does not meet them
      add_table("keys of " .. keyed.name, keys and math.max(keys, bytes or 0), 100, nil, "user " .. keyed.name)
    end
  end
  for _, neighbours in ipairs(figures.select(d, "neighbour:::")) do
    add_table(neighbours.name, now(neighbours, "entries"), now(neighbours, "entries_max"),
      count(neighbours, "table_fulls"))
  end
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { module = "unix", instance = 0, name = "/^(tables|meminfo)$/", class = "/^(misc|vm)$/" },
    { module = "conntrack", class = "misc" }, { module = "keys", class = "misc" },
    { module = "ports", class = "socket" }, { module = "neighbour", class = "misc" } },
}
