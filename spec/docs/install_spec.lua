-- What `make install` leaves behind works where it is put, without the environment's help.
local run = require("support.run")

describe("bootstrap", function()
  -- Runs it where nothing is installed, with stand-ins for Debian's tools.
  local function bootstrap(tools, option)
    local dir = run.directory()
    for name, text in pairs(tools) do
      run.write_file(dir .. "/" .. name, "#!/bin/sh\n" .. text .. "\n")
    end
    local r = run.shell(("chmod +x %s/*; ln -s $(command -v grep) $(command -v rm) %s; PATH=%s ./bootstrap %s"):format(
      dir, dir, dir, option))
    run.remove_directory(dir)
    return r
  end
  local NOTHING = "exit 1"

  it("prints the line for the administrator without root and sudo", function()
    local r = bootstrap({ id = "echo 1000", ["dpkg-query"] = NOTHING }, "--build")
    assert.same({ 1, "" }, { r.status, r.out })
    assert.matches("is no sudo. It is: gcc [^\n]*libpcre2%-dev[^\n]*\nAs root, [^\n]*: /[^\n]*/bootstrap %-%-build\n$",
      r.err)
    assert.falsy(r.err:find("chromium", 1, true))
    assert.truthy(bootstrap({ id = "echo 1000", ["dpkg-query"] = NOTHING }, "").err:find("chromium", 1, true))
  end)

  it("installs nothing where all is there, and refuses other options", function()
    local r = bootstrap({ ["dpkg-query"] = "echo install ok installed" }, "")
    assert.same({ 0, "", "" }, { r.status, r.out, r.err })
    assert.equal(2, bootstrap({}, "--bild").status)
  end)

  it("says what it installs and how large that is", function()
    local sudo = "case $* in *--assume-no*) echo Need to get 64.1 MB of archives.; " ..
      "echo 'After this operation, 241 MB of additional disk space will be used.'; exit 1 ;; " ..
      "apt-get\\ -q*) echo installed ;; esac"
    local r = bootstrap({ id = "echo 1000", ["dpkg-query"] = NOTHING, sudo = sudo }, "--build")
    assert.matches("^To build and run kstat these packages are [^:]*: gcc [^\n]*\nDownload: 64.1 MB\nDisk: 241 MB\n" ..
      ".*installed\n$", r.out)
  end)

  it("enables no service that was not, and names those that it disabled", function()
    local log = os.tmpname()
    local find = ("echo /e/m.wants/cron.service; test ! -s %s || echo /e/m.wants/nginx.service"):format(log)
    local systemctl = ("echo $* >>%s.units"):format(log)
    local apt = ("case $* in *' -y '*) echo installed >%s ;; esac"):format(log)
    local r = bootstrap({ id = "echo 0", ["dpkg-query"] = NOTHING, ["apt-get"] = apt, find = find,
      systemctl = systemctl }, "")
    assert.same({ 0, "" }, { r.status, r.err })
    assert.matches("\nDisabled, [^\n]*: nginx.service\n$", r.out)
    assert.equal("disable nginx.service\n", run.read_file(log .. ".units"))
    os.remove(log)
    os.remove(log .. ".units")
  end)
end)

