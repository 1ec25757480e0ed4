--- Bytes from a terminal as keys.
--
-- A key is a character as it was typed ("q", "/", "é"), or a name: "up", "down", "left", "right",
-- "pageup", "pagedown", "home", "end", "insert", "delete", "enter", "tab", "backspace", "escape",
-- "f1" to "f10", "ctrl-c", "ctrl-l". What has no name here (pasted control bytes) is "other".
-- @module kstat.top.keys
local keys = {}

local CONTROL = { ["\r"] = "enter", ["\n"] = "enter", ["\t"] = "tab", ["\8"] = "backspace", ["\127"] = "backspace",
  ["\3"] = "ctrl-c", ["\12"] = "ctrl-l" }
local FINAL = { A = "up", B = "down", C = "right", D = "left", H = "home", F = "end", P = "f1", Q = "f2", R = "f3",
  S = "f4" }
local NUMBERED = { ["1"] = "home", ["2"] = "insert", ["3"] = "delete", ["4"] = "end", ["5"] = "pageup",
  ["6"] = "pagedown", ["7"] = "home", ["8"] = "end", ["11"] = "f1", ["12"] = "f2", ["13"] = "f3", ["14"] = "f4",
  ["15"] = "f5", ["17"] = "f6", ["18"] = "f7", ["19"] = "f8", ["20"] = "f9", ["21"] = "f10" }
local CONSOLE = { A = "f1", B = "f2", C = "f3", D = "f4", E = "f5" } -- behind a second bracket

-- The key that starts with the escape at `at`, and where the next one starts; nil: there is more to come.
local function escape(bytes, at)
  local introducer = bytes:sub(at + 1, at + 1)
  if introducer == "" then
    return nil
  elseif introducer == "O" then
    local letter = bytes:sub(at + 2, at + 2)
    if letter == "" then
      return nil
    end
    return FINAL[letter] or "other", at + 3
  elseif introducer ~= "[" then
    return "escape", at + 1
  end
  local of_console = bytes:match("^%[(.?)", at + 2)
  if of_console then
    if of_console == "" then
      return nil
    end
    return CONSOLE[of_console] or "other", at + 4
  end
  local parameters, final, behind = bytes:match("^([\48-\63]*)[\32-\47]*([\64-\126])()", at + 2)
  if final then
    return final == "~" and NUMBERED[parameters:match("^%d+")] or FINAL[final] or "other", behind
  elseif bytes:find("^[\32-\63]*$", at + 2) then
    return nil
  end
  return "other", at + 2
end

-- Bytes that a character of UTF-8 has, by its first one.
local function length_of(byte)
  return byte < 0xC2 and 1 or byte < 0xE0 and 2 or byte < 0xF0 and 3 or byte < 0xF5 and 4 or 1
end

local function character(bytes, at)
  local byte = bytes:byte(at)
  if byte < 0x80 then
    return bytes:sub(at, at), at + 1
  end
  local n = length_of(byte)
  local _, last = bytes:find("^[\128-\191]*", at + 1)
  local have = math.min(last - at + 1, n)
  if n > 1 and have == n then
    return bytes:sub(at, at + n - 1), at + n
  elseif n > 1 and at + have > #bytes then
    return nil
  end
  return "other", at + 1
end

--- Takes bytes apart.
-- @string bytes what came so far
-- @tparam[opt] boolean final nothing follows soon: an escape at the end is the key of that name
-- @treturn {string,...} keys
-- @treturn string the bytes of a key that is not whole yet, to be put before the next ones
function keys.parse(bytes, final)
  local list, at = {}, 1
  while at <= #bytes do
    local byte = bytes:byte(at)
    local key, behind
    if byte == 27 then
      key, behind = escape(bytes, at)
    elseif byte < 32 or byte == 127 then
      key = CONTROL[bytes:sub(at, at)] or "other"
      behind = at + 1
    else
      key, behind = character(bytes, at)
    end
    if not key then
      if not final then
        return list, bytes:sub(at)
      end
      key, behind = byte == 27 and "escape" or "other", byte == 27 and at + 1 or #bytes + 1
    end
    list[#list + 1] = key
    at = behind
  end
  return list, ""
end

return keys
