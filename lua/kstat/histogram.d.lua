---@meta kstat.histogram
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---@class kstat.histogram
local histogram = {}

---@class kstat
---@field histogram kstat.histogram

---@class kstat.histogram.counts
---@field counts integer[]
---@field low integer[]
---@field high integer[]
---@field total integer
---@field elapsed? number seconds, of a difference

---@param k kstat.kstat
---@return boolean
function histogram.is(k) end

---@param k kstat.kstat
---@return kstat.histogram.counts? h, string? message, string? errno
function histogram.counts(k) end

---@param h kstat.histogram.counts
---@param ... number shares, 0 to 1
---@return number? ...
function histogram.quantiles(h, ...) end

return histogram
