--- The segment of an nginx: opened in the master, found again by the new binary of an upgrade.
local contents = require("kstat.base.environment").contents
local ffi = require("ffi")
local files = require("kstat.nginx.files")
local publish = require("kstat.publish")
local variable = require("kstat.base.environment").variable

ffi.cdef([[int kstat_nginx_setenv(const char *name, const char *value, int overwrite) __asm__("setenv");]])

local M = {}

local function setenv(name, value)
  ffi.C.kstat_nginx_setenv(name, value, 1)
end

local function parent_process()
  return (contents("/proc/self/status") or ""):match("\nPPid:%s*(%d+)")
end

-- The directory of the segment that the parent process has mapped; nil: it has none.
local function directory_of_parent(name)
  local parent = parent_process()
  local maps, found = parent and contents("/proc/" .. parent .. "/maps") or "", nil
  local suffix = "/" .. name .. ".kseg"
  for line in maps:gmatch("[^\n]+") do
    local path = line:match("^%S+ %S+ %S+ %S+ %S+%s+(/.*)$")
    if path and #path > #suffix and path:sub(-#suffix) == suffix then
      found = path:sub(1, -#suffix - 1)
    end
  end
  return found
end

local function is_gone(path)
  local file, _, errno = io.open(path)
  if file then
    file:close()
  end
  return errno == 2 -- ENOENT
end

local MOST_STEM = 22 -- bytes of a name before the number of a master, which has at most seven digits

-- Removes what the workers of masters that are gone have left.
local function remove_left(directory, stem)
  for _, file in ipairs(files.names(directory)) do
    local master = file:sub(1, #stem) == stem and file:match("^%.(%d+)%.kseg$", #stem + 1)
    if master and not files.is_alive(master) then
      os.remove(directory .. "/" .. file)
    end
  end
end

local function directory_of(pub)
  return (pub:path():gsub("/[^/]*$", ""))
end

--- Opens the segment. In a worker, in init_worker_by_lua, it is called after its master, too: all workers of this
-- master join it, those of other masters do not. It is persistent then, for no other process has it where there is but
-- one worker, and that is killed; what is left in the end goes when the next nginx starts.
--
-- nginx starts the new binary of an upgrade (USR2) with the variable NGINX, and without most other variables: the
-- directory is then that of the old master, and both publish in its segment.
-- @tparam table options of setup(): `name`, `capacity`
-- @treturn[1] pub
-- @treturn[1] boolean whether this process published it before: it reloads
-- @treturn[2] nil
-- @treturn[2] string message
function M.open(options)
  local in_worker = ngx.get_phase() == "init_worker"
  local stem = options.name:sub(1, MOST_STEM)
  if in_worker then
    options.name, options.persistent = stem .. "." .. (parent_process() or "0"), true
  end
  local name = options.name
  local directory = variable("NGINX") and directory_of_parent(name)
  if directory and not variable("KSTAT_DIR") then
    setenv("KSTAT_DIR", directory)
  end
  local how = { capacity = options.capacity, shared = (directory or in_worker) and true or nil }
  local pub, message, code = publish.publish(name, how)
  if pub and is_gone(pub:path()) then -- somebody removed it, and nobody can read it any more
    pub:condemn()
    pub, message, code = publish.publish(name, how)
  end
  if code == "EBUSY" then
    message = message .. "; an nginx beside another one needs a name of its own: setup{ name = \"...\" }"
  end
  if not pub then
    return nil, message
  end
  if in_worker then
    remove_left(directory_of(pub), stem)
  end
  -- The variable lasts as long as the process, also where it becomes a daemon, and a new binary does not get it.
  local reloaded = variable("KSTAT_NGINX_" .. name) ~= nil
  setenv("KSTAT_NGINX_" .. name, "1")
  return pub, reloaded
end

--- Lets functions of this worker find the directory: nginx starts workers without the variable, unless it is told to
-- keep it by `env KSTAT_DIR`.
-- @tparam pub pub
function M.find_directory(pub)
  setenv("KSTAT_DIR", directory_of(pub))
end

return M
