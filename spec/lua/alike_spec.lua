-- What an operator asks of a recording in which workers restart, are away and idle, with a gap and a start of the
-- machine: the same text has the same answer in kstat -a, in kstat.aggregate and in a report's columns, at each tick.
local cjson = require("cjson")
local kstat = require("kstat")
local run = require("support.run")

local RECORDING = "spec/vectors/questions/dirty.rec"
local STEP = 240

local OF_GROUPS = {
  "sum(rate(requests))", "sum(rate(errors)) / sum(rate(requests))", "sum(avg(inflight, 1h))",
  "max(max(rate(requests), 1h))", "sum(rate(requests, 10m))",
  "100 * (sum(rate(requests)) / (sum(rate(requests)) ago 1d) - 1)", "count(requests, 10m)",
  "p99(inflight)", "sum(delta(errors), 1h)", "sum(resets(requests, 6h))", "sum(since(requests, 4h))",
  "min(until(inflight, 60, 6h))", "trend(sum(inflight), 3h)", "max(sum(rate(requests)) by (name))",
  "ewma(sum(rate(requests)), 600)", "sum(if(inflight > 30, rate(requests, 1h), 0))", "sum(inflight) ago 2h",
  "sum(distinct(inflight, 1d))", "median(rate(requests), 2h)", "count" }
local OF_KSTATS = { "rate(requests, 10m)", "inflight ago 1h", "changes(inflight, 2h)", "resets(requests, 6h)",
  "since(requests, 4h)", "trend(inflight, 2h)", "rate(requests) / (rate(requests) ago 1d)",
  "inflight / sum(inflight) over all" }

local OF_PERIODS = { "sum(rate(requests)) by (time(3600))", "max(sum(inflight)) by (hour)",
  "sum(delta(errors)), p99(rate(requests)) by (time(86400), name)",
  "100 * sum(rate(requests)) / sum(rate(requests)) over all by (hour, name)",
  "top 3 sum(delta(requests)) by (name, hour)",
  "sum(resets(requests, 1h)) by (time(86400)) having sum(resets(requests, 1h)) > 0" }

-- Answers are texts by the time and the row.
local function note(answers, time, row, value)
  if type(value) == "number" then
    answers[("%.0f %s"):format(time, row)] = ("%.9g"):format(value)
  end
end

local function of_command(question)
  local answers, time = {}, nil
  for line in run.shell(("%s/kstat -r %s -T u -pa '%s' %d 2>/dev/null"):format(run.bin, RECORDING, question, STEP)).out
    :gmatch("[^\n]+") do
    time = line:match("^%d+$") or time
    local row, value = line:match("^web:%d:(%w+):.*\t(.*)$")
    row, value = row or line:match("^(%w+):"), value or line:match("\t(.*)$")
    note(answers, time, row, tonumber(value))
  end
  return answers
end

-- Adds all, and calls a function after each tick.
local function asked(question, after)
  local agg, ks = assert(kstat.aggregate(question)), assert(kstat.open({ capture = RECORDING }))
  for now, prev in kstat.every(STEP, nil, { chain = ks }) do
    agg:add(prev and now - prev or now:since_creation())
    after(agg, now)
  end
  ks:close()
  return agg
end

local function of_module(question)
  local answers = {}
  asked(question, function(agg, now)
    for key, value in agg:each() do
      note(answers, now.time_of_day, key[key.n], value)
    end
    agg:clear()
  end)
  return answers
end

local function of_report(question, by)
  local answers = {}
  local path = os.tmpname()
  run.write_file(path, ("return kstat.report{ select = 'web', %s columns = { { 'name' }, { 'v', %q } } }"):format(
    by and "by = 'name'," or "", question))
  for line in run.shell(("%s/kstatlua -r %s %s -j %d 2>/dev/null"):format(run.bin, RECORDING, path, STEP)).out
    :gmatch("[^\n]+") do
    local row = cjson.decode(line)
    note(answers, row.time, row.name, row.v)
  end
  os.remove(path)
  return answers
end

describe("a question about dirty data has the same answer everywhere:", function()
  it("of groups", function()
    for _, question in ipairs(OF_GROUPS) do
      local want = of_command(question .. " by (name)")
      assert.is_truthy(next(want), question)
      assert.same(want, of_module(question .. " by (name)"), question)
      assert.same(want, of_report(question, true), question)
    end
  end)

  it("of periods", function()
    for _, question in ipairs(OF_PERIODS) do
      local want = run.shell(("%s/kstat -r %s -pa '%s' %d 2>/dev/null"):format(run.bin, RECORDING, question, STEP)).out
      assert.matches("\t%d", want, question)
      assert.equal(want, (asked(question, function() end):render("parseable")), question)
    end
  end)

  it("of periods that were merged", function()
    local question = "sum(inflight) / sum(inflight) over all by (time(14400), name)"
    local parts, n = { assert(kstat.aggregate(question)), assert(kstat.aggregate(question)) }, 0
    local whole = asked(question, function() end)
    local ks = assert(kstat.open({ capture = RECORDING }))
    for now, prev in kstat.every(STEP, nil, { chain = ks }) do
      n = n + 1
      parts[n < 300 and 1 or 2]:add(prev and now - prev or now:since_creation())
    end
    ks:close()
    assert.equal(whole:render("parseable"), (parts[1]:merge(parts[2]):render("parseable")))
  end)

  it("of kstats", function()
    for _, question in ipairs(OF_KSTATS) do
      local want = of_command(question)
      assert.is_truthy(next(want), question)
      assert.same(want, of_module(question), question)
      assert.same(want, of_report(question), question)
    end
  end)
end)
