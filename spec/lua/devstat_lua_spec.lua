-- kstat.devstat: the Lua face of devstat(3).
local capture = require("support.devstat_capture")
local devstat = require("kstat.devstat")
local kstat = require("kstat")

local zero = { 0, "0" }

local function device(name, unit, type, bytes)
  return {
    device_number = unit, device_name = name, unit_number = unit, device_type = type,
    block_size = 4096, start_count = 3, end_count = 1,
    bytes = { "0", bytes or "1024", "2048", "4096" }, operations = { "1", "2", "3", "4" },
    duration = { zero, { 1, "9223372036854775808" }, zero, zero }, busy_time = { 2, "0" },
  }
end

local function sample(uptime, devices)
  return { uptime = uptime, tty_nin = 7, tty_nout = 8, cp_time = { 1, 2, 3, 4, 5 }, devices = devices }
end

local function names(devices)
  local out = {}
  for i, d in ipairs(devices) do out[i] = d.name end
  return table.concat(out, " ")
end

describe("kstat.devstat", function()
  local path

  before_each(function()
    path = capture.write({
      sample(10, { device("da", 0, 16), device("cd", 1, 21), device("pass", 2, 272) }),
      sample(11, { device("da", 0, 16, "11264"), device("cd", 1, 21), device("pass", 2, 272) }),
      sample(12, { device("cd", 1, 21) }),
    })
  end)

  after_each(function() os.remove(path) end)

  it("lists the devices of a capture with all that is known of them", function()
    local list = assert(devstat.list(path))
    assert.are.equal("da0 cd1 pass2", names(list.devices))
    assert.are.equal("da0 cd1 pass2", names(list))
    local d = list.devices[1]
    assert.are.equal("da0", tostring(d))
    assert.are.same({ "da", 0, "da", "scsi", false, 4096, 2 },
      { d.device_name, d.unit, d.type, d.interface, d.pass, d.block_size, d.queue_length })
    assert.are.same({ 1024, 2048, 4096, 1, 2, 3, 4 }, { d.read_bytes, d.write_bytes, d.free_bytes,
      d.other_ops, d.read_ops, d.write_ops, d.free_ops })
    assert.are.same({ 1.5, 1500000000, 2, 2000000000 },
      { d.read_time, d.read_time_ns, d.busy_time, d.busy_time_ns })
    assert.is_nil(d.nonsense)
    assert.is_true(list.devices[3].pass)
    assert.are.equal(10, list.snap_time)
    assert.are.same({ user = 1, nice = 2, sys = 3, intr = 4, idle = 5 }, list.cp_time)
    assert.are.same({ 7, 8 }, { list.tk_nin, list.tk_nout })
  end)

  it("says when the list changed", function()
    local list = assert(devstat.open(path))
    local first, second, third = list:read(), list:read(), list:read()
    list:close()
    assert.are.same({ true, false, true }, { first.changed, second.changed, third.changed })
    assert.are.same({ 1, 1, 2 }, { first.generation, second.generation, third.generation })
    assert.are.equal("cd1", names(third.devices))
  end)

  it("reads a chain of the caller's", function()
    local ks = assert(kstat.open(path))
    local list = assert(devstat.open(ks))
    assert.are.equal(10, list:read().snap_time)
    assert.are.equal(10, list:read().snap_time)
    assert(ks:update() ~= nil)
    assert.are.equal(11, list:read().snap_time)
    ks:close()
    assert.has_error(function() list:read() end)
  end)

  it("computes every figure under its readable name", function()
    local list = assert(devstat.open(path))
    local before, now = list:read(), list:read()
    list:close()
    local find = devstat.by_name(before)
    local s = devstat.compute(now.devices[1], find(now.devices[1]), now.snap_time - before.snap_time)
    assert.are.equal(10240, s.total_bytes)
    assert.are.equal(10240, s.total_bytes_read)
    assert.are.equal(2, s.total_blocks)
    assert.are.equal(10 / 1024, s.mb_per_second)
    assert.are.equal(0, s.busy_pct)
    assert.are.equal(2, s.queue_length)
    assert.is_nil(s.backwards)
    local n = 0
    for _, v in pairs(s) do
      assert.is_number(v)
      n = n + 1
    end
    assert.are.equal(43, n)
    local since = devstat.compute(now.devices[1], nil, now.snap_time)
    assert.are.equal(11264 + 2048 + 4096, since.total_bytes)
    assert.are.equal(150, since.ms_per_transaction)
  end)

  it("remembers devices that were missing, and says over what time to compute", function()
    local function snapshot(time, ...)
      return { snap_time = time, devices = { ... } }
    end
    local function made(name, created, ops)
      return devstat.device({ name = name, creation_time = created, read_ops = ops })
    end
    local history = devstat.history()
    local first = snapshot(100, made("da0", 0, 1000), made("da1", 20, 7))
    assert.are.same({ nil, 100 }, { history:previous(first.devices[1], first) })
    assert.are.same({ nil, 80 }, { history:previous(first.devices[2], first) })
    history:add(first)
    history:add(snapshot(105))
    local now = snapshot(110, made("da0", 0, 1020), made("da1", 108, 1), made("da2", 50, 3),
      made("da3", 110, 2), made("da4", 999, 2))
    local function rate(i)
      local previous, etime = history:previous(now.devices[i], now)
      return { previous and previous.name, etime,
        devstat.compute(now.devices[i], previous, etime).transfers_per_second }
    end
    assert.are.same({ "da0", 10, 2 }, rate(1))
    assert.are.same({ nil, 2, 0.5 }, rate(2))
    assert.are.same({ nil, 60, 0.05 }, rate(3))
    assert.are.same({ nil, 5, 0.4 }, rate(4))
    assert.are.same({ nil, 5, 0.4 }, rate(5))
    history:add(now)
    assert.are.same({ "da0", 0, 0 }, rate(1))
  end)

  it("computes from plain tables too", function()
    local s = devstat.compute({ name = "x0", read_bytes = 3072, read_ops = 3, read_time_ns = 6000000 }, nil, 2)
    assert.are.equal(1, s.kb_per_transfer)
    assert.are.equal(1.5, s.transfers_per_second)
    assert.are.equal(2, s.ms_per_transaction_read)
    assert.has_error(function() devstat.device({ name = "x0", colour = "red" }) end)
    assert.has_error(function() devstat.device({ type = "scsi" }) end)
  end)

  it("never yields a huge number, infinity or nan", function()
    local now = devstat.device({ name = "x0", read_bytes = 5, write_ops = 1, busy_time = 1 })
    local before = devstat.device({ name = "x0", read_bytes = 9, write_ops = 7, busy_time = 3 })
    local s = devstat.compute(now, before, 0)
    assert.is_true(s.backwards)
    for name, v in pairs(s) do
      if name ~= "backwards" then assert.are.equal(0, v, name) end
    end
    for _, etime in ipairs({ 1e-320, 1e-10, -1, 0 / 0 }) do
      assert.are.equal(0, devstat.compute(now, nil, etime).busy_pct)
    end
    assert.are.equal(100, devstat.compute(now, nil, 1).busy_pct)
  end)

  it("rounds text from all digits", function()
    local d = devstat.device({ name = "x0", read_bytes = 1536, read_ops = 1 })
    assert.are.equal("1.50", devstat.text(d, nil, 1, "kb_per_transfer", 2))
    assert.are.equal("1.5", devstat.text(d, nil, 1, "total_bytes", 1, 1 / 1024))
    assert.has_error(function() devstat.text(d, nil, 1, "no_such_figure", 2) end)
  end)

  it("takes patterns apart", function()
    assert.are.same({ type = "da", interface = "scsi", pass = true, text = "da,SCSI,pass" },
      devstat.match("da,SCSI,pass"))
    local m, message, errname = devstat.match("tape")
    assert.is_nil(m)
    assert.matches('unknown match item "tape"', message, 1, true)
    assert.are.equal("EINVAL", errname)
  end)

  it("selects by name, by pattern and by bytes", function()
    local list = {
      devstat.device({ name = "da0", number = 1, type = "da", interface = "scsi", read_bytes = 10 }),
      devstat.device({ name = "da1", number = 2, type = "da", interface = "ide", read_bytes = 30 }),
      devstat.device({ name = "cd0", number = 3, type = "cd", interface = "scsi", read_bytes = 20 }),
    }
    assert.are.equal("da0 da1 cd0", names(devstat.select(list)))
    assert.are.equal("da0 da1", names(devstat.select(list, { max = 2 })))
    assert.are.equal("cd0", names(devstat.select(list, { names = { "cd0" } })))
    assert.are.equal("da0 cd0", names(devstat.select(list, { match = "scsi" })))
    assert.are.equal("da1 cd0", names(devstat.select(list, { match = { "cd", devstat.match("ide,da") },
      sort = "bytes" })))
    assert.are.equal("da1 cd0 da0", names(devstat.select(list, { sort = "bytes" })))
    assert.are.equal("da1", names(devstat.select(list, { sort = "bytes", max = 1 })))
    assert.are.equal("cd0 da0 da1", names(devstat.select(list, { names = { "cd0" }, mode = "add" })))
    assert.are.equal("da1", names(devstat.select(list, { names = { "cd0", "da0" }, mode = "remove" })))
    local none, message, errname = devstat.select(list, { match = "nothing" })
    assert.is_nil(none)
    assert.matches("nothing", message)
    assert.are.equal("EINVAL", errname)
    assert.has_error(function() devstat.select(list, { sort = "name" }) end)
    assert.has_error(function() devstat.select({ 1 }) end)
  end)

  it("selects everything without a limit, and says what is wrong with an argument", function()
    local list = { devstat.device({ name = "da0" }), devstat.device({ name = "da1" }) }
    assert.are.equal("da0 da1", names(devstat.select(list, { max = math.huge })))
    assert.are.equal("", names(devstat.select(list, { max = 0 })))
    for wrong, options in pairs({
      ["max: a number of 0 or more expected"] = { max = -1 },
      ["max: number has no integer representation"] = { max = 1.5 },
      ["names: table expected, got string"] = { names = "da0" },
      ["unknown mode 'all'"] = { mode = "all" },
    }) do
      local ok, message = pcall(function() devstat.select(list, options) end)
      assert.is_false(ok)
      assert.matches("devstat_lua_spec.lua:%d+: ", message)
      assert.matches(wrong, message, 1, true)
    end
    assert.has_error(function() devstat.select(list, { max = 0 / 0 }) end)
    local ok, message = pcall(devstat.select)
    assert.is_false(ok)
    assert.matches("devices: table expected, got nil", message, 1, true)
  end)

  it("tells mistakes where they were made, naming the function or the thing", function()
    local d = devstat.device({ name = "da0" })
    local history, reader = devstat.history(), assert(devstat.open(path))
    local chain = assert(kstat.open(path))
    chain:close()
    local closed = assert(devstat.open(path))
    closed:close()
    local n = 0
    for _, case in ipairs({
      { "to 'compute'", function() devstat.compute() end },
      { "to 'compute'", function() devstat.compute(d, 5, 1) end },
      { "to 'compute'", function() devstat.compute(d, nil, "x") end },
      { "no field 'colour'", function() devstat.compute({ name = "da0", colour = 1 }, nil, 1) end },
      { "no field 'colour'", function() devstat.compute(d, { name = "da0", colour = 1 }, 1) end },
      { "field 'read_ops' of a device: number expected, got table", function()
        devstat.device({ read_ops = {} })
      end },
      { "field 'busy_time' of a device: number expected, got boolean", function()
        devstat.device({ busy_time = true })
      end },
      { "field 'name' of a device: string expected, got number", function() devstat.device({ name = 5 }) end },
      { "field 'type' of a device: string expected, got table", function() devstat.device({ type = {} }) end },
      { "to 'device'", function() devstat.device("da0") end },
      { "to 'text'", function() devstat.text(d, nil, 1, "no_such_figure", 2) end },
      { "to 'match'", function() devstat.match({}) end },
      { "to 'list' (chain, string or table expected, got number)", function() devstat.list(5) end },
      { "to 'open' (chain, string or table expected, got number)", function() devstat.open(5) end },
      { "unknown source field 'captur'", function() devstat.list({ captur = path }) end },
      { "unknown source field 'captur'", function() devstat.open({ captur = path }) end },
      { "the kstat chain is closed", function() devstat.open(chain) end },
      { "the kstat chain is closed", function() closed:read() end },
      { "calling 'read' on bad self (reader expected, got nil)", function() reader.read() end },
      { "calling 'close' on bad self", function() reader.close({}) end },
      { "to 'by_name'", function() devstat.by_name(5) end },
      { "calling 'previous' on bad self", function() history.previous() end },
      { "#1 to 'previous' (device expected", function() history:previous("da0", {}) end },
      { "#2 to 'previous' (snapshot expected", function() history:previous(d, {}) end },
      { "#1 to 'add' (snapshot expected", function() history:add() end },
      { "to 'select' (table expected, got string)", function() devstat.select({}, "da0") end },
      { "'select': unknown option 'nams'; did you mean 'names'?", function()
        devstat.select({ d }, { nams = { "da0" }, mode = "only" })
      end },
      { "devices: device expected, item 2 is a number", function() devstat.select({ d, 1 }) end },
      { "names: string expected, item 1 is a table", function() devstat.select({ d }, { names = { {} } }) end },
      { "match: pattern expected, item 1 is a boolean", function()
        devstat.select({ d }, { match = { true } })
      end },
      { "match: table expected, got number", function() devstat.select({ d }, { match = 5 }) end },
      { "previous: table expected", function() devstat.select({ d }, { previous = 5 }) end },
    }) do
      local ok, message = pcall(case[2])
      assert.is_false(ok, case[1])
      assert.matches("devstat_lua_spec.lua:%d+: ", message)
      assert.matches(case[1], message, 1, true)
      n = n + 1
    end
    assert.are.equal(32, n)
    reader:close()
  end)

  it("sorts by what moved since an earlier snapshot", function()
    local function two(a, b)
      return {
        devstat.device({ name = "da0", number = 1, read_bytes = a }),
        devstat.device({ name = "da1", number = 2, read_bytes = b }),
      }
    end
    local chosen = devstat.select(two(1000, 50), { sort = "bytes", previous = { devices = two(990, 10) } })
    assert.are.equal("da1 da0", names(chosen))
  end)

  it("knows Linux names and numbers them as devstat does", function()
    local d = devstat.device({ name = "nvme0n1" })
    assert.are.same({ "nvme0n1", "nvme0n", 1 }, { d.name, d.device_name, d.unit })
    d = devstat.device({ name = "md127" })
    assert.are.same({ "md127", "md", 127 }, { d.name, d.device_name, d.unit })
  end)

  it("fails as nil, message, errno", function()
    local list, message, errname = devstat.list("/nonexistent/capture")
    assert.is_nil(list)
    assert.matches("/nonexistent/capture", message, 1, true)
    assert.are.equal("ENOENT", errname)
  end)
end)

