/*
 * signal.h - what signals do to a running script.
 *
 * SIGINT and SIGTERM: an interval loop finishes its tick and ends, and the script continues after the
 * loop; any other script is broken off. The second such signal kills the process. SIGPIPE has the same effect if
 * standard output has no reader any more, but the exit status is 0; a script that writes to another broken pipe
 * gets Lua's error result. SIGCONT: a loop whose deadline has passed starts a new cadence. While the terminal is
 * in the mode of full-screen programs, each signal that ends or stops the process (SIGTSTP, SIGHUP, SIGQUIT,
 * a second SIGINT) first restores the terminal.
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_SIGNAL_H
#define HOST_SIGNAL_H

#include <lua.h>
#include <stdbool.h>

/* Installs the handlers, which break off the script that runs in L. */
void ks_signal_start(lua_State *L);

/* True if the error value at idx is the one that breaks a script off. */
bool ks_signal_is_break(lua_State *L, int idx);

/* For the prompt: forgets a SIGINT that came, so that the next one counts as the first. */
void ks_signal_again(void);

/* True if standard output is a pipe without a reader. */
bool ks_signal_output_gone(void);

/* The signal that broke the script off, or 0. */
int ks_signal_broken_off(void);

/* Ends the process as the signal would have, so that a calling shell sees it; for SIGPIPE with status 0. */
void ks_signal_finish(int sig);

#endif
