-- The catalogue, which make doc writes: each statistic in it has a sentence of its own.
local run = require("support.run")

-- The sections of a catalogue: an array of { title =, { stat =, kind =, unit =, meaning = }, ... }.
local function sections_of(text)
  local sections = {}
  for line in text:gmatch("[^\n]+") do
    local title = line:match("^## (.+)")
    local stat, kind, unit, meaning = line:match("^| `([^`]+)` | (%a+) | ([^|]*) | ([^|]*) |")
    if title then
      sections[#sections + 1] = { title = title }
    elseif stat then
      table.insert(sections[#sections], { stat = stat, kind = kind, unit = unit, meaning = meaning })
    end
  end
  return sections
end

-- Sentences that say nothing, by patterns; statistics that no table has get some of them. Those of the second line
-- refer to the sentence above, which 'kstat -d' of one statistic does not show.
local EMPTY = { "^$", "^%S+$", "^count of", "^number of %S+$", "events of this name", "by OpenZFS$", "does not know$",
  "^memory, see", "^its ", "^of these", "^how far", "^how fast", "^who made it", "of this is still there$" }

describe("the catalogue", function()
  local page = run.shell(run.build .. "/spec/core_catalogue").out
  local sections = sections_of(page)

  it("has a sentence that says something for each statistic", function()
    local bad, n = {}, 0
    for _, section in ipairs(sections) do
      for _, row in ipairs(section) do
        n = n + 1
        for _, pattern in ipairs(EMPTY) do
          -- The drivers of links name their counters as they like; the catalogue shows how these are described.
          if row.meaning:find(pattern) and not section.title:find("ethtool") then
            bad[#bad + 1] = section.title .. " " .. row.stat .. ": " .. row.meaning
          end
        end
      end
    end
    assert.same({}, bad)
    assert.truthy(n > 2000, n .. " statistics")
  end)

  it("has no sentence for two statistics of one kstat", function()
    local bad = {}
    for _, section in ipairs(sections) do
      local first = {}
      for _, row in ipairs(section) do
        if first[row.meaning] then
          bad[#bad + 1] = ("%s: %s and %s: %s"):format(section.title, first[row.meaning], row.stat, row.meaning)
        end
        first[row.meaning] = row.stat
      end
    end
    assert.same({}, bad)
  end)

  it("names a source for each kstat, and a unit for each time and amount", function()
    for line in page:gmatch("\n(%* [^\n]+)") do
      assert.matches("^%* `[^`]+`: %u[%w/]+, class `[%w_]+`, from .", (line:gsub("interrupt,", "INTR,")))
      assert.truthy(line:find("for C programs") or not line:find("from nothing"), line)
    end
    for _, section in ipairs(sections) do
      for _, row in ipairs(section) do
        local needs = row.stat:find("nsec") or row.stat:find("_bytes$") or row.meaning:find("^bytes ")
        assert.truthy(not needs or row.unit ~= "", section.title .. " " .. row.stat)
      end
    end
  end)

  it("has no kind of kstat whose module doc/linux.md does not name", function()
    local linux_page, n = run.read_file("doc/linux.md"), 0
    for name, module in page:gmatch("\n%* `(([^:`]+):[^`]*)`") do
      n = n + 1
      assert.truthy(linux_page:find("`" .. module .. ":", 1, true),
        name .. ": no row in the first table of doc/linux.md")
    end
    assert.truthy(n > 100, n .. " kinds of kstats")
  end)

  -- The lines of `kstat -d` whose sentence is a general one. The trees have names that no kernel has; drivers and
  -- programs may call theirs as they like.
  local function unknown(environment)
    local lines = {}
    local listing = run.shell(("env KSTAT_DIR=/nonexistent KSTAT_WITH=all %s %s/kstat -d"):format(environment, run.bin))
    for name, meaning in listing.out:gmatch("([^\t\n]+)\t[^\t\n]+\t[^\t\n]*\t([^\n]*)") do
      for _, pattern in ipairs(EMPTY) do
        if meaning:find(pattern) and not name:lower():find("something_?new") and name ~= "zfs:0:arcstats:dataset"
            and not name:find("^ethtool:") then
          lines[#lines + 1] = name .. ": " .. meaning
        end
      end
    end
    return lines, select(2, listing.out:gsub("\n", ""))
  end

  it("knows every statistic that this machine and the recorded ones have", function()
    -- Newer kernels may have some that no table has yet.
    local lines, n = unknown("")
    assert.truthy(#lines <= n / 50, table.concat(lines, "\n"))
    n = 0
    for _, tree in ipairs(run.trees()) do
      local odd, count = unknown(run.tree_words(tree))
      assert.same({}, odd, tree)
      n = n + count
    end
    assert.truthy(n > 3000, n .. " statistics of trees")
  end)
end)
