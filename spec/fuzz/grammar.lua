--- grammar.lua [SECONDS [SEED]]: fuzzes what people type: column expressions, aggregations, selectors, the command
-- lines of reports and their intervals. Each is made of a good one by random changes. Whatever comes out is compiled
-- and used, or refused with one line that says why; an error or a refusal without a line ends the program with
-- status 1, and prints the text. The same seed tries the same texts. SPDX-License-Identifier: MIT
local core = require("kstat.core")
local kstat = require("kstat")
local expression = require("kstat.figures.expression")
local options = require("kstat.base.options")
local split = require("kstat.base.options.interval").split

local SEEDS = {
  expression = { "rate(reads + writes)", "nread / 1024", "p99(svc_t)", "sum(rate(nread))", "asvc_t > 10 and busy or -1",
    "max(a, b, 3)", "(1 + 2) * -x ^ 2", "delta(wcnt) % 7", "per_tick(x)", "mean(reads) == 0", "a / sum(a) over all",
    "avg(svc_t, 60s) - svc_t ago 1m", "until(a, 0, 30m) < 3600 and not name =~ /^s/i", "share(buckets, 0.1s)",
    "rate(reads, 5m)", "trend(nread, 100ms)" },
  aggregation = { "sum by (module)", "top 5 sum(rate(nread)) by (name)", "quantize", "lquantize(0, 100, 10) by (class)",
    "avg(svc_t), max(svc_t, 60s), p99 by (module, instance)", "ewma(x, 10)", "max(sum(x) by (name)) having sum(x) > 4",
    "sum(rate(errors)) / sum(rate(get + post)) by (state)", "bottom 3 max(u) - min(u) by (name, time(60))",
    'p99(latency, 1h) by (module) where state == "on" or n >= 3 and not name =~ /x/', "x / sum(x) over all by ($1)",
    "max(sum(x), 5m) where rate(z) != 0", "until(sum(x), 1e3, 1h), distinct(state), p(x, 99.95)" },
  selector = { "unix:0:system_misc:nproc", "sd:::/^n(read|written)$/", "kstat:/disk/sd/sda/0", "*:1:??:[a-c]*", ":::",
    "/x{1,3}/i:0", "zfs:0:arcstats:hits" },
  options = { "-x -z 1 5", "--sort=-reads --csv sda 1", "-jT d 0.5 2", "-- -x 1", "--filter /a|b/ -y",
    "--timestamp d --page 3", "-h", "--nonsense", "1e3 2", "-T", "--sort" },
}
local PIECES = { "(", ")", "'", "\"", "/", ":", ",", " ", "-", "--", "=", "*", "9", "0x", "1e999", "by", "of", "rate",
  "p", "\0", "\255", "[", "]", "{", "}", "\\", "%", "nan", "over all", "^", ".", "..", "\n" }

local seconds, seed = tonumber(arg[1]) or 10, tonumber(arg[2]) or 1
math.randomseed(seed)

local function pick(list)
  return list[math.random(#list)]
end

-- A good text with up to eight changes.
local function mutate(seeds)
  local text = pick(seeds)
  for _ = 1, math.random(0, 8) do
    local at, to = math.random(0, #text), math.random(0, #text)
    local kind = math.random(5)
    if kind == 1 then
      text = text:sub(1, at) .. pick(PIECES) .. text:sub(at + 1)
    elseif kind == 2 then
      text = text:sub(1, math.min(at, to)) .. text:sub(math.max(at, to) + 1)
    elseif kind == 3 then
      text = text:sub(1, at) .. pick(seeds):sub(to + 1)
    elseif kind == 4 then
      text = text:sub(1, at) .. string.char(math.random(0, 255)) .. text:sub(at + 2)
    else
      text = text:sub(1, at) .. text:sub(math.min(at, to) + 1, math.max(at, to)):rep(math.random(3)) .. text:sub(at + 1)
    end
    text = text:sub(1, 300)
  end
  return text
end

-- A refusal must have a line.
local function refused(message)
  if type(message) ~= "string" or message == "" or message:find("attempt to ", 1, true) then
    error("refused without a line: " .. tostring(message))
  end
end

local row = setmetatable({ reads = 5, nread = 4096, a = 1, b = 2, x = 3, svc_t = 0.5, name = "sda" }, nil)
local sample = assert(kstat.open("spec/vectors/kstat/host.jsonl")):sample("cpu_stat", "sd")
local declared = options.declare({ { "x", "extended" }, { "n", "number", arg = "N", type = "number" } })

local TRY = {
  expression = function(text)
    local run = { tick = 1, first = false, seen = {}, rows = { row }, time = 1 }
    local f, message = expression.compile(text, run)
    if not f then
      return refused(message)
    end
    -- What a row lacks and what cannot be computed is a mistake of the script, with a line.
    local ok, result = pcall(f, row)
    return ok or refused(result)
  end,
  aggregation = function(text)
    local a, message = kstat.aggregate(text)
    if not a then
      return refused(message)
    end
    -- What cannot be computed of a sample is nil, or a line.
    local ok, result = pcall(a.add, a, sample)
    if not ok then
      return refused(result)
    end
    ok, result = pcall(a.render, a, "human")
    return ok or refused(result)
  end,
  selector = function(text)
    local s, message = core.selector_of(text)
    return s and tostring(s) or refused(message)
  end,
  options = function(text)
    local words = {}
    for word in text:gmatch("[^ ]+") do
      words[#words + 1] = word
    end
    local values, message = options.read(declared, words)
    if not values then
      return refused(message)
    end
    local operands, problem = split(values.operands)
    return operands or refused(problem)
  end,
}
local KINDS = { "expression", "aggregation", "selector", "options" }

local tried = {}
local ends = os.clock() + seconds
local n = 0
while n % 1000 ~= 0 or os.clock() < ends do
  local kind = KINDS[n % #KINDS + 1]
  local text = mutate(SEEDS[kind])
  local ok, message = xpcall(TRY[kind], debug.traceback, text)
  if not ok then
    io.stderr:write(("%s %q\n%s\n"):format(kind, text, message))
    os.exit(1)
  end
  n = n + 1
  tried[kind] = (tried[kind] or 0) + 1
end
print(("%d texts: %d expressions, %d aggregations, %d selectors, %d command lines"):format(n, tried.expression,
  tried.aggregation, tried.selector, tried.options))
