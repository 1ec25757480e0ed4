--- In LuaJIT, the functions of the library, called through the FFI: `fn`, by name. Elsewhere `fn` is nil, and
-- kstat.core's functions are used.
local core = require("kstat.core").publish

local M = {}

local has_ffi, ffi = false, nil
if rawget(_G, "jit") then
  has_ffi, ffi = pcall(require, "ffi")
end
if not has_ffi then
  return M
end

M.fn = {}
local addresses = core.functions()

local function cast(names, signature)
  for _, name in ipairs(names) do
    M.fn[name] = ffi.cast(signature, addresses[name])
  end
end

cast({ "add", "max" }, "void (*)(int64_t *, int64_t)")
cast({ "add_double" }, "void (*)(int64_t *, double)")
cast({ "waitq_enter", "waitq_exit", "runq_enter", "runq_exit", "waitq_to_runq", "runq_back_to_waitq",
  "start", "stop" }, "int (*)(void *)")
cast({ "waitq_enter_at", "waitq_exit_at", "runq_enter_at", "runq_exit_at", "waitq_to_runq_at",
  "runq_back_to_waitq_at", "start_at", "stop_at" }, "int (*)(void *, int64_t)")
cast({ "done", "count" }, "int (*)(void *, int, int64_t)")
cast({ "done_at" }, "int (*)(void *, int, int64_t, int64_t)")
cast({ "enter" }, "int64_t (*)(void *)")
cast({ "start_request" }, "int64_t (*)(void *, int64_t)")
cast({ "finish" }, "int (*)(void *, int64_t, int, int64_t)")
cast({ "event" }, "int (*)(void *, int64_t, int64_t)")
cast({ "add_value" }, "int (*)(void *, uint64_t)")
cast({ "add_number", "add_since" }, "int (*)(void *, double)")
cast({ "now" }, "double (*)(void)")
cast({ "blob_update" }, "int (*)(void *, int32_t, double, bool)")
cast({ "blob_update_int" }, "int (*)(void *, int32_t, int64_t, bool)")
cast({ "blob_update_uint" }, "int (*)(void *, int32_t, uint64_t, bool)")

-- Whether a value is LuaJIT's int64_t, or uint64_t.
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
function M.is_int64(v)
  return ffi.istype(int64, v)
end
function M.is_uint64(v)
  return ffi.istype(uint64, v)
end

-- A number from 2^63 to 2^64 as uint64_t.
function M.unsigned(n)
  return ffi.cast(uint64, n)
end

-- Equal to its argument if that is a whole number of 32 bits.
M.tobit = require("bit").tobit

-- forks[0]: how many forks lie between this process and the first.
M.forks = ffi.cast("const uint32_t *", addresses.forks)

-- What a function of the library returned, as Lua says it.
function M.result(rc)
  if rc == 0 then
    return true
  end
  return core.failure(ffi.errno())
end

-- Pointers to where kstat.core says that things are.
function M.record(address)
  return ffi.cast("void *", address)
end

function M.integer(address)
  return ffi.cast("int64_t *", address)
end

function M.double(address)
  return ffi.cast("double *", address)
end

return M
