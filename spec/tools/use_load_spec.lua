-- kstatlua use under real load: what is put under load is in the right state within two intervals.
local cjson = require("cjson")
local run = require("support.run")

local kstatlua = run.quote(run.bin .. "/kstatlua")
local root = run.shell("id -u").out == "0\n"
local dir -- of the specs, on a disk

-- it() if a line of sh succeeds; else the spec is pending, and the line says what it needs.
local function it_if(condition, needs, name, body)
  if run.shell(condition).status == 0 then
    it(name, body)
  else
    pending(name .. ": needs " .. needs)
  end
end

-- The rows of a resource in the first two reports. line: sh that prints them, as JSON
local function reports(line, resource, name)
  local r = run.shell(line)
  local list = {}
  for text in r.out:gmatch("{[^\n]*}") do
    local row = cjson.decode(text)
    if row.resource == resource and row.name == name then
      list[#list + 1] = row
    end
  end
  assert.truthy(list[1], ("no %s %s: %s%s"):format(resource, name, r.out, r.err))
  assert.is_true(#list <= 2)
  return list
end

-- The report that is in that state and whose reasons match the pattern, or nil.
local function find_state(list, state, pattern)
  for _, row in ipairs(list) do
    if row.state == state and row.why:find(pattern) then
      return row
    end
  end
  return nil
end

-- Fails unless one of the reports is so.
local function assert_state(list, state, pattern)
  return find_state(list, state, pattern) or
    error(("expected %s and '%s': %s"):format(state, pattern, cjson.encode(list)), 2)
end

-- Makes reports until one is so: where CPUs are busy with other things, what loads the machine comes late.
local function await_state(make, state, pattern)
  local list
  return run.await(function() return ("%s and '%s': %s"):format(state, pattern, cjson.encode(list)) end, function()
    list = make()
    return find_state(list, state, pattern)
  end)
end

local function use(resource, name)
  return reports(("%s use -j %s 1 2"):format(kstatlua, resource), resource, name)
end

-- The number that follows a word in the line of a file that begins with a text.
local function figure(path, start, word)
  for line in io.lines(path) do
    if line:sub(1, #start) == start then
      return tonumber(line:match(word .. "[=%s]+(%d+)"))
    end
  end
  return nil
end

describe("kstatlua use under load", function()
  local started

  before_each(function()
    started = {}
    dir = run.shell("mktemp -d " .. run.quote(run.build .. "/use.XXXXXX")).out:match("[^\n]+")
  end)

  after_each(function()
    for _, pid in ipairs(started) do
      run.shell(("kill -KILL %s"):format(pid))
    end
    for _, pid in ipairs(started) do
      run.await("the end of process " .. pid, function() return not run.alive(pid) end)
    end
    run.shell("rm -rf " .. run.quote(dir))
  end)

  local function start(program)
    started[#started + 1] = run.start(program, "/dev/null")
  end

  it_if("grep -q ^some /proc/pressure/cpu", "/proc/pressure/cpu", "shows that CPUs are not enough for busy loops",
    function()
      local cpus = tonumber(run.shell("nproc").out)
      for _ = 1, cpus + 2 do
        start("sh -c 'while :; do :; done'")
      end
      local row = await_state(function() return use("cpu", "all") end, "critical", "pressure %d")
      assert.is_true(row.utilization >= 50)
      assert.matches("busy", row.utilization_of)
    end)

  local mounts = root and "unshare -m" or "unshare -rm"
  it_if(mounts .. " mount -t tmpfs -o size=1m use /tmp", "a mount namespace with a tmpfs",
    "shows that a tmpfs is full", function()
      local line = ("%s sh -c %s"):format(mounts, run.quote(([[mount -t tmpfs -o size=1m use %s
        dd if=/dev/zero of=%s/full bs=64k 2>/dev/null
        %s use -j fs 1 2; umount %s]]):format(dir, dir, kstatlua, dir)))
      local real = run.shell("realpath " .. run.quote(dir)).out:match("[^\n]+")
      local row = assert_state(reports(line, "fs", real), "critical", "space full 100%%")
      assert.same({ 100, "space" }, { row.utilization, row.utilization_of })
    end)

  -- The disk below the directory of the specs, or nil.
  local function disk_of(path)
    local device = run.shell(("basename $(df --output=source %s | tail -1)"):format(run.quote(path))).out
    local r = run.shell(("cd -P /sys/class/block/%s && { [ ! -e partition ] || cd ..; } && basename $PWD"):format(
      run.quote(device:match("[^\n]+") or "none")))
    return r.out:match("[^\n]+")
  end

  local disk = disk_of(run.build)
  local file = run.quote(run.build .. "/use.direct")
  it_if(("test -n %s && dd if=/dev/zero of=%s bs=64k count=1 oflag=direct && rm %s || ! rm -f %s"):format(
    run.quote(disk or ""), file, file, file), "a disk that takes direct I/O",
    "shows that a disk is busy with direct writes", function()
      local has_pressure = run.shell("grep -q ^full /proc/pressure/io").status == 0
      local function stalled()
        return has_pressure and figure("/proc/pressure/io", "full", "total") or 0
      end
      for i = 1, 4 do
        start(("sh -c 'while :; do dd if=/dev/zero of=%s/%d bs=64k count=200 oflag=direct conv=notrunc; done'"):format(
          dir, i))
      end
      -- Milliseconds for which the disk was busy, as the kernel counts them, and those of the clock.
      local function times()
        local r = run.shell(("awk '{ print $10 }' /sys/class/block/%s/stat; date +%%s%%3N"):format(disk))
        return tonumber(r.out:match("^%d+")), tonumber(r.out:match("\n(%d+)"))
      end
      local list, share, most, busy
      for _ = 1, 10 do -- where CPUs are busy with other things the writers come late
        local before, was_busy, start_time = stalled(), times()
        list = use("disk", disk)
        local is_busy, end_time = times()
        busy = 100 * (is_busy - was_busy) / (end_time - start_time)
        share = (stalled() - before) / 10 / (end_time - start_time) -- percent, from microseconds and milliseconds
        most = list[1]
        for _, row in ipairs(list) do
          most = row.utilization > most.utilization and row or most
        end
        if most.utilization >= 50 then
          break
        end
      end
      assert.is_true(most.utilization >= math.min(50, 0.8 * busy), cjson.encode(list))
      assert.is_true(most.saturation_of ~= "queue" or most.saturation > 0.5, cjson.encode(list))
      local turns = run.shell(("grep -q 1 /sys/class/block/%s/queue/rotational"):format(disk)).status == 0
      if share > 20 and most.utilization >= 90 then
        assert_state(list, "critical", "all stalled")
      elseif turns and most.utilization >= 90 then
        assert.matches("busy rotational", most.why)
      elseif share < 2 then -- a disk that others use, too, may answer late
        assert.is_true(most.state == "ok" or most.why:find("slow", 1, true) ~= nil, cjson.encode(list))
      end
    end)

  -- Frames to an address that nobody has, through a queue that is much too small or that loses half of them.
  local networks = root and "unshare -n" or "unshare -rn"
  local VETH = [[ip link add use0 type veth peer name use1 && ip link set use0 up && ip link set use1 up &&
    ip address add 10.99.99.1/24 dev use0 && ip neighbour add 10.99.99.2 lladdr 02:00:00:00:00:02 dev use0 && {
    tc qdisc add dev use0 root netem loss 50% 2>/dev/null ||
    tc qdisc add dev use0 root tbf rate 8kbit burst 1540 limit 1540; }]]
  it_if(("command -v bash && %s sh -c %s"):format(networks, run.quote(VETH)),
    "a network namespace with veth, and netem or tbf", "shows that a link drops packets", function()
      local line = ("%s bash -c %s"):format(networks, run.quote(VETH .. ([[

        (while :; do echo packet >/dev/udp/10.99.99.2/9; sleep 0.005; done) 2>/dev/null &
        %s use -j link 1 2; kill %%1; wait]]):format(kstatlua)))
      local row = await_state(function() return reports(line, "link", "use0") end, "critical", "dropped [%d.]+%%")
      assert.is_true(row.saturation >= 2)
      assert.same({ "dropped", "%" }, { row.saturation_of, row.saturation_unit })
    end)

  -- A group below the hierarchy of version 2, or that of version 1 that has memory.
  local group = ("use-spec-%d"):format(tonumber(run.shell("echo $$").out))
  local MAKE = ([[for at in /sys/fs/cgroup /sys/fs/cgroup/memory; do
      [ -e $at/cgroup.procs ] && mkdir $at/%s 2>/dev/null || continue
      for limit in memory.max memory.limit_in_bytes; do
        [ -e $at/%s/$limit ] && echo 67108864 2>/dev/null >$at/%s/$limit && echo $at/%s && exit 0
      done
      rmdir $at/%s
    done; exit 1]]):format(group, group, group, group, group)
  -- What is read of a disk is the group's memory; what is read of a file in memory is not.
  it_if(('test -n %s && test -w /dev/shm && path=$(sh -c %s) && rmdir "$path"'):format(run.quote(disk or ""),
    run.quote(MAKE)), "a control group of memory that can be written, /dev/shm, and a disk",
    "shows that a control group is at its limit of memory", function()
      local path = run.shell("sh -c " .. run.quote(MAKE)).out:match("[^\n]+")
      local ok, message = pcall(function()
        run.shell(("dd if=/dev/zero of=%s/file bs=1M count=64 oflag=direct"):format(dir))
        -- A file in memory takes 60 MiB of 64; another file is read through the rest.
        run.shell(("sh -c 'echo $$ >%s/cgroup.procs; dd if=/dev/zero of=/dev/shm/%s bs=1M count=60'"):format(
          path, group))
        start(("sh -c 'echo $$ >%s/cgroup.procs; while :; do cat %s/file >/dev/null; done'"):format(path, dir))
        await_state(function() return use("cgroup", group) end, "critical", "memory")
      end)
      for _, pid in ipairs(started) do
        run.shell(("kill -KILL %s; while kill -KILL $(cat %s/cgroup.procs) 2>/dev/null; do sleep 0.05; done"):format(
          pid, path))
      end
      os.remove("/dev/shm/" .. group)
      run.await("the end of a control group", function() return run.shell("rmdir " .. path).status == 0 end)
      assert(ok, message)
    end)
end)
