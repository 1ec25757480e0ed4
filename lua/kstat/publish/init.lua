--- kstats of one's own, which every reader on the host sees.
--
--     local pub = assert(kstat.publish("workqueue"))
--     local jobs = assert(pub:named({ name = "jobs", statistics = { "queued", "done" } }))
--     local queued = jobs:counter("queued")
--     queued:add()                       -- kstat -p workqueue:0:jobs:queued
--
-- The segment and its kstats stay until the process ends or `pub:close()`, whether anything refers to
-- them or not. Children of a fork share them. Publishing the same name again, and creating the same
-- kstat again, gives what is there: a reload goes on counting. A damaged segment is replaced then.
--
-- A kstat is described by a table of `name`, and optionally `module`, `instance`, `class`, `persistent`, and what its
-- type needs.
-- What the world causes is returned as nil, message, name of errno; mistakes of the caller raise, and so do
-- fractions where whole things are counted.
-- @module kstat.publish

--- What describes a kstat of any type: `name` (string): its own, and optionally `module` (?string; the segment's name),
-- `instance` (?integer; a number from 0 on; 0), `class` (?string; "misc"), `persistent` (?boolean): true: it is kept
-- when deleted, and when the process ends, until it is created again.
-- @table published_spec

--- Fields of a published kstat: `module` (string): the segment's name or that given, `instance` (integer): its number,
-- `name` (string): its own, `class` (string): "misc" or that given.
-- @table published

--- How a segment is published: `private` (?boolean): only this user may read it; `shared` (?boolean): if another
-- process publishes that name, publish there with it, instead of "EBUSY"; `capacity` (?integer): bytes that a new
-- segment may grow to, 64 KiB to 1 GiB (64 MiB); storage is taken as kstats are created; `process` (?boolean): no
-- segment, but kstats that only chains of this process have, as those of kstat_create(9F): named numbers and `char`
-- texts, raw bytes and histograms. They are there until they are deleted or collected.
-- @table publish_options

local blob = require("kstat.publish.blob")
local check = require("kstat.publish.check")
local core = require("kstat.core").publish
local guess = require("kstat.base.guess")
local histogram = require("kstat.publish.histogram")
local latency = require("kstat.publish.latency")
local named = require("kstat.publish.named")
local queue = require("kstat.publish.queue")
local raw = require("kstat.publish.raw")

local M = {}

local pub_methods = {}
local pub_meta = { __index = guess.within("a publication", pub_methods), __name = "kstat.pub" }

-- The kinds of kstats are modules of their own.
for kind, create in pairs({ blob = blob.blob, named = named.named, intr = named.intr, io = queue.io,
  timer = queue.timer, histogram = histogram.histogram, latency = latency.latency, raw = raw.raw }) do
  pub_methods[kind] = create
end

--- The segment's file.
-- @treturn string
-- @function pub:path
function pub_methods.path(self)
  return core.path(self.segment)
end

--- Whether a kstat of that name is published in the segment, by this process or one that shares it.
-- @string name
-- @string[opt] module default: the segment's name
-- @int[opt=0] instance
-- @treturn boolean
-- @fails
-- @function pub:has
function pub_methods.has(self, name, module, instance)
  module, instance, name = check.header(self, { name = name, module = module, instance = instance })
  return core.exists(self.segment, module, instance, name)
end

--- Deletes a kstat for good, whichever process of those that share the segment created it.
-- @string name
-- @string[opt] module
-- @int[opt=0] instance
-- @treturn boolean whether there was one
-- @fails
-- @function pub:remove
function pub_methods.remove(self, name, module, instance)
  module, instance, name = check.header(self, { name = name, module = module, instance = instance })
  return core.remove(self.segment, module, instance, name)
end

--- Notes that somebody wrote into the segment what does not belong there (updates return "EIO"). Nothing else changes
-- until a process that publishes the name, and may remove the file, publishes it again: it gets a new segment.
-- @function pub:condemn
function pub_methods.condemn(self)
  core.condemn(self.segment)
end

--- Stops publishing: the kstats disappear (persistent ones stay, dormant). Counters may still be called;
-- no reader sees what they count. Called at the end of the process by itself.
-- @function pub:close
function pub_methods.close(self)
  for k, field in pairs(self.addresses) do
    k[field] = nil -- the kstat itself, which goes now; what others refer to stays
  end
  for k in pairs(self.own or {}) do
    k.record, k.address = nil, nil
    core.forget(k.box)
  end
  core.close(self.segment)
end
pub_meta.__close = pub_methods.close
require("kstat.base.mistake").guard(pub_methods, pub_meta, "publication")

local option_fields = check.set("private", "shared", "capacity", "process")

--- Opens a segment, as `kstat_publish()` of `kstat_provider.h`.
-- @string name 1 to 63 letters, digits, "-", "_" and ".", which does not come first; also the kstats' module unless
-- they say otherwise (a module has at most 30 bytes)
-- @tparam[opt] publish_options options
-- @treturn pub with `name` (string): that of the segment
-- @fails "EINVAL" no such name, "EBUSY" another process publishes it, "EACCES", …
-- @function kstat.publish
function M.publish(name, options)
  if type(name) ~= "string" then
    check.usage("publish: a name expected, got %s", type(name))
  end
  options = options or {}
  check.fields(options, option_fields, "publish")
  local segment, message, errname = core.open(name, options.private, options.shared,
    options.capacity and check.integer(options.capacity, "capacity"), options.process)
  if not segment then
    return nil, message, errname
  end
  return setmetatable({ segment = segment, name = name, addresses = setmetatable({}, { __mode = "k" }),
    own = options.process and setmetatable({}, { __mode = "k" }) or nil }, pub_meta)
end

--- Removes the segments of dead processes, as far as this user may.
-- @tparam[opt] boolean persistent also those with persistent kstats
-- @treturn {string,...} the files that were removed
-- @fails
-- @function kstat.gc
function M.gc(persistent)
  return core.gc(persistent)
end

return M