describe("a registry of devices", function()
  it("counts transactions as a driver does, in the order of priorities", function()
    local registry = devstat.registry()
    local disk = assert(registry:new_entry({ name = "md", unit = 1, block_size = 512, type = "da",
      interface = "scsi" }))
    local first = assert(registry:new_entry({ name = "ra", priority = 288 }))
    disk:start_transaction(1)
    disk:start_transaction(1.25)
    disk:end_transaction("read", 4096, 1, 1.5)
    local now = assert(registry:read())
    assert.equal("ra0 md1", names(now))
    local d = now[2]
    assert.same({ 4096, 1, 0.5, 0.5, 1, 512, "da", "scsi" }, { d.read_bytes, d.read_ops, d.read_time, d.busy_time,
      d.queue_length, d.block_size, d.type, d.interface })
    assert.equal(8, devstat.compute(d, nil, 1).total_blocks)
    assert.is_nil(now[1].block_size)
    first:remove()
    local later = registry:read()
    assert.same({ "md1", true }, { names(later), later.changed and later.generation > now.generation })
    assert.is_true(devstat.compute_etime(later.snap_time, now.snap_time) >= 0)
    assert.same({ 2.5, 5 }, { devstat.compute_etime(5, 2.5), devstat.compute_etime(5) })
  end)

  it("refuses fields that it does not know, and what was removed", function()
    local registry = devstat.registry()
    for message, fields in pairs({
      ["'new_entry': unknown field 'unti'; did you mean 'unit'?"] = { name = "md", unti = 1 },
      ["name: a string of 1 to 15 bytes expected"] = { name = ("x"):rep(16) },
      ["unit: a whole number from 0 to 2^31-1 expected"] = { name = "md", unit = -1 },
      ["field 'block_size' of a device: a whole number from 0 to 2^32-1 expected"] = { name = "md", block_size = 2^40 },
      ["unknown device type 'zz'"] = { name = "md", type = "zz" },
    }) do
      local ok, problem = pcall(function() local e = registry:new_entry(fields) return e end)
      assert.is_false(ok)
      assert.equal("devstat_lua_spec.lua: " .. message, (problem:gsub("^.*(devstat_lua_spec.lua):%d+", "%1")))
    end
    local entry = assert(registry:new_entry({ name = "md" }))
    entry:remove()
    for _, method in ipairs({ "start_transaction", "end_transaction", "remove" }) do
      assert.matches("the device was removed", select(2, pcall(entry[method], entry, "read")))
    end
    assert.matches("registry expected, got table", select(2, pcall(registry.read, {})))
  end)

  it("stays as long as one of its devices", function()
    local entry = assert(devstat.registry():new_entry({ name = "md" }))
    for _ = 1, 3 do collectgarbage() end
    entry:start_transaction()
    entry:end_transaction("write", 512)
    entry:remove()
  end)
end)
