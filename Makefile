# Makefile - builds libkstat, the Lua modules and kstatlua. See README.md.
#
#   make            everything, into $(BUILD); with LUAS="5.2 5.3" the module for these, too
#   make check      the test suite on Lua 5.4, and what depends on the Lua on LuaJIT and $(LUAS), too, or with
#                   what $(CHECK_WITH) names; SPECS="spec/core spec/lua/io_spec.lua" runs these alone
#   make lint       luacheck over all Lua files
#   make syntax     the compiler's warnings about all C files, without a build; with CC=clang those of clang
#   make analyze    what GCC's analyser finds in the C files
#   make sanitize   the specs of C code, the module and the commands again, built with ASan and UBSan
#   make soak       hostile neighbours, stress and damage for SOAK_SECONDS (600), built with ASan and UBSan; SOAK_KILLS
#                   (10000) recorders, publishers and writers of files; SOAK_PAIRS (1000) pairs of commands, subtracted
#   make coverage   which lines of csrc the specs run, and which functions never run
#   make race       the thread stress, built with TSan
#   make sweep      lets each request for memory and each system call of the commands fail, one in each run
#   make fuzz       each fuzzer for FUZZ_SECONDS
#   make mutants    changes a token in each of N (30) lines, of those since SINCE=REV, below PATHS, drawn by SEED; says
#                   which of these mistakes no spec notices
#   make bench      every benchmark
#   make doc        the reference of the Lua module as HTML and the catalogue of all statistics, into $(BUILD)/doc;
#                   `make install` installs them then
#   make install    into $(DESTDIR)$(PREFIX); make uninstall removes what it added
#   make dist       the archive of the sources, rockspecs and source rocks, into $(BUILD)/dist
#   make deb        Debian packages, into $(BUILD)/deb
#   make abi        compares what libkstat.so exports with the last release
#   make release    what is published: kstatlua as a file that needs the C library alone, for this machine, and for
#                   aarch64 where its compiler is; packages, source rock, licences, checksums; into $(BUILD)/release
#   make release VERSION=1.1.0   a release: its commit, its tag, and what make dist makes of them

# --- settings -----------------------------------------------------------------
comma    := ,
# Without the rules that are built into make, of which it would try each for each file.
MAKEFLAGS += --no-builtin-rules
BUILD    ?= build
# Relative to this directory, however it is given: make finds an object's dependencies under one name only.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
PREFIX   ?= /usr/local
# LIBDIR may be, for example, /usr/lib/x86_64-linux-gnu.
LIBDIR   ?= $(PREFIX)/lib
DESTDIR  ?=
$(foreach v,PREFIX LIBDIR,$(if $(filter-out /%,$($v))$(word 2,$($v)),\
    $(error $v is '$($v)': it must be an absolute path without spaces)))
override PREFIX := $(filter-out /,$(abspath $(PREFIX)))
override LIBDIR := $(abspath $(LIBDIR))
CC       ?= cc
AR       ?= ar
# Of the machine that the compiler compiles for.
OBJCOPY  ?= $(shell $(CC) -print-prog-name=objcopy)
CFLAGS   ?= -O2 -g
LDFLAGS  ?=
WERROR   ?=
INSTALL  ?= install
LUA      ?= lua5.4
LUAJIT   ?= luajit
LUAS     ?=
override LUAS := $(filter-out 5.4,$(LUAS))
CHECK_WITH ?= $(LUA) $(LUAJIT) $(LUAS:%=lua%)
BUSTED   ?= $(shell command -v busted)
LUACHECK ?= luacheck
LDOC     ?= lua5.1 $(shell command -v ldoc)
PKG_CONFIG ?= pkg-config
CLANG    ?= clang
FUZZ_SECONDS ?= 10

