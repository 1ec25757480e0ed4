-- The chain in C, over a source made up by spec/c/core_chain.c.
local build = os.getenv("KSTAT_BUILD") or "build"

local function run(n)
  local pipe = assert(io.popen(("%s/spec/core_chain %d 2>&1"):format(build, n)))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

describe("the chain", function()
  it("finds, reads, updates and samples a thousand kstats", function()
    assert.matches("^%d%d checks, 0 failures\n$", run(1000))
  end)

  it("does the same with a hundred thousand", function()
    assert.matches("^%d%d checks, 0 failures\n$", run(100000))
  end)
end)

describe("writing some statistics of a kstat", function()
  it("takes what fits, all or nothing", function()
    local pipe = assert(io.popen(build .. "/spec/core_write 2>&1"))
    local text = pipe:read("*a")
    pipe:close()
    assert.matches("^%d%d checks, 0 failures\n$", text)
  end)
end)
