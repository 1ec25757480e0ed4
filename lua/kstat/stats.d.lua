---@meta kstat.stats
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---@class kstat.stats
---@field LBOUND_INF "lbound_inf"
---@field UBOUND_INF "ubound_inf"
local stats = {}

---@class kstat
---@field stats kstat.stats

---What a constructor returns, for template:add_voi()
---@class kstat.stats.statistic

---@alias kstat.stats.flags "lbound_inf"|"ubound_inf"|{ [integer]: "lbound_inf"|"ubound_inf", prec?: integer }

---@param prec? integer
---@return kstat.stats.statistic
function stats.sum(prec) end

---@param prec? integer
---@return kstat.stats.statistic
function stats.max(prec) end

---@param prec? integer
---@return kstat.stats.statistic
function stats.min(prec) end

---@param lb number
---@param ub number
---@param step integer
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist32_lin(lb, ub, step, flags) end

---@param lb number
---@param ub number
---@param step integer
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist64_lin(lb, ub, step, flags) end

---@param lb number
---@param ub number
---@param base integer
---@param first integer
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist32_exp(lb, ub, base, first, flags) end

---@param lb number
---@param ub number
---@param base integer
---@param first integer
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist64_exp(lb, ub, base, first, flags) end

---@param lb number
---@param ub number
---@param nlinsteps integer
---@param base integer
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist32_linexp(lb, ub, nlinsteps, base, flags) end

---@param lb number
---@param ub number
---@param nlinsteps integer
---@param base integer
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist64_linexp(lb, ub, nlinsteps, base, flags) end

---@param buckets number[]
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist32_usr(buckets, flags) end

---@param buckets number[]
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.crhist64_usr(buckets, flags) end

---@param buckets { [1]: number, [2]: number }[]
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.drhist32_usr(buckets, flags) end

---@param buckets { [1]: number, [2]: number }[]
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.drhist64_usr(buckets, flags) end

---@param buckets number[]
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.dvhist32_usr(buckets, flags) end

---@param buckets number[]
---@param flags? kstat.stats.flags
---@return kstat.stats.statistic
function stats.dvhist64_usr(buckets, flags) end

---@param nctds integer
---@param prec? integer
---@return kstat.stats.statistic
function stats.tdgstclust32(nctds, prec) end

---@param nctds integer
---@param prec? integer
---@return kstat.stats.statistic
function stats.tdgstclust64(nctds, prec) end

---@param nctds integer
---@param samples integer
---@param q number
---@return number share
function stats.tdgst_error_bound(nctds, samples, q) end

---@param name string
---@return kstat.stats.template? template, string? message, string? errno
function stats.template(name) end

---@param spec string
---@return kstat.stats.template? template, string? message, string? errno
function stats.find(spec) end

---@return string
function stats.templates() end

---@param s string
---@return kstat.stats.blob? blob, string? message, string? errno
function stats.from_bytes(s) end

---@param text string
---@return { [1]: integer, [2]: number }[]? rates, string? message, string? errno
function stats.rates(text) end

---@param rates { [1]: integer, [2]: number }[]
---@param seed? string
---@return kstat.stats.template?
function stats.roll(rates, seed) end

---@alias kstat.stats.dtype "s32"|"u32"|"s64"|"u64"|"slong"|"ulong"|"sq32"|"uq32"|"sq64"|"uq64"|string

---@class kstat.stats.template
---@field name string
local template = {}

---@param id integer
---@param name string
---@param dtype kstat.stats.dtype
---@param list kstat.stats.statistic[]
---@param options? { relupdate?: boolean }
---@return kstat.stats.template? template, string? message, string? errno
function template:add_voi(id, name, dtype, list, options) end

---@return kstat.stats.blob
function template:blob() end

---@return integer
function template:hash() end

---@return integer bytes
function template:size() end

---@class kstat.stats.blob
local blob = {}

---@param id integer
---@param v number
---@return boolean? ok, string? message, string? errno
function blob:update(id, v) end

---@param id integer
---@param dv number
---@return boolean? ok, string? message, string? errno
function blob:add(id, dv) end

---@param id integer
---@param stat "SUM"|"MAX"|"MIN"|"HIST"|"TDGST"|"VOISTATE"
---@return number|table|nil value, integer|string failed or a message
---@return string? errno
function blob:fetch(id, stat) end

---@param id integer
---@return integer[]? counts, integer|string out of any bucket, or a message
---@return string? errno
function blob:counts(id) end

---@return fun(): integer?, string, number|table|nil
function blob:visit() end

---@param options? { reset?: boolean }
---@return kstat.stats.blob
function blob:snapshot(options) end

---@return kstat.stats.blob
function blob:clone() end

---@param other kstat.stats.blob
---@return kstat.stats.blob? blob, string? message, string? errno
function blob:merge(other) end

---@param id integer
---@param q number
---@return number? value, number|string|nil bound of the error, or a message
---@return string? errno
function blob:quantile(id, q) end

---@param id integer
---@param q number
---@return number? share, string? message, string? errno
function blob:rank_error(id, q) end

---@param id integer
---@param x number
---@return number? share, string? message, string? errno
function blob:cdf(id, x) end

---@param id integer
---@return integer? samples, string? message, string? errno
function blob:count(id) end

---@param format? "freeform"|"json"
---@param options? { meta?: boolean, objdump?: boolean }
---@return string? text, string? message, string? errno
function blob:tostring(format, options) end

---@return string
function blob:bytes() end

---@return integer
function blob:hash() end

function blob:reset() end

return stats
