-- vmstat, mpstat, nicstat, intrstat, arcstat and fsstat: on a capture of illumos, on recorded trees of Linux, live.
local capture = require("support.capture")
local linux = require("support.linux")
local run = require("support.run")

local illumos = "spec/vectors/kstat/host.jsonl"
local small = run.tree_env("small")

-- Runs a tool; words: its name and arguments. env: variables.
local function tool(words, env)
  local command = { "kstatlua", env = env }
  for word in words:gmatch("%S+") do
    command[#command + 1] = word
  end
  local r = run.run(command)
  assert.equal("", r.err, words)
  assert.equal(0, r.status, words)
  return r.out
end

local function on_illumos(words)
  return tool(words, { KSTAT_SOURCE = illumos, KSTAT_REPLAY_TIME = "1700000000" })
end

local function on_small(words)
  return tool(words, small)
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

-- The capture of illumos without the kstats of which keep(number of the sample, module, instance, name) is false.
local function on_part(words, keep)
  local path = os.tmpname()
  local out = assert(io.open(path, "w"))
  local n = 0
  for line in io.lines(illumos) do
    n = n + 1
    local sample = {}
    for k in line:gmatch('{"module".-}}') do
      local module, instance, name = k:match('"module":"(.-)","instance":(%d+),"name":"(.-)"')
      sample[#sample + 1] = keep(n, module, tonumber(instance), name) and k or nil
    end
    out:write("[", table.concat(sample, ","), "]\n")
  end
  out:close()
  local text = tool(words, { KSTAT_SOURCE = path, KSTAT_REPLAY_TIME = "1700000000" })
  os.remove(path)
  return text
end

describe("vmstat of a Linux without /proc/stat", function()
  it("shows the paging that /proc/vmstat tells of", function()
    local tree = linux.copy(run.tree("small"))
    os.remove(tree .. "/proc/stat")
    local env = { KSTAT_PROC = tree .. "/proc", KSTAT_SYS = tree .. "/sys" }
    local r = run.run({ env = env, "kstatlua", "vmstat", "-j" })
    assert.matches('"mf":%d.-"pi":%d.-"de":null', r.out)
    os.remove(tree .. "/proc/vmstat")
    assert.matches('"de":null', run.run({ env = env, "kstatlua", "vmstat", "-j" }).out)
    linux.remove(tree)
  end)
end)

-- The figures are those that follow by hand from the fixture. Its snapshots are 5.0 s apart, in which the six CPUs
-- counted 4769 ticks: 7.948 s each, and rates are per second of these, as in the original.
describe("vmstat of an illumos capture", function()
  -- r: runque 1204451 -> 1204453 over 4 updates, 0.5, cut off to 0
  -- swap: (4918273647737036 - 4918273645091827) / 5 updates = 529041 pages = 2116164 KB
  -- re: pgrec of the six CPUs, 1139 + 878 + 1342 + 199 + 199 + 1456 = 5213 in 7.948 s = 656
  -- pi: pgpgin 1375 + 34 + 1140 + 608 + 222 + 256 = 3635 pages, 4 KB each, in 7.948 s = 1829
  -- s0: sd0 reads 220 + writes 287 in 5 s = 101
  -- in: 668 + 2359 + 3172 + 10009 + 7629 + 9164 = 33001 in 7.948 s = 4152
  -- us: cpu_ticks_user 306 + 204 + 147 + 103 + 417 + 171 = 1348 of 4769 ticks = 28 %
  it("shows a line since boot, then one for each interval", function()
    assert.equal([[
 kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr i_ i_ s0 s1   in   sy   cs us sy id
 0 0 0 2105055892 2312452636 2 2 19 11 24 0 2 460 0 4 6 440   56  116 59  0 41
 0 0 0 2116164 6841132 656 1299 1829 3272 2076 0 309 0 0 101 24 4152 3662 5289 28 42 30
 0 0 0 1913916 7788020 677 1337 1788 2877 2186 0 313 0 0 91 23 4535 3816 4885 30 42 28
]], on_illumos("vmstat sd0 sd1 5"))
  end)

  it("takes the first four disks by driver if none is named, pools among them", function()
    assert.matches(" sr i_ i_ ro s0   in", on_illumos("vmstat"))
  end)

  it("takes the named disks and others beside them, but none if nothing has the name", function()
    assert.matches(" sr i_ i_ ro s1   in", on_illumos("vmstat sd1"))
    assert.matches(" sr i_ s0 s1 s2   in", on_illumos("vmstat sd2 sd0 sd1"))
    local r = run.run({ "kstatlua", "vmstat", "nothing", env = { KSTAT_SOURCE = illumos } })
    assert.matches(" sr %-%- %-%- %-%- %-%-   in", r.out)
    assert.matches("there is no disk 'nothing'", r.err)
  end)

  -- anonpgin, execpgin and so on, KB/s; swapin and swapout of the fixture stay what they are
  it("shows paging in detail, and swapping", function()
    local lines = lines_of(on_illumos("vmstat -p 5"))
    assert.equal("     memory           page          executable      anonymous      filesystem ", lines[1])
    assert.equal("   swap  free  re  mf  fr  de  sr  epi  epo  epf  api  apo  apf  fpi  fpo  fpf", lines[2])
    assert.matches("^2116164 6841132 656 1299 2076 0 309 ", lines[4])
    lines = lines_of(on_illumos("vmstat -S 5"))
    assert.matches("free  si  so pi", lines[2])
    assert.matches("^ 0 0 0 2116164 6841132 0  0 1829 3272 ", lines[4])
  end)

  -- e1000g0: 4293847561 + 3 + 3817; boot was 9345678 s ago
  it("counts interrupts since boot", function()
    assert.equal([[
interrupt         total     rate
--------------------------------
clock         934567899      100
e1000g0      4293851381      459
mpt1           19283757        2
--------------------------------
Total        5247703037      562
]], on_illumos("vmstat -i 5 3"))
  end)

  it("counts events since boot", function()
    local text = on_illumos("vmstat -s 5 3")
    assert.equal(31, #lines_of(text))
    assert.matches("\n187886768 pages paged in\n", text)
    assert.matches("\n17249642911 device interrupts\n", text)
    assert.matches("\n 71781502 total name lookups %(cache hits 83%%%)\n", text) -- of dnlcstats
    assert.matches("\n13967232424 user   cpu\n", text)
    assert.matches("\n        0 wait   cpu\n$", text)
  end)

  it("has data formats with names of their own for equal titles, and times", function()
    assert.matches('"in":[%d.]+,"syscall":[%d.]+,"cs":[%d.]+,"us":', on_illumos("vmstat -j"))
    assert.matches("^time,r,b,w,[^\n]*,sr,disk1,disk2,disk3,disk4,in,syscall,cs,us,sy,id\n" ..
      "2023%-11%-14T22:13:20%+00:00,0,0,0,", on_illumos("vmstat --csv -T d sd1"))
    assert.matches("^1700000000\n kthr .*\n1700000005\n 0 0 0 ", on_illumos("vmstat -T u 5 2"))
    assert.matches("^Tue Nov 14 22:13:20 UTC 2023\n", on_illumos("vmstat -T d"))
  end)
end)

describe("mpstat", function()
  it("goes on counting faults behind an interval without time", function()
    local samples = {}
    for n, time in ipairs({ 10, 10, 11 }) do
      local function k(name, data)
        return capture.kstat("cpu", 0, name, "misc", 1, 1, time, data:format(n * 100))
      end
      samples[n] = { k("sys", '"cpu_ticks_user":%d'), k("vm", '"hat_fault":%d,"maj_fault":7') }
    end
    local lines = lines_of(tool("mpstat 1", { KSTAT_SOURCE = capture.file(samples) }))
    capture.clean()
    assert.matches("^  0    %-   %- ", lines[3])
    assert.matches("^  0  100   0 ", lines[4])
  end)
end)

describe("a capture that lacks kstats", function()
  it("costs vmstat the figures that follow from these, and no others", function()
    local function without_sums(n, _, _, name)
      return n ~= 2 or name ~= "vminfo" and name ~= "sysinfo"
    end
    local whole, part = lines_of(on_illumos("vmstat 5")), lines_of(on_part("vmstat 5", without_sums))
    assert.equal(whole[3], part[3])
    assert.matches("^ %- %- %- +%- +%- ", part[4])
    local others = "^" .. ("%s+%S+"):rep(5) .. "(.*)"
    assert.equal(whole[4]:match(others), part[4]:match(others))
  end)

  it("costs mpstat the faults of the CPU that lacks them, and no others", function()
    local function without_one(_, module, instance, name)
      return not (module == "cpu" and instance == 1 and name == "vm")
    end
    local whole, part = lines_of(on_illumos("mpstat 5")), lines_of(on_part("mpstat 5", without_one))
    for i, line in ipairs(whole) do
      local cpu = line:match("^ +(%d+)")
      if cpu == "1" then
        assert.matches("^  1    %-   %- ", part[i])
        assert.equal(line:sub(-40), part[i]:sub(-40))
      else
        assert.equal(line, part[i])
      end
    end
  end)
end)

describe("vmstat", function()
  -- 2.6 GB of swap and 1 GB free; 2 processes blocked; ticks 3030 user, 720 kernel, 9090 idle of 12845
  it("shows '-' for what Linux does not count", function()
    local lines = lines_of(on_small("vmstat nvme0n1 0.01 2"))
    assert.equal(" kthr       memory              page            disk          faults      cpu", lines[1])
    assert.equal(" r b w    swap    free  re  mf pi po fr de sr c0 d3 m1 n0   in   sy   cs us sy id", lines[2])
    assert.matches("^ 0 2 %- 2600000 1000000   %- +%d+ +%d+ +%d+ +%d+ +%- +%d+ +%d+ +%d+ +%d+ +%d+ +%d+ +%- +%d+ " ..
      "24  6 71$", lines[3])
    assert.equal(" 0 2 - 2600000 1000000   -   0  0  0  0  -  0  0  0  0  0    0    -    0  -  -  -", lines[4])
    assert.equal(4, #lines)
  end)

  it("counts what Linux counts since boot", function()
    local text = on_small("vmstat -s")
    assert.matches("\n      900 total address trans. faults taken\n", text)
    assert.matches("\n     1000 pages paged in\n     2000 pages paged out\n        %- total reclaims\n", text)
    assert.matches("\n     4321 forks\n        %- vforks\n", text)
    assert.matches("\n        %- total name lookups %(cache hits %-%)\n", text)
    assert.matches("\n     3030 user   cpu\n      730 system cpu\n", text)
  end)

  it("lists interrupts", function()
    local text = on_small("vmstat -i")
    assert.matches("\nnvme0q1             100        %d+\n", text)
    assert.matches("\nclock            100050      100\n", text)
    assert.matches("\nTotal            102507 +%d+\n$", text)
  end)

  it("repeats its header after nineteen lines", function()
    local text = tool("vmstat 0.002 20", small)
    local lines = lines_of(text)
    assert.equal(24, #lines)
    assert.equal(lines[1], lines[22])
    assert.equal(lines[2], lines[23])
  end)

  it("refuses five disks", function()
    local r = run.run({ "kstatlua", "vmstat", "a", "b", "c", "d", "e", "1" })
    assert.equal(2, r.status)
    assert.matches("^vmstat: no more than 4 disks", r.err)
  end)
end)

describe("mpstat of an illumos capture", function()
  -- CPU 0, second snapshot: hat_fault + as_fault 821 + 598 in 11.54 s of its own ticks = 123; xcalls 1440 = 125;
  -- intr 668 = 58; rw_rdfails + rw_wrfails = 3625; of 1154 ticks 306 user, 454 kernel, 394 idle = 27, 39, 34 %
  it("shows each CPU since boot and for each interval", function()
    assert.equal([[
CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl
  0 1047   0 279412 9765808 0   0 6697869 0 1100222 310852 890 0   0   0 100
  1    1   0    0    11   13    6  108    1    0    0    12  100   0   0   0
  2    0   0  289   193    2 7414    0 11055 211 14760   80   98   2   0   0
  3    0   0    0     4    0    0    0    0    0    0     8   42   0   0  58
 10    2 2759 11886   0    0 3153 215166 522542 338602 36 4188 0  56   0  44
 11    0  84   33 10065 1431    0 7450   16    0  240     0   99   0   0   1
CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl
  0  123   8  125    58  189  904  305  297  780 1571   110   27  39   0  34
  1  291 168  380   319  364    1 1156    8  699 1512  1261   28  14   0  59
  2  168  67  200   387  169 1262  175  876  421  760   382   18  65   0  17
  3  155  82  632  1535 1280 1063 1188  916  960  434   576   16  62   0  23
 10  307 146 1490  1232  222 1460  909  922 1027  451  1030   67  23   0  10
 11  315  55  660  1167  305  673  549  235  149 1590   669   22  46   0  32
]], on_illumos("mpstat 5 2"))
  end)

  it("adds the CPUs up", function()
    assert.matches("\n  0 1299 473 3071  4152 2312 5289 3924 3044 3951 6748  3662   28  42   0  30   6\n$",
      on_illumos("mpstat -a 5 2"))
    assert.matches("^SET minf .* idl sze\n", on_illumos("mpstat -a"))
    assert.matches("^CPU minf .* idl set\n  0 .* 100   %-\n", on_illumos("mpstat -p"))
  end)
end)

describe("mpstat", function()
  -- CPU 0: 1010 user, 312 kernel, 40 waiting, 4000 idle of 5364 ticks, 2 of them stolen
  it("shows '-' for what Linux does not count for a CPU", function()
    local lines = lines_of(on_small("mpstat 0.01 2"))
    assert.matches("^  0    %-   %- +%d+ +%d+ +%d+ +%d+    %-    %-    %-    %-     %-   19   6   1  75$", lines[2])
    assert.matches("^  1    %-   %- +%d+ +%d+ +%d+ +%d+    %-    %-    %-    %-     %-   27   6   1  67$", lines[3])
    assert.equal("  0    -   -    0     0    0    0    -    -    -    -     -    -   -   -   -", lines[5])
    assert.equal(6, #lines)
  end)

  it("knows faults of the machine", function()
    assert.matches("\n  0 +%d+ +%d+ +%d+ .* 24   6   1  70   2\n$", on_small("mpstat -a"))
  end)
end)

describe("nicstat of an illumos capture", function()
  -- net0, second snapshot, 5.000014 s: rbytes64 327794 / 1024 = 64.02 KB/s, obytes64 564940 = 110.3; 36 packets in,
  -- 1072 out; 9105 bytes a packet; full duplex at 1 Gbit/s: 112986 * 8 / 1e9 = 0.09 %
  it("shows links since boot and for each interval", function()
    assert.equal([[
    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat
22:13:20     net0    0.06    0.05    9.03   56.34    7.07    0.89  0.00   0.00
22:13:20     net1    5.76    0.02 46765.2   39.08    0.13    0.40  0.00   0.00
22:13:20   vnic10  1601.3   769.7 1635008   544.0    1.00  1448.8  0.31   0.00
    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat
22:13:25     net0   64.02   110.3    7.20   214.4  9105.4   527.0  0.09   0.00
22:13:25     net1   94.98   129.4   218.0   64.80   446.2  2044.8  0.11   0.00
22:13:25   vnic10   184.2   180.4   35.20   165.8  5358.6  1114.2  0.04   0.00
]], on_illumos("nicstat 5 2"))
  end)

  it("has its other forms", function()
    assert.matches("\n22:13:25     net0          64.02          110.3\n", on_illumos("nicstat -s 5 2"))
    assert.matches("\nnet0         64.02   110.3    7.20   214.4  0.00  0.00  0.00     %-     %-   0.09\n",
      on_illumos("nicstat -x 5 2"))
    assert.matches("rMbps   wMbps.*\n22:13:25     net0    0.52    0.90 ", on_illumos("nicstat -M 5 2"))
    assert.matches("\n1700000005:net0:64.022:110.340:7.200:214.399:9105.389:526.996:0.090:0.000\n",
      on_illumos("nicstat -p 5 2"))
    assert.equal("Int      Loopback   Mbit/s Duplex State\nnet1           No   1000.0   full    up\n",
      on_illumos("nicstat -l -i net1"))
    assert.equal(3, #lines_of(on_illumos("nicstat net1 5 2")))
  end)

  -- outSegs 4998 in 5 s = 999.6, retransSegs 10 of 4998 = 0.20 %, listenDrop 1 + halfOpenDrop 11 in 5 s = 2.40
  it("shows TCP and UDP", function()
    assert.matches("\nTCP            %-    0.00   341.2   999.6  2.20  2.80  0.20   1.00   1.20  2.40\n",
      on_illumos("nicstat -t 5 2"))
    assert.matches("\nUDP            %-       %-       %-       %-\n", on_illumos("nicstat -u"))
  end)
end)

describe("nicstat", function()
  it("knows links of Linux", function()
    local lines = lines_of(on_small("nicstat 0.01 2"))
    -- The first report is since the creation of the links, on the clock of this machine.
    assert.matches("^%d%d:%d%d:%d%d     eth0" .. (" +[%d.]+"):rep(8) .. "$", lines[2])
    assert.matches("^%d%d:%d%d:%d%d       lo" .. (" +[%d.]+"):rep(6) .. "     %- +[%d.]+$", lines[3])
    assert.matches("^%d%d:%d%d:%d%d     eth0    0.00    0.00    0.00    0.00    0.00    0.00  0.00   0.00$", lines[5])
    assert.equal(3, #lines_of(on_small("nicstat -n 0.01 2")))
    assert.equal("Int      Loopback   Mbit/s Duplex State\neth0           No   1000.0   full    up\n" ..
      "lo            Yes        -   unkn    up\n", on_small("nicstat -l"))
    assert.matches("\nTCP            %-       %- +%d+", on_small("nicstat -t"))
    assert.matches("\nUDP      +[%d.]+ +[%d.]+ +[%d.]+ +[%d.]+\n", on_small("nicstat -u"))
  end)

  it("leaves out links without traffic", function()
    assert.equal(3, #lines_of(on_small("nicstat -z 0.01 2")))
  end)
end)

describe("intrstat", function()
  -- e1000g0: hard 10225 + multiple_service 15 in 5 s; mpt1: hard 1698 + soft 4
  it("shows interrupts per second from the first interval on", function()
    local head = "      device |       all %tim\n-------------+---------------\n"
    local text = on_illumos("intrstat 5 1")
    assert.equal(head .. "     e1000g0 |      2048    -\n        mpt1 |       340    -\n", text)
  end)

  it("shows all that a recording has where no interval is given", function()
    assert.equal(on_illumos("intrstat 1"), on_illumos("intrstat"))
    assert.matches(" 2048    %-\n", on_illumos("intrstat"))
  end)

  it("knows devices of Linux", function()
    assert.matches("\n     nvme0q1 |         0    %-\n", on_small("intrstat 0.01 1"))
  end)

  it("has a column for each CPU of -c", function()
    local lines = lines_of(on_small("intrstat -c 0,1 0.01 1"))
    assert.equal("      device |      cpu0 %tim      cpu1 %tim", lines[1])
    assert.matches("\n     nvme0q1 |         0    %-         0    %-\n", table.concat(lines, "\n") .. "\n")
    assert.matches("this recording has no interrupts by CPU; record with: kstatlua record %-o FILE intr_cpu",
      run.run({ "kstatlua", "-r", illumos, "intrstat", "-c", "0", "5", "1" }).err)
    for words, problem in pairs({ ["-c 4096 0.01 1"] = "there is no CPU 4096",
      ["-c x"] = "-c: 'x' is not the number of a CPU, nor a range of them; 'kstatlua intrstat --help' explains",
      ["-C 1"] = "-C: Linux has no processor sets: -c chooses CPUs; 'kstatlua intrstat --help' explains" }) do
      assert.equal("intrstat: " .. problem .. "\n", run.shell(("%s %s/kstatlua intrstat %s"):format(
        run.tree_words("small"), run.bin, words)).err)
    end
  end)
end)

describe("arcstat", function()
  -- second snapshot: hits 5751 + misses 9737 in 5 s = 3.1K accesses a second, 62.9 % misses, cut off as there;
  -- demand misses 7192 + 11860 = 3.8K; sizes are those of the moment, 6531069020 and 1577809931 bytes
  it("shows the cache of an illumos capture", function()
    local lines = lines_of(on_illumos("arcstat 5 2"))
    assert.equal("    time  read  miss  miss%  dmis  dm%  pmis  pm%  mmis  mm%  arcsz     c", lines[1])
    assert.equal("22:13:20   146    73     50    54   27    85   30    66   30   6.1G  1.5G", lines[2])
    assert.equal("22:13:25  3.1K  1.9K     62  3.8K   59  2.5K   40  3.5K   47   6.1G  1.5G", lines[3])
  end)

  it("shows '-' for what this version of ZFS does not count", function()
    assert.equal("dmis  arcsz     c\n   -   1.5G  1.5G\n", on_small("arcstat -f dmis,arcsz,c"))
    assert.matches("\n1603939792  1643208777\n$", on_small("arcstat -p -f arcsz,c"))
  end)

  it("knows its fields", function()
    assert.matches("\narcsz     size of the cache\n", on_illumos("arcstat -l"))
    local r = run.run({ "kstatlua", "arcstat", "-f", "nosuch" })
    assert.equal(2, r.status)
    assert.matches("^arcstat: there is no field 'nosuch'", r.err)
  end)

  it("reads a recorded machine with ZFS", function()
    -- 620000 misses of 9620000 accesses are 6.4 %, 590000 of 9490000 demanded ones 6.2 %
    assert.matches("\n    6    6   23    9   1.5G  2.0G\n$", tool("arcstat -f miss%,dm%,pm%,mm%,arcsz,c",
      run.tree_env("node")))
  end)

  it("says where there is no ZFS", function()
    local dir = run.directory()
    run.shell("mkdir " .. dir .. "/proc")
    local r = run.run({ "kstatlua", "arcstat", env = { KSTAT_PROC = dir .. "/proc", KSTAT_SYS = dir } })
    assert.matches("^arcstat: there is no zfs:0:arcstats", r.err)
    assert.matches("\n%d%d:%d%d:%d%d     %-     %- ", r.out)
    run.remove_directory(dir)
  end)
end)

describe("fsstat", function()
  it("shows datasets of ZFS, and '-' where nothing is counted", function()
    local text = on_small("fsstat")
    assert.matches("^  new  name  name  attr  attr lookup rddir  read  read write write\n" ..
      " file remov  chng   get   set    ops   ops   ops bytes   ops bytes\n", text)
    assert.matches("\n    %-     %-     %-     %-     %-      %-     %-     %-     %-     4    40 tank\n", text)
    assert.matches("neither vopstats nor NFS, XFS or ZFS", on_illumos("fsstat"))
  end)

  it("shows mounts of NFS and XFS", function()
    local tree = run.tree_env("fs")
    local text = run.run({ "kstatlua", "fsstat", env = tree }).out
    assert.matches("\n    %-     %-     %-    50     %-      %-     %-   300 1.05M   100 2.10M /nfs\n", text)
    assert.matches("\n    2     1     %-     %-     1      3    52     7    99    28 3.40M xfs on dm%-1\n", text)
  end)

  it("shows the file system of a path, and with -F also those of which nothing is counted", function()
    local tree = run.tree_env("fs")
    local text = run.run({ "kstatlua", "fsstat", "/nfs", env = tree }).out
    assert.equal("/nfs", text:match("([^ ]+)\n$"))
    assert.equal(3, #lines_of(text))
    assert.matches("\n +%-[ %-]+ /run\n", run.run({ "kstatlua", "fsstat", "-F", env = tree }).out)
    for operand, problem in pairs({ ["/nope"] = "/nope: No such file or directory",
      ["/proc"] = "/proc: Linux counts no operations of this file system",
      ["nope"] = "nothing here is called 'nope'" }) do
      local r = run.run({ "kstatlua", "fsstat", operand })
      assert.same({ "fsstat: " .. problem .. "\n", 1, 2 }, { r.err, r.status, #lines_of(r.out) })
    end
  end)
end)

describe("the tools", function()
  local names = { "vmstat", "mpstat", "nicstat", "intrstat", "arcstat", "fsstat" }

  it("run live for two intervals", function()
    for _, name in ipairs(names) do
      -- Here may be no file systems that count.
      local r = run.run({ "kstatlua", name, "-j", "0.05", "3", env = name == "fsstat" and small or nil })
      assert.equal(0, r.status, r.err)
      local times, n = {}, 0
      for line in r.out:gmatch("[^\n]+") do
        local time = line:match('^{"report":"' .. name .. '","time":([%d.]+),')
        assert.is_string(time, line)
        n = n + (times[time] and 0 or 1)
        times[time] = true
      end
      assert.equal(3, n, name)
    end
  end)

  it("explain themselves", function()
    for _, name in ipairs(names) do
      assert.matches("^usage: kstatlua " .. name .. " %[options%] ", tool(name .. " --help"))
    end
  end)
end)
