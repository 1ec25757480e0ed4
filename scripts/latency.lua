--- latency: counts in the kernel, by BPF, how long disks, CPUs, connections and children take; root starts it.
-- It publishes kstats of the modules latency and exits until it ends; see doc/latency.md. Exit status: 0, 2 the command
-- line was wrong, 3 the kernel does not let it, or another one runs. SPDX-License-Identifier: MIT
local kstat = require("kstat")
local contents = require("kstat.base.environment").contents
local interval = require("kstat.base.options.interval")
local operand = require("kstat.command.operand")
local options = require("kstat.base.options")
local publisher = require("kstat.latency.publisher")
local running = require("kstat.base.running")

local USAGE = [=[
usage: kstatlua latency [--groups] [disk] [cpu] [connect] [exits] [interval [count]]

  --groups    the run queue also by control group
  -h, --help  this

Counts in the kernel, until it is interrupted, and publishes every interval seconds (1), count times:
  disk        how long requests waited for a disk and were served, by disk and kind of request
  cpu         how long tasks waited for a CPU
  connect     how long TCP connections took to come about, or to fail
  exits       which processes ended, by command and parent, how long they lived and what CPU time they had
Without any of these, all. It takes root, or CAP_BPF and CAP_PERFMON.
Read it with:  kstat -p latency::, kstat -a 'p99(buckets)' -m latency, iostat -x --latency
]=]

local OPTIONS = options.command({ { nil, "groups" }, { "h", "help", final = true } })
local stop = running.stop

local wrong = running.refusal("kstatlua latency --help")

--- Returns what is counted as a set, the interval and the count.
local function read_arguments(words)
  local given, operands, seconds, count = operand.command_line(OPTIONS, words, USAGE, wrong)
  local known, wanted = {}, {}
  for _, area in ipairs(publisher.areas) do
    known[area], wanted[area] = true, #operands == 0
  end
  for _, word in ipairs(operands) do
    if not known[word] then
      wrong(("there is no '%s' to count: it is disk, cpu, connect or exits"):format(word))
    end
    wanted[word] = true
  end
  if given.groups and not wanted.cpu then
    wrong("--groups is about cpu")
  end
  wanted.groups = given.groups
  return wanted, seconds or 1, count
end

-- Ends the command unless it has the capabilities: what the kernel answers without them says less.
local function check_capabilities()
  local effective = tonumber((contents("/proc/self/status") or ""):match("CapEff:%s*(%x+)") or "ffffffffffffffff", 16)
  local function has(bit)
    return effective >> bit & 1 == 1
  end
  local is_admin, lacks = has(21), {}
  for bit, name in pairs({ [38] = "CAP_PERFMON", [39] = "CAP_BPF" }) do
    lacks[#lacks + 1] = not is_admin and not has(bit) and name or nil
  end
  table.sort(lacks)
  if lacks[1] then
    stop(3, ("no %s: root may do this, or the service kstat-latency"):format(table.concat(lacks, " and no ")))
  end
end

local function load_module()
  local ok, bpf = pcall(require, "kstat.bpf")
  if not ok then
    stop(3, "the module kstat.bpf cannot be loaded; it is built where clang and libbpf are (Debian: the package "
      .. "kstat-latency has it)")
  end
  return bpf
end

local function main()
  local wanted, seconds, count = read_arguments(arg)
  check_capabilities()
  local bpf = load_module()
  local pub, message, errname = kstat.publish("latency", { capacity = 2 ^ 28 })
  if not pub then
    stop(3, errname == "EBUSY" and "another one runs: 'kstat -p latency:0:latency' is its" or message)
  end
  local published = publisher.open(bpf, pub, wanted, interval.seconds(seconds), kstat.hrtime())
  local nothing = kstat.open({ machine = true, only = { class = "misc", module = "latency" } })
  for _ in kstat.every(seconds, count, { chain = nothing }) do
    published:copy(kstat.hrtime())
  end
  published.programs:close()
  pub:close()
  return 0
end

return running.run("latency", main)
