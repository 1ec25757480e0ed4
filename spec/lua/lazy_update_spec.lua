-- ks:update(true) reads nothing before it is asked for.
local run = require("support.run")

describe("ks:update(true)", function()
  it("leaves the reading to whoever asks next", function()
    local dir = run.directory()
    local r = run.shell(("KSTAT_DIR=%s %s/kstatlua -e %s"):format(dir, run.bin, run.quote([[
      local pub = assert(kstat.publish("lazy"))
      local k = pub:named({ name = "one", shards = 1, statistics = { { name = "depth", kind = "gauge" } } })
      local depth = k:counter("depth")
      local ks = assert(kstat.open({ only = "lazy:::" }))
      local one = ks:lookup("lazy", 0, "one")
      print(one:get("depth"))
      local read = one.snaptime_ns
      depth:set(5)
      ks:update(true)
      print(one.snaptime_ns == read, one:get("depth"), one.snaptime_ns > read)
      depth:set(6)
      ks:update()
      depth:set(7)
      print(one:get("depth"))
    ]])))
    run.remove_directory(dir)
    assert.equal("0\ntrue\t5\ttrue\n6\n", r.out .. r.err)
  end)
end)

describe("kstats of one file", function()
  it("are of the same reading, or of a second one if they are read slowly, or of a new one after a pause", function()
    local dir = run.directory()
    run.shell(("mkdir %s/sys"):format(dir))
    local r = run.shell(("KSTAT_PROC=%s KSTAT_SYS=%s/sys %s/kstatlua -e %s %s/diskstats"):format(dir, dir, run.bin,
      run.quote([[
      local core = require("kstat.core")
      local function change(reads)
        local f = assert(io.open(arg[1], "w"))
        for _, disk in ipairs({ "sda", "sdb", "sdc" }) do
          f:write("8 0 ", disk, " ", reads, " 0 0 0 0 0 0 0 0 0 0\n")
        end
        f:close()
      end
      local function reads_after(wait, disk, ks)
        core.wait(core.gethrtime() + wait * 1e9)
        return ks:lookup("sd", nil, disk):get("reads")
      end
      change(1)
      local before = core.gethrtime()
      local ks = assert(kstat.open({ only = "sd:::" }))
      local age = 0.05 + 16 * (core.gethrtime() - before) / 1e9
      change(2)
      local second = reads_after(age, "sda", ks)
      change(3)
      local same = reads_after(0.1, "sdb", ks)
      local is_slow = core.gethrtime() - before > 9e8 -- other processes made the pauses
      print(is_slow and 2 or second, is_slow and 2 or same, reads_after(1.1, "sdc", ks))
    ]]), dir))
    run.remove_directory(dir)
    assert.equal("2\t2\t3\n", r.out .. r.err)
  end)
end)
