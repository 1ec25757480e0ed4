--- Kstats and drivers of illumos that are not here: what has their figures; "": Linux does not count them. A number at
-- the end of a name is left out.
-- @module kstat.base.illumos
local KSTATS = { vminfo = "unix:0:meminfo", kmem_alloc = "kmalloc-8 and so on, with KSTAT_WITH=slab",
  vopstats = "a kstat of class 'fs'", zone_caps = "a kstat of class 'cgroup'", zones = "a kstat of class 'cgroup'" }
for name in ("segmap dnlcstats ncstats biostats flushmeter callout turnstile sock_unix_list kvm pg_hw_perf " ..
  "pci_intrs kmem_magazine"):gmatch("[%w_]+") do
  KSTATS[name] = ""
end
for driver in ("hme eri ge ce bge nge e1000g igb ixgbe rge nxge vnic aggr"):gmatch("%w+") do
  KSTATS[driver] = "link:0:NAME"
end
for driver in ("cmdk dad ssd blkdev"):gmatch("%w+") do
  KSTATS[driver] = "a kstat of class 'disk'"
end

return KSTATS
