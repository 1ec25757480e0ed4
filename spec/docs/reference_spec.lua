-- The reference of the Lua module, which LDoc makes, and what luacheck can check of the definitions for editors.
local run = require("support.run")

describe("the reference of the Lua module", function()
  it("has a page for each public module, and is made without a warning", function()
    if run.shell("command -v ldoc").status ~= 0 then
      pending("LDoc is not installed")
      return
    end
    local dir = run.directory()
    finally(function() run.remove_directory(dir) end)
    local r = run.tool("make -s doc LUA_DOC=" .. dir)
    assert.equal(0, r.status, r.err)
    for _, name in ipairs({ "kstat", "kstat.object", "kstat.kstat", "kstat.sample", "kstat.selector", "kstat.path",
      "kstat.every", "kstat.report", "kstat.expression", "kstat.aggregate", "kstat.format", "kstat.publish",
      "kstat.io", "kstat.histogram", "kstat.stats", "kstat.picture", "kstat.recording", "kstat.devstat",
      "kstat.nginx", "kstat.nginx.prometheus" }) do
      local text = run.read_file(dir .. "/modules/" .. name .. ".html")
      assert.truthy(text:find("<h1>Module <code>" .. name .. "</code></h1>", 1, true), name)
    end
    local text = run.read_file(dir .. "/modules/kstat.publish.html")
    for _, name in ipairs({ "pub:named", "pub:io", "pub:timer", "pub:intr", "pub:histogram", "pub:blob" }) do
      assert.truthy(text:find('<a name = "' .. name .. '">', 1, true), name)
    end
    -- A name such as init_by_lua stands in backticks: its underscores are no emphasis.
    assert.equal("", run.shell("grep -rlE '[[:alnum:]]<em>|</em>[[:alnum:]]' " .. dir).out)
  end)
end)

-- The names below the global `kstat`, as the definitions have them, in the form in which luacheck takes them.
local function fields_of_kstat()
  local fields = {}
  for path in run.shell("find " .. run.build .. "/definitions -name '*.d.lua'").out:gmatch("[^\n]+") do
    local text = run.read_file(path)
    for name in text:gmatch("\nfunction kstat%.([%w_]+)%(") do
      fields[#fields + 1] = name .. " = {}"
    end
    local part, names = text:match("^%-%-%-@meta kstat%.([%w_]+)"), {}
    for name in text:gmatch("\nfunction kstat_" .. (part or "none") .. "%.([%w_]+)%(") do
      names[#names + 1] = name .. " = {}"
    end
    for name in text:gmatch('\n%-%-%-@field (%u+_%u+) ') do
      names[#names + 1] = name .. " = {}"
    end
    if #names > 0 then
      fields[#fields + 1] = ("%s = { fields = { %s } }"):format(part, table.concat(names, ", "))
    end
  end
  return table.concat(fields, ", ")
end

describe("the definitions", function()
  local fields = fields_of_kstat()

  -- Runs luacheck with a global `kstat` that has these names only.
  local function luacheck(files)
    local config = os.tmpname()
    finally(function() os.remove(config) end)
    run.write_file(config, ("stds.kstat = { read_globals = { kstat = { fields = { %s, _VERSION = {} } }, " ..
      "kn = { other_fields = true } } }\nstd = 'max+kstat'\n"):format(fields))
    return run.tool(("luacheck --no-color --config %s %s"):format(config, files))
  end

  it("have all that the examples and the documents use of the module", function()
    local dir = run.directory()
    local count = 0
    for path in run.shell("ls doc/*.md README.md").out:gmatch("[^\n]+") do
      for text in run.read_file(path):gmatch("\n```lua\n(.-\n)```") do
        count = count + 1
        run.write_file(("%s/%d.lua"):format(dir, count), "local _ = arg\n" .. text)
      end
    end
    local r = luacheck("--ignore 2 3 4 6 --only 113 143 -- examples " .. dir)
    run.remove_directory(dir)
    assert.truthy(count > 20, count)
    assert.equal(0, r.status, r.out)
  end)

  it("are each used by an example, a document or a spec", function()
    local uses = {}
    local text = run.shell("cat examples/*.lua README.md doc/*.md spec/*/*_spec.lua").out
    for name in text:gmatch("[.:\"]([%a_][%w_]*)") do
      uses[name] = true
    end
    text = run.shell("cat " .. run.build .. "/definitions/*.d.lua").out
    for name in text:gmatch("\nfunction [%w_]+[.:]([%w_]+)%(") do
      assert.truthy(uses[name] or name == "selection", name)
    end
  end)

  it("have texts, types, results and the fields of tables, as the comments have them", function()
    local text = run.read_file(run.build .. "/definitions/kstat.d.lua")
    for _, part in ipairs({ "\n---Brings the chain up to date, and reads again what was read.", [[

---@param lazily? boolean what was read is read again when somebody asks for it, not now
---@return integer|nil # the new ID of the chain, as ks:chain_id() has it; 0: no kstat came or went
---@return kstat.change[]|string # those that came, or a message
---@return kstat.change[]|string|nil # those that are gone, name of errno
function kstat_chain:update(lazily) end
]], "\n---@class kstat.chain: kstat.object\n", "\n---@field snaptime number|nil when it was read, in seconds",
      '\n---@field type "raw"|"named"|"intr"|"io"|"timer" how',
      "\n---@field only kstat.spec|nil|kstat.spec[] the chain",
      "\n---@return fun(): kstat.kstat|nil, string, kstat.value # an iterator" }) do
      assert.truthy(text:find(part, 1, true), part)
    end
  end)

  it("are not made of a comment that names other parameters than the function has, or no type", function()
    local dir = run.directory()
    run.write_file(dir .. "/config.ld", "file = { 'a.lua' }\n")
    for tags, message in pairs({ ["-- @string b\n"] = "kstat: kstat.f has (a), its comment (b)",
      ["-- @tparam nosuch a\n"] = "kstat: kstat.f: 'nosuch' is no type" }) do
      run.write_file(dir .. "/a.lua", "--- A module.\n-- @module kstat\n\n--- A function.\n" .. tags ..
        "function kstat.f(a)\nend\n")
      local r = run.shell(("cd %s && lua5.4 $OLDPWD/doc/definitions.lua ."):format(dir))
      assert.equal(1, r.status)
      assert.truthy(r.err:find(message, 1, true), r.err)
    end
    run.remove_directory(dir)
  end)

  it("are found by editors", function()
    local settings = require("cjson").decode(run.read_file(".luarc.json"))
    for _, path in ipairs(settings["workspace.library"]) do
      assert.equal(0, run.shell("test -d " .. path:gsub("^build", run.build)).status, path)
    end
  end)

  it("notice a name that is not there", function()
    local path = os.tmpname() .. ".lua"
    run.write_file(path, "print(kstat.opne(), kstat.stats.summ())\n")
    local r = luacheck("--only 143 -- " .. path)
    os.remove(path)
    assert.matches("undefined field 'opne'", r.out)
    assert.matches("undefined field 'stats.summ'", r.out)
  end)
end)
