--- How `kstatlua diff` looks.
-- @module kstat.diff.output
-- SPDX-License-Identifier: MIT
local core = require("kstat.core")
local culprits = require("kstat.use.culprits")
local stdout = require("kstat.base.stdout")
local text = require("kstat.base.text")

local output = {}
local figure = text.number

local MOST = 2 -- kstats that moved with a row
local MOST_OTHERS = 5 -- of those that are no share of the machine
local MOST_NEWS = 5 -- names of processes
local DAY = 86400

local function bytes(value)
  local size = math.abs(value)
  return (size >= 1000 and size < 99999.5 and ("%.1fk"):format(value / 1000) or figure(value)) .. "B"
end

-- A figure with its unit: durations of a counter are shares of time, and of the kernel's fractions people want the
-- whole.
local function amount(row, value)
  if row.statistic == "wlentime" or row.statistic == "rlentime" then
    return figure(value) .. " requests" -- the mean length of a queue
  elseif row.unit == "s" then
    return row.counter and text.percent(100 * value) .. "%" or text.duration(value)
  end
  local per, unit = row.unit:match("^1/(%d+) ?(.*)$")
  value, unit = value / (tonumber(per) or 1), unit or row.unit
  if unit == "%" then
    return text.percent(value) .. "%"
  end
  local shown = unit == "bytes" and bytes(value) or figure(value) .. (unit ~= "" and " " .. unit or "")
  return shown .. (row.counter and "/s" or "")
end

-- What a distribution was in both spans: one row.
local function distributions(row)
  local spans = {}
  for i, one in ipairs(row.summaries) do
    local unit = { unit = one.unit }
    spans[i] = ("%s/s, p50 %s, p99 %s"):format(figure(one.count), one.p50 and amount(unit, one.p50) or "-",
      one.p99 and amount(unit, one.p99) or "-")
  end
  return table.concat(spans, " -> ")
end

local function change_of(row)
  if row.summaries then
    return distributions(row)
  end
  local growth = row.window - row.base
  local is_level = row.unit == "bytes" and not row.counter
  local grown = is_level and growth > 0 and row.base > 0 and " (+" .. amount(row, growth) .. ")" or ""
  return ("%s  %s -> %s%s"):format(row.statistic, amount(row, row.base), amount(row, row.window), grown)
end

-- A kstat as people call it.
local function title(row)
  if row.is_cause then
    local life = row.life or { n = row.event and row.event.n or 0 }
    if life.n == 1 and life.pid then
      return ("%s[%d]"):format(row.kstat_name, life.pid)
    end
    return row.kstat_name .. (life.n > 1 and (" (%d processes)"):format(life.n) or "")
  elseif row.is_derived then
    return row.title
  elseif row.module == "process" then
    return culprits.name({ name = row.kstat_name, instance = row.instance })
  end
  return ("%s:%d:%s"):format(row.module, row.instance, row.kstat_name)
end

