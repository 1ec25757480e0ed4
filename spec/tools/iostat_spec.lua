-- The iostat command: the texts of illumos, and this machine.
local cjson = require("cjson")
local fixture = require("support.iostat_fixture")
local run = require("support.run")

local vectors = cjson.decode(run.vector("ioqueue/iostat_text.json"))
local captures = {}

local function capture_of(name)
  captures[name] = captures[name] or fixture.capture(vectors.fixtures[name])
  return captures[name]
end

local function iostat(capture, arguments, env)
  local command = { "kstatlua", "-r", capture, "iostat", env = env }
  if not capture then
    command = { "kstatlua", "iostat", env = env }
  end
  for _, word in ipairs(arguments) do
    command[#command + 1] = word
  end
  return run.run(command)
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  return lines
end

-- The fields of a line that is a controller's, or nil; where its %w and %b stand depends on the options.
local function controller_line(line)
  local fields = {}
  for field in line:gmatch("[^%s,]+") do fields[#fields + 1] = field end
  if fields[1] and fields[1]:find("^c%d+$") then
    return fields, fields[1], 9, 10 -- name first, no wsvc_t
  elseif fields[#fields] and fields[#fields]:find("^c%d+$") then
    return fields, fields[#fields], 9, 10
  end
  return nil
end

-- As printf rounds; LuaJIT's own formatting takes halves up.
local function rounded(value)
  local whole = math.floor(value)
  local rest = value - whole
  return ("%d"):format((rest > 0.5 or rest == 0.5 and whole % 2 == 1) and whole + 1 or whole)
end

-- Sets the two averages of each controller to what they are, in the width that they have.
local function with_true_averages(text, case)
  local reports = 0
  local out = {}
  for _, line in ipairs(lines_of(text)) do
    if line:find("extended device statistics", 1, true) then
      reports = reports + 1
    end
    local fields, controller, w, b = controller_line(line)
    if fields then
      local disk = case.args[2] and case.args[2]:find("^c") and case.args[2] or nil
      local wait, busy = fixture.controller_average(vectors.fixtures[case.fixture], reports, controller, disk)
      local at = 0
      line = line:gsub("([%s,]*)([^%s,]+)", function(gap, field)
        at = at + 1
        if at ~= w and at ~= b then
          return nil
        end
        local value = rounded(at == w and wait or busy)
        if gap:find(",", 1, true) then
          return gap .. value
        end
        return " " .. (" "):rep(#gap - 1 + #field - #value) .. value
      end)
    end
    out[#out + 1] = line .. "\n"
  end
  return table.concat(out)
end

describe("iostat", function()
  teardown(fixture.clean)

  local usages, texts, corrected = 0, 0, 0
  for _, case in ipairs(vectors.cases) do
    it(("prints %s: iostat %s"):format(case.id, table.concat(case.args, " ")), function()
      local f = vectors.fixtures[case.fixture]
      local got = iostat(capture_of(case.fixture), case.args,
        { KSTAT_REPLAY_TIME = tostring(f.snapshots[1].wall_time) })
      if case.exit ~= 0 then
        -- Solaris exits with 1 for some mistakes and 2 for others; here all are 2.
        assert.are.equal(2, got.status)
        assert.are.equal("", got.out)
        if case.stderr then
          assert.are.equal(case.stderr, got.err)
        else
          assert.is_true(case.usage)
          assert.truthy(got.err:find("usage: iostat [", 1, true))
          for _, line in ipairs(case.stderr_before_usage or {}) do
            assert.are.equal(line, got.err:match("^[^\n]*"))
          end
        end
        usages = usages + 1
        return
      end
      assert.are.equal("", got.err)
      assert.are.equal(0, got.status)
      -- A controller's %w and %b are true averages here, and in these two columns only.
      local want = (case.args[1] or ""):find("C", 1, true) and with_true_averages(case.stdout, case) or case.stdout
      corrected = corrected + (want ~= case.stdout and 1 or 0)
      assert.are.equal(want, got.out)
      texts = texts + 1
    end)
  end

  it("has seen all of them", function()
    assert.are.equal(118, #vectors.cases)
    assert.are.equal(118, usages + texts)
    assert.are.equal(10, usages)
    assert.is_true(corrected > 0 and corrected < 12, corrected)
  end)
end)
