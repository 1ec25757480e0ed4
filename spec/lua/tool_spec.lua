-- How tools end: kstat.tool.
local run = require("support.run")
local tool = require("kstat.tool")

describe("tool.run", function()
  it("returns the status of the body, or the one that it stops with", function()
    assert.equal(0, tool.run("x", function() return 0 end))
    assert.equal(2, tool.run("x", function() tool.stop(2) end))
  end)

  it("tells in one line why the body stops, and shows where a mistake is", function()
    local function told(body)
      return run.shell(([[%s -e %s]]):format(run.lua, run.quote(("package.path, package.cpath = %q, %q " ..
        "local tool, core = require('kstat.tool'), require('kstat.core') " ..
        "os.exit(tool.run('x', function() %s end))"):format(package.path, package.cpath, body))))
    end
    assert.same({ out = "", err = "x: no such thing\n", status = 2 }, told("tool.stop(2, 'no such thing')"))
    assert.same({ out = "help\n", err = "", status = 0 }, told("tool.show('help\\n')"))
    assert.same({ out = "", err = "usage\n", status = 2 }, told("tool.stop(2, nil, 'usage\\n')"))
    assert.same({ out = "", err = "x: the disk is full\n", status = 3 }, told("core.fail('the disk is full')"))
    assert.equal("x: a\nx: a\n", told("tool.warn('a') tool.warn('a') " ..
      "tool.warn_again(require('kstat').open({ only = 'unix' })) tool.warn('a') return 0").err)
    local mistake = told("error('mistake')")
    assert.matches("^x: [^\n]*mistake\nstack traceback:\n", mistake.err)
    assert.equal(3, mistake.status)
  end)

  it("leaves errors that are none of a tool to its caller", function()
    for _, value in ipairs({ io.stdout, {}, true }) do
      local ok, problem = pcall(tool.run, "x", function() error(value) end)
      assert.is_false(ok)
      assert.equal(value, problem)
    end
  end)
end)
