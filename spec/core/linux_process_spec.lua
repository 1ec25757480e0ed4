-- Processes and threads of the Linux source: of a recorded tree, and of this machine.
local kstat = require("kstat")
local run = require("support.run")

local function write(path, text)
  run.shell("mkdir -p " .. run.quote(path:match("^(.*)/")))
  run.write_file(path, text)
end

-- A line of /proc/PID/stat: the name, and columns behind it by their numbers.
local function stat(pid, name, columns)
  local line = { ("%d (%s)"):format(pid, name), "S" }
  for i = 4, 52 do
    line[i - 1] = 0
  end
  for i, value in pairs(columns or {}) do
    line[i - 1] = value
  end
  return table.concat(line, " ") .. "\n"
end

local STATUS = [[
Name:	web
Uid:	1000	1001	1002	1003
Gid:	50	51	52	53
FDSize:	64
VmPeak:	    2048 kB
VmHWM:	     512 kB
RssAnon:	     100 kB
VmSwap:	       8 kB
Cpus_allowed:	ff
voluntary_ctxt_switches:	%d
nonvoluntary_ctxt_switches:	%d
]]

-- A tree with two processes, of which the first one has two threads.
local function make_tree()
  local dir = run.shell("mktemp -d").out:match("%S+")
  local p = dir .. "/proc/1234"
  write(dir .. "/proc/uptime", "1000.00 500.00\n")
  run.shell(("mkdir %s/sys"):format(dir))
  write(p .. "/stat", stat(1234, "web", { [3] = "R", [4] = 1, [5] = 1234, [6] = 1200, [10] = 500, [12] = 7, [14] = 250,
    [15] = 50, [16] = 3, [17] = 4, [18] = -51, [19] = -5, [20] = 2, [22] = 20000, [23] = 1048576, [24] = 10, [39] = 3,
    [41] = 1, [42] = 12, [43] = 2 }))
  write(p .. "/status", STATUS:format(10, 20))
  write(p .. "/io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n")
  write(p .. "/schedstat", "100 200 3\n")
  for tid, sums in pairs({ [1234] = "100 200 3\n", [1240] = "1000 2000 30\n" }) do
    write(("%s/task/%d/stat"):format(p, tid), stat(tid, tid == 1234 and "web" or "web:io", { [22] = 20000 + tid }))
    write(("%s/task/%d/status"):format(p, tid), STATUS:format(tid, 1))
    write(("%s/task/%d/schedstat"):format(p, tid), sums)
  end
  write(dir .. "/proc/77/stat", stat(77, "a) R 1 (b\nc\255", { [22] = 100 }))
  write(dir .. "/proc/88/stat", stat(88, "kworker/0:1-events", { [9] = 0x20, [22] = 100 }))
  return dir
end

describe("a process of this machine", function()
  it("has what its children wrote beside its own, when they ended", function()
    local file = os.tmpname()
    local out = run.build .. "/children.out" -- temporary files may be on no device
    local line = "i=0; while [ $i -lt 8 ];do dd if=/dev/zero of=%s bs=64k count=16; i=$((i+1)); done; mkfifo %s.in; " ..
      "echo done; cat <%s.in"
    local pid = run.start("sh -c " .. run.quote(line:format(run.quote(out), file, file)), file)
    run.await("the children", function() return run.read_file(file):find("done", 1, true) end)
    local all = tonumber((run.read_file(("/proc/%s/io"):format(pid)) or ""):match("\nwrite_bytes: (%d+)"))
    local io = assert(kstat.open({ only = "process:" .. pid .. ":sh,io" }):lookup("process", tonumber(pid), "sh,io"))
    local own, children = io:get("nwritten", "cnwritten")
    run.shell(("kill %s; rm -f %s %s.in %s"):format(pid, file, file, run.quote(out)))
    assert.equal(all, own + children)
    assert.truthy(own < 65536, own)
    if all < 8 * 2 ^ 20 then
      pending("the temporary files are on no device" )
    end
  end)
end)