describe("make install", function()
  local root, prefix

  -- Nothing of the surroundings helps: no source directory, no variables.
  local function installed(command)
    command.directory = "/"
    command.env = command.env or {}
    for _, name in ipairs({ "LUA_PATH", "LUA_CPATH", "LUA_PATH_5_4", "LUA_CPATH_5_4", "LD_LIBRARY_PATH",
      "KSTAT_BUILD" }) do
      command.env[name] = command.env[name] or false
    end
    return run.run(command)
  end

  setup(function()
    root = run.directory()
    prefix = root .. "/usr/local"
    local r = run.tool("make -s install BUILD=" .. run.quote(run.build) .. " DESTDIR=" .. root)
    assert.equal(0, r.status, r.err)
  end)

  teardown(function()
    run.remove_directory(root)
  end)

  it("puts each page into its section", function()
    for page in run.shell("ls doc/man").out:gmatch("[^\n]+") do
      local f = io.open(("%s/share/man/man%s/%s"):format(prefix, page:match("%d$"), page), "rb")
      assert.truthy(f, page)
      f:close()
    end
  end)

  it("puts every thing where it belongs", function()
    for _, path in ipairs({
      "bin/kstat", "bin/kstatlua", "include/kstat.h", "include/sys/kstat.h", "include/kstat2.h",
      "include/kstat_raw.h", "include/sys/dnlc.h", "include/sys/var.h", "include/sys/kstat2.h",
      "include/sys/flock.h", "include/nfs/nfs_clnt.h",
      "lib/libkstat.a", "lib/libkstat.so", "lib/libkstat.so.1", "lib/pkgconfig/kstat.pc",
      "lib/lua/5.4/kstat/core.so", "lib/lua/5.1/kstat/core.so",
      "share/lua/5.4/kstat/init.lua", "share/lua/5.1/kstat/init.lua", "share/kstat/scripts/kstat.lua",
      "share/man/man1/kstat.1", "share/man/man1/kstatlua-use.1", "share/man/man3/devstat.3",
    }) do
      local f = io.open(prefix .. "/" .. path, "rb")
      assert.truthy(f, path)
      f:close()
    end
  end)

  it("installs at most 15 MB, without debugging information and with one copy of what versions of Lua share", function()
    for _, file in ipairs({ "lib/libkstat.so.1", "lib/libkstat.a", "lib/lua/5.1/kstat/core.so", "bin/kstatlua" }) do
      local sections = run.shell("readelf -SW " .. run.quote(prefix .. "/" .. file)).out
      assert.truthy(sections:find(".text", 1, true), file)
      assert.falsy(sections:find(".debug_info", 1, true), file)
    end
    assert.is_true(tonumber(run.shell("du -sk " .. run.quote(prefix)).out:match("%d+")) <= 15 * 1024)
  end)

  it("names neither the build tree nor the staging directory in what it installs", function()
    local r = run.shell("grep -rlF -e " .. run.quote(root) .. " -e " .. run.quote(run.build) ..
      " --include='*.pc' --include='*.lua' --include='*.h' " .. root)
    assert.equal("", r.out)
  end)

  it("gives the page of the exporter, and its unit where there is a server", function()
    local r = installed({ prefix .. "/bin/kstatlua", "-e", "print(#require('kstat.page').text() > 50000)" })
    assert.equal("true\n", r.out, r.err)
    if require("support.exporter").is_built then
      local unit = run.read_file(prefix .. "/lib/systemd/system/kstat-exporter.service")
      assert.truthy(unit:find("\nExecStart=/usr/local/bin/kstatlua exporter $OPTIONS\n", 1, true), unit)
    end
  end)

  it("gives two units of the recorder, of which one has no capabilities", function()
    local unit = require("support.unit")
    assert.matches("\nu kstat%-record %-", run.read_file(prefix .. "/lib/sysusers.d/kstat-record.conf"))
    for name, capabilities in pairs({ ["kstat-record"] = "CAP_DAC_READ_SEARCH CAP_SYS_PTRACE",
      ["kstat-record-unprivileged"] = "" }) do
      local file = ("%s/lib/systemd/system/%s.service"):format(prefix, name)
      local text = run.read_file(file)
      assert.truthy(text:find("\nExecStart=/usr/local/bin/kstatlua record --directory ", 1, true))
      assert.truthy(text:find(("\nAmbientCapabilities=%s\n"):format(capabilities), 1, true))
      assert.truthy(text:find(("\nCapabilityBoundingSet=%s\n"):format(capabilities), 1, true))
      if run.shell("command -v systemd-analyze").status == 0 then
        local trouble, exposure = unit.verify(file)
        assert.equal("", trouble)
        assert.is_true(exposure <= (capabilities == "" and 2.1 or 2.6), exposure)
      end
    end
  end)

  it("gives a kstat that works", function()
    local r = installed({ prefix .. "/bin/kstat", "-p", "unix:0:system_misc:ncpus" })
    assert.equal("", r.err)
    assert.truthy(r.out:find("^unix:0:system_misc:ncpus\t%d+\n$"))
    r = installed({ prefix .. "/bin/kstat", "-l", "cpu_stat:0::/^intr/", "1", "1" })
    assert.truthy(r.out:find("cpu_stat:0:cpu_stat0:intr\n", 1, true))
  end)

  it("gives commands their names of Solaris in a directory for PATH", function()
    for command, head in pairs({ ["iostat -xn"] = "extended device statistics", ["vmstat"] = "kthr",
      ["mpstat"] = "CPU minf mjf", ["prstat -n 1 1 1"] = "PID USERNAME", ["intrstat 0.01 1"] = "",
      ["fsstat 0.01 1"] = "", ["kstat -l unix:0:vm"] = "unix:0:vm" }) do
      local r = run.shell(("PATH=%s/libexec/kstat/bin:$PATH; readlink $(command -v %s); timeout 20 %s"):format(prefix,
        command:match("^%S+"), command))
      assert.matches("^%.%./%.%./%.%./bin/kstatlua\n", r.out, command)
      assert.truthy(r.out:find(head, 1, true), r.out .. r.err)
    end
  end)

  it("gives a kstatlua that finds the module and the scripts", function()
    local r = installed({ prefix .. "/bin/kstatlua", "-e",
      "print(kstat.open().unix[0].system_misc.ncpus > 0, package.searchpath('kstat', package.path))" })
    assert.equal("true\t" .. prefix .. "/share/lua/5.4/kstat/init.lua\n", r.out)
    r = installed({ prefix .. "/bin/kstatlua", "kstat", "-l", "unix:0:system_misc:ncpus" })
    assert.equal("unix:0:system_misc:ncpus\n", r.out)
  end)

  it("gives modules that lua5.4 and luajit find if the prefix is on their paths, as /usr/local is", function()
    for lua, version in pairs({ ["/usr/bin/lua5.4"] = "5.4", ["/usr/bin/luajit"] = "5.1" }) do
      local r = installed({ lua, "-e", "print(package.path, package.cpath)" })
      assert.truthy(r.out:find("/usr/local/share/lua/" .. version .. "/?/init.lua", 1, true), lua)
      assert.truthy(r.out:find("/usr/local/lib/lua/" .. version .. "/?.so", 1, true), lua)
      local code = ("package.path = package.path:gsub('/usr/local', %q) package.cpath = " ..
        "package.cpath:gsub('/usr/local', %q) local kstat = require('kstat') " ..
        "print(kstat.open().unix[0].system_misc.ncpus > 0)"):format(prefix, prefix)
      r = installed({ lua, "-e", code })
      assert.equal("true\n", r.out, r.err)
    end
  end)

  it("gives a library that the manual page's example compiles against", function()
    local flags = run.tool("PKG_CONFIG_PATH=" .. prefix .. "/lib/pkgconfig pkg-config --define-variable=prefix=" ..
      prefix .. " --cflags --libs kstat")
    assert.equal(0, flags.status, flags.err)
    local program = root .. "/man_page_io"
    local r = run.tool("cc -std=gnu11 -Wall -Wextra -Werror " .. (os.getenv("KSTAT_CFLAGS") or "") .. " -o " ..
      program .. " spec/c/man_page_io.c " .. flags.out:gsub("\n", " "))
    assert.equal("", r.err)
    r = installed({ program, env = { LD_LIBRARY_PATH = prefix .. "/lib" } })
    assert.equal(0, r.status, r.err)
    local names = {}
    for line in r.out:gmatch("[^\n]+") do
      names[#names + 1] = line:match("^(%S+) %d+ %d+ %d+ %d+$")
    end
    local kstats = installed({ prefix .. "/bin/kstat", "-l", ":::rlastupdate" })
    local expected = {}
    for line in kstats.out:gmatch("[^\n]+") do
      expected[#expected + 1] = line:match("^[^:]*:[^:]*:(.*):rlastupdate$")
    end
    table.sort(names)
    table.sort(expected)
    assert.same(expected, names)
    assert.truthy(#names > 0)
  end)

  it("gives headers by the names that programs for Solaris include", function()
    local program = root .. "/headers"
    run.write_file(program .. ".c", "#include <sys/var.h>\n#include <sys/dnlc.h>\n#include <sys/kstat.h>\n"
      .. "int main(void) { struct var v = { .v_proc = 1 }; struct ncstats n = { .hits = v.v_proc };\n"
      .. "return sizeof(v) == 60 && sizeof(n) == 32 && n.hits == KSTAT_TYPE_NAMED ? 0 : 1; }\n")
    for _, include in ipairs({ "", "-include sys/dnlc.h ", "-include sys/sysinfo.h " }) do
      local r = run.tool("cc -Wall -Wextra -Werror -I" .. prefix .. "/include " .. include .. "-o " .. program .. " "
        .. program .. ".c && " .. program)
      assert.equal("", r.err)
      assert.equal(0, r.status)
    end
  end)

  it("has all that Solaris's Perl module includes, without hiding what the system has", function()
    local program = root .. "/perl_headers"
    run.write_file(program .. ".c", [[
#include <kstat.h>
#include <sys/var.h>
#include <sys/utsname.h>
#include <sys/sysinfo.h>
#include <sys/flock.h>
#include <sys/dnlc.h>
#include <nfs/nfs.h>
#include <nfs/nfs_clnt.h>
#include <sys/kstat2.h>
int
main(void)
{
	struct flock lock = { .l_type = F_RDLCK };
	struct mntinfo_kstat *mount = NULL;
	struct sysinfo machine = { .procs = 1 };
	kstat2_nv_hist_type_t type = KSTAT2_NVHIST_LOG2;
	kstat_named_t named = { .name = "text", .data_type = KSTAT_DATA_STRING };

	named.value.str.addr.ptr = named.name;
	named.value.str.len = 5;
	return lock.l_type == F_RDLCK && sizeof(mount->mik_curserver) == 257 && machine.procs == 1 &&
	    type == 1 && KSTAT_NAMED_STR_PTR(&named) == named.name && KSTAT_NAMED_STR_BUFLEN(&named) == 5 &&
	    sizeof(named.value.str) == sizeof(named.value.string) ? 0 : 1;
}
]])
    local r = run.tool("cc -Wall -Wextra -Werror -D_GNU_SOURCE -I" .. prefix .. "/include -o " .. program .. " " ..
      program .. ".c && " .. program)
    assert.equal("", r.err)
    assert.equal(0, r.status)
  end)

  -- What the installed headers declare, as name = header: functions, without those that are inline.
  local function declared_functions()
    local names, headers = {}, {}
    for header in run.shell("cd " .. prefix .. "/include && find . -name '*.h' | sort").out:gmatch("%./([^\n]+)") do
      headers[#headers + 1] = header
      local own, text = false, {}
      for line in run.tool("cc -E -D_GNU_SOURCE -I" .. prefix .. "/include " .. prefix .. "/include/" .. header)
        .out:gmatch("[^\n]+") do
        local from = line:match('^# %d+ "([^"]*)"')
        if from then
          own = from:sub(1, #prefix) == prefix
        elseif own and line:sub(1, 1) ~= "#" then
          text[#text + 1] = line
        end
      end
      text = table.concat(text, " "):gsub("__attribute__%s*%b()", ""):gsub("%b{}", ";")
      for declaration in text:gmatch("[^;]+") do
        local name = declaration:match("([%a_][%w_]*)%s*%b()%s*$")
        if name and not declaration:find("^%s*typedef%s") and not declaration:find("^%s*static%s") then
          names[name] = header
        end
      end
    end
    return names, headers
  end

  it("gives a library that has every function of its headers", function()
    local names, headers = declared_functions()
    local text, count = {}, 0
    for _, header in ipairs(headers) do
      text[#text + 1] = "#include <" .. header .. ">"
    end
    text[#text + 1] = "void (*volatile const address[])(void) = {"
    for name in pairs(names) do
      count = count + 1
      text[#text + 1] = "\t(void (*)(void))(" .. name .. "),"
    end
    text[#text + 1] = "};\nint\nmain(void)\n{\n\treturn address[0] == NULL;\n}\n"
    for _, name in ipairs({ "kstat_open", "kstat2_hist_bounds", "devstat_checkversion", "stats_blob_alloc",
      "stats_voi_update_abs_u64", "kstat_ioq_done", "kstat_blob" }) do
      assert.truthy(names[name], name)
    end
    assert.is_nil(names.kstat_counter_add)
    assert.is_true(count > 100)
    local program = root .. "/every_function"
    run.write_file(program .. ".c", table.concat(text, "\n"))
    for _, library in ipairs({ "-lkstat", "-l:libkstat.a" }) do
      local flags = run.tool("PKG_CONFIG_PATH=" .. prefix .. "/lib/pkgconfig pkg-config --define-variable=prefix=" ..
        prefix .. " --static --libs kstat").out:gsub("\n", " "):gsub("%-lkstat", library)
      local r = run.tool("cc -std=gnu11 -Wall " .. (os.getenv("KSTAT_CFLAGS") or "") .. " -I" .. prefix ..
        "/include -o " .. program .. " " .. program .. ".c " .. flags)
      assert.equal("", r.err)
      assert.equal(0, r.status)
    end
  end)

  it("gives a library to link statically", function()
    local flags = run.tool("PKG_CONFIG_PATH=" .. prefix .. "/lib/pkgconfig pkg-config --define-variable=prefix=" ..
      prefix .. " --static --libs kstat")
    local program = root .. "/man_page_io_static"
    local r = run.tool("cc -std=gnu11 " .. (os.getenv("KSTAT_CFLAGS") or "") .. " -I" .. prefix .. "/include -o " ..
      program .. " spec/c/man_page_io.c " .. prefix .. "/lib/libkstat.a " ..
      flags.out:gsub("\n", " "):gsub("%-lkstat", ""))
    assert.equal("", r.err)
    r = installed({ program })
    assert.equal(0, r.status, r.err)
  end)

  it("gives flags for a program without any shared library", function()
    if (os.getenv("KSTAT_CFLAGS") or ""):find("sanitize", 1, true) then
      pending("sanitizers need the shared C library")
      return
    end
    local flags = run.tool("PKG_CONFIG_PATH=" .. prefix .. "/lib/pkgconfig pkg-config --define-variable=prefix=" ..
      prefix .. " --static --cflags --libs kstat")
    local program = root .. "/man_page_io_alone"
    local r = run.tool("cc -static -std=gnu11 -o " .. program .. " spec/c/man_page_io.c " .. flags.out:gsub("\n", " "))
    -- The C library's remark about dlopen(), which loads the library of GPUs, is for those who ask for these.
    assert.equal("", (r.err:gsub("[^\n]*: in function [^\n]*:\n[^\n]*Using 'dlopen' in statically[^\n]*\n", "")))
    assert.equal(0, r.status)
    r = installed({ program })
    assert.equal(0, r.status, r.err)
    assert.matches("^%S+ %d+ %d+ %d+ %d+\n", r.out)
  end)
end)
