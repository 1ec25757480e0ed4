-- What comes, goes and is replaced: the same five questions to each reader that lists things.
local run = require("support.run")
local L = require("support.linux")

local group = "/sys/fs/cgroup"
for _, controller in ipairs({ "/pids", "/memory" }) do
  group = run.shell("test -d /sys/fs/cgroup" .. controller).status == 0 and "/sys/fs/cgroup" .. controller or group
end
group = group .. "/kstat_news" .. run.shell("echo $$").out:match("%d+")

-- A copy of the small tree to which a disk or a process is added. Things that replace each other lie ready in `later`,
-- so that their inodes differ. (Process 1 of the tree lacks files, so that it cannot be read.)
local tree

-- Before Linux 6.8 nothing distinguishes a mount from the one that was there before if mountinfo says the same of both.
local major, minor = L.read("/proc/sys/kernel/osrelease"):match("^(%d+)%.(%d+)")
local mount = ("mount -t tmpfs %s /mnt"):format(major * 100 + minor < 608 and "$(date +%N)" or "news")

-- Each kind of thing: what a chain has of it, and how it comes and goes. `inside`: what runs the commands and the
-- program, if they need a namespace; `roots`: the recorded tree is read; `possible`: a command that says so. Control
-- groups of others come and go at any time, so that the chain has two of this process alone: `beside` is the second.
local kinds = {
  ["links"] = {
    operand = "link:::", name = "news0", inside = "unshare -n", possible = "ip link add news0 type bridge",
    add = "ip link add news0 type bridge", remove = "ip link del news0",
  },
  ["mounts"] = {
    operand = "fs:::", name = "/mnt", inside = "unshare -m", possible = mount,
    add = mount, remove = "umount /mnt",
  },
  ["control groups"] = {
    operand = ("cgroup::/^%s/:"):format(group:match("[^/]+$")), name = group:match("[^/]+$"),
    possible = ("mkdir %s && rmdir %s"):format(group, group),
    add = "mkdir " .. group, remove = "rmdir " .. group, beside = group .. "_beside",
  },
  ["disks"] = {
    operand = "sd:::", name = "sdz", roots = true,
    add = "echo '  65 144 sdz 5 0 40 3 0 0 0 0 0 3 3' >>proc/diskstats; " ..
      "mv $(ls -d later/sdz* | head -n 1) sys/class/block/sdz",
    remove = "sed -i /sdz/d proc/diskstats; rm -r sys/class/block/sdz",
  },
  ["processes"] = {
    operand = "process:::", name = "news", roots = true,
    add = "mv $(ls -d later/4242* | head -n 1) proc/4242", remove = "rm -r proc/4242",
  },
}

local function new_tree()
  tree = L.copy()
  L.sh(("cd %s; rm -r proc/1; mkdir -p later/sdz1 later/sdz2 later/sdz3 sys/class/block"):format(tree))
  for i = 1, 3 do
    L.sh(("cp -r %s/proc/77 %s/later/4242_%d"):format(tree, tree, i))
    local stat = L.read(tree .. "/proc/77/stat"):gsub("^77 %b()", "4242 (news)")
    local n = 0
    L.write(("%s/later/4242_%d/stat"):format(tree, i), (stat:gsub("%S+", function()
      n = n + 1
      return n == 22 and tostring(1000 * i) or nil
    end)))
  end
end

describe("a reader of", function()
  before_each(new_tree)
  after_each(function()
    L.remove(tree)
  end)

  -- What the steps of core_news print; a step of a function is a command, and "replace" is remove and add.
  local function answers(kind, ...)
    local words = { "cd " .. tree .. " && unset KSTAT_SOURCE KSTAT_PROC KSTAT_SYS;" }
    words[#words + 1] = kind.beside and "mkdir " .. kind.beside .. ";"
    local steps = {}
    for _, step in ipairs({ ... }) do
      local command = kind[step] or step == "replace" and kind.remove .. "; " .. kind.add
      steps[#steps + 1] = run.quote(command and "sh " .. command or step)
    end
    local program = ("%s/spec/core_news %s %s"):format(run.build, run.quote(kind.operand), kind.name)
    words[#words + 1] = kind.roots and "KSTAT_PROC=proc KSTAT_SYS=sys" or ""
    words[#words + 1] = ("%s %s %s"):format(kind.inside or "", program, table.concat(steps, " "))
    local r = run.shell(table.concat(words, " "))
    run.shell(("rmdir %s %s_beside 2>/dev/null"):format(group, group))
    assert.same({ "", 0 }, { r.err, r.status })
    return (r.out:gsub("\n", " "))
  end

  for name, kind in pairs(kinds) do
    local function asks(question, expected, ...)
      local steps = { ... }
      it(name .. question, function()
        if kind.possible and run.shell(("%s sh -c %s"):format(kind.inside or "", run.quote(kind.possible))).status ~= 0
        then
          return pending("this user or this machine cannot make such things")
        end
        assert.equal(expected, answers(kind, table.unpack(steps)))
      end)
    end
    asks(" tells of one that comes, whatever is read before the update", "absent same changed there read same ",
      "look", "update", "add", "others", "update", "look", "read", "update")
    asks(" tells of one that goes, whatever is read before the update", "changed there read changed absent same ",
      "add", "update", "look", "read", "remove", "others", "update", "look", "update")
    asks(" tells of one that takes another's place", "changed there read changed another read same ",
      "add", "update", "look", "read", "replace", "others", "update", "look", "read", "update")
    asks(" finds it gone when it is read, and then an update does so", "changed there read ENXIO changed absent same ",
      "add", "update", "look", "read", "remove", "read", "update", "look", "update")
    asks(" lets a program settle that reads and updates in turn",
      "changed settled there settled absent settled another settled another ",
      "add", "update", "settle", "look", "remove", "settle", "look", "add", "settle", "look", "replace", "settle",
      "look")
  end
end)
