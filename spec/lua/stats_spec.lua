-- kstat.stats: statsblobs from Lua.
local cjson = require("cjson")
local run = require("support.run")
local stats = require("kstat.stats")

local serial = 0
local function fresh(prefix)
  serial = serial + 1
  return ("%s-%d"):format(prefix or "tpl", serial)
end

local function rtt()
  local tpl = assert(stats.template(fresh("rtt")))
  assert(tpl:add_voi(0, "rtt", "u64", { stats.sum(), stats.max(), stats.min(),
    stats.crhist32_lin(0, 90, 10), stats.tdgstclust64(50, 10) }, { relupdate = true }))
  return tpl
end

describe("kstat.stats", function()
  it("adds no globals", function()
    local before = {}
    for k in pairs(_G) do before[k] = true end
    package.loaded["kstat.stats"] = nil
    require("kstat.stats")
    for k in pairs(_G) do assert.truthy(before[k], tostring(k)) end
    package.loaded["kstat.stats"] = stats
  end)

  -- The same source as C and as C++: the constructors make the same template.
  it("has constructors for C and for C++", function()
    local dir = run.directory()
    run.write_file(dir .. "/vss.c", [[
#include <statsblob.h>
#include <stdio.h>

static int
fill(uint32_t id, int step)
{
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
		STATS_VSS_CRHIST32_LIN(0, 90, step, VSD_HIST_UBOUND_INF), STATS_VSS_TDGSTCLUST64(20, 10) };
	struct voistatspec usr[] = { STATS_VSS_DRHIST64_USR(HBKTS(DRBKT(0, 10), DRBKT(20, 30)), 0) };
	struct voistatspec q[] = { STATS_VSS_QSUM(8), STATS_VSS_CRHIST32_EXP(0, 64, 2, 0, 0) };
	struct voistatspec le[] = { STATS_VSS_CRHIST64_LINEXP(1, 64, 4, 2, 0) };

	return stats_tpl_add_voistats(id, 0, "a", VSD_DTYPE_INT_U64, NVSS(vss), vss, 0) +
	    stats_tpl_add_voistats(id, 1, "b", VSD_DTYPE_INT_S64, NVSS(usr), usr, 0) +
	    stats_tpl_add_voistats(id, 2, "c", VSD_DTYPE_Q_S64, NVSS(q), q, SB_VOI_RELUPDATE) +
	    stats_tpl_add_voistats(id, 3, "d", VSD_DTYPE_INT_U32, NVSS(le), le, 0);
}

int
main(int argc, char **argv)
{
	uint32_t hash = 0, id = (uint32_t)stats_tpl_alloc("vss", 0);
	struct statsblob *b;
	double v, e;

	(void)argv;
	if (fill(id, 9 + argc) != 0 || stats_tpl_id2hash(id, &hash) != 0)
		return 1;
	b = stats_blob_alloc(id, 0);
	for (int i = 0; i < 100; i++) {
		if (stats_voi_update_abs_s64(b, 1, i) != 0)
			return 2;
	}
	if (stats_voi_quantile(b, 1, 0.5, &v, &e) != 0)
		return 3;
	printf("%u %g %g\n", hash, v, e);
	stats_blob_destroy(b);
	return 0;
}
]])
    local out = {}
    for i, compiler in ipairs({ "cc -std=c11 -x c", "c++ -std=c++17 -x c++" }) do
      local r = run.shell(("%s -Wall -Wextra -Werror %s -Icsrc/include -o %s/vss %s/vss.c -x none -L%s/lib -lkstat " ..
        "-Wl,-rpath,%s/lib && %s/vss"):format(compiler, os.getenv("KSTAT_CFLAGS") or "", dir, dir, run.build, run.build,
        dir))
      assert.equal("", r.err)
      out[i] = r.out
    end
    run.remove_directory(dir)
    assert.equal(" 10 10\n", (out[1]:gsub("^%d+", "")))
    assert.equal(out[1], out[2])
  end)

  describe("templates", function()
    it("may be declared again in the same words, and not otherwise", function()
      local name = fresh()
      local function declare(id, voi, list, options)
        local tpl = assert(stats.template(name))
        local ok, message, code = tpl:add_voi(id, voi, "u64", list, options)
        return ok and tpl, message, code
      end
      local times = { stats.max(), stats.crhist64_usr({ 0, 10, 20 }), stats.tdgstclust64(20, 4) }
      local first = assert(declare(1, "time", times))
      assert(declare(0, "size", { stats.sum() }, { relupdate = true }))
      local hash = first:blob():hash() -- the template has what makes updates quick from now on
      assert.equal(first.slot, assert(declare(1, "time", times)).slot)
      assert(declare(0, "size", { stats.sum() }, { relupdate = true }))
      assert.equal(hash, first:hash())
      for _, other in ipairs({ { 1, "times", times }, { 1, "time", { times[1], times[2] } },
          { 1, "time", { times[1], stats.crhist64_usr({ 0, 10, 21 }), times[3] } },
          { 1, "time", { times[1], times[2], stats.tdgstclust64(21, 4) } },
          { 1, "time", { times[1], times[2], times[3], stats.min() } }, { 0, "size", { stats.sum() } } }) do
        local tpl, message, code = declare(other[1], other[2], other[3])
        assert.is_nil(tpl)
        assert.truthy(message:find("another layout needs a template of another name", 1, true), message)
        assert.equal("EOPNOTSUPP", code)
      end
      assert.equal(hash, first:hash())
    end)

    it("are found by each form of spec", function()
      local tpl = rtt()
      for _, spec in ipairs({ tostring(tpl), '"' .. tpl.name .. '"', tpl.name,
        (":%.0f"):format(tpl:hash()) }) do
        assert.equal(tpl.slot, stats.find(spec).slot)
      end
      assert.equal("ESRCH", (select(3, stats.find("no such"))))
      local listed = {}
      for _, one in ipairs(stats.templates()) do listed[tostring(one)] = one.slot end
      assert.equal(tpl.slot, listed[tostring(tpl)])
    end)

    it("refuse a second VOI of an ID, and what does not fit a blob", function()
      local tpl = rtt()
      assert.equal("EOPNOTSUPP", (select(3, tpl:add_voi(0, "x", "s64", { stats.sum() }))))
      assert.equal("EFBIG", (select(3, tpl:add_voi(1, "x", "s64",
        { stats.crhist64_lin(0, 100000, 1) }))))
      assert.equal("EINVAL", (select(3, tpl:add_voi(1, "x", "s64", { stats.crhist64_lin(0, 9, 0) }))))
    end)

    it("refuse a second VOI of a name", function()
      local tpl = rtt()
      assert.equal("EEXIST", (select(3, tpl:add_voi(1, "rtt", "s64", { stats.sum() }))))
      assert(tpl:add_voi(3, "", "s64", { stats.sum() }))
      assert(tpl:add_voi(4, "", "s64", { stats.sum() }))
      local vois = cjson.decode(tpl:blob():tostring("json", { meta = true })).vois
      assert.truthy(vois.rtt and vois["[3]"] and vois["[4]"])
    end)

    it("have names that a list of specs cannot misread", function()
      for _, name in ipairs({ 'a":5', 'a"=5', '":', 'x"=' }) do
        assert.equal("EINVAL", (select(3, stats.template(name))))
      end
      for _, name in ipairs({ 'x,y', 'tail"', '"head', 'a:b', 'k=v', ':5', '"', "" }) do
        local tpl = assert(stats.template(name))
        assert.equal(tpl.slot, stats.find(tostring(tpl)).slot)
        assert.same({ { tpl.slot, 7 } }, stats.rates(tostring(tpl) .. "=7"))
        assert.same({ { tpl.slot, 7 }, { tpl.slot, 8 } },
          stats.rates(tostring(tpl) .. "=7," .. tostring(tpl) .. "=8"))
      end
      -- Quotes are optional one by one.
      local a, b = assert(stats.template("one")), assert(stats.template("two"))
      assert.same({ { a.slot, 5 }, { b.slot, 6 } }, stats.rates('"one=5,"two"=6'))
      assert.same({ { a.slot, 5 }, { b.slot, 6 } }, stats.rates('one"=5,"two=6'))
    end)

    it("can be used by children of fork() whatever other threads were doing", function()
      local r = run.run({ run.build .. "/spec/tpl_fork" })
      assert.equal("200 of 200\n", r.out)
    end)

    it("with many VOIs take the memory of one blob, not of one for each step", function()
      local function resident()
        return tonumber(run.read_file("/proc/self/status"):match("VmRSS:%s*(%d+)"))
      end
      local tpl = assert(stats.template(fresh()))
      local before, n = resident(), 0
      while tpl:add_voi(n, "v" .. n, "u64", { stats.crhist32_lin(0, 1, 1) }) do n = n + 1 end
      assert.is_true(n > 600)
      local b = tpl:blob()
      for i = 0, n - 1 do assert.is_true(b:update(i, 1)) end
      assert.equal(1, b:fetch(n - 1, "HIST")[2].cnt)
      -- The sanitizer holds freed memory back.
      if not os.getenv("KSTAT_PRELOAD") then
        assert.is_true(resident() - before < 8192, ("%d KB"):format(resident() - before))
      end
    end)

    it("raise on wrong arguments", function()
      local tpl = rtt()
      assert.has_error(function() stats.template() end)
      assert.has_error(function() tpl:add_voi(-1, "x", "s64", { stats.sum() }) end)
      assert.has_error(function() tpl:add_voi(1, "x", "float", { stats.sum() }) end)
      assert.has_error(function() tpl:add_voi(1, "x", "s64", {}) end)
      assert.has_error(function() tpl:add_voi(1, "x", "s64", { { stat = "NONE" } }) end)
      assert.has_error(function() stats.crhist32_lin(0, 10) end)
      assert.has_error(function() stats.crhist32_lin(0, 10, 1, "sideways") end)
      -- What names the mistake, at the caller's line.
      for message, f in pairs({
        ["bad argument #1 to 'tdgstclust64' (whole number from 1"] = function() stats.tdgstclust64(2 ^ 32 + 50, 10) end,
        ["bad argument #2 to 'tdgstclust32' (whole number from 0 to 64"] = function() stats.tdgstclust32(50, 65) end,
        ["bad argument #1 to 'sum' (whole number from 0 to 64"] = function() stats.sum(8.5) end,
        ["prec of 'crhist32_lin'"] = function() stats.crhist32_lin(0, 1, 1, { prec = -1 }) end,
        ["bad argument #4 to 'crhist32_lin'"] = function() stats.crhist32_lin(0, 1, 1, 5) end,
        ["bad argument #3 to 'crhist64_exp'"] = function() stats.crhist64_exp(0, 1, 2.5, 0) end,
        ["bad argument #1 to 'crhist64_lin' (finite"] = function() stats.crhist64_lin(0 / 0, 1, 1) end,
        ["bucket 2 of 'drhist32_usr'"] = function() stats.drhist32_usr({ { 1, 2 }, { 5, 4 } }) end,
        ["bucket 1 of 'crhist32_usr'"] = function() stats.crhist32_usr({ { 1, 2 } }) end,
        ["lb is not a whole number of the type INT_U64"] = function()
          tpl:add_voi(1, "x", "u64", { stats.crhist32_lin(-10, 10, 5) }) end,
        ["ub is not a whole number of the type INT_U32"] = function()
          tpl:add_voi(1, "x", "u32", { stats.crhist32_lin(0, 2 ^ 33, 2 ^ 31) }) end,
        ["bucket is not a whole number of the type INT_S32"] = function()
          tpl:add_voi(1, "x", "s32", { stats.dvhist32_usr({ 0, 2 ^ 31 }) }) end,
        ["bad argument #1 to 'add_voi'"] = function() tpl:add_voi(0.5, "x", "u32", { stats.sum() }) end,
        ["bad argument #2 to 'add_voi' (name contains a NUL"] = function()
          tpl:add_voi(1, "x\0y", "u32", { stats.sum() }) end,
        ["bad argument #5 to 'add_voi'"] = function() tpl:add_voi(1, "x", "u32", { stats.sum() }, 5) end,
        ["option 'relupdate' of 'add_voi'"] = function()
          tpl:add_voi(1, "x", "u32", { stats.sum() }, { relupdate = 1 }) end,
        ["'snapshot': unknown option 'rst'"] = function() tpl:blob():snapshot({ rst = true }) end,
        ["bad argument #1 to 'snapshot'"] = function() tpl:blob():snapshot(5) end,
        ["bad argument #2 to 'tostring'"] = function() tpl:blob():tostring("json", 5) end,
        ["rate 1: no such template"] = function() stats.roll({ { 999999, 100 } }) end,
        ["rate 2: a whole percentage"] = function() stats.roll({ { tpl.slot, 1 }, { tpl.slot, -1 } }) end,
        ["more than 100 percent"] = function() stats.roll({ { tpl.slot, 60 }, { tpl.slot, 50 } }) end,
      }) do
        local ok, err = pcall(f)
        assert.is_false(ok)
        assert.truthy(tostring(err):find(message, 1, true), tostring(err))
        assert.truthy(tostring(err):find("stats_spec.lua:%d+: "), tostring(err))
      end
      assert.equal("EINVAL", (select(3, tpl:add_voi(1, "x", "s64", { stats.crhist32_exp(0, 100, 0, 0) }))))
      assert.has_error(function() tpl:add_voi(1, "x", "s64", { stats.crhist32_lin(0.5, 10, 1) }) end)
    end)

    it("take every constructor", function()
      local tpl = assert(stats.template(fresh()))
      for i, s in ipairs({ stats.crhist32_lin(0, 9, 3), stats.crhist64_lin(0, 9, 3, stats.LBOUND_INF),
        stats.crhist32_exp(1, 64, 2, 0), stats.crhist64_exp(1, 64, 2, 0, { stats.LBOUND_INF, stats.UBOUND_INF }),
        stats.crhist32_linexp(1, 64, 4, 2), stats.crhist64_linexp(1, 64, 4, 2),
        stats.crhist32_usr({ 1, 5, 9 }), stats.crhist64_usr({ 1, 5, 9 }),
        stats.drhist32_usr({ { 1, 2 }, { 4, 8 } }), stats.drhist64_usr({ { 1, 2 }, { 4, 8 } }),
        stats.dvhist32_usr({ 1, 5 }), stats.dvhist64_usr({ 1, 5 }),
        stats.tdgstclust32(5, 4), stats.tdgstclust64(5, 4) }) do
        assert(tpl:add_voi(i, "v" .. i, "s64", { s }))
      end
      local b = tpl:blob()
      for i = 1, 14 do assert.is_true(b:update(i, 5)) end
      assert.equal(1, b:fetch(11, "HIST")[2].cnt)
      assert.equal(1, b:fetch(9, "HIST")[2].cnt)
      assert.equal(5, b:fetch(13, "TDGST")[1].mu)
    end)
  end)

  describe("a blob", function()
    it("sums, compares, counts and digests", function()
      local b = rtt():blob()
      for v = 1, 100 do assert.is_true(b:update(0, v)) end
      assert.equal(5050, b:fetch(0, "SUM"))
      assert.equal(100, b:fetch(0, "MAX"))
      assert.equal(1, b:fetch(0, "MIN"))
      local h = b:fetch(0, "HIST")
      assert.equal(10, #h)
      assert.equal(0, h.oob)
      assert.same({ 9, 10, 11 }, { h[1].cnt, h[2].cnt, h[10].cnt })
      assert.same({ 0, 10 }, { h[1].lb, h[1].ub })
      assert.is_nil(h[10].ub)
      local counts, oob = b:counts(0)
      assert.same({ 10, 9, 11, 0 }, { #counts, counts[1], counts[10], oob })
      assert.is_nil((rtt():blob():counts(9)))
      assert.equal(100, b:count(0))
      assert.is_true(math.abs(b:quantile(0, 0.5) - 50) < 3)
      assert.is_true(math.abs(b:cdf(0, 25) - 0.25) < 0.03)
    end)

    it("takes relative updates where they were asked for", function()
      local tpl = rtt()
      assert(tpl:add_voi(1, "plain", "s64", { stats.sum() }))
      local b = tpl:blob()
      assert.is_true(b:update(0, 10))
      assert.is_true(b:add(0, 5))
      assert.equal(25, b:fetch(0, "SUM"))
      assert.equal(15, b:fetch(0, "VOISTATE"))
      assert.has_error(function() b:add(1, 5) end)
      assert.has_error(function() b:update(7, 5) end)
      assert.has_error(function() b:update(-1, 5) end)
    end)

    it("refuses values that are not of the VOI's type, and counts nothing then", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "a", "u32", { stats.sum() }))
      assert(tpl:add_voi(1, "b", "s32", { stats.sum() }))
      assert(tpl:add_voi(2, "c", "u64", { stats.sum() }))
      local b = tpl:blob()
      for _, case in ipairs({ { 0, -1 }, { 0, 4294967296 }, { 1, 2147483648 }, { 0, 1.5 }, { 2, -1 },
        { 2, 1e20 }, { 0, math.huge }, { 0, 0 / 0 }, { 2, 0 / 0 } }) do
        local ok, message, code = b:update(case[1], case[2])
        assert.is_nil(ok)
        assert.is_string(message)
        assert.equal("ERANGE", code)
      end
      for i = 0, 2 do assert.equal(0, b:fetch(i, "SUM")) end
      assert.is_true(b:update(2, 2 ^ 63))
      assert.has_error(function() b:update(0, "many") end)
      assert.has_error(function() b.update({}, 0, 1) end)
      assert.has_error(function() b.update(io.stdout, 0, 1) end)
    end)

    it("takes LuaJIT's 64-bit integers, each once", function()
      local ffi = rawget(_G, "jit") and require("ffi")
      if not ffi then
        assert.is_nil(rawget(_G, "jit"))
        return
      end
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "a", "u64", { stats.sum(), stats.max(), stats.tdgstclust64(10, 10) }))
      assert(tpl:add_voi(1, "b", "s64", { stats.sum() }, { relupdate = true }))
      local b = tpl:blob()
      local big = ffi.new("uint64_t", 2 ^ 61)
      -- Too large for the digest's fixed point, not for the sum.
      assert.equal("EOVERFLOW", (select(3, b:update(0, big))))
      assert.equal(2 ^ 61, b:fetch(0, "SUM"))
      assert.equal("EOVERFLOW", (select(3, b:update(0, 2 ^ 61))))
      assert.equal(2 ^ 62, b:fetch(0, "SUM"))
      local most = ffi.new("uint64_t") - 1
      assert.equal("ERANGE", (select(3, b:update(1, most))))
      assert.equal("ERANGE", (select(3, b:update(0, ffi.new("int64_t", -1)))))
      assert.equal(0, b:fetch(1, "SUM"))
      assert.equal("EOVERFLOW", (select(3, b:update(0, most))))
      assert.equal(2 ^ 64, b:fetch(0, "MAX"))
      assert.is_true(b:update(1, ffi.new("int64_t", -5)))
      assert.is_true(b:add(1, ffi.new("uint64_t", 3)))
      assert.equal(-7, b:fetch(1, "SUM"))
      assert.has_error(function() b:update(1, ffi.new("int[3]")) end)
      assert.has_error(function() b:update(9, big) end)
    end)

    it("takes the values from 2^63 on as floats, and refuses negative ones", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "a", "u64", { stats.max() }, { relupdate = true }))
      local b = tpl:blob()
      assert.is_true(b:update(0, 2 ^ 63 + 2048))
      assert.equal("9223372036854777856", require("kstat").format_unsigned(b:fetch(0, "MAX")))
      assert.is_true(b:add(0, 2 ^ 62))
      assert.equal("ERANGE", (select(3, b:update(0, -1))))
      assert.equal("ERANGE", (select(3, b:update(0, 2 ^ 64))))
    end)

    it("raises on VOIs that are no whole numbers", function()
      local b = rtt():blob()
      for _, id in ipairs({ 0.5, -0.5, 0 / 0 }) do
        for _, method in ipairs({ "update", "add", "quantile", "cdf" }) do
          assert.has_error(function() b[method](b, id, 0.5) end)
        end
        assert.has_error(function() b:fetch(id, "SUM") end)
        assert.has_error(function() b:counts(id) end)
        assert.has_error(function() b:count(id) end)
      end
      for _, id in ipairs({ 2 ^ 32, 65536, -1 }) do
        assert.has_error(function() b:update(id, 1) end, "no such VOI, or not one for this update")
      end
      assert.equal(0, b:fetch(0, "SUM"))
    end)

    it("subtracts from unsigned fixed-point values, down to 0", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "a", "uq64", { stats.sum(8), stats.min(8) }, { relupdate = true }))
      assert(tpl:add_voi(1, "b", "uq32", { stats.max(8) }, { relupdate = true }))
      local b = tpl:blob()
      assert.is_true(b:update(0, 2.5))
      assert.is_true(b:add(0, -1))
      assert.is_true(b:add(0, -1.25))
      assert.same({ 2.5 + 1.5 + 0.25, 0.25, 0.25 },
        { b:fetch(0, "SUM"), (b:fetch(0, "MIN")), (b:fetch(0, "VOISTATE")) })
      assert.equal("ERANGE", (select(3, b:add(0, -1))))
      assert.equal("ERANGE", (select(3, b:add(1, -0.5))))
      assert.equal(4.25, b:fetch(0, "SUM"))
    end)

    it("keeps fixed-point values in their precision", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "q", "sq64", { stats.sum(8), stats.min(8), stats.max(8),
        stats.crhist32_lin(-1, 1, 1, { prec = 8 }), stats.tdgstclust64(5, 8) }, { relupdate = true }))
      local b = tpl:blob()
      assert.is_true(b:update(0, 1.5))
      assert.is_true(b:update(0, -0.75))
      assert.equal(0.75, b:fetch(0, "SUM"))
      assert.equal(-0.75, b:fetch(0, "MIN"))
      assert.equal(1.5, b:fetch(0, "MAX"))
      assert.is_true(b:add(0, 0.5))
      assert.equal(0.5, b:fetch(0, "SUM"))
      assert.same({ 2, 0, 1 }, { b:fetch(0, "HIST")[1].cnt, b:fetch(0, "HIST")[2].cnt,
        b:fetch(0, "HIST")[3].cnt })
      assert.equal(3, b:count(0))
      assert.equal("ERANGE", (select(3, b:update(0, 2 ^ 60))))
    end)

    it("counts in a discrete bucket the fixed-point values that are equal to it, and no others", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "q", "sq64", { stats.dvhist32_usr({ 1, 5 }, { prec = 8 }) }))
      local b = tpl:blob()
      for _, v in ipairs({ 1, 1 + 1 / 256, 1 - 1 / 256, 1.5, 5 }) do
        assert.is_true(b:update(0, v))
      end
      local h = b:fetch(0, "HIST")
      assert.same({ 3, 1, 1 }, { h.oob, h[1].cnt, h[2].cnt })
    end)

    it("takes names, in capitals or small letters, wherever it takes IDs", function()
      local tpl = assert(stats.template("names of any case"))
      assert(tpl:add_voi(3, "Rtt", "u64", { stats.sum(), stats.max(), stats.tdgstclust64(50) }))
      local b = assert(tpl:blob())
      local pub = assert(require("kstat").publish("statsnames"))
      local published = assert(pub:blob({ name = "b", template = tpl }))
      for _, name in ipairs({ "rtt", "RTT", "Rtt", 3 }) do
        assert.is_true(b:update(name, 5))
        assert.is_true(published:update(name, 5))
      end
      assert.same({ 20, 20, 5, 4 }, { b:fetch("RTT", "sum"), (published:snapshot():fetch("rtt", "Sum")),
        (b:quantile("rtt", 0.5)), (b:count("rTT")) })
      assert.equal(3, b:id("RTT"))
      assert.matches("stats_spec.lua:%d+: bad argument #1 to 'fetch' %(no value of interest is named 'rtx'%)",
        select(2, pcall(function() local v = b:fetch("rtx", "sum") return v end)))
      pub:close()
    end)

    it("is of no use when it was closed", function()
      local b = rtt():blob()
      b:update(0, 1)
      b:close()
      b:close()
      for _, f in ipairs({ function() b:update(0, 1) end, function() b:fetch(0, "SUM") end, function() b:bytes() end,
        function() b:merge(b) end }) do
        assert.matches("the blob is closed", select(2, pcall(f)))
      end
      assert.matches("0 bytes", tostring(b))
      if _VERSION == "Lua 5.4" then
        local text = "local new = ... local kept do local b <close> = new kept = b b:update(0, 1) end kept:bytes()"
        assert.matches("the blob is closed", select(2, pcall(load(text), rtt():blob())))
      end
    end)

    it("says when it is visited what stats_blob_visit() says", function()
      local b, rows = rtt():blob(), {}
      for voi, stat, _, about in b:visit() do
        rows[#rows + 1] = { voi, stat, about.name, about.voi_type, about.type, about.size, about.errors }
      end
      assert.same({ 0, "SUM", "rtt", "INT_U64", "INT_U64", 8, 0 }, rows[1])
    end)

    it("is visited by VOI and statistic", function()
      local tpl = rtt()
      assert(tpl:add_voi(2, "x", "s32", { stats.max(), stats.sum() }))
      local b, seen = tpl:blob(), {}
      b:update(0, 7)
      for voi, stat, value in b:visit() do
        seen[#seen + 1] = ("%d %s %s"):format(voi, stat, type(value) == "table" and "-" or tostring(value))
      end
      assert.same({ "0 SUM 7", "0 MAX 7", "0 MIN 7", "0 HIST -", "0 TDGST -", "2 SUM 0", "2 MAX nil" }, seen)
    end)

    it("is copied, and reset by a snapshot", function()
      local b = rtt():blob()
      b:update(0, 7)
      local c, s = b:clone(), b:snapshot({ reset = true })
      assert.equal(7, c:fetch(0, "SUM"))
      assert.equal(7, s:fetch(0, "SUM"))
      assert.equal(0, b:fetch(0, "SUM"))
      assert.is_nil((b:fetch(0, "MAX")))
      assert.equal(0, b:count(0))
      assert.equal(7, b:fetch(0, "VOISTATE"))
    end)

    it("renders as text and as JSON", function()
      local tpl = rtt()
      local b = tpl:blob()
      b:update(0, 7)
      assert.truthy(b:tostring():find("^struct statsblobv1@0x%x+, tplhash=%d+\n\tvois%[0%]"))
      local j = cjson.decode(b:tostring("json", { meta = true }))
      assert.equal(tpl.name, j.tplname)
      assert.equal(7, j.vois.rtt.stats.SUM.val)
      assert.equal(cjson.null, cjson.decode(b:tostring("json")).tplname)
      assert.truthy(b:tostring("json", { objdump = true }):find('"voistatdata"', 1, true))
      assert.has_error(function() b:tostring("xml") end)
      assert.truthy(tostring(b):find("^kstat.blob: "))
      assert(tpl:add_voi(1, "later", "s32", { stats.sum() }))
      assert.equal("EINVAL", (select(3, b:tostring("json", { meta = true }))))
    end)

    it("renders one statistic as text", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "v", "u32", { stats.sum(), stats.crhist32_lin(0, 2, 1) }))
      local b = tpl:blob()
      b:update("v", 1)
      b:update("v", 1)
      assert.equal("2", b:stat_tostring("v", "SUM"))
      assert.same({ lb = 1, ub = 2, cnt = 2 }, cjson.decode(b:stat_tostring("v", "hist", "json")).bkts[2])
      assert.equal("EINVAL", (select(3, b:stat_tostring("v", "MAX"))))
      assert.has_error(function() b:stat_tostring("v", "SUM", "xml") end)
      assert.has_error(function() b:stat_tostring() end)
    end)

    it("says how exact the quantiles of its digest are", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "v", "u32", { stats.tdgstclust64(50, 4) }))
      assert(tpl:add_voi(1, "h", "u32", { stats.crhist32_lin(0, 9, 1) }))
      local b = tpl:blob()
      assert.equal("ENOENT", (select(3, b:rank_error(0, 0.5))))
      for v = 1, 40 do b:update(0, v) end
      assert.equal(0, b:rank_error(0, 0.5))
      b:reset()
      local n, x = 50000, 0
      for _ = 1, n do -- each value from 0 on once
        x = (x + 30011) % n
        b:update(0, x)
      end
      for _, q in ipairs({ 0.01, 0.1, 0.5, 0.9, 0.99, 0.999 }) do
        local bound = b:rank_error(0, q)
        assert.is_true(bound > 0 and bound <= stats.tdgst_error_bound(50, n, q) + 1e-12)
        assert.is_true(math.abs(b:quantile(0, q) / n - q) <= bound)
      end
      b:update(1, 5)
      assert.equal("EINVAL", (select(3, b:rank_error(1, 0.5))))
      -- The more centroids and the further up, the better.
      for _, q in ipairs({ 0.5, 0.9, 0.99, 0.999 }) do
        local last = 1
        for _, centroids in ipairs({ 10, 20, 50, 100, 200, 500, 1000, 4094 }) do
          local bound = stats.tdgst_error_bound(centroids, 1e6, q)
          assert.is_true(bound > 0 and bound <= last)
          last = bound
        end
      end
      assert.is_true(stats.tdgst_error_bound(100, 1e6, 0.999) < stats.tdgst_error_bound(100, 1e6, 0.99))
      for _, args in ipairs({ { 0, 1, 0.5 }, { 4095, 1, 0.5 }, { 10.5, 1, 0.5 }, { 10, 1, 1.5 }, { 10, 1, 0 / 0 },
        { 10, 0.5, 0.5 }, { 10, -1, 0.5 }, { 10, 1 }, { 10 } }) do
        assert.has_error(function() stats.tdgst_error_bound(args[1], args[2], args[3]) end)
      end
    end)

    it("has the bounds of digests that the header and the manual page list", function()
      local quantiles = { 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999 }
      for path, start in pairs({ ["csrc/include/statsblob.h"] = "\n %*\tcentroids  p1 [^\n]*",
        ["doc/man/statsblob.3"] = "\n%.It Em centroids Ta Em p1 [^\n]*" }) do
        local text = run.read_file(path)
        local rows = 0
        for line in text:sub(select(2, assert(text:find(start))) + 2):gmatch("[^\n]+") do
          local cells = {}
          for cell in line:gmatch("[%d.]*%d") do cells[#cells + 1] = tonumber(cell) end
          if #cells ~= 8 then break end
          rows = rows + 1
          for i, q in ipairs(quantiles) do
            local bound = 100 * stats.tdgst_error_bound(cells[1], 1e6, q)
            assert.is_true(math.abs(cells[i + 1] / bound - 1) < 0.06,
              ("%s, %d centroids: %g is listed for %g, it is %g"):format(path, cells[1], cells[i + 1], q, bound))
          end
        end
        assert.equal(7, rows, path)
      end
    end)

    -- Frames are larger with the sanitizer and without optimization.
    local has_small_frames = not os.getenv("KSTAT_PRELOAD") and
      (os.getenv("KSTAT_CFLAGS") or "-O2"):find("-O[1-9s]")

    it("needs no more stack for its digest than statsblob.h says", function()
      local r = run.run({ run.build .. "/spec/digest_stack", "20", "128", "129", "256", "257", "512", "513", "2000",
        "2700" })
      assert.equal(0, r.status)
      local n = 0
      for centroids, bytes in r.out:gmatch("(%d+) (%d+)\n") do
        n = n + 1
        centroids, bytes = tonumber(centroids), tonumber(bytes)
        local most = centroids > 512 and 26 or centroids > 256 and 56 or centroids > 128 and 32 or 26
        if has_small_frames then
          assert.is_true(bytes <= most * 1024, ("%d centroids: %d"):format(centroids, bytes))
        end
      end
      assert.equal(9, n)
    end)

    it("merges whole blobs without memory, on the stack that statsblob.h says", function()
      local r = run.run({ run.build .. "/spec/merge_no_memory", "2", "128", "129", "256", "257", "512", "513", "2700" })
      assert.equal("", r.err)
      assert.equal(0, r.status)
      local n = 0
      for centroids, ret, same, bytes in r.out:gmatch("(%d+) (%d+) (%d+) (%d+)\n") do
        n = n + 1
        assert.same({ "0", "1" }, { ret, same }, centroids)
        centroids, bytes = tonumber(centroids), tonumber(bytes)
        local most = centroids > 512 and 640 or centroids > 256 and 88 or centroids > 128 and 48 or 26
        if has_small_frames then
          assert.is_true(bytes <= most * 1024, ("%d centroids: %d"):format(centroids, bytes))
        end
      end
      assert.equal(8, n)
    end)

    it("stops counting at the width of a digest's count when blobs are merged, and goes on answering", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "v", "u32", { stats.crhist32_lin(0, 10, 5), stats.tdgstclust32(20, 2),
        stats.sum() }))
      local b = tpl:blob()
      for v = 1, 1000 do b:update(0, v % 10) end
      local doublings = 0
      while b:count(0) < 4294967295 and doublings < 40 do
        assert(b:merge(b:clone()))
        doublings = doublings + 1
      end
      assert.equal(23, doublings)
      assert(b:merge(b:clone()))
      assert.equal(4294967295, b:count(0))
      -- 500 times 2^24, as an update's count wraps.
      assert.equal(500 * 2 ^ 24 % 2 ^ 32, b:counts(0)[1])
      assert.is_true(math.abs(b:quantile(0, 0.5) - 4.5) < 1)
    end)

    it("answers quantiles from a histogram within its bound", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "v", "s64", { stats.min(), stats.max(), stats.crhist32_lin(0, 990, 10) }))
      local b = tpl:blob()
      assert.equal("ENOENT", (select(3, b:quantile(0, 0.5))))
      for v = 0, 999 do b:update(0, v) end
      for _, q in ipairs({ 0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1 }) do
        local value, err = b:quantile(0, q)
        assert.is_true(err <= 10)
        assert.is_true(math.abs(value - q * 999) <= err, q)
      end
      assert.is_true(math.abs(b:cdf(0, 500) - 0.5) < 0.01)
      assert.equal(1, b:cdf(0, 1000))
      assert.equal(0, b:cdf(0, -1))
      assert.has_error(function() b:quantile(0, 2) end)
    end)

    it("answers quantiles of unsorted and overlapping buckets within its bound", function()
      local function filled(hist, values)
        local tpl = assert(stats.template(fresh()))
        assert(tpl:add_voi(0, "v", "u64", { hist }))
        local b = tpl:blob()
        for _, v in ipairs(values) do b:update(0, v) end
        return b
      end
      local b = filled(stats.crhist64_usr({ 10, 0 }), { 1000, 1000, 1000 })
      local value, err = b:quantile(0, 0.5)
      assert.is_true(math.abs(value - 1000) <= err)
      assert.equal(0, b:cdf(0, 500))
      b = filled(stats.drhist64_usr({ { 0, 100 }, { 50, 60 } }), { 90, 90, 55, 55 })
      value, err = b:quantile(0, 0.75)
      assert.is_true(math.abs(value - 90) <= err and err <= 50)
      assert.equal(1, b:cdf(0, 100))
    end)

    -- Any buckets, any values: each quantile, and what lies at or below each value, by the definition.
    it("answers quantiles within its bound whatever the buckets are", function()
      local seed = 4
      local function random(n)
        seed = (seed * 16807) % 2147483647
        return seed % n
      end
      local holds = {
        cr = function(b, v) return v >= b[1] end,
        dr = function(b, v) return v >= b[1] and v < b[2] end,
        dv = function(b, v) return v == b[1] end,
      }
      local types = { "u64", "s64", "s32", "sq64" }
      for round = 1, 400 do
        local kind = ({ "cr", "dr", "dv" })[round % 3 + 1]
        local dtype = types[round % 4 + 1]
        local tpl = assert(stats.template(fresh()))
        local low = dtype == "u64" and 0 or 10
        local buckets, list = {}, {}
        for i = 1, random(6) + 1 do
          local lb = random(30) - low
          buckets[i] = { lb, lb + 1 + random(12) }
          list[i] = kind == "dr" and buckets[i] or buckets[i][1]
        end
        local specs = { stats[kind .. "hist64_usr"](list, { prec = 16 }) }
        if round % 2 == 0 then specs[2], specs[3] = stats.min(), stats.max() end
        assert(tpl:add_voi(0, "v", dtype, specs))
        local b, seen = tpl:blob(), {}
        for _ = 1, random(40) + 1 do
          local v = random(40) - low
          b:update(0, v)
          for i = #buckets, 1, -1 do
            if holds[kind](buckets[i], v) then
              seen[#seen + 1] = v
              break
            end
          end
        end
        table.sort(seen)
        for i = 1, #seen do
          local q = i / #seen
          local value, err = b:quantile(0, q)
          local true_value = seen[math.max(1, math.ceil(q * #seen - 1e-9))]
          assert.is_true(math.abs(value - true_value) <= err + 1e-9,
            ("round %d: q %g is %g +- %g, true %g"):format(round, q, value, err, true_value))
        end
        if #seen > 0 then
          local last = 0
          for x = -11, 41 do
            local share = b:cdf(0, x)
            assert.is_true(share >= last and share <= 1)
            if x < seen[1] and kind == "dv" then assert.equal(0, share) end
            last = share
          end
        else
          assert.equal("ENOENT", (select(3, b:quantile(0, 0.5))))
        end
      end
    end)
  end)

  describe("merging", function()
    it("64 blobs is as good as one that saw everything", function()
      local tpl = rtt()
      local whole, parts, all = tpl:blob(), {}, {}
      for i = 1, 64 do parts[i] = tpl:blob() end
      local x = 12345
      for i = 1, 64 * 500 do
        x = (x * 16807) % 2147483647
        local v = math.floor(math.exp(x / 2147483647 * 9))
        all[i] = v
        whole:update(0, v)
        parts[i % 64 + 1]:update(0, v)
      end
      local sum = tpl:blob()
      for i = 1, 64 do assert(sum:merge(parts[i])) end
      for _, stat in ipairs({ "SUM", "MAX", "MIN" }) do
        assert.equal((whole:fetch(0, stat)), (sum:fetch(0, stat)))
      end
      assert.same(whole:fetch(0, "HIST"), sum:fetch(0, "HIST"))
      assert.equal(whole:count(0), sum:count(0))
      table.sort(all)
      local function rank(v)
        local n = 0
        for _, a in ipairs(all) do if a <= v then n = n + 1 else break end end
        return n / #all
      end
      for q, bound in pairs({ [0.5] = 0.02, [0.9] = 0.012, [0.99] = 0.002, [0.999] = 0.001 }) do
        assert.is_true(math.abs(rank(sum:quantile(0, q)) - q) <= bound, "q " .. q)
      end
    end)

    it("refuses another template's blob, and itself", function()
      local a = rtt():blob()
      assert.equal("EINVAL", (select(3, a:merge(rtt():blob()))))
      assert.has_error(function() a:merge(a) end)
      assert.has_error(function() a:merge({}) end)
    end)
  end)

  describe("bytes", function()
    it("make the same blob again", function()
      local b = rtt():blob()
      for v = 1, 50 do b:update(0, v * v) end
      local c = assert(stats.from_bytes(b:bytes()))
      assert.equal(b:bytes(), c:bytes())
      assert.is_true(c:update(0, 3))
      assert(b:merge(c))
      assert.equal(101, b:count(0))
    end)

    it("of the other byte order are refused as such", function()
      local s = rtt():blob():bytes()
      local other = s:byte(2) == 1 and 2 or 1
      local _, message, code = stats.from_bytes(s:sub(1, 1) .. string.char(other) .. s:sub(3))
      assert.equal("EOPNOTSUPP", code)
      assert.truthy(message:find("byte order", 1, true))
    end)

    it("that are cut, longer, or other in any layout byte are refused", function()
      local b = rtt():blob()
      for v = 1, 10 do b:update(0, v) end
      local s = b:bytes()
      assert.equal("EINVAL", (select(3, stats.from_bytes(""))))
      assert.equal("EINVAL", (select(3, stats.from_bytes(s .. "x"))))
      for n = 0, #s - 1, 7 do assert.is_nil((stats.from_bytes(s:sub(1, n)))) end
      -- Header (but maxsz, hash and times), VOI slots, statistic slots (but errs and flags).
      for i = 1, 32 + 8 + 6 * 8 do
        local at = i - 1
        local free = (at >= 4 and at < 6) or (at >= 8 and at < 12) or (at >= 16 and at < 32) or
          (at >= 40 and (at - 40) % 8 >= 6)
        if not free then
          local t = s:sub(1, at) .. string.char((s:byte(i) + 85) % 256) .. s:sub(i + 1)
          assert.is_nil((stats.from_bytes(t)), "byte " .. at)
        end
      end
    end)

    it("whose digest counts further than one can are refused", function()
      local tpl = assert(stats.template("counted"))
      assert(tpl:add_voi(0, "v", "s64", { stats.tdgstclust64(10, 4) }))
      local b = tpl:blob()
      for v = 1, 1003 do b:update(0, v * 37 % 1009) end
      local s = b:bytes()
      local at = assert(s:find("\235\3\0\0\0\0\0\0", 1, true)) -- 1003
      local function counting(text)
        return stats.from_bytes(s:sub(1, at - 1) .. text .. s:sub(at + 8))
      end
      assert.equal("EINVAL", (select(3, counting(("\255"):rep(8)))))
      local c = assert(counting(("\0"):rep(7) .. "\128")) -- 2^63: its weights were halved
      for v = 1, 1000 do assert(c:update(0, v)) end
      assert.is_true(c:quantile(0, 0.5) > 0)
    end)

    it("with any byte changed never break what works on them", function()
      local b = rtt():blob()
      for v = 1, 60 do b:update(0, v) end
      local s = b:bytes()
      local taken = 0
      for i = 1, #s do
        for _, d in ipairs({ 1, 127, 128, 255 }) do
          local c = stats.from_bytes(s:sub(1, i - 1) .. string.char((s:byte(i) + d) % 256) .. s:sub(i + 1))
          if c then
            taken = taken + 1
            c:update(0, 77)
            c:quantile(0, 0.9)
            assert.truthy(c:tostring("json", { objdump = true }))
            c:clone():reset()
          end
        end
      end
      assert.is_true(taken > 0)
    end)
  end)

  describe("sampling", function()
    it("is exact in both tails, and of negated values, with centroids enough", function()
      local tpl = assert(stats.template(fresh()))
      local function add(id, n)
        assert(tpl:add_voi(id, "v" .. id, "s64", { stats.tdgstclust64(n, 4) }))
      end
      add(0, 100)
      add(1, 100)
      add(2, 2)
      add(3, 1)
      local b, values, state = tpl:blob(), {}, 1
      local function random()
        state = state * 16807 % 2147483647
        return state / 2147483647
      end
      for i = 1, 50000 do
        local normal = math.sqrt(-2 * math.log(random())) * math.cos(6.283185307179586 * random())
        values[i] = math.floor(math.exp(8 + normal))
        b:update(0, values[i])
        b:update(1, -values[i])
        b:update(2, values[i])
        b:update(3, values[i])
      end
      table.sort(values)
      local function error_of(value, q)
        local below = 0
        while values[below + 1] and values[below + 1] < value do below = below + 1 end
        return math.abs(below / #values - q)
      end
      local high = error_of(b:quantile(0, 0.99), 0.99)
      local low = error_of(b:quantile(0, 0.01), 0.01)
      local negated = error_of(-b:quantile(1, 0.99), 0.01)
      assert.is_true(high < 0.0005 and negated < 0.0005, high .. " " .. negated)
      assert.is_true(low < 0.0005, low)
      for _, q in ipairs({ 0.01, 0.5, 0.99 }) do
        assert.is_true(math.abs(b:quantile(3, q) - b:quantile(2, q)) < 0.01)
        assert.is_true(math.abs(b:quantile(3, q) - b:quantile(3, 0.5)) < 0.01)
      end
    end)

    it("tells mistakes where they were made, naming the function", function()
      local tpl = assert(stats.template(fresh()))
      assert(tpl:add_voi(0, "v", "u32", { stats.sum() }))
      local b, n = tpl:blob(), 0
      for _, case in ipairs({
        { "to 'from_bytes' (string expected", function() stats.from_bytes() end },
        { "to 'rates' (string expected", function() stats.rates({}) end },
        { "to 'find' (string expected", function() stats.find(5) end },
        { "#1 to 'roll' (table of rates expected", function() stats.roll("a") end },
        { "#2 to 'roll' (string expected, got table)", function() stats.roll({}, {}) end },
        { "calling 'visit' on bad self (blob expected, got nil)", function() b.visit() end },
        { "calling 'visit' on bad self (blob expected, got table)", function() b.visit({}) end },
        { "calling 'snapshot' on bad self", function() b.snapshot({ reset = true }) end },
        { "calling 'clone' on bad self", function() b.clone() end },
        { "calling 'tostring' on bad self", function() b.tostring("json") end },
        { "blob expected", function() b.fetch(0, "SUM") end },
        { "calling 'blob' on bad self (template expected, got nil)", function() tpl.blob() end },
        { "calling 'hash' on bad self", function() tpl.hash() end },
        { "calling 'size' on bad self", function() tpl.size({}) end },
        { "calling 'add_voi' on bad self", function() tpl.add_voi(0, "w") end },
        { "#4 to 'add_voi' (a statistic must come from a constructor)", function()
          tpl:add_voi(1, "w", "u32", { {} })
        end },
        { "#4 to 'add_voi' (a statistic must come from a constructor)", function()
          tpl:add_voi(1, "w", "u32", { { stat = "HIST" } })
        end },
        { "unknown type 'u31'", function() tpl:add_voi(1, "w", "u31", { stats.sum() }) end },
      }) do
        local ok, message = pcall(case[2])
        assert.is_false(ok, case[1])
        assert.matches("stats_spec.lua:%d+: ", message)
        assert.matches(case[1], message, 1, true)
        n = n + 1
      end
      assert.equal(18, n)
    end)

    it("rolls evenly by seeds that end as the documents advise", function()
      local rates = {}
      for i = 1, 100 do rates[i] = { assert(stats.template(fresh())).slot, 1 } end
      local function spread(ending)
        local seen = {}
        for k = 0, 65535 do
          local seed = ("10.0.%d.%d%s"):format((k - k % 256) / 256, k % 256, ending)
          local slot = stats.roll(rates, seed).slot
          seen[slot] = (seen[slot] or 0) + 1
        end
        local least, most = 65536, 0
        for _, rate in ipairs(rates) do
          local n = seen[rate[1]] or 0
          least, most = math.min(least, n), math.max(most, n)
        end
        return 100 * least / 65536, 100 * most / 65536
      end
      local least, most = spread("")
      assert.equal(0, least)
      assert.is_true(most > 17 and most < 18)
      least, most = spread("        ")
      assert.is_true(least > 0.95 and most < 1.06)
      -- Four bytes are one choice, whatever they are.
      for _, seed in ipairs({ "", "a", "1234", "\255\255\255\255", "zzzz" }) do
        assert.equal(rates[1][1], stats.roll(rates, seed).slot)
      end
    end)

    it("reads rates and rolls by seed", function()
      local a, b = rtt(), rtt()
      local rates = assert(stats.rates(("%s=30, %s=70"):format(tostring(a), b.name)))
      assert.same({ { a.slot, 30 }, { b.slot, 70 } }, rates)
      local first = stats.roll(rates, "seed")
      for _ = 1, 10 do assert.equal(first.slot, stats.roll(rates, "seed").slot) end
      assert.truthy(stats.roll(rates))
      assert.is_nil(stats.roll({ { a.slot, 0 } }))
      assert.equal("EINVAL", (select(3, stats.rates(a.name .. "=101"))))
      assert.equal("ESRCH", (select(3, stats.rates("nobody=1"))))
      assert.same({}, stats.rates(""))
    end)

    it("chooses about as often as the rates say", function()
      local a = rtt()
      local n = 0
      for i = 1, 2000 do
        if stats.roll({ { a.slot, 25 } }, ("seed %d of many"):format(i * 7919)) then n = n + 1 end
      end
      assert.is_true(n > 350 and n < 650, n)
    end)
  end)
end)
