--- How `kstatlua diff` looks.
--
-- @module kstat.diff.output
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local culprits = require("kstat.use.culprits")
local stdout = require("kstat.stdout")
local text = require("kstat.text")

local output = {}
local figure = text.number

local MOST = 5 -- kstats that moved with a row
local MOST_NEWS = 5 -- names of processes
local INDENT = 10 -- columns of the time

-- A figure with its unit: durations of a counter are shares of time.
local function amount(row, value)
  if row.counter and row.unit == "s" then
    return ("%.1f%%"):format(100 * value)
  end
  local unit = row.unit == "bytes" and "B" or row.unit ~= "" and " " .. row.unit or ""
  return figure(value) .. unit .. (row.counter and "/s" or "")
end

local function change_of(row)
  return ("%s  %s -> %s"):format(row.statistic, amount(row, row.base), amount(row, row.window))
end

-- A kstat as people call it.
local function title(row)
  if row.module == "process" then
    return culprits.name({ name = row.kstat_name, instance = row.instance })
  end
  return ("%s:%d:%s"):format(row.module, row.instance, row.kstat_name)
end

-- The kstats of those that moved with a row, each with its heaviest statistic, and how many more rows there are.
local function company(leader)
  local seen, list = { [title(leader)] = true }, {}
  for _, row in ipairs(leader.others) do
    if not seen[title(row)] and #list < MOST then
      seen[title(row)] = true
      list[#list + 1] = row
    end
  end
  return list, #leader.others - #list
end

-- Lines with times in front. What others published must not command the terminal.
local function writer(result)
  local out, width = {}, stdout.window()
  return out, function(at, line)
    local time = at and os.date("%H:%M:%S", math.floor(result.times[at])) or ""
    line = text.harmless(line, true)
    line = width and text.wrap(line, math.max(width - INDENT, 1), INDENT) or line
    out[#out + 1] = ("%-8s  %s\n"):format(time, line)
  end
end

local function span_text(times, span)
  local function date(i, format) return os.date(format, math.floor(times[i])) end
  return date(span[1], "%Y-%m-%d %H:%M:%S") .. " to " .. date(span[2], "%Y-%m-%d %H:%M:%S")
end

-- "came process dd  1167 1189 and 72 more (3.6 s CPU, 38.0GB)"
local function news_line(line)
  local cost = {}
  cost[1] = line.cpu > 0 and ("%.1f s CPU"):format(line.cpu) or nil
  cost[#cost + 1] = line.bytes > 0 and figure(line.bytes) .. "B of I/O" or nil
  cost[#cost + 1] = line.memory > 1e8 and figure(line.memory) .. "B of memory" or nil
  return ("%s: %s %s%s"):format(line.what, line.process and "process " .. line.process or line.module, line.names,
    cost[1] and " (" .. table.concat(cost, ", ") .. ")" or "")
end

local function write_news(result, add)
  local processes = 0
  for _, line in ipairs(result.news) do
    processes = processes + (line.process and 1 or 0)
    if not line.process or processes <= MOST_NEWS then
      add(line.at, news_line(line))
    end
  end
  if processes > MOST_NEWS then
    add(nil, ("and processes of other names, which used less: %d"):format(processes - MOST_NEWS))
  end
  for _, change in ipairs(result.changed) do
    add(change.at, ("changed: %s \"%s\" -> \"%s\""):format(change.name, change.before, change.now))
  end
end

--- For people: the spans; what came, went, began anew or has another text; and the rows, each with what moved with it.
-- @tparam table result of kstat.diff.comparison
-- @tparam boolean all each row, not only those that lead
-- @treturn string
function output.text(result, all)
  local out, add = writer(result)
  out[1] = ("window %s\nbase   %s\n"):format(span_text(result.times, result.window),
    span_text(result.base_times, result.base))
  write_news(result, add)
  for _, leader in ipairs(result.leaders) do
    add(leader.onset, ("%s %s"):format(title(leader), change_of(leader)))
    local others, more = company(leader)
    if all then
      others, more = leader.others, 0
    end
    for _, row in ipairs(others) do
      add(nil, ("  with %s %s"):format(title(row), change_of(row)))
    end
    if more > 0 then
      add(nil, ("  and %d more"):format(more))
    end
  end
  out[#out + 1] = ("%d of %d statistics differ\n"):format(result.different, result.rows)
  return table.concat(out)
end

-- --- for programs -----------------------------------------------------------------------------------

local function time(result, at)
  return at and result.times[at]
end

--- JSON, a line for each: `kind` is "came", "went", "came and went", "restarted", "changed" or "differs".
-- @tparam table result of kstat.diff.comparison
-- @treturn string
function output.json(result)
  local out = {}
  local function add(keys, ...)
    local object = { ... }
    object.keys = keys
    out[#out + 1] = core.json(object) .. "\n"
  end
  for _, line in ipairs(result.news) do
    local process = line.process
    add({ "kind", "module", "process", "n", "time", "cpu", "bytes", "memory" }, line.what, line.module, process, line.n,
      time(result, line.at), process and line.cpu, process and line.bytes, process and line.memory)
  end
  for _, change in ipairs(result.changed) do
    add({ "kind", "statistic", "time", "base", "window" }, "changed", change.name, time(result, change.at),
      change.before, change.now)
  end
  for group, leader in ipairs(result.leaders) do
    for i = 0, #leader.others do
      local row = i == 0 and leader or leader.others[i]
      add({ "kind", "statistic", "group", "time", "base", "window", "unit", "rate", "p", "weight" }, "differs",
        row.name, group, time(result, row.onset), row.base, row.window, row.unit, row.counter, row.p, row.weight)
    end
  end
  return table.concat(out)
end

return output
