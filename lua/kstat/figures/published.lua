--- What processes publish, as rows: I/O queues, timers, distributions. For prtop and the screen.
--
-- How bad a queue or a timer is (`worse`) is the number of requests that are waiting or in service: what all of them
-- lose in a second, and so the product of how many come and how long each takes. A queue that is stuck, in which
-- nothing completes and whose service times are therefore 0, comes out on top as well, which %b would not tell from one
-- that is merely busy.
-- @module kstat.figures.published
local core = require("kstat.core")
local io_figures = require("kstat.io")

local published = {}

local MACHINE = { disk = true, partition = true, tape = true, nfs = true, iopath = true, zone_zfs = true,
  zone_vfs = true, kmem_cache = true }

--- Whether a process publishes a kstat. Captures do not say who published one: there every kstat counts whose class is
-- none of the machine's.
-- @tparam kstat k
-- @treturn boolean
function published.is(k)
  return k.publisher ~= nil or not MACHINE[k.class]
end

-- Begins a row.
local function new(row, k)
  row.name, row.k = tostring(k), k
  return row
end

--- Adds who published the kstat of a row.
-- @tparam row row gets `publisher`, `pid` and `uid`, which are texts; each nil if it is not known
function published.add_owner(row)
  local pid, uid = row.k.publisher_pid, row.k.publisher_uid
  row.pid, row.uid = pid and ("%d"):format(pid), uid and ("%d"):format(uid)
  row.publisher = row.k.publisher
end

--- Adds the row of an I/O queue.
-- @tparam {row,...} list
-- @tparam kstat k of a difference; of another type it has no row
function published.queues(list, k)
  local f = k.type == "io" and io_figures.rates(k)
  if f then
    list[#list + 1] = new({
      ["r/s"] = f.r_s, ["w/s"] = f.w_s, ["kr/s"] = f.kr_s, ["kw/s"] = f.kw_s, wait = f.wait, actv = f.actv,
      wsvc_t = f.wsvc_t, asvc_t = f.asvc_t, ["%w"] = f.w_pct, ["%b"] = f.b_pct, worse = f.wait + f.actv,
    }, k)
  end
end

--- Adds a row for each timer of a kstat, which holds any number of them one behind the other; their statistics have the
-- same names. Times are milliseconds.
-- @tparam {row,...} list
-- @tparam kstat k of a difference; of another type it has no row
function published.timers(list, k)
  if k.type ~= "timer" then
    return
  end
  local now = k:now():stats()
  local row
  for statistic, change in k:stats() do
    local _, value = now()
    if statistic == "name" then
      row = new({}, k)
      row.name = row.name .. ":" .. change
      list[#list + 1] = row
    elseif statistic == "num_events" then
      row.events, row["ev/s"] = change, k.elapsed > 0 and change / k.elapsed or nil
    elseif statistic == "elapsed_time" then
      row.busy = k.elapsed > 0 and change / k.elapsed or nil
      row.avg_t = row.events > 0 and 1000 * change / row.events or nil
      row.worse = row.busy or 0
    elseif statistic == "min_time" then
      row.min_t = 1000 * value
    elseif statistic == "max_time" then
      row.max_t = 1000 * value
    end
  end
end

--- Adds the row of a histogram.
-- @tparam {row,...} list
-- @tparam kstat k of a difference; what is none has no row
function published.histograms(list, k)
  local d = k.type == "named" and k:distribution()
  if d then
    local row = new({ ["n/s"] = k.elapsed > 0 and d.count / k.elapsed or nil, unit = d.unit, distribution = d }, k)
    row.p50, row.p90, row.p99 = d:quantile(0.5, 0.9, 0.99)
    row.worse = row.p99 or -1
    list[#list + 1] = row
  end
end

--- Adds rows for what a statsblob measures: the VOIs that have percentiles.
-- @tparam {row,...} list
-- @tparam kstat k of a difference; of another type it has no row
function published.blobs(list, k)
  local names = {}
  for i = 1, k.type == "raw" and core.list(k, names, {}) or 0 do
    local voi = names[i]:match("^(.*)_p99$")
    local d = voi and k:distribution(voi)
    if d then
      local row = new({ ["n/s"] = k:rate(voi .. "_count"), unit = d.unit, distribution = d, voi = voi }, k)
      row.name = row.name .. ":" .. voi
      row.p50, row.p90, row.p99 = d:quantile(0.5, 0.9, 0.99)
      list[#list + 1] = row
    end
  end
end

return published
