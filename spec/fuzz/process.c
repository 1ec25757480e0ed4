/*
 * process.c - fuzzes the parsers of the files in /proc/PID. The input is the contents of stat, status, io, schedstat,
 * of a thread's stat and of fdinfo, with lines "%%" in between. Whatever they are, listing and reading must end and stay inside
 * memory. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain/chain.h"
#include "select/selector.h"
#include "source/source.h"
#include "source/sources.h"
#include "tree.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ks_selector processes, threads, gpus;
static char root[64];

static void
make_root(void)
{
	(void)snprintf(root, sizeof(root), "/dev/shm/kstat-fuzz.XXXXXX");
	check(mkdtemp(root) != NULL, root);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void
remove_root(void)
{
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
clean_up(void)
{
	remove_root();
	ks_selector_free(&processes);
	ks_selector_free(&threads);
	ks_selector_free(&gpus);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const directories[] = { "sys", "proc", "proc/7", "proc/7/task", "proc/7/task/7",
		"proc/7/task/8", "proc/7/fdinfo" };
	char name[512];

	(void)argc;
	(void)argv;
	make_root();
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s/%s", root, directories[i]);
		check(mkdir(name, 0700) == 0, name);
	}
	check(ks_selector_parse(&processes, "process", 7) == 0 && ks_selector_parse(&threads, "thread", 6) == 0 &&
	    ks_selector_parse(&gpus, "process::*,gpu", 14) == 0, "selector");
	check(atexit(clean_up) == 0, "atexit");
	return 0;
}

/* Writes a file; path: below the root. */
static void
put(const char *path, const void *text, size_t len)
{
	char name[512];
	int fd;

	(void)snprintf(name, sizeof(name), "%s/%s", root, path);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd >= 0 && write(fd, text, len) == (ssize_t)len, name);
	(void)close(fd);
}

static void
read_all(kstat_ctl_t *kc)
{
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next)
		read_one(kc, k, true);
	while (ks_chain_warning(kc) != NULL)
		;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const files[] = { "stat", "status", "io", "schedstat", "task/8/stat", "fdinfo/3" };
	const struct ks_selector *const only[] = { &processes, &threads, &gpus };
	const char *text = (const char *)data, *end = text + size;
	char proc[128], sys[128];
	kstat_ctl_t *kc;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *next = text < end ? memmem(text, (size_t)(end - text), "\n%%\n", 4) : NULL;
		char path[64];

		(void)snprintf(path, sizeof(path), "proc/7/%s", files[i]);
		put(path, text, (size_t)((next != NULL ? next + 1 : end) - text));
		text = next != NULL ? next + 4 : end;
	}
	(void)snprintf(proc, sizeof(proc), "%s/proc", root);
	(void)snprintf(sys, sizeof(sys), "%s/sys", root);
	kc = ks_chain_open_source(ks_source_linux_open(proc, sys), &(const struct ks_only){ .selector = only, .n = 3 });
	check(kc != NULL, "open");
	read_all(kc);
	(void)kstat_chain_update(kc);
	read_all(kc);
	(void)kstat_close(kc);
	return 0;
}
