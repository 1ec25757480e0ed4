-- The kstat command against the reference outputs of spec/vectors/kstat/, and what surrounds it.
local cjson = require("cjson")
local run = require("support.run")

local vectors = "spec/vectors/kstat/"
local host = vectors .. "host.jsonl"

local function kstat(...)
  return run.run({ "kstat", ... })
end

local function replay(...)
  return run.run({ env = { KSTAT_REPLAY_TIME = "1700000000" }, "kstat", "-r", host, ... })
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch("[^\n]*\n?") do
    lines[#lines + 1] = line
  end
  table.sort(lines)
  return lines
end

-- luassert takes very long to show how long texts differ.
local function assert_text(want, got)
  if want == got then
    return
  end
  local n, next_got = 0, got:gmatch("[^\n]*\n?")
  for line in want:gmatch("[^\n]*\n?") do
    local other = next_got()
    n = n + 1
    if line ~= other then
      error(("line %d: expected %q, got %q"):format(n, line, tostring(other)), 2)
    end
  end
  error(("more than expected behind line %d: %q"):format(n, tostring(next_got())), 2)
end

-- One line, which names the program; nothing else.
local function assert_one_line(r, status)
  assert.equal(status, r.status, r.err)
  assert.truthy(r.err:find("^kstat: [^\n]+\n$"), r.err)
end

describe("kstat prints what the reference prints:", function()
  local binding = cjson.decode(run.vector("kstat/binding.json"))
  local cases = {}
  for _, case in ipairs(cjson.decode(run.vector("kstat/cases.json"))) do
    cases[case.name] = case
  end

  local function expected(case)
    return case.stdout ~= cjson.null and case.stdout or run.vector("kstat/" .. case.stdout_file:gsub("%.gz$", ""))
  end

  local function outcome(case)
    local command = { "kstat", "-r", vectors .. case.fixture, env = { KSTAT_REPLAY_TIME = "1700000000" } }
    for _, word in ipairs(case.argv) do
      command[#command + 1] = word
    end
    return run.run(command)
  end

  for _, how in ipairs({ "exact", "lines" }) do
    for _, name in ipairs(binding[how]) do
      local case = cases[name]
      it(name .. " " .. table.concat(case.argv, " "):gsub("%c", "?"), function()
        local r = outcome(case)
        local want = expected(case)
        if name == "badargs-34" then -- the reference takes 1.5 for a module; here intervals may have fractions
          want = want .. "\nunix:0:system_misc:nproc\t144\n\nunix:0:system_misc:nproc\t141\n"
        end
        if how == "exact" then
          assert_text(want, r.out)
        else
          assert_text(table.concat(lines_of(want)), table.concat(lines_of(r.out)))
        end
        assert.equal(case.exit, r.status, r.err)
        assert.equal(case.stderr_nonempty, r.err ~= "", r.err)
      end)
    end
  end

  it("all 247 cases are there", function()
    assert.equal(247, #binding.exact + #binding.lines)
  end)
end)

describe("kstat's options", function()
  it("are accepted behind operands, up to --, and with POSIXLY_CORRECT only before", function()
    local line = "unix:0:system_misc:ncpus\t6\n"
    assert.equal(line, replay("unix:0:system_misc:ncpus", "-p").out)
    assert.equal("", replay("unix:0:system_misc:ncpus", "-q").out)
    assert.matches("^module: unix", replay("unix:0:system_misc:ncpus", "--", "-p").out)
    local r = run.run({ "kstat", "-r", host, "unix:0:system_misc:ncpus", "-p", env = { POSIXLY_CORRECT = "1" } })
    assert.matches("^module: unix", r.out)
    assert.equal(0, r.status)
  end)

  it("are followed by intervals with fractions and units", function()
    local line = "unix:0:system_misc:ncpus\t6\n"
    for _, interval in ipairs({ "0.5", ".5", "1.5", "500ms", "1m" }) do
      assert.equal(line .. "\n" .. line, replay("-p", "unix:0:system_misc:ncpus", interval, "2").out)
    end
    assert.equal(2, replay("-p", "unix:0:system_misc:ncpus", "1", "1.5").status)
    assert.equal(2, replay("-p", "unix:0:system_misc:ncpus", "0.0").status)
    assert.equal(2, replay("-p", "unix:0:system_misc:ncpus", "1", "2s").status)
  end)

  it("-h, -? and --help print the usage on standard output", function()
    for _, option in ipairs({ "-h", "-?", "--help", "-ph" }) do
      local r = kstat(option)
      assert.equal(0, r.status)
      assert.equal("", r.err)
      assert.truthy(r.out:find("^usage: kstat "))
      assert.truthy(r.out:find("\n  --host NAME ", 1, true))
    end
  end)

  it("-v says on standard error how many kstats there are", function()
    local result = replay("-v", "-p", "unix:0:system_misc:ncpus")
    assert.equal("unix:0:system_misc:ncpus\t6\n", result.out)
    assert.matches("^kstat: %d+ kstats, chain ID %d+\n$", result.err)
  end)

  it("--version names the version", function()
    assert.truthy(kstat("--version").out:find("^kstat %d+%.%d+%.%d+\n$"))
  end)

  it("that are wrong give one line and status 2", function()
    for _, words in ipairs({
      { "-x" }, { "--nothing" }, { "-p-" }, { "-m" }, { "-T" }, { "-r" }, { "-T", "" }, { "-T", "x" },
      { "-q", "-j" }, { "-q", "-d" }, { "-d", "-p" }, { "-m", "unix", "cpu" }, { "1", "2", "3" }, { "0" }, { "" },
      { "-3" }, { "--", "-3" }, { "1", "0" }, { "2147483648" }, { "4294967297" }, { "18446744073709551617" },
      { " 0" }, { "+0" },
    }) do
      local r = run.run({ "kstat", (unpack or table.unpack)(words) })
      assert_one_line(r, 2)
      assert.equal("", r.out)
      assert.truthy(r.err:find("usage: kstat", 1, true))
    end
  end)

  it("accept blanks and a sign before numbers", function()
    local r = replay("-p", "unix:::nproc", " +1", "2")
    assert.truthy(r.out:find("^unix:0:system_misc:nproc\t143\n\nunix:0:system_misc:nproc\t%d+\n$"), r.out)
    assert.equal(0, r.status)
  end)

  it("let the interval be as long as a number may", function()
    for _, count in ipairs({ "1", "20" }) do
      local r = replay("-T", "u", "-p", "unix:::nproc", "2147483647", count)
      assert.equal(0, r.status)
      assert.equal("", r.err)
      assert.truthy(r.out:find("^%d+\nunix:0:system_misc:nproc\t143\n"), r.out)
    end
  end)

  it("take /regular expressions/ with flags", function()
    assert.equal("unix:0:system_misc:nproc\n", replay("-l", ":::/^NPROC$/i").out)
  end)

  it("keep colons of regular expressions together", function()
    assert.equal("unix:0:system_misc:nproc\n", replay("-l", "/^(?:unix|cpu)$/:::nproc").out)
    assert.equal("unix:0:system_misc:nproc\n", replay("-l", "-m", "/^(?:unix|cpu)$/", "-s", "nproc").out)
  end)

  it("that hold a bad pattern are told apart, with the place", function()
    for _, words in ipairs({ { "-m", "/(/" }, { "-i", "/[/" }, { "-n", "/a**/" }, { "-s", "/\\/" }, { "-c", "/(?<x/" },
      { "cpu:/(/" }, { "unix", "::/[z-a]/" } }) do
      local r = run.run({ "kstat", "-r", host, (unpack or table.unpack)(words) })
      assert_one_line(r, 2)
      assert.equal("", r.out)
    end
    assert.truthy(kstat("-n", "/a(/").err:find("name", 1, true))
  end)

  it("-c '' selects kstats without a class", function()
    assert.equal("edge:9:noclass:v\n", replay("-l", "-c", "", "-s", "v").out)
  end)
end)

describe("kstat -d", function()
  it("describes each statistic in one line", function()
    local r = kstat("-d", "unix:0:system_misc")
    assert.equal(0, r.status)
    local count = 0
    for line in r.out:gmatch("[^\n]+") do
      count = count + 1
      assert.truthy(line:find("^unix:0:system_misc:[%w_]+\t%a+\t[^\t]+\t[^\t]+$"), line)
    end
    assert.truthy(count > 5)
    assert.truthy(r.out:find("unix:0:system_misc:nproc\tgauge\t", 1, true))
  end)

  it("shows what is not known as ?", function()
    local r = replay("-d", "caps:1:cpucaps_zone_1:burst_limit_sec")
    assert.equal("caps:1:cpucaps_zone_1:burst_limit_sec\t?\t?\t?\n", r.out)
  end)

  it("describes the rest where a kstat cannot be read", function()
    local dir = os.tmpname()
    run.shell(("rm %s; cp -r %s %s; cd %s/proc; rm net/snmp; mkdir net/snmp"):format(dir, run.tree("small"), dir, dir))
    local r = run.run({ env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys" },
      "kstat", "-d", "/^(tcp|unix)$/::/^(tcp|vm)$/" })
    run.shell("rm -r " .. dir)
    assert.equal(("kstat: cannot read %s/proc/net/snmp: Is a directory\n"):format(dir), r.err)
    assert.equal(0, r.status)
    assert.truthy(r.out:find("tcp:0:tcp:class\t", 1, true), r.out)
    assert.truthy(r.out:find("unix:0:vm:pgpgin\tcounter\t", 1, true), r.out)
  end)

  it("says with its status whether anything matched", function()
    assert.equal(1, kstat("-d", "nosuch").status)
  end)
end)

describe("kstat on this machine", function()
  it("runs the examples of the introduction to kstats", function()
    local r = kstat("-p", "-m", "cpu_stat", "-s", "intr*")
    assert.equal(0, r.status)
    assert.truthy(r.out:find("^cpu_stat:0:cpu_stat0:intr\t%d+\ncpu_stat:0:cpu_stat0:intrthread\t%d+\n"))
    r = kstat("cpu_stat:::/^intr/")
    assert.equal(0, r.status)
    assert.truthy(r.out:find("^module: cpu_stat                        instance: 0     \n" ..
      "name:   cpu_stat0                       class:    misc\n" ..
      "\tintr                            %d+\n\tintrthread                      %d+\n"))
    r = kstat("-n", "system_pages")
    assert.equal(0, r.status)
    for _, name in ipairs({ "availrmem", "crtime", "freemem", "pagesfree", "pageslocked", "pagestotal", "physmem",
      "snaptime" }) do
      assert.truthy(r.out:find("\n\t" .. name .. " +%d"), name)
    end
  end)

  it("prints two reports, and waits between them", function()
    -- Where the first comes late, there is less time to the second.
    run.await("two reports a second apart", function()
      local r = kstat("-p", "unix:0:system_misc:lbolt", "1", "2")
      local first, second = r.out:match("^unix:0:system_misc:lbolt\t(%d+)\n\nunix:0:system_misc:lbolt\t(%d+)\n$")
      return assert(tonumber(second), r.out) - tonumber(first) >= 90
    end)
  end)

  it("names files that cannot be read, each once, and shows the rest", function()
    local dir = os.tmpname()
    run.shell(("rm %s; cp -r %s %s; cd %s/proc; rm meminfo loadavg cpuinfo; mkdir meminfo loadavg")
      :format(dir, run.tree("small"), dir, dir))
    local r = run.run({ env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys" },
      "kstat", "-p", "-m", "/^(unix|cpu_info)$/" })
    run.shell("rm -r " .. dir)
    assert.equal(0, r.status)
    local told = {}
    for line in r.err:gmatch("[^\n]+") do
      told[#told + 1] = line
    end
    table.sort(told)
    assert.same({ "kstat: cannot read " .. dir .. "/proc/loadavg: Is a directory",
      "kstat: cannot read " .. dir .. "/proc/meminfo: Is a directory" }, told)
    assert.truthy(r.out:find("\nunix:0:system_misc:nproc\t%d"), r.out)
    assert.falsy(r.out:find("avenrun"))
  end)

  it("prints JSON that it can read again", function()
    local path = os.tmpname()
    local first = run.shell(run.bin .. "/kstat -j -m '/^(unix|cpu_info)$/' | tee " .. path .. " | " .. run.bin ..
      "/kstat -r - -j")
    assert.equal("", first.err)
    assert_text(run.read_file(path), first.out)
    assert.truthy(#cjson.decode(first.out) > 3)
    os.remove(path)
  end)
end)

describe("kstat with a capture that is not in order", function()
  local path

  before_each(function()
    path = os.tmpname()
  end)

  after_each(function()
    os.remove(path)
  end)

  local one = '{"module":"m","instance":0,"name":"one","class":"c","type":1,"snaptime":1.5,' ..
    '"data":{"crtime":1,"snaptime":1.5,"v":18446744073709551615}}'
  local two = one:gsub('"one"', '"two"')

  local function read(text, ...)
    run.write_file(path, text)
    return run.run({ "kstat", "-p", "-r", path, ... })
  end

  it("names a file that is not there", function()
    local r = kstat("-r", "/nowhere/x.json")
    assert_one_line(r, 3)
    assert.truthy(r.err:find("/nowhere/x.json", 1, true))
    assert.equal("", r.out)
  end)

  it("refuses what is none", function()
    for _, text in ipairs({ "", "hello", "[1,2", "{}", "\0\1\2", "\31\139\8\0garbage" }) do
      assert_one_line(read(text), 3)
    end
    assert_one_line(kstat("-r", "/"), 3)
  end)

  it("says why it cannot read", function()
    local r = kstat("-r", "/proc/self/mem")
    assert.same({ "", 3 }, { r.out, r.status })
    assert.equal("kstat: /proc/self/mem: sample 1, byte 0: cannot read: Input/output error\n", r.err)
  end)

  it("shows all that stands before the place where it is cut off", function()
    local r = read("[" .. one .. "," .. two:sub(1, -20), "-s", "v")
    assert.equal("m:0:one:v\t18446744073709551615\n", r.out:match("^[^\n]*\n"))
    assert_one_line(r, 3)
    assert.truthy(r.err:find(path, 1, true))
  end)

  it("passes over what has a wrong shape, and says so", function()
    local r = read("[7," .. one .. ',{"module":5}]', "-s", "v")
    assert.equal("m:0:one:v\t18446744073709551615\n", r.out)
    assert_one_line(r, 3)
  end)

  it("shows the reports before the damage", function()
    local r = read("[" .. one .. "]\n[" .. two .. "]\nrubbish\n", "-s", "v", "1", "3")
    assert.truthy(r.out:find("^m:0:one:v\t18446744073709551615\n\nm:0:two:v\t18446744073709551615\n"))
    assert_one_line(r, 3)
  end)
end)

describe("kstat's output", function()
  it("that nobody reads ends the command quietly", function()
    local r = run.shell("{ " .. run.bin .. "/kstat -r " .. host .. " -p 1; echo $? >&2; } | head -n 1 >/dev/null")
    assert.equal("0\n", r.err)
  end)

  it("that cannot be written is an error", function()
    for _, options in ipairs({ "-r " .. host .. " -p", "-h", "--version" }) do
      local r = run.shell(run.bin .. "/kstat " .. options .. " >/dev/full")
      assert_one_line(r, 3)
      assert.truthy(r.err:find("No space left", 1, true))
    end
  end)

  it("is whole when it is interrupted", function()
    local r = run.shell(([[
      f=$(mktemp -u) && mkfifo "$f"
      %s/kstat -j -m unix 3600 >"$f" &
      pid=$!
      exec 3<"$f"
      read -r first <&3
      kill -INT $pid
      printf '%%s\n' "$first"
      cat <&3
      wait $pid
      status=$?
      rm -f "$f"
      exit $status]]):format(run.bin))
    assert.equal(0, r.status)
    assert.equal("", r.err)
    assert.truthy(#cjson.decode(r.out) > 2)
  end)
end)
