-- Every binding case of the statsblob reference vectors (spec/vectors/statsblob/README.md),
-- performed by spec/c/core_statsvec.c. Cases tagged "quirk" and the reference's t-digest
-- algorithm do not bind; where ours goes another way in a binding case, `adapt` says how.
local cjson = require("cjson")
local run = require("support.run")


local function perform(file)
  local p = assert(io.popen(("gzip -dcf spec/vectors/statsblob/%s* | %s/spec/core_statsvec /dev/stdin"):format(file,
    run.build), "r"))
  local got = {}
  for line in p:lines() do
    local case = cjson.decode(line)
    got[case.name] = case
  end
  assert(p:close(), "core_statsvec failed on " .. file)
  return got
end

-- The reference sets FIRST_VOI on each callback and LAST_VOI on none; the manual page, and
-- we, set them where true: on the statistics of the first and of the last VOI.
local function true_flags(rows, flags_of, voi_of)
  local n = #rows
  local first = n > 0 and voi_of(rows[1])
  local last = n > 0 and voi_of(rows[n])
  local out = {}
  for i, row in ipairs(rows) do
    local set = {}
    for _, f in ipairs(flags_of(row)) do set[f] = true end
    set.FIRST_VOI = voi_of(row) == first or nil
    set.LAST_VOI = voi_of(row) == last or nil
    out[i] = set
  end
  return out
end

