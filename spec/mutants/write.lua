--- Writes files in which mutants can be turned on, one or several; see mutants.lua.
-- SPDX-License-Identifier: MIT
local M = {}

-- --- C: the body of a function is there once more for each mutant, behind a question which of them is on -------------

local function is_label(line)
  return line:find("^%s*case .*:$") or line:find("^%s*default:$")
end

-- Whether a statement begins with a line, so that another one may stand before it.
local function begins_statement(line, before)
  if is_label(line) or line:find("^%s*[}.]") or line:find("^%s*case ") or line:find("^%s*else") then
    return false
  end
  return is_label(before) or before:find("[;}{]$") and not before:find("= {$") and
    not before:find("^%s*[{}].*[^;]$") and not before:find("^%s+struct .*{$")
end

-- Where the mark of a mutant goes: before the statement of its line, or an earlier one; the function's begin is one.
local function mark_of(lines, m)
  for i = m.line, m.body + 1, -1 do
    if i == m.body + 1 or begins_statement(lines[i], lines[i - 1]) then
      return i
    end
  end
end

-- The lines of a body, with labels that are no others'. marks: in lines, the text before them.
local function add_body(out, lines, first, last, id, changed, marks)
  local labels = {}
  for i = first, last do
    local label = lines[i]:match("^%s?([%w_]+):$")
    if label and label ~= "default" then
      labels[label] = label .. "_mutant" .. id
    end
  end
  for i = first, last do
    local line = changed[i] or lines[i]
    line = line:gsub("[%a_][%w_]*", labels)
    out[#out + 1] = (marks[i] or "") .. line
  end
end

-- A table outside of functions, from line `first` on, is there once more, too. What has changed is copied over it when
-- the program starts, so that it is not constant where only this file sees it. Returns its last line.
local function add_table(out, lines, first, mutants)
  local last, declared = first, lines[first]:match("^(.*) = {$")
  local name = declared:gsub("%b[]$", ""):gsub("%b[]$", ""):match("[%w_]+$")
  if declared:find("^static ") then
    declared = declared:find("%*const ") and declared:gsub("%*const ", "*") or declared:gsub("const ", "")
  end
  repeat
    out[#out + 1] = last == first and declared .. " = {" or lines[last]
    last = last + 1
  until lines[last - 1] == "};"
  for _, m in ipairs(mutants) do
    local other = ("%s_mutant%d"):format(name, m.id)
    out[#out + 1] = ("static " .. declared:gsub("^static ", "")):gsub("%f[%w_]" .. name .. "%f[^%w_]", other) .. " = {"
    for i = first + 1, last - 1 do
      out[#out + 1] = i == m.line and m.now or lines[i]
    end
    out[#out + 1] = ("MUTANT_TABLE(%d, %s, %s)"):format(m.id, name, other)
  end
  return last - 1
end

-- mutants: of this file. Whatever the file does reaches its tables.
function M.c(lines, mutants, header)
  local out, of, at, of_tables, mark_tables = { ('#include "%s"'):format(header) }, {}, 1, {}, ""
  for _, m in ipairs(mutants) do
    local list, first = m.body and of or of_tables, m.body or m.table
    list[first] = list[first] or {}
    table.insert(list[first], m)
    if m.table then
      mark_tables = mark_tables .. ("mutant_mark(%d); "):format(m.id)
    end
  end
  while at <= #lines do
    local here = of[at]
    if of_tables[at] then
      at = add_table(out, lines, at, of_tables[at])
    else
      out[#out + 1] = lines[at] .. (lines[at] == "{" and mark_tables or "")
    end
    if here then
      local last, marks = at + 1, {}
      while lines[last] ~= "}" do
        last = last + 1
      end
      for _, m in ipairs(here) do
        out[#out + 1] = ("if (mutant_on(%d)) {"):format(m.id)
        add_body(out, lines, at + 1, last - 1, m.id, { [m.line] = m.now }, {})
        out[#out + 1] = "} else"
        local i = m.marked_at or mark_of(lines, m)
        marks[i] = ("mutant_mark(%d); "):format(m.id) .. (marks[i] or "")
      end
      out[#out + 1] = "{"
      add_body(out, lines, at + 1, last - 1, 0, {}, marks)
      out[#out + 1] = "}"
      at = last
      out[#out + 1] = lines[at]
    end
    at = at + 1
  end
  return table.concat(out, "\n") .. "\n"
end

-- --- Lua: the file has its own text, and loads it with its lines changed -------------------------------------------
-- Under its own name, without the lines where it has none: messages name the first place that is not the module's.

local PROLOGUE = [=[do local on, marks = os.getenv("MUTANT"), os.getenv("MUTANT_MARKS") ]=]
  .. [=[if on or marks then ]=]
  .. [=[local lines, change = {}, {} for _, m in ipairs($MUTANTS$) do if marks then ]=]
  .. [=[change[m[4]] = "do package.loaded._KM(" .. m[1] .. ") end " .. (change[m[4]] or "") ]=]
  .. [=[elseif ("," .. on):find("," .. m[1] .. ",", 1, true) then change[m[2]] = m[3] end end ]=]
  .. [=[if next(change) then for line in ($TEXT$):gmatch("([^\n]*)\n") do local n = #lines + 1 ]=]
  .. [=[lines[n] = marks and (change[n] or "") .. line or change[n] or line end ]=]
  .. [=[package.loaded._KM = function(id) local f = io.open(marks .. "/" .. id, "a") if f then f:close() end end ]=]
  .. [=[local text, name = table.concat(lines, "\n"), debug.getinfo(1, "S").source ]=]
  .. [=[local f = loadstring and loadstring(text, name) or load(text, name, "t", _ENV) ]=]
  .. [=[return (name == "=?" and load(string.dump(f, true)) or f)(...) end end end ]=]

-- In numbers, so that nobody who looks for functions or comments in a file finds any here.
local function quoted(text)
  return '"' .. text:gsub(".", function(c) return ("\\%03d"):format(c:byte()) end):gsub("\n", "\\010") .. '"'
end

-- The line before whose text a statement may stand.
local function lua_mark(lines, m)
  for at = m.line, 1, -1 do
    local copy = table.move(lines, 1, #lines, 1, {})
    copy[at] = "do _KM() end " .. copy[at]
    if load(table.concat(copy, "\n")) then
      return at
    end
  end
  return 1
end

function M.lua(lines, mutants)
  local list = {}
  for _, m in ipairs(mutants) do
    list[#list + 1] = ("{%d, %d, %s, %d}"):format(m.id, m.line, quoted(m.now), lua_mark(lines, m))
  end
  -- Behind the comment at the file's head, from which the host takes what a script is for.
  local head = 1
  while lines[head]:find("^%-%-") do
    head = head + 1
  end
  local text = table.concat(lines, "\n") .. "\n"
  local values = { MUTANTS = "{" .. table.concat(list, ", ") .. "}", TEXT = quoted(text) }
  local prologue = PROLOGUE:gsub("%$(%u+)%$", values)
  local out = table.move(lines, 1, #lines, 1, {})
  out[head] = prologue .. out[head]
  return table.concat(out, "\n") .. "\n"
end

return M
