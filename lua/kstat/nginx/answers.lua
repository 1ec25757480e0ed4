--- Answers to requests: /metrics, /kstat.json and /kstat/.
local core = require("kstat.core")
local families = require("kstat.nginx.families")
local chains = require("kstat.chain")
local page = require("kstat.page")

local M = {}

local function refuse(status, line)
  ngx.status = status
  ngx.header["Content-Type"] = "text/plain"
  ngx.print(line, "\n")
end
M.refuse = refuse

-- The selectors of the request; nil: there are none. False: one is wrong, and it was answered.
local function selectors_of_request()
  local given = ngx.req.get_uri_args(100).select
  if given == nil then
    return nil
  end
  local selectors = {}
  for i, text in ipairs(type(given) == "table" and given or { given }) do
    local message = "a selector expected"
    if type(text) == "string" then
      selectors[i], message = core.selector_of(text)
    end
    if not selectors[i] then
      refuse(400, ("select: '%s': %s"):format(tostring(text):gsub("%c", "?"), message))
      return false
    end
  end
  return selectors
end

-- Writes a piece and lets other requests go on. False: the client went away.
local function send(text)
  return ngx.print(text) and ngx.flush(true)
end

--- Answers with metrics: this nginx's own families, or with `?select=` any kstats of the machine.
-- @tparam server server
function M.metrics(server)
  local selectors = selectors_of_request()
  if selectors == false then
    return
  end
  local format, media_type = core.exposition_format(ngx.req.get_headers().Accept)
  local ks, message
  if selectors then
    ks, message = chains.open({ only = selectors })
  else
    server:refresh()
    ks, message = server:chain()
  end
  if not ks then
    return refuse(503, message)
  end
  ngx.header["Content-Type"] = media_type
  if not selectors then
    return families.render(server, ks, format, send)
  end
  for text in assert(ks:exposition(format, unpack(selectors))) do
    if text ~= "" and not send(text) then
      break
    end
  end
  ks:close()
end

--- Answers with JSON as `kstat -j` prints it: this nginx's kstats, or those that `?select=` names.
-- @tparam server server
function M.json(server)
  local selectors = selectors_of_request()
  if selectors == false then
    return
  end
  server:refresh()
  local ks, message
  if selectors then
    ks, message = chains.open({ only = selectors })
  else
    ks, message = server:chain()
  end
  local text
  if ks then
    text, message = ks:render("json", unpack(selectors or { server.options.name .. ":::" }))
  end
  if ks and selectors then
    ks:close()
  end
  if not text then
    return refuse(503, message)
  end
  ngx.header["Content-Type"] = "application/json"
  ngx.print(text)
end

--- Answers below the page's address, a location that ends in a slash: with the page itself, or with what it asks for.
-- The page shows all kstats of the machine.
function M.page()
  local selectors = selectors_of_request()
  if selectors == false then
    return
  end
  local ks, message = chains.open({ only = selectors })
  if not ks then
    return refuse(503, message)
  end
  local status, media_type, body, policy = page.answer(ks, ngx.var.uri:match("[^/]*$"), selectors or {})
  ks:close()
  if not status then
    return refuse(404, "not found: the page has no such part")
  end
  ngx.status = status
  ngx.header["Content-Type"] = media_type
  ngx.header["Content-Security-Policy"] = policy
  ngx.header["Cache-Control"] = "no-store"
  ngx.header["X-Content-Type-Options"] = "nosniff"
  ngx.print(body)
end

return M
