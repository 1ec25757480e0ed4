--- What somebody chose on a screen, kept between its starts: columns, orders, trees and filters.
--
-- It is a file of lines: a view, the number of its table (0: all of them), what was chosen, and how, with tabs between.
-- Only what differs from what a view begins with is there. What is not known, such as a column of another version, is
-- passed over; a file that is something else is left alone, and so is one of another user.
--
-- @module kstat.top.remembered
local core = require("kstat.core")

local remembered = {}
remembered.__index = remembered

local HEAD = "kstatlua top 1\n"

--- Where it is kept.
-- @treturn string|nil nil: the environment names no place
function remembered.place()
  local state, home = os.getenv("XDG_STATE_HOME") or "", os.getenv("HOME") or ""
  if state:sub(1, 1) == "/" then
    return state .. "/kstat/top"
  end
  return home:sub(1, 1) == "/" and home .. "/.local/state/kstat/top" or nil
end

--- Reads what was chosen.
-- @string|nil path nil: nothing is kept
-- @treturn remembered with `problem`, a line that says why the file is ignored
function remembered.open(path)
  local self = setmetatable({ path = path, views = {} }, remembered)
  local content, problem = "", nil
  if path then
    content, problem = core.own_file(path)
  end
  self.text = content or ""
  local is_ours = self.text:sub(1, #HEAD) == HEAD
  for line in (is_ours and self.text:sub(#HEAD + 1) or ""):gmatch("([^\n]*)\n") do
    local view, part, what, how = line:match("^([%w_]+)\t(%d%d?)\t(%l+)\t([^\t%c]*)$")
    if not view then
      problem = "a line of it means nothing"
      break
    end
    self.views[view] = self.views[view] or {}
    table.insert(self.views[view], { part = tonumber(part), what = what, how = how })
  end
  if problem or self.text ~= "" and not is_ours then
    self.problem = ("what was chosen before is ignored: %s: %s"):format(path, problem or "it is not of kstatlua top")
    self.views, self.path = {}, nil -- and left alone
  end
  return self
end

--- Calls f(what, how) for each choice of a table, or of a whole view.
-- @string view its name
-- @int part the number of the table; 0: the view
-- @func f
function remembered:each(view, part, f)
  for _, choice in ipairs(self.views[view] or {}) do
    if choice.part == part then
      f(choice.what, choice.how)
    end
  end
end

-- What differs of a table from what it began with.
local function choices_of(part, number, add)
  local sort = part.sort and (part.up ~= part.reverse and "-" or "") .. part.sort
  if sort and (sort ~= part.own_sort or part.own_by) then
    add(number, "sort", sort)
  end
  for i, column in ipairs(part.columns or {}) do
    local name = column.title ~= "" and column.title or column.key
    local is_hidden = part.table.hidden[i] ~= nil
    if name and is_hidden ~= (column.hidden == true) then
      add(number, is_hidden and "hide" or "show", name)
    elseif name and part.table.forced[i] then
      add(number, "keep", name)
    end
  end
end

--- Takes in what a view that is left or shown looks like. What a command line said is not taken for a choice.
-- @tparam table shown of kstat.top.application
function remembered:take(shown)
  local list, before = {}, self.views[shown.view.name] or {}
  local function add(part, what, how)
    list[#list + 1] = { part = part, what = what, how = how }
  end
  local said = shown.said or {}
  for _, choice in ipairs(before) do
    local is_said = choice.what == "filter" and said.filter == shown.filter or
      choice.what == "sort" and choice.part == 1 and said.sort
    local part = shown.parts[choice.part]
    if is_said or part and not part.columns then
      list[#list + 1] = choice
    end
  end
  if shown.filter ~= "" and shown.filter ~= said.filter then
    add(0, "filter", shown.filter)
  end
  if shown.tree then
    add(0, "tree", "")
  end
  for i, part in ipairs(shown.parts) do
    if part.columns and not (i == 1 and said.sort == part.sort and said.sort) then
      choices_of(part, i, add)
    end
  end
  self.views[shown.view.name] = list
end

--- Forgets all.
function remembered:forget()
  self.views = {}
end

--- Writes it, if it is not what was read.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string why not
function remembered:save()
  local names, lines = {}, {}
  for name in pairs(self.views) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    for _, choice in ipairs(self.views[name]) do
      lines[#lines + 1] = ("%s\t%d\t%s\t%s\n"):format(name, choice.part, choice.what, choice.how)
    end
  end
  local content = lines[1] and HEAD .. table.concat(lines) or ""
  if not self.path or content == self.text then
    return true
  end
  self.text = content
  return core.own_replace(self.path, content)
end

return remembered
