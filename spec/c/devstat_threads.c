/*
 * devstat_threads.c - the process's own list of devices, used by many threads while devices come and go, by
 * children of forks at any moment, and by update functions. Prints what went wrong, then "sound".
 * Usage: devstat_threads ROUNDS. SPDX-License-Identifier: MIT
 */
#include <devstat.h>
#include <errno.h>
#include <kstat_provider.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define DISKS 3

static atomic_int failures, stop;
static _Atomic unsigned long calls;
static sem_t in_update, go_on;

#ifdef __SANITIZE_ADDRESS__
/* ASan of GCC 12 does not take its allocator's locks at a fork: the child of threads that allocate waits for ever. */
static pthread_rwlock_t allocating = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#define MAY_ALLOCATE() (void)pthread_rwlock_rdlock(&allocating)
#define MAY_FORK() (void)pthread_rwlock_wrlock(&allocating)
#define DONE() (void)pthread_rwlock_unlock(&allocating)
#else
#define MAY_ALLOCATE() (void)0
#define MAY_FORK() (void)0
#define DONE() (void)0
#endif

static void
wrong(const char *what)
{
	failures++;
	(void)fprintf(stdout, "%s: %s\n", what, devstat_errbuf);
	(void)fflush(stdout);
}

static kstat_t *
add_disk(int unit, int (*update)(kstat_t *, int))
{
	kstat_t *ksp = kstat_create("da", unit, NULL, "disk", KSTAT_TYPE_IO, 1, 0);

	if (ksp == NULL)
		return NULL;
	ksp->ks_update = update;
	(void)kstat_install(ksp);
	return ksp;
}

/* At least the disks that stay are there, in a list that hangs together. */
static void
look(struct statinfo *stats)
{
	long generation = stats->dinfo->generation;
	int changed = devstat_getdevs(NULL, stats), n = devstat_getnumdevs(NULL);

	calls++;
	if (changed == -1 || n < DISKS || stats->dinfo->numdevs < DISKS)
		wrong("a look at the devices");
	else if (stats->dinfo->generation < generation || devstat_getgeneration(NULL) < generation)
		wrong("a generation that went back");
}

static void *
look_again_and_again(void *arg)
{
	struct devinfo dinfo = { 0 };
	struct statinfo stats = { .dinfo = &dinfo };

	(void)arg;
	while (!stop) {
		MAY_ALLOCATE();
		look(&stats);
		DONE();
	}
	devstat_freedevs(&dinfo);
	return NULL;
}

/* A child must see the devices, and not wait for ever. Its statinfo is the parent's, of a list before. */
static void
fork_and_look(struct statinfo *stats, const char *what)
{
	int status = -1, changed;
	long generation = stats->dinfo->generation;
	pid_t pid = fork();

	if (pid == 0) {
		(void)alarm(120);
		failures = 0;
		look(stats);
		/* The chain is another one: what was known of its devices may not be so. */
		if (stats->dinfo->generation <= generation)
			wrong("the generation in a child");
		changed = devstat_getdevs(NULL, stats);
		if (changed == -1)
			wrong("a second look in a child");
		devstat_close();
		look(stats);
		_exit(failures != 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		failures++;
		(void)printf("%s: the child ended with %d\n", what, status);
		(void)fflush(stdout);
	}
}

static void
many_threads(int rounds)
{
	struct devinfo dinfo = { 0 };
	struct statinfo stats = { .dinfo = &dinfo };
	pthread_t thread[THREADS];

	stop = 0;
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, look_again_and_again, NULL) != 0)
			exit(1);
	}
	for (int i = 0; i < rounds; i++) {
		kstat_t *ksp = add_disk(DISKS + i, NULL);

		look(&stats);
		if (i % 4 == 0)
			devstat_close();
		MAY_FORK();
		fork_and_look(&stats, "beside threads");
		DONE();
		kstat_delete(ksp);
	}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	devstat_freedevs(&dinfo);
}

/* --- update functions ---------------------------------------------------------------------------------- */

static pid_t parent;

/* In the parent it waits in the middle of a look, which holds the lock. */
static int
wait_in_update(kstat_t *ksp, int rw)
{
	(void)ksp;
	if (rw == KSTAT_READ && getpid() == parent && !stop) {
		(void)sem_post(&in_update);
		(void)sem_wait(&go_on);
		stop = 1;
	}
	return 0;
}

static void *
look_once(void *arg)
{
	look(arg);
	return NULL;
}

static void
fork_beside_a_look(void)
{
	struct devinfo dinfo = { 0 }, other_dinfo = { 0 };
	struct statinfo stats = { .dinfo = &dinfo }, other = { .dinfo = &other_dinfo };
	kstat_t *ksp;
	pthread_t thread;

	look(&stats);
	stop = 0;
	ksp = add_disk(99, wait_in_update);
	if (pthread_create(&thread, NULL, look_once, &other) != 0)
		exit(1);
	(void)sem_wait(&in_update);
	fork_and_look(&stats, "in the middle of another thread's look");
	(void)sem_post(&go_on);
	(void)pthread_join(thread, NULL);
	kstat_delete(ksp);
	devstat_freedevs(&dinfo);
	devstat_freedevs(&other_dinfo);
}

static pid_t forked = -1;

static int
fork_in_update(kstat_t *ksp, int rw)
{
	(void)ksp;
	if (rw != KSTAT_READ || forked != -1)
		return 0;
	errno = 0;
	if (devstat_getnumdevs(NULL) != -1 || errno != EDEADLK)
		wrong("a call in an update function");
	devstat_close();
	forked = fork();
	if (forked == 0)
		(void)alarm(120);
	return 0;
}

static void
fork_in_a_look(void)
{
	struct devinfo dinfo = { 0 };
	struct statinfo stats = { .dinfo = &dinfo };
	kstat_t *ksp = add_disk(100, fork_in_update);
	int status = -1;

	/* Both processes come out of it. */
	look(&stats);
	look(&stats);
	if (forked == 0)
		_exit(failures != 0);
	if (forked < 0 || waitpid(forked, &status, 0) != forked || status != 0) {
		failures++;
		(void)printf("forked in an update function: the child ended with %d\n", status);
	}
	kstat_delete(ksp);
	devstat_freedevs(&dinfo);
}

int
main(int argc, char **argv)
{
	kstat_t *disk[DISKS];

	parent = getpid();
	(void)sem_init(&in_update, 0, 0);
	(void)sem_init(&go_on, 0, 0);
	for (int i = 0; i < DISKS; i++)
		disk[i] = add_disk(i, NULL);
	fork_beside_a_look();
	fork_in_a_look();
	many_threads(argc > 1 ? atoi(argv[1]) : 20);
	for (int i = 0; i < DISKS; i++)
		kstat_delete(disk[i]);
	devstat_close();
	(void)printf("%s\n", failures == 0 && calls > 20 ? "sound" : "not sound");
	return failures != 0;
}
