--- Everything in one line: -d and -D of iostat beside terminals and CPUs.
-- @module kstat.iostat.classic
-- SPDX-License-Identifier: MIT
local M = {}

local NAME_ROOM, MOST_NAME, BLOCK = 12, 13, 14

local function centred(name)
  name = name:sub(1, MOST_NAME)
  local line = (" "):rep(math.max(0, math.floor((NAME_ROOM - #name) / 2))) .. name
  return line .. (" "):rep(BLOCK - #line)
end

local function block_head(o)
  local per = o.I and "i" or "s"
  if o.D then
    return o.r and ("rp%s,wp%s,util"):format(per, per) or ("rp%s wp%s util  "):format(per, per)
  end
  local bytes = o.M and "M" or "k"
  return (o.r and "%sp%s,tp%s,serv" or "%sp%s tp%s serv  "):format(bytes, per, per)
end

--- The two lines above the values.
-- @tparam table o options
-- @tparam {table,...} rows the disks shown
-- @param system kstat.iostat.system
-- @treturn string
function M.head(o, rows, system)
  local tty, cpu, tty_head, cpu_head = system.titles(o)
  local names, heads = {}, {}
  names[#names + 1] = tty
  heads[#heads + 1] = tty_head
  for _, row in ipairs(rows) do
    names[#names + 1] = o.r and row.label or centred(row.label)
    heads[#heads + 1] = block_head(o)
  end
  names[#names + 1] = cpu
  heads[#heads + 1] = cpu_head
  local comma = o.r and "," or ""
  return table.concat(names, comma) .. "\n" .. table.concat(heads, comma) .. "\n"
end

local function block(o, row)
  if not row.ready then
    return o.r and "-,-,-" or "  -   -    -  "
  end
  local f = row.figures
  local factor = o.I and f.seconds or 1
  if o.D then
    return (o.r and "%.0f,%.0f,%.1f" or "%3.0f %3.0f %4.1f  "):format(f.r_s * factor, f.w_s * factor, f.b_pct)
  end
  return (o.r and "%.0f,%.0f,%.0f" or "%3.0f %3.0f %4.0f  "):format(f.kps * factor / (o.M and 1024 or 1),
    f.tps * factor, f.svc_t)
end

--- The line of values.
-- @tparam table o options
-- @tparam {table,...} rows
-- @tparam string|nil tty
-- @tparam string|nil cpu
-- @treturn string
function M.line(o, rows, tty, cpu)
  local parts = {}
  parts[#parts + 1] = tty
  for _, row in ipairs(rows) do
    parts[#parts + 1] = block(o, row)
  end
  parts[#parts + 1] = cpu
  return table.concat(parts, o.r and "," or "") .. "\n"
end

return M