-- The rows that are shown below a leader, and how many more there are: of each kstat the heaviest one, and of a
-- distribution one.
local function company(leader, all)
  local seen, list, more = {}, {}, 0
  local function id(row) return row.distribution or all and row.name or row.subject end
  seen[id(leader)] = true
  for _, row in ipairs(leader.others) do
    local is_detail = row.is_other and row.module == "process"
    if not seen[id(row)] and (all or #list < MOST and not is_detail) then
      list[#list + 1] = row
    elseif not row.distribution or not seen[row.distribution] then
      more = more + 1
    end
    seen[id(row)] = true
  end
  return list, more
end

-- How times look: with the date if there is more than a day between them.
local function clock(result)
  local from = math.min(result.times[result.window[1]], result.base_times[result.base[1]])
  local to = math.max(result.times[result.window[2]], result.base_times[result.base[2]])
  local format = to - from > DAY and "%Y-%m-%d %H:%M:%S" or "%H:%M:%S"
  return function(time) return os.date(format, math.floor(time)) end, #os.date(format, 0)
end

-- Lines with times in front. What others published must not command the terminal.
local function writer(result)
  local out, width = {}, stdout.window()
  local show, columns = clock(result)
  local indent = columns + 2
  return out, function(at, line)
    local time = at and show(result.times[at]) or ""
    line = text.harmless(line, true)
    line = width and text.wrap(line, math.max(width - indent, 1), indent) or line
    out[#out + 1] = time .. (" "):rep(indent - #time) .. line .. "\n"
  end, show
end

local function span_text(times, span)
  local function date(i, format) return os.date(format, math.floor(times[i])) end
  return date(span[1], "%Y-%m-%d %H:%M:%S") .. " to " .. date(span[2], "%Y-%m-%d %H:%M:%S")
end

local VERBS = { came = "began", went = "ended", ["came and went"] = "began and ended" }

-- "came: process dd  1167 1189 and 72 more (3.6 s CPU, 38.0GB)"
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
    processes = processes + (line.process and not line.is_told and 1 or 0)
    if not line.is_told and (not line.process or processes <= MOST_NEWS) then
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

local function write_boots(result, add)
  for i = 1, result.window[2] do
    if result.cuts[i] == "boot" then
      add(i, "the machine was started again: what came and went with it is left out")
    end
  end
end

-- What became of somebody within the window, or since when it goes on.
local function life_of(row, show)
  if row.event then
    return " " .. (VERBS[row.event.what] or row.event.what)
  end
  return row.since and ", runs since " .. show(row.since) or ""
end

-- Those that lead and are shown: what a process did that is no share of the machine is only for those who want all.
local function shown(leaders, all)
  local list, others = {}, 0
  for _, leader in ipairs(leaders) do
    local is_other = leader.is_other
    others = others + (is_other and leader.module ~= "process" and 1 or 0)
    if all or not is_other or leader.module ~= "process" and others <= MOST_OTHERS then
      list[#list + 1] = leader
    end
  end
  return list
end

--- For people: the spans; who and what differs, each with what moved with it; what came, went, began anew or has
-- another text besides.
-- @tparam table result of kstat.diff.comparison
-- @tparam boolean all each row, not only those that lead
-- @treturn string
function output.text(result, all)
  local out, add, show = writer(result)
  out[1] = ("window %s\nbase   %s\n"):format(span_text(result.times, result.window),
    span_text(result.base_times, result.base))
  write_boots(result, add)
  for _, leader in ipairs(shown(result.leaders, all)) do
    add(leader.onset, ("%s%s: %s"):format(title(leader), life_of(leader, show), change_of(leader)))
    local others, more = company(leader, all)
    for _, row in ipairs(others) do
      add(nil, ("  with %s: %s"):format(title(row), change_of(row)))
    end
    if more > 0 then
      add(nil, ("  and %d more"):format(more))
    end
  end
  write_news(result, add)
  out[#out + 1] = ("%d of %d statistics differ\n"):format(result.different, result.rows)
  if not result.is_told then
    out[#out + 1] = ("%d intervals in the base and %d in the window are too few to tell a difference from chance\n")
      :format(result.blocks[1], result.blocks[2])
  end
  return table.concat(out)
end

-- --- for programs -----------------------------------------------------------------------------------

--- JSON, a line for each: `kind` is "came", "went", "came and went", "restarted", "changed" or "differs".
-- @tparam table result of kstat.diff.comparison
-- @treturn string
function output.json(result)
  local out = {}
  local function time(at) return at and result.times[at] end
  local function add(keys, ...)
    local object = { ... }
    object.keys = keys
    out[#out + 1] = core.json(object) .. "\n"
  end
  for _, line in ipairs(result.news) do
    local process = line.process
    add({ "kind", "module", "process", "n", "time", "cpu", "bytes", "memory" }, line.what, line.module, process, line.n,
      time(line.at), process and line.cpu, process and line.bytes, process and line.memory)
  end
  for _, change in ipairs(result.changed) do
    add({ "kind", "statistic", "time", "base", "window" }, "changed", change.name, time(change.at),
      change.before, change.now)
  end
  for group, leader in ipairs(result.leaders) do
    for i = 0, #leader.others do
      local row = i == 0 and leader or leader.others[i]
      add({ "kind", "statistic", "group", "time", "since", "base", "window", "unit", "rate", "p", "weight" }, "differs",
        row.name, group, time(row.onset), row.since, row.base, row.window, row.unit, row.counter, row.p,
        row.weight)
    end
  end
  return table.concat(out)
end

return output
