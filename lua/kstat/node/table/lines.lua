--- Lines of the table of the names of node_exporter that are alike but for a word.
-- @module kstat.node.table.lines
local lines = {}

--- Lines for procedures and the like: a label has their names as node_exporter has them.
-- @string metric
-- @string label
-- @string words these names; behind `=` the statistic where that is not the same in small letters
-- @treturn string
function lines.procedures(metric, label, words)
  return (words:gsub("(%w+)=?([%w_]*)%s*", function(word, stat)
    return ("%s %s 1 %s=\"%s\"\n"):format(metric, stat ~= "" and stat or word:lower(), label, word)
  end))
end

--- A line for each word.
-- @string words
-- @string line has the word as `$`
-- @treturn string
function lines.each(words, line)
  return (words:gsub("(%S+)%s*", function(word) return line:gsub("%$", word) .. "\n" end))
end

return lines
