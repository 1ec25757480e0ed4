-- Many writers at once, and writers that are killed: spec/c/core_stress.c, core_killed.c and core_histogram.c.
local lines = require("support.lines")

local soak = tonumber(os.getenv("KSTAT_SOAK")) -- seconds, in `make soak`
local asan = os.getenv("ASAN_OPTIONS") -- with which a program takes long to start

describe("published kstats", function()
  local dir

  local function run(program, arguments)
    local pipe = assert(io.popen(("KSTAT_DIR=%s %s/spec/%s %s"):format(dir, lines.build, program, arguments)))
    local out = pipe:read("*a")
    pipe:close()
    return out
  end

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function() os.execute("rm -rf " .. dir) end)

  it("lose no update of ten processes with four threads each, and no reader sees a torn record", function()
    local out = run("core_stress", (soak or 0.5) .. " 10 4")
    assert.matches("exact\n$", out)
    assert.is_true(tonumber(out:match("updates (%d+)")) > 10000, out)
    local readers = 0
    for reads, busy in out:gmatch("reads (%d+) busy (%d+)") do
      readers = readers + 1
      assert.is_true(tonumber(reads) > 100, out)
      assert.is_true(tonumber(busy) < tonumber(reads) / 20, out)
    end
    assert.are.equal(2, readers)
  end)

  it("survive the death of their writers at any moment", function()
    local kills = soak and 20 * soak or asan and 150 or 500
    local out = run("core_killed", kills)
    assert.matches("sound\n$", out)
    assert.is_true(tonumber(out:match("slowest ([%d.]+) ms")) < 1000, out)
    assert.is_true(tonumber(out:match("complete (%d+)")) > kills, out)
  end)

  it("have sums that are of the counted values, whatever step of an update their writer dies at", function()
    assert.matches("%d+ checks, 0 failures\n$", run("core_histogram", ""))
  end)

  it("are exactly the sum of their parts", function()
    assert.matches("equal\n$", run("core_histogram", "splits " .. (soak and 10000 or 1000)))
  end)

  it("count each value of eight publishers that are killed, but for those in hand", function()
    local kills = soak and 10000 or asan and 30 or 100
    local out = run("core_histogram", "kills " .. kills)
    assert.matches("exact\n$", out)
    assert.is_true(tonumber(out:match("readings (%d+)")) > kills, out)
    assert.is_true(tonumber(out:match("values (%d+)")) > 100 * kills, out)
  end)
end)
