--- fsstat: operations on file systems: unix:0:vopstats_TYPE (illumos); mounts of NFS, XFS, datasets of ZFS (Linux).
--
-- Counts of the interval, not rates; first since boot. Linux counts operations for these three alone: those of NFS
-- that were sent to the server; of ZFS only files removed, reads and writes. All else is "-".
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")

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
  select = { { module = "unix", name = "vopstats_*", class = "misc" }, { module = "zfs/*", class = "misc" },
    { module = "nfs", class = "misc" }, { module = "nfs", class = "nfs" }, { module = "xfs", class = "fs_detail" } },
  note = "Linux counts operations for mounts of NFS, XFS and the datasets of ZFS only, and not all of these: all " ..
    "else is \"-\".\nThose of NFS are what the server was asked for.",
  rows = function(d)
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
    return #rows > 0 and rows or { { text = "(neither vopstats nor NFS, XFS or ZFS here)" } }
  end,
})
