-- node.lua - the names of node_exporter, beside node_exporter: which families are equal, which differ and which are
-- missing, each by name on standard error; and what a scrape of the same families costs. KSTAT_FIXTURES may be the
-- directory of node_exporter's test data: proc, sys, and its own output for them, expected-metrics.txt.
-- SPDX-License-Identifier: MIT
local figure = require("figure")

local build = os.getenv("KSTAT_BUILD")

-- What both programs say of themselves.
local OWN = { "^go_", "^promhttp_", "^process_", "^node_scrape_collector_duration", "^node_exporter_build_info" }

local DUMP = [[
  local core, node = require("kstat.core"), require("kstat.node")
  local enabled = {}
  for name in pairs(node.collectors()) do
    enabled[name] = true
  end
  local ks = require("kstat").open({ only = node.selectors(enabled) })
  io.write(core.exposition(ks, (node.names(enabled, {})), "prometheus"):step(true))]]

local function capture(command)
  local p = assert(io.popen(command))
  local text = p:read("a")
  p:close()
  return text
end

-- The samples of a text by family: labels by name, and the value.
local function samples_of(text)
  local families = {}
  for family, rest in text:gmatch("\n([%a_][%w_]*)([^\n]*)") do
    local labels = {}
    for name, value in rest:gmatch('([%w_]+)="([^"]+)"') do
      labels[name] = value
    end
    families[family] = families[family] or {}
    table.insert(families[family], { labels = labels, value = tonumber(rest:match("(%S+)$")) })
  end
  return families
end

-- Our sample with all labels of theirs, and perhaps more.
local function find(list, theirs)
  for _, one in ipairs(list) do
    local is_same = true
    for name, value in pairs(theirs.labels) do
      -- Paths are those of the trees.
      is_same = is_same and (one.labels[name] == value or name == "path" and one.labels[name] ~= nil)
    end
    if is_same then
      return one
    end
  end
  return nil
end

-- How a family of theirs compares with ours: "equal", "differing" or "missing".
local function compare_family(ours, theirs, room)
  if not ours then
    return "missing"
  end
  for _, sample in ipairs(theirs) do
    local one = find(ours, sample)
    local value, other = one and one.value, sample.value
    if not one or value and other and math.abs(value - other) > room * math.max(math.abs(other), 1e-9) then
      return "differing"
    end
  end
  return "equal"
end

-- Prints how many families of theirs are equal, and on standard error the names of all.
local function compare(what, ours, theirs, room)
  local names = { equal = {}, differing = {}, missing = {} }
  for family, list in pairs(theirs) do
    local is_own = false
    for _, pattern in ipairs(OWN) do
      is_own = is_own or family:find(pattern) ~= nil
    end
    if not is_own then
      table.insert(names[compare_family(ours[family], list, room)], family)
    end
  end
  for _, kind in ipairs({ "equal", "differing", "missing" }) do
    table.sort(names[kind])
    io.stderr:write(("%s, %s: %d\n  %s\n"):format(what, kind, #names[kind], table.concat(names[kind], " ")))
  end
  local n = #names.equal + #names.differing + #names.missing
  figure.print(what .. ": families", ("%d equal, %d differing"):format(#names.equal, #names.differing),
    ("node_exporter %d"):format(n), ("%.2f"):format(#names.equal / n), "-")
end

-- The same files with their links, which some copies of the test data have as texts.
local MEND = [[cd %s && find . -type f -size -200c | while read -r f; do t=$(tr -d '\0' <"$f" | head -c 300)
  case "$t" in ../*) [ -e "${f%%/*}/$t" ] && [ "$(wc -l <"$f")" = 0 ] && ln -sf "$t" "$f";; esac; done
  test -f proc/self && ln -sf "$(cat proc/self)" proc/self]]

local fixtures = os.getenv("KSTAT_FIXTURES")
if fixtures then
  local dir = capture("mktemp -d"):match("%S+")
  os.execute(("cp -r %s/. %s && chmod -R u+w %s; %s"):format(fixtures, dir, dir, MEND:format(dir)))
  local ours = capture(("env KSTAT_DIR=/nonexistent KSTAT_PROC=%s/proc KSTAT_SYS=%s/sys %s/bin/kstatlua -e '%s'")
    :format(dir, dir, build, DUMP))
  local expected = assert(io.open(dir .. "/expected-metrics.txt"))
  compare("its test data", samples_of("\n" .. ours), samples_of("\n" .. expected:read("a")), 1e-6)
  expected:close()
  os.execute("rm -rf " .. dir)
end

if capture("command -v prometheus-node-exporter") == "" then
  io.stderr:write("node: prometheus-node-exporter is not installed\n")
  os.exit(fixtures and 0 or 1)
end

-- Starts a server; returns its process and its address.
local function start(command)
  local pid = capture(command .. " >/dev/null 2>&1 & echo $!"):match("%d+")
  for _ = 1, 200 do
    local address = capture(("ss -ltnpH | grep 'pid=%s,'"):format(pid)):match("127%.0%.0%.1:%d+")
    if address then
      return pid, address
    end
    os.execute("sleep 0.05")
  end
  error("waited too long for " .. command)
end

-- Debian's defaults differ from upstream's, which are ours.
local theirs, their_address = start("prometheus-node-exporter --web.listen-address=127.0.0.1:0 "
  .. "--collector.netdev.device-exclude='^$' --collector.diskstats.device-exclude="
  .. "'^(z?ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\\d+n\\d+p)\\d+$' --collector.filesystem.mount-points-exclude="
  .. "'^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)'")
local ours, our_address = start(build .. "/bin/kstatlua exporter --names node --listen 127.0.0.1:0")
local texts = {}
for i, address in ipairs({ their_address, our_address }) do
  texts[i] = samples_of("\n" .. capture("curl -s http://" .. address .. "/metrics"))
end
os.execute(("kill %s %s"):format(ours, theirs))
compare("this machine", texts[2], texts[1], 0.05)
