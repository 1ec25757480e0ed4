--- What a report showed over all its intervals: --summary.
--
-- For each row, by its texts and labels, and each column: the mean, weighted by the length of the intervals; the least
-- and the greatest value; and the 99th percentile, in which each interval counts once.
-- @module kstat.report.summary
local aggregate = require("kstat.aggregate")
local is_name = require("kstat.report.evaluation").is_name

local summary = {}
summary.__index = summary

local function nothing() return nil end

--- An empty one.
-- @tparam {column,...} columns
-- @treturn summary
function summary.new(columns)
  local by = { { "row", nothing }, { "column", nothing } }
  return setmetatable({ columns = columns, rows = {}, order = {},
    values = assert(aggregate({ reduce = { "min", "max", "p99" }, by = by })) }, summary)
end

-- The row that goes on in this one: it has the same texts and labels.
local function row_of(self, values)
  local texts = {}
  for i, column in ipairs(self.columns) do
    texts[i] = is_name(column, values[i]) and tostring(values[i]) or ""
  end
  local id = table.concat(texts, "\0")
  local row = self.rows[id]
  if not row then
    row = { id = id, labels = {}, sums = {}, seconds = {} }
    for i, column in ipairs(self.columns) do
      row.labels[i] = is_name(column, values[i]) and values[i] or nil
    end
    self.rows[id], self.order[#self.order + 1] = row, row
  end
  return row
end

--- Adds an interval.
-- @tparam {{any,...},...} rows as the report shows them
-- @number elapsed seconds
-- @number time of its end
function summary:add(rows, elapsed, time)
  self.elapsed, self.time = (self.elapsed or 0) + elapsed, time
  for _, values in ipairs(rows) do
    local row = not values.text and row_of(self, values)
    for i = 1, row and #self.columns or 0 do
      local value = values[i]
      if type(value) == "number" and row.labels[i] == nil and value - value == 0 then
        row.sums[i], row.seconds[i] = (row.sums[i] or 0) + value * elapsed, (row.seconds[i] or 0) + elapsed
        self.values:add_value({ row.id, i }, value)
      end
    end
  end
end

local PARTS = { "average", "least", "greatest", "p99" }

-- The values of a row, in the order of PARTS.
local function parts_of(self, row)
  local parts = { {}, {}, {}, {} }
  for i = 1, #self.columns do
    local label = row.labels[i]
    local least, greatest, p99 = nil, nil, nil
    if row.seconds[i] then
      least, greatest, p99 = self.values:get(row.id, i)
    end
    local all = { row.seconds[i] and row.seconds[i] > 0 and row.sums[i] / row.seconds[i] or nil, least, greatest, p99 }
    for p = 1, #PARTS do
      parts[p][i] = label == nil and all[p] or label
    end
  end
  return parts
end

--- Writes it, if there was an interval: for people four tables, each below its name; in JSON objects with `summary`,
-- true, and `part`, the name; in CSV the name in place of the time.
-- @tparam sink sink of kstat.command.output
-- @tparam func|nil write takes text for people; nil: programs read it
function summary:show(sink, write)
  local made = {}
  for i, row in ipairs(self.order) do
    made[i] = parts_of(self, row)
  end
  for p, part in ipairs(self.time and PARTS or {}) do
    local rows = {}
    for i = 1, #made do
      rows[i] = made[i][p]
    end
    if write then
      write(("\n%s:\n"):format(part))
    end
    sink.show(rows, { time = self.time, elapsed = self.elapsed, first = false, part = part })
  end
end

return summary
