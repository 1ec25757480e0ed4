/*
 * linux.c - fuzzes the parsers of /proc and /sys. The first line of the input names a file of a tree in spec/trees,
 * such as "cgroup-v1/proc/diskstats"; without the name of the tree it is the first that has the file. What follows are
 * its contents at one reading after the other, with lines "%%" in between. Whatever they are, opening, reading and
 * updating must end and stay inside memory. The trees are unpacked below $KSTAT_BUILD/trees.
 * Opening the hundreds of files of a tree takes a hundred times as long as parsing one: only those subsystems look that
 * open the file, or need one that does, and those kstats are read for which it is opened, or which are new. Which these
 * are is seen at the begin, when all of each tree is read; the functions of the library that tell it are wrapped by the
 * linker for that.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain/chain.h"
#include "select/selector.h"
#include "source/source.h"
#include "source/sources.h"
#include "tree.h"
#define ks_values ks_linux_values /* another one than that of tree.h */
#include "source/linux/linux.h"

#define MOST_FILES 4096
#define LARGEST 65536
#define READINGS 4

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct file {
	char *path; /* below root, which begins with the name of the tree */
	char *text; /* as it is in the tree */
	size_t len;
	int fd;              /* as it is below root; open for writing */
	uint64_t subsystems; /* those that open it, and those that they need: one bit each */
	uint64_t kstats;     /* those for which it is opened: a bit of their hash for many */
} files[MOST_FILES];
static size_t nfiles;
static char trees[512]; /* the directory of trees, with a slash at its end */
static struct ks_selector asked[4];
static const struct ks_selector *const also[] = { &asked[0], &asked[1], &asked[2], &asked[3] };
static const struct ks_only on_demand = { .also = also, .nalso = 4, .for_program = true };

/* --- who opens what ----------------------------------------------------------------------------------- */

_Static_assert(KS_SUB_COUNT <= 64, "a word has a bit for each subsystem");

static size_t at_work;              /* the subsystem that was asked for last */
static const kstat_t *is_read;      /* the kstat that is read */
static bool known[1 << 16];         /* by their hashes: kstats that are there without changes */
static bool learns;                 /* who opens what is noted */
static uint64_t look = UINT64_MAX;  /* the subsystems that look */

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
const struct ks_subsystem *__real_ks_linux_subsystem(size_t sub);
const struct ks_subsystem *__wrap_ks_linux_subsystem(size_t sub);
void __real_ks_linux_choose(struct ks_linux *lx, struct ks_scan *scan);
void __wrap_ks_linux_choose(struct ks_linux *lx, struct ks_scan *scan);
const struct ks_image *__real_ks_linux_image(struct ks_linux *lx, const struct ks_file *file);
const struct ks_image *__wrap_ks_linux_image(struct ks_linux *lx, const struct ks_file *file);

static uint64_t
hash_of(const kstat_t *k)
{
	uint64_t hash = 14695981039346656037u + (unsigned)k->ks_instance;

	for (const char *p = k->ks_module; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	for (const char *p = k->ks_name; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	return hash;
}

/* Notes that the subsystem at work opens a file. */
static void
learn(int dir, const char *path)
{
	char link[64], name[PATH_MAX + 512];
	ssize_t n;

	if (!learns || *path == '/')
		return;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, name, PATH_MAX);
	if (n < (ssize_t)strlen(root))
		return;
	(void)snprintf(name + n, 512, "/%s", path);
	for (size_t i = 0; i < nfiles; i++) {
		if (strcmp(files[i].path, name + strlen(root) + 1) == 0) {
			files[i].subsystems |= UINT64_C(1) << at_work;
			files[i].kstats |= is_read != NULL ? UINT64_C(1) << (hash_of(is_read) >> 58) : 0;
		}
	}
}

int
__wrap_openat(int dir, const char *path, int flags, ...)
{
	learn(dir, path);
	return __real_openat(dir, path, flags, 0600);
}

const struct ks_subsystem *
__wrap_ks_linux_subsystem(size_t sub)
{
	at_work = sub;
	return __real_ks_linux_subsystem(sub);
}

/* One reading is for all who need the file in a round. */
const struct ks_image *
__wrap_ks_linux_image(struct ks_linux *lx, const struct ks_file *file)
{
	learn(lx->root[file->root].fd, file->path);
	return __real_ks_linux_image(lx, file);
}

void
__wrap_ks_linux_choose(struct ks_linux *lx, struct ks_scan *scan)
{
	__real_ks_linux_choose(lx, scan);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		if ((look >> s & 1) == 0)
			lx->sub[s].off = true;
	}
}

