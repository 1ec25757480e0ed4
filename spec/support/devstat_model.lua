-- A model of devstat_selectdevs() in plain Lua, written from the vectors' README. With `real` it has the three
-- faults of FreeBSD's library and returns what the vectors say; without, it returns what our library must return.
local M = {}

local TYPE, IF, PASS = 1, 2, 4

local words = {
  { "da", TYPE, 0 }, { "cd", TYPE, 5 }, { "scsi", IF, 1 }, { "ide", IF, 2 }, { "other", IF, 3 },
  { "worm", TYPE, 4 }, { "sa", TYPE, 1 }, { "pass", PASS, 1 }, { "optical", TYPE, 7 },
  { "array", TYPE, 12 }, { "changer", TYPE, 8 }, { "scanner", TYPE, 6 }, { "printer", TYPE, 2 },
  { "floppy", TYPE, 14 }, { "proc", TYPE, 3 }, { "comm", TYPE, 9 }, { "enclosure", TYPE, 13 },
}

local function matches(pattern, device)
  local kind, interface = device.device_type % 16, math.floor(device.device_type / 16) % 16
  local pass, wants_pass, any = math.floor(device.device_type / 256) % 2, 0, false
  for item in pattern:gmatch("[^,]+") do
    for _, w in ipairs(words) do
      if item:sub(1, #w[1]) == w[1] then
        any = true
        if w[2] == TYPE and kind ~= w[3] then return false end
        if w[2] == IF and interface ~= w[3] then return false end
        if w[2] == PASS then wants_pass = 1 end
        break
      end
    end
  end
  return any and pass == wants_pass
end

local function label(d) return d.device_name .. ("%.0f"):format(d.unit_number) end

--- A selection that no call has been made on.
function M.new(real)
  return { real = real, num_selected = 0, generation = 0 }
end

local function rebuild(state, devices, generation)
  state.entries = {}
  for i, d in ipairs(devices) do
    state.entries[i] = { device = d, name = label(d), selected = 0, position = i - 1, bytes = 0 }
  end
  state.num_selected, state.generation = 0, generation
end

local function numbers(entries)
  local by_number = {}
  for _, e in ipairs(entries) do by_number[e.device.device_number] = e.selected end
  return by_number
end

local function in_list_order(entries)
  local out = {}
  for _, e in ipairs(entries) do out[e.position + 1] = e end
  return out
end

--- One call; step as in selectdevs.json, devices the list it names. Returns ret.
function M.call(state, step, devices)
  local real, mode = state.real, step.mode
  local before, first = state.num_selected, state.entries == nil
  local old
  local anew = first or #state.entries ~= #devices or state.generation < step.generation
  if not first and (anew or mode == "only" or step.perf_select ~= 0) then
    old = numbers(state.entries)
  end
  if anew then
    rebuild(state, devices, step.generation)
  elseif mode == "only" then
    for _, e in ipairs(state.entries) do e.selected = 0 end
    state.num_selected = 0
  end

  local number = 0
  local function choose(e)
    if mode == "remove" then
      if real or e.selected ~= 0 then state.num_selected = state.num_selected - 1 end
      e.selected = 0
    elseif e.selected == 0 then
      number = number + 1
      e.selected = number
      state.num_selected = state.num_selected + 1
    end
  end

  local looked_at = #step.names
  for _, e in ipairs(state.entries) do
    for i = 1, looked_at do
      if step.names[i] == e.name then
        choose(e)
        if real and mode == "remove" then looked_at = looked_at - 1 end
        break
      end
    end
  end
  for _, pattern in ipairs(step.matches) do
    if state.num_selected >= step.maxshowdevs then break end
    for _, e in ipairs(in_list_order(state.entries)) do
      if matches(pattern, devices[e.position + 1]) then choose(e) end
    end
  end
  if step.perf_select ~= 0 then
    table.sort(state.entries, function(a, b)
      if (a.selected ~= 0) ~= (b.selected ~= 0) then return a.selected ~= 0 end
      if a.bytes ~= b.bytes then return a.bytes > b.bytes end
      return a.position < b.position
    end)
    local all = state.num_selected == 0
    for i, e in ipairs(state.entries) do
      if all or e.selected ~= 0 then e.selected = i end
    end
    if all then state.num_selected = #state.entries end
    number = math.max(state.num_selected, 0)
  end
  if mode == "add" and state.num_selected < step.maxshowdevs then
    for _, e in ipairs(state.entries) do choose(e) end
  end

  local changed = first or state.num_selected ~= before
  if old and not changed then
    for _, e in ipairs(state.entries) do
      if e.selected ~= old[e.device.device_number] then changed = true end
    end
  end
  return changed and 1 or 0
end

return M
