-- doc/mistakes.md, doc/words.md, doc/past.md and doc/fleet.md: what the pages show is what is answered, with the exit
-- status.
local run = require("support.run")
local transcript = require("support.transcript")

describe("the page", function()
  local dir = transcript.directory()
  local has_terminal = run.shell("script -qec true /dev/null </dev/null").status == 0

  teardown(function()
    run.remove_directory(dir)
  end)

  local function check(page, least)
    local count = 0
    transcript.each(run.read_file(page), dir, function(line, output)
      if has_terminal or not line:find("^script ") then
        transcript.check(dir, line, output)
      end
      count = count + 1
    end)
    assert.truthy(count >= least, count)
  end

  it("of mistakes shows what thirty of them are answered with", function()
    check("doc/mistakes.md", 30)
  end)

  it("of words shows what those of others are answered with", function()
    check("doc/words.md", 3)
  end)

  it("of the past shows what was recorded at a time", function()
    check("doc/past.md", 6)
  end)

  it("of many machines shows what a recording of two says", function()
    run.shell("cp spec/vectors/past/busy1.rec spec/vectors/past/idle1.rec " .. dir)
    check("doc/fleet.md", 6)
  end)
end)
