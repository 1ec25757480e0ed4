-- Faults that were recorded (spec/vectors/past): what use, prstat and diff say of each an hour later.
local run = require("support.run")

local FILE = "spec/vectors/past/faults.rec"
local LASTS = 24 -- seconds that are looked at; there are as many quiet ones before

local began = {}
for name, time in run.read_file("spec/vectors/past/faults.times"):gmatch("(%l+) (%d+)") do
  began[name] = tonumber(time)
end

-- What a command says of the last seconds of a fault.
local function at(fault, command, seconds)
  local r = run.shell(("TZ=UTC %s/kstatlua %s -r %s --at %d %d"):format(run.bin, command, FILE, began[fault] + LASTS,
    seconds))
  assert.equal("", r.err)
  return r.out
end

local function diff(fault)
  local r = run.shell(("TZ=UTC %s/kstatlua diff -r %s --from %d --to %d --base %d"):format(run.bin, FILE,
    began[fault] + 1, began[fault] + LASTS, began[fault] - LASTS))
  assert.same({ "", 0 }, { r.err, r.status })
  return r.out
end

-- The time of the first sample of a fault, or the one behind it, as diff shows it.
local function says(text, fault, line)
  for second = 0, 1 do
    if text:find(os.date("!%H:%M:%S", began[fault] + second) .. "  " .. line) then
      return true
    end
  end
  return false, text
end

describe("of a recorded fault", function()
  it("that took the CPUs, use, prstat and diff name them, the process, and since when", function()
    assert.matches("critical: busy while others wait 100%%, pressure %d+%.?%d*%% %(cpuhog%[%d+%] %d+%%",
      at("cpu", "use cpu", 10))
    assert.matches("25%.%d%% cpuhog/1\n", at("cpu", "prstat", 10))
    local text = diff("cpu")
    assert.is_true(says(text, "cpu", "cpuhog %(4 processes%) began: CPU  0%% %-> 19%d%%"))
    assert.matches("\n +with pressure:0:cpu: some_nsec  0%.%d%% %-> 9%d%.%d%%", text)
  end)

  it("that took the disk, use, prstat and diff name it, the process, and since when", function()
    assert.matches("vda .*critical: all stalled %d+%.%d%% %(diskhog%[%d+%] %d%.%d+GB/s%)", at("disk", "use disk", 10))
    assert.matches("diskhog/1\n", at("disk", "prstat -d", 10))
    local text = diff("disk")
    assert.is_true(says(text, "disk", "diskhog%[%d+%] began: I/O  0B/s %-> %d%.%d+GB/s"))
    assert.matches("\n +with disk vda: busy  0%% %-> %d+%.%d%%", text)
  end)

  it("that took memory, prstat and diff name the process; use is silent, because there was more", function()
    assert.matches("leaker/1\n", at("memory", "prstat -s rss", 10):match("[^\n]*\n[^\n]*\n"))
    assert.is_true(says(diff("memory"), "memory", "leaker%[%d+%] began: memory  0B %-> %d+MB"))
    assert.is_nil(at("memory", "use memory", 10):find("warning", 1, true))
  end)

  it("of a link that went down, diff names both ends", function()
    local text = diff("link")
    assert.is_true(says(text, "link", "link:0:far0: admin_state  1 %-> 0\n"))
    assert.matches("with link:0:wan0: link_state  1 %-> 0\n", text)
  end)

  it("by processes that ended between two samples, all three name their parent", function()
    assert.matches("warning: busy while others wait %d+%.?%d*%% %(shorty%[%d+%] %d+%%", at("short", "use cpu", 10))
    assert.matches("ended: %d+%% CPU, most of shorty/%d+\n", at("short", "prstat", 10))
    assert.is_true(says(diff("short"), "short", "shorty %(3 processes%) began: CPU  0%% %-> 19%d%%"))
  end)
end)
