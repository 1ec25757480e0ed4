-- Pictures in the terminal.
local picture = require("kstat.picture")

describe("a sparkline", function()
  it("shows the largest value highest, from zero", function()
    assert.equals("▁▅▇█", picture.sparkline({ 0, 4, 6, 8 }, { utf8 = true }))
    assert.equals(".+#@", picture.sparkline({ 0, 4, 6, 8 }, { utf8 = false }))
  end)

  it("leaves a blank for what is missing or no number", function()
    assert.equals("@ @ ", picture.sparkline({ 1, nil, 1, 0 / 0 }, { utf8 = false, n = 4 }))
  end)

  it("keeps the last values that fit", function()
    assert.equals("@@", picture.sparkline({ 0, 0, 0, 5, 5 }, { utf8 = false, width = 2 }))
  end)

  it("takes any width from 1 on", function()
    assert.equals("+@", picture.sparkline({ 1, 2, 4 }, { utf8 = false, width = 2.9 }))
    assert.equals("+@", picture.sparkline({ 2, 4 }, { utf8 = false, width = 1e300 }))
    for _, width in ipairs({ 0, -1, 0 / 0, "wide" }) do
      assert.error_matches(function() picture.sparkline({ 1 }, { width = width }) end,
        "option 'width': a number of columns above 0 expected")
      assert.error_matches(function() picture.bar(1, 2, width) end, "a number of columns above 0 expected")
    end
  end)

  it("is as wide as $COLUMNS says where there is no window, if that is a width", function()
    local host = (os.getenv("KSTAT_BUILD") or "build") .. "/bin/kstatlua"
    local widths = { ["60.5"] = 60, ["7"] = 7, ["0"] = 80, ["-3"] = 80, ["1e300"] = 2000, nan = 80, x = 80 }
    for columns, want in pairs(widths) do
      local pipe = assert(io.popen(("LC_ALL=C COLUMNS=%s %s -e 'local t = {} for i = 1, 3000 do t[i] = i end " ..
        "print(#kstat.picture.sparkline(t), (#kstat.picture.bars({ { 1, 2 } })))'"):format(columns, host)))
      assert.equals(("%d\t%d\n"):format(want, want + 1), pipe:read("*a"))
      pipe:close()
    end
  end)

  it("of equal values is flat, and of none empty", function()
    assert.equals("@@@", picture.sparkline({ 3, 3, 3 }, { utf8 = false }))
    assert.equals("...", picture.sparkline({ 0, 0, 0 }, { utf8 = false }))
    assert.equals("", picture.sparkline({}, { utf8 = false }))
  end)

  it("uses the scale it is given", function()
    assert.equals("..@", picture.sparkline({ -10, 0, 1000 }, { utf8 = false, low = 0, high = 100 }))
  end)
end)

describe("bars", function()
  it("take any format for any value", function()
    assert.equals("a ##  4\nb ## 10\n", picture.bars({ { "a", 3.5 }, { "b", 9.7 } }, { format = "%d", width = 7,
      most = 1, utf8 = false }))
  end)

  it("are as long as their share, in eighths where there is UTF-8", function()
    assert.equals("█████     ", picture.bar(1, 2, 10, { utf8 = true }))
    assert.equals("▌         ", picture.bar(0.05, 1, 10, { utf8 = true }))
    assert.equals("#####     ", picture.bar(1, 2, 10, { utf8 = false }))
  end)

  it("are empty for nothing and full for too much", function()
    assert.equals("   ", picture.bar(0 / 0, 1, 3, { utf8 = false }))
    assert.equals("   ", picture.bar(-1, 1, 3, { utf8 = false }))
    assert.equals("###", picture.bar(9, 1, 3, { utf8 = false }))
    assert.equals("   ", picture.bar(1, 0, 3, { utf8 = false }))
  end)

  it("stand under each other, with label and value", function()
    assert.equals("vda  ######## 30\n" .. "näme ###      10\n" .. "none           -\n",
      picture.bars({ { "vda", 30 }, { "näme", 10 }, { "none" } }, { width = 16, utf8 = false }))
  end)
end)

describe("a heat map", function()
  it("has a column an interval and a shade a count", function()
    local map = picture.heatmap({ rows = { "low", "high" }, title = "times", width = 12, utf8 = false })
    map:add({ 4, 0 })
    map:add({ 1, 2 })
    assert.equals("times\n" .. "high | *   |\n" .. " low |#:   |\n", map:text())
  end)

  it("keeps the last columns that fit the window", function()
    local map = picture.heatmap({ rows = { "r" }, width = 6, utf8 = false })
    for i = 1, 5000 do
      map:add({ i == 5000 and 1 or 0 })
    end
    assert.equals("r | #|\n", map:text())
  end)
end)

describe("a picture of the wrong thing", function()
  it("is the caller's error", function()
    assert.has_error(function() picture.sparkline(5) end, "bad argument #1 to 'sparkline' (table expected, got number)")
    assert.has_error(function() picture.heatmap({}) end, "bad argument #1 to 'heatmap' (table with rows expected)")
    assert.has_error(function() picture.bars({}, 5) end, "options: table expected, got number")
  end)
end)
