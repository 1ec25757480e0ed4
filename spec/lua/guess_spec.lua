-- Misspelt functions and scripts, and arguments that cannot be used, are answered with what was probably meant.
local kstat = require("kstat")
local run = require("support.run")

-- The message of an error.
local function message_of(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return tostring(message)
end

describe("a misspelt function", function()
  it("of the module or of a part is answered with the nearest one, at the caller's line", function()
    local parts = { "devstat", "histogram", "io", "picture", "recording", "stats" }
    local typed = { "devcie", "count", "rate", "heatmpa", "oepn", "templat" }
    local meant = { "device", "counts", "rates", "heatmap", "open", "template" }
    assert.matches("^[^:]*guess_spec.lua:%d+: kstat has no field 'opne'; did you mean 'open'%?$",
      message_of(function() print(kstat.opne) end))
    assert.matches("kstat has no field 'histgram'; did you mean 'histogram'%?$",
      message_of(function() kstat.histgram.is() end))
    for i, part in ipairs(parts) do
      assert.matches(("kstat.%s has no field '%s'; did you mean '%s'%%?$"):format(part, typed[i], meant[i]),
        message_of(function() kstat[part][typed[i]]() end))
    end
  end)

  it("that is like none is nil, so that a script can ask whether there is one", function()
    assert.is_nil(kstat.telepathy)
    assert.is_nil(kstat[1])
    assert.is_nil(kstat.picture.hologram)
    assert.is_nil(rawget(kstat, "opne"))
  end)

  it("of what a process publishes is answered, and absent fields are nil", function()
    local pub = assert(kstat.publish("guess"))
    finally(function() pub:close() end)
    local jobs = assert(pub:named({ name = "jobs", statistics = { "small" } }))
    assert.matches("a publication has no field 'histgram'; did you mean 'histogram'%?$",
      message_of(function() pub:histgram({}) end))
    assert.matches("this published kstat has no field 'conter'; did you mean 'counter'%?$",
      message_of(function() jobs:conter("small") end))
    assert.is_nil(jobs.colour)
  end)

  it("of an expression is answered", function()
    assert.matches("there is no function 'raet'; did you mean 'rate'%?, at character 1",
      message_of(kstat.report, { columns = { { "a", "raet(reads)" } } }))
  end)

  it("of a chain or a kstat is answered by the host, because its absent fields may be modules", function()
    for script, line in pairs({
      ["kstat.open():lokup('unix', 0, 'vminfo')"] = "(method 'lokup'); did you mean 'lookup'?\n",
      ["local k = kstat.open():lookup('unix', 0, 'system_misc'); k:dta()"] = "(method 'dta'); did you mean 'data'?\n",
      ["local t = {}; t:lokup()"] = "(method 'lokup')\n",
    }) do
      local r = run.run({ "kstatlua", "-e", script })
      assert.equal(1, r.status)
      assert.is_truthy(r.err:find("attempt to call a nil value " .. line, 1, true), r.err)
    end
  end)
end)

describe("an unknown field or option", function()
  it("that is like none is answered with all that there are", function()
    assert.matches("unknown source field 'file'; expected: 'args', 'at', 'capture', 'everybody', 'from', 'host', ",
      message_of(kstat.open, { file = "x" }))
    assert.matches("unknown option 'tree'; expected: 'begin', 'chain', 'clock', 'select', 'source', 'step', 'tell', " ..
      "'values', 'wait'$",
      message_of(kstat.every, 1, { tree = "x" }))
  end)
end)

describe("a misspelt script", function()
  it("is answered with the nearest one, or with where they are listed", function()
    local r = run.run({ "kstatlua", "iosat", "1" })
    assert.equal("kstatlua: no script 'iosat': neither a file nor installed; did you mean 'iostat'?\n", r.err)
    assert.equal(2, r.status)
    r = run.run({ "kstatlua", "telepathy" })
    assert.matches("neither a file nor installed; 'kstatlua %-%-help' lists them\n$", r.err)
  end)
end)

describe("an argument of the wrong type", function()
  it("that a dot in the place of a colon makes is named", function()
    local pub = assert(kstat.publish("dots"))
    finally(function() pub:close() end)
    assert.matches("^[^ ]*guess_spec.lua:%d+: calling 'named' on bad self %(publication expected, got table%)$",
      message_of(function() return pub.named({ name = "x" }), nil end))
  end)

  it("is named with what is expected", function()
    for line, call in pairs({
      ["bad argument #1 to 'counts' (kstat expected, got nil)"] = { kstat.histogram.counts },
      ["bad argument #1 to 'counts' (kstat expected, got chain)"] = { kstat.histogram.counts, kstat.open() },
      ["bad argument #1 to 'quantiles' (what kstat.histogram.counts() returns expected, got number)"] =
        { kstat.histogram.quantiles, 5 },
      ["kstat of a difference expected, or two kstats of samples, got number"] = { kstat.io.counts, 5 },
      ["bad argument #1 to 'usage' (table expected, got nil)"] = { kstat.usage },
      ["bad argument #1 to 'exposition' (the format is missing; expected: 'openmetrics', 'prometheus', 'protobuf')"] =
        { kstat.open().exposition, kstat.open() },
    }) do
      assert.equal(line, (message_of((table.unpack or unpack)(call, 1, 2)):gsub("^[^ ]+:%d+: ", "")))
    end
  end)
end)
