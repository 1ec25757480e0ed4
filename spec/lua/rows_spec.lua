-- Rows of a segment as metrics, without a chain: what a publisher of thousands serves itself.
local run = require("support.run")

local script = [[
local core, kstat = require("kstat.core"), require("kstat")
local pub = assert(kstat.publish("rows"))
local template = assert(kstat.stats.template("rows"))
assert(template:add_voi(0, "took", "u64", { kstat.stats.sum(), kstat.stats.crhist64_usr({ 0, 11, 21 }) }))
local function row(name, who, n, took)
  assert(pub:named({ name = name, class = "job", dense = true, shards = 2, statistics = {
    { name = "who", type = "string", value = who }, { name = "done", kind = "counter", desc = "jobs done" },
    { name = "lost" } } })):add("done", n)
  local blob = took and assert(pub:blob({ name = name .. ",time", class = "job_time", template = template,
    vois = { took = { unit = "us" } } }))
  if blob then blob:update(0, took) end
  return blob
end
local names = core.metric_names({
  { selector = core.selector_of("", "job"), labels = {}, names = { { family = "jobs", stat = "done", type = "counter" },
    { family = "jobs_lost", stat = "?lost", type = "counter" } } },
  { selector = core.selector_of("", "job_time"), labels = {},
    names = { { family = "*", stat = "*", type = "histogram" } } } })
local function render(path)
  local x, message = core.rows(path or pub:path(), "rows", names, 1, "prometheus")
  local texts, text = {}, x and ""
  while text do
    texts[#texts + 1] = text
    text, message = x:step()
  end
  local rows = x and x:rows()
  if x then x:close() end
  return table.concat(texts), rows, message
end
]]

describe("the rows of a segment", function()
  local dir

  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  local function lua(text)
    run.write_file(dir .. "/script.lua", ("package.path, package.cpath = %q, %q\n"):format(package.path, package.cpath)
      .. script .. text)
    local r = run.shell(("KSTAT_DIR=%s/k %s %s/script.lua"):format(dir, run.lua, dir))
    assert.equal("", r.err)
    return r.out
  end

  it("are metrics by their names, and their distributions have their labels", function()
    assert.equal([[
# TYPE jobs_total counter
# HELP jobs_total jobs done
jobs_total{who="a\"b"} 3
jobs_total{who=""} 5
# TYPE took_seconds histogram
# HELP took_seconds took
took_seconds_bucket{who="a\"b",le="0.00001"} 0
took_seconds_bucket{who="a\"b",le="0.00002"} 1
took_seconds_bucket{who="a\"b",le="+Inf"} 1
took_seconds_sum{who="a\"b"} 0.000012
took_seconds_count{who="a\"b"} 1
2 rows
]], lua([[row("one", 'a"b', 3, 12) row("two", "", 5) row("none", "other", 0) pub:remove("none")
      row("hidden", "other", 0, nil)
      local text, rows = render()
      io.write(text, rows, " rows\n")]]))
  end)

  it("may be a queue alone", function()
    assert.equal("# TYPE pool_done_total counter\n# HELP pool_done_total read operations\npool_done_total 1\n" ..
      "# TYPE pool_waiting gauge\n# HELP pool_waiting requests waiting\npool_waiting 1\n", lua([[
      local queue = assert(pub:io({ name = "pool", class = "queue" }))
      queue:enter()
      queue:finish(queue:start(queue:enter()), "read", 100)
      names = core.metric_names({ { selector = core.selector_of("", "queue"), labels = {}, names = {
        { family = "pool_done", stat = "reads", type = "counter" },
        { family = "pool_waiting", stat = "wcnt", type = "gauge" } } } })
      io.write((render()))]]))
  end)

  it("are shown without a distribution over which somebody wrote", function()
    assert.equal("1 0 1 3", lua([[row("one", "a", 1, 15)
      row("two", "b", 1, 15)
      local function count(label) return select(2, render():gsub('took_seconds_count{who="' .. label, "")) end
      io.write(count("b"), " ")
      local file = io.open(pub:path(), "r+b")
      local head = file:read(262144):match(".*()statsblob:")
      file:seek("set", head - 1 + 32 + 8) -- the name of the form, and 8 bytes; the blob's head follows
      file:write(("\255"):rep(64))
      file:close()
      io.write(count("b"), " ", count("a"), " ")
      row("three", "c", 1, 5)
      io.write(select(2, render():gsub("jobs_total{", "")))]]))
  end)

  it("of a file in which somebody wrote anything are a text or a message", function()
    assert.equal("done", lua([[for i = 1, 6 do row("r" .. i, ("who"):rep(i * 4), i, i * 7) end
      local file = io.open(pub:path(), "rb")
      local bytes = file:read(65536)
      file:close()
      math.randomseed(7)
      local path, texts = pub:path() .. ".copy", 0
      for try = 1, 400 do
        local out = { bytes:sub(1, 4096) }
        local at = 4097
        while at < #bytes do
          local next_at = math.min(#bytes, at + math.random(1, try % 2 == 0 and 4000 or 400))
          out[#out + 1] = bytes:sub(at, next_at - 1)
          out[#out + 1] = string.char(({ 0, 1, 255, math.random(0, 255) })[math.random(4)])
          at = next_at + 1
        end
        file = io.open(path, "wb")
        file:write(table.concat(out):sub(1, try % 10 == 0 and math.random(4096, #bytes) or nil))
        file:close()
        local text = render(path)
        texts = texts + (text ~= "" and 1 or 0)
      end
      io.write(texts > 20 and "done" or texts)]]))
  end)
end)
