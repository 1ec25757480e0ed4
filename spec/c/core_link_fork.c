/*
 * core_link_fork.c - for linux_network_spec.lua: a process and its child of fork() read the same chain at the same
 * time. Each must get its own answers about network links. Prints how many readings failed in both.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kstat.h"

#define READINGS 300

static int
read_often(kstat_ctl_t *kc)
{
	int failed = 0;

	for (int i = 0; i < READINGS; i++) {
		kstat_t *k = kstat_lookup(kc, "link", 0, "lo");

		failed += k == NULL || kstat_read(kc, k, NULL) < 0 || kstat_data_lookup(k, "mtu") == NULL;
		failed += kstat_chain_update(kc) < 0;
	}
	return failed;
}

int
main(void)
{
	kstat_ctl_t *kc = kstat_open();
	int failed, status = 1;
	pid_t child;

	if (kc == NULL || kstat_read(kc, kstat_lookup(kc, "link", 0, "lo"), NULL) < 0)
		return 2;
	(void)fflush(stdout);
	child = fork();
	failed = child < 0 ? 1 : read_often(kc);
	if (child == 0)
		_exit(failed > 0);
	if (child > 0)
		(void)waitpid(child, &status, 0);
	printf("%d\n", failed + (status != 0));
	return kstat_close(kc) == 0 ? 0 : 1;
}
