-- doc/screen.md: the pictures of an hour later are what the screen shows after the keys that stand above them. With
-- KSTAT_PICTURES=write in the environment they become that.
local pty = require("support.pty")
local run = require("support.run")

local it = pty.it(it, pending)
local unpack = table.unpack or unpack -- luacheck: globals unpack

local PAGE = "doc/screen.md"

-- A picture with one blank line at most between others.
local function dense(text)
  return (("\n" .. text):gsub("\n *\n[ \n]*\n", "\n\n"):gsub("^\n", ""))
end

describe(PAGE, function()
  it("shows what the recording shows, in lines that fit", function()
    local n = 0
    local terminal = pty.start(("exec %s/kstatlua top -r spec/vectors/past/faults.rec"):format(run.quote(run.bin)))
    terminal:await("PAST")
    local page = run.read_file(PAGE)
    local made = page:gsub("(n hour later %(([^)]*)%):\n\n```\n)(.-)(```)", function(before, keys, picture, behind)
      local list = { "1" }
      for key in keys:gmatch("`([^`]+)`") do
        list[#list + 1] = key
      end
      terminal:send(unpack(list))
      local shown
      for _ = 1, 100 do
        shown = dense(terminal:screen())
        if shown == picture then
          break
        end
        run.shell("sleep 0.1")
      end
      n = n + 1
      return before .. shown .. behind
    end)
    if os.getenv("KSTAT_PICTURES") == "write" then
      run.write_file(PAGE, made)
    end
    assert.equal(page, made)
    assert.equal(6, n)
    for line in page:gmatch("[^\n]+") do
      assert.is_true(#line <= 120, line)
    end
  end)
end)
