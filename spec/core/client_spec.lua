-- What C programs that were written for illumos expect of libkstat: its chain, and its errors.
local run = require("support.run")

describe("a program written for kstat(3KSTAT)", function()
  local directory

  setup(function()
    directory = run.directory()
  end)

  teardown(function()
    run.remove_directory(directory)
  end)

  local function checks(program)
    local out = run.shell(("%s KSTAT_DIR=%s %s/spec/%s"):format(run.tree_words("small"), directory, run.build,
      program))
    assert.are.equal("", out.err)
    assert.matches("^%d+ checks, 0 failures\n$", out.out)
  end

  it("finds the chain that it knows", function()
    checks("client_chain")
  end)

  it("gets the errors of the manual page", function()
    checks("client_errors")
  end)

  it("finds real disks before loop, RAM and compressed ones, in a capture, too", function()
    local environment = run.tree_words("small")
    local file = directory .. "/capture"
    assert.are.equal(0, run.shell(("%s %s/kstat -j >%s"):format(environment, run.bin, file)).status)
    for _, env in ipairs({ environment, "KSTAT_SOURCE=" .. file }) do
      local names, at = {}, {}
      for name in run.shell(("%s %s/spec/man_page_io"):format(env, run.build)).out:gmatch("(%S+) [^\n]+\n") do
        names[#names + 1] = name
        at[name] = #names
      end
      for _, real in ipairs({ "sda", "sdb", "mmcblk1", "cciss/c0d1" }) do
        assert.is_true(at.loop0 > at[real], real)
      end
    end
  end)
end)
