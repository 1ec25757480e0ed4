--- The collector textfile: metrics that other programs write into files NAME.prom.
--
-- A file is read strictly, as node_exporter reads it: one mistake and nothing of it is shown, but a line on standard
-- error and `node_textfile_scrape_error`. Times of samples are a mistake, and so is a family of another type than an
-- earlier file says, or one that the exporter has itself.
-- @module kstat.node.textfile
local core = require("kstat.core")

local textfile = {}

local TYPES = { counter = true, gauge = true, histogram = true, summary = true, untyped = true }
local SUFFIXES = { histogram = { _bucket = true, _sum = true, _count = true },
  summary = { _sum = true, _count = true } }

local MOST_BYTES = 16 * 1024 * 1024 -- of all files together
local MOST_FILES = 1000 -- NAME.prom of a directory

-- Characters of UTF-8 that are longer than a byte. Lua 5.1 cannot tell whether a text is UTF-8.
local LONGER = { "^[\194-\223][\128-\191]()", "^\224[\160-\191][\128-\191]()", "^\237[\128-\159][\128-\191]()",
  "^[\225-\236\238\239][\128-\191][\128-\191]()", "^\240[\144-\191][\128-\191][\128-\191]()",
  "^[\241-\243][\128-\191][\128-\191][\128-\191]()", "^\244[\128-\143][\128-\191][\128-\191]()" }

-- Whether a text is UTF-8 without NUL. Prometheus drops a whole scrape in which one label is not.
local function is_utf8(text)
  local at = text:find("[%z\128-\255]")
  while at do
    local behind
    for _, pattern in ipairs(LONGER) do
      behind = behind or text:match(pattern, at)
    end
    if not behind then
      return false
    end
    at = text:find("[%z\128-\255]", behind)
  end
  return true
end

-- Whether a text is a number as Prometheus reads it: decimal, and not beyond a double.
local function is_number(text)
  local word = text:lower()
  local number = word:find("^[+-]?[%d.][%d.e+-]*$") and tonumber(word)
  return word == "nan" or word:find("^[+-]?inf$") ~= nil or word:find("^[+-]?infinity$") ~= nil
    or number and math.abs(number) < math.huge
end

