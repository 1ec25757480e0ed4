---@meta kstat.recording
-- Types of the module for editors (LuaLS). Nothing loads this file; the text is in the module.

---@class kstat.recording
local recording = {}

---@class kstat
---@field recording kstat.recording

---@param path string
---@return kstat.recording.writer? rec, string? message, string? errno
function recording.open(path) end

---@class kstat.recording.writer
local rec = {}

---@param ks kstat.chain
---@param ... kstat.spec
---@return boolean? ok, string? message, string? errno
function rec:add(ks, ...) end

---@return integer
function rec:samples() end

---@return integer bytes
function rec:size() end

function rec:close() end

return recording
