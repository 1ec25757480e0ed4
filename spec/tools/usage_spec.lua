-- Whatever is run can be asked what it takes, and says when it is given something else.
local run = require("support.run")

describe("every script", function()
  local paths = {}
  for path in run.shell("ls scripts/*.lua examples/*.lua").out:gmatch("[^\n]+") do
    paths[#paths + 1] = path
  end

  it("is here", function() assert.is_true(#paths >= 24) end)

  for _, path in ipairs(paths) do
    it(path .. " explains itself on standard output", function()
      local r = run.run({ "kstatlua", path, "--help" })
      assert.equal("", r.err)
      assert.equal(0, r.status)
      assert.matches("^[Uu]sage: [^\n]+\n", r.out)
    end)

    it(path .. " names an option that it does not have, in one line", function()
      local r = run.run({ "kstatlua", path, "--frobnicate" })
      assert.equal(2, r.status)
      assert.equal("", r.out)
      -- The usage of illumos's iostat follows in a line of its own, there as here.
      local err = path == "scripts/iostat.lua" and r.err:gsub("\nusage: [^\n]*\n$", "\n") or r.err
      assert.matches("^[%w_]+: unknown option '%-%-frobnicate'[^\n]*\n$", err)
    end)
  end
end)
