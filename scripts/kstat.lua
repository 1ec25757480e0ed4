--- kstat: displays kernel statistics, as the command of Solaris and illumos does; see kstat(1).
-- Exit status: 0 something matched, 1 nothing did, 2 the command line was wrong, 3 fatal.
-- SPDX-License-Identifier: MIT
-- The parts of the module, as far as they are needed: a single report is made before the whole of it
-- would be loaded.
local clock = require("kstat.command.clock")
local core = require("kstat.core")
local opening = require("kstat.command.opening")
local past = require("kstat.base.past")
local reader = require("kstat.base.options")
local running = require("kstat.base.running")
local split = require("kstat.base.options.interval").split
local tick = require("kstat.command.tick")
local chain = core.chain_methods

local PROGRAM = (arg[0]:match("[^/]*$"):gsub("%.lua$", ""))
local SYNOPSIS = "[-Cdjlpqv] [--rate] [-a aggregation] [-T d|u] [-r file] [-c class] "
local USAGE = ([==[
usage: NAME SYNOPSIS[-m module] [-i instance] [-n name]
             [-s statistic] [interval [count]]
       NAME SYNOPSIS
             [module[:instance[:name[:statistic]]] ...] [interval [count]]

  -p  parseable lines        -C  the same with a colon before the value
  -l  names only             -j  JSON (CSV: --csv of a report, as of kstatlua mpstat)
  -q  only the exit status   -d  describe the statistics: kind, unit, meaning
  -o prometheus, -o openmetrics   metrics, in base units
  --output FILE   with -o: each report replaces FILE once it is complete (-: standard output)
  -v  on standard error, what was read and what could not be, and who publishes
  --args          with -o: the command lines of processes, too, which may hold secrets
  --machine       the machine's kstats alone, nobody's who publishes
  --trust USER,…  of published ones root's, your own and those of these users
  -T  time before each report: d as a date, u in seconds since 1970
  --rate  counters as their change per second, since creation in the first report
  -a  reduce what matches: 'sum(rate(nread)) by (module)', 'top 5 sum(x) by (name)', 'quantize(x)';
      repeat it for more than one
  -r  read a recording, a directory of them or a capture (what -j printed, gzip or plain; -: standard input)
  --from TIME, --to TIME   what was recorded between: 14:32, yesterday 3:12, -3h, 2026-11-21 14:05
  --at TIME       the one interval that ends then
  --host NAME     of recordings of several machines, those of this one
  -h, --help  this           --version  the version
  --gc  remove what killed processes published, and name it

A kstat2 URI (kstat:/class/module/instance/name) is an operand, too.

class, module, instance, name and statistic: a glob, or a /Perl regular expression/.
]==]):gsub("NAME SYNOPSIS", PROGRAM .. " " .. SYNOPSIS)

