-- doc/promises.md names files that are there, and specs that have these sentences.
local run = require("support.run")

describe("the page of promises", function()
  it("has for each a file that keeps it, and a spec that shows it", function()
    local n = 0
    local row = "\n| [^\n]- | (`[^\n]-) | `(spec/[^`]+)`:? ?([^\n]-) |"
    for kept, spec, title in run.read_file("doc/promises.md"):gmatch(row) do
      n = n + 1
      for file in kept:gmatch("`([^`]+)`") do
        assert.truthy(io.open(file), file)
      end
      assert.truthy(run.read_file(spec):find(title, 1, true), spec .. ": " .. title)
    end
    assert.is_true(n >= 40, n)
  end)
end)
