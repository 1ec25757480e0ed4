-- Readers of metrics that others wrote, where they are installed.
local assert = require("luassert")
local run = require("support.run")

local M = {}

local python = "/usr/bin/python3"
M.has_reader = run.shell(python .. " -c 'import prometheus_client.openmetrics.parser'").status == 0
M.has_promtool = run.shell("command -v promtool").status == 0

-- What promtool says of names that the kernel or illumos gave, and not we; and of percentiles, which are gauges because
-- those of a summary must not be negative.
local KNOWN = {
  '^kstat_[%w_]+_quantile_?[%w_]* non%-summary metrics should not have "quantile" label$',
  "^kstat_%w+_[%w_]*sec_?page_?tables?_[%w_]+ metric names should not contain abbreviated units$",
  "^kstat_caps_[%w_]+_sec metric names should not contain abbreviated units$",
  "^kstat_[%w_]+_count non%-histogram and non%-summary metrics should not have \"_count\" suffix$",
}

-- Fails if promtool does not accept the text.
function M.check_classic(text, what)
  assert.truthy(text:find("\n# TYPE"), what)
  local r = run.run({ "/bin/sh", "-c", "exec promtool check metrics 2>&1", stdin = text })
  for line in r.out:gmatch("[^\n]+") do
    local known = false
    for _, pattern in ipairs(KNOWN) do
      known = known or line:find(pattern) ~= nil
    end
    assert.is_true(known, what .. ": " .. line)
  end
end

local READER = [[
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for f in text_string_to_metric_families(sys.stdin.buffer.read().decode('utf-8')):
    for s in f.samples:
        pass
]]

-- Fails if the reader of prometheus_client does not accept the text.
function M.check_open(text, what)
  local r = run.run({ python, "-c", READER, stdin = text })
  assert.equal("", r.err, what)
  assert.equal(0, r.status, what)
end

return M
