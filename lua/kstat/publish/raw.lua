--- Published kstats of bytes.
-- @submodule kstat.publish
local core = require("kstat.core").publish
local check = require("kstat.publish.check")
local object = require("kstat.publish.object")

local M = {}

local raw_methods = {}
local raw_meta = object.class(raw_methods)
local raw_fields = check.with_header("bytes", "layout")

--- Replaces all bytes; readers see the old ones or the new ones.
-- @string bytes as many as at first
-- @treturn boolean true
-- @fails "EINVAL" another number of bytes
-- @function raw:store
function raw_methods.store(self, bytes)
  if type(bytes) ~= "string" then
    check.usage("store: string expected, got %s", type(bytes))
  end
  return core.bytes(self.box, bytes)
end

--- Creates a RAW kstat, whose bytes `k:bytes()` has.
-- @tparam published_spec spec beside the common fields: `bytes` (string, needed): at first;
-- `layout` (string): what they are, at most 31 bytes of text
-- @treturn published.raw
-- @fails
-- @usage local raw = assert(pub:raw({ name = "state", bytes = ("\0"):rep(16) }))
-- raw:store("0123456789abcdef")
-- @function pub:raw
function M.raw(self, spec)
  check.fields(spec, raw_fields, "raw")
  if type(spec.bytes) ~= "string" or spec.bytes == "" then
    check.usage("raw: bytes: a string that is not empty expected, got %s",
      spec.bytes == "" and "an empty one" or type(spec.bytes))
  end
  return object.create(raw_meta, self, spec, function(box)
    local ok, message, errname = true, nil, nil
    if spec.layout and not self.own then
      ok, message, errname = core.layout(box, spec.layout)
    end
    if not ok then
      return nil, message, errname
    end
    return core.bytes(box, spec.bytes)
  end, core.create, core.types.raw, #spec.bytes)
end

return M
