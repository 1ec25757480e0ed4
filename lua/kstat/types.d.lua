---@meta kstat
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the modules.

---@class kstat
---@field _VERSION string
local kstat = {}

---@alias kstat.spec string|kstat.fields|kstat.selector
---@alias kstat.value number|string|table

---@class kstat.fields
---@field module? string
---@field instance? string|integer
---@field name? string
---@field statistic? string
---@field class? string

---@class kstat.source
---@field capture? string
---@field proc? string
---@field sys? string
---@field from? string|number
---@field to? string|number
---@field only? kstat.spec|kstat.spec[]
---@field published? boolean
---@field everybody? boolean
---@field machine? boolean
---@field trust? string|integer|(string|integer)[]
---@field processes? boolean|integer|string|(integer|string)[]
---@field threads? boolean|integer|string|(integer|string)[]

---@class kstat.options
---@field source? string|kstat.source
---@field chain? kstat.chain
---@field select? kstat.spec|kstat.spec[]
---@field wait? fun(deadline_ns: number): string
---@field clock? fun(): number

---@param source? string|kstat.source
---@param asked? kstat.selector[]
---@return kstat.chain? chain, string? message, string? errno
function kstat.open(source, asked) end

---@param spec kstat.spec
---@return kstat.selector? selector, string? message, string? errno
function kstat.selector(spec) end

---@class kstat.figures

---The fields [1], how, and [2] and on, the statistics
---@class kstat.figure
---@field [1] "rate"|"delta"|"now"|"mean"|"percent"|"count"
---@field [integer] string
---@field of? string[]
---@field scale? number

---@param list table<string, kstat.figure>
---@return kstat.figures
function kstat.figures(list) end

---@param interval number|string|string[] seconds, or a script's arguments
---@param count? number|kstat.options
---@param options? kstat.options
---@return fun(): kstat.sample?, kstat.sample?
function kstat.every(interval, count, options) end

---@param arg string[]
---@param arguments string
---@return integer|nil status
function kstat.usage(arg, arguments) end

---@return integer nanoseconds
function kstat.gethrtime() end

---@return number seconds
function kstat.hrtime() end

---@param value number|userdata
---@return string
function kstat.tostring(value) end

---@param value number|userdata
---@return string
function kstat.format_unsigned(value) end

---@param x any
---@return function, any, any
function kstat.pairs(x) end

---@param accept? string
---@return "prometheus"|"openmetrics" format, string media_type
function kstat.exposition_format(accept) end

---@param x any
---@return "chain"|"sample"|"difference"|"kstat"|"selector"|"closed"|nil
function kstat.type(x) end

---@class kstat.selector
local selector = {}

---@param k kstat.kstat
---@param statistic? string
---@return boolean
function selector:matches(k, statistic) end

---@return {module: string, instance: string, name: string, statistic: string, class: string}
function selector:fields() end

---What chains, samples and differences share. Any other field is a module: x.sd[0].sd0.nread
---@class kstat.object
---@field [string] table<integer, table<string, table<string, kstat.value>>>
local object = {}

---@param module? string
---@param instance? integer
---@param name? string
---@return kstat.kstat? k, string? message, string? errno
function object:lookup(module, instance, name) end

---@param ... kstat.spec
---@return kstat.kstat[]? kstats, string? message, string? errno
function object:select(...) end

---@param ... kstat.spec
---@return fun(): kstat.kstat?
function object:each(...) end

---@param ... kstat.spec
---@return fun(): kstat.kstat?, string, kstat.value
function object:values(...) end

---@return string[]
function object:modules() end

---@param name string
---@return table<integer, table<string, table<string, kstat.value>>>?
function object:module(name) end

---@class kstat.change
---@field module string
---@field instance integer
---@field name string

---@class kstat.chain: kstat.object
local chain = {}

function chain:close() end

