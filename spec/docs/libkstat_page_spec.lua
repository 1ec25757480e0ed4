-- doc/libkstat.md names every client program of spec/c/clients, and every header of Solaris.
local run = require("support.run")

describe("doc/libkstat.md", function()
  local page = run.read_file("doc/libkstat.md")

  local function lines_of(command)
    local list = {}
    for line in run.shell(command).out:gmatch("[^\n]+") do
      list[#list + 1] = line
    end
    return list
  end

  it("says which program each client stands for", function()
    local named = {}
    for row in page:gmatch("\n(|[^\n]*)") do
      local whole -- `collectd-cpu`, `-memory`
      for name in row:gmatch("`([%w_.+-]+)`") do
        local suffix = name:match("^%-.*")
        whole = suffix and whole or name
        named[suffix and whole:match("^(.*)%-") and whole:match("^(.*)%-") .. suffix or name] = true
      end
    end
    local names = lines_of([[grep -oh '{ "[^"]*", [a-z]' spec/c/clients/*.c | cut -d'"' -f2]])
    assert.is_true(#names > 60)
    for _, name in ipairs(names) do
      assert.truthy(named[name], name)
    end
  end)

  it("says what is in each header", function()
    local find = "cd csrc/include && find sys nfs -name '*.h'; cd kstat-solaris && find sys -name '*.h'"
    for _, header in ipairs(lines_of(find)) do
      local ours = header == "sys/kstat2.h" or run.read_file("doc/man/statsblob.3"):find(header, 1, true)
      assert.truthy(ours or page:find("<" .. header .. ">", 1, true), header)
    end
  end)
end)
