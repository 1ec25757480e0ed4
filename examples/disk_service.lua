-- Service times of disks, slowest first: kstatlua disk_service.lua -z 5
return kstat.report({
  name = "disk_service", about = "service times of disks",
  select = { class = "disk" },
  columns = {
    { "device", "name" },
    { "r/s", "r_s" }, { "w/s", "w_s" }, { "kr/s", "kr_s" }, { "kw/s", "kw_s" },
    { "wait", "wait" }, { "actv", "actv" },
    { "wsvc_t", "wsvc_t", about = "milliseconds waiting" },
    { "asvc_t", "asvc_t", about = "milliseconds in service" },
    { "%b", "b_pct", format = "%.0f" },
  },
  sort = "asvc_t",
})
