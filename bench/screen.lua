-- screen.lua - our screen's views beside top, htop, btop, atop and glances on terminals of two sizes, in the same
-- minute: CPU time, bytes, memory and first frame with 85, 500 and 1,000 processes, of which one in ten works now and
-- then. KSTAT_BENCH_SECONDS is how many seconds each is watched (10), KSTAT_BENCH_PROCESSES are other numbers of
-- processes ("85 1000"). SPDX-License-Identifier: MIT
local figure = require("figure")
local load = require("load")

local SECONDS = tonumber(os.getenv("KSTAT_BENCH_SECONDS")) or 10
local COUNTS = os.getenv("KSTAT_BENCH_PROCESSES") or "85 500 1000"
local FIRST_FRAMES = 5
local VIEWS = { "resources", "processes", "cgroups", "disks", "any", "published" }
-- Columns and rows of the window, and the most bytes of a frame.
local WINDOWS = { { 80, 24, 700 }, { 120, 40, 1500 } }

-- The most ms of a frame.
local function goal_of_time(view, count)
  return view == "resources" and 2 or view == "processes" and (count <= 85 and 1.5 or count <= 1000 and 10) or 40
end

-- The programs that are compared, each { name, line of sh }: our views, and those of the others that are installed.
local function programs(dir)
  local list = {}
  for i, view in ipairs(VIEWS) do
    list[i] = { view, ("%s/bin/kstatlua top --view %s 1"):format(os.getenv("KSTAT_BUILD"), view), ours = true }
  end
  local config = dir .. "/config"
  os.execute(("mkdir -p %s/btop && echo update_ms=1000 >%s/btop/btop.conf"):format(config, config))
  for _, command in ipairs({ "top -d 1", "htop -d 10", "btop", "atop 1", "glances -t 1" }) do
    local name = command:match("%S+")
    if figure.capture("command -v " .. name) ~= "" then
      list[#list + 1] = { name, ("env XDG_CONFIG_HOME=%s HOME=%s %s"):format(config, dir, command) }
    end
  end
  return list
end

-- The line of sh that runs a program on a terminal and writes what it cost.
local function on_terminal(program, window, seconds)
  return ("TERM=xterm-256color LC_ALL=C.UTF-8 exec %s/helper/terminal %d %d %g %s"):format(os.getenv("KSTAT_BENCH"),
    window[1], window[2], seconds, program[2])
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

-- The ms from the start to the first frame, of one program at a time, in turns.
local function measure_first_frames(list, window)
  for _, p in ipairs(list) do
    p.times = {}
  end
  for _ = 1, FIRST_FRAMES do
    for _, p in ipairs(list) do
      local first = figure.capture(on_terminal(p, window, 0)):match("(%S+)\n$")
      p.times[#p.times + 1] = assert(tonumber(first), "no frame of " .. p[1])
    end
  end
  for _, p in ipairs(list) do
    p.first = median(p.times)
  end
end

-- CPU ms and bytes of a frame, and MB, of all programs side by side.
local function measure_frames(list, window)
  for _, p in ipairs(list) do
    p.pipe = assert(io.popen(on_terminal(p, window, SECONDS)))
  end
  for _, p in ipairs(list) do
    local cpu, bytes, kb = p.pipe:read("a"):match("^(%S+)\t(%S+)\t(%S+)")
    p.pipe:close()
    assert(cpu, "no frames of " .. p[1])
    p.cpu, p.bytes, p.mb = tonumber(cpu), tonumber(bytes), kb / 1000
  end
end

-- Prints one kind of figure of all our views beside those of the others; the ratio is that to the first of these.
local function compare(list, where, what, field, format, goal_of)
  local theirs, first = {}, nil
  for _, p in ipairs(list) do
    if not p.ours then
      theirs[#theirs + 1] = p[1] .. " " .. format:format(p[field])
      first = first or p[field]
    end
  end
  for _, p in ipairs(list) do
    local goal = p.ours and goal_of(p[1])
    if p.ours then
      figure.print(("%s, %s: %s"):format(p[1], where, what), format:format(p[field]),
        theirs[1] and table.concat(theirs, ", ") or "-", first and p[field] / first or "-",
        "at most " .. format:format(goal), p[field] <= goal)
    end
  end
end

load.with_directory(function(dir)
  local list = programs(dir)
  for count in COUNTS:gmatch("%d+") do
    count = math.tointeger(count)
    if load.fill(count) then
      for _, window in ipairs(WINDOWS) do
        local where = ("%d processes, %dx%d"):format(count, window[1], window[2])
        measure_first_frames(list, window)
        measure_frames(list, window)
        compare(list, where, "CPU time of a frame", "cpu", "%.2f ms", function(view)
          return goal_of_time(view, count)
        end)
        compare(list, where, "bytes of a frame", "bytes", "%.0f B", function() return window[3] end)
        compare(list, where, "memory", "mb", "%.1f MB", function() return 32 end)
        compare(list, where, "first frame", "first", "%.1f ms", function() return 25 end)
      end
    end
  end
end)
