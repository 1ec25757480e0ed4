rockspec_format = "3.0"
package = "kstat"
version = "1.0.0-1"

source = {
  url = "file://kstat-1.0.0.tar.gz",
}

description = {
  summary = "Kernel statistics as Solaris and illumos give them, for Linux",
  detailed = [[
One typed, named interface to every counter of the machine and of your own processes: kstats of
the running Linux, of captures, and of programs that publish their own.]],
  license = "MIT",
  labels = { "linux", "statistics", "monitoring", "kstat" },
}

supported_platforms = { "linux" }

dependencies = {
  "lua >= 5.1, < 5.5",
  "lpeg >= 1.0",
  "lua-cjson >= 2.1",
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
    LUA_INCDIR = "$(LUA_INCDIR)",
  },
  install_target = "rock-install",
  install_variables = {
    CC = "$(CC)",
    CFLAGS = "$(CFLAGS)",
    LIBFLAG = "$(LIBFLAG)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    INST_LUADIR = "$(LUADIR)",
    INST_LIBDIR = "$(LIBDIR)",
  },
}

test = {
  type = "command",
  command = "make check",
}
