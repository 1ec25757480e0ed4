--- An exporter for specs, on a free port of 127.0.0.1.
local run = require("support.run")

local M = {}

--- Whether the exporter was built here.
M.is_built = run.shell(("%s/kstatlua -e 'require(\"kstat.http\")'"):format(run.bin)).status == 0

--- Starts one. directory: its KSTAT_DIR; arguments: a text of further ones; prefix: a command that runs it. Returns
-- { pid =, port = }.
function M.start(directory, arguments, prefix)
  local out = os.tmpname()
  local pid = run.start(("env KSTAT_DIR=%s %s %s/kstatlua exporter --listen 127.0.0.1:0 %s"):format(directory,
    prefix or "", run.bin, arguments or ""), out)
  local text
  local port = run.await(function() return "the exporter's port; it says: " .. text end, function()
    text = run.read_file(out)
    return text:match("listening at 127%.0%.0%.1:(%d+)\n")
  end)
  os.remove(out)
  return { pid = pid, port = port }
end

return M