# --- sources and products ------------------------------------------------------------
# Each folder is a floor, the lowest first. A file includes headers of its own floor and of those below it.
FLOORS   := base stats model provider source select chain metrics output devstat
LIB_SRC  := $(foreach f,$(FLOORS),$(sort $(shell find csrc/$(f) -name '*.c')))
LUA_SRC  := $(sort $(wildcard csrc/lua/*.c))
HOST_SRC := $(sort $(wildcard csrc/host/*.c))
SPEC_SRC := $(sort $(wildcard spec/c/*.c))
BENCH_SRC := $(sort $(wildcard bench/*.c bench/helper/*.c))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef $(WERROR)
# Where a long has 32 bits, sizes of files and times have 64 only if that is asked for.
LONG      := $(lastword $(shell echo __SIZEOF_LONG__ | $(CC) $(CFLAGS) -E -P - 2>/dev/null))
LARGE     := $(if $(filter 4,$(LONG)),-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64)
CPP_ALL  := -D_GNU_SOURCE $(LARGE) -Icsrc/include -Icsrc
VERSION  := $(shell sed -n 's/^.define KSTAT_VERSION "\(.*\)"/\1/p' csrc/include/kstat.h)
C_ALL    := -std=c11 -fPIC -fvisibility=hidden -fno-math-errno $(WARNINGS)
LIB_LIBS := -lpcre2-8 -lyajl -lz -lm -lpthread -ldl

LUA54_CFLAGS := $(shell $(PKG_CONFIG) --cflags lua5.4)
# The host is linked with archives where they are installed: loading a shared library costs a tenth of Lua's
# start-up.
archive       = $(or $(wildcard $(shell $(PKG_CONFIG) --variable=libdir $(1))/$(2)),$(3))
LUA54_LIBS   := $(call archive,lua5.4,liblua5.4.a,$(shell $(PKG_CONFIG) --libs lua5.4))
# LPeg is a module; the host has it inside, so that a copy of the program needs nothing but the C library.
LPEG         := $(wildcard $(shell $(PKG_CONFIG) --variable=libdir lua5.4)/liblua5.4-lpeg.a)
HOST_LIBS    := $(if $(LPEG),-Wl$(comma)-u$(comma)luaopen_lpeg $(LPEG)) $(LUA54_LIBS) $(call archive,libpcre2-8,libpcre2-8.a,-lpcre2-8) \
                $(call archive,yajl,libyajl_s.a,-lyajl) $(call archive,zlib,libz.a,-lz) -lm -lpthread -ldl
# The libraries that a program needs beside libkstat.a. Debian's archive of yajl is not named like its library.
PC_LIBS      := $(patsubst -lyajl,$(if $(call archive,yajl,libyajl_s.a,),-lyajl_s,-lyajl),$(LIB_LIBS))
# LuaJIT loads a module that was built for the API of Lua 5.1.
LUA51_CFLAGS := $(shell $(PKG_CONFIG) --cflags luajit 2>/dev/null || $(PKG_CONFIG) --cflags lua5.1 2>/dev/null)

# kstat.http, a module of its own, is built where its library is installed.
HTTP_LIBS    := $(shell $(PKG_CONFIG) --libs libmicrohttpd gnutls libcrypt 2>/dev/null)
HTTP_SRC     := $(wildcard csrc/http/*.c) csrc/lua/http/module.c

# kstat.bpf is built where clang, which makes its programs for the kernel, and libbpf are.
BPF_LIBS     := $(if $(shell command -v $(CLANG)),$(shell $(PKG_CONFIG) --libs libbpf 2>/dev/null))
BPF_SRC      := csrc/bpf/loader.c csrc/lua/bpf/module.c
BPF_OBJECT   := $(BUILD)/obj/bpf/latency.bpf.o
BPF_OBJ      := $(BUILD)/obj/model/exponential.o $(BUILD)/obj/lua54/compat.o

PAGE     := lua/kstat/page/text.lua

O        := $(BUILD)/obj
LIB_OBJ  := $(LIB_SRC:csrc/%.c=$(O)/%.o)
LUA54_OBJ := $(LUA_SRC:csrc/lua/%.c=$(O)/lua54/%.o)
LUA51_OBJ := $(LUA_SRC:csrc/lua/%.c=$(O)/lua51/%.o)
HOST_OBJ := $(HOST_SRC:csrc/host/%.c=$(O)/host/%.o)
SPEC_BIN := $(SPEC_SRC:spec/c/%.c=$(BUILD)/spec/%)
BENCH_BIN := $(BENCH_SRC:bench/%.c=$(BUILD)/bench/%)

SO_MAJOR := 1
LIB      := $(BUILD)/lib/libkstat.so.$(SO_MAJOR)
MODULES  := $(BUILD)/lib/lua/5.4/kstat/core.so \
            $(if $(LUA51_CFLAGS),$(BUILD)/lib/lua/5.1/kstat/core.so) \
            $(LUAS:%=$(BUILD)/lib/lua/%/kstat/core.so) \
            $(if $(HTTP_LIBS),$(BUILD)/lib/lua/5.4/kstat/http.so) \
            $(if $(BPF_LIBS),$(BUILD)/lib/lua/5.4/kstat/bpf.so)
# What programs are linked with, and the same with all functions, of which modules, the host and specs are made.
ARCHIVE  := $(BUILD)/lib/libkstat.a
INTERNAL := $(O)/libkstat.a
LINKS    := $(BUILD)/lib/libkstat.so $(BUILD)/bin/kstat \
            $(BUILD)/share/lua/5.4/kstat $(BUILD)/share/lua/5.1/kstat \
            $(LUAS:%=$(BUILD)/share/lua/%/kstat) $(BUILD)/share/kstat/scripts

.PHONY: all check check-logs sweep lint sanitize soak race fuzz fuzz-programs fuzz-grammar fuzz-commands bench bench-programs spec-programs clean FORCE
all: $(LIB) $(ARCHIVE) $(MODULES) $(BUILD)/bin/kstatlua $(LINKS) $(BUILD)/definitions/kstat.d.lua \
     $(if $(BPF_LIBS),,$(O)/without-bpf)

# --- objects ------------------------------------------------------------------
QUIET    = @printf '%-5s %s\n' $(1) '$@';
COMPILE  = $(call QUIET,CC) mkdir -p $(@D) && $(CC) $(CPP_ALL) $(CPPFLAGS) $(C_ALL) $(CFLAGS) -MMD -MP

$(O)/lua54/%.o: csrc/lua/%.c
	$(COMPILE) $(LUA54_CFLAGS) -c -o $@ $<
$(O)/lua51/%.o: csrc/lua/%.c
	$(COMPILE) $(LUA51_CFLAGS) -c -o $@ $<
$(O)/host/%.o: csrc/host/%.c
	$(COMPILE) $(LUA54_CFLAGS) -DKSTAT_PREFIX='"$(PREFIX)"' -c -o $@ $<
$(O)/%.o: csrc/%.c
	$(COMPILE) -c -o $@ $<

# --- products -----------------------------------------------------------------
$(LIB): $(LIB_OBJ) csrc/libkstat.map
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) -shared -Wl,-soname,$(@F) $(MODULE_LD) \
	    -Wl,--version-script=csrc/libkstat.map $(CFLAGS) $(LDFLAGS) -o $@ $(LIB_OBJ) $(LIB_LIBS)
$(INTERNAL): $(LIB_OBJ)
	$(call QUIET,AR) mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
# One object, in which all that is hidden is local: a program that is linked with it may use any name but the API's.
$(ARCHIVE): $(LIB_OBJ)
	$(call QUIET,AR) mkdir -p $(@D) && $(CC) $(CFLAGS) -nostdlib -r -o $(O)/libkstat.o $^ && \
	    $(OBJCOPY) --localize-hidden $(O)/libkstat.o && rm -f $@ && $(AR) rcs $@ $(O)/libkstat.o
# The library and the module are never unloaded: published kstats outlive the Lua state (nginx makes a new state at
# each reload), and a thread that asks a file system may return late.
MODULE_LD := -Wl,--as-needed -Wl,-z,nodelete
$(BUILD)/lib/lua/5.4/kstat/core.so: $(LUA54_OBJ) $(INTERNAL)
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) -shared $(MODULE_LD) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LIBS)
$(BUILD)/lib/lua/5.1/kstat/core.so: $(LUA51_OBJ) $(INTERNAL)
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) -shared $(MODULE_LD) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LIBS)
$(BUILD)/lib/lua/5.4/kstat/http.so: $(HTTP_SRC) $(wildcard csrc/http/*.h)
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) $(CPP_ALL) $(CPPFLAGS) $(C_ALL) $(CFLAGS) $(LUA54_CFLAGS) -shared \
	    $(LDFLAGS) -o $@ $(HTTP_SRC) $(HTTP_LIBS) -lz
# The programs for the kernel, whose types are found when they are loaded: it is made on any machine, for all kernels.
$(BPF_OBJECT): csrc/bpf/latency.bpf.c csrc/bpf/fields.h csrc/bpf/latency.h
	$(call QUIET,BPF) mkdir -p $(@D) && $(CLANG) -target bpf -mcpu=v3 -O2 -g $(filter-out -Wmissing-prototypes -Wstrict-prototypes,$(WARNINGS)) -Icsrc \
	    -I/usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<
$(BUILD)/lib/lua/5.4/kstat/bpf.so: $(BPF_SRC) $(BPF_OBJECT) $(BPF_OBJ) csrc/bpf/loader.h csrc/bpf/latency.h
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) $(CPP_ALL) $(CPPFLAGS) $(C_ALL) $(CFLAGS) $(LUA54_CFLAGS) -shared $(LDFLAGS) \
	    -DLATENCY_OBJECT='"$(BPF_OBJECT)"' -o $@ $(BPF_SRC) $(BPF_OBJ) $(BPF_LIBS)
$(O)/without-bpf:
	@mkdir -p $(@D) && touch $@ && echo "kstatlua latency is not built: it needs clang and libbpf (Debian: clang libbpf-dev)"
# The module for a further Lua, $(1); Debian's pkg-config knows it as lua$(1).
define FURTHER_LUA
$(O)/lua$(1)/%.o: csrc/lua/%.c
	$$(COMPILE) $(shell $(PKG_CONFIG) --cflags lua$(1)) -c -o $$@ $$<
$(BUILD)/lib/lua/$(1)/kstat/core.so: $(LUA_SRC:csrc/lua/%.c=$(O)/lua$(1)/%.o) $(INTERNAL)
	$$(call QUIET,LD) mkdir -p $$(@D) && \
	    $$(CC) -shared $$(MODULE_LD) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(LIB_LIBS)
endef
$(foreach lua,$(LUAS),$(eval $(call FURTHER_LUA,$(lua))))
# The page of kstat.page, one text of what lies in web/. It is made next to the other modules, since all builds, the
# installation and the rock take these from there.
$(PAGE): web/embed web/page.html web/page.css $(wildcard web/*.js web/vendor/uplot/*)
	$(call QUIET,PAGE) web/embed > $@.new && mv $@.new $@
# The Lua half of the module and the scripts, compiled into the host; see csrc/host/host.h.
LUA_FILES := $(sort $(PAGE) $(shell find lua/kstat -name '*.lua') $(wildcard scripts/*.lua))
# What editors read of the module's functions, types and units; see doc/definitions.lua.
DEFINITIONS := $(BUILD)/definitions
$(DEFINITIONS)/kstat.d.lua: doc/definitions.lua config.ld $(LUA_FILES)
	$(call QUIET,LUA) mkdir -p $(@D) && $(LUA) $< $(@D)
$(O)/host/modules.c: csrc/host/compile.lua $(LUA_FILES)
	$(call QUIET,LUA) mkdir -p $(@D) && $(LUA) $< $(LUA_FILES) > $@.new && mv $@.new $@
$(O)/host/modules.o: $(O)/host/modules.c
	$(COMPILE) $(LUA54_CFLAGS) -c -o $@ $<
# -Wl,-E: the C modules that scripts load, such as LPeg, use the host's lua_* functions.
$(BUILD)/bin/kstatlua: $(HOST_OBJ) $(O)/host/modules.o $(LUA54_OBJ) $(INTERNAL)
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) -Wl,-E -Wl,--as-needed $(CFLAGS) $(LDFLAGS) $(PROGRAM_LD) -o $@ $^ \
	    $(HOST_LIBS)
# The same to be published: without what debuggers read, and with it the name of this directory.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
PUBLISHED := $(BUILD)/release
$(PUBLISHED)/$(MACHINE)/kstatlua: $(HOST_OBJ) $(O)/host/modules.o $(LUA54_OBJ) $(INTERNAL)
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) -s -Wl,-E -Wl,--as-needed $(CFLAGS) $(LDFLAGS) -o $@ $^ \
	    $(HOST_LIBS)

$(BUILD)/lib/libkstat.so: $(LIB)
	@ln -sf $(<F) $@
$(BUILD)/bin/kstat: $(BUILD)/bin/kstatlua
	@ln -sf kstatlua $@
$(BUILD)/share/lua/5.4/kstat $(BUILD)/share/lua/5.1/kstat $(LUAS:%=$(BUILD)/share/lua/%/kstat):
	@mkdir -p $(@D) && ln -sfn $(CURDIR)/lua/kstat $@
$(BUILD)/share/kstat/scripts:
	@mkdir -p $(@D) && ln -sfn $(CURDIR)/scripts $@

# --- tests --------------------------------------------------------------------
# Programs that specs run. Those named core_* test internal functions and are linked with the archive; the others
# are linked with the shared library, as a user's program is. A cache of the compiler has objects, not programs.
$(BUILD)/spec/core_%: spec/c/core_%.c $(INTERNAL)
	$(COMPILE) -MT $@ -c -o $@.o $< && $(CC) $(CFLAGS) $(LDFLAGS) $(PROGRAM_LD) -o $@ $@.o $(INTERNAL) $(LIB_LIBS)
$(BUILD)/spec/%: spec/c/%.c $(LIB) $(BUILD)/lib/libkstat.so
	$(COMPILE) -MT $@ -c -o $@.o $< && $(CC) $(CFLAGS) $(LDFLAGS) $(PROGRAM_LD) -o $@ $@.o -L$(BUILD)/lib -lkstat \
	    -Wl,-rpath,$(abspath $(BUILD)/lib) -lpthread

# The programs that let each call of another one fail; see spec/sweep/sweep.c.
SWEEP := $(BUILD)/spec/sweep $(BUILD)/spec/fail.so
$(BUILD)/spec/sweep: spec/sweep/sweep.c spec/sweep/fail.h
	$(COMPILE) -o $@ $<
$(BUILD)/spec/fail.so: spec/sweep/fail.c spec/sweep/fail.h
	$(COMPILE) -shared -o $@ $<
# Stubs of NVIDIA's library, of this time and of 2014, of a slow disk, and of clocks; see spec/stub.
NVML_STUBS := $(BUILD)/spec/nvml_stub.so $(BUILD)/spec/nvml_stub_old.so
STUBS := $(NVML_STUBS) $(BUILD)/spec/slow_disk.so $(BUILD)/spec/clocks.so
$(NVML_STUBS): spec/stub/nvml.c
	$(COMPILE) $(if $(findstring old,$@),-DNVML_OLD) -shared -o $@ $<
$(BUILD)/spec/slow_disk.so $(BUILD)/spec/clocks.so: $(BUILD)/spec/%.so: spec/stub/%.c
	$(COMPILE) -shared -o $@ $< -ldl
# SWEEP_EVERY=17 lets one call of 17 fail.
SWEEP_EVERY ?= 1
sweep: all spec-programs
	spec/sweep/run $(BUILD) $(SWEEP_EVERY) '$(SWEEP_ONLY)'

# SPECS: files and folders below spec/, and arguments of busted. Each file of specs is a target of its own: its
# log. Files that begin by loading the module into the interpreter, or start the interpreter, run on each of
# $(CHECK_WITH); the others test programs and C code, which are the same for every Lua, and run on the first. So do
# those of the Linux source, which is C code.
# BINDING_SPECS: those of what differs between Luas: numbers, userdata, iterators, what is published.
SPECS     ?= spec
SPEC_ARGS  = $(filter-out spec spec/%,$(SPECS))
SPEC_FOUND = $(sort $(shell find $(or $(filter spec spec/%,$(SPECS)),spec) -name '*_spec.lua'))
# Those that take long start first, so that none of them runs alone at the end; what waits stands between what computes.
SLOW_SPECS := $(patsubst %,spec/%_spec.lua,tools/nginx_failures tools/use_load tools/latency tools/page tools/use \
              core/clients tools/nginx_rows core/robust tools/prometheus core/tdigest tools/http lua/alike \
              tools/nginx_page core/capture tools/screen docs/uninstall tools/incidents core/layers tools/publishers \
              core/stress core/sweep lua/stats core/hostile docs/solaris_headers lua/past_steps lua/calls \
              tools/completion lua/screen tools/record tools/record_directory core/linux_process core/linux_network \
              tools/openmetrics docs/install tools/nginx_scrape core/linux_fs docs/readme)
SPEC_FILES = $(filter $(SPEC_FOUND),$(SLOW_SPECS)) $(filter-out $(SLOW_SPECS),$(SPEC_FOUND))
PER_LUA    = $(filter-out spec/core/linux_%,$(shell grep -lE '^local \w+ = require."kstat|run\.lua\>' $(SPEC_FILES) /dev/null))
FURTHER_SPECS ?= $(PER_LUA)
BINDING_SPECS := $(patsubst %,spec/lua/%_spec.lua,kstat selector sample every stats publish latency io aggregate report)
CHECK_LOGS = $(foreach lua,$(CHECK_WITH),$(patsubst spec/%.lua,$(BUILD)/check/$(notdir $(lua))/%.log, \
             $(if $(filter $(lua),$(firstword $(CHECK_WITH))),$(SPEC_FILES),$(FURTHER_SPECS))))

# What is many files is one text, spec/NAME.tree, which is unpacked as $(BUILD)/NAME: see spec/support/tree.lua.
TREES := $(patsubst spec/%.tree,$(BUILD)/%,$(sort $(wildcard spec/*/*.tree)))
$(TREES): $(BUILD)/%: spec/%.tree spec/support/tree.lua
	$(call QUIET,TREE) rm -rf $@ $@.new && $(LUA) spec/support/tree.lua unpack $< $@.new && mv $@.new $@

