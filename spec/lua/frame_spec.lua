-- core.frame: what turns one frame of a window into another. A small terminal obeys it.
local core = require("kstat.core")
local emulator = require("support.emulator")

local unpack = table.unpack or unpack
local BEGIN, END = "\27[?2026h", "\27[?2026l"

-- The bytes of an update without what surrounds it.
local function update(lines, before, columns, rows, utf8)
  local bytes = core.frame(lines, before, columns or 20, rows or 3, utf8)
  return bytes == "" and "" or assert(bytes:match("^\27%[%?2026h(.*)\27%[%?2026l$"))
end

-- What a terminal shows that is given each line in its place, written by hand as it is.
local function written(lines, columns, rows)
  local terminal = emulator.new(columns, rows)
  for row = 1, math.min(rows, #lines) do
    terminal:write(("\27[%dH%s\27[m"):format(row, lines[row]))
  end
  return terminal
end

local PIECES = { " ", "  ", "a", "12", "345", "name", "é", "▁▂▃", "─", "中", "日本", "😀", "e\204\129", "0.00", "       ",
  "\27[m", "\27[1m", "\27[31m", "\27[7m", "\27[0;4;33m", "\27[2m", "\27[32;1m" }

local function columns_of(piece)
  local plain = piece:gsub("\27%[[%d;]*m", ""):gsub("\204\129", "")
  local _, wide = plain:gsub("[\227-\244][\128-\191]+", "")
  local _, all = plain:gsub("[^\128-\191]", "")
  return all + wide
end

local function random_line(columns)
  local parts, room = {}, math.random(0, columns)
  while true do
    local piece = PIECES[math.random(#PIECES)]
    room = room - columns_of(piece)
    if room < 0 or #parts > 40 then
      return parts
    end
    parts[#parts + 1] = piece
  end
end

-- Another line that begins, ends or goes on like this one.
local function change(parts, columns)
  local out, room = {}, columns
  for _, part in ipairs(parts) do
    if math.random(6) == 1 then
      part = PIECES[math.random(#PIECES)]
    end
    room = room - columns_of(part)
    if room >= 0 then
      out[#out + 1] = part
    end
  end
  return out
end

local function texts(lines)
  local out = {}
  for i, parts in ipairs(lines) do
    out[i] = table.concat(parts)
  end
  return out
end

describe("a frame", function()
  it("is nothing where nothing changed", function()
    local lines = { "one", "\27[7mtwo\27[m  ", "中e\204\129" }
    assert.equal("", core.frame(lines, lines, 20, 3))
    assert.equal("", core.frame({ "\27[31mone \27[0m" }, { "\27[0;31mone\27[1m  " }, 20, 3))
    assert.equal("", core.frame({}, { "", "  " }, 20, 3))
  end)

  it("turns any window into any other", function()
    math.randomseed(28)
    for _ = 1, 1500 do
      local columns, rows = math.random(24), math.random(6)
      local lines = {}
      for row = 1, rows do
        lines[row] = random_line(columns)
      end
      local terminal = emulator.new(columns, rows, "#"):write(core.frame(texts(lines), nil, columns, rows))
      for _ = 1, 4 do
        local before = texts(lines)
        for row = 1, rows do
          lines[row] = math.random(4) == 1 and random_line(columns) or change(lines[row], columns)
        end
        local now = texts(lines)
        terminal:write(core.frame(now, before, columns, rows))
        assert.same(written(now, columns, rows):shown(), terminal:shown())
        assert.equal("", terminal:style_word("x"))
      end
    end
  end)

  it("moves the rows of a list of which some come and go", function()
    math.randomseed(29)
    local columns, rows, lines, count, bytes = 30, 12, {}, 0, 0
    local function row()
      count = count + 1
      return ("%06d 中 \27[31mx"):format(count * 7919 % 1000003):rep(2)
    end
    for i = 1, rows do
      lines[i] = row()
    end
    local terminal = emulator.new(columns, rows, "#"):write(core.frame(lines, nil, columns, rows))
    for _ = 1, 150 do
      local now = { unpack(lines) }
      for _ = 1, math.random(3) do
        if math.random(2) == 1 then
          table.insert(now, math.random(#now + 1), row())
        else
          table.remove(now, math.random(#now))
        end
      end
      for i = 1, rows do
        now[i] = now[i] or row()
      end
      local update_of_lines = core.frame(now, lines, columns, rows)
      bytes = bytes + #update_of_lines
      terminal:write(update_of_lines)
      assert.same(written(now, columns, rows):shown(), terminal:shown())
      lines = now
    end
    assert.is_true(bytes / 150 < 140, bytes / 150)
  end)

  it("inserts and deletes lines where a block of rows moved", function()
    local list = {}
    for i = 1, 8 do
      list[i] = ("%d "):format(i * 1111):rep(6)
    end
    local before, now = { "head", unpack(list) }, { "head", "the process that is new", unpack(list) }
    assert.equal("\27[9H\27[M\27[2H\27[L\27[2Hthe process that is new", update(now, before, 40, 9))
    assert.equal("\27[2H\27[M\27[9H\27[L\27[9H" .. list[8]:sub(1, -2), update(before, now, 40, 9))
  end)

  it("is synchronized, and has the changed cells only", function()
    assert.equal(BEGIN .. "\27[2;5Hx" .. END, core.frame({ "a", "bbbbxb" }, { "a", "bbbbbb" }, 20, 3))
  end)

  it("moves by the shortest way", function()
    local function way(now, before) return update(now, before, 80, 30) end
    assert.equal("\27[Hx", way({ "x" }, { "y" }))
    assert.equal("\27[Hx23y", way({ "x23y" }, { "1234" }))
    assert.equal("\27[Hx\27[8Gy", way({ "x234567y" }, { "12345678" }))
    assert.equal("\27[Hx\11\ry", way({ "x", "y" }, { "1", "1" }))
    assert.equal("\27[Hx\11y", way({ "x2", "1y" }, { "12", "12" }))
    assert.equal("\27[Hxxxxxx\11\ry", way({ "xxxxxx", "y" }, { "111111", "1" }))
    local gap = {}
    for i = 1, 12 do
      gap[i] = ""
    end
    gap[1], gap[12] = "x", "y"
    assert.equal("\27[Hx\27[12Hy", way(gap, {}))
  end)

  it("erases behind the text, and writes blanks where these are shorter", function()
    assert.equal("\27[4H\27[K", update({ "abc" }, { "abc", "", "", "0123456789" }, 20, 4))
    assert.equal("\27[;4H\27[K", update({ "abc" }, { "abcdefgh" }))
    assert.equal("\27[;4H  ", update({ "abc" }, { "abcde" }))
    assert.equal("\27[Hxbc\27[K", update({ "xbc" }, { "abcdefgh" }))
    assert.equal("\27[Hx\27[K", update({ "x   " }, { "abcdefgh" }))
  end)

  it("erases nothing before it writes where nothing is known", function()
    assert.equal("\27[m\27[Hab\27[K\11\r\27[K\11\27[K", (update({ "ab" }, nil)))
    assert.equal("\27[m\27[Habc\11\r\27[K", (update({ "abc" }, nil, 3, 2)))
  end)

  it("erases a row first in which a character may take less room than it should", function()
    assert.matches("^\27%[m\27%[H\27%[K👍", (update({ "👍🏽x" }, nil)))
    assert.not_matches("^\27%[H\27%[K", (update({ "👍🏽x" }, { "y" })))
  end)

  it("changes the style where needed", function()
    assert.equal("\27[H\27[31mx\27[m", update({ "\27[31mx" }, { "x" }))
    assert.equal("\27[H\27[31ma b\27[m", update({ "\27[31ma\27[m \27[31mb" }, { "x x" }))
    assert.equal("\27[H\27[31ma\27[1mb\27[;32mc\27[m", update({ "\27[31ma\27[1mb\27[0;32mc" }, { "xxx" }))
    assert.equal("\27[H\27[7m  \27[m", update({ "\27[7m  " }, { "xx" }))
    assert.equal("\27[H\27[33ma\27[32mb\27[m", update({ "\27[33ma\27[32mb" }, { "xx" }))
  end)

  it("is never wider or higher than the window", function()
    assert.equal("\27[Habc", update({ "abcdef", "x" }, {}, 3, 1))
    assert.equal("\27[Hab", update({ "ab中c" }, {}, 3, 1))
    assert.equal("\27[Habc", update({ "abcde\204\129" }, {}, 3, 1))
    assert.equal("\27[Ha??", update({ "a\1\1\1\204\129" }, {}, 3, 1))
    assert.equal("\27[Hx", update({ "xyz", "x" }, {}, 1, 1))
  end)

  it("shows what would be obeyed as question marks", function()
    assert.equal("\27[H?[2J? ?\t", (update({ "\27[2J\0 \127\9" }, {}):gsub("%?$", "\t")))
    assert.equal("\27[H???", update({ "\194\128\255\226\128\174" }, {}))
    assert.equal("\27[H??x", update({ "éx" }, {}, 20, 3, false))
    assert.equal("\27[H?[31", update({ "\27[31" }, {}))
  end)

  it("finds its place again behind characters of which terminals disagree", function()
    assert.equal("\27[Ha中\27[4Gb", update({ "a中b" }, { "xxxx" }))
    assert.equal("\27[He\204\129\27[2Gb", update({ "e\204\129b" }, { "xx" }))
    assert.equal("\27[H▁─b", update({ "▁─b" }, { "xxx" }))
  end)

  it("keeps of what combines as much as a cell holds", function()
    local mark = "\204\129"
    assert.equal("\27[He" .. mark:rep(4), update({ "e" .. mark:rep(20) }, { "x" }))
    assert.equal("\27[Ha", update({ mark .. "a" }, {}))
    assert.equal("\27[H中\27[3G中", update({ "中\226\128\141中" }, { "xxxx" })) -- a joiner
  end)

  it("refuses what is no frame", function()
    for _, arguments in ipairs({ { {}, nil, 0, 1 }, { {}, nil, 1, 0 }, { {}, nil, 2001, 1 }, { { 1, {} }, nil, 1, 1 },
      { "x", nil, 1, 1 }, { {}, "x", 1, 1 } }) do
      assert.is_false(pcall(core.frame, arguments[1], arguments[2], arguments[3], arguments[4]))
    end
  end)
end)
