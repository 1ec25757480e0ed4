-- What kstat -o prometheus and openmetrics write, for readers that others wrote.
local readers = require("support.readers")
local run = require("support.run")

local illumos = "spec/vectors/kstat/host.jsonl"

describe("an exposition of all there is", function()
  -- Both formats of the command's environment.
  local function check(env, what)
    local classic = run.run({ "kstat", "-o", "prometheus", env = env })
    assert.same({ 0, "" }, { classic.status, classic.err })
    readers.check_classic("\n" .. classic.out, what)
    local open = run.run({ "kstat", "-o", "openmetrics", env = env })
    assert.same({ 0, "" }, { open.status, open.err })
    assert.equal("# EOF\n", open.out:sub(-6))
    readers.check_open(open.out, what)
  end

  it("is accepted by others' readers: this machine, recorded machines, illumos", function()
    if not (readers.has_reader and readers.has_promtool) then
      return pending("python3-prometheus-client or promtool (Debian: prometheus) is not here")
    end
    check({}, "live")
    check({ KSTAT_SOURCE = illumos }, illumos)
    for _, tree in ipairs({ "small", "hardware", "fs", "storage", "cgroup-v2" }) do
      check(run.tree_env(tree), tree)
    end
  end)
end)
