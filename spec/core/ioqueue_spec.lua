-- The queue and timer arithmetic against the reference vectors, to the nanosecond.
local cjson = require("cjson")
local lines = require("support.lines")
local run = require("support.run")

local function vectors(name)
  return cjson.decode(run.vector("ioqueue/" .. name .. ".json"))
end

local function state(values)
  local words = {}
  for i, v in ipairs(values) do words[i] = lines.int(v) end
  return table.concat(words, " ")
end

local function command(event)
  return ("%s %s %d %s"):format(event.op, event.t, event.n or 1, lines.int(event.dt or 0))
end

local function play(events)
  local commands = { "io" }
  for _, event in ipairs(events) do commands[#commands + 1] = command(event) end
  return lines.run("core_queue_driver", commands)
end

describe("the I/O queue", function()
  it("yields every state of the reference vectors", function()
    local commands, want = {}, {}
    for _, case in ipairs(vectors("queue").cases) do
      if case.tag ~= "contract_violation" then
        commands[#commands + 1] = "io"
        for i, event in ipairs(case.events) do
          commands[#commands + 1] = command(event)
          want[#want + 1] = { what = case.id .. " event " .. i, line = "ok " .. state(event.state) }
        end
      end
    end
    local got = lines.run("core_queue_driver", commands)
    assert.are.equal(#want, #got)
    assert.is_true(#want > 600)
    for i, w in ipairs(want) do assert.are.equal(w.line, got[i], w.what) end
  end)

  it("refuses a call that breaks the contract, and changes nothing", function()
    local cases, marked = 0, 0
    for _, case in ipairs(vectors("queue").cases) do
      if case.tag == "contract_violation" then
        cases = cases + 1
        local got = play(case.events)
        local before, allowed, kept = "0 0 0 0 0 0 0 0", {}, {}
        for i, event in ipairs(case.events) do
          local verdict, after = got[i]:match("^(%S+) (.*)$")
          if event.assert then
            marked = marked + 1
            assert.are.equal("EINVAL", verdict, case.id .. " event " .. i)
          end
          if verdict == "EINVAL" then
            assert.are.equal(before, after, case.id .. " event " .. i)
          else
            allowed[#allowed + 1], kept[#kept + 1] = event, got[i]
          end
          before = after
        end
        -- The queue is what it would be had the refused calls never been made.
        assert.are.same(kept, play(allowed), case.id)
      end
    end
    assert.are.equal(3, cases)
    assert.are.equal(4, marked)
  end)

  it("refuses to leave either queue when it is empty", function()
    for _, op in ipairs { "waitq_exit", "runq_exit", "waitq_to_runq", "runq_back_to_waitq" } do
      local got = lines.run("core_queue_driver", { "io", op .. " 5" })
      assert.are.same({ "EINVAL 0 0 0 0 0 0 0 0" }, got, op)
    end
  end)
end)

describe("the event timer", function()
  it("yields every state of the reference vectors", function()
    local commands, want = {}, {}
    for _, case in ipairs(vectors("timer").cases) do
      commands[#commands + 1] = "timer"
      for i, event in ipairs(case.events) do
        commands[#commands + 1] = event.op .. " " .. event.t
        want[#want + 1] = { what = case.id .. " event " .. i, line = "ok " .. state(event.state) }
      end
    end
    local got = lines.run("core_queue_driver", commands)
    assert.are.equal(#want, #got)
    assert.is_true(#want > 20)
    for i, w in ipairs(want) do assert.are.equal(w.line, got[i], w.what) end
  end)
end)
