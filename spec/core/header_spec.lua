-- The headers of kstats before their first read, as C programs find them: spec/c/client_header.c reads each kstat
-- into memory of the size that its header says.
local run = require("support.run")

local tree = run.tree_words("small") .. " "

-- Runs the program with an environment; returns type, ndata and size of each kstat by its name, and the text.
local function headers(environment, argument)
  local out = run.shell(("env %s %s/spec/client_header %s"):format(environment, run.build, argument or ""))
  local all = {}
  for name, kind, ndata, size in out.out:gmatch("([^\n]+:%d+:[^\n]+) (%d) (%d+) (%d+)\n") do
    all[name] = ("%s %s %s"):format(kind, ndata, size)
  end
  return all, out.out .. out.err
end

describe("the header of a kstat before its first read", function()
  local directory

  setup(function()
    directory = run.directory()
  end)

  teardown(function()
    run.remove_directory(directory)
  end)

  it("is true on the running machine", function()
    local _, text = headers("KSTAT_DIR=" .. directory)
    assert.matches("%d checks, 0 failures\n$", text)
  end)

  it("has the number and the size of the data of each type", function()
    local all, text = headers(tree .. "KSTAT_DIR=" .. directory)
    assert.matches("%d checks, 0 failures\n$", text)
    assert.are.equal("0 24 24", all["unix:0:sysinfo"])
    assert.are.equal("0 48 48", all["unix:0:vminfo"])
    assert.are.equal("0 380 380", all["cpu_stat:0:cpu_stat0"])
    assert.are.equal("1 5 240", all["unix:0:kstat_types"])
    assert.are.equal("3 1 80", all["sd:0:sda"])
    assert.matches("^1 %d+ %d+$", all["cpu:0:sys"])
    assert.are.equal("1 0 0", all["unix:0:vm_events"]) -- the names are in the file
  end)

  it("has room for long texts, such as paths", function()
    for _, name in ipairs(run.trees()) do
      local _, text = headers(("%s KSTAT_WITH=all KSTAT_DIR=%s"):format(run.tree_words(name), directory))
      assert.matches("%d checks, 0 failures\n$", text)
    end
  end)

  it("is true in a capture and in a recording of it", function()
    local capture, recording = directory .. "/capture", directory .. "/recording"
    assert.are.equal(0, run.shell(("%s KSTAT_DIR=%s %s/kstat -j >%s"):format(tree, directory, run.bin, capture)).status)
    assert.are.equal(0, run.shell(("%s KSTAT_DIR=%s %s/kstatlua record -o %s 0.01 1"):format(tree, directory, run.bin,
      recording)).status)
    for _, file in ipairs({ capture, recording }) do
      local all, text = headers("KSTAT_SOURCE=" .. file)
      assert.matches("%d checks, 0 failures\n$", text)
      assert.are.equal("0 48 48", all["unix:0:vminfo"])
      assert.are.equal("3 1 80", all["sd:0:sda"])
      assert.matches("^1 [1-9]%d* %d+$", all["unix:0:vm_events"])
    end
  end)

  it("is true for kstats of this process and for published ones", function()
    local all, text = headers(tree .. "KSTAT_DIR=" .. directory, "provide")
    assert.matches("%d checks, 0 failures\n$", text)
    for _, module in ipairs({ "own", "published" }) do
      assert.are.equal("0 33 33", all[module .. ":0:raw"])
      assert.are.equal("2 1 20", all[module .. ":0:intr"])
      assert.are.equal("3 1 80", all[module .. ":0:io"])
      assert.are.equal("4 2 160", all[module .. ":0:timers"])
      -- Without the arrays, which programs do not know.
      assert.matches("^1 4 %d+$", all[module .. ":0:named"])
      assert.matches("^1 8 %d+$", all[module .. ":0:histogram"])
    end
  end)

  it("is true in a capture of another system", function()
    local _, text = headers("KSTAT_SOURCE=spec/vectors/kstat/host.jsonl")
    assert.matches("%d%d%d%d checks, 0 failures\n$", text)
  end)
end)
