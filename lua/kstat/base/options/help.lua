--- The text of --help of a report.
-- @module kstat.base.options.help

-- The options of every report.
local STANDARD = {
  json = "JSON, an object a line", csv = "comma-separated values",
  openmetrics = "OpenMetrics text, at the end; an interval needs a count",
  skip_first = "leave out the first report, which is since creation",
  skip_idle = "leave out rows whose numbers are all 0",
  timestamp = "the time before each report: d a date, u seconds since 1970",
  sort = "sort by that column, descending; -COLUMN ascending", top = "only the first N rows",
  summary = "at the end the average, least and greatest value and the p99 of each column, over all intervals",
  watch = "on a terminal each report in place of the one before, with the keys of top (h lists them)",
  replay = "a recording, a directory of them or a capture in place of the machine; repeat it for more than one",
  from = "from there on: 14:32, yesterday 3:12, mon 9:00, -3h, 2026-11-21 14:05; without -r as recorded here",
  to = "up to there", at = "the one interval that ends then, of as many seconds as the interval",
  host = "of recordings of several machines, those of this one",
  machine = "kstats of the machine alone, of nobody who publishes",
  trust = "of those that are published, root's, one's own and those of these users",
  color = "colours; auto: on a terminal", help = "this",
}

return function(declared, about)
  local left, width = {}, 0
  for i, o in ipairs(declared.all) do
    left[i] = (o.letter and "-" .. o.letter .. ", " or "    ") .. "--" .. o.long ..
      (o.optional and "[=" .. o.arg .. "]" or o.arg and " " .. o.arg or "")
    width = math.max(width, #left[i])
  end
  local operands = about.operands ~= false and (" [%s ...]"):format(about.operands or "name") or ""
  local out = {
    ("usage: kstatlua %s [options]%s [interval [count]]\n"):format(about.name, operands),
    about.about and about.about .. "\n" or "", about.note and about.note .. "\n" or "", "\n",
  }
  for i, o in ipairs(declared.all) do
    local default = o.default ~= nil and (" (default: %s)"):format(tostring(o.default)) or ""
    out[#out + 1] = ("  %s%s  %s%s\n"):format(left[i], (" "):rep(width - #left[i]),
      o.help or STANDARD[o.name] or "", default)
  end
  return table.concat(out)
end
