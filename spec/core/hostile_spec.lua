-- Neighbours that mean harm: SECURITY.md says what they cannot do, spec/c/core_hostile.c plays them.
local run = require("support.run")

local root = run.shell("id -u").out == "0\n"

describe("a hostile neighbour", function()
  local dir

  before_each(function() dir = run.directory() end)
  after_each(function() run.shell("rm -rf " .. run.quote(dir)) end)

  local function play(part)
    local r = run.shell(("KSTAT_DIR=%s %s/spec/core_hostile %s"):format(run.quote(dir), run.build, part))
    assert.equal("unharmed\n", r.out .. r.err)
  end

  it("that shares its master's mapping cannot make the master crash", function() play("worker") end)

  it("that overwrites the mapping without pause kills nobody, and is gone with the next reload", function()
    local r = run.shell(("KSTAT_DIR=%s %s/spec/core_overwritten %s"):format(run.quote(dir), run.build,
      os.getenv("KSTAT_SOAK") or 1))
    assert.equal("unharmed\n", r.out .. r.err)
  end)

  it("that is a compromised worker changes no figure of another, and makes nobody crash or wait", function()
    local seconds = os.getenv("KSTAT_SOAK") or os.getenv("ASAN_OPTIONS") and 30 or 3
    local r = run.shell(("KSTAT_DIR=%s %s/spec/core_compromised %s"):format(run.quote(dir), run.build, seconds))
    assert.equal("unharmed\n", r.out .. r.err)
  end)

  it("that a master started holds no descriptor that cuts off the master's file", function() play("descriptor") end)

  it("that reads a segment does not keep it live", function() play("reader") end)

  it("that swaps a directory for a link leads nobody to the files behind it", function() play("swapped") end)

  it("that owns the directory of another user is not believed", function()
    if not root then return pending("only root is several users") end
    run.shell(("mkdir %s/kstat && chown 65534 %s/kstat && chmod 755 %s"):format(dir, dir, dir))
    local r = run.shell(("XDG_RUNTIME_DIR=%s setpriv --reuid=12345 --clear-groups env -u KSTAT_DIR %s/kstat -l"):format(
      dir, run.public().build .. "/bin"))
    assert.matches("kstat belongs to another user: its publications are not shown\n$", r.err)
    assert.matches("unix:0:system_misc:nproc\n", r.out)
  end)

  -- Runs a line of sh as root, beside another user who publishes as core_hostile.c says.
  local function beside(what, n, line)
    run.shell(("chmod 1777 %s"):format(dir))
    local out = dir .. "/out"
    local pid = run.start(("env KSTAT_DIR=%s %s/spec/core_hostile neighbour %s %d"):format(dir, run.build, what, n),
      out)
    run.await("the neighbour", function() return run.read_file(out) == "ready\n" end)
    local r = run.shell(("export KSTAT_DIR=%s; %s"):format(dir, line))
    run.stop(pid, "KILL")
    return r
  end

  it("costs a bounded amount of memory, and one line says so", function()
    if not root then return pending("only root is several users") end
    local kstat = run.bin .. "/kstat"
    -- A sanitizer's own memory does not fit into the limit.
    local limit = os.getenv("ASAN_OPTIONS") and "" or "ulimit -v 200000;"
    local r = beside("heavy", 8, (limit .. " %s -p unix:0:system_misc:nproc && %s -l >/dev/null"):format(kstat,
      kstat))
    assert.matches("^unix:0:system_misc:nproc\t%d+\n$", r.out)
    assert.matches("^[^\n]*the publications of user 65534 were cut: too many bytes of memory\n$", r.err)
    assert.equal(0, r.status)
  end)

  it("costs a bounded amount of time", function()
    if not root then return pending("only root is several users") end
    local r = beside("locked", 8, ("%s/kstatlua -e %s"):format(run.bin, run.quote([[
      local ks = assert(kstat.open())
      local start = os.clock()
      for i = 0, 7 do
        local k = ks:lookup("locked", 0, "n" .. i)
        if k then print((select(2, k:get("snaptime")))) end
      end
      print(os.clock() - start)
    ]])))
    assert.matches("^locked:0:n%d changed all the time while it was read\n", r.out)
    assert.is_true(tonumber(r.out:match("([%d.]+)\n$")) < 1, r.out)
  end)

  it("costs a bounded number of descriptors, and one line says so", function()
    if not root then return pending("only root is several users") end
    local r = beside("files", 1100, ("ulimit -n 1024; %s/kstat -p unix:0:system_misc:nproc hostile:0::a"):format(
      run.bin))
    assert.matches("unix:0:system_misc:nproc\t%d+\n", r.out)
    assert.equal(64, select(2, r.out:gsub("hostile:0:n%d+:a", "")))
    assert.matches("^[^\n]*the publications of user 65534 were cut: too many files\n$", r.err)
  end)

  it("does not take the names of this user's own publications", function()
    if not root then return pending("only root is several users") end
    local r = beside("files", 1, ("%s/kstatlua -e %s"):format(run.bin, run.quote([[
      local ks = assert(kstat.open())
      print(#ks:select("hostile:0:n0"), #ks:warnings())
      local pub = assert(kstat.publish("late"))
      local own = assert(pub:named({ module = "hostile", name = "n0", statistics = { "mine" } }))
      ks:update()
      print(#ks:select("hostile:0:n0"), ks:lookup("hostile", 0, "n0"):get("mine"), ks:warnings()[1])
      own:delete()
      ks:update()
      print(#ks:select("hostile:0:n0"))
    ]])))
    assert.equal("", r.err)
    assert.equal("1\t0\n1\t0\tkstats of user 65534 are not shown: their names are those of this user's or root's\n1\n",
      r.out)
  end)

  -- Runs lines of sh as root of a mount namespace in which nobody published anything, or returns nil.
  local function in_empty_places(lines)
    if not root or run.shell("unshare --mount mount -t tmpfs none /dev/shm").status ~= 0 then
      return pending("only root makes mount namespaces")
    end
    run.write_file(dir .. "/script", ([[
      mount -t tmpfs none /dev/shm && mount -t tmpfs none /run && chmod 1777 /dev/shm || exit
      mkdir /run/bin && mount --bind %s /run/bin || exit # below root's home the stranger could not start them
      unset KSTAT_DIR XDG_RUNTIME_DIR
      stranger="setpriv --reuid=65534 --regid=65534 --clear-groups"
      export PATH=/run/bin:$PATH
    ]]):format(run.bin) .. lines)
    return run.shell("unshare --mount sh " .. dir .. "/script")
  end

  it("has one directory, however its user's number may be written", function()
    local r = in_empty_places([[
      for i in 65534 4295032830 065534 +65534 12345; do
        $stranger env KSTAT_DIR=/dev/shm/kstat-$i kstatlua -e "
          local pub = assert(kstat.publish('spec'))
          pub:named({ module = 'spec', name = 'n$i', persistent = true, statistics = { 'a' } })"
      done
      kstat -l spec:0::a
    ]])
    if r then
      assert.equal("", r.err)
      assert.equal("spec:0:n65534:a\n", r.out)
    end
  end)

  it("makes the directories of another user, who publishes beside them then, and is read", function()
    local r = in_empty_places([[
      mkdir /dev/shm/kstat-65534 && touch /dev/shm/kstat-65534.1 && ln -s / /dev/shm/kstat-65534.2
      publish='kstat.publish(arg[1]):named({ name = "n", persistent = true, statistics = { "a" } })'
      $stranger kstatlua -e "$publish" first
      kstat -l ::n:a; $stranger kstat -l ::n:a
      rmdir /dev/shm/kstat-65534 # what was published stays, beside what is published in the first place now
      $stranger kstatlua -e "$publish" second
      kstat -l ::n:a; $stranger kstat -l ::n:a
    ]])
    if r then
      assert.equal("", r.err)
      assert.equal(("first:0:n:a\n"):rep(2) .. ("first:0:n:a\nsecond:0:n:a\n"):rep(2), r.out)
    end
  end)

  it("has at most eight directories", function()
    local r = in_empty_places([[
      for i in "" .1 .2 .3 .4 .5 .6 .7 .8 .9 .01 .1.1 .1000; do
        $stranger env KSTAT_DIR=/dev/shm/kstat-65534$i kstatlua -e "
          kstat.publish('spec'):named({ name = 'n$i', persistent = true, statistics = { 'a' } })"
      done
      kstat -l spec:::a
    ]])
    if r then
      assert.equal("", r.err)
      assert.equal("spec:0:n:a\nspec:0:n.1:a\nspec:0:n.2:a\nspec:0:n.3:a\nspec:0:n.4:a\nspec:0:n.5:a\n"
        .. "spec:0:n.6:a\nspec:0:n.7:a\n", r.out)
    end
  end)

  it("has the same series in each scrape where it publishes a name twice", function()
    local r = in_empty_places([[
      for i in "" .1; do
        $stranger env KSTAT_DIR=/dev/shm/kstat-65534$i kstatlua -e "
          kstat.publish('spec'):named({ name = 'n', persistent = true,
            statistics = { { name = 'a', kind = 'gauge', value = ${i#.}5 } } })"
      done
      kstatlua -e "
        local core = require('kstat.core')
        local kept = core.exposition(kstat.open(), { core.selector({ module = 'spec' }) }, 'prometheus', true)
        local first = kept:step(true)
        for _ = 1, 3 do
          kept:again()
          print(kept:step(true) == first)
        end
        print(select(2, first:gsub(',kid=', '')))"
    ]])
    if r then
      assert.equal("", r.err)
      assert.equal("true\ntrue\ntrue\n1\n", r.out)
    end
  end)

  it("shows at most 5,000 statistics, and all together 10,000, but those who are trusted", function()
    local r = in_empty_places([[
      for i in 65531 65532 65533; do
        setpriv --reuid=$i --clear-groups kstatlua -e '
          local pub, names = kstat.publish("spec"), {}
          for i = 1, 100 do names[i] = "s" .. i end
          for i = 1, 60 do
            pub:named({ module = "flood" .. arg[1], name = "n" .. i, persistent = true, statistics = names })
          end' $i
      done
      for i in 1 2 3; do kstat -l flood6553$i:::'/^s[0-9]/' | wc -l; done
      kstat -l '/^flood/:::/^s[0-9]/' | wc -l
      kstat -l --trust 65532 '/^flood/:::/^s[0-9]/' | wc -l
    ]])
    if r then
      assert.equal("5000\n5000\n5000\n10000\n6000\n", r.out)
      assert.matches("^kstat: the publications of user 65531 were cut: too many statistics\n", r.err)
    end
  end)

  it("costs a bounded number of looks at files that are of no use, and one line says so", function()
    local r = in_empty_places([[
      $stranger sh -c 'mkdir /dev/shm/kstat-65534; cd /dev/shm/kstat-65534; touch $(seq -f %g.kseg 5000)'
      kstat -p unix:0:system_misc:nproc no:such:kstat
    ]])
    if r then
      assert.matches("the publications of user 65534 were cut: too many files\n", r.err)
      assert.matches("\n[^\n]*20%d%d other files of published kstats cannot be read\n", r.err)
      assert.matches("^unix:0:system_misc:nproc\t%d+\n$", r.out)
    end
  end)

  it("that writes control characters of any kind does not reach the terminal", function()
    local evil = "C1 \194\155 bytes \155 turned \226\128\174 ok \195\164"
    local r = run.shell(("KSTAT_DIR=%s $interpreter %s/kstatlua -e %s"):format(dir, run.bin, run.quote([[
      local pub = assert(kstat.publish("spec"))
      local evil = "]] .. evil .. [["
      assert(pub:named({ name = "n", statistics = { { name = "s", type = "string", value = evil, desc = evil } } }))
      print((select(2, pub:named({ name = "x\226\128\174", statistics = { "a" } })):match("control character")))
      local k = assert(kstat.open()):lookup("spec", 0, "n")
      print(k:get("s") == k:meta("s").description, k:get("s"))
    ]])))
    assert.equal("", r.err)
    assert.equal("control character\ntrue\tC1 ?? bytes ? turned ??? ok \195\164\n", r.out)
  end)

  -- No neighbour, but as far away: nothing is known here about the processes of another namespace.
  it("in another PID namespace dies, and what is PERSISTENT goes on", function()
    if not root then return pending("only root makes PID namespaces") end
    run.write_file(dir .. "/publish.lua", [[
      local pub = assert(kstat.publish("spec"))
      assert(pub:named({ name = "n", persistent = true, statistics = { "a" } })):add("a", 5)
      os.execute("kill -9 $PPID")
    ]])
    for i, space in ipairs({ "unshare --pid --fork", "unshare --pid --fork", "env" }) do
      local r = run.shell(("export KSTAT_DIR=%s; %s sh -c '%s/kstatlua %s/publish.lua; :'; %s/kstat --gc; "
        .. "%s/kstat -p spec:0:n:a"):format(dir, space, run.bin, dir, run.bin, run.bin))
      assert.equal(("spec:0:n:a\t%d\n"):format(5 * i), r.out)
    end
  end)
end)
