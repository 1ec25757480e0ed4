-- The examples of the pages of commands run, and print what the pages show. A recording stands in place of the machine,
-- so that the output is always the same; what only this machine can show is compared in its form. A display whose first
-- line is "-- NAME.lua" is a script that the examples run.
local run = require("support.run")

local here = run.shell("pwd").out:match("[^\n]+")
local SOURCE = "KSTAT_SOURCE=" .. here .. "/spec/vectors/kstat/"
-- Where the examples of a page find their kstats. live: they come from this machine and what it publishes.
local SOURCES = {
  ["kstatlua-arcstat.1"] = { environment = SOURCE .. "host.jsonl KSTAT_REPLAY_TIME=1795351754" },
  ["kstatlua-top.1"] = { environment = "; export COLUMNS=72; ln -s " .. here .. "/spec/vectors/past/*.rec ." },
  ["kstatlua-diff.1"] = { environment = "; ln -s " .. here .. "/spec/vectors/cookbook/*.rec ." },
  ["kstatlua-fsstat.1"] = { environment = run.tree_words("fs") },
  ["kstatlua-listen.1"] = { environment = SOURCE .. "listen.jsonl" },
  ["kstatlua-prtop.1"] = { environment = "", live = true, publisher = true },
  ["kstatlua-exporter.1"] = { environment = "", live = true },
}
local RECORDING = { environment = SOURCE .. "linux.rec" }

-- The commands of a page with the lines below them, which are what they print. Commands are the lines that begin with
-- "$ " in displays.
local function examples_of(text)
  local list = {}
  for display in text:gmatch("\n%.Bd %-literal[^\n]*\n(%$ .-)\n%.Ed") do
    for line in (display .. "\n"):gmatch("([^\n]*)\n") do
      line = line:gsub("^\\&", ""):gsub("\\e", "\\")
      if line:find("^%$ ") then
        list[#list + 1] = { command = line:sub(3), shown = {} }
      else
        table.insert(list[#list].shown, line)
      end
    end
  end
  return list
end

-- Words with a blank between: how wide columns are depends on the longest word. form: each number is 9.
local function plain(text, form)
  text = text:gsub("[ \t]+", " "):gsub("\n ", "\n"):gsub(" \n", "\n"):gsub("^%s+", ""):gsub("%s+$", "")
  return form and text:gsub("%f[%w]%d[%d.]*e?%+?%d*", "9") or text
end

describe("the examples of", function()
  local directory

  before_each(function()
    directory = run.directory()
  end)

  after_each(function()
    run.remove_directory(directory)
  end)

  local function prepare(environment)
    return ("cd %s && export LC_ALL=C TZ=UTC KSTAT_DIR=%s/published PATH=%s:$PATH %s\n"):format(directory, directory,
      run.quote(run.bin:find("^/") and run.bin or here .. "/" .. run.bin), environment)
  end

  -- Starts a server at any free port. Returns its process, the port, and what it printed.
  local function start(command)
    local out = directory .. "/server.out"
    local line = prepare("") .. "exec " .. command:gsub(":%d+", ":0", 1):gsub(" &$", "")
    local pid = run.start("sh -c " .. run.quote(line), out)
    local text = run.await("the server", function()
      return run.read_file(out):match("^[^\n]*\n")
    end)
    return pid, text:match(":(%d+)\n"), text
  end

  -- The text without its last line "..." and what follows there in the other text.
  local function without_rest(shown, out)
    local lines, count = {}, #shown
    if shown[count] == "..." then
      count = count - 1
      for line in (out .. "\n"):gmatch("([^\n]*)\n") do
        lines[#lines + 1] = #lines < count and line or nil
      end
      out = table.concat(lines, "\n")
    end
    return table.concat(shown, "\n", 1, count), out
  end

  local function check(example, source)
    local r
    if example.command:find(" &$") then
      r = { status = 0 }
      source.pid, source.port, r.out = start(example.command)
    else
      local command = example.command:gsub("(127%.0%.0%.1:)%d+", "%1" .. (source.port or ""))
      local named = command:find("KSTAT_PROC=", 1, true) -- the example says itself what it reads
      r = run.shell(prepare(named and "" or source.environment) .. command .. " 2>&1")
    end
    assert.equal(0, r.status, example.command .. "\n" .. r.out)
    local shown, out = without_rest(example.shown, r.out)
    assert.equal(plain(shown, source.live), plain(out, source.live), example.command)
  end

  for name in run.shell("ls doc/man").out:gmatch("[^\n]+") do
    local text = run.read_file("doc/man/" .. name)
    local source, list = SOURCES[name] or RECORDING, examples_of(text)
    if not name:find("%.3$") or #list > 0 then -- C programs are below
      it(name .. " print what the page shows", function()
        for file, script in text:gmatch("\n%.Bd %-literal[^\n]*\n%-%- ([%w_]+%.lua)\n(.-)\n%.Ed") do
          run.write_file(directory .. "/" .. file, (script:gsub("\\e", "\\")))
        end
        assert.is_true(#list > 0, "there are no examples")
        if source.publisher then
          run.shell("mkdir " .. directory .. "/published")
          source.pid = run.start(("env KSTAT_DIR=%s/published %s/kstatlua examples/workqueue.lua 60"):format(directory,
            run.bin), "/dev/null")
          run.await("the publisher", function()
            return run.shell(prepare("") .. "kstat -q workqueue::job_ns").status == 0
          end)
        end
        for _, example in ipairs(list) do
          check(example, source)
        end
        if source.pid then
          run.stop(source.pid)
        end
      end)
    end
  end
end)

-- --- C ----------------------------------------------------------------------------------------

local HEADERS = { "err.h", "stdio.h", "kstat.h", "kstat2.h", "kstat_provider.h", "kstat_blob.h", "devstat.h",
  "statsblob.h" }

describe("the programs of", function()
  local directory

  setup(function()
    directory = run.directory()
  end)

  teardown(function()
    run.remove_directory(directory)
  end)

  for name in run.shell("ls doc/man/*.3").out:gmatch("doc/man/([^\n]+)") do
    local text = run.read_file("doc/man/" .. name)
    local example = text:match("\n%.Sh EXAMPLES\n%.Bd %-literal[^\n]*\n(.-)\n%.Ed")
    if not name:find("^lua_") then
      it(name .. " compile and run", function()
        assert.truthy(example, "there is no example")
        local lines = {}
        for i, header in ipairs(HEADERS) do
          lines[i] = ("#include <%s>"):format(header)
        end
        local source = ("%s\nint main(void)\n{\n%s\nreturn 0;\n}\n"):format(table.concat(lines, "\n"),
          (example:gsub("\\e", "\\"):gsub("\\&", "")))
        run.write_file(directory .. "/prog.c", source)
        local r = run.tool(("cc -std=gnu11 -Wall -Werror %s -Icsrc/include -o %s/prog %s/prog.c -L%s/lib -lkstat " ..
          "-Wl,-rpath,%s/lib"):format(os.getenv("KSTAT_CFLAGS") or "", directory, directory, run.build, run.build))
        assert.equal("", r.err)
        r = run.shell(("cd %s && KSTAT_DIR=%s/published ./prog 2>&1"):format(directory, directory))
        assert.equal(0, r.status, r.out)
      end)
    end
  end
end)
