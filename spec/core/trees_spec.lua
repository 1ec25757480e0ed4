-- Machines whose whole output was checked by eye once: an old kernel, a container with lxcfs and no /sys, a host with
-- ZFS. expected.txt has what `kstat -p` shows of the tree, but for times, zeros and cpu_stat, which repeats cpu.
local run = require("support.run")
local tree = require("support.tree")

local function shown(name)
  local r = run.shell(([[
    export KSTAT_DIR=$(mktemp -d)
    %s %s/kstat -p
    rm -r "$KSTAT_DIR"]]):format(run.tree_words(name), run.bin))
  local lines = {}
  for line in r.out:gmatch("[^\n]+") do
    local is_time = line:find(":class\t", 1, true) or line:find(":crtime\t") or line:find(":snaptime\t")
    if not is_time and not line:find("\t0$") and not line:find("^cpu_stat:") then
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, "\n") .. "\n", r.err
end

describe("the kstats are those that were expected of", function()
  for _, name in ipairs({ "old", "lxcfs", "zfs" }) do
    it(name, function()
      local out, err = shown(name)
      assert.equal("", err)
      assert.equal(run.read_file(run.tree(name) .. "/expected.txt"), out)
    end)
  end
end)

describe("a packed tree", function()
  it("is what its files are when they are packed again", function()
    assert.equal("", run.shell("find spec/trees spec/fuzz -mindepth 1 -type d").out, "is not packed")
    for _, name in ipairs(run.trees()) do
      local text = run.read_file(("spec/trees/%s.tree"):format(name))
      assert.is_true(("\n" .. text):sub(-#tree.pack(run.tree(name)) - 1) == "\n" .. tree.pack(run.tree(name)), name)
    end
  end)

  it("keeps modes, links, empty directories, names, bytes that are no text, and lines that do not end", function()
    local dir = run.directory()
    run.shell(([[cd %s && mkdir -p d "empty [d]x" "a b" && chmod 750 d && ln -s "to it" link
      printf x >"a b/open"; printf "\0\377" >bytes; printf "\n\n" >d/blank; : >d/none; echo "==> x" >d/odd
      chmod 400 d/none]]):format(dir))
    local text = tree.pack(dir)
    assert.equal("==> a b/open [open]\nx\n==> bytes [hex]\n00ff\n==> d/ [750]\n==> d/blank\n\n\n==> d/none [400]\n"
      .. "==> d/odd [hex]\n3d3d3e20780a\n==> empty [d]x/\n==> link -> to it\n", text)
    tree.unpack("A comment.\n" .. text, dir .. ".again")
    assert.equal("", run.shell(("diff -r --no-dereference %s %s.again"):format(dir, dir)).out)
    assert.equal(text, tree.pack(dir .. ".again"))
    run.remove_directory(dir .. ".again")
    run.write_file(dir .. "/a [b]", "")
    assert.error_matches(function() tree.pack(dir) end, "cannot be packed: a %[b%]")
    run.remove_directory(dir)
  end)
end)
