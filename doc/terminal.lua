-- The picture of a fault in README.md: what commands print of a recording of it, as SVG. It is written with
--
--     lua5.4 doc/terminal.lua $PWD/build/bin > doc/terminal.svg
--
-- SPDX-License-Identifier: MIT
local COMMANDS = {
  "kstatlua top -b -r faults.rec --at 04:54:05 --color always",
  "kstatlua diff -r faults.rec --from 04:53:54 --to 04:54:05 --base 04:53:30",
}
local COLORS = { ["1"] = "#ffffff", ["31"] = "#ff6b68", ["32"] = "#7ec97e", ["33"] = "#e5c07b" }
local WIDTH, HEIGHT = 8.4, 18 -- of a character

-- Spaces become such that no reader of SVG joins them.
local function escape(text)
  text = text:gsub("([^\t]*)\t", function(before) return before .. (" "):rep(8 - #before % 8) end)
  return (text:gsub("[&<> ]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", [" "] = "\194\160" }))
end

-- A line as text of SVG; colours of the terminal become spans.
local function spans(line)
  local open = false
  line = escape(line):gsub("\27%[([%d;]*)m", function(codes)
    local color = COLORS[codes:match("%d+$")]
    local out = (open and "</tspan>" or "") .. (color and ('<tspan fill="%s">'):format(color) or "")
    open = color ~= nil
    return out
  end)
  return line .. (open and "</tspan>" or "")
end

local lines = {}
for _, command in ipairs(COMMANDS) do
  lines[#lines + 1] = ('<tspan fill="#7ec97e">$</tspan> <tspan fill="#ffffff">%s</tspan>'):format(
    escape((command:gsub(" %-%-color always", ""))))
  local pipe = assert(io.popen(("cd spec/vectors/past && LC_ALL=C.UTF-8 TZ=UTC COLUMNS=96 LINES=18 %s/%s")
    :format(arg[1], command)))
  for line in pipe:lines() do
    lines[#lines + 1] = line ~= "" and spans(line) or nil -- without empty lines
  end
  pipe:close()
  lines[#lines + 1] = ""
end
lines[#lines] = nil

local height = (#lines + 1) * HEIGHT + 8
print(([[<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img"
  aria-label="kstatlua top and diff name the process that fills a disk">
<rect width="100%%" height="100%%" rx="8" fill="#1e1f29"/>
<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="#c5c8d3">]])
  :format(math.floor(100 * WIDTH), height))
for i, line in ipairs(lines) do
  print(('<text x="16" y="%d">%s</text>'):format(i * HEIGHT + 10, line))
end
print("</g></svg>")
