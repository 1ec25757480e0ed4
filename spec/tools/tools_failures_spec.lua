-- What no tool can help: a damaged recording, a full or closed standard output, a reader that goes away.
local run = require("support.run")

local illumos = "spec/vectors/kstat/host.jsonl"
-- But prstat and listen, which end at once: that capture has neither processes nor listening sockets.
local REPORTS = { "vmstat", "mpstat", "nicstat", "intrstat", "arcstat", "fsstat", "prtop", "top", "use",
  "examples/cpu_usage.lua" }
local EMPTY = { fsstat = true, prtop = true } -- on that capture
local OTHERS = { "iostat", "devstat" } -- without data formats
-- No reports, or none of that capture.
local OTHERWISE = { convert = true, diff = true, exporter = true, kstat = true, latency = true, listen = true,
  prstat = true, record = true }
local FORMS = { "", "-j", "--csv" }

local bad, whole -- recordings

-- Six samples, of which the fifth is damaged.
local function make_recordings()
  bad, whole = os.tmpname(), os.tmpname()
  os.remove(whole)
  local text = run.read_file(illumos)
  local six = os.tmpname()
  run.write_file(six, text .. text)
  local r = run.run({ "kstatlua", "convert", "-o", whole, six })
  os.remove(six)
  assert.equal("", r.err)
  local bytes = run.read_file(whole)
  local at = math.floor(#bytes * 0.97)
  run.write_file(bad, bytes:sub(1, at - 1) .. string.char((bytes:byte(at) + 1) % 256) .. bytes:sub(at + 1))
end

local function line(name, form, rest)
  return ("%s/kstatlua %s %s %s"):format(run.bin, name, form, rest)
end

local function each(f)
  for _, name in ipairs(REPORTS) do
    for _, form in ipairs(FORMS) do
      f(name, name:find("^examples/") and "" or form)
    end
  end
  for _, name in ipairs(OTHERS) do
    f(name, "")
  end
end

-- The one line that is allowed to be on standard error; arcstat may say that there is no ZFS.
local function only_line(text)
  return (text:gsub("^arcstat: there is no zfs:0:arcstats[^\n]*\n", ""))
end

describe("every tool", function()
  setup(make_recordings)
  teardown(function()
    os.remove(bad)
    os.remove(whole)
  end)

  it("is in the lists of this file", function()
    local known = setmetatable({}, { __index = OTHERWISE })
    each(function(name) known[name] = true end)
    for name in run.shell("ls scripts").out:gmatch("([^\n]+)%.lua\n") do
      assert.is_true(known[name] or false, name .. " is in no list of spec/tools/tools_failures_spec.lua: REPORTS, " ..
        "and EMPTY if a capture of illumos has nothing for it (it has `optional = true` then)")
    end
  end)

  it("shows what comes before the damage of a recording, says so in one line and exits 3", function()
    each(function(name, form)
      local r = run.shell(("TZ=UTC KSTAT_SOURCE=%s %s"):format(bad, line(name, form, "5")))
      local what = name .. " " .. form
      assert.matches("^[^\n]+: damaged at byte %d+, after %d+ whole samples?\n$", only_line(r.err), what)
      assert.equal(3, r.status, what)
      local good = run.shell(("TZ=UTC KSTAT_SOURCE=%s %s"):format(whole, line(name, form, "5")))
      assert.is_true(#r.out < #good.out or EMPTY[name], what)
      assert.equal(good.out:sub(1, #r.out), r.out, what)
    end)
  end)

  it("says in one line that the output is full, or closed, and exits 3", function()
    each(function(name, form)
      for target, why in pairs({ [">/dev/full"] = "No space left on device", [">&-"] = "Bad file descriptor" }) do
        -- Some have nothing to show: they cannot fail.
        local shows = #run.shell(("KSTAT_SOURCE=%s %s"):format(illumos, line(name, form, "5 2"))).out > 0
        local r = run.shell(("KSTAT_SOURCE=%s %s %s"):format(illumos, line(name, form, "5 2"), target))
        local what = name .. " " .. form .. " " .. target
        if shows then
          assert.matches("^[%w_/.]+: standard output: " .. why .. "\n$", only_line(r.err), what)
          assert.equal(3, r.status, what)
        end
      end
    end)
  end)

  it("says it of JSON that convert writes, too", function()
    local r = run.shell(("%s/kstatlua convert %s >/dev/full"):format(run.bin, illumos))
    assert.equal("convert: standard output: No space left on device\n", r.err)
    assert.equal(3, r.status)
  end)

  it("ends silently when its reader goes away", function()
    each(function(name, form)
      local status = os.tmpname()
      local r = run.shell(("(KSTAT_SOURCE=%s %s; echo $? >%s) | true"):format(illumos, line(name, form, "5"), status))
      assert.equal("", only_line(r.err), name)
      assert.equal("0\n", run.read_file(status), name)
      os.remove(status)
    end)
  end)

  it("that is interrupted outside of its loop is broken off silently", function()
    local tools = { "convert FILE", "convert -o OUT FILE", "-r FILE record -o OUT 5 1", "-r FILE iostat -x 5 1",
      "-r FILE devstat 5 1", "-r FILE vmstat 5 1", "-r FILE kstat unix:0:system_misc 5 1",
      "-r FILE kstat --rate unix:0:system_misc 5 1" }
    local chunk = run.quote("local core, words = require('kstat.core'), {} " ..
      "for word in os.getenv('WORDS'):gmatch('%S+') do words[#words + 1] = word end " ..
      "arg = { [0] = table.remove(words, 1), table.unpack(words) } " ..
      "core.chain_methods.damaged = function() " ..
      "io.popen('kill -INT ' .. os.getenv('SELF')):close() print('not reached') end " ..
      "local result = dofile('scripts/' .. arg[0] .. '.lua') if type(result) == 'table' then result:run(arg) end")
    for _, words in ipairs(tools) do
      local out = os.tmpname()
      os.remove(out)
      local source, name = words:match("^(%-r FILE )(.*)")
      local r = run.shell(("TZ=UTC %s WORDS=%s sh -c 'SELF=$$ exec %s/kstatlua -e \"$0\"' %s"):format(
        source and "KSTAT_SOURCE=" .. whole or "",
        run.quote(((name or words):gsub("FILE", whole):gsub("OUT", out))), run.bin, chunk))
      os.remove(out)
      assert.equal("", r.err, words)
      assert.equal(130, r.status, words)
      assert.is_nil(r.out:find("not reached", 1, true), words)
    end
  end)
end)
