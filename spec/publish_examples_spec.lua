-- examples/workqueue.lua and examples/provider.c, watched by kstat while they run.
local run = require("support.run")

describe("the example", function()
  local dir

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function() os.execute("rm -rf " .. dir) end)

  -- Starts a program, and gives what kstat prints while it runs.
  local function watch(program, ...)
    local environment = ("KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s"):format(dir, dir, dir)
    local lines = {
      ("%s %s 20 >%s/out 2>&1 & pid=$!"):format(environment, program, dir),
      -- On a busy machine it takes its time to start.
      "for i in $(seq 100); do",
      ("%s %s/%s -q && break; sleep 0.1; done; sleep 0.3"):format(environment, run.bin, (...)),
    }
    for _, command in ipairs({ ... }) do
      lines[#lines + 1] = ("%s %s/%s"):format(environment, run.bin, command)
    end
    lines[#lines + 1] = ("kill $pid; cat %s/out >&2"):format(dir)
    local r = run.shell(table.concat(lines, "\n"))
    assert.equal("", r.err)
    return r.out
  end

  it("workqueue.lua shows its jobs, their queue and their times", function()
    local abi = _VERSION:match("%d%.%d")
    local program = ("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s/lib/lua/%s/?.so;;' %s %s"):format(
      run.build, abi, run.lua, "examples/workqueue.lua")
    local out = watch(program, "kstat -p workqueue::jobs workqueue::queue", "kstat -p workqueue::job_ns")
    assert.matches("workqueue:0:jobs:state\tworking\n", out)
    local small, large = tonumber(out:match("jobs:small\t(%d+)")), tonumber(out:match("jobs:large\t(%d+)"))
    assert.is_true(small > 0 and large > 0)
    assert.is_true(tonumber(out:match("queue:reads\t(%d+)")) >= small + large)
    assert.is_true(tonumber(out:match("queue:wlentime\t(%d+)")) > tonumber(out:match("queue:wtime\t(%d+)")))
    assert.matches("job_ns:buckets\t%[%d+,", out)
    assert.matches("job_ns:type\tlog10_lin\n", out)
  end)

  it("provider.c shows its requests", function()
    local cc = run.shell(("cc -std=gnu11 -Wall -Wextra -Werror -O2 %s -Icsrc/include examples/provider.c " ..
      "-o %s/provider -L%s/lib -lkstat -lpthread -Wl,-rpath,%s/lib"):format(os.getenv("KSTAT_CFLAGS") or "", dir,
      run.build, run.build))
    assert.equal("", cc.err)
    local out = watch(dir .. "/provider", "kstat -p provider:::", "kstat -d provider::counters:bytes")
    local requests = tonumber(out:match("counters:requests\t(%d+)"))
    local bytes = tonumber(out:match("counters:bytes\t(%d+)"))
    assert.is_true(requests > 100 and bytes > requests)
    assert.matches("sizes:buckets\t%[%d+,", out)
    assert.matches("bytes of all requests", out)
    local reads, nread = tonumber(out:match("queue:reads\t(%d+)")), tonumber(out:match("queue:nread\t(%d+)"))
    assert.is_true(nread > reads)
  end)

  it("percentiles.c merges its workers and says how exact its answers are", function()
    local r = run.shell(("cc -std=c11 -Wall -Wextra -Werror -O2 %s -Icsrc/include examples/percentiles.c " ..
      "-o %s/percentiles -L%s/lib -lkstat -lm -Wl,-rpath,%s/lib && %s/percentiles 20000"):format(
      os.getenv("KSTAT_CFLAGS") or "", dir, run.build, run.build, dir))
    assert.equal("", r.err)
    -- exp(x), x uniform from 0 to 10: the quantile is exp(10 q).
    for q, value, bound in r.out:gmatch("latency p(%S+) +(%d+) us, rank within (%S+)\n") do
      local share = math.log(tonumber(value)) / 10
      assert.is_true(math.abs(share - q / 100) <= bound + 0.01, r.out)
    end
    local count = 0
    for q, value, bound in r.out:gmatch("size +p(%S+) +(%d+) bytes, within (%d+)\n") do
      count = count + 1
      assert.is_true(math.abs(value - 10 * math.exp(q / 10)) <= bound + 0.1 * value, r.out)
    end
    assert.equal(4, count)
  end)
end)
