/*
 * terminal.c - plays a terminal for a program that shows a screen every second, and prints what the screen costs:
 *     terminal COLUMNS ROWS SECONDS PROGRAM [ARGUMENT...]
 * prints the CPU time of a second in ms, the median of the bytes of a frame, the peak memory in KiB, and the ms from
 * the start to the last byte of the first frame, with tabs between. With 0 seconds the program is ended after its
 * first frame, whose bytes are printed, and the CPU time is 0. SPDX-License-Identifier: MIT
 *
 * The first frame is whole when the program has shown TEXT characters and then nothing for QUIET ms. A later frame
 * is all that is written within half a second from its first byte: one frame, however many writes it took.
 */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 100, QUIET = 100, FRAME = 500, WARM = 2500, FIRST_LASTS = 20000, FRAMES = 1000 };

/* A terminal: what was shown on it, and the part of an escape sequence that has arrived. */
struct terminal {
	int fd;
	size_t shown; /* characters */
	char sequence[16];
	size_t length;              /* of the sequence; 0: outside of one */
	double first, last, begun;  /* ms: the program's start, the last byte, the first byte of this frame */
	size_t bytes[FRAMES], count; /* of the frames that are counted */
};

static double
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Answers what programs ask terminals: whether all is well, where the cursor is, and what kind it is. */
static void
answer(const struct terminal *t)
{
	static const char *const known[][2] = {
		{ "\033[5n", "\033[0n" }, { "\033[6n", "\033[1;1R" }, { "\033[c", "\033[?1;2c" }, { "\033[0c", "\033[?1;2c" }
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(t->sequence, known[i][0]) == 0 && write(t->fd, known[i][1], strlen(known[i][1])) < 0)
			perror("terminal");
}

/* One byte of output: a sequence is two bytes (three for sets of characters), or ESC [ up to a letter. */
static void
show(struct terminal *t, char byte)
{
	if (byte == '\033') {
		t->length = 0;
	} else if (t->length == 0) {
		t->shown += (unsigned char)byte > ' ' && ((unsigned char)byte & 0xc0) != 0x80;
		return;
	}
	if (t->length < sizeof t->sequence - 1)
		t->sequence[t->length++] = byte;
	t->sequence[t->length] = '\0';
	if (t->length == 1 || (t->length == 2 && strchr("[()", byte) != NULL))
		return;
	if (t->sequence[1] == '[' && (byte < '@' || byte > '~'))
		return;
	answer(t);
	t->length = 0;
}

/* Reads what the program writes until a time, or until it ends; with `first`, until its first frame is whole. */
static void
watch(struct terminal *t, double until, bool first)
{
	char buffer[65536];

	while (now() < until) {
		struct pollfd p = { .fd = t->fd, .events = POLLIN };
		double limit = first ? QUIET : until - now();
		ssize_t n;

		if (poll(&p, 1, (int)limit + 1) == 0 && first && t->shown >= TEXT)
			return;
		if (p.revents == 0)
			continue;
		if ((n = read(t->fd, buffer, sizeof buffer)) <= 0)
			return;
		t->last = now();
		if (t->last - t->begun >= FRAME && t->count < FRAMES - 1) {
			t->begun = t->last;
			t->bytes[t->count++] = 0;
		}
		if (t->count > 0)
			t->bytes[t->count - 1] += (size_t)n;
		for (ssize_t i = 0; i < n; i++)
			show(t, buffer[i]);
	}
}

static double
cpu_ms(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		(void)clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long
peak_memory(pid_t pid)
{
	char path[64], line[256];
	long kb = 0;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if ((f = fopen(path, "r")) == NULL)
		return 0;
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "VmHWM:", 6) == 0)
			kb = atol(line + 6);
	(void)fclose(f);
	return kb;
}

static int
compare(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	struct terminal t = { .first = now() };
	struct winsize size = { 0 };
	double cpu = 0, seconds, first;
	pid_t pid;

	if (argc < 5) {
		(void)fprintf(stderr, "usage: terminal COLUMNS ROWS SECONDS PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	size.ws_col = (unsigned short)atoi(argv[1]);
	size.ws_row = (unsigned short)atoi(argv[2]);
	seconds = atof(argv[3]);
	if ((pid = forkpty(&t.fd, NULL, NULL, &size)) == 0) {
		(void)execvp(argv[4], argv + 4);
		perror(argv[4]);
		_exit(127);
	}
	watch(&t, now() + FIRST_LASTS, true);
	first = t.last - t.first;
	if (seconds > 0) {
		watch(&t, t.first + WARM, false);
		t.count = 0;
		cpu = cpu_ms(pid);
		watch(&t, now() + seconds * 1e3, false);
		cpu = (cpu_ms(pid) - cpu) / seconds;
		qsort(t.bytes, t.count, sizeof t.bytes[0], compare);
	}
	if (t.shown < TEXT || waitpid(pid, NULL, WNOHANG) != 0) {
		(void)fprintf(stderr, "terminal: %s showed no frame, or ended\n", argv[4]);
		(void)kill(pid, SIGKILL);
		return 1;
	}
	(void)printf("%.3f\t%zu\t%ld\t%.2f\n", cpu, t.bytes[t.count / 2], peak_memory(pid), first);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return 0;
}
