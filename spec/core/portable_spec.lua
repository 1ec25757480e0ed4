-- What holds on machines of other kinds: .ci/portable builds the programs of this file for them, into a folder for
-- each below $KSTAT_MACHINES. SPDX-License-Identifier: MIT
local run = require "support.run"

local machines = {
  { name = "here", order = "little", long = 64, libraries = true },
  { name = "musl", order = "little", long = 64 },
  { name = "i686", order = "little", long = 32, emulator = "qemu-i386" },
  { name = "s390x", order = "big", long = 64, emulator = "qemu-s390x" },
  { name = "powerpc", order = "big", long = 32, emulator = "qemu-ppc" },
}

local root = os.getenv("KSTAT_MACHINES")
for _, m in ipairs(machines) do
  m.build = m.name == "here" and run.build or root and ("%s/%s"):format(root, m.name)
  if m.build then
    local probe = io.open(m.build .. "/spec/core_exchange")
    m.is_there = probe ~= nil
    -- With the libraries that libkstat needs there is the whole of kstat, too.
    m.libraries = m.libraries or os.rename(m.build .. "/bin/kstatlua", m.build .. "/bin/kstatlua") ~= nil
    if probe then probe:close() end
    -- x86-64 runs programs for i686, unless its kernel was built without that.
    if m.emulator and m.is_there and run.shell(m.build .. "/spec/core_wide").status == 0 then m.emulator = nil end
  end
end

-- The line of sh that runs a machine's kstatlua with these arguments, on kstats that are published in a directory and
-- on files below another one.
local function kstatlua(m, directory, tree, arguments)
  return ("env KSTAT_DIR=%s KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys timeout 60 %s %s/bin/kstatlua %s"):format(directory,
    tree, tree, m.emulator or "", m.build, arguments)
end

-- Runs a program of a machine's build with these arguments. Fails unless its status is 0; returns its output.
local function on(m, program, arguments, directory)
  local r = run.tool(("KSTAT_DIR=%s timeout 60 %s %s/spec/%s %s"):format(directory or "/nonexistent", m.emulator or "",
    m.build, program, arguments or ""))
  assert.equal(0, r.status, r.out .. r.err)
  return r.out
end

describe("the machines", function()
  for _, m in ipairs(machines) do
    if not m.is_there then pending(("%s was not built: .ci/portable does it"):format(m.name)) end
  end
end)

-- A spec about machines, if they are there.
local function about(what, each, body)
  for _, m in ipairs(each) do
    if not m.is_there then return end
  end
  it(what, body)
end

describe("numbers of 128 bits", function()
  for _, m in ipairs(machines) do
    about("are the same in words as in the compiler's type: " .. m.name, { m }, function()
      assert.equal(on(machines[1], "core_wide"), on(m, "core_wide"))
    end)
  end
end)

describe("the provider's functions", function()
  for _, m in ipairs(machines) do
    about("do on every machine what they are for: " .. m.name, { m }, function()
      assert.matches(", 0 failures\n$", on(m, "core_provider"))
    end)
  end
end)

describe("what one machine writes another", function()
  local dir, written

  setup(function()
    dir, written = run.directory(), {}
  end)

  teardown(function() run.remove_directory(dir) end)

  -- The directory with what a machine wrote.
  local function files_of(m)
    if not written[m] then
      written[m] = ("%s/%s"):format(dir, m.name)
      run.tool(("mkdir -p %s/live"):format(written[m]))
      on(m, "core_exchange", "write " .. written[m], written[m] .. "/live")
      if m.libraries then on(m, "core_recording", ("write %s/numbers 30"):format(written[m])) end
    end
    return written[m]
  end

  for _, writer in ipairs(machines) do
    for _, reader in ipairs(machines) do
      about(("reads, or says why not: from %s to %s"):format(writer.name, reader.name), { writer, reader }, function()
        local from = files_of(writer)
        local out = on(reader, "core_exchange", "read " .. from)
        local alike, long = writer.order == reader.order, writer.long == reader.long
        assert.matches(alike and "blob: good 499500\n" or "blob: EOPNOTSUPP 0\n", out, 1, true)
        assert.matches(not alike and "long: EOPNOTSUPP 0\n" or long and "long: good 0\n" or
          "long: EINVAL 0\n", out, 1, true)
        assert.matches(alike and "segment: read\n" or
          "segment: segment.kseg: published by a machine of the other byte order\n", out, 1, true)
        if writer.libraries and reader.libraries then
          assert.matches(alike and "recording: read\n" or
            "/recording: m:0:blob: a statsblob of another byte order or version\n", out, 1, true)
          assert.equal("30 samples, 0 values differ\n", on(reader, "core_recording", ("read %s/numbers"):format(from)))
        end
      end)
    end
  end
end)

