-- kstatlua record and convert: what they leave behind when they are killed or the disk is full, and that
-- nothing is lost on the way from one form to the other.
local build = os.getenv("KSTAT_BUILD") or "build"
local host = build .. "/bin/kstatlua"
local capture = "spec/vectors/kstat/host.jsonl"
local dir

--- Output of a shell command, both streams, and its exit status.
local function run(command)
  local pipe = assert(io.popen(("{ %s; } 2>&1; echo $?"):format(command)))
  local text = pipe:read("*a")
  pipe:close()
  local output, status = text:match("^(.*)%f[%d](%d+)\n$")
  return output, tonumber(status)
end

local function kstatlua(words)
  return run(("KSTAT_REPLAY_TIME=1700000000 LC_ALL=C TZ=UTC %s %s"):format(host, words))
end

local function samples(file)
  local text = kstatlua("convert " .. file .. " unix:0:system_misc:ncpus")
  local _, n = text:gsub("\n%]", "")
  local _, m = text:gsub("%}%]", "")
  return n + m
end

describe("recordings by command", function()
  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function()
    os.execute("rm -rf " .. dir)
  end)

  it("go from a capture to a recording and back without a change", function()
    local text = kstatlua("convert " .. capture)
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    assert.equals(text, (kstatlua(("convert %s/r"):format(dir))))
    assert.is_true(#text > 200000)
  end)

  it("replay as the capture does", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    local plain = run(("%s/bin/kstat -p -r %s 5 3"):format(build, capture))
    assert.equals(plain, (run(("%s/bin/kstat -p -r %s/r 5 3"):format(build, dir))))
    assert.is_true(#plain > 100000)
  end)

  it("are bounded by --from and --to", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    assert.equals(3, samples(dir .. "/r"))
    assert.equals(2, samples(("--from 1700000004 %s/r"):format(dir)))
    assert.equals(1, samples(("--from '2023-11-14 22:13:22' --to 1700000006 %s/r"):format(dir)))
    local text, status = kstatlua(("convert --from 1800000000 %s/r"):format(dir))
    assert.equals(("convert: %s/r: no sample in the time asked for\n"):format(dir), text)
    assert.equals(3, status)
  end)

  it("are whole up to the last sample after kill -9", function()
    run(("%s record -o %s/r unix 0.005 & pid=$!; sleep 0.6; kill -9 $pid; wait $pid"):format(host, dir))
    local before = samples(dir .. "/r")
    assert.is_true(before > 5)
    local _, status = run(("%s record -o %s/r unix 0.001 5"):format(host, dir))
    assert.equals(0, status)
    assert.equals(before + 5, samples(dir .. "/r"))
  end)

  it("are whole up to the last sample on a full disk", function()
    local text = run(("unshare -rm sh -c 'mount -t tmpfs -o size=64k none %s && " ..
      "%s record -o %s/r unix 0.0005; echo status $?; cp %s/r %s.copy'"):format(dir, host, dir, dir, dir))
    finally(function() os.remove(dir .. ".copy") end)
    assert.equals(("record: %s/r: No space left on device; the samples so far are whole\nstatus 3\n"):format(dir),
      text)
    assert.is_true(samples(dir .. ".copy") > 10)
  end)

  it("keep out a second recorder", function()
    local text = run(("%s record -o %s/r unix 60 & pid=$!; sleep 0.3; %s record -o %s/r unix 1 1; kill $pid")
      :format(host, dir, host, dir))
    assert.equals(("record: %s/r: another recorder writes it\n"):format(dir), text)
  end)

  it("are never the file that they are made from, by whatever name", function()
    kstatlua(("convert -o %s/r %s"):format(dir, capture))
    run(("cd %s; cp r torn; printf KSD1 >> torn; ln torn hard; ln -s torn soft; cp torn before"):format(dir))
    local refused = "^%a+: [^\n]*: names the file that is read; name another file\n$"
    for _, name in ipairs({ "torn", "hard", "soft", "../" .. dir:match("[^/]*$") .. "/torn" }) do
      local text, status = kstatlua(("convert -o %s/%s %s/torn"):format(dir, name, dir))
      assert.matches(refused, text)
      assert.equals(3, status)
      text, status = run(("KSTAT_SOURCE=%s/torn %s record -o %s/%s 1"):format(dir, host, dir, name))
      assert.matches(refused, text)
      assert.equals(3, status)
    end
    assert.equals("", (run(("cmp %s/torn %s/before"):format(dir, dir))))
  end)

  it("say what is wrong with a command line", function()
    for words, message in pairs({
      ["record 1"] = "no file to write",
      ["record -o f"] = "no interval",
      ["record -o f 1 2 3"] = "'3' is a third number",
      ["record -o f 0"] = "interval '0' is not above 0",
      ["record -o f 1 0"] = "count '0' is not a whole number",
      ["record -x"] = "unknown option '%-x'",
      ["record -o f /[/ 1"] = "regular expression",
      ["convert"] = "no file to convert",
      ["convert -q"] = "unknown option '%-q'",
      ["convert --from noon f"] = "take seconds since 1970",
    }) do
      local text, status = kstatlua(words)
      assert.matches("^%a+: .*" .. message .. "[^\n]*\n$", text)
      assert.equals(2, status)
    end
  end)
end)
