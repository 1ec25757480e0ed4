--- mutants.lua BUILD N SEED SINCE PATHS SPECS - what the specs would not notice: `make mutants`. In each of N lines of
-- C or Lua one token is changed. All are in one build, of a copy of the tree below BUILD/mutants, where $MUTANT
-- says which of them are on. A first run of all specs notes which specs reach which mutant. Each mutant is tried with
-- those that reach it, the quick ones first and those whose names are like its path; a spec that fails notices it if it
-- fails again with it, and passes without it. Those that are left are tried together with all other specs that reach
-- them. Prints a table by folder, and each survivor with its line and token. SINCE: a commit, whose lines since then
-- are changed; or "" for all. SPECS: files and folders of specs. SPDX-License-Identifier: MIT
package.path = "spec/mutants/?.lua;" .. package.path
local draw, write = require("draw"), require("write")

local build, n, seed, since, paths, files = arg[1], tonumber(arg[2]), tonumber(arg[3]), arg[4], arg[5], arg[6]
local WORK = build .. "/mutants"
local TREE = WORK .. "/tree"
local SECONDS = 25 -- of specs for a mutant, before those that are left are tried together
local LONGEST = 240 -- a file of specs takes, or is left out

local function sh(line)
  local p = assert(io.popen(line))
  local out = p:read("a")
  return out, p:close()
end

local function must(line)
  local out, ok = sh(line)
  assert(ok, line)
  return out
end

local function write_file(path, text)
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
end

local here = must("pwd"):gsub("\n", "")
local header = here .. "/spec/mutants/mutant.h"

-- --- drawing ----------------------------------------------------------------------------------------------------

local FLAGS = must("make -s mutant-flags"):gsub("\n", " ")

local function c_compiles(m, lines)
  local file = WORK .. "/try.c"
  for _, at in ipairs({ false, m.body and m.body + 1 }) do -- the second place is one where any statement may stand
    m.id, m.marked_at = 0, at or nil
    write_file(file, write.c(lines, { m }, header))
    local folder = m.path:match("^(.*)/")
    if os.execute(("cc -fsyntax-only -w -I%s %s %s 2>/dev/null"):format(folder, FLAGS, file)) then
      return true
    end
  end
  return false
end

