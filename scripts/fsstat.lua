--- fsstat: operations on file systems: unix:0:vopstats_TYPE (illumos); mounts of NFS, XFS, datasets of ZFS (Linux).
--
-- Counts of the interval, not rates; first since boot. Linux counts operations for these three alone: those of NFS
-- that were sent to the server; of ZFS only files removed, reads and writes; of ext4 only bytes written. All else
-- is "-". What has no figure at all is shown with -F alone.
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kstat = require("kstat")
local operand = require("kstat.command.operand")
local running = require("kstat.base.running")
local unknown = require("kstat.base.unknown")

local function counts(k, ...)
  local sum
  for _, statistic in ipairs({ ... }) do
    local count = k and k:get(statistic)
    sum = count and (sum or 0) + count or sum
  end
  return sum
end

-- Five places: 12345, 123K, 1.23M.
local function short(v)
  local suffixes, index = { "K", "M", "G", "T", "P", "E" }, 0
  if type(v) == "string" or v < 100000 then
    return type(v) == "string" and v or ("%.0f"):format(v)
  end
  while v >= 1000 and index < #suffixes do
    v, index = v / 1024, index + 1
  end
  return (v < 10 and "%.2f%s" or v < 100 and "%.1f%s" or "%.0f%s"):format(v, suffixes[index])
end

local function row_of(name, k)
  return {
    new = counts(k, "ncreate", "nmkdir", "nsymlink", "nlink"),
    remove = counts(k, "nremove", "nrmdir", "nunlinked"),
    rename = counts(k, "nrename"), get = counts(k, "ngetattr"), set = counts(k, "nsetattr"),
    lookup = counts(k, "nlookup"),
    rddir = counts(k, "nreaddir"), rops = counts(k, "reads") or counts(k, "nread"),
    rbytes = counts(k, "read_bytes") or counts(k, "nread"), wops = counts(k, "writes") or counts(k, "nwrite"),
    wbytes = counts(k, "write_bytes") or counts(k, "nwritten"), name = name,
  }
end

-- A mount of NFS: what was asked of the server. A create of version 4 is an open.
local function row_of_nfs(d, k)
  local io = d:lookup("nfs", k.instance, "nfs" .. k.instance)
  local mount = d:lookup("nfs", k.instance, "mountstats")
  local row = row_of(mount and mount:get("mount_point") or "nfs" .. k.instance)
  row.new = counts(k, "create", "mkdir", "symlink", "link", "mknod", "open")
  row.remove, row.rename = counts(k, "remove", "rmdir"), counts(k, "rename")
  row.get, row.set = counts(k, "getattr"), counts(k, "setattr")
  row.lookup, row.rddir = counts(k, "lookup"), counts(k, "readdir", "readdirplus")
  row.rops, row.wops = counts(k, "read"), counts(k, "write")
  row.rbytes, row.wbytes = counts(io, "nread"), counts(io, "nwritten")
  return row
end

local function row_of_xfs(k)
  local row = row_of("xfs on " .. k.name)
  row.new, row.remove = counts(k, "dir_create"), counts(k, "dir_remove")
  row.set, row.lookup, row.rddir = counts(k, "ig_attrchg"), counts(k, "dir_lookup"), counts(k, "dir_getdents")
  row.rops, row.rbytes = counts(k, "read_calls"), counts(k, "read_bytes")
  row.wops, row.wbytes = counts(k, "write_calls"), counts(k, "write_bytes")
  return row
end

