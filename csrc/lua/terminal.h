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
 * If a host sets it: called with true before the terminal enters that mode, with false after it left.
 * In between the host sees to it that whatever ends or stops the process calls ks_terminal_restore().
 */
extern void (*ks_terminal_watch)(bool entered);

/* Gives the terminal back as it was, if it is not. For handlers too: async-signal-safe. */
void ks_terminal_restore(void);

#endif
