-- The house keeps its order: see doc/architecture.md.
local run = require("support.run")

local floors = {
  base = 1, http = 1, stats = 2, model = 3, provider = 4, bpf = 4, source = 5, select = 6, chain = 7, metrics = 8,
  output = 9, devstat = 10, lua = 11, host = 12,
}

local function list(command)
  local names = {}
  for name in run.shell(command).out:gmatch("[^\n]+") do
    names[#names + 1] = name
  end
  return names
end

local sources = list("find csrc -name '*.[ch]' | sort")

-- Each symbol of each object: the path of its source without csrc/ and .c, whether it is needed (U) or there, its name.
local read
local function symbols()
  if not read then
    local objects, stem_of = {}, {}
    for _, path in ipairs(sources) do
      local stem = path:match("^csrc/(.*)%.c$")
      if stem and not stem:find("^http/") and not stem:find("^lua/http/") then
        local object = ("%s/obj/%s.o"):format(run.build, (stem:gsub("^lua/", "lua54/")))
        objects[#objects + 1], stem_of[object] = object, stem
      end
    end
    read = {}
    for object, kind, name in run.shell("nm -A " .. table.concat(objects, " ")).out:gmatch(
      "([^\n:]*):[^\n]- (%a) ([%w_]+)\n") do
      read[#read + 1] = { stem = stem_of[object], kind = kind, name = name }
    end
  end
  return ipairs(read)
end

-- Fails with the way if something needs itself through what it needs: graph[name] is the set of what it needs.
local function assert_no_circle(graph)
  local done = {}
  local function visit(name, way)
    assert.falsy(way:find(" " .. name .. " ", 1, true), "a circle:" .. way .. name)
    for other in pairs(not done[name] and graph[name] or {}) do
      visit(other, way .. name .. " ")
    end
    done[name] = true
  end
  for name in pairs(graph) do
    visit(name, " ")
  end
end

describe("the floors of csrc", function()
  it("are the known ones", function()
    for _, dir in ipairs(list("find csrc -mindepth 1 -maxdepth 1 -type d | sort")) do
      local name = dir:sub(#"csrc/" + 1)
      assert.truthy(floors[name] or name == "include", dir)
    end
    assert.truthy(#sources > 40)
  end)

  it("include only from below, or from beside", function()
    local seen = 0
    for _, path in ipairs(sources) do
      local folder = path:match("^csrc/([^/]*)")
      for name in run.read_file(path):gmatch('#include "([^"]+)"') do
        local from = name:match("^([^/]*)/")
        if from and from ~= "sys" then
          seen = seen + 1
          assert.truthy(floors[from], path .. " includes " .. name)
          assert.truthy(floors[folder], path .. " includes " .. name .. ", which users do not have")
          assert.truthy(from == folder or floors[from] < floors[folder],
            path .. " includes " .. name .. ", which is not below")
        end
      end
    end
    assert.truthy(seen > 50)
  end)

  -- What an object needs of the project, and which floor has it.
  it("link without the floors above", function()
    local floor_of, needs = {}, {}
    for _, symbol in symbols() do
      local floor = floors[symbol.stem:match("^[^/]+")]
      if symbol.kind == "U" and floor < floors.lua then
        needs[#needs + 1] = { stem = symbol.stem, name = symbol.name, floor = floor }
      elseif symbol.kind:match("%u") and symbol.kind ~= "U" then
        floor_of[symbol.name] = floor
      end
    end
    local seen = 0
    for _, need in ipairs(needs) do
      if floor_of[need.name] then
        seen = seen + 1
        assert.truthy(floor_of[need.name] <= need.floor, need.stem .. " needs " .. need.name .. " from above")
      else
        assert.falsy(need.name:match("^ks_"), need.stem .. " needs " .. need.name .. ", which nobody defines")
      end
    end
    assert.truthy(seen > 500)
  end)

  -- The list of the subsystems of Linux names what needs it: that is data, and nothing is called through it here.
  it("have no circle: nothing needs itself through what it needs", function()
    local home, needs = {}, {}
    for _, symbol in symbols() do
      needs[symbol.stem] = needs[symbol.stem] or {}
      if symbol.kind == "U" then
        needs[symbol.stem][symbol.name] = true
      elseif symbol.kind == "T" or symbol.kind:match("%u") and not symbol.stem:find("^source/linux/") then
        home[symbol.name] = symbol.stem
      end
    end
    local graph = {}
    for object, names in pairs(needs) do
      graph[object] = {}
      for name in pairs(names) do
        graph[object][home[name] ~= object and home[name] or ""] = true
      end
      graph[object][""] = nil
    end
    assert_no_circle(graph)
    assert.truthy(home.kstat_open and needs[home.kstat_open].ks_chain_scan)
  end)

  it("have wings of sources that know nothing of each other", function()
    for _, path in ipairs(sources) do
      local wing = path:match("^csrc/source/([^/]+)/")
      for name in run.read_file(path):gmatch('#include "source/([^"/]+)/') do
        assert.truthy(wing == nil or wing == name, path .. " includes from " .. name)
      end
    end
    local home, needs = {}, {}
    for _, symbol in symbols() do
      local wing = symbol.stem:match("^source/([^/]+)/")
      if wing and symbol.kind == "U" then
        needs[#needs + 1] = { wing = wing, name = symbol.name }
      elseif wing and symbol.kind:match("%u") then
        home[symbol.name] = wing
      end
    end
    for _, need in ipairs(needs) do
      assert.equal(need.wing, home[need.name] or need.wing, need.name)
    end
    assert.truthy(#needs > 100)
  end)

  it("know Lua only in lua and host", function()
    for _, path in ipairs(sources) do
      if not path:find("^csrc/lua/") and not path:find("^csrc/host/") then
        local text = run.read_file(path)
        assert.falsy(text:find("#include <l[ua][au]x?l?i?b?%.h>") or text:find("#include <lua"), path)
      end
    end
  end)

  it("neither print nor exit below the host", function()
    for _, path in ipairs(sources) do
      if not path:find("^csrc/host/") then
        -- Comments may speak of them.
        local text = run.read_file(path):gsub("/%*.-%*/", "")
        for _, name in ipairs({ "printf", "puts", "perror", "exit", "_exit", "abort", "assert" }) do
          assert.falsy(text:find("[^%w_]" .. name .. "%s*%("), path .. " calls " .. name)
        end
        assert.falsy(text:find("[^%w_]stderr[^%w_]") or text:find("[^%w_]stdout[^%w_]"), path)
      end
    end
  end)

  it("write metrics in one place", function()
    local places = list("grep -rl '# TYPE' csrc lua scripts")
    assert.same({ "csrc/metrics/writer.c" }, places)
  end)

  it("write JSON in one place", function()
    -- Names of members and what strings escape; a reader of JSON has neither in a text.
    local writers = [=['[{,]\\?"[%a-z_]+\\?":|\\u%04x']=]
    local places = list("grep -rlE " .. writers .. " csrc lua scripts --include=*.[ch] --include=*.lua")
    assert.same({ "csrc/base/json.c" }, places)
  end)

  it("state their licence", function()
    for _, path in ipairs(sources) do
      assert.truthy(run.read_file(path):find("SPDX-License-Identifier: MIT", 1, true), path)
    end
  end)
end)

describe("the floors of lua/kstat", function()
  -- The lowest first; on each the packages, which are a file of lua/kstat or a folder.
  local lua_floors = {
    { "base" },
    { "stats", "publish" },
    { "read", "recording" },
    { "figures", "aggregate", "format", "histogram", "io", "picture" },
    { "command" },
    { "report" },
    { "complete", "devstat", "exporter", "iostat", "latency", "node", "page", "prstat", "use" },
    { "diff", "nginx", "prompt", "top" },
    { "init" }, -- the module `kstat` itself
  }
  local TOOLS = 7 -- from here on packages know nothing of those beside them
  local floor_of = {}
  for number, packages in ipairs(lua_floors) do
    for _, package in ipairs(packages) do
      floor_of[package] = number
    end
  end
  -- What C has, or LuaRocks's launcher.
  local COMPILED = { core = true, http = true, host = true }

  local function package_of(module) return module == "kstat" and "init" or module:match("^kstat%.([^.]+)") end

  local needs, files = {}, {} -- of packages, and of the files of which they consist
  for _, path in ipairs(list("find lua/kstat -name '*.lua'")) do
    local file = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    local package = package_of(file)
    needs[package] = needs[package] or {}
    files[file] = {}
    for line in run.read_file(path):gmatch("[^\n]+") do
      -- A name may follow the last dot: require("kstat.use." .. name), of a part of the same package.
      for other in (line:find("^%s*%-%-") and "" or line):gmatch('require%(?,? ?"(kstat[%w._]*)"') do
        files[file][other] = true
        local of = package_of(other) -- nil: a part of the module `kstat`
        if of and of ~= package and not COMPILED[of] then
          needs[package][of] = true
        end
      end
    end
  end

  it("are the known ones", function()
    for package in pairs(needs) do
      assert.truthy(floor_of[package], "lua/kstat/" .. package .. " is on no floor")
    end
    for package in pairs(floor_of) do
      assert.truthy(needs[package], package)
    end
  end)

  it("require only from below, or from beside, and tools nothing from beside", function()
    local seen = 0
    for package, others in pairs(needs) do
      for other in pairs(others) do
        seen = seen + 1
        local below = floor_of[package] - (floor_of[other] or 99)
        assert.truthy(below > 0 or below == 0 and floor_of[package] < TOOLS,
          package .. " requires " .. other .. ", which is not below")
      end
    end
    assert.truthy(seen > 50)
  end)

  it("have no circle: no package needs itself through what it needs, and no file does", function()
    assert_no_circle(needs)
    assert_no_circle(files)
    assert.truthy(needs.report.command and files["kstat.read.path"]["kstat.core"])
  end)

  it("read the environment in one place, and what names the past in another", function()
    -- POSIXLY_CORRECT counts if it is empty, too.
    assert.same({ "lua/kstat/base/environment.lua", "lua/kstat/base/options/init.lua" },
      list("grep -rl 'os[.]getenv' lua scripts | sort"))
    assert.same({ "lua/kstat/base/past.lua" },
      list([=[grep -rlE '"KSTAT_(SOURCE|AT|FROM|TO|HOST)"' lua scripts]=]))
  end)

  it("write to standard error in one place, and for scripts that only ask for their options in another", function()
    assert.same({ "lua/kstat/base/options/init.lua", "lua/kstat/base/running.lua" },
      list("grep -rl 'io[.]stderr' lua scripts | sort"))
  end)

  it("have packages that are either a file or a folder", function()
    for _, folder in ipairs(list("find lua/kstat -mindepth 1 -maxdepth 1 -type d")) do
      assert.equal(1, run.shell("test -e " .. folder .. ".lua").status, folder)
    end
  end)
end)

describe("libkstat", function()
  local declared = {}

  setup(function()
    for _, path in ipairs(list("find csrc/include -name '*.h'")) do
      local text = run.tool("cc -E -P -D_GNU_SOURCE -Icsrc/include " .. path).out
      for name in text:gmatch("([%a_][%w_]*)%s*%(") do
        declared[name] = path
      end
      for name in text:gmatch("extern [%w_ %*]-([%a_][%w_]*)%s*[;%[]") do
        declared[name] = path
      end
    end
  end)

  it("exports what its headers declare and nothing else", function()
    local exported = list("nm -D --without-symbol-versions --defined-only " ..
      run.quote(run.build .. "/lib/libkstat.so") ..
      " | awk '$2 ~ /[TDBR]/ { print $3 }'")
    assert.truthy(#exported > 10)
    for _, name in ipairs(exported) do
      assert.truthy(declared[name], name .. " is exported but in no public header")
    end
  end)

  it("has a comment for every function that its headers declare", function()
    local count = 0
    for _, path in ipairs(list("find csrc/include -name '*.h'")) do
      local documented = false
      for line in run.read_file(path):gmatch("([^\n]*)\n") do
        local name = line:match("^%a[%w_ %*]*[ %*]([%a_][%w_]*)%(")
        if name and not line:find("^typedef") and not line:find("^static") and not line:find("^extern \"C\"") then
          count = count + 1
          assert.truthy(documented, path .. ": " .. name .. " has no comment")
        end
        -- A comment serves the declarations below it up to the next empty line.
        if line:find("%*/") then
          documented = true
        elseif line == "" then
          documented = false
        end
      end
    end
    assert.truthy(count > 10)
  end)

  -- As programs of their own include them, in a language and with warnings as strict as they get.
  local function compile(headers, compiler)
    local dir, programs = run.directory(), {}
    for i, header in ipairs(headers) do
      programs[i] = ("%s/%s.program"):format(dir, header:gsub("/", "_"))
      run.write_file(programs[i], "#include <" .. header .. ">\n")
    end
    local language = compiler:find("++", 1, true) and "c++" or "c"
    local r = run.tool(compiler .. " -Wall -Wextra -Werror -Icsrc/include -fsyntax-only -x " .. language .. " " ..
      table.concat(programs, " "))
    run.remove_directory(dir)
    assert.equal("", r.err, compiler)
    assert.equal(0, r.status)
  end

  it("has headers that compile alone, in C and in C++", function()
    local headers = {}
    for i, path in ipairs(list("find csrc/include -name '*.h'")) do
      headers[i] = path:sub(#"csrc/include/" + 1)
    end
    for _, compiler in ipairs({ "cc -std=gnu11", "c++ -std=gnu++17" }) do
      compile(headers, compiler)
    end
  end)

  it("has headers that old and pedantic compilers take", function()
    local compilers = { "gcc -std=c89", "gcc -std=c89 -pedantic", "gcc -std=c99 -pedantic",
      "gcc -std=c11 -pedantic", "g++ -std=c++98", "g++ -std=c++98 -pedantic", "g++ -std=c++11 -pedantic",
      "g++ -std=c++20 -pedantic" }
    for _, compiler in ipairs({ "clang -std=c90 -pedantic", "clang -std=c99 -pedantic", "clang++ -std=c++98 -pedantic",
      "clang++ -std=c++17 -pedantic -Wold-style-cast", "g++ -std=c++17 -Wold-style-cast" }) do
      if run.shell("command -v " .. compiler:match("^%S+")).status == 0 then
        compilers[#compilers + 1] = compiler
      end
    end
    -- The others include one of these and nothing more.
    for _, compiler in ipairs(compilers) do
      compile({ "kstat_blob.h", "devstat.h", "kstat_raw.h" }, compiler)
    end
  end)

  it("has macros that C++ takes without a word about casts", function()
    local program = os.tmpname()
    run.write_file(program, "#include <kstat_blob.h>\nstruct vss_hist_bkt bucket = DRBKT(1, 2);\n" ..
      "uint64_t use(kstat_t *k)\n{\n\treturn KSTAT_IO_PTR(k)->nread + KSTAT_TIMER_PTR(k)->num_events + " ..
      "KSTAT_INTR_PTR(k)->intrs[0] + KSTAT_NAMED_PTR(k)->value.ui64 + bucket.lb;\n}\n")
    local r = run.tool("c++ -std=c++17 -Wall -Wextra -Wold-style-cast -Werror -Icsrc/include -fsyntax-only -x c++ " ..
      program)
    os.remove(program)
    assert.equal("", r.err)
  end)
end)
