-- Questions that people ask, one line each, on a recording whose load is known: spec/vectors/questions.
local run = require("support.run")

local load = "spec/vectors/questions/load.rec"

-- The last n numbers that kstat -a prints, in their order.
local function answer(n, question, ...)
  local r = run.run({ env = { TZ = "UTC" }, "kstat", "-r", load, "-pa", question, ... })
  assert.same({ 0, "" }, { r.status, r.err }, question)
  local list = {}
  for number in r.out:gmatch("\t([^\n]+)") do
    list[#list + 1] = tonumber(number) or number
  end
  assert.is_true(#list >= n)
  return { (table.unpack or unpack)(list, #list - n + 1) }
end

describe("one line answers", function()
  for _, case in ipairs({
    { "errors for each request of all workers together", { 0.021 },
      "sum(rate(errors)) / sum(rate(requests))", "web", "1" },
    { "what the memory of processes is by user, and by state", { 18 * 1048576 + 2097152, 16 * 1048576 },
      "sum by (uid) of rss", "process" },
    { "that by state, too", { 3 * 1048576, 33 * 1048576 }, "sum by (state) of rss", "process" },
    { "which five commands use most CPU", { 8, 7, 6, 5, 4 }, "top 5 by (name) of rate(cpu)", "process", "1" },
    { "which part of the CPU each of the least three takes", { 100 / 36, 200 / 36, 300 / 36 },
      "bottom 3 100 * rate(cpu) / sum(rate(cpu)) over all", "process", "1" },
    { "mean, greatest and p99 of the last six hours, sliding", { 45.5, 48, 47.95 },
      "avg(svc_t, 6h), max(svc_t, 6h), p99(svc_t, 6h)", "svc", "1" },
    { "the same day by day of a recording", { 138000, 144000, 6000 },
      "sum(delta(requests)) by (time(86400))", "web", "1" },
    { "now against the same time yesterday", { 2400 }, "connections - connections ago 1d by (name)", "svc", "1" },
    { "when the file system is full", { 187200 }, "until(available, 0, 6h) by (name)", "fs", "1" },
    { "the busiest CPU minus the idlest", { 20 }, "max(busy) - min(busy)", "cpu", "1" },
    { "only disks that had requests", { 2 }, "sum by (name) of rate(reads) where rate(reads) > 0", "-c", "disk", "1" },
    { "of those whose names match", { 1 }, 'count of busy where name =~ /3$/ and busy >= 30', "cpu", "1" },
  }) do
    it(case[1], function()
      local got = answer(#case[2], (table.unpack or unpack)(case, 3))
      for i, want in ipairs(case[2]) do
        assert.is_true(math.abs(want - got[i]) <= 1e-9 * want, ("%s: %s, not %s"):format(case[3], got[i], want))
      end
    end)
  end

  it("which five commands use most CPU, and all others together", function()
    local r = run.run({ "kstatlua", "-r", load, "-e", [[return kstat.report{ select = "process", by = "name",
      columns = { { "name" }, { "cpu", "sum(rate(cpu))" } }, sort = "cpu", top = 5, rest = "others" }]], "1" })
    assert.matches("command8 8.0\n.*command4 4.0\nothers   6.0\n$", r.out)
  end)

  it("and a ratio of sums is no sum of ratios", function()
    assert.is_true(math.abs(0.0875 - answer(1, "sum of rate(errors) / rate(requests)", "web", "1")[1]) < 1e-9)
  end)
end)
