-- The state of the screen without a terminal: what keys do to views of reports, and the lines of the window.
local actions = require("kstat.top.actions")
local application = require("kstat.top.application")
local capture = require("support.capture")
local core = require("kstat.core")
local kstat = require("kstat")
local order = require("kstat.top.order")
local sampling = require("kstat.top.sampling")

describe("the order of rows", function()
  it("is the same for the first few as for all, also of equals and of what is missing", function()
    local seed = 7
    local function random(n)
      seed = (seed * 16807) % 2147483647
      return seed % n
    end
    for _ = 1, 200 do
      local rows = {}
      for i = 1, 1 + random(60) do
        local kind = random(4)
        rows[i] = { v = kind > 0 and (kind == 3 and ("t" .. random(5)) or random(6)) or nil }
      end
      for _, reverse in ipairs({ false, true }) do
        local all = order.by(rows, function(row) return row.v end, reverse)
        local few = order.by(rows, function(row) return row.v end, reverse, 5)
        for i = 1, math.min(5, #rows) do
          assert.equal(all[i], few[i])
        end
      end
    end
  end)

  it("has children behind their parents, and loses nobody in a circle", function()
    local rows = {}
    for i, pair in ipairs({ { "a" }, { "b", "a" }, { "c", "b" }, { "d", "e" }, { "e", "d" }, { "f", "gone" } }) do
      rows[i] = { id = pair[1], above = pair[2] }
    end
    local list = order.tree(rows, function(row) return row.id end, function(row) return row.above end)
    local text = {}
    for i, row in ipairs(list) do
      text[i] = row.id .. row.depth
    end
    assert.equal("a0 b1 c2 f0 d0 e1", table.concat(text, " "))
  end)
end)

describe("a screen", function()
  local path, values, app, ks

  -- Three samples of kstats whose numbers a spec chooses: values[sample] = { name = calls }.
  local function start(width, height)
    local samples = {}
    for i, list in ipairs(values) do
      samples[i] = {}
      for name, n in pairs(list) do
        table.insert(samples[i], capture.named(name, 0, i, ('"calls":%d'):format(n)))
      end
    end
    path = capture.file(samples)
    local function report(name, more)
      local given = { name = name, select = { module = "app" }, optional = true, columns = {
        { "NAME", "name" }, { "CALLS", "rate(calls)", format = "%d" },
        { "LESS", function() return "x" end, priority = 3,
          order = function(row) return row.kstat.name == "b" and 1 or 0 end } } }
      for field, value in pairs(more or {}) do
        given[field] = value
      end
      return kstat.report(given)
    end
    app = application.new({ group = sampling.group, interval = 1, host = "spec", views = {
      { name = "one", sections = {
        report("first", { sort = "CALLS",
          parent = function(row) return row.kstat.name == "a" and "b" or nil end,
          identity = function(row) return row.kstat.name end,
          enter = function(row) return { view = "two", filter = row.kstat.name } end,
          explain = function(row) return { "because of " .. row.kstat.name } end }),
        report("second", { sort = "-CALLS" }) } },
      { name = "two", sections = { report("third") } },
    } })
    local source = sampling.new(function(only)
      ks = ks or assert(kstat.open({ capture = path, only = only }))
      return ks
    end)
    function app.tick()
      assert.is_true((source:live(app.shown.groups, 1)))
      app:take(0, true)
      return app:lines(width or 60, height or 14, false)
    end
  end

  local function press(...)
    local what
    for _, key in ipairs({ ... }) do
      what = actions.act(app, key)
    end
    return what, app:lines(app.width, app.height, false)
  end

  local function plain(lines)
    return (table.concat(lines, "\n"):gsub("\27%[[%d;]*m", ""):gsub(" +\n", "\n"))
  end

  -- The names of a section's lines, of which the selected one stands in brackets.
  local function names(lines)
    local out = {}
    for _, line in ipairs(lines) do
      local name = line:gsub("\27%[[%d;]*m", ""):match("^ (%l)%f[%W] .*%d")
      out[#out + 1] = name and (line:find("\27[7m", 1, true) and "[" .. name .. "]" or name)
    end
    return table.concat(out, " ")
  end

  before_each(function()
    values = { { a = 10, b = 20, c = 30 }, { a = 11, b = 25, c = 90 }, { a = 99, b = 26, c = 91 } }
    ks = nil
  end)
  after_each(capture.clean)

  it("shows each section in its own order, and the keys", function()
    start()
    app.tick()
    local lines = app.tick()
    assert.equal(14, #lines)
    assert.equal("c b a a b c", names(lines))
    assert.matches("^ spec  %d%d:%d%d:%d%d LIVE 1s\n" ..
      " NAME +CALLS LESS\n c +60 +x\n b +5 +x\n a +1 +x\n\n NAME", plain(lines))
    assert.matches("\n 1one 2two .*h help", plain(lines))
  end)

  it("selects a row by its identity, which it follows, and goes on into the next section", function()
    start()
    app.tick()
    app.tick()
    assert.equal("c [b] a a b c", names(select(2, press("down", "down"))))
    assert.equal("[a] b c b c a", names((function()
      press("down")
      return app.tick()
    end)()))
    assert.equal("a b c [b] c a", names(select(2, press("down", "down", "down"))))
    assert.equal("a b [c] b c a", names(select(2, press("up"))))
  end)

  it("sorts by another column, and the other way round", function()
    start()
    app.tick()
    app.tick()
    assert.equal("a b c a b c", names(select(2, press("r"))))
    assert.equal("a b c a b c", names(select(2, press("r", "<"))))
    assert.equal("c b a a b c", names(select(2, press("r"))))
  end)

  it("sorts by the last or the first column where none was sorted by, and by none before there are any", function()
    start()
    app:show("two")
    press("<", ">", "r")
    app.tick()
    app.tick()
    press("<")
    assert.equal("LESS", app:part().sort)
    app:part().sort = nil
    press(">")
    assert.equal("NAME", app:part().sort)
  end)

  it("sorts by a column of texts as the column says", function()
    start()
    app.tick()
    app.tick()
    assert.equal("b a c a b c", names(select(2, press(">"))))
  end)

  it("filters while one types, also by what is no regular expression yet", function()
    start()
    app.tick()
    app.tick()
    local _, lines = press("\\", "/", "(")
    assert.matches("\n filter: /%(_ .*missing closing", plain(lines))
    _, lines = press("a", "|", "b", ")", "enter")
    assert.equal("b a a b", names(lines))
    assert.equal("c b a a b c", names(select(2, press("escape"))))
  end)

  it("shows a tree, and columns that are wanted", function()
    start()
    app.tick()
    app.tick()
    local _, lines = press("v")
    assert.matches("\n c +60 +x\n b +5 +x\n   a +1 +x\n", plain(lines))
    press("v", "o", "down")
    _, lines = press(" ", "o")
    assert.matches("\n NAME +LESS\n c +x\n", plain(lines))
  end)

  it("sorts by each of several columns of one title, and hides one of them", function()
    local report = kstat.report({ name = "same", select = { module = "app" }, columns = { { "NAME", "name" },
      { "N", "calls", key = "first", format = "%d" }, { "N", "100 - calls", key = "second", format = "%d" } } })
    start()
    app.views[1].sections = { report }
    app:show("one", {})
    app.tick()
    app.tick()
    local _, lines = press(">", ">", ">")
    assert.equal("a b c", names(lines))
    _, lines = press("<")
    assert.equal("c b a", names(lines))
    press("o", "down", " ")
    _, lines = press("o")
    assert.matches("\n NAME +N\n c +10\n", plain(lines))
  end)

  it("leaves names half of their column, however deep a tree is", function()
    local screen_table = require("kstat.top.table")
    local columns = require("kstat.report.declare").columns({ { "NAME", "name" }, { "N", "n", format = "%d" } }, {})
    local _, lines = screen_table.lines(screen_table.new(columns), {
      { "above", 1, depth = 1 }, { "a name that is too long", 2, depth = 30 }, { "x", 3, depth = 30 },
    }, 24, false)
    assert.same({ { "   above               1" }, { "           a nam~ long 2" }, { (" "):rep(21) .. "x 3" } }, lines)
  end)

  it("goes to the view that a row names, and back to what was selected", function()
    start()
    app.tick()
    app.tick()
    press("down", "down")
    assert.equal("sample", (press("enter")))
    assert.equal("two", app.shown.view.name)
    assert.equal("b", app.shown.filter)
    assert.equal("sample", (press("backspace")))
    assert.equal("c [b] a a b c", names(app:lines(60, 14, false)))
  end)

  it("has a filter in each view", function()
    start()
    app.tick()
    app.tick()
    press("\\", "a", "enter", "2")
    app.tick()
    press("f4", "b", "enter")
    assert.equal("a a", names(select(2, press("1"))))
    app:arrange()
    assert.equal("a a", names(app:lines(60, 14, false)))
    press("2")
    app:arrange()
    assert.equal("b", names(app:lines(60, 14, false)))
    press("escape", "1")
    app:arrange()
    assert.equal("a a", names(app:lines(60, 14, false)))
  end)

  it("shows the columns of the next table, which may have fewer", function()
    start()
    app.tick()
    app.tick()
    app.shown.parts[2].columns = { app.shown.parts[2].columns[1] }
    press("o", "down", "down")
    local _, lines = press("tab", " ", " ")
    assert.matches("%[x%] NAME", plain(lines))
    assert.not_matches("LESS", plain(lines))
  end)

  it("goes to the last of all rows, not of those that were visible", function()
    local list = {}
    for i = 1, 200 do
      list[("n%03d"):format(i)] = i
    end
    values = { list, list }
    start(60, 6)
    app.tick()
    app.tick()
    press("tab", "end")
    assert.equal(200, app:selected_index())
  end)

  it("selects rows that are visible alone", function()
    start()
    app.tick()
    app.tick()
    app:lines(60, 6, false) -- the second table has no room any more
    assert.equal("[c] b a", names(select(2, press("tab"))))
    app:lines(60, 14, false)
    press("down", "down", "down")
    app:lines(60, 6, false)
    assert.equal("[c] b a", names(select(2, press("down"))))
  end)

  it("keeps the selected row in sight where its table has fewer lines than before", function()
    values = { { a = 1, b = 1, c = 1, d = 1, e = 1, f = 1 }, { a = 2, b = 3, c = 4, d = 5, e = 6, f = 7 } }
    start(60, 18)
    app.tick()
    app.tick()
    assert.equal("f e d c b [a] a b c d e f", names(select(2, press("up", "end"))))
    assert.equal("d c b [a] a", names(app:lines(60, 10, false)))
    for height = 5, 18 do
      assert.is_nil(plain(app:lines(60, height, false)):find("LESS\n ?[\n1]"), "titles without a row")
    end
  end)

  it("explains a row, and says where there is nothing", function()
    start()
    app.tick()
    app.tick()
    assert.matches("\n because of c\n", plain(select(2, press("e"))))
    press("e")
    assert.matches("nothing to explain", plain(select(2, press("tab", "tab", "down", "down", "down", "down", "e"))))
  end)

  it("lists the keys, and explains, in lines that fit", function()
    start()
    app.tick()
    press("h")
    assert.matches("\n 1 to 6       the views, see the last\n              line\n", plain(app:lines(40, 60, false)))
    press("h", "e")
    assert.matches("\n because of\n c\n", plain(app:lines(12, 60, false)))
  end)

  it("is never wider nor higher than its window, of any size", function()
    start()
    app.tick()
    app.tick()
    press("down")
    for _, key in ipairs({ "down", "h", "h", "o", "o", "e", "e", "/" }) do
      press(key)
      for _, width in ipairs({ 1, 5, 20, 33, 80, 200 }) do
        for _, height in ipairs({ 1, 2, 3, 5, 24 }) do
          local lines = app:lines(width, height, false)
          assert.is_true(#lines <= height)
        end
      end
    end
    for _, line in ipairs(app:lines(40, 10, false)) do
      assert.is_true(core.columns_of((line:gsub("\27%[[%d;]*m", ""))) <= 80)
    end
  end)
end)
