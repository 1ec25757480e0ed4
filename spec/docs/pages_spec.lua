-- Everything has a page in doc/man: each tool, option, column and key of the data formats, each public function,
-- each environment variable. The pages are free of errors of form, and refer to pages that exist.
local run = require("support.run")

local recording = "spec/vectors/kstat/linux.rec" -- of a Linux machine with two CPUs

local function lines_of(command)
  local list = {}
  for line in run.shell(command).out:gmatch("[^\n]+") do
    list[#list + 1] = line
  end
  return list
end

local pages = {}
for _, name in ipairs(lines_of("ls doc/man")) do
  pages[name] = run.read_file("doc/man/" .. name)
end

local tools = {}
for _, name in ipairs(lines_of("ls scripts")) do
  tools[#tools + 1] = name:match("^(.*)%.lua$")
end

-- The words behind a macro in the lines that start with it, as a set.
local function words_of(text, macro)
  local set = {}
  for line in text:gmatch("\n%." .. macro .. " ([^\n]*)") do
    for word in line:gsub("\\&", ""):gsub('"', ""):gmatch("%S+") do
      set[word] = true
    end
  end
  return set
end

local function page_of(tool)
  return pages[tool == "kstat" and "kstat.1" or "kstatlua-" .. tool .. ".1"]
end

-- --- options ----------------------------------------------------------------------------------

-- Prints what a script declares to kstat.base.options, before it does anything else.
local PRINT_OPTIONS = [[
  local options = require("kstat.base.options")
options.read = function(declared)
  for _, o in ipairs(declared.all) do
    print(o.letter or "", o.also or "", o.long or "", o.arg and "argument" or "")
  end
  os.exit(0)
end
local report = dofile(arg[1])
report:run({})
]]

-- The options of a tool: an array of { letter =, also =, long =, argument = }, each "" where there is none.
local function options_of(tool)
  local r = run.run({ "kstatlua", "-e", PRINT_OPTIONS, "scripts/" .. tool .. ".lua" })
  assert.equal("", r.err)
  local list = {}
  for letter, also, long, argument in r.out:gmatch("([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\n") do
    list[#list + 1] = { letter = letter, also = also, long = long, argument = argument }
  end
  assert.is_true(#list > 0)
  return list
end

describe("the page of the tool", function()
  local reports = words_of(pages["kstatlua.1"]:match("\n%.Ss Reports\n.*"), "It Fl")

  for _, tool in ipairs(tools) do
    local page = page_of(tool)

    it(tool .. " exists, with the usual sections", function()
      assert.truthy(page, ("there is no page doc/man/kstatlua-%s.1; that of fsstat is a short one"):format(tool))
      for _, section in ipairs({ "NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO" }) do
        assert.truthy(page:find("\n.Sh " .. section .. "\n", 1, true), "no section " .. section)
      end
    end)

    it(tool .. " is named in the list of kstatlua(1)", function()
      local name = tool == "kstat" and tool or "kstatlua-" .. tool
      assert.truthy(pages["kstatlua.1"]:find("\n.It Xr " .. name .. " 1\n", 1, true),
        "doc/man/kstatlua.1 has no .It Xr " .. name .. " 1")
    end)

    it(tool .. " has every option that the tool accepts", function()
      local documented = words_of(page or "", "It Fl")
      for _, option in ipairs(options_of(tool)) do
        for _, word in ipairs({ option.letter, option.also, option.long ~= "" and "-" .. option.long or "" }) do
          local shown = "-" .. word .. " of " .. tool
          assert.is_true(word == "" or documented[word] or reports[word] or false,
            shown .. " has no item .It Fl in its page")
        end
      end
    end)
  end
end)

describe("kstatlua(1)", function()
  it("has every option of the host", function()
    local documented = words_of(pages["kstatlua.1"]:match("^.-\n%.Ss Scripts"), "It Fl")
    local source = run.read_file("csrc/host/options.c")
    local letters = source:match('getopt_long%([^"]*"%+:([%a:]+)"')
    for letter in letters:gmatch("%a") do
      assert.is_true(documented[letter] or false, "-" .. letter)
    end
    for name in source:gmatch('\n\t{ "(%w+)", %w+_argument') do
      assert.is_true(documented["-" .. name] or name == "complete", "--" .. name) -- that one is for shells
    end
  end)
end)

-- --- columns ------------------------------------------------------------------------------------

-- The columns are looked for with each switch of a tool, and with these options together.
local FURTHER = {
  arcstat = { "-f hits,hit%,dhit,dh%,phit,ph%,mhit,mh%,mread,l2hits,l2miss,l2read,l2hit%,l2miss%,l2bytes,l2size," ..
    "l2asize" },
  devstat = { "-oI", "-CT" },
  iostat = { "-xn", "-xI", "-xM", "-xe", "-dM", "-dI", "-DI" },
  nicstat = { "-xM" },
}
-- These have no columns, or the same.
local NO_SWITCHES = { help = true, json = true, csv = true, openmetrics = true, explain = true, batch = true,
  ["skip-first"] = true, ["skip-idle"] = true, j = true, E = true, h = true }
-- Above titles, and names of disks.
local NO_TITLES = { extended = true, statistics = true, errors = true, ["----"] = true, ["---"] = true, tty = true,
  cpu = true, vda = true, queue = true, ["-"] = true }
local TITLES = { iostat = true, devstat = true } -- tables with a line of titles, which have not all keys

local function forms_of(tool)
  local list = { "" }
  for _, option in ipairs(options_of(tool)) do
    local name = option.long ~= "" and option.long or option.letter
    if option.argument == "" and not NO_SWITCHES[name] then
      list[#list + 1] = option.letter ~= "" and "-" .. option.letter or "--" .. name
    end
  end
  for _, form in ipairs(FURTHER[tool] or {}) do
    list[#list + 1] = form
  end
  return list
end

local function output_of(tool, form)
  return run.shell(("KSTAT_SOURCE=%s %s/kstatlua %s %s 5 1"):format(recording, run.bin, tool, form)).out
end

-- Adds the names of columns to a set: keys of the data formats, and titles where TITLES has the tool.
local function add_columns(set, tool, form)
  for name in (output_of(tool, "--csv " .. form):match("^time,[^\n]+") or ""):gmatch("[^,]+") do
    set[name] = form
  end
  for line in (TITLES[tool] and output_of(tool, form) or ""):gmatch("[^\n]+") do
    for word in (line:find("%a") and not line:find("%d") and line or ""):gmatch("[^%s,]+") do
      set[word] = not NO_TITLES[word] and form or nil
    end
  end
end

-- The names of columns in a page: those that items of lists begin with, and those in their texts.
local function names_in(page)
  local set = words_of(page, "It Sy")
  for word in pairs(words_of(page, "Sy")) do
    set[word] = true
  end
  return set
end

describe("the columns of", function()
  local everywhere = names_in(pages["kstatlua.1"])

  for _, tool in ipairs(tools) do
    if run.read_file("scripts/" .. tool .. ".lua"):find("kstat.report(", 1, true) or TITLES[tool] then
      it(tool .. " are in its page", function()
        local documented, columns = names_in(page_of(tool) or ""), {}
        for _, form in ipairs(forms_of(tool)) do
          add_columns(columns, tool, form)
        end
        assert.truthy(next(columns))
        for name, form in pairs(columns) do
          local known = documented[name] or everywhere[name] or false
          assert.is_true(known, ("%s of '%s %s' is not described: .Sy %s or .It Sy %s"):format(name, tool, form,
            name, name))
        end
      end)
    end
  end

  it("all rows of the data formats are in the page of kstatlua", function()
    local reserved = run.read_file("lua/kstat/report/declare.lua"):match("\nlocal RESERVED = (%b{})")
    for name in reserved:gmatch("([%w_]+) = ") do
      assert.is_true(everywhere[name] or false, name)
    end
  end)
end)

-- --- functions ------------------------------------------------------------------------------------

-- Those that are exported, and those that are defined in a header.
local function public_functions()
  local names = lines_of(("nm -D --defined-only %s/lib/libkstat.so.1 | sed -n 's/.* T \\([a-z0-9_]*\\).*/\\1/p'")
    :format(run.build))
  for _, name in ipairs(lines_of([[grep -ho '^[a-z]\w*_\w*(' csrc/include/*.h]])) do
    names[#names + 1] = name:sub(1, -2)
  end
  return names
end

describe("the pages of section 3", function()
  local documented, shown = {}, {} -- named at all; with its arguments
  for name, text in pairs(pages) do
    if name:find("%.3$") then
      for _, macro in ipairs({ "Fn", "Fo", "Vt", "Nm" }) do
        for line in text:gmatch("\n%." .. macro .. " ([^\n]*)") do
          local word = line:match("%(%*([%w_]+)") or line:match("^[%w_.]+") or ""
          documented[word], shown[word] = true, shown[word] or macro ~= "Nm"
        end
      end
    end
  end

  it("describe each public function of the library", function()
    local names = public_functions()
    assert.is_true(#names > 150)
    for _, name in ipairs(names) do
      -- stats_voi_update_abs_u64 and others stand for the functions of all types.
      local typed = name:gsub("_[su]q?%d%d$", "_u64"):gsub("_[su]long$", "_u64")
      assert.is_true(shown[name] or name:find("^stats_") and documented[typed] or false, name .. " has no page")
    end
  end)

  it("say how each function is called, as the headers do", function()
    local headers = run.shell("cat csrc/include/*.h").out:gsub("/%*.-%*/", "")
    for name, text in pairs(pages) do
      local synopsis = name:find("%.3$") and text:match("\n%.Sh SYNOPSIS\n(.-)\n%.Sh ") or ""
      synopsis = synopsis:gsub("%.Fo ([%w_]+)\n(.-)\n%.Fc", function(called, arguments)
        return ".Fn " .. called .. " " .. (arguments .. "\n"):gsub("%.Fa ", ""):gsub("\n", " ")
      end)
      synopsis = synopsis:gsub("%.Fn [%w_]*<[^\n]*", "") -- functions of all types, which macros declare
      for called, arguments in synopsis:gmatch("%.Fn ([%w_]+) ?([^\n]*)") do
        local _, count = arguments:gsub('"[^"]*"', "a"):gsub("%S+", "")
        local declared = headers:match("[%s%*]" .. called .. "(%b())")
        assert.truthy(declared, called .. " is in no header")
        local _, commas = declared:sub(2, -2):gsub("%b()", ""):gsub(",", "")
        assert.equal(commas + 1, count, name .. ": " .. called)
      end
    end
  end)

  it("describe each field of a report and of a column", function()
    local fields = words_of(pages["lua_kstat_report.3"], "It Va")
    local declared = run.read_file("lua/kstat/report/declare.lua")
    local count = 0
    for list in declared:gmatch("\nlocal %u[%u_]*FIELDS = (%b{})") do
      for field in list:gmatch("([%w_]+) = ") do
        count = count + 1
        assert.is_true(fields[field] or false, field .. " is not described")
      end
    end
    for field in declared:match("\nlocal FIELDS = (%b{})"):gmatch("([%w_]+) = ") do
      count = count + 1
      assert.is_true(fields[field] or false, field .. " is not described")
    end
    assert.is_true(count > 25)
  end)
end)

-- --- environment ------------------------------------------------------------------------------------

describe("kstat(7)", function()
  it("describes each variable of the environment that the project reads", function()
    local described = words_of(pages["kstat.7"], "It Ev")
    local names = lines_of([[grep -rhoE '(getenv *\(|read_bound\(\w+, )"[A-Z_]+"' csrc lua scripts | cut -d'"' -f2]])
    assert.is_true(#names >= 12, #names)
    for _, name in ipairs(names) do
      assert.is_true(described[name] or false, name .. " is not described")
    end
  end)

  it("describes each word of KSTAT_WITH", function()
    local page = pages["kstat.7"]
    local words = lines_of([[grep -rhoE '\.optional = "[a-z_]+"' csrc/source/linux | cut -d'"' -f2]])
    assert.is_true(#words >= 6)
    for _, word in ipairs(words) do
      assert.truthy(page:find("\n.It Ql " .. word .. "\n", 1, true), word)
    end
  end)
end)

-- --- statistics ---------------------------------------------------------------------------------------

describe("each statistic of this machine", function()
  -- Names of devices and numbers in the names of statistics differ: sda_nread, vda_nread; temp1_max, temp2_max.
  local function plain(name)
    return (name:gsub("%d+", "0"))
  end

  local function ending(name)
    return name:match("^[^_]+(_.+)$") or name
  end

  local catalogued = {}
  for name in run.shell(run.build .. "/spec/core_catalogue").out:gmatch("\n| `([^`\n]+)` |") do
    catalogued[plain(name)] = true
    catalogued["*" .. plain(ending(name))] = true
  end

  it("has a meaning, and is in the catalogue", function()
    local directory = run.directory() -- without what is published here
    finally(function() run.remove_directory(directory) end)
    local count = 0
    for line in run.run({ "kstat", "-d", env = { KSTAT_DIR = directory } }).out:gmatch("[^\n]+") do
      local path, _, _, meaning = line:match("^([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$")
      local name = path:match("[^:]+$")
      count = count + 1
      assert.is_true(meaning ~= "?" and meaning ~= "", path .. " has no meaning")
      local known = catalogued[plain(name)] or catalogued["*" .. plain(ending(name))]
      assert.is_true(known or false, path .. " is not in the catalogue")
    end
    assert.is_true(count > 300)
  end)
end)
