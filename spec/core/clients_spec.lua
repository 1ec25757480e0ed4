-- Programs that ask as known programs do (spec/c/clients) get the truth: on the running machine, on a tree of files
-- of Linux and on a capture of illumos, without a byte outside of what they own.
local run = require("support.run")

-- What a program shows, beside what a file of /proc says before and after it: the client, its figure, the file, a
-- pattern that captures the number there, and how many of the program's units one of the file's is.
local BESIDE = {
  { "vmstat", "sum vm:maj_fault", "vmstat", "\npgmajfault (%d+)", 1 },
  { "mpstat", "cpu:0:sys:pswitch", "stat", "\nctxt (%d+)", 1 },
  { "htop-cpu", "cpu:0:sys:cpu_nsec_user", "stat", "\ncpu0 (%d+ %d+)", 1e7 },
  { "htop-cpu", "cpu:0:sys:cpu_nsec_idle", "stat", "\ncpu0 %d+ %d+ %d+ (%d+)", 1e7 },
  { "net-snmp-cpu", "cpu_stat:0:cpu_stat0:wait", "stat", "\ncpu0 %d+ %d+ %d+ %d+ (%d+)", 1 },
  { "htop-memory", "unix:0:system_pages:physmem", "meminfo", "MemTotal: +(%d+) kB", 0.25 },
  { "node_exporter-loadavg", "unix:0:system_misc:avenrun_1min", "loadavg", "^(%S+)", 256 },
  { "ganglia", "unix:0:system_misc:avenrun_15min", "loadavg", "^%S+ %S+ (%S+)", 256 },
  { "libuv-uptime", "unix:0:system_misc:clk_intr", "uptime", "^(%S+)", 100 },
  { "psrinfo", "cpu_info:0:cpu_info0:state_begin", "stat", "\nbtime (%d+)", 1 },
  { "nicstat", "link:0:lo:rbytes64", "net/dev", "\n *lo: *(%d+)", 1 },
  { "collectd-interface", "link:0:lo:opackets64", "net/dev", "\n *lo:" .. (" *%d+"):rep(9) .. " *(%d+)", 1 },
  { "iostat", "DISK:nread", "diskstats", " NAME %d+ %d+ (%d+)", 512 },
  { "net-snmp-disk", "DISK:writes", "diskstats", " NAME %d+ %d+ %d+ %d+ (%d+)", 1 },
}