---@param lazily? boolean
---@return boolean? changed, kstat.change[]|string added or message
---@return kstat.change[]|string deleted or errno
function chain:update(lazily) end

---@param ... kstat.spec
---@return kstat.sample? sample, string? message, string? errno
function chain:sample(...) end

---@param format? "human"|"parseable"|"colons"|"list"|"json"|"json_class"|"quiet"|"prometheus"|"openmetrics"
---@param ... kstat.spec
---@return string? text, integer|string count or message
---@return string? errno
function chain:render(format, ...) end

---@param format "prometheus"|"openmetrics"
---@param ... kstat.spec
---@return (fun(): string?)? pieces, string? message, string? errno
function chain:exposition(format, ...) end

---@return integer
function chain:chain_id() end

---@return string[]
function chain:warnings() end

---@return boolean
function chain:is_replay() end

---@return boolean
function chain:damaged() end

---@return boolean
function chain:ended() end

---@return number seconds
function chain:time_of_day() end

---@return integer nanoseconds
function chain:time_of_day_ns() end

---@return integer seconds
function chain:clock() end

---@class kstat.sample: kstat.object
---@field taken number
---@field taken_ns integer
---@field time_of_day number
---@field time_of_day_ns integer
---@field clock integer
---@operator sub(kstat.sample): kstat.difference
local sample = {}

---@return kstat.difference
function sample:since_creation() end

---@class kstat.difference: kstat.object
---@field elapsed number
---@field elapsed_ns integer
local difference = {}

---@param spec kstat.spec
---@return number?
function difference:rate(spec) end

---@param module? string
---@param instance? integer
---@param name? string
---@param figures kstat.figures
---@param row? table<string, number>
---@return table<string, number>? row
function difference:figures(module, instance, name, figures, row) end

---@param spec kstat.spec
---@param figures kstat.figures
---@return table[]? rows, string? message, string? errno
function difference:rows(spec, figures) end

---@class kstat.meta
---@field kind "counter"|"gauge"|"text"|"time"
---@field type string
---@field unit string
---@field scale number
---@field description string

---@class kstat.kstat
---@field module string
---@field instance integer
---@field name string
---@field class string
---@field type "raw"|"named"|"intr"|"io"|"timer"
---@field crtime number
---@field crtime_ns integer
---@field snaptime number?
---@field snaptime_ns integer?
---@field writable boolean
---@field publisher string?
---@field publisher_uid integer?
---@field publisher_pid integer?
---@field elapsed number? of a difference
---@field elapsed_ns integer? of a difference
---@field reset boolean? of a difference
local k = {}

---@param statistic string
---@return kstat.value? value, string? message, string? errno
function k:get(statistic) end

---@return table<string, kstat.value>? data, string? message, string? errno
function k:data() end

---@return kstat.kstat? k, string? message, string? errno
function k:read() end

---@param statistic string
---@return integer|number|string|table|nil value, string? message, string? errno
function k:exact(statistic) end

---@param statistic string
---@return integer? nanoseconds, string? message, string? errno
function k:ns(statistic) end

---@param statistic string
---@return string? text, string? message, string? errno
function k:text(statistic) end

---@param statistic string
---@return kstat.meta?
function k:meta(statistic) end

---@return fun(): string?, kstat.value
function k:stats() end

---@return kstat.stats.blob? blob
---@return table<string, integer>|string ids of its values of interest, by name; or the message
---@return string? errno
function k:blob() end

---@param values table<string, number|string>
---@return kstat.kstat? k, string? message, string? errno
function k:write(values) end

---@param statistic string
---@return number?
function k:rate(statistic) end

---@param figures kstat.figures
---@param row? table<string, number>
---@return table<string, number> row
function k:figures(figures, row) end

---@return kstat.kstat
function k:now() end

---@return kstat.kstat?
function k:before() end

---@class kstat.publish_options
---@field private? boolean
---@field shared? boolean
---@field capacity? integer

