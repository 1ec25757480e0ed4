-- Runs a program of spec/c that reads commands and answers with lines.
local M = {}

M.build = os.getenv("KSTAT_BUILD") or "build"

--- The lines that a program prints, given its input (a list of lines).
function M.run(program, commands, arguments)
  local input = os.tmpname()
  local file = assert(io.open(input, "w"))
  file:write(table.concat(commands, "\n"), "\n")
  file:close()
  local pipe = assert(io.popen(("%s/spec/%s %s < %s"):format(M.build, program, arguments or "", input)))
  local answers = {}
  for line in pipe:lines() do answers[#answers + 1] = line end
  local ok = pipe:close()
  os.remove(input)
  assert(ok, program .. " failed")
  return answers
end

--- The words of a line.
function M.words(line)
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  return words
end

--- A number or decimal string as decimal digits.
function M.int(n)
  return type(n) == "string" and n or ("%.0f"):format(n)
end

return M
