-- The C interface of devstat against the reference vectors.
local cjson = require("cjson")
local driver = require("support.devstat_driver")
local model = require("support.devstat_model")
local run = require("support.run")

local function vectors(name)
  -- Numbers that a double cannot hold are read as text.
  local text = run.vector("devstat/" .. name .. ".json")
  text = text:gsub("([%[:,])(%-?%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d+)([,%]}])", '%1"%2"%3')
  return cjson.decode(text)
end

local function is_null(v) return v == nil or v == cjson.null end

-- Within the vectors' tolerance; not a number and infinite are never right.
local function close(got, want, abs_tol)
  local g, w = tonumber(got), tonumber(want)
  if g ~= g or g == math.huge or g == -math.huge then return false end
  return math.abs(g - w) <= 1e-12 * math.abs(w) + (tonumber(abs_tol) or 0)
end

describe("devstat_compute_statistics", function()
  it("computes every metric of the reference vectors", function()
    local v = vectors("compute")
    local commands = {}
    for i, case in ipairs(v.cases) do
      commands[i] = table.concat({ "compute", case.etime, driver.device(case.current),
        driver.device(case.previous) }, " ")
    end
    local compared, guarded = 0, 0
    for i, answer in ipairs(driver.run(commands)) do
      local case, got = v.cases[i], driver.words(answer)
      assert.are.equal(#v.metrics, #got, case.id)
      for m, metric in ipairs(v.metrics) do
        local want = case.results[m]
        local what = ("%s %s: got %s, want %s"):format(case.id, metric[1], got[m], want)
        if metric[1] == "DSM_BUSY_PCT" and (want == "inf" or want == "nan") then
          -- A choice of devstat.h: no percentage of no time.
          assert.are.equal("0", got[m], what)
          guarded = guarded + 1
        elseif metric[3] == "u64" then
          assert.are.equal(want, got[m], what)
        else
          assert.is_true(close(got[m], want, case.abs_tol and case.abs_tol[metric[1]]), what)
        end
        compared = compared + 1
      end
    end
    assert.are.equal(#v.cases * 43, compared)
    assert.are.equal(118, #v.cases)
    assert.are.equal(3, guarded)
  end)

  it("takes less than a nanosecond as no time, so that no rate is infinite", function()
    local d = "device 0 18446744073709551615 0 0 0 18446744073709551615 0 0 " ..
      ("0 0 "):rep(4) .. "9000000000000000000 0 512 0 0"
    local commands, metrics = {}, vectors("compute").metrics
    for _, etime in ipairs({ "1e-4940", "1e-320", "9.99e-10", "nan", "-1", "0", "1e-9" }) do
      commands[#commands + 1] = ("compute %s %s null"):format(etime, d)
    end
    local answers = driver.run(commands)
    for i, answer in ipairs(answers) do
      local got, rates = driver.words(answer), 0
      assert.are.equal(#metrics, #got)
      for m, metric in ipairs(metrics) do
        if metric[1]:find("_PER_SECOND") or metric[1] == "DSM_BUSY_PCT" then
          rates = rates + 1
          local finite = tonumber(got[m]) and tonumber(got[m]) < math.huge
          assert.is_true(i < #answers and got[m] == "0" or i == #answers and finite,
            commands[i]:sub(1, 16) .. metric[1] .. " " .. got[m])
        end
      end
      assert.is_true(rates >= 13)
    end
  end)

  it("reads its arguments as the reference does", function()
    local v = vectors("call")
    local number = {}
    for i, name in ipairs(v.metric_names) do number[name] = i - 1 end
    local commands = {}
    for i, case in ipairs(v.cases) do
      local words = { "call", #case.metrics }
      for _, m in ipairs(case.metrics) do
        words[#words + 1] = driver.int(number[m] or m)
      end
      words[#words + 1] = case.etime
      words[#words + 1] = driver.device(case.current)
      words[#words + 1] = driver.device(case.previous)
      commands[i] = table.concat(words, " ")
    end
    for i, answer in ipairs(driver.run(commands)) do
      local case = v.cases[i]
      local results, errbuf = answer:match("^([^\t]*)\t(.*)$")
      assert.are.equal(case.errbuf, errbuf, case.id)
      local got = driver.words(results)
      assert.are.equal(case.ret, tonumber(got[1]), case.id)
      for m = 1, #case.metrics do
        local want = case.results[m]
        if is_null(want) then
          assert.are.equal("null", got[m + 1], case.id)
        else
          assert.is_true(close(got[m + 1], want), case.id)
        end
      end
    end
  end)
end)

describe("devstat_compute_etime", function()
  it("subtracts binary times exactly", function()
    local v = vectors("etime")
    local commands = {}
    for i, case in ipairs(v.cases) do
      commands[i] = table.concat({ "etime", driver.time(case.cur), driver.time(case.prev) }, " ")
    end
    for i, answer in ipairs(driver.run(commands)) do
      local case = v.cases[i]
      assert.is_true(close(answer, case.etime, case.abs_tol),
        ("%s: got %s, want %s"):format(case.id, answer, case.etime))
    end
  end)
end)

describe("devstat_buildmatch", function()
  it("compiles and rejects what the reference does, in its words", function()
    local v = vectors("buildmatch")
    local commands, wanted = {}, {}
    for _, case in ipairs(v.cases) do
      commands[#commands + 1] = "forget-matches"
      for _, call in ipairs(case.calls) do
        commands[#commands + 1] = "match " .. driver.text(call.str)
        local words = { driver.int(call.ret), driver.int(call.num_matches) }
        for _, m in ipairs(call.matches) do
          words[#words + 1] = ("%.0f:%.0f:%.0f"):format(m[1], m[2], m[3])
        end
        wanted[#commands] = { case.id, table.concat(words, " ") .. "\t" .. call.errbuf }
      end
    end
    local compared = 0
    for i, answer in ipairs(driver.run(commands)) do
      if wanted[i] then
        assert.are.equal(wanted[i][2], answer, wanted[i][1])
        compared = compared + 1
      end
    end
    assert.is_true(compared >= 73)
  end)
end)

describe("devstat_selectdevs", function()
  local modes = { add = 0, only = 1, remove = 2, addonly = 3 }
  local v = vectors("selectdevs")

  local function devices_command(list)
    local words = { "devices", #list }
    for _, d in ipairs(list) do
      words[#words + 1] = ("%.0f %s %.0f %.0f -"):format(d.device_number,
        driver.text(d.device_name), d.unit_number, d.device_type)
    end
    return table.concat(words, " ")
  end

  local function select_command(step)
    local words = { "select", modes[step.mode], driver.int(step.generation),
      driver.int(step.maxshowdevs), driver.int(step.perf_select), #step.matches }
    for _, m in ipairs(step.matches) do words[#words + 1] = driver.text(m) end
    words[#words + 1] = #step.names
    for _, n in ipairs(step.names) do words[#words + 1] = driver.text(n) end
    return table.concat(words, " ")
  end

  local function state_text(ret, num_selected, generation, entries)
    local words = { ("%.0f %.0f %.0f %.0f"):format(ret, num_selected, #entries, generation) }
    for _, e in ipairs(entries) do
      words[#words + 1] = ("%s:%.0f:%.0f:%.0f"):format(e.name, e.selected, e.position, e.bytes)
    end
    return table.concat(words, " ")
  end

  local function expected_text(x)
    local entries = {}
    for i, name in ipairs(x.order) do
      entries[i] = { name = name, selected = x.selected[i], position = x.position[i],
        bytes = x.bytes and x.bytes[i] or 0 }
    end
    return state_text(x.ret, x.num_selected, x.select_generation, entries)
  end

  local function set_bytes(state, step)
    for _, e in ipairs(state.entries or {}) do
      e.bytes = step.set_bytes and step.set_bytes[e.name] or e.bytes
    end
  end

  it("is modelled, faults included, by the model of this spec", function()
    for _, case in ipairs(v.cases) do
      local state = model.new(true)
      for i, step in ipairs(case.steps) do
        set_bytes(state, step)
        local ret = model.call(state, step, v.fixtures[step.devices])
        local where = case.id .. " step " .. i
        if step.tie_order_unspecified then
          -- Go on from the order that the reference happened to have.
          local by_name = {}
          for _, e in ipairs(state.entries) do by_name[e.name] = e end
          for j, name in ipairs(step.expect.order) do
            state.entries[j] = by_name[name]
            by_name[name].selected = step.expect.selected[j]
          end
          assert.are.equal(step.expect.num_selected, state.num_selected, where)
        else
          assert.are.equal(expected_text(step.expect),
            state_text(ret, state.num_selected, state.generation, state.entries), where)
        end
      end
    end
  end)

  it("yields the reference vectors, but for the faults that devstat.h lists", function()
    local commands, wanted = {}, {}
    local firm, corrected = 0, 0
    for _, case in ipairs(v.cases) do
      local ours, faulty, tied = model.new(false), false, false
      commands[#commands + 1] = "forget-selection"
      for i, step in ipairs(case.steps) do
        set_bytes(ours, step)
        commands[#commands + 1] = devices_command(v.fixtures[step.devices])
        for name, bytes in pairs(step.set_bytes or {}) do
          commands[#commands + 1] = ("bytes %s %.0f"):format(driver.text(name), bytes)
        end
        commands[#commands + 1] = select_command(step)
        local ret = model.call(ours, step, v.fixtures[step.devices])
        local text = state_text(ret, ours.num_selected, ours.generation, ours.entries)
        wanted[#commands] = { case.id .. " step " .. i, text }
        tied = tied or step.tie_order_unspecified
        if not faulty and step.mode ~= "remove" then
          assert.are.equal(step.expect.num_selected, ours.num_selected, wanted[#commands][1])
        end
        -- Only a removal can bring the faults in; then they stay in the case.
        if not tied and text ~= expected_text(step.expect) then
          assert.is_true(faulty or step.mode == "remove", wanted[#commands][1])
          faulty = true
          corrected = corrected + 1
        elseif not tied then
          firm = firm + 1
        end
      end
    end
    for i, answer in ipairs(driver.run(commands)) do
      if wanted[i] then assert.are.equal(wanted[i][2], answer, wanted[i][1]) end
    end
    assert.are.same({ firm = 291, corrected = 42 }, { firm = firm, corrected = corrected })
  end)

  it("removes every device that is named", function()
    local list = v.fixtures.A12
    local answers = driver.run({
      devices_command(list),
      select_command({ mode = "add", generation = 1, maxshowdevs = 12, perf_select = 0,
        matches = {}, names = {} }),
      select_command({ mode = "remove", generation = 1, maxshowdevs = 12, perf_select = 0,
        matches = {}, names = { "da0", "cd0" } }),
    })
    assert.matches("^1 10 12 1 ", answers[3])
    assert.matches(" da0:0:2:0 ", answers[3])
    assert.matches(" cd0:0:4:0 ", answers[3])
  end)

  it("knows a device by the system's name too", function()
    local answers = driver.run({
      "devices 2 1 " .. driver.text("sd") .. " 0 16 " .. driver.text("sda") .. " 2 " ..
        driver.text("sd") .. " 1 16 " .. driver.text("sdb"),
      select_command({ mode = "only", generation = 1, maxshowdevs = 4, perf_select = 0,
        matches = {}, names = { "sdb", "sd0" } }),
    })
    assert.are.equal("1 2 2 1 sd0:1:0:0 sd1:2:1:0", answers[2])
  end)

  it("takes time in proportion to the devices", function()
    -- 10,000 devices, all of them named and sorted: a quadratic way would need minutes.
    local words, names = { "devices", 10000 }, {}
    for i = 1, 10000 do
      words[#words + 1] = ("%d 6461 %d 16 -"):format(i, i)
      names[i] = "da" .. i
    end
    local answers = driver.run({
      table.concat(words, " "),
      select_command({ mode = "only", generation = 1, maxshowdevs = 4, perf_select = 1,
        matches = { "scsi" }, names = names }),
    })
    assert.matches("^1 10000 10000 1 da1:1:0:0 ", answers[2])
  end)
end)

describe("the provider half", function()
  it("counts transactions as the kernel does", function()
    local v = vectors("transactions")
    local tags = { simple = 0, head = 1, ordered = 2, none = 3 }
    local kinds = { no_data = 0, read = 1, write = 2, free = 3 }
    local commands, wanted = {}, {}
    for _, case in ipairs(v.cases) do
      local initial = case.initial
      commands[#commands + 1] = ("begin %.0f %.0f %d"):format(initial.start_count,
        initial.end_count, initial.no_ordered_tags and 1 or 0)
      for _, e in ipairs(case.events) do
        if e.op == "start" then
          commands[#commands + 1] = "start " .. driver.time(e.now)
        else
          commands[#commands + 1] = ("end %s %.0f %d %d %s"):format(driver.time(e.now), e.bytes,
            tags[e.tag], kinds[e.flags], driver.time(e["then"]))
        end
        local s, words = e.state, {}
        for i = 1, 4 do words[#words + 1] = s.bytes[i] end
        for i = 1, 4 do words[#words + 1] = s.operations[i] end
        for i = 1, 4 do words[#words + 1] = driver.time(s.duration[i]) end
        words[#words + 1] = driver.time(s.busy_time)
        words[#words + 1] = driver.time(s.busy_from)
        words[#words + 1] = ("%.0f %.0f"):format(s.start_count, s.end_count)
        for i = 1, 3 do words[#words + 1] = s.tag_types[i] end
        wanted[#commands] = { case.id, table.concat(words, " ") }
      end
    end
    local compared = 0
    for i, answer in ipairs(driver.run(commands)) do
      if wanted[i] then
        assert.are.equal(wanted[i][2], answer, wanted[i][1])
        compared = compared + 1
      end
    end
    assert.is_true(compared > 100)
  end)

  it("keeps the list of devices in order of priority", function()
    local v = vectors("devicelist")
    local commands, wanted = {}, {}
    for _, case in ipairs(v.cases) do
      commands[#commands + 1] = "registry"
      for _, e in ipairs(case.events) do
        if e.op == "add" then
          commands[#commands + 1] = ("add %s %.0f %.0f"):format(
            driver.text(is_null(e.name) and "" or e.name), e.unit, e.priority)
        else
          commands[#commands + 1] = "remove " .. driver.int(e.added_index)
        end
        local words = { ("1 %.0f %.0f"):format(e.expect.numdevs, e.expect.generation) }
        for _, d in ipairs(e.expect.list) do
          words[#words + 1] = ("%s:%.0f:%.0f"):format(d[1], d[2], d[3])
        end
        wanted[#commands] = { case.id, table.concat(words, " ") }
      end
    end
    for i, answer in ipairs(driver.run(commands)) do
      if wanted[i] then assert.are.equal(wanted[i][2], answer, wanted[i][1]) end
    end
  end)
end)
