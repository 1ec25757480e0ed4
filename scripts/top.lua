--- top: what is wrong, who causes it, and since when: a screen of views, now and at any moment that was recorded.
--
-- Without a terminal that a screen needs it prints frames, and with -j and similar options rows. The report of a script
-- is a view, too: this one is what draws `kstatlua SCRIPT --watch`, see kstat.report.
-- SPDX-License-Identifier: MIT
local asked = require("kstat.base.past")
local clock = require("kstat.command.clock")
local core = require("kstat.core")
local kstat = require("kstat")
local opening = require("kstat.command.opening")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local order = require("kstat.top.order")
local output = require("kstat.command.output")
local running = require("kstat.base.running")
local top = require("kstat.top")

local OWN = {
  { "b", "batch", help = "frames as plain text, at most as large as the window, or $COLUMNS by $LINES" },
  { nil, "view", arg = "NAME", help = "the view to begin with, or its number",
    values = { "resources", "processes", "cgroups", "disks", "statistics", "published" } },
  { "f", "filter", arg = "TEXT", help = "only rows with TEXT in them, or that match /regular expression/" },
  operands = "view",
}
local ABOUT = { name = "top", about = "What is wrong, who causes it, and since when; h lists the keys.",
  operands = "selector|script [arguments]" }
local ANY = "statistics" -- the view that takes selectors
-- Views whose rows have texts that change, which are no labels of metrics; and what has metrics of the same.
local TEXTS = { resources = "'kstatlua use --openmetrics' its metrics",
  processes = "'kstat -o openmetrics process' its metrics", disks = "'kstat -o openmetrics -c disk' its metrics",
  cgroups = "'kstat -o openmetrics -c cgroup' its metrics" }

local wrong = running.refusal("kstatlua top --help")

local function copy_of(x)
  local copy = setmetatable({}, getmetatable(x))
  for field, value in pairs(x) do
    copy[field] = value
  end
  return copy
end

-- --- what is shown ----------------------------------------------------------------------------------

-- The past that a screen begins in, at the time that the command line names; nil: what comes through a pipe, or a file
-- that has no two samples, can only be shown in its order.
local function open_past(given)
  local source, past, message, errname = asked.source(given), nil, nil, nil
  source.at, source.interval, source.step = asked.at(given) or given.from, nil, given.interval ~= 1 and given.interval
  local capture = source.capture or asked.named("capture")
  if capture ~= "-" then
    past, message, errname = require("kstat.top.past").open(source)
  end
  if past or capture and not source.at then
    return past
  end
  local status = opening.not_opened(given, errname)
  message = message or "what comes through a pipe has no way back"
  return status == 2 and wrong(message) or running.stop(status, message)
end

