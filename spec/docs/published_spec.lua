-- The program that `make release` publishes needs /proc, /sys and the C library, and nothing else.
local run = require("support.run")

describe("kstatlua as it is published", function()
  local machine = run.tool("${CC:-cc} -dumpmachine").out:match("^[^-\n]+") or "?"
  local file = run.build .. "/release/" .. machine .. "/kstatlua"
  local sanitized = (os.getenv("KSTAT_CFLAGS") or ""):find("sanitize", 1, true)
  local here = os.getenv("PWD")
  sanitized = sanitized or run.build:find("coverage", 1, true)
  local root

  setup(function()
    if not sanitized then
      local target = here and file:sub(1, #here + 1) == here .. "/" and file:sub(#here + 2) or file -- as make knows it
      local r = run.tool(("make -s BUILD=%s %s"):format(run.quote(run.build), run.quote(target)))
      assert.equal(0, r.status, r.err)
    end
  end)

  after_each(function()
    if root then
      run.remove_directory(root)
      root = nil
    end
  end)

  it("is at most 4 MB, needs the C library alone, and does not know where it was built", function()
    if sanitized then
      return pending("sanitizers and coverage need more than the C library")
    end
    assert.is_true(#run.read_file(file) <= 4000000)
    for library in run.shell("ldd " .. run.quote(file)).out:gmatch("%s*(%S+)[^\n]*\n") do
      assert.truthy(library:find("^linux%-vdso") or library:find("^libc%.") or library:find("^libm%.") or
        library:find("/ld%-"), library)
    end
    assert.is_nil(run.read_file(file):find(here, 1, true))
  end)

  -- Runs a command in a bare root as another user or as root; nil where nobody may make one.
  local function bare(user, command)
    root = root or run.directory()
    run.shell(("chmod 755 %s; cd %s && mkdir -p proc sys && cp %s kstatlua && for file in $(ldd kstatlua | " ..
      "grep -o '/[^ ]*'); do mkdir -p .${file%%/*} && cp -L $file .$file; done"):format(root, root, run.quote(file)))
    run.write_file(root .. "/script", ("mount --rbind /proc proc && mount --rbind /sys sys && echo bare && " ..
      "PATH=$PATH:/usr/sbin:/sbin && exec timeout 60 chroot %s . /kstatlua %s")
      :format(user and "--userspec=" .. user or "", command))
    local r = run.shell(("cd %s && unshare %s sh ./script"):format(root,
      run.shell("id -u").out == "0\n" and "-m" or "-rm"))
    local out = r.out:match("^bare\n(.*)$")
    return out and { out = out, err = r.err, status = r.status }
  end

  for who, user in pairs({ root = false, nobody = "65534:65534" }) do
    it("runs in a bare root as " .. who, function()
      if sanitized then
        return pending("sanitizers and coverage need more than the C library")
      elseif user and run.shell("id -u").out ~= "0\n" then
        return pending("only root becomes nobody")
      elseif not bare(user, "-v") then
        return pending("no root of one's own here: mounts need CAP_SYS_ADMIN or user namespaces")
      end
      for command, line in pairs({
        use = "\ncpu +all ", ["kstat -p unix:0:system_misc:ncpus"] = "^unix:0:system_misc:ncpus\t%d+\n",
        ["prstat 0.1 1"] = "\n +%d+ %d+ +%d+[KMG]", ["top -b"] = " cpus? ", ["vmstat 0.1 1"] = "us sy id",
      }) do
        local r = bare(user, command)
        -- `use` says of what is not seen from here, such as others' name spaces.
        assert.same({ "", 0 }, { command == "use" and "" or r.err, r.status }, command)
        assert.matches(line, r.out, command)
      end
    end)
  end
end)
