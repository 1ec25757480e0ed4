-- Statsblobs as kstats: kstat_blob.h by way of spec/c/core_blob.c, and the Lua face, which is published by
-- one process and read by others.
local run = require("support.run")
local kstat = require("kstat")
local stats = require("kstat.stats")

-- A process that publishes, does what `body` says, prints what it has to say, and stays until it is told.
local prologue = [[
local kstat, stats = require("kstat"), require("kstat.stats")
local function template(name, digest)
  local tpl = assert(stats.template(name))
  assert(tpl:add_voi(0, "rtt", "u64", { stats.sum(), stats.max(), stats.min(),
    stats.crhist64_lin(0, 900, 100), digest and stats.tdgstclust64(100, 4) or nil }))
  return tpl
end
-- Uneven, and the same in every process.
local function noise(n, seed, each)
  for _ = 1, n do
    seed = (seed * 16807) % 2147483647
    each(seed % 1000)
  end
end
]]

describe("a statsblob kstat", function()
  local dir

  before_each(function()
    dir = run.directory()
  end)

  after_each(function()
    run.remove_directory(dir)
  end)

  local function environment()
    return { KSTAT_DIR = dir, KSTAT_PROC = dir, KSTAT_SYS = dir }
  end

  -- Writes a script; returns the line of sh that runs it.
  local function command(name, body)
    local file = dir .. "/" .. name .. ".lua"
    run.write_file(file, ("package.path, package.cpath = %q, %q\n"):format(package.path, package.cpath) ..
      prologue .. body .. "\n")
    return ("KSTAT_DIR=%s KSTAT_PROC=%s KSTAT_SYS=%s %s %s"):format(dir, dir, dir, run.lua, file)
  end

  -- Publishes, calls `reader`, and ends the publisher. Returns what the publisher printed.
  local function published(body, reader)
    local line = command("publisher", body ..
      "\nio.write('ready\\n') io.stdout:flush() io.stdin:read('*l') print(report and report() or '')")
    local out = dir .. "/out"
    -- The publisher waits for the end of a pipe that this process holds open.
    local pipe = assert(io.popen(line .. " >" .. out .. " 2>&1", "w"))
    local ok, err = pcall(function()
      run.await("the publisher", function() return run.shell("grep -qe ready -e : " .. out).status == 0 end)
      reader()
    end)
    pipe:close()
    local text = run.read_file(out)
    assert(ok, tostring(err) .. "\n" .. text)
    assert.equal("ready\n", text:match("^ready\n") or text)
    return text:gsub("^ready\n", "")
  end

  it("is updated together, survives deaths and damage, and is recorded, as kstat_blob.h says", function()
    local r = run.run({ run.build .. "/spec/core_blob", env = { KSTAT_DIR = dir } })
    local checks, failures = r.out:match("^(%d+) checks, (%d+) failures\n$")
    assert.are.equal("0", failures, r.out .. r.err)
    assert.is_true(tonumber(checks) > 2000)
  end)

  it("takes the Q numbers of qmath(3), whose headers are those of stats(3)", function()
    assert.are.equal("16 checks, 0 failures\n", run.run({ run.build .. "/spec/stats_q" }).out)
  end)

  it("shows another process what a blob of its own would", function()
    local mine = assert(stats.template("blobspec"))
    assert(mine:add_voi(0, "rtt", "u64", { stats.sum(), stats.max(), stats.min(),
      stats.crhist64_lin(0, 900, 100), stats.tdgstclust64(100, 4) }))
    local blob = mine:blob()
    local seed = 7
    for _ = 1, 5000 do
      seed = (seed * 16807) % 2147483647
      blob:update(0, seed % 1000)
    end
    published([[
      local pub = assert(kstat.publish("spec"))
      local k = assert(pub:blob({ name = "latency", template = template("blobspec", true),
        vois = { rtt = { unit = "us", desc = "time to answer" } } }))
      noise(5000, 7, function(v) assert(k:update(v % 2 == 0 and 0 or "rtt", v)) end)
      assert(k.vois.rtt == 0 and k:snapshot():count(0) == 5000)
    ]], function()
      local r = run.run({ "kstat", "-p", "spec:0:latency:/^rtt/", env = environment() })
      assert.equal("", r.err)
      local seen = {}
      for stat, value in r.out:gmatch("spec:0:latency:(%S+)\t([^\n]+)\n") do
        seen[stat] = value
      end
      assert.equal(("%d"):format(blob:fetch(0, "SUM")), seen.rtt_sum)
      assert.equal(("%d"):format(blob:fetch(0, "MAX")), seen.rtt_max)
      assert.equal(("%d"):format(blob:fetch(0, "MIN")), seen.rtt_min)
      assert.equal("5000", seen.rtt_count)
      assert.equal("0", seen.rtt_oob)
      assert.equal("[0,100,200,300,400,500,600,700,800,900]", seen.rtt_bounds)
      local counts, buckets = {}, blob:fetch(0, "HIST")
      for i, bucket in ipairs(buckets) do
        counts[i] = ("%d"):format(bucket.cnt)
      end
      assert.equal("[" .. table.concat(counts, ",") .. "]", seen.rtt_buckets)
      for name, q in pairs({ rtt_p50 = 0.5, rtt_p90 = 0.9, rtt_p99 = 0.99, rtt_p999 = 0.999 }) do
        assert.is_true(math.abs(tonumber(seen[name]) - blob:quantile(0, q)) < 1e-9, name)
      end
      -- All formats show it, -l and the metadata too.
      r = run.run({ "kstat", "-d", "spec:0:latency:rtt_p99", env = environment() })
      assert.truthy(r.out:find("time to answer: 99th percentile", 1, true), r.out)
      assert.truthy(r.out:find("us", 1, true))
      assert.truthy(run.run({ "kstat", "-j", "-m", "spec", env = environment() }).out:find('"statsblob": 1,', 1, true))

      -- The whole blob, by a reader in Lua that knows the template by the blob alone.
      r = run.shell(command("reader", [[
        local ks = assert(kstat.open())
        local k = assert(ks:lookup("spec", 0, "latency"))
        assert(k.type == "raw")
        local blob, id = assert(k:blob())
        print(blob:fetch(id.rtt, "SUM"), blob:quantile(id.rtt, 0.95), k:get("rtt_p50"), k:get("rtt_buckets")[1])
        print(k:meta("rtt_sum").kind, k:meta("rtt_sum").unit)
        local sample = ks:sample("spec:")
        assert(sample:lookup("spec", 0, "latency"):blob():count(0) == 5000)
      ]]))
      assert.equal("", r.err)
      assert.equal(("%s\t%s\t%s\t%s\ncounter\tus\n"):format(tostring(blob:fetch(0, "SUM")),
        tostring((blob:quantile(0, 0.95))), tostring((blob:quantile(0, 0.5))), tostring(buckets[1].cnt)), r.out)
    end)
  end)

  it("counts exactly what several processes feed it, and merges their shards", function()
    local worker = [[
      local pub = assert(kstat.publish("spec", { shared = true }))
      local tpl = template("workers", true)
      local one = assert(pub:blob({ name = "one", template = tpl }))
      local many = assert(pub:blob({ name = "many", template = tpl, shards = 4 }))
    ]]
    published(worker, function()
      local line = command("worker", worker .. [[
        noise(20000, tonumber(arg[1]), function(v) assert(one:update(0, v)) assert(many:update(0, v)) end)
      ]])
      local r = run.shell(("for i in 1 2 3 4; do %s $i & done; wait"):format(line))
      assert.equal("", r.err .. r.out)
      r = run.run({ "kstat", "-p", "spec:0:/./:/^rtt_[cms]/", env = environment() })
      local sum = r.out:match("one:rtt_sum\t(%d+)")
      assert.equal("80000", r.out:match("one:rtt_count\t(%d+)"))
      assert.equal("80000", r.out:match("many:rtt_count\t(%d+)"))
      assert.equal(sum, r.out:match("many:rtt_sum\t(%d+)"))
      assert.equal("999", r.out:match("many:rtt_max\t(%d+)"))
      assert.equal("0", r.out:match("many:rtt_min\t(%d+)"))
    end)
  end)

  it("takes whole blobs, relative values and fractions", function()
    local text = published([[
      local pub = assert(kstat.publish("spec"))
      local tpl = assert(stats.template("mixed"))
      assert(tpl:add_voi(0, "depth", "s64", { stats.sum(), stats.max() }, { relupdate = true }))
      assert(tpl:add_voi(1, "load", "uq32", { stats.max(8) }))
      local k = assert(pub:blob({ name = "mixed", template = tpl }))
      assert(k:update("depth", 10))
      assert(k:add("depth", -3))
      assert(k:add(0, 1))
      assert(k:update(1, 1.25))
      local private = tpl:blob()
      private:update(0, 100)
      function report()
        assert(k:merge(private))
        local snapshot = k:snapshot()
        assert(k:reset())
        local empty = k:snapshot()
        assert(k:store(private))
        return table.concat({ tostring(snapshot:fetch(0, "SUM")), tostring(snapshot:fetch(0, "MAX")),
          tostring(empty:fetch(0, "SUM")), tostring(k:snapshot():fetch(0, "SUM")) }, " ")
      end
    ]], function()
      local r = run.run({ "kstat", "-p", "-m", "spec", "-s", "/_/", env = environment() })
      assert.equal("spec:0:mixed:depth_max\t10\nspec:0:mixed:depth_sum\t25\nspec:0:mixed:load_max\t1.25\n", r.out)
    end)
    assert.equal("125 100 0 100\n", (text:gsub("%.0%f[ \n]", "")))
  end)

  it("goes on after its publisher was killed in the middle", function()
    -- The second process shares the segment with the first, which dies while it updates.
    published([[
      local pub = assert(kstat.publish("spec", { shared = true }))
      local k = assert(pub:blob({ name = "latency", template = template("blobspec", true) }))
    ]], function()
      local line = command("victim", [[
        local pub = assert(kstat.publish("spec", { shared = true }))
        local k = assert(pub:blob({ name = "latency", template = template("blobspec", true) }))
        for _ = 1, 1000 do k:update(0, 1) end
        io.write("ready\n") io.stdout:flush()
        while true do k:update(0, 1) end
      ]])
      local last = 0
      for _ = 1, 5 do
        local pid = run.start("env " .. line, dir .. "/victim")
        run.await("updates", function()
          return run.read_file(dir .. "/victim") == "ready\n" or not run.alive(pid)
        end)
        run.stop(pid, "KILL")
        assert.equal("ready\n", run.read_file(dir .. "/victim"))
        local r = run.run({ "kstat", "-p", "spec:0:latency:/^rtt_[cs]/", env = environment() })
        local count, sum = r.out:match("rtt_count\t(%d+)\n"), r.out:match("rtt_sum\t(%d+)\n")
        assert.equal(count, sum, r.out .. r.err)
        assert.is_true(tonumber(count) >= last + 1000)
        last = tonumber(count)
      end
    end)
  end)

  it("is refused in one line if its bytes were changed", function()
    published([[
      local pub = assert(kstat.publish("spec"))
      local k = assert(pub:blob({ name = "latency", template = template("blobspec", true) }))
      k:update(0, 1)
    ]], function()
      local path = dir .. "/spec.kseg"
      local bytes = run.read_file(path)
      -- The head of the kstat's data: "blob" as a number, and version 1.
      local at = assert(bytes:find("blob\1\0\0\0", 1, true) or bytes:find("\98\108\111\98\1\0\0\0", 1, true))
      local f = assert(io.open(path, "r+b"))
      f:seek("set", at + 7)
      f:write("\255\255\255\255")
      f:close()
      local r = run.run({ "kstat", "-p", "spec:0:latency:/^rtt/", env = environment() })
      assert.equal("", r.out)
      r = run.run({ "kstatlua", "-e", "print(kstat.open():lookup('spec', 0, 'latency'):get('rtt_sum'))",
        env = environment() })
      assert.equal("nil\tspec:0:latency: a statsblob whose sizes are impossible\tEIO\n", r.out)
    end)
  end)

  it("draws histograms for people, in a replay too", function()
    published([[
      local pub = assert(kstat.publish("spec"))
      local tpl = assert(stats.template("drawn"))
      assert(tpl:add_voi(0, "rtt", "u64", { stats.sum(), stats.crhist64_lin(0, 900, 100) }))
      assert(tpl:add_voi(1, "off", "s64", { stats.crhist32_lin(-10, 10, 10) }))
      assert(tpl:add_voi(2, "none", "s64", { stats.drhist64_usr({ { 1, 2 } }) }))
      local k = assert(pub:blob({ name = "drawn", template = tpl, vois = { rtt = { unit = "us" } } }))
      for i = 0, 99 do assert(k:update(0, 300 + i)) end
      for i = 0, 99 do assert(k:update(0, 400 + i)) end
      for _, v in ipairs({ -5, -5, 0, 0 }) do assert(k:update(1, v)) end
    ]], function()
      local function drawing(unit)
        return "\tnone: (no values)\n" ..
          "\t                 off  ------------- Distribution ------------- count\n" ..
          "\t                 -10 |@@@@@@@@@@@@@@@@@@@@                     2\n" ..
          "\t                   0 |@@@@@@@@@@@@@@@@@@@@                     2\n" ..
          "\t                  10 |                                         0\n" ..
          ("\t%20s  ------------- Distribution ------------- count\n"):format("rtt" .. unit) ..
          "\t                 200 |                                         0\n" ..
          "\t                 300 |@@@@@@@@@@@@@@@@@@@@                     100\n" ..
          "\t                 400 |@@@@@@@@@@@@@@@@@@@@                     100\n" ..
          "\t                 500 |                                         0\n"
      end
      local r = run.run({ "kstat", "-m", "spec", env = environment() })
      assert.truthy(r.out:find(drawing(" (us)"), 1, true), r.out)
      assert.falsy(r.out:find("_b", 1, true))
      local capture = dir .. "/capture.json"
      run.write_file(capture, run.run({ "kstat", "-j", "-m", "spec", env = environment() }).out)
      r = run.run({ "kstat", "-r", capture, env = environment() })
      assert.truthy(r.out:find(drawing(""), 1, true), r.out)
      -- Bounds without counts are numbers.
      r = run.run({ "kstat", "-m", "spec", "-s", "off_bounds", env = environment() })
      assert.truthy(r.out:find("\toff_bounds  +%[%-10,0,10%]\n"), r.out)
    end)
  end)

  it("comes back from a capture and from a recording", function()
    published([[
      local pub = assert(kstat.publish("spec"))
      local k = assert(pub:blob({ name = "latency", template = template("blobspec", true) }))
      noise(300, 3, function(v) k:update(0, v) end)
    ]], function()
      local live = run.run({ "kstat", "-j", "-m", "spec", env = environment() })
      local capture, recording = dir .. "/capture.json", dir .. "/recording"
      run.write_file(capture, live.out)
      local replayed = run.run({ "kstat", "-r", capture, "-j", "-m", "spec", env = environment() })
      assert.equal(live.out, replayed.out)
      local r = run.run({ "kstatlua", "record", "-o", recording, "1", "1", env = environment() })
      assert.equal("", r.err)
      local function statistics(text)
        return (text:match('"rtt_.*"rtt_sum": %d+'))
      end
      replayed = run.run({ "kstat", "-r", recording, "-j", "-m", "spec", env = environment() })
      assert.equal(statistics(live.out), statistics(replayed.out))

      local ks = assert(kstat.open({ capture = capture }))
      local k = assert(ks:lookup("spec", 0, "latency"))
      local blob, message, errname = k:blob()
      assert.is_nil(blob)
      assert.truthy(message:find("not the blob", 1, true))
      assert.equal("ENODATA", errname)
      assert.equal(300, tonumber(k:get("rtt_count")))
      ks:close()
      ks = assert(kstat.open({ capture = recording }))
      blob = assert(ks:lookup("spec", 0, "latency"):blob())
      assert.equal(300, tonumber(blob:count(0)))
      ks:close()
    end)
  end)

  it("tells the caller of mistakes, and the rest by nil, message, errno", function()
    published([[
      local pub = assert(kstat.publish("spec"))
      local tpl = template("blobspec", true)
      local k = assert(pub:blob({ name = "latency", template = tpl }))
      local function raises(message, f, ...)
        local ok, err = pcall(f, ...)
        assert(not ok and err:find(message, 1, true), tostring(err))
      end
      raises("no such value", k.update, k, 5, 1)
      raises("value", k.update, k, "none", 1)
      raises("no such value", k.add, k, 0, 1)
      raises("number expected", k.update, k, 0, {})
      local ok, _, errname = k:update(0, -1)
      assert(ok == nil and errname == "ERANGE")
      ok, _, errname = k:update(0, 1.5)
      assert(ok == nil and errname == "ERANGE")
      ok, _, errname = k:update(0, 0 / 0)
      assert(ok == nil and errname == "ERANGE")
      raises("integer", function() k:update(0.5, 1) end)
      raises("no such value", k.update, k, 2 ^ 32, 1)
      local ok_shards, _, errname_shards = pub:blob({ name = "x", template = tpl, shards = 2 ^ 32 + 1 })
      assert(ok_shards == nil and errname_shards == "EINVAL")
      if rawget(_G, "jit") then
        local ffi = require("ffi")
        ok, _, errname = k:update(0, ffi.new("int64_t", -1))
        assert(ok == nil and errname == "ERANGE")
        local wide = assert(stats.template("wide"))
        assert(wide:add_voi(0, "a", "u64", { stats.max() }))
        local w = assert(pub:blob({ name = "wide", template = wide }))
        assert(w:update(0, ffi.new("uint64_t") - 1) and w:snapshot():fetch(0, "MAX") == 2 ^ 64)
        raises("number expected", w.update, w, 0, ffi.new("int[2]"))
      end
      local other = assert(stats.template("other"))
      ok, _, errname = pub:blob({ name = "x", template = other })
      assert(ok == nil and errname == "EINVAL")
      assert(other:add_voi(0, "a", "u64", { stats.sum() }, { relupdate = true }))
      ok, _, errname = k:merge(other:blob())
      assert(ok == nil and errname == "EINVAL")
      ok, _, errname = pub:blob({ name = "x", template = other, shards = 2 })
      assert(ok == nil and errname == "EINVAL")
      raises("template", pub.blob, pub, { name = "x" })
      -- Names of values of interest are never cut.
      local function refused(message, ...)
        local t, no_blob, why, code = assert(stats.template(message))
        for i, voi in ipairs({ ... }) do assert(t:add_voi(i, voi[1], "u64", { voi[2] })) end
        no_blob, why, code = pub:blob({ name = "x", template = t })
        assert(no_blob == nil and code == "EINVAL" and why:find(message, 1, true), why)
      end
      refused("at most 26 bytes", { ("s"):rep(27), stats.sum() })
      refused("at most 24 bytes", { ("d"):rep(25), stats.tdgstclust64(5, 1) })
      refused("at most 22 bytes", { ("h"):rep(23), stats.crhist64_lin(0, 2, 1) })
      refused("two values of interest are called voi2", { "voi2", stats.sum() }, { "", stats.sum() })
      refused("control character", { "a\tb", stats.sum() })
      local long = assert(stats.template("long"))
      local names = { ("s"):rep(26), ("d"):rep(24), ("h"):rep(22), "" }
      assert(long:add_voi(0, names[1], "u64", { stats.sum() }))
      assert(long:add_voi(1, names[2], "u64", { stats.tdgstclust64(5, 1) }))
      assert(long:add_voi(2, names[3], "u64", { stats.crhist64_lin(0, 2, 1) }))
      assert(long:add_voi(5, names[4], "u64", { stats.sum() }))
      local l = assert(pub:blob({ name = "long", template = long }))
      assert(l:update(names[1], 3) and l:update(names[2], 4) and l:update(names[3], 2) and l:update("voi5", 1))
      raises("value", l.update, l, names[1]:sub(1, -2), 3)
      local reader = assert(kstat.open())
      local seen = assert(reader:lookup("spec", 0, "long"))
      assert(seen:get(names[1] .. "_sum") == 3 and seen:get(names[2] .. "_count") == 1)
      assert(seen:get(names[3] .. "_buckets")[3] == 1 and seen:get("voi5_sum") == 1)
      reader:close()
      raises("unknown field", pub.blob, pub, { name = "x", template = tpl, size = 1 })
      raises("no value of interest", pub.blob, pub, { name = "x", template = tpl, vois = { other = { unit = "s" } } })
      assert(k:snapshot():count(0) == 0)
      local ks = assert(kstat.open())
      local plain = assert(pub:named({ name = "plain", statistics = { "a" } }))
      ks:update()
      local _, message = ks:lookup("spec", 0, "plain"):blob()
      assert(message == "not a statsblob")
      k:delete()
      raises("deleted", k.update, k, 0, 1)
      raises("deleted", k.snapshot, k)
      pub:close()
    ]], function() end)
  end)
end)
