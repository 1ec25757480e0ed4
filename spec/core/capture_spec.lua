-- Captures: what the chain makes of them, by way of spec/c/core_capture.c.
local run = require("support.run")

local vectors = "spec/vectors/kstat/"
local directory

--- Replays `samples` samples of a text (or of a file, given as { path }); what is printed, status.
local function replay(format, samples, text, env)
  local path = type(text) == "table" and text[1] or directory .. "/capture"
  if type(text) == "string" then
    run.write_file(path, text)
  end
  local result = run.run({ run.build .. "/spec/core_capture", format, tostring(samples), path, env = env })
  assert.are.equal("", result.err)
  assert.is_true(result.status <= 1, "ended with " .. result.status)
  return (result.out:gsub(directory:gsub("%p", "%%%0"), "DIR")), result.status
end

--- A kstat as `kstat -j` prints it; `data` is the text inside the braces.
local function kstat(data, header)
  return ('{"module":"m","instance":0,"name":"n","class":"c","type":1,"snaptime":2.5%s,"data":{%s}}')
    :format(header or "", data)
end

local good = kstat('"crtime":1,"snaptime":2.5,"v":7')
local good_lines = "m:0:n:class\tc\nm:0:n:crtime\t1.000000000\nm:0:n:snaptime\t2.500000000\nm:0:n:v\t7\n"

