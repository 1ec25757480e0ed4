-- What metrics for nginx cost that are kept in tables of each worker and summed in a shared dictionary once a second,
-- by keys that are looked up in a tree of label values. It is written after the documentation of nginx-lua-prometheus
-- and has the data path of it alone: no checks of values, no escapes, no families.
-- SPDX-License-Identifier: MIT
local M = {}

local pending = {}

local function increment(key, value)
  pending[key] = (pending[key] or 0) + value
end

-- Once a second, in each worker.
function M.start(dict)
  ngx.timer.every(1, function()
    local now = pending
    pending = {}
    for key, value in pairs(now) do
      dict:incr(key, value, 0)
    end
  end)
end

local function find(metric, values)
  local node = metric.tree
  for i = 1, #values do
    local value = values[i]
    node[value] = node[value] or {}
    node = node[value]
  end
  if not node.keys then
    node.keys = metric.make_keys(table.concat(values, ","))
  end
  return node.keys
end

local metric_meta = { __index = {
  inc = function(metric, n, values)
    increment(find(metric, values)[1], n)
  end,
  observe = function(metric, v, values)
    local keys = find(metric, values)
    increment(keys[1], 1)
    increment(keys[2], v)
    for i = #metric.buckets, 1, -1 do
      if v > metric.buckets[i] then
        break
      end
      increment(keys[2 + i], 1)
    end
    increment(keys[3 + #metric.buckets], 1)
  end,
} }

function M.counter(name)
  return setmetatable({ tree = {}, make_keys = function(labels) return { name .. labels } end }, metric_meta)
end

function M.histogram(name, buckets)
  local function make_keys(labels)
    local keys = { name .. "_count" .. labels, name .. "_sum" .. labels }
    for i, bound in ipairs(buckets) do
      keys[2 + i] = name .. "_bucket" .. labels .. bound
    end
    keys[3 + #buckets] = name .. "_bucket" .. labels .. "+Inf"
    return keys
  end
  return setmetatable({ tree = {}, buckets = buckets, make_keys = make_keys }, metric_meta)
end

--- Answers with all metrics, by their keys in order.
function M.collect(dict)
  local keys, lines = dict:get_keys(0), {}
  table.sort(keys)
  for i, key in ipairs(keys) do
    lines[i] = key .. " " .. dict:get(key) .. "\n"
  end
  ngx.print("# TYPE jobs counter\n", lines)
end

--- The same in its best form: within a function of a module.
function M.log(requests, latency)
  local var = ngx.var
  local server = var.server_name
  requests:inc(1, { server, var.status })
  latency:observe(tonumber(var.request_time), { server })
end

return M
