--- Who may come in, and the pages at the door: passwords, `/`, `/healthz` and `/favicon.ico`.
-- @module kstat.exporter.entrance
local core = require("kstat.core")

local entrance = {}

local MOST_KNOWN = 100 -- right passwords that are remembered, and as many wrong ones
local REST = 4         -- after a wrong one, as many times as long as it took no new one is looked at

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

-- Decodes Base64; nil: it is none.
local function decode(text)
  local bits, n, out = 0, 0, {}
  for c in text:gsub("=+$", ""):gmatch(".") do
    local value = ALPHABET:find(c, 1, true)
    if not value then
      return nil
    end
    bits, n = bits * 64 + value - 1, n + 6
    if n >= 8 then
      n = n - 8
      local scale = 2 ^ n
      out[#out + 1] = string.char(math.floor(bits / scale))
      bits = bits % scale
    end
  end
  return table.concat(out)
end

-- Notes a header among those with the same answer; where there are too many, they begin anew.
local function note(among, header)
  if among.n == MOST_KNOWN then
    among.known, among.n = {}, 0
  end
  among.known[header], among.n = true, among.n + 1
end

--- Makes function(header): whether a header Authorization, or nil, has the name and the password of a user. bcrypt
-- takes long on purpose, so that answers are remembered, and wrong passwords take a fifth of the time at the most.
-- Whoever guesses cannot make it forget the right ones.
-- @tparam table users hashes by names
-- @func is_password of kstat.http
-- @treturn function true, false, or nil: too many wrong passwords came before
function entrance.guard(users, is_password)
  local right, wrong, rests_until = { known = {}, n = 0 }, { known = {}, n = 0 }, 0
  local _, anybodys = next(users) -- names that are not there take as long as others
  return function(header)
    if not header or wrong.known[header] then
      return false
    elseif right.known[header] then
      return true
    end
    local start = core.hrtime()
    if start < rests_until then
      return nil
    end
    local text = decode(header:match("^[Bb]asic +([%w+/]+=*)$") or "") or ""
    local name, password = text:match("^([^:]*):(.*)$")
    local is_right = is_password(password or "", users[name or ""] or anybodys) and users[name or ""] ~= nil
    if not is_right then
      rests_until = core.hrtime() + (core.hrtime() - start) * REST
    end
    note(is_right and right or wrong, header)
    return is_right
  end
end

local PAGE = [[<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>kstat exporter</title></head>
<body><h1>kstat exporter</h1>
<p>%s</p>
<ul>
<li><a href="%s">%s</a>: metrics for Prometheus</li>
<li><a href="/kstat/">/kstat/</a>: charts of this machine</li>
<li><a href="/kstat.json">/kstat.json</a>: the same kstats as JSON</li>
<li><a href="/healthz">/healthz</a>: whether the exporter answers</li>
</ul></body></html>
]]
local POLICY = "default-src 'none'; img-src 'self'"

-- A picture of three bars, in the colours of the page.
local ICON = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3b7dd8" '
  .. 'd="M1 9h4v6H1zM6 5h4v10H6zM11 1h4v14h-4z"/></svg>'

--- Makes the pages at the door.
-- @string metrics the path of the metrics
-- @treturn table of functions by path, which return status, type, body and policy
function entrance.pages(metrics)
  local page = PAGE:format(core.version, metrics, metrics)
  return {
    ["/"] = function() return 200, "text/html; charset=utf-8", page, POLICY end,
    ["/healthz"] = function() return 200, "text/plain", "ok\n" end,
    ["/-/healthy"] = function() return 200, "text/plain", "ok\n" end,
    ["/favicon.ico"] = function() return 200, "image/svg+xml", ICON, POLICY end,
  }
end

return entrance
