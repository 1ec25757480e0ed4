--- Lines about names that nothing has, with what was probably meant.
--
-- A mistyped name selects nothing, and nothing is what a report shows for what is missing. So commands look, at the
-- first tick, for names that nothing has, and print one line for each on standard error (kstat.base.running).
-- @module kstat.base.unknown
local core = require("kstat.core")
local display = require("kstat.base.text")

local unknown = {}

-- How many letters have to be changed, added, removed or swapped with the next one to make one word of the other.
local function distance(a, b)
  local before, last = nil, {}
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local x, y = a:byte(i), b:byte(j)
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x == y and 0 or 1))
      if i > 1 and j > 1 and x == b:byte(j - 1) and a:byte(i - 1) == y then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[#b]
end

--- Finds the name that is most like a given one, in upper or lower case: at most a third of its letters differ, and
-- at most three. Of several the one of the same length comes first, then the first one of the alphabet.
-- @string name
-- @tparam {[string]=any} names whose keys are compared
-- @treturn string|nil
function unknown.nearest(name, names)
  local most = math.max(1, math.min(3, math.floor(#name / 3)))
  local best, least = nil, math.huge
  for other in pairs(#name > 1 and names or {}) do
    local longer = math.abs(#other - #name)
    if longer <= most then
      local d = distance(name:lower(), other:lower())
      local order = 100 * d + longer
      if d <= most and (order < least or order == least and other < best) then
        best, least = other, order
      end
    end
  end
  return best
end

--- Finds the word of a text that is most like a given one, as `nearest` does.
-- @string name
-- @string text
-- @treturn string|nil
function unknown.nearest_word(name, text)
  local words = {}
  for word in text:gmatch("[^%s,]+") do
    words[word] = true
  end
  return unknown.nearest(name, words)
end

--- A word of anybody as a line may have it: at most 60 columns, and nothing that a terminal obeys.
-- @string word
-- @treturn string
function unknown.shown(word)
  return display.shorten(display.harmless(word:sub(1, 4000), true), 60)
end

--- A line about a name.
-- @string what such as "there is no disk"
-- @string name
-- @tparam {[string]=any} names that there are, as keys
-- @treturn string such as "there is no disk 'sdq'; did you mean 'sda'?"
function unknown.line(what, name, names)
  local meant = unknown.nearest(name, names)
  return ("%s '%s'%s"):format(what, unknown.shown(name), meant and ("; did you mean '%s'?"):format(meant) or "")
end

--- Adds to Lua's own message about a method that there is not the one of chains, samples or kstats that was probably
-- meant: absent fields of them are nil, because they may be modules or statistics.
-- @string message of an error
-- @treturn string
function unknown.explain(message)
  local name = message:match("attempt to call a nil value %(method '([%w_]+)'%)$")
  if name == "rate" then
    return message .. "; a rate needs the difference of two samples: (now - prev):rate(...)"
  end
  local all, owner = {}, nil
  for what, methods in pairs({ chains = core.chain_meta.methods, samples = core.sample_meta.methods,
    differences = core.difference_meta.methods, kstats = core.kstat_methods }) do
    for known in pairs(methods) do
      all[known] = true
      owner = known == name and (not owner or what == "kstats") and what or owner
    end
  end
  if owner then
    return ("%s; %s have it"):format(message, owner)
  end
  local meant = name and unknown.nearest(name, all)
  return meant and ("%s; did you mean '%s'?"):format(message, meant) or message
end

--- A line about a word that is none of a few: with the word that was probably meant, or else with all of them.
-- @string what such as "unknown format"
-- @param word anything; nil: none was given
-- @tparam {[string]=any} words that there are, as keys
-- @treturn string such as "unknown format 'jsn'; did you mean 'json'?"
function unknown.word(what, word, words)
  local line = word ~= nil and unknown.line(what, tostring(word), words)
  if line and unknown.nearest(tostring(word), words) then
    return line
  end
  local list = {}
  for other in pairs(words) do
    list[#list + 1] = ("'%s'"):format(other)
  end
  table.sort(list)
  return ("%s; expected: %s"):format(line or what .. " is missing", table.concat(list, ", "))
end

-- What a word that begins with a number was probably meant to be; an interval that is one never gets here, unless
-- something else follows it.
local function as_number(word)
  return word:find("^%d+%.?%d*$") and "; interval and count come last" or
    word:find("^%d+%.?%d*%a+$") and "; the unit of an interval is one of ms, s, m, h and d" or ""
end

--- Lines about patterns that match no name.
-- @string what as of line()
-- @tparam {string,...} texts of the patterns
-- @tparam {pattern,...} patterns
-- @tparam {[string]=any} names that there are, as keys
-- @treturn {string,...}
function unknown.patterns(what, texts, patterns, names)
  local lines = {}
  for i, pattern in ipairs(patterns) do
    local found = false
    for name in pairs(names) do
      found = found or pattern:matches(name)
    end
    lines[#lines + 1] = not found and unknown.line(what, texts[i], names) .. as_number(texts[i]) or nil
  end
  return lines
end

-- --- statistics -----------------------------------------------------------------------------------

-- The names of all statistics of some kstats, as keys.
local function statistics_of(kstats)
  local set = { class = true, crtime = true, snaptime = true }
  for _, k in ipairs(kstats) do
    local names = {}
    for i = 1, core.list(k, names, {}) or 0 do
      set[names[i]] = true
    end
  end
  return set
end

--- A line about a statistic that a kstat does not have, where it has one of a similar name.
-- @tparam kstat k
-- @string name
-- @treturn string|nil
function unknown.statistic(k, name)
  local names = statistics_of({ k })
  return unknown.nearest(name, names) and unknown.line(("%s has no statistic"):format(tostring(k)), name, names)
end

local MOST_NAMES = 10 -- of which lines speak; each takes to look for what was meant

--- Lines about statistics that none of some kstats has: of the first ten, and that there are more.
-- @tparam {string,...} names of statistics; `instead` has those of which one is enough, by each
-- @tparam {kstat,...} kstats at least one
-- @func[opt] known function(name, kstat) that returns whether a name is something else
-- @treturn {string,...}
function unknown.statistics(names, kstats, known)
  local lines, all = {}, nil
  for _, name in ipairs(names) do
    local found = false
    for _, each in ipairs(names.instead and names.instead[name] or { name }) do
      for _, k in ipairs(kstats) do
        found = found or core.kstat_methods.get(k, each) ~= nil or known and known(each, k)
        if found then
          break
        end
      end
    end
    if not found and #lines == MOST_NAMES then
      lines[#lines + 1] = "no selected kstat has more of the names"
      break
    elseif not found then
      if not all then
        all = statistics_of(kstats)
        all.module, all.instance, all.name = true, true, true
      end
      local meant = name == "busy" and "b_pct" -- a name that went
      all[meant or name] = meant and known and known(meant, kstats[1]) or all[meant or name]
      lines[#lines + 1] = not all[name] and (meant and all[meant] and
        ("no selected kstat has '%s'; did you mean '%s'?"):format(name, meant) or
        unknown.line("no selected kstat has", name, all)) or nil
    end
  end
  return lines
end

-- --- selectors ------------------------------------------------------------------------------------

-- Kstats that a chain of the running machine has only if KSTAT_WITH holds a word: by class, the word and what they are.
local OPTIONAL = { kmem_cache = { "slab", "the kernel's caches" },
  socket_owner = { "listen", "listening sockets and who holds them" },
  net_driver = { "ethtool", "statistics of drivers of network links" } }

--- Why a selector matches nothing, where its fields alone tell it; the switch that adds the kstats which it means, if
-- they are left out otherwise.
-- @tparam table fields those of the selector
-- @treturn string|nil such as "there is no process 9", "KSTAT_WITH=slab adds the kernel's caches"
function unknown.switch(fields)
  if fields.module == "process" and fields.instance:find("^%d+$") and fields.name == "" then
    return "there is no process " .. fields.instance
  elseif fields.statistic:find("^[^/].*:") then
    return "an operand has four fields, module:instance:name:statistic"
  end
  for class, optional in pairs(OPTIONAL) do
    local pattern = fields.class ~= "" and fields.class ~= "*" and core.pattern(fields.class)
    if pattern and pattern:matches(class) and not require("kstat.base.past").is_elsewhere() then
      return ("KSTAT_WITH=%s adds %s"):format(optional[1], optional[2])
    end
  end
  return nil
end

-- The only field that a selector names, and what it says; nil: it names none or several.
local function only_field(fields)
  local only
  for field, value in pairs(fields) do
    if value ~= "" and only then
      return nil
    end
    only = value ~= "" and field or only
  end
  return only, only and fields[only]
end

-- Whether a name is that of a file with something in it.
local function is_file(name)
  local file = io.open(name)
  local is_text = file and file:read(1) ~= nil -- a directory can be opened, too
  if file then
    file:close()
  end
  return is_text
end

-- What was probably meant by a field that no kstat has. typed: the field, if no other was given.
local function meant_by(fields, typed, how, kstats)
  local of = {} -- names that there are, and which field they are of
  local order = typed == "module" and { "name", "class", "module" } or { "name", "module", "class" }
  for _, field in ipairs(order) do
    for _, k in ipairs(kstats) do
      of[k[field]] = field
    end
  end
  for _, field in ipairs({ "class", "module", "name" }) do
    local name = fields[field] or ""
    local meant = name ~= "" and not of[name] and not name:find("[*?%[/]") and unknown.nearest(name, of)
    if meant then
      local form = typed and of[meant] ~= typed and require("kstat.base.known").form(how, of[meant], meant)
      return ("; did you mean '%s'?%s"):format(meant, form and " " .. form or "")
    end
  end
  return ""
end

-- Kstats and drivers of illumos that are not here: what has their figures; "": Linux does not count them. A number at
-- the end of a name is left out.
local OF_ILLUMOS = { vminfo = "unix:0:meminfo", kmem_alloc = "kmalloc-8 and so on, with KSTAT_WITH=slab",
  vopstats = "a kstat of class 'fs'", zone_caps = "a kstat of class 'cgroup'", zones = "a kstat of class 'cgroup'" }
for name in ("segmap dnlcstats ncstats biostats flushmeter callout turnstile sock_unix_list kvm pg_hw_perf " ..
  "pci_intrs kmem_magazine"):gmatch("[%w_]+") do
  OF_ILLUMOS[name] = ""
end
for driver in ("hme eri ge ce bge nge e1000g igb ixgbe rge nxge vnic aggr"):gmatch("%w+") do
  OF_ILLUMOS[driver] = "link:0:NAME"
end
for driver in ("cmdk dad ssd blkdev"):gmatch("%w+") do
  OF_ILLUMOS[driver] = "a kstat of class 'disk'"
end

-- What illumos has by this name.
local function of_illumos(fields)
  for _, name in ipairs({ fields.name, fields.module }) do
    local here = OF_ILLUMOS[name:gsub("_?%d+$", "")]
    if here then
      return (here == "" and "; illumos has it; Linux does not count it" or "; here it is %s"):format(here)
    end
  end
  return ""
end

local function no_kstat(fields, everything, how)
  local text = ("%s:%s:%s:%s"):format(fields.module, fields.instance, fields.name, fields.statistic):gsub(":+$", "")
  local switch, only, word = unknown.switch(fields), only_field(fields)
  local hint = switch and "; " .. switch or as_number(word or "")
  hint = hint == "" and of_illumos(fields) or hint
  if hint == "" then
    local kstats = everything() or {}
    local line = word and require("kstat.base.known").line(word, how, kstats)
    if line then
      return line
    end
    hint = text == fields.module and is_file(text) and ("; -r %s reads the file"):format(text) or
      meant_by(fields, only, how, kstats)
  end
  return (text == "" and ("no kstat has the class '%s'"):format(unknown.shown(fields.class)) or
    ("no kstat matches '%s'"):format(unknown.shown(text)) ..
    (fields.class ~= "" and (" of class '%s'"):format(unknown.shown(fields.class)) or "")) .. hint
end

--- A line about a selector that selects nothing.
-- @tparam selector sel
-- @tparam {kstat,...} found the kstats that it matches
-- @func everything function() that returns all kstats that there are, for the hint; nil: they are not known
-- @string[opt="select"] how it was given: "kstat" on its command line, as "operand" of a tool, to "select" in a script
-- @treturn string|nil nil if it selects something
function unknown.selector(sel, found, everything, how)
  how = how or "select"
  local fields = sel:fields()
  if #found == 0 then
    return no_kstat(fields, everything, how)
  elseif fields.statistic == "" then
    return nil
  end
  local all = statistics_of(found)
  for _, k in ipairs(found) do
    for name in pairs(all) do
      if sel:matches(k, name) then
        return nil
      end
    end
  end
  local only, word = only_field(fields)
  return only and require("kstat.base.known").line(word, how, found) or
    unknown.line("no selected kstat has", fields.statistic, all)
end

--- The line about a word that names no script.
-- @string name as it was typed
-- @tparam string|nil problem why it cannot be opened; nil: it names no file
-- @string names of the scripts that there are
-- @treturn string
function unknown.script(name, problem, names)
  local meant = not problem and unknown.nearest_word(name, names)
  local ks = core.open({})
  local kstats = ks and core.select(ks) or {}
  local line = require("kstat.base.known").line(name, "kstat", kstats)
  if line then
    return display.harmless(line, true)
  elseif problem then
    return ("cannot open script '%s': %s"):format(unknown.shown(name), problem)
  end
  local hint = meant and ("; did you mean '%s'?"):format(meant) or
    meant_by({ module = name }, "script", "kstat", kstats)
  return ("no script '%s': neither a file nor installed%s"):format(unknown.shown(name),
    hint ~= "" and hint or "; 'kstatlua --help' lists them")
end

return unknown
