/*
 * wait.h - waiting for a point in time, and how a host ends an interval loop between two ticks.
 * The flags are the process's: only a host that owns the process (kstatlua) installs handlers
 * that set them; loaded into another program, the module never touches signals.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_WAIT_H
#define LUA_WAIT_H

#include <signal.h>
#include <sys/types.h>

#include "kstat.h"

struct lua_State;

/* Set by the host's handlers, which may run at any instruction. */
extern volatile sig_atomic_t ks_wait_interrupted; /* finish the tick, then end the loop */
extern volatile sig_atomic_t ks_wait_continued;   /* SIGCONT: the process had been stopped */
extern volatile sig_atomic_t ks_wait_resized;     /* SIGWINCH: the window has another size */

/*
 * Set by an interval loop while it runs: it will look at ks_wait_interrupted itself, so the
 * handler need not break off the script.
 */
extern volatile sig_atomic_t ks_wait_looping;

enum ks_wait {
	KS_WAIT_TIME,        /* the time has come */
	KS_WAIT_INTERRUPTED, /* ks_wait_interrupted is set; it stays set */
	KS_WAIT_CONTINUED,   /* SIGCONT: after it the deadline may be past; the flag is cleared */
	KS_WAIT_SIGNAL,      /* another handler ran, perhaps the interpreter's: call again */
	KS_WAIT_INPUT,       /* there was something to read, or an end of file: it was read */
	KS_WAIT_OUTPUT       /* the other descriptor can be written to, or has an error */
};

/* The argument at index i, nanoseconds of gethrtime(), which may be any number. */
hrtime_t ks_lua_checkdeadline(struct lua_State *L, int i);

/* A descriptor whose input is waited for, and what one read() of it gave: n is what that returned. */
struct ks_wait_input {
	int fd;
	ssize_t n;
	char bytes[256];
};

/*
 * Waits until gethrtime() reaches the deadline, `in` has input, or `out` takes output; NULL and -1 are none. Returns at
 * once if that time is past, but input comes first, so that keys are not lost. A signal that arrives just before the
 * wait starts is not missed. A window that was resized counts as a signal if there is an `in`; the flag is cleared.
 * Input is read before any handler runs: behind one that gave the terminal back a read waits for a whole line.
 */
enum ks_wait ks_wait_files(hrtime_t deadline, struct ks_wait_input *in, int out);

/* What scripts call the end of a wait: "time", "interrupted", "continued" or "signal". */
const char *ks_wait_word(enum ks_wait why);

#endif