-- Shows views: on a screen, or where there is none as frames. what: `views`, `view`, `filter`, `batch`, `about`,
-- `selectors`.
local function show(what, given)
  local chains, status = {}, nil
  local function add(ks)
    if ks and what.selectors and not chains[1] then
      running.missing(operand.unmatched(ks, what.selectors, given), #what.selectors)
    end
    chains[#chains + 1] = ks
  end
  function what.open(only, published)
    local ks, message, code = opening.open(given, only, published)
    status = code
    add(ks)
    return ks, message
  end
  what.interval, what.count, what.color = given.interval, given.count, given.color
  local run = top.run
  what.is_replay = asked.is_named(given)
  if what.batch or not top.possible() then
    what.remembered = nil
    run = require("kstat.top.batch").run
    what.count, what.interval, what.step = not given.interval and 1 or given.count, given.interval or 1, given.interval
  elseif what.is_replay then
    what.past, what.only_past = open_past(given), given.replay ~= nil or asked.is_named({})
    add(what.past and what.past.chain)
    if not what.only_past then -- the screen goes from there to now
      given = copy_of(given)
      given.at, given.from, given.to, given.host = nil, nil, nil, nil
    end
  end
  what.host = given.host or (what.only_past or what.is_replay and not what.past) and "replay" or nil
  local ok, message = run(what)
  if what.remembered then
    local saved, why = what.remembered:save()
    if not saved then
      running.warn("what was chosen is not kept: " .. why)
    end
  end
  local bad = 0
  for _, ks in ipairs(chains) do
    running.warnings(ks) -- those that nobody could see below the screen
    bad = run ~= top.run and core.chain_methods.damaged(ks) and 3 or bad
  end
  return ok and bad or status == 2 and wrong(message) or running.stop(status or 3, message)
end

-- --- reports of scripts -----------------------------------------------------------------------------

local NONE = {} -- raised where a script goes on as no report does

-- The reports that a script returns, before it does anything else.
local function reports_of(name, script, words)
  local unpack, read, every = table.unpack or unpack, options.read, kstat.every
  local function is_none() error(NONE, 0) end
  arg = { [0] = name, unpack(words) } -- luacheck: globals arg
  options.read, kstat.every = is_none, is_none
  local ok, result = xpcall(script, function(problem)
    return type(problem) == "string" and not core.failed(problem) and debug.traceback(problem, 2) or problem
  end, unpack(words))
  options.read, kstat.every = read, every
  if not ok and result ~= NONE then
    return type(result) == "string" and running.stop(1, result) or error(result, 0)
  end
  local list = ok and type(result) == "table" and (result.rows_of and { result } or result) or {}
  for _, report in ipairs(list) do
    list = type(report) == "table" and report.rows_of and list or {}
  end
  return list[1] and list or running.stop(2, ("'%s' is no view: its script returns no kstat.report"):format(name))
end

-- The exit status is the one without a screen: 1 if no row had a name that was asked for.
local function show_reports(list, given, what)
  what.views = { require("kstat.top.watch").view(list, given) }
  local status, missing = show(what, given[1]), true
  for _, report in ipairs(list) do
    missing = missing and report.filters and not report.found
  end
  return status == 0 and missing and 1 or status
end

-- The number of the first operand, if that is a script; what the words before it say; and the script.
local function find_script(declared, words)
  local before = {}
  for i, word in ipairs(words) do
    before[i] = word
    local given = options.read(declared, before)
    if given and (given.help or #given.operands == 1) then
      local script, message = require("kstat.host").script(not given.help and word or "")
      if message then
        wrong(message)
      end
      return script and i, given, script
    end
  end
end

local function show_script(name, script, words, before)
  local list, given = reports_of(name, script, words), {}
  local what = { filter = before.filter, batch = before.batch }
  for i, report in ipairs(list) do
    local help
    given[i], help = report:read(words)
    if help then
      running.show(help)
    end
    for _, option in ipairs({ "replay", "at", "from", "to", "host", "machine", "trust" }) do
      given[i][option] = given[i][option] or before[option]
    end
    given[i].color = given[i].color ~= "auto" and given[i].color or before.color
  end
  return list[1]:guard(function() return show_reports(list, given, what) end)
end

-- --- views ------------------------------------------------------------------------------------------

-- The view of a name or a number.
local function find_view(views, name)
  local names = {}
  for i, view in ipairs(views) do
    if name == view.name or name == view.label or tonumber(name) == i then
      return view
    end
    names[i] = view.name
  end
  wrong(("there is no view '%s', but: %s"):format(name, table.concat(names, ", ")))
end

-- A view whose reports get options of the command line.
local function with_options(view, given)
  local copy, sections = copy_of(view), {}
  for i, report in ipairs(view.sections) do
    local own = options.read(report.declared, {})
    own.skip_idle, own.top, own.operands = given.skip_idle, given.top, view.name == ANY and given.operands or {}
    sections[i] = { report = report, given = own }
  end
  copy.sections = sections
  return copy
end

-- What --sort says of a view's first table.
local function sort_of(view, sort)
  local wanted, titles, report = sort:gsub("^%-", ""):lower(), {}, view.sections[1].report
  for i, column in ipairs(report.columns or report.make_columns({ screen = {} })) do
    titles[i] = column.title or column[1]
    if titles[i]:lower() == wanted then
      return { sort = titles[i], up = sort:find("^%-") ~= nil }
    end
  end
  return nil, ("the view '%s' has no column '%s' to sort by, but: %s"):format(view.name, sort,
    table.concat(titles, ", "))
end

-- The view to begin with: the one that is named, or the first that has what --sort names.
local function first_view(views, given)
  local named = given.view or #given.operands > 0 and ANY
  for _, view in ipairs(not named and given.sort and views or {}) do
    if sort_of(with_options(view, given), given.sort) then
      return view
    end
  end
  return find_view(views, named or views[1].name)
end

local function show_views(given)
  local views, list = require("kstat.top.views"), {}
  local first, about = first_view(views, given), nil
  for i, view in ipairs(views) do
    list[i] = with_options(view, given)
    first = first == view and list[i] or first
  end
  if given.sort then
    local message
    about, message = sort_of(first, given.sort)
    about = about or wrong(message)
  end
  local remembered = require("kstat.top.remembered")
  return show({ views = list, view = first.name, filter = given.filter, batch = given.batch,
    remembered = remembered.open(remembered.place()),
    selectors = first.name == ANY and given.selectors or nil, -- the chains of other views are without what they name
    about = about }, given)
end

-- The rows of a view's first table, for programs: of whole intervals, and with all that it shows of rows.
local function print_view(given)
  local view = with_options(find_view(require("kstat.top.views"), given.view or ANY), given)
  local report = view.sections[1].report
  local message = report:check_options(given)
  if message then
    wrong(message)
  elseif given.openmetrics and TEXTS[view.name] then
    wrong(("--openmetrics: texts of the view '%s' change; -j and --csv have it, and %s"):format(view.name,
      TEXTS[view.name]))
  elseif view.name == ANY then
    return report:show(given) -- which are known without an interval, too
  elseif given.operands[1] then
    wrong(("'%s': the view '%s' takes no selectors, as '%s' does"):format(given.operands[1], view.name, ANY))
  end
  given.screen = { live = not asked.is_named(given), all = true, width = 80, height = 1e9, lines = 1e9 }
  local shown, passes = copy_of(report), order.filter(given.filter or "")
  shown.skip_first, shown.selectors = true, report:selected(given)
  function shown.rows(d, now, prev, of)
    given.screen.time = clock.seconds(now)
    local rows = {}
    for _, row in ipairs(report.rows(d, now, prev, of)) do
      if report.complete then
        report.complete(row, of)
      end
      rows[#rows + 1] = passes(shown, row) and row or nil
    end
    return rows
  end
  return shown:show(given)
end

-- --- the command ------------------------------------------------------------------------------------

local function read(declared)
  local given, message = options.read(declared, arg)
  if not given then
    wrong(message)
  elseif given.help then
    running.show(options.help(declared, ABOUT))
  end
  local _, problem = order.wanted(given.filter or "")
  if problem then
    wrong(problem)
  end
  given.selectors = operand.selectors(given.operands, "; 'kstatlua top --help' explains")
  return given
end

local function main()
  local declared = options.declare(OWN, "top")
  local at, given, script = find_script(declared, arg)
  if at then
    local words = { (table.unpack or unpack)(arg, at + 1) }
    return show_script(arg[at], script, words, given)
  end
  given = read(declared)
  local data = output.format(given)
  if given.summary and not data then
    wrong("--summary: there is none of a screen; -j and --csv have one")
  end
  return (data and print_view or show_views)(given)
end

local report, given = ...
if type(report) == "table" then -- which runs already
  return show_reports({ report }, { given }, {})
end
return running.run("top", main)
