--- What a screen asks for in its last line: texts to look for, users, times, and signals.
--
-- A prompt has a `label`, a `text`, may have a `hint`, and the functions `changed`, `again`, `done` and `cancelled`,
-- which get the application and the text; what they return is left to do, as with the actions of kstat.top.actions.
-- @module kstat.top.prompts
local chain = require("kstat.read.chain")
local core = require("kstat.core")
local machine = require("kstat.base.machine")
local order = require("kstat.top.order")
local text = require("kstat.base.text")

local prompts = {}

-- --- filters and searching --------------------------------------------------------------------------

local function set_filter(app, wanted)
  app:set_filter(wanted)
  app:remember(nil, "filter", wanted ~= "" and wanted or nil)
  app:again()
end

--- Shows all rows.
-- @tparam app app
function prompts.show_all(app)
  set_filter(app, "")
end

--- Asks for a text, and shows only rows that have it.
-- @tparam app app
function prompts.filter(app)
  app.overlay = nil
  prompts.show_all(app)
  app.prompt = { label = "filter: ", text = "", changed = set_filter, cancelled = prompts.show_all,
    done = function(self)
      if self.problem then
        prompts.show_all(self)
      end
    end }
end

-- Selects the first row that has the text, from that number on.
local function find(app, wanted, from)
  local passes, problem = order.filter(wanted)
  local part = app:part()
  app.problem = problem
  for i = 0, passes and wanted ~= "" and #part.order - 1 or -1 do
    local at = (from - 1 + i) % #part.order + 1
    if passes(part, part.order[at]) then
      app:select(at)
      return
    end
  end
  app.problem = problem or wanted ~= "" and "no row has it" or nil
end

--- Asks for a text, and selects a row that has it; the same key again the next one.
-- @tparam app app
function prompts.search(app)
  if app:part().rows.ready then
    return prompts.filter(app) -- only rows around the window are there
  end
  app.overlay = nil
  app:select(app:selected_index() or 1)
  app:arrange() -- which has all rows in order now
  local from = app:selected_index() or 1
  app.prompt = { label = "search: ", text = "", hint = "F3: the next one",
    changed = function(self, wanted) find(self, wanted, from) end,
    again = function(self, wanted) find(self, wanted, (self:selected_index() or 0) + 1) end,
    cancelled = function(self) self.problem = nil end, done = function(self) self.problem = nil end }
end

--- Asks whose rows, or which row, are shown: exactly that one, and no text.
-- @string field `user` or `pid`
-- @string label
-- @treturn fun(app)
function prompts.exactly(field, label)
  return function(app)
    if not app:find_column({ field:upper() }) then
      return nil
    end
    app.prompt = { label = label, text = "", hint = "nothing: all", done = function(self, wanted)
      if field == "pid" and wanted:find("%D") then
        self.message = ("'%s' is no number of a process"):format(wanted)
        return nil
      end
      set_filter(self, wanted ~= "" and field .. "=" .. wanted or "")
      return "sample"
    end }
    return "sample"
  end
end

--- Asks for a time of the past.
-- @tparam app app
function prompts.time(app)
  app.prompt = { label = "time: ", text = "", hint = require("kstat.top.past").FORMS, done = function(_, time)
    return time ~= "" and { "to", time } or nil
  end }
end

-- --- signals ----------------------------------------------------------------------------------------

--- The process that a row is about.
-- @tparam row|nil row
-- @treturn table|nil `pid`, `crtime`, `text` (its name, PID and user); nil: it is no process
function prompts.process_of(row)
  local k = row and not row.of and row.k
  if not k or k.class ~= "process" then
    return nil
  end
  local name, uid = core.levels(k, "fname", "euid")
  return { pid = row.pid, crtime = k.crtime, text = ("%s[%.0f] of %s"):format(name or k.name, row.pid,
    machine.user_name(uid) or "?") }
end

-- Whether a process still is the one that was shown: numbers are used again.
local function is_same(process)
  local ks = chain.open({ proc = "/proc", only = { module = "process", instance = process.pid, class = "process" } })
  local k = ks and ks:lookup("process", process.pid)
  return k ~= nil and k.crtime == process.crtime
end

local function send(app, list, typed)
  local number = core.signal_number((typed:upper():gsub("^SIG", "")))
  if not number then
    app.message = ("there is no signal '%s', but such as TERM, KILL, HUP, STOP, CONT, 15"):format(typed)
    return
  end
  local failed = {}
  for _, process in ipairs(list) do
    local ok, message = core.signal(process.pid, number, function() return is_same(process) end)
    failed[#failed + 1] = not ok and process.text .. ": " .. message or nil
  end
  app.shown.marks = {}
  app.message = failed[1] and table.concat(failed, "; ") or
    ("sent %s to %s"):format(typed:upper(), #list == 1 and list[1].text or #list .. " processes")
end

-- The processes that are marked, or the selected one; nil: the message says why there is none.
local function chosen(app)
  local list = {}
  for _, process in pairs(app.shown.marks) do
    list[#list + 1] = process
  end
  table.sort(list, function(a, b) return a.pid < b.pid end)
  list[1] = list[1] or app:selected_index() and prompts.process_of(app:row())
  local given_chain = app.shown.groups[1].chain
  if app.mode == "past" or app.mode == "ended" or given_chain and given_chain:is_replay() then
    app.message = "this is the past: a signal needs a process that runs now"
  elseif not list[1] then
    app.message = "select a process first, or mark some with space"
  else
    return list
  end
end

--- Asks which signal the marked processes, or the selected one, are to get, with their names, numbers and users.
-- @tparam app app
function prompts.signal(app)
  local list = chosen(app)
  if not list then
    return
  end
  local names = {}
  for i, process in ipairs(list) do
    names[i] = text.harmless(process.text, app.utf8)
  end
  local who = (#list > 1 and #list .. " processes: " or "") .. table.concat(names, ", ")
  app.overlay = nil
  app.prompt = { text = "TERM", label = ("signal to %s, enter sends it: "):format(
    (text.cut(who, math.max(app.width - 34, 12)))), done = function(self, typed) send(self, list, typed) end }
end

-- --- keys -------------------------------------------------------------------------------------------

--- Does what a key asks for while there is a prompt.
-- @tparam app app
-- @string key
-- @return what is left to do
function prompts.typed(app, key)
  local prompt = app.prompt
  local called
  if key == "enter" then
    app.prompt, called = nil, prompt.done
  elseif key == "escape" then
    app.prompt, app.problem, called = nil, nil, prompt.cancelled
  elseif key == "f3" then
    called = prompt.again
  else
    if key == "backspace" then
      prompt.text = prompt.text:gsub("[%z\1-\127\194-\244][\128-\191]*$", "")
    elseif #key == 1 or key:byte() >= 0x80 then
      prompt.text = prompt.text .. key
    end
    called = prompt.changed
  end
  return called and called(app, prompt.text) or nil
end

return prompts
