-- The Lua in doc/scripting.md and doc/from-perl.md runs as it stands there, on a capture and live.
local run = require("support.run")

local function blocks(path)
  local list = {}
  for text in run.read_file(path):gmatch("\n```lua\n(.-)\n```") do
    list[#list + 1] = text
  end
  return list
end

for _, path in ipairs({ "doc/scripting.md", "doc/scripting-reference.md", "doc/from-perl.md" }) do
  describe(path, function()
    for i, text in ipairs(blocks(path)) do
      it(("has a script %d that runs"):format(i), function()
        local name = os.tmpname()
        finally(function() os.remove(name) end)
        run.write_file(name, text)
        for _, command in ipairs({
          { "kstatlua", "-r", "spec/vectors/kstat/host.jsonl", name, "5", "3" },
          { "kstatlua", name, "0.01", "2" },
        }) do
          local result = run.run(command)
          assert.equals("", result.err)
          assert.equals(0, result.status)
          assert.is_true(#result.out > 0)
        end
      end)
    end

    it("has scripts", function()
      assert.is_true(#blocks(path) >= 4)
    end)
  end)
end
