-- Options of others on our commands: each works, or one line says what to type.
local run = require("support.run")

local others = dofile("lua/kstat/base/options/others.lua")

local tree = run.tree_env("small")

local ARGUMENTS = { N = "1", SECONDS = "0.01", COLUMN = "%MEM", USER = "root", ALL = "ALL", JSON = "JSON" }

-- Runs `kstatlua` with these words on a recorded machine.
local function ran(words)
  local command = { "kstatlua", env = tree }
  for word in words:gmatch("%S+") do
    command[#command + 1] = word
  end
  return run.run(command)
end

describe("an option of others", function()
  it("works, or is answered with what to type", function()
    local count = 0
    for name, letters in pairs(others) do
      for letter, other in pairs(letters) do
        count = count + 1
        local words = ("%s -%s"):format(name == "top" and "top -b" or name, letter)
        if type(other) == "string" then
          local r = ran(words)
          assert.equal(2, r.status, words)
          assert.equal(("%s: there is no option '-%s'; %s"):format(name, letter, other), r.err:match("^[^\n]-" ..
            other:gsub("%p", "%%%0")), words)
          for line in other:gmatch("'([^']+)'") do
            local r2 = run.shell(("%s PATH=%s:$PATH; %s%s"):format("export " .. run.tree_words("small"), run.bin,
              line:gsub("PID", "1"), line:find("^kstatlua") and " 0.01 1" or ""))
            assert.is_true(r2.status <= 1, line .. ": " .. r2.err)
          end
        elseif other.alone then
          assert.same({ "", 0 }, { ran(words).err, ran(words).status }, words)
        elseif other.name then
          local r = ran(words .. (other.arg and " " .. ARGUMENTS[other.arg] or "") .. " 0.01 1")
          assert.same({ "", 0 }, { r.err, r.status }, words)
        end
      end
    end
    assert.is_true(count >= 40, count)
  end)

  it("means on top what it means there", function()
    local r = ran("top -b -n 2 -d 0.01 -o %MEM")
    assert.equal(2, select(2, r.out:gsub("PROCESS +PID", "")))
    assert.same({ "", 0 }, { ran("top -bn1").err, ran("top -bn1").status })
  end)

  it("of which the letter is ours keeps our meaning, and the line says so", function()
    for words, line in pairs({
      ["vmstat -S M 0.01 1"] = "vmstat: -S: swap-ins and swap-outs, as on Solaris; sizes are in kilobytes; ",
      ["iostat -x -p ALL"] = "iostat: -p shows the partitions of all disks, and takes no name\n",
      ["vmstat -SM"] = "vmstat: -S: swap-ins and swap-outs, as on Solaris; sizes are in kilobytes; ",
      ["top -u nosuch"] = "top: -u: there is no user 'nosuch'; ",
      ["mpstat -P 0"] = "mpstat: -P takes ALL, not '0'; 'kstat cpu_stat:0' shows one CPU; ",
      ["top -n x"] = "top: -n takes a number, not 'x'; ",
      ["top -b -d 0"] = "top: interval '0': seconds above 0 ",
    }) do
      local r = ran(words)
      assert.equal(2, r.status, words)
      assert.equal(line, r.err:sub(1, #line))
    end
    assert.equal("", ran("iostat -xm").err)
    for _, words in ipairs({ "listen -tlnp", "listen -plnt" }) do
      assert.same({ "", 0 }, { ran(words).err, ran(words).status }, words)
    end
    assert.truthy(ran("prstat aux 0.01 1").err:find("; 'kstatlua prstat -A' shows all, with command lines\n", 1, true))
    local r = run.shell(("script -qec '%s %s/kstatlua iostat -xm' /dev/null </dev/null"):format(run.tree_words("small"),
      run.bin))
    assert.truthy(r.status ~= 0 or
      r.out:find("iostat: -m: mount points, as on Solaris; megabytes are -M\r\n", 1, true), r.out)
  end)
end)
