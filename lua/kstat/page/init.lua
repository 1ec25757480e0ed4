--- The page that shows kstats in a browser, for HTTP servers: the exporter and the module for nginx.
--
-- A server has an address that ends in a slash, such as /kstat/. What follows that slash in a request's path is the
-- name that page.answer() takes. The page is one text without outside requests; it asks for the other names itself.
--
--     local page = require("kstat.page")
--     local status, media_type, body, policy = page.answer(ks, "kstat.json", { core.selector_of("cpu:::") })
--
-- @module kstat.page
local data = require("kstat.page.data")

local page = {}

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
}

--- Answers a request below the page's address. The caller brings the chain up to date before.
-- @tparam chain ks
-- @string name what follows the address: "" the page, "list.json" all kstats, "kstat.json" the data and "meta.json" the
-- meaning of the statistics that selectors match
-- @tparam {selector,...} selectors compiled ones; none: everything
-- @treturn[1] integer the status of HTTP
-- @treturn[1] string the media type of the body
-- @treturn[1] string the body
-- @treturn[1] string|nil its policy
-- @treturn[2] nil there is no such name
function page.answer(ks, name, selectors)
  local answer = answers[name]
  if not answer then
    return nil
  end
  return answer(ks, selectors)
end

return page
