-- What kstatlua use says of a capture, and of a tree of files that changes within ten seconds.
local assert = require("luassert")
local cjson = require("cjson")
local linux = require("support.linux")
local run = require("support.run")

local use = {}

--- Runs use on a capture or a tree (env). Returns the rows of its last report by "resource name", and their order.
function use.rows_of(words, env)
  local command = { "kstatlua", "use", "-j", env = env }
  for _, word in ipairs(words) do
    command[#command + 1] = word
  end
  local r = run.run(command)
  assert.equal("", r.err)
  assert.equal(0, r.status)
  local rows, order = {}, {}
  for line in r.out:gmatch("[^\n]+") do
    local row = cjson.decode(line)
    local id = row.resource .. " " .. row.name
    order[#order + 1] = not rows[id] and id or nil
    rows[id] = row
  end
  return rows, order
end

--- Writes files of a tree; of one that is `false` the tree has none.
function use.apply(tree, files)
  for path, text in pairs(files) do
    local full = tree .. "/" .. path
    if not text then
      linux.sh("rm -rf " .. run.quote(full))
    elseif not pcall(linux.write, full, text) then
      linux.sh("mkdir -p " .. run.quote(full:match("^(.*)/")))
      linux.write(full, text)
    end
  end
end

--- The environment of a tree, with a stub of the library of NVIDIA's driver, which reads what is wrong in a file of it.
function use.env(tree)
  return { KSTAT_PROC = tree .. "/proc", KSTAT_SYS = tree .. "/sys", NVML_STUB = tree .. "/nvml",
    KSTAT_NVML = run.build .. "/spec/nvml_stub.so" }
end

--- A kstat of what kstatlua latency measures, as JSON. Counts are by milliseconds, in buckets of powers of two of
-- nanoseconds.
function use.latency(name, instance, class, labels, counts)
  local buckets = {}
  for i = 0, 41 do
    buckets[i + 1] = 0
  end
  for ms, n in pairs(counts) do
    local i = math.max(math.ceil(math.log(ms * 1e6) / math.log(2) - 1e-9), 0) + 2
    buckets[i] = ("%.0f"):format(buckets[i] + n)
  end
  local text = {}
  for label, word in pairs(labels or {}) do
    text[#text + 1] = (', "%s": "%s"'):format(label, word)
  end
  return ('{"module": "latency", "instance": %d, "name": "%s", "class": "%s", "type": 1, "snaptime": 5010, ' ..
    '"data": {"buckets": [%s], "crtime": 1, "type": "exponential", "range_min": 1, "range_max": 1099511627776, ' ..
    '"stepping": 0%s}}'):format(instance, name, class, table.concat(buckets, ", "), table.concat(text))
end

--- A capture of the tree with the files `before`, and ten seconds later with those of `after`. Returns its path.
function use.two_samples(tree, before, after)
  local out = {}
  for i, files in ipairs({ before, after }) do
    use.apply(tree, files)
    use.apply(tree, { ["proc/uptime"] = ("%d.00 9.00\n"):format(5000 + 10 * i) })
    local r = run.run({ "kstat", "-j", ":::", "nvidia:::none", "nvidia::/,/:none", "process", env = use.env(tree) })
    assert.equal("", r.err)
    local has, latencies = pcall(run.read_file, tree .. "/latency.json") -- what no file of the kernel says
    out[i] = has and r.out:gsub("%s*%]%s*$", function()
      return ",\n" .. latencies:gsub("5010", 5000 + 10 * i) .. "]\n"
    end) or r.out
  end
  local path = os.tmpname()
  run.write_file(path, table.concat(out))
  return path
end

--- The rows of an interval of ten seconds, see two_samples().
function use.look(tree, before, after)
  local path = use.two_samples(tree, before, after)
  local rows, order = use.rows_of({}, { KSTAT_SOURCE = path })
  os.remove(path)
  return rows, order
end

return use
