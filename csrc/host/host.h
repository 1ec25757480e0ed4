/*
 * host.h - what the files of kstatlua share: the command line as it was read, and the functions
 * by which the files call each other. The strings point into argv. SPDX-License-Identifier: MIT
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#define KS_EXIT_SCRIPT 1 /* the script failed */
#define KS_EXIT_USAGE 2  /* the command line made no sense */
#define KS_EXIT_FATAL 3  /* what is read is damaged, or the output cannot be written */

/* A chunk to run (-e) or a module to load (-l), in the order of the command line. */
struct ks_preload {
	char letter; /* 'e' or 'l' */
	const char *text;
};

struct ks_options {
	const char *program;        /* the name that messages begin with */
	const char *installed;      /* the installed script whose name the program was called by, or NULL */
	struct ks_preload *preload; /* owned; n of them */
	int n;
	bool chunks;      /* -e was given: the operands are its arguments, and none is a script */
	bool interactive; /* -i */
	bool version;     /* -v */
	bool help;        /* --help */
	bool complete;    /* --complete: the operands are a command line that a shell completes */
	bool warnings;    /* -W */
	bool replays;     /* -r was given */
	bool damaged;     /* set while the script runs, when a replay in its loop is damaged */
	int operand;      /* index in argv of the first operand; argc if there is none */
	int argc;
	char **argv;
};

/* Reads the command line. Returns 0, or after a line on standard error the exit status. */
int ks_options_read(struct ks_options *o, int argc, char **argv);
void ks_options_usage(void);
const char *ks_options_text(void); /* what the usage says of the host itself */
void ks_options_version(void);

struct ks_buf;

/*
 * The directory that holds bin/, share/ and lib/, without a slash at the end. It follows from the place of the
 * executable, so that an installed tree works wherever it is moved.
 */
const char *ks_installed_prefix(void);

/*
 * Stores the path of an installed script: of those that came with the host, in the user's folder of scripts
 * (~/.config/kstat/scripts), the machine's (/etc/kstat/scripts) or one of a rock. False if there is none.
 */
bool ks_installed_find(const char *name, char *path, size_t size);

/* Appends the names of the installed scripts in order, with commas between them; "none" if there are none. */
void ks_installed_names(struct ks_buf *to);

/* Appends a line on each installed script: its name and what it is for. */
void ks_installed_abouts(struct ks_buf *to);

/*
 * Gives a new state its libraries: Lua's own, kstat.core (preloaded), the paths beside the
 * executable, and the global `kstat`, which loads the module when it is first used.
 */
void ks_script_libraries(lua_State *L);

/* Sets the global `arg`: the script (or the program) at 0, its arguments from 1 up, the rest below. */
void ks_script_arguments(lua_State *L, const struct ks_options *o);

/* Runs the -e chunks and -l modules. Returns 0, or the exit status after a message was printed. */
int ks_script_preload(lua_State *L, const struct ks_options *o);

/*
 * Runs one script: a file, "-" for standard input, or an installed one. Returns the exit status:
 * what the script returned, or what the `run` method of the table that it returned returned.
 */
int ks_script_run(lua_State *L, const struct ks_options *o);

/* Prints what may be the last word of the command line that follows --complete. Returns the exit status. */
int ks_script_complete(lua_State *L, const struct ks_options *o);

/*
 * Calls the function below its nargs arguments; errors get a traceback, and SIGINT can break the function
 * off. Leaves nresults results, or one message, on the stack. Returns a Lua status.
 */
int ks_script_call(lua_State *L, int nargs, int nresults);

/*
 * Prints the message at the top as "program: message" and pops it; prints nothing if the script was broken off. A
 * message that is no mistake of the script (lua/error.h) begins with the script's name. Returns the exit status.
 */
int ks_script_complain(lua_State *L, const struct ks_options *o);

/* From now on prints the warnings that the script leaves to the host (lua/error.h), and sets o->damaged. */
void ks_script_listen(lua_State *L, struct ks_options *o);

/* The loop that reads, runs and prints until the end of input. */
void ks_interactive(lua_State *L, const struct ks_options *o);

/* --- the Lua half of the module and the installed scripts, compiled ------------------------------------------ */

/*
 * They are compiled when the host is built, make a copied executable work alone, and spare a start the reading of their
 * text, which takes longer than everything else that a single report does (`bench/run startup`).
 */
struct ks_module {
	const char *name;  /* as require() takes it; a script is "scripts/NAME" */
	const char *file;  /* its path below the directory of modules; a script's below share/kstat */
	const char *about; /* what a script says of itself, without its name; "" for modules */
	const unsigned char *code;
	size_t size;
};

extern const struct ks_module ks_modules[]; /* a NULL name ends them; as compile.lua writes them */

/*
 * Makes require() take the modules from ks_modules, unless the file below `dir` is newer than the
 * executable: whoever edits an installed file sees the effect at once. LPeg is there, too, if it is linked in.
 */
void ks_modules_install(lua_State *L, const char *dir);

/* Pushes the installed script of that name under the same condition; returns false, and pushes nothing, otherwise. */
bool ks_modules_script(lua_State *L, const char *name, const char *path);

/* --- what signals do to a running script --------------------------------------------------------------------- */

/*
 * SIGINT and SIGTERM: an interval loop finishes its tick and ends, and the script continues after the
 * loop; any other script is broken off. The second such signal kills the process. SIGPIPE has the same effect if
 * standard output has no reader any more, but the exit status is 0; a script that writes to another broken pipe
 * gets Lua's error result. SIGCONT: a loop whose deadline has passed starts a new cadence. While the terminal is
 * in the mode of full-screen programs, each signal that ends or stops the process (SIGTSTP, SIGHUP, SIGQUIT,
 * a second SIGINT) first restores the terminal.
 */

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
