--- fsstat: operations on file systems, from unix:0:vopstats_TYPE (illumos) and the datasets of ZFS (Linux).
--
-- Counts of the interval, not rates; first since boot. Linux counts operations for the datasets of ZFS only, and
-- of those only files removed, reads and writes: all else is "-".
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
  published = false, optional = true,
  name = "fsstat", about = "Operations on file systems.", columns = columns, squeeze = true,
  heading = "  new  name  name  attr  attr lookup rddir  read  read write write", blank = false,
  select = { { module = "unix", name = "vopstats_*", class = "misc" }, { module = "zfs/*", class = "misc" } },
  note = "Linux counts operations for the datasets of ZFS only, and of those only files removed, reads and writes: " ..
    "all else\nis \"-\".",
  rows = function(d)
    local rows = {}
    for _, k in ipairs(d:select("unix::vopstats_*", "zfs/*::objset-*")) do
      local name = k:get("dataset_name") or k.name:match("^vopstats_(.*)$") or k.name
      rows[#rows + 1] = row_of(name, k)
    end
    return #rows > 0 and rows or { { text = "(neither vopstats nor ZFS here)" } }
  end,
})
