/*
 * sweep.c [-j JOBS] [-e EVERY] [-E ERROR] [-m] [-s] [-w] FAIL.so PROGRAM [ARGUMENT]... - runs a program again and
 * again, and in each run lets another one of its requests for memory and system calls fail (fail.c). The rule: a run
 * whose output is not that of the good run has a further line on standard error and a status other than 0. Prints a
 * line for each run that breaks the rule, crashes or hangs, and at the end the counts. Status 1 if there was one.
 *   -j  how many runs go on at once (2)    -e  tries only each EVERYth call
 *   -m  memory stays short: with the call that fails all further requests for memory fail, too, and the status is 3
 *   -E  the error of system calls: EINTR, EIO, ENOSPC, EMFILE, EACCES; else each has one that is usual for it
 *   -s  the output changes by itself: only its lines and words are counted
 *   -w  PROGRAM runs another one, with LD_PRELOAD=$FAIL_LIBRARY: one that goes on, so that a line is enough, and what
 *       it writes into "@" afterwards is whole again
 * An argument that is "@" becomes a file that the program writes; it is compared, too. $KSTAT_DIR is an empty
 * directory in each run. SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"

#define SECONDS 20 /* after which a run hangs */

struct text {
	char *p;
	size_t len;
};

struct result {
	struct text out, err, file;
	int status; /* of waitpid() */
	unsigned long calls;
	char name[32];
};

/* Where the runs of one job leave what they write. */
struct place {
	int out, err, report;
	char dir[64], file[80];
	struct fail_report *at;
};

static char **program;
static const char *library;
static bool stays_short, goes_on;
static const char *error; /* of -E; NULL: each call has its own */

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

static struct place
make_place(void)
{
	struct place p = { .out = memfd_create("out", MFD_CLOEXEC), .err = memfd_create("err", MFD_CLOEXEC),
		.report = memfd_create("report", 0) };

	(void)snprintf(p.dir, sizeof(p.dir), "/tmp/sweep.XXXXXX");
	if (p.out < 0 || p.err < 0 || p.report < 0 || ftruncate(p.report, sizeof(*p.at)) != 0 ||
	    mkdtemp(p.dir) == NULL)
		die("sweep");
	(void)snprintf(p.file, sizeof(p.file), "%s.out", p.dir);
	p.at = mmap(NULL, sizeof(*p.at), PROT_READ | PROT_WRITE, MAP_SHARED, p.report, 0);
	return p;
}

static void
clear_place(struct place *p)
{
	DIR *dir = opendir(p->dir);
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		(void)closedir(dir);
	(void)unlink(p->file);
	if (ftruncate(p->out, 0) != 0 || ftruncate(p->err, 0) != 0)
		die("ftruncate");
	(void)lseek(p->out, 0, SEEK_SET);
	(void)lseek(p->err, 0, SEEK_SET);
	memset(p->at, 0, sizeof(*p->at));
}

static void
remove_place(struct place *p)
{
	clear_place(p);
	(void)rmdir(p->dir);
}

/* The number of an error that -E may name; 0: it is none. */
static unsigned long
error_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} errors[] = { { "EINTR", EINTR }, { "EIO", EIO }, { "ENOSPC", ENOSPC }, { "EMFILE", EMFILE },
		{ "EACCES", EACCES } };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (strcmp(errors[i].name, name) == 0)
			return (unsigned long)errors[i].number;
	}
	return 0;
}

static void
set_number(const char *name, unsigned long n)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lu", n);
	(void)setenv(name, text, 1);
}

static _Noreturn void
become_program(struct place *p, unsigned long at)
{
	int null = open("/dev/null", O_RDONLY);

	for (char **a = program; *a != NULL; a++) {
		if (strcmp(*a, "@") == 0)
			*a = p->file;
	}
	(void)dup2(null, 0);
	(void)dup2(p->out, 1);
	(void)dup2(p->err, 2);
	(void)setenv(goes_on ? "FAIL_LIBRARY" : "LD_PRELOAD", library, 1);
	(void)setenv("KSTAT_DIR", p->dir, 1);
	set_number("FAIL_AT", at);
	if (stays_short)
		(void)setenv("FAIL_ON", "1", 1);
	set_number("FAIL_FD", (unsigned long)p->report);
	(void)alarm(SECONDS);
	(void)execvp(program[0], program);
	die(program[0]);
	abort();
}

static struct text
whole(int fd)
{
	struct stat st;
	struct text t = { NULL, 0 };

	if (fd < 0 || fstat(fd, &st) != 0)
		return t;
	t.p = malloc((size_t)st.st_size + 1);
	if (t.p == NULL || pread(fd, t.p, (size_t)st.st_size, 0) != st.st_size)
		die("reading");
	t.len = (size_t)st.st_size;
	t.p[t.len] = '\0';
	return t;
}

static struct result
run(struct place *p, unsigned long at)
{
	struct result r = { .status = -1 };
	pid_t pid;
	int fd;

	clear_place(p);
	pid = fork();
	if (pid == 0)
		become_program(p, at);
	if (pid < 0 || waitpid(pid, &r.status, 0) != pid)
		die("fork");
	r.out = whole(p->out);
	r.err = whole(p->err);
	fd = open(p->file, O_RDONLY | O_CLOEXEC);
	r.file = whole(fd);
	if (fd >= 0)
		(void)close(fd);
	r.calls = p->at->calls;
	memcpy(r.name, p->at->name, sizeof(r.name));
	return r;
}