describe("clients of libkstat", function()
  local root, prefix, program, plain, names
  local tree = run.tree_env("small", { KSTAT_WITH = "slab" })
  local capture = { KSTAT_SOURCE = "spec/vectors/kstat/host.jsonl" }


  -- Clients that ask for what the tree does not have, and what they say.
  local NOT_IN_TREE = {
    fsstat = "absent", nfsstat = "absent", mntinfo = "absent", zones = "absent", vfsstat = "absent",
    kvmstat = "absent", lgrpinfo = "absent", ["netstat-unix"] = "absent", pci_intrs = "absent",
  }

  -- Compiles the clients against the installed headers and library.
  local function build(compiler, options, to)
    local flags = run.tool(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --define-variable=prefix=%s " ..
      "--cflags --libs kstat-solaris"):format(prefix, prefix)).out:gsub("\n", " ")
    local r = run.tool(table.concat({ compiler, "-D_GNU_SOURCE -Wall -Wextra -Werror", os.getenv("KSTAT_CFLAGS") or "",
      options, "spec/c/clients/*.c -x none -o", to, flags, "-Wl,-rpath," .. prefix .. "/lib" }, " "))
    assert.equal("", r.err, compiler)
    assert.equal(0, r.status, compiler)
    return to
  end

  local function environment(env)
    local words = { "KSTAT_DIR=" .. root .. "/none" }
    for name, value in pairs(env) do
      words[#words + 1] = name .. "=" .. value
    end
    return table.concat(words, " ")
  end

  setup(function()
    root = run.directory()
    prefix = root .. "/opt"
    local r = run.tool(("make -s install BUILD=%s PREFIX=%s"):format(run.quote(run.build), prefix))
    assert.equal(0, r.status, r.err)
    program = build("gcc -std=c11", "-O0 -g -fsanitize=address", root .. "/clients")
    plain = build("gcc -std=c89", "-O0", root .. "/plain")
  end)

  teardown(function()
    run.remove_directory(root)
  end)

  -- Runs each client by itself. without_sanitizer: as it is in the first C. Returns name = { status =, err =,
  -- lines = { { id, value } ... } }.
  local function run_clients(env, without_sanitizer)
    names = {}
    for name in run.shell(program).out:gmatch("[^\n]+") do
      names[#names + 1] = name
    end
    local r = run.shell(("export %s; for c in %s; do echo \"== $c\"; %s $c 2>%s/err; echo \"== status $?\"; " ..
      "[ ! -s %s/err ] || sed 's/^/== err /' %s/err; done"):format(environment(env), table.concat(names, " "),
      without_sanitizer and plain or program, root, root, root))
    local results, current = {}, nil
    for line in r.out:gmatch("[^\n]+") do
      local word, rest = line:match("^== (%S+) ?(.*)$")
      if word == "status" then
        current.status = tonumber(rest)
      elseif word == "err" then
        current.err = current.err .. rest .. "\n"
      elseif word then
        current = { err = "", lines = {} }
        results[word] = current
      else
        -- The modules edge* of the capture have values of several lines.
        local id, value = line:match("^([^\t]*)\t(.*)$")
        if id and not id:lower():find("^edge") then
          current.lines[#current.lines + 1] = { id, value }
        end
      end
    end
    return results
  end

  -- What the command says of the same: id = set of values, over the reports of the capture or tree.
  local function reference(env, reports)
    local set = {}
    local r = run.shell(("%s %s/bin/kstat -p %s"):format(environment(env), prefix, reports))
    for id, value in r.out:gmatch("([^\n\t]+)\t([^\n]*)") do
      set[id] = set[id] or {}
      set[id][value] = true
    end
    return set
  end

  -- Adds up a statistic of all CPUs. What Linux counts for the machine alone is in unix:0.
  local function sum(set, what)
    local kstat, statistic = what:match("^([^:]+):(.*)$")
    local pattern = kstat == "cpu_stat" and "^cpu_stat:%d+:cpu_stat%d+:(.*)$" or "^cpu:%d+:" .. kstat .. ":(.*)$"
    local total
    for id, values in pairs(set) do
      if id:match(pattern) == statistic then
        total = (total or 0) + tonumber((next(values)))
      end
    end
    local machine = set["unix:0:" .. kstat .. ":" .. statistic] or
      kstat == "cpu_stat" and (set["unix:0:vm:" .. statistic] or set["unix:0:sys:" .. statistic])
    if (total or 0) == 0 and machine then
      total = tonumber((next(machine)))
    end
    return ("%d"):format(total or 0)
  end

  -- Each value is the command's; a statistic that the command does not have is 0 or empty, but for those that the
  -- machine counts for all CPUs together.
  local function check(results, set, first)
    local compared, wrong = 0, {}
    local function mind(right, ...)
      wrong[#wrong + 1] = not right and table.concat({ ... }, " ") or nil
    end
    for name, result in pairs(results) do
      for _, line in ipairs(result.lines) do
        local id, value = line[1], line[2]
        local what = id:match("^sum (.*)$")
        if what then
          mind(sum(first, what) == value, name, id, "is", value, "not", sum(first, what))
        elseif set[id] then
          -- The command shows a structure of the first CPU without what the machine counts for all CPUs together.
          local statistic = set[id]["0"] and id:match("^cpu_stat:0:cpu_stat0:(.*)$")
          local machine = statistic and (set["unix:0:vm:" .. statistic] or set["unix:0:sys:" .. statistic])
          mind(set[id][value] or machine and machine[value], name, id, "is", value, "not", (next(set[id])))
        elseif not id:find(":kstat_", 1, true) then -- which the command never shows
          local statistic = id:match("^cpu:0:(.*)$")
          local machine = statistic and set["unix:0:" .. statistic]
          statistic = id:match("^cpu_stat:0:cpu_stat0:(.*)$")
          machine = machine or statistic and (set["unix:0:vm:" .. statistic] or set["unix:0:sys:" .. statistic])
          local is_sampled = id:find("^unix:0:vminfo:") or id:find("^unix:0:sysinfo:") -- by the client's own readings
          local unknown = id:find(":socket_type$") and "Unknown" or "" -- as on illumos
          mind(value == "0" or value == unknown or is_sampled or machine and machine[value], name, id, "is", value,
            "but not there")
        end
        compared = compared + 1
      end
    end
    assert.same({}, wrong)
    return compared
  end

  -- Each client succeeds, or ends as expected: failing = { name = pattern of its message }.
  local function check_ends(results, failing)
    for _, name in ipairs(names) do
      local result = results[name]
      local said = ("%s: %d: %s"):format(name, result.status, result.err)
      if failing[name] then
        assert.equal(1, result.status, said)
        assert.matches(failing[name], result.err, said)
      else
        assert.equal("0", tostring(result.status), said)
        assert.equal("", result.err, said)
      end
    end
  end

  it("compile with every C from C90 on and as C++", function()
    local live = "env " .. environment({}) .. " "
    local function answers(built, compiler)
      local r = run.shell(live .. built .. " kstat psrinfo collectd-cpu")
      assert.equal(0, r.status, compiler .. r.err)
      assert.matches("cpu_stat:0:cpu_stat0:idle\t%d+\n", r.out)
    end
    answers(plain, "gcc -std=c89")
    for _, compiler in ipairs({ "g++ -x c++ -std=c++98", "clang -std=c99" }) do
      if run.shell("command -v " .. compiler:match("^%S+")).status == 0 then
        local built = build(compiler, "-O0", root .. "/other")
        -- The sanitizers of two compilers do not mix.
        if not (compiler:find("clang") and (os.getenv("KSTAT_CFLAGS") or ""):find("sanitize", 1, true)) then
          answers(built, compiler)
        end
      end
    end
    for _, compiler in ipairs({ "gcc -std=c99", "gcc -std=c2x", "g++ -x c++ -std=c++20" }) do
      build(compiler, "-fsyntax-only", root .. "/nothing")
    end
  end)

  it("run on this machine", function()
    local results = run_clients({})
    -- What a machine or a container may not have.
    local failing = {}
    for name, message in pairs({ sadc = "no kmem cache", fsstat = "absent", nfsstat = "absent", mntinfo = "absent",
      arcstat = "absent", ["arc-size"] = "absent", ["node_exporter-zfs"] = "absent", zones = "absent",
      vfsstat = "absent", kvmstat = "absent", lgrpinfo = "absent", ["netstat-unix"] = "absent",
      pci_intrs = "absent", iostat = "no disk", ["vmstat-disks"] = "no disk" }) do
      failing[name] = results[name].status ~= 0 and message or nil
    end
    check_ends(results, failing)
    assert.is_true(#results.kstat.lines > 200)
  end)

  it("get what the files of /proc say at the same moment", function()
    local live = "env " .. environment({}) .. " " .. program .. " "
    local disk = run.shell(live .. "iostat").out:match("(%S+:%d+:%S+):nread")
    local name = (disk or ""):match("[^:]*$"):gsub("%p", "%%%0")

    -- What the pattern captures of a file, words added up, in units of the program; nil: it is not there.
    local function number(row)
      local words = run.read_file("/proc/" .. row[3]):match((row[4]:gsub("NAME", (name:gsub("%%", "%%%%")))))
      local total = words and 0
      for word in (words or ""):gmatch("%S+") do
        total = total + tonumber(word) * row[5]
      end
      return total
    end
    for _, row in ipairs(BESIDE) do
      local id, before = row[2]:gsub("DISK", disk or "none"), number(row)
      local shown = run.shell(live .. row[1]).out:match(id:gsub("%p", "%%%0") .. "\t(%d+)")
      local after = number(row)
      if before and (disk or not row[2]:find("DISK")) then
        assert.is_true(before - 1 <= tonumber(shown) and tonumber(shown) <= after + 1,
          ("%s: %s is %s, %s said %s, then %s"):format(row[1], id, shown, row[3], before, after))
      end
    end
  end)

  it("get what the command shows of a tree, and 0 for what Linux does not count", function()
    local results = run_clients(tree)
    check_ends(results, NOT_IN_TREE)
    local set = reference(tree, "")
    assert.is_true(check(results, set, set) > 2000)
  end)

  it("get what the command shows of a recording of Linux", function()
    local file = root .. "/recording"
    local r = run.shell(("%s %s/bin/kstatlua record -o %s 1 1"):format(environment(tree), prefix, file))
    assert.equal(0, r.status, r.err)
    local env = { KSTAT_SOURCE = file }
    local results, set = run_clients(env), reference(env, "")
    check_ends(results, NOT_IN_TREE)
    assert.is_true(check(results, set, set) > 2000)
  end)

  it("get what the command shows of other #trees, or say what is absent", function()
    for _, name in ipairs(run.trees()) do
      if name ~= "small" then
        -- The sanitizer would take most of the time, and has seen the clients with the first tree.
        local env = run.tree_env(name, { KSTAT_WITH = "slab" })
        local results, set = run_clients(env, true), reference(env, "")
        for client, result in pairs(results) do
          assert.is_true(result.status == 0 or result.status == 1 and result.err:find("^[^\n]+: [^\n]+\n$") ~= nil,
            name .. ": " .. client .. ": " .. result.err)
        end
        check(results, set, set)
      end
    end
  end)

  it("get what the command shows of a capture of illumos", function()
    local results = run_clients(capture)
    check_ends(results, {
      ["nicstat-tcp"] = "^udp: absent", fsstat = "absent", vfsstat = "absent", kvmstat = "absent",
      lgrpinfo = "absent", -- the capture has none
      ["node_exporter-cpu"] = "^cpu_nsec_wait: absent", -- illumos has none
    })
    assert.is_true(check(results, reference(capture, "5 3"), reference(capture, "")) > 2000)
  end)
end)
