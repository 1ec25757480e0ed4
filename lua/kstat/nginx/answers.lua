--- Answers to requests: /metrics, /kstat.json and /kstat/.
local chains = require("kstat.read.chain")
local core = require("kstat.core")
local families = require("kstat.nginx.families")
local page = require("kstat.page")

local M = {}

local function refuse(status, line)
  ngx.status = status
  ngx.header["Content-Type"] = "text/plain"
  ngx.print(line, "\n")
end
M.refuse = refuse

-- The selectors of the request; nil: there are none. False: something is wrong, and it was answered.
local function selectors_of_request()
  local parameters = ngx.req.get_uri_args(page.MOST_SELECTORS + 1)
  local given = parameters.select
  for name in pairs(parameters) do
    if name ~= "select" then
      refuse(400, ("no parameter '%s'; there is 'select'"):format((name:sub(1, 200):gsub("%c", "?"))))
      return false
    end
  end
  if not given then
    return nil
  end
  given = type(given) == "table" and given or { given }
  for i, text in ipairs(given) do
    given[i] = text == true and "" or text -- `?select`: everything, as `?select=`
  end
  local selectors, message = page.selectors(given)
  if not selectors then
    refuse(400, (message:gsub("%c", "?")))
    return false
  end
  return selectors
end

-- Answers if regular expressions of the selectors (nil: there are none) took too many steps, and returns whether.
local function refuse_trouble(selectors)
  local message = page.trouble(selectors or {})
  if message then
    refuse(400, (message:gsub("%c", "?")))
  end
  return message ~= nil
end

-- --- the chain of the machine ---------------------------------------------------------------------

local IDLE = 60 -- seconds, after which a worker closes the chain that nobody asked for

-- What this worker keeps of the machine. It is opened by the first request that wants it.
local machine, is_taken, used

-- Returns a chain of all kstats, up to date. One request at a time has the kept chain, for nobody else may update it
-- while its metrics are written; others get a chain of their own.
local function take_machine()
  if is_taken and ngx.now() - used > IDLE then
    machine, is_taken = nil, false -- that request was ended from outside
  end
  if is_taken then
    return chains.open({ everybody = true })
  elseif machine then
    local ok, message = machine:update(true)
    if not ok then
      machine:close()
      machine = nil
      return nil, message
    end
  else
    local message
    machine, message = chains.open({ everybody = true })
    if not machine then
      return nil, message
    end
  end
  is_taken, used = true, ngx.now()
  return machine
end

local function return_machine(ks)
  if ks == machine then
    is_taken, used = false, ngx.now()
  else
    ks:close()
  end
end

M.rester = families.rester

--- Closes the chain of the machine if nobody asked for it lately, and scrapes that were ended from outside.
-- @tparam server server
function M.rest(server)
  families.rest(server)
  server:rest()
  if machine and not is_taken and ngx.now() - used > IDLE then
    machine:close()
    machine = nil
  end
end

-- --- answers --------------------------------------------------------------------------------------

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
  if not selectors then
    server:refresh()
    ngx.header["Content-Type"] = media_type
    local ok, problem = not server.is_damaged, "no metrics: " .. tostring(server.is_damaged)
    if ok then
      ok, problem = families.render(server, format, send)
    end
    return ok or refuse(503, problem)
  end
  local ks, message = take_machine()
  if not ks then
    return refuse(503, message)
  end
  ngx.header["Content-Type"] = media_type
  local is_begun -- the first text comes when all kstats were read
  for text in assert(ks:exposition(format, unpack(selectors))) do
    if text ~= "" then
      local is_first = not is_begun
      is_begun = true
      if is_first and refuse_trouble(selectors) or not send(text) then
        break
      end
    end
  end
  if not is_begun then -- nothing matched
    refuse_trouble(selectors)
  end
  return_machine(ks)
end

--- The text of this nginx's own families.
-- @tparam server server
-- @treturn {string,...}
function M.metric_data(server)
  server:refresh()
  local list = {}
  if not server.is_damaged then
    families.render(server, "prometheus", function(text)
      list[#list + 1] = text
      return true
    end)
  end
  return list
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
    ks, message = take_machine()
  else
    ks, message = server:chain()
  end
  local text
  if ks then
    text, message = ks:render("json", unpack(selectors or { server.options.name .. ":::" }))
  end
  if ks and selectors then
    return_machine(ks)
  end
  if refuse_trouble(selectors) then
    return
  elseif not text then
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
  local ks, message = take_machine()
  if not ks then
    return refuse(503, message)
  end
  local status, media_type, body, policy = page.answer(ks, ngx.var.uri:match("[^/]*$"), selectors or {})
  return_machine(ks)
  if refuse_trouble(selectors) then
    return
  elseif not status then
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
