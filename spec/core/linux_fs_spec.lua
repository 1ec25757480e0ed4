-- File systems of the Linux source: on a tree of our own, and on this machine.
local L = require("support.linux")
local run = require("support.run")

local function sorted(list)
  table.sort(list)
  return list
end

--- The names of the kstats of a class, in order.
local function names_of(d, class)
  local names = {}
  for id, k in pairs(d.kstat) do
    if k.class == class then
      names[#names + 1] = id
    end
  end
  return sorted(names)
end

describe("file systems of a recorded tree", function()
  local d

  setup(function()
    d = L.dump_tree("fs")
  end)

  it("are those that df shows: no pseudo file systems, one mount of a device, the last one at a place", function()
    assert.same({}, d.warnings)
    assert.same({}, d.error)
    assert.same({}, d.twice)
    assert.same(sorted({ "fs:0:/nfs/image", "fs:17:/old", "fs:1:/boot", "fs:1:/srv/a b?c", "fs:22:/dev/shm",
      "fs:23:/run", "fs:2:/", "fs:40:/home", "fs:40:/nfs", "fs:41:/nfs3", "fs:42:/var/lib/docker/overlay2/01234",
      "fs:43:/var/lib/docker/overlay2/01234", "fs:44:/media/phone_1", "fs:45:/btrfs", "fs:6:/dev" }), names_of(d, "fs"))
  end)

  it("have the facts of mountinfo, and no figures", function()
    local function facts(id)
      local t = {}
      for stat, value in pairs(d.stat) do
        local name = stat:match("^" .. id:gsub("%p", "%%%0") .. ":([%w_]+)$")
        t[name or 1] = name and value or nil
      end
      return t
    end
    assert.same({ device = "/dev/mapper/vg-srv", fs_type = "xfs", mount_point = "/srv/a b?c", mount_root = "/",
      options = "rw,relatime", device_name = "dm-1", major = "253", minor = "1", mount_id = "31", read_only = "1" },
      facts("fs:1:/srv/a b?c"))
    assert.equal("sda1", d.stat["fs:1:/boot:device_name"])
    assert.equal("sdc", d.stat["fs:45:/btrfs:device_name"])
    assert.is_nil(d.stat["fs:40:/nfs:device_name"])
    assert.equal("1", d.stat["fs:1:/boot:read_only"])
    assert.equal("0", d.stat["fs:2:/:read_only"])
    assert.equal("xfs", d.stat["fs:17:/old:fs_type"])
    assert.equal("/media/phone:1", d.stat["fs:44:/media/phone_1:mount_point"])
    assert.equal("/var/lib/docker/overlay2/0123456789abcdef/merged",
      d.stat["fs:42:/var/lib/docker/overlay2/01234:mount_point"])
  end)

  it("have counts of their own: errors, operations, space", function()
    local function same(...) L.same(d, ...) end
    assert.same({ "btrfs:0:01234567-89ab-cdef-0123-456789", "ext4:0:sda2", "xfs:0:dm-1" }, names_of(d, "fs_detail"))
    same("ext4:0:sda2", { errors = "3", warnings = "4", messages = "7", first_error_time = "1700000100",
      last_error_func = "ext4_lookup", last_error_ino = "12", lifetime_write = "1234567", session_write = "4567" })
    assert.equal("KiB", d.meta["ext4:0:sda2:lifetime_write"].unit)
    same("xfs:0:dm-1", { allocx = "1", allocb = "872", ig_attempts = "5", ig_attrchg = "1", vn_active = "4",
      write_calls = "28", read_calls = "7", buf_get_locked_waited = "2", xstrat_bytes = "3571712",
      read_bytes = "99" })
    same("btrfs:0:01234567-89ab-cdef-0123-456789", { errors = "15", write_errs = "2", read_errs = "0",
      flush_errs = "0", corruption_errs = "12", generation_errs = "1", devices = "2", devices_missing = "1",
      devices_size = "10737418240", label = "home", data_total_bytes = "2147483648", data_bytes_used = "712638464",
      metadata_disk_total = "2147483648", system_bytes_used = "16384", global_rsv_size = "16777216",
      commits = "314207", max_commit_ms = "42817" })
  end)

  it("have the devices of a btrfs before Linux 5.6, too, which had no devinfo", function()
    local dir = L.copy(run.tree("fs"))
    L.sh("chmod -R u+w " .. dir .. " && rm -r " .. dir .. "/sys/fs/btrfs/*/devinfo")
    local old = L.dump(dir .. "/proc", dir .. "/sys")
    L.remove(dir)
    L.same(old, "btrfs:0:01234567-89ab-cdef-0123-456789", { devices = "2", devices_size = "10737418240" })
    assert.is_nil(old.stat["btrfs:0:01234567-89ab-cdef-0123-456789:errors"])
  end)

  it("are new kstats when another mount has the place, and the same after a change of options", function()
    local dir = L.copy()
    local path = dir .. "/proc/self/mountinfo"
    L.sh("mkdir -p " .. dir .. "/proc/self")
    L.write(path, "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n21 20 8:3 / /a rw - ext4 /dev/sda3 rw\n")
    local list = L.dumps(dir .. "/proc", dir .. "/sys",
      ("printf '20 1 8:2 / / ro - ext4 /dev/sda2 rw\\n22 20 8:4 / /a rw - xfs /dev/sda4 rw\\n' > %s"):format(path))
    assert.equal(0, list[1].kstat["fs:2:/"].crtime)
    assert.equal(0, list[2].kstat["fs:2:/"].crtime)
    assert.equal("0", list[1].stat["fs:2:/:read_only"])
    assert.equal("1", list[2].stat["fs:2:/:read_only"])
    assert.is_nil(list[2].kstat["fs:3:/a"])
    assert.is_true(list[2].kstat["fs:4:/a"].crtime > 0)
    L.remove(dir)
  end)
end)

-- Runs lines of sh in a mount namespace of their own; nil where this is not permitted.
local function in_namespace(lines)
  local r = run.shell(("unshare -m sh -c %s"):format(run.quote("set -e\n" .. lines)))
  if r.status ~= 0 and (r.err:find("unshare") or r.err:find("permi") or r.err:find("denied")) then
    return nil
  end
  assert.equal(0, r.status, r.err)
  return r.out
end

local kstat = run.bin .. "/kstat"

local function stats_of(text)
  local t = {}
  for id, value in text:gmatch("([^\n\t]+)\t([^\n]*)") do
    t[id] = value
  end
  return t
end

describe("file systems of this machine", function()
  -- What df says, what kstat says, what df says again: the figures that differ although both runs of df agree on them,
  -- by file system, and the count of these.
  local SLOW = "slow" -- what latency_spec.lua mounts, perhaps meanwhile: it answers late

  local function compare_with_df()
    local command = "df -B1 --output=target,size,used,avail,itotal,source,fstype"
    local shown, listed, count, differ = {}, {}, 0, {}
    local out = run.shell(("%s; echo; %s -p -c fs; echo; %s"):format(command, kstat, command)).out
    local first, ours, second = out:match("^(.-)\n\n(.-)\n\n(.*)$")
    for id, value in pairs(stats_of(ours)) do
      local name, stat = id:match("^(.*):([%w_]+)$")
      shown[name] = shown[name] or {}
      shown[name][stat] = value
    end
    for _, fs in pairs(shown) do
      listed[fs.mount_point] = fs.device ~= SLOW and fs or nil
    end
    for line in first:gmatch("[^\n]+") do
      local target, size, used, avail, inodes, source, fstype =
        line:match("^(/.-) +(%d+) +(%d+) +(%d+) +(%d+) +(%S.-) +(%S+) *$")
      if target and source ~= SLOW then
        count = count + 1
        local fs = assert(listed[target], target)
        assert.same({ size, source, fstype, "ok", "1" }, { fs.capacity, fs.device, fs.fs_type, fs.state, fs.answered })
        assert.equal(inodes, fs.inodes or "0")
        if second:find(line, 1, true) and (used ~= fs.used or avail ~= fs.available) then
          differ[target] = ("%s, %s; %s, %s"):format(used, avail, fs.used, fs.available)
        end
        listed[target] = nil
      end
    end
    assert.same({}, listed)
    return differ, count
  end

  it("are those of df, with its figures", function()
    assert.is_true(select(2, compare_with_df()) > 0)
    assert.same({}, run.always_wrong(compare_with_df)) -- others may write and remove a file between two looks
  end)

  it("come, change and go with mounts, at the next look", function()
    local dir = os.tmpname()
    os.remove(dir)
    local out = in_namespace(([[
      dir=%s; mkdir $dir; mount -t tmpfs -o size=1m,nr_inodes=64 ours $dir
      %s -p -c fs '/^fs$/:::/read_only|capacity|inodes$/' 0.1 >>$dir.out & reader=$!
      until_shown() { for i in $(seq 1200); do ! grep -q "$1" $dir.out || break; sleep 0.05; done; }
      name=fs:[0-9]*:$(echo $dir | cut -c-30)
      until_shown "$name:read_only.0"; mount -o remount,ro $dir
      # A look that shows the next mount comes after the end of the first one, and so does another one after "gone".
      next=$(dirname $dir)/next.$$; mkdir $next
      until_shown "$name:read_only.1"; umount -l $dir; mount -t tmpfs next $next
      until_shown "fs:[0-9]*:$(echo $next | cut -c-30):read_only.0"; echo gone >>$dir.out; mount -o remount,ro $next
      until_shown "fs:[0-9]*:$(echo $next | cut -c-30):read_only.1"; umount -l $next
      kill $reader; cat $dir.out; rm $dir.out; rmdir $dir $next]]):format(dir, kstat))
    if not out then
      return pending("mounts are not permitted here")
    end
    local name = "fs:%d+:" .. dir:sub(1, 30):gsub("%p", "%%%0")
    assert.equal("1048576", out:match(name .. ":capacity\t(%d+)"))
    assert.equal("64", out:match(name .. ":inodes\t(%d+)"))
    local states = {}
    for state in out:gmatch(name .. ":read_only\t(%d)") do
      if state ~= states[#states] then
        states[#states + 1] = state
      end
    end
    assert.same({ "0", "1" }, states)
    assert.falsy(out:match("\ngone\n.*"):find(name))
  end)

  it("are shown where they can be reached: not below or under another mount", function()
    local dir = os.tmpname()
    os.remove(dir)
    local out = in_namespace(([[
      mkdir -p %s/a; mount -t tmpfs below %s/a; mount -t tmpfs under %s
      mkdir %s/b; mount -t tmpfs first %s/b; mount -t tmpfs second %s/b; mount --bind %s/b %s
      %s -p fs:::device; umount %s; umount %s/b; umount %s/b; umount %s; umount %s/a; rm -r %s
      ]]):format(dir, dir, dir, dir, dir, dir, dir, dir, kstat, dir, dir, dir, dir, dir, dir))
    if not out then
      return pending("mounts are not permitted here")
    end
    local devices = {}
    for device in out:gmatch(":device\t(%l+)\n") do
      devices[device] = true
    end
    assert.is_nil(devices.below)
    assert.is_nil(devices.under)
    assert.is_nil(devices.first)
    assert.is_true(devices.second)
  end)

  it("have read_only for a bind mount that is, beside one that is not", function()
    local dir = os.tmpname()
    os.remove(dir)
    local out = in_namespace(([[
      mkdir %s; mount -t tmpfs ours %s; mount -o remount,bind,ro %s
      %s -p 'fs:::/read_only|device/'; umount %s; rmdir %s]]):format(dir, dir, dir, kstat, dir, dir))
    if not out then
      return pending("mounts are not permitted here")
    end
    local name = out:match("([^\n]+):device\tours\n")
    assert.matches(name:gsub("%p", "%%%0") .. ":read_only\t1\n", out)
  end)
end)

describe("an automount", function()
  it("is not triggered; what is mounted there is shown", function()
    local dir = os.tmpname()
    os.remove(dir)
    -- Nobody serves the automounts: who triggers one waits, as ls does. This process group does not trigger them.
    local out = in_namespace(([[
      dir=%s; mkdir $dir $dir/idle $dir/used; mkfifo $dir/pipe; exec 4<>$dir/pipe
      for d in idle used; do
        mount -i -t autofs -o fd=4,pgrp=$(cut -d' ' -f5 /proc/$$/stat),minproto=5,maxproto=5,direct a $dir/$d ||
          { echo "no autofs: denied" >&2; exit 1; }
      done
      mount -t tmpfs over $dir/used
      setsid timeout 60 %s -p 'fs:::/device|state/' 4<&- || echo failed
      setsid timeout 1 ls $dir/idle/ 4<&- >/dev/null 2>&1 || echo triggered
      umount $dir/used; umount -l $dir/used; umount -l $dir/idle; rm -r $dir]]):format(dir, kstat))
    if not out then
      return pending("autofs cannot be mounted here")
    end
    assert.matches("triggered", out)
    assert.falsy(out:find("failed"))
    local id = out:match("([^\n]+):device\tover\n"):gsub("%p", "%%%0")
    assert.matches(id .. ":state\tok\n", out)
    assert.falsy(out:find("/idle"))
  end)
end)

describe("an ext4 with an error", function()
  it("is counted, read-only and known by its device's name", function()
    local dir = os.tmpname()
    os.remove(dir)
    local out = in_namespace(([[
      dir=%s; kstat=%s; mkdir $dir; truncate -s 8M $dir.img
      command -v mkfs.ext4 >/dev/null || { echo "no mkfs.ext4: denied" >&2; exit 1; }
      mkfs.ext4 -q -e remount-ro $dir.img
      $kstat -p 'fs:::/read_only|device_name/' 'ext4:::errors' 0.2 >$dir.out & reader=$!
      trap 'kill $reader' EXIT
      mount -o loop $dir.img $dir || { echo "no loop: denied" >&2; exit 1; }
      name=$(basename $(sed -n "s|.* $dir .* \(/dev/loop[0-9]*\) .*|\1|p" /proc/self/mountinfo))
      until_shown() { for i in $(seq 1200); do ! grep -q "$1" $dir.out || break; sleep 0.05; done; }
      until_shown "$name:errors.0"; echo broken > /sys/fs/ext4/$name/trigger_fs_error
      # Today's kernels say in mountinfo alone that nothing can be written, and that is read after a mount.
      mkdir $dir.other; mount -t tmpfs other $dir.other
      until_shown "$name:errors.1"; until_shown "fs:[0-9]*:$(echo $dir | cut -c-30).*:read_only.1"
      cat $dir.out; echo $name
      umount -l $dir $dir.other; rm -r $dir $dir.img $dir.out $dir.other]]):format(dir, kstat))
    if not out then
      return pending("loop devices cannot be mounted here")
    end
    local name = out:match("(loop%d+)\n$")
    local errors, states = {}, {}
    for n in out:gmatch("ext4:0:" .. name .. ":errors\t(%d+)") do
      errors[#errors + 1] = n
    end
    assert.equal("0", errors[1])
    assert.equal("1", errors[#errors])
    local id = out:match("([^\n]+):device_name\t" .. name .. "\n"):gsub("%p", "%%%0")
    for n in out:gmatch(id .. ":read_only\t(%d)") do
      states[#states + 1] = n
    end
    assert.equal("0", states[1])
    assert.equal("1", states[#states])
  end)
end)

-- A file system of FUSE whose process reads no request: whoever asks it waits for ever.
local function with_silent(lines)
  local dir = os.tmpname()
  os.remove(dir)
  local out = in_namespace(([[
    dir=%s; kstat=%s; mkdir $dir
    test -c /dev/fuse || { echo "no /dev/fuse: denied" >&2; exit 1; }
    exec 3<>/dev/fuse
    mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 silent $dir
    %s
    umount -l $dir; exec 3<&-; rmdir $dir]]):format(dir, kstat, lines))
  return out, dir
end

describe("a file system that does not answer", function()
  it("delays a reading once by a quarter of a second, and says that it did not answer", function()
    local out, dir = with_silent([[
      mkdir $dir.local; mount -t tmpfs -o size=1m ours $dir.local
      export KSTAT_WAIT_MAX=250 DIR=$dir
      ${kstat}lua -e '
        local k = kstat.open({ only = "fs:::" })
        local at = {}
        for f in k:each() do at[f:get("mount_point")] = f end
        local silent, ours = at[os.getenv("DIR")], at[os.getenv("DIR") .. ".local"]
        local first, began, before, least = silent:get("no_answer_for"), kstat.gethrtime(), nil, math.huge
        for _ = 1, 20 do
          before = kstat.gethrtime()
          k:update()
          local answered = silent:get("answered")
          least = math.min(least, kstat.gethrtime() - before)
          assert(answered == 0)
        end
        print(silent:get("state"), silent:get("capacity"), ours:get("capacity"))
        print(first, silent:get("no_answer_for"), before - began, least)
      ' 3<&-
      $kstat -p fs:::state 0.1 3 3<&- 2>$dir.err
      sed 's/^/said: /' $dir.err; rm $dir.err
      umount $dir.local; rmdir $dir.local]])
    if not out then
      return pending("FUSE cannot be mounted here")
    end
    local _, lines = out:gsub("said: kstat: " .. dir:gsub("%p", "%%%0") ..
      ": the file system does not answer; its sizes are missing\n", "")
    assert.equal(1, lines, out)
    local figures, times = out:match("^([^\n]*)\n([^\n]*)\n")
    assert.equal("no answer\tnil\t1048576", figures)
    local first, last, between, least = times:match("^(%d+)\t(%d+)\t(%d+)\t(%d+)$")
    assert.is_true(tonumber(first) >= 0.25e9, first)
    assert.is_true(last - first >= tonumber(between), "the same question waits all the time")
    assert.is_true(tonumber(least) < 0.25e9, least)
  end)

  it("leaves one thread behind, which blocks all signals, does not survive a fork, and ends with it", function()
    local dir = os.tmpname()
    os.remove(dir)
    local r = run.shell(("dir=%s; mkdir $dir; KSTAT_WAIT_MAX=250 unshare -m %s/spec/core_ask $dir; s=$?; " ..
      "rmdir $dir; exit $s"):format(dir, run.build))
    if r.status == 77 or r.err:find("unshare") then
      return pending("FUSE cannot be mounted here")
    end
    assert.equal("", r.out)
    assert.equal(0, r.status, r.err)
  end)

  it("delays nothing that does not ask for it", function()
    -- Who asked would wait for an hour.
    local out = with_silent([[
      KSTAT_WAIT_MAX=3600000 timeout 60 $kstat -p unix:0:system_misc 'fs:0:/:capacity' 3<&- >/dev/null]])
    if not out then
      return pending("FUSE cannot be mounted here")
    end
  end)
end)