---@param name string
---@param options? kstat.publish_options
---@return kstat.pub? pub, string? message, string? errno
function kstat.publish(name, options) end

---@param persistent? boolean
---@return string[]? removed, string? message, string? errno
function kstat.gc(persistent) end

---@class kstat.published_spec
---@field name string
---@field module? string
---@field instance? integer
---@field class? string
---@field persistent? boolean

---@class kstat.statistic_spec
---@field name string
---@field type? "uint64"|"int64"|"uint32"|"int32"|"double"|"float"|"char"|"string"|"ints"|"strs"
---@field value? any
---@field kind? "counter"|"gauge"|"text"|"time"
---@field meta? string
---@field scale? integer
---@field fract? boolean
---@field parts? boolean
---@field unit? string
---@field desc? string

---@class kstat.named_spec: kstat.published_spec
---@field statistics (string|kstat.statistic_spec)[]
---@field shards? integer
---@field writable? boolean

---@class kstat.timer_spec: kstat.published_spec
---@field timers string[]

---@class kstat.histogram_spec: kstat.published_spec
---@field type "linear"|"log2"|"log10"|"log10_lin"
---@field range_min? integer
---@field range_max? integer
---@field stepping? integer
---@field meta? string
---@field scale? integer
---@field fract? boolean
---@field desc? string
---@field stable? boolean
---@field private? boolean

---@class kstat.voi_spec
---@field unit? string
---@field desc? string

---@class kstat.blob_spec: kstat.published_spec
---@field template kstat.stats.template
---@field vois? table<string, kstat.voi_spec>
---@field shards? integer

---@class kstat.pub
---@field name string
local pub = {}

---@return string
function pub:path() end

---@param name string
---@param module? string
---@param instance? integer
---@return boolean? exists, string? message, string? errno
function pub:has(name, module, instance) end

---@param name string
---@param module? string
---@param instance? integer
---@return boolean? existed, string? message, string? errno
function pub:remove(name, module, instance) end

function pub:condemn() end

function pub:close() end

---@param spec kstat.named_spec
---@return kstat.published.named? k, string? message, string? errno
function pub:named(spec) end

---@param spec kstat.published_spec
---@return kstat.published.io? k, string? message, string? errno
function pub:io(spec) end

---@param spec kstat.timer_spec
---@return kstat.published.timers? k, string? message, string? errno
function pub:timer(spec) end

---@param spec kstat.published_spec
---@return kstat.published.intr? k, string? message, string? errno
function pub:intr(spec) end

---@param spec kstat.histogram_spec
---@return kstat.published.histogram? k, string? message, string? errno
function pub:histogram(spec) end

---@param spec kstat.blob_spec
---@return kstat.published.blob? k, string? message, string? errno
function pub:blob(spec) end

---@class kstat.published
---@field module string
---@field instance integer
---@field name string
---@field class string
local published = {}

function published:delete() end

---@return any? pointer, any crtime LuaJIT only
---@return string? errno
function published:pin() end

---@class kstat.counter
local counter = {}

---@param n? integer
function counter:add(n) end

---@param value number
function counter:set(value) end

---@param value integer
function counter:max(value) end

---@class kstat.published.named: kstat.published
local named = {}

---@param statistic string
---@return kstat.counter? counter, string? message, string? errno
function named:counter(statistic) end

---@param statistic string
---@param n? integer
function named:add(statistic, n) end

---@param statistic string
---@return integer? taken, string? message, string? errno
function named:reclaim(statistic) end

---@param statistic string
---@param value any
---@return boolean? ok, string? message, string? errno
function named:set(statistic, value) end