--- The statistics of the only kstat of a capture, as -p prints them without the pseudo ones.
local function statistics(data)
  local out = replay("p", 1, "[" .. kstat(data) .. "]")
  local got = {}
  for name, value in out:gmatch("m:0:n:([^\t\n]*)\t([^\n]*)\n") do
    if name ~= "class" and name ~= "crtime" and name ~= "snaptime" then
      got[#got + 1] = name .. "=" .. value
    end
  end
  return table.concat(got, " "), out
end

describe("a capture", function()
  setup(function()
    directory = run.directory()
  end)

  teardown(function()
    run.remove_directory(directory)
  end)

  describe("of illumos", function()
    local full = run.vector("kstat/out/full-02-c.txt")

    it("shows every statistic as the machine's own kstat -p did", function()
      assert.are.equal("==\n" .. full, (replay("p", 1, { vectors .. "host.jsonl" })))
    end)

    it("does so for two thousand kstats, compressed", function()
      local expected = run.vector("kstat/out/scale-01-c.txt")
      assert.is_true(#expected > 1000000)
      assert.are.equal("==\n" .. expected, (replay("p", 1, { vectors .. "scale.jsonl.gz" })))
    end)

    it("keeps the type of every kstat", function()
      local types = {}
      for type_ in replay("chain", 1, { vectors .. "host.jsonl" }):gmatch(" (%d) %-?%d+ [%dE]") do
        types[type_] = (types[type_] or 0) + 1
      end
      local expected = {}
      for type_ in run.read_file(vectors .. "host.jsonl"):match("^[^\n]+"):gmatch('"type": ?(%d)%D') do
        expected[type_] = (expected[type_] or 0) + 1
      end
      assert.are.same(expected, types)
      assert.truthy(types["0"] and types["1"] and types["2"] and types["3"] and types["4"])
    end)

    it("has three samples, and the last one stays", function()
      local out = replay("chain", 4, { vectors .. "host.jsonl" })
      local samples = {}
      for sample in (out .. "=="):gmatch("\n(.-)%f[=]==") do
        samples[#samples + 1] = sample
      end
      assert.are.equal(4, #samples)
      assert.are_not.equal(samples[1], samples[2])
      assert.are_not.equal(samples[2], samples[3])
      assert.are.equal(samples[3], samples[4])
      assert.truthy(samples[2]:find("vnic10", 1, true) and not samples[2]:find("vnic11", 1, true))
      assert.truthy(samples[3]:find("vnic11", 1, true) and not samples[3]:find("vnic10", 1, true))
    end)

    it("that the command printed replays to the same text", function()
      local text = run.vector("kstat/out/full-06.txt")
      assert.are.equal("==\n" .. text, (replay("j", 1, text)))
    end)
  end)

  describe("of ours", function()
    it("replays to what it was made from, equal names included", function()
      local json = replay("j", 1, { vectors .. "host.jsonl" }):gsub("^==\n", "")
      assert.are.equal("==\n" .. run.vector("kstat/out/full-02-c.txt"), (replay("p", 1, json)))
    end)

    it("replays compressed, from standard input", function()
      local path = vectors .. "scale.jsonl.gz"
      local command = run.quote(run.build .. "/spec/core_capture") .. " chain 1 - <"
      local unpacked = directory .. "/plain"
      local plain = run.shell(("gzip -dc %s >%s; %s%s"):format(path, unpacked, command, unpacked))
      assert.are.equal(0, plain.status)
      assert.are.equal(2001, select(2, plain.out:gsub("\n", "\n")))
      assert.are.equal(plain.out, run.shell(command .. path).out)
      assert.are.equal(plain.out, run.shell("cat " .. path .. " | " .. command .. "/dev/stdin").out)
    end)

    it("comes sample by sample through a pipe, without waiting for the next", function()
      run.write_file(directory .. "/one", "[" .. good .. "]\n")
      run.write_file(directory .. "/two", "[" .. kstat('"crtime":1,"snaptime":3,"v":8') .. "]\n")
      -- The second sample is written only when the first was shown.
      local result = run.shell(([[
cd %s && mkfifo pipe && : >out
exec 3<>pipe; timeout 120 %s p 2 pipe >out 3>&- &
cat one >&3
i=0; until grep -q 'v	7' out || [ $i -gt 1000 ]; do sleep 0.06; i=$((i + 1)); done
grep -c 'v	7' out
cat two >&3; exec 3>&-; wait; grep -c 'v	8' out]])
        :format(run.quote(directory), run.quote(run.build .. "/spec/core_capture")))
      assert.are.equal("1\n1\n", result.out)
    end)

    it("may be several gzip members, with zeros at the end", function()
      run.write_file(directory .. "/a", "[" .. good .. "]\n[")
      run.write_file(directory .. "/b", good .. "]\n")
      run.shell(("cd %s && gzip -k a b && cat a.gz b.gz >ab.gz && head -c 1000 /dev/zero >>ab.gz"):format(directory))
      assert.are.equal("==\n" .. good_lines .. "==\n" .. good_lines .. "==\n" .. good_lines,
        (replay("p", 3, { directory .. "/ab.gz" })))
    end)
  end)

  describe("form", function()
    it("is one array a line, or spread over lines, with any blanks between", function()
      local spread = good:gsub("[,{:]", "%0\n\t ")
      local out = replay("p", 4, "\n[" .. good .. "][" .. spread .. "]\r\n\n \f[\n" .. good .. "\n]\n\n")
      assert.are.equal(("==\n" .. good_lines):rep(4), out)
    end)

    it("may have the comma that illumos prints first", function()
      assert.are.equal(("==\n" .. good_lines):rep(2), (replay("p", 2, "[" .. good .. "]\n\n[, " .. good .. "]\n")))
    end)

    it("may have empty reports", function()
      assert.are.equal("==\n==\n" .. good_lines .. "==\n", (replay("p", 3, "[]\n\n[" .. good .. "]\n\n[\n]\n")))
    end)

    it("may have its members in any order", function()
      local sorted = '[{"class":"c","data":{"crtime":1,"snaptime":2.5,"v":7},"instance":0,'
        .. '"module":"m","name":"n","type":1}]'
      assert.are.equal("==\n" .. good_lines, (replay("p", 1, sorted)))
    end)

    it("is left alone by members that it does not know", function()
      local more = ',"zone":"global","more":{"a":[{"b":null}]},"list":[[],1,"x",true]'
      assert.are.equal("==\n" .. good_lines,
        (replay("p", 1, "[" .. kstat('"crtime":1,"snaptime":2.5,"v":7', more) .. "]")))
    end)

    it("may hold a kstat twice", function()
      assert.are.equal("==\n" .. good_lines .. good_lines, (replay("p", 1, "[" .. good .. "," .. good .. "]")))
    end)

    it("keeps the order of the array in the chain", function()
      local out = replay("chain", 1, "[" .. kstat("", ',"name":"z"') .. "," .. kstat("", ',"name":"a"') .. "]")
      assert.are.equal("==\nm:0:z c 1 0 EIO\nm:0:a c 1 0 EIO\n", out)
    end)
  end)

  describe("with times of day", function()
    local function times(stamp, env)
      return (replay("chain", 1, stamp .. "\n[]\n", env))
    end

    it("tells those of -T u", function()
      assert.are.equal("== 1700000000\n", times("1700000000"))
    end)

    it("tells those of -T d, with and without a zone", function()
      assert.are.equal("== 1700000000\n", times("Tue Nov 14 22:13:20 UTC 2023", { TZ = "CET-1" }))
      assert.are.equal("== 1700000000\n", times("Tue Nov 14 22:13:20 2023"))
      assert.are.equal("== 1700000000\n", times("Tue Nov 14 23:13:20 CET 2023", { TZ = "CET-1" }))
      assert.are.equal("== 1698969600\n", times("Fri Nov  3 00:00:00 UTC 2023"))
    end)

    it("gives each sample its own", function()
      local out = replay("p", 4, "1700000000\n[" .. good .. "]\n\nTue Nov 14 22:13:25 UTC 2023\n[, "
        .. good .. "]\n\n[]\n")
      assert.are.equal("== 1700000000\n" .. good_lines .. "== 1700000005\n" .. good_lines .. "==\n==\n", out)
    end)
  end)

  describe("with numbers", function()
    it("keeps integers exact to 64 bits", function()
      assert.are.equal("a=18446744073709551615 b=9223372036854775809 c=-9223372036854775808 d=9007199254740993 e=0",
        (statistics('"snaptime":1,"a":18446744073709551615,"b":9223372036854775809,"c":-9223372036854775808,'
          .. '"d":9007199254740993,"e":-0')))
    end)

    it("tells whole numbers, fractions, texts, null and truth apart", function()
      local out = replay("types", 1, "[" .. kstat('"snaptime":1,"a":1,"b":-1,"c":1.5,"d":-2e3,"e":"t","f":"",'
        .. '"g":null,"h":true,"i":false,"j":[1,2],"k":["x"],"l":[]') .. "]")
      assert.are.equal("==\na 4\nb 3\nc 6\nd 6\ne 9 t\nf 9 \ng 9 (null)\nh 4\ni 4\nj 16\nk 17\nl 16\n", out)
    end)

    it("shows fractions and arrays", function()
      assert.are.equal("a=0.1 b=-2500000000 c=[1,18446744073709551615] d=[x,,y z] e=1",
        (statistics('"snaptime":1,"a":0.1,"b":-2.5e9,"c":[1,18446744073709551615],"d":["x","","y z"],"e":true')))
    end)

    it("reads times as they were printed, to the nanosecond", function()
      local out = replay("chain", 1, "[" .. kstat('"crtime":1e-09,"snaptime":9007199.254740993') .. "]")
      assert.are.equal("==\nm:0:n c 1 1 9007199254740993 0\n", out)
    end)

    it("does not depend on the locale's decimal point", function()
      local made = run.shell(("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8"):format(directory))
      if made.status ~= 0 then
        pending("no such locale can be made here")
        return
      end
      local out = replay("p", 1, "[" .. kstat('"snaptime":1,"a":1.5,"b":25e-1') .. "]",
        { LOCPATH = directory, LC_ALL = "de_DE.UTF-8" })
      assert.truthy(out:find("a\t1.5\n", 1, true) and out:find("b\t2.5\n", 1, true))
    end)
  end)

  describe("with texts", function()
    it("takes illumos's escaped question marks", function()
      local out = statistics([["snaptime":1,"a\?":"what\? why\?\?","b":"\\?","c":"\\\?\\\\?","d":"\u003f\"?"]])
      assert.are.equal([[a?=what? why?? b=\? c=\?\\? d=?"?]], out)
    end)

    it("takes them wherever the pieces that are read end", function()
      local text = ([[\?\\?]]):rep(100000)
      local got = statistics('"snaptime":1,"aa":"' .. text .. '"')
      assert.are.equal("aa=" .. text:gsub([[\%?]], "?"):gsub([[\\]], [[\]]), got)
    end)

    it("shows bytes that illumos escaped as the characters of that number", function()
      assert.are.equal("a=\195\131\194\188", (statistics([["snaptime":1,"a":"\u00c3\u00bc"]])))
    end)

    it("keeps bytes that are not UTF-8", function()
      assert.are.equal("a\254=\255\192", (statistics('"snaptime":1,"a\254":"\255\192"')))
    end)

    it("drops the class that -pj puts among the statistics, not the kstat's own", function()
      assert.are.equal("v=1", (statistics('"class":"c","snaptime":1,"v":1')))
      local _, out = statistics('"class":"own","class":"c","snaptime":1,"v":1')
      assert.are.equal("==\nm:0:n:class\town\nm:0:n:class\tc\nm:0:n:crtime\t0\n"
        .. "m:0:n:snaptime\t1.000000000\nm:0:n:v\t1\n", out)
    end)

    it("keeps texts called crtime and snaptime", function()
      local out = replay("types", 1, "[" .. kstat('"crtime":1,"snaptime":2,"crtime":"x","snaptime":3') .. "]")
      assert.are.equal("==\ncrtime 9 x\nsnaptime 4\n", out)
    end)
  end)

  describe("of chosen statistics", function()
    local function one(type_, data)
      return '[{"module":"sd","instance":0,"name":"sd0","class":"disk","type":' .. type_ .. ',"snaptime":9,"data":{'
        .. data .. "}}]"
    end

    it("has them at the header's time, and makes nothing up", function()
      assert.are.equal("==\nsd:0:sd0:class\tdisk\nsd:0:sd0:crtime\t0\nsd:0:sd0:nread\t1\n"
        .. "sd:0:sd0:snaptime\t9.000000000\n", (replay("p", 1, one(3, '"nread":1'))))
    end)

    it("keeps numbers that the C structure cannot hold", function()
      local out = replay("p", 1, one(2, '"hard":4294967296,"multiple_service":0,"soft":0,"spurious":0,"watchdog":0'))
      assert.truthy(out:find("sd:0:sd0:hard\t4294967296\n", 1, true))
    end)

    it("takes times in seconds in I/O kstats", function()
      local out = replay("p", 1, one(3, '"nread":1,"nwritten":2,"rcnt":0,"reads":3,"rlastupdate":1.5,'
        .. '"rlentime":8.12e-07,"rtime":0.5,"snaptime":2,"wcnt":0,"wlastupdate":0,"wlentime":0,"writes":4,"wtime":0'))
      assert.truthy(out:find("sd:0:sd0:rlentime\t812\n", 1, true))
      assert.truthy(out:find("sd:0:sd0:rlastupdate\t1500000000\n", 1, true))
    end)

    it("without any could not be read", function()
      assert.are.equal("==\nm:0:n c 1 130000000401 EIO\n",
        (replay("chain", 1, "[" .. kstat('"crtime":130.000000401') .. "]")))
    end)
  end)

  it("has the events of a timer kstat one by one", function()
    local event = '"name":"%s","num_events":%d,"elapsed_time":5,"min_time":1,"max_time":4,"start_time":6,"stop_time":7'
    local text = '[{"module":"m","instance":0,"name":"n","class":"c","type":4,"data":{"snaptime":1,'
      .. event:format("one", 1) .. "," .. event:format("two", 2) .. "}}]"
    assert.are.equal("==\nm:0:n c 4 0 1000000000 2\n", (replay("chain", 1, text)))
    local json = replay("j", 1, text):gsub("^==\n", "")
    assert.are.equal("==\n" .. json, (replay("j", 1, json)))
    assert.truthy(json:find('"name": "two",\n\t\t"name": "one"', 1, true))
  end)

  it("finds its way through a long gap, and through an array of any length", function()
    run.write_file(directory .. "/long", "[" .. (" "):rep(3000000) .. "\n" .. (good .. ","):rep(100000) .. good .. "]")
    local out = replay("read", 2, { directory .. "/long" })
    assert.are.equal("==\n==\n", out)
  end)
end)

describe("a damaged capture", function()
  setup(function()
    directory = run.directory()
  end)

  teardown(function()
    run.remove_directory(directory)
  end)

  local function error_of(text)
    local out, status = replay("p", 3, text)
    assert.are.equal(1, status)
    assert.are.equal(1, select(2, out:gsub("\n", "\n")), "not one line: " .. out)
    return out
  end

  describe("of which nothing can be read", function()
    it("tells where there is no capture", function()
      assert.are.equal("error EBADMSG: DIR/capture: empty: a capture is what kstat -j prints\n", error_of(""))
      assert.are.equal("error EBADMSG: DIR/capture: empty: a capture is what kstat -j prints\n", error_of(" \n\n"))
      local neither = "not a capture: neither an array of kstats in JSON nor the time of day\n"
      assert.are.equal("error EBADMSG: DIR/capture: sample 1, byte 0: " .. neither, error_of("total 48\n"))
      assert.are.equal("error EBADMSG: DIR/capture: sample 1, byte 1: " .. neither, error_of('\n{"a":1}'))
      assert.are.equal("error EBADMSG: DIR/capture: sample 1, byte 0: " .. neither, error_of(("\0"):rep(100)))
    end)

    it("tells where the file cannot be had", function()
      assert.are.equal("error ENOENT: DIR/none: cannot open: No such file or directory\n",
        error_of({ directory .. "/none" }))
      assert.are.equal("error EISDIR: DIR: is a directory, not a capture\n", error_of({ directory }))
    end)

    it("tells where it is cut off", function()
      local function cut(text, where)
        assert.are.equal(("error EBADMSG: DIR/capture: sample 1, byte %d: cut off %s\n"):format(#text, where),
          error_of(text))
      end
      cut('[{"module":"m","i', "in the middle of the array")
      cut("[", "in the middle of the array")
      cut("1700000000\n", "after the time of day")
    end)

    it("tells where the JSON is wrong", function()
      assert.matches("sample 1, byte %d+: damaged JSON: ", error_of("[}"))
      assert.matches("sample 1, byte 1[345]: damaged JSON: .*invalid character inside string",
        error_of('[{"module":"m\0"}]'))
      assert.matches("sample 1, byte 25[678]: values are nested deeper than 256", error_of(("["):rep(100000)))
      assert.matches("values are nested deeper than 256", error_of(('[{"x":'):rep(100000)))
    end)

    it("tells of tokens without end, and does not keep them", function()
      local text = "a string, number or gap longer than 1048576 bytes"
      for _, start in ipairs({ '[{"module":"', '[{"module":"m","instance":', '[{"', '[{"module":"m","data":{"x":"' }) do
        local filler = start:find(':$') and "1" or "x"
        run.shell(("cd %s && { printf %%s %s; head -c 50000000 /dev/zero | tr '\\0' %s; } >long")
          :format(directory, run.quote(start), filler))
        local out = error_of({ directory .. "/long" })
        assert.truthy(out:find(text, 1, true), out)
        assert.is_true(tonumber(out:match("byte (%d+)")) < 2000000)
      end
    end)

    it("tells what a kstat lacks", function()
      local function lacks(kstats, what)
        assert.matches("^error EBADMSG: DIR/capture: sample 1, byte %d+: " .. what, error_of(kstats))
      end
      lacks("[1,2]", "an element of the array is not a kstat")
      lacks('["x"]', "an element of the array is not a kstat")
      lacks("[[]]", "an element of the array is not a kstat")
      lacks("[null]", "an element of the array is not a kstat")
      lacks('[{"instance":0,"name":"n","data":{}}]', "a kstat is left out: it has no module")
      lacks('[{"module":"m","instance":0,"data":{}}]', "a kstat is left out: it has no name")
      lacks('[{"module":"m","name":"n","data":{}}]', "a kstat is left out: it has no instance")
      lacks('[{"module":"m","instance":2147483648,"name":"n"}]', "a kstat is left out: its instance is not a 32%-bit")
      lacks('[{"module":"m","instance":1.5,"name":"n"}]', "a kstat is left out: its instance is not a 32%-bit integer")
      lacks('[{"module":"m","instance":0,"name":"n","type":5}]', "a kstat is left out: its type is not one of 0 to 4")
      lacks('[{"module":"m","instance":0,"name":"n","snaptime":1e30}]', "a kstat is left out: its snaptime is out of")
      lacks('[{"module":1,"instance":0,"name":"n"}]', "a kstat is left out: a member has the wrong type")
      lacks('[{"module":"m","instance":"0","name":"n"}]', "a kstat is left out: a member has the wrong type")
      lacks('[{"module":"m","instance":0,"name":null}]', "a kstat is left out: a member has the wrong type")
      lacks('[{"module":"m","instance":0,"name":"n","data":[1]}]', "a kstat is left out: a member has the wrong type")
      lacks('[{"module":"m","instance":0,"name":"n","data":7}]', "a kstat is left out: a member has the wrong type")
      lacks('[{"module":"m","instance":0,"name":{"n":1}}]', "a kstat is left out: a member has the wrong type")
      lacks('[{"module":"m\\u0000","instance":0,"name":"n"}]', "a kstat is left out: a name has a NUL in it")
    end)

    it("tells when gzip data is damaged at once", function()
      assert.matches("the gzip data is cut off", error_of("\31\139"))
      assert.matches("the gzip data is damaged", error_of("\31\139" .. ("x"):rep(100)))
    end)
  end)

  describe("keeps what is whole:", function()
    it("the kstats before the damage, then the reason, then the reason at the next step", function()
      local text = "[" .. good .. ',{"module":"x",'
      local cut = ("sample 1, byte %d: cut off in the middle of the array\n"):format(#text)
      assert.are.equal("==\nwarning: DIR/capture: " .. cut .. good_lines .. "error EBADMSG: DIR/capture: " .. cut,
        (replay("p", 3, text)))
    end)

    it("the samples before the damage", function()
      local text = "[" .. good .. "]\n[{"
      assert.are.equal(("==\n%serror EBADMSG: DIR/capture: sample 2, byte %d: cut off in the middle of the array\n")
        :format(good_lines, #text), (replay("p", 3, text)))
      assert.matches("^==\n" .. good_lines .. "error EBADMSG: DIR/capture: sample 2, byte %d+: not a capture",
        (replay("p", 3, "[" .. good .. "]\nbroken")))
    end)

    it("of a damaged array after others, what is whole of it, and that stays", function()
      local out = replay("p", 3, "[" .. kstat('"snaptime":1') .. "][" .. good .. ",{]")
      assert.matches("^==\nm:0:n:class\tc\nm:0:n:crtime\t0\nm:0:n:snaptime\t1.000000000\n"
        .. "==\nwarning: [^\n]*sample 2[^\n]*\n" .. good_lines .. "==\n" .. good_lines .. "$", out)
    end)

    it("the statistics beside one that cannot be had", function()
      local kept, out = statistics('"snaptime":1,"a":18446744073709551616,"b":1,"c":-9223372036854775809,"d":1e400,'
        .. '"e":{"x":1},"f":[1,"a"],"g":[-1],"h":["a",null],"i":[[1]],"j":"a\\u0000b","k\\u0000":1,"l":2')
      assert.are.equal("b=1 l=2", kept)
      assert.matches("^==\nwarning: DIR/capture: sample 1, byte %d+: the statistic 'a' is left out: "
        .. "its number does not fit 64 bits %(and 9 more%)\nm:0:n:b\t1\n", out)
    end)

    it("a kstat without statistics, of which one is twice and not to be had", function()
      assert.matches("^==\nwarning: [^\n]*: the statistic 'snaptime' is left out: its time is out of range\n"
        .. "m:0:n:class\tc\nm:0:n:crtime\t0\nm:0:n:snaptime\t1.000000000\n$",
        (replay("p", 1, "[" .. kstat('"snaptime":1e30,"snaptime":1') .. "]")))
    end)

    it("the kstats beside one that is none", function()
      local out = replay("p", 1, '[3,' .. good .. ',{"name":"n"},' .. good .. "]")
      assert.are.equal("==\nwarning: DIR/capture: sample 1, byte 2: an element of the array is not a kstat "
        .. "(and 1 more)\n" .. good_lines .. good_lines, out)
    end)

    it("names that are too long, cut", function()
      local data = '"snaptime":1,"' .. ("s"):rep(31) .. '":1'
      local out = replay("p", 1, "[" .. kstat(data, ',"name":"' .. ("n"):rep(31) .. '"') .. "]")
      assert.matches("^==\nwarning: [^\n]* a name longer than 30 bytes is cut %(and 1 more%)\n", out)
      assert.truthy(out:find("m:0:" .. ("n"):rep(30) .. ":" .. ("s"):rep(30) .. "\t1\n", 1, true))
    end)

    it("later samples, if the first has nothing", function()
      assert.are.equal("==\nwarning: DIR/capture: sample 1, byte 2: an element of the array is not a kstat\n"
        .. good_lines, (replay("p", 1, "[1]\n[" .. good .. "]")))
    end)

    describe("the kstats of an array around one with a damaged string,", function()
      local other = good:gsub('"n"', '"o"')
      local around = good_lines .. good_lines:gsub(":n:", ":o:")

      -- Such a string stands in the place of @.
      local function surrounds(element, text, message)
        local damaged = element:gsub("@", (text:gsub("%%", "%%%%")))
        local out = replay("p", 1, "[" .. good .. "," .. damaged .. "," .. other .. "]\n")
        local warning, shown = out:match("^==\nwarning: DIR/capture: sample 1, byte %d+: ([^\n]*)\n(.*)$")
        assert.are.equal(around, shown, element)
        assert.matches(message, warning)
      end

      local places = { '{"module":"@","name":"x"}', '{"module":"m","@":[1]}', '{"data":{"x":"@","z":{"a":[{}]}}}',
        '{"data":{"@":[[1,{}]]}}', '{"data":{"x":["a","@",{"]":"}"}]}}', '"@"', '{"odd":[[[],"@",[]],{"a":1}]}',
        '{"odd":{"a":[{"@":1}]}}', '{"data":{"x":"@\\\\","y":"\\"}]"}}' }

      it("with a control character or an escape that there is not", function()
        local texts = { "\t", "a\rb", "\0", '\1\\"}]', "\\q", "\\u12", "\n{", "\31 [\n]" }
        local told = "^damaged JSON: lexical error: .*string.*; a kstat is left out$"
        for i, place in ipairs(places) do
          surrounds(place, texts[(i - 1) % #texts + 1], told)
        end
        for _, text in ipairs(texts) do
          surrounds(places[3], text, told)
        end
      end)

      it("of more than 1 MiB", function()
        for i, element in ipairs(places) do
          surrounds(element, ('x\\"{'):rep(500000 + i),
            "^a string, number or gap longer than 1048576 bytes; a kstat is left out$")
        end
      end)

      it("as often as there is one", function()
        local bad = '{"module":"m","instance":0,"name":"b","data":{"x":"\t"}}'
        local out = replay("p", 1, "[" .. bad .. "," .. good .. (("," .. bad):rep(2000)) .. "," .. other .. "]\n")
        local more, shown = out:match("^==\nwarning: [^\n]*; a kstat is left out %(and (%d+) more%)\n(.*)$")
        assert.are.equal("2000", more)
        assert.are.equal(around, shown)
      end)

      it("wherever the pieces that are read end", function()
        for more = 0, 12 do
          local filler = '{"module":"m","instance":0,"name":"f","data":{"x":"\1'
          filler = filler .. ("x"):rep(262144 - #good - #filler - 6 + more) .. '\\"]"}}'
          local out = replay("p", 1, "[" .. good .. "," .. filler .. "," .. other .. "]\n")
          assert.are.equal(around, out:match("^==\nwarning: [^\n]*\n(.*)$"), more)
        end
      end)
    end)

    describe("the samples behind damage in the middle,", function()
      local later = kstat('"crtime":1,"snaptime":2.5,"v":8')
      local later_lines = good_lines:gsub("7", "8")

      -- What three samples of a text show, plain and compressed; the lines of warnings are taken out.
      local function both(text)
        local out = replay("p", 3, text)
        run.shell(("cd %s && gzip -c capture >capture.gz"):format(run.quote(directory)))
        -- Where a token is found too long depends on the pieces.
        local function comparable(shown)
          return (shown:gsub("capture%.gz", "capture"):gsub("byte %d+: a string", "byte: a string"))
        end
        assert.are.equal(comparable(out), comparable(replay("p", 3, { directory .. "/capture.gz" })))
        local told = {}
        local shown = out:gsub("warning: DIR/capture: ([^\n]*)\n", function(line)
          told[#told + 1] = line
          return ""
        end)
        return shown, told
      end

      -- Both samples are shown, the last one stays, and one line tells of the damage.
      local function recovers(text, message)
        local shown, told = both(text)
        assert.are.equal("==\n" .. good_lines .. ("==\n" .. later_lines):rep(2), shown)
        assert.are.equal(1, #told, table.concat(told, "\n"))
        assert.matches(message, told[1])
        return told[1]
      end

      it("of an array that is cut off before the next, wherever it is cut", function()
        local cut = "^sample 1, byte %d+: the array is cut off where the next one starts$"
        local text = "[" .. good .. "\n[" .. later .. "]\n"
        assert.truthy(recovers(text, cut):find("byte " .. #good + 2 .. ":", 1, true))
        recovers("[" .. good .. ",\n[" .. later .. "]\n", cut)
        for at = 1, #good, 3 do
          recovers("[" .. good .. "," .. good:sub(1, at - 1) .. "\n[" .. later .. "]\n", "^sample 1, byte %d+: ")
        end
      end)

      it("wherever the pieces that are read end", function()
        for more = 0, 3 do
          local filler = kstat('"snaptime":1,"x":"' .. ("x"):rep(262144 - 2 * #good + more) .. '"')
          local shown, told = both("[" .. good .. ",\n" .. filler .. "\n[" .. later .. "]\n")
          assert.are.equal("==\n" .. later_lines, shown:match("\n(==\n.-)==\n"))
          assert.are.equal(1, #told)
        end
      end)

      it("of one whose JSON is wrong, nested too deep or has a token without end", function()
        recovers("[" .. good .. ",{]\n[" .. later .. "]\n", "^sample 1, byte %d+: damaged JSON: ")
        recovers("[" .. good .. ',{"x":' .. ("["):rep(300) .. "\n[" .. later .. "]\n",
          "^sample 1, byte %d+: values are nested deeper than 256$")
        recovers("[" .. good .. ',{"module":"' .. ("x"):rep(2000000) .. '"}]\n[' .. later .. "]\n",
          "^sample 1, byte %d+: a string, number or gap longer than 1048576 bytes; a kstat is left out$")
        recovers("[" .. good .. ',{"module":' .. ("1"):rep(2000000) .. '}]\n[' .. later .. "]\n",
          "^sample 1, byte %d+: a string, number or gap longer than 1048576 bytes$")
      end)

      it("with their own time of day", function()
        for _, cut in ipairs({ "", ",", ',{"module":"x', ',{"module":' }) do
          for _, stamp in ipairs({ "1700000005", "Tue Nov 14 22:13:25 UTC 2023" }) do
            local out = replay("p", 2, ("1700000000\n[%s%s\n%s\n[%s]\n"):format(good, cut, stamp, later))
            assert.matches("^== 1700000000\nwarning: ", out)
            assert.matches("== 1700000005\n" .. later_lines .. "$", out)
          end
        end
      end)

      it("and of text that is no capture, before the first and between them", function()
        local neither = "not a capture: neither an array of kstats in JSON nor the time of day"
        local shown, told = both("total 48\nfoo [1]\n[" .. good .. "]\nConnection lost\n\n  more\n[" .. later
          .. "]\n")
        assert.are.equal("==\n" .. good_lines .. ("==\n" .. later_lines):rep(2), shown)
        assert.are.same({ "sample 1, byte 0: " .. neither,
          ("sample 2, byte %d: %s"):format(#good + 20, neither) }, told)
        shown, told = both("hello\n1700000000\n[" .. good .. "]")
        assert.are.equal(("== 1700000000\n" .. good_lines):rep(3), shown)
        assert.are.same({ "sample 1, byte 0: " .. neither }, told)
      end)

      it("when arrays of which nothing is whole stand between", function()
        local shown, told = both("[" .. good .. "]\n[{\n[{}\nx\n[" .. later .. "]\n")
        assert.are.equal("==\n" .. good_lines .. ("==\n" .. later_lines):rep(2), shown)
        assert.are.same({ ("sample 2, byte %d: the array is cut off where the next one starts (and 1 more)")
          :format(#good + 6) }, told)
      end)
    end)

    it("all of it behind a byte order mark", function()
      assert.are.equal("==\n" .. good_lines, (replay("p", 1, "\239\187\191[" .. good .. "]")))
      assert.are.equal("== 1700000000\n" .. good_lines,
        (replay("p", 1, "\239\187\191\r\n1700000000\n[" .. good .. "]")))
      assert.are.equal("error EBADMSG: DIR/capture: empty: a capture is what kstat -j prints\n",
        (replay("p", 1, "\239\187\191\n")))
    end)

    it("what came out of gzip data before its damage", function()
      local whole = run.read_file(vectors .. "scale.jsonl.gz")
      local out = replay("chain", 2, whole:sub(1, 100000))
      assert.matches("^==\nwarning: DIR/capture: sample 1, byte %d+: the gzip data is cut off\n", out)
      assert.is_true(select(2, out:gsub("\n", "\n")) > 500)
      out = replay("chain", 2, whole .. "something else")
      assert.matches("error EBADMSG: DIR/capture: sample 2, byte 1039579: the gzip data is damaged\n$", out)
      assert.are.equal(2002, select(2, out:gsub("\n", "\n")))
      out = replay("read", 2, whole:sub(1, 150000) .. ("\0"):rep(20) .. whole:sub(150021))
      assert.matches("warning: DIR/capture: sample 1, byte %d+: [^\n]+\n", out)
    end)
  end)

  it("makes the command print what is whole and one line, and end with status 3", function()
    local report = good_lines
    local function command(text, shown, message, ...)
      run.write_file(directory .. "/capture", text)
      local result = run.run({ "kstat", "-p", "-r", directory .. "/capture", ... })
      assert.are.equal(shown, result.out)
      assert.matches("^kstat: [^\n]*/capture: " .. message .. "[^\n]*\n$", result.err)
      assert.are.equal(3, result.status)
    end
    local cut = "sample 1, byte %d+: cut off in the middle of the array"
    command("[" .. good .. ",{", report, cut)
    command("[" .. good .. ",{", report, cut, "1", "3")
    command("[" .. good .. "]\n[" .. good .. ",", report .. "\n" .. report, "sample 2, byte %d+: cut off", "1", "3")
    command("[" .. good .. "]\n[{", report, "sample 2, byte %d+: cut off", "1", "3")
    command("[1," .. good .. "]", report, "sample 1, byte 2: an element of the array is not a kstat")
    command("[" .. kstat('"crtime":1,"snaptime":2.5,"v":7,"w":99999999999999999999') .. "]", report,
      "sample 1, byte %d+: the statistic 'w' is left out: its number does not fit 64 bits")
    command("[" .. good .. "\n[" .. good .. "]\n", report .. "\n" .. report,
      "sample 1, byte %d+: the array is cut off where the next one starts", "1", "3")
    command("hello\n[" .. good .. "]\n", report, "sample 1, byte 0: not a capture")
    command("hello", "", "sample 1, byte 0: not a capture")
    command("", "", "empty")
  end)

  it("is whole or told to be damaged wherever it is cut", function()
    local text = "1700000000\n[" .. good .. "," .. kstat([["snaptime":1,"a":[1,2],"b":"\?x\u00e4"]]) .. "]\n"
    local words = { run.quote(run.build .. "/spec/core_capture"), "p 2", directory .. "/cut" }
    local script = ([[
cd %s && printf '%%s' %s >whole && i=1
while [ $i -lt %d ]; do
  head -c $i whole >cut
  %s | grep -c 'warning\|error' || exit 1
  i=$((i + 1))
done]]):format(run.quote(directory), run.quote(text:sub(1, -2)), #text - 1, table.concat(words, " "))
    local result = run.shell(script)
    assert.are.equal("", result.err)
    assert.are.equal(0, result.status, result.out)
    assert.are.equal(#text - 2, select(2, result.out:gsub("%d\n", "")))
  end)
end)
