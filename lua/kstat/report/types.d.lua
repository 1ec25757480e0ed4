---@meta kstat.report
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---A row: fields of its own, and with a kstat every figure of it: row.asvc_t, row["rate(reads)"]
---@class kstat.report.row
---@field kstat? kstat.kstat of a difference
---@field text? string a line for people, in place of values
---@field [string] any

---The fields [1], the title, and [2], an expression or a function of the row, default: the title
---@class kstat.report.column
---@field [1] string
---@field [2]? string|fun(row: kstat.report.row): any
---@field key? string
---@field width? integer
---@field align? "left"|"right"
---@field format? string|fun(value: any): string
---@field unit? string
---@field kind? "gauge"|"counter"|"label"
---@field about? string
---@field total? boolean|fun(values: number[]): any
---@field data? boolean
---@field warning? number
---@field critical? number

---The fields [1], [2], …: selectors; a table may have instance = "row"
---@class kstat.report.source
---@field [integer] kstat.spec
---@field figures kstat.figures
---@field each? boolean

---@class kstat.report.from
---@field [integer] kstat.report.source
---@field fields? table<string, any>
---@field finish? fun(row: kstat.Row, d: kstat.Difference)

---@class kstat.report.option
---@field [1]? string letter
---@field [2] string name
---@field long? string
---@field arg? string
---@field type? "number"|"count"|"word"
---@field default? any
---@field help? string

---@class kstat.report.declaration
---@field name? string
---@field about? string
---@field note? string
---@field select? kstat.spec|kstat.spec[]|fun(options: table): kstat.spec|kstat.spec[]
---@field published? boolean
---@field optional? boolean
---@field columns kstat.report.column[]|fun(options: table, ks: kstat.chain): kstat.report.column[]
---@field rows? fun(d: kstat.difference, now: kstat.sample, prev?: kstat.sample, options: table): kstat.report.row[]
---@field from? kstat.report.from|fun(options: table, ks: kstat.chain): kstat.report.from?
---@field sort? string|fun(a: kstat.report.row, b: kstat.report.row): boolean
---@field top? integer
---@field totals? boolean
---@field options? kstat.report.option[]
---@field operands? string|false
---@field check? fun(options: table): string?
---@field skip_idle? boolean
---@field skip_first? boolean
---@field heading? string|fun(options: table): string?
---@field squeeze? boolean
---@field gap? string
---@field blank? boolean
---@field repeat_header? integer

---@class kstat.report
local report = {}

---@param arg string[] a command line
---@param write? fun(text: string)
---@return integer status
function report:run(arg, write) end

---@class kstat
local kstat = {}

---@param given kstat.report.declaration
---@return kstat.report report
function kstat.report(given) end

return report
