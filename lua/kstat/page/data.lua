--- What the page asks for, as answers of HTTP: status, media type and body.
-- @module kstat.page.data
local core = require("kstat.core")

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

-- What begins the names of rows that kstat.nginx publishes, by class. Metrics of one's own have their name behind it.
local ROWS = { http = "", upstream = "up,", stream = "stream,", app_counter = "app,", app_gauge = "app,",
  app_histogram = "app," }

local names, values = {}, {}

-- The whole name of a row that had to be cut, and then ends in a hash: its texts are the labels. nil: it is none.
-- owner: function(name), the kstat of this module with that name, which has the labels of a kstat of times.
local function title_of(k, owner)
  local row, ending = k.name:match("^(.*~%x%x%x%x%x%x%x%x)(.*)$")
  local class = row and k.class:gsub("_time$", ""):gsub("^http_%a+$", "http")
  local own = row and class:match("^app%.(.*)$")
  local prefix = own and "app," .. own .. "," or ROWS[class]
  local labelled = prefix and (ending ~= "" and owner(row) or k)
  local n = labelled and core.list(labelled, names, values)
  if not n then
    return nil
  end
  local words = {}
  for i = 1, n do
    if type(values[i]) == "string" then
      words[#words + 1] = values[i]
    elseif prefix == "app," then
      prefix = prefix .. names[i] .. ","
    end
  end
  if class == "app_histogram" then
    prefix = row:match("^app,[^,]*,") or prefix
  end
  return words[1] and prefix .. table.concat(words, ",") .. ending
end

--- All kstats, by their headers: an array of { module, instance, name, class, type, publisher, uid, histogram, title },
-- histogram being true for histograms that processes publish, and the title there where the name had to be cut.
-- @tparam chain ks
function data.list(ks)
  local keys = { "module", "instance", "name", "class", "type" }
  local published = { "module", "instance", "name", "class", "type", "publisher", "uid", "histogram" }
  local titled = { "module", "instance", "name", "class", "type", "publisher", "uid", "histogram", "title" }
  local list = {}
  for k in ks:each() do
    local is_histogram, title
    if k.publisher then
      is_histogram = k:meta("buckets") ~= nil
      title = title_of(k, function(name) return ks:lookup(k.module, k.instance, name) end)
    end
    list[#list + 1] = { k.module, k.instance, k.name, k.class, k.type, k.publisher, k.publisher_uid,
      is_histogram, title, keys = title and titled or k.publisher and published or keys }
  end
  return answer_json(core.json(list, true))
end

-- The least values of a histogram's buckets; nil: it is none.
local function lows_of(k)
  local d = k:distribution()
  return d and select(2, core.bucket_arrays(d, #k:get("buckets")))
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
