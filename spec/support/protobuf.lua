-- Protocol buffers, decoded by protoc and descriptions in spec/support/*.proto.
local assert = require("luassert")
local run = require("support.run")

local M = {}

-- What Prometheus says that it wants, with native histograms.
M.ACCEPT = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
  .. "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

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

-- The same of an answer that curl gets, whose media type has to be right; options: of curl.
function M.fetch(url, options)
  local path = os.tmpname()
  local r = run.shell(("curl -s -g -m 60 %s -o %s -w '%%{content_type}' -H %s %s"):format(options or "", path,
    run.quote("Accept: " .. M.ACCEPT), run.quote(url)))
  local bytes = run.read_file(path)
  os.remove(path)
  assert.equal((M.ACCEPT:match("^[^,]*"):gsub(";", "; ")), r.out)
  return M.families(bytes)
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

-- All samples as the classic format has them: name and labels -> value. Of histograms the buckets, counts and known
-- sums.
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
          local own = le == 1 / 0 and 'le="+Inf"' or ('le="%.15g"'):format(le)
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

local VALUES = { ["+Inf"] = 1 / 0, ["-Inf"] = -1 / 0 }

-- The same of a text in the classic format.
local function samples_of_text(text)
  local samples, n = {}, 0
  for name, labels, value in ("\n" .. text):gmatch("\n([%w_]+)(%b{}) ([^ \n]+)%f[\n]") do
    labels = labels:gsub('([,{])le="([%d.e+-]+)"', function(c, le) return ('%sle="%.15g"'):format(c, le) end)
    samples[name .. labels], n = VALUES[value] or tonumber(value), n + 1
  end
  return samples, n
end

-- Fails unless messages have the families, series and values of a classic text. Returns the families.
function M.check_same(bytes, text)
  local families = M.families(bytes)
  local samples, n = M.samples(families)
  local expected, count = samples_of_text(text)
  for key, value in pairs(expected) do
    assert.equal(("%.14g"):format(value), ("%.14g"):format(samples[key] or 0 / 0), key)
  end
  assert.equal(count, n)
  text = "\n" .. text
  for _, family in ipairs(families) do
    local name, kind = family.name[1], family.type[1]:lower()
    local help = text:match("\n# HELP " .. name .. " ([^\n]*)")
    assert.equal(help, (family.help[1]:gsub("\\", "\\\\"):gsub("\n", "\\n")), name)
    assert.truthy(text:find(("\n# TYPE %s %s\n"):format(name, kind), 1, true) or kind == "gauge", name)
    assert.truthy(not family.unit or name:find("_" .. family.unit[1], 1, true), name)
  end
  return families
end

-- The buckets of a native histogram: index -> count.
function M.buckets(histogram)
  local buckets, index, n, count = {}, 0, 0, 0
  for _, span in ipairs(histogram.positive_span or {}) do
    index = index + span.offset[1]
    for _ = 1, span.length[1] do
      n = n + 1
      count = count + histogram.positive_delta[n]
      buckets[index], index = count, index + 1
    end
  end
  assert.equal(n, #(histogram.positive_delta or {}))
  return buckets
end

return M
