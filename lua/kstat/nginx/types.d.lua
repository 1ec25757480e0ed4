---@meta kstat.nginx
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---@class kstat.nginx
local nginx = {}

---@class kstat.nginx.label
---@field name string
---@field from string|fun(): any a variable as "$name", or a function

---@class kstat.nginx.options
---@field name? string
---@field labels? (string|kstat.nginx.label)[]
---@field status? "class"|"code"
---@field buckets? number[]
---@field percentiles? boolean
---@field bytes? boolean
---@field max_rows? integer
---@field capacity? integer
---@field persistent? boolean
---@field expire? number seconds
---@field precise? boolean
---@field upstreams? boolean
---@field connections? boolean
---@field dicts? boolean

---@param given? kstat.nginx.options
---@return kstat.nginx.metrics kn
function nginx.setup(given) end

---@class kstat.nginx.metric_spec
---@field help? string
---@field unit? string
---@field labels? string[]

---@class kstat.nginx.histogram_spec: kstat.nginx.metric_spec
---@field buckets? number[]
---@field percentiles? boolean

---@class kstat.nginx.metrics
local kn = {}

function kn:worker() end

function kn:enter() end

function kn:log() end

---@param name string
---@param spec? kstat.nginx.metric_spec
---@return kstat.nginx.counter
function kn:counter(name, spec) end

---@param name string
---@param spec? kstat.nginx.metric_spec
---@return kstat.nginx.gauge
function kn:gauge(name, spec) end

---@param name string
---@param spec? kstat.nginx.histogram_spec
---@return kstat.nginx.histogram
function kn:histogram(name, spec) end

---@param name string
---@param spec? kstat.nginx.metric_spec
---@return kstat.nginx.queue
function kn:queue(name, spec) end

---@param ... string
---@return boolean removed
function kn:remove(...) end

function kn:metrics() end

function kn:json() end

function kn:page() end

---@class kstat.nginx.counter
---@field add fun(self, n?: number, ...: any)
---@field with fun(self, ...: any): kstat.nginx.counter
---@field remove fun(self, ...: any): boolean

---@class kstat.nginx.gauge
---@field set fun(self, v: number, ...: any)
---@field with fun(self, ...: any): kstat.nginx.gauge
---@field remove fun(self, ...: any): boolean

---@class kstat.nginx.histogram
---@field observe fun(self, v: number, ...: any)
---@field with fun(self, ...: any): kstat.nginx.histogram
---@field remove fun(self, ...: any): boolean

---@class kstat.nginx.queue
---@field enter fun(self)
---@field start fun(self)
---@field done fun(self, bytes?: integer)

return nginx
