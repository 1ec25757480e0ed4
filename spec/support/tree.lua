--- Trees of files as one text each: what the specs have of /proc and /sys, and the seeds of fuzzers.
--
--    lua5.4 spec/support/tree.lua unpack spec/trees/small.tree DIR     writes the files below DIR, a new directory
--    lua5.4 spec/support/tree.lua pack DIR spec/trees/small.tree       writes the text of the files below DIR
--
-- An entry begins with a line "==> PATH", and the lines of the file follow. Words in brackets after the path say what
-- is not as usual: a mode in octal (of a file not 644, of a directory not 755), "open" for a file whose last line does
-- not end, "hex" for bytes that are no text. "==> PATH -> TARGET" is a symbolic link; "==> PATH/" is a directory that
-- is empty or has a mode of its own. Entries are sorted by their paths. What stands before the first is a comment.
local M = {}

local FILE_MODE, DIRECTORY_MODE = "644", "755"

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

-- The words in brackets of a file with that text and mode, and the lines to write.
local function described(text, mode)
  local words = { mode ~= FILE_MODE and mode or nil }
  if text:find("[%z\1-\8\11-\31\127]") or ("\n" .. text):find("\n==> ", 1, true) then
    words[#words + 1] = "hex"
    text = text:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
    text = text:gsub(("%x"):rep(64), "%0\n"):gsub("%x$", "%0\n")
  elseif text:find("[^\n]$") then
    words[#words + 1] = "open"
    text = text .. "\n"
  end
  return words[1] and (" [%s]"):format(table.concat(words, " ")) or "", text
end

local function packed_entry(dir, path, kind, mode, target)
  if kind == "l" then
    return ("==> %s -> %s\n"):format(path, target)
  elseif kind == "d" then
    return ("==> %s/%s\n"):format(path, mode == DIRECTORY_MODE and "" or (" [%s]"):format(mode))
  end
  return ("==> %s%s\n%s"):format(path, described(read(dir .. "/" .. path), mode))
end

--- Returns the text of the files below a directory.
function M.pack(dir)
  local list = assert(io.popen(("cd %s && find . -mindepth 1 '(' -not -type d -or -not -perm %s -or -empty ')' "
    .. "-printf '%%P\\t%%y\\t%%m\\t%%l\\n' | LC_ALL=C sort"):format(quote(dir), DIRECTORY_MODE)))
  local entries = {}
  for line in list:lines() do
    local path, kind, mode, target = line:match("^([^\t]+)\t([dfl])\t(%d+)\t(.*)$")
    if not path or path:find(" -> ", 1, true) or (path .. "\n" .. target .. "\n"):find("]\n", 1, true) then
      error("cannot be packed: " .. line, 0)
    end
    entries[#entries + 1] = packed_entry(dir, path, kind, mode, target)
  end
  list:close()
  return table.concat(entries)
end

-- Iterates over the entries of a text: what follows "==> ", and the lines.
local function each_entry(text)
  text = "\n" .. text
  local at = text:find("\n==> ", 1, true)
  return function()
    if at then
      local stop = text:find("\n==> ", at + 1, true)
      local head, body = text:sub(at + 1, stop or -1):match("^==> ([^\n]*)\n(.*)$")
      at = stop
      return head, body
    end
  end
end

-- Takes the words in brackets off a head. Returns the rest, the mode or nil, and the other words by name.
local function parse_head(head)
  local rest, bracket = head:match("^(.*) %[([%w ]+)%]$")
  local mode, words = nil, {}
  for word in (bracket or ""):gmatch("%w+") do
    words[word] = true
    mode = word:match("^%d+$") or mode
  end
  return rest or head, mode, words
end

local function contents(body, words)
  if words.hex then
    return (body:gsub("%s", ""):gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
  end
  return words.open and body:sub(1, -2) or body
end

-- Runs a command of sh in a directory, with words as many as there are, if there are any.
local function in_directory(dir, command, words)
  if words[1] then
    local pipe = assert(io.popen(("cd %s && xargs -0 %s"):format(quote(dir), command), "w"))
    pipe:write(table.concat(words, "\0"))
    assert(pipe:close())
  end
end

--- Writes the files of a text below a directory, which is made.
function M.unpack(text, dir)
  local directories, links, modes, files = { "." }, {}, {}, {}
  for head, body in each_entry(text) do
    local path, mode, words = parse_head(head)
    local from, target = path:match("^(.-) %-> (.*)$")
    directories[#directories + 1] = (from or path):match("^(.*)/")
    if from then
      links[#links + 1], links[#links + 2] = target, from
    elseif not path:find("/$") then
      files[path] = contents(body, words)
    end
    if mode then
      table.insert(modes, 1, path) -- what is in a directory goes before it
      table.insert(modes, 1, mode)
    end
  end
  assert(os.execute("mkdir -p " .. quote(dir)))
  in_directory(dir, "mkdir -p", directories)
  for path, body in pairs(files) do
    write(dir .. "/" .. path, body)
  end
  in_directory(dir, "-n 2 ln -s", links)
  in_directory(dir, "-n 2 chmod", modes)
end

-- The comment at the head of a packed file, which may not be there yet.
local function comment(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  local first = ("\n" .. text):find("\n==> ", 1, true)
  return first and text:sub(1, first - 1) or text
end

local command, from, to = ...
if command == "pack" and to then
  write(to, comment(to) .. M.pack(from))
elseif command == "unpack" and to then
  M.unpack(read(from), to)
elseif command ~= "support.tree" then
  io.stderr:write("usage: tree.lua pack DIRECTORY FILE, or tree.lua unpack FILE DIRECTORY\n")
  os.exit(2)
end

return M
