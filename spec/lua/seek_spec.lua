-- Going to a time of a recording or a capture, and back.
local kstat = require("kstat")
local recording = require("kstat.recording")
local support = require("support.run")

local START = 1700000000
local dir

-- A capture of samples that were taken so many seconds after START. Each holds its number.
local function capture(times)
  local lines = {}
  for i, time in ipairs(times) do
    lines[#lines + 1] = ("%d\n[{ \"module\": \"m\", \"instance\": 0, \"name\": \"n\", \"class\": \"misc\", " ..
      "\"type\": 1, \"snaptime\": %d, \"data\": { \"crtime\": 0, \"number\": %d, \"snaptime\": %d } }]")
      :format(START + time, i, i, i)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function number(ks)
  return ks:lookup("m", 0, "n"):get("number")
end

-- Calls f(chain, kind) with a capture, a packed one and a recording of these times.
local function each(times, f)
  local plain = dir .. "/capture"
  support.write_file(plain, capture(times))
  assert(os.execute(("gzip -k %s"):format(plain)))
  local rec, ks = assert(recording.open(dir .. "/recording")), assert(kstat.open(plain))
  repeat
    assert(rec:add(ks))
    assert(ks:update() ~= nil)
  until ks:ended()
  rec:close()
  for _, kind in ipairs({ "capture", "capture.gz", "recording" }) do
    f(assert(kstat.open(dir .. "/" .. kind)), kind)
  end
end

