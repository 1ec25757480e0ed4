-- Metrics as protocol buffers: protoc decodes them, by a description of its own, to what the classic format has; and
-- native histograms to what the kstats counted.
local capture = require("support.capture")
local core = require("kstat.core")
local kstat = require("kstat")
local protobuf = require("support.protobuf")
local run = require("support.run")

describe("an exposition in protocol buffers", function()
  if not protobuf.has_decoder then
    return pending("is decoded where protoc is installed")
  end
  teardown(capture.clean)

  it("has the families, series, values and units of the classic format", function()
    for _, source in ipairs({ run.tree_roots("small"), { capture = "spec/vectors/kstat/host.jsonl" } }) do
      local ks = assert(kstat.open(source))
      local families = protobuf.check_same(ks:render("protobuf"), (ks:render("prometheus")))
      ks:close()
      assert.truthy(#families > 50)
    end
  end)

  it("has labels as they are, whatever they hold", function()
    local k = capture.kstat("mod", 0, [[a\"b\\c]] .. "\255", "c", 1, 1, 2, [["n":1,"t":"a\nb\\\"\u0001","u":""]])
    local ks = assert(kstat.open({ capture = capture.file({ { k } }) }))
    local labels = protobuf.families((ks:render("protobuf")))[1].metric[1].label
    ks:close()
    local texts = {}
    for _, label in ipairs(labels) do
      texts[label.name[1]] = label.value[1]
    end
    assert.same({ module = "mod", instance = "0", name = 'a"b\\c\239\191\189', class = "c", t = 'a\nb\\"\239\191\189',
      u = "" }, texts)
  end)

  it("comes in pieces, each family as one message, however many samples it has", function()
    local list = {}
    for i = 1, 4000 do
      list[i] = capture.kstat("mod", i, "n", "c", 1, 1, 2, ('"depth":%d,"text":"%s"'):format(i, ("x"):rep(50)))
    end
    local ks = assert(kstat.open({ capture = capture.file({ list }) }))
    local pieces = {}
    for text in ks:exposition("protobuf") do
      assert.truthy(#text <= 256 * 1024)
      pieces[#pieces + 1] = text
    end
    ks:close()
    local families = protobuf.families(table.concat(pieces))
    assert.equal(1, #families)
    assert.equal(4000, #families[1].metric)
    assert.equal(4000, families[1].metric[4000].untyped[1].value[1])
  end)

  -- A kstat with an exponential histogram, its native form, and the family that has it.
  local function read(counts, range_min, range_max, scale)
    local ks = assert(kstat.open({ capture = capture.file({ { capture.named("latency", 1, 2,
      ('"buckets":[%s],"type":"exponential","range_min":%d,"range_max":%d,"stepping":%d'):format(
      table.concat(counts, ","), range_min, range_max, scale)) } }) }))
    local family = protobuf.check_same(ks:render("protobuf"), (ks:render("prometheus")))[1]
    return ks:lookup("app", 0, "latency"):distribution(), family.metric[1].histogram[1]
  end

  it("has exponential histograms as native ones, bucket for bucket", function()
    for scale = 0, 8 do
      local counts = {}
      for i = 1, 10 * 2 ^ scale + 2 do -- a bucket for 0, and those of 1 to 1024
        counts[i] = i % 7 < 3 and 0 or i * i
      end
      local d, h = read(counts, 1, 1024, scale)
      assert.equal(scale, h.schema[1])
      assert.equal(2 ^ -128, h.zero_threshold[1])
      assert.equal(counts[1], h.zero_count[1])
      assert.equal(d.count, h.sample_count[1])
      local buckets = protobuf.buckets(h)
      for i = 2, #counts do
        local index = i - 2 -- the upper bound of that of the value 1 is 2^0
        assert.equal(counts[i] > 0 and counts[i] or nil, buckets[index])
        buckets[index] = nil
      end
      assert.same({}, buckets)
    end
  end)

  it("has times in seconds, each bucket as the one of schema 8 that has its middle", function()
    local pub, ks = assert(kstat.publish("protobuf")), assert(kstat.open())
    finally(function()
      ks:close()
      pub:close()
    end)
    for scale, unit in pairs({ [0] = "ns", [3] = "us", [5] = "ns", [7] = "ns", [8] = "ms" }) do
      local l = assert(pub:latency({ name = "h" .. scale, scale = scale, unit = unit }))
      local per = ({ ns = 1e9, us = 1e6, ms = 1e3 })[unit]
      for i = 1, 100 do
        l:add(math.floor(0.01 * per * 1.07 ^ i))
        l:add(math.floor(per * 1.005 ^ i)) -- into buckets that lie side by side
      end
      ks:update()
      local selector = "protobuf:0:h" .. scale
      local family = protobuf.check_same(ks:render("protobuf", selector), (ks:render("prometheus", selector)))[1]
      local h = family.metric[1].histogram[1]
      assert.same({ { 8 }, { 200 } }, { h.schema, h.sample_count })
      assert.truthy(family.metric[1].histogram[1].created_timestamp[1].seconds[1] - os.time() <= 1)
      local buckets = protobuf.buckets(h)
      for _, bucket in ipairs(ks:lookup("protobuf", 0, "h" .. scale):distribution():buckets()) do
        -- Its bounds are whole numbers in Lua: the true ones follow from the greatest value.
        local top = math.ceil(math.log(bucket.high) / math.log(2) * 2 ^ scale - 1e-9)
        local index = math.ceil(256 * ((top - 0.5) / 2 ^ scale - math.log(per) / math.log(2)))
        assert.equal(bucket.count, buckets[index], selector)
        buckets[index] = nil
      end
      assert.same({}, buckets)
    end
  end)

  it("begins anew after a reader that went away in the middle of a histogram", function()
    local list = {}
    for i = 1, 200 do
      list[i] = capture.named("latency" .. i, 1, 2, '"buckets":[1,1,1,1,1,1,1,1,1,1,1,1],"type":"exponential",' ..
        '"range_min":1,"range_max":1024,"stepping":0')
    end
    local ks = assert(kstat.open({ capture = capture.file({ list }) }))
    local e = assert(core.exposition(ks, {}, "protobuf", true))
    local function whole()
      local pieces = {}
      for piece in function() return e:step() end do
        pieces[#pieces + 1] = piece
      end
      return table.concat(pieces), #pieces
    end
    local text, steps = whole()
    for n = 1, steps do
      assert(e:again())
      for _ = 1, n do
        e:step()
      end
      assert(e:again())
      assert.is_true(whole() == text)
    end
    ks:close()
  end)

  it("marks a histogram without values as native, too", function()
    local _, h = read({ 0, 0, 0 }, 1, 2, 0)
    assert.same({ { 0 }, { 0 }, { 2 ^ -128 } }, { h.sample_count, h.schema, h.zero_threshold })
    assert.is_nil(h.positive_delta)
  end)
end)
