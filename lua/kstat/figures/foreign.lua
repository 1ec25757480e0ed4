--- Lines in the words of others, PromQL's, SQL's, D's, jq's and awk's, and in forms that went, as they are meant: texts
-- become questions and expressions of kstat.figures.expression.grammar.
-- @module kstat.figures.foreign
local foreign = {}

local FUNCTIONS = { average = "avg", std = "stddev", stdev = "stddev", irate = "rate" }

-- Calls that are more than another name: functions of what stands in the parentheses and of a range [5m] behind it.
local CALLS = {
  increase = function(x, time) return ("sum(delta(%s)%s)"):format(x, time and ", " .. time or "") end,
  deriv = function(x, time) return ("trend(%s, %s)"):format(x, time or "5m") end,
  delta = function(x, time) return ("%s - %s ago %s"):format(x, x, time) end, -- of a range, which is one of gauges
  predict_linear = function(x, time, after)
    return ("%s + %s * trend(%s, %s)"):format(x, after or 3600, x, time or "1h")
  end,
  boot = function(x) return x end,
  llquantize = function(x) return ("quantize(%s)"):format(x:match("^[^,]*")) end,
}

local SUMS = { delta = true, predict_linear = true } -- those that operators need in parentheses

local function of_share(share, x, time)
  return ("p%g(%s%s)"):format(100 * tonumber(share), x, time and ", " .. time or "")
end

-- A range stands behind what it is of, perhaps with an offset and with numbers behind a comma.
local function without_range(x)
  local before, time, rest = x:match("^(.-)%s*%[(%w+)[^%]]*%](.*)$")
  local offset = (rest or ""):match("^%s*\5?ago%s+(%w+)")
  return before or x, time, (rest or ""):match("^%s*,%s*(%w+)"), offset
end

local function calls(text)
  return (text:gsub("()([%a_][%w_]*)(%s*)(%b())()", function(at, name, space, arguments, behind)
    local x, time, after, offset = without_range(calls(arguments:sub(2, -2)))
    local share, of = x:match("^([%d.]+)%s*,%s*(.*)$")
    local plain = name:gsub("_over_time$", "")
    local made
    local before, past = x:match("^([%w_.]+%s*%b())%s+\5ago%s+(%w+)$")
    if not before then
      before, past = x:match("^([%w_.]+)%s+\5ago%s+(%w+)$")
    end
    -- The sum of then, not of those that are there now, too.
    if before and require("kstat.figures.reducers").known(plain) then
      x, offset = before, past
    end
    if plain == "topk" or plain == "bottomk" then
      of = of or x
      made = ("%s %s %s"):format(plain:sub(1, -2), share or 5, of)
    elseif share and plain:find("quantile$") then
      made = of_share(share, of, time)
    elseif CALLS[plain] and (time or plain ~= "delta") then
      made = CALLS[plain](x, time, after)
      if SUMS[plain] and (text:sub(1, at - 1):find("[-+*/%%]%s*$") or text:find("^%s*[-+*/%%]", behind)) then
        made = "(" .. made .. ")"
      end
    elseif plain == "percentile" and x:find(",%s*[%d.]+$") then
      made = ("p%s(%s)"):format(x:match(",%s*([%d.]+)$"), x:match("^(.-)%s*,"))
    else
      made = (FUNCTIONS[plain] or plain) .. space .. ("(%s%s)"):format(x, time and ", " .. time or "")
    end
    return made .. (offset and " \5ago " .. offset or "")
  end))
end

-- `sum, max by (name) of x where y`: each reducer gets what it is of.
local function without_of(text)
  local head, of = text:match("^(.-)%f[%w_]of%s+(.*)$")
  if not head then
    return text
  end
  local x, clauses = of, ""
  for _, clause in ipairs({ "by", "where", "having" }) do
    local at = x:find("%f[%w_]" .. clause .. "%f[^%w_]")
    x, clauses = x:sub(1, (at or 0) - 1), at and x:sub(at) .. clauses or clauses
  end
  x = x:gsub("%s+$", "")
  local rank, items = head:match("^%s*(%a+%s+%d+[%sandrest]*%f[%w])(.*)$")
  if not rank or not rank:find("^top") and not rank:find("^bottom") then
    rank, items = head:find("^%s*top") and head .. " " or "", head
  end
  local keys = items:match("%f[%w_]by%s*%b()") or ""
  items = items:gsub("%f[%w_]by%s*%b()", "")
  items = (items:find("%a") and items or "sum"):gsub("([%a][%w_.]*)(%b())", function(name, numbers)
    return ("%s\2%s, %s\3"):format(name, x, numbers:sub(2, -2)):gsub(",", "\4")
  end):gsub("%f[%w_.]([%a][%w_.]*)%s*%f[,%z]", function(name) return ("%s\2%s\3"):format(name, x) end)
  return (rank .. items:gsub("%s+$", "") .. " " .. keys .. " " .. clauses):gsub("[\2-\4]", { ["\2"] = "(", ["\3"] = ")",
    ["\4"] = "," })
end

