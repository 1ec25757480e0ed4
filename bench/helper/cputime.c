/*
 * cputime.c - runs a program several times and prints the least CPU time (user + system, ms),
 * the least wall time (ms) and the greatest peak memory (KiB) of a run, with tabs between.
 *     cputime RUNS PROGRAM [ARGUMENT...]
 * The program's output is discarded. Exit status 1 if a run failed (status 2 or more, or a
 * signal). SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
milliseconds(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void
run(char **argv)
{
	int null = open("/dev/null", O_RDWR);

	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int
main(int argc, char **argv)
{
	double cpu = 1e18, wall = 1e18;
	long memory = 0;
	int runs;

	if (argc < 3 || (runs = atoi(argv[1])) < 1) {
		(void)fprintf(stderr, "usage: cputime RUNS PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	for (int i = 0; i < runs; i++) {
		struct rusage ru;
		double start = now(), c, w;
		int status;
		pid_t pid = fork();

		if (pid == 0)
			run(argv + 2);
		if (pid < 0 || wait4(pid, &status, 0, &ru) != pid) {
			perror("cputime");
			return 1;
		}
		w = now() - start;
		c = milliseconds(ru.ru_utime) + milliseconds(ru.ru_stime);
		if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
			(void)fprintf(stderr, "cputime: %s failed\n", argv[2]);
			return 1;
		}
		cpu = c < cpu ? c : cpu;
		wall = w < wall ? w : wall;
		memory = ru.ru_maxrss > memory ? ru.ru_maxrss : memory;
	}
	(void)printf("%.3f\t%.3f\t%ld\n", cpu, wall, memory);
	return 0;
}
