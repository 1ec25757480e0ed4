--- What all published kstats have, and how they are made.
-- @submodule kstat.publish
local check = require("kstat.publish.check")
local core = require("kstat.core").publish
local guess = require("kstat.base.guess")
local library = require("kstat.publish.library")
local mistake = require("kstat.base.mistake")

local M = {}

-- KSTAT_FLAG_*
local WRITABLE, PERSISTENT = 4, 8

--- Takes the kstat from the readers' chains (a persistent one becomes dormant). It cannot be used after.
-- @function k:delete
function M.delete(self)
  self.record, self.address = nil, nil
  core.delete(self.box)
end

--- Returns where the kstat's time of creation lies and what it is. The number at the pointer changes when some process
-- that shares the segment deletes the kstat: what is counted in it then is lost. LuaJIT only.
-- @treturn cdata pointer
-- @treturn cdata number
-- @fails
-- @function k:pin
function M.pin(self)
  local address, message, errname = core.crtime(self.box)
  if not address then
    return nil, message, errname
  end
  local pointer = library.integer(address)
  return pointer, pointer[0]
end

--- Frees what this process keeps of the kstat, which readers go on seeing. The object is of no use then; what pin() and
-- cell() returned stays good.
-- @function k:forget
function M.forget(self)
  self.record, self.address = nil, nil
  core.forget(self.box)
end

-- The metatable of a kind of kstat, and its methods as they are for other kinds, without a look at `self`.
function M.class(methods)
  methods.delete = methods.delete or M.delete
  methods.pin, methods.forget = library.fn and M.pin or nil, M.forget
  local meta = {
    __index = guess.within("this published kstat", methods),
    __name = "kstat.figures.published",
    __tostring = function(self)
      return ("%s:%d:%s"):format(self.module, self.instance, self.name)
    end,
  }
  return meta, mistake.guard(methods, meta, "published kstat")
end

-- Creates and installs a kstat of what the caller gave, spec. prepare, a function(box) or nil, is called before the
-- installation and returns true, or nil, message, errno; create is the function of core that creates the kstat, and
-- what follows are its further arguments, behind the header and the flags. Returns the object, or nil, message, errno
-- name.
function M.create(meta, self, spec, prepare, create, ...)
  local module, instance, name, class = check.header(self, spec)
  local flags = (spec.persistent and PERSISTENT or 0) + (spec.writable and WRITABLE or 0)
  local box, message, errname = create(self.segment, module, instance, name, class, flags, ...)
  if not box then
    return nil, message, errname
  end
  local ok = true
  if prepare then
    ok, message, errname = prepare(box)
  end
  if ok then
    ok, message, errname = core.install(box)
  end
  if not ok then
    core.delete(box)
    return nil, message, errname
  end
  local k = setmetatable({ box = box, module = module, instance = instance, name = name, class = class }, meta)
  if self.own then
    self.own[k] = true
  end
  return k
end

-- The same for a kstat with one record, which is bound to the object. address: which field has the address that others
-- may ask for; timer: as core.methods() takes it.
function M.create_bound(address, timer, meta, self, ...)
  local k, message, errname = M.create(meta, self, ...)
  local ok = k
  if k then
    ok, message, errname = M.bind(k.box, k, timer)
  end
  if not ok then
    return nil, message, errname
  end
  self.addresses[k] = address
  return k
end

-- The kstat's record and the kstat itself, or (without the FFI) functions that have them.
function M.bind(box, object, timer)
  local record, address, errname = core.methods(box, object, timer)
  if not record then
    return nil, address, errname
  end
  if library.fn then
    for name in pairs(object) do
      if type(object[name]) == "function" then
        object[name] = nil
      end
    end
    object.record, object.address = library.record(record), library.record(address)
  end
  return true
end

return M
