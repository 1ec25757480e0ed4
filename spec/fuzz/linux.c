/*
 * linux.c - fuzzes the parsers of /proc and /sys. The first line of the input names a file of a tree in spec/trees,
 * such as "cgroup-v1/proc/diskstats"; without the name of the tree it is the first that has the file. What follows are
 * its contents at one reading after the other, with lines "%%" in between. Whatever they are, opening, reading and
 * updating must end and stay inside memory. The trees are unpacked below $KSTAT_BUILD/trees.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain/chain.h"
#include "select/operand.h"
#include "source/source.h"
#include "tree.h"

#define MOST_FILES 4096
#define LARGEST 65536
#define READINGS 4

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct file {
	char *path; /* below root, which begins with the name of the tree */
	char *text; /* as it is in the tree */
	size_t len;
} files[MOST_FILES];
static size_t nfiles;
static char trees[512]; /* the directory of trees, with a slash at its end */
static struct ks_selector asked[4];
static const struct ks_selector *const also[] = { &asked[0], &asked[1], &asked[2], &asked[3] };
static const struct ks_only on_demand = { .also = also, .nalso = 4, .for_program = true };

/* Copies a directory or a file of the tree. */
static int
copy(const char *from, const struct stat *st, int kind, struct FTW *ftw)
{
	const char *below = ftw->level > 0 ? from + strlen(trees) : "";
	const char *rest = strncmp(below, "fs/", 3) == 0 ? below + 3 : NULL;
	char path[512], name[512];

	if (ftw->level == 0)
		return 0;
	/* The tree fs has files that are missing in the small one, and belong to its other files. */
	(void)snprintf(path, sizeof(path), "%s%s", rest != NULL ? "small/" : "", rest != NULL ? rest : below);
	(void)snprintf(name, sizeof(name), "%s/%s", root, path);
	if (kind == FTW_D) {
		check(mkdir(name, 0700) == 0 || errno == EEXIST, name);
	} else if (kind == FTW_SL) {
		char to[512] = "";

		check(readlink(from, to, sizeof(to) - 1) > 0 && symlink(to, name) == 0, name);
	} else if (kind == FTW_F && ftw->level > 1 && nfiles < MOST_FILES && st->st_size <= LARGEST) {
		struct file *f = &files[nfiles++];
		int fd = open(from, O_RDONLY | O_CLOEXEC);

		f->path = strdup(path);
		f->text = malloc((size_t)st->st_size + 1);
		check(fd >= 0 && f->path != NULL && f->text != NULL, from);
		f->len = (size_t)read(fd, f->text, (size_t)st->st_size);
		(void)close(fd);
		put(f->path, f->text, f->len);
	}
	return 0;
}

static void
clean_up(void)
{
	remove_root();
	for (size_t i = 0; i < 4; i++)
		ks_selector_free(&asked[i]);
}

/* Orders files by their paths, with those of the smallest tree first. */
static int
by_path(const void *a, const void *b)
{
	const char *x = ((const struct file *)a)->path, *y = ((const struct file *)b)->path;
	int order = (strncmp(y, "small/", 6) == 0) - (strncmp(x, "small/", 6) == 0);

	return order != 0 ? order : strcmp(x, y);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const modules[] = { "process", "thread", "intr_cpu", "softirq_cpu" };
	const char *build = getenv("KSTAT_BUILD");
	char small[128];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < 4; i++)
		check(ks_selector_parse(&asked[i], modules[i], strlen(modules[i])) == 0, modules[i]);
	make_root();
	check(atexit(clean_up) == 0, "atexit");
	(void)snprintf(small, sizeof(small), "%s/small", root);
	check(mkdir(small, 0700) == 0, small);
	(void)snprintf(trees, sizeof(trees), "%s/trees/", build != NULL ? build : "build");
	check(nftw(trees, copy, 16, FTW_PHYS) == 0 && nfiles > 0, trees);
	qsort(files, nfiles, sizeof(files[0]), by_path);
	return 0;
}

/* The file that a line names; any one if there is none of that name. */
static const struct file *
file_of(const char *line, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < nfiles; i++) {
		const char *rest = strchr(files[i].path, '/') + 1;

		if ((strlen(files[i].path) == n && memcmp(files[i].path, line, n) == 0) ||
		    (strlen(rest) == n && memcmp(rest, line, n) == 0))
			return &files[i];
	}
	for (size_t i = 0; i < n; i++)
		sum += (unsigned char)line[i];
	return &files[sum % nfiles];
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size, *line = memchr(text, '\n', size);
	const struct file *f = file_of(text, line != NULL ? (size_t)(line - text) : 0);
	char proc[128], sys[128];
	kstat_ctl_t *kc = NULL;
	int tree;

	tree = (int)strcspn(f->path, "/");
	(void)snprintf(proc, sizeof(proc), "%s/%.*s/proc", root, tree, f->path);
	(void)snprintf(sys, sizeof(sys), "%s/%.*s/sys", root, tree, f->path);
	text = line != NULL ? line + 1 : text;
	for (int i = 0; i < READINGS && text < end; i++) {
		const char *next = memmem(text, (size_t)(end - text), "\n%%\n", 4);

		put(f->path, text, (size_t)((next != NULL ? next + 1 : end) - text));
		if (kc == NULL)
			kc = ks_chain_open_source(ks_source_linux_open(proc, sys), &on_demand);
		else
			(void)kstat_chain_update(kc);
		check(kc != NULL, "open");
		read_all(kc);
		text = next != NULL ? next + 4 : end;
	}
	if (kc != NULL)
		(void)kstat_close(kc);
	put(f->path, f->text, f->len);
	return 0;
}
