-- Published kstats, by way of spec/c/core_segment.c.
local lines = require("support.lines")

describe("a published kstat", function()
  local dir

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function() os.execute("rm -rf " .. dir) end)

  it("is read, written, reloaded, kept and cleaned up as kstat_provider.h says", function()
    local pipe = assert(io.popen(("KSTAT_DIR=%s %s/spec/core_segment"):format(dir, lines.build)))
    local out = pipe:read("*a")
    pipe:close()
    local checks, failures = out:match("^(%d+) checks, (%d+) failures\n$")
    assert.are.equal("0", failures, out)
    assert.is_true(tonumber(checks) > 400)
  end)
end)
