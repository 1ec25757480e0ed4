-- doc/publishing-from-lua.md is a page, and what it publishes is what its commands show.
local run = require("support.run")

describe("doc/publishing-from-lua.md", function()
  local page = run.read_file("doc/publishing-from-lua.md")
  local dir, pid

  before_each(function()
    dir = run.directory()
  end)

  after_each(function()
    if pid then
      run.stop(pid, "KILL")
      pid = nil
    end
    run.remove_directory(dir)
  end)

  it("has at most 60 lines", function()
    assert.is_true(select(2, page:gsub("\n", "")) <= 60)
  end)

  for name, interpreter in pairs({ kstatlua = run.bin .. "/kstatlua", module = run.lua }) do
    it("shows what a script publishes, run by " .. name, function()
      run.write_file(dir .. "/pay.lua", (page:match("\n```lua\n(.-)\n```")))
      local environment = ("env KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s LUA_PATH='lua/?.lua;lua/?/init.lua;;' " ..
        "LUA_CPATH='%s/lib/lua/%s/?.so;;' "):format(dir, dir, dir, run.build, _VERSION:match("%d%.%d"))
      pid = run.start(environment .. interpreter .. " " .. dir .. "/pay.lua", dir .. "/out")
      local shown = 0
      run.await("what waits", function()
        assert(run.alive(pid), run.read_file(dir .. "/out"))
        return run.shell(environment .. run.bin .. "/kstat -p pay:0:jobs:waiting").out:find("\t3\n", 1, true)
      end)
      for command, output in page:gmatch("%$ (kstat[^\n]*)\n([^$`]*)") do
        local r = run.shell(environment .. run.bin .. "/" .. command)
        assert.equal(output, r.out .. r.err, command)
        shown = shown + 1
      end
      assert.equal(3, shown)
    end)
  end
end)
