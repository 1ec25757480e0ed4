-- The examples of the reference of the Lua module (@usage) run. They find objects under the names that the reference
-- gives them.
local kstat = require("kstat")
local run = require("support.run")

-- The examples of a file, with the numbers of their first lines.
local function examples_of(path)
  local list, lines, number = {}, nil, 0
  for line in io.lines(path) do
    number = number + 1
    local first = line:match("^%-%- @usage ?(.*)")
    if first then
      lines = { first }
      list[#list + 1] = { lines = lines, place = path .. ":" .. number }
    elseif lines and line:find("^%-%- [^@]") then
      lines[#lines + 1] = line:sub(4)
    else
      lines = nil
    end
  end
  return list
end

-- What the examples use: of a capture of Solaris, and what is published here.
local function environment()
  local ks = assert(kstat.open("spec/vectors/kstat/host.jsonl"))
  local prev = assert(ks:sample())
  ks:update()
  local now = assert(ks:sample())
  local pub = assert(kstat.publish("usage"))
  assert(pub:histogram({ name = "h", type = "log2" }):add_value(5))
  local template = assert(kstat.stats.template("usage_examples"))
  assert(template:add_voi(0, "rtt", "u64", { kstat.stats.tdgstclust64(20, 10) }))
  assert(pub:blob({ name = "b", template = template })):update(0, 1000)
  local live = assert(kstat.open())
  local d = now - prev
  local agg = kstat.aggregate("sum(rate(nread)) by (module)"):add(d, { class = "disk" })
  local globals = { kstat = kstat, ks = ks, now = now, prev = prev, d = d, agg = agg,
    pub = pub, h = live:lookup("usage", 0, "h"), k = live:lookup("usage", 0, "b"),
    arg = { [0] = "usage.lua", "5", "1" },
    print = function() end, io = { write = function() end } }
  return setmetatable(globals, { __index = _G }), pub
end

describe("the example of the reference at", function()
  for _, path in ipairs({ "init", "read/chain", "read/object", "read/kstat", "read/sample", "read/every", "histogram",
    "io", "picture", "aggregate/init", "publish/named", "publish/queue", "publish/histogram", "publish/latency",
    "publish/blob", "publish/raw", "devstat/init" }) do
    for _, example in ipairs(examples_of("lua/kstat/" .. path .. ".lua")) do
      it(example.place .. " runs", function()
        local globals, pub = environment()
        finally(function() pub:close() end)
        local text = table.concat(example.lines, "\n")
        local chunk
        if setfenv then
          chunk = setfenv(assert(loadstring(text, "=" .. example.place)), globals)
        else
          chunk = assert(load(text, "=" .. example.place, "t", globals))
        end
        chunk()
      end)
    end
  end

  it("are all that there are", function()
    local known = run.shell("cat spec/docs/usage_examples_spec.lua").out
    for path in run.shell("grep -rl -e '-- @usage' lua/kstat").out:gmatch("lua/kstat/(%S+)%.lua") do
      assert.truthy(known:find('"' .. path .. '"', 1, true), path)
    end
  end)
end)