local function accept(m, lines)
  if not m.is_lua then
    return c_compiles(m, lines)
  end
  local copy = table.move(lines, 1, #lines, 1, {})
  copy[m.line] = m.now
  return m.now:find("%S") and load(table.concat(copy, "\n")) ~= nil
end

-- Writes the copy of the tree and builds it.
local function make_tree(mutants)
  must(("rm -rf %s && mkdir -p %s && git ls-files -z | xargs -0 cp --parents -t %s"):format(TREE, TREE, TREE))
  local of = {}
  for _, m in ipairs(mutants) do
    of[m.path] = of[m.path] or {}
    table.insert(of[m.path], m)
  end
  for path, list in pairs(of) do
    local lines = draw.read_lines(path)
    local text = list[1].is_lua and write.lua(lines, list) or write.c(lines, list, header)
    write_file(TREE .. "/" .. path, text)
  end
  -- What was built before is as good where nothing was changed, but for times and paths.
  must(("cd %s && env -u MAKEFLAGS -u MAKELEVEL make -s -j$(nproc) BUILD=build all spec-programs >%s/make.log 2>&1"
    ):format(TREE, here .. "/" .. WORK))
end

-- --- specs ----------------------------------------------------------------------------------------------------------

-- Runs a file of specs as `make check` does; returns whether it passed, and after how many seconds.
local function run(spec, variables, limit)
  local start = must("date +%s.%N")
  local _, passed = sh(([[
    cd %s && dir=$(mktemp -d) && mkdir -m 700 $dir/kstat && chmod 1777 $dir && unset MAKEFLAGS MAKELEVEL
    env TMPDIR=$dir KSTAT_DIR=$dir/kstat KSTAT_BUILD=$PWD/build KSTAT_WAIT_MAX=30000 KSTAT_CFLAGS="-O2 -g" %s \
      timeout -k 5 %d lua5.4 $(command -v busted) --ignore-lua --no-keep-going --helper=spec/helper.lua %s \
      </dev/null >/dev/null 2>&1
    rc=$?; rm -rf $dir; exit $rc]]):format(TREE, variables, limit, spec))
  return passed or false, tonumber(must("date +%s.%N")) - tonumber(start)
end

local function in_parallel(command, names)
  write_file(WORK .. "/list", table.concat(names, "\n") .. "\n")
  local run_one = ("lua5.4 spec/mutants/mutants.lua %s %d %d '%s' '%s' '%s' %s"):format(build, n, seed, since, paths,
    files, command)
  os.execute(("xargs -a %s/list -P $((2 * $(nproc))) -n 1 -- %s"):format(WORK, run_one))
end

-- One spec, with the marks on: notes what it reaches and how long it takes.
local function mark(spec)
  local marks = ("%s/%s/marks/%s"):format(here, WORK, spec:gsub("/", ":"))
  must("mkdir -p -m 1777 " .. marks)
  local passed, seconds = run(spec, "MUTANT_MARKS=" .. marks, LONGEST)
  write_file(("%s/specs/%s"):format(WORK, (spec:gsub("/", ":"))), ("%s %.1f %s\n"):format(spec, seconds, passed))
end

-- What all of these runs found: { { spec =, seconds =, reaches = { [id] = true } } ... }.
local function read_specs()
  local specs = {}
  for line in must(("cat %s/specs/*"):format(WORK)):gmatch("[^\n]+") do
    local spec, seconds, passed = line:match("^(%S+) (%S+) (%S+)$")
    local one = { spec = spec, seconds = tonumber(seconds), passes = passed == "true", reaches = {} }
    specs[#specs + 1], specs[spec] = one, one
  end
  for spec, id in must(("cd %s/marks && find . -type f"):format(WORK)):gmatch("/([^/\n]+)/(%d+)\n") do
    specs[spec:gsub(":", "/")].reaches[tonumber(id)] = true
  end
  return specs
end

-- Words that the path of a mutant and the name of a spec share.
local function likeness(path, spec)
  local shared = 0
  for word in path:gsub("%.[cl].*$", ""):gmatch("[%a]+") do
    if #word > 2 and spec:find(word, 1, true) then
      shared = shared + 1
    end
  end
  return shared
end

-- The specs that reach a mutant, those that are likely to notice it soon first.
local function specs_of(m, specs)
  local list = {}
  for _, s in ipairs(specs) do
    if s.passes and s.reaches[m.id] then
      list[#list + 1] = { s, s.seconds - 4 * likeness(m.path, s.spec) }
    end
  end
  table.sort(list, function(a, b) return a[2] < b[2] end)
  for i, s in ipairs(list) do
    list[i] = s[1]
  end
  return list
end

local function on(ids)
  return "MUTANT=" .. table.concat(ids, ",") .. ","
end

-- True if a spec notices a mutant: it fails twice with it, and passes without.
local function notices(s, id)
  local limit = math.ceil(4 * s.seconds) + 10
  return not run(s.spec, on({ id }), limit) and not run(s.spec, on({ id }), limit) and run(s.spec, "A=", limit)
end

local function result(m, text)
  write_file(("%s/results/%d"):format(WORK, m.id), text .. "\n")
end

local function try_one(m, specs)
  local seconds, list = 0, specs_of(m, specs)
  local tried = {}
  for i, s in ipairs(list) do
    if i > 1 and seconds + s.seconds > SECONDS then
      break
    end
    seconds = seconds + s.seconds
    tried[#tried + 1] = s.spec
    if notices(s, m.id) then
      return result(m, "noticed " .. s.spec)
    end
  end
  result(m, #list == 0 and "unreached" or "left " .. table.concat(tried, " "))
end

-- Tries what is left of a mutant's specs together with others: one spec, all mutants on that it reaches.
local function try_rest(spec, mutants, specs)
  local s, left = specs[spec], {}
  for _, m in ipairs(mutants) do
    local state = draw.read_lines(("%s/results/%d"):format(WORK, m.id))[1]
    if state:find("^left") and s.reaches[m.id] and not state:find(spec, 1, true) then
      left[#left + 1] = m.id
    end
  end
  if #left == 0 or run(spec, on(left), math.ceil(4 * s.seconds) + 10) then
    return
  end
  for _, id in ipairs(left) do
    if notices(s, id) then
      result(mutants[id], "noticed " .. spec)
    end
  end
end

-- --- the report ------------------------------------------------------------------------------------------------------

local function report(mutants)
  local folders, names, all = {}, {}, { drawn = 0, noticed = 0, unreached = 0, left = 0 }
  local survivors = {}
  for _, m in ipairs(mutants) do
    local folder = m.path:match("^(.*)/")
    local state = draw.read_lines(("%s/results/%d"):format(WORK, m.id))[1]:match("^%a+")
    if not folders[folder] then
      folders[folder] = { drawn = 0, noticed = 0, unreached = 0, left = 0 }
      names[#names + 1] = folder
    end
    for _, count in ipairs({ folders[folder], all }) do
      count.drawn, count[state] = count.drawn + 1, count[state] + 1
    end
    if state ~= "noticed" then
      survivors[#survivors + 1] = ("%s:%d: '%s' to '%s'%s\n  %s"):format(m.path, m.line, m.was:sub(m.first, m.last),
        m.text, state == "unreached" and " (no spec reaches it)" or "", m.was:match("^%s*(.*)$"))
    end
  end
  table.sort(names)
  print(("%-36s %7s %8s %9s %10s"):format("folder", "mutants", "noticed", "unreached", "unnoticed"))
  local function row(name, c)
    print(("%-36s %7d %8d %9d %10d"):format(name, c.drawn, c.noticed, c.unreached, c.left))
  end
  for _, name in ipairs(names) do
    row(name, folders[name])
  end
  row("all", all)
  print(("\n%s"):format(table.concat(survivors, "\n")))
end

-- --- the order of things -----------------------------------------------------------------------------------------

local function load_mutants()
  return assert(loadfile(WORK .. "/mutants.data"))()
end

local function save_mutants(mutants)
  local out = { "return {\n" }
  for _, m in ipairs(mutants) do
    out[#out + 1] = ("{ id = %d, path = %q, line = %d, first = %d, last = %d, text = %q, was = %q },\n"):format(m.id,
      m.path, m.line, m.first, m.last, m.text, m.was)
  end
  out[#out + 1] = "}\n"
  write_file(WORK .. "/mutants.data", table.concat(out))
end

if arg[7] == "mark" then
  return mark(arg[8])
elseif arg[7] == "one" then
  return try_one(load_mutants()[tonumber(arg[8])], read_specs())
elseif arg[7] == "rest" then
  return try_rest(arg[8], load_mutants(), read_specs())
end

local function say(text, ...)
  io.stderr:write(os.date("%H:%M:%S "), text:format(...), "\n")
end

must(("rm -rf %s/marks %s/specs %s/results && mkdir -p %s/marks %s/specs %s/results"):format(WORK, WORK, WORK, WORK,
  WORK, WORK))
math.randomseed(seed)
local mutants = draw.draw(paths, since, n, accept)
save_mutants(mutants)
say("%d mutants", #mutants)
make_tree(mutants)
say("built")
local list = {}
for spec in must("git ls-files -- " .. files):gmatch("[^\n]+") do
  list[#list + 1] = spec:match("_spec%.lua$") and spec
end
in_parallel("mark", list)
local specs, ids, rest = read_specs(), {}, {}
for _, s in ipairs(specs) do
  if not s.passes then
    say("left out, since it fails or takes longer than %d s: %s", LONGEST, s.spec)
  else
    rest[#rest + 1] = s
  end
end
table.sort(rest, function(a, b) return a.seconds < b.seconds end)
for i, s in ipairs(rest) do
  rest[i] = s.spec
end
say("marked")
for id in ipairs(mutants) do
  ids[id] = tostring(id)
end
in_parallel("one", ids)
say("tried one by one")
in_parallel("rest", rest)
report(mutants)
