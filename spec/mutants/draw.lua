--- Draws mutants: lines of C and Lua in which one token is changed; see mutants.lua.
-- SPDX-License-Identifier: MIT
local M = {}

-- What becomes of a token. A token is found with blanks around it, so that a pointer is no product and a sign no
-- difference.
local OTHERS = {
  ["<"] = "<=", ["<="] = "<", [">"] = ">=", [">="] = ">", ["=="] = "!=", ["!="] = "==", ["~="] = "==",
  ["+"] = "-", ["-"] = "+", ["*"] = "/", ["/"] = "*", ["&&"] = "||", ["||"] = "&&", ["and"] = "or", ["or"] = "and",
  ["+="] = "-=", ["-="] = "+=", ["&"] = "|", ["|"] = "&", ["<<"] = ">>", [">>"] = "<<",
}

-- The line with its texts and comments replaced by as many "_", so that no token is found in them.
local function code_of(line, is_lua)
  local function cover(text)
    return ("_"):rep(#text)
  end
  line = line:gsub('\\"', "__"):gsub("\\'", "__"):gsub('"[^"]*"', cover)
  line = line:gsub("'[^']*'", cover)
  return (is_lua and line:gsub("%-%-.*", cover) or line:gsub("/%*.*", cover):gsub("^%s*%*.*", cover))
end

-- Calls found(first, last, text) with each change of a line that is one token.
local function changes_of(line, is_lua, found)
  local code = code_of(line, is_lua)
  for first, token, last in code:gmatch("%s()([^%s%w_]+)()%s") do
    if OTHERS[token] then
      found(first, last - 1, is_lua and OTHERS[token] == "!=" and "~=" or OTHERS[token])
    end
  end
  for first, word, last in code:gmatch("%f[%w_.]()([%w_.]+)()") do
    if word:match("^%d+$") and not code:find("{ NULL,") and not code:find("^%s+char .*%];$") then
      found(first, last - 1, tostring(tonumber(word) + 1))
    elseif word == "true" or word == "false" then
      found(first, last - 1, word == "true" and "false" or "true")
    elseif is_lua and (word == "and" or word == "or") then
      found(first, last - 1, OTHERS[word])
    elseif is_lua and word == "not" then
      found(first, last, "")
    end
  end
  for at in code:gmatch("%f[!]()![%w_(]") do
    if not is_lua then
      found(at, at, "")
    end
  end
  -- A statement that is left out.
  local from = code:match("^%s+()[%w_.%->%[%]]+ = .*$")
  if not from then
    from = code:match("^%s+()[%w_.:()]+%(.*%)" .. (is_lua and "" or ";") .. "$")
  end
  if from and (is_lua or line:find(";$")) and not code:find("^%s*return") and not code:find("^%s*local") then
    found(from, #line, is_lua and "do end" or ";")
  end
  -- A row or a member of a table.
  from = not is_lua and not code:find("{ NULL,") and code:match("^%s+()[%[{.%u].*,$")
  if from then
    found(from, #line, "")
  end
end

-- Which lines of C are inside of functions or of tables outside of them, and where these begin: two tables of
-- { [line] = first line }.
local function bodies(lines)
  local inside, tables, body, first = {}, {}, nil, nil
  for i, line in ipairs(lines) do
    if line == "{" then
      body = i
    elseif line:find("^%a.* = {$") then
      first = i
    elseif line == "}" or line == "};" then
      body, first = nil, nil
    end
    inside[i] = i ~= body and body or nil
    tables[i] = i ~= first and first or nil
  end
  return inside, tables
end

-- Which lines of Lua are inside of a text or a comment of several lines.
local function long_texts(lines)
  local inside, ends = {}, nil
  for i, line in ipairs(lines) do
    inside[i] = ends ~= nil
    if not ends then
      local level, after = line:match("%[(=*)%[()")
      ends = level and not line:find("]" .. level .. "]", after, true) and "]" .. level .. "]" or nil
    elseif line:find(ends, 1, true) then
      ends = nil
    end
  end
  return inside
end

function M.read_lines(path)
  local lines = {}
  for line in io.lines(path) do
    lines[#lines + 1] = line
  end
  return lines
end

-- The paths and lines that may be changed: { { path =, line = } ... }. since: a commit, or "".
local function lines_of(paths, since)
  local list = {}
  local function run(command, each)
    local p = assert(io.popen(command))
    for line in p:lines() do
      each(line)
    end
    assert(p:close(), command)
  end
  if since ~= "" then
    local path
    run(("git diff -U0 --no-renames %s -- %s"):format(since, paths), function(line)
      path = line:match("^%+%+%+ b/(.*)$") or path
      local at, n = line:match("^@@ %-%S+ %+(%d+),?(%d*) @@")
      for i = 0, at and (tonumber(n) or 1) - 1 or -1 do
        list[#list + 1] = { path = path, line = at + i }
      end
    end)
  else
    run("git ls-files -- " .. paths, function(path)
      if path:find("%.[cl]u?a?$") then
        for i = 1, #M.read_lines(path) do
          list[#list + 1] = { path = path, line = i }
        end
      end
    end)
  end
  return list
end

--- Draws mutants: { { path =, line =, first =, last =, text =, was = } ... }, in the order of paths and lines, at most
-- one in a line. accept(mutant) says whether it compiles.
function M.draw(paths, since, n, accept)
  local list, files, drawn = lines_of(paths, since), {}, {}
  while #list > 0 and #drawn < n do
    local at = math.random(#list)
    local m = list[at]
    list[at] = list[#list]
    list[#list] = nil
    local is_lua = m.path:find("%.lua$") ~= nil
    if is_lua or m.path:find("%.c$") then
      files[m.path] = files[m.path] or M.read_lines(m.path)
      m.was = files[m.path][m.line]
      local inside, tables = bodies(files[m.path])
      m.body, m.table = inside[m.line], tables[m.line]
      local may_change = not is_lua and (m.body or m.table) or is_lua and not long_texts(files[m.path])[m.line]
      local found = {}
      changes_of(m.was, is_lua, function(first, last, text)
        found[#found + 1] = { first, last, text }
      end)
      if #found > 0 and may_change then
        local change = found[math.random(#found)]
        m.is_lua, m.first, m.last, m.text = is_lua, change[1], change[2], change[3]
        m.now = m.was:sub(1, m.first - 1) .. m.text .. m.was:sub(m.last + 1)
        if accept(m, files[m.path]) then
          drawn[#drawn + 1] = m
        end
      end
    end
  end
  table.sort(drawn, function(a, b)
    if a.path ~= b.path then
      return a.path < b.path
    end
    return a.line < b.line
  end)
  for id, m in ipairs(drawn) do
    m.id = id
  end
  return drawn
end

return M
