-- The time that a hypervisor gave to other machines: a column more, where it is asked for.
local capture = require("support.capture")
local run = require("support.run")

describe("--steal", function()
  local source

  setup(function()
    local function at(second)
      local values = {}
      for name, share in pairs({ user = 30, kernel = 10, idle = 20, wait = 10, stolen = 30 }) do
        values[#values + 1] = ('"cpu_ticks_%s":%d,"cpu_nsec_%s":%d'):format(name, share * second, name,
          share * second * 1e7)
      end
      return { capture.kstat("cpu", 0, "sys", "misc", 1, 1, second, table.concat(values, ",")) }
    end
    source = capture.file({ at(10), at(11) })
  end)

  teardown(capture.clean)

  -- The last line of what a command prints.
  local function last(words)
    return run.shell(("%s/kstatlua -r %s %s"):format(run.bin, source, words)).out:match("([^\n]*)\n$")
  end

  it("is the last of the columns of the CPU in vmstat, mpstat and iostat, and no column without it", function()
    for command, ending in pairs({ vmstat = " 30 10 30", mpstat = " 30  10  10  20",
      ["iostat -c"] = " 30 10  %- 20" }) do
      assert.matches(ending .. " 30$", last(command .. " --steal 1 2"))
      assert.matches(ending .. "$", last(command .. " 1 2"))
    end
  end)
end)
