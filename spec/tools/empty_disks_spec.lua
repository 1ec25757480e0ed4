-- Devices that hold nothing: loop devices without a file, card readers without a card.
local run = require("support.run")

describe("a device of size 0", function()
  local tree

  -- disks: { name = { sectors, reads } }, in the order of `names`.
  local function write_disks(names, disks)
    local lines = {}
    for i, name in ipairs(names) do
      local sectors, reads = disks[name][1], disks[name][2]
      run.shell(("mkdir -p %s/sys/block/%s"):format(tree, name))
      run.write_file(("%s/sys/block/%s/size"):format(tree, name), sectors .. "\n")
      lines[i] = ("%d 0 %s %d 0 %d 5 0 0 0 0 0 5 5\n"):format(i, name, reads, reads * 8)
    end
    run.write_file(tree .. "/proc/diskstats.new", table.concat(lines))
    assert(os.rename(tree .. "/proc/diskstats.new", tree .. "/proc/diskstats"))
  end

  local names = { "loop0", "loop1", "sda", "sdb", "sdc" }
  local disks = { loop0 = { 0, 0 }, loop1 = { 4096, 0 }, sda = { 8192, 0 }, sdb = { 0, 0 }, sdc = { 8192, 7 } }

  local function command(line)
    return ("env KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s/%s"):format(tree, tree, run.bin, line)
  end

  -- Which of the disks are in the first words of lines of what a command prints.
  local function shown(line)
    local out = run.shell(command(line))
    assert.are.equal("", out.err)
    local found = {}
    for _, name in ipairs(names) do
      found[#found + 1] = (" " .. out.out:gsub("\n", " ")):find("[%s:]" .. name .. "[%s:]") and name or nil
    end
    return table.concat(found, " ")
  end

  setup(function()
    tree = run.directory()
    run.shell(("cp -r %s/* %s; rm -r %s/sys/block"):format(run.tree("small"), tree, tree))
    write_disks(names, disks)
  end)

  teardown(function()
    run.remove_directory(tree)
  end)

  it("is no disk as long as it never had a request", function()
    for _, tool in ipairs({ "kstat -p", "kstatlua iostat -x", "kstatlua devstat -x -n 9", "../spec/man_page_io" }) do
      assert.are.equal("loop1 sda sdc", shown(tool))
    end
    assert.matches(" sa sc %w%w %-%- ", run.shell(command("kstatlua vmstat 0.01 1")).out)
  end)

  it("becomes one when there is a medium in it, and stays one after a request", function()
    local steps = { "look", "update", ("sh echo 8 >%s/sys/block/sdb/size"):format(tree), "update", "look",
      ("sh sed -i '/sdb/s/sdb 0/sdb 3/' %s/proc/diskstats; echo 0 >%s/sys/block/sdb/size"):format(tree, tree), "update",
      "look" }
    for i, step in ipairs(steps) do
      steps[i] = run.quote(step)
    end
    local out = run.shell(command("../spec/core_news sd::: sdb ") .. table.concat(steps, " ")).out
    assert.are.equal("absent same changed there same there", (out:gsub("%s+", " "):gsub(" $", "")))
    assert.are.equal("sd:1:sdb,detail:size\t0\n", run.shell(command("kstat -p sd:1:sdb,detail:size")).out)
    write_disks(names, disks)
  end)

  it("is shown from when it does something", function()
    local out = tree .. "/out"
    local pid = run.start(command("kstatlua iostat -x 0.05"), out)
    run.await("a report", function() return run.read_file(out):find("loop1", 1, true) end)
    assert.is_nil((run.read_file(out):find("loop0", 1, true)))
    disks.loop0 = { 4096, 5 }
    write_disks(names, disks)
    run.await("loop0", function() return run.read_file(out):find("loop0", 1, true) end)
    run.stop(pid)
  end)
end)
