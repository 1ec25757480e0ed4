-- Every script in examples/ runs: on a capture, with the output that is given here, and on this machine for two
-- intervals. A new example needs an entry here and a line in examples/README.md.
local run = require("support.run")

local capture = "spec/vectors/kstat/host.jsonl" -- three samples, 5 s apart, of an illumos machine

-- By name: `arguments` and `output` on the capture, in a window of 60 columns, or the `spec` in which that is;
-- `live`, a pattern that the output on this machine matches (none: it does not end by itself).
local examples = {
  traffic = {
    arguments = { "5", "2" },
    output = [[
sent           788217 B/s        788151 B/s
received      1645673 B/s       1639710 B/s
sent           430216 B/s        184726 B/s
received       351444 B/s        188622 B/s
]],
    live = "^sent +%d+ B/s +%d+ B/s\nreceived +%d+ B/s",
  },
  disk_p99 = {
    arguments = { "5" },
    output = [[
name   p50(asvc_t)  p99(asvc_t)  max(asvc_t)
sd2          9.395       10.829       10.858
sd1          6.861        7.239        7.246
rpool        4.171        4.833        4.847
sd11         2.831        3.000        3.004
sd10         2.489        2.763        2.768
sd0          2.540        2.701        2.705
]],
    live = "", -- the disks may be idle
  },
  service_times = {
    arguments = { "5", "2" },
    output = [[
count(asvc_t) 13
       value  ------------- Distribution ------------- count
         256 |                                         0
         512 |@@@                                      1
        1024 |@@@                                      1
        2048 |@@@@@@@@@@@@@@@                          5
        4096 |@@@@@@@@@                                3
        8192 |@@@                                      1
       16384 |@@@@@@                                   2
       32768 |                                         0

]],
    live = "^count%(asvc_t%) %d+\n +value  %-+ Distribution %-+ count\n",
  },
  cpu_spark = {
    arguments = { "5", "2" },
    output = "0\t.\n1\t@\n2\t.\n3\t@\n10\t#\n11\t@\n0\t.+\n1\t@*\n2\t.+\n3\t@@\n10\t#*\n11\t@+\n",
    live = "^0\t[.:=+*#@-]\n.*0\t[.:=+*#@-][.:=+*#@-][.:=+*#@-]\n",
  },
  latency_heatmap = {
    arguments = { "5", "2" },
    output = [[
requests by service time
    more |                                                 |
< 100 ms |#                                                |
 < 10 ms |.                                                |
  < 1 ms |.                                                |
< 0.1 ms |                                                 |
requests by service time
    more |                                                 |
< 100 ms |#.                                               |
 < 10 ms |.#                                               |
  < 1 ms |.                                                |
< 0.1 ms |                                                 |
]],
    live = "^requests by service time\n    more |[ .:*#]+|\n",
  },
  disk_bars = {
    arguments = { "5", "2" },
    output = [[
io_times ################################### 1974817.42 MB/s
sd0                                                1.52 MB/s
sd1                                                1.38 MB/s
sd10                                               1.37 MB/s
sd11                                               1.14 MB/s
sd2                                                1.10 MB/s
rpool                                              0.90 MB/s
io_zero                                            0.00 MB/s

sd0      ######################################### 6.79 MB/s
sd11     #####################################     6.07 MB/s
rpool    #####################                     3.49 MB/s
sd10     #####################                     3.45 MB/s
sd2      ############                              1.93 MB/s
sd1      ##########                                1.74 MB/s
io_times                                           0.00 MB/s
io_zero                                            0.00 MB/s

]],
    live = " MB/s\n\n",
  },
  cpu_usage = {
    spec = "spec/docs/perl_reports_spec.lua",
    live = "^CPU +usr +sys +wt +idl\n0 ",
  },
  net_per_nic = {
    spec = "spec/docs/perl_reports_spec.lua",
    live = "^NIC +rKB/s .*\ntotal ",
  },
  disk_service = {
    spec = "spec/docs/perl_reports_spec.lua",
    live = "^device +r/s ",
  },
  devstat_modes = {
    arguments = { "sd1" },
    output = "add\tsd1 sd0 sd2 sd10 sd11 rpool io_zero io_times\nonly\tsd1\n" ..
      "remove\tsd0 sd2 sd10 sd11 rpool io_zero io_times\naddonly\tsd1\n",
  },
  template = {
    arguments = {},
    output = "rtt\tSUM\t500500\nrtt\tMAX\t1000\nrtt\tMIN\t1\nrtt\tTDGST\t45\nbytes\tSUM\t50050000\n" ..
      "bytes\tHIST\t6\nrtt\tp99\t990\n",
  },
  latency = { spec = "spec/core/blob_kstat_spec.lua" },
  workqueue = { spec = "spec/docs/publish_examples_spec.lua" },
}

local function kstatlua(...)
  return run.run({ env = { COLUMNS = "60" }, "kstatlua", ... })
end

describe("the example", function()
  for name, example in pairs(examples) do
    local path = "examples/" .. name .. ".lua"
    if example.spec then
      it(name .. " has a spec of its own", function()
        assert.truthy(run.read_file(example.spec):find(name, 1, true))
      end)
    else
      it(name .. " shows a capture as expected", function()
        local result = kstatlua("-r", capture, path, (unpack or table.unpack)(example.arguments))
        assert.equal("", result.err)
        assert.equal(example.output, result.out)
        assert.equal(0, result.status)
      end)
    end

    if example.live then
      it(name .. " runs on this machine for two intervals", function()
        local result = kstatlua(path, "0.02", "3")
        assert.equal("", result.err)
        assert.matches(example.live, result.out)
        assert.equal(0, result.status)
      end)
    end

    it(name .. " is short, and opens with what it shows", function()
      local text = run.read_file(path)
      assert.truthy(text:find("^%-%- %u[^\n]+"), path)
      local _, lines = text:gsub("\n", "")
      assert.is_true(not example.live or lines >= 6 and lines <= 20, path)
    end)
  end
end)

describe("the examples", function()
  it("are all here, and listed in examples/README.md", function()
    local readme = run.read_file("examples/README.md")
    local count = 0
    for name in run.shell("ls examples").out:gmatch("[^\n]+") do
      if name ~= "README.md" then
        count = count + 1
        assert.truthy(readme:find("](" .. name .. ")", 1, true), name .. " is not listed")
        local script = name:match("^(.*)%.lua$")
        assert.truthy(not script or examples[script], name .. " is not run")
      end
    end
    assert.is_true(count >= 9)
  end)
end)
