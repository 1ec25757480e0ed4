-- A misspelt option, field or word is answered with the one that was probably meant, or with all that there are.
local kstat = require("kstat")

local stats = kstat.stats
local template = assert(stats.template("mistakes"))
assert(template:add_voi(0, "rtt", "u64", { stats.sum() }))
local ks = assert(kstat.open("spec/vectors/kstat/host.jsonl"))

-- The message of an error, without its place.
local function message_of(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return (tostring(message):gsub("^[^ ]+:%d+: ", ""))
end

describe("a misspelt name", function()
  local pub, named, timers, intr

  setup(function()
    pub = assert(kstat.publish("mistakes"))
    named = pub:named({ name = "jobs", statistics = { "small", "large" } })
    timers = pub:timer({ name = "times", timers = { "read", "write" } })
    intr = pub:intr({ name = "intr" })
  end)

  teardown(function()
    pub:close()
  end)

  it("of a field or an option is answered with the nearest one", function()
    for expected, call in pairs({
      ["unknown source field 'captre'; did you mean 'capture'?"] = { kstat.open, { captre = "x" } },
      ["unknown selector field 'modul'; did you mean 'module'?"] = { kstat.selector, { modul = "x" } },
      ["unknown option 'selct'; did you mean 'select'?"] = { kstat.every, 1, nil, { selct = "x" } },
      ["aggregate: unknown field 'reduc'; did you mean 'reduce'?"] = { kstat.aggregate, { reduc = "sum" } },
      ["report: unknown field 'colums'; did you mean 'columns'?"] = { kstat.report, { colums = {} } },
      ["column 'a': unknown field 'witdh'; did you mean 'width'?"] =
        { kstat.report, { columns = { { "a", witdh = 3 } } } },
      ["'select': unknown option 'moed'; did you mean 'mode'?"] = { kstat.devstat.select, {}, { moed = 1 } },
      ["'sparkline': unknown option 'widht'; did you mean 'width'?"] = { kstat.picture.sparkline, {}, { widht = 9 } },
      ["'bars': unknown option 'fromat'; did you mean 'format'?"] = { kstat.picture.bars, {}, { fromat = "%d" } },
      ["'heatmap': unknown option 'tilte'; did you mean 'title'?"] =
        { kstat.picture.heatmap, { rows = { "a" }, tilte = "x" } },
      ["'add_voi': unknown option 'relupdat'; did you mean 'relupdate'?"] =
        { template.add_voi, template, 1, "x", "u64", {}, { relupdat = true } },
      ["publish: unknown field 'privat'; did you mean 'private'?"] = { kstat.publish, "x", { privat = true } },
      ["named: unknown field 'statistic'; did you mean 'statistics'?"] = { pub.named, pub, { statistic = {} } },
    }) do
      local message = message_of((unpack or table.unpack)(call, 1, 8))
      assert.equal(expected, (message:gsub("^[^ ]+: (%l+ ?'?%l*'?: unknown)", "%1")))
    end
  end)

  it("is no user, where one is expected", function()
    local message = "source field 'trust': a user's name, a number or an array of them expected"
    assert.equal(message, message_of(kstat.open, { trust = 1.5 }))
    assert.equal(message, message_of(kstat.open, { trust = { true } }))
  end)

  it("of a word is answered with the nearest one, or with all of them", function()
    assert.matches("^there is no reducer 'smu'; did you mean 'sum'%?, at ", select(2, kstat.aggregate("smu")))
    assert.equal("bad argument #1 to 'render' (unknown format 'jsn'; did you mean 'json'?)",
      message_of(ks.render, ks, "jsn"))
    assert.equal("bad argument #1 to 'exposition' (unknown format 'text'; expected: 'openmetrics', 'prometheus', " ..
      "'protobuf')", message_of(ks.exposition, ks, "text"))
    assert.equal("unknown mode 'ony'; did you mean 'only'?",
      message_of(kstat.devstat.select, {}, { mode = "ony" }))
    assert.equal("'add_voi': unknown type 'u46'; did you mean 'u64'?",
      message_of(template.add_voi, template, 1, "x", "u46", {}))
    assert.equal("bad argument #1 to 'render' (unknown form 'jsn'; did you mean 'json'?)",
      message_of(kstat.aggregate("sum").render, kstat.aggregate("sum"), "jsn"))
  end)

  it("of what a process publishes is answered", function()
    assert.equal("mistakes:0:jobs has no statistic 'smal'; did you mean 'small'?",
      message_of(named.add, named, "smal"))
    assert.equal("mistakes:0:jobs has no statistic 'medium'; expected: 'large', 'small'",
      message_of(named.add, named, "medium"))
    assert.equal("mistakes:0:times has no timer 'raed'; did you mean 'read'?",
      message_of(timers.start, timers, "raed"))
    assert.equal("mistakes:0:intr has no statistic 'hrad'; did you mean 'hard'?",
      message_of(intr.add, intr, "hrad"))
    assert.equal("kind: unknown 'countr'; did you mean 'counter'?",
      message_of(pub.named, pub, { name = "k", statistics = { { name = "a", kind = "countr" } } }))
    assert.equal("vois: the template has no value of interest 'rt'; did you mean 'rtt'?",
      message_of(pub.blob, pub, { name = "b", template = template, vois = { rt = {} } }))
  end)
end)

describe("what is missing", function()
  local pub

  setup(function()
    pub = assert(kstat.publish("missing"))
  end)

  teardown(function()
    pub:close()
  end)

  it("of a histogram is its type, and all types are named", function()
    assert.equal("histogram: type is missing; expected: 'exponential', 'linear', 'log10', 'log10_lin', 'log2'",
      message_of(pub.histogram, pub, { name = "h" }))
    assert.equal("histogram: type: unknown 'lnear'; did you mean 'linear'?",
      message_of(pub.histogram, pub, { name = "h", type = "lnear" }))
  end)

  it("of a statsblob is its template, and the line says how one is made", function()
    local message = message_of(pub.blob, pub, { name = "b" })
    assert.equal('blob: template: expected one that stats.template(name) made, with values of interest added, as in '
      .. 'template:add_voi(0, "rtt", "u64", { stats.sum() }); got nil', message)
  end)
end)
