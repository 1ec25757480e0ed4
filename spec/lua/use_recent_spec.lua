-- kstat.use.recent: since when resources are not well, their last values, and the worst state over time.
local recent = require("kstat.use.recent")

local function row(severity, value, name)
  return { resource = "disk", name = name or "vda", severity = severity, values = { busy = value } }
end

describe("what was seen of resources lately", function()
  it("is since when each is not well, exactly if the interval before was seen", function()
    local seen, bad = recent.new(), row(2)
    seen:add(100, 101, { bad, row(0, 1, "vdb") })
    assert.same({ 100, false }, { seen:since(bad) })
    assert.is_nil((seen:since(row(0, 1, "vdb"))))
    seen:add(101, 102, { row(1), row(1, 1, "vdb"), row(2, 1, "new") })
    assert.same({ 100, false }, { seen:since(bad) })
    assert.same({ 101, true }, { seen:since(row(1, 1, "vdb")) })
    assert.same({ 101, true }, { seen:since(row(2, 1, "new")) })
    seen:add(102, 103, { row(0) })
    assert.is_nil((seen:since(bad)))
    seen:add(150, 151, { row(1) }) -- nobody looked for a while
    assert.same({ 150, false }, { seen:since(bad) })
    seen:add(153, 154, { row(1) })
    assert.same({ 150, false }, { seen:since(bad) })
    seen:add(214, 215, { row(1) }) -- nor for a minute: it may have been well
    assert.same({ 214, false }, { seen:since(bad) })
  end)

  it("has the values of a minute", function()
    local seen, expected = recent.new(), {}
    for i = 1, 100 do
      seen:add(i - 1, i, { row(0, i) })
      expected[#expected + 1] = i > 40 and i or nil
    end
    assert.same(expected, seen:values(row(), "busy"))
    assert.same({}, seen:values(row(), "queue"))
    assert.same({}, seen:values(row(0, 1, "vdb"), "busy"))
  end)

  it("is a line with the worst state of each column, and blanks where nothing is known", function()
    local seen = recent.new()
    for i = 1, 120 do
      seen:add(i - 1, i, { row(i == 61 and 2 or i > 110 and 1 or 0), row(0, 1, "vdb") })
    end
    assert.same({ "            ------#----+", 240 }, { seen:line(24) })
    assert.same({ (" "):rep(120) .. ("-"):rep(60) .. "#" .. ("-"):rep(49) .. ("+"):rep(10), 240 }, { seen:line(240) })
    seen:add(120, 121, { { resource = "cpu", name = "all", values = {} } })
    assert.equal("+ ", seen:line(240):sub(-2))
    local slow = recent.new()
    slow:add(0, 60, { row(2) })
    slow:add(60, 120, { row(0) })
    assert.same({ "        #-", 600 }, { slow:line(10) })
    assert.same({ "     #-   ", 600 }, { slow:line(10, 300) }, "nobody looked for three minutes")
    slow:add(300, 360, { row(2) })
    assert.same({ "    #-   #", 600 }, { slow:line(10) })
  end)

  it("keeps little of many resources and of short intervals", function()
    local seen, list = recent.new(), {}
    for i = 1, 3000 do
      list[i] = row(0, i, "d" .. i)
    end
    for i = 1, 20 do
      seen:add(i - 1, i, list)
    end
    assert.truthy(#seen:values(list[1], "busy") <= 5)
    for i = 1, 20000 do
      seen:add(20 + (i - 1) / 1000, 20 + i / 1000, { row(i % 2) })
    end
    assert.truthy(#seen.states <= 8000 and #seen.moments <= 8000)
  end)
end)
