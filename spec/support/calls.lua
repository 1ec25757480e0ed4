-- Calls each function of the C modules with arguments of every kind, for spec/lua/calls_spec.lua.
-- What is wrong raises an error, which is as it should be; what breaks memory ends the process.
-- Usage: calls.lua SEED ROUNDS
local kstat = require("kstat")
local core = require("kstat.core")
local publish = require("kstat.publish")
local stats = require("kstat.stats")
local unpack = table.unpack or unpack -- luacheck: globals unpack
local has_http, http = pcall(require, "kstat.http")

local seed, rounds = tonumber(arg[1]), tonumber(arg[2])

local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n + 1
end

-- What waits or changes the terminal gets no number that lets it wait.
local slow = { wait = true, run = true, screen = true, terminal = true, looping = true }

-- Objects of every type, open and closed ones. What was closed or collected is made anew now and then.
local function objects()
  local ks = assert(kstat.open())
  local before, now = ks:sample(), ks:sample()
  local difference = now - before
  local closed = assert(kstat.open())
  local of_closed = closed:lookup("cpu_stat")
  local gone = closed:sample()
  closed:close()
  local pub = assert(publish.publish("calls" .. random(2)))
  local template = stats.template("calls")
  pcall(template.voi, template, "v", "int64", { "sum", "max", digest = { 20 } })
  local named = assert(pub:named({ name = "n" .. random(1000), statistics = { "a", { name = "t", type = "string" } } }))
  local deleted = assert(pub:named({ name = "d" .. random(1000), statistics = { "a" } }))
  local box = deleted.box
  deleted:delete()
  local other = assert(publish.publish("closed"))
  local segment = other.segment
  other:close()
  local file = io.tmpfile()
  file:close()
  local list = { ks, before, now, difference, closed, of_closed, gone, ks:lookup("cpu_stat"), now:lookup("cpu_stat"),
    difference:lookup("cpu_stat"), core.selector_of("cpu_stat:0"), pub.segment, named.box, box,
    segment, file, io.stdout, template.slot, core.publish.cell and 0, core.devstat.list(ks) or false,
    named.counters and named.counters.a, core.stats.update_int or false, core.exposition and 0 }
  local ok, blob = pcall(function() return template:blob() end)
  list[#list + 1] = ok and blob or nil
  if has_http then
    list[#list + 1] = http.listen("127.0.0.1:0")
  end
  if rawget(_G, "newproxy") then -- a userdata without a byte
    list[#list + 1] = newproxy(true)
  end
  return list
end

local plain = { 0, 1, -1, 2, 3, 1.5, 2 ^ 31, 2 ^ 53, -2 ^ 63, 2 ^ 64, 1e300, 1 / 0, 0 / 0, "", "x", "cpu_stat", "a",
  "\0", ("long"):rep(3000), "%s%n", "/(/", "0", "1e400", true, false, {}, { 1 }, { "x", "y" }, { a = 1 }, { {} },
  print, coroutine.create(function() end), function() return nil end, function() return {}, 1, "x" end,
  function() error("raised") end, setmetatable({}, { __index = function() error("read") end }) }
-- Closes one of the objects in the middle of a call.
local pool
local function close_one()
  local object = pool[random(#pool)]
  pcall(function() object:close() end)
  collectgarbage()
  return "cpu_stat"
end
plain[#plain + 1] = close_one
plain[#plain + 1] = setmetatable({}, { __index = close_one, __len = close_one, __tostring = close_one })
plain[#plain + 1] = setmetatable({ 1, 2 }, { __index = close_one })
local waits = { -1, 0 / 0, "x", true, {}, print }

local function argument(name)
  local kind = random(slow[name] and 8 or 10)
  if kind == 1 then
    return nil
  elseif kind <= 5 then
    return pool[random(#pool)]
  elseif slow[name] then
    return waits[random(#waits)]
  end
  return plain[random(#plain)]
end

-- Forgets about half of the objects, and uses the others: what they need must have stayed.
local function use_rest()
  for i = 1, #pool do
    if random(2) == 1 then
      pool[i] = i
    end
  end
  collectgarbage()
  collectgarbage()
  for i = 1, #pool do
    local object = pool[i]
    pcall(tostring, object)
    pcall(function() return #object end)
    pcall(core.lookup, object, "cpu_stat")
    pcall(core.numbers, object)
    pcall(core.kstat_methods.get, object, "user")
    pcall(core.devstat.read, object)
    pcall(core.publish.store, object, "t", "text")
  end
end

local count = 0

local function call(name, f)
  count = count + 1
  for _ = 1, rounds do
    local n = random(5) - 1
    local a, b, c, d = argument(name), argument(name), argument(name), argument(name)
    local results = { pcall(f, unpack({ a, b, c, d }, 1, n)) }
    for i = 2, #results do -- what a call makes is an argument of later ones
      if type(results[i]) == "userdata" or type(results[i]) == "function" then
        pool[random(#pool)] = results[i]
      elseif type(results[i]) == "table" and random(4) == 1 then -- and what it returns is the script's own
        for key in pairs(results[i]) do
          results[i][key] = nil
        end
        rawset(results[i], random(3) - 1, pool[random(#pool)])
      end
    end
  end
  use_rest()
end

local seen = {}

local function walk(t)
  seen[t] = true
  local names = {}
  for name, value in pairs(t) do
    if type(name) == "string" and (type(value) == "function" or type(value) == "table" and not seen[value]) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    if type(t[name]) == "function" then
      pool = objects()
      call(name, t[name])
      collectgarbage()
    else
      walk(t[name])
    end
  end
end

walk(core)
if has_http then
  walk(http)
  local server = http.listen("127.0.0.1:0")
  for _, name in ipairs({ "run", "close", "address", "port" }) do
    if server and type(server[name]) == "function" then
      pool = objects()
      call(name, server[name])
    end
  end
end
pool = nil
collectgarbage()
collectgarbage()
local ks = assert(kstat.open())
assert(ks:lookup("cpu_stat"):get("user"))
io.stderr:write(count, " functions\n")
