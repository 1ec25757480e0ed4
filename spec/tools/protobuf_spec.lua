-- Metrics as protocol buffers: protoc decodes them, by a description of its own, to what the classic format has.
local kstat = require("kstat")
local protobuf = require("support.protobuf")
local run = require("support.run")

if not protobuf.has_decoder then
  describe("an exposition in protocol buffers", function()
    pending("is decoded where protoc is installed")
  end)
  return
end

local NUMBERS = { ["+Inf"] = 1 / 0, ["-Inf"] = -1 / 0 }

-- The samples of a text: name and labels -> value; bounds of buckets as Lua prints numbers.
local function samples_of(text)
  local samples, n = {}, 0
  for name, labels, value in ("\n" .. text):gmatch("\n([%w_]+)(%b{}) ([^ \n]+)%f[\n]") do
    labels = labels:gsub('le="([%d.e+-]+)"', function(le) return ('le="%s"'):format(tonumber(le)) end)
    samples[name .. labels], n = NUMBERS[value] or tonumber(value), n + 1
  end
  return samples, n
end

describe("an exposition in protocol buffers", function()
  it("has the families, series, values and units of the classic format", function()
    for _, open in ipairs({ run.tree_roots("small"), { capture = "spec/vectors/kstat/host.jsonl" } }) do
      local ks = assert(kstat.open(open))
      local families = protobuf.families((ks:render("protobuf")))
      local text = ks:render("prometheus")
      ks:close()
      local expected, count = samples_of(text)
      local samples, n = protobuf.samples(families)
      for key, value in pairs(expected) do
        assert.equal(("%.14g"):format(value), ("%.14g"):format(samples[key]), key)
      end
      assert.equal(count, n)
      assert.truthy(n > 50)
      for _, family in ipairs(families) do
        local name, kind = family.name[1], family.type[1]:lower()
        local help = text:match("\n# HELP " .. name .. " ([^\n]*)") or text:match("^# HELP " .. name .. " ([^\n]*)")
        assert.equal(help, (family.help[1]:gsub("\\", "\\\\"):gsub("\n", "\\n")), name)
        assert.truthy(("\n" .. text):find(("\n# TYPE %s %s\n"):format(name, kind), 1, true) or kind == "gauge", name)
        assert.truthy(not family.unit or name:find("_" .. family.unit[1], 1, true), name)
      end
    end
  end)
end)
