--- The page that shows kstats in a browser, for HTTP servers: the exporter and the module for nginx.
--
-- A server has an address that ends in a slash, such as /kstat/. What follows that slash in a request's path is the
-- name that page.answer() takes. The page is one text without outside requests; it asks for the other names itself.
--
--     local page = require("kstat.page")
--     local status, media_type, body, policy = page.answer(ks, "kstat.json", { core.selector_of("cpu:::") })
--
-- @module kstat.page
local core = require("kstat.core")
local data = require("kstat.page.data")

local page = {}

--- How many selectors a request may have.
page.MOST_SELECTORS = 100

-- A regular expression may take many steps for each name that there is.
local MOST_EXPRESSIONS = 16

-- How long, in seconds of CPU time, all regular expressions of a request may take together.
local MOST_TIME = 0.05

-- How many of the selector's fields may be regular expressions.
local function count_expressions(selector)
  local n = 0
  for _, text in pairs(selector:fields()) do
    n = n + (text:find("^/.*/%a*$") and 1 or 0)
  end
  return n
end

--- Compiles the selectors of a request: at most page.MOST_SELECTORS, with at most 16 regular expressions, which may
-- take 50 ms together.
-- @tparam {string,...} texts
-- @treturn[1] {selector,...}
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function page.selectors(texts)
  local selectors, expressions = {}, 0
  if #texts > page.MOST_SELECTORS then
    return nil, ("select: at most %d in one request"):format(page.MOST_SELECTORS)
  end
  for i, text in ipairs(texts) do
    local selector, message = core.selector_of(text, nil, true)
    if not selector then
      return nil, ("select: '%s': %s"):format(text, message)
    end
    selectors[i], expressions = selector, expressions + count_expressions(selector)
  end
  if expressions > MOST_EXPRESSIONS then
    return nil, ("select: at most %d regular expressions in one request"):format(MOST_EXPRESSIONS)
  end
  for _, selector in ipairs(expressions > 0 and selectors or {}) do
    core.selector_limit(selector, MOST_TIME / expressions)
  end
  return selectors
end

--- Returns what was wrong with the selectors of a request, which shows as they are used: a regular expression took too
-- many steps. An answer by them lacks kstats then, and a server sends the line in its place, with the status 400.
-- @tparam {selector,...} selectors what page.selectors() returned
-- @treturn string|nil
function page.trouble(selectors)
  for _, selector in ipairs(selectors) do
    local line = core.selector_trouble(selector)
    if line then
      return "select: " .. line
    end
  end
  return nil
end

-- The text is large, so that it is loaded when somebody asks for it.
local function read()
  return require("kstat.page.text")
end

--- Returns the page.
-- @treturn string HTML
-- @treturn string its policy, for the header Content-Security-Policy
function page.text()
  return read().text, read().policy
end

local answers = {
  [""] = function()
    return 200, "text/html; charset=utf-8", page.text()
  end,
  ["kstat.json"] = data.values,
  ["list.json"] = data.list,
  ["meta.json"] = data.meta,
  ["history.json"] = data.history,
  ["busiest.json"] = data.busiest,
}

--- Answers a request below the page's address. The caller brings the chain up to date before.
-- @tparam chain ks
-- @string name what follows the address: "" the page, "list.json" all kstats, "kstat.json" the data, "history.json"
-- those of the last hour and "meta.json" the meaning of the statistics that selectors match, "busiest.json" processes
-- @tparam {selector,...} selectors compiled ones; none: everything
-- @tparam[opt] server server what the server keeps between requests: { history, busiest }, see kstat.page.history and
-- kstat.page.busiest; the page does without what is not there
-- @treturn[1] integer the status of HTTP
-- @treturn[1] string the media type of the body
-- @treturn[1] string the body
-- @treturn[1] string|nil its policy
-- @treturn[2] nil there is no such name
function page.answer(ks, name, selectors, server)
  local answer = answers[name]
  if not answer then
    return nil
  end
  return answer(ks, selectors, server or {})
end

return page
