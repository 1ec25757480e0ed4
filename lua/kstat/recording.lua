--- Recordings: files that hold samples of kstats over a long time in little space.
--
--     local recording = require("kstat.recording")
--     local rec = assert(recording.open("today.rec"))
--     for _ = 1, 10 do assert(rec:add(ks)); ks:update() end
--     rec:close()
--
-- `kstat.open("today.rec")` reads one. A sample is written whole or not at all: what a killed program or
-- a full disk leaves behind can be read up to the last whole sample, and continued there.
--
-- @module kstat.recording
local core = require("kstat.core")
local selector = require("kstat.selector")

local recording = {}

local writer = {}
writer.__index = require("kstat.guess").within("a recording", writer)

--- Opens a recording for writing; one that exists is continued. One program at a time may write it.
-- @string path
-- @treturn writer
-- @fails "EEXIST" a file that is no recording, "EWOULDBLOCK" another
-- program writes it ("EAGAIN" is its other name), "EBADMSG" it is damaged, or why it cannot be opened
function recording.open(path)
  if type(path) ~= "string" then
    error("bad argument #1 to 'open' (string expected, got " .. type(path) .. ")", 2)
  end
  local recorder, message, errname = core.recorder(path)
  if not recorder then
    return nil, message, errname
  end
  return setmetatable({ recorder = recorder }, writer)
end

--- Opens a recording in memory, which goes when it is closed. `kstat.open(rec:path())` reads it in this process.
-- @treturn writer
-- @fails "EMFILE", "ENOMEM", …
function recording.memory()
  local recorder, message, errname = core.recorder()
  if not recorder then
    return nil, message, errname
  end
  return setmetatable({ recorder = recorder }, writer)
end

--- The path by which kstat.open() finds it.
-- @treturn string
-- @function rec:path
function writer:path()
  return self.recorder:path()
end

--- Reads kstats now and appends them as one sample. After a failure the file ends with the sample
-- before, and the next call tries again.
-- @tparam chain ks
-- @tparam spec ... selectors; none: every kstat. A statistic in them does not matter: kstats are recorded whole.
-- @treturn boolean true
-- @fails "ENOSPC", …
-- @function rec:add
function writer:add(ks, ...)
  local list, message, errname = selector.list(2, ...)
  if list == false then
    return nil, message, errname
  end
  return self.recorder:add(ks, list)
end

--- Samples added so far.
-- @treturn integer
-- @function rec:samples
function writer:samples()
  return self.recorder:samples()
end

--- Bytes of the file.
-- @treturn integer
-- @function rec:size
function writer:size()
  return self.recorder:size()
end

--- Ends it. The garbage collector does too.
-- @function rec:close
function writer:close()
  self.recorder:close()
end

return require("kstat.guess").within("kstat.recording", recording)
