-- The headers of Solaris that `pkg-config kstat-solaris` adds, and that `pkg-config kstat` alone hides nothing.
local run = require("support.run")

describe("the headers of Solaris", function()
  local root

  local function flags_of(prefix, package, option)
    local r = run.tool(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --define-variable=prefix=%s %s %s"):format(prefix,
      prefix, option, package))
    assert.equal("", r.err)
    return r.out:gsub("\n", " ")
  end

  local function compiles(compiler, flags, text)
    local name = root .. "/program." .. (compiler:find("++", 1, true) and "cc" or "c")
    run.write_file(name, text)
    local r = run.tool(("%s -Wall -Wextra -Werror %s -fsyntax-only %s"):format(compiler, flags, name))
    assert.equal("", r.err, compiler)
    assert.equal(0, r.status, compiler)
  end

  local function there(compiler)
    return run.shell("command -v " .. compiler:match("^%S+")).status == 0
  end

  setup(function()
    root = run.directory()
    for _, prefix in ipairs({ "/opt/kstat", "/usr" }) do
      local r = run.tool(("make -s install BUILD=%s DESTDIR=%s PREFIX=%s"):format(run.quote(run.build), root, prefix))
      assert.equal(0, r.status, r.err)
    end
  end)

  teardown(function()
    run.remove_directory(root)
  end)

  -- Names that a program for Solaris takes from each header, beside the functions that Linux has there.
  local all = [[
#include <sys/types.h>
static boolean_t yes = B_TRUE;
static hrtime_t when;
static processorid_t cpu;
static uintptr_t address;
static uint32_t word;
#ifndef _INT64_TYPE
#error "no _INT64_TYPE"
#endif
#include <sys/time.h>
static struct tm calendar; /* <time.h> is part of it */
int parts[NANOSEC / MICROSEC == MILLISEC ? 1 : -1];
#include <sys/sysinfo.h>
static cpu_stat_t cpu_stat;
static sysinfo_t sums;
static vminfo_t pages;
int states[CPU_IDLE + CPU_USER + CPU_KERNEL + CPU_WAIT + W_IO + W_SWAP + W_PIO == 9 ? 1 : -1];
#include <sys/processor.h>
char online[] = PS_ONLINE;
#include <sys/dnlc.h>
int dnlc[sizeof(struct nc_stats) == 28 * sizeof(kstat_named_t) ? 1 : -1];
int ncstats[sizeof(struct ncstats) == 32 ? 1 : -1];
#include <sys/buf.h>
int biostats[sizeof(struct biostats) == 6 * sizeof(kstat_named_t) ? 1 : -1];
#include <sys/vnode.h>
int vopstats[sizeof(vopstats_t) == 49 * sizeof(kstat_named_t) ? 1 : -1];
#include <sys/var.h>
#include <sys/flock.h>
#include <nfs/nfs_clnt.h>
#include <kstat.h>
#include <sys/kstat.h>
static int use(struct sysinfo *machine, struct var *var, struct mntinfo_kstat *mount, kstat_named_t *named)
{
	struct timeval now;
	struct flock lock;
	lock.l_type = F_RDLCK;
	when = gethrtime() + gettimeofday(&now, NULL);
	KSTAT_NAMED_STR_PTR(named) = named->name;
	KSTAT_NAMED_STR_BUFLEN(named) = (uint32_t)sizeof(online);
	cpu = (processorid_t)(cpu_stat.cpu_sysinfo.cpu[CPU_IDLE] + sums.updates + pages.updates);
	address = (uintptr_t)machine;
	word = localtime(&now.tv_sec) == &calendar;
	return sysinfo(machine) + (int)(word + (uint32_t)address) + var->v_proc + (int)mount->mik_vers + lock.l_type + cpu +
	    (int)(sizeof(parts) + sizeof(states) + sizeof(dnlc) + sizeof(ncstats) + sizeof(biostats) + sizeof(vopstats) +
	    sizeof(timestruc_t) + sizeof(itimerval_t) + sizeof(major_t) + sizeof(taskid_t));
}
int main(void) { return yes == B_FALSE && use(NULL, NULL, NULL, NULL); }
]]

  it("have their names, and the system's headers of the same names have theirs", function()
    local flags = flags_of(root .. "/opt/kstat", "kstat-solaris", "--cflags")
    for _, compiler in ipairs({ "gcc -D_GNU_SOURCE -std=c89 -pedantic", "gcc -D_GNU_SOURCE -std=c99 -pedantic",
      "gcc -std=gnu11", "gcc -D_GNU_SOURCE -std=c2x -pedantic", "g++ -std=c++98 -pedantic", "g++ -std=c++11",
      "g++ -std=c++20 -pedantic", "clang -D_GNU_SOURCE -std=c99 -pedantic", "clang++ -std=c++17 -pedantic" }) do
      if there(compiler) then
        compiles(compiler, flags, all)
      end
    end
  end)

  it("are taken by the compiler of musl", function()
    if not there("musl-gcc") then
      pending("musl-gcc is not installed (Debian's musl-tools)")
      return
    end
    compiles("musl-gcc -D_GNU_SOURCE -std=c99", flags_of(root .. "/opt/kstat", "kstat-solaris", "--cflags"), all)
  end)

  it("compile each alone and in any order", function()
    local flags = flags_of(root .. "/opt/kstat", "kstat-solaris", "--cflags")
    local headers = {}
    for header in run.shell("cd " .. root .. "/opt/kstat/include && find . -name '*.h'").out:gmatch("%./([^\n]+)") do
      headers[#headers + 1] = header:gsub("^kstat%-solaris/", "")
    end
    table.sort(headers)
    assert.is_true(#headers >= 19)
    local backwards = {}
    for i, header in ipairs(headers) do
      backwards[#headers + 1 - i] = "#include <" .. header .. ">\n"
      compiles("gcc -std=c99", flags, "#include <" .. header .. ">\nint main(void) { return 0; }\n")
    end
    compiles("gcc -D_GNU_SOURCE -std=c99", flags, table.concat(backwards) .. "int main(void) { return 0; }\n")
  end)

  -- What OpenZFS's libzfs.h brings, with headers of its own for those of Solaris that its pkg-config puts on the path:
  -- a stub, and the headers themselves where they are installed.
  it("and those of kstat go with OpenZFS's libzfs.h, in both orders of both", function()
    local stub = root .. "/libspl"
    run.shell("mkdir -p " .. stub .. "/sys")
    run.write_file(stub .. "/sys/types.h", [[
#ifndef _LIBSPL_SYS_TYPES_H
#define _LIBSPL_SYS_TYPES_H
#include_next <sys/types.h>
typedef enum { B_FALSE = 0, B_TRUE = 1 } boolean_t;
typedef unsigned char uchar_t;
typedef unsigned int uint_t;
typedef unsigned long ulong_t;
typedef long long longlong_t;
typedef ulong_t pgcnt_t;
typedef int zoneid_t;
#endif
]])
    run.write_file(stub .. "/sys/time.h", [[
#ifndef _LIBSPL_SYS_TIME_H
#define _LIBSPL_SYS_TIME_H
#include <time.h>
#include <sys/types.h>
#include_next <sys/time.h>
#ifndef NANOSEC
#define NANOSEC 1000000000
#endif
typedef long long hrtime_t;
static inline hrtime_t gethrtime(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (hrtime_t)now.tv_sec * NANOSEC + now.tv_nsec;
}
#endif
]])
    run.write_file(stub .. "/libzfs.h", "#include <sys/types.h>\n#include <sys/time.h>\n" ..
      "typedef struct zfs_handle zfs_handle_t;\n")
    local theirs = { "-I" .. stub }
    if run.shell("test -f /usr/include/libzfs/libzfs.h").status == 0 then
      theirs[2] = "-isystem /usr/include/libzfs -isystem /usr/include/libspl"
    end
    local text = [[
static boolean_t yes = B_TRUE;
int main(void) { kstat_ctl_t *kc = NULL; zfs_handle_t *zfs = NULL; return kc || zfs || !yes || gethrtime() < NANOSEC; }
]]
    for _, zfs in ipairs(theirs) do
      local ours = flags_of(root .. "/opt/kstat", "kstat-solaris", "--cflags")
      local kstat = flags_of(root .. "/opt/kstat", "kstat", "--cflags")
      for _, flags in ipairs({ ours .. zfs, zfs .. " " .. ours, kstat .. zfs, zfs .. " " .. kstat }) do
        for _, compiler in ipairs({ "gcc -D_GNU_SOURCE -std=c99", "gcc -std=gnu11", "clang -std=gnu99", "g++" }) do
          if there(compiler) then
            compiles(compiler, flags, "#include <kstat.h>\n#include <libzfs.h>\n" .. text)
            compiles(compiler, flags, "#include <libzfs.h>\n#include <kstat.h>\n" .. text)
          end
        end
      end
    end
  end)

  it("are found below /usr, where the compiler looks by itself", function()
    local r = run.tool("PKG_CONFIG_PATH=" .. root .. "/usr/lib/pkgconfig pkg-config --cflags kstat-solaris")
    assert.equal("-I/usr/include/kstat-solaris", (r.out:gsub("%s+$", "")))
    compiles("gcc -std=gnu11", ("-I%s/usr/include/kstat-solaris -idirafter %s/usr/include"):format(root, root), all)
  end)

  it("bring the library's flags", function()
    local prefix = root .. "/opt/kstat"
    assert.equal(flags_of(prefix, "kstat", "--libs"), flags_of(prefix, "kstat-solaris", "--libs"))
  end)

  it("are out of sight of programs that ask for kstat alone", function()
    compiles("gcc -std=gnu11", flags_of(root .. "/opt/kstat", "kstat", "--cflags"), [[
#include <sys/types.h>
#include <sys/time.h>
#include <sys/sysinfo.h>
#include <kstat.h>
typedef int boolean_t, cpu_stat_t, sysinfo_t, processorid_t;
enum { B_TRUE, NANOSEC, CPU_IDLE };
int main(void) { struct sysinfo machine; return sysinfo(&machine); }
]])
  end)
end)
