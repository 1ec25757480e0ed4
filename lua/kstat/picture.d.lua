---@meta kstat.picture
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---@class kstat.picture
local picture = {}

---@class kstat
---@field picture kstat.picture

---@class kstat.picture.terminal
---@field tty boolean
---@field utf8 boolean
---@field width integer columns
---@field height integer rows

---@return kstat.picture.terminal
function picture.terminal() end

---@param values (number|nil)[]
---@param options? { n?: integer, low?: number, high?: number, width?: integer, utf8?: boolean }
---@return string
function picture.sparkline(values, options) end

---@param value number
---@param most number
---@param width integer
---@param options? { utf8?: boolean }
---@return string
function picture.bar(value, most, width, options) end

---@param rows { [1]: string, [2]: number? }[]
---@param options? { most?: number, format?: string|fun(value: number): string, width?: integer, utf8?: boolean }
---@return string lines
function picture.bars(rows, options) end

---@param options { rows: string[], most?: number, title?: string, width?: integer, utf8?: boolean }
---@return kstat.picture.heatmap map
function picture.heatmap(options) end

---@class kstat.picture.heatmap
local map = {}

---@param counts (number|nil)[]
function map:add(counts) end

---@return string lines
function map:text() end

return picture
