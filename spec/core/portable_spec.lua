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
  end
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
  local tree = "spec/trees/small"

  -- What a machine's kstatlua prints. Times of creation and of reading are this moment's.
  local function shown(m, script)
    local emulator = m.emulator and ("%s -L %s/root"):format(m.emulator, m.build) or ""
    local r = run.tool(("KSTAT_DIR=/nonexistent KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys timeout 60 %s %s/bin/kstatlua %s")
      :format(tree, tree, emulator, m.build, script))
    assert.equal("", r.err)
    assert.equal(0, r.status)
    return (r.out:gsub("[^\n]*:crtime\t[^\n]*\n", ""):gsub("[^\n]*:snaptime\t[^\n]*\n", ""))
  end

  for _, m in ipairs(machines) do
    if m.emulator and m.libraries then
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
