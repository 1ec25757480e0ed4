-- doc/mistakes.md: each mistake has the answer that the page shows, and its exit status.
local run = require("support.run")
local transcript = require("support.transcript")

describe("the page of mistakes", function()
  local dir = transcript.directory()
  local has_terminal = run.shell("script -qec true /dev/null </dev/null").status == 0

  teardown(function()
    run.remove_directory(dir)
  end)

  it("shows what thirty mistakes are answered with", function()
    local count = 0
    transcript.each(run.read_file("doc/mistakes.md"), dir, function(line, output)
      if has_terminal or not line:find("^script ") then
        transcript.check(dir, line, output)
      end
      count = count + 1
    end)
    assert.truthy(count >= 30, count)
  end)
end)
