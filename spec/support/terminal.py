#!/usr/bin/env python3
"""Plays a terminal on which a program of its own session runs, for specs.

terminal.py COLUMNS ROWS PROGRAM [STEP...]: runs the line of sh and does the steps. A step is a word:
  await:TEXT    reads what the program writes until TEXT is in it, behind what was awaited before
  type:TEXT     types; escapes as in Python
  answers:N     from now on answers N more questions for the status of the terminal; at first any number
  resize:C:R    gives the window another size
  touch:FILE    makes a file
  wait:SECONDS  does nothing
  hangup        closes the terminal
  end           waits for the end of the program without reading anything
At the end it reads until the program has ended, and writes everything that was read, and "status N", which is 128 + N
for signal N. It fails after a minute.
"""
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time

QUESTION, ANSWER = b"\x1b[5n", b"\x1b[0n"


class Terminal:
    def __init__(self, columns, rows, line):
        self.read_bytes, self.awaited, self.answers, self.status = b"", 0, 1 << 30, None
        self.fd, program = os.openpty()
        self.resize(columns, rows)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(program, termios.TIOCSCTTY, 0)
            for standard in range(3):
                os.dup2(program, standard)
            os.closerange(3, 256)
            os.execvp("sh", ["sh", "-c", line])
        os.close(program)

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))

    def read(self):
        """Reads once; False: the program has closed the terminal."""
        select.select([self.fd], [], [])
        try:
            more = os.read(self.fd, 65536)
        except OSError:
            return False
        asked = (self.read_bytes[-3:] + more).count(QUESTION)
        self.read_bytes += more
        answers = min(asked, self.answers)
        self.answers -= answers
        os.write(self.fd, ANSWER * answers)
        return True

    def do(self, step):
        name, _, rest = step.partition(":")
        data = rest.encode().decode("unicode_escape").encode("latin-1")
        if name == "await":
            while self.read_bytes.find(data, self.awaited) < 0:
                if not self.read():
                    sys.exit("waited for %r in %r" % (data, self.read_bytes))
            self.awaited = self.read_bytes.find(data, self.awaited) + len(data)
        elif name == "type":
            os.write(self.fd, data)
        elif name == "answers":
            self.answers = int(rest)
        elif name == "resize":
            self.resize(*rest.split(":"))
        elif name == "touch":
            open(rest, "w").close()
        elif name == "wait":
            time.sleep(float(rest))
        elif name == "hangup":
            os.close(self.fd)
            self.fd = None
        elif name == "end":
            self.wait()

    def wait(self):
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


signal.alarm(60)
terminal = Terminal(sys.argv[1], sys.argv[2], sys.argv[3])
for word in sys.argv[4:]:
    terminal.do(word)
while terminal.fd is not None and terminal.read():
    pass
terminal.wait()
sys.stdout.buffer.write(terminal.read_bytes)
print("status", terminal.status if terminal.status >= 0 else 128 - terminal.status)
