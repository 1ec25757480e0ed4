--- Sessions of the block `stream`, which has no Lua in most builds of nginx: they are read from their log.
--
-- One worker reads what was written since it looked last. Where it stopped is in the memory of all workers, so that the
-- next one goes on there. A log that was moved away is read to its end first.
local distributions = require("kstat.nginx.distributions")
local files = require("kstat.nginx.files")
local log = require("kstat.nginx.log")
local rows = require("kstat.nginx.rows")

local M = {}

local LEFT = 3        -- seconds for which a log that was moved away may still be written to
local CHUNK = 2 ^ 18  -- bytes that are read at once
local LINE = "^(%S+) (%d+) (%d+) (%d+) ([%d.]+)$"

--- The rows of sessions, and where reading stopped.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
function M.publish(server, options)
  local times, message = distributions.buckets({ names = { "time" }, bounds = options.bounds, unit = "us",
    desc = "time of a session" })
  if not times then
    return nil, message
  end
  local statistics = log.code_statistics("class", "sessions by status")
  for _, name in ipairs({ "received", "sent" }) do
    statistics[#statistics + 1] = { name = name, unit = "bytes", meta = "bytes", desc = "bytes of clients " .. name }
  end
  server.streams, message = rows.new(server, { prefix = "stream", class = "stream", labels = { "server" },
    statistics = statistics, distributions = { times } })
  local k
  if server.streams then
    k, message = server.pub:named({ name = "nginx,stream", class = "nginx_stream", shards = 1, statistics = {
      { name = "reader", kind = "gauge", desc = "the worker that reads the log" },
      { name = "inode", kind = "gauge", desc = "the log that is read" },
      { name = "position", kind = "gauge", unit = "bytes", desc = "how far it is read" },
      { name = "unread", kind = "counter", desc = "lines that are not of the format" } } })
  end
  if not k then
    return nil, message
  end
  local place = { reader = k:counter("reader"), inode = k:counter("inode"), position = k:counter("position"),
    unread = k:counter("unread") }
  if place.inode.cell[0] == 0 then -- what was there before nginx is not of it
    local inode, size = files.stat(options.stream)
    place.inode:set(inode or 0)
    place.position:set(size or 0)
  end
  server.stream_place = place
  return true
end

-- Counts a session: server, status, bytes received and sent, seconds.
local function count(server, name, status, received, sent, seconds)
  local row = server.streams:find({ name })
  if not row then
    return
  elseif row.place[0] ~= row.crtime or row.times_place[0] ~= row.times_crtime then
    server.streams:renew(row)
  end
  local class = tonumber(status) - tonumber(status) % 100
  local counter = row.classes[class] or row.rest
  counter:add()
  row.counters.received:add(tonumber(received))
  row.counters.sent:add(tonumber(sent))
  row.times:update(0, rows.microseconds(tonumber(seconds)))
end

-- Reads the lines that an open log has behind the place. Returns whether there were any.
local function read(server, file)
  local place, pid = server.stream_place, ngx.worker.pid()
  local position = tonumber(place.position.cell[0])
  file:seek("set", position)
  local text, is_new = file:read(CHUNK), false
  while text do
    for line, stop in text:gmatch("([^\n]*)\n()") do
      if place.reader.cell[0] ~= pid then
        return true -- another worker goes on
      end
      local name, status, received, sent, seconds = line:match(LINE)
      if name then
        count(server, name, status, received, sent, seconds)
      else
        place.unread:add()
      end
      place.position:set(position + stop - 1)
      is_new = true
    end
    local reached = tonumber(place.position.cell[0])
    if reached == position then
      break -- the last line is not whole yet
    end
    position = reached
    file:seek("set", position)
    text = file:read(CHUNK)
    ngx.sleep(0.001)
  end
  return is_new
end

-- The log that is at the place: the one of the path, or that which was moved away last.
local function open(path, place)
  for _, name in ipairs({ path, path .. ".1" }) do
    if files.stat(name) == tonumber(place.inode.cell[0]) then
      return assert(io.open(name))
    end
  end
  return nil
end

--- Starts to read, in one worker. Returns a function for each second.
-- @treturn function
function M.reader(server)
  local path, place = server.options.stream, server.stream_place
  local file, idle_since, is_reading = nil, nil, false
  place.reader:set(ngx.worker.pid())

  local function look()
    file = file or open(path, place)
    local inode, size = files.stat(path)
    if file and read(server, file) then
      idle_since = nil
    end
    local is_other = inode ~= tonumber(place.inode.cell[0])
    if is_other then
      idle_since = idle_since or ngx.now()
    end
    if inode and is_other and (not file or ngx.now() - idle_since >= LEFT) then
      if file then
        file:close()
      end
      file, idle_since = nil, nil
      place.inode:set(inode)
      place.position:set(0)
    elseif inode and not is_other and size < tonumber(place.position.cell[0]) then
      place.position:set(0) -- it was emptied
    end
  end

  return function()
    local reader = tonumber(place.reader.cell[0])
    if not files.is_alive(reader) then
      place.reader:set(ngx.worker.pid())
    elseif is_reading or reader ~= ngx.worker.pid() then
      return
    end
    is_reading = true
    local ok, message = pcall(look)
    is_reading = false
    assert(ok, message)
  end
end

return M
