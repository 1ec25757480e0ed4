-- Incidents that were recorded live (spec/vectors/past): in which line diff names the cause.
local run = require("support.run")

local LASTS = 24 -- seconds that are looked at; there are as many quiet ones before

-- The recording, and what names the cause.
local INCIDENTS = {
  { "cpu", "faults", "cpuhog" }, { "short", "faults", "shorty" }, { "memory", "faults", "leaker" },
  { "full", "incidents", "space used|filler" }, { "slow", "incidents", "disk loop1: a request" },
  { "lost", "incidents", "sent again" }, { "late", "incidents", "answers.*p99" },
}

local function began(name, file)
  local times = run.read_file("spec/vectors/past/" .. file .. ".times")
  return tonumber(times:match(name .. " (%d+)"))
end

-- The number of the first line of a command's output that any of the words is in; nil: none of 24.
local function line_of(words, command)
  local r = run.shell(("TZ=UTC %s/kstatlua %s"):format(run.bin, command))
  local n = 0
  for line in r.out:gmatch("([^\n]*)\n") do
    n = n + 1
    for word in words:gmatch("[^|]+") do
      if n <= 24 and line:find(word) then
        return n
      end
    end
  end
  return nil, r.out .. r.err
end

describe("the cause of an incident", function()
  for _, incident in ipairs(INCIDENTS) do
    local name, file, words = incident[1], incident[2], incident[3]
    local from, path = began(name, file), "spec/vectors/past/" .. file .. ".rec"

    it(("stands in the first three lines of diff below its times: %s"):format(name), function()
      for _, all in ipairs({ "", "-a" }) do
        local line, shown = line_of(words, ("diff %s -r %s --from %d --to %d --base %d"):format(all, path, from + 1,
          from + LASTS, from - LASTS))
        assert.is_true(line ~= nil and line <= 2 + 3, shown or tostring(line))
      end
    end)
  end
end)
