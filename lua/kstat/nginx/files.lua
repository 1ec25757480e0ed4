--- What is known about files and directories, for what nginx keeps there. The structures are those of statx(2) and
-- readdir64(3), which all machines share.
local contents = require("kstat.base.environment").contents
local ffi = require("ffi")

ffi.cdef([[
typedef struct {
  uint32_t mask, block_size;
  uint64_t attributes;
  uint32_t links, uid, gid;
  uint16_t mode, pad;
  uint64_t inode, size, blocks;
  uint64_t rest[25];
} kstat_nginx_statx;
typedef struct { uint64_t inode; int64_t offset; uint16_t length; uint8_t type; char name[256]; } kstat_nginx_dirent;
int kstat_nginx_stat(int dir, const char *path, int flags, unsigned mask, kstat_nginx_statx *to) __asm__("statx");
void *kstat_nginx_opendir(const char *path) __asm__("opendir");
kstat_nginx_dirent *kstat_nginx_readdir(void *dir) __asm__("readdir64");
int kstat_nginx_closedir(void *dir) __asm__("closedir");
]])

local M = {}

local AT_FDCWD, NO_FOLLOW, BASIC = -100, 0x100, 0x7ff
local DIRECTORY, REGULAR, TYPES = 0x4000, 0x8000, 0xf000

local st = ffi.new("kstat_nginx_statx")

--- Looks at a file.
-- @string path
-- @treturn integer its inode; nil: there is none
-- @treturn integer its size in bytes
-- @treturn integer the bytes that it takes on its disk
-- @treturn string "file", "directory", or ""
function M.stat(path)
  if ffi.C.kstat_nginx_stat(AT_FDCWD, path, NO_FOLLOW, BASIC, st) ~= 0 then
    return nil
  end
  local kind = bit.band(st.mode, TYPES)
  return tonumber(st.inode), tonumber(st.size), tonumber(st.blocks) * 512,
    kind == REGULAR and "file" or kind == DIRECTORY and "directory" or ""
end

--- Whether a process runs: one that ended, and that its parent has not noticed yet, does not.
-- @tparam integer|string pid
function M.is_alive(pid)
  local state = (contents("/proc/" .. pid .. "/stat") or ""):match(".*%) (%a)")
  return state ~= nil and state ~= "Z"
end

--- The names in a directory.
-- @string path
-- @treturn {string,...} none if it cannot be read
function M.names(path)
  local list, dir = {}, ffi.C.kstat_nginx_opendir(path)
  if dir == nil then
    return list
  end
  local entry = ffi.C.kstat_nginx_readdir(dir)
  while entry ~= nil do
    local name = ffi.string(entry.name)
    if name ~= "." and name ~= ".." then
      list[#list + 1] = name
    end
    entry = ffi.C.kstat_nginx_readdir(dir)
  end
  ffi.C.kstat_nginx_closedir(dir)
  return list
end

return M
