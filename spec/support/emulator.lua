--- A small terminal, for specs: it obeys what `kstat.core.frame` writes and refuses everything else.
--
-- A cell is { text =, style = }; the right half of a wide character has the text "". Characters from U+1100 on are wide
-- here, except lines, blocks and what is below them, and those from U+0300 to U+036F combine.
local M = {}
local emulator = {}
emulator.__index = emulator

local BLANK = { text = " ", style = "" }
local COLOUR = { ["31"] = true, ["32"] = true, ["33"] = true }

--- A terminal of that size; `text`: what it shows in every cell, blanks by default.
function M.new(columns, rows, text)
  local self = setmetatable({ columns = columns, rows = rows, row = 1, column = 1, style = {}, cells = {} }, emulator)
  for i = 1, columns * rows do
    self.cells[i] = text and { text = text, style = "" } or BLANK
  end
  return self
end

local function width_of(character)
  local first, second = character:byte(1, 2)
  if first == 0xCC or first == 0xCD and second < 0xB0 then
    return 0
  end
  return (first >= 0xE3 or first == 0xE1) and 2 or 1
end

function emulator:at(row, column)
  return self.cells[(row - 1) * self.columns + column]
end

function emulator:set(row, column, cell)
  self.cells[(row - 1) * self.columns + column] = cell
end

-- What is left of a wide character of which one half is overwritten is a blank.
function emulator:cut(row, column)
  if self:at(row, column).text == "" then
    self:set(row, column - 1, BLANK)
  elseif column < self.columns and self:at(row, column + 1).text == "" then
    self:set(row, column + 1, BLANK)
  end
end

-- The style of a character; that of a blank is seen only if it is underlined or reverse.
function emulator:style_word(character)
  local words, seen = {}, character ~= " " or self.style["4"] or self.style["7"]
  for _, number in ipairs({ "1", "2", "4", "7", "31", "32", "33" }) do
    if self.style[number] and seen then
      words[#words + 1] = number
    end
  end
  return table.concat(words, ";")
end

function emulator:put(character)
  local width = width_of(character)
  if width == 0 then
    local column = self.behind and self.column or self.column - 1
    if column < 1 then
      return
    end
    column = self:at(self.row, column).text == "" and column - 1 or column
    local cell = self:at(self.row, column)
    self:set(self.row, column, { text = cell.text .. character, style = cell.style })
    return
  end
  assert(self.column + width - 1 <= self.columns and not self.behind, "writes beyond the last column")
  for i = 0, width - 1 do
    self:cut(self.row, self.column + i)
    self:set(self.row, self.column + i, { text = i == 0 and character or "", style = self:style_word(character) })
  end
  -- At the end of a row the cursor stays; only an absolute move leads from there.
  self.behind = self.column + width > self.columns
  self.column = self.behind and self.columns or self.column + width
end

local function number(text)
  return text == "" and 1 or tonumber(text)
end

-- Lines are inserted where the cursor is (n above 0), or deleted.
function emulator:edit_lines(n)
  assert(self.column == 1 and next(self.style) == nil and self.row + math.abs(n) - 1 <= self.rows)
  local before = {}
  for i, cell in ipairs(self.cells) do
    before[i] = cell
  end
  for row = self.row, self.rows do
    local from = n > 0 and row < self.row + n and self.rows + 1 or row - n
    for column = 1, self.columns do
      self:set(row, column, from <= self.rows and before[(from - 1) * self.columns + column] or BLANK)
    end
  end
end

local obey = {
  L = function(self, parameters) self:edit_lines(number(parameters)) end,
  M = function(self, parameters) self:edit_lines(-number(parameters)) end,
  H = function(self, parameters)
    local row, column = parameters:match("^(%d*);?(%d*)$")
    self.row, self.column, self.behind = number(row), number(column), false
  end,
  G = function(self, parameters) self.column, self.behind = number(parameters), false end,
  B = function(self, parameters) self.row = self.row + number(parameters) end,
  C = function(self, parameters) self.column = self.column + number(parameters) end,
  D = function(self, parameters) self.column = self.column - number(parameters) end,
  K = function(self, parameters)
    assert(parameters == "" and not (self.style["7"] or self.style["4"] or self.behind), "erases what it should not")
    self:cut(self.row, self.column)
    for column = self.column, self.columns do
      self:set(self.row, column, BLANK)
    end
  end,
  m = function(self, parameters)
    for word in (parameters .. ";"):gmatch("(%d*);") do
      if word == "" or word == "0" then
        self.style = {}
      else
        for colour in pairs(COLOUR[word] and COLOUR or {}) do
          self.style[colour] = nil
        end
        self.style[word] = true
      end
    end
  end,
  h = function(self, parameters) self.synchronized = parameters == "?2026" end,
  l = function(self, parameters) assert(parameters == "?2026" and self.synchronized) self.synchronized = false end,
}

local controls = {
  ["\r"] = function(self) self.column, self.behind = 1, false end,
  ["\11"] = function(self) self.row = self.row + 1 end,
  ["\8"] = function(self) self.column = self.column - 1 end,
}

--- Obeys bytes.
function emulator:write(bytes)
  local at = 1
  while at <= #bytes do
    local parameters, final, behind = bytes:match("^\27%[([?%d;]*)(%a)()", at)
    if parameters then
      assert(not (self.behind and final:find("[CD]")), "a step from a place that terminals do not agree about")
      obey[final](self, parameters)
    else
      local character = assert(bytes:match("^[%z\1-\127]", at) or bytes:match("^[\194-\244][\128-\191]+", at))
      behind = at + #character
      local control = controls[character]
      if control then
        assert(not (self.behind and character == "\8"))
        control(self)
      else
        assert(not character:find("%c"), "a control character")
        self:put(character)
      end
    end
    assert(self.row >= 1 and self.row <= self.rows and self.column >= 1 and self.column <= self.columns,
      "the cursor leaves the window")
    at = behind
  end
  return self
end

--- What it shows, as lines to compare: the cells of a row with their styles.
function emulator:shown()
  local lines = {}
  for row = 1, self.rows do
    local cells = {}
    for column = 1, self.columns do
      local cell = self:at(row, column)
      cells[column] = cell.style == "" and cell.text or ("<%s>%s"):format(cell.style, cell.text)
    end
    lines[row] = table.concat(cells, "|")
  end
  return lines
end

return M
