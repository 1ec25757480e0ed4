-- The cost of reading all kstats of the live machine, beside programs that people run to read a part of them.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local runs = { runs = 100 }
local ours = figure.measure({ os.getenv("KSTAT_BUILD") .. "/bin/kstat", "-p" }, runs)
local theirs = figure.measure({ "vmstat", "-s" }, runs) + figure.measure({ "iostat", "-x" }, runs) +
  figure.measure({ "mpstat", "-P", "ALL" }, runs)
figure.print("kstat -p, live", ("%.2f ms CPU"):format(ours),
  ("vmstat -s; iostat -x; mpstat -P ALL: %.2f ms CPU"):format(theirs), ours / theirs, "under 1x", ours < theirs)
