-- Statistics of illumos that follow from others on Linux.
local L = require("support.linux")

local function dump_of(change)
  local dir = L.copy()
  change(dir)
  local d = L.dump(dir .. "/proc", dir .. "/sys")
  L.remove(dir)
  return d
end

describe("unix:0:system_misc", function()
  it("has the pages that reclaim still has to find as deficit, once free memory is below the low watermarks", function()
    local d = dump_of(function(dir)
      L.sh(("sed -i 's/^MemFree:.*/MemFree: 4 kB/' %s/proc/meminfo"):format(dir))
    end)
    local lotsfree = tonumber(d.stat["unix:0:system_pages:lotsfree"])
    assert.is_true(lotsfree > 1)
    assert.equal(tostring(lotsfree - 1), d.stat["unix:0:system_misc:deficit"])
  end)

  it("has no deficit where the watermarks are not known", function()
    local d = dump_of(function(dir)
      L.sh(("rm %s/proc/zoneinfo"):format(dir))
    end)
    assert.is_nil(d.stat["unix:0:system_misc:deficit"])
  end)
end)

describe("supported_frequencies_Hz", function()
  it("has the least and the greatest clock where the driver chooses any between them", function()
    local d = dump_of(function(dir)
      local cpufreq = dir .. "/sys/devices/system/cpu/cpu0/cpufreq/"
      L.sh("rm " .. cpufreq .. "scaling_available_frequencies")
      L.write(cpufreq .. "cpuinfo_min_freq", "800000\n")
      L.write(cpufreq .. "cpuinfo_max_freq", "4700000\n")
    end)
    assert.equal("800000000:4700000000", d.stat["cpu_info:0:cpu_info0:supported_frequencies_Hz"])
  end)

  it("has the nominal clock where nothing changes it", function()
    local d = dump_of(function(dir)
      L.sh(("rm -r %s/sys/devices/system/cpu/cpu0/cpufreq"):format(dir))
    end)
    assert.equal("2600000000", d.stat["cpu_info:0:cpu_info0:supported_frequencies_Hz"])
  end)
end)
