/*
 * read_files.c - reads files at an interval and does nothing else, to measure the kernel's work for them.
 *     read_files [-c] FILE... SECONDS COUNT
 * They stay open, and are read from their start each time. -c: each is opened, read and closed each time. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 2000 };

static char text[64 * 1024];

/* Reads a file to its end; -1 on failure. */
static int
read_whole(int fd)
{
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, text, sizeof(text), at)) > 0)
		at += n;
	return (int)n;
}

/* Opens, reads and closes the files. Returns 0, or 2 with a message. */
static int
read_closed(char **path, int n)
{
	for (int i = 0; i < n; i++) {
		int fd = open(path[i], O_RDONLY);

		if (fd < 0 || read_whole(fd) != 0) {
			perror(path[i]);
			return 2;
		}
		(void)close(fd);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	int fd[MOST], n = argc - 3, ticks = argc > 1 ? atoi(argv[argc - 1]) : 0;

	if (n > 1 && strcmp(argv[1], "-c") == 0) {
		while (ticks-- > 0) {
			if (read_closed(argv + 2, n - 1) != 0)
				return 2;
			if (ticks > 0)
				(void)sleep((unsigned)atoi(argv[argc - 2]));
		}
		return 0;
	}
	if (n < 1 || n > MOST || ticks < 1) {
		(void)fprintf(stderr, "usage: read_files [-c] FILE... SECONDS COUNT\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		fd[i] = open(argv[i + 1], O_RDONLY);
		if (fd[i] < 0) {
			perror(argv[i + 1]);
			return 2;
		}
	}
	while (ticks-- > 0) {
		for (int i = 0; i < n; i++) {
			if (read_whole(fd[i]) != 0)
				return 2;
		}
		if (ticks > 0)
			(void)sleep((unsigned)atoi(argv[argc - 2]));
	}
	return 0;
}
