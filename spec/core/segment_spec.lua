local run = require("support.run")
-- Published kstats, by way of spec/c/core_segment.c.
local lines = require("support.lines")

describe("a published kstat", function()
  local dir

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function() os.execute("rm -rf " .. dir) end)

  it("is read, written, reloaded, kept and cleaned up as kstat_provider.h says", function()
    local pipe = assert(io.popen(("KSTAT_DIR=%s %s/spec/core_segment"):format(dir, lines.build)))
    local out = pipe:read("*a")
    pipe:close()
    local checks, failures = out:match("^(%d+) checks, (%d+) failures\n$")
    assert.are.equal("0", failures, out)
    assert.is_true(tonumber(checks) > 400)
  end)
end)

describe("a reader of published kstats", function()
  -- Directories whose times did not change are not looked through: what comes and goes must show all the same.
  it("sees files come and go in directories that were quiet for long", function()
    local dir = run.directory()
    local r = run.run({ "kstatlua", "-e", [[
      local dir = os.getenv("KSTAT_DIR")
      local ks = assert(kstat.open())
      local function quiet()
        os.execute("touch -d 2001-01-01 " .. dir)
        ks:update()
        io.write(tostring(ks:update() ~= 0), " ")
      end
      quiet()
      local pub = assert(kstat.publish("spec"))
      local k = assert(pub:named({ name = "a", statistics = { "hits" } }))
      io.write(tostring(ks:update() ~= 0), " ", tostring(ks:lookup("spec", 0, "a") ~= nil), " ")
      quiet()
      assert(pub:named({ name = "b", statistics = { "hits" } })) -- in a file that is known
      io.write(tostring(ks:update() ~= 0), " ", tostring(ks:lookup("spec", 0, "b") ~= nil), " ")
      quiet()
      os.execute("rm " .. dir .. "/*.kseg")
      io.write(tostring(ks:update() ~= 0), " ", tostring(ks:lookup("spec", 0, "a") ~= nil), "\n")
    ]], env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.equal("", r.err)
    assert.equal("false true true false true true false true false\n", r.out)
  end)

  it("no longer shows what lay in a file in whose place another one is of no use", function()
    local dir = run.directory()
    local r = run.run({ "kstatlua", "-e", [[
      local pub = assert(kstat.publish("spec"))
      assert(pub:named({ name = "a", statistics = { "hits" } }))
      local ks = assert(kstat.open())
      io.write(tostring(ks:lookup("spec", 0, "a") ~= nil), " ")
      os.execute("cd $KSTAT_DIR && echo junk > junk && mv junk spec.kseg")
      io.write(tostring(ks:update() ~= 0), " ", tostring(ks:lookup("spec", 0, "a") ~= nil), "\n")
    ]], env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.same({ "true true false\n", "" }, { r.out, r.err })
  end)

  it("finds publishers with the shortest and the longest name", function()
    local dir = run.directory()
    local r = run.run({ "kstatlua", "-e", [[
      for _, name in ipairs({ "a", ("b"):rep(63) }) do
        assert(assert(kstat.publish(name)):named({ module = "spec", name = name:sub(1, 1), statistics = { "hits" } }))
      end
      print(#assert(kstat.open()):select("spec:::"))
    ]], env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.same({ "2\n", "" }, { r.out, r.err })
  end)

  for _, only in ipairs({ "sd:16:sdq", "sd:::" }) do
    it("gives a name to the machine when a device gets it, whoever published it before: " .. only, function()
      local dir = run.directory()
      run.shell(("cp -r %s %s/tree && chmod -R u+w %s/tree"):format(run.tree("small"), dir, dir))
      local r = run.run({ "kstatlua", "-e", [[
        local dir, only = os.getenv("KSTAT_DIR"), arg[1]
        local publisher = assert(io.popen("echo $$; exec " .. arg[2] .. "/kstatlua -e '" .. [=[
          local pub = assert(kstat.publish("sd"))
          assert(pub:named({ name = "sdq", instance = 16, class = "disk", statistics = { "hits" } }))
          print("published")
          io.stdout:flush()
          for _ in kstat.every(0.2, 100) do end]=] .. "'"))
        local pid = publisher:read()
        publisher:read()
        local ks = assert(kstat.open({ only = { kstat.selector(only) } }))
        local function types()
          ks:update()
          for k in ks:each(only) do
            if k.name == "sdq" then
              io.write(k.type, " ")
            end
          end
          local k = ks:lookup("sd", 16, "sdq")
          io.write(k and k.type or "none", "\n")
        end
        types()
        local f = assert(io.open(dir .. "/tree/proc/diskstats", "a"))
        f:write("  65       0 sdq 1 0 8 1 1 0 8 1 0 2 2\n")
        f:close()
        types()
        types()
        os.execute("kill -9 " .. pid)
        publisher:close()
        types()
      ]], only, run.bin, env = { KSTAT_DIR = dir, KSTAT_PROC = dir .. "/tree/proc", KSTAT_SYS = dir .. "/tree/sys" } })
      run.remove_directory(dir)
      assert.equal("", r.err)
      assert.equal("named named\n" .. ("io io\n"):rep(3), r.out)
    end)
  end

  -- Whatever is the first that no descriptor is left for: the directory, its list, or the file in it.
  it("loses nothing for good when descriptors are short, and says so", function()
    local dir = run.directory()
    local r = run.run({ run.bin .. "/kstatlua", "-e", [[
      local pid = io.open("/proc/self/stat"):read("*n")
      local function publish(name)
        local pub = assert(kstat.publish(name))
        assert(pub:named({ module = name, name = "n", statistics = { "a" } }))
        return pub
      end
      local function limit(n)
        -- What changed a moment ago is looked at again in any case.
        os.execute(("sleep 0.04; prlimit --pid %d --nofile=%d:4096"):format(pid, n))
      end
      local early = publish("early")
      local ks = assert(kstat.open({ published = true })) -- the machine's own lack descriptors, too, and come first
      local short
      for n = 6, 25 do
        local late = publish("late" .. n)
        limit(n)
        pcall(ks.update, ks)
        -- The same line comes once.
        short = short or ks:warnings()[1]
        local kept = ks:lookup("early", 0, "n") ~= nil
        local seen = ks:lookup("late" .. n, 0, "n") ~= nil
        limit(1024)
        ks:update()
        print(n, kept, seen or short:match("Too many open files: some .*$"), ks:lookup("late" .. n, 0, "n") ~= nil)
        late:close()
      end
      early:close()
    ]], env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.equal("", r.err)
    assert.equal(20, select(2, r.out:gsub("\ttrue\t[tT][^\t]+\ttrue\n", "")), r.out)
  end)

  it("names the first of the files that are of no use, once, and counts the others", function()
    local dir = run.directory()
    -- A reader that kept these files open would not have a descriptor left to publish with.
    local r = run.run({ "/usr/bin/prlimit", "--nofile=256", run.bin .. "/kstatlua", "-e", [[
      local dir = os.getenv("KSTAT_DIR")
      local function junk(from, to)
        for i = from, to do
          local f = assert(io.open(("%s/junk%d.kseg"):format(dir, i), "w"))
          f:write("junk")
          f:close()
        end
      end
      local function told(ks)
        ks:update()
        local lines = ks:warnings()
        for i, line in ipairs(lines) do
          lines[i] = line:gsub("^.*/junk%d+.kseg: too short.*$", "named")
        end
        print(#lines .. ": " .. table.concat(lines, ", "))
      end
      junk(1, 3)
      local ks = assert(kstat.open())
      told(ks)
      told(ks)
      junk(4, 7)
      told(ks)
      junk(8, 4200)
      told(ks)
      told(ks)
      junk(4201, 4201)
      told(ks)
      -- What is of use is not crowded out.
      assert(kstat.publish("late"):named({ name = "n", statistics = { "a" } }))
      told(ks)
      print(ks:lookup("late", 0, "n") ~= nil)
    ]], env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.equal("", r.err)
    assert.equal(table.concat({
      "3: named, named, named",
      "0: ",
      "4: named, named, named, 1 other file of published kstats cannot be read",
      "4: named, named, named, 4190 other files of published kstats cannot be read",
      "0: ",
      "0: ",
      "0: ",
      "true\n"
    }, "\n"), r.out)
  end)

  -- A file system gives a new file the inode number of one that was removed.
  it("looks again at a file that was of no use, once it has changed", function()
    local dir = run.directory()
    local r = run.run({ "kstatlua", "-e", [[
      local dir = os.getenv("KSTAT_DIR")
      local function write(text) local f = assert(io.open(dir .. "/late.kseg", "wb")) f:write(text) f:close() end
      local pub = assert(kstat.publish("early"))
      assert(pub:named({ name = "n", persistent = true, statistics = { "hits" } })):add("hits", 7)
      local f = assert(io.open(pub:path(), "rb"))
      local bytes = f:read(1048576)
      bytes = bytes .. ("\0"):rep(67108864 - #bytes)
      f:close()
      pub:close()
      os.remove(dir .. "/early.kseg")
      write("no kstats at all")
      local ks = assert(kstat.open())
      print(ks:lookup("early", 0, "n") == nil)
      write(bytes)
      kstat.publish("other")
      ks:update()
      print(ks:lookup("early", 0, "n"):get("hits"))
    ]], env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.equal("", r.err)
    assert.equal("true\n7\n", r.out)
  end)
end)
