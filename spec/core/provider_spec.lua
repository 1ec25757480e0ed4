-- The kstats of one's own process, by way of spec/c/core_provider.c, provider_api.c and publish_arguments.c.
local lines = require("support.lines")
local run = require("support.run")

describe("a provider in C", function()
  it("creates, updates, writes, deletes and describes kstats as kstat_create(9F) says", function()
    local out = lines.run("core_provider", {})
    assert.are.equal(1, #out, table.concat(out, "\n"))
    local checks, failures = out[1]:match("^(%d+) checks, (%d+) failures$")
    assert.are.equal("0", failures)
    assert.is_true(tonumber(checks) > 100)
  end)
end)

describe("a provider's program", function()
  local directory

  setup(function()
    directory = run.directory()
  end)

  teardown(function()
    run.remove_directory(directory)
  end)

  it("gets from the public headers what they promise", function()
    local out = run.shell(("KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s %s/spec/provider_api %s/proc %s/sys"):format(
      directory, directory, directory, run.build, run.tree("small"), run.tree("small")))
    assert.are.equal("", out.err)
    local checks, failures = out.out:match("^(%d+) checks, (%d+) failures\n$")
    assert.are.equal("0", failures, out.out)
    assert.is_true(tonumber(checks) > 20)
  end)

  it("is told of NULL, of kstats of another kind and of those that are not published", function()
    local out = run.shell(("KSTAT_DIR=%s %s/spec/publish_arguments"):format(directory, run.build))
    assert.are.equal("", out.err)
    assert.is_nil(out.out:match("[^\n]*WRONG[^\n]*"))
    assert.are.equal("661 checks, 0 failures\n", out.out:match("[^\n]*\n$"), out.out:match("[^\n]*$"))
  end)
end)
