--- What all published kstats have, and how they are made.
local core = require("kstat.core").publish
local check = require("kstat.publish.check")
local library = require("kstat.publish.library")

local M = {}

-- KSTAT_FLAG_*
local WRITABLE, PERSISTENT = 4, 8

--- Takes the kstat from the readers' chains (a persistent one becomes dormant). It cannot be used after.
-- @function k:delete
function M.delete(self)
    self.record = nil
    core.delete(self.box)
end

-- The metatable of a kind of kstat.
function M.class(methods)
    methods.delete = M.delete
    return {
        __index = methods,
        __name = "kstat.published",
        __tostring = function(self)
            return ("%s:%d:%s"):format(self.module, self.instance, self.name)
        end,
    }
end

function M.new(box, module, instance, name, class)
    return { box = box, module = module, instance = instance, name = name, class = class }
end

-- Installs a kstat if what was done to it before worked (ok, message, errname); deletes it else.
function M.install(box, ok, message, errname)
    if ok then
        ok, message, errname = core.install(box)
    end
    if not ok then
        core.delete(box)
        return nil, message, errname
    end
    return true
end

function M.flags(spec)
    return (spec.persistent and PERSISTENT or 0) + (spec.writable and WRITABLE or 0)
end

-- The kstat's record, or (without the FFI) functions that have it.
function M.bind(box, object, timer)
    local record, message, errname = core.methods(box, object, timer)
    if not record then
        return nil, message, errname
    end
    if library.fn then
        for name in pairs(object) do
            if type(object[name]) == "function" then
                object[name] = nil
            end
        end
        object.record = library.record(record)
    end
    return true
end

-- Creates and installs a kstat of one record.
function M.create(self, spec, kstat_type, ndata, prepare)
    local module, instance, name, class = check.header(self, spec)
    local box, message, errname = core.create(self.segment, module, instance, name, class, kstat_type,
        ndata, M.flags(spec))
    if not box then
        return nil, message, errname
    end
    if prepare then
        prepare(box)
    end
    local ok
    ok, message, errname = M.install(box, true)
    if not ok then
        return nil, message, errname
    end
    return M.new(box, module, instance, name, class)
end

return M
