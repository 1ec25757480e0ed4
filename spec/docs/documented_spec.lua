-- Every function of the Lua module has a comment, from which its definition for editors is made, with what it takes and
-- returns; and no definition is of a function that there is not.
local core = require("kstat.core")
local kstat = require("kstat")
local run = require("support.run")

-- Words of which one says in which unit a number is, or that it counts something.
local UNITS = { "seconds", "nanoseconds", "milliseconds", "bytes", "kilobytes", "percent", "per second", "ticks",
  "how many", "number", "numbers", "columns", "lines", "rows", "values", "characters", "samples", "scale", "range",
  "process", "multiplied", "mean length", "transactions", "count", "order", "unit", "buckets", "blobs", "power" }

-- The fields of the definitions: { name = as "class.field", type =, text = }.
local fields = {}

-- Whether one of the words stands in a text.
local function says_unit(text)
  for _, word in ipairs(UNITS) do
    if text:find("%f[%w]" .. word .. "%f[%W]") then
      return true
    end
  end
  return false
end

-- Splits what is behind the name of a field: the type, which has blanks in brackets and behind colons alone, and the
-- text.
local function read_field(class, line)
  local name, rest = line:match("^%-%-%-@field (%S+) (.*)$")
  local depth, at = 0, 1
  while at <= #rest and not (depth == 0 and rest:find("^ ", at) and not rest:find("^[:,]", at - 1)) do
    local c = rest:sub(at, at)
    depth = depth + (c:find("[<({[]") and 1 or c:find("[>)}%]]") and -1 or 0)
    at = at + 1
  end
  fields[#fields + 1] = { name = class .. "." .. name, type = rest:sub(1, at - 1), text = rest:sub(at + 1) }
end

-- The definitions: by class { name = { text = what it is for, typed = whether each parameter has a type } }.
local classes, parents = {}, {}

local function read_definitions(path)
  local class, text, types = nil, "", {}
  for line in run.read_file(path):gmatch("[^\n]+") do
    local name, parent = line:match("^%-%-%-@class ([%w_.]+):? ?([%w_.]*)")
    local method, parameters = line:match("^function [%w_]+[.:]([%w_]+)%(([^)]*)%) end$")
    if name then
      class, text = name, ""
      classes[class], parents[class] = classes[class] or {}, parent ~= "" and parent or parents[class]
    elseif method then
      local typed = true
      for parameter in parameters:gmatch("[^, ]+") do
        typed = typed and types[parameter] ~= nil
      end
      classes[class][method] = { text = text, typed = typed }
      text, types = "", {}
    elseif line:find("^%-%-%-@field") then
      read_field(class, line)
    elseif line:find("^%-%-%-@param") then
      types[line:match("@param ([%w_.]+)")] = line:match("@param [%w_.]+%?? (%S+)")
    else
      text = text .. (line:match("^%-%-%-(%u.*)") or "")
    end
  end
end

for path in run.shell("ls " .. run.build .. "/definitions/*.d.lua").out:gmatch("[^\n]+") do
  read_definitions(path)
end

-- The definitions of a class and of those that it extends.
local function definitions_of(class)
  local all = {}
  while class do
    for name, parameters in pairs(assert(classes[class], class)) do
      all[name] = parameters
    end
    class = parents[class]
  end
  return all
end

-- The functions of an object: its own, and those of its class.
local function functions_of(...)
  local all = {}
  for i = 1, select("#", ...) do
    for name, value in pairs((select(i, ...))) do
      if type(value) == "function" and type(name) == "string" and not name:find("^_") then
        all[name] = value
      end
    end
  end
  return all
end

local function object(x)
  local index = debug.getmetatable(x).__index
  local i, name, value = 0, nil, nil
  while type(index) == "function" and name ~= "methods" do -- a function that looks into its table of methods
    i = i + 1
    name, value = debug.getupvalue(index, i)
  end
  return functions_of(type(x) == "table" and x or {}, value or index)
end

-- What the modules use of each other, and what is there on LuaJIT alone.
local INTERNAL = { ["kstat.aggregation"] = { nest = true },
  ["kstat.stats.blob"] = { copy = true, failed = true, rows = true, text = true },
  ["kstat.selector"] = { capture = true, group = true }, ["kstat.devstat"] = { selection = true },
  ["kstat.published.blob"] = { bytes = true } }

local function all_classes()
  local stats = kstat.stats
  local template = assert(stats.template("documented"))
  assert(template:add_voi(0, "rtt", "u64", { stats.sum() }))
  local path = os.tmpname()
  os.remove(path)
  local recording = assert(kstat.recording.open(path))
  recording:close()
  os.remove(path)
  local pub = assert(kstat.publish("documented"))
  local named = pub:named({ name = "named", statistics = { "x" } })
  local timers = pub:timer({ name = "timers", timers = { "t" } })
  local ks = assert(kstat.open("spec/vectors/kstat/host.jsonl"))
  local sample = assert(ks:sample())
  local reader = assert(kstat.devstat.open("spec/vectors/kstat/host.jsonl"))
  local list = {
    ["kstat"] = functions_of(kstat, { report = kstat.report.new, aggregate = kstat.aggregate.new,
      format = kstat.format, publish = kstat.publish }),
    ["kstat.chain"] = object(ks), ["kstat.sample"] = object(sample), ["kstat.difference"] = object(sample - sample),
    ["kstat.kstat"] = functions_of(core.kstat_methods),
    ["kstat.selector"] = object(assert(kstat.selector("a"))),
    ["kstat.aggregation"] = object(kstat.aggregate("sum")),
    ["kstat.report"] = { run = kstat.report.run },
    ["kstat.picture"] = functions_of(kstat.picture),
    ["kstat.picture.heatmap"] = object(kstat.picture.heatmap({ rows = { "a" } })),
    ["kstat.recording"] = functions_of(kstat.recording), ["kstat.recording.writer"] = object(recording),
    ["kstat.io"] = functions_of(kstat.io), ["kstat.histogram"] = functions_of(kstat.histogram),
    ["kstat.stats"] = functions_of(stats), ["kstat.stats.template"] = object(template),
    ["kstat.stats.blob"] = object(template:blob()),
    ["kstat.devstat"] = functions_of(kstat.devstat), ["kstat.devstat.reader"] = object(reader),
    ["kstat.devstat.history"] = object(kstat.devstat.history()),
    ["kstat.pub"] = object(pub),
    ["kstat.published.named"] = object(named), ["kstat.counter"] = object(named:counter("x")),
    ["kstat.published.io"] = object(pub:io({ name = "io" })),
    ["kstat.published.timers"] = object(timers), ["kstat.timer"] = object(timers:timer("t")),
    ["kstat.published.intr"] = object(pub:intr({ name = "intr" })),
    ["kstat.published.histogram"] = object(pub:histogram({ name = "h", type = "log2", range_max = 10 })),
    ["kstat.published.blob"] = object(pub:blob({ name = "blob", template = template })),
  }
  reader:close()
  ks:close()
  pub:close()
  return list
end

describe("the documentation", function()
  for class, functions in pairs(all_classes()) do
    it("has every function of " .. class, function()
      local definitions = definitions_of(class)
      for name in pairs(functions) do
        if not (INTERNAL[class] or {})[name] then
          assert.truthy(definitions[name], class .. " " .. name .. " has no definition")
          assert.truthy(definitions[name].text ~= "", class .. " " .. name .. " is not documented")
          assert.truthy(definitions[name].typed, class .. " " .. name .. " has a parameter without a type")
        end
      end
      for name in pairs(definitions) do
        assert.truthy(functions[name] or name == "pin" or name == "selection",
          class .. " " .. name .. " is defined, and not there")
      end
    end)
  end

  it("says of every field what it is, and of numbers in which unit", function()
    local wrong = {}
    for _, field in ipairs(fields) do
      local is_number = field.type:find("^number") or field.type:find("^integer")
      if not field.text:find("%a%a") or is_number and not says_unit(field.text) then
        wrong[#wrong + 1] = ("%s %s: %s"):format(field.name, field.type, field.text)
      end
    end
    assert.is_true(#fields > 300)
    assert.equal("", table.concat(wrong, "\n"))
  end)

  it("names each function of the module in the reference", function()
    local text = run.read_file("doc/scripting-reference.md")
    local count = 0
    for prefix, functions in pairs({ kstat = kstat, ks = core.chain_meta.methods, now = core.sample_meta.methods,
      d = core.difference_meta.methods, k = core.kstat_methods }) do
      for name, value in pairs(functions) do
        if type(value) == "function" and not name:find("^_") then
          count = count + 1
          local of_all = core.chain_meta.methods[name] and core.difference_meta.methods[name] and prefix ~= "kstat"
          local call = (of_all and "x" or prefix) .. (prefix == "kstat" and "." or ":") .. name .. "("
          assert.truthy(text:find(call, 1, true), call .. ") is not named")
        end
      end
    end
    assert.is_true(count > 30)
  end)
end)
