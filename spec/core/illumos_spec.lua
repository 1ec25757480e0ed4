-- The records of illumos, as a program in C sees them by way of spec/c/illumos_records.c: complete, in illumos's
-- order and with its types. The facts are in spec/vectors/illumos.
local cjson = require("cjson")
local run = require("support.run")

local records = cjson.decode(run.read_file("spec/vectors/illumos/records.json"))
local tree = run.tree_words("small") .. " "

--- What the program sees: a table of kstats by module:instance:name, each { class =, stats = { { name =, type =,
-- hidden =, value = }, ... }, by_name = }, of cpu_stat { sysfork =, pgpgin = }.
local function seen(environment)
  local r = run.shell(environment .. " " .. run.build .. "/spec/illumos_records")
  assert.equal("", r.err)
  assert.equal(0, r.status)
  local kstats, k = {}, nil
  for line in r.out:gmatch("[^\n]+") do
    local id, class = line:match("^kstat\t([^\t]*)\t([^\t]*)\t%d+$")
    if id then
      k = { class = class, stats = {}, by_name = {} }
      kstats[id] = k
    elseif line:find("^raw") then
      local raw_id, sysfork, pgpgin = line:match("^raw\t([^\t]*)\t(%d+)\t(%d+)$")
      kstats[raw_id] = { sysfork = sysfork, pgpgin = pgpgin }
    else
      local kind, name, state, value = line:match("^stat\t([^\t]*)\t([^\t]*)\t(%l+)\t(.*)$")
      if name then -- and there is no tab or newline in it
        local s = { name = name, type = kind, hidden = state == "hidden", value = value }
        k.stats[#k.stats + 1] = s
        k.by_name[name] = k.by_name[name] or s
      end
    end
  end
  return kstats
end

--- A kstat begins with the statistics of a record of illumos.
local function assert_record(record, kstat)
  local found = {}
  for i in ipairs(records[record]) do
    local s = kstat.stats[i]
    found[i] = s and { s.name, s.type }
  end
  assert.same(records[record], found, record)
end

describe("a program in C", function()
  local kstats

  setup(function()
    kstats = seen(tree)
  end)

  local of = {
    ["unix:kstat_types"] = "unix:0:kstat_types", ["unix:system_misc"] = "unix:0:system_misc",
    ["unix:system_pages"] = "unix:0:system_pages", ["cpu:sys"] = "cpu:1:sys", ["cpu:vm"] = "cpu:0:vm",
    ["cpu_info:cpu_info"] = "cpu_info:0:cpu_info0", ["unix:<kmem_cache>"] = "unix:0:dentry",
    ["sderr:<disk>"] = "sderr:0:sda,err", ["link:<link>"] = "link:0:eth0", ["ip:ip"] = "ip:0:ip",
    ["ip:icmp"] = "ip:0:icmp", ["tcp:tcp"] = "tcp:0:tcp", ["udp:udp"] = "udp:0:udp",
    ["unix:dnlcstats"] = "unix:0:dnlcstats", ["unix:biostats"] = "unix:0:biostats",
  }
  for record, id in pairs(of) do
    it("finds the statistics of " .. record .. " where illumos has them, with their types", function()
      assert_record(record, kstats[id])
    end)
  end

  it("finds 0 where Linux counts nothing, and is told so", function()
    local syscall = kstats["cpu:0:sys"].by_name.syscall
    assert.same({ "0", true }, { syscall.value, syscall.hidden })
    assert.is_false(kstats["cpu:0:sys"].by_name.cpu_ticks_user.hidden)
  end)

  it("finds what Linux counts for the machine alone in the first CPU, and so in the sum over the CPUs", function()
    assert.same({ "1000", "0" },
      { kstats["cpu:0:vm"].by_name.pgpgin.value, kstats["cpu:1:vm"].by_name.pgpgin.value })
    assert.same({ "4321", true },
      { kstats["cpu:0:sys"].by_name.sysfork.value, kstats["cpu:0:sys"].by_name.sysfork.hidden })
    assert.same({ sysfork = "4321", pgpgin = "1000" }, kstats["cpu_stat:0:cpu_stat0"])
    assert.same({ sysfork = "0", pgpgin = "0" }, kstats["cpu_stat:1:cpu_stat1"])
  end)

  it("finds an empty text, and no null pointer, where Linux has none, and illumos's word where it has one", function()
    assert.same({ name = "brand", type = "STRING", hidden = true, value = "" },
      kstats["cpu_info:2:cpu_info2"].by_name.brand)
    assert.same({ name = "socket_type", type = "STRING", hidden = true, value = "Unknown" },
      kstats["cpu_info:0:cpu_info0"].by_name.socket_type)
  end)
end)

describe("a program in C", function()
  local trees = { hardware = { ["lgrp:lgrp"] = "lgrp:0:lgrp0" }, fs = {
    ["nfs:rfsreqcnt_v2"] = "nfs:0:rfsreqcnt_v2", ["nfs:rfsreqcnt_v3"] = "nfs:0:rfsreqcnt_v3",
    ["nfs:rfsreqcnt_v4"] = "nfs:0:rfsreqcnt_v4", ["nfs:rfsproccnt_v2"] = "nfs:0:rfsproccnt_v2",
    ["nfs:rfsproccnt_v3"] = "nfs:0:rfsproccnt_v3", ["nfs:rfsproccnt_v4"] = "nfs:0:rfsproccnt_v4",
    ["unix:rpc_client"] = "unix:0:rpc_client", ["unix:rpc_server"] = "unix:0:rpc_server",
  } }
  for name, of in pairs(trees) do
    it("finds the records of illumos that the tree " .. name .. " has", function()
      local kstats = seen(run.tree_words(name))
      for record, id in pairs(of) do
        assert_record(record, kstats[id])
      end
    end)
  end
end)

describe("a program in C that reads a capture of illumos", function()
  local kstats

  setup(function()
    kstats = seen("KSTAT_SOURCE=spec/vectors/kstat/host.jsonl")
  end)

  local of = {
    ["unix:system_misc"] = "unix:0:system_misc", ["unix:system_pages"] = "unix:0:system_pages",
    ["cpu:sys"] = "cpu:0:sys", ["cpu:vm"] = "cpu:0:vm", ["cpu_info:cpu_info"] = "cpu_info:0:cpu_info0",
    ["sderr:<disk>"] = "sderr:0:sd0,err", ["unix:dnlcstats"] = "unix:0:dnlcstats",
    ["unix:biostats"] = "unix:0:biostats",
  }
  for record, id in pairs(of) do
    it("finds the statistics of " .. record .. " where illumos has them, with their types", function()
      assert_record(record, kstats[id])
    end)
  end

  it("finds the types of kstats that Linux does not have, unless a number does not fit", function()
    local file = os.tmpname()
    run.write_file(file, '[{"module":"pg","instance":1,"name":"pg","class":"pg","type":1,"snaptime":2,"data":' ..
      '{"crtime":1,"snaptime":2,"pg_class":"cmt","ncpus":4294967296,"id":3}},' ..
      '{"module":"acpi","instance":0,"name":"acpi","class":"misc","type":1,"snaptime":2,"data":' ..
      '{"crtime":1,"snaptime":2,"S3":1}}]\n')
    local others, found = seen("KSTAT_SOURCE=" .. file), {}
    os.remove(file)
    for i, s in ipairs(others["pg:1:pg"].stats) do
      found[i] = s.name .. " " .. s.type
    end
    assert.equal("id INT32, pg_class STRING, ncpus UINT64, instance_id UINT32, hardware STRING, policy STRING",
      table.concat(found, ", "))
    assert.equal("INT64", others["acpi:0:acpi"].by_name.S3.type)
  end)

  it("finds a number that the type of illumos cannot hold as it was captured", function()
    local file = os.tmpname()
    run.write_file(file, '[{"module":"cpu_info","instance":0,"name":"cpu_info0","class":"misc","type":1,' ..
      '"snaptime":2,"data":{"crtime":1,"snaptime":2,"state":"a text of more than 16 bytes","family":4294967296,' ..
      '"model":-1,"stepping":-2147483649,"clock_MHz":18446744073709551615,"current_clock_Hz":-1,' ..
      '"fpu_type":"a text of 16 (b)","own":7}}]\n')
    local by_name = seen("KSTAT_SOURCE=" .. file)["cpu_info:0:cpu_info0"].by_name
    os.remove(file)
    assert.same({ "STRING", "a text of more than 16 bytes" }, { by_name.state.type, by_name.state.value })
    assert.same({ "UINT64", "4294967296" }, { by_name.family.type, by_name.family.value })
    assert.same({ "INT32", "-1" }, { by_name.model.type, by_name.model.value })
    assert.same({ "INT64", "-2147483649" }, { by_name.stepping.type, by_name.stepping.value })
    assert.same({ "UINT64", "18446744073709551615" }, { by_name.clock_MHz.type, by_name.clock_MHz.value })
    assert.same({ "INT64", "-1" }, { by_name.current_clock_Hz.type, by_name.current_clock_Hz.value })
    assert.same({ "CHAR", "a text of 16 (b)" }, { by_name.fpu_type.type, by_name.fpu_type.value })
    assert.same({ "UINT64", "7", false }, { by_name.own.type, by_name.own.value, by_name.own.hidden })
    assert.is_true(by_name.brand.hidden)
  end)
end)

describe("a program in C finds complete records, and the machine in the first CPU, in a", function()
  local commands = {
    capture = "%s %s/kstat -j > %s",
    recording = "%s %s/kstatlua record -o %s 1 1",
    -- It has only what the capture has, as recordings of earlier versions do.
    ["recording of a capture"] = "%s %s/kstat -j | %s/kstatlua convert -o %s -",
  }
  for what, command in pairs(commands) do
    it(what .. " of Linux", function()
      local file, bin = os.tmpname(), run.bin
      os.remove(file)
      local r = run.shell(what:find(" of ") and command:format(tree, bin, bin, file) or command:format(tree, bin, file))
      assert.equal(0, r.status, r.err)
      local kstats, live = seen("KSTAT_SOURCE=" .. file), seen(tree)
      os.remove(file)
      for record, id in pairs({ ["cpu:sys"] = "cpu:0:sys", ["cpu:vm"] = "cpu:0:vm", ["unix:dnlcstats"] =
        "unix:0:dnlcstats", ["cpu_info:cpu_info"] = "cpu_info:0:cpu_info0", ["link:<link>"] = "link:0:eth0" }) do
        assert_record(record, kstats[id])
        for i in ipairs(records[record]) do
          assert.same(live[id].stats[i], kstats[id].stats[i])
        end
      end
      assert.same(live["cpu_stat:0:cpu_stat0"], kstats["cpu_stat:0:cpu_stat0"])
      assert.same(live["cpu_stat:1:cpu_stat1"], kstats["cpu_stat:1:cpu_stat1"])
    end)
  end
end)

local kstat = require("kstat")

describe("the figures of a report", function()
  local L = require("support.linux")

  it("find a statistic that could not be read before, though its data record was there", function()
    local dir = L.copy()
    local text = run.read_file(dir .. "/proc/loadavg")
    L.sh("rm " .. dir .. "/proc/loadavg")
    local ks = assert(kstat.open({ proc = dir .. "/proc", sys = dir .. "/sys" }))
    local before = ks:sample()
    local function load()
      ks:update()
      return (ks:sample() - before):lookup("unix", 0, "system_misc"):get("avenrun_1min")
    end
    assert.is_nil(load())
    L.write(dir .. "/proc/loadavg", text)
    assert.equal(128, load())
    L.remove(dir)
  end)
end)

describe("everybody else", function()
  it("sees only what is counted", function()
    local r = run.shell(tree .. run.bin .. "/kstat -p cpu:0:sys")
    assert.matches("cpu:0:sys:cpu_ticks_user", r.out)
    assert.is_nil(r.out:find("syscall", 1, true))
    r = run.shell(tree .. run.bin .. "/kstat -d cpu:0:sys")
    assert.is_nil(r.out:find("syscall", 1, true))
    r = run.shell(tree .. run.bin .. "/kstat -j cpu:0:sys")
    assert.is_nil(r.out:find("syscall", 1, true))
  end)

  it("sees nothing of the machine in a CPU, and no kstat without a statistic that is counted", function()
    local r = run.shell(tree .. run.bin .. "/kstat -p")
    assert.is_nil(r.out:find("cpu:0:vm:pgpgin", 1, true))
    assert.is_nil(r.out:find("cpu:0:sys:sysfork", 1, true))
    assert.is_nil(r.out:find("cpu_stat:0:cpu_stat0:pgpgin", 1, true))
    for _, name in ipairs({ "dnlcstats", "biostats", "ncstats", "vminfo" }) do
      assert.is_nil(r.out:find("unix:0:" .. name, 1, true))
    end
  end)

  it("sees no more in a recording, of which a program in C reads the same", function()
    local file = os.tmpname()
    os.remove(file)
    local r = run.shell(tree .. run.bin .. "/kstatlua record -o " .. file .. " 1 1")
    assert.equal("", r.err)
    local replayed = seen("KSTAT_SOURCE=" .. file)["cpu:1:sys"]
    assert.same(seen(tree)["cpu:1:sys"].stats, replayed.stats)
    r = run.shell(("KSTAT_SOURCE=%s %s/kstat -p cpu:0:sys"):format(file, run.bin))
    assert.matches("cpu:0:sys:cpu_ticks_user", r.out)
    assert.is_nil(r.out:find("syscall", 1, true))
    os.remove(file)
  end)
end)
