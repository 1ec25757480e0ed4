/*
 * terminal.h - the terminal in the mode of full-screen programs, and how a host gives it back when
 * a signal ends or stops the process. There is one terminal a process. The module itself handles
 * no signals: without a host, keys that would make one are read as bytes.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_TERMINAL_H
#define LUA_TERMINAL_H

#include <stdbool.h>

/*
 * A host may set it. It is called with true before the terminal enters that mode and with false after it left.
 * In between, whatever ends or stops the process must call ks_terminal_restore(): that is the host's part.
 */
extern void (*ks_terminal_watch)(bool entered);

/* Restores the mode of the terminal, if it was changed. Async-signal-safe, for handlers. */
void ks_terminal_restore(void);

#endif
