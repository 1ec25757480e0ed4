-- The end of `make check`: names what is pending, repeats what failed and prints the counts. Arguments: the logs
-- of the spec files, as the Makefile writes them. Exit status: 0 if nothing failed.
local passed, failed, waiting, failures, named = 0, 0, 0, {}, {}

for _, path in ipairs(arg) do
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  local title, output, status = text:match("^== ([^\n]*)\n(.*)== status (%d+)\n$")
  local successes, fails, errors, pending =
    text:match("(%d+) success%l* / (%d+) failures? / (%d+) errors? / (%d+) pending")
  local bad = tonumber(fails or 0) + tonumber(errors or 0)
  -- An interpreter that crashed, or a file with an error of syntax, counts as one failure.
  if bad == 0 and (status ~= "0" or not successes) then
    bad = 1
  end
  passed, failed, waiting = passed + (successes or 0), failed + bad, waiting + (pending or 0)
  -- Once, however many Luas it is pending on.
  for name, reason in (output or ""):gmatch("\nPending %-> [^\n]*\n([^\n]*)\n([^\n]*)") do
    local line = name .. (reason ~= "" and ": " or "") .. reason:gsub("^[^:]*:%d+: ", "")
    if not named[line] then
      named[line] = true
      print("pending: " .. line)
    end
  end
  if bad > 0 then
    failures[#failures + 1] = ("=== failed: %s\n%s"):format(title or path, output or text)
  end
end
io.write("\n", table.concat(failures, "\n"))
print(("%d passed, %d failed, %d pending in %d runs of spec files"):format(passed, failed, waiting, #arg))
os.exit(failed == 0 and #arg > 0)
