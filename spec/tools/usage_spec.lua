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

describe("a script without kstat.usage", function()
  local function script(...)
    return run.run({ "kstatlua", "-e", "for now in kstat.every(arg) do print(now.unix and 'tick') end", ... })
  end

  it("answers --help, behind operands as well", function()
    for _, words in ipairs({ { "--", "--help" }, { "--", "1", "1", "-h" } }) do
      local r = script((table.unpack or unpack)(words))
      assert.matches("^usage: [^ ]*kstatlua %[interval %[count%]%]\n$", r.out)
      assert.equal(0, r.status)
    end
  end)

  it("refuses operands and options in one line", function()
    for word, message in pairs({ junk = "'junk': there are no operands but interval and count",
      ["-x"] = "unknown option '-x'" }) do
      local r = script("--", word, "1", "1")
      assert.equal("kstatlua: " .. message, r.err:match("^(.*); usage: [^ ]*kstatlua %[interval %[count%]%]\n$"))
      assert.equal(2, r.status)
      assert.equal("", r.out)
    end
  end)

  it("may have operands of its own if it says so", function()
    local r = run.run({ "kstatlua", "-e", "kstat.usage(arg, 'disk [interval [count]]') " ..
      "for now in kstat.every(arg) do print(arg[1]) end", "sda", "1", "1" })
    assert.same({ out = "sda\n", err = "", status = 0 }, r)
  end)
end)

describe("options behind operands", function()
  local function same(program, one, other, env)
    local function out(words)
      local r = run.shell(("%s KSTAT_REPLAY_TIME=1 KSTAT_SOURCE=spec/vectors/kstat/host.jsonl %s/%s %s"):format(
        env or "", run.bin, program, words))
      return { r.out, r.status }
    end
    return out(one)[1] ~= "" and out(one)[1] == out(other)[1] and out(one)[2] == out(other)[2]
  end

  it("are the same in front for every tool", function()
    assert.is_true(same("kstat", "-p unix:0:system_misc", "unix:0:system_misc -p"))
    assert.is_true(same("kstatlua iostat", "-x 1 1", "1 1 -x"))
    assert.is_true(same("kstatlua vmstat", "-j 1 1", "1 1 -j"))
    assert.is_true(same("kstatlua devstat", "-x 1 1", "1 1 -x"))
  end)

  it("are operands behind -- and where POSIXLY_CORRECT is set", function()
    assert.is_false(same("kstatlua iostat", "-x 1 1", "1 1 -x", "POSIXLY_CORRECT=1"))
    assert.is_false(same("kstatlua iostat", "-x 1 1", "1 1 -- -x"))
    assert.is_false(same("kstatlua vmstat", "-j 1 1", "1 1 -j", "POSIXLY_CORRECT="))
  end)

  it("take what follows -T by its first letter", function()
    assert.is_true(same("kstatlua iostat", "-Td -xcnCX 2 2", "-xcnCXTdz 2 2"))
    assert.is_true(same("kstat", "-pT u unix:0:system_misc", "-pTux unix:0:system_misc"))
    assert.is_true(same("kstatlua vmstat", "-T u 1 1", "-Tunix 1 1"))
  end)
end)
