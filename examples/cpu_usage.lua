-- CPU usage per processor from cpu_stat, in percent of its ticks: kstatlua cpu_usage.lua 5
return kstat.report({
  name = "cpu_usage", about = "CPU usage per processor, percent",
  select = "cpu_stat",
  columns = {
    { "CPU", "instance", format = "%d" },
    { "usr", "100 * delta(user) / delta(user + kernel + wait + idle)" },
    { "sys", "100 * delta(kernel) / delta(user + kernel + wait + idle)" },
    { "wt", "100 * delta(wait) / delta(user + kernel + wait + idle)" },
    { "idl", "100 * delta(idle) / delta(user + kernel + wait + idle)" },
  },
})
