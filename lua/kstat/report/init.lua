--- Reports: a declaration of what to select and which columns to show; everything else is given.
--
--     return kstat.report({
--         name = "disks", about = "busy disks",
--         select = { class = "disk" },
--         columns = {
--             { "device", "name" },
--             { "r/s", "rate(reads)", unit = "1/s" },
--             { "asvc_t", unit = "ms" },
--             { "p99", "p99(asvc_t)", unit = "ms" },
--             { "%b", "b_pct", format = "%3.0f" },
--         },
--         sort = "%b",
--     })
--
-- A script that returns this is run by `kstatlua`: with interval and count, -j, --csv, --openmetrics, -r,
-- --sort, --top, -T, -y, -z and --help. doc/scripting-reference.md is the whole story, with units.
-- @module kstat.report
local clock = require("kstat.command.clock")
local core = require("kstat.core")
local declare = require("kstat.report.declare")
local evaluation = require("kstat.report.evaluation")
local mistake = require("kstat.base.mistake")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local output = require("kstat.command.output")
local running = require("kstat.base.running")
local selector = require("kstat.read.selector")
local tick = require("kstat.command.tick")

local report = { evaluate = evaluation.evaluate, rows_of = evaluation.rows_of, values_of = evaluation.values_of,
  look_for_missing = evaluation.look_for_missing }
report.__index = report

-- --- the declaration ------------------------------------------------------------------------

local function make_selectors(select)
  if select == nil then
    return nil
  end
  local list = {}
  for i, spec in ipairs(type(select) == "table" and select[1] ~= nil and select or { select }) do
    local ok, sel, message = pcall(selector.compile, spec)
    if not ok or not sel then
      mistake.raise("select: %s", ok and message or (sel:gsub("^[^ ]+:%d+: ", "")))
    end
    list[i] = sel
  end
  return list
end

local function new(given)
  local self = setmetatable(declare.report(given), report)
  self.name = self.name or "report"
  if type(self.select) ~= "function" then
    self.selectors = make_selectors(self.select)
  end
  self.declared = type(self.options) ~= "function" and options.declare(self.options, self.name) or nil
  self.state = { tick = 0, first = true } -- of a tick; and the clock of what is over time
  if type(self.columns) == "function" then
    self.make_columns, self.columns = self.columns, nil
  else
    self.columns = declare.columns(self.columns, self.state, self.by)
    local message = type(self.sort) == "string" and self:cannot_sort(self.sort)
    if message then
      mistake.raise("report: %s", message)
    elseif self.by then
      require("kstat.report.groups").prepare(self)
    end
  end
  self.filter = self.where and not self.by and declare.filter(self.where, self.state) or nil
  return self
end

--- A row: any fields of its own, the `kstat` (?kstat) of the difference, with which every figure of it is a field, too;
-- a row with `text` (?string) is that line for people, and not in the data formats; one that is `hidden` (?boolean)
-- counts as found if an operand names it, and is not shown.
-- @table row

--- A column: [1] the title, [2] what it shows: an expression (kstat.expression; default: the title) or a function(row);
-- `width` (?integer): columns of the window, `unit` (?string): a word for readers and metrics, `about` (?string): a
-- line about it, `format` (?string|fun(value:any):string): for string.format, default "%.1f" for numbers; `align`
-- (?string): "left" or "right" (default: left for the first column); `kind` (?string): "gauge" (default), "counter", or
-- "label": it names the row, as texts and the expressions module, instance, name and class do by themselves; `key`
-- (?string): its name in the data formats and for --sort, where a title is not unique; `total`
-- (?boolean|fun(values:{number,...}):any): false: it has none; `data` (?boolean): false: not in the data formats;
-- `warning` (?number): numbers from this on are yellow, `critical` (?number): numbers from this on are red (--color);
-- `state` (?fun(value:any):?string): "ok", "warning" or "critical", for the colour of texts; `whole` (?boolean): of the
-- last column: a text too long for the window goes on in the next line, and is never shortened. On a screen (kstatlua
-- top): `priority` (?integer): a number: from 2 on the column leaves a window that is too narrow, the largest first;
-- `elide` (?string): whether a text too long loses its "middle" (default) or its "end"; `hidden` (?boolean): only who
-- chooses the column sees it; `order` (?fun(row:row):any): what rows are put in order by where the column is a text of
-- it; `lazy` (?boolean): the report's `complete` fills it in, so that all rows are completed where it sorts them.
-- @table column

--- An option: [1] its letter, [2] its name in the options; `long`, `arg`, `help` and `type` (?string): "number",
-- "count" or "word"; `default` (any): its value where it is not given.
-- @table option

