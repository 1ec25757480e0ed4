-- Which files of the machine the command kstat opens: those that its operands can match, seen by strace.
local run = require("support.run")

local directory = run.shell("mktemp -d").out:gsub("\n", "")
local log = directory .. "/log"

-- Runs the command under strace. Returns the set of files below /proc and /sys that it opened or tried to, but for
-- those of the process itself, and the result. publisher: the beginning of a command line that runs its last word;
-- program: another command in place of kstat.
local function opened(arguments, publisher, program)
  local command = ("strace -f -y -e trace=open,openat -o %s %s/%s %s"):format(log, run.bin, program or "kstat",
    arguments)
  local r = run.shell(("export KSTAT_DIR=%s; unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS; %s"):format(directory,
    publisher and publisher .. run.quote(command) or command))
  local files = {}
  for line in io.lines(log) do
    local base, path = line:match('openat%([^<]*<([^>]*)>, "([^"]+)"')
    path = path and (path:sub(1, 1) == "/" and path or base .. "/" .. path) or line:match('open%("([^"]+)"')
    if path and (path:find("^/proc/") or path:find("^/sys/")) and not path:find("^/proc/self/") then
      files[path] = true
    end
  end
  return files, r
end

local traced = run.shell("strace -o " .. log .. " true").status == 0

-- A module of devices is looked for here: disks, names of interrupts, events of devices.
local devices = { "/sys/class/block", "/sys/kernel/irq", "/sys/kernel/uevent_seqnum" }

local has_devices = run.shell("test -r /sys/class/block/ && test -r /sys/kernel/irq/").status == 0

local cases = {
  { "-p sd:::", "/proc/diskstats", "/sys/block", devices = true },
  { "-p unix:0:system_misc:nproc", "/proc/loadavg", "/proc/stat", "/proc/uptime", "/proc/.",
    "/sys/devices/system/cpu", "/proc/meminfo", "/proc/zoneinfo", "/proc/sys/vm" },
  { "-p cpu_stat:0", "/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/schedstat", "/sys/devices/system/cpu" },
  { "-p link:::", "/proc/net/dev", "/sys/class/net", "/sys/kernel/uevent_seqnum" },
  { "-p tcp:::", "/proc/net/snmp", "/proc/net/netstat" },
  { "-p udp:0:udp", "/proc/net/snmp" },
  { "-p -c disk", "/proc/diskstats", "/sys/block", devices = true },
  { "-p cpu_info:::", "/proc/cpuinfo", "/sys/devices/system/cpu" },
  { "-p unix:0:vminfo", "/proc/meminfo", "/proc/zoneinfo" },
  { "-p '/^press/::/^mem/'", "/proc/pressure/memory", devices = true },
  { "-p pressure:::", "/proc/pressure" },
  { "-p softirq:::", "/proc/softirqs" },
  { "-p kstat:/mib2/udp/0/udp", "/proc/net/snmp" },
  { "-p swap:::", "/proc/swaps" },
  { "-p thermal:::", "/sys/class/thermal", "/sys/kernel/uevent_seqnum" },
  { "-p unix:0:tables", "/proc/sys", "/proc/loadavg", "/proc/.", "/proc/self/status" },
  { "-p lgrp:0:lgrp0", "/sys/devices/system/node", "/sys/kernel/uevent_seqnum" },
  { "-p hugepages:::", "/sys/kernel/mm/hugepages", "/sys/devices/system/node", "/sys/kernel/uevent_seqnum" },
  { "-p sockets:::", "/proc/net/sockstat", "/proc/net/sockstat6" },
  { "-p neighbour:::", "/proc/net/stat", "/proc/net/arp", "/proc/sys/net" },
  { "-p zone:::", "/proc/zoneinfo", "/proc/buddyinfo", "/sys/kernel/uevent_seqnum" },
  { "-p qdisc:::" },
  { "-p ext4:::", "/sys/fs", "/sys/kernel/uevent_seqnum", "/proc/fs/xfs" },
  { "-p nfs:::", "/proc/net/rpc", "/proc/self/mountstats" },
  { "-p cgroup:::", "/sys/fs/cgroup", "/sys/kernel/mm/hugepages" },
  { "-p cgroup_io:::", "/sys/fs/cgroup", "/sys/kernel/mm/hugepages", "/proc/diskstats" },
  { "-p zram:::", "/proc/diskstats", "/sys/block", "/sys/kernel/uevent_seqnum", devices = true },
  { "-p watchdog:::", "/sys/class/watchdog", "/sys/kernel/uevent_seqnum" },
  { "-p no_such_module:::", devices = true },
  { "-l udp:0:udp", "/proc/net/snmp" },
  { "-j udp:0:udp", "/proc/net/snmp" },
  { "-d udp:0:udp", "/proc/net/snmp" },
  { "-a sum udp:0:udp", "/proc/net/snmp" },
  { "--rate udp:0:udp", "/proc/net/snmp" },
  { "-q udp:0:udp", "/proc/net/snmp" },
}