describe("the same files of /proc and /sys", function()
  local tree = run.tree("small")

  -- What a machine's kstatlua prints. Times of creation and of reading are this moment's.
  local function shown(m, script)
    local r = run.tool(kstatlua(m, "/nonexistent", tree, script))
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return (r.out:gsub("[^\n]*:crtime\t[^\n]*\n", ""):gsub("[^\n]*:snaptime\t[^\n]*\n", ""))
  end

  for _, m in ipairs(machines) do
    if m ~= machines[1] and m.libraries then
      about("are the same statistics on every machine: " .. m.name, { m }, function()
        local here = shown(machines[1], "scripts/kstat.lua -p")
        assert.is_true(#here > 10000)
        assert.equal(here, shown(m, "scripts/kstat.lua -p"))
        assert.equal(shown(machines[1], "iostat"), shown(m, "iostat"))
      end)

      about("are the same in each other's captures: " .. m.name, { m }, function()
        local dir = run.directory()
        for _, pair in ipairs({ { machines[1], m }, { m, machines[1] } }) do
          run.write_file(dir .. "/capture", shown(pair[1], "scripts/kstat.lua -j"))
          assert.equal(shown(pair[1], "scripts/kstat.lua -p -r " .. dir .. "/capture"),
            shown(pair[2], "scripts/kstat.lua -p -r " .. dir .. "/capture"))
        end
        run.remove_directory(dir)
      end)
    end
  end
end)

describe("the kstats of a running process", function()
  local dir, expected
  -- All but what changes, and quantiles: the processor of i686 rounds their last digits otherwise.
  local same = "/^(?!live)/:/^(?!snaptime|v_p)/"

  setup(function()
    dir = run.directory()
    run.shell(("mkdir -p %s/none/proc %s/none/sys"):format(dir, dir))
  end)

  teardown(function() run.remove_directory(dir) end)

  -- What a machine's kstat prints of some kstats of the process.
  local function shown(m, names)
    local r = run.tool(kstatlua(m, dir .. "/live", dir .. "/none",
      ("scripts/kstat.lua -p 'publisher::%s'"):format(names)))
    assert.equal("", r.err)
    return r.out
  end

  local function count(m)
    return tonumber(shown(m, "live:count"):match("(%d+)\n$"))
  end

  -- Runs a function while a machine's kstatlua publishes.
  local function while_published(writer, body)
    run.shell(("mkdir %s/live"):format(dir))
    local pid = run.start(kstatlua(writer, dir .. "/live", dir .. "/none", "spec/portable/publisher.lua"),
      dir .. "/log")
    local ok, why = pcall(function()
      run.await("the publisher", function()
        assert(run.alive(pid), run.read_file(dir .. "/log"))
        return run.read_file(dir .. "/log"):find("ready")
      end)
      body()
    end)
    run.stop(pid)
    run.shell(("rm -r %s/live"):format(dir))
    assert(ok, why)
  end

  for _, writer in ipairs(machines) do
    if writer.libraries then
      about("are the same on every machine of its byte order: " .. writer.name, { writer }, function()
        while_published(writer, function()
          local all = shown(writer, same)
          for _, name in ipairs({ "named:below\t-9223372036854775808\n", "named:narrow\t4294967295\n",
            "queue:nread\t1099511627776\n", "times:buckets\t[31,13,", "blob:v_count\t1001\n" }) do
            assert.matches(name, all, 1, true)
          end
          -- What does not depend on time is the same whoever publishes it.
          local values = shown(writer, "/named|times|blob/:/^(?!crtime|snaptime|v_p)/")
          expected = expected or values
          assert.equal(expected, values)
          for _, reader in ipairs(machines) do
            if reader.is_there and reader.libraries and reader.order == writer.order then
              assert.equal(all, shown(reader, same))
              assert.near(500 * 1000000007, tonumber(shown(reader, "blob:v_p999"):match("(%d+)%.?%d*\n$")), 2e9)
              local first = count(reader)
              run.await("the count to grow", function() return count(reader) > first end)
            end
          end
        end)
      end)
    end
  end
end)
