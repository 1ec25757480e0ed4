-- Machines whose whole output was checked by eye once: an old kernel, a container with lxcfs and no /sys, a host with
-- ZFS. expected.txt has what `kstat -p` shows of the tree, but for times, zeros and cpu_stat, which repeats cpu.
local run = require("support.run")

local function shown(tree)
  local dir = "spec/trees/" .. tree
  local r = run.shell(([[
    export KSTAT_DIR=$(mktemp -d)
    KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s/kstat -p
    rm -r "$KSTAT_DIR"]]):format(dir, dir, run.bin))
  local lines = {}
  for line in r.out:gmatch("[^\n]+") do
    local is_time = line:find(":class\t", 1, true) or line:find(":crtime\t") or line:find(":snaptime\t")
    if not is_time and not line:find("\t0$") and not line:find("^cpu_stat:") then
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, "\n") .. "\n", r.err
end

describe("the kstats are those that were expected of", function()
  for _, tree in ipairs({ "old", "lxcfs", "zfs" }) do
    it(tree, function()
      local out, err = shown(tree)
      assert.equal("", err)
      assert.equal(run.read_file("spec/trees/" .. tree .. "/expected.txt"), out)
    end)
  end
end)
