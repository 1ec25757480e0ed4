-- Names that fall together with the machine's: as modules, families of metrics, keys and paths.
local exporter = require("support.exporter")
local run = require("support.run")

local root = run.shell("id -u").out == "0\n" and run.shell("setpriv --version").status == 0
local stranger = "setpriv --reuid=65534 --regid=65534 --clear-groups "

-- Each is `cpu`, `unix`, `fs` or the driver of a disk to somebody: case, blanks, what is no letter, other alphabets, an
-- accent of its own or in the letter, what has no width.
local SPELLINGS = { "CPU", "UNIX", "FS", "Sd", "CCISS", "Nvme", "mmcblk_", " cpu", "cpu ", "-cpu", "cpu.", "\209\129pu",
  "\239\189\131pu", "cp\195\186", "cpu\204\129", "c\226\128\139pu", "ZFS/tank", "ᴄᴘᴜ", "𝐜𝐩𝐮", "c\225\185\149u",
  "ᶜᵖᵘ", "ⓒⓟⓤ", "ᏟᏢU", "ꮯꮲu" }

local PUBLISHER = [[
local kstat = require("kstat")
local pub = assert(kstat.publish("alike"))
for i = 1, #arg, 2 do
  assert(pub:named({ module = arg[i], name = "forged", statistics = {
    { name = arg[i + 1], kind = "counter", unit = arg[i + 1]:find("nsec") and "ns", value = 987654321 } } }))
end
print("ready")
io.stdout:flush()
for _ in kstat.every(600, { source = { only = "unix:0:system_misc" } }) do end]]

describe("names that fall together with the machine's", function()
  local dir, pids

  before_each(function()
    dir, pids = run.directory(), {}
    run.shell(("chmod 755 %s; mkdir -m 1777 %s/seg; cp %s/kstatlua %s"):format(dir, dir, run.bin, dir))
    run.write_file(dir .. "/publish.lua", PUBLISHER)
  end)
  after_each(function()
    for _, pid in ipairs(pids) do
      run.stop(pid, "KILL")
    end
    run.remove_directory(dir)
  end)

  local function publish(prefix, names)
    local words = {}
    for i, name in ipairs(names) do
      words[i] = "'" .. name .. "'"
    end
    pids[#pids + 1] = run.start(("env KSTAT_DIR=%s/seg %s %s/kstatlua %s/publish.lua %s"):format(dir, prefix, dir, dir,
      table.concat(words, " ")), dir .. "/out")
    run.await("the publisher", function() return run.read_file(dir .. "/out"):find("ready") end)
  end

  local function say(command)
    return run.shell(("export %s KSTAT_DIR=%s/seg; %s/%s"):format(run.tree_words("small"), dir, run.bin, command))
  end

  -- The samples of the machine in an exposition, without values that pass with time.
  local function machines(text)
    local lines = {}
    for line in ("\n" .. text):gmatch("\n(kstat_[^\n]*)") do
      if not line:find("publisher=", 1, true) and not line:find("^kstat_scrape") then
        lines[#lines + 1] = line:match("^[^}]*")
      end
    end
    return lines
  end

  it("are no module of a stranger, by any way out", function()
    if not root then
      return pending("takes root, who becomes somebody else by setpriv")
    end
    local names = { "shop", "jobs" }
    for _, name in ipairs(SPELLINGS) do
      names[#names + 1], names[#names + 2] = name, "nsec_user"
    end
    publish(stranger, names)
    say(("kstatlua record -o %s/rec '*' 0.01 1; %s/kstat -j > %s/json"):format(dir, run.bin, dir))
    for _, command in ipairs({ "kstat -p", "kstat -j", "kstat -o prometheus", "kstat -o openmetrics",
      "kstat -p -r %s/json" }) do
      local r = say(command:format(dir))
      assert.equal(1, select(2, r.out:gsub("987654321", "")), command)
      assert.truthy(r.out:find("shop", 1, true), command)
    end
    assert.falsy(say(("kstat -p -r %s/rec"):format(dir)).out:find("987654321", 1, true)) -- nothing of strangers
    if exporter.is_built then
      local server = exporter.start(dir .. "/seg", "", "env " .. run.tree_words("small"))
      pids[#pids + 1] = server.pid
      for _, path in ipairs({ "metrics", "metrics?select=:::", "kstat.json", "kstat/kstat.json?select=:::" }) do
        local text = run.shell(("curl -s '127.0.0.1:%s/%s'"):format(server.port, path)).out
        assert.equal(1, select(2, text:gsub("987654321", "")), path)
      end
    end
    assert.matches("^kstat: user 65534 publishes under '[^']+', a module of the machine: such kstats are not shown\n$",
      say("kstat -p '/^(shop|CPU|UNIX)$/'").err)
  end)

  it("have no sample in a family of the machine, whose names stay", function()
    local before = say("kstat -o prometheus").out
    publish("", { "cpu_cpu", "nsec_user", "unix_avenrun", "1min", "CPU", "cpu_nsec_user", "cpu_", "cpu_nsec_user",
      "cpu", "cpu_nsec_user" })
    local after = say("kstat -o prometheus").out
    assert.same(machines(before), machines(after))
    local families = {}
    for name in ("\n" .. before):gmatch("\n(kstat_[%w_]*)") do
      families[name] = true
    end
    local n = 0
    for name in ("\n" .. after):gmatch('\n(kstat_[%w_]*)[^\n]*publisher="alike"') do
      n = n + 1
      assert.is_nil(families[name], name)
    end
    assert.equal(5, n)
    assert.matches('\nkstat_cpu_cpu_nsec_user_2_seconds_total{module="cpu_cpu"', after)
  end)

  it("lose the name of a family that the machine has later", function()
    if not exporter.is_built then
      return pending("is not built here: libmicrohttpd is not installed")
    end
    run.shell(("cp -r %s %s/tree; sed -i '/^oom_kill/d' %s/tree/proc/vmstat"):format(run.tree("small"), dir, dir))
    publish("", { "unix_oom", "kill" })
    local server = exporter.start(dir .. "/seg", "", ("env KSTAT_PROC=%s/tree/proc KSTAT_SYS=%s/tree/sys"):format(dir,
      dir))
    pids[#pids + 1] = server.pid
    local function families()
      local text = run.shell("curl -s 127.0.0.1:" .. server.port .. "/metrics").out
      return text:match('\n(kstat_unix_oom_kill[%w_]*){[^\n]*publisher="alike"'),
        text:match('\n(kstat_unix_oom_kill[%w_]*){module="unix"')
    end
    assert.same({ "kstat_unix_oom_kill_total" }, { families() })
    run.shell(("echo 'oom_kill 3' >> %s/tree/proc/vmstat"):format(dir))
    for _ = 1, 3 do
      assert.same({ "kstat_unix_oom_kill_2_total", "kstat_unix_oom_kill_total" }, { families() })
    end
  end)
end)