spec-programs: $(SPEC_BIN) $(SWEEP) $(STUBS) $(TREES)
# Temporary files are in memory where there is enough of it and programs may run there: a publication's file costs
# 20 ms on some disks.
MEMORY = $(shell [ "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 2000000 ] && \
         ! grep -q '^[^ ]* /dev/shm [^ ]* [^ ]*noexec' /proc/mounts && echo /dev/shm)
# Side by side, three on each processor since specs often wait, unless make was told how many jobs it may run.
JOBS   = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell expr 3 \* $$(nproc)))
check: all spec-programs
	+@TMPDIR=$(or $(MEMORY),$${TMPDIR:-/tmp}) $(MAKE) --no-print-directory $(JOBS) -O check-logs
	@$(LUA) spec/support/summary.lua $(CHECK_LOGS)
check-logs: $(CHECK_LOGS)
FORCE:

# How an interpreter is started. The loader preloads what KSTAT_PRELOAD names into it alone: a variable would do it to all
# programs that specs run, and the sanitizer's library takes longer to start than most of them run.
RUN = $(if $(KSTAT_PRELOAD),$(lastword $(shell readelf -p .interp $$(command -v $(1)))) --preload $(KSTAT_PRELOAD)) \
      $(shell command -v $(1))

# Each run has directories of its own for temporary files, of which none stays, and for published kstats, so that
# neither other specs nor the machine's publishers change what it reads. Specs let other users read what is temporary.
# On a busy machine an answer may take more than 250 ms; specs of what never answers set KSTAT_WAIT_MAX themselves.
define CHECK_LUA
$(BUILD)/check/$(notdir $(1))/%.log: spec/%.lua FORCE
	@mkdir -p $$(@D); dir=$$$$(mktemp -d); mkdir -m 700 $$$$dir/kstat; chmod 1777 $$$$dir; unset MAKEFLAGS; \
	{ echo "== $(notdir $(1)) $$<"; TMPDIR=$$$$dir KSTAT_DIR=$$$$dir/kstat KSTAT_BUILD=$(abspath $(BUILD)) \
	    KSTAT_WAIT_MAX=30000 KSTAT_CFLAGS="$(filter-out --coverage,$(CFLAGS))" $(call RUN,$(1)) $(BUSTED) --ignore-lua --helper=spec/helper.lua \
	    $(SPEC_ARGS) $$< </dev/null; \
	    echo "== status $$$$?"; } >$$@ 2>&1; sed '/^== status 0$$$$/d' $$@; rm -rf $$$$dir
