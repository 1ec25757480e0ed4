-- kstat.node_names, the names of node_exporter, over a small machine of files.
local run = require("support.run")

local SCRIPT = [[
local core = require("kstat.core")
local kstat = require("kstat")
local names = require("kstat.node_names")
local selectors = {}
for i, text in ipairs(names.selectors()) do
  selectors[i] = core.selector_of(text)
end
local ks = assert(kstat.open({ only = selectors }))
local exposition = assert(core.exposition(ks, names.names(), arg[1], true))
local function render()
  local w = core.metrics(arg[1])
  names.add_machine(w)
  print(w:text() .. exposition:step(true))
end
render()
if arg[2] then
  os.execute(arg[2])
  ks:update()
  exposition:again()
  render()
end
]]

describe("the names of node_exporter", function()
  local dir

  local function write(path, text)
    run.shell("mkdir -p " .. run.quote(dir .. "/" .. path:match("^(.*)/")))
    run.write_file(dir .. "/" .. path, text)
  end

  setup(function()
    dir = run.directory()
    write("proc/net/dev", "Inter-| Receive | Transmit\n face |bytes\n"
      .. "  eth0: 1000 10 1 2 3 4 5 6 2000 20 7 8 9 10 11 12\n")
    write("sys/class/net/eth0/speed", "1000\n")
    write("proc/vmstat", "pgfault 5\npgpgin 3\n")
    write("proc/self/mountinfo", '30 1 8:1 / /mnt/a"\\134\255\\012b rw - ext4 /dev/sd\254 rw\n')
  end)
  teardown(function() run.remove_directory(dir) end)

  -- The exposition, and another one after a command.
  local function render(format, command)
    local r = run.run({ "kstatlua", "-e", SCRIPT, format, command,
      env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys", KSTAT_DIR = dir } })
    assert.equal("", r.err)
    return r.out
  end

  local function has(text, line)
    assert.truthy(("\n" .. text):find("\n" .. line .. "\n", 1, true), line .. "\n\n" .. text)
  end

  it("have its units and types, in both formats", function()
    local classic, open = render("prometheus"), render("openmetrics")
    for _, text in ipairs({ classic, open }) do
      has(text, 'node_network_speed_bytes{device="eth0"} 125000000')
      has(text, 'node_network_receive_bytes_total{device="eth0"} 1000')
      has(text, "node_vmstat_pgfault 5")
    end
    has(classic, "# TYPE node_network_receive_bytes_total counter")
    has(open, "# TYPE node_network_receive_bytes counter")
    has(classic, "# TYPE node_vmstat_pgfault untyped")
    has(open, "# TYPE node_vmstat_pgfault unknown")
  end)

  it("are text for Prometheus, whatever file systems are called", function()
    has(render("prometheus"),
      [[node_filesystem_readonly{device="/dev/sd?",fstype="ext4",mountpoint="/mnt/a\"\\??b"} 0]])
  end)

  it("are of one type each: the first that has a name keeps it", function()
    local r = run.run({ "kstatlua", "-e", [[
      local core = require("kstat.core")
      local names = {}
      for i, kind in ipairs({ "counter", "gauge" }) do
        names[i] = { selector = core.selector_of("unix:0:vm_events"), labels = {},
          names = { "node_faults", "pgfault", 1, "", kind } }
      end
      local ks = assert(kstat.open())
      io.write(assert(core.exposition(ks, core.metric_names(names), "openmetrics")):step(true))
    ]], env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir .. "/sys", KSTAT_DIR = dir } })
    assert.equal("", r.err)
    assert.equal("node_faults_total 5\n", r.out:gsub("#[^\n]*\n", ""), r.out)
  end)

  it("are those of what there is now", function()
    local text = render("prometheus", "sed -i s/eth0/eth1/ " .. dir .. "/proc/net/dev")
    local first, second = text:match("^(.-\n)(# TYPE node_uname_info.*)$", 2)
    has(first, 'node_network_receive_bytes_total{device="eth0"} 1000')
    has(second, 'node_network_receive_bytes_total{device="eth1"} 1000')
    assert.falsy(first:find("eth1", 1, true) or second:find("eth0", 1, true))
    assert.falsy(second:find("node_network_speed_bytes", 1, true)) -- nor the head of a family without samples
  end)
end)
