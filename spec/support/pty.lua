--- Programs on a terminal, for specs: a tmux server of its own plays the terminal.
local run = require("support.run")

local M = {}
local session = {}
session.__index = session

local count, open = 0, {}

local function close_all()
  for terminal in pairs(open) do
    terminal:close()
  end
end

--- Takes busted's `it` and `pending`. Returns `it` where there are terminals, with which a spec closes its terminals
-- even if it fails; elsewhere a function with the same arguments, which makes the spec pending.
function M.it(it, pending)
  if run.shell("script -qec true /dev/null </dev/null").status == 0 then
    return function(name, spec)
      return it(name, function()
        local ok, message = pcall(spec)
        close_all()
        if not ok then
          error(message, 0)
        end
      end)
    end
  end
  return function(name)
    pending(name .. ": needs a terminal: /dev/ptmx and /dev/pts")
  end
end

--- Starts a line of sh on a terminal of that size. Close what it returns. All that runs there shares the lock of a
-- file, by descriptor 9, so that close() can wait for the last of it.
function M.start(line, width, height)
  count = count + 1
  local lock = os.tmpname()
  local socket = ("kstat-spec-%s-%d"):format(lock:match("[^/]*$"), count)
  local self = setmetatable({ lock = lock, socket = socket }, session)
  open[self] = true
  self:tmux("-f /dev/null new-session -d -x %d -y %d %s", width or 80, height or 24, run.quote(
    ("exec 9>%s; flock -s 9; export LC_ALL=C.UTF-8 TZ=UTC XDG_STATE_HOME=%s.state; %s"):format(lock, lock, line)))
  return self
end

function session:tmux(command, ...)
  return run.tool(("SHELL=/bin/sh tmux -u -L %s " .. command):format(self.socket, ...))
end

--- What the terminal shows: one text, lines without blanks at their ends; styled: with the sequences of its styles.
function session:screen(styled)
  return (self:tmux(styled and "capture-pane -pe" or "capture-pane -p").out)
end

--- Types keys: words as tmux names them ("Enter", "C-z"), everything else as it is.
function session:send(...)
  local words = { ... }
  for i, word in ipairs(words) do
    words[i] = run.quote(word)
  end
  self:tmux("send-keys -- %s", table.concat(words, " "))
end

--- Waits until the terminal shows what the pattern (or plain text) says.
function session:await(pattern, plain, styled)
  local text
  run.await(function() return ("the terminal to show '%s'; it shows:\n%s"):format(pattern, text) end, function()
    text = self:screen(styled)
    return text:find(pattern, 1, plain)
  end)
  return text
end

function session:resize(width, height)
  self:tmux("resize-window -x %d -y %d", width, height)
end

--- The name of the terminal.
function session:tty()
  return (self:tmux("display-message -p '#{pane_tty}'").out:match("%S+"))
end

--- Hangs up, and waits until the programs have ended: what they write at their end is not in the way of the next spec.
function session:close()
  if open[self] then
    open[self] = nil
    local r = self:tmux("kill-server; flock -w 60 %s true", self.lock)
    os.remove(self.lock)
    run.shell("rm -rf " .. run.quote(self.lock .. ".state"))
    assert(r.status == 0, "a program runs on without its terminal")
  end
end

return M
