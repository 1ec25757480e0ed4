--- The views of `kstatlua top`, in the order of their keys.
-- @module kstat.top.views
return {
  (require("kstat.top.views.resources")),
  (require("kstat.top.views.processes")),
  (require("kstat.top.views.cgroups")),
  (require("kstat.top.views.disks")),
  (require("kstat.top.views.statistics")),
  (require("kstat.top.views.published")),
}
