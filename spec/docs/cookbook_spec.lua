-- doc/cookbook.md: its answers are short, and each command prints what the page shows. Of the running machine the page
-- shows what has the same form.
local run = require("support.run")
local transcript = require("support.transcript")

local page = run.read_file("doc/cookbook.md")

describe("the cookbook", function()
  local dir

  setup(function()
    dir = transcript.directory()
  end)

  teardown(function()
    run.remove_directory(dir)
  end)

  it("shows what its commands print", function()
    local count = 0
    transcript.each(page, dir, function(line, output)
      transcript.check(dir, line, output)
      count = count + 1
    end)
    assert.truthy(count >= 30, count)
  end)

  it("answers thirty questions, each in one to ten lines", function()
    local questions = 0
    for title, answer in page:gsub("\n##", "\1%0"):gmatch("\1\n### ([^\n]+)([^\1]*)") do
      questions = questions + 1
      assert.matches("%?$", title)
      assert.matches("\n%$ ", answer, title)
      for script in answer:gmatch("```lua\n%-%-[^\n]*\n(.-)```") do
        assert.truthy(select(2, script:gsub("\n", "")) <= 10, title)
      end
    end
    assert.truthy(questions >= 30, questions)
  end)

  it("is found from the README", function()
    assert.truthy(run.read_file("README.md"):find("](doc/cookbook.md)", 1, true))
  end)
end)
