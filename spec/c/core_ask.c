/*
 * core_ask.c - a file system that does not answer, and the program that asks it: its threads, their signals, a fork.
 * To be run as root in a mount namespace of its own, with an empty directory as its argument. Exits with status 77
 * where FUSE cannot be mounted. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "source/linux/ask.h"

/* The threads of this process but the calling one; the signals that the last one blocks in *blocked. */
static int
other_threads(uint64_t *blocked)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	char path[300], line[128];
	int n = 0;

	while ((e = readdir(dir)) != NULL) {
		FILE *f;

		if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
			continue;
		n++;
		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		if ((f = fopen(path, "r")) == NULL)
			continue;
		while (fgets(line, sizeof(line), f) != NULL)
			(void)sscanf(line, "SigBlk: %" SCNx64, blocked);
		(void)fclose(f);
	}
	(void)closedir(dir);
	return n;
}

/* Waits until this process has that many threads but the calling one: those that were answered end a little later. */
static bool
has_threads(int n, uint64_t *blocked)
{
	for (int i = 0; i < 600 && other_threads(blocked) != n; i++)
		(void)usleep(100000);
	return other_threads(blocked) == n;
}

/* Reads the file system that is mounted there, in a chain of its own. Returns its state; NULL: it is not there. */
static const char *
state_of(const char *point)
{
	static char state[128];
	kstat_ctl_t *kc = kstat_open();
	kstat_named_t *kn;
	bool found = false;

	for (kstat_t *k = kc != NULL ? kc->kc_chain : NULL; k != NULL && !found; k = k->ks_next) {
		if (strcmp(k->ks_class, "fs") != 0 || kstat_read(kc, k, NULL) < 0)
			continue;
		kn = kstat_data_lookup(k, "mount_point");
		found = kn != NULL && strcmp(KSTAT_NAMED_STR_PTR(kn), point) == 0;
		kn = found ? kstat_data_lookup(k, "state") : NULL;
		if (kn != NULL)
			(void)snprintf(state, sizeof(state), "%s", KSTAT_NAMED_STR_PTR(kn));
	}
	(void)kstat_close(kc);
	return found ? state : NULL;
}

static bool
is_silent(const char *point)
{
	const char *state = state_of(point);

	return state != NULL && strcmp(state, "no answer") == 0;
}

static int
ask_one(void *answer)
{
	*(int *)answer = 1;
	return 0;
}

static int
ask_two(void *answer)
{
	*(int *)answer = 2;
	return 0;
}

/* Asks until there is an answer, however long that takes. */
static int
answer_to(const struct ks_question *q)
{
	hrtime_t when;
	int answer = 0;

	while (ks_ask_wait(q, &answer, 0, &when) == EAGAIN)
		(void)usleep(1000);
	return answer;
}

/* Questions of two functions are two questions, whatever their keys are. */
static bool
tells_functions_apart(void)
{
	const struct ks_question one = { "one", ask_one, (uint64_t)(uintptr_t)ask_one, sizeof(int) };
	const struct ks_question two = { "two", ask_two, (uint64_t)(uintptr_t)ask_two, sizeof(int) };

	return answer_to(&one) == 1 && answer_to(&two) == 2;
}

int
main(int argc, char **argv)
{
	char options[96];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), status = 0, tries = 600;
	uint64_t blocked = 0;
	const char *state;
	hrtime_t began;
	pid_t child;

	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (argc != 2 || fd < 0 || mount("silent", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		return 77;

	/* Any number of chains leaves one thread behind, which gets no signal; only the first one waits. */
	CHECK(is_silent(argv[1]));
	CHECK(has_threads(1, &blocked));
	CHECK((~blocked & 0x7fffffff & ~(1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1))) == 0);
	began = gethrtime();
	for (int i = 0; i < 50; i++)
		CHECK(is_silent(argv[1]));
	CHECK(gethrtime() - began < 49 * ks_ask_limit());
	CHECK(has_threads(1, &blocked));

	/* A child asks itself, and ends. */
	child = fork();
	if (child == 0) {
		bool silent = other_threads(&blocked) == 0 && is_silent(argv[1]) && has_threads(1, &blocked);

		_exit(silent ? 0 : 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);

	/* The threads end when the file system does. */
	(void)close(fd);
	CHECK(has_threads(0, &blocked));
	do
		state = state_of(argv[1]);
	while (state != NULL && strcmp(state, "no answer") == 0 && --tries > 0);
	CHECK(state != NULL && strcmp(state, "no answer") != 0 && strcmp(state, "ok") != 0);
	(void)umount2(argv[1], MNT_DETACH);
	CHECK(tells_functions_apart());
	return failures != 0;
}
