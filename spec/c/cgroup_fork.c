/*
 * cgroup_fork.c - for linux_group_spec.lua: cgroup_fork PROC SYS DIRECTORY opens a chain, forks, and creates the groups
 * "child" and "parent" in the directory, one after the other. Prints for each process and group whether its chain found
 * the group. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kstat.h"

/* Creates the group if the directory is given, updates the chain, and prints whether it has the group. */
static void
look(kstat_ctl_t *kc, const char *who, const char *directory, const char *group)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", directory != NULL ? directory : "", group);
	if (directory != NULL && mkdir(path, 0755) != 0)
		perror(path);
	(void)kstat_chain_update(kc);
	printf("%s: %s: %s\n", who, group, kstat_lookup(kc, "cgroup", -1, group) != NULL ? "found" : "not found");
	(void)fflush(stdout);
}

int
main(int argc, char **argv)
{
	kstat_ctl_t *kc = argc == 4 ? kstat_open_roots(argv[1], argv[2]) : NULL;
	pid_t child;

	if (kc == NULL)
		return 2;
	/* The second update needs no walk. */
	(void)kstat_chain_update(kc);
	(void)kstat_chain_update(kc);
	child = fork();
	if (child == 0) {
		look(kc, "child", argv[3], "child");
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
	look(kc, "parent", NULL, "child");
	look(kc, "parent", argv[3], "parent");
	return kstat_close(kc);
}