local function split(s)
  local t = {}
  for w in s:gmatch("[^|]+") do t[#t + 1] = w end
  return t
end

local function as_set(list)
  local set = {}
  for _, v in ipairs(list) do set[v] = true end
  return set
end

-- The upper bound of the last continuous-range bucket of a fixed-point VOI is rendered
-- wrongly by the reference; no bound is compared there.
local function without_last_ub(text)
  text = text:gsub('("lb":[%d.-]+,"ub":)[%d.]*(,"cnt":%d+}%])', "%1?%2")
  if not text:find("\n", 1, true) then return text end
  local head, tail = text:match("^(.*,ub=)[%d.]*(,cnt=%d+})$")
  return head and head .. "?" .. tail or text
end

local texts = { json = true, json_meta = true, json_objdump = true, freeform = true,
  freeform_objdump = true }

-- A dump of one VOI with SUM, MAX and MIN, without the MIN.
local function without_min(text, key)
  if key ~= "blob_hex" then
    return (text:gsub(',"%[3%]":.*', ""):gsub(',"MIN":.*', ""):gsub("%s+vois%[0%]stat%[3%].*", ""))
  end
  -- Slot 3 is behind 32 + 8 + 24 bytes: offset at 2, size at 4, flags at 7.
  local function byte(i) return tonumber(text:sub(2 * i + 1, 2 * i + 2), 16) end
  local off, size = byte(66) + 256 * byte(67), byte(68)
  text = text:sub(1, 2 * off) .. ("?"):rep(2 * size) .. text:sub(2 * (off + size) + 1)
  return text:sub(1, 142) .. "??" .. text:sub(145)
end

-- What differs on purpose, by case name. Each gets (expected, got) of a text or blob_hex
-- and its key and returns both as they are to be compared.
local function adapt(case, key, e, g)
  local name = case.name
  if name:find("^q%a+%-p%d+%-CRHIST") and texts[key] then
    return without_last_ub(e), without_last_ub(g)
  end
  -- MAX counts as set by the first update, even by the type's least value.
  if name:find("^numeric%-.*extremes") and key == "json" then
    local v = e:match('"%[1%]":{"errs":0,"val":(%-?%d+)},"%[2%]":null')
    if v then e = e:gsub('"%[2%]":null', ('"[2]":{"errs":0,"val":%s}'):format(v)) end
  elseif name:find("^numeric%-INT_U.*single_zero") then
    e = e:gsub('"%[2%]":null', '"[2]":{"errs":0,"val":0}'):gsub('"MAX":null', '"MAX":{"errs":0,"val":0}')
      :gsub('"MAX","errs":0,"flags":0', '"MAX","errs":0,"flags":1')
      :gsub("stype=MAX, errs=0, flags=0x0000", "stype=MAX, errs=0, flags=0x0001")
    -- The flags byte of slot 2 behind 32 + 8 bytes.
    if key == "blob_hex" then e = e:sub(1, 126) .. "01" .. e:sub(129) end
  elseif name:find("^q%-.*overflow") then
    -- MIN starts at the true limit, so that large values are taken; the rest is compared.
    if key == "json" and g:find('"[1]":{', 1, true) then
      assert.truthy(g:find('"[3]":{"errs":0,"val":', 1, true))
    end
    e, g = without_min(e, key), without_min(g, key)
  end
  return e, g
end

local compare

local function compare_visits(case, path, e, g)
  assert.equal(#e, #g, path)
  local sets = true_flags(e, function(r) return r.flags end, function(r) return r.voi end)
  -- A visit that was stopped has not seen the last VOI.
  local whole = e[1] == nil or as_set(e[#e].flags).LAST_CB
  for i, row in ipairs(e) do
    local have = as_set(g[i].flags)
    if not whole then sets[i].LAST_VOI, have.LAST_VOI = nil, nil end
    assert.same(sets[i], have, path .. " flags of row " .. i)
    row.flags = nil
    compare(case, ("%s[%d]"):format(path, i), row, g[i])
  end
end

-- The "visit" rows of a dump: voi, stat, dtype, dsz, errs, flags.
local function compare_dump_visit(path, e, g)
  assert.equal(#e, #g, path)
  local sets = true_flags(e, function(r) return split(r[6]) end, function(r) return r[1] end)
  for i, r in ipairs(e) do
    local h = g[i]
    assert.same({ r[1], r[2], r[3], r[4], r[5] }, { h.voi, h.stat, h.dtype, h.dsz, h.errs }, path)
    assert.same(sets[i], as_set(h.flags), path)
  end
end

-- What is expected must be there and equal; there may be more.
function compare(case, path, e, g)
  if type(e) ~= "table" then
    assert.equal(e, g, path)
    return
  end
  assert.equal("table", type(g), path .. " is missing")
  for k, v in pairs(e) do
    local p = path .. "." .. tostring(k)
    if k == "visits" then
      compare_visits(case, p, v, g.visits)
    elseif k == "visit" then
      compare_dump_visit(p, v, g.visits)
    elseif k == "roll" then
      -- A roll of 100 is 99 with us; what is selected is compared.
      assert.is_number(v)
    elseif texts[k] or k == "blob_hex" then
      assert.equal("string", type(g[k]), p .. " is missing")
      local want, have = adapt(case, k, v, g[k])
      assert.equal(want, have, p)
    else
      compare(case, p, v, g[k])
    end
  end
end

local function binds(case)
  for _, t in ipairs(case.tags) do
    if t == "documented" or t == "observed" then return true end
  end
  return false
end

local function is_json(text)
  return text == nil or text == "" or pcall(cjson.decode, text)
end

-- File and number of binding cases, so that none is lost unnoticed.
local files = {
  { "errors.json", 16 }, { "hist_exponential.json", 24 }, { "hist_linear.json", 54 },
  { "hist_linexp.json", 24 }, { "hist_q.json", 18 }, { "hist_user.json", 70 },
  { "layout.json", 25 }, { "numeric.json", 42 }, { "qnumeric.json", 64 },
  { "relupdate.json", 36 }, { "rollthedice.json", 3 }, { "snapshot_clone.json", 21 },
  { "template_specs.json", 16 }, { "visit.json", 11 },
}

describe("statsblobs reproduce the reference vectors of", function()
  for _, entry in ipairs(files) do
    local file, count = entry[1], entry[2]
    local cases = cjson.decode(run.vector("statsblob/" .. file)).cases
    local got
    setup(function() got = perform(file) end)
    it(("%s: all %d binding cases"):format(file, count), function()
      local n = 0
      for _, case in ipairs(cases) do
        if binds(case) then
          n = n + 1
          local g = got[case.name]
          assert.truthy(g, case.name .. " was not performed")
          assert.is_nil(g.setup, case.name)
          compare(case, case.name, case.expect, g)
        end
      end
      assert.equal(count, n)
    end)
    it(file .. ": whatever is made passes the check of foreign blobs, and JSON is valid", function()
      for _, case in ipairs(cases) do
        local g = got[case.name]
        if g.check then assert.equal("OK", g.check, case.name) end
        for k in pairs(texts) do
          if k:find("json") then assert.truthy(is_json(g[k]), case.name .. " " .. k) end
        end
        assert.truthy(is_json(g.json_both), case.name)
      end
    end)
  end
end)

-- Digests whose result no random number changes. What binds: sizes, offsets, slots, hashes, the form of the text
-- and what is counted; the centroids where each is one sample. Where the reference merged some or dropped them
-- (quirks) ours go another way.
describe("digests and the reference's", function()
  it("agree in layout, form and counts on all 129 cases", function()
    local got = perform("tdigest_exact.json")
    local n, equal = 0, 0
    for _, case in ipairs(cjson.decode(run.vector("statsblob/" .. "tdigest_exact.json")).cases) do
      local e, g = case.expect, assert(got[case.name], case.name)
      local quirk = as_set(case.tags).quirk
      n = n + 1
      assert.equal("OK", g.check, case.name)
      for _, key in ipairs({ "tplhash", "cursz", "stats_off", "statsdata_off" }) do
        assert.equal(e[key], g[key], case.name .. " " .. key)
      end
      if e.blob_hex then
        local slots = 2 * tonumber(e.statsdata_off)
        assert.equal(e.blob_hex:sub(1, slots), g.blob_hex:sub(1, slots), case.name)
        assert.equal(#e.blob_hex, #g.blob_hex, case.name)
      end
      if quirk then
        local result = g.results[1]
        if case.name == "tdl-32-n20-p16-asc-len5000-103" then
          -- From 4096 on values do not fit 32 bits beside 16 bits of fraction; they start at 23.
          assert.equal(4096 - 23, result.ok)
        else
          assert.equal("OK", result, case.name) -- no sample is refused
        end
      else
        assert.same(e.results, g.results, case.name)
        local function digest(text)
          return select(2, next(cjson.decode(text).vois)).stats.TDGST
        end
        local want, have, singles, seen, total = digest(e.json_meta), digest(g.json_meta), true, {}, 0
        for _, c in ipairs(want.ctds) do
          singles = singles and c.cnt == 1 and not seen[c.mu]
          seen[c.mu] = true
        end
        if singles then
          equal = equal + 1
          assert.equal(e.json_meta, g.json_meta, case.name)
        end
        for _, c in ipairs(have.ctds) do total = total + c.cnt end
        assert.equal(want.smplcnt, total, case.name)
        for _, key in ipairs({ "errs", "smplcnt", "maxctds" }) do
          assert.equal(want[key], have[key], case.name .. " " .. key)
        end
        assert.is_true(have.nctds == #have.ctds and have.nctds <= have.maxctds, case.name)
      end
    end
    assert.same({ 129, 50 }, { n, equal })
  end)
end)

describe("where the reference is at fault", function()
  local quirks, q, got_n

  setup(function()
    quirks, q, got_n = perform("quirks.json"), perform("qnumeric.json"), perform("errors.json")
  end)

  it("names are escaped in JSON", function()
    local meta = cjson.decode(quirks["names-not-escaped-466"].json_meta)
    assert.equal('A"B47', meta.tplname)
    assert.truthy(meta.vois["x\\y"])
  end)

  it("MAX counts as set by a first update of 0", function()
    local s = cjson.decode(quirks["max-of-zero-452"].json).vois["[0]"].stats
    assert.same({ errs = 0, val = 0 }, s["[2]"])
  end)

  it("MIN and MAX of fixed-point VOIs start at the limits, and take every first value", function()
    local r = quirks["q-initial-limits-455"].results
    local limits = '"[2]":{"stype":"MAX","errs":0,"flags":0,"dtype":"Q_S32","data_off":76,' ..
      '"voistatdata":{"val":-16777215.9375}},"[3]":{"stype":"MIN","errs":0,"flags":0,' ..
      '"dtype":"Q_S32","data_off":72,"voistatdata":{"val":16777215.9375}}'
    assert.truthy(r[1].json_objdump:find(limits, 1, true))
    assert.truthy(r[3].json_objdump:find(limits, 1, true))
    assert.is_nil(quirks["q-min-too-large-456"].json:find("null}", 1, true))
  end)

  it("template hashes are the reference's even so", function()
    assert.equal("16614686", quirks["q-initial-limits-455"].tplhash)
    assert.equal("2359874858", quirks["q-min-too-large-456"].tplhash)
  end)

  it("relative updates work with every precision", function()
    for _, name in ipairs({ "q-Q_S32-p6-rel-052", "q-Q_U64-p48-rel-120" }) do
      local r = q[name].results
      assert.equal("OK", r[1])
      assert.equal("OK", r[2])
    end
    -- 9210 and 66202 are 17.984375 and 129.296875.
    local s = q["q-Q_S32-p6-rel-052"].freeform
    assert.truthy(s:find("147.28125", 1, true), s)
  end)

  it("updates of no blob, and fetches of vacant statistics, are EINVAL", function()
    for _, r in ipairs(got_n["update-null-blob-418"].results) do assert.equal("EINVAL", r) end
    for _, r in ipairs(got_n["fetch-vacant-slot-420"].results) do assert.equal("EINVAL", r.err) end
  end)

  it("a rate of p selects p rolls of 100", function()
    local case
    for _, c in ipairs(cjson.decode(run.vector("statsblob/" .. "rollthedice.json")).cases) do
      if c.name == "rollthedice-boundaries-444" then case = c end
    end
    local got = perform("rollthedice.json")[case.name].results
    for i, op in ipairs(case.ops) do
      local roll = math.min(case.expect.results[i].roll, 99)
      local rate = op.rates[1]
      assert.equal(roll < rate[2] and rate[1] or -1, got[i].slot)
    end
  end)

  it("a name of 64 characters survives its normative form", function()
    local r = perform("template_specs.json")["rates-longname-441"].results
    assert.equal("OK", r[#r - 1].err)
    assert.equal("=21", r[#r].text:sub(-3))
  end)
end)
