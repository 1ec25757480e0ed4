--- File systems, as kstatlua use measures them.
-- @module kstat.use.fs
local figures = require("kstat.use.figures")

local now, percent = figures.now, figures.percent

local FULL_TABLE = "Where nothing more fits, requests fail: that is saturation."

local limits = {
  { "fs", "utilization", "space", unit = "%", warning = 90, file = "statvfs(3)",
    reason = "As df shows it: what root alone may use does not count. Time to clean up, or to grow." },
  { "fs", "utilization", "space, read only", unit = "%", file = "statvfs(3)",
    reason = "Without a limit: nothing can be written there, and many such file systems are always full; so are " ..
      "those of less than a megabyte in memory, which are made for one purpose." },
  { "fs", "utilization", "inodes", unit = "%", warning = 90, file = "statvfs(3)",
    reason = "Without inodes no file can be created, however much space there is." },
  { "fs", "saturation", "space full", unit = "%", critical = 98, quiet = true, file = "statvfs(3)",
    reason = FULL_TABLE .. " File systems get slow before that." },
  { "fs", "saturation", "inodes full", unit = "%", critical = 98, quiet = true, file = "statvfs(3)",
    reason = FULL_TABLE },
  { "fs", "errors", "errors", unit = "", critical = 1,
    file = "/sys/fs/ext4/*/errors_count, /sys/fs/btrfs/*/devinfo/*/error_stats",
    reason = "Errors of the file system until it is checked, or of its devices until they are set to 0." },
  { "fs", "errors", "devices missing", unit = "", critical = 1, file = "/sys/fs/btrfs/*/devinfo/*/missing",
    reason = "A btrfs lacks a device." },
  { "fs", "errors", "read only", unit = "", critical = 1, file = "statvfs(3), /proc/self/mountinfo",
    reason = "Mounted to be written, but read only: the kernel stops writing after an error." },
  { "fs", "errors", "no answer", unit = "", critical = 1, file = "statvfs(3), stat(2) of the mount point",
    reason = "Who opens a file there waits or fails: the server may be dead, or the file system shut itself down." },
}

local SMALL = 1048576 -- bytes: a tmpfs that is smaller is made for a purpose, and full by design

-- These are read only by their nature.
local READ_ONLY = { squashfs = true, iso9660 = true, udf = true, erofs = true, cramfs = true, romfs = true }

-- Whether a file system that was mounted to be written cannot be; nil if that is not known.
local function stopped_writing(k)
  local is, options = now(k, "read_only"), now(k, "options", "string")
  if not is or not options then
    return nil
  end
  local meant = ("," .. options .. ","):find(",ro,", 1, true) or READ_ONLY[now(k, "fs_type", "string") or ""]
  return is == 1 and not meant and 1 or 0
end

-- What a file system answers in place of figures, and its device: "Input/output error of sda1".
local function why_silent(k, device)
  local state = now(k, "state", "string")
  return state and state ~= "no answer" and ("%s of %s"):format(state, device or k.name) or device
end

local function file_system(d, add, k, detailed)
  local used, available = now(k, "used"), now(k, "available")
  local space = percent(used, used and available and used + available)
  local inodes = percent(now(k, "inodes_used"), now(k, "inodes"))
  local answered, writable = now(k, "answered"), now(k, "read_only") ~= 1
  local device = now(k, "device_name", "string") or now(k, "device", "string")
  local is_small = now(k, "fs_type", "string") == "tmpfs" and (now(k, "capacity") or SMALL) < SMALL
  local detail = d:lookup("ext4", 0, device or "")
  detailed[detail and detail.name or ""] = true
  add("fs", now(k, "mount_point", "string") or k.name, {
    [writable and not is_small and "space" or "space, read only"] = space, inodes = writable and inodes or nil,
    ["space full"] = writable and not is_small and space or nil, ["inodes full"] = writable and inodes or nil,
    errors = now(detail, "errors"),
    ["read only"] = stopped_writing(k), ["no answer"] = answered and 1 - answered,
  }, { errors = device, ["read only"] = device, ["no answer"] = answered == 0 and why_silent(k, device) or nil }, k)
end

-- What a btrfs counts belongs to no single mount; nor that of a file system mounted in another namespace.
local function measure(d, add, is_new)
  local detailed = {}
  for _, k in ipairs(figures.select(d, "class fs")) do
    if not is_new(k) then
      file_system(d, add, k, detailed)
    end
  end
  for _, k in ipairs(figures.select(d, "class fs_detail")) do
    if not (k.module == "ext4" and detailed[k.name]) and not is_new(k) then
      add("fs", k.module .. " " .. k.name, { errors = now(k, "errors"),
        ["devices missing"] = now(k, "devices_missing") })
    end
  end
end

return {
  limits = limits, measure = measure,
  select = { { class = "fs" }, { module = "/^(ext4|btrfs)$/", class = "fs_detail" } },
}
