-- The bounds of the exporter, and what happens beyond each: see the table in SECURITY.md.
local exporter = require("support.exporter")
local run = require("support.run")

if not exporter.is_built then
  describe("the exporter", function()
    it("is not built here: libmicrohttpd is not installed", function() pending("no libmicrohttpd") end)
  end)
  return
end

describe("the exporter's bound", function()
  local dir, pids
  before_each(function() dir, pids = run.directory(), {} end)
  after_each(function()
    for _, pid in ipairs(pids) do
      run.stop(pid)
    end
    run.remove_directory(dir)
  end)

  local function start(arguments, prefix)
    local server = exporter.start(dir, arguments, ("sh -c 'exec \"$@\" 2>>%s/err' sh env %s %s"):format(dir,
      run.tree_words("small"), prefix or ""))
    pids[#pids + 1] = server.pid
    return server
  end

  local function get(server, path, options)
    return run.shell(("curl -s %s '127.0.0.1:%s%s'"):format(options or "", server.port, path or "/metrics")).out
  end

  -- The series of a text, without values, in order.
  local function series(text, pattern)
    local list = {}
    for line in ("\n" .. text):gmatch("\n(%a[^\n]*)") do
      local name = line:match("^(.*) %S+$")
      if name:find(pattern or "") and not name:find("scrape") and not name:find("^node_exporter") then
        list[#list + 1] = name
      end
    end
    table.sort(list)
    return list
  end

  it("of series is for what processes publish: the machine's own are whole", function()
    for _, names in ipairs({ "", "--names node" }) do
      local all, few = start(names), start(names .. " --max-series 10")
      assert.same(series(get(all)), series(get(few)))
      assert.matches("\nkstat_scrape_left_out_kstats 0\n", get(few))
    end
    run.write_file(dir .. "/publish.lua", [[
      local kstat = require("kstat")
      local pub = assert(kstat.publish("many"))
      for i = 1, 10 do assert(pub:named({ module = "many", name = "n" .. i, statistics = { "a", "b", "c" } })) end
      print("ready") io.stdout:flush()
      for _ in kstat.every(600, { source = { only = "unix:0:system_misc" } }) do end]])
    pids[#pids + 1] = run.start(("env KSTAT_DIR=%s %s/kstatlua %s/publish.lua"):format(dir, run.bin, dir),
      dir .. "/out")
    run.await("the publisher", function() return run.read_file(dir .. "/out"):find("ready") end)
    local few = start("--max-series 10")
    local text = get(few)
    assert.equal(9, #series(text, "^kstat_many"))
    assert.matches("\nkstat_scrape_left_out_kstats 7\n", text)
    assert.matches("exporter: processes publish more than 10 series", run.read_file(dir .. "/err"))
  end)

  it("of series bounds the memory of a scrape, whatever is published", function()
    run.write_file(dir .. "/publish.lua", [[
      local kstat = require("kstat")
      local pub, statistics = assert(kstat.publish("many")), {}
      for i = 1, 50 do
        statistics[i] = { name = ("s"):rep(25) .. i, kind = "counter", value = 2^52 + i, desc = ("d"):rep(200) }
      end
      for i = 1, 1400 do
        pub:named({ module = ("m"):rep(29), instance = i, name = ("n"):rep(30), statistics = statistics })
      end
      print("ready") io.stdout:flush()
      for _ in kstat.every(600, { source = { only = "unix:0:system_misc" } }) do end]])
    pids[#pids + 1] = run.start(("env KSTAT_DIR=%s %s/kstatlua %s/publish.lua"):format(dir, run.bin, dir),
      dir .. "/out")
    run.await("the publisher", function() return run.read_file(dir .. "/out"):find("ready") end)
    local server = start("")
    local r = run.shell(("for i in 1 2 3; do curl -s 127.0.0.1:%s/metrics -o %s/text$i & done; wait; "
      .. "grep -c ^kstat_mmm %s/text3"):format(server.port, dir, dir))
    assert.equal("50000\n", r.out)
    local peak = tonumber(run.read_file(("/proc/%s/status"):format(server.pid)):match("VmHWM:%s*(%d+)"))
    if not os.getenv("KSTAT_PRELOAD") then -- a sanitizer has memory of its own
      assert.truthy(peak < 160 * 1024, peak)
    end
  end)

  it("of series is for all text files together, too: one that would exceed it is left out whole", function()
    run.shell(("mkdir %s/text"):format(dir))
    for i, n in ipairs({ 60, 60, 40 }) do
      local lines = {}
      for k = 1, n do
        lines[k] = ("text_%d{k=\"%d\"} 1\n"):format(i, k)
      end
      run.write_file(("%s/text/%d.prom"):format(dir, i), table.concat(lines))
    end
    local server = start(("--max-series 100 --collector.textfile.directory %s/text"):format(dir))
    local text = get(server)
    assert.same({ 60, 0, 40 }, { #series(text, "^text_1"), #series(text, "^text_2"), #series(text, "^text_3") })
    assert.matches("\nnode_textfile_scrape_error 1\n", text)
    assert.matches("/2.prom:41: all text files together have at most 100 samples; %-%-max%-series allows more\n",
      run.read_file(dir .. "/err"))
  end)

  it("of a client's silence is ten seconds, in the middle of a request, too", function()
    local server = start("")
    local r = run.run({ "/usr/bin/python3", "-c", [[
import socket, sys
clients = []
for text in (b"", b"GET /metrics HTTP/1.1\r\nHost: local"):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 120)
    s.sendall(text)
    clients.append(s)
print([s.recv(99) for s in clients])
]], server.port })
    assert.same({ "[b'', b'']\n", "" }, { r.out, r.err })
  end)

  it("of text files is 1000 in a directory, and 16 MiB of all", function()
    run.shell(("mkdir %s/text; cd %s/text; for i in $(seq 1001); do echo \"text_$i 1\" > $i.prom; done"):format(dir,
      dir))
    run.write_file(dir .. "/text/0.prom", ("#" .. ("x"):rep(1023) .. "\n"):rep(16384))
    local server = start(("--collector.textfile.directory %s/text"):format(dir))
    assert.equal(999, #series(get(server), "^text_"))
    assert.matches("all text files together are longer than 16 MiB", run.read_file(dir .. "/err"))
    run.shell(("rm %s/text/0.prom"):format(dir))
    assert.equal(1000, #series(get(server), "^text_"))
    assert.matches("/text: more than 1000 files NAME%.prom\n", run.read_file(dir .. "/err"))
  end)
end)
