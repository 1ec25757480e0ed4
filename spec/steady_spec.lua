-- Reports whose rows are sums (`from`): what they show, and that ticks made in C write what ticks in Lua write.
local kstat = require("kstat")
local run = require("support.run")

local TREE = { KSTAT_PROC = "spec/trees/small/proc", KSTAT_SYS = "spec/trees/small/sys" }

-- A report of gauges, counters and counts; more: further columns. It says on stderr how many ticks C made.
local SCRIPT = [[
local core = require("kstat.core")
local run = core.steady_run
core.steady_run = function(...)
  local why, ticks, a, b = run(...)
  io.stderr:write("C made ", ticks, "\n")
  return why, ticks, a, b
end
local function figures(list) return kstat.figures(list) end
return kstat.report({
  name = "sums", repeat_header = 3,
  from = {
    { { module = "nothing" }, { module = "unix", instance = 0, name = "sys" }, figures = figures({
      running = { "now", "procs_running" }, scaled = { "now", "procs_running", scale = 10 },
      cs = { "rate", "pswitch" },
    }) },
    { { class = "disk" }, figures = figures({ disks = { "count" } }) },
    fields = { label = "all", flag = true },
  },
  columns = {
    { "label", width = 5 }, { "running", width = 7, format = "%%.0f" }, { "scaled", width = 7 },
    { "cs", width = 5, format = "%%d" }, { "disks", width = 5, format = "%%d" }, { "absent", width = 6 }, %s
  },
})
]]

describe("a report whose rows are sums", function()
  local scripts = {}

  local function sums(more, ...)
    local path = os.tmpname()
    scripts[#scripts + 1] = path
    local f = assert(io.open(path, "w"))
    f:write(SCRIPT:format(more))
    f:close()
    return run.run({ env = TREE, "kstatlua", path, ... })
  end

  after_each(function()
    for i, path in ipairs(scripts) do
      os.remove(path)
      scripts[i] = nil
    end
  end)

  it("writes the same lines whether C makes the ticks or Lua", function()
    local steady = sums("", "0.02", "7")
    local slow = sums("{ '', function() return '' end, width = 0 }", "0.02", "7")
    assert.equals(0, steady.status)
    assert.equals("C made 6\n", steady.err)
    assert.equals("", slow.err)
    assert.equals(slow.out, steady.out)
    local _, headers = steady.out:gsub("running", "")
    local _, lines = steady.out:gsub("\n", "")
    assert.same({ 3, 10 }, { headers, lines })
  end)

  it("leaves ticks to Lua whose rows have other values than numbers and texts", function()
    local r = sums("{ 'list', width = 5 }", "0.02", "3")
    assert.equals("C made 2\n", r.err)
    r = sums("{ 'flag', width = 5 }", "0.02", "3")
    assert.equals("", r.err)
    assert.equals(3, select(2, r.out:gsub("true\n", "")))
  end)

  it("shows sums, scales and counts, and a dash for what is missing", function()
    local line = sums("", "--csv").out:match("\n([^\n]+)")
    local running = tonumber(line:match("^[^,]*,all,(%d+),"))
    assert.truthy(running and running > 0)
    local ks = assert(kstat.open({ proc = TREE.KSTAT_PROC, sys = TREE.KSTAT_SYS }))
    local disks = #ks:select({ class = "disk" })
    ks:close()
    assert.truthy(line:find((",all,%d,%d,"):format(running, 10 * running), 1, true), line)
    assert.truthy(line:find((",%d,$"):format(disks)), line)
  end)

  it("tells a mistake in its sources with the number of the source", function()
    for text, from in pairs({
      ["array of sources"] = {}, ["source 1: { selector"] = { {} },
      ["source 1: figures"] = { { "cpu" } },
      ["source 1: unknown field 'eech'"] = { { "cpu", figures = kstat.figures({}), eech = true } },
      ["source 1: instance = \"row\""] = {
        { { module = "cpu", name = "vm", instance = "row" }, figures = kstat.figures({}) },
      },
      ["source 1: figure 'x': the row has"] = {
        { { module = "cpu" }, figures = kstat.figures({ x = { "count" } }) }, fields = { x = 5 },
      },
      ["source 1: figure 'name': the row has"] = {
        { { module = "cpu" }, each = true, figures = kstat.figures({ name = { "count" } }) },
      },
    }) do
      local ok, message = pcall(kstat.report, { from = from, columns = { { "a" } } })
      assert.falsy(ok)
      assert.truthy(message:find(text, 1, true), message)
    end
  end)
end)

describe("kstat.figures", function()
  it("refuses what makes no figure, naming it", function()
    for text, figure in pairs({
      ["of = { statistic"] = { "percent", "a" }, ["only a percentage"] = { "rate", "a", of = { "b" } },
      ["a count has no"] = { "count", "a" }, ["scale: a number"] = { "rate", "a", scale = "x" },
    }) do
      local ok, message = pcall(kstat.figures, { f = figure })
      assert.falsy(ok)
      assert.truthy(message:find("figure 'f'", 1, true) and message:find(text, 1, true), message)
    end
  end)
end)
