/*
 * clients.h - small programs that ask libkstat as known programs do: in their order, by their rules, with their
 * neglect. They are C90, C11 and C++ at once. Each prints "module:instance:name:statistic<TAB>value" for what it
 * found, with the name that kstat -p has for it. SPDX-License-Identifier: MIT
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <kstat.h>

extern kstat_ctl_t *kc;

/* A client's name and what it does. Each file ends with a table of its clients. */
struct client {
	const char *name;
	void (*run)(void);
};
extern const struct client walk_clients[], machine_clients[], cpu_clients[], disk_clients[], net_clients[],
    file_clients[];

/* Ends the program with status 1 and a message that says what is missing or wrong. */
void fail(const char *what, const char *which);

/* Returns a kstat that was looked up and read. without(): NULL if there is none; need(): the program ends then. */
kstat_t *without(const char *module, int instance, const char *name);
kstat_t *need(const char *module, int instance, const char *name);

/* Returns a statistic that nobody checks: NULL if there is none. */
kstat_named_t *look(kstat_t *ksp, const char *name);

/* Returns the next kstat of the chain of this module and name; NULL and "" stand for any, "cpu_stat*" for a prefix. */
kstat_t *next_of(kstat_t *ksp, const char *module, const char *name);

/* Prints one statistic: a number, a text, or a value as its type says. */
void show_number(const kstat_t *ksp, const char *statistic, u_longlong_t value);
void show_text(const kstat_t *ksp, const char *statistic, const char *text, size_t length);
void show(const kstat_t *ksp, const kstat_named_t *named);
void show_io(const kstat_t *ksp, const kstat_io_t *io);

/* Prints what a client made of several kstats. */
void show_sum(const char *what, u_longlong_t value);

/* Looks up each name of a list "a|b|c" as programs do that test nothing, and shows its value.ui64. */
void show_unchecked(kstat_t *ksp, const char *names);

/* The same for programs that skip what is absent. */
void show_present(kstat_t *ksp, const char *names);

/* The same for programs that end when a statistic is absent. */
void show_needed(kstat_t *ksp, const char *names);

/* Calls for each name of a list "a|b|c". */
void for_each(kstat_t *ksp, const char *names, void (*use)(kstat_t *, const char *));

#endif
