---@meta kstat.io
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---@class kstat.io
local io = {}

---@class kstat
---@field io kstat.io

---@class kstat.io.counts
---@field nread number
---@field nwritten number
---@field reads number
---@field writes number
---@field wtime number
---@field wlentime number
---@field rtime number
---@field rlentime number
---@field elapsed number
---@field has_wait boolean

---@class kstat.io.figures
---@field r_s number
---@field w_s number
---@field tps number
---@field kr_s number
---@field kw_s number
---@field kps number
---@field wait number
---@field actv number
---@field wsvc_t number
---@field asvc_t number
---@field svc_t number
---@field w_pct number
---@field b_pct number
---@field seconds number
---@field has_wait boolean

---@param prev kstat.kstat?
---@param now kstat.kstat?
---@param into table?
---@return kstat.io.counts? counts, string? message, string? errno
function io.counts(prev, now, into) end

---@param counts kstat.io.counts
---@param into table?
---@return kstat.io.figures
function io.figures(counts, into) end

---@param prev kstat.kstat?
---@param now kstat.kstat?
---@param into table?
---@return kstat.io.figures? figures, string? message, string? errno
function io.rates(prev, now, into) end

---@param list kstat.io.counts[]
---@param into table?
---@return kstat.io.counts
function io.mean(list, into) end

return io
