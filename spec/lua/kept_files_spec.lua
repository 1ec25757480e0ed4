-- Descriptors that the module keeps from one sample of this machine to the next.
local run = require("support.run")

-- Runs a script with a limit of descriptors; it has fds(), which counts the files that the process has open: pipes do
-- not count, since the end that a child gets stays open in its parent for a moment. Returns the result.
local function limited(limit, script)
  return run.shell(("ulimit -n %d; unset KSTAT_PROC KSTAT_SYS; exec %s/kstatlua -e %s"):format(limit, run.bin,
    run.quote([[
      local fs = "/proc/" .. io.open("/proc/self/stat"):read("n") .. "/fd"
      local function fds() return io.popen("ls -l " .. fs .. " | grep -c -- '-> /'"):read("n") end
      local k = assert(kstat.open())
    ]] .. script)))
end

describe("files of the machine", function()
  it("stay open from the second sample on, and no more come with further ones", function()
    local r = limited(4096, [[
      local counts = {}
      for i = 1, 300 do
        k:update()
        k:sample()
        if i == 10 or i == 300 then counts[#counts + 1] = fds() end
      end
      print(counts[1], counts[2])]])
    local early, late = r.out:match("^(%d+)%s+(%d+)")
    assert.equal(0, r.status, r.err)
    assert.is_true(math.abs(late - early) < 10, r.out) -- others may come and go, with groups and mounts
  end)

  it("take at most a quarter of the descriptors that the process may open, besides those of large files", function()
    local few = tonumber(limited(255, "for _ = 1, 5 do k:sample() end print(fds())").out)
    local more = tonumber(limited(256, "for _ = 1, 5 do k:sample() end print(fds())").out)
    assert.is_true(more - few <= 64, few .. ", " .. more)
    assert.is_true(more > few, few .. ", " .. more)
  end)

  it("can be read with few descriptors", function()
    local r = limited(64, [[for _ = 1, 5 do k:update() k:sample() end print("done")]])
    assert.same({ "done\n", "", 0 }, { r.out, r.err, r.status })
  end)

  it("do not stay open, not even large ones, where only 24 may be open: no kstat is lost", function()
    local function names(limit)
      local r = run.shell(("unset KSTAT_PROC KSTAT_SYS; ulimit -n %d; exec %s/kstat -l"):format(limit, run.bin))
      assert.same({ "", 0 }, { r.err, r.status })
      return r.out
    end
    local all, n = names(1024), 0
    local few = "\n" .. names(24)
    for name in all:gmatch("([^\n]+):[^:\n]*\n") do
      -- Things may come and go between the two; whole files do not.
      if name:find("^unix:0:") or name:find("^pressure:") or name:find("^tcp:0:") or name:find("^cpu:") then
        n = n + 1
        assert.truthy(few:find("\n" .. name .. ":", 1, true), name)
      end
    end
    assert.is_true(n > 100, all)
  end)

  it("are opened anew when a thing of the same name replaces another", function()
    local top = "/sys/fs/cgroup"
    if run.shell("test -d " .. top .. "/memory").status == 0 then
      top = top .. "/memory"
    end
    local group = top .. "/kstat-kept-" .. run.shell("echo $$").out:gsub("\n", "")
    if run.shell("mkdir " .. group .. " 2>/dev/null && test -f " .. group .. "/memory.stat").status ~= 0 then
      run.shell("rmdir " .. group .. " 2>/dev/null")
      return pending("no control group can be made here")
    end
    local r = limited(4096, ([[
      local group, file = %q, %q
      local function show(limit)
        assert(os.execute("mkdir -p " .. group))
        local f = assert(io.open(group .. file, "w"))
        f:write(limit)
        f:close()
        for _ = 1, 4 do
          k:update()
          for ks in k:sample():each("cgroup::" .. group:match("[^/]*$") .. ":") do
            print(ks:get("memory_max"))
          end
        end
        os.execute("rmdir " .. group)
      end
      show(8 << 20)
      show(16 << 20)]]):format(group, top:find("/memory$") and "/memory.limit_in_bytes" or "/memory.max"))
    run.shell("rmdir " .. group .. " 2>/dev/null")
    assert.same({ ("8388608\n"):rep(4) .. ("16777216\n"):rep(4), "" }, { r.out, r.err })
  end)
end)
