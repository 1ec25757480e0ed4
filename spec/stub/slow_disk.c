/*
 * slow_disk.c - a stub of a disk that does not answer, to be preloaded: pwrite() waits as long as the file that
 * $SLOW_DISK names is there. SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static void
wait_for_disk(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	const char *file = getenv("SLOW_DISK");

	while (file != NULL && access(file, F_OK) == 0)
		(void)nanosleep(&moment, NULL);
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	ssize_t (*real)(int, const void *, size_t, off_t);

	wait_for_disk();
	*(void **)&real = dlsym(RTLD_NEXT, "pwrite");
	return real(fd, p, n, at);
}
