--- Damages each file of a recorded tree in turn, and checks what a chain over the tree then has. Run by kstatlua:
--
--     kstatlua spec/support/robust.lua TREE [WORD]
--
-- TREE is a copy that may be changed, with proc and sys. It prints a line for each finding. With a word only the files
-- are damaged whose paths have it. Each file is missing once and empty once, which shows what is made of it, and gets a
-- third of the other damages, another third than the file before; with KSTAT_SOAK in the environment it gets all.
local kstat = require("kstat")

local tree, word = arg[1], arg[2]

local function slurp(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("a")
  f:close()
  return text
end

local function spill(path, text)
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
end

-- A number that overflows 64 bits by MARK: where it comes out again as a multiple of MARK, it was wrapped.
local MARK = 777777
local beyond = { "18446744073710329393", "1180591620717412081201" } -- 2^64 + MARK, 2^70 + MARK

-- Each number in the text that is a word of its own, but for the first word of a line with several.
local function numbers(text, f)
  return (text:gsub("[^\n]+", function(line)
    local first, rest = line:match("^(%s*%S+%s)(.*)$")
    if not first then
      first, rest = "", line
    end
    return first .. (rest .. " "):gsub("%f[%S](%d+)(%s)", function(n, space) return f(n) .. space end):sub(1, -2)
  end))
end

-- Each damage: its name, a function that returns the new text (nil: the file is removed), `prepare`: a command that
-- makes another thing of that name. is_silent: nobody is warned. is_newer: no kstat is lost. by_user: not for root.
local damages = {
  { "missing", function() end, is_silent = true },
  { "empty", function() return "" end },
  { "a directory", prepare = "mkdir" },
  { "unreadable", prepare = "install -m 0 /dev/null", by_user = true },
  { "garbage", function() return "\0\255%n garbage \27[31m:::\n\t-\n" .. ("x"):rep(5000) end },
  { "cut in a line", function(text) return text:find("\n.") and text:sub(1, #text * 2 // 3) or text end },
  { "2^64 and more", function(text) return numbers(text, function() return beyond[1] end) end },
  { "2^70 and more", function(text) return numbers(text, function() return beyond[2] end) end },
  { "negative", function(text) return numbers(text, function(n) return "-" .. n end) end },
  { "a newer kernel", function(text) return (text:gsub("\n", " 777777 777777\n")) end, is_newer = true },
  { "an older kernel", function(text) return (text:gsub("[ \t]+%S+\n", "\n")) end },
}

local reported = 0
local function report(...)
  reported = reported + 1
  print(string.format(...))
end

-- The values of a chain over the tree as it is, by "module:instance:name" and statistic; and the warnings.
local function look()
  local k, err = kstat.open({ proc = tree .. "/proc", sys = tree .. "/sys", processes = true, threads = true })
  if not k then
    return nil, { err }
  end
  local all, last, name = {}, nil, nil
  for ks, stat, value in k:values() do
    if ks ~= last then
      last, name = ks, ks.module .. ":" .. ks.instance .. ":" .. ks.name
      all[name] = {}
    end
    all[name][stat] = value
  end
  return all, k:warnings()
end

-- True if two kstats differ, but for their times.
local function differ(a, b)
  if not a or not b then
    return a ~= b
  end
  for stat, value in pairs(a) do
    if stat ~= "snaptime" and stat ~= "crtime" and b[stat] ~= value then
      return true
    end
  end
  for stat in pairs(b) do
    if a[stat] == nil then
      return true
    end
  end
  return false
end

local LARGE = 2 ^ 62

local function is_absurd(value, before, text)
  if type(value) ~= "number" or value == before or value < 0 and before and before < 0 then
    return false
  end
  if math.type(value) == "integer" and value ~= 0 and value % MARK == 0 and not text:find("777777", 1, true) then
    return true
  end
  return value ~= value or math.abs(value) >= LARGE and value ~= math.maxinteger
end

local function check(path, name, text, damage, whole, touched)
  local now, warnings = look()
  local what = path .. ", " .. damage[1]
  if not now then
    return report("%s: the chain cannot be opened: %s", what, warnings[1])
  end
  if #warnings > 1 then
    report("%s: %d warnings: %s", what, #warnings, table.concat(warnings, " | "))
  elseif #warnings == 1 and damage.is_silent then
    report("%s: a warning: %s", what, warnings[1])
  elseif #warnings == 1 and not warnings[1]:find(name, 1, true) then
    report("%s: the warning does not name the file: %s", what, warnings[1])
  end
  for kname, stats in pairs(now) do
    for stat, value in pairs(stats) do
      local before = whole[kname] and whole[kname][stat]
      if is_absurd(value, before, text) then
        report("%s: %s:%s is %s, before %s", what, kname, stat, value, tostring(before))
      end
    end
  end
  for kname, stats in pairs(whole) do
    if differ(stats, now[kname]) then
      if damage.is_silent or damage[1] == "empty" then
        touched[kname] = true
      -- Without any mounts the usual places of groups are tried.
      elseif not touched[kname] and name ~= "self/mountinfo" then
        report("%s: %s changed", what, kname)
      end
      -- What follows the counts of an interrupt names its devices.
      if damage.is_newer and not now[kname] and text:find("\n.") and name ~= "interrupts" then
        report("%s: %s is lost", what, kname)
      end
    end
  end
end

local is_root = io.open("/proc/self/status"):read("a"):find("\nUid:%s+%d+%s+0%s") ~= nil
local whole, warnings = look()
assert(whole, warnings[1])
for _, line in ipairs(warnings) do
  report("the tree itself: %s", line)
end
local third, thirds = 0, os.getenv("KSTAT_SOAK") and 1 or 3
for path in io.popen("cd " .. tree .. " && find proc sys -type f 2>/dev/null | sort"):lines() do
  local file = tree .. "/" .. path
  local text, touched = slurp(file), {}
  if not word or path:find(word, 1, true) then
    third = third + 1
    for i, damage in ipairs(damages) do
      local new = damage[2] and damage[2](text)
      if i <= 2 or (i + third) % thirds == 0 then
        os.remove(file)
        if new then
          spill(file, new)
        elseif damage.prepare then
          os.execute(damage.prepare .. " '" .. file .. "'")
        end
        if new ~= text and not (damage.by_user and is_root) then
          check(path, path:gsub("^%a+/", ""), new or "", damage, whole, touched)
        end
        os.remove(file)
        spill(file, text)
      end
    end
  end
end
