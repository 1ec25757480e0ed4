--- How an aggregation looks: for people, as lines, as JSON.
-- @module kstat.aggregate.output
local buckets = require("kstat.figures.reducers.buckets")
local core = require("kstat.core")

local output = {}

-- For people: whole numbers as they are, others with a few digits.
local function short(value)
  if value == nil then
    return "-"
  elseif type(value) ~= "number" then
    return tostring(value)
  elseif math.type and math.type(value) == "integer" then
    return core.tostring(value)
  end
  local size = math.abs(value)
  return (value % 1 == 0 and size < 1e15 and "%.0f" or size >= 0.01 and size < 1e15 and "%.3f" or "%.4g"):format(value)
end

-- --- for people ----------------------------------------------------------------------------

-- What is shown of the keys and values of a row.
local function cells(self, row, shown)
  local out, nkeys = {}, #self.columns
  for i = 1, nkeys do
    out[i] = shown(row.key[i])
  end
  for i = nkeys + 1, #self.titles do
    out[i] = shown(row.values[i - nkeys])
  end
  return out
end

-- Rows of cells under titles; texts to the left, numbers to the right.
local function grid(self, rows)
  local nkeys, texts, columns = #self.columns, { {} }, {}
  for i, title in ipairs(self.titles) do
    texts[1][i], columns[i] = title, { room = 0, align = i <= nkeys and "left" or nil }
  end
  for r, row in ipairs(rows) do
    texts[r + 1] = cells(self, row, short)
  end
  for i, column in ipairs(columns) do
    for r = 1, #texts do
      column.room = math.max(column.room, core.columns_of(texts[r][i]))
    end
  end
  local layout = core.layout(columns, "  ")
  for r = 1, #texts do
    texts[r] = core.line(layout, texts[r], "")
  end
  return table.concat(texts)
end

local MOST_COLUMNS = 500 -- of a heat map

-- The picture of a value that is a distribution; of one over time with those of earlier texts.
local function picture(column, key, value)
  if not column.heat or not buckets.is_distribution(value) then
    return tostring(value)
  end
  local past = column.heat[key] or {}
  column.heat[key] = past
  past[#past + 1] = value
  if #past > MOST_COLUMNS then
    table.remove(past, 1)
  end
  return buckets.heat(past)
end

-- A paragraph for each key: the key, what is no distribution, the distributions.
local function paragraphs(self, rows)
  local out = {}
  for _, row in ipairs(rows) do
    local head = { "  " .. tostring(row.key) }
    local plots = {}
    for i, reducer in ipairs(self.values) do
      if reducer.distribution then
        plots[#plots + 1] = picture(reducer, tostring(row.key), row.values[i])
      else
        head[#head + 1] = ("%s %s"):format(reducer.title, short(row.values[i]))
      end
    end
    if #self.columns == 0 then
      table.remove(head, 1)
    end
    out[#out + 1] = #head > 0 and table.concat(head, "  ") .. "\n" or ""
    local drawn = table.concat(plots)
    out[#out + 1] = drawn == "" and short(nil) .. "\n" or drawn
    out[#out + 1] = "\n"
  end
  return table.concat(out)
end

local function human(self, rows)
  if #rows == 0 then
    return ""
  end
  for _, reducer in ipairs(self.values) do
    if reducer.distribution then
      return paragraphs(self, rows)
    end
  end
  return grid(self, rows)
end

-- --- for programs -----------------------------------------------------------------------------

-- All digits of a bound, which is whole, also where numbers are doubles.
local function bound(value)
  return value and { digits = buckets.digits(value) }
end

-- A value as core.json() takes it: a distribution is an array of buckets, each with its bounds, nil at the open ends.
local function plain(value)
  if value == nil or type(value) == "number" then
    return value
  elseif not buckets.is_distribution(value) then
    return tostring(value)
  end
  local out = {}
  for i, bucket in ipairs(value) do
    out[i] = { bound(bucket.low), bound(bucket.high), bucket.count, n = 3 }
  end
  return out
end

-- Key columns and reducer with colons between, and the value.
local function lines(self, rows, separator)
  local out = {}
  for _, row in ipairs(rows) do
    local key = #self.columns > 0 and tostring(row.key) .. ":" or ""
    for i, reducer in ipairs(self.values) do
      local value = row.values[i]
      out[#out + 1] = key .. reducer.title ..
        (separator and separator .. (value == nil and "-" or core.json(plain(value))) or "") .. "\n"
    end
  end
  return table.concat(out)
end

local function objects(self, rows)
  local out = {}
  for r, row in ipairs(rows) do
    out[r] = cells(self, row, plain)
    out[r].keys = self.titles
  end
  return core.json(out, true)
end

output.forms = {
  human = human,
  parseable = function(self, rows) return lines(self, rows, "\t") end,
  colons = function(self, rows) return lines(self, rows, ":") end,
  list = function(self, rows) return lines(self, rows) end,
  json = objects,
  quiet = function() return "" end,
}

return output
