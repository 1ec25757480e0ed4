--- OpenMetrics text: what a report shows as one exposition.
--
-- A family of metrics is written once, with all its samples, and the text ends with `# EOF`; so all of it is written
-- at the end. Of a single report samples have no time; of several each has that of its report, in the order that
-- a reader wants, metric by metric. Texts and columns of the kind "label" are labels. A unit is the end of a
-- family's name, as the format has it: `kr_per_s` in KB/s is `kr_per_s_KB_per_s`.
--
-- @module kstat.output.metrics
local core = require("kstat.core")
local whole = require("kstat.text").whole

local metrics = {}

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

-- Makes names unique_name those there were; `suffixes` are what the names go on with.
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

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }

local function escaped(text)
  return (whole(text, "\239\191\189"):gsub("[\\\"\n]", ESCAPES))
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
  local family = { name = unique_name(taken, name, suffixes) .. ending, counter = counter, metrics = {},
    by_labels = {} }
  family.head = ("# TYPE %s %s\n"):format(family.name, counter and "counter" or "gauge") ..
    (unit ~= "" and ("# UNIT %s %s\n"):format(family.name, unit) or "") ..
    (column.about and ("# HELP %s %s\n"):format(family.name, escaped(column.about)) or "")
  return family
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
      out[#out + 1] = ('%s="%s"'):format(names[i], escaped(type(value) == "number" and core.tostring(value) or
        tostring(value)))
    end
  end
  return table.concat(out, ",")
end

-- The labels of each row; of rows with the same ones further ones are numbered.
local function all_labels(columns, names, rows)
  local labels, seen = {}, {}
  for r, row in ipairs(rows) do
    local text = labels_of(columns, names, row)
    seen[text] = (seen[text] or 0) + 1
    labels[r] = seen[text] == 1 and text or
      ('%s%s%s="%d"'):format(text, text ~= "" and "," or "", names.row, seen[text])
  end
  return labels
end

local function add_sample(family, labels, value, time)
  local metric = family.by_labels[labels]
  if not metric then
    metric = { labels = labels }
    family.by_labels[labels] = metric
    family.metrics[#family.metrics + 1] = metric
  end
  if metric.time ~= time then -- a capture may say the same time twice
    metric.time = time
    metric[#metric + 1] = core.tostring(value)
    metric[#metric + 1] = core.tostring(time)
  end
end

local function write_family(family, write, timed)
  if #family.metrics == 0 then
    return
  end
  write(family.head)
  for _, metric in ipairs(family.metrics) do
    local name = family.name .. (family.counter and "_total" or "") ..
      (metric.labels ~= "" and "{" .. metric.labels .. "}" or "")
    for i = 1, #metric, 2 do
      write(("%s %s%s\n"):format(name, metric[i], timed and " " .. metric[i + 1] or ""))
    end
  end
end

--- Makes a sink, see kstat.output.
-- @tparam {table,...} columns
-- @func write
-- @tparam table report
-- @treturn sink
function metrics.sink(columns, write, report)
  local taken, families, names = {}, {}, label_names(columns)
  for i, column in ipairs(columns) do
    families[i] = column.kind ~= "label" and family_of(column, i, report, taken) or nil
  end
  local reports, last = 0, nil

  -- Times never go back in an exposition, though a clock may be set back: then time goes on from the last one.
  local function time_of(tick)
    local back = last and tick.time < last
    last = back and last + math.max(tick.elapsed, 0) or tick.time
    return last
  end

  -- What there is; without the end that a whole text has.
  local function broken()
    for i = 1, #columns do
      if families[i] then
        write_family(families[i], write, reports > 1)
      end
    end
  end

  return {
    show = function(rows, tick)
      reports = reports + 1
      local time = time_of(tick)
      local labels = all_labels(columns, names, rows)
      for r, row in ipairs(rows) do
        for i = 1, #columns do
          local value = row[i]
          if families[i] and type(value) == "number" and value == value and math.abs(value) < math.huge and
            not (families[i].counter and value < 0) then
            add_sample(families[i], labels[r], value, time)
          end
        end
      end
    end,
    broken = broken,
    finish = function()
      broken()
      write("# EOF\n")
    end,
  }
end

return metrics
