--- The last hour of what a server shows, so that a page that opens begins with it.
--
-- It is a recording in memory, of three pieces. The oldest piece goes when the newest is full, so that a whole hour is
-- there once the server has run for one.
--
--     local past = history.new()
--     if past:is_due() then past:add(ks, selectors) end
--
-- @module kstat.page.history
local chain = require("kstat.read.chain")
local core = require("kstat.core")
local recording = require("kstat.recording")

local unpack = table.unpack or unpack

local history = {}

-- Seconds: how far back it goes, between two samples, and a piece's share.
local SPAN, EVERY, PIECE = 3600, 5, 1800
-- Bytes of a piece, so that all three have at most 16 MiB.
local MOST_BYTES = 16 * 1048576 / 3
-- A sample of so many kstats is taken every five seconds, one of more as much more seldom. So reading the hour takes
-- at most about a second, and sampling a hundredth of a CPU, whatever is published.
local MOST_KSTATS = 5000
local MOST_SHARE = 0.01
-- Bytes of an answer: it has every second, fourth, … sample if all are more than that.
local MOST_ANSWER = 6e6

local RS = "\30" -- begins a text of a sequence

local methods = {}
methods.__index = methods

--- Makes one; nothing is recorded before add().
-- @treturn history
function history.new()
  return setmetatable({ pieces = {}, due = 0 }, methods)
end

--- Whether the time of the next sample has come.
-- @treturn boolean
function methods:is_due()
  return core.hrtime() >= self.due
end

-- The piece that is written, which is a new one if there is none or the last one is full.
local function piece_of(self, now)
  local last = self.pieces[#self.pieces]
  if last and now - last.began < PIECE and last.rec:size() < MOST_BYTES then
    return last
  end
  local rec, message = recording.memory()
  if not rec then
    return nil, message
  end
  self.pieces[#self.pieces + 1] = { rec = rec, began = now }
  if #self.pieces > 3 then
    table.remove(self.pieces, 1).rec:close()
  end
  return self.pieces[#self.pieces]
end

--- Brings a chain up to date and adds a sample of it. What cannot be read or kept is left out; the chain has its
-- warnings about that for whoever asks next.
-- @tparam chain ks
-- @tparam {selector,...} selectors none: everything
function methods:add(ks, selectors)
  local now, used = core.hrtime(), os.clock()
  local piece = ks:update() and piece_of(self, now)
  if piece then
    piece.rec:add(ks, unpack(selectors))
  end
  self.due = now + math.max(EVERY * math.ceil(#ks / MOST_KSTATS), (os.clock() - used) / MOST_SHARE)
end

-- Calls f(chain) for every sample since a time of day, the oldest first.
local function each_sample(self, since, f)
  for _, piece in ipairs(self.pieces) do
    local ks = piece.rec:samples() > 0 and
      chain.open({ capture = piece.rec:path(), from = since, everybody = true })
    while ks and not ks:ended() do
      f(ks)
      if not ks:update() then
        break
      end
    end
  end
end

-- Leaves every second one of two lists. Returns how many bytes the texts have then.
local function thin(times, texts)
  local bytes = 0
  for i = 1, #texts do
    times[i], texts[i] = times[2 * i], texts[2 * i]
    bytes = bytes + #(texts[i] or "")
  end
  return bytes
end

--- The samples of the last hour as a sequence of JSON texts (RFC 7464): an array of their times, in seconds since 1970,
-- and what `kstat -j` prints of the selectors for each. It has at most about 6 MB: of samples that are more, it has
-- every second, fourth and so on.
-- @tparam {selector,...} selectors none: everything
-- @treturn string
function methods:json(selectors)
  local times, texts, bytes, n, step = {}, {}, 0, 0, 1
  each_sample(self, os.time() - SPAN, function(ks)
    n = n + 1
    local text = n % step == 0 and ks:render("json", unpack(selectors))
    if text then
      times[#times + 1], texts[#texts + 1] = ks:time_of_day(), text
      bytes = bytes + #text
    end
    while bytes > MOST_ANSWER and #texts > 1 do
      bytes, step = thin(times, texts), 2 * step
    end
  end)
  return RS .. core.json(times) .. "\n" .. RS .. table.concat(texts, RS)
end

return history
