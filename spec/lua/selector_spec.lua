-- Operands, tables and compiled selectors of the Lua module.
local kstat = require("kstat")
local selector = require("kstat.read.selector")

local run = require("support.run")

local host = "spec/vectors/kstat/host.jsonl"

-- The message of a call that must raise here, in the caller's file.
local function raised(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return message
end

describe("an operand", function()
  local cases = {
    { "sd", { "sd" } },
    { "", { "" } },
    { "sd:0", { "sd", "0" } },
    { "sd:0:sd0:nread", { "sd", "0", "sd0", "nread" } },
    { ":::", { "", "", "", "" } },
    { "a:b:c:d:e:f", { "a", "b", "c", "d:e:f" } },
    { "a:b:c:", { "a", "b", "c", "" } },
    { "/a:b/:0", { "/a:b/", "0" } },
    { "/a:b/i:0:/c:d/x:e", { "/a:b/i", "0", "/c:d/x", "e" } },
    { "/a/b/:0", { "/a/b/", "0" } },
    { "/a/:b:/c/", { "/a/", "b", "/c/" } },
    { "/a/q:b", { "/a/q", "b" } },
    { "/a", { "/a" } },
    { "/", { "/" } },
    { "//", { "//" } },
    { "/[[:alpha:]]/:1", { "/[[:alpha:]]/", "1" } },
    { "[[:alpha:]]", { "[[", "alpha", "]]" } },
    { "::/(?:a|b)/:/x:y/", { "", "", "/(?:a|b)/", "/x:y/" } },
    { "a:b:c:/x/:y", { "a", "b", "c", "/x/:y" } },
    { "a\nb:c", { "a\nb", "c" } },
    { "a:", { "a", "" } },
    { "a\0b:/c\0:d/", { "a\0b", "/c\0:d/" } },
    { "kstat:/misc/unix/0/system_misc", { "unix", "0", "system_misc", class = "misc" } },
    { "kstat:/misc/sd/sd0/10", { "sd", "10", "sd0", class = "misc" } },
    { "kstat:/misc/unix/0/", { "kstat", "/misc/unix/0/" } },
    { "kstat:/misc/unix/0/a:b", { "kstat", "/misc/unix/0/a", "b" } },
    { "kstat:/misc/unix/0/a/b", { "kstat", "/misc/unix/0/a/b" } },
    { "kstat:/misc/" .. ("m"):rep(31) .. "/0/n", { "kstat", "/misc/" .. ("m"):rep(31) .. "/0/n" } },
  }

  for _, case in ipairs(cases) do
    it(("%q has the fields it says"):format(case[1]), function()
      assert.same(case[2], selector.parse(case[1]))
    end)
  end

  it("of a megabyte is taken apart without trouble", function()
    local long = ("x"):rep(1000000)
    assert.same({ long, "/" .. long .. "/" }, selector.parse(long .. ":/" .. long .. "/"))
  end)
end)

describe("operands", function()
  it("are compiled without LPeg, which takes as long to load as the rest of a short report", function()
    local r = run.run({ "kstatlua", "-e", "assert(kstat.selector('/a:b/:0')) print(package.loaded.lpeg)" })
    assert.same({ "nil\n", "" }, { r.out, r.err })
  end)
end)

describe("a selector", function()
  local ks

  before_each(function() ks = assert(kstat.open(host)) end)
  after_each(function() ks:close() end)

  local function names(...)
    local list = {}
    for _, k in ipairs(assert(ks:select(...))) do
      list[#list + 1] = tostring(k)
    end
    return list
  end

  it("takes globs, regular expressions, flags and what is empty", function()
    assert.same({ "sd:0:sd0", "sd:1:sd1", "sd:2:sd2", "sd:10:sd10", "sd:11:sd11" }, names("sd::sd*[0-9]"))
    assert.same({ "cpu_stat:10:cpu_stat10", "cpu_stat:11:cpu_stat11" }, names("/CPU_S/i:1?"))
    assert.equal(#ks:select(), #names(""))
    assert.equal(#ks:select(), #names(":::"))
  end)

  it("is as well a table, with class, where colons are ordinary and instances may be numbers", function()
    assert.same(names("sd:0:sd0"), names({ module = "sd", instance = 0, name = "sd0" }))
    assert.same(names("cpu_info"), names({ module = "/^cpu_info$/", instance = "*" }))
    for _, name in ipairs(names({ class = "disk" })) do
      assert.equal("disk", ks:lookup(name:match("(.*):(.*):(.*)")) and "disk")
    end
    assert.same({}, names({ module = "sd:0" }))
    assert.equal(#ks:select(), #names({}))
  end)

  it("is one of an array that a method takes", function()
    assert.same(names("sd:0", "cpu_info"), names({ "sd:0", "cpu_info" }))
    assert.matches("unknown selector field", raised(function() return ks:select({ "sd", class = "disk" }) end))
  end)

  it("says its class as text", function()
    assert.equal('{module="sd", class="disk"}', tostring(kstat.selector({ module = "sd", class = "disk" })))
  end)

  it("can be compiled once and used often", function()
    local sd = assert(kstat.selector("sd:0"))
    assert.equal("sd:0::", tostring(sd))
    assert.equal("sd:0::", debug.getmetatable(sd).__tostring(sd, 1, "two", {}))
    assert.equal("selector", kstat.type(sd))
    assert.same(names("sd:0"), names(sd))
    assert.equal(sd, kstat.selector(sd))
    local k = ks:lookup("sd", 0, "sd0")
    assert.is_true(sd:matches(k))
    assert.is_true(kstat.selector("sd:::n*"):matches(k, "nread"))
    assert.is_false(kstat.selector("sd:::n*"):matches(k, "reads"))
    assert.is_false(kstat.selector("ssd"):matches(k))
  end)

  it("of several is a union in one order, each kstat once", function()
    assert.same(names("sd:/^[01]$/"), names("sd:1", "sd:0", "sd:/0|1/:nothing", "sd:0"))
  end)

  it("that is wrong says where, as nil, message, EINVAL", function()
    for _, spec in ipairs({ "sd::/a(b/", { name = "/a(b/" } }) do
      local sel, message, errname = kstat.selector(spec)
      assert.is_nil(sel)
      assert.equal("EINVAL", errname)
      assert.matches("name: ", message, 1, true)
      assert.matches("/a(b/", message, 1, true)
      assert.matches("character %d", message)
    end
    assert.same({ nil, "EINVAL" }, { (ks:select("/+/")), (select(3, ks:select("/+/"))) })
    assert.same({ nil, "EINVAL" }, { (ks:sample("/+/")), (select(3, ks:sample("/+/"))) })
    assert.same({ nil, "EINVAL" }, { (ks:render("list", "/+/")), (select(3, ks:render("list", "/+/"))) })
  end)

  it("that could match nothing is a mistake, and what only looks like one is none", function()
    local bad = { { "[a", "[ at character 1 has no ]" }, { "[", "[ at character 1" }, { "a*[!]", "[ at character 3" },
      { "\\\\\\[[a\\]", "[ at character 5" }, { "a\\", "the \\ at its end" }, { "[]", "has no ]" },
      { "[a-\\", "has no ]" }, { "/^n/q", "unknown flag 'q'" }, { "/n$/iq", "unknown flag 'q'" },
      { "/^n/qi", "unknown flag 'q'" } }
    for _, case in ipairs(bad) do
      local sel, message, errname = kstat.selector({ statistic = case[1] })
      assert.same({ nil, "EINVAL" }, { sel, errname })
      assert.matches(case[2], message, 1, true)
      assert.matches(case[1], message, 1, true)
    end
    for _, good in ipairs({ "]", "\\[a", "[]]", "[[]", "[!]a]", "a-]", "/dev/shm", "/a/q", "/^", "/^/", "/a/1", "[\\]]",
      "\\\\" }) do
      assert.is_truthy(kstat.selector({ name = good }), good)
    end
  end)

  describe("whose regular expression takes too many steps", function()
    local many = ("a"):rep(30)
    local path = os.tmpname()
    local told = "^regular expression /%(a%+%)%+%[bc%]/: match limit exceeded; .*write it without%)$"

    setup(function()
      run.write_file(path, ('[{"module":"m","instance":0,"name":"%s","class":"c","type":1,"snaptime":1,'
        .. '"data":{"snaptime":1,"%s":1,"b":2}}]\n'):format(many, many))
    end)

    teardown(function()
      os.remove(path)
    end)

    -- The chain's warnings after some use of it.
    local function warned(use)
      local chain = assert(kstat.open(path))
      use(chain)
      local lines = chain:warnings()
      chain:close()
      return lines
    end

    it("counts as no match, and a warning says so once", function()
      local sel = assert(kstat.selector({ name = "/(a+)+[bc]/" }))
      local lines = warned(function(chain)
        assert.same({}, chain:select(sel))
        assert.same({}, chain:select(sel))
        local first = chain:warnings()
        assert.equal(1, #first)
        assert.matches(told, first[1])
        assert.same({}, chain:select(sel))
      end)
      assert.same({}, lines)
    end)

    it("is told of wherever it is used", function()
      local function fresh(field)
        return (assert(kstat.selector({ [field] = "/(a+)+[bc]/" })))
      end
      local uses = {
        function(chain) chain:render("list", fresh("statistic")) end,
        function(chain)
          local step, state, first = chain:values(fresh("statistic"))
          assert.is_nil(step(state, first))
        end,
        function(chain) chain:sample(fresh("name")) end,
        function(chain) chain:sample():select(fresh("name")) end,
        function(chain) fresh("name"):matches(chain:lookup("m")) end,
        function(chain) fresh("statistic"):matches(chain:lookup("m"), many) end,
      }
      for i, use in ipairs(uses) do
        local lines = warned(use)
        assert.equal(1, #lines, "use " .. i)
        assert.matches(told, lines[1])
      end
    end)

    it("is told of by the command", function()
      local result = run.run({ "kstat", "-p", "-r", path, "m:::/(a+)+[bc]|^b/" })
      assert.equal("m:0:" .. many .. ":b\t2\n", result.out)
      assert.matches("^kstat: regular expression /%(a%+%)%+%[bc%]|%^b/: match limit exceeded; [^\n]*\n$", result.err)
      assert.equal(3, result.status)
    end)
  end)

  it("that is wrong raises from an iterator, which cannot return a message", function()
    assert.matches("selector_spec.*/%+/", raised(function() local _ = ks:each("/+/") end))
    assert.matches("selector_spec.*/%+/", raised(function() local _ = ks:values("/+/") end))
  end)

  it("of a wrong type raises at the caller", function()
    for _, bad in ipairs({ 1, true, io.stdout, print }) do
      assert.matches("selector_spec.*selector expected", raised(function() local _ = kstat.selector(bad) end))
      assert.matches("selector_spec.*selector expected", raised(function() local _ = ks:select(bad) end))
      assert.matches("selector_spec.*selector expected", raised(function() local _ = ks:each(bad) end))
      assert.matches("selector_spec.*selector expected", raised(function() local _ = ks:values("a", bad) end))
      assert.matches("selector_spec.*selector expected", raised(function() local _ = ks:sample(bad) end))
      assert.matches("selector_spec.*selector expected", raised(function() local _ = ks:render("list", bad) end))
    end
    assert.matches("selector_spec.*unknown selector field 'modul'",
      raised(function() local _ = kstat.selector({ modul = "x" }) end))
    assert.matches("selector_spec.*field 'name': string expected, got number",
      raised(function() local _ = kstat.selector({ name = 1 }) end))
    assert.matches("selector_spec.*field 'instance': string or integer expected",
      raised(function() local _ = kstat.selector({ instance = 1.5 }) end))
    assert.matches("selector_spec.*string expected", raised(function() local _ = selector.parse(1) end))
  end)
end)

describe("a selector that names a kstat in full", function()
  it("finds it on a live machine as a pattern does, and nothing else", function()
    local ks = assert(kstat.open())
    local function count(spec)
      return #ks:select(spec)
    end
    assert.equal(1, count("unix:0:vm"))
    assert.equal(1, count("unix:0:v[m]"))
    assert.equal(1, count({ module = "unix", instance = 0, name = "vm", class = "misc" }))
    for _, spec in ipairs({ "unix:00:vm", "unix:-1:vm", "unix:+0:vm", "unix:4294967296:vm", "Unix:0:vm", "unix:0:v",
      { module = "unix", instance = 0, name = "vm", class = "net" } }) do
      assert.equal(0, count(spec))
    end
    ks:close()
  end)
end)
