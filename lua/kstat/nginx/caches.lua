--- How much is in the caches of nginx: the files below the directories of proxy_cache_path.
local files = require("kstat.nginx.files")
local rows = require("kstat.nginx.rows")

local M = {}

-- One worker looks at so many files at once, and then sleeps, in seconds: so does nginx, when it loads a cache.
local STEP, PAUSE = 100, 0.05
local PERIOD = 10 -- seconds between two walks

-- Adds up the files below a directory.
local function walk(path, sum)
  for _, name in ipairs(files.names(path)) do
    local inode, _, bytes, kind = files.stat(path .. "/" .. name)
    if kind == "directory" then
      walk(path .. "/" .. name, sum)
    elseif inode and kind == "file" then
      sum.files, sum.bytes = sum.files + 1, sum.bytes + bytes
    end
    sum.seen = sum.seen + 1
    if sum.seen % STEP == 0 and not ngx.worker.exiting() then
      ngx.sleep(PAUSE)
    end
  end
  return sum
end

--- Checks the option `caches`: directories by name.
-- @raise a line
function M.check(caches)
  for name, path in pairs(caches) do
    if type(name) ~= "string" or type(path) ~= "string" or path:sub(1, 1) ~= "/" then
      error("setup: caches: directories by name expected, as in { static = \"/var/cache/nginx/static\" }", 0)
    end
  end
end

--- Makes the rows of caches.
-- @treturn[1] set
-- @treturn[2] nil
-- @treturn[2] string message
function M.rows(server)
  return rows.new(server, { prefix = "nginx,cache", class = "nginx_cache_size", labels = { "cache" }, unlimited = true,
    shards = 1, statistics = {
      { name = "size", kind = "gauge", unit = "bytes", meta = "bytes", desc = "bytes that files of a cache take" },
      { name = "files", kind = "gauge", desc = "files of a cache" } } })
end

--- Starts the walks, in one worker.
function M.start(server)
  local is_walking = false
  ngx.timer.every(PERIOD, function(premature)
    if premature or is_walking then
      return
    end
    is_walking = true
    M.look(server)
    is_walking = false
  end)
  ngx.timer.at(0, function() M.look(server) end)
end

--- Looks at all caches.
function M.look(server)
  for name, path in pairs(server.options.caches) do
    local row = server.caches:find({ name })
    local sum = walk(path, { files = 0, bytes = 0, seen = 0 })
    if row and not ngx.worker.exiting() then
      row.counters.size:set(sum.bytes)
      row.counters.files:set(sum.files)
    end
  end
end

return M
