-- Random questions over random histories in which everything goes wrong: kstat -a and kstat.aggregate answer what an
-- evaluator does that looks at all samples for each value. KSTAT_QUESTIONS is how many, KSTAT_SEED where they begin.
local asker = require("support.questions.asker")
local comparison = require("support.questions.comparison")
local evaluator = require("support.questions.evaluator")
local histories = require("support.questions.history")
local random = require("support.questions.random")
local run = require("support.run")

local QUESTIONS, SEED = tonumber(os.getenv("KSTAT_QUESTIONS") or 200), tonumber(os.getenv("KSTAT_SEED") or 1)
local OF_EACH = 20

-- Questions about a history: those about each tick, and those about periods, which are answered at the end.
local function questions_about(history)
  local r, of_ticks, of_periods = random.new(history.seed + 1000), {}, {}
  for _ = 1, OF_EACH do
    local question = asker.question(r, history)
    table.insert(question.period and of_periods or of_ticks, question)
  end
  return of_ticks, of_periods
end

describe("answers over time", function()
  local directory, asked

  -- What is asked of which capture, and what is wanted.
  setup(function()
    directory, asked = run.directory(), {}
    for seed = SEED, SEED + math.ceil(QUESTIONS / OF_EACH) - 1 do
      local history = evaluator.prepare(histories.make(seed))
      local capture = ("%s/%d.json"):format(directory, seed)
      run.write_file(capture, histories.capture(history))
      for _, questions in ipairs({ questions_about(history) }) do
        asked[#asked + 1] = questions[1] and { seed = seed, capture = capture, questions = questions,
          want = comparison.wanted(history, questions) } or nil
      end
    end
  end)

  teardown(function()
    run.remove_directory(directory)
  end)

  local function compare(with, path_of)
    local values, wrong = 0, {}
    for _, one in ipairs(asked) do
      local n, differences = comparison.compare(one.want, path_of(one.capture), one.questions, with)
      values = values + n
      for _, d in ipairs(differences) do
        wrong[#wrong + 1] = ("seed %d: %s: %s"):format(one.seed, d.text, d.what)
      end
    end
    assert.equal("", table.concat(wrong, "\n"))
    assert.is_true(values > 20 * QUESTIONS)
    if os.getenv("KSTAT_QUESTIONS") then
      print(("%d questions, %d values"):format(QUESTIONS, values))
    end
  end

  it("are those of all samples, as kstat -a of a recording", function()
    local made = {}
    compare("command", function(capture)
      local recording = capture:gsub("json$", "rec")
      if not made[recording] then
        run.shell(("%s/kstatlua convert -o %s %s"):format(run.bin, recording, capture))
        made[recording] = true
      end
      return recording
    end)
  end)

  it("are those of all samples, as kstat.aggregate of a capture", function()
    compare("module", function(capture)
      return capture
    end)
  end)
end)
