-- Examples that publish, such as examples/workqueue.lua, examples/provider.c and that of doc/publishing-from-lua.md,
-- watched by kstat while they run.
local run = require("support.run")

describe("the example", function()
  local dir, pid

  before_each(function()
    dir = run.directory()
  end)

  after_each(function()
    if pid then
      run.stop(pid, "KILL")
      pid = nil
    end
    run.remove_directory(dir)
  end)

  -- Starts a program that runs until it is ended, and gives what these commands print, one after the other,
  -- once `enough` says so of it.
  local function watch(program, commands, enough)
    local environment = ("env KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s"):format(dir, dir, dir)
    pid = run.start(("%s %s 86400"):format(environment, program), dir .. "/out")
    local line = ("%s %s/"):format(environment, run.bin)
    line = line .. table.concat(commands, "\n" .. line)
    local r
    run.await("the figures of " .. program, function()
      r = run.shell(line)
      assert(run.alive(pid), r.err .. run.read_file(dir .. "/out"))
      return r.err == "" and enough(r.out)
    end)
    run.stop(pid)
    pid = nil
    assert.equal("", run.read_file(dir .. "/out"))
    return r.out
  end

  -- The number behind a name in what kstat -p prints; 0 if it is not there.
  local function number(out, name)
    return tonumber(out:match(name .. "\t(%d+)\n") or 0)
  end

  local function lua(file)
    return ("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s/lib/lua/%s/?.so;;' %s %s"):format(run.build,
      _VERSION:match("%d%.%d"), run.lua, file)
  end

  it("latency.lua shows percentiles of its requests", function()
    local out = watch(lua("examples/latency.lua"),
      { "kstat -pa 'count(requests), p50(requests), p99(requests)' -m answers" },
      function(text) return number(text, "count%(requests%)") > 100 end)
    local p50 = tonumber(out:match("p50%(requests%)\t([%d.]+)\n"))
    local p99 = tonumber(out:match("p99%(requests%)\t([%d.]+)\n"))
    assert.is_true(p50 > 0 and p99 >= p50, out)
  end)

  it("workqueue.lua shows its jobs, their queue and their times", function()
    -- Jobs before their queue: it is never behind what was counted earlier.
    local out = watch(lua("examples/workqueue.lua"),
      { "kstat -p workqueue::jobs", "kstat -p workqueue::queue", "kstat -p workqueue::job_ns" },
      function(text)
        return number(text, "jobs:small") > 0 and number(text, "jobs:large") > 0
          and number(text, "queue:wlentime") > number(text, "queue:wtime")
      end)
    assert.matches("workqueue:0:jobs:state\tworking\n", out)
    assert.is_true(number(out, "queue:reads") >= number(out, "jobs:small") + number(out, "jobs:large"))
    assert.matches("job_ns:buckets\t%[%d+,", out)
    assert.matches("job_ns:type\tlog10_lin\n", out)
  end)

  local function compiled(name)
    local cc = run.shell(("cc -std=gnu11 -Wall -Wextra -Werror -O2 %s -Icsrc/include examples/%s.c " ..
      "-o %s/%s -L%s/lib -lkstat -lpthread -Wl,-rpath,%s/lib"):format(os.getenv("KSTAT_CFLAGS") or "", name, dir, name,
      run.build, run.build))
    assert.equal("", cc.err)
    return dir .. "/" .. name
  end

  it("queue.c shows how long its requests wait and are served", function()
    local out = watch(compiled("queue"), { "kstat -pa 'count(buckets), p50(buckets) by (name)' -m queue" },
      function(text) return number(text, "jobs,svc:count%(buckets%)") > 100 end)
    local function median(name)
      return tonumber(out:match("jobs," .. name .. ":p50%(buckets%)\t([%d.]+)\n"))
    end
    assert.is_true(median("wait") > median("svc") and median("svc") > 0, out)
  end)

  it("histogram.c shows the sizes of its requests", function()
    local out = watch(compiled("histogram"), { "kstat -p histogram::sizes" },
      function(text) return text:find("buckets\t%[[^]]*[1-9]%d%d") ~= nil end)
    assert.matches("sizes:type\tlog2\n", out)
  end)

  it("provider.c shows its requests", function()
    local out = watch(compiled("provider"), { "kstat -p provider:::", "kstat -d provider::counters:bytes" },
      function(text) return number(text, "counters:requests") > 100 and number(text, "queue:reads") > 100 end)
    assert.is_true(number(out, "counters:bytes") > number(out, "counters:requests"))
    assert.matches("sizes:buckets\t%[%d+,", out)
    assert.matches("bytes of all requests", out)
    assert.is_true(number(out, "queue:nread") > number(out, "queue:reads"))
  end)

  it("template.c and devstat_modes.c show what the scripts of these names show", function()
    for name, expected in pairs({ template = "rtt sum 500500 max 1000 p99 990\n", devstat_modes = run.shell(
      ("%s/kstatlua -r spec/vectors/kstat/host.jsonl examples/devstat_modes.lua sd1"):format(run.bin)).out }) do
      local r = run.shell(("cc -std=c11 -Wall -Wextra -Werror -O2 %s -Icsrc/include examples/%s.c -o %s/%s -L%s/lib " ..
        "-lkstat -Wl,-rpath,%s/lib && KSTAT_SOURCE=spec/vectors/kstat/host.jsonl %s/%s sd1"):format(
        os.getenv("KSTAT_CFLAGS") or "", name, dir, name, run.build, run.build, dir, name))
      assert.same({ "", expected }, { r.err, r.out })
    end
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

  describe("page doc/publishing-from-lua.md", function()
    local page = run.read_file("doc/publishing-from-lua.md")

    it("has at most 60 lines", function()
      assert.is_true(select(2, page:gsub("\n", "")) <= 60)
    end)

    for name, interpreter in pairs({ kstatlua = run.bin .. "/kstatlua", module = run.lua }) do
      it("shows what a script publishes, run by " .. name, function()
        run.write_file(dir .. "/pay.lua", (page:match("\n```lua\n(.-)\n```")))
        local environment = ("env KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s LUA_PATH='lua/?.lua;lua/?/init.lua;;' " ..
          "LUA_CPATH='%s/lib/lua/%s/?.so;;' "):format(dir, dir, dir, run.build, _VERSION:match("%d%.%d"))
        pid = run.start(environment .. interpreter .. " " .. dir .. "/pay.lua", dir .. "/out")
        local shown = 0
        run.await("what waits", function()
          assert(run.alive(pid), run.read_file(dir .. "/out"))
          return run.shell(environment .. run.bin .. "/kstat -p pay:0:jobs:waiting").out:find("\t3\n", 1, true)
        end)
        for command, output in page:gmatch("%$ (kstat[^\n]*)\n([^$`]*)") do
          local r = run.shell(environment .. run.bin .. "/" .. command)
          assert.equal(output, r.out .. r.err, command)
          shown = shown + 1
        end
        assert.equal(3, shown)
      end)
    end
  end)
end)
