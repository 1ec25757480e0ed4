-- Whatever a script passes to the C modules, it gets an error at most: spec/support/calls.lua makes the calls.
local run = require("support.run")

describe("the C modules", function()
  local root = run.shell("pwd").out:match("[^\n]+")
  local tree = run.tree("small")

  -- The module for Lua 5.1 is LuaJIT's, too.
  for interpreter, version in pairs({ ["lua5.1"] = "5.1", luajit = "5.1", ["lua5.4"] = "5.4" }) do
    it(("stand any call, with any argument and object, in %s"):format(interpreter), function()
      if run.shell("command -v " .. interpreter).status ~= 0 then
        return pending(interpreter .. " is not installed")
      end
      local dir = run.directory()
      local r = run.shell(([[
        cd %s && mkdir k && export KSTAT_DIR=%s/k KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys
        export LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;' LUA_CPATH='%s/lib/lua/%s/?.so;;'
        $interpreter timeout 300 %s %s/spec/support/calls.lua 1 10 >/dev/null </dev/null]]):format(dir, dir, tree, tree,
        root, root, run.build, version, interpreter, root))
      run.shell("rm -rf " .. run.quote(dir))
      assert.matches("%d%d%d functions\n$", r.err)
      assert.equal(0, r.status)
    end)
  end

  it("keep what an object needs where no script reaches it", function()
    local core = require("kstat.core")
    local kstat = require("kstat")
    local ks = assert(kstat.open())
    assert.same({}, core.notes(ks:sample()))
    for _, wrong in ipairs({ io.stdout, ks:lookup("unix", 0, "system_misc"), 1, "x", {} }) do
      assert.is_false(pcall(core.notes, wrong))
    end
  end)

  it("keep selectors and names that a script takes back", function()
    local core = require("kstat.core")
    local function kept(use)
      local list = { assert(core.selector_of("unix:0:system_misc:nproc")) }
      local seen = setmetatable({ list[1] }, { __mode = "v" })
      local user = assert(use(list))
      list[1] = nil
      collectgarbage()
      collectgarbage()
      assert.truthy(seen[1])
      return user
    end
    local ks = kept(function(list) return core.open({ only = list }) end)
    kept(function(list) return core.open({ also = list }) end)
    local exposition = kept(function(list) return core.exposition(ks, list, "prometheus") end)
    assert.truthy(exposition:step())
    local group
    local names = kept(function(list)
      group = { selector = list[1], labels = { { name = ("label"):rep(50), from = "name" } },
        names = { { family = "m", stat = "nproc", type = "gauge" } } }
      return core.metric_names({ setmetatable({}, { __index = function(_, key)
        local value = group[key]
        group[key] = key == "labels" and {} or nil
        return value
      end }) })
    end)
    group = nil
    collectgarbage()
    assert.matches(("label"):rep(50), core.exposition(ks, names, "prometheus"):step(true))
  end)

  it("read a table of names once", function()
    local core = require("kstat.core")
    local many, asked = {}, {}
    for i = 1, 10000 do
      many[i] = "x"
    end
    local group = setmetatable({}, { __index = function(_, key)
      asked[key] = (asked[key] or 0) + 1
      return key == "selector" and core.selector_of("unix") or key == "labels" and (asked[key] > 1 and many or {})
        or key == "names" and {} or nil
    end })
    assert.truthy(core.metric_names({ group }))
    for key, times in pairs(asked) do
      assert.equal(1, times, key)
    end
  end)
end)
