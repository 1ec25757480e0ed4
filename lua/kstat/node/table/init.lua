--- The table of the names of node_exporter: which statistic is which metric.
--
-- A group has a collector, the selector of its kstats, where their labels are from, and a line for each metric: its
-- name (counters end in _total), the statistic, the divisor (`*N`: a factor), and labels of its own. A label is from
-- `instance`, `name` or a statistic; a pattern behind that says with `*` which part of it counts. A statistic may be
--
--     1      the number 1, for what the labels say         ~stat      divided and rounded to hundredths
--     a=b    1 where the text a is b, else 0               +stat      divided, and 1 more
--     a?b    a, where b is not 0                           !stat      1 where it is 0, else 0
--     l@*_l  1 for each text that matches, which is the label l
--     a*, a# all that match, # by digits; in the name and in the labels `*` is what that stands for, `^` the same with
--            a capital, and `%` at the end of a name is the unit
--
-- `kind` is the type of all its metrics. `once`: of kstats with the same labels the first counts. `keep`: patterns for
-- labels of other kstats, which have no metrics. Groups of one selector that follow each other are read together.
-- @module kstat.node.table
local groups = {}
for _, part in ipairs({ require("kstat.node.table.machine"), require("kstat.node.table.hardware"),
  (require("kstat.node.table.filesystems")) }) do
  for _, group in ipairs(part) do
    groups[#groups + 1] = group
  end
end

return groups