static void
free_result(struct result *r)
{
	free(r->out.p);
	free(r->err.p);
	free(r->file.p);
}

static bool
same(const struct text *a, const struct text *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->p, b->p, a->len) == 0);
}

/* Counts lines and words. */
static void
count(const struct text *t, size_t n[2])
{
	n[0] = n[1] = 0;
	for (size_t i = 0; i < t->len; i++) {
		bool ends = i + 1 == t->len || isspace((unsigned char)t->p[i + 1]);

		n[0] += t->p[i] == '\n';
		n[1] += !isspace((unsigned char)t->p[i]) && ends;
	}
}

static bool
same_shape(const struct text *a, const struct text *b)
{
	size_t x[2], y[2];

	count(a, x);
	count(b, y);
	return x[0] == y[0] && x[1] == y[1];
}

/* What is wrong with a run, NULL if nothing. exact: two good runs print the same. */
static const char *
verdict(const struct result *good, const struct result *r, bool exact)
{
	bool complete = (exact ? same(&good->out, &r->out) : same_shape(&good->out, &r->out)) &&
	    ((good->file.p == NULL) == (r->file.p == NULL)) && (!exact || same(&good->file, &r->file));
	bool line = r->err.len > 0 && !same(&good->err, &r->err);
	/* Who may not read something is told so, and may not later; a sensor may have any error, and is left out for it. */
	bool may_not = error != NULL && strcmp(error, "EACCES") == 0, is_told = line && (goes_on || may_not);
	size_t all[2], again[2];
	/* Many files are for root alone, and left out for others. */
	bool is_sensor = (error != NULL && strcmp(r->name, "read") == 0) || (may_not && strncmp(r->name, "open", 4) == 0);

	if (error != NULL && line && strstr(r->err.p, "out of memory") != NULL)
		return "blames memory";
	count(&good->file, all);
	count(&r->file, again); /* of its lines alone: the words of a family's HELP are those of its first kstat */
	if (goes_on && !is_sensor && !may_not && r->status == good->status && r->file.p != NULL && all[0] != again[0])
		return "does not recover";
	if (WIFSIGNALED(r->status))
		return WTERMSIG(r->status) == SIGALRM ? "hangs" : "crashes";
	if (r->status == good->status)
		return complete || is_told || is_sensor ? NULL : line ? "is incomplete, with a line and the status of success" :
		    "is incomplete and silent";
	if (stays_short && (!WIFEXITED(r->status) || WEXITSTATUS(r->status) != 3))
		return "ends with another status than 3";
	return line ? NULL : "fails without a line";
}

/* Tries the calls first, first + step, ...; returns how many runs break the rule. */
static unsigned long
sweep(const struct result *good, bool exact, unsigned long first, unsigned long step)
{
	struct place p = make_place();
	unsigned long found = 0;

	for (unsigned long at = first; at <= good->calls; at += step) {
		struct result r = run(&p, at);
		const char *wrong = verdict(good, &r, exact);

		if (wrong != NULL) {
			printf("call %lu, %s: %s (status %d)%s%.200s\n", at, r.name, wrong, r.status,
			    r.err.len > 0 ? ": " : "", r.err.p);
			(void)fflush(stdout);
			found++;
		}
		free_result(&r);
	}
	remove_place(&p);
	return found;
}

int
main(int argc, char **argv)
{
	unsigned long jobs = 2, every = 1, found = 0, tried;
	struct place p;
	struct result good, again;
	bool exact, shape = false;
	int c;

	while ((c = getopt(argc, argv, "+j:e:E:msw")) != -1) {
		if (c == '?')
			return 2;
		if (c == 's')
			shape = true;
		else if (c == 'E')
			set_number("FAIL_ERRNO", error_of(error = optarg));
		else if (c == 'w')
			goes_on = shape = true;
		else if (c == 'm')
			stays_short = true;
		else
			*(c == 'j' ? &jobs : &every) = strtoul(optarg, NULL, 10);
	}
	if (argc - optind < 2 || jobs == 0 || every == 0)
		return fputs("usage: sweep [-j jobs] [-e every] [-E error] [-m] [-s] [-w] fail.so program [argument]...\n",
		    stderr), 2;
	library = argv[optind];
	program = argv + optind + 1;
	p = make_place();
	good = run(&p, 0);
	again = run(&p, 0);
	exact = !shape && same(&good.out, &again.out) && same(&good.file, &again.file);
	if (!WIFEXITED(good.status) || (good.calls == 0 && error == NULL))
		return fputs("sweep: the good run does not end\n", stderr), 2;
	for (unsigned long i = 0; i < jobs; i++) {
		if (fork() == 0) {
			unsigned long n = sweep(&good, exact, 1 + i * every, jobs * every);

			_exit(n < 100 ? (int)n : 100);
		}
	}
	for (unsigned long i = 0; i < jobs; i++) {
		int status = 0;

		(void)wait(&status);
		found += WIFEXITED(status) ? (unsigned long)WEXITSTATUS(status) : 100;
	}
	tried = (good.calls + every - 1) / every;
	printf("%lu calls tried, %lu wrong%s\n", tried, found, exact ? "" : " (only lines and words were counted)");
	remove_place(&p);
	return found != 0;
}