/* Adds the subsystems that others need. */
static uint64_t
with_needs(uint64_t set)
{
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_subsystem *sub = __real_ks_linux_subsystem(s);

		for (size_t p = 0; p < sub->nparts && (set >> s & 1) != 0; p++) {
			for (size_t other = 0; other < KS_SUB_COUNT && sub->parts[p].needs != NULL; other++) {
				if (__real_ks_linux_subsystem(other) == sub->parts[p].needs)
					set |= UINT64_C(1) << other;
			}
		}
	}
	return set;
}

/* --- the trees ----------------------------------------------------------------------------------------- */

static void
change(const struct file *f, const char *text, size_t len)
{
	check(ftruncate(f->fd, 0) == 0 && pwrite(f->fd, text, len, 0) == (ssize_t)len, f->path);
}

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
		f->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		change(f, f->text, f->len);
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

static kstat_ctl_t *
open_tree(const char *path)
{
	char proc[128], sys[128];
	int tree = (int)strcspn(path, "/");

	(void)snprintf(proc, sizeof(proc), "%s/%.*s/proc", root, tree, path);
	(void)snprintf(sys, sizeof(sys), "%s/%.*s/sys", root, tree, path);
	return ks_chain_open_source(ks_source_linux_open(proc, sys), &on_demand);
}

/* Reads the kstats of a tree: all, or those that need a file, and new ones. */
static void
read_kstats(kstat_ctl_t *kc, const struct file *f)
{
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		uint64_t hash = hash_of(k);

		is_read = k;
		if (f == NULL)
			known[hash & 0xffff] = true;
		if (f == NULL || (f->kstats >> (hash >> 58) & 1) != 0 || !known[hash & 0xffff])
			read_one(kc, k);
	}
	is_read = NULL;
	while (ks_chain_warning(kc) != NULL)
		;
}

/* Reads each tree, to see who opens what; leaves out files that nobody opens. */
static void
learn_all(void)
{
	size_t n = 0;

	learns = true;
	for (size_t i = 0; i < nfiles; i++) {
		kstat_ctl_t *kc;

		if (i > 0 && strncmp(files[i].path, files[i - 1].path, strcspn(files[i].path, "/") + 1) == 0)
			continue;
		kc = open_tree(files[i].path);
		check(kc != NULL, "open");
		read_kstats(kc, NULL);
		(void)kstat_close(kc);
	}
	learns = false;
	for (size_t i = 0; i < nfiles; i++) {
		files[i].subsystems = with_needs(files[i].subsystems);
		if (files[i].subsystems != 0) {
			files[n++] = files[i];
			continue;
		}
		(void)close(files[i].fd);
		free(files[i].path);
		free(files[i].text);
	}
	nfiles = n;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const modules[] = { "process", "thread", "intr_cpu", "softirq_cpu" };
	const struct rlimit many = { MOST_FILES + 256, MOST_FILES + 256 };
	const char *build = getenv("KSTAT_BUILD");
	char small[128];

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < 4; i++)
		check(ks_selector_parse(&asked[i], modules[i], strlen(modules[i])) == 0, modules[i]);
	check(setrlimit(RLIMIT_NOFILE, &many) == 0, "setrlimit"); /* each file stays open */
	make_root();
	check(atexit(clean_up) == 0, "atexit");
	(void)snprintf(small, sizeof(small), "%s/small", root);
	check(mkdir(small, 0700) == 0, small);
	(void)snprintf(trees, sizeof(trees), "%s/trees/", build != NULL ? build : "build");
	check(nftw(trees, copy, 16, FTW_PHYS) == 0 && nfiles > 0, trees);
	qsort(files, nfiles, sizeof(files[0]), by_path);
	learn_all();
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
	kstat_ctl_t *kc = NULL;

	look = f->subsystems;
	text = line != NULL ? line + 1 : text;
	for (int i = 0; i < READINGS && text < end; i++) {
		const char *next = memmem(text, (size_t)(end - text), "\n%%\n", 4);

		change(f, text, (size_t)((next != NULL ? next + 1 : end) - text));
		if (kc == NULL)
			kc = open_tree(f->path);
		else
			(void)kstat_chain_update(kc);
		check(kc != NULL, "open");
		read_kstats(kc, f);
		text = next != NULL ? next + 4 : end;
	}
	if (kc != NULL)
		(void)kstat_close(kc);
	change(f, f->text, f->len);
	return 0;
}
