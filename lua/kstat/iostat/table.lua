--- A line per device: -x and -e of iostat.
-- @module kstat.iostat.table
-- SPDX-License-Identifier: MIT
local M = {}

local unpack = table.unpack or unpack
local LEAST_NAME, MOST_NAME = 6, 24
local TITLE, ERRORS_TITLE = "extended device statistics", "---- errors --- "
local ERRORS_HEAD = "s/w h/w trn tot "

local function name_width(rows)
  local width = LEAST_NAME
  for i = 1, #rows do
    width = math.max(width, #rows[i].label)
  end
  return math.min(width, MOST_NAME)
end

--- The extended columns' heads.
-- @tparam table o options
-- @tparam bool both the two parts of the service time
-- @treturn {string,...}
function M.heads(o, both)
  local per, byte = o.I and "i" or "s", o.M and "M" or "k"
  local list = { "r/" .. per, "w/" .. per, byte .. "r/" .. per, byte .. "w/" .. per, "wait", "actv" }
  for _, head in ipairs(both and { "wsvc_t", "asvc_t" } or { "svc_t" }) do
    list[#list + 1] = head
  end
  list[#list + 1], list[#list + 2] = "%w", "%b"
  return list
end

local function head_line(o, width)
  local head = not o.n and ("%-" .. width .. "s"):format("device") or ""
  if o.x then
    local format = " %6s %6s %6s %6s %4s %4s" .. (o.n and " %6s %6s" or " %6s") .. " %3s %3s "
    head = head .. format:format(unpack(M.heads(o, o.n)))
  elseif o.e then
    head = head .. "  "
  end
  return head .. (o.e and ERRORS_HEAD or "") .. (o.n and "device" or "")
end

-- The line above the heads: titles centred over what they belong to.
local function title_line(o, head)
  if not o.x then
    return (o.n and "  " or (" "):rep(11)) .. ERRORS_TITLE
  end
  local line = (" "):rep(math.floor((#head - #TITLE) / 2)) .. TITLE
  local columns = #head - (o.n and #"device" or 0) - (o.e and #ERRORS_HEAD or 0)
  if o.e then
    return line .. (" "):rep(columns - #line) .. ERRORS_TITLE
  end
  return line .. (" "):rep(columns - (o.n and 1 or 0) - #line)
end

local function raw_heads(o, system)
  local tty, cpu, tty_head, cpu_head
  if system then
    tty, cpu, tty_head, cpu_head = system.titles(o)
  end
  local titles, head = {}, {}
  titles[#titles + 1] = o.x and TITLE or nil
  titles[#titles + 1] = o.e and "errors" or nil
  titles[#titles + 1] = tty
  titles[#titles + 1] = cpu
  head[#head + 1] = not o.n and "device" or nil
  head[#head + 1] = o.x and table.concat(M.heads(o, o.n), ",") or nil
  head[#head + 1] = o.e and "s/w,h/w,trn,tot" or nil
  head[#head + 1] = o.n and "device" or nil
  head[#head + 1] = tty_head
  head[#head + 1] = cpu_head
  return table.concat(titles, ",") .. "\n" .. table.concat(head, ",") .. "\n"
end

-- Formats of a line's figures: with a wait queue, and without one; there "-" stands for what is not counted.
local function formats(o)
  if o.r then
    local rates = "%.1f,%.1f,%.1f,%.1f"
    local service = o.n and "%.1f,%.1f" or "%.1f"
    return rates .. ",%.1f,%.1f," .. service .. ",%.0f,%.0f",
      rates .. ",-,%.1f," .. (o.n and "-,%.1f" or "%.1f") .. ",-,%.0f"
  end
  local rates = " %6.1f %6.1f %6.1f %6.1f"
  local service = o.n and " %6.1f %6.1f" or " %6.1f"
  return rates .. " %4.1f %4.1f" .. service .. " %3.0f %3.0f ",
    rates .. "    - %4.1f" .. (o.n and "      - %6.1f" or " %6.1f") .. "   - %3.0f "
end

--- Prepares the lines for a list of rows; made anew when they change.
-- @tparam table o options
-- @tparam {table,...} rows
-- @param system kstat.iostat.system, if its values follow the first line; nil: they do not
-- @treturn table
function M.new(o, rows, system)
  local self = { o = o, rows = rows, name_format = "%s" }
  if o.r then
    self.head = raw_heads(o, system)
  else
    local width = name_width(rows)
    local head = head_line(o, width)
    local title = title_line(o, head)
    local tty, cpu, tty_head, cpu_head = "", "", "", ""
    if system then
      tty, cpu, tty_head, cpu_head = system.titles(o)
    end
    self.head = title .. tty .. cpu .. "\n" .. head .. tty_head .. cpu_head .. "\n"
    self.name_format = ("%%-%d.%ds"):format(width, width)
  end
  self.both, self.run_only = formats(o)
  for i = 1, #rows do
    rows[i].text = o.n and rows[i].label or self.name_format:format(rows[i].label)
  end
  return self
end

--- Whether -z leaves a line out.
-- @tparam table f figures
-- @tparam[opt] number errors
-- @treturn bool
function M.is_idle(f, errors)
  return (errors or 0) == 0 and f.r_s < 0.1 and f.w_s < 0.1 and f.kr_s < 0.1 and f.kw_s < 0.1 and
    f.wait < 0.1 and f.actv < 0.1 and f.svc_t < 0.1 and f.w_pct < 0.1 and f.b_pct < 0.1
end

--- What the first four columns have of figures.
-- @tparam table o options
-- @tparam table f figures
-- @treturn number reads; then writes, what was read, what was written
function M.transfers(o, f)
  local factor, kilo = o.I and f.seconds or 1, o.M and 1024 or 1
  return f.r_s * factor, f.w_s * factor, f.kr_s * factor / kilo, f.kw_s * factor / kilo
end

local function figures_text(self, f)
  local o = self.o
  local r, w, kr, kw = M.transfers(o, f)
  if f.has_wait then
    if o.n then
      return self.both:format(r, w, kr, kw, f.wait, f.actv, f.wsvc_t, f.asvc_t, f.w_pct, f.b_pct)
    end
    return self.both:format(r, w, kr, kw, f.wait, f.actv, f.svc_t, f.w_pct, f.b_pct)
  end
  return self.run_only:format(r, w, kr, kw, f.actv, f.asvc_t, f.b_pct)
end

local function count(value)
  return value and ("%.0f"):format(value) or "-"
end

local function errors_text(o, soft, hard, transport, total)
  return (o.r and "%s,%s,%s,%s" or "%3s %3s %3s %3s "):format(count(soft), count(hard), count(transport),
    count(total))
end

-- The name and the mount point behind the figures (-n).
local function name_text(o, row, mount)
  if not mount then
    return row.text
  end
  return ("%s%s(%s)"):format(row.text, o.r and "," or " ", mount)
end

--- Adds a report.
-- @tparam {string,...} out
-- @tparam table self from `new`
-- @tparam {string,...}|nil system texts of terminals and CPUs, behind the first line
-- @tparam function|nil errors row -> soft, hard, transport, total
-- @tparam function|nil mounts row -> mount point
function M.write(out, self, system, errors, mounts)
  local o, rows = self.o, self.rows
  local n = #out
  out[n + 1] = self.head
  n = n + 1
  -- Error counts alone are indented by two blanks; of paths only the heads are.
  local gap = not o.x and not (o.X or o.Y) and "  " or ""
  for i = 1, #rows do
    local row = rows[i]
    local soft, hard, transport, total
    if errors then
      soft, hard, transport, total = errors(row)
    end
    if row.ready and not (o.z and M.is_idle(row.figures, total)) then
      local name = name_text(o, row, mounts and mounts(row))
      local text = o.x and figures_text(self, row.figures) or ""
      local counted = errors and errors_text(o, soft, hard, transport, total) or ""
      if o.r then
        local line = o.x and errors and text .. "," .. counted or text .. counted
        line = o.n and line .. "," .. name or name .. "," .. line
        out[n + 1] = system and line .. "," .. table.concat(system, ",") or line
      elseif o.n then
        out[n + 1] = gap .. text .. counted .. name
      else
        out[n + 1] = name .. gap .. text .. counted .. (system and table.concat(system) or "")
      end
      out[n + 2] = "\n"
      n = n + 2
      system = nil
    end
  end
  if system then
    out[n + 1] = table.concat(system, o.r and "," or "") -- from the first column, as illumos has it
    out[n + 2] = "\n"
  end
end

return M
