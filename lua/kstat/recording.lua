--- Recordings: files that hold samples of kstats over a long time in little space.
--
--     local recording = require("kstat.recording")
--     local rec = assert(recording.open("today.rec"))
--     for now in kstat.every(5, 720, { select = "cpu_stat" }) do assert(rec:add(now)) end
--     rec:close()
--
-- `kstat.open("today.rec")` reads one. A sample is written whole or not at all: what a killed program or
-- a full disk leaves behind can be read up to the last whole sample, and continued there.
-- @module kstat.recording
local core = require("kstat.core")
local selector = require("kstat.read.selector")

local recording = {}

local writer = {}
writer.__index = require("kstat.base.guess").within("a recording", writer)

-- What core.recorder() and the like returned, as a writer.
local function made(recorder, message, errname)
  if not recorder then
    return nil, message, errname
  end
  return setmetatable({ recorder = recorder }, writer)
end

local function check_path(path, name)
  if type(path) ~= "string" then
    core.usage(("bad argument #1 to '%s' (string expected, got %s)"):format(name, type(path)))
  end
end

--- Opens a recording for writing; one that exists is continued. One program at a time may write it.
-- @string path
-- @treturn writer
-- @fails "EEXIST" a file that is no recording, "EWOULDBLOCK" another
-- program writes it ("EAGAIN" is its other name), "EBADMSG" it is damaged, or why it cannot be opened
function recording.open(path)
  check_path(path, "open")
  return made(core.recorder(path))
end

--- Opens a recording in memory, which goes when it is closed. `kstat.open(rec:path())` reads it in this process.
-- @treturn writer
-- @fails "EMFILE", "ENOMEM", …
function recording.memory()
  return made(core.recorder())
end

--- How much a directory keeps: `keep` (?number): seconds (14 days), of which a file is removed when its last sample is
-- older; `keep_bytes` (?integer): bytes of all its files together (1 GiB), of which the oldest go first. Above 0.
-- @table directory_limits

--- Opens a directory of recordings for writing, and makes it if there is none: a file a day (UTC), a new one also after
-- a boot and at an eighth of `keep_bytes`. Names are `kstat-YYYYMMDD-HHMMSS.rec`, in UTC. A thread writes, so that
-- `rec:add` does not wait for the disk: up to 64 samples wait for it, and what comes then is dropped. Samples are also
-- dropped while less than 5 % or 256 MB of the file system are free. `rec:status()` tells. One program at a time may
-- write there.
-- @string path
-- @tparam[opt] directory_limits limits
-- @treturn writer
-- @fails "EWOULDBLOCK" another program writes there ("EAGAIN" is its other name), or why it cannot be opened
function recording.directory(path, limits)
  check_path(path, "directory")
  limits = limits or {}
  if type(limits) ~= "table" then
    core.usage(("bad argument #2 to 'directory' (table expected, got %s)"):format(type(limits)))
  end
  for field in pairs(limits) do
    if field ~= "keep" and field ~= "keep_bytes" then
      local fields = { keep = true, keep_bytes = true }
      core.usage(require("kstat.base.unknown").word("directory: unknown field", field, fields))
    end
  end
  return made(core.recorder_directory(path, limits.keep or 14 * 86400, limits.keep_bytes or 2 ^ 30))
end

--- The path by which kstat.open() finds it.
-- @treturn string
-- @function rec:path
function writer:path()
  return self.recorder:path()
end

--- Appends one sample: of a chain what is read now, or the sample at hand, as one of `kstat.every`, as it is. After a
-- failure the file ends with the sample before, and the next call tries again.
-- @tparam chain|sample x
-- @tparam spec ... selectors; none: every kstat of the chain, or all that the sample has read. A statistic in them does
-- not matter: kstats are recorded whole.
-- @treturn boolean true
-- @fails "ENOSPC", …
-- @function rec:add
function writer:add(x, ...)
  local list, message, errname = selector.list(...)
  if list == false then
    return nil, message, errname
  end
  return self.recorder:add(x, list)
end

--- Samples written so far.
-- @treturn integer
-- @function rec:samples
function writer:samples()
  return self:status().samples
end

--- Bytes of the file, or of all files of the directory.
-- @treturn integer
-- @function rec:size
function writer:size()
  return self:status().size
end

--- What became of the samples: `samples` (integer): how many were written, `bytes` (integer): bytes of these, `dropped`
-- (integer): samples that were not written, `waiting` (integer): samples that are not written yet, `write_ns`
-- (integer): nanoseconds that writing took, `size` (integer): bytes of all files, `problem` (?string): why samples are
-- not written now. A file has `samples` and `size` alone; the others are 0.
-- @table recording_status

--- What became of the samples so far; after `rec:close()` of all of them.
-- @treturn recording_status
-- @function rec:status
function writer:status()
  return self.last or self.recorder:status()
end

--- Ends it, when all samples are written. The garbage collector does too.
-- @function rec:close
function writer:close()
  if not self.last then
    self.recorder:finish()
    self.last = self.recorder:status()
    self.recorder:close()
  end
end

require("kstat.base.mistake").guard(writer, writer, "recording")

return require("kstat.base.guess").within("kstat.recording", recording)
