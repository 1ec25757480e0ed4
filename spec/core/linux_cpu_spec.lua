-- CPUs of the Linux source: interrupts by CPU, and the hardware's counters.
local kstat = require("kstat")
local L = require("support.linux")
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
    local ks = open(nil)
    assert.equal(0, #ks:select("*_cpu"))
    assert.truthy(#ks:select("intr_cpu") > 2)
    assert.equal(#ks:select("intr_cpu"), #ks:select("*_cpu"))
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
      assert.matches("kstat: perf: [^\n]+\n$", r.err)
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

describe("cpu_info", function()
  -- What kernels of other architectures write for their first CPU, and what is known of it from that and from /sys.
  local machines = {
    riscv = { "processor\t: 0\nhart\t\t: 2\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\n" ..
      "mvendorid\t: 0x489\n",
      { cpu_type = "riscv64", brand = "sifive,u74-mc", vendor_id = "0x489", implementation = "rv64imafdc" } },
    ppc64 = { "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2166.000000MHz\n" ..
      "revision\t: 2.2 (pvr 004e 1202)\n\ntimebase\t: 512000000\nplatform\t: PowerNV\nmodel\t\t: 8335-GTH\n",
      { cpu_type = "ppc64", brand = "POWER9, altivec supported", clock_MHz = "2166",
        implementation = "2.2 (pvr 004e 1202)" } },
    loongarch = { "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t\t: 0\ncore\t\t\t: 0\n" ..
      "CPU Family\t\t: Loongson-64bit\nModel Name\t\t: Loongson-3A5000\nCPU MHz\t\t\t: 2500.00\n",
      { cpu_type = "loongarch64", brand = "Loongson-3A5000", clock_MHz = "2500" } },
    arm64 = { "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n" ..
      "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
      { cpu_type = "aarch64", vendor_id = "ARM", model = "3340", stepping = "1" } },
    ["EPYC at a high clock"] = { "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 1\n" ..
      "model name\t: AMD EPYC 7451 24-Core Processor\nstepping\t: 2\ncpu MHz\t\t: 2894.322\n" ..
      "flags\t\t: fpu aperfmperf\n",
      { cpu_type = "i386", brand = "AMD EPYC 7451 24-Core Processor", clock_MHz = "2300",
        current_clock_Hz = "2894322000" }, nominal = "2300" },
  }

  local function topology(dir, cpu, nominal)
    local base = ("%s/sys/devices/system/cpu/cpu%d"):format(dir, cpu)
    L.sh(("mkdir -p %s/topology %s/cache/index0 %s/acpi_cppc"):format(base, base, base))
    L.write(base .. "/topology/physical_package_id", "0\n")
    L.write(base .. "/topology/core_id", math.floor(cpu / 2) .. "\n")
    L.write(base .. "/cache/index0/level", "2\n")
    L.write(base .. "/cache/index0/type", "Unified\n")
    L.write(base .. "/cache/index0/size", "512K\n")
    if nominal then
      L.write(base .. "/acpi_cppc/nominal_freq", nominal .. "\n")
    end
  end

  for name, machine in pairs(machines) do
    it("is known of " .. name, function()
      local dir = run.directory()
      L.sh(("mkdir -p %s/proc %s/sys/devices/system/cpu"):format(dir, dir))
      L.write(dir .. "/proc/cpuinfo", machine[1])
      L.write(dir .. "/proc/stat", "cpu  1 1 1 1\ncpu0 1 1 1 1\ncpu1 1 1 1 1\ncpu2 1 1 1 1\ncpu3 1 1 1 1\n")
      for cpu = 0, 3 do
        topology(dir, cpu, machine.nominal)
      end
      local d = L.dump(dir .. "/proc", dir .. "/sys")
      run.remove_directory(dir)
      for stat, value in pairs(machine[2]) do
        assert.equal(value, d.stat["cpu_info:0:cpu_info0:" .. stat], stat)
      end
      local same = { state = "on-line", chip_id = "0", core_id = "1", pkg_core_id = "1", ncpu_per_chip = "4",
        ncore_per_chip = "2", l2_cache = "524288" }
      for stat, value in pairs(same) do
        assert.equal(value, d.stat["cpu_info:3:cpu_info3:" .. stat], stat)
      end
    end)
  end

  it("says of no CPU that it is off-line where /proc/stat is missing", function()
    local dir = L.copy()
    L.sh(("rm %s/proc/stat"):format(dir))
    local d = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    assert.equal("on-line", d.stat["cpu_info:0:cpu_info0:state"])
    assert.is_nil(d.kstat["cpu:0:sys"])
  end)
end)

describe("a CPU that is taken away", function()
  it("is not counted on its chip, where the kernel does not say how many there are", function()
    local dir = tree_with("cpuinfo", "processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n")
    local cpus = dir .. "/sys/devices/system/cpu/"
    for cpu = 0, 1 do
      run.shell(("mkdir -p %scpu%d/topology"):format(cpus, cpu))
      run.write_file(("%scpu%d/topology/core_id"):format(cpus, cpu), cpu .. "\n")
      run.write_file(("%scpu%d/topology/physical_package_id"):format(cpus, cpu), "0\n")
    end
    local ks = assert(kstat.open({ proc = dir .. "/proc", sys = dir .. "/sys", only = "cpu_info" }))
    local late = assert(kstat.open({ proc = dir .. "/proc", sys = dir .. "/sys", only = "cpu_info" }))
    assert.equal(2, ks:lookup("cpu_info", 0, "cpu_info0"):get("ncpu_per_chip"))
    for _, file in ipairs({ "present", "online" }) do
      run.write_file(cpus .. file, "0\n")
    end
    run.write_file(dir .. "/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50\n")
    run.shell(("sed -i /^cpu1/d %s/proc/stat"):format(dir))
    for _, chain in ipairs({ ks, late }) do -- one of them has not read it before
      chain:update()
      assert.equal(1, chain:lookup("cpu_info", 0, "cpu_info0"):get("ncpu_per_chip"))
      assert.is_nil(chain:lookup("cpu_info", 1, "cpu_info1"))
    end
    run.remove_directory(dir)
  end)
end)
