-- What becomes of commands in which one request for memory or one system call fails. `make sweep` tries all calls of
-- more programs; here are some calls of some.
local run = require("support.run")

local tree = run.tree_words("small") .. " "
local capture = "KSTAT_SOURCE=spec/vectors/kstat/host.jsonl "

-- Lets one of `every` calls of a command fail; returns what the sweep prints.
local function sweep(set_up, every, command)
  return run.shell(("export LC_ALL=C TZ=UTC; %s %s/spec/sweep -e %s %s/spec/fail.so %s/%s"):format(set_up, run.build,
    every, run.build, run.bin, command))
end

describe("a command in which one call fails", function()
  local asan = os.getenv("KSTAT_PRELOAD") -- another library is preloaded then
  for _, case in ipairs({
    { tree, 89, "kstat -p" },
    { tree, 113, "kstatlua iostat" },
    { tree, 113, "kstatlua vmstat" },
    { tree, 97, "kstatlua mpstat" },
    { capture, 107, "kstat -j" },
    { capture, 151, "kstatlua convert -o @ spec/vectors/kstat/host.jsonl" },
  }) do
    it("shows all, or says in a line and by its status that it does not: " .. case[3], function()
      if asan and asan ~= "" then
        return pending("the sanitizer has an allocator of its own")
      end
      local r = sweep(case[1], case[2], case[3])
      assert.equal("", r.err)
      assert.matches("^%d+ calls tried, 0 wrong", r.out)
      assert.equal(0, r.status)
    end)
  end

  it("says that groups are missing where the disk or a signal stands in the way, and opens files again after one",
    function()
      if asan and asan ~= "" then
        return pending("the sanitizer has an allocator of its own")
      end
      assert.matches("^%d+ calls tried, 0 wrong", sweep(tree, "13 -E EIO", "kstat -p cgroup").out)
      assert.matches("^%d+ calls tried, 0 wrong", sweep(tree, "1 -E EINTR", "kstat -p cgroup").out)
    end)

  it("says what it is that failed, and that something is missing, by its status, too", function()
    if asan and asan ~= "" then
      return pending("the sanitizer has an allocator of its own")
    end
    assert.matches("^%d+ calls tried, 0 wrong", sweep(tree, "19 -E EIO", "kstat -q cgroup:::").out)
    assert.matches("^%d+ calls tried, 0 wrong", sweep(tree, "96 -E EIO -s", "kstatlua top -b 0.05 1").out)
    assert.matches("^%d+ calls tried, 0 wrong", sweep(tree, "54 -E EACCES -s", "kstatlua top -b 0.05 1").out)
  end)

  it("has all again as soon as calls do not fail any more, if it goes on, and leaves what can be read", function()
    if asan and asan ~= "" then
      return pending("the sanitizer has an allocator of its own")
    end
    local function sweep_of(every, wrapper, command)
      return run.shell(("export LC_ALL=C TZ=UTC; %s %s/spec/sweep -e %s -w %s/spec/fail.so spec/sweep/%s %s/%s"):format(
        tree, run.build, every, run.build, wrapper, run.bin, command)).out
    end
    assert.matches("^%d+ calls tried, 0 wrong", sweep_of("70 -E EMFILE", "scrape @", "kstatlua exporter"))
    assert.matches("^%d+ calls tried, 0 wrong", sweep_of("2 -E EMFILE", "scrape @", "kstatlua exporter cpu_info:0"))
    assert.matches("^%d+ calls tried, 0 wrong", sweep_of("20 -E ENOSPC", "recorded", "kstatlua record"))
  end)

  it("ends with a line and the status 3 where memory stays short, from the first request on", function()
    if asan and asan ~= "" then
      return pending("the sanitizer has an allocator of its own")
    end
    assert.matches("^%d+ calls tried, 0 wrong", sweep(tree, "5 -m", "kstat -p unix:0:system_misc:nproc").out)
    assert.matches("^%d+ calls tried, 0 wrong", sweep(tree, "23 -m", "kstatlua vmstat").out)
  end)
end)

describe("an operation of the library in which one request for memory fails", function()
  it("is like the good run, or fails with ENOMEM and a line, keeps no memory, and works the next time", function()
    local dir = run.directory()
    local made = run.shell(([[cd %s; spec=%s/spec; mkdir published new
      $spec/core_recording write r 4 12 >made; $spec/core_record_directory d 0 6 14400 9000000 100000 >made
      %s/kstatlua convert r >c; gzip -k c]]):format(dir, run.build, run.bin))
    assert.equal("", made.err)
    for _, what in ipairs({ { "c" }, { "c.gz", "capture" } }) do
      local r = run.run({ run.build .. "/spec/core_allocations", "r", what[1], "d", what[2], directory = dir,
        env = { KSTAT_DIR = dir .. "/published", TMPDIR = dir .. "/new" } })
      assert.same({ "0 wrong\n", 0 }, { r.out, r.status }, r.err)
    end
    run.remove_directory(dir)
  end)
end)
