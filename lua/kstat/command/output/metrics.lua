--- OpenMetrics text: what a report shows as one exposition.
--
-- A family of metrics is written once, with all its samples, and the text ends with `# EOF`; so all of it is written
-- at the end. Of a single report samples have no time; of several each has that of its report, in the order that
-- a reader wants, metric by metric. Texts and columns of the kind "label" are labels. A unit is the end of a
-- family's name, as the format has it: `kr_per_s` in KB/s is `kr_per_s_KB_per_s`.
-- @module kstat.command.output.metrics
local core = require("kstat.core")

local metrics = {}

local unpack = table.unpack or unpack

local WORDS = { ["%"] = "_percent_", ["/"] = "_per_" }

-- What names may hold: "kr/s" is kr_per_s, "%b" percent_b, "1/s" per_s.
local function plain(text)
  local name = text:gsub("^1/", "/"):gsub("[%%/]", WORDS):gsub("[^%w_]", "_"):gsub("__+", "_")
  return (name:gsub("^_", ""):gsub("_$", ""))
end

local function name_of(text, otherwise)
  local name = plain(text)
  name = name == "" and otherwise or name
  return name:find("^%d") and "_" .. name or name
end

-- Makes the names unique among those there were; `suffixes` are what the names go on with.
local function unique_name(taken, name, suffixes)
  local candidate, n = name, 1
  local function clashes()
    for _, suffix in ipairs(suffixes) do
      if taken[candidate .. suffix] then
        return true
      end
    end
    return false
  end
  while clashes() do
    n = n + 1
    candidate = ("%s_%d"):format(name, n)
  end
  for _, suffix in ipairs(suffixes) do
    taken[candidate .. suffix] = true
  end
  return candidate
end

local function family_of(column, i, report, taken)
  local counter = column.kind == "counter"
  local unit = column.unit and plain(column.unit) or ""
  local name = name_of(column.key, "column_" .. i)
  if counter then
    name = name:gsub("_total$", "")
  end
  name = ("kstat_%s_%s"):format(name_of(report.name, "report"), name)
  if unit ~= "" and name:sub(-#unit - 1) == "_" .. unit then
    name = name:sub(1, -#unit - 2)
  end
  local ending = unit ~= "" and "_" .. unit or ""
  local suffixes = counter and { ending, ending .. "_total", ending .. "_created" } or { ending }
  return { name = unique_name(taken, name, suffixes) .. ending, unit = unit, type = counter and "counter" or "gauge",
    about = column.about }
end

-- Label names, of the columns that may be labels: all of them, since any may show a text.
local function label_names(columns)
  local taken, names = {}, {}
  for i, column in ipairs(columns) do
    names[i] = unique_name(taken, name_of(column.key, "column_" .. i), { "" })
  end
  names.row = unique_name(taken, "row", { "" }) -- where rows have no other
  return names
end

local function labels_of(columns, names, row)
  local out = {}
  for i, column in ipairs(columns) do
    local value = row[i]
    if type(value) == "string" or value ~= nil and column.kind == "label" then
      local text = type(value) == "number" and core.tostring(value) or tostring(value)
      out[#out + 1] = names[i]
      out[#out + 1] = text
    end
  end
  return core.metric_labels(unpack(out))
end

--- Makes a sink, see kstat.command.output.
-- @tparam {table,...} columns
-- @func write
-- @tparam table report
-- @treturn sink
function metrics.sink(columns, write, report)
  local taken, families, names = {}, {}, label_names(columns)
  for i, column in ipairs(columns) do
    families[i] = column.kind ~= "label" and family_of(column, i, report, taken) or nil
  end
  local metrics_by_labels, list = {}, {} -- a metric: its labels, and each of its rows with the time
  local reports, last = 0, nil

  -- Times never go back in an exposition, though a clock may be set back: then time goes on from the last one.
  local function time_of(tick)
    local back = last and tick.time < last
    last = back and last + math.max(tick.elapsed, 0) or tick.time
    return last
  end

  -- Rows with the same labels as an earlier one are numbered.
  local function add(row, labels, seen, time)
    seen[labels] = (seen[labels] or 0) + 1
    if seen[labels] > 1 then
      local row_label = core.metric_labels(names.row, tostring(seen[labels]))
      labels = labels == "" and row_label or labels .. "," .. row_label
    end
    local metric = metrics_by_labels[labels]
    if not metric then
      metric = { labels }
      metrics_by_labels[labels] = metric
      list[#list + 1] = metric
    end
    if metric[#metric] ~= time then -- a capture may say the same time twice
      metric[#metric + 1] = row
      metric[#metric + 1] = time
    end
  end

  -- Writes all families, piece by piece; is_whole: with the end that a whole text has.
  local function write_all(is_whole)
    local w = core.metrics("openmetrics")
    for i = 1, #columns do
      local family = families[i]
      if family then
        w:family(family.name, family.type, family.about, family.unit)
      end
      for _, metric in ipairs(family and list or {}) do
        for k = 2, #metric, 2 do
          local value = metric[k][i]
          if type(value) == "number" and value - value == 0 and (family.type == "gauge" or value >= 0) then
            w:add(metric[1], value, nil, nil, reports > 1 and metric[k + 1] or nil)
          end
        end
      end
      write(w:text())
    end
    write(w:text(is_whole))
  end

  return {
    show = function(rows, tick)
      reports = reports + 1
      local time, seen = time_of(tick), {}
      for _, row in ipairs(rows) do
        add(row, labels_of(columns, names, row), seen, time)
      end
    end,
    broken = function() write_all(false) end,
    finish = function() write_all(true) end,
  }
end

return metrics
