-- `make release` makes a release whole, or changes nothing.
local run = require("support.run")

describe("make release", function()
  local root

  -- A repository of what a release writes to, in which `make dist` fails if there is a variable DIST_FAILS.
  before_each(function()
    root = run.directory()
    assert.equal(0, run.tool("mkdir -p " .. root .. "/csrc/include && cp -r packaging debian CHANGELOG.md " .. root ..
      " && cp csrc/include/kstat.h " .. root .. "/csrc/include").status)
    run.write_file(root .. "/Makefile", "dist:\n\t@test -z \"$(DIST_FAILS)\"\n" ..
      "abi:\n\t@test -z \"$(ABI_FAILS)\"\n")
    run.write_file(root .. "/CHANGELOG.md", "## Unreleased\n\nA change.\n\n## 1.0.0 (2026-01-01)\n\nAll.\n")
    local r = run.shell("cd " .. root .. " && git init -q -b main && git config user.name kstat && " ..
      "git config user.email kstat@localhost && git config commit.gpgsign false && git config tag.gpgsign false && " ..
      "git add -A && git commit -q -m Sources")
    assert.equal(0, r.status, r.err)
  end)

  after_each(function()
    run.remove_directory(root)
  end)

  local function release(version, variables)
    return run.shell("cd " .. root .. " && " .. (variables or "") .. " packaging/release " .. run.quote(version))
  end

  local function state()
    return run.shell("cd " .. root .. " && git log --format=%s && git tag && git status --porcelain").out
  end

  it("writes the version to each file that has it, commits and tags", function()
    local r = release("90.1.2")
    assert.equal(0, r.status, r.err)
    assert.equal("Release 90.1.2\nSources\nv90.1.2\n", state())
    assert.truthy(run.read_file(root .. "/csrc/include/kstat.h"):find('#define KSTAT_VERSION "90.1.2"', 1, true))
    assert.matches("^## 90%.1%.2 %(%d+%-%d%d%-%d%d%)\n\nA change%.", run.read_file(root .. "/CHANGELOG.md"))
    assert.matches("^kstat %(90%.1%.2%) ", run.read_file(root .. "/debian/changelog"))
    assert.truthy(release("90.1.2").err:find("there is a tag v90.1.2 already", 1, true))
    assert.truthy(release("90.1.3").err:find("CHANGELOG.md has nothing in a section '## Unreleased'", 1, true))
  end)

  it("refuses with a line what is no next version, and a tree that is not clean", function()
    local before = state()
    for _, version in ipairs({ "", "1.2", "v90.1.2", "90.1.2-rc1", "90.1.2; true" }) do
      assert.equal("release: make release VERSION=1.2.3 names the version\n", release(version).err)
    end
    local older = release("0.0.1").err
    assert.matches("^release: version 0%.0%.1 is before %d+%.%d+%.%d+, which is the present one\n$", older)
    assert.equal(before, state())
    run.write_file(root .. "/new", "")
    assert.equal("release: there are changes that are not committed\n", release("90.1.2").err)
    run.shell("rm -rf " .. root .. "/new " .. root .. "/.git")
    assert.equal("release: a release is made in a clone of the repository\n", release("90.1.2").err)
  end)

  it("changes nothing where a step fails", function()
    local before = state()
    for _, variables in ipairs({ "ABI_FAILS=1", "DIST_FAILS=1", "GIT_AUTHOR_DATE=never" }) do
      local r = release("90.1.2", variables)
      assert.not_equal(0, r.status)
      assert.truthy(r.err:find("release: failed; nothing is changed\n", 1, true), r.err)
      assert.equal(before, state())
    end
  end)
end)

describe("make abi", function()
  it("says what the library has lost since the last release", function()
    if run.shell("command -v abidiff").status ~= 0 then
      return pending("abidiff is not installed")
    end
    local root = run.directory()
    local function abi(source, tag)
      run.write_file(root .. "/lib.c", source)
      return run.shell(("cd %s && git add -A && git commit -q -m Sources && make -s build/lib/libkstat.so.1 && " ..
        "%s && packaging/abi build/lib/libkstat.so.1"):format(root, tag and "git tag " .. tag or "true"))
    end
    run.shell(("cd %s && mkdir packaging && cp %s/packaging/abi packaging && git init -q -b main && " ..
      "git config user.name kstat && git config user.email kstat@localhost && git config commit.gpgsign false")
      :format(root, "$OLDPWD"))
    run.write_file(root .. "/.gitignore", "build\n")
    run.write_file(root .. "/Makefile", "build/lib/libkstat.so.1: lib.c\n" ..
      "\tmkdir -p build/lib && cc -g -shared -fPIC -Wl,-soname,libkstat.so.1 -o $@ lib.c\n")
    assert.same({ "abi: there is no release to compare with\n", 0 }, { (function(r) return r.out, r.status end)(
      abi("int kstat_open(void) { return 0; }\n")) })
    local more = abi("int kstat_open(void) { return 0; }\nint kstat_more(void) { return 0; }\n", "v1.0.0 HEAD~")
    assert.equal(0, more.status, more.out .. more.err)
    assert.equal("abi: libkstat.so.1 has all that v1.0.0 had\n", more.out:match("[^\n]*\n$"))
    local less = abi("int kstat_more(void) { return 0; }\n")
    assert.not_equal(0, less.status)
    assert.truthy(less.out:find("kstat_open", 1, true), less.out)
    assert.equal("abi: libkstat.so.1 is not what programs need that were linked with v1.0.0\n", less.err)
    run.remove_directory(root)
  end)
end)
