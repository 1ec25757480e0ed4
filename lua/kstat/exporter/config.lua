--- The file of `--web.config.file`: TLS and passwords, as Prometheus's exporters have them.
--
-- The file is YAML. What is needed of that is read here: mappings in mappings, lists and plain or quoted texts, one a
-- line, and comments. Anything else is refused with its line, as are names that mean nothing to these exporters.
-- @module kstat.exporter.config
local environment = require("kstat.base.environment")

local config = {}

-- What sections may hold: "text", "list", "ignored" (GnuTLS decides that itself, or there is no HTTP/2 here).
local SECTIONS = {
  tls_server_config = { cert_file = "text", key_file = "text", client_ca_file = "text", client_auth_type = "text",
    min_version = "text", max_version = "text", cipher_suites = "ignored", curve_preferences = "ignored",
    prefer_server_cipher_suites = "ignored" },
  http_server_config = { http2 = "ignored" },
  basic_auth_users = {},
}

-- Whether clients need certificates: whether they may lack one.
local CLIENTS = { NoClientCert = false, VerifyClientCertIfGiven = true, RequireAndVerifyClientCert = true }

-- The most that bcrypt may cost, as a power of two: this is some seconds, in which nothing else is answered.
local MOST_COST = 15

local VERSIONS = { "TLS10", "TLS11", "TLS12", "TLS13", TLS10 = 1, TLS11 = 2, TLS12 = 3, TLS13 = 4 }
local PRIORITIES = { "+VERS-TLS1.0", "+VERS-TLS1.1", "+VERS-TLS1.2", "+VERS-TLS1.3" }

-- The text of a scalar; nil: it is something else.
local function scalar(text)
  local quoted = text:match('^"([^"\\]*)"$') or text:match("^'([^']*)'$")
  return quoted or (not text:find("^[%[%]{}&*!|>%%@`\"',]") and not text:find(": ") and text) or nil
end

-- Takes a line of a section. Returns what is wrong, or nil.
local function take_entry(section, into, text, notes)
  local name, rest = text:match("^[\"']?([^\"':]+)[\"']?:%s*(.-)$")
  if not name then
    return text:find("^%- ") and not section.open and "a list that nothing names" or
      not text:find("^%- ") and "'name: text' expected" or nil
  end
  local kind = section.kinds[name]
  section.open = rest == ""
  if not kind and section.name ~= "basic_auth_users" then
    return ("%s has no '%s'"):format(section.name, name)
  elseif kind == "ignored" then
    section.open = true
    notes[#notes + 1] = ("%s: %s is left to GnuTLS and HTTP/1.1"):format(section.name, name)
    return nil
  end
  local value = scalar(rest)
  if not value or value == "" then
    return ("a text for '%s' expected"):format(name)
  elseif into[name] then
    return ("a second '%s'"):format(name)
  end
  into[name] = value
  return nil
end

-- Reads the lines into tables by section. nil, message: they are wrong.
local function parse(lines, path)
  local sections, notes, section, number = {}, {}, nil, 0
  for line in lines do
    number = number + 1
    local indent, text = line:gsub("%s+#.*$", ""):gsub("^#.*$", ""):match("^(%s*)(.-)%s*$")
    local wrong
    if text ~= "" and text ~= "---" then
      if indent:find("\t") then
        wrong = "YAML has no tabs"
      elseif indent == "" then
        local name, rest = text:match("^([%w_]+):%s*(.-)$")
        wrong = not SECTIONS[name or ""] and ("no section '%s'; there are tls_server_config, http_server_config and "
          .. "basic_auth_users"):format(name or text) or rest ~= "" and rest ~= "{}" and "a mapping expected" or nil
        section = { name = name, kinds = SECTIONS[name or ""] }
        sections[name or ""] = sections[name or ""] or {}
      elseif not section then
        wrong = "a section expected"
      else
        wrong = take_entry(section, sections[section.name], text, notes)
      end
    end
    if wrong then
      return nil, ("%s:%d: %s"):format(path, number, wrong)
    end
  end
  return sections, notes
end

-- The contents of a file that the configuration names, relative to its own directory.
local function contents(path, name)
  local full = name:find("^/") and name or (path:match("^(.*/)") or "") .. name
  local text, message = environment.contents(full)
  return text, message or ("%s: it cannot be read"):format(full)
end

-- GnuTLS's text for the versions from one to another.
local function priorities(from, to)
  local text = "NORMAL:-VERS-ALL"
  for i = VERSIONS[from], VERSIONS[to] do
    text = text .. ":" .. PRIORITIES[i]
  end
  return text
end

-- Reads the files of a section about TLS. nil, message: something is wrong.
local function tls_of(section, path)
  local clients = section.client_auth_type or section.client_ca_file and "RequireAndVerifyClientCert" or "NoClientCert"
  local from, to = section.min_version or "TLS12", section.max_version or "TLS13"
  if not (section.cert_file and section.key_file) then
    return nil, ("%s: tls_server_config needs cert_file and key_file"):format(path)
  elseif CLIENTS[clients] == nil then
    return nil, ("%s: client_auth_type: NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert, not '%s'")
      :format(path, clients)
  elseif CLIENTS[clients] and not section.client_ca_file then
    return nil, ("%s: client_auth_type %s needs client_ca_file"):format(path, clients)
  elseif not (VERSIONS[from] and VERSIONS[to]) or VERSIONS[from] > VERSIONS[to] then
    return nil, ("%s: min_version and max_version are TLS10 to TLS13"):format(path)
  end
  local tls, texts = { optional = clients == "VerifyClientCertIfGiven", priorities = priorities(from, to) }, {}
  for field, name in pairs({ certificate = "cert_file", key = "key_file",
    client_ca = CLIENTS[clients] and "client_ca_file" or nil }) do
    local text, message = contents(path, section[name])
    if not text then
      return nil, message
    end
    tls[field] = text
    texts[#texts + 1] = field .. "\n" .. text
  end
  table.sort(texts)
  return tls, table.concat(texts)
end

-- Returns what is wrong with the hash of a password, or nil.
local function hash_wrong(hash)
  local cost, rest = hash:match("^%$2[abxy]%$(%d%d)%$([./%w]*)$")
  return not (cost and #rest == 53) and "a hash such as $2y$10$… expected, from htpasswd -nB"
    or tonumber(cost) > MOST_COST and ("a cost of at most %d expected, not %s"):format(MOST_COST, cost) or nil
end

--- Reads the file.
-- @string path
-- @treturn table `tls`, for `listen` of kstat.http, and `users`, hashes by names; both may be nil; `notes`, lines about
-- what means nothing here; `text`, what was read, of the file and of those that it names
-- @fails a line that names the file and what is wrong
function config.read(path)
  local text, problem = contents("", path)
  if not text then
    return nil, problem
  end
  local sections, notes = parse((text .. "\n"):gmatch("([^\n]*)\n"), path)
  if not sections then
    return nil, notes
  end
  local given = { notes = notes, users = sections.basic_auth_users, text = text }
  for name, hash in pairs(given.users or {}) do
    local wrong = hash_wrong(hash)
    if wrong then
      return nil, ("%s: basic_auth_users: %s: %s"):format(path, name, wrong)
    end
  end
  if sections.tls_server_config and next(sections.tls_server_config) then
    local message
    given.tls, message = tls_of(sections.tls_server_config, path)
    if not given.tls then
      return nil, message
    end
    given.text = text .. message
  end
  return given
end

return config
