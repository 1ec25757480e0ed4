-- Control groups of the Linux source: version 1, version 2 and both, on trees and on this machine.
local L = require("spec.support.linux")
local run = require("spec.support.run")

-- The statistics of groups in a dump, without the numbers of the groups, which are inodes.
local function group_stats(d)
  local stats = {}
  for id, value in pairs(d.stat) do
    local module, rest = id:match("^(cgroup[_%l]*):%d+:(.*)$")
    if module then
      stats[module .. ":" .. rest] = value
    end
  end
  return stats
end

-- The names of the kstats of one module, sorted.
local function names(d, module)
  local list = {}
  for id in pairs(d.kstat) do
    list[#list + 1] = id:match("^" .. module .. ":%d+:(.*)$")
  end
  table.sort(list)
  return list
end

local function tree(name)
  local d = L.dump_tree(name)
  assert.same({}, d.error)
  assert.same({}, d.warnings)
  return d
end

describe("control groups of a tree", function()
  for _, name in ipairs({ "cgroup-v1", "cgroup-hybrid", "cgroup-v2" }) do
    it("are as expected: " .. name, function()
      local d, expected = tree(name), {}
      for line in io.lines(run.tree(name) .. "/expected.txt") do
        local id, value = line:match("^([^\t]*)\t(.*)$")
        expected[id] = value
      end
      assert.same(expected, group_stats(d))
      for id in pairs(d.stat) do
        assert.is_true(d.meta[id] ~= nil and #d.meta[id].desc > 0, id)
      end
    end)
  end

  it("have the number of a disk as its name where no disk has it", function()
    local stats = group_stats(tree("small"))
    assert.equal("10", stats["cgroup_io:web.service:dev254_0_reads"])
    assert.equal("2000", stats["cgroup_io:web.service:dev254_0_nwritten"])
  end)

  it("are read by use with all that its rules name", function()
    local catalogue, needed = run.shell(run.build .. "/spec/core_catalogue").out, {}
    for _, selector in ipairs(require("kstat.use.cgroup").select) do
      for stat in (selector.reads or ""):gmatch("[^,]+") do
        needed[stat] = true
      end
    end
    local rules = run.read_file("lua/kstat/use/cgroup.lua") .. run.read_file("lua/kstat/use/culprits.lua")
    rules = rules:gsub("[^\n]*cpu::sys[^\n]*", ""):gsub('[^\n]*"unix", 0[^\n]*', "") -- these are of the machine
    for _, class in ipairs({ "cgroup", "cgroup_memory" }) do
      local section = catalogue:match("\n## `" .. class .. ":N:NAME`(.-)\n## ")
      for stat in section:gmatch("\n| `([%w_]+)`") do
        assert.is_true(needed[stat] or not rules:find('"' .. stat .. '"', 1, true), stat)
      end
    end
  end)

  it("have the same names of statistics in both versions", function()
    local of_v2 = group_stats(tree("cgroup-v2"))
    for id in pairs(group_stats(tree("cgroup-v1"))) do
      local module, stat = id:match("^([^:]*):nginx.service:(.*)$")
      -- Version 2 does not count pages that are charged; its tree has fewer disks and huge pages.
      if stat and not stat:find("^hugetlb_") and not stat:find("^pgpg") and not stat:find("^dm%-0") then
        assert.is_not_nil(of_v2[("%s:web.service:%s"):format(module, stat)], id)
      end
    end
  end)
end)

describe("the CPU time of control groups alone", function()
  it("is there for those who spell out the module or the class", function()
    local function shown(...)
      return run.run({ env = run.tree_env("cgroup-v2"), "kstat", "-p", ... }).out
    end
    local of_class = shown("-c", "cgroup_cpu")
    assert.matches("cgroup_cpu:%d+:web.service:cpu_nsec\t2700000\n", of_class)
    assert.equal(of_class, shown("cgroup_cpu:::"))
    assert.is_nil((shown("::web.service") .. shown(":::cpu_nsec") .. shown("cgroup*:::")):find("cgroup_cpu", 1, true))
  end)
end)

describe("a tree of control groups", function()
  local dir

  local function copy(name)
    dir = os.tmpname()
    os.remove(dir)
    L.sh(("cp -r %s %s"):format(run.tree(name), dir))
  end
  after_each(function()
    L.remove(dir)
  end)

  local function dumps(...)
    return L.dumps(dir .. "/proc", dir .. "/sys", ...)
  end

  it("is found by its directories where mountinfo is missing or has none", function()
    copy("cgroup-hybrid")
    local whole = group_stats(dumps()[1])
    L.sh("rm " .. dir .. "/proc/self/mountinfo")
    assert.same(whole, group_stats(dumps()[1]))
    L.write(dir .. "/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\ngarbage\n")
    assert.same(whole, group_stats(dumps()[1]))
  end)

  it("is found where mountinfo says", function()
    copy("cgroup-v2")
    local whole = group_stats(dumps()[1])
    L.sh(("mkdir %s/sys/place && mv %s/sys/fs/cgroup '%s/sys/place/a b'"):format(dir, dir, dir))
    L.write(dir .. "/proc/self/mountinfo", "35 23 0:30 /docker/x /sys/other rw - cgroup2 cgroup2 rw\n" ..
      "36 23 0:30 / /sys/place/a\\040b rw shared:1 - cgroup2 cgroup2 rw\n")
    L.sh("mkdir " .. dir .. "/sys/other")
    assert.same(whole, group_stats(dumps()[1]))
  end)

  -- The files of a group that use opens.
  local function opened_by_use(group)
    local log, files = dir .. "/log", {}
    local r = run.shell(("KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys strace -f -e trace=openat -o %s %s/kstatlua use 0.1 1")
      :format(dir, dir, log, run.bin))
    assert.equal(0, r.status, r.err)
    for line in io.lines(log) do
      files[#files + 1] = line:match(group .. '/([^"/]+)"')
    end
    table.sort(files)
    return table.concat(files, " ")
  end

  it("is read by use as far as it has limits", function()
    if run.shell("strace true").status ~= 0 then
      return pending("strace does not work here")
    end
    copy("cgroup-v2")
    local group = dir .. "/sys/fs/cgroup/system.slice/web.service"
    L.sh(("cd %s && for f in cpu memory pids; do echo max >$f.max; done && : >io.max"):format(group))
    assert.equal(("cpu.max cpu.max io.max io.max io.pressure io.stat io.stat memory.events memory.events memory.max " ..
      "memory.max pids.max pids.max"), opened_by_use("web.service"))
    L.sh(("echo 100 >%s/pids.max"):format(group))
    assert.matches("pids.current pids.current pids.events pids.events pids.max pids.max$", opened_by_use("web.service"))
  end)

  it("loses and gains groups", function()
    copy("cgroup-v1")
    local group = dir .. "/sys/fs/cgroup/memory/system.slice/"
    local l = dumps("true", "mkdir " .. group .. "new.service",
      ("rmdir %snew.service && rm -r %s/sys/fs/cgroup/*/docker"):format(group, dir))
    assert.equal(0, l[2].kcid)
    assert.equal("0", tostring(#names(l[2], "cgroup") - 5))
    assert.same({ "/", "docker", "nginx.service", "system.slice" }, { names(l[3], "cgroup")[1],
      names(l[3], "cgroup")[3], names(l[3], "cgroup")[5], names(l[3], "cgroup")[6] })
    assert.equal("new.service", names(l[3], "cgroup")[4])
    assert.same({ "/", "nginx.service", "system.slice" }, names(l[4], "cgroup"))
    assert.same({}, l[4].error)
  end)

  it("may hold anything", function()
    copy("cgroup-v2")
    local web = dir .. "/sys/fs/cgroup/system.slice/web.service/"
    for file, text in pairs({ ["cpu.stat"] = "usage_usec 99999999999999999999\nuser_usec -1\nsystem_usec",
      ["memory.current"] = "\0\255\n", ["memory.stat"] = "\n\n anon\nfile x\n" .. ("z"):rep(40) .. " 5\nshmem 7",
      ["io.stat"] = "8:0\n8: rbytes=1\n:0 rbytes=1\nrbytes=5\n8:0 rbytes= wbytes=x rios=5",
      ["cpu.pressure"] = "some avg10= total=18446744073709551615\nfull", ["pids.max"] = "" }) do
      L.write(web .. file, text)
    end
    L.sh(("cd %s && rm io.pressure irq.pressure && mkdir io.pressure && ln -s irq.pressure irq.pressure"):format(web))
    local d = dumps()[1]
    assert.same({}, d.error)
    assert.same({}, d.warnings)
    local stats = group_stats(d)
    assert.is_nil(stats["cgroup:web.service:cpu_nsec"])
    assert.is_nil(stats["cgroup:web.service:memory"])
    assert.is_nil(stats["cgroup:web.service:cpu_nsec_waiting"])
    assert.equal("5", stats["cgroup:web.service:reads"])
    assert.equal("7", stats["cgroup_memory:web.service:shmem"])
    assert.equal("3", stats["cgroup:web.service:pids"])
  end)
end)

describe("control groups on a file system that reports changes", function()
  local dir, slice

  before_each(function()
    dir = run.shell("mktemp -d /dev/shm/kstat-spec.XXXXXX").out:match("[^\n]+")
    slice = dir .. "/sys/fs/cgroup/system.slice"
    L.sh(("mkdir -p %s/proc %s && touch %s/sys/fs/cgroup/cgroup.controllers"):format(dir, slice, dir))
  end)
  after_each(function()
    L.remove(dir)
  end)

  local program = L.build .. "/spec/core_linux"

  -- Runs core_linux by a command, with changes between the looks; returns the names of groups at each look.
  local function looks(prefix, ...)
    local words = {}
    for i, command in ipairs({ ... }) do
      words[i] = run.quote(command)
    end
    local r = run.shell(("%s %s %s/proc %s/sys %s"):format(prefix, program, dir, dir, table.concat(words, " ")))
    assert.equal(0, r.status, r.err)
    local list = {}
    for part in (r.out .. "--\n"):gmatch("(.-)%-%-[^\n]*\n") do
      local names_ = {}
      for name in part:gmatch("kstat\tcgroup:%d+:([^\t]*)") do
        names_[#names_ + 1] = name
      end
      table.sort(names_)
      list[#list + 1] = table.concat(names_, " ")
    end
    assert.is_nil(r.out:find("warning", 1, true))
    return list
  end

  local function changes()
    return "true", ("mkdir -p %s/a/b %s/c"):format(slice, slice), ("rmdir %s/a/b && mkdir %s/c/d"):format(slice, slice),
      ("mv %s/c %s/e"):format(slice, slice), ("rmdir %s/e/d && mkdir %s/e/d"):format(slice, slice)
  end
  local expected = { "/ system.slice", "/ system.slice", "/ a b c system.slice", "/ a c d system.slice",
    "/ a d e system.slice", "/ a d e system.slice" }

  it("come and go", function()
    assert.same(expected, looks("", changes()))
  end)

  it("are looked for with a walk where there is no inotify, or too little", function()
    for _, limit in ipairs({ "max_inotify_instances", "max_inotify_watches" }) do
      local prefix = ("unshare -Ur sh -c 'echo 2 >/proc/sys/user/%s && exec \"$@\"' sh"):format(limit)
      if limit:find("instances") then
        prefix = prefix:gsub("echo 2", "echo 0")
      end
      if run.shell(prefix .. " true").status ~= 0 then
        return pending("limits of inotify cannot be set here")
      end
      assert.same(expected, looks(prefix, changes()))
      L.sh("rm -r " .. slice .. "/*")
    end
  end)

  it("are found after more changes than the kernel keeps", function()
    local most = tonumber(run.read_file("/proc/sys/fs/inotify/max_queued_events"))
    if most > 50000 then
      return pending("the kernel keeps many changes here")
    end
    local many = ("cd %s && seq %d | xargs mkdir && seq %d | xargs rmdir && mkdir z"):format(slice, most, most)
    assert.same({ "/ system.slice", "/ system.slice", "/ system.slice z" }, looks("", "true", many))
  end)

  it("are not listed again where nothing changed", function()
    local trace = dir .. "/trace"
    if run.shell("strace -o " .. trace .. " true").status ~= 0 then
      return pending("nothing can be traced here")
    end
    L.sh(("mkdir -p %s/a/b"):format(slice))
    assert.same({ "/ a b system.slice", "/ a b system.slice", "/ a b system.slice" }, looks(
      "strace -e trace=openat -o " .. trace, "true", "true"))
    local _, count = run.read_file(trace):gsub('"system%.slice", O_RDONLY|O_NOFOLLOW', "")
    assert.equal(2, count)
  end)

  it("gain statistics when their directory gets a controller", function()
    L.sh(("mkdir %s/a && touch %s/cgroup.subtree_control"):format(slice, slice))
    local l = L.dumps(dir .. "/proc", dir .. "/sys", "true",
      ("echo 'anon 5' >%s/a/memory.stat && echo +memory >%s/cgroup.subtree_control"):format(slice, slice))
    assert.is_nil(group_stats(l[2])["cgroup_memory:a:anon"])
    assert.equal("5", group_stats(l[3])["cgroup_memory:a:anon"])
  end)

  it("are found by a process and by its child", function()
    local r = run.run({ L.build .. "/spec/cgroup_fork", dir .. "/proc", dir .. "/sys", slice })
    assert.equal("child: child: found\nparent: child: found\nparent: parent: found\n", r.out)
  end)
end)

describe("control groups of this machine", function()
  local v2 = L.exists("/sys/fs/cgroup/cgroup.procs") and "/sys/fs/cgroup" or "/sys/fs/cgroup/unified"
  -- A name that no other run of these specs has now.
  local function unique()
    local path = os.tmpname()
    os.remove(path)
    return path:match("[^/]*$")
  end
  local top = ("%s/kstat-spec-%s"):format(v2, unique())

  local function can_create()
    return run.shell("mkdir " .. top).status == 0
  end

  after_each(function()
    run.shell(("[ ! -d %s ] || find %s -depth -type d -exec rmdir {} +"):format(top, top))
  end)

  it("are those of two levels and services", function()
    if not can_create() then
      return pending("no control group can be created here")
    end
    L.sh(("mkdir -p %s/b/c/d.service/e %s/b/docker-12ab.scope"):format(top, top))
    local d = L.dump("-", "-")
    local found = {}
    for _, name in ipairs(names(d, "cgroup")) do
      found[name] = true
    end
    assert.same({ true, nil, true, true }, { found.b, found.c, found["d.service"], found["docker-12ab.scope"] })
    assert.is_nil(found.e)
    for _, command in ipairs({ { env = { KSTAT_WITH = "cgroup" }, "kstat", "-p", ":::path" },
      { "kstat", "-p", "cgroup:::path" } }) do
      assert.is_truthy(run.run(command).out:find("/b/c/d.service/e\n", 1, true))
    end
    local r = run.run({ "kstat", "-p", "cgroup::d.service:path" })
    assert.is_truthy(r.out:find("^cgroup:%d+:d.service:path\t.*/b/c/d.service\n$"), r.out)
  end)

  it("come and go without a walk", function()
    if not can_create() then
      return pending("no control group can be created here")
    end
    local l = L.dumps("-", "-", "true", ("mkdir -p %s/b.service/c.service"):format(top),
      ("rmdir %s/b.service/c.service && mkdir %s/b.service/x"):format(top, top),
      ("rmdir %s/b.service/x %s/b.service && mkdir %s/b.service"):format(top, top, top))
    local function id_of(d, name)
      for id in pairs(d.kstat) do
        if id:match("^cgroup:%d+:" .. name .. "$") then
          return id
        end
      end
    end
    assert.is_nil(id_of(l[2], "b.service"))
    assert.is_not_nil(id_of(l[3], "b.service"))
    assert.is_not_nil(id_of(l[3], "c.service"))
    assert.is_nil(id_of(l[4], "c.service"))
    assert.is_not_nil(id_of(l[5], "b.service"))
    assert.not_equal(id_of(l[3], "b.service"), id_of(l[5], "b.service"))
    assert.is_true(l[3].kstat[id_of(l[3], "b.service")].crtime > 0)
  end)

  it("count memory and processes killed at its limit", function()
    local memory = L.exists("/sys/fs/cgroup/memory/memory.usage_in_bytes") and "/sys/fs/cgroup/memory" or v2
    local group = ("%s/kstat-oom-%s"):format(memory, unique())
    local limit = memory == v2 and "memory.max" or "memory.limit_in_bytes"
    if run.shell(("mkdir %s && echo 20480000 > %s/%s"):format(group, group, limit)).status ~= 0 then
      run.shell("rmdir " .. group)
      return pending("no memory limit can be set here")
    end
    run.shell(("[ ! -e %s/memory.swap.max ] || echo 0 > %s/memory.swap.max"):format(group, group))
    run.shell(("sh -c 'echo $$ > %s/cgroup.procs && exec dd if=/dev/zero of=/dev/null bs=200M count=1'"):format(group))
    local stats = group_stats(L.dump("-", "-"))
    L.sh("rmdir " .. group)
    local name = "cgroup:" .. (group:match("[^/]*$"):sub(1, 30)) .. ":"
    assert.is_true(tonumber(stats[name .. "oom_kills"]) >= 1)
    assert.is_true(tonumber(stats[name .. "memory_max_events"]) >= 1)
    assert.equal(20480000, tonumber(stats[name .. "memory_max"]))
    assert.is_true(tonumber(stats[name .. "memory_peak"]) > 10000000)
  end)

  it("count how often the limit of CPU time stops them", function()
    local v1 = L.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    local group = ("%s/kstat-cpu-%s"):format(v1 and "/sys/fs/cgroup/cpu" or v2, unique())
    local limit = v1 and "1000 >%s/cpu.cfs_quota_us" or "1000 100000 >%s/cpu.max"
    if run.shell(("mkdir %s && echo " .. limit):format(group, group)).status ~= 0 then
      run.shell("rmdir " .. group)
      return pending("no limit of CPU time can be set here")
    end
    -- However little of the CPUs others leave, a loop uses its millisecond of a period before that ends.
    run.shell(("sh -c 'echo $$ >%s/cgroup.procs; until [ ${n:-0} -ge 3 ]; do while read -r name n && " ..
      "[ $name != nr_throttled ]; do :; done <%s/cpu.stat; done'"):format(group, group))
    local stats, path = group_stats(L.dump("-", "-")), group:match("[^/]*$")
    L.sh("rmdir " .. group)
    local function stat(name)
      return tonumber(stats[("cgroup:%s:%s"):format(path, name)])
    end
    assert.equal(1000000, stat("cpu_nsec_max"))
    assert.equal(100000000, stat("cpu_nsec_period"))
    assert.is_true(stat("cpu_throttled") >= 3 and stat("cpu_throttled") <= stat("cpu_periods"))
    assert.is_true(stat("cpu_nsec_throttled") > 50000000)
  end)

  it("are not looked at where none is wanted", function()
    if run.shell("command -v strace").status ~= 0 then
      return pending("there is no strace")
    end
    local r = run.shell(("strace -f -e trace=openat,open %s/kstat -p unix:0:system_misc:nproc 2>&1"):format(run.bin))
    assert.is_nil(r.out:find("cgroup", 1, true))
  end)

  it("take less than 2 KB of memory each while they are shown", function()
    if os.getenv("KSTAT_PRELOAD") then
      return pending("a sanitizer takes memory of its own")
    end
    local dir = os.tmpname()
    os.remove(dir)
    local slice = dir .. "/sys/fs/cgroup/system.slice"
    L.sh(("mkdir -p %s/proc %s && touch %s/sys/fs/cgroup/cgroup.controllers"):format(dir, slice, dir))
    L.sh(([[tree=%s/sys/fs/cgroup/system.slice/web.service; mkdir %s/t && cd %s/t
      cp $tree/cpu.stat $tree/memory.current $tree/memory.stat $tree/io.stat . && cd ..
      for i in 1 2 3 4 5 6 7 8 9 10 11; do cp -rl t copy && mv copy t/application-$i.service || exit 1; done]]):format(
      run.tree("cgroup-v2"), slice, slice))
    -- The most memory that a command ever had, once it has shown so many kstats and waits.
    local function peak(selector, count)
      local out = dir .. "/out"
      local pid = run.start(("env KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s/kstat -p %s 60 2"):format(dir, dir, run.bin,
        run.quote(selector)), out)
      run.await("the first report", function()
        return tonumber(run.shell("grep -c :snaptime " .. out).out) == count
      end)
      local memory = tonumber(run.read_file(("/proc/%s/status"):format(pid)):match("VmHWM:%s*(%d+)"))
      run.shell("kill " .. pid)
      return memory * 1024
    end
    local one, all = peak("cgroup::t", 1), peak("cgroup*:::", 3 * 2048 + 2)
    L.sh("rm -r " .. dir)
    assert.is_true((all - one) / 2048 < 2048, ("%.0f bytes"):format((all - one) / 2048))
  end)
end)
