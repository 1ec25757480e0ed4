-- The page /kstat/ of the exporter in headless Chromium.
local cjson = require("cjson")
local exporter = require("support.exporter")
local run = require("support.run")

local function lacking()
  return not exporter.is_built and "is not built here: libmicrohttpd is not installed" or
    run.shell("command -v chromium").status ~= 0 and "is looked at where Chromium is installed" or nil
end

describe("the module kstat.page", function()
  it("has the page in a copied executable, too", function()
    local dir = run.directory()
    run.shell(("cp %s/kstatlua %s"):format(run.bin, dir))
    local r = run.run({ dir .. "/kstatlua", "-e",
      "local text, policy = require('kstat.page').text() print(text:match('<title>.-</title>'), policy)",
      directory = dir })
    run.remove_directory(dir)
    assert.equal("", r.err)
    assert.truthy(r.out:find("^<title>kstat</title>\tdefault%-src 'none'; script%-src 'sha256%-"), r.out)
  end)
end)

describe("the page of kstatlua exporter", function()
  local lacks = lacking()
  if lacks then
    pending(lacks)
    return
  end
  local dir, publisher, server

  setup(function()
    dir = run.directory()
    publisher = run.start(("env KSTAT_DIR=%s %s/kstatlua spec/support/many_kstats.lua"):format(dir, run.bin),
      dir .. "/published")
    run.await("2,000 kstats", function() return run.read_file(dir .. "/published"):find("published") end)
    server = exporter.start(dir)
  end)
  teardown(function()
    run.stop(server.pid)
    run.stop(publisher)
    run.remove_directory(dir)
  end)

  -- Opens the page, and evaluates the body of an async function in it after the first round. The function may wait
  -- until something is so.
  local function look(script, fragment, options, port)
    local url = ("http://127.0.0.1:%s/kstat/#every=1&%s"):format(port or server.port, fragment or "")
    local r = run.shell(("python3 spec/support/browser.py %s %s %s 0 %s"):format(options or "",
      [["--until=document.getElementById('state').textContent === 'live'"]], run.quote(url), run.quote([[(async () => {
        const until = async (ready) => {
          for (let i = 0; i < 600 && !ready(); i++) await new Promise((done) => setTimeout(done, 100));
        };
      ]] .. script .. "})()")))
    assert.equal(0, r.status, r.err)
    return cjson.decode(r.out)
  end

  describe("after some rounds", function()
    local seen

    setup(function()
      seen = look([[
        const picture = (card) => [...card.querySelectorAll("canvas")].map((c) => c.toDataURL()).join();
        const pictures = () => [...document.querySelectorAll("article")].map((card) =>
          [card.querySelector("h3").textContent, picture(card)]).filter(([, text]) => text);
        const expected = ["CPU", "Load", "Memory", "many:0:waits", "many:0:answers", "many:::hits"];
        const text = (id) => document.getElementById(id).innerText;
        await until(() => document.querySelectorAll("#charts .legend").length === 2 &&
          expected.every((title) => pictures().some(([t]) => t === title)));
        const before = new Map(pictures());
        const filter = document.getElementById("filter");
        filter.value = "row1999";
        filter.dispatchEvent(new Event("input"));
        const found = [...document.querySelectorAll("#kstats > details > summary")].map((s) => s.textContent);
        document.querySelector("#kstats > details").open = true;
        const moves = () => Object.fromEntries(pictures().map(([title, now]) => [title, now !== before.get(title)]));
        await until(() => expected.every((title) => moves()[title]) && / k\/s/.test(text("charts")) &&
          document.querySelector("#kstats tbody tr") && text("queues") && /\nchromium .* %\t/.test(text("users")));
        const moved = moves();
        const charts = [...document.querySelectorAll("#charts article")].map((c) =>
          [c.querySelector(".note").textContent, c.querySelector(".legend").innerText]);
        const rows = [...document.querySelectorAll("#kstats tbody tr")].map((r) => r.firstChild.textContent);
        filter.value = "";
        filter.dispatchEvent(new Event("input"));
        return { moved, charts, found, rows, count: Number(document.getElementById("count").textContent),
          queues: text("queues"), machine: text("tables"), users: text("users") };
      ]], "chart=many:::hits&chart=unix:0:system_misc:ncpus")
    end)

    it("has charts of the machine and of published distributions, which move, and no error", function()
      assert.same({}, seen.errors)
      for _, title in ipairs({ "CPU", "Load", "Memory", "many:0:waits", "many:0:answers", "many:::hits" }) do
        assert.equal(true, seen.result.moved[title], title)
      end
      assert.truthy(seen.result.queues:find("^Queues of many"), seen.result.queues)
    end)

    it("has nothing that is published among the machine's links and file systems", function()
      assert.truthy(seen.result.machine:find("\nlo%s"), seen.result.machine)
      assert.falsy(seen.result.machine:find("forged", 1, true), seen.result.machine)
    end)

    it("has the processes that use most, by what the machine says of them", function()
      local users = seen.result.users
      assert.truthy(users:find("^Processes\n.*\nchromium %d+\t%S+\t[%d.]+ %%\t[%d.]+ MiB\t"), users)
    end)

    it("has asked nobody else", function()
      for _, url in ipairs(seen.urls) do
        local own = url:find(("http://127.0.0.1:%s/kstat/"):format(server.port), 1, true) == 1
        assert.truthy(own or url == "data:,", url)
      end
    end)

    it("has charts of selectors: counters as rates, the greatest of many first", function()
      local of_many, of_one = seen.result.charts[1], seen.result.charts[2]
      assert.equal("the greatest 16 of 2000 statistics", of_many[1])
      assert.truthy(of_many[2]:find("^many:0:row[12]%d%d%d:hits %(many%)%s+[%d.]+ k/s"), of_many[2])
      assert.equal("1 statistics", of_one[1])
      assert.truthy(of_one[2]:find("ncpus%s+" .. run.shell("getconf _NPROCESSORS_ONLN").out:match("%d+")), of_one[2])
    end)

    it("has all kstats, finds them by a part of a name and shows their statistics", function()
      local uid = run.shell("id -u").out:match("%d+")
      assert.same({ "many:0:row1999misc, published by many, user " .. uid }, seen.result.found)
      assert.same({ "bytes", "crtime", "hits", "snaptime" }, seen.result.rows)
      assert.truthy(seen.result.count > 2003, seen.result.count)
    end)
  end)

  it("works by keys and on a phone, in dark colours, and runs nothing but its own script", function()
    local seen = look([[
      const event = (key) => new KeyboardEvent("keydown", { key, bubbles: true });
      const press = (key, at) => (at || document.body).dispatchEvent(event(key));
      const states = [], state = document.getElementById("state"), problem = document.getElementById("problem");
      press("/");
      const field = document.activeElement;
      field.value = "/(/";
      field.form.requestSubmit();
      await until(() => problem.textContent);
      press("Escape", field);
      press("p");
      await until(() => state.textContent === "paused");
      states.push(state.textContent);
      press("p");
      await until(() => state.textContent === "live");
      states.push(state.textContent);
      press("1");
      // Forty-five seconds without a value: the middle of them has no more than the lines of the grid.
      const clock = Date.now, stopped = clock();
      Date.now = () => clock() + 45000;
      const ask = window.fetch;
      let rounds = 0;
      window.fetch = (address, ...more) => {
        if (String(address).includes("busiest")) rounds++;
        return ask(address, ...more);
      };
      await until(() => rounds > 2);
      const canvas = document.querySelector("#overview canvas");
      const since = Date.now() - (stopped + 22500);
      const x = Math.round(canvas.width - 22 - (canvas.width - 88) * since / 60000);
      const column = canvas.getContext("2d").getImageData(x, 0, 1, canvas.height).data;
      const gap = column.filter((v, i) => i % 4 === 3 && v > 0).length;
      const script = document.createElement("script");
      script.textContent = "window.hurt = true";
      document.body.append(script);
      return { field: field.id, problem: problem.textContent, states, hash: location.hash,
        width: document.documentElement.scrollWidth, back: getComputedStyle(document.body).backgroundColor,
        hurt: window.hurt === true, gap,
        scrolled: [...document.querySelectorAll(".scroll")].map((s) => s.tabIndex) };
    ]], "", "--dark --size=390x800").result
    assert.equal("selector", seen.field)
    assert.truthy(seen.problem:find("^select: '/%(/': .*missing closing parenthesis"), seen.problem)
    assert.same({ "paused", "live" }, seen.states)
    assert.truthy(seen.hash:find("window=60", 1, true), seen.hash)
    assert.same({ 390, "rgb(16, 20, 26)", false }, { seen.width, seen.back, seen.hurt })
    assert.truthy(seen.gap < 20, seen.gap)
    assert.truthy(#seen.scrolled > 2)
    for _, index in ipairs(seen.scrolled) do
      assert.equal(0, index) -- tables that are wider than the phone scroll by keys, too
    end
  end)

  it("begins with the past, and shows a part of it when dragged over", function()
    run.await("four samples of the server's own", function()
      local address = ("http://127.0.0.1:%s/kstat/history.json?select=cpu::time"):format(server.port)
      local past = run.shell("curl -s " .. run.quote(address)).out
      return select(2, past:gsub("\30", "")) > 4
    end)
    local seen = look([[
      const over = document.querySelector("#overview .u-over"), box = over.getBoundingClientRect();
      const mouse = (type, share) => over.dispatchEvent(new MouseEvent(type, { bubbles: true, button: 0,
        movementX: 9, clientX: box.left + box.width * share, clientY: box.top + 20 }));
      // How much is drawn where the charts are five seconds old, before the page was there.
      const canvas = document.querySelector("#overview canvas");
      const drawnAt = (share) => canvas.getContext("2d").getImageData(
        Math.round(canvas.width - 22 - box.width * share), 0, 1, canvas.height).data
        .filter((v, i) => i % 4 === 3 && v > 0).length;
      const drawn = drawnAt(1 / 6), bare = drawnAt(5 / 6);
      mouse("mousemove", 0.5);
      const place = `translate(${Math.round(box.width / 2)}px, 0px)`;
      const places = () => [...document.querySelectorAll("#overview .u-cursor-x")].map((c) => c.style.transform);
      await until(() => places().length > 2 && places().every((p) => p === place));
      const cursors = places();
      mouse("mousedown", 0.5); mouse("mousemove", 0.6); mouse("mousemove", 0.9); mouse("mouseup", 0.9);
      const whole = document.getElementById("whole");
      await until(() => !whole.hidden);
      const zoomed = [whole.hidden, whole.textContent, location.hash];
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      return { drawn, bare, cursors, place, zoomed, left: whole.hidden, hash: location.hash };
    ]]).result
    -- How much depends on how busy the machine was; further to the left nothing was there yet, but the grid, or what
    -- was older still.
    assert.truthy(seen.drawn > seen.bare or seen.bare > 20, ("%d, not more than %d"):format(seen.drawn, seen.bare))
    assert.truthy(#seen.cursors > 2)
    for _, place in ipairs(seen.cursors) do
      assert.equal(seen.place, place)
    end
    assert.is_false(seen.zoomed[1])
    assert.truthy(seen.zoomed[2]:find("^%d%d:%d%d:%d%d – %d%d:%d%d:%d%d"), seen.zoomed[2])
    local from, to = seen.zoomed[3]:match("from=([%d.]+)&to=([%d.]+)")
    assert.truthy(tonumber(to) > tonumber(from))
    assert.is_true(seen.left)
    assert.falsy(seen.hash:find("from=", 1, true))
  end)

  it("has the charts of its address where the past cannot be had", function()
    local out = dir .. "/without_past"
    run.write_file(out .. ".py", [[
import http.server, sys, urllib.error, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            if "history.json" in self.path:
                raise urllib.error.URLError("none")
            answer = urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + self.path)
            self.send_response(200)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.end_headers()
            self.wfile.write(answer.read())
        except urllib.error.URLError:
            self.send_error(503)
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
]])
    local between = run.start(("python3 %s.py %s"):format(out, server.port), out)
    finally(function() run.stop(between) end)
    local port = run.await("its port", function() return run.read_file(out):match("^(%d+)\n") end)
    assert.same({ "cpu:0:sys" }, look([[
      const titles = () => [...document.querySelectorAll("#charts h3")].map((h) => h.textContent.replace("✕", ""));
      await until(() => titles().length);
      return titles();
    ]], "chart=cpu:0:sys", nil, port).result)
  end)

  it("says since when a server is silent that hangs, and goes on with it", function()
    local seen = look([[
      const state = document.getElementById("state"), was = window.was || state.textContent;
      await until(() => state.textContent !== was);
      return window.was = state.textContent;
    ]], "", "--stop=" .. server.pid).result
    assert.truthy(seen[1]:find("^no answer since %d%d:%d%d:%d%d$"), seen[1])
    assert.equal("live", seen[2])
  end)
end)
