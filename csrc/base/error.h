/*
 * error.h - how functions report a failure: errno for the program, and one line for the person, which
 * kstat_errmsg() returns. The function that meets the failure sets both. Those that pass it on leave both as
 * they are, and save errno around calls that may change it. Each thread has a line of its own, which stays
 * until the next failure of that thread.
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Sets errno to err and this thread's message; returns -1. */
int ks_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As ks_fail, for functions that return pointers; returns NULL. */
void *ks_fail_null(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The compiler, and whoever looks for mistakes with it, may know what comes back. */
#define ks_fail(...) ((void)ks_fail(__VA_ARGS__), -1)
#define ks_fail_null(...) ((void)ks_fail_null(__VA_ARGS__), NULL)

/* True for errors that say nothing about a thing: this process got no memory or no descriptor. */
bool ks_is_lack(int err);

#endif
