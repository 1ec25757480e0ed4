-- What can be said of distributions: the greatest relative error of percentiles (p1 to p99.99) of a million values of
-- five shapes, at each scale of pub:latency, beside what the scale allows; and of each way to publish a distribution
-- the bytes that it takes, the time of an update, and the error of p50 to p99.9. Updates are timed in LuaJIT, which is
-- nearest to C. SPDX-License-Identifier: MIT
local figure = require("figure")
local kstat = require("kstat")

local VALUES = 1000000

-- Each part publishes in a process of its own: latency.lua DIR [update KIND SCALE].
local dir = arg[1]
if not dir then
  dir = figure.capture("mktemp -d /dev/shm/kstat-bench-XXXXXX"):match("%S+")
  local quoted = figure.quote(dir)
  local ok = os.execute(("KSTAT_DIR=%s lua5.4 bench/latency.lua %s"):format(quoted, quoted))
  os.execute("rm -rf " .. quoted)
  os.exit(ok and 0 or 1)
end

local function new(pub, kind, name, scale)
  if kind == "digest" then
    local template = assert(kstat.stats.template(name))
    assert(template:add_voi(0, "t", "u64", { kstat.stats.sum(), kstat.stats.tdgstclust64(100, 2) }))
    local blob = assert(pub:blob({ name = name, template = template, vois = { t = { unit = "ns" } } }))
    return function(v) return blob:update(0, v) end
  elseif kind:find("^latency") then
    local latency = assert(pub:latency({ name = name, scale = scale, dense = kind == "latency, dense" }))
    return function(v) return latency:add(v) end
  end
  local spec = kind == "log10_lin" and { type = kind, range_min = 3, range_max = 11, stepping = 10 }
    or { type = "linear", range_min = 0, range_max = 10000000, stepping = 10000 }
  spec.name, spec.meta, spec.scale, spec.fract = name, "t_rel", 1000000000, true
  local histogram = assert(pub:histogram(spec))
  return function(v) return histogram:add_value(v) end
end

if arg[2] == "update" then
  local add = new(assert(kstat.publish("bench")), arg[3], "x", tonumber(arg[4]))
  local best = math.huge
  for _ = 1, 9 do
    local start, v = kstat.hrtime(), 1000
    for i = 1, VALUES do
      v = (v * 16807 + i) % 9000000
      add(v)
    end
    best = math.min(best, kstat.hrtime() - start)
  end
  print(best / VALUES * 1e9)
  os.exit(0)
end

local function gauss()
  return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

local shapes = {
  { "uniform", function() return 1000 + math.random() * 1e6 end },
  { "lognormal", function() return math.exp(13 + 0.8 * gauss()) end },
  { "two humps", function()
    return math.random() < 0.7 and 5e4 * (1 + 0.05 * gauss()) or 4e6 * (1 + 0.1 * gauss())
  end },
  { "Pareto", function() return 1000 / (1 - math.random()) ^ (1 / 1.2) end },
  { "constant", function() return 123456 end },
}

local function values_of(shape)
  math.randomseed(7)
  local values = {}
  for i = 1, VALUES do
    values[i] = math.floor(shape[2]())
  end
  return values
end

-- The greatest relative error of quantiles, of values that are sorted.
local function error_of(distribution, sorted, quantiles)
  local worst = 0
  for _, q in ipairs(quantiles) do
    local want = sorted[math.max(1, math.ceil(q * VALUES - 1e-6))]
    worst = math.max(worst, math.abs(distribution:quantile(q) - want) / want)
  end
  return worst
end

local many = { 0.995, 0.999, 0.9995, 0.9999 }
for p = 1, 99 do
  many[#many + 1] = p / 100
end
local usual = { 0.5, 0.9, 0.99, 0.999 }

local function entry_bytes(pub)
  return tonumber(figure.capture("od -A n -t u8 -j 272 -N 8 " .. figure.quote(pub:path())))
end

local kinds = { { "latency", 5 }, { "latency, dense", 5 }, { "latency", 3 }, { "latency", 8 }, { "linear" },
  { "log10_lin" }, { "digest" } }

local function update_time(kind)
  local path = os.getenv("KSTAT_BUILD") .. "/lib/lua/5.1/?.so;;"
  local command = ("KSTAT_DIR=%s LUA_CPATH=%s luajit bench/latency.lua %s update %s %d"):format(figure.quote(dir),
    figure.quote(path), figure.quote(dir), figure.quote(kind[1]), kind[2] or 0)
  return tonumber(figure.capture(command))
end

-- `worst` has the error of each kind over all shapes, its bytes, and its time.
local function look(pub, ks, shape)
  local values = values_of(shape)
  local adds = {}
  for i, kind in ipairs(kinds) do
    local before = entry_bytes(pub)
    adds[#adds + 1] = new(pub, kind[1], shape[1] .. i, kind[2])
    kind.bytes = entry_bytes(pub) - before
  end
  for scale = 0, 8 do
    adds[#adds + 1] = new(pub, "latency", shape[1] .. "s" .. scale, scale)
  end
  for _, add in ipairs(adds) do
    for i = 1, VALUES do
      add(values[i])
    end
  end
  table.sort(values)
  ks:update()
  local function distribution(name, voi)
    return assert(assert(ks:lookup("accuracy", 0, shape[1] .. name)):distribution(voi))
  end
  for scale = 0, 8 do
    local bound = (2 ^ 2 ^ -scale - 1) / (2 ^ 2 ^ -scale + 1)
    local worst = error_of(distribution("s" .. scale), values, many)
    figure.print(("percentiles, %s, scale %d"):format(shape[1], scale), ("%.4f"):format(worst),
      ("bound %.4f"):format(bound), worst / bound, "<= 1", worst <= bound)
  end
  for i, kind in ipairs(kinds) do
    local worst = error_of(distribution(i, kind[1] == "digest" and "t" or nil), values, usual)
    kind.worst = math.max(kind.worst or 0, worst)
  end
end

local pub = assert(kstat.publish("accuracy"))
local ks = assert(kstat.open())
for _, shape in ipairs(shapes) do
  look(pub, ks, shape)
end
ks:close()
pub:close()
for _, kind in ipairs(kinds) do
  figure.print(("%s%s, %d bytes"):format(kind[1], kind[2] and ", scale " .. kind[2] or "", kind.bytes),
    ("%.1f ns"):format(update_time(kind)), ("error of p50 to p99.9: %.2g"):format(kind.worst), "-", "-")
end
