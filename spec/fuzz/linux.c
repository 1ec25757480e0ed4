/*
 * linux.c - fuzzes the parsers of /proc and /sys. The first line of the input names a file of a tree in spec/trees,
 * such as "cgroup-v1/proc/diskstats"; without the name of the tree it is the first that has the file. What follows are
 * its contents at one reading after the other, with lines "%%" in between. Whatever they are, opening, reading and
 * updating must end and stay inside memory. The trees are unpacked below $KSTAT_BUILD/trees.
 * A run must be short: the trees are in memory (memory_files.h), only those subsystems look that open the file, or need
 * one that does, and those kstats are read for which it is opened, or which are new. Which these are is seen at the
 * begin, when all of each tree is read; functions of the library that tell it are wrapped by the linker for that. Of
 * OWN inputs one opens a chain of its own; the others go on with one whose file has become again what it was.
 * SPDX-License-Identifier: MIT
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
#include "memory_files.h"
#include "source/sources.h"
#include "tree.h"
#define ks_values ks_linux_values /* another one than that of tree.h */
#include "source/linux/linux.h"

#define MOST_FILES 4096
#define LARGEST 65536
#define READINGS 4
#define CHAINS 64
#define USES 500 /* of a chain, before it is opened anew */
#define OWN 16   /* one input of so many has a chain of its own */

const char *__asan_default_options(void);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct file {
	char *path; /* below root, which begins with the name of the tree */
	char *text; /* as it is in the tree */
	size_t len;
	struct node *node;
	uint64_t subsystems; /* those that open it, and those that they need: one bit each */
	uint64_t kstats[16]; /* those for which it is opened: a bit of their hash for many */
} files[MOST_FILES];
static size_t nfiles;
static char trees[512]; /* the directory of trees, with a slash at its end */
static struct ks_selector asked[4];
static const struct ks_selector *const also[] = { &asked[0], &asked[1], &asked[2], &asked[3] };
static const struct ks_only on_demand = { .also = also, .nalso = 4, .for_program = true };

static struct chain {
	kstat_ctl_t *kc;
	const char *tree; /* begins with its name and a slash */
	uint64_t subsystems, used;
	unsigned uses;
} chains[CHAINS];
static uint64_t now; /* counts the inputs */

/* --- who opens what ----------------------------------------------------------------------------------- */

_Static_assert(KS_SUB_COUNT <= 64, "a word has a bit for each subsystem");

static size_t at_work;              /* the subsystem that was asked for last */
static const kstat_t *is_read;      /* the kstat that is read */
static bool known[1 << 16];         /* by their hashes: kstats that are there without changes */
static uint64_t look = UINT64_MAX;  /* the subsystems that look */

const struct ks_subsystem *__real_ks_linux_subsystem(size_t sub);
const struct ks_subsystem *__wrap_ks_linux_subsystem(size_t sub);
void __real_ks_linux_choose(struct ks_linux *lx, struct ks_scan *scan);
void __wrap_ks_linux_choose(struct ks_linux *lx, struct ks_scan *scan);
const struct ks_image *__real_ks_linux_image(struct ks_linux *lx, const struct ks_file *file);
const struct ks_image *__wrap_ks_linux_image(struct ks_linux *lx, const struct ks_file *file);

UNSEEN static uint64_t
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
learn(const struct node *node)
{
	struct file *f = node != NULL ? node->owner : NULL;

	if (f != NULL) {
		f->subsystems |= UINT64_C(1) << at_work;
		if (is_read != NULL)
			f->kstats[hash_of(is_read) >> 60] |= UINT64_C(1) << (hash_of(is_read) >> 54 & 63);
	}
}

UNSEEN const struct ks_subsystem *
__wrap_ks_linux_subsystem(size_t sub)
{
	at_work = sub;
	return __real_ks_linux_subsystem(sub);
}

/* One reading is for all who need the file in a round. */
UNSEEN const struct ks_image *
__wrap_ks_linux_image(struct ks_linux *lx, const struct ks_file *file)
{
	if (is_opened != NULL)
		learn(node_at(lx->root[file->root].fd, file->path, true));
	return __real_ks_linux_image(lx, file);
}

UNSEEN void
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
	f->node->text = text;
	f->node->len = len;
}

/* Copies a directory or a file of the tree. */
static int
copy(const char *from, const struct stat *st, int kind, struct FTW *ftw)
{
	const char *below = ftw->level > 0 ? from + strlen(trees) : "";
	const char *rest = strncmp(below, "fs/", 3) == 0 ? below + 3 : NULL;
	char path[512];

	if (ftw->level == 0)
		return 0;
	/* The tree fs has files that are missing in the small one, and belong to its other files. */
	(void)snprintf(path, sizeof(path), "%s%s", rest != NULL ? "small/" : "", rest != NULL ? rest : below);
	if (kind == FTW_D) {
		check(add_node(path, S_IFDIR | 0700, NULL, 0) != NULL, path);
	} else if (kind == FTW_SL) {
		char to[512] = "";

		check(readlink(from, to, sizeof(to) - 1) > 0 && add_node(path, S_IFLNK | 0777, strdup(to), strlen(to)) != NULL,
		    path);
	} else if (kind == FTW_F && ftw->level > 1 && nfiles < MOST_FILES && st->st_size <= LARGEST) {
		struct file *f = &files[nfiles++];
		int fd = open(from, O_RDONLY | O_CLOEXEC);

		f->path = strdup(path);
		f->text = malloc((size_t)st->st_size + 1);
		check(fd >= 0 && f->path != NULL && f->text != NULL, from);
		f->len = (size_t)read(fd, f->text, (size_t)st->st_size);
		(void)close(fd);
		f->node = add_node(path, S_IFREG | 0600, f->text, f->len);
		check(f->node != NULL, path);
	}
	return 0;
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

	(void)snprintf(proc, sizeof(proc), MEMORY_ROOT "%.*s/proc", tree, path);
	(void)snprintf(sys, sizeof(sys), MEMORY_ROOT "%.*s/sys", tree, path);
	return ks_chain_open_source(ks_source_linux_open(proc, sys), &on_demand);
}

