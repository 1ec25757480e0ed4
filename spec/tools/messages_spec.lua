-- What is printed on standard error holds nothing that a terminal or a log takes for its own.
local exporter = require("support.exporter")
local run = require("support.run")

-- Names of files that set the title of a terminal, turn red, or begin another line.
local EVIL = { "x\27]0;owned\7", "b\27[31m\nforged: line", "c\194\155m", "d\226\128\174gpj" }

describe("a message that names a file", function()
  local dir
  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  -- Nothing but lines of the command, without control characters.
  local function check(err, command, n)
    local lines = 0
    for line in err:gmatch("[^\n]*\n") do
      lines = lines + 1
      assert.matches("^" .. command .. ": ", line)
      assert.falsy(line:find("[%z\1-\9\11-\31\127]") or line:find("\194\155", 1, true) or
        line:find("\226\128\174", 1, true), line)
    end
    assert.is_true(lines >= n, err)
  end

  it("is clean, whatever the file is called: recordings", function()
    for _, name in ipairs(EVIL) do
      run.write_file(dir .. "/" .. name .. ".rec", "no recording at all")
      for command, name_of in pairs({ ["kstat -r '%s' -p"] = "kstat", ["kstatlua -r '%s' vmstat"] = "vmstat",
        ["kstatlua convert '%s' %s/out.rec"] = "convert",
        ["kstatlua -r '%s' -e 'for _ in require(\"kstat\").every(1) do end'"] = "kstatlua" }) do
        local r = run.shell(("%s/%s"):format(run.bin, command:format(dir .. "/" .. name .. ".rec", dir)))
        check(r.err, name_of, 1)
      end
    end
    check(run.shell(("%s/kstat -r %s -p"):format(run.bin, dir)).err, "kstat", 1)
  end)

  it("is clean, whatever the file is called: text files of the exporter", function()
    if not exporter.is_built then
      return pending("is not built here: libmicrohttpd is not installed")
    end
    for _, name in ipairs(EVIL) do
      run.write_file(dir .. "/" .. name .. ".prom", "no metric\n")
    end
    local server = exporter.start(dir, "--collector.textfile.directory=" .. dir, "sh -c 'exec \"$@\" 2>" .. dir ..
      "/err' sh")
    run.shell("curl -s 127.0.0.1:" .. server.port .. "/metrics")
    run.stop(server.pid)
    check(run.read_file(dir .. "/err"), "exporter", #EVIL)
  end)
end)
