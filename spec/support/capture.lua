--- Makes captures for specs: `capture.file{ { k, k }, { k } }` writes one sample a line and returns
-- the path; files are removed by `capture.clean()`.
local M = {}

local files = {}

--- One kstat as JSON. data: the text of its members behind crtime and snaptime.
-- type: 0 raw, 1 named, 2 intr, 3 io, 4 timer
function M.kstat(module, instance, name, class, type, crtime, snaptime, data)
  return ('{"module":"%s","instance":%d,"name":"%s","class":"%s","type":%d,"snaptime":%s,'
    .. '"data":{"crtime":%s,"snaptime":%s%s}}'):format(module, instance, name, class, type, snaptime,
      crtime, snaptime, data == "" and "" or "," .. data)
end

--- A named kstat of module "app", class "misc".
function M.named(name, crtime, snaptime, data)
  return M.kstat("app", 0, name, "misc", 1, crtime, snaptime, data)
end

function M.file(samples)
  local path = os.tmpname()
  files[#files + 1] = path
  local f = assert(io.open(path, "wb"))
  for _, sample in ipairs(samples) do
    f:write("[", table.concat(sample, ","), "]\n")
  end
  f:close()
  return path
end

function M.clean()
  for _, path in ipairs(files) do
    os.remove(path)
  end
  files = {}
end

return M
