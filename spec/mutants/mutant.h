/*
 * mutant.h - included first by C files that `make mutants` changed: which changes are on in this process, and notes of
 * those whose place is reached. $MUTANT has the numbers of the changes that are on, with a comma behind each;
 * below the directory $MUTANT_MARKS an empty file is made for each place that is reached.
 * SPDX-License-Identifier: MIT
 */
#ifndef MUTANT_H
#define MUTANT_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_MUTANTS 4096

static unsigned char mutant_is_on[MOST_MUTANTS], mutant_is_marked[MOST_MUTANTS];
static const char *mutant_marks;

/* Runs before main(), or when the library is loaded: nginx clears its environment afterwards. */
static void __attribute__((constructor))
mutant_begin(void)
{
	const char *on = getenv("MUTANT");

	mutant_marks = getenv("MUTANT_MARKS");
	while (on != NULL && *on >= '0' && *on <= '9') {
		char *end;
		unsigned long id = strtoul(on, &end, 10);

		if (id < MOST_MUTANTS)
			mutant_is_on[id] = 1;
		on = *end == ',' ? end + 1 : NULL;
	}
}

static inline int
mutant_on(int id)
{
	return mutant_is_on[id];
}

/* Leaves errno as it is. */
static inline void
mutant_mark(int id)
{
	char path[512];
	int fd, saved = errno;

	if (mutant_marks == NULL || mutant_is_marked[id])
		return;
	mutant_is_marked[id] = 1;
	(void)snprintf(path, sizeof(path), "%s/%d", mutant_marks, id);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		(void)close(fd);
	errno = saved;
}

/* Copies the changed table over the other one, which may lie in memory that cannot be written. */
#define MUTANT_TABLE(id, table, changed) \
	_Static_assert(sizeof(table) == sizeof(changed), "another size"); \
	static void __attribute__((constructor)) \
	changed##_begin(void) \
	{ \
		size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (size_t)&table / page * page; \
\
		if (mutant_on(id) && \
		    mprotect((void *)from, (size_t)&table + sizeof(table) - from, PROT_READ | PROT_WRITE) == 0) \
			memcpy((void *)&table, &changed, sizeof(table)); \
	}

#endif
