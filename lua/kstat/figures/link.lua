--- The figures of a network link over an interval, as nicstat and the screen show them.
--
--     local link = require("kstat.figures.link")
--     for k in (now - prev):each({ module = "link", class = "net" }) do
--         print(k.name, link.figures(k).util)
--     end
--
-- @module kstat.figures.link
local core = require("kstat.core")

local link = {}

--- Rates added up.
-- @tparam kstat k of a difference
-- @param ... the names of statistics
-- @treturn number|nil per second; nil if there is none of them
function link.rates(k, ...)
  local sum
  for _, statistic in ipairs({ ... }) do
    local rate = k:rate(statistic)
    sum = rate and (sum or 0) + rate or sum
  end
  return sum
end

local rates = link.rates

-- The part of the speed that is used, in percent: of the busier direction if both work at once.
local function utilisation(r, w, speed, duplex)
  if not r or not w or not speed or speed <= 0 then
    return nil
  end
  return math.min(100, 100 * 8 * (duplex == 2 and math.max(r, w) or r + w) / speed)
end

--- The figures of a link; what is not counted is nil.
-- @tparam kstat k of a difference
-- @treturn table `r` and `w`: bytes received and sent per second; `rpk` and `wpk`: packets per second; `util`: percent
-- of the speed; `sat`: packets per second that found no buffer or were put off; `ierr` and `oerr`: errors per second;
-- `speed`: bits per second; `duplex`: "full", "half" or "unkn"; `state`: "up", "down" or nil
function link.figures(k)
  local r, w = rates(k, "rbytes64") or rates(k, "rbytes"), rates(k, "obytes64") or rates(k, "obytes")
  local speed, duplex, state = core.levels(k, "ifspeed", "link_duplex", "link_state")
  speed = type(speed) == "number" and speed or nil
  return {
    r = r, w = w, rpk = rates(k, "ipackets64") or rates(k, "ipackets"),
    wpk = rates(k, "opackets64") or rates(k, "opackets"), util = utilisation(r, w, speed, duplex),
    sat = rates(k, "defer", "nocanput", "norcvbuf", "noxmtbuf"), ierr = rates(k, "ierrors"),
    oerr = rates(k, "oerrors"), speed = speed, duplex = duplex == 2 and "full" or duplex == 1 and "half" or "unkn",
    state = state and (state == 1 and "up" or "down"),
  }
end

return link
