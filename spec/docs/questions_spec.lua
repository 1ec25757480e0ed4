-- doc/questions.md: each line answers what the page says, on recordings whose load is known, and Prometheus agrees, or
-- answers what the page says of it.
local cjson = require("cjson")
local run = require("support.run")

local FOLDER = "spec/vectors/questions/"
local load = FOLDER .. "load.rec"
local RECORDINGS = { ["load.rec"] = { interval = 3600, ends = 1700179200 },
  ["dirty.rec"] = { interval = 240, ends = 1700769600 } }

-- What the page asks: a line of kstat, the same for Prometheus, and the answer of both.
local questions = {}
local page = run.read_file("doc/questions.md"):gsub("\n\n", "\n\n\n")
for title, line, promql in page:gmatch("\n# ([^\n]+)\n(kstat [^\n]+)\n(  .-)\n[\n`]") do
  local answer, of_prometheus = title:match(": ([^:;]+)$"), nil
  if title:find("; Prometheus: ") then
    answer, of_prometheus = title:match(": ([^:;]+); Prometheus: ([^:;]+)$")
  end
  local day, minute = line:match("%-%-to '(%S+) (%S+)'")
  questions[#questions + 1] = { title = title, line = line, promql = promql, answer = answer,
    of_prometheus = of_prometheus,
    time = day and day .. "T" .. minute .. ":00Z" or RECORDINGS[line:match("%w+%.rec")].ends }
end

-- What commands print, run one after the other by one shell: it is the shell that takes long.
local function outputs_of(lines)
  local r = run.shell(table.concat(lines, "\necho '\1'\n") .. "\necho '\1'")
  assert.same({ 0, "" }, { r.status, (r.err:gsub("kstat: nothing was recorded from [^\n]+\n", "")) })
  local list = {}
  for text in r.out:gmatch("([^\1]*)\1\n") do
    list[#list + 1] = text
  end
  assert.equal(#lines, #list)
  return list
end

-- The values of the last report by their keys, "" without one; of each line.
local function ask_kstat(lines)
  local asked = {}
  for i, line in ipairs(lines) do
    asked[i] = ("PATH=%s:$PATH TZ=UTC %s"):format(run.quote(run.bin), (line:gsub(" %-a ", " -pa ", 1)
      :gsub("%w+%.rec", FOLDER .. "%0")))
  end
  local answers = outputs_of(asked)
  for i, line in ipairs(lines) do
    local values = {}
    for name, value in ("\n\n" .. answers[i]):match(".*\n\n(.*)$"):gmatch("([^\t\n]*)\t([^\n]+)") do
      values[line:find(" by %(") and name:match("^[^:]*") or ""] = tonumber(value)
    end
    answers[i] = values
  end
  return answers
end

-- "a 1, b 2" as values by their keys.
local function values_of(answer)
  local values = {}
  for key, value in (answer .. ","):gmatch("(%S-) ?(-?[%d.]+),") do
    values[key] = tonumber(value)
  end
  return values
end

local function assert_near(want, got, share, title)
  for key in pairs(got) do
    assert.truthy(want[key], title .. ": " .. key)
  end
  for key, value in pairs(want) do
    assert.is_true(math.abs(value - (got[key] or 0 / 0)) <= share * math.abs(value),
      ("%s: %s is %s, not %s"):format(title, key, got[key], value))
  end
end

describe("the page of questions", function()
  local answers

  setup(function()
    local lines = {}
    for i, q in ipairs(questions) do
      lines[i] = q.line
    end
    answers = ask_kstat(lines)
  end)

  it("has fifty-three, and the answers of kstat", function()
    assert.equal(53, #questions)
    for i, q in ipairs(questions) do
      assert_near(values_of(q.answer), answers[i], 5e-6, q.title)
    end
  end)

  it("has those of Prometheus, to one part in 10^9", function()
    if run.shell("command -v prometheus promtool curl").status ~= 0 then
      return pending("prometheus is not here")
    end
    -- Not in memory: promtool writes 128 MB of nothing for each two hours, which are a hole only on a disk.
    local dir = run.directory("/var/tmp")
    for name, recording in pairs(RECORDINGS) do
      assert.equal(0, run.shell(("%s/kstat -r %s -o openmetrics %d >%s/text && : >%s/config && " ..
        "promtool tsdb create-blocks-from openmetrics %s/text %s/blocks"):format(run.bin, FOLDER .. name,
        recording.interval, dir, dir, dir, dir)).status)
    end
    local pid = run.start(("prometheus --config.file=%s/config --storage.tsdb.path=%s/blocks --log.level=error "
      .. "--storage.tsdb.retention.time=100y --web.listen-address=127.0.0.1:0"):format(dir, dir), dir .. "/log")
    finally(function()
      run.stop(pid)
      run.remove_directory(dir)
    end)
    local url = ("http://127.0.0.1:%s/api/v1/query"):format(run.port_of(pid))
    run.await("Prometheus", function() return run.shell("curl -sf -d query=1 " .. url).status == 0 end)
    local asked = {}
    for i, q in ipairs(questions) do
      asked[i] = ("curl -sS -d time=%s --data-urlencode query=%s %s"):format(q.time, run.quote(q.promql), url)
    end
    for i, text in ipairs(outputs_of(asked)) do
      local q, values, answer = questions[i], {}, cjson.decode(text)
      assert.equal("success", answer.status, q.promql)
      for _, one in ipairs(answer.data.result) do
        local _, key = next(one.metric)
        values[key or ""] = one.value[2] ~= "NaN" and tonumber(one.value[2]) or nil
      end
      if q.of_prometheus then
        assert_near(values_of(q.of_prometheus), values, 5e-6, q.title)
      else
        assert_near(answers[i], values, 1e-9, q.title)
      end
    end
  end)

  it("is of days, too", function()
    local r = run.run({ "kstat", "-r", load, "-pa", "sum(delta(requests)) by (time(86400))", "web", "1",
      env = { TZ = "UTC" } })
    local last = {}
    for value in r.out:gmatch("\t(%d+)\n") do
      last[#last + 1] = tonumber(value)
    end
    assert.same({ 144000, 144000 }, last)
  end)

  it("is as a report, with what is cut off", function()
    local r = run.run({ "kstatlua", "-r", load, "-e", [[return kstat.report{ select = "process", by = "name",
      columns = { { "name" }, { "cpu", "sum(rate(cpu))" } }, sort = "cpu", top = 5, rest = "others" }]], "1" })
    assert.matches("command8 8.0\n.*command4 4.0\nothers   6.0\n$", r.out)
  end)

  it("does not take a sum of ratios for a ratio of sums", function()
    local answer = ask_kstat({ "kstat -r load.rec -a 'sum(rate(errors) / rate(requests))' web 1" })[1]
    assert_near({ [""] = 0.0875 }, answer, 1e-9, "sum of ratios")
  end)
end)