describe("processes of a recorded tree", function()
  local dir

  before_each(function() dir = make_tree() end)
  after_each(function() run.shell("rm -rf " .. run.quote(dir)) end)

  local function open(source)
    source.proc, source.sys = dir .. "/proc", dir .. "/sys"
    return assert(kstat.open(source))
  end

  local function names(ks, selector)
    local list = {}
    for i, k in ipairs(ks:select(selector or "*")) do
      list[i] = tostring(k)
    end
    return table.concat(list, " ")
  end

  it("are not listed for those who do not name them", function()
    assert.is_nil(names(open({}), "*"):find("process:", 1, true))
    assert.equal("", names(open({ only = "*:1234" })))
    assert.equal("", names(open({ only = { name = "web" } })))
  end)

  it("are listed by a chain of which a selector or a name asks for them, from then on", function()
    local each = {}
    for k in open({}):each({ class = "process_io" }) do
      each[#each + 1] = tostring(k)
    end
    assert.same({ "process:1234:web,io" }, each)
    assert.equal("process:1234:web", names(open({}), { module = "process", name = "web" }))
    assert.equal(1, #open({}):sample({ class = "process_io" }))
    assert.equal("process:1234:web\n", open({}):render("list", "process:1234:web:fname"):gsub(":fname", ""))
    assert.equal("", names(open({ only = "unix" }), "process"))
    local ks = open({})
    local nproc = ks:lookup("unix", 0, "system_misc")
    local before, id, n = nproc.nproc, ks:chain_id(), #ks
    assert.equal("web", ks:lookup("process", 1234, "web"):get("fname"))
    assert.same({ before, true, n + 4 }, { nproc.nproc, ks:chain_id() > id, #ks })
    assert.equal("kworker/0:1-events", ks:lookup("process", 88).fname)
    assert.same({ nil, "no kstat process:99:*", "ENOENT" }, { ks:lookup("process", 99) })
    run.shell(("cp -r %s/proc/88 %s/proc/99"):format(dir, dir))
    write(dir .. "/proc/99/stat", stat(99, "late", {}))
    assert(ks:update())
    assert.equal("late", ks.process[99].late.fname)
  end)

  it("are listed by number, name and class", function()
    local web = "process:1234:web process:1234:web,io process:1234:web,sched process:1234:web,status"
    assert.equal(web, names(open({ only = "process:1234" })))
    assert.equal("process:1234:web", names(open({ only = "process::web" })))
    assert.equal("process:1234:web,io", names(open({ only = { class = "process_io" } })))
    assert.equal(web, names(open({ processes = "web" }), "process"))
    assert.equal(web, names(open({ processes = 1234, only = "nothing" })))
    assert.equal(web, names(open({ processes = { "/^web/", "1234" } }), "process"))
    assert.truthy(open({ processes = true }):lookup("unix", 0, "kstat_types"))
    assert.equal("process:77:a) R 1 (b?c? process:88:kworker/0_1 process:1234:web",
      names(open({ only = { class = "process" } })))
    assert.equal("thread:1240:web_io", names(open({ threads = "web_io" }), { class = "thread" }))
  end)

  it("are there for loops and recordings that select them", function()
    local source = { proc = dir .. "/proc", sys = dir .. "/sys" }
    for now in kstat.every(1, 1, { source = source, select = { "process:1234", "thread" } }) do
      assert.equal("FIFO", now:lookup("process", 1234, "web"):get("clname"))
      assert.equal(2, #now:select({ class = "thread" }))
    end
    local file = os.tmpname()
    os.remove(file)
    local r = run.shell(("KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s/kstatlua record -o %s process::web 0.1 1"):format(dir,
      dir, run.bin, file))
    assert.equal("", r.err)
    assert.equal("process:1234:web", names(assert(kstat.open(file))))
    os.remove(file)
  end)

  it("do not refuse what is false, and refuse what is nothing", function()
    assert.is_nil(names(open({ processes = false }), "*"):find("process:", 1, true))
    assert.has_error(function() kstat.open({ processes = 1.5 }) end)
    assert.has_error(function() kstat.open({ threads = { {} } }) end)
  end)

  it("have the statistics of stat", function()
    local k = assert(open({ processes = 1234 }):lookup("process", 1234, "web"))
    local expected = { ppid = 1, pgid = 1234, sid = 1200, state = "R", clname = "FIFO", pri = -51, nice = -5, onpro = 3,
      nlwp = 2, size = 1048576, utime = 2500000000, stime = 500000000, cutime = 30000000, cstime = 40000000,
      minf = 500, majf = 7, blkio_time = 120000000, gtime = 20000000, euid = 1001 }
    for name, value in pairs(expected) do
      assert.equal(value, k:get(name), name)
    end
    assert.equal(0, k:get("rssize") % 40960)
    assert.is_nil(k:get("ttydev"))
    assert.equal(200, k.crtime)
    assert.equal("ns", k:meta("utime").unit)
  end)

  it("have the statistics of status, io and schedstat, summed over threads where the kernel does not", function()
    local ks = open({ processes = 1234 })
    local status = assert(ks:lookup("process", 1234, "web,status"))
    local expected = { uid = 1000, euid = 1001, suid = 1002, gid = 50, egid = 51, sgid = 52, fdsize = 64,
      size_max = 2097152, rssize_max = 524288, rss_anon = 102400, swap = 8192, vctx = 2474, ictx = 2 }
    for name, value in pairs(expected) do
      assert.equal(value, status:get(name), name)
    end
    local io = assert(ks:lookup("process", 1234, "web,io"))
    for i, name in ipairs({ "rchar", "wchar", "syscr", "syscw", "nread", "nwritten", "ncancelled" }) do
      assert.equal(i, io:get(name), name)
    end
    local sched = assert(ks:lookup("process", 1234, "web,sched"))
    assert.equal(1100, sched:get("cpu_nsec"))
    assert.equal(2200, sched:get("wait_nsec"))
    assert.equal(33, sched:get("slices"))
  end)

  it("have no I/O of children that ended and were waited for in their own", function()
    local p = dir .. "/proc/1234"
    local text = "rchar: %d\nread_bytes: %d\nwrite_bytes: %d\n"
    local ks = open({ processes = { 1234, 77 } })
    local function values()
      return { assert(ks:lookup("process", 1234, "web,io")):get("nread", "nwritten", "cnread", "cnwritten", "rchar") }
    end
    assert.same({ 5, 6, 0, 0, 1 }, values())
    local function waited(threads, faults)
      write(p .. "/stat", stat(1234, "web", { [11] = faults or 9, [20] = threads, [22] = 20000 }))
      ks:update()
    end
    waited(2)
    assert.same({ 5, 6, nil, nil, 1 }, values(), "a recording without the files of threads")
    write(p .. "/io", text:format(2000, 500, 6000))
    write(p .. "/task/1234/io", text:format(10, 20, 30))
    write(p .. "/task/1240/io", text:format(1, 2, 3))
    waited(2)
    assert.same({ 22, 33, 478, 5967, 11 }, values())
    run.shell(("rm -r %s/task/1240"):format(p)) -- its counts stay
    waited(1)
    assert.same({ 22, 33, 478, 5967, 11 }, values())
    write(p .. "/io", text:format(2001, 501, 6011))
    write(p .. "/task/1234/io", text:format(11, 21, 31))
    waited(1, 10)
    assert.same({ 23, 34, 478, 5977, 12 }, values())
    write(p .. "/io", text:format(2001, 531, 6111))
    waited(1, 10)
    assert.same({ 53, 134, 478, 5977, 12 }, values(), "no child ended, but a thread that was not seen")
    write(p .. "/io", text:format(2001, 532, 6113))
    waited(1, 11)
    assert.same({ 53, 134, 479, 5979, 12 }, values())
  end)

  it("keep what a thread counted that ends", function()
    local ks = open({ processes = 1234 })
    local k = ks:lookup("process", 1234, "web,sched")
    assert.equal(1100, k:get("cpu_nsec"))
    run.shell(("rm -r %s/proc/1234/task/1240"):format(dir))
    assert.truthy(ks:update() ~= nil)
    assert.equal(1100, k:get("cpu_nsec"))
    write(dir .. "/proc/1234/task/1234/schedstat", "150 200 3\n")
    ks:update()
    assert.equal(1150, k:get("cpu_nsec"))
  end)

  it("are new if their number is used again, and have a new name after exec", function()
    local ks, named, odd = open({ processes = 77 }), open({ only = "process:77:new" }), open({ only = "process:77:a*" })
    write(dir .. "/proc/77/stat", stat(77, "new", { [22] = 100 }))
    local id, added, deleted = ks:update()
    assert.is_true(id > 0)
    assert.equal("process:77:new", tostring(added[1]))
    assert.equal("process:77:a) R 1 (b?c?", tostring(deleted[1]))
    assert.same({ true, "process:77:new", true, "" },
      { named:update() > 0, names(named), odd:update() > 0, names(odd) })
    write(dir .. "/proc/77/stat", stat(77, "new", { [22] = 90000 }))
    assert.is_true(ks:update() > 0)
    assert.equal(900, ks:lookup("process", 77, "new").crtime)
    run.shell(("rm -r %s/proc/77"):format(dir))
    assert.is_true(ks:update() > 0)
    assert.is_nil((ks:lookup("process", 77)))
    assert.same({}, ks:warnings())
  end)

  it("have their names as the kernel has them", function()
    local ks = open({ threads = true, processes = true })
    assert.equal("web:io", ks:lookup("thread", 1240, "web_io"):get("fname"))
    assert.equal("kworker/0:1-events", ks:lookup("process", 88):get("fname"))
  end)

  it("have what takes long to read for those who name it", function()
    local p, id = dir .. "/proc/1234", ("0123456789abcdef"):rep(4)
    write(p .. "/cmdline", "java\0-jar\0a b.jar\0\0")
    write(p .. "/cgroup", ("12:memory:/docker/%s/init.scope\n1:name=systemd:/docker\n0::/\n"):format(id))
    write(p .. "/limits", "Limit  Soft Limit  Hard Limit  Units\nMax open files     1024     unlimited    files\n")
    write(p .. "/smaps_rollup", "00400000-7fff0000 ---p 00000000 00:00 0   [rollup]\nPss:   20 kB\nSwapPss:  1 kB\n")
    write(p .. "/oom_score", "667\n")
    write(p .. "/oom_score_adj", "-5\n")
    for fd = 0, 2 do
      write(p .. "/fd/" .. fd, "")
    end
    local expected = { args = { psargs = "java -jar a b.jar" }, fd = { open = 3, limit = 1024, limit_max = false },
      cgroup = { cgroup = "/docker/" .. id .. "/init.scope", container = id },
      oom = { oom_score = 667, oom_score_adj = -5 }, memory = { pss = 20480, swap_pss = 1024, pss_anon = false } }
    for kind, values in pairs(expected) do
      local name = "process:1234:web," .. kind
      assert.equal(name, names(open({ only = { class = "process_" .. kind, instance = 1234 } })))
      assert.equal(name, names(open({ only = "process:1234:*," .. kind })))
      assert.equal(name, names(open({ only = "process:1234:/," .. kind .. "$/" })))
      for stat_name, value in pairs(values) do
        local ks = open({ only = "process:1234::" .. stat_name })
        assert.equal(value or nil, ks:lookup("process", 1234, "web," .. kind):get(stat_name), stat_name)
      end
    end
    assert.is_nil(open({ processes = true, only = { class = "process_fd" } }):lookup("process", 1234, "web,args"))
    assert.truthy(open({ processes = 1234, args = true }):lookup("process", 1234, "web,args"))
    assert.is_nil(open({ only = "process::*,args", args = false }):lookup("process", 1234, "web,args"))
  end)

  it("have their contexts on GPUs, each counted once, as their drivers show them", function()
    local p = dir .. "/proc/1234"
    local amdgpu = "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t%d\ndrm-pdev:\t0000:03:00.0\n" ..
      "drm-memory-vram:\t%d KiB\ndrm-memory-gtt: \t2 MiB\ndrm-total-vram:\t999 KiB\ndrm-shared-vram:\t5 KiB\n" ..
      "drm-engine-gfx:\t%d ns\ndrm-engine-capacity-gfx:\t2\ndrm-engine-compute:\t0 ns\n"
    local first = amdgpu:format(7, 100, 5000)
    for fd, text in pairs({ [3] = "pos:\t0\nmnt_id:\t9\n", [4] = first, [5] = first,
      [12] = amdgpu:format(8, 50, 70), [13] = "drm-driver:\txe\ndrm-client-id:\t7\ndrm-pdev:\t0000:04:00.0\n" ..
        "drm-total-vram0:\t64 KiB\ndrm-resident-vram0:\t32 KiB\ndrm-cycles-rcs:\t28\ndrm-total-cycles-rcs:\t7655\n",
      [14] = "drm-driver:\tv3d\ndrm-engine-gfx:\t30 ns\n" }) do
      write(p .. "/fdinfo/" .. fd, text)
    end
    local k = open({ only = { class = "process_gpu" } }):lookup("process", 1234, "web,gpu")
    local found = {}
    for _, name in ipairs({ "clients", "busy_nsec", "gpu_memory", "engine_gfx", "engine_compute", "memory_vram",
      "memory_gtt", "memory_vram0", "cycles_rcs", "total_cycles_rcs", "engine_capacity-gfx", "memory_cycles-rcs" }) do
      found[name] = k:get(name)
    end
    assert.same({ clients = 4, busy_nsec = 5100, gpu_memory = 150 * 1024 + 4 * 2 ^ 20 + 32 * 1024, engine_gfx = 5100,
      engine_compute = 0, memory_vram = 150 * 1024, memory_gtt = 4 * 2 ^ 20, memory_vram0 = 32 * 1024, cycles_rcs = 28,
      total_cycles_rcs = 7655 }, found)
    assert.equal("process:1234:web,gpu", names(open({ only = "process::*,gpu" })), "others use no GPU")
  end)

  it("have no command lines where a command keeps or sends what it reads, without --args", function()
    write(dir .. "/proc/1234/cmdline", "web\0--password=x\0")
    local file = os.tmpname()
    os.remove(file)
    local function output(command, ...)
      local r = run.shell(("KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s/%s"):format(dir, dir, run.bin, command:format(...)))
      return r.out, r.err
    end
    for _, operand in ipairs({ "process", "process::web*", "'process::*,args'", "process:::psargs",
      "-c process_args" }) do
      local out, err = output("kstat -o prometheus %s", operand)
      assert.is_nil(out:find("password"), operand)
      assert.equal(operand:find("args") ~= nil, err:find("--args takes them", 1, true) ~= nil, operand)
    end
    assert.matches("password", (output("kstat -o prometheus --args process::web*")))
    local _, unused = output("kstat -o prometheus --args unix:0:kstat_types")
    assert.matches("no processes without an operand", unused)
    assert.matches("password", (output("kstat -p process:::psargs")))
    assert.is_nil((output("kstat -p process")):find("password"))
    local _, err = output("kstatlua record -o %s process::web 'process::*,args' 1 1", file)
    assert.matches("%-%-args takes them", err)
    assert.is_nil((output("kstat -r %s -p", file)):find("password"))
    os.remove(file)
    output("kstatlua record -o %s --args process 1 1", file)
    assert.matches("password", (output("kstat -r %s -p", file)))
    assert.is_nil((output("kstat -r %s -o prometheus", file)):find("password"))
    os.remove(file)
  end)

  it("are counted by state", function()
    for i, state in ipairs({ "D", "D", "Z", "Z", "Z", "T", "t", "I", "P" }) do
      write(("%s/proc/%d/stat"):format(dir, 200 + i), stat(200 + i, "x", { [3] = state, [20] = 2 }))
    end
    local expected = { running = 1, sleeping = 2, uninterruptible = 2, zombie = 3, stopped = 1, traced = 1, idle = 1,
      other = 1, all = 12, nlwp = 20 }
    local k = assert(open({}):lookup("unix", 0, "procs"))
    for name, value in pairs(expected) do
      assert.equal(value, k:get(name), name)
    end
    run.shell(("rm -r %s/proc/[0-9]*"):format(dir))
    assert.is_nil((open({}):lookup("unix", 0, "procs")))
  end)

  it("have a line about what cannot be read once, or again when somebody asks for that", function()
    local core = require("kstat.core")
    write(dir .. "/proc/77/stat", "77")
    local ks = open({ processes = 77 })
    assert.equal(1, #ks:warnings())
    for _ = 1, 2 do
      assert(ks:update() ~= nil)
      assert.same({}, ks:warnings())
      core.warn_again(ks)
      assert(ks:update() ~= nil)
      assert.matches("proc/77/stat: line 1 cannot be understood", ks:warnings()[1])
    end
  end)

  it("have a line about a file that cannot be parsed", function()
    for _, text in ipairs({ "", "77", "77 (x", "77 (x) S", "77 (x) SS 1 2 3", "77 (x) S 1 2 3 4 5 6" }) do
      write(dir .. "/proc/77/stat", text)
      local ks = open({ processes = 77 })
      assert.is_nil((ks:lookup("process", 77)))
      assert.matches("proc/77/stat: line 1 cannot be understood", ks:warnings()[1])
    end
    for _, file in ipairs({ "status", "io", "schedstat", "task/1240/schedstat", "cmdline", "cgroup", "limits",
      "smaps_rollup", "oom_score", "oom_score_adj" }) do
      write(dir .. "/proc/1234/" .. file, ("\0\255:\n"):rep(1500) .. "Uid:\nVmPeak: -1 kB\nread_bytes: x\n" ..
        "Max open files x\nMax open files\nPss: x\n0:\n:\n0::" .. ("/x"):rep(5000) .. "\n")
    end
    local named = { { class = "process_args" }, { class = "process_cgroup" }, { class = "process_fd" },
      { class = "process_memory" }, { class = "process_oom" } }
    for _, k in ipairs(open({ processes = 1234, only = named }):select("process:1234")) do
      assert.truthy(k:get("class"))
    end
    write(dir .. "/proc/1234/oom_score", "99999999999\n")
    write(dir .. "/proc/1234/oom_score_adj", "7\n")
    local oom = open({ only = "process:1234:*,oom" }):lookup("process", 1234, "web,oom")
    assert.same({ "nil", 7 }, { tostring(oom:get("oom_score")), oom:get("oom_score_adj") })
    write(dir .. "/proc/1234/cmdline", ("x"):rep(5000))
    assert.equal(4096, #open({ only = "process:1234::psargs" }):lookup("process", 1234, "web,args"):get("psargs"))
  end)
end)

describe("processes of this machine", function()
  local pid, file

  -- The parent waits for the process, so that nothing is left of it when it ended.
  before_each(function()
    file = os.tmpname()
    run.start("sh -c 'sleep 60 & echo $!; wait'", file)
    pid = run.await("a process", function() return run.read_file(file):match("%d+") end)
    run.await("its sleep", function() -- before that it is a shell, and begins
      return run.read_file(("/proc/%s/stat"):format(pid)):find("(sleep) S", 1, true)
    end)
  end)
  after_each(function()
    run.shell("kill " .. pid)
    os.remove(file)
  end)

  it("have what ps shows", function()
    local ps = run.shell("ps -o pid=,ppid=,pgid=,sid=,euid=,ni=,nlwp=,vsz=,rss=,s= -p " .. pid)
    if ps.status ~= 0 then
      pending("ps is not installed")
    end
    local name = run.read_file(("/proc/%s/comm"):format(pid)):match("[^\n]+")
    local k = assert(kstat.open({ processes = pid })):lookup("process", tonumber(pid), name)
    local shown = {}
    for word in ps.out:gmatch("%S+") do
      shown[#shown + 1] = word
    end
    for i, stat_name in ipairs({ "ppid", "pgid", "sid", "euid", "nice", "nlwp" }) do
      assert.equal(tonumber(shown[i + 1]), k:get(stat_name), stat_name)
    end
    assert.equal(tonumber(shown[8]) * 1024, k:get("size"))
    assert.truthy(math.abs(tonumber(shown[9]) * 1024 - k:get("rssize")) < 2 ^ 20) -- the kernel rounds them apart
    assert.equal(shown[10], k:get("state"))
    assert.truthy(math.abs(k.snaptime - k.crtime) < 120)
  end)

  it("have the descriptors and the limits that /proc shows", function()
    local soft, hard = run.read_file(("/proc/%s/limits"):format(pid)):match("Max open files +(%w+) +(%w+)")
    local k = assert(kstat.open({ only = "process:" .. pid .. ":*,fd" })):select("process:" .. pid)[1]
    assert.same({ tonumber(soft), tonumber(hard), tonumber(run.shell("ls /proc/" .. pid .. "/fd | wc -l").out) },
      { k:get("limit", "limit_max", "open") })
  end)

  it("that end are gone, and no line says so", function()
    local ks = assert(kstat.open({ processes = true }))
    local kstats = ks:select("process:" .. pid)
    assert.truthy(#kstats >= 3)
    run.shell("kill " .. pid)
    run.await("its end", function() return run.shell("test -d /proc/" .. pid).status ~= 0 end)
    -- Values of the scan may serve readings for a while after it.
    run.await("no values", function()
      for _, k in ipairs(kstats) do
        if k:read() then
          return false
        end
      end
      return true
    end)
    assert.same({}, ks:warnings())
    ks:update()
    assert.equal(0, #ks:select("process:" .. pid))
    assert.same({}, ks:warnings())
  end)

  it("can be asked for on the command line, and are not read otherwise", function()
    local r = run.run({ "kstat", "-p", "process:" .. pid .. "::state" })
    assert.equal(0, r.status)
    assert.matches("^process:" .. pid .. ":[^:]+:state\tS\n$", r.out)
    local all = run.run({ "kstat", "-l" }).out
    assert.is_nil(all:find("^process:") or all:find("\nprocess:") or all:find("\nthread:"))
    assert.equal(1, run.run({ "kstat", "-p", "process:99999999" }).status)
  end)

  it("are counted only for those who name unix:0:procs", function()
    assert.is_nil(run.run({ "kstat", "-l" }).out:find("unix:0:procs:", 1, true))
    assert.matches("^unix:0:procs:all\t[1-9]", run.run({ "kstat", "-p", "unix:0:procs:all" }).out)
  end)

  it("are of the user that they became, though they slept before and after", function()
    if run.shell("id -u").out ~= "0\n" or run.shell("perl -v").status ~= 0 then
      pending("needs root and perl")
    end
    local one = run.start("perl -e 'sleep 2; $> = 12345; sleep 60'", file)
    local ks = assert(kstat.open({ processes = one }))
    local k
    run.await("perl, in place of the shell that starts it", function()
      k = ks:update() and ks:lookup("process", one, "perl")
      return k
    end)
    assert.equal(0, k:get("euid"))
    run.await("the other user", function()
      return ks:update() and k:get("euid") == 12345
    end)
    run.stop(one)
  end)

  it("have no I/O statistics where another user may not read them", function()
    if run.shell("id -u").out ~= "0\n" or run.shell("setpriv --version").status ~= 0 then
      pending("needs root and setpriv")
    end
    local r = run.shell(("KSTAT_DIR=/nonexistent setpriv --reuid=65534 --regid=65534 --clear-groups %s -p process:1")
      :format(run.quote(run.bin .. "/kstat")))
    assert.equal("", r.err)
    assert.is_nil(r.out:find("io"))
  end)
end)
