-- Asks kstat what the evaluator was asked, as `kstat -a` and as `kstat.aggregate`, and says where answers differ.
local exact = require("support.questions.exact")
local evaluator = require("support.questions.evaluator")
local run = require("support.run")

local comparison = {}

-- The values of an object of JSON without objects in it, in order: numbers, { text = }, and false for null.
local function values_of(object)
  local values, at = {}, 1
  object = object:gsub('\\"', "\1")
  while true do
    local _, colon = object:find('^[{,]"[^"]*":', at)
    if not colon then
      return values
    end
    local text, quoted = object:match('^"([^"]*)"()', colon + 1)
    local plain, behind = object:match("^([^,}]*)()", colon + 1)
    values[#values + 1] = text and { text = text } or plain ~= "null" and tonumber(plain) or false
    at = quoted or behind
  end
end

-- The rows of the arrays of a text: for each array a list of rows.
local function arrays_of(text)
  local arrays = {}
  for array in text:gmatch("(%b[])\n") do
    local rows = {}
    for object in array:gmatch("%b{}") do
      rows[#rows + 1] = values_of(object)
    end
    arrays[#arrays + 1] = rows
  end
  return arrays
end

local function as_text(value)
  if type(value) == "table" and value.text then
    value = value.text
  end
  if type(value) == "string" then
    return value
  end
  return value and ("%.12g"):format(exact.double(value)) or "-"
end

local function row_text(row, first, last)
  local parts = {}
  for i = first, last do
    parts[#parts + 1] = as_text(row[i])
  end
  return table.concat(parts, "|")
end

local function same(want, got)
  if not want or got == nil or got == false then
    return not want and not got
  elseif type(want) == "string" or type(got) == "table" then
    return want == (type(got) == "table" and got.text)
  end
  want, got = exact.double(want), got + 0.0
  return math.abs(want - got) <= 1e-9 * math.max(math.abs(want), math.abs(got), 0.001)
end

-- How the rows of kstat differ from those of the evaluator, nil where they do not; and how many values are the same.
local function difference(question, want, got)
  local by_key, keys, values = {}, #question.keys + (question.period and 1 or 0), 0
  if #want ~= #got then
    return ("%d rows, not %d"):format(#got, #want)
  end
  for i, row in ipairs(got) do
    local key = row_text(row, 1, keys)
    by_key[key] = by_key[key] or {}
    table.insert(by_key[key], row)
    if question.order and key ~= row_text(want[i].key, 1, keys) then
      return ("row %d is of %s, not of %s"):format(i, key, row_text(want[i].key, 1, keys))
    end
  end
  for _, row in ipairs(want) do
    local key, found = row_text(row.key, 1, keys), nil
    for _, other in ipairs(by_key[key] or {}) do
      local all = true
      for i = 1, #question.columns do
        all = all and same(row[i], other[keys + i])
      end
      found = found or all
    end
    if not found then
      local other = by_key[key] and by_key[key][1]
      return ("%s: %s, not %s"):format(key, other and row_text(other, keys + 1, keys + #question.columns) or "no row",
        row_text(row, 1, #question.columns))
    end
    values = values + #question.columns
  end
  return nil, values
end

-- What the evaluator says: for each question its rows at each tick, or, with a time among its keys, at the end.
function comparison.wanted(history, questions)
  local answers = {}
  for i, question in ipairs(questions) do
    local asked = evaluator.ask(history, question)
    answers[i] = {}
    if question.period then
      answers[i][1] = asked:rows_of_periods()
    else
      for tick in ipairs(history.samples) do
        answers[i][tick] = asked:rows(tick)
      end
    end
  end
  return answers
end

-- What `kstat -a` says of a capture or a recording: the rows of each question, as `wanted` has them.
local function answers_of_command(path, questions)
  local list = {}
  for _, question in ipairs(questions) do
    list[#list + 1] = " -a " .. run.quote(question.text)
  end
  local r = run.shell(("%s/kstat -j -r %s%s 1"):format(run.bin, path, table.concat(list)))
  local answers = {}
  if r.status ~= 0 and r.status ~= 1 then
    return nil, r.err
  end
  for i, rows in ipairs(arrays_of(r.out .. "\n")) do
    local question, tick = (i - 1) % #questions + 1, math.ceil(i / #questions)
    answers[question] = answers[question] or {}
    answers[question][tick] = rows
  end
  return answers, r.err
end

-- The rows of an aggregation, as the command's JSON has them.
local function rows_of(aggregation)
  return arrays_of(aggregation:render("json") .. "\n")[1] or {}
end

-- What `kstat.aggregate` says.
local function answers_of_module(path, questions)
  local kstat, core = require("kstat"), require("kstat.core")
  local aggregations, answers = {}, {}
  for i, question in ipairs(questions) do
    aggregations[i], answers[i] = assert(kstat.aggregate(question.text)), {}
  end
  local chain, tick = assert(kstat.open({ capture = path })), 0
  for now, prev in kstat.every({ "1" }, { chain = chain }) do
    tick = tick + 1
    local difference_of_tick = now:since_creation()
    if tick > 1 then
      difference_of_tick = core.difference(now, prev or false) -- as the command does it behind a gap
    end
    for i, question in ipairs(questions) do
      if not question.period then
        aggregations[i]:clear()
      end
      aggregations[i]:add(difference_of_tick)
      if not question.period then
        answers[i][tick] = rows_of(aggregations[i])
      end
    end
  end
  for i, question in ipairs(questions) do
    if question.period then
      answers[i][1] = rows_of(aggregations[i])
    end
  end
  chain:close()
  return answers
end

-- Compares the answers to questions, of the command or the module, with what is wanted; returns how many values were
-- the same, and a list of differences, each with its question.
function comparison.compare(want, path, questions, with)
  local ask = with == "module" and answers_of_module or answers_of_command
  local got, message = ask(path, questions)
  if not got then
    return 0, { { text = questions[1].text, what = message } }
  end
  local values, differences = 0, {}
  for i, question in ipairs(questions) do
    for tick, rows in ipairs(want[i]) do
      local what, count = difference(question, rows, (got[i] or {})[tick] or {})
      if what then
        differences[#differences + 1] = { text = question.text, what = ("tick %d: %s"):format(tick, what) }
        break
      end
      values = values + count
    end
  end
  return values, differences
end

return comparison