/* Reads the kstats of a tree: all, or those that need a file, and new ones. */
UNSEEN static void
read_kstats(kstat_ctl_t *kc, const struct file *f, bool describes)
{
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		uint64_t hash = hash_of(k);

		is_read = k;
		if (f == NULL)
			known[hash & 0xffff] = true;
		if (f == NULL || (f->kstats[hash >> 60] >> (hash >> 54 & 63) & 1) != 0 || !known[hash & 0xffff])
			read_one(kc, k, describes || !known[hash & 0xffff]);
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

	is_opened = learn;
	for (size_t i = 0; i < nfiles; i++)
		files[i].node->owner = &files[i];
	for (size_t i = 0; i < nfiles; i++) {
		kstat_ctl_t *kc;

		if (i > 0 && strncmp(files[i].path, files[i - 1].path, strcspn(files[i].path, "/") + 1) == 0)
			continue;
		kc = open_tree(files[i].path);
		check(kc != NULL, "open");
		read_kstats(kc, NULL, true);
		(void)kstat_close(kc);
	}
	is_opened = NULL;
	for (size_t i = 0; i < nfiles; i++) {
		files[i].subsystems = with_needs(files[i].subsystems);
		if (files[i].subsystems != 0)
			files[n++] = files[i];
		else
			free(files[i].path);
	}
	nfiles = n;
}

/*
 * Which numbers were compared is noted by libFuzzer, to try them. Of texts that is a third of the time, and finds no
 * more: the words of a file are compared by memcmp() and strcmp(), which it notes still.
 */
#define NOT_NOTED(name, type) \
	void __wrap___sanitizer_cov_trace_##name(type a, type b); \
	UNSEEN void __wrap___sanitizer_cov_trace_##name(type a, type b) \
	{ \
		(void)a; \
		(void)b; \
	}
NOT_NOTED(cmp1, uint8_t)
NOT_NOTED(cmp4, uint32_t)
NOT_NOTED(cmp8, uint64_t)
NOT_NOTED(const_cmp1, uint8_t)
NOT_NOTED(const_cmp4, uint32_t)
NOT_NOTED(const_cmp8, uint64_t)

/* What is freed need not stay for long: memory that was used lately is faster. */
const char *
__asan_default_options(void)
{
	return "quarantine_size_mb=8:malloc_context_size=6";
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const modules[] = { "process", "thread", "intr_cpu", "softirq_cpu" };
	const char *build = getenv("KSTAT_BUILD");

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < 4; i++)
		check(ks_selector_parse(&asked[i], modules[i], strlen(modules[i])) == 0, modules[i]);
	check(add_node("small", S_IFDIR | 0700, NULL, 0) != NULL, "small");
	(void)snprintf(trees, sizeof(trees), "%s/trees/", build != NULL ? build : "build");
	check(nftw(trees, copy, 16, FTW_PHYS) == 0 && nfiles > 0, trees);
	qsort(files, nfiles, sizeof(files[0]), by_path);
	learn_all();
	return 0;
}

/* The file that a line names; any one if there is none of that name. */
UNSEEN static const struct file *
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

/* --- chains --------------------------------------------------------------------------------------------- */

/* The chain of a tree and of those subsystems that a file needs; the longest unused one makes place for it. */
UNSEEN static struct chain *
chain_of(const struct file *f)
{
	size_t tree = strcspn(f->path, "/");
	struct chain *c = chains;

	for (struct chain *p = chains; p < chains + CHAINS; p++) {
		if (p->kc != NULL && p->subsystems == f->subsystems && strncmp(p->tree, f->path, tree + 1) == 0) {
			c = p;
			break;
		}
		if (p->used < c->used)
			c = p;
	}
	if (c->kc == NULL || c->subsystems != f->subsystems || strncmp(c->tree, f->path, tree + 1) != 0 ||
	    c->uses++ == USES) {
		if (c->kc != NULL)
			(void)kstat_close(c->kc);
		*c = (struct chain){ .kc = open_tree(f->path), .tree = f->path, .subsystems = f->subsystems };
		check(c->kc != NULL, "open");
	}
	c->used = ++now;
	return c;
}

UNSEEN int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size, *line = memchr(text, '\n', size);
	const struct file *f = file_of(text, line != NULL ? (size_t)(line - text) : 0);
	bool own = name_hash(text, size) % OWN == 0;
	kstat_ctl_t *kc = NULL;

	look = f->subsystems;
	if (!own)
		kc = chain_of(f)->kc;
	text = line != NULL ? line + 1 : text;
	for (int i = 0; i < READINGS && text < end; i++) {
		const char *next = memmem(text, (size_t)(end - text), "\n%%\n", 4);

		change(f, text, (size_t)((next != NULL ? next + 1 : end) - text));
		if (kc == NULL)
			kc = open_tree(f->path);
		else
			(void)kstat_chain_update(kc);
		check(kc != NULL, "open");
		read_kstats(kc, f, own);
		text = next != NULL ? next + 4 : end;
	}
	change(f, f->text, f->len);
	if (kc != NULL && own)
		(void)kstat_close(kc);
	else if (kc != NULL)
		(void)kstat_chain_update(kc);
	return 0;
}
