-- Recordings in C, by spec/c/core_recording.c: what is written is read back exactly.
local build = os.getenv("KSTAT_BUILD") or "build"
local dir

local function run(...)
  local command = ("%s/spec/core_recording %s 2>&1"):format(build, table.concat({ ... }, " "))
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

describe("a recording", function()
  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function()
    os.execute("rm -rf " .. dir)
  end)

  it("gives back every value of every kstat, those that come, go and fail included, in any order", function()
    run("write", dir .. "/r", 400)
    assert.equals("400 samples, 0 values differ\n", run("read", dir .. "/r"))
    assert.equals("200 samples, 0 values differ\n", run("seek", dir .. "/r", 400))
  end)

  it("gives no wrong value where it is damaged, and says so", function()
    run("write", dir .. "/r", 130, 12)
    assert.equals("samples found: many, damage told: often, 0 values differ\n",
      run("seek-damaged", dir .. "/r", dir .. "/copy", 130, 12))
  end)

  it("takes nothing for what sleeps", function()
    assert.equals("at most 40 bytes, 0 snaptimes are wrong\n", run("idle", dir .. "/r"))
  end)

  it("is continued by the next recorder", function()
    run("write", dir .. "/r", 20)
    run("write", dir .. "/r", 20)
    assert.equals("40 samples, 0 values differ\n", run("read", dir .. "/r"))
  end)

  it("opens at any time", function()
    run("write", dir .. "/r", 800)
    assert.equals("101 samples, 0 values differ\n", run("read", dir .. "/r", 1700000500, 1700000600))
    assert.equals(dir .. "/r: no sample at or after 1700000900\n", run("read", dir .. "/r", 1700000900))
    assert.equals(dir .. "/r: no sample from 1 to 2\n", run("read", dir .. "/r", 1, 2))
  end)

  it("keeps the samples before a cut, and is continued behind them", function()
    run("write", dir .. "/r", 20)
    local f = assert(io.open(dir .. "/r", "rb"))
    local bytes = f:read("*a")
    f:close()
    f = assert(io.open(dir .. "/r", "wb"))
    f:write(bytes:sub(1, -10))
    f:close()
    assert.equals(dir .. "/r: ends inside a sample; the 19 before it are whole\n" ..
      "19 samples, 0 values differ\n", run("read", dir .. "/r"))
    run("write", dir .. "/r", 20)
    assert.matches("^39 samples", run("read", dir .. "/r"))
  end)

  it("comes to an end wherever it is cut or corrupted", function()
    run("write", dir .. "/r", 12, 60)
    local text = run("damage", dir .. "/r", dir .. "/copy")
    assert.matches("%d+ cuts, each with as many samples as the one before or more: yes\n", text)
    assert.matches("corrupted everywhere, and came to an end\n", text)
  end)

  it("takes a sample for damaged that has more or less than its kstats need", function()
    assert.equal("whole: decoded\ncut: damaged sample\nlonger: damaged sample\nexpecting more: damaged sample\n",
      run("decode"))
  end)

  it("refuses a file that is something else, and says so", function()
    local f = assert(io.open(dir .. "/other", "w"))
    f:write(("something else\n"):rep(10))
    f:close()
    assert.matches("exists and is not a recording", run("write", dir .. "/other", 1))
  end)
end)
