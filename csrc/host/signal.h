/*
 * signal.h - what signals do to a running script.
 *
 * SIGINT and SIGTERM: an interval loop finishes its tick and ends, and the script goes on behind
 * the loop; any other script is broken off. The second one kills. SIGPIPE: the same, if standard
 * output is what broke, but the status is 0; a script that writes to another broken pipe gets Lua's
 * error result. SIGCONT: a loop whose deadline went by takes up a new cadence. While the terminal is
 * in the mode of full-screen programs, whatever ends or stops the process (SIGTSTP, SIGHUP, SIGQUIT,
 * a second SIGINT) first gives it back.
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_SIGNAL_H
#define HOST_SIGNAL_H

#include <lua.h>
#include <stdbool.h>

/* Installs the handlers; they break off what runs in L. */
void ks_signal_start(lua_State *L);

/* True if the error value at idx is the one that breaks a script off. */
bool ks_signal_is_break(lua_State *L, int idx);

/* Interactive: makes the next SIGINT a first one again, and forgets the one that came. */
void ks_signal_again(void);

/* True if nobody can read standard output any more. */
bool ks_signal_output_gone(void);

/* The signal that broke the script off, or 0. */
int ks_signal_broken_off(void);

/* Ends the process as the signal would have, so that a calling shell sees it. SIGPIPE: status 0. */
void ks_signal_finish(int sig);

#endif
