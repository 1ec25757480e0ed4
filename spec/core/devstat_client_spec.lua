-- A C program written to the manual page, on a replay.
local capture = require("support.devstat_capture")

local build = os.getenv("KSTAT_BUILD") or "build"
local zero = { 0, "0" }

local function device(unit, reads, queue)
  return {
    device_number = unit, device_name = "da", unit_number = unit, device_type = 16, block_size = 512,
    start_count = queue, end_count = 0, bytes = { "0", "0", "0", "0" },
    operations = { "0", tostring(reads), "0", "0" },
    duration = { zero, { reads, "0" }, zero, zero }, busy_time = zero,
  }
end

local function sample(uptime, ...)
  return { uptime = uptime, tty_nin = 3, tty_nout = 0, cp_time = { uptime, 0, 0, 0, 5 }, devices = { ... } }
end

describe("a client of devstat(3)", function()
  it("sees devices, changes and figures as the page says", function()
    local path = capture.write({
      sample(10, device(0, 4, 2), device(1, 8, 0)),
      sample(20, device(0, 6, 1), device(1, 8, 0)),
      sample(30, device(1, 10, 0), device(2, 1, 0)),
    })
    local pipe = assert(io.popen(("KSTAT_SOURCE=%s %s/spec/devstat_client"):format(path, build)))
    local text = pipe:read("*a")
    pipe:close()
    os.remove(path)
    assert.are.equal([[
size 2048
kvm -1 devstat_checkversion: there is no kvm here: pass NULL as handle
kvm -1 devstat_getnumdevs: there is no kvm here: pass NULL as handle
devices 2 generation 1
changed 1 generation 1 at 10.0 user 10 idle 5 tty 3
da0 (da0) 4 transfers 1000.000 ms 2 queued new
da1 (da1) 8 transfers 1000.000 ms 0 queued new
changed 1 generation 1 at 20.0 user 20 idle 5 tty 3
da0 (da0) 2 transfers 1000.000 ms 1 queued
da1 (da1) 0 transfers 0.000 ms 0 queued
changed 1 generation 2 at 30.0 user 30 idle 5 tty 3
da1 (da1) 2 transfers 1000.000 ms 0 queued
da2 (da2) 1 transfers 1000.000 ms 0 queued new
]], text)
  end)

  it("is told why there are no devices to see", function()
    local pipe = assert(io.popen(("KSTAT_SOURCE=/nonexistent %s/spec/devstat_client 2>&1"):format(build)))
    local text = pipe:read("*a")
    pipe:close()
    assert.matches("devstat_getnumdevs: [^\n]*/nonexistent", text)
  end)

  it("may have threads, forks at any moment, and update functions that fork", function()
    local pipe = assert(io.popen(("d=$(mktemp -d) && env -u KSTAT_SOURCE KSTAT_DIR=$d KSTAT_PROC=$d " ..
      "KSTAT_SYS=$d %s/spec/devstat_threads 20 2>&1; rmdir $d"):format(build)))
    local text = pipe:read("*a")
    pipe:close()
    assert.are.equal("sound\n", text)
  end)

  it("finds devices in another list, also where all were replaced", function()
    -- 20,000 devices, none of them there any more: a quadratic way would need seconds each time.
    for devices, searches in pairs({ [7] = 34, [20000] = 60013 }) do
      local pipe = assert(io.popen(("%s/spec/devstat_find %d 2>&1"):format(build, devices)))
      local text = pipe:read("*a")
      pipe:close()
      assert.are.equal(searches .. " searches\n", text)
    end
  end)

  it("is safe from its own mistakes, and from a device that cannot be read", function()
    local pipe = assert(io.popen(("d=$(mktemp -d) && env -u KSTAT_SOURCE KSTAT_DIR=$d KSTAT_PROC=$d " ..
      "KSTAT_SYS=$d %s/spec/devstat_hostile 2>&1; rmdir $d"):format(build)))
    local text = pipe:read("*a")
    pipe:close()
    assert.are.equal([[
changed 1 devices 2 of 2 generation 1 1
select 1: 2 selected
select 1: 2 selected
select 1: 2 selected
changed 1 devices 1 of 1 generation 2 2
changed 0 devices 1 of 1 generation 2 2
changed 1 devices 2 of 2 generation 3 3
changed 0 devices 2 of 2 generation 3 3
devstat_list_open: no chain
-1
swapped with nothing: unchanged
]], text)
  end)
end)
