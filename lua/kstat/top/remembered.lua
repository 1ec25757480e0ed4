--- What somebody chose on a screen, kept between its starts: columns, orders, trees and filters.
--
-- It is a file of lines: a view, the number of its table (0: all of them), what was chosen, and how, with tabs between.
-- What is not known, such as a column of another version, is passed over; a file that is something else is left alone,
-- and so is one of another user.
-- @module kstat.top.remembered
local core = require("kstat.core")
local variable = require("kstat.base.environment").variable

local remembered = {}
remembered.__index = remembered

local HEAD = "kstatlua top 1\n"

--- Where it is kept.
-- @treturn string|nil nil: the environment names no place
function remembered.place()
  local state, home = variable("XDG_STATE_HOME") or "", variable("HOME") or ""
  if state:sub(1, 1) == "/" then
    return state .. "/kstat/top"
  end
  return home:sub(1, 1) == "/" and home .. "/.local/state/kstat/top" or nil
end

--- Reads what was chosen.
-- @string|nil path nil: nothing is kept
-- @treturn remembered with `problem`, a line that says why the file is ignored
function remembered.open(path)
  local self = setmetatable({ path = path, choices = {} }, remembered)
  local content, problem = "", nil
  if path then
    content, problem = core.own_file(path)
  end
  self.text = content or ""
  local is_ours = self.text:sub(1, #HEAD) == HEAD
  for line in (is_ours and self.text:sub(#HEAD + 1) or ""):gmatch("([^\n]*)\n") do
    local key, how = line:match("^([%w_]+\t%d%d?\t[^\t%c]+)\t([^\t%c]*)$")
    if not key then
      problem = "a line of it means nothing"
      break
    end
    self.choices[key] = how
  end
  if problem or self.text ~= "" and not is_ours then
    self.problem = ("what was chosen before is ignored: %s: %s"):format(path, problem or "it is not of kstatlua top")
    self.choices, self.path = {}, nil -- and left alone
  end
  return self
end

local function key_of(view, part, what)
  return ("%s\t%d\t%s"):format(view, part, what)
end

--- How something was chosen.
-- @string view its name
-- @int part the number of the table; 0: the view
-- @string what
-- @treturn string|nil
function remembered:get(view, part, what)
  return self.choices[key_of(view, part, what)]
end

--- Takes in a choice.
-- @string view
-- @int part
-- @string what
-- @string|nil how nil: as at first
function remembered:set(view, part, what, how)
  self.choices[key_of(view, part, what)] = how
end

--- Writes it, if it is not what was read.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string why not
function remembered:save()
  local lines = {}
  for key, how in pairs(self.choices) do
    lines[#lines + 1] = key .. "\t" .. how .. "\n"
  end
  table.sort(lines)
  local content = lines[1] and HEAD .. table.concat(lines) or ""
  if not self.path or content == self.text then
    return true
  end
  self.text = content
  return core.own_replace(self.path, content)
end

return remembered
