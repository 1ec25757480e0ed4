-- Network traffic per interface, busiest first: kstatlua net_per_nic.lua -z 1
return kstat.report({
  name = "net_per_nic", about = "traffic per network interface",
  select = { module = "link", class = "net" },
  columns = {
    { "NIC", "name" },
    { "rKB/s", "rate(rbytes64) / 1024", about = "kilobytes received per second" },
    { "wKB/s", "rate(obytes64) / 1024", about = "kilobytes sent per second" },
    { "rPk/s", "rate(ipackets64)" },
    { "wPk/s", "rate(opackets64)" },
    { "KB/s", "rate(rbytes64 + obytes64) / 1024" },
  },
  sort = "KB/s", totals = true,
})
