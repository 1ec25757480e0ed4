-- `make uninstall` removes what `make install` added, and a linked program starts from any prefix.
local run = require("support.run")

describe("make uninstall", function()
  local root

  before_each(function()
    root = run.directory()
  end)

  after_each(function()
    run.remove_directory(root)
  end)

  local function make(target, variables)
    local r = run.tool("make -s " .. target .. " BUILD=" .. run.quote(run.build) .. " " .. variables)
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return r.out
  end

  local function tree()
    return run.shell("cd " .. root .. " && find . | sort").out
  end

  it("leaves what was there before, and nothing of an older version, which a second installation replaces", function()
    local usr = root .. "/a b/usr/local"
    run.shell(("mkdir -p '%s/lib/pkgconfig' '%s/bin' && touch '%s/bin/other'"):format(usr, usr, usr))
    local before = tree()
    make("install", "DESTDIR='" .. root .. "/a b'")
    assert.truthy(tree():find("./a b/usr/local/bin/kstat\n", 1, true))
    local old, list = usr .. "/share/kstat/scripts/old.lua", usr .. "/share/kstat/installed"
    run.write_file(old, "")
    run.write_file(list, run.read_file(list) .. "/usr/local/share/kstat/scripts/old.lua\n")
    make("install", "DESTDIR='" .. root .. "/a b'")
    assert.is_nil(io.open(old))
    make("uninstall", "DESTDIR='" .. root .. "/a b'")
    assert.equal(before, tree())
  end)

  it("takes what everybody can read despite a strict umask, but no directory into which somebody put a file", function()
    local r = run.tool("umask 077; make -s install BUILD=" .. run.quote(run.build) .. " DESTDIR=" .. root .. "/new")
    assert.equal("", r.err)
    assert.equal("", run.shell("find " .. root .. "/new ! -perm -044").out)
    run.write_file(root .. "/new/usr/local/share/kstat/scripts/mine.lua", "")
    make("uninstall", "DESTDIR=" .. root .. "/new")
    assert.equal("./new/usr/local/share/kstat/scripts/mine.lua\n", run.shell("cd " .. root .. " && find . -type f").out)
  end)

  it("takes no directory of which neither make nor pkg-config can make use", function()
    for _, prefix in ipairs({ "relative", "/with space", "'~/.local'" }) do
      local r = run.tool("make -s install DESTDIR=" .. root .. " PREFIX=" .. run.quote(prefix))
      assert.not_equal(0, r.status)
      assert.truthy(r.err:find("PREFIX is '" .. prefix .. "': it must be an absolute path without spaces", 1, true),
        r.err)
    end
    assert.equal(".\n", tree())
  end)

  it("says so where nothing is installed", function()
    local r = run.tool("make -s uninstall DESTDIR=" .. root)
    assert.not_equal(0, r.status)
    assert.truthy(r.err:find("there is no " .. root .. "/usr/local/share/kstat/installed", 1, true), r.err)
  end)

  it("removes the whole prefix if it was made for it, from which a linked program starts meanwhile", function()
    local prefix = root .. "/opt/kstat"
    local out = make("install", "PREFIX=" .. prefix)
    assert.truthy(out:find("Programs do not find " .. prefix .. "/lib/libkstat.so.1 yet", 1, true), out)
    local flags = run.tool("PKG_CONFIG_PATH=" .. prefix .. "/lib/pkgconfig pkg-config --cflags --libs kstat").out
    local r = run.tool("cc -std=gnu11 " .. (os.getenv("KSTAT_CFLAGS") or "") .. " -o " .. root ..
      "/program spec/c/man_page_io.c " .. flags:gsub("\n", " "))
    assert.equal("", r.err)
    r = run.run({ root .. "/program", directory = "/", env = { LD_LIBRARY_PATH = false } })
    assert.equal(0, r.status, r.err)
    make("uninstall", "PREFIX=" .. prefix)
    assert.equal("", run.shell("cd " .. root .. " && find . -mindepth 1 ! -name program").out)
  end)

  it("takes a directory of libraries that is named for the machine", function()
    make("install", "DESTDIR=" .. root .. " PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu")
    assert.equal(0, run.shell("test -e " .. root .. "/usr/lib/x86_64-linux-gnu/lua/5.4/kstat/core.so").status)
    local text = run.read_file(root .. "/usr/lib/x86_64-linux-gnu/pkgconfig/kstat.pc")
    assert.truthy(text:find("libdir=${prefix}/lib/x86_64-linux-gnu\n", 1, true))
    assert.truthy(text:find("Libs: -L${libdir} -lkstat\n", 1, true))
  end)
end)

describe("libkstat.so.1", function()
  it("has a version for each function that it exports", function()
    local names = run.shell("nm -D --defined-only " .. run.quote(run.build .. "/lib/libkstat.so.1") ..
      " | grep -v ' A '").out
    local count = 0
    for line in names:gmatch("[^\n]+") do
      assert.matches("@@KSTAT_1%.%d+$", line)
      count = count + 1
    end
    assert.is_true(count > 100)
  end)

  it("has the names of the archive, which has no others that another object of a program could meet", function()
    local function names(nm, file)
      return run.shell(("nm %s --defined-only %s/lib/%s | awk 'NF == 3 && $2 != \"A\" { print $3 }' | sort"):format(nm,
        run.quote(run.build), file)).out
    end
    assert.equal(names("-D --without-symbol-versions", "libkstat.so.1"), names("-g", "libkstat.a"))
  end)

  it("can be loaded by a running program that has no room left for variables of threads", function()
    local file = run.quote(run.build .. "/lib/libkstat.so.1")
    assert.falsy(run.shell("readelf -d " .. file).out:find("STATIC_TLS", 1, true))
    if not (os.getenv("KSTAT_CFLAGS") or ""):find("sanitize", 1, true) then
      assert.falsy(run.shell("readelf -rW " .. file).out:find("TPOFF", 1, true))
    end
  end)
end)
