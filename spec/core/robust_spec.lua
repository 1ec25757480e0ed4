-- What becomes of the kstats of a machine when its files are missing, unreadable, damaged, or of another kernel: the
-- library does not crash or hang, one line names the file, and what other files say stays as it is.
local run = require("support.run")

-- The program runs as a user without rights if it can, so that a file can be unreadable.
local as_user = "setpriv --reuid=65534 --regid=65534 --clear-groups "
if run.shell(as_user .. run.bin .. "/kstatlua -e 0 && " .. as_user .. "cat spec/support/robust.lua").status ~= 0 then
  as_user = ""
end

-- Trees whose files are many and alike: one group is enough.
local words = { ["cgroup-v1"] = "nginx", ["cgroup-hybrid"] = "nginx" }

local function findings(tree)
  return run.shell(([[
    dir=$(mktemp -d) && cp -r %s/. "$dir" && mkdir -p "$dir/proc" "$dir/sys" || exit 2
    [ -z "%s" ] || chown -R 65534 "$dir" || exit 2
    %s timeout 200 %s/kstatlua spec/support/robust.lua "$dir" %s 2>&1
    status=$?
    rm -rf "$dir"
    exit $status]]):format(run.tree(tree), as_user, as_user, run.bin, words[tree] or ""))
end

describe("one damaged file costs no more than what it holds, in the tree", function()
  for _, tree in ipairs(run.trees()) do
    it(tree, function()
      local r = findings(tree)
      assert.same({ "", 0 }, { r.out, r.status })
    end)
  end
end)