endef
$(foreach lua,$(CHECK_WITH),$(eval $(call CHECK_LUA,$(lua))))

# --- benchmarks -----------------------------------------------------------------
$(BUILD)/bench/%: bench/%.c $(INTERNAL)
	$(COMPILE) $(LDFLAGS) -o $@ $< $(INTERNAL) $(LIB_LIBS)

bench-programs: $(BENCH_BIN)
bench: all
	@KSTAT_BUILD=$(abspath $(BUILD)) bench/run

# The interpreters are not built with ASan, so that its library, KSTAT_PRELOAD, is preloaded into them, and into those
# that specs start. What they have not freed at their end is not reported as a leak. The search for leaks crashes where
# the thread-local variables of a library lie 16 bytes behind a page's start, so it does not look for those libraries.
# Specs start programs by the thousand, which start faster without 1,400 pages of addresses to relocate.
SAN_FLAGS = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ASAN_LIB  = $(shell $(CC) -print-file-name=libasan.so)
# Specs that take long and run no C code of ours that others do not: a browser, a Prometheus, a machine under load, what
# shells complete, what a compiler says of the sources, what scripts make of figures, all views on a terminal; and by
# their tags the accuracy of digests, and clients on further trees.
SAN_OTHERS := $(patsubst %,spec/%_spec.lua,tools/page tools/nginx_page tools/prometheus tools/use_load tools/peers \
              tools/node_tree tools/completion tools/use tools/screen tools/prstat tools/diff tools/faults core/layers)
