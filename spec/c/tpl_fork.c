/*
 * tpl_fork.c - forks while another thread changes and reads the list of templates: the
 * children must be able to use it. Prints how many did. SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "statsblob.h"

#define FORKS 200

static atomic_bool stop;
static atomic_long rounds;

static void *
change(void *arg)
{
	char name[32];
	long i = 0;

	(void)arg;
	while (!atomic_load(&stop)) {
		/* A few to be added, many that are there already: the lock is busy, memory is not. */
		(void)snprintf(name, sizeof(name), "t%ld", i < 2000 ? i++ : 0);
		(void)stats_tpl_alloc(name, 0);
		(void)stats_tpl_fetch_allocid("t0", 0);
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

int
main(void)
{
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_CRHIST32_LIN(0, 100, 10, 0) };
	pthread_t writer, reader;
	int fine = 0;

	(void)pthread_create(&writer, NULL, change, NULL);
	(void)pthread_create(&reader, NULL, change, NULL);
	while (atomic_load(&rounds) < 100)
		(void)sched_yield();
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			int id;

			/* A child that waits for ever ends by this. */
			(void)alarm(120);
			id = stats_tpl_alloc("child", 0);
			_exit(id >= 0 &&
			    stats_tpl_add_voistats((uint32_t)id, 0, "v", VSD_DTYPE_INT_U64, NVSS(vss), vss, 0) ==
			        0 && stats_blob_alloc((uint32_t)id, 0) != NULL ? 0 : 1);
		}
		if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
			fine++;
		else
			break;
	}
	atomic_store(&stop, true);
	(void)pthread_join(writer, NULL);
	(void)pthread_join(reader, NULL);
	(void)printf("%d of %d\n", fine, FORKS);
	return fine == FORKS ? 0 : 1;
}
