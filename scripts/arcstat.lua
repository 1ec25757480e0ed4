--- arcstat: the ZFS cache, with the fields of the script of that name; from zfs:0:arcstats.
--
-- Accesses are per second, percentages those of the interval; sizes are bytes. K, M, G: thousands in counts,
-- 1024s in sizes. What a version of ZFS does not count is "-".
-- SPDX-License-Identifier: MIT
local kstat = require("kstat")
local running = require("kstat.base.running")

local arcstats = assert(kstat.selector({ module = "zfs", name = "arcstats", class = "misc" }))

local function both(kind, what)
  return { kind .. "_data_" .. what, kind .. "_metadata_" .. what }
end

-- Fields: width, base of K (no base: percent), the statistics that are added up, what it is.
-- A percentage: the field that is the part, and the one that is the whole.
local FIELDS = {
  hits = { 4, 1000, { "hits" }, "hits" }, miss = { 4, 1000, { "misses" }, "misses" },
  read = { 4, 1000, { "hits", "misses" }, "all accesses" },
  ["hit%"] = { 4, nil, { "hits", "read" }, "hits, % of all accesses" },
  ["miss%"] = { 5, nil, { "miss", "read" }, "misses, % of all accesses" },
  dhit = { 4, 1000, both("demand", "hits"), "demand hits" },
  dmis = { 4, 1000, both("demand", "misses"), "demand misses" },
  dread = { 5, 1000, { "demand_data_hits", "demand_metadata_hits", "demand_data_misses", "demand_metadata_misses" },
    "demand accesses" },
  ["dh%"] = { 3, nil, { "dhit", "dread" }, "demand hits, %" },
  ["dm%"] = { 3, nil, { "dmis", "dread" }, "demand misses, %" },
  phit = { 4, 1000, both("prefetch", "hits"), "prefetch hits" },
  pmis = { 4, 1000, both("prefetch", "misses"), "prefetch misses" },
  pread = { 5, 1000, { "prefetch_data_hits", "prefetch_metadata_hits", "prefetch_data_misses",
    "prefetch_metadata_misses" }, "prefetch accesses" },
  ["ph%"] = { 3, nil, { "phit", "pread" }, "prefetch hits, %" },
  ["pm%"] = { 3, nil, { "pmis", "pread" }, "prefetch misses, %" },
  mhit = { 4, 1000, { "demand_metadata_hits", "prefetch_metadata_hits" }, "metadata hits" },
  mmis = { 4, 1000, { "demand_metadata_misses", "prefetch_metadata_misses" }, "metadata misses" },
  mread = { 5, 1000, { "demand_metadata_hits", "prefetch_metadata_hits", "demand_metadata_misses",
    "prefetch_metadata_misses" }, "metadata accesses" },
  ["mh%"] = { 3, nil, { "mhit", "mread" }, "metadata hits, %" },
  ["mm%"] = { 3, nil, { "mmis", "mread" }, "metadata misses, %" },
  mfu = { 4, 1000, { "mfu_hits" }, "hits in the list of frequent use" },
  mru = { 4, 1000, { "mru_hits" }, "hits in the list of recent use" },
  mfug = { 4, 1000, { "mfu_ghost_hits" }, "hits in the ghost list of frequent use" },
  mrug = { 4, 1000, { "mru_ghost_hits" }, "hits in the ghost list of recent use" },
  eskip = { 5, 1000, { "evict_skip" }, "buffers skipped in evictions" },
  mtxmis = { 6, 1000, { "mutex_miss" }, "locks not got at once" },
  rmis = { 4, 1000, { "recycle_miss" }, "recycle misses" },
  l2hits = { 6, 1000, { "l2_hits" }, "second level hits" },
  l2miss = { 6, 1000, { "l2_misses" }, "second level misses" },
  l2read = { 6, 1000, { "l2_hits", "l2_misses" }, "second level accesses" },
  ["l2hit%"] = { 6, nil, { "l2hits", "l2read" }, "second level hits, %" },
  ["l2miss%"] = { 7, nil, { "l2miss", "l2read" }, "second level misses, %" },
  l2bytes = { 7, 1024, { "l2_read_bytes" }, "bytes read from the second level" },
  arcsz = { 5, 1024, { "size" }, "size of the cache", now = true },
  c = { 4, 1024, { "c" }, "size that the cache aims at", now = true },
  l2size = { 6, 1024, { "l2_size" }, "size of the second level", now = true },
  l2asize = { 7, 1024, { "l2_asize" }, "size of the second level, compressed", now = true },
}
local DEFAULT = "time,read,miss,miss%,dmis,dm%,pmis,pm%,mmis,mm%,arcsz,c"
local EXTENDED = "time,mfu,mru,mfug,mrug,eskip,mtxmis,rmis,dread,pread,read"
local SUFFIXES = { "K", "M", "G", "T", "P", "E" }