SAN_SPECS = $(if $(filter command,$(origin SPECS)),$(SPECS), --exclude-tags=accuracy,trees \
            $(filter-out $(SAN_OTHERS),$(sort $(wildcard $(patsubst %,spec/%/*_spec.lua,core lua tools)))))
sanitize:
	+ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1 \
	    $(MAKE) BUILD=build-asan CFLAGS="-Og -g1 $(SAN_FLAGS)" PROGRAM_LD=-no-pie SPECS="$(SAN_SPECS)" \
	    FURTHER_SPECS="$(BINDING_SPECS)" KSTAT_PRELOAD=$(ASAN_LIB) check

SOAK_SECONDS ?= 600
SOAK_KILLS ?= 10000
SOAK_PAIRS ?= 1000
soak:
	+KSTAT_SOAK=$(SOAK_SECONDS) $(MAKE) sanitize CHECK_WITH=lua5.4 \
	    SPECS="spec/core/hostile_spec.lua spec/core/stress_spec.lua spec/core/robust_spec.lua \
	    spec/core/everywhere_spec.lua"
	+KSTAT_KILLS=$(SOAK_KILLS) $(MAKE) check SPECS="spec/tools/record_spec.lua spec/tools/record_directory_spec.lua \
	    spec/tools/killed_spec.lua --filter=however" CHECK_WITH=lua5.4
	+KSTAT_PAIRS=$(SOAK_PAIRS) $(MAKE) check SPECS=spec/tools/pairs_spec.lua CHECK_WITH=lua5.4

# The share of the lines of csrc that run in the specs, and the functions that never do.
COVERAGE ?= 93
.PHONY: coverage
coverage:
	@find $(BUILD)/coverage -name '*.gcda' -delete 2>/dev/null || true
	+@GCOV_ERROR_FILE=/dev/null $(MAKE) BUILD=$(BUILD)/coverage CFLAGS="-O0 -g --coverage" CHECK_WITH=$(LUA) check >/dev/null || \
	    echo "coverage: some specs failed"
	@$(LUA) spec/support/coverage.lua $(BUILD)/coverage $(COVERAGE)

# The programs with several threads, built with ThreadSanitizer.
race:
	+$(MAKE) BUILD=$(BUILD)/race CFLAGS="-O1 -g -fsanitize=thread" LDFLAGS=-fsanitize=thread \
	    $(patsubst %,$(BUILD)/race/spec/%,core_stress core_provider core_record_directory devstat_threads)
	$(BUILD)/race/spec/core_provider
	dir=$$(mktemp -d) && $(BUILD)/race/spec/core_record_directory $$dir 0 2160 600 1209600 20000; rc=$$?; \
	    rm -rf $$dir; exit $$rc
	dir=$$(mktemp -d) && KSTAT_DIR=$$dir KSTAT_PROC=$$dir KSTAT_SYS=$$dir TSAN_OPTIONS=die_after_fork=0 \
	    $(BUILD)/race/spec/devstat_threads 10; rc=$$?; rm -rf $$dir; exit $$rc
	dir=$$(mktemp -d) && KSTAT_DIR=$$dir $(BUILD)/race/spec/core_stress 5 1 8; rc=$$?; \
	    rm -rf $$dir; exit $$rc

# --- mutants -------------------------------------------------------------------
# See spec/mutants/mutants.lua; what it made is left in $(BUILD)/mutants.
N     ?= 30
SEED  ?= 1
PATHS ?= csrc lua scripts
.PHONY: mutants mutant-flags
mutants:
	@mkdir -p $(BUILD)/mutants
	@TMPDIR=$(or $(MEMORY),$${TMPDIR:-/tmp}) $(LUA) spec/mutants/mutants.lua \
	    $(BUILD) $(N) $(SEED) "$(SINCE)" "$(PATHS)" "$(SPECS)"
mutant-flags:
	@echo '$(CPP_ALL) $(LUA54_CFLAGS) -DKSTAT_PREFIX="" -std=c11'

# --- fuzzers ------------------------------------------------------------------
# Each spec/fuzz/NAME.c is a program with libFuzzer. Inputs that made it fail are left in $(BUILD)/fuzz/.
FUZZ_CFLAGS ?= -O1 -g
FUZZ_FLAGS = $(FUZZ_CFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_BIN := $(patsubst spec/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard spec/fuzz/*.c))
$(BUILD)/fuzz/obj/libkstat.a: $(LIB_SRC) $(shell find csrc -name '*.h')
	+$(MAKE) BUILD=$(BUILD)/fuzz CC=$(CLANG) CFLAGS="$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link" $@
$(FUZZ_BIN): $(BUILD)/fuzz/%: spec/fuzz/%.c $(BUILD)/fuzz/obj/libkstat.a
	$(call QUIET,CC) $(CLANG) $(CPP_ALL) $(C_ALL) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $< \
	    $(FUZZ_WRAP:%=-Wl,--wrap=%) $(BUILD)/fuzz/obj/libkstat.a $(LIB_LIBS)
MEMORY_CALLS := open openat close read pread faccessat fstatat fstat fstatfs readlinkat fdopendir readdir closedir dirfd \
                inotify_add_watch
$(BUILD)/fuzz/linux: FUZZ_WRAP := $(MEMORY_CALLS) ks_linux_subsystem ks_linux_choose ks_linux_image \
    $(foreach cmp,cmp1 cmp4 cmp8 const_cmp1 const_cmp4 const_cmp8,__sanitizer_cov_trace_$(cmp))
# What libFuzzer knows of the frequency of 30,000 features takes longer than a run.
$(BUILD)/fuzz/linux.run: FUZZ_OPTIONS := -entropic=0
FUZZ_RUNS := $(FUZZ_BIN:=.run)
fuzz: $(FUZZ_RUNS) fuzz-grammar fuzz-commands
fuzz-programs: $(FUZZ_BIN) $(TREES)
# What people type, in the language in which it is parsed.
fuzz-grammar: all
	@printf '%-5s grammar: %s\n' FUZZ "$$($(BUILD)/bin/kstatlua spec/fuzz/grammar.lua $(FUZZ_SECONDS))"
fuzz-commands: all
	@KSTAT_SOURCE=spec/vectors/kstat/host.jsonl $(BUILD)/bin/kstatlua spec/fuzz/commands.lua $(FUZZ_SECONDS) \
	    2>&1 >/dev/null | sed '1s/^/FUZZ  commands: /; /is not answered/q1'
$(FUZZ_RUNS): %.run: % $(TREES) FORCE
	@mkdir -p $*.corpus; seeds=$*.seeds; [ -d $$seeds ] || seeds=; KSTAT_BUILD=$(BUILD) \
	$* $(FUZZ_OPTIONS) -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$*. $*.corpus $$seeds >$*.log 2>&1 || \
	    { tail -40 $*.log; exit 1; }; printf '%-5s %s: %s\n' FUZZ $(*F) "$$(tail -1 $*.log)"

# The page that lists every statistic, of the tables of the Linux source.
CATALOGUE := $(BUILD)/doc/kstats.md
$(CATALOGUE): $(BUILD)/spec/core_catalogue
	@mkdir -p $(@D) && $< > $@.new && mv $@.new $@

# The text is in the modules' comments; config.ld lists the modules.
LUA_DOC := $(BUILD)/doc/lua
.PHONY: doc
doc: $(LUA_DOC)/index.html $(CATALOGUE)
$(LUA_DOC)/index.html: config.ld $(shell find lua/kstat -name '*.lua')
	$(call QUIET,LDOC) rm -rf $(@D) && mkdir -p $(@D) && \
	    $(LDOC) --fatalwarnings --date "kstat $(VERSION)" -q -d $(@D) . >/dev/null

# The compiler's warnings about all C files, in a process for many files: far faster than a build.
SYNTAX = $(CC) -fsyntax-only $(CPP_ALL) $(CPPFLAGS) $(C_ALL) $(CFLAGS)
.PHONY: syntax syntax-lib syntax-others syntax-lua54 syntax-lua51
syntax: syntax-lib syntax-others syntax-lua54 syntax-lua51
syntax-lib:
	@$(SYNTAX) $(LIB_SRC)
syntax-others:
	@$(SYNTAX) $(SPEC_SRC) $(BENCH_SRC)
syntax-lua54:
	@$(SYNTAX) $(LUA54_CFLAGS) -DKSTAT_PREFIX='"$(PREFIX)"' $(LUA_SRC) $(HOST_SRC) $(if $(HTTP_LIBS),$(HTTP_SRC))
syntax-lua51:
	@$(if $(LUA51_CFLAGS),$(SYNTAX) $(LUA51_CFLAGS) $(LUA_SRC))

# What GCC's analyser finds on the paths through each C file: memory that is freed twice or used afterwards, pointers
# that may be NULL, values that nobody set. It does not know that lists and tables own what is added to them, so that
# leaks are left to the sanitizers.
ANALYZE = gcc -fanalyzer -Wno-analyzer-malloc-leak -Werror -O1 -c -o /dev/null $(CPP_ALL) $(CPPFLAGS) $(C_ALL) \
          $(LUA54_CFLAGS) -DKSTAT_PREFIX='"$(PREFIX)"'
ANALYZED := $(patsubst %.c,%.analyzed,$(LIB_SRC) $(LUA_SRC) $(HOST_SRC) $(if $(HTTP_LIBS),$(HTTP_SRC)))
.PHONY: analyze $(ANALYZED)
analyze: $(ANALYZED)
$(ANALYZED): %.analyzed: %.c
	@$(ANALYZE) $<

lint:
	$(LUACHECK) --quiet $(wildcard lua scripts examples spec bench rockspec/*.lua)

# --- installation ---------------------------------------------------------------
.PHONY: install install-files uninstall
# ZSH_DIR is below PREFIX. A file $(INSTALLED) lists what was added, for `make uninstall`.
ZSH_DIR  ?= $(PREFIX)/share/zsh/site-functions
INSTALLED = $(PREFIX)/share/kstat/installed
# Commands under their names of Solaris, in a directory of their own for those who want them first in PATH.
SOLARIS_NAMES = fsstat intrstat iostat kstat mpstat prstat vmstat
D := $(DESTDIR)$(PREFIX)
L := $(DESTDIR)$(LIBDIR)
# What is compiled is installed without its debugging information, which Debian's packages have in some of their own.
# Empty: it is installed as it was built.
STRIPPED ?= yes
# What replaces @NAMES@ in files that are installed. A library that the loader does not search for is found by programs
# that are linked with the flags of pkg-config.
RPATH    := $(if $(filter-out /usr/lib% /usr/local/lib,$(LIBDIR)),-Wl$(comma)-rpath$(comma)$${libdir} )
FILL_IN   = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|g' \
            -e 's|@VERSION@|$(VERSION)|g' -e 's|@LIBS@|$(PC_LIBS)|g' -e 's|@RPATH@|$(RPATH)|g' -e 's|@LARGE@|$(LARGE:%= %)|g'
install: all
	@umask 022 && stage=$$(mktemp -d) && trap 'rm -rf $$stage' EXIT && \
	    $(MAKE) -s --no-print-directory DESTDIR=$$stage install-files && \
	    packaging/install add $$stage "$(DESTDIR)" "$(INSTALLED)" && \
	    echo "Installed; $(DESTDIR)$(INSTALLED) lists the files."
	$(if $(DESTDIR),,@packaging/install loader "$(LIBDIR)")
uninstall:
	@packaging/install remove "$(DESTDIR)" "$(INSTALLED)"
	$(if $(DESTDIR),,@packaging/install loader "$(LIBDIR)" >/dev/null)
install-files:
	$(INSTALL) -d $(D)/bin $(L)/pkgconfig $(D)/share/kstat/scripts
	for d in . sys nfs kstat-solaris/sys; do \
	    $(INSTALL) -d $(D)/include/$$d && $(INSTALL) -m 644 csrc/include/$$d/*.h $(D)/include/$$d || exit; done
	$(INSTALL) -m 755 $(LIB) $(L)
	ln -sf $(notdir $(LIB)) $(L)/libkstat.so
	$(INSTALL) -m 644 $(ARCHIVE) $(L)
	for f in kstat kstat-solaris; do $(FILL_IN) $$f.pc.in > $(L)/pkgconfig/$$f.pc || exit; done
	for m in $(MODULES:$(BUILD)/lib/%=%); do $(INSTALL) -D -m 755 $(BUILD)/lib/$$m $(L)/$$m || exit; done
	# Each version of Lua has the same files: they are there once, with a name for each.
	first=; for lua in $(sort $(patsubst $(BUILD)/lib/%/kstat/,%,$(dir $(MODULES)))); do \
	    if [ -z "$$first" ]; then first=$(D)/share/$$lua; $(call INSTALL_LUA,$$first); \
	    else $(INSTALL) -d $(D)/share/$$lua && cp -al $$first/. $(D)/share/$$lua; fi || exit; done
	$(INSTALL) -m 644 scripts/*.lua $(D)/share/kstat/scripts
	# Last, after the Lua files: the host uses the modules compiled into it unless a file is newer.
	$(INSTALL) -m 755 $(BUILD)/bin/kstatlua $(D)/bin/kstatlua
	ln -sf kstatlua $(D)/bin/kstat
	$(if $(STRIPPED),cd $(L) && for f in $(notdir $(LIB)) $(MODULES:$(BUILD)/lib/%=%) $(abspath $(D)/bin/kstatlua); do \
	    $(OBJCOPY) -p --strip-unneeded $$f || exit; done && $(OBJCOPY) -p --strip-debug $(notdir $(ARCHIVE)))
	$(INSTALL) -d $(D)/libexec/kstat/bin
	for n in $(SOLARIS_NAMES); do ln -sf ../../../bin/kstatlua $(D)/libexec/kstat/bin/$$n || exit; done
	$(INSTALL) -d $(D)/lib/systemd/system
	for f in $(if $(HTTP_LIBS),examples/prometheus/kstat-exporter) packaging/kstat-record \
	    $(if $(BPF_LIBS),packaging/kstat-latency); do \
	    $(FILL_IN) $$f.service > $(D)/lib/systemd/system/$$(basename $$f).service || exit; done
	# The same without capabilities.
	$(FILL_IN) -e 's|^\(Description=.*\)|\1 without capabilities|' -e 's|^\(Conflicts=.*\)-unprivileged|\1|' \
	    -e 's|^\(CapabilityBoundingSet=\).*|\1|' -e 's|^\(AmbientCapabilities=\).*|\1|' \
	    packaging/kstat-record.service > $(D)/lib/systemd/system/kstat-record-unprivileged.service
	$(INSTALL) -D -m 644 packaging/kstat-record.conf $(D)/lib/sysusers.d/kstat-record.conf
	for n in 1 2 3 4 5 6 7 8 9; do set -- doc/man/*.$$n*; [ ! -e "$$1" ] || { \
	    $(INSTALL) -d $(D)/share/man/man$$n && $(INSTALL) -m 644 "$$@" $(D)/share/man/man$$n || exit; }; done
	$(if $(wildcard $(LUA_DOC)/index.html),cd $(LUA_DOC) && find . -type f | while read -r f; do \
	    $(INSTALL) -D -m 644 $$f $(D)/share/doc/kstat/lua/$$f || exit; done)
	$(if $(wildcard $(CATALOGUE)),$(INSTALL) -D -m 644 $(CATALOGUE) $(D)/share/doc/kstat/kstats.md)
	$(INSTALL) -D -m 644 completion/kstat.bash $(D)/share/bash-completion/completions/kstat
	ln -sf kstat $(D)/share/bash-completion/completions/kstatlua
	$(INSTALL) -D -m 644 completion/kstat.fish $(D)/share/fish/vendor_completions.d/kstat.fish
	ln -sf kstat.fish $(D)/share/fish/vendor_completions.d/kstatlua.fish
	$(INSTALL) -D -m 644 completion/_kstat $(DESTDIR)$(ZSH_DIR)/_kstat
# The Lua files below lua/, and the definitions for editors, into the directory $(1).
INSTALL_LUA = (cd lua && find . -name '*.lua' -printf '%h\n' | sort -u) | while read -r d; do \
	$(INSTALL) -d $(1)/$$d && $(INSTALL) -m 644 lua/$$d/*.lua $(1)/$$d || exit; done && \
	$(INSTALL) -m 644 $(DEFINITIONS)/*.d.lua $(1)/kstat

# --- the rock -------------------------------------------------------------------
# LuaRocks passes CC, CFLAGS, LIBFLAG, LUA, LUA_INCDIR and LUA_LIBDIR. Each Lua has a directory of objects of its own.
# For Lua 5.4 the rock has the host; for the others a launcher in Lua, which LuaRocks wraps, and the scripts beside it.
ROCK_DIR := $(BUILD)/rock/$(subst /,_,$(LUA_INCDIR))
ROCK_SRC := $(LIB_SRC) $(LUA_SRC)
ROCK_OBJ := $(ROCK_SRC:csrc/%.c=$(ROCK_DIR)/%.o)
ROCK_CPP := $(if $(LUA_INCDIR),-I$(LUA_INCDIR))
ROCK_NUM  = $(lastword $(shell printf '\043include <lua.h>\nLUA_VERSION_NUM' | $(CC) $(ROCK_CPP) -E -P - 2>/dev/null))
ROCK_LUA  = $(firstword $(wildcard $(LUA_LIBDIR)/liblua5.4.a $(LUA_LIBDIR)/liblua.a) $(LUA54_LIBS))
ROCK_HOST = $(if $(filter 504,$(ROCK_NUM)),$(if $(ROCK_LUA),$(ROCK_DIR)/kstatlua))
ROCK_HTTP = $(if $(HTTP_LIBS),$(ROCK_DIR)/http.so)
ROCK_HOST_OBJ := $(HOST_SRC:csrc/%.c=$(ROCK_DIR)/%.o) $(ROCK_DIR)/host/modules.o
LIBFLAG  ?= -shared
# What knows no Lua is compiled in the same way for each, so that a cache of the compiler has it.
$(ROCK_DIR)/%.o: csrc/%.c
	$(COMPILE) $(if $(filter csrc/lua/% csrc/host/%,$<),$(ROCK_CPP)) -c -o $@ $<
$(ROCK_DIR)/host/modules.o: $(O)/host/modules.c
	$(COMPILE) $(ROCK_CPP) -c -o $@ $<
$(ROCK_DIR)/core.so: $(ROCK_OBJ)
	$(call QUIET,LD) $(CC) $(LIBFLAG) $(LDFLAGS) $(MODULE_LD) -o $@ $^ $(LIB_LIBS)
$(ROCK_DIR)/http.so: $(HTTP_SRC)
	$(call QUIET,LD) mkdir -p $(@D) && $(CC) $(CPP_ALL) $(CPPFLAGS) $(C_ALL) $(CFLAGS) $(ROCK_CPP) $(LIBFLAG) \
	    $(LDFLAGS) -o $@ $(HTTP_SRC) $(HTTP_LIBS) -lz
$(ROCK_DIR)/kstatlua: $(ROCK_OBJ) $(ROCK_HOST_OBJ)
	$(call QUIET,LD) $(CC) -Wl,-E -Wl,--as-needed $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ROCK_LUA) $(LIB_LIBS) -ldl
.PHONY: rock rock-install
rock: $(ROCK_DIR)/core.so $(PAGE) $(DEFINITIONS)/kstat.d.lua
	+@$(MAKE) --no-print-directory $(ROCK_HOST) $(ROCK_HTTP)
rock-install: rock
	for m in core.so $(notdir $(ROCK_HTTP)); do \
	    $(INSTALL) -D -m 755 $(ROCK_DIR)/$$m $(INST_LIBDIR)/kstat/$$m || exit; done
	$(call INSTALL_LUA,$(INST_LUADIR))
	$(INSTALL) -D -m 755 $(or $(ROCK_HOST),rockspec/launcher.lua) $(INST_BINDIR)/kstatlua
	cp $(INST_BINDIR)/kstatlua $(INST_BINDIR)/kstat
	$(INSTALL) -d $(INST_PREFIX)/scripts && $(INSTALL) -m 644 scripts/*.lua $(INST_PREFIX)/scripts

# --- releases -------------------------------------------------------------------
# `make release VERSION=1.1.0` writes the version to the files that have it, commits, makes what `make dist` makes of a
# commit: the archive, a rockspec with its checksum, one of the repository, and their rocks. Then it makes the tag.
# RELEASE_URL is where the archives are published, SOURCE_URL where the repository is.
DIST      := $(BUILD)/dist
LUAROCKS  ?= luarocks-5.4
RELEASE_URL ?= file://$(abspath $(DIST))
SOURCE_URL ?= git+file://$(CURDIR)
.PHONY: dist release abi
# What libkstat.so has, compared with the last release; a step of `make release`.
abi: $(LIB)
	+@packaging/abi $(LIB)
ifeq ($(origin VERSION),command line)
release:
	+@packaging/release "$(VERSION)"
else
release: $(PUBLISHED)/$(MACHINE)/kstatlua
	+@BUILD=$(BUILD) MACHINE=$(MACHINE) VERSION=$(VERSION) packaging/published $(PUBLISHED)
endif
dist:
	rm -rf $(DIST) && mkdir -p $(DIST)
	git -c tar.umask=0022 archive --prefix=kstat-$(VERSION)/ -o $(DIST)/kstat-$(VERSION).tar.gz HEAD
	sum=$$(md5sum < $(DIST)/kstat-$(VERSION).tar.gz) && sed -e 's|^version = .*|version = "$(VERSION)-1"|' \
	    -e 's|^  url = .*|  url = "$(RELEASE_URL)/kstat-$(VERSION).tar.gz",\n  md5 = "'$${sum%% *}'",|' \
	    rockspec/kstat-scm-1.rockspec > $(DIST)/kstat-$(VERSION)-1.rockspec
	sed 's|^  url = .*|  url = "$(SOURCE_URL)",|' rockspec/kstat-scm-1.rockspec > $(DIST)/kstat-scm-1.rockspec
	cd $(DIST) && for spec in *.rockspec; do \
	    $(LUAROCKS) lint $$spec && { [ "$(RELEASE_URL)" != "file://$(abspath $(DIST))" ] || \
	    $(LUAROCKS) pack $$spec; } || exit; done

# Debian packages, into $(BUILD)/deb.
DEB_FLAGS ?= -b
.PHONY: deb symbols
# Adds what the library exports by now to the symbols file of its package, with the version that has it first.
symbols: $(LIB)
	@! git rev-parse -q --verify refs/tags/v$(VERSION) >/dev/null || \
	    { echo "symbols: $(VERSION) is released; make symbols VERSION=1.2.3 names the next release"; exit 1; }
	nm -D --defined-only $(LIB) | sed 's/.* //; s/@@/@/' | awk 'NR == FNR { if (/^ /) known[$$1] = 1; print; next } \
	    !/^KSTAT/ && !($$1 in known) { print " " $$1 " $(VERSION)" }' debian/libkstat1.symbols - | \
	    LC_ALL=C sort > $@.new && { grep -v '^ ' $@.new | LC_ALL=C sort -r; grep '^ ' $@.new; } > debian/libkstat1.symbols
	rm $@.new
deb:
	rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb/kstat-$(VERSION)
	.ci/sources $(BUILD)/deb/kstat-$(VERSION)
	cd $(BUILD)/deb/kstat-$(VERSION) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc $(DEB_FLAGS)

clean:
	rm -rf $(BUILD) build-asan $(PAGE)

-include $(LIB_OBJ:.o=.d) $(LUA54_OBJ:.o=.d) $(LUA51_OBJ:.o=.d) $(HOST_OBJ:.o=.d) $(O)/host/modules.d \
         $(foreach lua,$(LUAS),$(LUA_SRC:csrc/lua/%.c=$(O)/lua$(lua)/%.d)) \
         $(ROCK_OBJ:.o=.d) $(SPEC_BIN:=.d) \
         $(BENCH_BIN:=.d)
