-- Programs that are killed at any moment: publishers in Lua, kstat --output, and convert -o. Recorders have their own
-- (record_spec.lua, record_directory_spec.lua), publishers in C theirs (spec/c/core_killed.c and others).
-- KSTAT_KILLS: how many of each; `make soak` kills 10,000.
local run = require("support.run")
local host = run.bin .. "/kstatlua"
local kills = tonumber(os.getenv("KSTAT_KILLS")) or 20
local dir

-- Runs lines of sh for each kill, $i, in a directory of its own; `prepare` goes before. What it prints is wrong.
local function each_kill(prepare, lines)
  return run.shell(([[cd %s; export KSTAT_DIR=$PWD/published; mkdir published; kills=%d host=%s kstat=%s/kstat
    %s
    i=0; while [ $i -lt $kills ]; do
      i=$((i + 1)); nap=0.0$((i %% 6))$((i * 7 %% 10))
      %s
    done 2>&1 | grep -v Killed]]):format(dir, kills, host, run.bin, prepare, lines))
end

describe("what is complete stays, however often programs are killed:", function()
  before_each(function() dir = run.directory() end)
  after_each(function() run.remove_directory(dir) end)

  it("counters, texts, histograms with labels and statsblobs of publishers", function()
    run.write_file(dir .. "/publish.lua", [[
      local stats = require("kstat.stats")
      local pub = assert(kstat.publish("killed"))
      local function spec(more)
        more.persistent = true
        return more
      end
      local n = assert(pub:named(spec({ name = "n", statistics = { "count", { name = "text", type = "string" } } })))
      local times = assert(pub:latency(spec({ name = "times", labels = { route = "/search" } })))
      local sizes = assert(pub:histogram(spec({ name = "sizes", type = "log2" })))
      local template = assert(stats.template("killed"))
      assert(template:add_voi(0, "v", "u64", { stats.sum(), stats.max() }))
      local blob = assert(pub:blob({ name = "blob", template = template }))
      local i = 0
      while true do
        i = i + 1
        n:add("count", 1)
        n:set("text", ("x"):rep(i % 50))
        times:add(1000 * i)
        sizes:add_value(i)
        blob:update(0, 3)
      end]])
    -- Prints a count of each kstat that stays, the smallest one first, after it was compared with the others.
    run.write_file(dir .. "/look.lua", [[
      local ks = assert(kstat.open())
      local function of(name, stat)
        local k = ks:lookup("killed", 0, name)
        return k and k:get(stat)
      end
      local k = ks:select("killed:0:times*")[1]
      local n, times, sizes = of("n", "count"), k and k:get("count"), of("sizes", "count")
      if n then
        assert(times and sizes and k:get("route") == "/search", "a kstat is missing")
        -- Each death leaves one behind at most; a live publisher goes on between two readings.
        assert(arg[2] == "live" or times <= n and sizes <= times and n - sizes <= tonumber(arg[1]), "values are lost")
        assert(of("n", "text"):find("^x*$"), "a text is torn")
      end
      local sum = of("blob", "v_sum")
      assert(not sum or sum % 3 == 0, "a statsblob is torn")
      print(n or 0)
      io.stderr:write((table.concat(ks:warnings(), "\n")))]])
    local r = each_kill("before=0", [[$host publish.lua & p=$!
      sleep $nap; seen=$($host look.lua $i live); kill -9 $p; wait $p 2>/dev/null
      now=$($host look.lua $i dead) && [ $before -le $seen ] && [ $seen -le $now ] || echo "kill $i: $before $seen $now"
      before=$now
      ls -A published | grep -v -x -e .lock -e .killed.tmp -e killed.kseg # the next one replaces it]])
    assert.equal("", r.out .. r.err)
    local counted = run.run({ "kstat", "-p", "killed:0:n:count", env = { KSTAT_DIR = dir .. "/published" } }).out
    assert.is_true(tonumber(counted:match("(%d+)\n")) > kills, counted)
  end)

  it("the file of --output", function()
    local r = each_kill("mkdir out; export KSTAT_SOURCE=" .. os.getenv("PWD") .. "/spec/vectors/kstat/host.jsonl", [[
      $kstat -o openmetrics --output out/m.prom & p=$!
      [ $i != 1 ] || wait $p
      sleep $nap; kill -9 $p 2>&-; wait $p 2>/dev/null
      [ "$(tail -n 1 out/m.prom)" = "# EOF" ] || echo "kill $i: cut off"
      ls -A out | grep -v -x -e m.prom -e .m.prom.kstat
      if [ $((i % 10)) = 0 ]; then
        $kstat -o openmetrics --output out/m.prom || echo "kill $i: does not start again"
        ls -A out | grep -v -x m.prom
      fi]])
    assert.equal("", r.out .. r.err)
  end)

  it("the samples of convert -o, which the next one continues", function()
    local whole = run.build .. "/spec/core_recording write whole.rec 300 5 >/dev/null; $host convert whole.rec >whole"
    local r = each_kill(whole, [[
      $host convert -o r whole.rec & p=$!
      sleep $nap; kill -9 $p 2>&-; wait $p 2>/dev/null
      [ ! -s r ] || $host convert r >now 2>told
      if [ -s r ]; then
        cmp -n $(wc -c <now) now whole || echo "kill $i: other samples"
        grep -v -e 'ends inside a sample' -e 'no .*sample in this recording' told
      fi
      if [ $((i % 5)) = 0 ]; then
        before=$(grep -c '^\[' now); $host convert -o r whole.rec || echo "kill $i: is not continued"
        $host convert r >now 2>told || echo "kill $i: cannot be read"
        [ $(grep -c '^\[' now) = $((before + $(grep -c '^\[' whole))) ] || echo "kill $i: not continued behind it"
      fi
      rm -f r; : >now
      ls -A | grep -v -x -e whole -e whole.rec -e now -e told -e published]])
    assert.equal("", r.out .. r.err)
  end)
end)
