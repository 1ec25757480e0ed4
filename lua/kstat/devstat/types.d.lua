---@meta kstat.devstat
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---@class kstat.devstat
local devstat = {}

---@class kstat
---@field devstat kstat.devstat

---@class kstat.devstat.device
---@field name string
---@field device_name string
---@field unit integer
---@field number integer
---@field creation_time number
---@field type string?
---@field interface string?
---@field pass boolean
---@field priority integer
---@field block_size integer?
---@field queue_length integer
---@field read_bytes integer
---@field write_bytes integer
---@field free_bytes integer
---@field read_ops integer
---@field write_ops integer
---@field free_ops integer
---@field other_ops integer
---@field read_time number
---@field write_time number
---@field free_time number
---@field other_time number
---@field busy_time number
---@field read_time_ns integer
---@field write_time_ns integer
---@field free_time_ns integer
---@field other_time_ns integer
---@field busy_time_ns integer

---@class kstat.devstat.cp_time
---@field user integer
---@field nice integer
---@field sys integer
---@field intr integer
---@field idle integer

---@class kstat.devstat.snapshot: { [integer]: kstat.devstat.device }
---@field devices kstat.devstat.device[]
---@field generation integer
---@field changed boolean
---@field snap_time number
---@field cp_time kstat.devstat.cp_time?
---@field tk_nin integer?
---@field tk_nout integer?

---@class kstat.devstat.reader
---@field chain kstat.chain
local reader = {}

---@return kstat.devstat.snapshot? snapshot, string? message, string? errno
function reader:read() end

function reader:close() end

---@param source? string|kstat.source|kstat.chain
---@return kstat.devstat.reader? reader, string? message, string? errno
function devstat.open(source) end

---@param source? string|kstat.source|kstat.chain
---@return kstat.devstat.snapshot? snapshot, string? message, string? errno
function devstat.list(source) end

---@param fields table
---@return kstat.devstat.device
function devstat.device(fields) end

---@param snapshot kstat.devstat.snapshot|kstat.devstat.device[]|nil
---@return fun(d: kstat.devstat.device): kstat.devstat.device?
function devstat.by_name(snapshot) end

---@class kstat.devstat.history
local history = {}

---@param d kstat.devstat.device
---@param now kstat.devstat.snapshot
---@return kstat.devstat.device? previous, number etime
function history:previous(d, now) end

---@param snapshot kstat.devstat.snapshot
function history:add(snapshot) end

---@return kstat.devstat.history
function devstat.history() end

---@param cur kstat.devstat.device|table
---@param prev kstat.devstat.device|table|nil
---@param etime number
---@return table<string, number|boolean>
function devstat.compute(cur, prev, etime) end

---@param cur kstat.devstat.device|table
---@param prev kstat.devstat.device|table|nil
---@param etime number
---@param figure string
---@param decimals integer
---@param scale? number
---@return string
function devstat.text(cur, prev, etime, figure, decimals, scale) end

---@class kstat.devstat.pattern
---@field type string?
---@field interface string?
---@field pass boolean
---@field text string

---@param pattern string
---@return kstat.devstat.pattern? pattern, string? message, string? errno
function devstat.match(pattern) end

---@class kstat.devstat.options
---@field names? string[]
---@field match? string|kstat.devstat.pattern|(string|kstat.devstat.pattern)[]
---@field mode? "add"|"only"|"addonly"|"remove"
---@field max? integer
---@field sort? "bytes"
---@field previous? kstat.devstat.snapshot|kstat.devstat.device[]

---@param devices kstat.devstat.device[]
---@param options? kstat.devstat.options
---@return kstat.devstat.device[]? chosen, string? message, string? errno
function devstat.select(devices, options) end

return devstat
