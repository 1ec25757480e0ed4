--- record: writes samples of kstats to a recording, one every interval; see kstat.recording.
-- A recording that exists is continued. SPDX-License-Identifier: MIT
local kstat = require("kstat")
local recording = require("kstat.recording")

local USAGE = [=[
usage: kstatlua record -o FILE [module[:instance[:name]] ...] interval [count]

  -o FILE  the recording; one that exists is continued behind its last sample
  -h       this

Records the kstats that match any operand (none: all) every interval seconds, count times or until it is
interrupted. Read it with:  kstat -r FILE, kstatlua -r FILE script, kstatlua convert FILE
]=]

local function stop(status, message)
  io.stderr:write("record: ", message, "\n")
  os.exit(status, true)
end

local function wrong(message)
  stop(2, message .. "; usage: kstatlua record -o FILE [selectors] interval [count]")
end

local function check_numbers(numbers)
  if #numbers == 0 then
    wrong("no interval")
  elseif #numbers > 2 then
    wrong(("'%s' is a third number behind the interval and the count"):format(numbers[3]))
  elseif numbers[1] <= 0 then
    wrong(("the interval '%s' is not above 0"):format(numbers[1]))
  elseif numbers[2] and (numbers[2] < 1 or numbers[2] % 1 ~= 0) then
    wrong(("the count '%s' is not a whole number above 0"):format(numbers[2]))
  end
end

--- The file, the selectors, and interval and count.
local function read_arguments(words)
  local file, selectors, numbers = nil, {}, {}
  local i = 1
  while words[i] do
    local word = words[i]
    if word == "-h" or word == "--help" then
      io.stdout:write(USAGE)
      os.exit(0, true)
    elseif word == "-o" then
      i = i + 1
      file = words[i] or wrong("-o needs a file")
    elseif word:find("^%-o.") then
      file = word:sub(3)
    elseif word:find("^%-") then
      wrong(("unknown option '%s'"):format(word))
    elseif tonumber(word) then
      numbers[#numbers + 1] = tonumber(word)
    else
      local sel, message = kstat.selector(word)
      selectors[#selectors + 1] = sel or stop(2, message)
    end
    i = i + 1
  end
  if not file then
    wrong("no file to write (-o FILE)")
  end
  check_numbers(numbers)
  return file, selectors, numbers
end

local file, selectors, numbers = read_arguments(arg)
local ks, message = kstat.open()
if not ks then
  stop(3, message)
end
local rec
rec, message = recording.open(file)
if not rec then
  stop(3, message)
end

local unpack = table.unpack or unpack
for _ in kstat.every(numbers[1], numbers[2], { chain = ks }) do
  local ok
  ok, message = rec:add(ks, unpack(selectors))
  if not ok then
    stop(3, message)
  end
  for _, line in ipairs(ks:warnings()) do
    io.stderr:write("record: ", line, "\n")
  end
end
rec:close()
