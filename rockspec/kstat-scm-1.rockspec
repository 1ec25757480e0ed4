rockspec_format = "3.0"
package = "kstat"
version = "scm-1"

-- LuaRocks packs what lies at an absolute address, which a file in a repository cannot know. `luarocks make` does not use
-- it; what `luarocks pack` takes is a copy of this file with the address, and with the version and the checksum of a
-- release: `make dist` writes both, and packs them.
source = {
  url = "git+file://(only the rockspecs of make dist have an address)",
}

description = {
  summary = "Kernel statistics as Solaris and illumos give them, for Linux",
  detailed = [[
One typed, named interface to every counter of the machine and of your own processes: kstats of
the running Linux, of captures, and of programs that publish their own. With the commands kstat and
kstatlua, and reports such as iostat and vmstat.]],
  license = "MIT",
  labels = { "linux", "statistics", "monitoring", "kstat" },
}

supported_platforms = { "linux" }

dependencies = {
  "lua >= 5.1, < 5.5",
  "lpeg >= 1.0",
}

external_dependencies = {
  PCRE2 = { header = "pcre2.h" },
  YAJL = { header = "yajl/yajl_parse.h" },
  ZLIB = { header = "zlib.h" },
}

build = {
  type = "make",
  build_target = "rock",
  build_variables = {
    CC = "$(CC)",
    CFLAGS = "$(CFLAGS)",
    LIBFLAG = "$(LIBFLAG)",
    LUA = "$(LUA)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUA_LIBDIR = "$(LUA_LIBDIR)",
  },
  install_target = "rock-install",
  install_variables = {
    CC = "$(CC)",
    CFLAGS = "$(CFLAGS)",
    LIBFLAG = "$(LIBFLAG)",
    LUA = "$(LUA)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUA_LIBDIR = "$(LUA_LIBDIR)",
    INST_LUADIR = "$(LUADIR)",
    INST_LIBDIR = "$(LIBDIR)",
    INST_BINDIR = "$(BINDIR)",
    INST_PREFIX = "$(PREFIX)",
  },
  copy_directories = { "doc", "completion" },
}

test = {
  type = "command",
  command = "make check",
}
