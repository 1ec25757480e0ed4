-- OpenZFS of node_exporter's tree: every value that node_exporter shows for it.
local L = require("support.linux")

local KSTAT = { abd = "abdstats", arc = "arcstats", dbuf = "dbufstats", dmu_tx = "dmu_tx", dnode = "dnodestats",
  fm = "fm", vdev_cache = "vdev_cache_stats", vdev_mirror = "vdev_mirror_stats", xuio = "xuio_stats",
  zfetch = "zfetchstats", zil = "zil" }

describe("OpenZFS of node_exporter's tree", function()
  it("equals what node_exporter shows", function()
    local d = L.dump(L.node_exporter .. "/proc", L.node_exporter .. "/sys")
    local plain, datasets = {}, {} -- its names have "_" for "-"
    for id, value in pairs(d.stat) do
      plain[id:gsub("%-", "_")] = value
      local dataset = id:match("^(zfs/[^:]+:0:objset%-%d+):dataset_name$")
      if dataset then
        datasets[value] = dataset
      end
    end
    local compared = 0
    for line in L.node_metrics() do
      local name, labels, value = line:match("^node_zfs_([%w_]+)(.*) (%S+)$")
      local pool = name and labels:match('zpool="([^"]+)"')
      local id
      if pool and name == "zpool_state" then
        local state = d.stat["zfs/" .. pool .. ":0:state:state"]
        assert.equal(labels:match('state="(%l+)"') == state:lower() and "1" or "0", value, pool)
        compared = compared + 1
      elseif pool and name:find("^zpool_dataset_") then
        id = datasets[labels:match('dataset="([^"]+)"')] .. name:gsub("^zpool_dataset_", ":")
      elseif pool then
        id = "zfs:0:" .. pool .. name:gsub("^zpool_", ":"):gsub("([rw])update", "%1lastupdate")
      elseif name then
        for prefix, kstat in pairs(KSTAT) do
          if name:sub(1, #prefix + 1) == prefix .. "_" then
            id = "zfs:0:" .. kstat .. ":" .. name:sub(#prefix + 2)
          end
        end
      end
      if id then
        local ours = tonumber(d.stat[id] or plain[id])
        assert.is_true(math.abs(ours - tonumber(value)) <= math.abs(ours) * 1e-9, id)
        compared = compared + 1
      end
    end
    assert.equal(359, compared)
  end)
end)
