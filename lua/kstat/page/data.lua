--- What the page asks for, as answers of HTTP: status, media type and body.
-- @module kstat.page.data
local core = require("kstat.core")
local histogram = require("kstat.histogram")

local data = {}

local unpack = table.unpack or unpack

local function answer_json(text, message)
  if not text then
    return 503, "text/plain", message .. "\n"
  end
  return 200, "application/json", text
end

-- Names and texts as the members of an object.
local function object_of(members)
  local texts = {}
  for i = 1, #members, 2 do
    texts[#texts + 1] = core.json_string(members[i]) .. ":" .. members[i + 1]
  end
  return "{" .. table.concat(texts, ",") .. "}"
end

local quoted = core.json_string

local function header_of(k)
  return { "module", quoted(k.module), "instance", tostring(k.instance), "name", quoted(k.name) }
end

local function append(members, name, text)
  members[#members + 1] = name
  members[#members + 1] = text
end

local function array_of(texts)
  return "[" .. table.concat(texts, ",\n") .. "]\n"
end

--- The data of what selectors match, as `kstat -j` prints it.
-- @tparam chain ks
-- @tparam {selector,...} selectors none: everything
function data.values(ks, selectors)
  return answer_json(ks:render("json", unpack(selectors)))
end

--- All kstats, by their headers: an array of { module, instance, name, class, type, publisher, histogram }, the last
-- one true for histograms that processes publish.
-- @tparam chain ks
function data.list(ks)
  local texts = {}
  for k in ks:each() do
    local members = header_of(k)
    append(members, "class", quoted(k.class))
    append(members, "type", quoted(k.type))
    if k.publisher then
      append(members, "publisher", quoted(k.publisher))
      append(members, "histogram", tostring(k:meta("buckets") ~= nil))
    end
    texts[#texts + 1] = object_of(members)
  end
  return answer_json(array_of(texts))
end

-- The least values of a histogram's buckets; nil: it is none.
local function lows_of(k)
  if not histogram.is(k) then
    return nil
  end
  return (core.histogram_bounds(k:get("type"), k:get("range_min"), k:get("range_max"), k:get("stepping"),
    #k:get("buckets")))
end

-- What a statistic means; nothing is known: null.
local function meaning_of(meta)
  return not meta and "null" or object_of({ "kind", quoted(meta.kind), "type", quoted(meta.type), "unit",
    quoted(meta.unit), "scale", core.tostring(meta.scale), "description", quoted(meta.description) })
end

--- What statistics mean: an array of { module, instance, name, statistics = { [name] = what k:meta() returns } }, with
-- the least values of the buckets, `lows`, of a histogram.
-- @tparam chain ks
-- @tparam {selector,...} selectors none: everything
function data.meta(ks, selectors)
  local order, by_key = {}, {}
  for _, selector in ipairs(#selectors > 0 and selectors or { (core.selector_of(":::")) }) do
    for k, name in ks:values(selector) do
      local one = by_key[tostring(k)]
      if not one then
        one = { header = header_of(k), statistics = {} }
        order[#order + 1], by_key[tostring(k)] = one, one
      end
      append(one.statistics, name, meaning_of(k:meta(name)))
      local lows = name == "buckets" and lows_of(k)
      if lows then
        for j, low in ipairs(lows) do
          lows[j] = core.tostring(low)
        end
        append(one.header, "lows", "[" .. table.concat(lows, ",") .. "]")
      end
    end
  end
  for i, one in ipairs(order) do
    append(one.header, "statistics", object_of(one.statistics))
    order[i] = object_of(one.header)
  end
  return answer_json(array_of(order))
end

return data
