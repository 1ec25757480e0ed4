-- Protocol buffers, decoded by protoc and descriptions in spec/support/*.proto.
local assert = require("luassert")
local run = require("support.run")

local M = {}

M.has_decoder = run.shell("command -v protoc").status == 0

local ESCAPES = { n = "\n", r = "\r", t = "\t" }

local function text_of(quoted)
  return (quoted:gsub("\\(.)([0-7]?[0-7]?)", function(c, more)
    return c:find("[0-7]") and string.char(tonumber(c .. more, 8)) or (ESCAPES[c] or c) .. more
  end))
end

local NUMBERS = { inf = 1 / 0, ["-inf"] = -1 / 0, nan = 0 / 0 }

-- What protoc prints: of each field the list of its values, of a message a table of these.
local function parse(text)
  local root = {}
  local stack = { root }
  for line in text:gmatch("[^\n]+") do
    local name, rest = line:match("^ *([%w_]+):? (.*)$")
    local top = stack[#stack]
    if not name then
      stack[#stack] = nil
    else
      local value = rest == "{" and {} or rest:match('^"(.*)"$') and text_of(rest:match('^"(.*)"$'))
        or NUMBERS[rest] or tonumber(rest) or rest
      top[name] = top[name] or {}
      table.insert(top[name], value)
      stack[#stack + 1] = rest == "{" and value or nil
    end
  end
  return root
end

-- Decodes one message. proto: the name of the description, message: that of its type.
function M.decode(bytes, proto, message)
  local path = os.tmpname()
  run.write_file(path, bytes)
  local r = run.shell(("protoc --decode=%s -I spec/support spec/support/%s < %s"):format(message, proto, path))
  os.remove(path)
  assert.equal("", r.err)
  assert.equal(0, r.status)
  return parse(r.out)
end

-- The messages MetricFamily, each after its length.
function M.families(bytes)
  local at, parts = 1, {}
  while at <= #bytes do
    local n, times, p = 0, 1, at
    repeat
      local b = bytes:byte(p)
      n, times, p = n + b % 128 * times, times * 128, p + 1
    until b < 128
    assert.truthy(p - 1 + n <= #bytes, "a family that is cut off")
    parts[#parts + 1] = "\n" .. bytes:sub(at, p - 1 + n) -- field 1 of the message Families
    at = p + n
  end
  return M.decode(table.concat(parts), "metrics.proto", "io.prometheus.client.Families").family or {}
end

local FIELDS = { COUNTER = "counter", GAUGE = "gauge", UNTYPED = "untyped" }

-- The labels of a metric as the text formats have them.
local function labels_of(metric)
  local labels = {}
  for i, label in ipairs(metric.label or {}) do
    labels[i] = ("%s=\"%s\""):format(label.name[1], label.value[1]:gsub('[\\"\n]',
      { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }))
  end
  return table.concat(labels, ",")
end

-- All samples as the classic format has them: name and labels -> value. Of histograms the buckets, counts and known sums.
function M.samples(families)
  local samples, n = {}, 0
  local function add(name, labels, value)
    local key = name .. (labels ~= "" and "{" .. labels .. "}" or "")
    assert.is_nil(samples[key], key)
    samples[key], n = value, n + 1
  end
  for _, family in ipairs(families) do
    local name = family.name[1]
    for _, metric in ipairs(family.metric) do
      local labels, field = labels_of(metric), FIELDS[family.type[1]]
      if field then
        add(name, labels, metric[field][1].value[1])
      else
        local h = metric.histogram[1]
        for _, bucket in ipairs(h.bucket) do
          local le = bucket.upper_bound[1]
          local own = ('le="%s"'):format(le == 1 / 0 and "+Inf" or le)
          local own = ('le="%s"'):format(le == 1 / 0 and "+Inf" or le)
          add(name .. "_bucket", labels == "" and own or labels .. "," .. own, bucket.cumulative_count[1])
        end
        add(name .. "_count", labels, h.sample_count[1])
        if h.sample_sum[1] == h.sample_sum[1] then
          add(name .. "_sum", labels, h.sample_sum[1])
        end
      end
    end
  end
  return samples, n
end

return M
