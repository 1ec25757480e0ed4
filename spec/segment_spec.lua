local run = require("support.run")
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

describe("a reader of published kstats", function()
  -- Directories whose times did not change are not looked through: what comes and goes must show all the same.
  it("sees files come and go in directories that were quiet for long", function()
    local dir = run.directory()
    local r = run.run({ "kstatlua", "-e", [[
      local dir = os.getenv("KSTAT_DIR")
      local ks = assert(kstat.open())
      local function quiet()
        os.execute("touch -d 2001-01-01 " .. dir)
        ks:update()
        io.write(tostring((ks:update())), " ")
      end
      quiet()
      local pub = assert(kstat.publish("spec"))
      local k = assert(pub:named({ name = "a", statistics = { "hits" } }))
      io.write(tostring((ks:update())), " ", tostring(ks:lookup("spec", 0, "a") ~= nil), " ")
      quiet()
      assert(pub:named({ name = "b", statistics = { "hits" } })) -- in a file that is known
      io.write(tostring((ks:update())), " ", tostring(ks:lookup("spec", 0, "b") ~= nil), " ")
      quiet()
      os.execute("rm " .. dir .. "/*.kseg")
      io.write(tostring((ks:update())), " ", tostring(ks:lookup("spec", 0, "a") ~= nil), "\n")
    ]], env = { KSTAT_DIR = dir } })
    run.remove_directory(dir)
    assert.equal("", r.err)
    assert.equal("false true true false true true false true false\n", r.out)
  end)
end)
