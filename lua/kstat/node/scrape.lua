--- One scrape under the names of node_exporter: all collectors that are on, or those that a request wants.
-- @module kstat.node.scrape
local core = require("kstat.core")
local node = require("kstat.node")
local rows = require("kstat.node.rows")
local textfile = require("kstat.node.textfile")

local scrape = {}

local MOST_KEPT = 8 -- expositions

--- Returns which collectors a request wants.
-- @tparam table enabled those that are on
-- @tparam table parameters of the request, lists by name
-- @treturn table name and true; `enabled` itself if it says nothing
-- @fails a line about what is wrong
function scrape.wanted(enabled, parameters)
  local collect, exclude = parameters["collect[]"], parameters["exclude[]"]
  for name in pairs(parameters) do
    if name ~= "collect[]" and name ~= "exclude[]" then
      return nil, ("no parameter '%s'; there are 'collect[]' and 'exclude[]'"):format(name)
    end
  end
  if collect and exclude then
    return nil, "collect[] and exclude[] do not go together"
  elseif not (collect or exclude) then
    return enabled
  end
  local wanted = {}
  for name in pairs(collect and {} or enabled) do
    wanted[name] = true
  end
  for _, name in ipairs(collect or exclude) do
    if not enabled[name] then
      return nil, ("no collector '%s' is on"):format(name)
    end
    wanted[name] = collect and true or nil
  end
  return wanted
end

--- Makes function(wanted, format, w) that adds the rows which are no kstats to a writer, and returns the text of the
-- others and how many kstats were left out, which is none: all are the machine's; or nil and a message.
-- @tparam chain ks
-- @tparam table taken of kstat.node.options; `warn` takes lines about files
-- @int most series of all text files together
-- @treturn function
function scrape.new(ks, taken, most)
  local kept, n = {}, 0 -- expositions by format and collectors: Prometheus asks for the same again and again

  local function exposition_of(format, wanted)
    local key = format
    if wanted ~= taken.enabled then
      local names = {}
      for name in pairs(wanted) do
        names[#names + 1] = name
      end
      table.sort(names)
      key = format .. " " .. table.concat(names, " ")
    end
    local one = kept[key]
    if one then
      local again, message = one.exposition:again()
      return again and one, message
    end
    local table_of_names, collectors = node.names(wanted, taken.filters)
    local exposition, message = core.exposition(ks, table_of_names, format, true)
    if not exposition then
      return nil, message
    end
    if n == MOST_KEPT then
      kept, n = {}, 0
    end
    one, n = { exposition = exposition, collectors = collectors }, n + 1
    kept[key] = one
    return one
  end

  -- Adds what the collector textfile has to say; returns the text of its families. `text` has those of the others.
  local function add_textfiles(w, text)
    local own -- a scrape without such files has no need of it
    local families, files, lines = textfile.read(taken.textfile or {}, function(name)
      if not own then
        own = {}
        for family in text:gmatch("\n#%s*TYPE (%S+)") do
          own[family] = true
        end
      end
      return own[name] or name:find("^node_textfile_") or name:find("^node_scrape_") or name:find("^kstat_scrape_")
    end, most)
    for _, line in ipairs(lines) do
      taken.warn(line)
    end
    w:family("node_textfile_scrape_error", "gauge", "1 if a text file of metrics could not be read")
    w:add("", #lines > 0 and 1 or 0)
    if files[1] then
      w:family("node_textfile_mtime_seconds", "gauge", "when a text file of metrics was changed last")
      for _, path in ipairs(files) do
        w:add(core.metric_labels("file", path), files[path])
      end
    end
    return families
  end

  return function(wanted, format, w)
    local one, message = exposition_of(format, wanted)
    if not one then
      return nil, message
    end
    local text
    text, message = one.exposition:step(true)
    if not text then
      return nil, message
    end
    local others = rows.add(w, wanted)
    if not taken.bare then
      rows.add_exporter(w)
    end
    if wanted.textfile then
      local start = core.gethrtime()
      text = w:text() .. text
      text = add_textfiles(w, text) .. text
      others.textfile = { core.gethrtime() - start, 1 }
    end
    node.add_costs(w, one.exposition:costs(), one.collectors, others)
    return text, 0
  end
end

return scrape