--- Declares a report: `kstat.report(given)`.
-- @tparam table given
--
--   * `name`, `about` (string): what --help and the data formats say; `note` (string): a further line of --help, say on
--     what is missing on which system; `command` (string): what messages begin with, if it is not the name
--   * `select` (spec|{spec,...}|fun(options:table):spec|{spec,...}): a selector or an array of them (kstat.selector):
--     all that the report looks at, `rows` included; nil: every kstat; or a function(options). With a class in each the
--     machine is read with the least work
--   * `published` (boolean|fun(options:table):?boolean): true: of the machine only what processes publish, false: all
--     but that; of a capture everything
--   * `optional` (boolean): some systems lack kstats and statistics that the report names, and no line says so
--   * `columns` ({column,...}|fun(options:table,ks:chain):{column,...}, needed): the columns; a function gives them
--     when the chain is open
--   * `rows` (fun(d:difference,now:sample,prev:?sample,options:table):{row,...}): gives the rows; default: one for each
--     selected kstat
--   * `follow` (fun(ks:chain,options:table):?string,?boolean): is called at each tick before its rows are made, to find
--     what came or went; returns lines for people, above the tick's time, and true if it counts since creation again
--   * `where` (string): an expression, as behind `where` of kstat.aggregate: only rows, with `by` only kstats, of which
--     it is not 0 count; `"rate(reads) > 0 and name =~ /^sd/"`
--   * `by` (string|{string,...}): rows are groups of kstats: the keys of kstat.aggregate. Columns that are keys name
--     the row, and the expressions of the others have reducers in them: `{ "r/s", "sum(rate(reads))" }`
--   * `sort` (string|fun(a:row,b:row):boolean): a title (descending), "-title" (ascending), or what orders rows;
--     `top` (integer): at most that many rows; `rest` (string): what a further row is called, with the sums of those
--     that `top` cut off; with `by` it is the group of all their kstats
--   * `totals` (boolean): a last line with the sums of number columns, over all rows
--   * `options` ({option,...}|fun(words:{string,...}):table): own options (kstat.base.options). A command whose
--     letters, operands and messages are those of another system reads its words itself, and returns the table of
--     options: with `operands`, `interval` and `count`, and of the standard options with those that it has, by their
--     names
--   * `operands` (string|false): what operands are called if `rows` or `columns` uses them itself, false if there are
--     none; by default they are globs or regular expressions for the names of rows: those of their kstats, and texts
--     and labels
--   * `skip_idle` (boolean): -z from the start; `skip_first` (boolean): a report has to wait for its first interval
--   * `check` (fun(options:table):?string): what is wrong with them, or nil
--
-- In the options `first` is true at the first tick; `interval`, `count` and `operands` are those of the command line.
-- In a row that has a kstat every name is a figure, as in expressions: `row.asvc_t`; and `row["rate(reads)"]`. The
-- function of a column finds the other columns under their titles first, in any row: `row["r/s"] + row["w/s"]`.
-- What a report for people looks like:
--
--   * `text` (fun(d:difference,now:sample,prev:?sample,options:table):string): gives the whole text of a tick, in place
--     of a table of rows; the report uses its operands itself then
--   * `none` (fun(rows:{row,...},options:table):?string): the line in place of rows if all that there are are hidden
--   * `heading` (string|fun(options:table):?string): a line above the titles
--   * `names_hosts` (boolean): each row says which machine it is of, so --host "*" shows a recording of several
--   * `squeeze` (boolean): a cell too wide takes its room from those that follow it (needs widths)
--   * `gap` (string): between columns, default a space; `blank` (boolean): false: no empty line between blocks of
--     several rows
--   * `repeat_header` (integer): lines between two headers where a tick has one row; default: what the terminal holds
--
-- What a report on a screen (kstatlua top, --watch) has besides; `options.screen` is then a table, see kstat.top:
--
--   * `identity` (fun(row:row):string): what the selection follows; default: the labels of the row
--   * `parent` (fun(row:row):?string): the identity of the row above it in a tree
--   * `complete` (fun(row:row,options:table)): fills in what only rows that are shown need, before their columns;
--     a command shows all of them
--   * `enter` (fun(row:row,options:table):?table): the view that the key enter opens: `view`, and `filter`, `sort`
--   * `explain` (fun(row:row,options:table):{string,...}): the lines that the key e shows
--
-- @treturn report with `run(arg)`, see there
-- @raise on a mistake in the declaration, naming the script, the column and the position
-- @function kstat.report
report.new = new

function report:column_of(title)
  for i, column in ipairs(self.columns) do
    if column.title == title or column.key == title then
      return i
    end
  end
  return nil
end

-- What is wrong with a column's title, or "-" and one; nil if nothing is.
function report:cannot_sort(sort)
  if self:column_of(sort) or self:column_of((sort:gsub("^%-", "", 1))) then
    return nil
  end
  local names = {}
  for i, column in ipairs(self.columns) do
    names[i] = column.key
  end
  return ("there is no column '%s' to sort by, but: %s"):format(sort, table.concat(names, ", "))
