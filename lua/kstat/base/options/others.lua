--- Options of others (procps, sysstat), by our command and their letter. A text says what to type instead. A table is
-- an option as kstat.base.options has it, `map` our words by theirs, `instead` what is said of other words; or, of a
-- letter that is ours, too, what to say where an argument of theirs `follows`, or as a `note` on a terminal, or what it
-- is where it stands `alone`.
-- @module kstat.base.options.others
local NOTHING = { name = "taken_for_granted" } -- what is so in any case

return {
  top = {
    n = { name = "count", long = "n", arg = "N", type = "count" },
    d = { name = "interval", long = "d", arg = "SECONDS", type = "number" },
    o = { name = "sort", arg = "COLUMN", sets = { view = "processes" }, map = { ["%MEM"] = "RSS", ["%CPU"] = "CPU%",
      RES = "RSS", COMMAND = "PROCESS", nTH = "THREADS" } },
    p = "'kstatlua prstat -p PID' shows these processes",
    u = { name = "filter", long = "u", arg = "USER", type = "user", pattern = "/\\b%s\\b/",
      sets = { view = "processes" } },
    i = { name = "skip_idle" }, w = "$COLUMNS says how wide a frame is",
    H = "'kstatlua prstat -L' shows threads", c = "'kstatlua prstat -A' shows command lines",
    S = "'kstatlua prstat' shows processes", E = "sizes have the unit that fits", s = "-d SECONDS is the interval",
  },
  iostat = {
    k = NOTHING, N = "-n shows descriptive names", o = "--json writes JSON", g = "-C sums controllers",
    H = "-C sums controllers", m = { note = "-m: mount points, as on Solaris; megabytes are -M" },
    t = { note = "-t: terminals, as on Solaris; the time is -T d" },
    p = { follows = "^ALL$", hint = "-p shows the partitions of all disks, and takes no name" },
  },
  vmstat = {
    w = NOTHING, n = NOTHING, t = { name = "timestamp", value = "d" }, a = "'kstat -n meminfo' has Active and Inactive",
    d = "'kstatlua iostat -x' shows disks", D = "'kstatlua iostat -x' shows disks",
    m = "'KSTAT_WITH=slab kstat -c kmem_cache' shows slabs", f = "-s counts forks",
    S = { follows = "^[kKmM]$", hint = "-S: swap-ins and swap-outs, as on Solaris; sizes are in kilobytes" },
  },
  mpstat = {
    P = { name = "taken_for_granted", long = "P", arg = "ALL", type = "word",
      instead = "; 'kstat cpu_stat:0' shows one CPU" }, u = NOTHING, A = NOTHING,
    I = "'kstatlua intrstat' shows interrupts", N = "'kstat lgrp' has the memory of each node",
    o = { name = "json", long = "o", arg = "JSON", type = "word" },
  },
  listen = {
    t = NOTHING, l = NOTHING, n = NOTHING, a = NOTHING, e = NOTHING, ["4"] = NOTHING, ["6"] = NOTHING,
    p = { alone = NOTHING }, u = "'kstat -m udp' has counters of UDP", x = "sockets of TCP alone are shown",
    s = "'kstat -m sockets' counts sockets", i = "'kstat -m tcp' has counters of TCP",
  },
  prstat = {
    e = NOTHING, f = { name = "args" }, l = { name = "args" }, w = "-m shows waits and context switches",
    o = "--csv and --json have all columns", x = NOTHING,
  },
}
