-- The services of kstatlua record: the units of systemd are right, and give the recorder what it needs and no more.
local run = require("support.run")
local unit = require("support.unit")
local UNIT = "packaging/kstat-record.service"
local host = run.bin .. "/kstatlua"

local function has(program)
  return run.shell("command -v " .. program).status == 0
end

describe("the service kstat-record", function()
  local dir

  before_each(function()
    dir = run.directory()
    run.shell("chmod 777 " .. dir)
  end)

  after_each(function()
    run.remove_directory(dir)
  end)

  it("allows each system call of the recorder", function()
    if not has("systemd-analyze") or not has("strace") or os.getenv("ASAN_OPTIONS") then
      pending("systemd-analyze or strace is not installed, or a sanitizer makes calls of its own")
      return
    end
    local allowed = unit.allowed_calls(UNIT)
    -- Old files are there, too, which it removes.
    local r = run.shell(("%s/spec/core_record_directory %s/rec 0 9 60 9000000 1000000 >/dev/null && " ..
      "strace -f -o %s/calls %s record --directory %s/rec 0.1 3"):format(run.build, dir, dir, host, dir))
    assert.same({ "", "", 0 }, { r.out, r.err, r.status })
    local calls = unit.calls(dir .. "/calls")
    for _, call in ipairs(calls) do
      assert.truthy(allowed[call], call)
    end
    assert.is_true(#calls > 500 and table.concat(calls, " "):find("unlink") ~= nil, #calls)
  end)

  it("sees with its two capabilities also what processes of other users read and wrote", function()
    local capabilities = "+dac_read_search,+sys_ptrace"
    local user = "setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all%s " ..
      "--inh-caps=-all%s --ambient-caps=-all%s "
    -- setpriv itself may still open what is root's alone; env may not.
    if run.shell(user:format("", "", "") .. "env " .. host .. " -e ''").status ~= 0 then
      pending("takes root, who becomes somebody else by setpriv, and a build that others can read")
      return
    end
    local sleeper = run.start("sleep 1000", dir .. "/out")
    finally(function() run.stop(sleeper) end)
    for given, classes in pairs({ ["," .. capabilities] = "process process_io ", [""] = "process " }) do
      local into = dir .. "/rec" .. #given
      local r = run.shell(user:format(given, given, given) .. ("env KSTAT_DIR=%s/kstat %s record --directory %s 0.01 2")
        :format(dir, host, into))
      assert.same({ "", 0 }, { r.err, r.status })
      assert.equal(classes, run.shell(("%s/kstat -p -r %s/* process:%s::class | cut -f 2 | tr '\\n' ' '"):format(
        run.bin, into, sleeper)).out)
    end
  end)
end)
