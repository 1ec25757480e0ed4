-- CPUs of the Linux source: interrupts by CPU, and the hardware's counters.
local kstat = require("kstat")
local run = require("support.run")

local TREE = run.tree("small")

local function open(only)
  return assert(kstat.open({ proc = TREE .. "/proc", sys = TREE .. "/sys", only = only }))
end

-- Copies the tree with other contents of a file of /proc; returns its root, to be removed.
local function tree_with(file, text)
  local dir = run.directory()
  run.shell(("cp -r %s/. %s"):format(TREE, run.quote(dir)))
  run.write_file(dir .. "/proc/" .. file, text)
  return dir
end

describe("interrupts by CPU", function()
  it("are listed for those who name their module or class", function()
    assert.equal(0, #open(nil):select("intr_cpu"))
    assert.equal(0, #open({ "*:0:LOC", { name = "NET_RX" } }):select("*_cpu"))
    assert.truthy(#open("intr_cpu"):select("intr_cpu") > 2)
    assert.truthy(#open({ class = "interrupts_cpu" }):select("softirq_cpu") > 2)
    assert.equal("intr_cpu:0:LOC", tostring(open("intr_cpu::LOC"):select("*")[1]))
    assert.equal(1, #open("intr_cpu::LOC"):select("*"))
  end)

  it("add up to what is counted of all CPUs", function()
    local ks = open({ "intr:0:LOC", "intr_cpu::LOC", "softirq", "softirq_cpu" })
    for _, name in ipairs({ "intr", "softirq" }) do
      local compared = 0
      for _, k in ipairs(ks:select(name)) do
        local by_cpu, sum = assert(ks:lookup(name .. "_cpu", 0, k.name)), 0
        for i = 0, 1 do
          sum = sum + by_cpu:get("cpu" .. i)
        end
        assert.equal(k:get("hard") + k:get("soft"), sum, k.name)
        compared = compared + 1
      end
      assert.truthy(compared > 0)
    end
    assert.matches("cpu1", ks:lookup("intr_cpu", 0, "LOC"):meta("cpu1").description)
  end)

  it("have the numbers of the CPUs that are online, and the number of the interrupt", function()
    local dir = tree_with("interrupts", [[
           CPU0       CPU8
 24:          5         7   IO-APIC   4-edge      eth0-TxRx-3
 25:          6   IO-APIC   5-edge      short
ERR:          3
]])
    local ks = assert(kstat.open({ proc = dir .. "/proc", sys = dir .. "/sys", only = "intr_cpu" }))
    local k = assert(ks:lookup("intr_cpu", 24, "eth0-TxRx-3"))
    assert.equal(5, k:get("cpu0"))
    assert.equal(7, k:get("cpu8"))
    assert.is_nil(k:get("cpu1"))
    assert.is_nil(ks:lookup("intr_cpu", 25, "short"):get("cpu0"))
    run.write_file(dir .. "/proc/interrupts", "CPU0 CPUx\n24: 5 7 IO-APIC 4-edge eth0-TxRx-3\n")
    ks:update()
    run.write_file(dir .. "/proc/interrupts", "")
    ks:update()
    assert.equal(0, #ks:select("intr_cpu"))
    run.remove_directory(dir)
  end)

  it("do not include the counts of errors, which are in the column of the only CPU", function()
    local dir = tree_with("interrupts", "           CPU0\n 24:          5   IO-APIC   4-edge      eth0-TxRx-3\n")
    local function count()
      local ks = assert(kstat.open({ proc = dir .. "/proc", sys = dir .. "/sys" }))
      return assert(ks:lookup("cpu", 0, "sys")):get("intr")
    end
    local before = count()
    for _, line in ipairs({ "ERR:", "MIS:" }) do
      run.shell(("echo '%s   1000' >>%s/proc/interrupts"):format(line, dir))
      assert.equal(before, count(), line)
    end
    run.shell(("echo 'NMI:   1000   Non-maskable interrupts' >>%s/proc/interrupts"):format(dir))
    assert.equal(before + 1000, count())
    run.remove_directory(dir)
  end)

  it("are those of this machine", function()
    local all = run.run({ "kstat", "-p", "intr_cpu" })
    assert.equal("", all.err)
    assert.matches("\nintr_cpu:0:[^:]+:cpu0\t%d+\n", all.out)
    assert.is_nil(run.run({ "kstat", "-l" }).out:find("intr_cpu"))
  end)
end)

describe("the hardware's counters", function()
  it("are optional, and a line says why they are absent", function()
    assert.is_nil(run.run({ "kstat", "-l" }).out:find("\nperf:"))
    local r = run.run({ "kstat", "-p", "perf" })
    if r.status == 0 then
      assert.matches("^perf:0:cpu0:", r.out)
      assert.equal("", r.err)
    else
      assert.matches("^kstat: perf: [^\n]+\n", r.err)
      assert.equal("", r.out)
    end
    local other = run.shell(("KSTAT_WITH=perf %s/kstat -p unix:0:system_misc"):format(run.bin))
    assert.equal("", other.err)
  end)

  it("are not there in a recorded tree", function()
    local ks = open("perf")
    assert.equal(0, #ks:select("perf"))
    assert.same({}, ks:warnings())
  end)
end)
