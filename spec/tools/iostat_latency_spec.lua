-- iostat --latency: queues that processes publish, with percentiles of each interval, live and replayed.
local cjson = require("cjson")
local run = require("support.run")

-- Publishes queues, one of them as a disk's would be called, records three samples between which it serves requests at
-- two speeds, runs a command and ends.
local PUBLISHER = [[
  local pub = assert(kstat.publish("shop"))
  local jobs, plain = assert(pub:io({ name = "jobs", latency = true })), assert(pub:io({ name = "plain" }))
  assert(pub:latency({ name = "plain,svc", unit = "bytes" })):add(512) -- no time
  assert(pub:io({ module = "sd", instance = 7799, name = "forged", class = "disk" }))
  local function serve(n, milliseconds)
    for _ = 1, n do
      jobs:finish(jobs:start(jobs:enter() - 2e6) - milliseconds * 1e6, "read", 1024)
    end
  end
  plain:runq_enter()
  plain:done("write", 512)
  local ks = assert(kstat.open({ everybody = true }))
  local recording = assert(require("kstat.recording").open(arg[1]))
  for _, milliseconds in ipairs({ 1, 100, 1 }) do
    serve(980, milliseconds)
    serve(20, 3 * milliseconds)
    ks:update()
    assert(recording:add(ks))
  end
  recording:close()
  os.execute(arg[2])
]]

describe("iostat --latency", function()
  local dir, live, lines

  setup(function()
    dir = run.directory()
    run.write_file(dir .. "/publisher.lua", PUBLISHER)
    local iostat = run.quote(run.bin .. "/kstatlua") .. " iostat "
    local command = ("(%s-x; echo; %s--latency; %s--latency -j jobs) > %s/out"):format(iostat, iostat, iostat, dir)
    local r = run.run({ "kstatlua", dir .. "/publisher.lua", dir .. "/rec", command, env = { KSTAT_DIR = dir } })
    assert.equal("", r.err)
    live = run.read_file(dir .. "/out")
    lines = {}
    for line in run.run({ "kstatlua", "-r", dir .. "/rec", "iostat", "--latency", "-j", "1" }).out:gmatch("[^\n]+") do
      local row = cjson.decode(line)
      lines[#lines + 1] = row.device == "shop:0:jobs" and row or nil
    end
  end)
  teardown(function() run.remove_directory(dir) end)

  local function near(want, got, share)
    assert.is_true(math.abs(got / want - 1) < (share or 0.012), ("%s is not about %s"):format(got, want))
  end

  it("shows p50 and p99 of published queues, and `-` of those that measure no request", function()
    local out = live:match("\n\n(.*)")
    local p50, p99 = out:match("\nshop:0:jobs [^\n]- ([%d.]+) +([%d.]+) *\n")
    near(1, tonumber(p50))
    near(100, tonumber(p99))
    assert.matches("\nshop:0:plain [^\n]- +%- +%- +%- +%- *\n", out)
    local row = cjson.decode(out:match("\n({[^\n]*\"shop:0:jobs\"[^\n]*})\n"))
    assert.equal("shop", row.publisher)
    near(2, row.w_p50)
    near(100, row.s_p99)
  end)

  it("shows those of each interval of a recording", function()
    assert.equal(3, #lines)
    for i, milliseconds in ipairs({ 1, 100, 1 }) do
      near(milliseconds, lines[i].s_p50)
      near(3 * milliseconds, lines[i].s_p99)
      near(2, lines[i].w_p99)
    end
  end)

  it("shows what is published, and nothing else", function()
    local machine, published = live:match("^(.-)\n\n(.*)$")
    assert.falsy(machine:find("shop", 1, true), machine)
    assert.truthy(machine:find("\nforged ", 1, true), machine) -- a disk of this user
    for name in published:gmatch("\n([%w]+:%d+:%S+)") do
      assert.matches("^shop:0:[jp]%a+$", name:gsub("^sd:7799:forged$", "shop:0:plain"))
    end
    assert.truthy(published:find("\nsd:7799:forged ", 1, true))
    for _, options in ipairs({ "-x", "-xn", "-e" }) do
      assert.falsy(run.run({ "kstatlua", "-r", dir .. "/rec", "iostat", options }).out:find("forged", 1, true))
    end
    local replayed = run.run({ "kstatlua", "-r", dir .. "/rec", "iostat", "--latency", "-j" }).out
    for device in replayed:gmatch('"device":"([^"]*)"') do
      assert.truthy(device == "sd:7799:forged" or device:find("^shop:0:"), device)
    end
  end)

  it("goes with no option of what only disks have", function()
    local r = run.run({ "kstatlua", "iostat", "--latency", "-xC" })
    assert.equal(2, r.status)
    assert.matches("^iostat: %-%-latency and %-C cannot be used together\n", r.err)
    r = run.run({ "kstatlua", "-r", dir .. "/rec", "iostat", "--latency", "nobody" })
    assert.equal(1, r.status)
    assert.matches("there is no device 'nobody'", r.err)
  end)
end)
