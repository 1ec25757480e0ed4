-- The end of `make coverage`: which lines of csrc ran, by what gcov says of the objects in a build tree. Prints the
-- functions that never ran, the share of each floor and of all; fails if that is less than it has to be.
-- Arguments: the build tree, the percent.
local cjson = require("cjson")

local build, least = arg[1], tonumber(arg[2])
local lines, functions = {}, {} -- by file: by line how often it ran; by name

local function words(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text:gmatch("[^\n]+")
end

-- A source may be in several objects: the module is built for each Lua.
for object in words(("find %s -name '*.gcda' | sort"):format(build)) do
  for report in words(("gcov --json-format --stdout %s 2>/dev/null"):format(object)) do
    for _, file in ipairs(cjson.decode(report).files) do
      if file.file:find("^csrc/") then
        lines[file.file], functions[file.file] = lines[file.file] or {}, functions[file.file] or {}
        for _, line in ipairs(file.lines) do
          local seen = lines[file.file]
          seen[line.line_number] = (seen[line.line_number] or 0) + line.count
        end
        for _, f in ipairs(file.functions) do
          local seen = functions[file.file]
          seen[f.name] = (seen[f.name] or 0) + f.execution_count
        end
      end
    end
  end
end

local never, floors, ran, all = {}, {}, 0, 0
for name, seen in pairs(lines) do
  local floor = floors[name:match("^csrc/[^/]+")] or { ran = 0, all = 0 }
  floors[name:match("^csrc/[^/]+")] = floor
  for _, count in pairs(seen) do
    floor.all, all = floor.all + 1, all + 1
    if count > 0 then
      floor.ran, ran = floor.ran + 1, ran + 1
    end
  end
  for f, count in pairs(functions[name]) do
    if count == 0 then
      never[#never + 1] = ("never ran: %s of %s"):format(f, name)
    end
  end
end
table.sort(never)
print(table.concat(never, "\n"))
local names = {}
for name in pairs(floors) do
  names[#names + 1] = name
end
table.sort(names)
for _, name in ipairs(names) do
  local floor = floors[name]
  print(("%-16s %5.1f %% of %d lines"):format(name, 100 * floor.ran / floor.all, floor.all))
end
print(("%-16s %5.1f %% of %d lines; %g %% have to run"):format("csrc", 100 * ran / all, all, least))
os.exit(ran / all >= least / 100)
