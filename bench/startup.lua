-- The cost of a single small report from exec to exit, beside an interpreter that does nothing.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local kstat = os.getenv("KSTAT_BUILD") .. "/bin/kstat"
local runs = { runs = 200 }
local lua = figure.measure({ "lua5.4", "-e", "" }, runs)

local function compare(name, argv)
  local ours = figure.measure(argv, runs)
  figure.print(name, ("%.2f ms CPU"):format(ours), ("lua5.4 -e '': %.2f ms CPU"):format(lua), ours / lua,
    "under 3x", ours < 3 * lua)
end

compare("kstat -p unix:0:system_misc", { kstat, "-p", "unix:0:system_misc" })
compare("kstatlua -e ''", { kstat .. "lua", "-e", "" })