-- Adds to rows what is mounted, to that with its operations or as a row of its own, which -F alone lists.
local function add_mounts(d, rows, options)
  local by_name = {}
  for _, row in ipairs(rows) do
    row.is_listed, by_name[row.name] = true, row
  end
  for _, k in ipairs(d:select("fs:::")) do
    local kind, device = k:get("fs_type"), k:get("device_name")
    local name = kind == "xfs" and "xfs on " .. device or kind == "zfs" and k:get("device") or k:get("mount_point")
    local row = by_name[name] or row_of(name)
    if not by_name[name] then
      local ext4 = kind == "ext4" and d:lookup("ext4", nil, device) or nil
      local written = counts(ext4, "session_write")
      row.wbytes, row.is_listed, row.is_idle = written and 1024 * written, options.all, not written
      rows[#rows + 1], by_name[name] = row, row
    end
    row.at, row.kind = k:get("mount_point"), kind
    row.on = ("%s:%s"):format(k:now():get("major"), k:now():get("minor"))
  end
end

-- The row of the file system that a path is on; nil and why there is none.
local function row_at(path, rows)
  local major, minor = core.device_of(path)
  local found
  for _, row in ipairs(rows) do
    found = (row.at == path or not found and major and row.on == ("%s:%s"):format(major, minor)) and row or found
  end
  if found and (found.is_listed or not found.is_idle) then
    return found
  end
  return nil, found == nil and not major and minor or
    ("%s: Linux counts no operations of %s"):format(path, found and found.kind or "this file system")
end

-- Leaves the rows that the operands name: paths, or globs and /regular expressions/ for names.
local function choose(rows, options)
  local chosen, lines, names, others = {}, {}, {}, {}
  for i, pattern in ipairs(assert(operand.patterns(options.operands))) do
    local text = options.operands[i]
    if text:find("^/$") or text:find("^/.*[^/]$") then
      local row
      row, lines[#lines + 1] = row_at(text, rows)
      chosen[row or lines] = true
    else
      others[#others + 1], names[#names + 1] = pattern, text
    end
  end
  local known = {}
  for i = #rows, 1, -1 do
    local row = rows[i]
    known[row.is_listed and row.name or lines] = true
    if not (chosen[row] or row.is_listed and (not next(options.operands) or others[1] and
      operand.matches(others, row.name))) then
      table.remove(rows, i)
    end
  end
  known[lines] = nil
  for _, line in ipairs(unknown.patterns("nothing here is called", names, others, known)) do
    lines[#lines + 1] = line
  end
  if options.first then
    running.missing(lines, #options.operands)
  end
end

local COLUMNS = {
  { "file", "new" }, { "remov", "remove" }, { "chng", "rename" }, { "get", "get" }, { "set", "set" },
  { "ops", "lookup", 6 },
  { "ops", "rddir" }, { "ops", "rops" }, { "bytes", "rbytes" }, { "ops", "wops" }, { "bytes", "wbytes" },
}
local columns = {}
for i, c in ipairs(COLUMNS) do
  columns[i] = { c[1], c[2], key = c[2], width = c[3] or 5, align = "right", format = short }
end
columns[#columns + 1] = { "", "name", key = "name", width = 1, align = "left" }

return kstat.report({
  optional = true,
  name = "fsstat", about = "Operations on file systems.", columns = columns, squeeze = true,
  heading = "  new  name  name  attr  attr lookup rddir  read  read write write", blank = false,
  options = { { "F", "all", help = "all file systems, also those of which Linux counts no operations" } },
  operands = "name",
  check = function(options)
    return select(2, operand.patterns(options.operands))
  end,
  select = function(options)
    local list = { { module = "unix", name = "vopstats_*", class = "misc" }, { module = "zfs/*", class = "misc" },
      { module = "nfs", class = "misc" }, { module = "nfs", class = "nfs" }, { module = "xfs", class = "fs_detail" } }
    if options.all or options.operands[1] then
      list[6], list[7] = { module = "fs", class = "fs" }, { module = "ext4", class = "fs_detail" }
    end
    return list
  end,
  note = "Linux counts operations for mounts of NFS, XFS and the datasets of ZFS only, and not all of these, and " ..
    "of ext4\nbytes written: all else is \"-\".\nThose of NFS are what the server was asked for.",
  rows = function(d, _, _, options)
    local rows = {}
    for _, k in ipairs(d:select("unix::vopstats_*", "zfs/*::objset-*")) do
      local name = k:get("dataset_name") or k.name:match("^vopstats_(.*)$") or k.name
      rows[#rows + 1] = row_of(name, k)
    end
    for _, k in ipairs(d:select("nfs::op_count")) do
      rows[#rows + 1] = row_of_nfs(d, k)
    end
    for _, k in ipairs(d:select("xfs:::")) do
      rows[#rows + 1] = row_of_xfs(k)
    end
    add_mounts(d, rows, options)
    choose(rows, options)
    return (rows[1] or options.operands[1]) and rows or { { text = "(neither vopstats nor NFS, XFS or ZFS here)" } }
  end,
})
