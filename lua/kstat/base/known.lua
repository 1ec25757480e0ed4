--- What a word is that nothing matches: a kstat's class, module, name or statistic, a command, a device, a process, a
-- user, or a word of others (kstat.base.words).
-- @module kstat.base.known
local core = require("kstat.core")
local environment = require("kstat.base.environment")

local known = {}

-- How a kstat's field is named on the command line of kstat, as an operand of a tool, and in a script.
local FORMS = {
  kstat = { class = "kstat -c %s", module = "kstat -m %s", name = "kstat -n %s", statistic = "kstat -s %s" },
  operand = { module = "%s", name = "::%s", statistic = ":::%s" },
  select = { class = '{ class = "%s" }', module = '{ module = "%s" }', name = '{ name = "%s" }',
    statistic = '{ statistic = "%s" }' },
}

--- How a field of kstats is named.
-- @string how "kstat", "operand" or "select"
-- @string field
-- @string value
-- @treturn string
function known.form(how, field, value)
  if how ~= "select" and value:find("[^%w_./:,@%%+-]") then -- a shell gets it as it is, whoever gave the name
    value = "'" .. value:gsub("'", "'\\''") .. "'"
  end
  return ((FORMS[how][field] or "%s"):gsub("%%s", function() return value end))
end

--- Which field of some kstats has a value: the class, the module, the name, or the name of a statistic.
-- @string word
-- @tparam {kstat,...} kstats
-- @treturn string|nil
function known.field(word, kstats)
  for _, field in ipairs({ "class", "module", "name" }) do
    for _, k in ipairs(kstats) do
      if k[field] == word then
        return field
      end
    end
  end
  local asked = {} -- of kstats that are alike, such as those of CPUs, one is read
  for _, k in ipairs(kstats) do
    local kind = ("%s\0%s\0%s"):format(k.module, k.class, k.class == "misc" and k.name:gsub("%d+", "") or "")
    if not asked[kind] and core.kstat_methods.get(k, word) ~= nil then
      return "statistic"
    end
    asked[kind] = true
  end
  return nil
end

-- The modules that have kstats of a class, with blanks between them: operands of tools have no class.
local function modules_of(class, kstats)
  local modules = {}
  for _, k in ipairs(kstats) do
    if k.class == class and not modules[k.module] then
      modules[#modules + 1], modules[k.module] = k.module, true
    end
  end
  return table.concat(modules, " ", 1, math.min(#modules, 5))
end

-- The name of the kstats of a device's file: of a disk, or of what a file system lies on.
local function device(word, kstats)
  for _, k in ipairs(kstats) do
    if k.class == "fs" and core.kstat_methods.get(k, "device") == word then
      return core.kstat_methods.get(k, "device_name")
    elseif "/dev/" .. k.name == word then
      return k.name
    end
  end
end

-- What a word is on this machine besides.
local function here(word)
  if require("kstat.base.past").is_elsewhere() then
    return nil
  end
  local name = word:find("^%d+$") and environment.contents(("/proc/%s/comm"):format(word))
  if name then
    return ("'%s' is the process %s: kstatlua prstat -p %s"):format(word, name:match("[^\n]*"), word)
  end
  return not tonumber(word) and core.user_number(word) and
    ("'%s' is a user: kstatlua prstat -u %s"):format(word, word) or nil
end

local function command(word)
  local ok, host = pcall(require, "kstat.host")
  local script = ok and not word:find("[/.]") and host.script(word)
  return script and ("'%s' is a command: kstatlua %s"):format(word, word) or nil
end

local function of_others(word)
  local row = require("kstat.base.words")[word]
  if not row then
    return nil
  elseif row[3] then
    local words = rawget(_G, "arg") or {}
    local letter = row.options and words[0] == word and tostring(words[1]):match("^%-(%a)")
    return ("'%s' is no command of kstat; %s: %s"):format(word, row[2], letter and row.options[letter] or row[3])
  end
  return ("'%s' is no command of kstat, which does not show %s; %s does"):format(word, row[2], row[4] or word)
end

--- What a word is, and what to type.
-- @string word
-- @string how "kstat", "operand" or "select", see form()
-- @tparam {kstat,...} kstats all that there are
-- @treturn string|nil nil: nothing knows it
function known.line(word, how, kstats)
  if word == "" or #word > 255 or word:find("%c") then
    return nil
  end
  local field = known.field(word, kstats)
  if field ~= "class" and how ~= "select" then
    local line = of_others(word) or command(word)
    if line then
      return line
    end
  end
  local of = not field and word:find("^/dev/") and device(word, kstats)
  if field or of then
    local what = of and ("the device '%s'"):format(of) or field == "name" and word:find("^/") and "a mount point"
    local form = field == "class" and how == "operand" and modules_of(word, kstats) or
      known.form(how, field or "name", of or word)
    return ("'%s' is %s: %s"):format(word, what or "a " .. field, form)
  end
  return how ~= "select" and here(word) or nil
end

return known
