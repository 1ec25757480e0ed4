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

--- The data of what selectors match, as `kstat -j` prints it.
-- @tparam chain ks
-- @tparam {selector,...} selectors none: everything
function data.values(ks, selectors)
  return answer_json(ks:render("json", unpack(selectors)))
end

--- All kstats, by their headers: an array of { module, instance, name, class, type, publisher, uid, histogram }, the
-- last one true for histograms that processes publish.
-- @tparam chain ks
function data.list(ks)
  local keys = { "module", "instance", "name", "class", "type" }
  local published = { "module", "instance", "name", "class", "type", "publisher", "uid", "histogram" }
  local list = {}
  for k in ks:each() do
    local is_histogram
    if k.publisher then
      is_histogram = k:meta("buckets") ~= nil
    end
    list[#list + 1] = { k.module, k.instance, k.name, k.class, k.type, k.publisher, k.publisher_uid,
      is_histogram, keys = k.publisher and published or keys }
  end
  return answer_json(core.json(list, true))
end

-- The least values of a histogram's buckets; nil: it is none.
local function lows_of(k)
  if not histogram.is(k) then
    return nil
  end
  return (core.histogram_bounds(k:get("type"), k:get("range_min"), k:get("range_max"), k:get("stepping"),
    #k:get("buckets")))
end

local MEANING = { "kind", "type", "unit", "scale", "description" }

-- What a statistic means; nil: nothing is known.
local function meaning_of(meta)
  return meta and { meta.kind, meta.type, meta.unit, meta.scale, meta.description, keys = MEANING }
end

--- What statistics mean: an array of { module, instance, name, statistics = { [name] = what k:meta() returns } }, with
-- the least values of the buckets, `lows`, of a histogram.
-- @tparam chain ks
-- @tparam {selector,...} selectors none: everything
function data.meta(ks, selectors)
  local keys, with_lows = { "module", "instance", "name", "statistics" }, { "module", "instance", "name", "lows",
    "statistics" }
  local list, by_key = {}, {}
  for _, selector in ipairs(#selectors > 0 and selectors or { (core.selector_of(":::")) }) do
    for k, name in ks:values(selector) do
      local key = tostring(k)
      local one = by_key[key]
      if not one then
        one = { k.module, k.instance, k.name, { keys = {} }, keys = keys }
        list[#list + 1], by_key[key] = one, one
      end
      local statistics = one[#one]
      local n = #statistics.keys + 1
      statistics.keys[n], statistics[n] = name, meaning_of(k:meta(name))
      local lows = name == "buckets" and lows_of(k)
      if lows then
        one[4], one[5], one.keys = lows, statistics, with_lows
      end
    end
  end
  return answer_json(core.json(list, true))
end

--- What was shown before, see kstat.page.history.
-- @tparam chain _
-- @tparam {selector,...} selectors none: everything
-- @tparam server server
function data.history(_, selectors, server)
  return 200, "application/json-seq", server.history and server.history:json(selectors) or ""
end

--- Who uses most, see kstat.page.busiest.
-- @tparam chain _
-- @tparam {selector,...} _
-- @tparam server server
function data.busiest(_, _, server)
  if not server.busiest then
    return answer_json("{}\n")
  end
  return answer_json(server.busiest:json())
end

return data
