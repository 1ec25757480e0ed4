--- Labels as they may be shown, and names of kstats made of them.
local distributions = require("kstat.nginx.distributions")
local text = require("kstat.base.text")

local M = {}

local MOST_LABEL = 200 -- bytes of a label
local MOST_NAME = 25   -- bytes of a name: ",time" goes behind it, and the whole has at most 30
local HASH = 8

-- Sequences that are UTF-8 by their form alone, controls, and characters that turn the direction of text around.
local UNFIT = { "[%z\1-\31\127]", "\194[\128-\159]", "\224[\128-\159][\128-\191]", "\237[\160-\191][\128-\191]",
  "\240[\128-\143][\128-\191][\128-\191]", "\244[\144-\191][\128-\191][\128-\191]", "\216\156",
  "\226\128[\142\143\168-\174]", "\226\129[\166-\169]" }

--- The label that a value of a request becomes: any bytes may come in.
-- @string value
-- @treturn string
function M.clean(value)
  value = text.whole(value:sub(1, MOST_LABEL), "?")
  for _, unfit in ipairs(UNFIT) do
    value = value:gsub(unfit, "?")
  end
  return value
end

-- What readers of kstats and of metrics call something else.
local TAKEN = { le = true, quantile = true, module = true, instance = true, name = true, class = true, kid = true,
  crtime = true, snaptime = true }

--- Whether a label, which is a statistic of a kstat, too, may have this name.
function M.is_label(name)
  return type(name) == "string" and name:find("^[%a_][%w_]*$") ~= nil and #name <= 30 and name:sub(1, 2) ~= "__" and
    not TAKEN[name]
end

--- Raises a line if a list of labels has names or holes, which would be left out silently.
function M.check_list(list)
  local n = 0
  for _ in pairs(list) do
    n = n + 1
  end
  if n ~= #list then
    error("labels: a list expected, as in { \"host\", \"method\" }", 0)
  end
end

--- The name of a metric at /metrics: its unit is the end of it.
function M.with_unit(name, unit)
  return unit ~= "" and name:sub(-#unit - 1) ~= "_" .. unit and name ~= unit and name .. "_" .. unit or name
end

--- The name of a statistic: that of a metric, or its beginning with a hash if it is longer, or has a colon.
-- @string name
-- @int most bytes
function M.statistic(name, most)
  local plain = name:gsub(":", "_")
  if plain == name and #name <= most then
    return name
  end
  return plain:sub(1, most - HASH - 1) .. "_" .. ngx.md5(name):sub(1, HASH)
end

--- The name of the kstat of a row. It is readable, and has a hash where different labels could give the same name, or
-- where it would end like that of a distribution: "bytes,in" is no kstat of the row "bytes".
-- @string prefix what the name begins with; "" for rows of servers, whose names never begin like that of another kind
-- @tparam {string,...} values clean labels
-- @treturn string at most 25 bytes
function M.row(prefix, values)
  local changed = false
  local words = prefix ~= "" and { prefix } or {}
  for i, value in ipairs(values) do
    words[#words + 1] = value == "" and "_" or value:gsub("[^%w._*/@+-]", function(c)
      if c == ":" and i == #values then -- an address with its port
        return ","
      end
      changed = true
      return "_"
    end)
  end
  local name = words[1] and table.concat(words, ",") or "all"
  if prefix == "" and (words[1] == "nginx" or words[1] == "up" or words[1] == "app" or
      words[1] == "stream") then
    changed = true
  end
  changed = changed or #values > 0 and distributions.row_of(name) ~= name
  if changed or #name > MOST_NAME then
    local hash = ngx.md5(prefix .. "\0" .. table.concat(values, "\0")):sub(1, HASH)
    name = name:sub(1, MOST_NAME - HASH - 1) .. "~" .. hash
  end
  return name
end

--- Whether the name of a row, which may have been cut, begins as those with this prefix do.
function M.begins(name, prefix)
  local head = (prefix .. ","):sub(1, name:find("~", 1, true) and MOST_NAME - HASH - 1 or nil)
  return (name .. ","):sub(1, #head) == head
end

return M
