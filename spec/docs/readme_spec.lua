-- The README tells the truth: its commands run as they stand there, its script and its C program work.
local run = require("support.run")
local transcript = require("support.transcript")

local text = run.read_file("README.md")

-- The fenced blocks of one language, in order.
local function blocks(language)
  local found = {}
  for block in text:gmatch("```" .. language .. "\n(.-)```") do
    found[#found + 1] = block
  end
  return found
end

describe("the README", function()
  local dir

  setup(function()
    dir = run.directory()
  end)

  teardown(function()
    run.remove_directory(dir)
  end)

  -- Runs a line of sh in a directory of its own, the build tree's programs first in the PATH.
  local function shell(line)
    return run.shell("cd " .. dir .. " && PATH=" .. run.quote(run.bin) .. ":$PATH && export PATH && " .. line)
  end

  -- Endless reports and long waits are cut to two samples and none.
  local function shorten(line)
    return (line:gsub("%s+#.*$", ""):gsub("%s10 360%s*$", " 1 2"):gsub("%s10 360", " 1 2"):gsub("%s5 10$", " 1 2")
      :gsub("%s5$", " 1 2"))
  end

  it("installs with a command that shows live numbers", function()
    local line = blocks("sh")[1]
    assert.truthy(line:find("^%./bootstrap %-%-build && make %-j2 && build/bin/kstat %-p unix:0:system_misc 1 3\n$"))
    local r = run.run({ "kstat", "-p", "unix:0:system_misc", "1", "3" })
    assert.equal(0, r.status)
    assert.equal(3, select(2, r.out:gsub("unix:0:system_misc:nproc\t%d+\n", "")))
  end)

  it("names the command that runs these tests", function()
    assert.equal("./bootstrap && make check\n", blocks("sh")[2])
    assert.truthy(run.read_file("Makefile"):find("\ncheck:", 1, true))
  end)

  it("is at most 150 lines, and has 20 rows of what to type for what people know, each of which runs", function()
    assert.is_true(select(2, text:gsub("\n", "")) <= 150)
    local count, origins = 0, {}
    for origin, line in text:gmatch("\n| ([%w_]+) | `[^\n]-` | `([^`\n]+)` |") do
      count, origins[origin] = count + 1, true
      -- What serves, has a screen or looks at a past that is not recorded here explains itself.
      local explains = line:find("exporter", 1, true) or line:find("--from", 1, true) or
        line:find("top", 1, true) and not line:find("-b", 1, true)
      local r = shell(line .. (explains and " --help" or line:find("^kstatlua") and not line:find("%-n 1") and
        not line:find("listen") and " 0.05 1" or ""))
      assert.same({ "", 0 }, { r.err, r.status }, line)
      assert.truthy(r.out ~= "", line)
    end
    assert.is_true(count >= 20, count)
    for _, origin in ipairs({ "Solaris", "sysstat", "htop", "node_exporter" }) do
      assert.is_true(origins[origin], origin)
    end
  end)

  it("shows commands and scripts that run", function()
    run.write_file(dir .. "/disks.lua", blocks("lua")[1])
    local count = 0
    for i, block in ipairs(blocks("sh")) do
      for line in block:gmatch("[^\n]+") do
        if i > 2 and line:find("^kstat") and not line:find("kstatlua -i", 1, true) then
          count = count + 1
          local r = shell(shorten(line))
          assert.equal("", r.err, line)
          assert.equal(0, r.status, line)
          assert.truthy(r.out ~= "" or line:find(">", 1, true), line)
        end
      end
    end
    assert.truthy(count >= 5, count)
  end)

  it("shows what its examples print", function()
    local place, count, pid = transcript.directory(), 0, nil
    finally(function()
      if pid then
        run.stop(pid)
      end
      run.remove_directory(place)
    end)
    transcript.each(text, place, function(line, output)
      local started = transcript.start(place, line)
      pid = started or pid
      if not started then
        transcript.check(place, line, output)
      end
      count = count + 1
    end)
    assert.truthy(count >= 5)
  end)

  it("shows a terminal with what the commands print", function()
    -- The words: a wider column is no difference.
    local function words(svg)
      return (svg:gsub("<[^>]*>", " "):gsub("\194\160", " "):gsub("%s+", " "))
    end
    local r = run.shell("lua5.4 doc/terminal.lua " .. run.quote(run.bin))
    assert.equal("", r.err)
    assert.equal(words(run.read_file("doc/terminal.svg")), words(r.out),
      "lua5.4 doc/terminal.lua $PWD/build/bin > doc/terminal.svg makes it")
  end)

  it("shows a C program that compiles", function()
    local program = blocks("c")[1]:gsub("kstat_ctl_t %*kc", "#include <stdio.h>\nint main(void) {\n%0")
      :gsub("%.%.%.", 'printf("%%u\\n", nproc->value.ui32);') .. "return 0; }\n"
    run.write_file(dir .. "/prog.c", program)
    local r = run.tool("cc -std=gnu11 -Wall -Werror " .. (os.getenv("KSTAT_CFLAGS") or "") .. " -Icsrc/include -o " ..
      dir .. "/prog " .. dir .. "/prog.c -L" .. run.build .. "/lib -lkstat -Wl,-rpath," .. run.build .. "/lib")
    assert.equal("", r.err)
    assert.truthy(tonumber(run.run({ dir .. "/prog" }).out) > 0)
  end)
end)

describe("the manual pages", function()
  it("describe the options that the usage lists, and no others", function()
    local function sorted(from, pattern)
      local seen, letters = {}, {}
      for cluster in from:gmatch(pattern) do
        for letter in cluster:gmatch("%a") do
          if not seen[letter] then
            seen[letter] = true
            letters[#letters + 1] = letter
          end
        end
      end
      table.sort(letters)
      return table.concat(letters)
    end
    local page = sorted(run.read_file("doc/man/kstat.1"), "\n%.It Fl (%a) ?[^%-\n]")
      .. sorted(run.read_file("doc/man/kstat.1"), "\n%.It Fl (%a)\n")
    local usage = run.run({ "kstat", "-h" }).out
    local listed = sorted(usage, "[%[ ]%-(%a+)")
    assert.truthy(#listed >= 14)
    assert.equal(listed, sorted(page, "%a"))
  end)
end)

describe("the documents", function()
  it("point to files that exist", function()
    local count = 0
    for path in run.shell("find . -name '*.md' ! -path './build*'").out:gmatch("[^\n]+") do
      local folder = path:match("^(.*/)[^/]*$") or ""
      for target in run.read_file(path):gmatch("%]%(([^)#%s]+)") do
        if not target:find("^%a+:") then
          count = count + 1
          assert.equal(0, run.shell("test -e " .. run.quote(folder .. target)).status, path .. ": " .. target)
        end
      end
    end
    assert.truthy(count > 50, count)
  end)

  it("name files that exist to those who contribute", function()
    for path in run.read_file("CONTRIBUTING.md"):gmatch("`([%w_.-]+/[%w_./-]+)`") do
      if not path:find("NAME") and not path:find("FOLDER") and not path:find("^build/") and not path:find("/x_") then
        assert.equal(0, run.shell("test -e " .. path).status, path .. ": CONTRIBUTING.md names it, and there is none")
      end
    end
  end)
end)
