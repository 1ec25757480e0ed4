-- kstatlua latency: what it counts in the kernel is what the kernel and the loads say, whatever else the machine does.
local run = require("support.run")
local load = run.build .. "/spec/latency_load"

-- Why a spec that needs a kernel with BPF cannot run here; nil: it can.
local function lacks()
  if run.shell("test -e " .. run.build .. "/lib/lua/5.4/kstat/bpf.so").status ~= 0 then
    return "kstat.bpf is not built: no clang or no libbpf"
  elseif run.shell("id -u").out ~= "0\n" then
    return "only root may load BPF programs"
  elseif os.getenv("KSTAT_PRELOAD") then
    return "a sanitizer's library is not loaded into kstatlua's modules"
  end
  local tried = run.run({ "kstatlua", "latency", "exits", "0.01", "1", env = { KSTAT_DIR = os.getenv("TMPDIR") } })
  return tried.status ~= 0 and "this kernel does not let BPF programs count: " .. tried.err or nil
end
local lacking = lacks()

local function sh(line, ...)
  local result = run.shell(line:format(...))
  assert.equals(0, result.status, line:format(...) .. "\n" .. result.out .. result.err)
  return result.out
end

describe("kstatlua latency", function()
  local dir, pid, inside, undo

  local function kstat(words)
    return run.shell(("KSTAT_DIR=%s %s/kstat %s"):format(dir, run.bin, words))
  end

  -- The value of a statistic, 0 if there is no such kstat yet.
  local function value(name)
    return tonumber(kstat("-p '" .. name .. "'").out:match("\t(%-?[%d.]+)")) or 0
  end

  -- Waits until all that has happened so far is published.
  local function settle()
    local copies = value("latency:0:latency:copies")
    run.await("copies of what is counted", function()
      assert.is_true(run.alive(pid), run.read_file(dir .. "/out"))
      return value("latency:0:latency:copies") >= copies + 2
    end)
  end

  local function start(words)
    pid = run.start(("env KSTAT_DIR=%s %s %s/kstatlua latency %s 0.05"):format(dir, inside or "", run.bin, words),
      dir .. "/out")
    settle()
  end

  -- A loop device of one's own.
  local function loop(file, options)
    local device = run.shell(("losetup --show -f %s %s"):format(options or "", file))
    if device.status ~= 0 then
      return nil, "no loop device can be made here: " .. device.err
    end
    local name = device.out:match("/dev/(%S+)")
    undo[#undo + 1] = ("cd /sys/block/%s/queue && echo none >scheduler; echo 1 >iostats; echo 0 >nomerges; "
      .. "losetup -d /dev/%s"):format(name, name)
    -- These stay when a device is given back. Requests that are neighbours are one, unless that is forbidden.
    sh("cd /sys/block/%s/queue && echo none >scheduler && echo 1 >iostats && echo 2 >nomerges", name)
    return name
  end

  local function scratch(bytes)
    sh("truncate -s %s %s/disk", bytes, dir)
    return loop(dir .. "/disk")
  end

  -- The counts of /proc/diskstats: requests, and milliseconds of all.
  local function diskstats(name)
    local n = {}
    for number in run.read_file("/proc/diskstats"):match(" " .. name .. " ([^\n]*)"):gmatch("%d+") do
      n[#n + 1] = tonumber(number)
    end
    return { read = n[1], write = n[5], discard = n[12], flush = n[16], ms = n[4] + n[8] + n[15] + (n[17] or 0) }
  end

  local function counted(name)
    local c = { ns = 0 }
    for _, op in ipairs({ "read", "write", "discard", "flush" }) do
      local k = ("latency::%s,%s,%%s"):format(name, op)
      c[op] = value(k:format("device:count"))
      assert.equals(c[op], value(k:format("queue:count")))
      c.ns = c.ns + value(k:format("device:sum")) + value(k:format("queue:sum"))
    end
    return c
  end

  -- A kernel may not run a program at each event: what is known to be missed is counted, the last one of each tag is
  -- not known. It may happen to a machine that is busy, not always: load() returns what the kernel and what we counted.
  local function assert_same(load_disk)
    for attempt = 1, 6 do
      local missed = value("latency:0:latency:lost_missed")
      local theirs, ours = load_disk()
      local lost, same = 0, true
      missed = value("latency:0:latency:lost_missed") - missed
      for op, n in pairs(theirs) do
        lost, same = lost + n - ours[op], same and n == ours[op]
        assert.is_true(ours[op] <= n, ("%s: %d, not %d"):format(op, ours[op], n))
      end
      assert.is_true(lost <= missed + 256, ("%d lost, %d missed"):format(lost, missed))
      if same then
        return
      end
      assert.is_true(attempt < 6, "requests are missed each time")
    end
  end

  local function it_counts(name, body)
    it(name, function()
      if lacking then
        return pending(lacking)
      end
      local why = body()
      if why then
        pending(why)
      end
    end)
  end

  before_each(function()
    dir, undo, inside, pid = os.tmpname(), {}, nil, nil
    os.remove(dir)
    sh("mkdir -m 755 %s", dir)
  end)

  after_each(function()
    if pid and run.alive(pid) then
      run.stop(pid, "INT")
    end
    for i = #undo, 1, -1 do
      run.shell(undo[i])
    end
    run.shell("rm -rf " .. dir)
  end)

  it_counts("counts the requests of a disk as /proc/diskstats does, under load and without iostats too", function()
    local name, why = scratch("64M")
    if not name then
      return why
    end
    start("disk")
    local function all(words)
      return words:gsub("DISK", load .. " disk /dev/" .. name)
    end
    for _, words in ipairs({ "DISK read 4 10000 && DISK write 4 10000", "DISK discard 1 200 && DISK flush 1 10" }) do
      for _, is_busy in ipairs({ false, true }) do
        local spin = is_busy and run.start(load .. " spin", "/dev/null")
        assert_same(function()
          local before, c = diskstats(name), counted(name)
          sh("%s", (all(words)))
          settle()
          local after, d = diskstats(name), counted(name)
          local theirs, ours = {}, {}
          for _, op in ipairs({ "read", "write", "discard", "flush" }) do
            theirs[op], ours[op] = after[op] - before[op], d[op] - c[op]
          end
          -- Of a flush that nothing was written for, the kernel counts an empty write, too.
          theirs.write = theirs.write - theirs.flush
          return theirs, ours
        end)
        if spin then
          run.stop(spin, "KILL")
        end
      end
    end
    sh("echo 0 >/sys/block/%s/queue/iostats", name)
    assert_same(function()
      local before, c = diskstats(name), counted(name)
      sh("%s", (all("DISK read 1 2000")))
      settle()
      local d = counted(name)
      assert.equals(before.read, diskstats(name).read)
      assert.is_true(d.ns - c.ns < 60e9, "times are those of the requests, not of what was there before")
      return { read = 2000 }, { read = d.read - c.read }
    end)
    assert.equals(0, value("latency:0:latency:lost_disk"))
  end)

  it_counts("finds the time of a slow disk in the right bucket, apart from the wait for it", function()
    sh("mkdir %s/slow", dir)
    local fuse = run.start(("%s fuse %s/slow 67108864 20 40"):format(load, dir), dir .. "/fuse")
    undo[#undo + 1] = ("umount -l %s/slow"):format(dir)
    undo[#undo + 1] = "kill " .. fuse
    run.shell(("for i in $(seq 100); do [ -e %s/slow/file ] && break; sleep 0.05; done"):format(dir))
    local name, why = loop(dir .. "/slow/file", "--direct-io=on")
    if not name then
      return run.alive(fuse) and why or "no FUSE here: " .. run.read_file(dir .. "/fuse")
    end
    start("disk")
    local c = counted(name)
    sh("%s disk /dev/%s read 1 20 && %s disk /dev/%s write 1 10", load, name, load, name)
    settle()
    local d = counted(name)
    assert.same({ 20, 10 }, { d.read - c.read, d.write - c.write })
    -- Half of them are within a bucket (4.4 %) of the time, unless the machine is too busy: never below it.
    local read = value(("latency::%s,read,device:p50"):format(name))
    local write = value(("latency::%s,write,device:p50"):format(name))
    assert.is_true(read >= 20e6 * 0.956 and read < 60e6, read)
    assert.is_true(write >= 40e6 * 0.956 and write < 120e6, write)
    assert.is_true(value(("latency::%s,read,queue:p50"):format(name)) < 20e6)
  end)

  it_counts("counts a disk without requests, which may come later, and forgets one that went", function()
    start("disk")
    local number = run.shell("cat /sys/class/zram-control/hot_add").out:match("%d+")
    if not number then
      return "no zram here"
    end
    local name = "zram" .. number
    undo[#undo + 1] = ("echo %s >/sys/class/zram-control/hot_remove"):format(number)
    sh("echo 16M >/sys/block/%s/disksize", name)
    run.await("programs for it", function()
      return value("latency:0:latency:loads") >= (number == "0" and 2 or 1)
    end)
    settle()
    assert_same(function()
      local before, c = diskstats(name), value(("latency::%s,write,device:count"):format(name))
      sh("%s disk /dev/%s write 1 500", load, name)
      settle()
      return { write = diskstats(name).write - before.write },
        { write = value(("latency::%s,write,device:count"):format(name)) - c }
    end)
    assert.equals(1, kstat(("-p latency::%s,write,queue"):format(name)).status)
    sh("echo %s >/sys/class/zram-control/hot_remove", number)
    run.await("the end of its kstats", function()
      return kstat(("-p latency::%s,write,device"):format(name)).status == 1
    end)
  end)

  it_counts("begins anew with a disk that comes back under its name, soon or late", function()
    local ours = {} -- numbers
    local function add()
      local number = run.shell("cat /sys/class/zram-control/hot_add").out:match("%d+")
      if number then
        ours[number] = true
        sh("echo 16M >/sys/block/zram%s/disksize", number)
      end
      return number
    end
    local function remove(number)
      sh("echo %s >/sys/class/zram-control/hot_remove", number)
      ours[number] = nil
    end
    local first = add()
    if not first then
      return "no zram here"
    end
    start("disk")
    local count = ("latency::zram%s,write,device:count"):format(first)
    local function write(n)
      sh("%s disk /dev/zram%s write 1 %d", load, first, n)
      run.await("its requests", function() return value(count) > 0 end)
      settle()
      return value(count), diskstats("zram" .. first).write
    end
    local ok, message = pcall(function()
      write(500)
      remove(first)
      run.await("the end of its kstats", function() return kstat("-p " .. count).status == 1 end)
      assert.equals(first, add())
      local counted_now, theirs = write(50)
      assert.is_true(counted_now <= theirs, ("%d, not %d"):format(counted_now, theirs))
      -- With the memory of another one that went: two of our rows then have one name.
      local second = add()
      remove(first)
      remove(second)
      assert.equals(first, add())
      write(50)
      remove(first)
      run.await("the end of its kstats", function() return kstat("-p " .. count).status == 1 end)
      settle()
    end)
    for number in pairs(ours) do
      run.shell(("echo %s >/sys/class/zram-control/hot_remove"):format(number))
    end
    assert.is_true(ok, message)
  end)

  it_counts("has room for 4,000 disks, an nvme with 128 queues of 1,023 tags and 1,000 groups", function()
    local script = [[local bpf, message = require("kstat.bpf").open({ disk = true, cpu = true, bios = true,
      disks = 1024, slots = 4000 * 256 + 128 * 1023, queues = 16000, groups = 1000 })
      assert(bpf, message) bpf:copy() bpf:close()]]
    local result = run.run({ "kstatlua", "-e", script })
    assert.same({ 0, "" }, { result.status, result.err })
  end)

  it_counts("waits and service at a depth of 200 are the time that /proc/diskstats has", function()
    local name, why = scratch("64M")
    if not name then
      return why
    end
    sh("echo mq-deadline >/sys/block/%s/queue/scheduler; echo 256 >/sys/block/%s/queue/nr_requests", name, name)
    start("disk")
    assert_same(function()
      local before, c = diskstats(name), counted(name)
      sh("%s disk /dev/%s read 200 20000", load, name)
      settle()
      local after, d = diskstats(name), counted(name)
      local theirs, ours = after.ms - before.ms, (d.ns - c.ns) / 1e6
      local is_all = after.read - before.read == d.read - c.read
      -- The kernel's clock is that of the beginning of a plug, so that its times are a little longer.
      assert.is_true(not is_all or math.abs(ours - theirs) <= 0.1 * theirs + 10, ("%f, not %f"):format(ours, theirs))
      return { read = after.read - before.read }, { read = d.read - c.read }
    end)
  end)

  it_counts("counts the waits of six tasks in a control group as their schedstat does", function()
    local root = run.shell("awk '$3 == \"cgroup2\" { print $2; exit }' /proc/self/mounts").out:match("%S+")
    local group = root and root .. "/kstat-spec-" .. dir:match("[%w_]+$")
    if not group or run.shell("mkdir " .. group).status ~= 0 then
      return "no control group of version 2 can be made here"
    end
    undo[#undo + 1] = ("for i in $(seq 100); do rmdir %s && break; sleep 0.05; done"):format(group)
    local tasks = {}
    for i = 1, 6 do
      tasks[i] = run.start(load .. " spin", "/dev/null")
      undo[#undo + 1] = "kill -9 " .. tasks[i]
      sh("echo %s >%s/cgroup.procs && kill -STOP %s", tasks[i], group, tasks[i])
    end
    local all = table.concat(tasks, " ")
    local function signal(name)
      sh("kill -%s %s", name, all)
    end
    local function schedstat()
      local sum, runs = 0, 0
      for _, task in ipairs(tasks) do
        local wait, n = run.read_file(("/proc/%s/schedstat"):format(task)):match("%d+ (%d+) (%d+)")
        sum, runs = sum + tonumber(wait), runs + tonumber(n)
      end
      return sum, runs
    end
    local function wait_for_stop()
      run.await("stopped tasks", function()
        local states = ("grep -c '^State:.T' $(printf '/proc/%%s/status ' %s) | grep -c ':1$'"):format(all)
        return run.shell(states).out == "6\n"
      end)
    end
    wait_for_stop()
    start("cpu --groups")
    local k = "latency::runq," .. ("/" .. group:match("[^/]+$")):sub(1, 25)
    run.await("the group", function() return kstat("-p '" .. k .. ":count'").status == 0 end)
    -- What a task waited before it was first seen to leave is not known.
    signal("CONT")
    sh("sleep 0.3")
    signal("STOP")
    wait_for_stop()
    settle()
    local sum, runs = schedstat()
    local c, s = value(k .. ":count"), value(k .. ":sum")
    signal("CONT")
    sh("sleep 1.5")
    signal("STOP")
    wait_for_stop()
    settle()
    local sum2, runs2 = schedstat()
    local ours, theirs = value(k .. ":sum") - s, sum2 - sum
    assert.is_true(math.abs(ours - theirs) <= 0.01 * theirs, ("%f, not %f"):format(ours, theirs))
    assert.is_true(math.abs(value(k .. ":count") - c - (runs2 - runs)) <= 0.01 * (runs2 - runs) + 6)
    assert.is_true(value("latency:0:runq:count") > 0)
  end)

  it_counts("times connections, and those that are refused apart", function()
    local keeper = run.start("unshare -n sleep 600", "/dev/null")
    undo[#undo + 1] = "kill " .. keeper
    inside = ("nsenter -t %s -n"):format(keeper)
    run.shell(("own=$(readlink /proc/self/ns/net); for i in $(seq 100); do "
      .. "[ \"$(readlink /proc/%s/ns/net)\" != \"$own\" ] && break; sleep 0.05; done"):format(keeper))
    local tun = run.start(("%s %s tun 10.9.0.1 10.9.0.2 50"):format(inside, load), dir .. "/tun")
    undo[#undo + 1] = "kill " .. tun
    run.shell(("for i in $(seq 100); do grep -q ready %s/tun && break; sleep 0.05; done"):format(dir))
    if not run.read_file(dir .. "/tun"):find("ready") then
      return "no tun in a network namespace here: " .. run.read_file(dir .. "/tun")
    end
    start("connect")
    assert.equals("70\n", sh("%s %s connect 10.9.0.2 7000 70 listen", inside, load))
    assert.equals("0\n", sh("%s %s connect 10.9.0.2 7001 10", inside, load))
    settle()
    for name, n in pairs({ ["connect,tcp"] = 70, ["refused,tcp"] = 10 }) do
      assert.equals(n, value(("latency:0:%s:count"):format(name)), name)
      local least, half = value(("latency:0:%s:min"):format(name)), value(("latency:0:%s:p50"):format(name))
      assert.is_true(least >= 50e6 * 0.956 and half < 150e6, ("%s: %f, %f"):format(name, least, half))
    end
    -- The last ones may be closed by the listener's end before they are there.
    assert.is_true(value("latency:0:accept,tcp:count") >= 60 - value("latency:0:latency:lost_accept"))
    assert.is_true(value("latency:0:accept,tcp:p50") < 50e6) -- the delay is the SYN's alone
  end)

  it_counts("counts 5,000 children that end at once, each under its parent's name", function()
    start("exits")
    local before = value("exits:0:exits:exits")
    sh("%s storm storm_parent storm_child 5000", load)
    settle()
    local name = "exits::storm_child,storm_parent:"
    run.await("the exits, which are copied once a second", function() return value(name .. "exits") >= 5000 end)
    assert.same({ 5000, 1000, 0 }, { value(name .. "exits"), value(name .. "failed"), value(name .. "killed") })
    assert.equals("storm_parent", kstat("-p " .. name .. "parent").out:match("\t(.*)\n"))
    assert.is_true(value(name .. "cputime") > 0 and value(name .. "lifetime") >= value(name .. "cputime"))
    assert.is_true(value("exits:0:exits:exits") - before >= 5000)
    assert.equals(0, value("exits:0:exits:lost"))
  end)

  it_counts("publishes commands and parents of any bytes, also where a character is cut", function()
    start("exits")
    sh([[%s storm parent $(printf '\377\302\233:x') 200]], load)
    sh([[%s storm 1234567890123é $(printf '12345678\330\234abcde') 200]], load)
    for _, name in ipairs({ "___x,parent", "12345678_abcde,1234567890123_" }) do
      run.await(name, function() return kstat(("-p 'exits::%s:exits'"):format(name)).status == 0 end)
    end
  end)

  it_counts("counts in the sums, and as lost, the exits of more commands than it has room for", function()
    start("exits")
    sh("i=0; while [ $i -lt 4300 ]; do (echo c$i >/proc/self/comm); i=$((i + 1)); done")
    run.await("lost exits", function() return value("exits:0:exits:lost") >= 4300 - 4096 end)
    local lost = value("exits:0:exits:lost") -- more may be by now
    run.await("the same there", function() return value("latency:0:latency:lost_exit") >= lost end)
    assert.is_true(value("exits:0:exits:exits") >= 4300)
  end)

  it_counts("leaves nothing in the kernel when it is killed, and its kstats are gone at once", function()
    if run.shell("command -v bpftool").status ~= 0 then
      return "bpftool is not installed"
    end
    start("")
    local objects = run.shell(("cat /proc/%s/fdinfo/*"):format(pid)).out
    local ids = {}
    for kind, id in objects:gmatch("(%a+)_id:%s*(%d+)") do
      kind = kind == "prog" and "prog" or kind == "map" and "map" or kind == "link" and "link"
      ids[#ids + 1] = kind and ("%s show id %s"):format(kind, id) or nil
    end
    assert.is_true(#ids >= 20, objects)
    run.stop(pid, "KILL")
    assert.equals(1, kstat("-p latency::").status)
    for _, words in ipairs(ids) do
      run.await("the end of " .. words, function() return run.shell("bpftool " .. words).status ~= 0 end)
    end
  end)

  it_counts("does with the two capabilities and the system calls of its service", function()
    local allowed = run.shell("command -v systemd-analyze strace").status == 0
      and require("support.unit").allowed_calls("packaging/kstat-latency.service")
    if not allowed then
      return "systemd-analyze or strace is not installed"
    end
    local r = run.shell(("KSTAT_DIR=%s setpriv --inh-caps=-all --bounding-set=-all,+bpf,+perfmon --no-new-privs "
      .. "strace -f -o %s/calls %s/kstatlua latency --groups 0.05 3"):format(dir, dir, run.bin))
    assert.same({ "", 0 }, { r.err, r.status })
    local calls = require("support.unit").calls(dir .. "/calls")
    for _, call in ipairs(calls) do
      assert.truthy(allowed[call], call)
    end
    assert.is_truthy(table.concat(calls, " "):find("bpf", 1, true))
  end)

  it_counts("says in one line that another one runs", function()
    start("exits")
    local second = run.run({ "kstatlua", "latency", "exits", env = { KSTAT_DIR = dir } })
    assert.equals("latency: another one runs: 'kstat -p latency:0:latency' is its\n", second.err)
    assert.equals(3, second.status)
    assert.is_true(run.alive(pid))
  end)
end)

-- The types of a kernel without any: a header, and the empty string.
local NO_TYPES = [[printf "\237\353\1\0\30\0\0\0%b\1\0\0\0\0" "\0\0\0\0\0\0\0\0\0\0\0\0"]]

-- What stands for the programs: of disks, some are lost each time, and each look at the clock takes a minute.
local LOSING = [[
  local losses, opened, time, kstat = 0, 0, 0, require("kstat")
  kstat.hrtime = function() time = time + 60 return time end
  local programs = { fresh = function() return {} end, copy = function() return 0 end, close = function() end,
    losses = function() losses = losses + 1 return { disk = losses } end }
  package.preload["kstat.bpf"] = function()
    return { open = function() opened = opened + 1 io.write(opened, "\n") return programs end }
  end
  arg = { "disk", "0.01", "20" }
  dofile("scripts/latency.lua")
]]

it("kstatlua latency does not begin anew because of disks for which there is no more room then", function()
  if lacking then
    return pending(lacking)
  end
  local dir = run.directory()
  local result = run.run({ "kstatlua", "-e", LOSING, env = { KSTAT_DIR = dir } })
  run.remove_directory(dir)
  assert.same({ 0, "1" }, { result.status, result.out:match("^(%d+)\n$") })
  assert.is_truthy(result.err:find("it begins anew if that makes room", 1, true))
end)

describe("kstatlua latency says in one line why it cannot count", function()
  local dir

  -- Runs it in the words of sh that come before a command; returns the line.
  local function refused(words, status)
    local result = run.shell(("KSTAT_DIR=%s %s %s/kstatlua latency exits 0.01 1"):format(dir, words, run.bin))
    assert.equals(status or 3, result.status, result.err)
    local line = result.err:match("^latency: ([^\n]+)\n$")
    assert.is_truthy(line, result.err)
    assert.is_true(#line <= 190, line)
    return line
  end

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    sh("mkdir -m 755 %s", dir)
  end)

  after_each(function()
    run.shell("rm -rf " .. dir)
  end)

  for name, case in pairs({
    ["without capabilities"] = { "setpriv --inh-caps=-all --bounding-set=-all", "no CAP_BPF and no CAP_PERFMON: root" },
    ["with CAP_BPF alone"] = { "setpriv --inh-caps=-all --bounding-set=-all,+bpf", "no CAP_PERFMON: root" },
    ["in a user namespace of its own"] = { "unshare -Ur", "not permitted despite the capabilities" },
    ["without the kernel's types"] = { "unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec \"$@\"' sh",
      "no /sys/kernel/btf/vmlinux" },
    ["on a kernel that lacks something"] = { "unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && " .. NO_TYPES
      .. " >/sys/kernel/btf/vmlinux && exec \"$@\"' sh", "the kernel has no sched_process_exit: it is too old" },
  }) do
    it(name, function()
      if lacking then
        return pending(lacking)
      elseif run.shell(case[1] .. " true").status ~= 0 then
        return pending("this cannot be made here: " .. case[1])
      end
      assert.is_truthy(refused("env " .. case[1]):find(case[2], 1, true), refused("env " .. case[1]))
    end)
  end

  it("and which words it does not know", function()
    local result = run.run({ "kstatlua", "latency", "disks" })
    assert.same({ 2, "latency: there is no 'disks' to count: it is disk, cpu, connect or exits; "
      .. "'kstatlua latency --help' explains\n" }, { result.status, result.err })
    assert.equals(2, run.run({ "kstatlua", "latency", "disk", "--groups" }).status)
  end)
end)
