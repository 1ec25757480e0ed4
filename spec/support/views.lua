--- Views of kstatlua top in a window without a terminal, for specs.
local application = require("kstat.top.application")
local assert = require("luassert")
local core = require("kstat.core")
local kstat = require("kstat")
local sampling = require("kstat.top.sampling")

local M = {}

--- A screen of views, the first of which is shown; `source` has further fields for kstat.open.
function M.screen_of(views, source)
  local app = application.new({ group = sampling.group, interval = 1, host = "vm", views = views })
  local samples = sampling.new(function(only, published)
    local given = { only = only, published = published }
    for field, value in pairs(source) do
      given[field] = value
    end
    return kstat.open(given)
  end)
  local self = { app = app }
  function self.tick()
    assert(samples:live(app.shown.groups, 1e6)) -- the clock of a tree is not that of this machine
    app:take(0, true)
    app:lines(100, 24, false) -- what is visible is looked at closer
  end
  -- The lines of the tables: without the first line, the last one, and empty ones.
  function self.lines(width, height)
    local lines, out = app:lines(width or 100, height or 24, false), {}
    for i = 2, #lines - 1 do
      out[#out + 1] = lines[i] ~= "" and (lines[i]:gsub("\27%[[%d;]*m", ""):gsub("^ ", "")) or nil
    end
    return out
  end
  function self.text(...)
    return table.concat(self.lines(...), "\n")
  end
  return self
end

--- Fails where a table is wider than a window or not as high, or has control bytes.
function M.check_fit(s)
  for _, size in ipairs({ { 20, 5 }, { 80, 24 }, { 120, 40 } }) do
    local lines = s.app:lines(size[1], size[2], true)
    assert.equal(size[2], #lines)
    for i = 2, #lines - 1 do
      local line = lines[i]:gsub("\27%[[%d;]*m", "")
      assert.is_nil(line:find("[%z\1-\31\127]"))
      assert.is_true(core.columns_of(line) <= size[1], line)
    end
  end
end

return M
