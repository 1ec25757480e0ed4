-- How commands end: kstat.base.running.
local run = require("support.run")
local running = require("kstat.base.running")

describe("running.run", function()
  it("returns the status of the body, or the one that it stops with", function()
    assert.equal(0, running.run("x", function() return 0 end))
    assert.equal(2, running.run("x", function() running.stop(2) end))
  end)

  it("tells in one line why the body stops, and shows where a mistake is", function()
    local function told(body)
      return run.shell(([[%s -e %s]]):format(run.lua, run.quote(("package.path, package.cpath = %q, %q " ..
        "local running, core = require('kstat.base.running'), require('kstat.core') " ..
        "os.exit(running.run('x', function() %s end))"):format(package.path, package.cpath, body))))
    end
    assert.same({ out = "", err = "x: no such thing\n", status = 2 }, told("running.stop(2, 'no such thing')"))
    assert.same({ out = "help\n", err = "", status = 0 }, told("running.show('help\\n')"))
    assert.same({ out = "", err = "usage\n", status = 2 }, told("running.stop(2, nil, 'usage\\n')"))
    assert.same({ out = "", err = "x: the disk is full\n", status = 3 }, told("core.fail('the disk is full')"))
    assert.equal("x: a\nx: a\n", told("running.warn('a') running.warn('a') " ..
      "running.warn_again(require('kstat').open({ only = 'unix' })) running.warn('a') return 0").err)
    local mistake = told("error('mistake')")
    assert.matches("^x: [^\n]*mistake\nstack traceback:\n", mistake.err)
    assert.equal(3, mistake.status)
  end)

  it("leaves errors that are none of a command to its caller", function()
    for _, value in ipairs({ io.stdout, {}, true }) do
      local ok, problem = pcall(running.run, "x", function() error(value) end)
      assert.is_false(ok)
      assert.equal(value, problem)
    end
  end)
end)