-- Whether a path is one of a list, or is below one.
local function is_below(path, list)
  for _, top in ipairs(list) do
    if path == top or path:sub(1, #top + 1) == top .. "/" then
      return true
    end
  end
  return false
end

describe("kstat opens the files that its operands can match, and no others:", function()
  teardown(function() run.shell("rm -rf " .. directory) end)

  for _, case in ipairs(cases) do
    it(case[1], function()
      if not traced then
        return pending("processes cannot be traced here: no strace, or no ptrace()")
      end
      if case.devices and not has_devices then
        return pending("this machine's /sys does not name its disks and interrupts")
      end
      for path in pairs((opened(case[1]))) do
        assert.is_true(is_below(path, case) or (case.devices and is_below(path, devices) or false), path)
      end
    end)
  end

  it("a published kstat is shown without a file of the machine being read", function()
    if not traced then
      return pending("processes cannot be traced here: no strace, or no ptrace()")
    elseif not has_devices then
      return pending("this machine's /sys does not name its disks and interrupts")
    end
    local files, r = opened("-p myapp:::requests", run.bin .. "/kstatlua -e " .. run.quote([[
      local pub = assert(kstat.publish("myapp"))
      assert(pub:named({ name = "worker", statistics = { "requests" } }))
      os.execute(arg[1])]]) .. " ")
    assert.equal("myapp:0:worker:requests\t0\n", r.out)
    files["/proc/sys/kernel/random/boot_id"] = nil -- tells whether the file of a publisher is of this boot
    for path in pairs(files) do
      assert.is_nil(path:match("^/proc/.*"))
    end
  end)

  it("the processes of a screen need neither interrupts nor disks", function()
    if not traced then
      return pending("processes cannot be traced here: no strace, or no ptrace()")
    end
    local files = opened("top -b --view processes 1 1", nil, "kstatlua")
    assert.is_true(files["/proc/loadavg"])
    for path in pairs(files) do
      assert.is_nil(path:match("^/proc/interrupts$") or path:match("^/sys/.*block"))
    end
  end)

  it("-v counts the kstats of the whole chain all the same", function()
    local counts = {}
    for i, operand in ipairs({ "udp:0:udp", ":::" }) do
      local r = run.run({ "kstat", "-qv", operand, env = { KSTAT_DIR = directory } })
      counts[i] = r.err:match("(%d+) kstats")
    end
    assert.is_truthy(counts[1])
    assert.is_true(math.abs(counts[1] - counts[2]) < 20, counts[1] .. " and " .. counts[2]) -- interrupts come and go
  end)

  it("a name of the machine cannot be published, though by its class the machine's is not looked at", function()
    local command = ("export KSTAT_DIR=%s; %s/kstatlua -e %s '%s/kstat -l -c forged; %s/kstat -l -c /forge/ unix:0'")
    local r = run.shell(command:format(directory, run.bin, run.quote([[
      local pub = assert(kstat.publish("unix"))
      assert(pub:named({ name = "system_misc", class = "forged", statistics = { "nproc" } }))
      assert(pub:named({ name = "worker", class = "forged", statistics = { "requests" } }))
      os.execute(arg[1])]]), run.bin, run.bin))
    assert.equal("", r.err)
    assert.equal("unix:0:worker:class\nunix:0:worker:crtime\nunix:0:worker:requests\nunix:0:worker:snaptime\n",
      r.out:sub(1, #r.out / 2))
    assert.equal(r.out:sub(1, #r.out / 2), r.out:sub(#r.out / 2 + 1))
  end)

  it("a loop does not look for the names of interrupts at each tick", function()
    if not traced then
      return pending("processes cannot be traced here: no strace, or no ptrace()")
    end
    local counts = {}
    for i, loop in ipairs({ "1 1", "1 2" }) do
      opened("-p -c interrupts " .. loop)
      counts[i] = select(2, run.read_file(log):gsub("kernel/irq", ""))
    end
    assert.equal(counts[1], counts[2])
  end)
end)
