--- Rows: for each set of labels a kstat with the labels as texts and with numbers, and those with distributions.
--
-- All workers share the kstats of a row; each has an object of its own for it.
local ffi = require("ffi")
local distributions = require("kstat.nginx.distributions")
local library = require("kstat.publish.library")
local names = require("kstat.nginx.names")

-- What the log phase needs of a row: LuaJIT reads the fields of a structure without checks of their types. The second
-- one is a whole row with one number, of which there may be a hundred thousand.
ffi.cdef([[
typedef struct {
  const volatile int64_t *place, *times_place;
  int64_t crtime, times_crtime;
  void *distributions[4];
  int64_t *request_bytes, *response_bytes;
  bool own;
  int64_t *cells[64];
} kstat_nginx_row;
typedef struct {
  const volatile int64_t *place;
  int64_t crtime;
  union { int64_t *cell; double *real; };
  double left;
  uint32_t forks;
  bool own;
} kstat_nginx_cell;
]])

local M = {}

local SHARDS = 8 -- rows of counters of a kstat: one for each worker that counts, and one that all others share

-- Errors that a process causes which writes into memory that is not its own.
local DAMAGE = { EIO = true, EAGAIN = true }

local set_methods = {}
local set_meta = { __index = set_methods }

-- Creates the kstat of labels and numbers, or joins that which another worker made.
local function publish_row(set, name, values)
  local kind, list = set.kind, {}
  for i, label in ipairs(kind.labels) do
    list[i] = { name = label, type = "string", value = values[i], kind = "text" }
  end
  for _, statistic in ipairs(kind.statistics) do
    list[#list + 1] = statistic
  end
  return set.server.pub:named({ name = name, class = kind.class, statistics = list, persistent = kind.persistent,
    shards = kind.shards or SHARDS, dense = kind.is_number })
end

-- Returns the row of a kind with one number, or nil, message, errno name. Nothing else is kept of the kstat.
local function attach_number(set, name, values)
  local k, message, errname = publish_row(set, name, values)
  if not k then
    return nil, message, errname
  end
  local row = ffi.new("kstat_nginx_cell")
  row.place, row.crtime = k:pin()
  row.cell, row.own = k:cell(set.kind.statistics[1].name)
  row.forks = library.forks[0]
  k:forget()
  return row
end

-- Publishes the distributions of a row; the last one has the name of the row if that has no kstat of its own. The array
-- of them; nil, message, errno name: none is there.
local function publish_distributions(set, row, is_alone)
  local list, all = {}, set.kind.distributions or {}
  for i, distribution in ipairs(all) do
    local message, errname
    list[i], message, errname = distribution:publish(set.server.pub,
      is_alone and i == #all and row.name or row.name .. distribution.ending, set.kind)
    if not list[i] then
      for j = 1, i - 1 do
        list[j]:delete()
      end
      return nil, message, errname
    end
  end
  return list
end

-- Creates the kstats of a row, or joins those that other workers made. true, or nil, message, errno name.
local function attach(set, row)
  local kind = set.kind
  local k, list, message, errname
  if #kind.labels + #kind.statistics > 0 then
    k, message, errname = publish_row(set, row.name, row.values)
    if not k then
      return nil, message, errname
    end
  end
  list, message, errname = publish_distributions(set, row, not k)
  if not list then
    if k then
      k:delete()
    end
    return nil, message, errname
  end
  local times = list[1]
  row.k, row.times, row.distributions = k, times, list
  row.place, row.crtime = (k or times):pin()
  row.times_place, row.times_crtime = (times or k):pin()
  row.codes, row.classes, row.counters = {}, {}, {}
  for _, statistic in ipairs(kind.statistics) do
    local counter = k:counter(statistic.name)
    row.counters[statistic.name] = counter
    if statistic.name:find("^%dxx$") then
      row.classes[tonumber(statistic.name:sub(1, 1)) * 100] = counter
    elseif statistic.name:find("^%d%d%d$") then
      row.codes[tonumber(statistic.name)] = counter
    end
  end
  row.rest, row.hot = row.counters.other, nil
  return true
end

--- Returns what the log phase needs of a row of requests. Only workers call it: before the fork, the parts of counters
-- that it finds would be the master's.
-- @treturn cdata `cells` are numbered by `set.index`
-- @function set:heat
function set_methods.heat(self, row)
  local hot, own = ffi.new("kstat_nginx_row"), true
  local function cell_of(counter)
    counter:add(0) -- finds the part of this process
    own = own and counter.own or false
    return counter.cell
  end
  hot.place, hot.crtime = row.place, row.crtime
  hot.times_place, hot.times_crtime = row.times_place, row.times_crtime
  for i, distribution in ipairs(row.distributions) do
    hot.distributions[i - 1] = distribution.record
  end
  for i, name in ipairs(self.cell_names) do
    hot.cells[i - 1] = cell_of(row.counters[name])
  end
  for _, name in ipairs({ "request_bytes", "response_bytes" }) do
    hot[name] = row.counters[name] and cell_of(row.counters[name])
  end
  hot.own = own
  row.hot = hot
  return hot
end

-- Puts the counters of the row of refused labels into this one.
local function divert(set, row)
  local other = set:other()
  for _, field in ipairs({ "k", "times", "distributions", "place", "crtime", "times_place", "times_crtime", "codes",
      "classes", "counters", "rest" }) do
    row[field] = other[field]
  end
  row.hot = nil
end

-- Numbers the counters of codes: `index`, by status, is the number of what counts it. 0 counts those that have none.
local function number_codes(set)
  set.index, set.cell_names = ffi.new("uint8_t[1024]"), { "other" }
  for _, statistic in ipairs(set.kind.statistics) do
    local class, code = statistic.name:match("^(%d)xx$"), statistic.name:match("^%d%d%d$")
    if class or code then
      local number = #set.cell_names
      set.cell_names[number + 1] = statistic.name
      if code then
        set.index[tonumber(code)] = number
      else
        for status = class * 100, class * 100 + 99 do
          set.index[status] = number -- classes come before codes
        end
      end
    end
  end
end

-- Returns the row of clean labels, or nil, message, errno name.
local function join(set, name, values)
  if set.kind.is_number then
    return attach_number(set, name, values)
  end
  local row = { values = values, name = name }
  local ok, message, errname = attach(set, row)
  return ok and row, message, errname
end

-- Whether a row is still that of its labels, and of this process. Others than those with one number are renewed.
local function is_current(set, row)
  return not set.kind.is_number or row.place[0] == row.crtime and row.forks == library.forks[0]
end

--- Returns the row to which refused labels are counted: "other" in all labels.
-- @function set:other
function set_methods.other(self)
  if not self.refuge or not is_current(self, self.refuge) then
    local values = {}
    for i = 1, #self.kind.labels do
      values[i] = "other"
    end
    self.refuge_name = names.row(self.kind.prefix, values)
    local row, message = join(self, self.refuge_name, values)
    self.refuge = row
    return row, message
  end
  return self.refuge
end

--- Creates the kstats of a row again that another worker removed.
-- @function set:renew
function set_methods.renew(self, row)
  local server = self.server
  if server.is_damaged then
    return
  end
  local existed, _, problem = server.pub:has(row.name)
  local ok, message, errname = attach(self, row)
  if not ok and DAMAGE[errname] then
    server:damage(message, errname)
  elseif not ok and row ~= self.refuge then
    server:refuse(self, message)
    divert(self, row)
  elseif ok and not existed and not problem and row ~= self.refuge then
    self:count(1)
  end
end

--- Notes that a row came (1) or went (-1).
-- @function set:count
function set_methods.count(self, n)
  self.server.rows:add(n)
  if self.rows then
    self.rows:add(n)
  end
end

--- Does what is left to do after an update of a row's times failed.
-- @string[opt] message
-- @string[opt] errname of the failure; nil: that of the call through the FFI just now
-- @treturn boolean whether somebody wrote into the segment what does not belong there
-- @function set:fail
function set_methods.fail(self, message, errname)
  if not errname then
    local _
    _, message, errname = library.result(-1)
  end
  if DAMAGE[errname] then
    self.server:damage(message, errname)
  end
  return DAMAGE[errname] or false
end

local function wipe(t)
  for key in pairs(t) do
    t[key] = nil
  end
end

--- Finds or makes the row of labels.
-- @tparam {string,...} raw one for each label of the kind; any bytes
-- @treturn row nil: not even refused labels have a row
-- @treturn boolean whether these very values may be remembered with the row: their number is bounded
-- @treturn string message, where there is no row
-- @function set:find
function set_methods.find(self, raw)
  if self.server.is_damaged then -- each try may wait for a second
    return nil, false, self.server.is_damaged
  end
  local values, same = {}, true
  for i = 1, #self.kind.labels do
    values[i] = names.clean(tostring(raw[i] or ""))
    same = same and values[i] == raw[i]
  end
  local key = table.concat(values, "\0")
  local row, message, errname = self.by_labels[key], nil, nil
  if row and is_current(self, row) then
    return row, same
  end
  local name = names.row(self.kind.prefix, values)
  local is_new = not self.server.pub:has(name) and not self.kind.unlimited
  row = nil
  if not (is_new and self.rows and self.rows.cell[0] >= self.server.options.max_rows) then
    row, message, errname = join(self, name, values)
  end
  if not row then
    if DAMAGE[errname] then
      self.server:damage(message, errname)
    else
      self.server:refuse(self, message)
    end
    local other, problem = self:other()
    return other, false, problem
  end
  if is_new then
    self:count(1)
  end
  -- Rows that come and go would gather here: all are found again from the start.
  if self.found >= 2 * self.server.options.max_rows + 100 then
    wipe(self.by_labels)
    wipe(self.top)
    self.found = 0
  end
  if not (same and self.kind.is_number) then -- the caller remembers that one
    self.by_labels[key] = row
  end
  self.found = self.found + 1
  return row, same
end

--- Counts a value that a metric of one's own could not take, see server:refuse_value().
-- @function set:refuse_value
function set_methods.refuse_value(self, reason, line)
  self.server:refuse_value(self.metric, reason, line)
end

--- Removes the row of labels, for all workers. Its counts are gone.
-- @tparam {string,...} raw
-- @treturn boolean whether there was one
-- @function set:remove
function set_methods.remove(self, raw)
  local values = {}
  for i = 1, #self.kind.labels do
    values[i] = names.clean(tostring(raw[i] or ""))
  end
  local name = names.row(self.kind.prefix, values)
  -- The row of refused labels is no row of its own, and stays.
  return self.refuge_name ~= name and self.server:remove_row(self, name)
end

--- Removes all rows of the set that a reader of this nginx's kstats finds, for all workers.
-- @function set:remove_all
function set_methods.remove_all(self)
  local ks = self.server:chain()
  local sum, times_class = self.statistic .. "_sum", self.kind.times_class
  for _, k in ipairs(ks and ks:select(self.server.options.name .. ":0") or {}) do
    if k.class == times_class or k.class:find(self.kind.class, 1, true) == 1 and
        (k:get(self.statistic) or k:get(sum)) then
      self.server:remove_row(self, distributions.row_of(k.name))
    end
  end
end

--- Makes a set of rows.
-- @tparam server server
-- @tparam table kind
--
--   * `prefix`, `class`: of the kstats
--   * `labels`: their names
--   * `statistics`: the numbers, as pub:named() takes them
--   * `distributions`: of kstat.nginx.distributions, that of times first; nil: none
--   * `times_class`: their class, where they have one of their own
--   * `unlimited`: these rows do not count for max_rows
--   * `is_number`: rows are of the type kstat_nginx_cell; there is one statistic, and no distributions
-- @treturn[1] set
-- @treturn[2] nil
-- @treturn[2] string message
function M.new(server, kind)
  kind.persistent = server.options.persistent or nil
  local set = setmetatable({ server = server, kind = kind, by_labels = {}, top = {}, found = 0 }, set_meta)
  number_codes(set)
  if #kind.labels > 0 and not kind.unlimited then
    -- Each family has a pool of its own, so that labels that strangers choose take no row from others.
    local k, message = server.pub:named({ name = names.row("nginx,rows", { kind.prefix }), class = "nginx_rows",
      shards = 1, statistics = { { name = "family", type = "string", value = kind.prefix, kind = "text" },
      { name = "rows", kind = "gauge", desc = "rows of labels" } } })
    set.rows = k and k:counter("rows")
    server.sets[#server.sets + 1] = set
    -- The row of refused labels is made first: there is room for it.
    local ok = k
    if ok then
      ok, message = set:other()
    end
    if not ok then
      return nil, message
    end
  end
  return set
end

--- A value of a time in seconds as whole microseconds; what is below 0 or no number counts as 0.
function M.microseconds(seconds)
  local us = seconds * 1e6 + 0.5
  return us >= 1 and us - us % 1 or 0
end

M.SHARDS, M.DAMAGE = SHARDS, DAMAGE
M.word = ffi.typeof("intptr_t") -- addresses are below 2^47, and a signed number is converted faster

return M
