-- busted loads this file before the specs: `require` then finds the modules of the build tree. KSTAT_BUILD names
-- the build tree (default: build/).
local build = os.getenv("KSTAT_BUILD") or "build"
local abi = rawget(_G, "jit") and "5.1" or _VERSION:match("%d%.%d")
package.path = ("./lua/?.lua;./lua/?/init.lua;./spec/?.lua;%s"):format(package.path)
package.cpath = ("%s/lib/lua/%s/?.so;%s"):format(build, abi, package.cpath)

-- Temporary files are where TMPDIR says.
local dir, names = os.getenv("TMPDIR"), 0
if dir then
  os.tmpname = function() -- luacheck: ignore 122
    names = names + 1
    local path = ("%s/%s_%d"):format(dir, dir:match("[^/]*$"), names)
    assert(io.open(path, "w")):close()
    return path
  end
end
