-- Files of kstats that are cut off at every byte, or of which every byte is changed: what lies before the damage is
-- shown as it is, nothing is invented, and one line says so. Of a small file of each format by
-- spec/c/core_everywhere.c, and at some places by commands. KSTAT_SOAK: also of larger ones, each byte in eight ways,
-- and at more places.
local run = require("support.run")

local soak = os.getenv("KSTAT_SOAK")
local ways = soak and 8 or 1
local linux = "spec/vectors/kstat/linux.rec"
local dir

-- Damages a file everywhere; returns what is wrong.
local function everywhere(mode, arguments)
  local r = run.shell(("cd %s; mkdir -p published; KSTAT_DIR=$PWD/published %s/spec/core_everywhere %s %s"):format(dir,
    run.build, mode, arguments))
  assert.matches("%d+ cuts, %d+ changes, 0 wrong\n$", r.out)
  assert.equal(0, r.status, r.err)
end

-- Makes a file in the directory; `line` is one of sh.
local function make(line)
  local r = run.shell(("cd %s; spec=%s/spec; host=%s/kstatlua; %s"):format(dir, run.build, run.bin, line))
  assert.equal("", r.err)
end

describe("damage anywhere", function()
  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  it("of a recording", function()
    make("$spec/core_recording write small 20 2")
    everywhere("past", "small copy " .. ways)
    if soak then
      make("$spec/core_recording write r 400 6") -- with keyframes of both kinds
      everywhere("past", "r copy")
      everywhere("past", os.getenv("PWD") .. "/" .. linux .. " copy")
    end
  end)

  it("of a capture, also a packed one", function()
    make("$spec/core_recording write r 4 " .. (soak and 12 or 3) .. "; $host convert r | tr -d '\t' >c; gzip -k c")
    everywhere("past", "c copy " .. ways)
    everywhere("past", "c.gz packed " .. ways)
  end)

  it("of a directory of recordings, and of the names in it", function()
    make("$spec/core_record_directory d 0 " .. (soak and 60 or 20) .. " 3600 9000000 100000")
    everywhere("past", "d copy " .. ways)
    everywhere("names", "d names")
  end)

  it("of a published segment", function()
    everywhere("segment", ways)
  end)

  it("is told by commands in one line, and by the status 3 unless it is but the end", function()
    local bytes = run.read_file(linux)
    local file, places = dir .. "/r", soak and 120 or 5
    for i = 1, 2 * places do
      local at, is_cut = math.floor(#bytes * i / (2 * places + 1)), i % 2 == 0
      local changed = string.char((bytes:byte(at + 1) + i) % 256)
      run.write_file(file, bytes:sub(1, at) .. (is_cut and "" or changed .. bytes:sub(at + 2)))
      for _, command in ipairs({ "kstat -r %s 1 9", "convert %s", "vmstat -r %s 1 9", "use -r %s 1 9",
        "diff %s %s" }) do
        command = command:gsub("%%s", file)
        local r = run.shell(("timeout 60 %s/kstatlua %s"):format(run.bin, command))
        local what = ("byte %d, %s: %s"):format(at, command, r.err)
        assert.matches("^%a+: [^\n]+\n$", r.err, what)
        -- A recording that ends inside a sample is whole but for that.
        assert.is_true(r.status == 3 or is_cut and r.status <= 1, what)
      end
    end
  end)
end)