---@class kstat.published.io: kstat.published
---@field waitq_enter fun(self, t_ns?: integer): boolean?, string?, string?
---@field waitq_exit fun(self, t_ns?: integer): boolean?, string?, string?
---@field runq_enter fun(self, t_ns?: integer): boolean?, string?, string?
---@field runq_exit fun(self, t_ns?: integer): boolean?, string?, string?
---@field waitq_to_runq fun(self, t_ns?: integer): boolean?, string?, string?
---@field runq_back_to_waitq fun(self, t_ns?: integer): boolean?, string?, string?
---@field done fun(self, rw: "read"|"write", bytes?: integer, t_ns?: integer): boolean?, string?, string?
---@field count fun(self, rw: "read"|"write", bytes?: integer): boolean?, string?, string?

---@class kstat.timer
---@field start fun(self, t_ns?: integer): boolean?, string?, string?
---@field stop fun(self, t_ns?: integer): boolean?, string?, string?
---@field event fun(self, start_ns: integer, stop_ns: integer): boolean?, string?, string?

---@class kstat.published.timers: kstat.published
---@field timer fun(self, name: string): kstat.timer
---@field start fun(self, name: string, t_ns?: integer): boolean?, string?, string?
---@field stop fun(self, name: string, t_ns?: integer): boolean?, string?, string?
---@field event fun(self, name: string, start_ns: integer, stop_ns: integer): boolean?, string?, string?

---@class kstat.published.intr: kstat.published
---@field counter fun(self, kind: string): kstat.counter
---@field add fun(self, kind: string, n?: integer)
---@field hard fun(self, n?: integer)
---@field soft fun(self, n?: integer)
---@field watchdog fun(self, n?: integer)
---@field spurious fun(self, n?: integer)
---@field multiple_service fun(self, n?: integer)

---@class kstat.published.histogram: kstat.published
---@field add_value fun(self, value: integer): boolean?, string?, string?

---@class kstat.published.blob: kstat.published
---@field vois table<string, integer>
---@field update fun(self, voi: integer|string, v: number): boolean?, string?, string?
---@field add fun(self, voi: integer|string, dv: number): boolean?, string?, string?
---@field merge fun(self, blob: kstat.stats.blob): boolean?, string?, string?
---@field store fun(self, blob: kstat.stats.blob): boolean?, string?, string?
---@field reset fun(self): boolean?, string?, string?
---@field snapshot fun(self): kstat.stats.blob?, string?, string?

---@class kstat.aggregation.definition
---@field reduce string|string[]
---@field by? string|function|(string|function|table)[]
---@field of? string
---@field rate? boolean
---@field top? integer
---@field over_time? boolean

---@param definition string|kstat.aggregation.definition
---@return kstat.aggregation? aggregation, string? message, string? errno
function kstat.aggregate(definition) end

---@class kstat.aggregation
---@field of? string
---@field over_time boolean
local aggregation = {}

---@param x kstat.chain|kstat.sample|kstat.difference
---@param ... kstat.spec
---@return kstat.aggregation? self, integer|string added or a message
---@return string? errno
function aggregation:add(x, ...) end

---@param key (string|number)[]
---@param value number
---@param time? number seconds
---@return kstat.aggregation self
function aggregation:add_value(key, value, time) end

---@return kstat.aggregation self
function aggregation:clear() end

---@return { key: (string|number)[], values: any[] }[]
function aggregation:rows() end

---@return fun(): (string|number)[], ...
function aggregation:each() end

---@param ... string|number
---@return any ...
function aggregation:get(...) end

---@return integer
function aggregation:size() end

---@param by? string|fun(a: table, b: table): boolean
---@return kstat.aggregation self
function aggregation:sort(by) end

---@param n integer
---@return kstat.aggregation self
function aggregation:trunc(n) end

---@param other kstat.aggregation
---@return kstat.aggregation self
function aggregation:merge(other) end

---@return string
function aggregation:signature() end

---@return string
function aggregation:text() end

---@param form? "human"|"parseable"|"colons"|"list"|"json"
---@return string text, integer keys
function aggregation:render(form) end

---@param format string
---@return string
function aggregation:format(format) end

---@param format string
---@param ... any
---@return string
function kstat.format(format, ...) end

return kstat
