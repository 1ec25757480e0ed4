/*
 * host.h - what the files of kstatlua share: the command line as it was understood, and how
 * the parts call each other. The strings point into argv. SPDX-License-Identifier: MIT
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
	const char *program;        /* how messages call us */
	const char *installed;      /* run as a link: the installed script of that name, else NULL */
	const char *capture;        /* -r, else NULL */
	struct ks_preload *preload; /* owned; n of them */
	int n;
	bool chunks;      /* there was an -e: the operands are its arguments, none is a script */
	bool interactive; /* -i */
	bool version;     /* -v */
	bool help;        /* --help */
	bool warnings;    /* -W */
	bool damaged;     /* found while the script ran: a replay in its loop was damaged */
	int operand;      /* index in argv of the first operand; argc if there is none */
	int argc;
	char **argv;
};

/* Reads the command line. 0, or -1 after one line on stderr: wrong usage. */
int ks_options_read(struct ks_options *o, int argc, char **argv);
void ks_options_usage(void);
void ks_options_version(void);

struct ks_buf;

/*
 * The directory that holds bin/, share/ and lib/, without a slash at the end. The executable's
 * own place is asked for, so that a tree works wherever it is put.
 */
const char *ks_installed_prefix(void);

/* Appends the names of the installed scripts, in order, as one line without an end; "none". */
void ks_installed_names(struct ks_buf *to);

/* Appends a line on each: its name and what it is for. */
void ks_installed_abouts(struct ks_buf *to);

/*
 * Gives a fresh state its libraries: Lua's own, kstat.core (preloaded), the paths beside the
 * executable, and the global `kstat`, which loads the module when it is first used.
 */
void ks_script_libraries(lua_State *L);

/* Sets the global `arg`: the script (or the program) at 0, its arguments from 1 up, the rest below. */
void ks_script_arguments(lua_State *L, const struct ks_options *o);

/* Runs the -e chunks and -l modules. 0, or the exit status after the message is printed. */
int ks_script_preload(lua_State *L, const struct ks_options *o);

/*
 * Runs one script: a file, "-" for standard input, or an installed one. Returns the exit status:
 * what the script returned, or what the `run` method of the table that it returned returned.
 */
int ks_script_run(lua_State *L, const struct ks_options *o);

/*
 * Calls the function below its nargs arguments, with a traceback for errors, while SIGINT can break
 * it off. Leaves nresults results, or one message. A Lua status.
 */
int ks_script_call(lua_State *L, int nargs, int nresults);

/*
 * Prints the message at the top as "program: message" and pops it; nothing if the script was broken off. What is
 * no mistake of the script's (lua/error.h) is told in the script's name. The exit status.
 */
int ks_script_complain(lua_State *L, const struct ks_options *o);

/* Pushes what the script is called in messages. */
const char *ks_script_name(lua_State *L, const struct ks_options *o);

/* From now on prints what nobody else tells (lua/error.h), and sets o->damaged. */
void ks_script_listen(lua_State *L, struct ks_options *o);

/* The loop that reads, runs and prints until the end of input. */
void ks_interactive(lua_State *L, const struct ks_options *o);

#endif
