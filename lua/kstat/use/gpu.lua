--- GPUs, as kstatlua use measures them: those of NVIDIA by the driver's library, others from /sys/class/drm.
-- @module kstat.use.gpu
local culprits = require("kstat.use.culprits")
local figures = require("kstat.use.figures")

local count, now, percent, share = figures.count, figures.now, figures.percent, figures.share

local limits = {
  { "gpu", "utilization", "busy", unit = "%", file = "NVML: utilization; gpu_busy_percent, rc6_residency_ms",
    reason = "Without a limit: it says that some work ran, not how much more could. Of Intel: the time in which the " ..
      "GPU did not sleep." },
  { "gpu", "utilization", "memory", unit = "%", file = "NVML: memory; mem_info_vram_used, mem_info_vram_total",
    reason = "Without a limit: many programs take all memory of a GPU at once and share it out themselves." },
  { "gpu", "saturation", "throttled by heat", unit = "%", warning = 1, critical = 10, quiet = true,
    file = "NVML: violation of the thermal policy; throttle_reason_thermal",
    reason = "Share of the time in which the GPU was slowed down because it was too hot: its cooling fails. Where " ..
      "the time is not counted, 100 says that it is so now." },
  { "gpu", "saturation", "throttled by power", unit = "%", warning = 10, quiet = true,
    file = "NVML: violation of the power policy; throttle_reason_pl1, pl2, pl4",
    reason = "Share of the time in which the GPU was slowed down because of its power limit: it could do more." },
  { "gpu", "errors", "no answer", unit = "", critical = 1, file = "NVML",
    reason = "The GPU is lost, has to be reset, or its driver does not answer." },
  { "gpu", "errors", "uncorrected", unit = "", critical = 1, file = "NVML: ECC; ras/umc_err_count",
    reason = "Memory of the GPU returned wrong data: programs were ended, or results are wrong." },
  { "gpu", "errors", "corrected", unit = "", warning = 10, file = "NVML: ECC; ras/umc_err_count",
    reason = "Memory of the GPU had errors that were corrected. A few are normal." },
  { "gpu", "errors", "rows not replaced", unit = "", critical = 1, file = "NVML: remapped rows",
    reason = "Bad memory of the GPU could not be replaced, since there is no spare memory left." },
  { "gpu", "errors", "rows to replace", unit = "", warning = 1, file = "NVML: remapped rows",
    reason = "Bad memory of the GPU will be replaced when it is reset." },
  { "gpu", "errors", "XID", unit = "", critical = 1, file = "NVML: events",
    reason = "The driver reported an error of the GPU, whose number NVIDIA's list explains." },
  { "gpu", "errors", "XID of a program", unit = "", warning = 1, file = "NVML: events",
    reason = "The driver reported an error that programs cause: an exception, a bad address, an ended channel." },
  { "gpu", "errors", "lanes missing", unit = "", warning = 1, file = "NVML: width of the PCIe link",
    reason = "A GPU at work has fewer lanes of PCIe than it and the machine can have: the slot, a riser or the card." },
}

-- XID errors that a program can cause: NVIDIA's list says so.
local OF_PROGRAMS = { [13] = true, [31] = true, [43] = true, [45] = true, [68] = true }

local AT_WORK = 2 -- performance states up to this one are those of a GPU that works

-- 100 if one of the statistics is 1, 0 if one is known, in percent of a time that nobody counts.
local function flagged(k, ...)
  local value
  for _, statistic in ipairs({ ... }) do
    local flag = now(k, statistic)
    value = flag and math.max(value or 0, flag ~= 0 and 100 or 0) or value
  end
  return value
end

-- The process that keeps a GPU of NVIDIA busiest; nil: none is known. It is looked for at each tick, because a
-- difference has only what the tick before asked for.
local function user(d, k)
  local busiest, of = figures.most(figures.select(d, "class gpu_process"), function(process)
    return process.module == k.module and process.name == k.name .. ",process" and now(process, "sm_util") or nil
  end)
  local process = of and d:select({ class = "process", instance = of.instance })[1]
  return of and ("%s %d%%"):format(process and culprits.name(process) or ("[%d]"):format(of.instance), busiest)
end

local function nvidia(d, add, k)
  local violation = d:lookup("nvidia", k.instance, k.name .. ",violation")
  local xid = d:lookup("nvidia", k.instance, k.name .. ",xid")
  local last, errors = now(xid, "last"), count(xid, "errors")
  local state, width = now(k, "state", "string"), now(k, "pcie_width")
  local at_work = (now(k, "pstate") or math.huge) <= AT_WORK
  local who = user(d, k)
  local of_program = OF_PROGRAMS[last] or false
  local numbered = last and ("XID %d"):format(last)
  add("gpu", k.name, {
    busy = now(k, "gpu_util"), memory = percent(now(k, "memory_used"), now(k, "memory_total")),
    ["throttled by heat"] = share(violation, "thermal_nsec") or flagged(k, "throttled_heat"),
    ["throttled by power"] = share(violation, "power_nsec") or flagged(k, "throttled_power"),
    ["no answer"] = state and (state == "ok" and 0 or 1),
    uncorrected = count(k, "ecc_uncorrected"), corrected = count(k, "ecc_corrected"),
    ["rows not replaced"] = now(k, "rows_failed"), ["rows to replace"] = now(k, "rows_pending"),
    XID = errors and not of_program and errors, ["XID of a program"] = errors and of_program and errors,
    ["lanes missing"] = at_work and width and math.max((now(k, "pcie_width_max") or 0) - width, 0) or nil,
  }, { ["throttled by heat"] = who, ["throttled by power"] = who, ["no answer"] = state, XID = numbered,
    ["XID of a program"] = numbered })
end

local function card(_, add, k)
  local slept = figures.per_second(k, "idle_msec")
  local values = {
    busy = now(k, "gpu_busy_percent") or slept and math.max(100 - slept / 10, 0),
    memory = percent(now(k, "mem_info_vram_used"), now(k, "mem_info_vram_total")),
    ["throttled by heat"] = flagged(k, "throttled_thermal", "throttled_prochot", "throttled_ratl",
      "throttled_vr_thermalert"),
    ["throttled by power"] = flagged(k, "throttled_pl1", "throttled_pl2", "throttled_pl4", "throttled_vr_tdc"),
    uncorrected = count(k, "ecc_uncorrected"), corrected = count(k, "ecc_corrected"),
  }
  if next(values) then -- others have drivers that say nothing here
    add("gpu", k.name, values)
  end
end

local function measure(d, add, is_new)
  for _, k in ipairs(figures.select(d, "class gpu")) do
    local add_rows = k.module == "nvidia" and nvidia or card
    if not is_new(k) then
      add_rows(d, add, k)
    end
  end
end

return {
  limits = limits, measure = measure, processes = true,
  select = { { class = "gpu" }, { class = "gpu_violation" }, { class = "gpu_xid" }, { class = "gpu_process" } },
}
