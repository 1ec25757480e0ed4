-- A distribution as a data point of OpenTelemetry: protoc decodes it, by a description of its own, to the counts of the
-- values that were added, in the buckets that OpenTelemetry says they are in.
local capture = require("support.capture")
local kstat = require("kstat")
local protobuf = require("support.protobuf")

local POINT = "opentelemetry.proto.metrics.v1.ExponentialHistogramDataPoint"

describe("d:otlp()", function()
  teardown(capture.clean)

  local function decode(bytes)
    return protobuf.decode(bytes, "otlp.proto", POINT)
  end

  -- The index of the bucket that OpenTelemetry's data model has for a value: 2^(i/2^scale) < v <= 2^((i+1)/2^scale).
  local function index_of(v, scale)
    local index = math.ceil(math.log(v) / math.log(2) * 2 ^ scale - 1e-9) - 1
    return index
  end

  it("has each value in the bucket that is OpenTelemetry's, at each scale", function()
    if not protobuf.has_decoder then
      return pending("protoc is not installed")
    end
    local pub = assert(kstat.publish("otlp"))
    local ks = assert(kstat.open())
    finally(function()
      ks:close()
      pub:close()
    end)
    for scale = 0, 8 do
      local l = assert(pub:latency({ name = "h" .. scale, unit = "bytes", scale = scale, lowest = 1000,
        highest = 1e9 }))
      local expected, sum, v = {}, 0, 4711
      for _ = 1, 2000 do
        v = v * 16807 % 2147483647
        local value = 1000 + v % (10 ^ (3 + v % 6))
        local index = index_of(value, scale)
        expected[index] = (expected[index] or 0) + 1
        sum = sum + value
        l:add(value)
      end
      for power = 10, 29 do -- an upper bound belongs to its bucket
        local index = power * 2 ^ scale - 1
        expected[index] = (expected[index] or 0) + 1
        sum = sum + 2 ^ power
        l:add(2 ^ power)
      end
      l:add(0)
      ks:update()
      local d = assert(ks:lookup("otlp", 0, "h" .. scale):distribution())
      local point = decode(d:otlp(1000, 2000))
      assert.same({ { scale }, { 2021 }, { 1 }, { sum }, { 1000 }, { 2000 } }, { point.scale, point.count,
        point.zero_count, point.sum, point.start_time_unix_nano, point.time_unix_nano })
      local counts = {}
      for i, count in ipairs(point.positive[1].bucket_counts) do
        counts[point.positive[1].offset[1] + i - 1] = count > 0 and count or nil
      end
      assert.same(expected, counts)
    end
  end)

  local function read(data)
    local ks = assert(kstat.open({ capture = capture.file({ { capture.named("h", 1, 2, data) } }) }))
    return assert(ks:lookup("app", 0, "h"):distribution())
  end

  it("has no sum and extremes where none were counted, and refuses what is not exponential", function()
    local d = read('"buckets":[0,2,0],"type":"exponential","range_min":1,"range_max":2,"stepping":0')
    if protobuf.has_decoder then
      local point = decode(d:otlp(1, 2))
      assert.same({ { 2 }, {} }, { point.count, { point.sum, point.min, point.max } })
    end
    assert.has_error(function() d:otlp() end)
    d = read('"buckets":[1,2],"type":"log2","range_min":0,"range_max":0,"stepping":0')
    assert.same({ nil, "app:0:h is no exponential histogram, which OTLP's is", "EINVAL" }, { d:otlp(1, 2) })
  end)
end)
