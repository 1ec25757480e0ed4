--- Chains: what `kstat.open` returns, beside what kstat.object describes.
-- @classmod kstat.chain
local core = require("kstat.core")
local object = require("kstat.read.object")
local past = require("kstat.base.past")
local path = require("kstat.read.path")
local sample = require("kstat.read.sample")
local selector = require("kstat.read.selector")
require("kstat.read.kstat")

local chain = {}

local SOURCE_FIELDS = { capture = "text", proc = "text", sys = "text",
  from = "time", to = "time", at = "time", interval = "number", host = "text",
  only = "selectors", published = "boolean", everybody = "boolean", machine = "boolean", trust = "users",
  args = "boolean",
  processes = "processes", threads = "processes" }

-- The field `only` as compiled selectors; nil: everything. Mistakes raise at the caller's caller.
local function only_of(given)
  if given == nil then
    return nil
  end
  return selector.list(given)
end

-- Adds selectors of the processes or threads that are meant to a list: true, or numbers and patterns for names.
local function add_processes(list, module, meant)
  for _, one in ipairs(type(meant) == "table" and meant or { meant }) do
    if one == true then
      list[#list + 1] = { module = module }
    elseif type(one) == "number" or one and one:find("^%d+$") then
      list[#list + 1] = { module = module, instance = one }
    elseif one then
      list[#list + 1] = { module = module, name = one }
      list[#list + 1] = not one:find("^/") and { module = module, name = one .. ",*" } or nil
    end
  end
end

-- The fields `processes` and `threads` as compiled selectors, with further ones; nil: there are none.
local function also_of(source, asked)
  local list = { (table.unpack or unpack)(asked or {}) }
  add_processes(list, "process", source.processes)
  add_processes(list, "thread", source.threads)
  if #list == 0 then
    return nil
  end
  return selector.list((table.unpack or unpack)(list))
end

local function is_of_processes(value)
  local kind = type(value)
  if kind == "table" then
    for _, one in ipairs(value) do
      if type(one) == "table" or not is_of_processes(one) then
        return false
      end
    end
    return true
  end
  return kind == "string" or kind == "boolean" or kind == "number" and value % 1 == 0
end

local function is_of_users(value)
  for _, user in ipairs(type(value) == "table" and value or { value }) do
    if type(user) ~= "string" and (type(user) ~= "number" or user % 1 ~= 0) then
      return false
    end
  end
  return true
end

local function check_source(source)
  for key, value in pairs(source) do
    local kind = SOURCE_FIELDS[key]
    if not kind then
      core.usage(require("kstat.base.unknown").word("unknown source field", key, SOURCE_FIELDS))
    elseif kind == "boolean" then
      if type(value) ~= "boolean" then
        core.usage(("source field '%s': boolean expected, got %s"):format(key, type(value)))
      end
    elseif kind == "processes" then
      if not is_of_processes(value) then
        core.usage(("source field '%s': true, an integer, a string or an array of them expected"):format(key))
      end
    elseif kind == "users" then
      if not is_of_users(value) then
        core.usage(("source field '%s': a user's name, a number or an array of them expected"):format(key))
      end
    elseif kind == "number" then
      if type(value) ~= "number" or not (value > 0 and value <= 2147483647) then
        core.usage(("source field '%s': seconds above 0 expected, got %s"):format(key, tostring(value)))
      end
    elseif kind ~= "selectors" and type(value) ~= "string" and (type(value) ~= "number" or kind ~= "time") then
      core.usage(("source field '%s': string expected, got %s"):format(key, type(value)))
    end
  end
  local is_past = source.capture or source.from or source.to or source.at or source.host
  if source.at and (source.from or source.to) then
    core.usage("a source is the interval that ends at a time, or bounded by times, not both")
  end
  if is_past and (source.proc or source.sys) then
    core.usage("a source is the past or directories, not both")
  end
  if source.machine and (source.published or source.trust ~= nil) then
    core.usage("machine: nobody else is heard, so that 'published' and 'trust' do not go with it")
  end
end

-- The users of the field `trust` as an array of texts.
local function users_of(trust)
  local list = trust ~= nil and {} or nil
  for i, user in ipairs(type(trust) == "table" and trust or { trust }) do
    list[i] = type(user) == "number" and ("%d"):format(user) or user
  end
  return list
end

--- What `kstat.open` opens: `capture` (?string): a file or a directory as in its string form, or several, each in a
-- line. `from` and `to` (?string|number) bound the samples, and `at` (?string|number) makes them the one interval that
-- ends then, from one sample to the next or, with `interval` (?number), of so many seconds: times in any form that
-- kstat(7) has, such as "14:32", "yesterday 3:12", "-3h" or seconds since 1970 (without them `$KSTAT_FROM`,
-- `$KSTAT_TO` and `$KSTAT_AT` do); `host` (?string): of recordings of several machines, the one that is meant. If one
-- of these is there and no `capture`, it is what was recorded of this machine. `proc` and `sys` (?string): other
-- directories in place of /proc and /sys. `only` (?spec|{spec,...}): the chain holds what any of these selectors
-- matches and looks for nothing else, which is cheaper, most so where a class is given. `published` (?boolean): true:
-- of the machine only what processes publish, false: all but that. `processes`
-- (?boolean|integer|string|{integer|string,...}): true: kstats of all processes of a Linux machine too, or of those
-- named: a PID, a glob or /regular expression/ for the names of their kstats, or an array of these; `threads`
-- (?boolean|integer|string|{integer|string,...}): the same of threads, by their own numbers and names. `args`
-- (?boolean): the command lines of processes, which may hold secrets: true: of all processes that the chain has;
-- false: of none, even where a selector names them; default: where one does.
--
-- Whose kstats these are: `machine` (?boolean): the machine's and nobody else's; `trust`
-- (?string|integer|{string|integer,...}), a user's name or number, or an array of them: of published ones those of
-- root, of oneself and of these; neither: everybody's, those of others within bounds. A selector that names a module
-- of the machine (`cpu`, `link`, `fs`), or a class of it (`disk`, `net`) and no module, selects nothing that is
-- published, so that a report about the machine is about nothing else; `everybody` (?boolean), and `published`, too: it
-- does, for those who show the publishers.
-- @table source

--- Opens a chain of kstats. Only headers are looked at; data is read when it is asked for.
-- @tparam[opt] string|source source none: the machine, or what `$KSTAT_SOURCE` names; a string: a capture (output of
-- `kstat -j`; "-": standard input), a recording, or a directory of recordings
-- @tparam[opt] {selector,...} asked compiled selectors of what is listed only for those who ask for it, such as
-- processes: the chain has what they select, too
-- @treturn chain
-- @fails "ENODATA" no sample in the time asked for, "EINVAL" that is no time, …
-- @function kstat.open
function chain.open(source, asked)
  if source == nil then
    return core.open()
  elseif type(source) == "string" then
    return core.open({ capture = source })
  elseif type(source) ~= "table" then
    core.usage("bad argument #1 to 'open' (string or table expected, got " .. type(source) .. ")")
  end
  check_source(source)
  local only, message, errname = only_of(source.only)
  if only == false then
    return nil, message, errname
  end
  local also
  also, message, errname = also_of(source, asked)
  if also == false then
    return nil, message, errname
  end
  return core.open({ capture = source.capture, from = source.from, to = source.to, at = source.at,
    interval = source.interval, host = source.host, proc = source.proc,
    sys = source.sys, published = source.published, everybody = source.everybody, machine = source.machine,
    args = source.args, trust = users_of(source.trust), only = only, also = also })
end

local MOST_MACHINES = 8 -- that a message names

-- The line that refuses a recording of several machines; nil: it is of one, or by names_hosts each row says which one
-- it is of, and --host "*" wants that. What is selected may be of one of them, and their recorders may have begun one
-- after the other: where kstats have the names of machines a second chain of all kstats reads on until there are two.
function chain.several_machines(ks, source, names_hosts)
  local names, found = {}, {}
  local function look(x)
    for k in x:each() do
      local host = k:get("host")
      if not host then
        return false
      elseif not found[host] then
        found[host] = true
        names[#names + 1] = host
      end
    end
    return true
  end
  if not ks:is_replay() or names_hosts and (source.host or past.named("host")) == "*" or not look(ks) then
    return nil
  end
  local on
  if #names < 2 and not past.is_read_once(source.capture) then
    local all = {}
    for key, value in pairs(source) do
      all[key] = key ~= "only" and value or nil
    end
    on = chain.open(all)
  end
  local more = on and look(on)
  while more and #names < 2 do
    local id = on:update(true)
    more = id and not on:ended() and (id == 0 or look(on))
  end
  if on then
    on:close()
  end
  if #names < 2 then
    return nil
  end
  table.sort(names)
  local last = #names > MOST_MACHINES and ("%d others"):format(#names - MOST_MACHINES + 1) or names[#names]
  return ("this recording is of the machines %s and %s: --host chooses one"):format(
    table.concat(names, ", ", 1, math.min(#names, MOST_MACHINES) - 1), last)
end

local methods = object.methods("chain")
for name, method in pairs(core.chain_methods) do
  methods[name] = method
end

-- A kstat that came or went.
local change = {
  __name = "kstat.change",
  __metatable = "kstat.change",
  __tostring = function(self) return ("%s:%d:%s"):format(self.module, self.instance, self.name) end,
}

--- A kstat that came or went, with tostring(): `module` (string) and `name` (string): of the kstat, `instance`
-- (integer): its number.
-- @table change

--- Brings the chain up to date, and reads again what was read. In a replay: the next sample, if there
-- is one. Tables of the path get their new values, kstat objects stay what they are.
-- @bool[opt] lazily what was read is read again when somebody asks for it, not now
-- @treturn integer the new ID of the chain, as ks:chain_id() has it; 0: no kstat came or went
-- @treturn {change,...} those that came
-- @treturn {change,...} those that are gone
-- @fails
-- @function ks:update

--- Moves a recording or a capture to the latest sample that was taken at or before a time of day, where clocks were set
-- back over it to the first one of its time; `ks:time_of_day()` says when that was. The next `ks:update()` goes on from
-- there. What is between is not read of a recording; a capture is read.
-- @number time seconds since 1970
-- @bool[opt] lazily as of ks:update()
-- @int[opt=0] back it goes to the sample so many before that one, or to the first one
-- @treturn integer as ks:update()
-- @treturn {change,...}
-- @treturn {change,...}
-- @treturn integer how many samples it went back
-- @fails "ENODATA" no sample is that old: the chain stays where it is; "EOPNOTSUPP" this is the machine; "ESPIPE" a
-- capture comes from a pipe, which cannot be read twice; "EBADMSG" the file is damaged there
-- @usage if ks:seek(ks:time_of_day() + 600) then print(os.date("%T", ks:clock())) end
-- @function ks:seek

--- Moves a recording or a capture to the sample before this one.
-- @bool[opt] lazily as of ks:update()
-- @int[opt=1] back it goes back by so many samples, or to the first one
-- @treturn integer as ks:update()
-- @treturn {change,...}
-- @treturn {change,...}
-- @treturn integer how many samples it went back
-- @fails "ENODATA" this is the first sample, and else as ks:seek()
-- @function ks:previous

for _, name in ipairs({ "update", "seek", "previous" }) do
  local move = core.chain_methods[name]
  methods[name] = function(self, ...)
    object.check(self, "chain", name)
    local id, added, deleted, back = move(self, ...)
    if id then
      for _, list in ipairs({ added, deleted }) do
        for _, one in ipairs(list) do
          setmetatable(one, change)
        end
      end
      path.update(self, added, deleted)
    end
    if back == nil then
      return id, added, deleted
    end
    return id, added, deleted, back
  end
end

--- An immutable sample, see kstat.sample.
-- @tparam spec ... selectors; none: every kstat
-- @treturn sample
-- @fails
-- @function ks:sample
function methods.sample(self, ...)
  object.check(self, "chain", "sample")
  local list, message, errname = object.selectors(self, ...)
  if list == false then
    return nil, message, errname
  end
  return sample.take(self, list)
end

local formats = { human = true, parseable = true, colons = true, list = true, json = true,
  json_class = true, quiet = true }
local expositions = { prometheus = true, openmetrics = true, protobuf = true }

--- Metrics for Prometheus, in pieces: an iterator that gives a text at each step. A step costs well below a
-- millisecond where no single kstat is large, so that a server can do other work in between. The first steps read, and
-- their texts are empty. The chain must not be updated before the last one.
--
-- A statistic is a metric `kstat_MODULE_STATISTIC_UNIT`, counters with `_total`, in base units (seconds, bytes, …);
-- module, instance, name, class and the texts of the kstat are labels.
-- @tparam metrics_format format "prometheus" (the classic text format), "openmetrics", or
-- "protobuf" (messages MetricFamily, each after its length, with native histograms);
-- `kstat.exposition_format(accept)` returns what a client wants, and its media type
-- @tparam spec ... selectors; none: everything
-- @treturn fun():?string
-- @fails
-- @raise the iterator raises what goes wrong between two steps, as io.lines does
-- @usage for text in ks:exposition("prometheus", "nginx:::") do io.write(text) end
-- @function ks:exposition
function methods.exposition(self, format, ...)
  object.check(self, "chain", "exposition")
  if not expositions[format] then
    local what = format == nil and "the format" or "unknown format"
    local line = require("kstat.base.unknown").word(what, format, expositions)
    core.usage(("bad argument #1 to 'exposition' (%s)"):format(line))
  end
  local list, message, errname = object.selectors(self, ...)
  if list == false then
    return nil, message, errname
  end
  local exposition
  exposition, message, errname = core.exposition(self, list, format)
  if not exposition then
    return nil, message, errname
  end
  return function()
    local text, problem = exposition:step()
    if problem then
      error(problem, 0)
    end
    return text
  end
end

-- The whole of an exposition.
local function render_metrics(self, list, format)
  local exposition, message, errname = core.exposition(self, list, format)
  local texts, samples = {}, 0
  while exposition do
    local text
    samples = math.max(samples, exposition:samples())
    text, message, errname = exposition:step()
    if not text then
      break
    end
    texts[#texts + 1] = text
  end
  if message then
    return nil, message, errname
  end
  return table.concat(texts), samples
end

--- The text that kstat(8) prints: reads what the selectors match and shows one selector after the
-- other; none: everything.
-- @tparam[opt] "human"|"parseable"|"colons"|"list"|"json"|"json_class"|"quiet"|metrics_format format
-- "human", "parseable" (-p), "colons" (-C), "list" (-l), "json" (-j),
-- "json_class" (-j with class in the data), "quiet" (only counts), or "prometheus", "openmetrics" or "protobuf":
-- metrics, see `ks:exposition`
-- @tparam spec ... selectors
-- @treturn string
-- @treturn integer how many statistics it shows
-- @fails
-- @usage io.write(ks:render("human", "cpu_info:0"))
-- @function ks:render
function methods.render(self, format, ...)
  object.check(self, "chain", "render")
  format = format or "parseable"
  if not formats[format] and not expositions[format] then
    local all = {}
    for _, names in ipairs({ formats, expositions }) do
      for name in pairs(names) do
        all[name] = true
      end
    end
    local line = require("kstat.base.unknown").word("unknown format", format, all)
    core.usage(("bad argument #1 to 'render' (%s)"):format(line))
  end
  local list, message, errname = object.selectors(self, ...)
  if list == false then
    return nil, message, errname
  end
  if expositions[format] then
    return render_metrics(self, list, format)
  end
  return core.render(self, list, format)
end

--- Finds one kstat, in constant time.
-- @string[opt] module nil: any
-- @int[opt] instance nil: any; so is -1, as in C, where there is none of that number
-- @string[opt] name nil: any
-- @treturn kstat the first in the chain that matches, see kstat.kstat
-- @fails "ENOENT"
-- @function x:lookup

--- Frees everything; the chain's kstats cannot be read any more. May be called twice, and is called by
-- the garbage collector and by `local ks <close>`.
-- @function ks:close

--- The ID of the chain: it changes exactly when kstats come or go.
-- @treturn integer
-- @function ks:chain_id

--- Returns lines about what could not be read, each once.
-- @treturn {string,...} those that were not returned before
-- @function ks:warnings

--- Whether this is a capture or a recording, and not the machine.
-- @treturn boolean
-- @function ks:is_replay

--- In a replay: whether the last update found no further sample.
-- @treturn boolean
-- @function ks:ended

--- Whether this sample makes no difference with the one before, because the machine was started again or slept, or
-- nothing was recorded for long in between; live: whether the last update came so late.
-- @treturn boolean
-- @treturn boolean in a replay: whether it was started again
-- @function ks:is_cut

--- Whether this is a replay of one interval (`at`): the chain has its first sample, and behind an update its last one.
-- @treturn boolean
-- @function ks:is_interval

--- In a replay: whether something was left out because it is damaged, or a regular expression was given up;
-- `ks:warnings()` says what. A recording that ends inside a sample is in order: that is how a killed recorder
-- leaves it.
-- @treturn boolean
-- @function ks:damaged

--- Time of day of what is read now: seconds since 1970 (UTC). In a replay that of the recording; one without times
-- starts at `KSTAT_REPLAY_TIME`, or else when it was opened, and goes on by its snaptimes.
-- `ks:time_of_day_ns()` gives exact nanoseconds, `ks:clock()` whole seconds as clocks show them.
-- @treturn number
-- @function ks:time_of_day
-- @also ks:time_of_day_ns ks:clock

object.install(core.chain_meta, "chain", methods, {})

return chain
