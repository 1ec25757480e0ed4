/*
 * terminal.h - the terminal in the mode of full-screen programs, and how a host gives it back when
 * a signal ends or stops the process. There is one terminal a process. The module itself handles
 * no signals: without a host, keys that would make one are read as bytes.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_TERMINAL_H
#define LUA_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A host may set it. It is called with true before the terminal enters that mode and with false after it left.
 * In between, whatever ends or stops the process must call ks_terminal_restore(): that is the host's part.
 */
extern void (*ks_terminal_watch)(bool entered);

/*
 * Restores the mode of the terminal, if it was changed. Async-signal-safe, for handlers; takes 0.2 s at most, and a
 * second where a terminal that answers owes an answer.
 */
void ks_terminal_restore(void);

#define KS_TERMINAL_LEAVE_MAX 64

/*
 * Changes the mode of the terminal `in`: it gives every key at once and shows none. `leave`, at most
 * KS_TERMINAL_LEAVE_MAX bytes, is what is written to `out` when it is restored. Also where it is in that mode already:
 * after the process was stopped, somebody else may have changed it. 0, or -1 with errno.
 */
int ks_terminal_enter(int in, int out, const char *leave, size_t n);

/* Restores the mode, and ends what the host does meanwhile. */
void ks_terminal_leave(void);

/* True from ks_terminal_enter() on until the mode is restored, which a handler may have done. */
bool ks_terminal_entered(void);

/* Set while the terminal owes the answer to a question: restoring takes it, so that the next program does not. */
extern volatile sig_atomic_t ks_terminal_asked;
#define KS_TERMINAL_ANSWERS 2 /* it is one that has answered before: behind a long line this takes a while */

#define KS_TERMINAL_COLUMNS 2000
#define KS_TERMINAL_ROWS 1000

/*
 * The size of the window. A terminal of unknown size counts as 80 by 24, and one of more columns and rows than these as
 * that large, because programs fill the whole screen.
 */
void ks_terminal_size(int fd, int *columns, int *rows);

#endif
