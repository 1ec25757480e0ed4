--- Published statsblobs.
-- @submodule kstat.publish
local check = require("kstat.publish.check")
local core = require("kstat.core").publish
local library = require("kstat.publish.library")
local object = require("kstat.publish.object")
local unknown = require("kstat.base.unknown")

local M = {}

local blob_methods = {}

--- Feeds a value to all statistics of a value of interest (VOI), in one change that readers see whole or
-- not at all. Any process that shares the segment may do so at the same time.
-- @tparam integer|string voi its ID (a little faster), or its name
-- @number v a whole number for integer VOIs (in LuaJIT also an `int64_t` or `uint64_t`); fixed-point VOIs round to
-- their precision
-- @treturn boolean true
-- @fails "ERANGE" (not of the VOI's type, or no number; nothing was counted), "EOVERFLOW" (one statistic
-- could not take it, the others did), "EAGAIN" (a stopped process holds it for a second), "EIO" (others that share the
-- segment overwrote it)
-- @function blob:update
local function deleted()
  check.usage("the statsblob was deleted")
end
blob_methods.update = deleted -- until core.blob_methods() gives the object its own

--- Feeds the previous value plus `dv` (VOIs with `relupdate`); as `update`.
-- @tparam integer|string voi
-- @number dv
-- @treturn boolean true
-- @fails
-- @function blob:add
blob_methods.add = deleted

--- Adds a private blob of the same template, or becomes a copy of it.
-- @tparam stats.blob blob
-- @treturn boolean true
-- @fails "EINVAL" a blob of another template
-- @function blob:merge
-- @also blob:store

--- Starts again.
-- @treturn boolean true
-- @fails
-- @function blob:reset
blob_methods.merge, blob_methods.store, blob_methods.reset, blob_methods.bytes = deleted, deleted, deleted, deleted

--- A private copy of it as it is now, its shards merged: see `kstat.stats`.
-- @treturn stats.blob
-- @fails
-- @function blob:snapshot
function blob_methods.snapshot(self)
  local bytes, message, errname = self:bytes()
  if not bytes then
    return nil, message, errname
  end
  return require("kstat.stats").from_bytes(bytes)
end

function blob_methods.delete(self)
  for name in pairs(blob_methods) do
    self[name] = nil -- the closures, which hold the blob's address
  end
  object.delete(self)
end

if library.fn then
  local update, tobit = library.fn.blob_update, library.tobit

  -- Off the trace: names, other numbers, deleted blobs.
  local function other(self, voi, v, rel)
    if not self.record then
      deleted()
    end
    local id = voi
    if type(voi) == "string" then
      for name, known in pairs(self.vois) do
        id = name:lower() == voi:lower() and known or id
      end
      id = self.vois[voi] or id ~= voi and id or
        check.usage("%s", unknown.word(tostring(self) .. " has no value of interest", voi, self.vois))
    end
    if type(id) ~= "number" then
      check.usage("a value of interest expected, got %s", type(id))
    end
    if tobit(check.integer(id, "value of interest")) ~= id then
      id = -1
    end
    if library.is_int64(v) then
      return library.fn.blob_update_int(self.record, id, v, rel)
    elseif library.is_uint64(v) then
      return library.fn.blob_update_uint(self.record, id, v, rel)
    end
    return update(self.record, id, check.number(v, "value"), rel)
  end

  local function failed()
    local _, message, errname = library.result(-1)
    if errname == "EINVAL" then
      check.usage("%s", message)
    end
    return nil, message, errname
  end

  local function updater(rel)
    return function(self, voi, v)
      local record, rc = self.record
      if record and type(voi) == "number" and tobit(voi) == voi and type(v) == "number" then
        rc = update(record, voi, v, rel)
      else
        rc = other(self, voi, v, rel)
      end
      if rc == 0 then
        return true
      end
      return failed()
    end
  end
  blob_methods.update, blob_methods.add = updater(false), updater(true)
end

local blob_meta = object.class(blob_methods)
local blob_fields = check.with_header("template", "vois", "shards")
local voi_fields = check.set("unit", "desc")

local function describe_vois(box, ids, vois)
  for name, voi in pairs(vois) do
    check.fields(voi, voi_fields, "vois." .. tostring(name))
    local ok, message, errname = core.blob_describe(box, ids[name] or
      check.usage("%s", unknown.word("vois: the template has no value of interest", name, ids)), voi.unit, voi.desc)
    if not ok then
      return nil, message, errname
    end
  end
  return true
end

--- What a value of interest is: `unit` (?string): a word such as "us", `desc` (?string): a line about it.
-- @table voi_spec

--- Publishes a statsblob (`kstat.stats`): of each value of interest of its template, such as "rtt", readers
-- see the statistics `rtt_sum`, `rtt_max`, `rtt_min`, `rtt_count`, `rtt_p50`, `rtt_p90`, `rtt_p99`, `rtt_p999`,
-- `rtt_buckets`, `rtt_bounds` and `rtt_oob`, as far as the template has them, and the whole blob by
-- `ks:lookup(...):blob()`.
-- @tparam published_spec spec beside the common fields:
--
--   * `template` (stats.template, needed): made by `kstat.stats`.template(), with all its VOIs. Names of statistics
--     have at most 30 bytes: that of a VOI has at most 22 with a histogram, 24 with a digest, 26 with neither (else
--     EINVAL)
--   * `vois` ({[string]=voi_spec}): what they are, by name: `vois = { rtt = { unit = "us", desc = "time to answer" } }`
--   * `shards` (integer): blobs that threads or workers update side by side, at most 64 (1); readers get them merged.
--     Not with VOIs that have `relupdate`
-- @treturn published.blob with `vois` ({[string]=integer}): the IDs by name
-- @fails
-- @usage local template = assert(kstat.stats.template("answers"))
-- assert(template:add_voi(0, "rtt", "u64", { kstat.stats.sum(), kstat.stats.max() }))
-- local answers = assert(pub:blob({ name = "answers", template = template, vois = { rtt = { unit = "us" } } }))
-- answers:update(0, 1500)
-- @function pub:blob
function M.blob(self, spec)
  check.fields(spec, blob_fields, "blob")
  if type(spec.template) ~= "table" or type(spec.template.slot) ~= "number" then
    check.usage("blob: template: expected one that stats.template(name) made, with values of interest added, as in "
      .. "template:add_voi(0, \"rtt\", \"u64\", { stats.sum() }); got %s", type(spec.template))
  end
  local vois
  local function prepare(box)
    vois = core.blob_vois(box)
    return describe_vois(box, vois, spec.vois or {})
  end
  local k, message, errname = object.create(blob_meta, self, spec, prepare, core.blob, spec.template.slot,
    check.integer(spec.shards or 1, "shards"))
  if not k then
    return nil, message, errname
  end
  local record
  record, message, errname = core.blob_methods(k.box, k)
  if not record then
    return nil, message, errname
  end
  k.vois = vois
  if library.fn then
    k.held, k.record = record, library.record(record) -- the pointer alone would not keep the memory
    k.update, k.add = nil, nil
  end
  return k
end

return M
