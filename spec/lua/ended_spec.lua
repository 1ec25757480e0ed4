-- Who used the CPU, or wrote, where the processes ended between two samples: prstat, use.
local capture = require("support.capture")
local run = require("support.run")

local SECOND = 1000000000

-- A process with CPU time of its own and of children that it waited for, in seconds, and when it began.
local function process(pid, name, parent, i, used, waited, began)
  return capture.kstat("process", pid, name, "process", 1, began or 5, 100 + 10 * i, ('"fname":"%s","ppid":%d,' ..
    '"utime":%.0f,"stime":0,"cutime":%.0f,"cstime":0,"nlwp":1,"euid":0,"state":"S","rssize":4096,"size":4096'):format(
      name, parent, used * SECOND, waited * SECOND))
end

-- Its I/O, in MB written: its own and that of children that it waited for.
local function io(pid, name, i, own, waited)
  return capture.kstat("process", pid, name .. ",io", "process_io", 1, 5, 100 + 10 * i,
    ('"nread":0,"nwritten":%.0f,"ncancelled":0,"cnread":0,"cnwritten":%.0f'):format(own * 2 ^ 20, waited * 2 ^ 20))
end

-- The machine, whose one CPU was busy for so many seconds.
local function machine(i, busy)
  return capture.kstat("unix", 0, "system_misc", "misc", 1, 0, 100 + 10 * i,
    '"ncpus":1,"avenrun_1min":256,"avenrun_5min":256,"avenrun_15min":256'),
    capture.kstat("cpu", 0, "sys", "misc", 1, 0, 100 + 10 * i, ('"cpu_nsec_user":%.0f,"cpu_nsec_kernel":0,' ..
      '"cpu_nsec_idle":%.0f'):format(busy * SECOND, (10 * i - busy) * SECOND)),
    capture.kstat("pressure", 0, "cpu", "pressure", 1, 0, 100 + 10 * i, ('"some_nsec":%.0f'):format(5 * i * SECOND))
end

describe("processes that ended between two samples", function()
  after_each(capture.clean)

  local function printed(samples, ...)
    local words = { "kstatlua", ... }
    for _, word in ipairs({ "-r", capture.file(samples), "10" }) do
      words[#words + 1] = word
    end
    local r = run.run(words)
    assert.same({ "", 0 }, { r.err, r.status })
    return r.out
  end

  it("are told by their parent in prstat's last line, without what the sample before had of them", function()
    local out = printed({
      { process(1, "init", 0, 0, 1, 0), process(7, "sh", 1, 0, 1, 0), process(8, "make", 7, 0, 2, 3),
        process(9, "cc", 8, 0, 1.5, 0), machine(0, 0) },
      -- Of the 12 s that sh waited for, make and cc had 6.5 s before; the rest is of this interval.
      { process(1, "init", 0, 1, 1, 0), process(7, "sh", 1, 1, 1, 12), machine(1, 9) },
    }, "prstat")
    assert.matches("ended: 55%% CPU, most of sh/7\n", out)
  end)

  it("make use blame their parent where others wait", function()
    local function waiting(i)
      return capture.kstat("pressure", 0, "cpu", "pressure", 1, 0, 100 + 10 * i,
        ('"some_nsec":%.0f'):format(5 * i * SECOND))
    end
    local out = printed({
      { process(1, "init", 0, 0, 1, 0), process(7, "sh", 1, 0, 1, 0), waiting(0), machine(0, 0) },
      { process(1, "init", 0, 1, 1, 0), process(7, "sh", 1, 1, 1, 9.8), waiting(1), machine(1, 10) },
    }, "use", "cpu")
    assert.matches("busy while others wait 100%%.*%(sh%[7%] 98%%%)", out)
  end)

  it("are told with what they wrote, without what the sample before had of them", function()
    local out = printed({
      { process(7, "sh", 1, 0, 1, 0), io(7, "sh", 0, 5, 0), process(9, "dd", 7, 0, 1, 0), io(9, "dd", 0, 500, 0),
        machine(0, 0) },
      { process(7, "sh", 1, 1, 1, 0), io(7, "sh", 1, 5, 600), machine(1, 9) },
    }, "prstat", "-d")
    assert.matches("\n +7 root +0K +0K +0K .* sh/1\n", out)
    assert.matches("ended: 10M/s written, most of sh/7\n", out)
  end)

  it("are not told with what they wrote if nobody knows what the sample before had of one", function()
    local out = printed({
      { process(7, "sh", 1, 0, 1, 0), io(7, "sh", 0, 5, 0), process(9, "dd", 7, 0, 1, 0), machine(0, 0) },
      { process(7, "sh", 1, 1, 1, 0), io(7, "sh", 1, 5, 600), machine(1, 9) },
    }, "prstat", "-d")
    assert.is_nil(out:find("written", 1, true))
  end)

  it("are told with all that they wrote if the sample before has nothing of one that had just begun", function()
    local out = printed({
      { process(7, "sh", 1, 0, 1, 0), io(7, "sh", 0, 5, 0), process(9, "dd", 7, 0, 1, 0, 91), machine(0, 0) },
      { process(7, "sh", 1, 1, 1, 0), io(7, "sh", 1, 5, 600), machine(1, 9) },
    }, "prstat", "-d")
    assert.matches("ended: 60M/s written, most of sh/7\n", out)
  end)

  it("are blamed for what they wrote under the name of their parent", function()
    local samples = {}
    for i = 0, 1 do
      samples[i + 1] = { process(7, "sh", 1, i, 1, 0), io(7, "sh", i, 5, 600 * i), process(8, "cp", 1, i, 1, 0),
        io(8, "cp", i, 300 * i, 0), machine(i, 0), capture.kstat("sd", 0, "sda", "disk", 3, 0, 100 + 10 * i,
          ('"nread":1,"nwritten":%d,"reads":1,"writes":%d,"wtime":0.0,"wlentime":0.0,"rtime":%d.5,"rlentime":%d.5,' ..
            '"rcnt":0,"wcnt":0,"rlastupdate":0.0,"wlastupdate":0.0'):format(i * 9e8, i * 90, i * 10, i * 900)) }
    end
    assert.matches("ended children of sh%[7%] 62%.9MB/s, cp%[8%] 31%.5MB/s", printed(samples, "use", "disk"))
  end)

  it("are not told where none did", function()
    local out = printed({ { process(7, "sh", 1, 0, 1, 5), machine(0, 0) },
      { process(7, "sh", 1, 1, 4, 5), machine(1, 9) } }, "prstat")
    assert.is_nil(out:find("ended", 1, true))
  end)
end)