-- A number of at most four or five places: 999, 1.2K, 12K.
local function pretty(base)
  return function(v)
    local index, before = 0, v
    while v > base and index < #SUFFIXES do
      before, v, index = v, v / base, index + 1
    end
    if index == 0 then
      return ("%d"):format(math.floor(v))
    end
    if before / base < 10 then
      return ("%.1f%s"):format(v, SUFFIXES[index])
    end
    return ("%d%s"):format(math.floor(v), SUFFIXES[index])
  end
end

local function value_of(row, name)
  local field = FIELDS[name]
  if not row.k then
    return nil
  elseif not field[2] then
    local part, whole = value_of(row, field[3][1]), value_of(row, field[3][2])
    return part and whole and (whole > 0 and 100 * part / whole or 0)
  end
  local sum
  for _, statistic in ipairs(field[3]) do
    local value
    if field.now then
      value = row.k:now():get(statistic)
    else
      value = row.k:rate(statistic)
    end
    if not value then
      return nil
    end
    sum = (sum or 0) + value
  end
  return sum
end

local function chosen(options)
  return options.fields or options.extended and EXTENDED or DEFAULT
end

local function columns(options)
  if options.list then
    return { { "field", width = 8 }, { "", "about", key = "about", width = 1, align = "left" } }
  end
  local list = {}
  for name in chosen(options):gmatch("[^,]+") do
    local field = FIELDS[name]
    list[#list + 1] = name == "time" and { "time", width = 8, align = "right", data = false } or {
      name, function(row) return value_of(row, name) end, width = field[1], align = "right", about = field[4],
      format = options.raw and "%.0f" or pretty(field[2] or 101),
    }
  end
  return list
end

local function all_fields()
  local rows = {}
  for name, field in pairs(FIELDS) do
    rows[#rows + 1] = { field = name, about = field[4] }
  end
  table.sort(rows, function(a, b) return a.field < b.field end)
  return rows
end

local function rows(d, now, _, options)
  if options.list then
    return all_fields()
  end
  local k = d:lookup("zfs", 0, "arcstats")
  if not k then
    running.warn("there is no zfs:0:arcstats (is ZFS loaded?)")
  end
  return { { time = now:date("%H:%M:%S"), k = k } }
end

return kstat.report({
  optional = true,
  name = "arcstat", about = "The cache of ZFS.", columns = columns, rows = rows, gap = "  ", repeat_header = 20,
  options = {
    { "f", "fields", arg = "FIELD,...", help = "these columns (" .. DEFAULT .. ")" },
    { "x", "extended", help = "the columns " .. EXTENDED },
    { "l", "list", help = "what columns there are" }, { "p", "raw", help = "numbers as they are, without K, M, G" },
  },
  operands = false,
  note = "Linux: from the ZFS module's own kstats; what its version does not count (rmis of late), and everything " ..
    "where\nZFS is not loaded, is \"-\".",
  check = function(options)
    local seen = {}
    for name in chosen(options):gmatch("[^,]+") do
      if name ~= "time" and not FIELDS[name] then
        return require("kstat.base.unknown").line("there is no field", name, FIELDS) .. " (-l lists them)"
      elseif seen[name] then
        return ("the field '%s' is named twice"):format(name)
      end
      seen[name] = true
    end
    if next(seen) == nil then
      return "no fields are named (-l lists them)"
    elseif options.list then
      options.interval, options.count = nil, nil
    end
    return nil
  end,
  select = arcstats,
})
