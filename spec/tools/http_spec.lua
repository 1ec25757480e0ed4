-- The HTTP of kstatlua exporter, byte by byte: what is right is answered, and what is wrong gets a status and a line.
local cjson = require("cjson")
local exporter = require("support.exporter")
local run = require("support.run")

describe("HTTP of kstatlua exporter", function()
  if not exporter.is_built then
    pending("is not built here: libmicrohttpd is not installed")
    return
  end
  local dir, server

  setup(function()
    dir = run.directory()
    server = exporter.start(dir)
  end)
  teardown(function()
    run.stop(server.pid)
    run.remove_directory(dir)
  end)

  local PATH = "/metrics?select=unix:0:system_misc:ncpus"
  local HOST = "Host: localhost\r\n"
  local CLOSE = HOST .. "Connection: close\r\n"

  local function get(target, headers, body)
    return ("GET %s HTTP/1.1\r\n%s\r\n%s"):format(target or PATH, headers or CLOSE, body or "")
  end

  -- What comes back for each of the texts.
  local function exchange(texts)
    local r = run.run({ "/usr/bin/python3", "spec/support/raw_http.py", server.port, stdin = cjson.encode(texts) })
    assert.equal("", r.err)
    return cjson.decode(r.out)
  end

  -- The status lines of an answer, without those that say to continue, and the last body.
  local function read(answer)
    local statuses = {}
    for status in answer:gmatch("HTTP/1%.1 (%d+)") do
      if status ~= "100" then
        statuses[#statuses + 1] = status
      end
    end
    return table.concat(statuses, " "), answer:match(".*\r\n\r\n(.*)$")
  end

  -- Fails unless each row's request, row[2], has the status row[1] and a body with the text row[3].
  local function check(rows)
    local texts = {}
    for i, row in ipairs(rows) do
      texts[i] = row[2]
    end
    for i, answer in ipairs(exchange(texts)) do
      local status, body = read(answer)
      local request = rows[i][2]:sub(1, 200)
      assert.equal(rows[i][1], status, request)
      assert.truthy((body or ""):find(rows[i][3], 1, true), request .. "\n" .. answer)
    end
  end

  local NCPUS = "kstat_unix_ncpus{"

  it("takes targets in the absolute form", function()
    check({ { "200", get("http://127.0.0.1:9105" .. PATH), NCPUS }, { "200", get("HTTP://host" .. PATH), NCPUS },
      { "200", get("http://host"), "/healthz" }, { "200", get("http://host?select=x"), "/healthz" },
      { "404", get("ftp://host/metrics"), "not found" }, { "404", get("http:/metrics"), "not found" } })
  end)

  it("wants one Host of HTTP/1.1, and none of HTTP/1.0", function()
    check({ { "400", get(PATH, ""), "a request has one header Host\n" },
      { "400", get(PATH, "Host: a\r\nhost: b\r\n"), "a request has one header Host\n" },
      { "200", "GET " .. PATH .. " HTTP/1.0\r\n\r\n", NCPUS } })
  end)

  it("answers to names of this machine alone: somebody else's may lead browsers here", function()
    local rows = {}
    for host, status in pairs({ ["127.0.0.1:9105"] = 200, ["127.9.9.9"] = 200, ["[::1]"] = 200, ["[::1]:80"] = 200,
      ["LocalHost:1"] = 200, ["evil.example"] = 403, ["127.0.0.1.evil.example:9105"] = 403, ["localhost.example"] = 403,
      ["192.0.2.1:9105"] = 403, ["[::2]"] = 403, ["127.0.0.1:1:1"] = 403, [""] = 403, ["["] = 403 }) do
      rows[#rows + 1] = { tostring(status), get(PATH, ("Host: %s\r\nConnection: close\r\n"):format(host)),
        status == 200 and NCPUS or "--public lets it answer to other names\n" }
    end
    check(rows)
  end)

  it("bounds what regular expressions cost", function()
    local function of(n, text) return get("/kstat.json?" .. ("select=unix:::/" .. text .. "/"):rep(n, "&")) end
    check({ { "200", of(16, "x"), "[" }, { "400", of(17, "x"), "at most 16 regular expressions" },
      { "400", get("/metrics?" .. ("select=/a/i:/b/:/c/:/d/"):rep(5, "&")), "at most 16 regular expressions" } })
  end)

  it("refuses regular expressions that take too many steps, which are no failures of its own", function()
    local line = "select: regular expression /"
    for _, field in ipairs({ "::%s:", ":::%s" }) do
      local select = "?select=" .. field:format("/^.*.*.*.*.*.*.*.*[!,]$/")
      check({ { "400", get("/metrics" .. select), line }, { "400", get("/kstat.json" .. select), line },
        { "400", get("/kstat/meta.json" .. select), line } })
    end
    check({ { "200", get(PATH), "\nkstat_scrape_failures_total 0\n" } })
  end)

  it("answers a scrape before the requests with parameters that wait, which have a part of the time", function()
    local dear = "/metrics?" .. ("select=:::/^.*.*.*.*.*.*.*.*[!,]$/"):rep(16, "&")
    local r = run.run({ "/usr/bin/python3", "-c", [[
import select, socket, sys
def ask(target):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target.encode())
    return s
dear = [ask(sys.argv[2]) for _ in range(30)]
scrape = ask("/metrics")
assert scrape.recv(12) == b"HTTP/1.1 200"
while scrape.recv(65536):
    pass
answered = len(select.select(dear, [], [], 0)[0])
print(answered < 20)
assert all(s.recv(12) == b"HTTP/1.1 400" for s in dear[:8])
]], server.port, dear })
    assert.same({ "True\n", "" }, { r.out, r.err })
    check({ { "200", get(PATH), NCPUS } })
  end)

  it("takes as many parameters as a request can hold, and a hundred selectors", function()
    local function parameters(n, text) return "/metrics?" .. text:rep(n, "&") end
    check({ { "200", get(parameters(100, "select=unix:0:system_misc:ncpus")), NCPUS },
      { "400", get(parameters(300, "select=unix:0:system_misc:ncpus")), "select: at most 100 in one request\n" },
      { "400", get(parameters(7000, "a")), "no parameter 'a'; there is 'select'\n" },
      { "200", get(PATH .. ("&"):rep(10000)), NCPUS } })
  end)

  it("decodes parameters", function()
    check({ { "200", get("/metrics?&&s%65lect=unix%3A0:system_misc%3ancpus&"), NCPUS },
      { "400", get("/metrics?=x"), "no parameter ''" },
      { "400", get("/metrics?select=%2f(/"), "select: '/(/': " }, { "200", get("/metrics?select=%"), "kstat_scrape" },
      { "200", get("/metrics?select"), NCPUS }, { "200", get("/metrics?"), NCPUS } })
  end)

  it("says what is too long", function()
    check({ { "414", get("/" .. ("x"):rep(20000)), "" }, { "414", get("/metrics?select=" .. ("x"):rep(200000)), "" },
      { "431", get(PATH, CLOSE .. "X: " .. ("y"):rep(20000) .. "\r\n"), "" },
      { "431", get(PATH, CLOSE .. ("a: b\r\n"):rep(2000)), "" } })
  end)

  it("says so at once whatever room the rest of the memory of a connection has", function()
    local rows = {}
    for size = 15800, 18600, 25 do
      local target = get("/" .. ("x"):rep(size))
      local header = get(PATH, CLOSE .. "X: " .. ("y"):rep(size) .. "\r\n")
      rows[#rows + 1], rows[#rows + 2] = target, header
    end
    for i, answer in ipairs(exchange(rows)) do
      local status = read(answer)
      assert.truthy(status == "414" or status == "431" or status == (i % 2 == 1 and "404" or "200"),
        #rows[i] .. " bytes: " .. answer:sub(1, 200))
    end
  end)

  it("passes over no body of an unknown encoding, which has no end that it knows", function()
    local line = "the only transfer encoding here is chunked\n"
    for _, encoding in ipairs({ "gzip", "chunked, gzip", "identity", "" }) do
      check({ { "501", get(PATH, CLOSE .. "Transfer-Encoding: " .. encoding .. "\r\n", "abc"), line } })
    end
    check({ { "400", get(PATH, CLOSE .. "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"), "one length\n" } })
  end)

  it("takes no NUL for the end of a header or of a target", function()
    local evil, line = "Host: localhost:80\0.evil\r\n", "a request has no NUL\n"
    check({ { "400", get(PATH, evil .. "Connection: close\r\n"), line },
      { "400", get(PATH, "Connection: close\r\n" .. evil), line }, { "400", get(PATH, evil), line },
      { "400", get(PATH, "Connection: close\r\n" .. evil:gsub("%z", "\0\0")), line },
      { "400", get(PATH .. "\0:x"), line }, { "400", get("/metrics\0?select=x"), line },
      { "200", (get():gsub("\r\n", "\n")), NCPUS }, { "200", get(PATH, CLOSE .. "X:\r\nY: \r\n"), NCPUS } })
  end)

  it("passes over the bodies of requests, if they are right and short", function()
    local function chunked(body) return get(PATH, CLOSE .. "Transfer-Encoding: chunked\r\n", body) end
    check({ { "200", chunked("3\r\nabc\r\n0\r\n\r\n"), NCPUS },
      { "400", chunked("zz\r\nabc\r\n0\r\n\r\n"), "" }, { "413", chunked("ffffffffffffffffff\r\nabc\r\n"), "" },
      { "200", get(PATH, CLOSE .. "Content-Length: 3\r\n", "abc"), NCPUS },
      { "400", get(PATH, CLOSE .. "Content-Length: 1\r\nContent-Length: 2\r\n", "ab"), "a body has one length\n" },
      { "400", get(PATH, CLOSE .. "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        "a body has one length\n" },
      { "413", get(PATH, CLOSE .. "Content-Length: 70000\r\n", ("x"):rep(70000)), "a body is too long\n" },
      { "200", chunked(("1000\r\n" .. ("x"):rep(4096) .. "\r\n"):rep(16) .. "0\r\n\r\n"), NCPUS },
      { "", chunked(("1000\r\n" .. ("x"):rep(4096) .. "\r\n"):rep(20) .. "0\r\n\r\n"), "" } })
  end)

  it("gives one answer to a length that is none", function()
    for length, status in pairs({ abc = "400", ["-1"] = "400", ["3x"] = "400", [""] = "400",
      [("9"):rep(30)] = "413" }) do
      local answer = exchange({ get(PATH, CLOSE .. "Content-Length: " .. length .. "\r\n", "abc") })[1]
      assert.equal(status, (read(answer)), length .. ": " .. answer)
    end
  end)

  it("tells clients that ask to go on, and no other method takes a body", function()
    local expects = exchange({ get(PATH, CLOSE .. "Expect: 100-continue\r\nContent-Length: 3\r\n", "abc") })[1]
    assert.truthy(expects:find("^HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), expects)
    check({ { "200", get(PATH, CLOSE .. "Expect: miracles\r\n"), NCPUS },
      { "405", "POST " .. PATH .. " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
        "only GET and HEAD" },
      { "405", "PUT " .. PATH .. " HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" .. ("x"):rep(3000000), "" },
      { "405", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "only GET and HEAD" },
      { "405", "get " .. PATH .. " HTTP/1.1\r\n" .. CLOSE .. "\r\n", "only GET and HEAD" } })
  end)

  it("answers requests that come together in their order, and HEAD by the head alone", function()
    local answer = exchange({ get(PATH, HOST) .. get("/none", HOST):gsub("GET", "HEAD") .. get() })[1]
    assert.equal("200 404 200", (read(answer)))
    assert.truthy(answer:find("HTTP/1.1 404 [^\n]*\r\n[^\r]*.-\r\n\r\nHTTP/1.1 200"), answer)
    local head = exchange({ (get():gsub("GET", "HEAD")) })[1]
    assert.truthy(tonumber(head:match("Content%-Length: (%d+)")) > 100, head)
    assert.truthy(head:find("\r\n\r\n$"), head)
  end)

  it("refuses what is no HTTP", function()
    check({ { "505", ("GET %s HTTP/2.0\r\n%s\r\n"):format(PATH, CLOSE), "" },
      { "400", ("GET %s HTTP/x\r\n%s\r\n"):format(PATH, CLOSE), "" }, { "400", "GET " .. PATH .. "\r\n\r\n", "" },
      { "400", get(PATH, CLOSE .. "none\r\n"), "" }, { "400", get(PATH, CLOSE .. "X : a\r\n"), "has no spaces\n" },
      { "", "\22\3\1\2\1\3\3\r\n\r\n", "" } }) -- an opening of TLS: the connection is closed
    check({ { "200", get(), NCPUS } })
  end)
end)