local function wrong(message, ...)
  message = require("kstat.base.text").shorten(message:format(...), 160)
  local usage = (" usage: %s [options] [module:instance:name:statistic ...] [interval [count]];"):format(PROGRAM)
  running.stop(2, ("%s;%s %s -h explains"):format(message, #message + #usage < 170 and usage or "", PROGRAM))
end

-- --- the command line ---------------------------------------------------------------------

local OPTIONS = reader.command({
  { "h", "help", also = "?", final = true }, { nil, "version", final = true },
  { nil, "gc", final = true }, { nil, "rate" }, { nil, "args" },
  { "T", "T", long = false, arg = "d|u", type = "timestamp" },
  { "a", "a", long = false, arg = "", repeated = true }, { nil, "output", arg = "FILE" },
  { "m", "m", long = false, arg = "MODULE" }, { "i", "i", long = false, arg = "INSTANCE" },
  { "n", "n", long = false, arg = "NAME" }, { "s", "s", long = false, arg = "STATISTIC" },
  { "c", "c", long = false, arg = "CLASS" },
  { "o", "o", long = false, arg = "prometheus|openmetrics" }, operands = "selector",
}, reader.past, reader.whose, reader.letters("Cdjlpqv", ""))

local EXPOSITIONS = { prometheus = true, openmetrics = true }

local function remove_dead()
  local removed, message = core.publish.gc()
  for _, path in ipairs(removed or running.stop(3, message)) do
    running.write(path, "\n")
  end
  running.flush()
end

local function check_together(options, operands)
  for _, letter in ipairs({ "C", "j", "l", "p", "d" }) do
    if options.q and options[letter] then
      wrong("-q and -%s cannot be used together", letter)
    elseif options.d and options[letter] and letter ~= "d" then
      wrong("-d and -%s cannot be used together", letter)
    end
  end
  for _, letter in ipairs({ "C", "j", "l", "p", "d", "q", "a", "T", "rate" }) do
    if options.o and options[letter] then
      wrong("-o and %s%s cannot be used together", #letter > 1 and "--" or "-", letter)
    end
  end
  if options.o and not EXPOSITIONS[options.o] then
    wrong("-o: 'prometheus' or 'openmetrics' expected, not '%s'; --output names a file", options.o)
  end
  if options.output and not options.o then
    wrong("--output goes with -o prometheus or -o openmetrics")
  elseif options.args and not options.o then
    wrong("--args goes with -o; other forms show command lines where they are named: -c process_args")
  end
  if options.output == "-" then
    options.output = nil
  end
  if options.d and (options.a or options.rate) then
    wrong("-d and %s cannot be used together", options.a and "-a" or "--rate")
  end
  for _, letter in ipairs({ "m", "i", "n", "s" }) do
    if options[letter] and #operands > 0 then
      wrong("-%s cannot be used together with the operand '%s'", letter, operands[1])
    end
  end
end

-- --- selecting ----------------------------------------------------------------------------

local function compile(options, operands)
  local class = options.c
  if #operands == 0 then
    if class == "" then
      class = "/\\A\\z/" -- kstats without a class
    end
    local selector, message = core.selector({ module = options.m, instance = options.i,
      name = options.n, statistic = options.s, class = class })
    return { selector or wrong("%s", message) }
  end
  local selectors = {}
  for i, text in ipairs(operands) do
    local selector, message = core.selector_of(text, class)
    selectors[i] = selector or wrong("'%s': %s", text, message)
  end
  return selectors
end

-- True if published kstats match what names a class of the machine, too: they are shown with their publisher. A result
-- of -a that does not say it is the machine's then.
local function says_whose(options, aggregations)
  for _, aggregation in ipairs(aggregations) do
    for _, column in ipairs(aggregation.columns) do
      if column.header == "publisher" then
        return true
      end
    end
  end
  return not options.a or options.trust ~= nil
end

local function compile_aggregations(options)
  local list = {}
  for i, text in ipairs(options.a or {}) do
    local aggregation, message = require("kstat").aggregate(text)
    list[i] = aggregation or wrong("-a: %s", message)
    for _, source in ipairs(aggregation.sources) do -- every number is that of now unless --rate says otherwise
      source.now, source.rate = true, source.rate or options.rate and not source.expression
    end
    aggregation.differs = aggregation.differs or options.rate
  end
  return list
end

-- The selectors of what is read, with those of the kstats that have facts of others which aggregations name.
local function with_facts(selectors, aggregations)
  local list = { (table.unpack or unpack)(selectors) }
  for _, aggregation in ipairs(aggregations) do
    for _, class in ipairs(require("kstat.figures.expression").classes_of_facts(aggregation.names)) do
      for _, selector in ipairs(selectors) do
        local fields = selector:fields()
        if (fields.module .. fields.class):find("process", 1, true) then
          list[#list + 1] = core.selector({ module = "process", class = class })
          break
        end
      end
    end
  end
  return list
end

-- --- reporting ------------------------------------------------------------------------------

local function format_of(options)
  local with_class = options.p or options.l or options.C
  return options.o
    or options.d and "describe"
    or options.j and (with_class and "json_class" or "json")
    or options.l and "list"
    or options.C and "colons"
    or options.p and "parseable"
    or options.q and "quiet"
    or "human"
end

local function print_time(how, ks)
  running.write(clock.timestamp(how, chain.clock(ks)))
end

local UNKNOWN = { kind = "?", unit = "?", description = "?" }

-- Who publishes a kstat, in words.
local function publisher_of(k)
  return ("published by %s, user %d%s"):format(k.publisher, k.publisher_uid,
    k.publisher_pid and (", process %d"):format(k.publisher_pid) or "")
end

-- Prints on standard error who publishes how many of the kstats.
local function tell_publishers(ks)
  local counts, order = {}, {}
  for _, k in ipairs(core.select(ks)) do
    local line = k.publisher and publisher_of(k)
    if line and not counts[line] then
      order[#order + 1] = line
    end
    counts[line or ""] = (counts[line or ""] or 0) + 1
  end
  for _, line in ipairs(order) do
    running.tell(("%d kstats %s"):format(counts[line], line))
  end
end

local function describe(ks, selectors)
  require("kstat")
  local count = 0
  for _, selector in ipairs(selectors) do
    for k, name in ks:values(selector) do
      local meta = k:meta(name) or UNKNOWN
      count = count + 1
      running.write(("%s:%d:%s:%s\t%s\t%s\t%s%s\n"):format(k.module, k.instance, k.name, name,
        meta.kind, meta.unit ~= "" and meta.unit or "-", meta.description,
        k.publisher and "\t" .. publisher_of(k) or ""))
    end
  end
  return count
end

-- Writes metrics, which are made piece by piece. series: several samples become one exposition, which is kept.
local function expose(ks, selectors, format, output, series)
  local exposition = core.exposition(ks, selectors, format)
  local texts, count = {}, 0
  while true do
    count = math.max(count, exposition:samples())
    local text, message = exposition:step()
    if message then
      core.fail(message)
    elseif not text then
      break
    elseif output or series then
      texts[#texts + 1] = text
    else
      running.write(text)
    end
  end
  local ok, message = true, nil
  if output then
    ok, message = core.replace_file(output, table.concat(texts))
  elseif series then
    ok, message = series:add(table.concat(texts), chain.time_of_day(ks))
  end
  if not ok then
    running.stop(3, (output and "--output: " or "") .. message)
  end
  return count
end

local AGGREGATED = { json_class = "json" } -- other formats have their own names

-- Says a line once.
local function warn_once(aggregation, message)
  aggregation.told = aggregation.told or {}
  if not aggregation.told[message] then
    aggregation.told[message] = true
    running.warn_later({ "-a: " .. message })
  end
end

-- Says that nothing matches, when that begins.
local function tell_nothing(ks, selectors, options, added)
  local nothing = added == 0 and select(2, core.render(ks, selectors, "quiet")) == 0
  if nothing and not options.nothing and options.interval and not options.q then
    running.flush()
    running.tell(("-a: nothing matches%s"):format(options.selected[1] and (" '%s'"):format(
      table.concat(options.selected, "', '")) or ""))
  end
  options.nothing = nothing
end

local function aggregate(ks, selectors, options, format, aggregations, now, prev)
  local texts, count, form = {}, 0, AGGREGATED[format] or format
  for _, aggregation in ipairs(aggregations) do
    local ok, added = aggregation:add(aggregation.differs and core.difference(now, prev) or now,
      table.unpack(selectors))
    if not ok and (aggregation.problem or not aggregation.unmerged) then
      wrong("-a: %s", added)
    elseif not ok then
      warn_once(aggregation, added .. "; the second is left out") -- who else publishes does not end the command
    end
    count = count + (ok and added or 1)
    if not aggregation.by_time then -- else its periods are shown when all are over
      local text, rows = aggregation:render(form)
      texts[#texts + 1] = (rows > 0 or form == "json") and text or nil
      aggregation:clear()
    end
    if aggregation.names.undefined and not aggregation.told then
      warn_once(aggregation, aggregation.names.undefined .. " has no value")
    end
  end
  tell_nothing(ks, selectors, options, count)
  if texts[1] then
    running.write(options.written and "\n" or "")
    if options.T then
      print_time(options.T, ks)
    end
    running.write(table.concat(texts))
    options.written = true
  end
  return count
end

local function report(ks, selectors, options, format, aggregations, now, prev)
  if options.a then
    return aggregate(ks, selectors, options, format, aggregations, now, prev)
  elseif options.T then
    print_time(options.T, ks)
  end
  if options.rate then
    return running.written(core.render(core.difference(now, prev), selectors, format, io.stdout))
  elseif EXPOSITIONS[format] then
    return expose(ks, selectors, format, options.output, options.series)
  elseif format == "describe" then
    return describe(ks, selectors)
  end
  return running.written(core.render(ks, selectors, format, io.stdout))
end

-- Prints, after the first tick, the statistics in aggregations that nothing has, and the switch that a class needs.
-- A selector that nothing matches has its line on a terminal, and where the command is one bare word. Elsewhere only
-- what a word is, which switch is needed, or what the selector says by itself, is told: scripts of Solaris expect
-- silence, and no more files to be read than what they name.
local function check_names(ks, selectors, options, aggregations, matched)
  local unknown = (matched == 0 or aggregations[1]) and require("kstat.base.unknown")
  local words = table.concat(options.selected, " ")
  local word = #selectors == 1 and not words:find(":", 1, true)
  local person = core.terminal(2) ~= nil or format_of(options) == "human" and not aggregations[1] and word and
    words:find("[%w\128-\255]")
  local number = (" " .. words):find(" %d") -- perhaps an interval with a wrong unit
  if not options.q and (matched == 0 and (person or word or number) or selectors[2] and (person or number)) then
    for _, line in ipairs(require("kstat.command.operand").unmatched(ks, selectors, options)) do
      running.warn_later({ (person or line:find("^'") or line:find("; the unit of", 1, true)) and line or nil })
    end
  end
  for _, selector in ipairs(matched == 0 and (options.q or not person) and selectors or {}) do
    local switch = unknown.switch(selector:fields())
    if switch and #core.select(ks, { selector }) == 0 then
      running.warn_later({ switch })
    end
  end
  for _, aggregation in ipairs(aggregations) do
    local function missing(most)
      local kstats = core.select(ks, selectors, false, most)
      local is_derived = require("kstat.figures.expression").is_derived
      return kstats[1] and unknown.statistics(aggregation.names, kstats, is_derived) or {}
    end
    if missing(8)[1] then -- of few: most kstats have what is asked for
      running.warn_later(missing())
    end
  end
end

local function main()
  local options, problem = reader.read(OPTIONS, arg)
  if not options then
    wrong("%s", problem)
  elseif options.help or options.version then
    running.show(options.help and USAGE or ("kstat %s\n"):format(core.version))
  elseif options.gc then
    remove_dead()
    return 0
  end
  local operands, interval, count = split(options.operands)
  if not operands then
    wrong("%s", interval)
  end
  check_together(options, operands)
  local selectors = compile(options, operands)
  local format = format_of(options)
  local aggregations = compile_aggregations(options)
  local args
  if options.o then
    args = opening.args(options, selectors)
  end
  -- -v counts the whole chain; else nothing is looked at that no selector can match.
  local all = with_facts(selectors, aggregations)
  options.interval, options.count, options.selected = interval, count, operands
  local ks, message, errname = opening.reading(core.open, past.source(options, opening.whose(options, { args = args,
    everybody = says_whose(options, aggregations), only = not options.v and all or nil })))
  if not ks then
    running.stop(opening.not_opened(options, errname), message)
  end

  if options.o == "openmetrics" and interval and not options.output then
    options.series = require("kstat.command.output.series").new()
  end
  local differs = options.rate
  for _, aggregation in ipairs(aggregations) do
    differs = differs or aggregation.differs
    aggregation.clock.interval = not chain.is_replay(ks) and interval or nil
  end
  local matched, ticks = 0, 0
  local status = tick.run(ks, interval, count, function(now, prev)
    ticks = ticks + 1
    if not prev and ticks > 1 then
      prev = false -- behind a cut of the past there is no interval yet
    end
    if options.rate and not options.a and not prev and ticks > 1 then
      return
    elseif ticks > 1 and not options.output and not options.series and not options.a then
      running.write("\n")
    end
    matched = matched + report(ks, selectors, options, format, aggregations, now, prev)
    if ticks == 1 then
      check_names(ks, selectors, options, aggregations, matched)
    end
    if options.v then
      running.flush()
      running.warnings(ks)
      tell_publishers(ks)
      running.tell(("%d kstats, chain ID %d"):format(#ks, chain.chain_id(ks)))
    end
  end, (options.a or options.rate) and all or nil, { values = not differs })
  if options.series then
    options.series:write(running.write)
  end
  for _, aggregation in ipairs(aggregations) do
    running.write(aggregation.by_time and options.written and "\n" or "",
      aggregation.by_time and (aggregation:render(AGGREGATED[format] or format)) or "")
    options.written = true
  end
  running.flush()
  return status == 0 and matched == 0 and 1 or status
end

return running.run(PROGRAM, main)