describe("a replay", function()
  before_each(function() dir = support.directory() end)
  after_each(function() support.remove_directory(dir) end)

  it("goes to the latest sample that is not later than a time, and on and back from there", function()
    each({ 0, 10, 20, 30 }, function(ks, kind)
      for time, at in pairs({ [0] = 1, [9.9] = 1, [10] = 2, [15] = 2, [29] = 3, [30] = 4, [1e12] = 4 }) do
        assert.is_true(ks:seek(START + time) ~= nil, kind)
        assert.equal(at, number(ks), kind)
        assert.equal(START + 10 * (at - 1), ks:time_of_day())
      end
      ks:seek(START + 20)
      ks:update()
      assert.equal(4, number(ks), kind)
      ks:previous()
      ks:previous()
      assert.equal(2, number(ks), kind)
      ks:update()
      assert.equal(3, number(ks), kind)
      ks:seek(START + 30)
      ks:update()
      assert.is_true(ks:ended(), kind)
      ks:seek(START)
      assert.is_false(ks:ended(), kind)
    end)
  end)

  it("goes several samples back at once, or to the first one, and says how many those were", function()
    each({ 0, 10, 20, 30, 40 }, function(ks, kind)
      local function back(n, move, ...)
        local changed, _, _, went = ks[move](ks, ...)
        assert.same({ true, n }, { changed ~= nil, went }, kind)
        return number(ks)
      end
      assert.equal(3, back(2, "seek", START + 45, true, 2))
      assert.equal(1, back(1, "seek", START + 15, false, 7))
      assert.equal(4, back(0, "seek", START + 30))
      assert.equal(2, back(2, "previous", true, 2))
      assert.equal(1, back(1, "previous", false, 3))
      ks:update()
      assert.equal(2, number(ks), kind)
      assert.error_matches(function() ks:previous(true, 0) end, "a number of samples expected")
    end)
  end)

  it("stays where it is before the first sample", function()
    each({ 0, 10 }, function(ks, kind)
      ks:update()
      local none, message, errname = ks:seek(START - 0.5)
      assert.same({ nil, ("%s/%s: no sample at or before 1699999999.500 (seconds since 1970)"):format(dir, kind),
        "ENODATA" }, { none, message, errname })
      assert.equal(2, number(ks), kind)
      ks:previous()
      none, message, errname = ks:previous()
      assert.same({ nil, ("%s/%s: no sample before this one"):format(dir, kind), "ENODATA" },
        { none, message, errname })
      assert.equal(1, number(ks), kind)
    end)
  end)

  it("finds its samples where the clock was set back or ahead for a while", function()
    each({ 0, 1000, 10, 20, 5, 15, 15, 30 }, function(ks, kind)
      for time, at in pairs({ [0] = 1, [7] = 5, [10] = 3, [12] = 3, [17] = 7, [25] = 4, [500] = 8, [2000] = 2 }) do
        ks:seek(START + time)
        assert.equal(at, number(ks), kind .. " " .. time)
      end
      ks:seek(START + 15)
      ks:previous()
      ks:previous()
      assert.equal(5, number(ks), kind)
    end)
  end)

  it("finds the samples of older recordings, too", function()
    for _, file in ipairs({ "use/hour.rec", "cookbook/before.rec", "cookbook/processes.rec", "kstat/linux.rec" }) do
      local ks = assert(kstat.open("spec/vectors/" .. file))
      local seen, times = {}, {}
      repeat
        times[#times + 1] = ks:time_of_day()
        seen[#seen + 1] = ks:render()
        ks:update()
      until ks:ended()
      for i = 1, 9 do
        local at = i * 29 % #times + 1
        ks:seek(times[at])
        if at > 1 and i % 2 == 0 then
          ks:previous()
          at = at - 1
        end
        assert.is_true(seen[at] == ks:render(), file .. " " .. at)
      end
    end
  end)

  it("reads on from each place it came to, whatever keyframe the sample before was behind", function()
    local times = {}
    for i = 1, 260 do
      times[i] = i
    end
    support.write_file(dir .. "/capture", capture(times))
    local rec, ks = assert(recording.open(dir .. "/recording")), assert(kstat.open(dir .. "/capture"))
    repeat
      if number(ks) == 131 then
        rec:close()
        rec = assert(recording.open(dir .. "/recording"))
      end
      assert(rec:add(ks))
      assert(ks:update() ~= nil)
    until ks:ended()
    rec:close()
    ks = assert(kstat.open(dir .. "/recording"))
    ks:seek(START + 100)
    ks:previous()
    for _, at in ipairs({ 220, 99, 225 }) do
      assert(ks:seek(START + at) ~= nil)
      assert.equal(at, number(ks))
    end
    for at = 226, 260 do
      assert(ks:update() ~= nil)
      assert.equal(at, number(ks))
    end
  end)

  it("says that a light keyframe behind a keyframe of an older version is damage", function()
    support.write_file(dir .. "/recording", "kstat-recording\n" ..
      "KSK4\006\000\000\000\000\000\000\000\000\000\000\000\165\176\211.b`\000\001\000\000" ..
      "KSL5\006\000\000\000\000\000\000\000\000\000\000\000\000B\241\027b`\000\003\000\000")
    local ks = assert(kstat.open(dir .. "/recording"))
    assert.same({ nil, dir .. "/recording: damaged at byte 42", "EBADMSG" }, { ks:update() })
  end)

  it("stays where it is, and goes on from there, if what it shall go to is damaged", function()
    local times = {}
    for i = 1, 200 do
      times[i] = 10 * (i - 1)
    end
    each(times, function(_, kind)
      local path = dir .. "/" .. kind
      local bytes = support.read_file(path)
      local light = kind == "recording" and bytes:find("KSL", bytes:find("KSL", 1, true) + 3, true)
      if not light then
        return
      end
      support.write_file(path, bytes:sub(1, light + 20) .. string.char((bytes:byte(light + 21) + 1) % 256) ..
        bytes:sub(light + 22))
      local ks = assert(kstat.open(path))
      ks:seek(START + 690)
      assert.is_nil((ks:seek(START + 1490)))
      assert.equal(70, number(ks))
      ks:seek(START + 1090)
      assert.equal(110, number(ks))
      assert.is_nil((ks:seek(START + 1490)))
      assert.is_true(ks:update() ~= nil)
      assert.equal(111, number(ks))
      -- Of those behind the second light one the last, before the third, is damaged, too: others are read on the way.
      bytes = support.read_file(path)
      local at = bytes:find("KSL", light + 21, true) - 1
      support.write_file(path, bytes:sub(1, light + 20) .. string.char((bytes:byte(light + 21) - 1) % 256) ..
        bytes:sub(light + 22, at - 1) .. string.char((bytes:byte(at) + 1) % 256) .. bytes:sub(at + 1))
      ks = assert(kstat.open(path))
      for _, was in ipairs({ 70, 179, 2, 190 }) do
        assert(ks:seek(START + 10 * (was - 1)) ~= nil)
        local none, message = ks:seek(START + 1790)
        assert.is_nil(none)
        assert.matches("/recording: damaged at byte %d+$", message)
        assert.same({ was, START + 10 * (was - 1) }, { number(ks), ks:time_of_day() })
      end
      assert.is_nil((ks:previous(true, 10)))
      assert.equal(190, number(ks))
      assert(ks:update() ~= nil)
      assert.equal(191, number(ks))
    end)
  end)

  it("takes nothing that somebody publishes for a keyframe", function()
    local numbers = {}
    for i = 1, 800 do
      numbers[i] = ("%d%09d%09d"):format(math.random(1, 8), math.random(0, 999999999), math.random(0, 999999999))
    end
    numbers[400] = "8799967517394817867" -- its bytes begin with the mark of a keyframe
    support.write_file(dir .. "/capture", capture({ 0 }):gsub("%d+ } }%]", "1, \"numbers\": [" ..
      table.concat(numbers, ",") .. "] } }]"))
    local rec, ks = assert(recording.open(dir .. "/recording")), assert(kstat.open(dir .. "/capture"))
    assert(rec:add(ks))
    rec:close()
    local _, marks = support.read_file(dir .. "/recording"):gsub("KSK5", "")
    assert.equal(1, marks)
    assert.equal(ks:render(), assert(kstat.open(dir .. "/recording")):render())
  end)

  it("stays in its window", function()
    each({ 0, 10, 20, 30 }, function(_, kind)
      local ks = assert(kstat.open({ capture = dir .. "/" .. kind, from = tostring(START + 10),
        to = tostring(START + 20) }))
      assert.is_nil(ks:seek(START))
      ks:seek(START + 100)
      assert.equal(3, number(ks), kind)
      ks:previous()
      assert.equal(2, number(ks), kind)
      assert.is_nil(ks:previous(), kind)
    end)
  end)

  it("of distributions holds the buckets that changed", function()
    local function sample(time, n)
      local buckets = {}
      for i = 1, 960 do
        buckets[i] = i * 37 + (i % 32 == 0 and n * i or 0)
      end
      return ("%d\n[{ \"module\": \"m\", \"instance\": 0, \"name\": \"n\", \"class\": \"misc\", \"type\": 1, " ..
        "\"snaptime\": %d, \"data\": { \"crtime\": 0, \"snaptime\": %d, \"buckets\": [%s] } }]\n")
        :format(START + time, time, time, table.concat(buckets, ","))
    end
    support.write_file(dir .. "/capture", sample(0, 0) .. sample(10, 0) .. sample(20, 0) .. sample(30, 1))
    local rec, ks = assert(recording.open(dir .. "/recording")), assert(kstat.open(dir .. "/capture"))
    local sizes = {}
    for i = 1, 4 do
      assert(rec:add(ks))
      sizes[i] = rec:size()
      ks:update()
    end
    local still, moved = sizes[3] - sizes[2], sizes[4] - sizes[3]
    assert.is_true(moved - still > 30 and moved - still <= 100, moved - still)
    assert.is_true(still <= 32, still) -- 20 of them are the header of the frame
  end)

  it("is needed for that: the machine has no other time than now, and a pipe cannot be read twice", function()
    local ks = assert(kstat.open({ only = "unix" }))
    for _, move in ipairs({ "seek", "previous" }) do
      local none, message, errname = ks[move](ks, START)
      assert.same({ nil, "this is the machine now; only a recording or a capture has other times", "EOPNOTSUPP" },
        { none, message, errname })
    end
    support.write_file(dir .. "/seek.lua", "local ks = kstat.open('-'); print(ks:seek(1700000010))")
    support.write_file(dir .. "/capture", capture({ 0, 10 }))
    local pipe = io.popen(("cat %s/capture | %s/kstatlua %s/seek.lua"):format(dir, support.bin, dir))
    assert.equal("nil\tstandard input: cannot be read again, as a file could: Illegal seek\tESPIPE\n", pipe:read("*a"))
    pipe:close()
  end)

  it("tells a mistake from a time", function()
    local ks = assert(kstat.open({ only = "unix" }))
    assert.error_matches(function() ks:seek(0 / 0) end, "a time expected, got nan")
    assert.error_matches(function() ks:seek("soon") end, "number expected")
  end)
end)