-- Splits the labels from what follows; nil: they are wrong. They are returned in one order and one spelling: those that
-- another program wrote in another one are the same series.
local function take_labels(rest)
  if rest:sub(1, 1) ~= "{" then
    return "", rest
  end
  local at, list, seen = rest:match("^[ \t]*()", 2), {}, {}
  while rest:sub(at, at) ~= "}" do
    local name, quote = rest:match("^[ \t]*([%a_][%w_]*)[ \t]*=[ \t]*\"()", at)
    if not name or seen[name] or name == "__name__" then
      return nil
    end
    seen[name] = true
    local stop = quote
    while true do
      local c = rest:sub(stop, stop)
      if c == "" then
        return nil
      elseif c == '"' then
        break
      elseif c == "\\" and not rest:sub(stop + 1, stop + 1):find('[\\"n]') then
        return nil
      end
      stop = stop + (c == "\\" and 2 or 1)
    end
    list[#list + 1] = stop > quote and name .. '="' .. rest:sub(quote, stop) or nil -- an empty label is none
    at = rest:match("^[ \t]*,?[ \t]*()", stop + 1)
    if rest:sub(stop + 1, at - 1):find(",", 1, true) == nil and rest:sub(at, at) ~= "}" then
      return nil
    end
  end
  table.sort(list)
  return list[1] and "{" .. table.concat(list, ",") .. "}" or "", rest:sub(at + 1)
end

-- The family of a sample: by its name, or by that of a histogram or summary.
local function family_of(families, name)
  for _, suffix in ipairs({ "_bucket", "_sum", "_count" }) do
    local base = name:sub(-#suffix) == suffix and families[name:sub(1, -#suffix - 1)]
    if base and SUFFIXES[base.type] and SUFFIXES[base.type][suffix] then
      return base
    end
  end
  local one = families[name]
  if not one then
    one = { name = name }
    families[name], families[#families + 1] = one, one
  end
  return one
end

local function take_comment(families, line)
  local what, name, rest = line:match("^#[ \t]*(%u+)[ \t]+([%a_:][%w_:]*)[ \t]?(.*)$")
  if what ~= "HELP" and what ~= "TYPE" then
    return line:find("^#[ \t]*TYPE[ \t]") and "a name expected" or nil
  end
  local family = family_of(families, name)
  if what == "HELP" then
    if family.help then
      return "a second HELP of " .. name
    end
    family.help = line
  elseif family.type or family[1] then
    return "a second TYPE of " .. name .. ", or one behind its samples"
  else
    family.type, family.head = rest:match("^[ \t]*(%a+)[ \t]*$"), line
    return not TYPES[family.type or ""] and ("no type '%s'"):format(rest) or nil
  end
end

local function take_sample(families, seen, line, room)
  local name, rest = line:match("^([%a_:][%w_:]*)[ \t]*(.*)$")
  local labels, after = take_labels(rest or "")
  local value, time = (after or ""):match("^[ \t]*(%S+)[ \t]*(.-)[ \t]*$")
  if not name or not labels or not value or not is_number(value) then
    return "no sample"
  elseif time ~= "" then
    return "a sample with a time, which scrapes do not have"
  elseif seen[name .. labels] then
    return "a second sample of " .. name .. labels
  end
  room.samples, seen[name .. labels] = room.samples - 1, true
  if room.samples < 0 then
    return ("all text files together have at most %d samples; --max-series allows more"):format(room.most)
  end
  table.insert(family_of(families, name), name .. labels .. " " .. value)
end

-- Parses the text of a file. Returns families: name, type, the lines `help` and `head`, and those of their samples; or
-- nil and a line about the first mistake.
local function parse(text, room)
  local families, seen, number = {}, {}, 0
  if text ~= "" and text:sub(-1) ~= "\n" then
    return nil, "the last line has no end"
  elseif not is_utf8(text) then
    return nil, "the text is not UTF-8"
  end
  for line in text:gmatch("([^\n]*)\n") do
    number = number + 1
    local wrong
    line = line:gsub("^[ \t]+", "")
    if line:find("^#") then
      wrong = take_comment(families, line)
    elseif line ~= "" then
      wrong = take_sample(families, seen, line, room)
    end
    if wrong then
      return nil, ("%d: %s"):format(number, wrong)
    end
  end
  return families
end

-- Reads a file; nil, message: it is wrong. room: what is left of the bounds of all files, { bytes, samples, most }
local function read(path, room)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, message
  end
  local text = file:read(room.bytes) or ""
  local more = file:read(1)
  file:close()
  if more then
    return nil, path .. ": all text files together are longer than 16 MiB"
  end
  local families
  room.bytes = room.bytes - #text
  families, message = parse(text, room)
  return families, message and path .. ":" .. message
end

-- Adds families to those of other files. nil, message: one is of another type there, or the exporter's own.
local function merge(all, families, has_own)
  for _, one in ipairs(families) do
    local other = all[one.name]
    if other and (other.type or "untyped") ~= (one.type or "untyped") then
      return nil, ("%s is of another type in another file"):format(one.name)
    elseif has_own(one.name) then
      return nil, ("%s is a family of the exporter itself"):format(one.name)
    end
    for _, line in ipairs(one) do
      if all.seen[line:match("^(.*) ")] then
        return nil, "another file has the sample " .. line:match("^(.*) ")
      end
    end
  end
  for _, one in ipairs(families) do
    local into = all[one.name]
    if not into then
      into = { name = one.name, type = one.type, help = one.help, head = one.head }
      all[one.name], all[#all + 1] = into, into
    end
    for _, line in ipairs(one) do
      into[#into + 1], all.seen[line:match("^(.*) ")] = line, true
    end
  end
  return true
end

-- The classic text of families.
local function render(all)
  local out = {}
  for _, one in ipairs(all) do
    if one[1] then
      out[#out + 1] = one.help
      out[#out + 1] = one.head
      for _, line in ipairs(one) do
        out[#out + 1] = line
      end
    end
  end
  out[#out + 1] = ""
  return table.concat(out, "\n")
end

-- Reads a file into what there is. nil, message: it is wrong, and nothing of it is there.
local function add_file(all, path, has_own, room)
  local before = room.samples
  local families, message = read(path, room)
  local ok
  if families then
    ok, message = merge(all, families, has_own)
    message = message and path .. ": " .. message
  end
  room.samples = ok and room.samples or before
  return ok, message
end

--- Reads all files NAME.prom of directories.
-- @tparam {string,...} directories
-- @func has_own whether the exporter has a family of this name
-- @int most samples of all files together
-- @treturn string the classic text of their families
-- @treturn table the files that were read: their paths, and the times (s) of their last changes by these
-- @treturn {string,...} lines about those that were not
function textfile.read(directories, has_own, most)
  local all, files, lines = { seen = {} }, {}, {}
  local room = { bytes = MOST_BYTES, samples = most, most = most }
  for _, directory in ipairs(directories) do
    local names, times = core.directory(directory)
    lines[#lines + 1] = not names and times or nil
    local paths = {}
    for i, name in ipairs(names or {}) do
      if name:find("%.prom$") then
        paths[#paths + 1] = directory .. "/" .. name
        files[paths[#paths]] = times[i]
      end
    end
    table.sort(paths)
    for i, path in ipairs(paths) do
      local ok, message = files[path], path .. ": it is no file"
      if i > MOST_FILES then
        lines[#lines + 1] = ("%s: more than %d files NAME.prom"):format(directory, MOST_FILES)
        break
      elseif ok then
        ok, message = add_file(all, path, has_own, room)
      end
      table.insert(ok and files or lines, ok and path or message)
    end
  end
  return render(all), files, lines
end

return textfile
