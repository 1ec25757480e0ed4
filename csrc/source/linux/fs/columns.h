/*
 * columns.h - files of /proc and /sys whose lines are a word and columns of numbers, "rpc 1000 7 1001".
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_COLUMNS_H
#define SOURCE_LINUX_COLUMNS_H

#include "source/linux/linux.h"

/* Finds the line that begins with a word, and what follows it there; false if there is no such line. */
bool ks_columns_line(const struct ks_image *im, struct ks_text key, struct ks_text *rest);

/*
 * Collects the values of a table whose keys are the word of a line and the columns, from 0, of which the statistic
 * is the sum: "rc 0 1". *odd becomes the first line without a number, of which the user should be warned; its p is NULL
 * if there is none.
 */
void ks_columns_collect(const struct ks_image *im, const struct ks_field *table, struct ks_values *vals,
    struct ks_text *odd);

#endif