end

-- The selectors of a report with these options; nil: it looks at everything.
function report:selected(given)
  if type(self.select) == "function" then
    return make_selectors(self.select(given))
  end
  return self.selectors
end

-- --- failures ---------------------------------------------------------------------------------

local function usage(self, message)
  running.stop(2, message .. ("; 'kstatlua %s --help' explains"):format(self.name))
end

-- Returns the line and the status for an error in a function of the report; nil for an interrupt, which is the host's.
local function explain(problem)
  local column = evaluation.failed_column() or output.current()
  if not column and core.failed(problem) then
    return problem, select(2, core.failed(problem))
  elseif type(problem) ~= "userdata" then
    return (column and ("column '%s': "):format(column.title) or "") ..
      (mistake.message(problem) or tostring(problem)):gsub("%s*\n%s*", " "), 1
  end
end

-- --- running ----------------------------------------------------------------------------------

-- Whether the option --watch was given, and not one of that name that the report has itself.
local function is_watched(self, given)
  return given.watch and not (self.declared and not self.declared.names.watch.screen)
end

-- What is wrong with the options; nil if nothing is.
function report:check_options(given)
  local forms = {}
  for _, name in ipairs(output.formats) do
    forms[#forms + 1] = given[name] and "--" .. name or nil
  end
  if #forms > 1 then
    return table.concat(forms, " and ") .. " cannot be used together"
  elseif self.operands == false and #given.operands > 0 then
    return ("'%s': there are no operands but interval and count"):format(given.operands[1])
  end
  if is_watched(self, given) and (forms[1] or given.summary) then
    return ("--watch and %s cannot be used together"):format(given.summary and "--summary" or forms[1])
  end
  if given.summary and (given.openmetrics or self.text and not forms[1]) then
    return ("--summary: there is none with %s"):format(given.openmetrics and "--openmetrics" or
      "this text; -j and --csv have one")
  end
  return given.sort and self.columns and self:cannot_sort(given.sort) or self.check and self.check(given)
end

-- The operands as patterns; nil if there are none or the report uses them itself.
local function compile_filters(self, operands)
  if self.operands ~= nil or self.text or #operands == 0 then
    return nil
  end
  local filters, message = operand.patterns(operands)
  return filters or usage(self, message)
end

-- The sink of a report that has a text for people, and what gives that in place of rows.
local function text_sink(self, write)
  return { show = function(text) write(text) end }, function(_, d, now, prev, given)
    local text = self.text(d, now, prev, given)
    if type(text) ~= "string" then
      running.stop(1, ("text: a string expected, not %s"):format(tostring(text)))
    elseif self.unchecked then
      self:look_for_missing(d, {}, given)
    end
    return text, 0
  end
end

-- Makes the columns that are known when the chain is open.
function report:open_columns(given, ks)
  if self.make_columns then
    self.columns = declare.columns(self.make_columns(given, ks), self.state)
    local message = given.sort and self:cannot_sort(given.sort)
    if message then
      usage(self, message)
    end
  end
end

-- The sink, when columns and heading are known; and the function that makes what it shows.
function report:open_sink(form, given, ks, write)
  if self.text and form == "table" then
    return text_sink(self, write)
  end
  self:open_columns(given, ks)
  local look = { coloured = form == "table" and require("kstat.base.colour").wanted(given.color) }
  for field, value in pairs(self) do
    look[field] = value
  end
  if type(self.heading) == "function" then
    look.heading = self.heading(given)
    if look.heading ~= nil and type(look.heading) ~= "string" then
      running.stop(1, ("heading: a string expected, not %s"):format(tostring(look.heading)))
    end
  end
  local sink = output.sink(form, self.columns, write, look)
  if sink.start then
    sink.start()
  end
  return sink, self.evaluate
end

-- The interval, nil: there is one tick; how many ticks there are, nil: without end; and whether the one since creation
-- is left out: of a time that was asked for there is none.
function report:ticks(given, is_bounded)
  local interval, count = given.interval, given.interval and given.count or not given.interval and 1 or nil
  local skip = given.skip_first and count ~= 1
  if self.skip_first and not is_bounded then
    interval, skip, count = interval or 1, true, count and count + 1
  end
  return interval, count, skip
end

-- Makes the ticks. Returns the exit status.
function report:loop(ks, given, filters, write, interval, count, skip)
  local form, state = output.format(given) or "table", self.state
  local dated = form ~= "table"
  local sink, evaluate = self:open_sink(form, given, ks, write)
  local matched, first = 0, true
  local summary = given.summary and require("kstat.report.summary").new(self.columns)
  state.interval, state.now = not ks:is_replay() and interval or nil, nil
  if state.kids then
    require("kstat.figures.expression.window").clock(state)
  end
  self.unchecked, self.names = (filters or not self.optional) and "all" or nil, filters and {} or nil
  local ok, status = pcall(tick.run, ks, interval, count, function(now, prev)
    local wanted, lines, anew = prev or first and not skip
    local behind_gap = not prev and not first and (self.by or not self.rows) -- there are gauges, and no interval
    given.first, first = first, false
    if self.follow then
      lines, anew = self.follow(ks, given)
    end
    prev = not anew and prev or nil
    -- What this asks for is in every later sample, so it is asked for even if it is not shown.
    behind_gap = behind_gap and not anew
    local d = prev and now - prev or behind_gap and core.difference(now, false) or now:since_creation()
    evaluation.begin(state, now, prev)
    local rows, n, totals = evaluate(self, d, now, prev, given, filters)
    matched = matched + n
    if summary and prev then
      summary:add(rows, d.elapsed, now.time_of_day)
    end
    if wanted or behind_gap then
      if lines and not dated then
        write(lines)
      end
      if given.timestamp and not dated then
        write(clock.timestamp(given.timestamp, clock.seconds(now)))
      end
      local moment = dated and clock.moment(form, given.timestamp, now, d, not prev and not behind_gap) or {}
      moment.totals = totals
      sink.show(rows, moment)
    end
  end, nil, { step = not given.by_sample and given.interval or false, begin = function()
    return self.follow and self.follow(ks, given)
  end })
  if not ok then
    if sink.broken and core.failed(status) then
      sink.broken() -- what could be read is shown all the same
    end
    error(status, 0)
  elseif summary then
    summary:show(sink, not dated and write or nil)
  end
  if sink.finish then
    sink.finish()
  end
  if filters and matched == 0 then
    running.stop(1) -- a line said so after the first tick
  end
  return status
end

-- Reads a command line: returns the options; operands that are names of rows are in self.filters, as patterns. nil and
-- a text: help was asked for. Ends the command where the words make no sense.
function report:read(words)
  local given, message
  if self.declared then
    given, message = options.read(self.declared, words)
  else
    given, message = self.options(words)
  end
  if given and given.help then
    return nil, options.help(self.declared, self)
  end
  message = message or self:check_options(given)
  if message then
    usage(self, message)
  end
  self.filters, self.selectors = compile_filters(self, given.operands), self:selected(given)
  return given
end

-- Draws the report on a screen. The script of top, which knows both, does it: reports know no screen.
local function watch(self, given)
  local ok, host = pcall(require, "kstat.host")
  if not ok then
    usage(self, "--watch: only kstatlua has a screen")
  end
  return host.script("top")(self, given)
end

-- Shows the report, with options of read(). Returns the exit status.
function report:show(given, write)
  local published = self.published
  if type(published) == "function" then
    published = published(given)
  end
  given.names_hosts = given.names_hosts or self.names_hosts
  local ks, message, code = opening.open(given, self.selectors, published)
  if not ks and code == 2 then
    usage(self, message)
  elseif not ks then
    running.stop(code, message)
  end
  local interval, count, skip = self:ticks(given, core.bounds(ks))
  if given.openmetrics and not count and not ks:is_replay() then
    usage(self, "--openmetrics is one text, which ends: an interval needs a count")
  end
  -- Samples without a label that says so are not to be taken for those of an interval.
  skip = skip or given.openmetrics and count ~= 1
  local ok, status = pcall(self.loop, self, ks, given, self.filters, write or running.write, interval, count, skip)
  if not ok then
    running.warnings(ks)
  end
  ks:close()
  return ok and status or error(status, 0)
end

local function run(self, words, write)
  local given, help = self:read(words)
  if not given then
    write(help)
    return 0
  end
  return (is_watched(self, given) and watch or self.show)(self, given, write)
end

-- Runs a function in place of the report, which returns the exit status; what goes wrong in one of the report's is said
-- as report:run() does. Returns the exit status.
function report:guard(main)
  return running.run(self.command or self.name, main, explain)
end

--- Runs the report for a command line. What goes wrong is one line on standard error.
-- @tparam {string,...} arg
-- @tparam[opt] fun(text:string) write takes the output; default: standard output
-- @treturn int the exit status: 0, 1 a function of the report failed, or no row has a name that was asked for,
-- 2 the command line was wrong, 3 the source could not be read or the output not be written
-- @function report:run
function report:run(arg, write)
  return self:guard(function()
    local status = run(self, arg, write or running.write)
    if not write then
      running.flush()
    end
    return status
  end)
end

return setmetatable({}, {
  __index = report,
  __call = function(_, given)
    return (mistake.blame(new, given))
  end,
})
