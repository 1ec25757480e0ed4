-- Runs spec/c/devstat_driver.c, which reads commands and prints one line for each.
local M = {}

local build = os.getenv("KSTAT_BUILD") or "build"

--- A number as an integer in decimal, whatever the JSON reader made of it.
function M.int(n)
  return type(n) == "string" and n or ("%.0f"):format(n)
end

--- Text as the driver reads it.
function M.text(s)
  if s == "" then return "-" end
  return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

--- A binary time; nil and JSON's null are "null".
function M.time(t)
  if type(t) ~= "table" then return "null" end
  return M.int(t[1]) .. " " .. t[2]
end

--- A device's counters as the vectors hold them.
function M.device(d)
  if type(d) ~= "table" then return "null" end
  local out = { "device" }
  for i = 1, 4 do out[#out + 1] = M.int(d.bytes[i]) end
  for i = 1, 4 do out[#out + 1] = M.int(d.operations[i]) end
  for i = 1, 4 do out[#out + 1] = M.time(d.duration[i]) end
  out[#out + 1] = M.time(d.busy_time)
  out[#out + 1] = M.int(d.block_size)
  out[#out + 1] = M.int(d.start_count)
  out[#out + 1] = M.int(d.end_count)
  return table.concat(out, " ")
end

--- The answers to a list of commands.
function M.run(commands)
  local input = os.tmpname()
  local file = assert(io.open(input, "w"))
  file:write(table.concat(commands, "\n"), "\n")
  file:close()
  local pipe = assert(io.popen(("%s/spec/devstat_driver < %s"):format(build, input)))
  local answers = {}
  for line in pipe:lines() do answers[#answers + 1] = line end
  local ok = pipe:close()
  os.remove(input)
  assert(ok, "devstat_driver failed")
  assert(#answers == #commands, ("%d answers to %d commands"):format(#answers, #commands))
  return answers
end

function M.words(line)
  local out = {}
  for w in line:gmatch("%S+") do out[#out + 1] = w end
  return out
end

return M
