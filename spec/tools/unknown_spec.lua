-- Names that nothing has: one line on standard error after the first tick, with what was probably meant.
local run = require("support.run")

local tree = run.tree_env("small")

-- Runs a command on a recorded tree; returns what it prints on standard error.
local function said(...)
  return run.run({ env = tree, ... }).err
end

local function script(text, ...)
  local file = os.tmpname()
  local f = assert(io.open(file, "w"))
  f:write("local kstat = require('kstat')\n", text)
  f:close()
  local r = run.run({ env = tree, "kstatlua", file, ... })
  os.remove(file)
  return r
end

describe("a name that nothing has is told once:", function()
  it("a statistic in the columns of a report", function()
    local report = [[return kstat.report({ name = "r", select = { class = "disk" }, columns = {
      { "n", "name" }, { "a", "rate(readz)" }, { "b", "p99(reads + writtes)" }, { "c", "readz" }, { "d", "wsvc_t" },
      { "e", "elapsed" }, { "f", "nosuchthing" } } })]]
    assert.equal("r: no selected kstat has 'readz'; did you mean 'reads'?\n" ..
      "r: no selected kstat has 'writtes'; did you mean 'writes'?\nr: no selected kstat has 'nosuchthing'\n",
      script(report, "0.01", "3").err)
  end)

  it("a selector", function()
    local report = [[return kstat.report({ name = "r", select = %s, columns = { { "n", "name" } } })]]
    assert.equal("r: no kstat has the class 'dsk'; did you mean 'disk'?\n",
      script(report:format('{ { class = "dsk" }, "unix" }'), "0.01", "2").err)
    assert.equal(0, script(report:format('{ { class = "dsk" }, "unix" }')).status)
    local none = script(report:format('"unxi:0:sys"'))
    assert.same({ "r: no kstat matches 'unxi:0:sys'; did you mean 'unix'?\n", 1 }, { none.err, none.status })
    assert.equal("", script(report:format('"unix:0:s*"')).err)
    for name, answer in pairs({ ["unix:0:vminfo"] = "here it is unix:0:meminfo", ["hme"] = "here it is link:0:NAME",
      ["e1000g:0:e1000g0"] = "here it is link:0:NAME", ["unix:0:segmap"] = "illumos has it; Linux does not count it",
      ["unix:0:kmem_alloc_8"] = "here it is kmalloc-8 and so on, with KSTAT_WITH=slab" }) do
      local err = script(report:format('"' .. name .. '"')).err
      assert.equal(("r: no kstat matches '%s'; %s\n"):format(name, answer), err)
    end
    local r = script([[
      local select = { { class = "dsk" }, "unix:0:sys:syscal", "cpu" }
      for now in kstat.every(0.01, 2, { select = select }) do print(now:lookup("unix", 0, "sys"):get("typo")) end]])
    assert.equal("nil\nnil\n", r.out)
    assert.truthy(r.err:find("no kstat has the class 'dsk'; did you mean 'disk'?\n", 1, true), r.err)
    assert.truthy(r.err:find("no selected kstat has 'syscal'", 1, true), r.err)
    assert.equal(2, select(2, r.err:gsub("\n", "")), r.err)
  end)

  it("an operand with five fields, and a process that is gone, also where it is no terminal", function()
    assert.equal("kstat: an operand has four fields, module:instance:name:statistic\n", said("kstat", "a:b:c:d:e"))
    assert.equal("kstat: there is no process 99999999\n", said("kstat", "-p", "process:99999999:"))
    assert.equal("", said("kstat", "-p", "nosuch:::"))
  end)

  it("an operand of a report, of which another one has a row", function()
    local report = [[return kstat.report({ name = "r", select = { class = "disk" }, columns = { { "n", "name" } } })]]
    local r = script(report, "vdx", "nvme0n1", "0.01", "2")
    assert.equal(0, r.status)
    assert.truthy(r.err:find("^r: nothing here is called 'vdx'[^\n]*\n$"), r.err)
    r = script(report, "nvme0m1")
    assert.same({ 1, "r: nothing here is called 'nvme0m1'; did you mean 'nvme0n1'?\n" }, { r.status, r.err })
  end)

  it("an operand of a tool, with status 1 unless another one is there", function()
    for command, line in pairs({
      ["vmstat nvme0n1 nvme0m1 0.01 2"] = "vmstat: there is no disk 'nvme0m1'; did you mean 'nvme0n1'?\n",
      ["iostat -x nvme0m1 0.01 2"] = "iostat: there is no device 'nvme0m1'; did you mean 'nvme0n1'?\n",
      ["nicstat eth9 lo 0.01 2"] = "nicstat: there is no interface 'eth9'; did you mean 'eth0'?\n",
      ["nicstat -i eth9,lo"] = "nicstat: there is no interface 'eth9'; did you mean 'eth0'?\n",
      ["prtop shop"] = "prtop: there is no publisher 'shop'\n",
      ["top -b unix:0:sys:pswich 0.01 2"] = "top: no selected kstat has 'pswich'; did you mean 'pswitch'?\n",
      ["top -b unxi cpu"] = "top: no kstat matches 'unxi'; did you mean 'unix'?\n",
    }) do
      local words = { "kstatlua" }
      for word in command:gmatch("%S+") do words[#words + 1] = word end
      local r = run.run({ env = tree, (table.unpack or unpack)(words) })
      local another = command:find("nvme0n1") or command:find("lo%f[^%w]") or command:find(" cpu")
      assert.same({ line, another and 0 or 1 }, { r.err, r.status }, command)
    end
  end)

  it("but of a resource that use knows and that is not here, there is a row", function()
    local r = run.run({ env = tree, "kstatlua", "use", "gpu", "0.01", "1" })
    assert.same({ "", 0 }, { r.err, r.status })
    assert.matches("\ngpu +%- +%- +%- +%- none is here\n$", r.out)
    r = run.run({ env = tree, "kstatlua", "use", "--check", "gpu", "0.01", "1" })
    assert.same({ "USE UNKNOWN - none is here\n", "", 3 }, { r.out, r.err, r.status })
  end)

  it("an expression of an aggregation", function()
    assert.equal("kstat: no selected kstat has 'readz'; did you mean 'reads'?\n",
      said("kstat", "-c", "disk", "-a", "sum(rate(readz))"))
  end)

  it("and nothing is said where all is there, nor of what a system lacks", function()
    for _, command in ipairs({ "vmstat", "vmstat -p", "mpstat", "nicstat", "fsstat", "iostat -x", "top -b",
      "kstat -p nosuch" }) do
      local words = {}
      for word in command:gmatch("%S+") do words[#words + 1] = word end
      assert.equal("", said("kstatlua", (table.unpack or unpack)(words)), command)
    end
  end)
end)

describe("KSTAT_WITH", function()
  it("is named where a class needs it, and its unknown words are told", function()
    assert.equal("kstat: KSTAT_WITH=slab adds the kernel's caches\n",
      run.run({ "kstat", "-p", "-c", "kmem_cache" }).err)
    local wrong = run.run({ env = { KSTAT_WITH = "slab,cgorup" }, "kstat", "-p", "unix:0:system_misc:nproc" }).err
    assert.matches("^kstat: KSTAT_WITH: there is no 'cgorup', but: [%l_, ]*slab, [%l_, ]*all\n$", wrong)
  end)
end)

describe("a number at the wrong place of a report", function()
  it("is answered with where numbers belong, and which units there are", function()
    for word, hint in pairs({ ["500msec"] = "the unit of an interval is one of ms, s, m, h and d",
      ["1"] = "interval and count come last" }) do
      local r = run.run({ "kstatlua", "use", "-r", "spec/vectors/use/hour.rec", word, "cpu", "3600" })
      assert.equal(("use: nothing here is called '%s'; %s\n"):format(word, hint), r.err)
    end
  end)
end)
