--- record: writes samples of kstats to a recording, one every interval; see kstat.recording.
-- A recording that exists is continued. Exit status: 0, 1 no kstat matched in any sample, 2 the command line
-- was wrong, 3 the kstats could not be read or the file not be written. SPDX-License-Identifier: MIT
local kstat = require("kstat")
local options = require("kstat.options")
local recording = require("kstat.recording")
local tool = require("kstat.tool")

local USAGE = [=[
usage: kstatlua record -o FILE [module[:instance[:name]] ...] interval [count]

  -o, --output FILE
              the recording; one that exists is continued behind its last sample
  -h, --help  this

Records the kstats that match any operand (none: all) every interval seconds, count times or until it is
interrupted. Read it with:  kstat -r FILE, kstatlua -r FILE script, kstatlua convert FILE
]=]

local OPTIONS = options.command({ { "o", "output", arg = "FILE" }, { "h", "help", final = true } })

local stop = tool.stop

local function wrong(message)
  stop(2, message .. "; usage: kstatlua record -o FILE [selectors] interval [count]")
end

local function check_numbers(numbers)
  if #numbers == 0 then
    wrong("no interval")
  elseif #numbers > 2 then
    wrong(("'%s' is a third number behind the interval and the count"):format(numbers[3]))
  elseif not (numbers[1] > 0 and numbers[1] <= 2147483647) then
    wrong(("the interval '%s' is not above 0 and at most 2147483647"):format(numbers[1]))
  elseif numbers[2] and (numbers[2] < 1 or numbers[2] % 1 ~= 0) then
    wrong(("the count '%s' is not a whole number above 0"):format(numbers[2]))
  end
end

--- The file, the selectors and what was typed for each, and interval and count.
local function read_arguments(words)
  local given, problem = options.read(OPTIONS, words)
  if not given then
    wrong(problem)
  elseif given.help then
    tool.show(USAGE)
  end
  local selectors, typed, numbers = {}, {}, {}
  for _, word in ipairs(given.operands) do
    if tonumber(word) then
      numbers[#numbers + 1] = tonumber(word)
    else
      local sel, message = kstat.selector(word)
      selectors[#selectors + 1] = sel or stop(2, message)
      typed[#selectors] = word
    end
  end
  if not given.output then
    wrong("no file to write (-o FILE)")
  elseif given.output == "-" then
    wrong("-o -: a recording is a plain file, no stream")
  end
  check_numbers(numbers)
  return given.output, selectors, typed, numbers
end

local function main()
  local file, selectors, typed, numbers = read_arguments(arg)
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
  local unmatched, first = { unpack(typed) }, true -- an operand until something matches it, then false

  -- Tells of operands that match nothing, once; what they name may still come.
  local function look_for_matches()
    for i, sel in ipairs(selectors) do
      if unmatched[i] and #ks:select(sel) > 0 then
        unmatched[i] = false
      elseif unmatched[i] and first then
        tool.warn(("no kstat matches '%s' yet"):format(typed[i]))
      end
    end
    first = false
  end

  for _ in kstat.every(numbers[1], numbers[2], { chain = ks }) do
    local ok
    ok, message = rec:add(ks, unpack(selectors))
    if not ok then
      stop(3, message)
    end
    look_for_matches()
    tool.warnings(ks)
  end
  rec:close()
  tool.warnings(ks)
  if ks:damaged() then
    return 3
  end
  for i = 1, #selectors do
    if not unmatched[i] then
      return 0
    end
  end
  return #selectors > 0 and 1 or 0
end

return tool.run("record", main)