-- Patterns in the order in which they apply, and what is meant by them.
local RULES = {
  { "%s*;%s*$", "" }, { "^%s*@[%w_]*%[(.-)%]%s*=%s*(.*)$", "%2 by (%1)" }, { "^%s*@[%w_]*%s*=%s*", "" }, -- D
  { "^%s*select%s+(.-)%s+from%s+[%w_]+", "%1" },
  { "^(.-)%s+order%s+by.-%s+limit%s+(%d+)%s*$", "top %2 %1" }, { "%f[%w_]group%s+by%f[^%w_]", "by" },
  { "%f[%w_]by%s+([%a_][%w_]*)", "by (%1)" },
  { "<>", "!=" }, { "([^=!<>])=%f[^=~]", "%1==" }, { "&&", " and " }, { "||", " or " },
  { "%f[%w_]offset%f[^%w_]", "\5ago" },
  { "([%a_][%w_]*)%s+between%s+(%S+)%s+and%s+(%S+)", "(%1 >= %2 and %1 <= %3)" },
  { "count%(%s*%*%s*%)", "count" },
  { "%$%d+", "x" }, { "^%s*%.%[%]%s*|%s*", "" }, { "%f[%w_.%)]%.%f[%a]", "" }, -- awk, jq
  { "llquantize%s*%f[^%w_(]", "quantize" },
}

-- As one of some words: x in (1, 2).
local function one_of(name, list)
  local parts = {}
  for value in list:sub(2, -2):gmatch("[^,]+") do
    parts[#parts + 1] = ("%s == %s"):format(name, value:match("^%s*(.-)%s*$"))
  end
  return "(" .. table.concat(parts, " or ") .. ")"
end

local function rewritten(text)
  local quoted, keys = {}, nil
  text = text:gsub("%f[%a](%u%u+)%f[^%w_]", string.lower)
  text = text:gsub("%f[%w_]like%s+(['\"])(.-)%1", function(_, pattern)
    return ("=~ /^%s$/"):format(pattern:gsub("%%", ".*"):gsub("_", "."))
  end)
  text = text:gsub("=~%s*(['\"])(.-)%1", function(_, regex) return "=~ /^" .. regex:gsub("/", "\\/") .. "$/" end)
  local function keep(whole)
    quoted[#quoted + 1] = whole
    return ("\1%d\1"):format(#quoted)
  end
  text = text:gsub("=~%s*(/.-[^\\]/%l*)", function(regex) return "=~ " .. keep(regex) end)
  text = text:gsub("'[^']*'", keep):gsub('"[^"]*"', keep)
  for _, rule in ipairs(RULES) do
    text = text:gsub(rule[1], rule[2])
  end
  text = text:gsub("([%a_][%w_]*)%s+in%s*(%b())", one_of)
  local n
  repeat
    text, n = text:gsub("by %(([^()]*)%)%s*,%s*([%a_][%w_]*)", "by (%1, %2)")
  until n == 0
  text = text:gsub("without%s*(%b())", function(list)
    local others = {}
    for _, name in ipairs({ "module", "instance", "name" }) do
      others[#others + 1] = not list:find("%f[%w_]" .. name .. "%f[^%w_]") and name or nil
    end
    return ("by (%s)"):format(table.concat(others, ", "))
  end)
  -- The keys of PromQL stand in each of its sums: here once, at the end.
  local function key(list)
    keys = keys or list
    return ""
  end
  text = text:gsub("(%a[%w_]*)%s+by%s*(%b())%s*(%b())", function(name, list, x) return name .. key(list) .. x end)
  text = text:gsub("%s+by%s*(%b())(%s*[-+*/<>=!])", function(list, operator) return key(list) .. operator end)
  -- What PromQL has in braces, and behind a comparison of a sum, chooses kstats and groups.
  local conditions
  text = text:gsub("([%a_][%w_]*)%s*(%b{})", function(name, list)
    conditions = list:sub(2, -2):gsub("%s*,%s*$", ""):gsub("%s*,%s*", " and ")
    return name
  end)
  local over
  text, over = text:gsub("%s+over%s+time%f[^%w_]", "")
  text = calls(without_of(text))
  if over > 0 then
    text = text:gsub("^%a[%w.]*%b()", function(reducer) return reducer:sub(1, -2) .. ", 1h)" end)
  end
  local value, limit = text:match("^([^<>=!]*%))%s*([<>=!]=?%s*[%d.]+)%s*$")
  if keys and not text:find("%f[%w_]by%s*%(") then
    text = (limit and value or text) .. " by " .. keys .. (limit and (" having %s %s"):format(value, limit) or "")
  end
  text = text .. (conditions and " where " .. conditions or "")
  text = text:gsub("\5", ""):gsub("\1(%d+)\1", function(i) return quoted[tonumber(i)] end)
  return (text:gsub("%s%s+", " "):match("^%s*(.-)%s*$"))
end

--- The line about a text that is wrong, with what was meant if it is in words of others.
-- @string text
-- @string problem what is wrong
-- @func read function(text) that returns something if a text is right
-- @treturn string
function foreign.line(text, problem, read)
  if #problem > 200 and #text > 100 then
    problem = problem:sub(1, 120):gsub("[\128-\255]+$", "") .. "…" .. problem:sub(-60):gsub("^[\128-\191]+", "")
  end
  local meant = #text < 1000 and rewritten(text) or text
  if meant == text or not read(meant) then
    return problem
  end
  return ("%s; type: %s"):format(problem:gsub("; did you mean '[^']*'%?", ""):gsub(" %(known: [^)]*%)", ""), meant)
end

return foreign
