/*
 * core_hostile.c - neighbours that mean harm: each part plays one, and the process that it is after must go on. Says
 * what went wrong, or "unharmed". Usage: core_hostile PART, or core_hostile neighbour
 * heavy|locked|files N, which publishes N times as another user and stays; KSTAT_DIR set. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kstat_blob.h"
#include "kstat_provider.h"
#include "provider/segment/segment.h"

#define NOBODY 65534

static kstat_t *
counters(kstat_pub_t *pub, const char *name, uchar_t flags)
{
	kstat_t *k = kstat_publish_create(pub, "hostile", 0, name, "misc", KSTAT_TYPE_NAMED, 2, flags);

	if (k == NULL)
		return NULL;
	kstat_named_init(&KSTAT_NAMED_PTR(k)[0], "a", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(k)[1], "text", KSTAT_DATA_STRING);
	(void)kstat_publish_shards(k, 4);
	return kstat_install(k) == 0 ? k : NULL;
}

static void
become_nobody(void)
{
	if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		_exit(9);
}

/* --- a worker that writes where it can -------------------------------------------------------------- */

/* What a worker does to the mapping that it shares with its master. */
enum harm { USED, SIZES, FREE_LIST, LAYOUTS, NAMES, BLOB, NOISE, HARMS };

static void
harm(kstat_pub_t *pub, enum harm what, unsigned seed)
{
	struct ks_seg_header *h = pub->header;
	uint64_t far = seed % 2 ? 1ULL << 60 : (uint64_t)pub->mapped + 4096;
	uint64_t used = atomic_load(&h->used);

	srandom(seed);
	switch (what) {
	case USED:
		atomic_store(&h->used, far);
		break;
	case FREE_LIST:
		atomic_store(&h->free_first, UINT32_MAX - seed);
		atomic_store(&h->free_last, UINT32_MAX / 2 - seed);
		break;
	case BLOB:
		for (struct ks_published *d = pub->kstats; d != NULL; d = d->next) {
			if (d->e.form == KS_FORM_BYTES)
				memset((char *)d->entry + d->e.data + seed * 16, 0xff, d->e.data_size - seed * 16);
		}
		break;
	case NOISE:
		for (uint64_t i = 256; i < used; i++) {
			if (random() % 4 == 0)
				((char *)h)[i] = (char)random();
		}
		/* What is locked costs a second each time; most of the noise is about the rest. */
		atomic_store(&h->lock, 0);
		atomic_store(&h->used, used);
		break;
	default:
		for (uint64_t at = KS_SEG_HEADER; at < used && at < pub->mapped; at += KS_SEG_ALIGN) {
			struct ks_seg_entry *e = ks_seg_entry_at(pub, at);

			if (e->magic != KS_SEG_ENTRY_MAGIC)
				continue;
			if (what == SIZES) {
				e->size = far;
			} else if (what == NAMES) {
				memset(e->module, 'x', sizeof(e->module));
				memset(e->name, 'x', sizeof(e->name));
			} else {
				e->data = e->fields = e->owners = UINT32_MAX - 63;
				e->nfields = e->shards = e->ndata = UINT32_MAX;
				e->data_size = far;
			}
		}
	}
}

/* A kstat whose bytes are a statsblob, which this process makes again; what it was is looked at. */
static bool
blob(kstat_pub_t *pub)
{
	static int tpl = -1;
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_TDGSTCLUST32(4, 4) };
	struct statsblob *copy = NULL;
	kstat_blob_t *b;
	kstat_t *k;

	if (tpl < 0 && ((tpl = stats_tpl_alloc("hostile", 0)) < 0 ||
	    stats_tpl_add_voistats((uint32_t)tpl, 0, "voi", VSD_DTYPE_INT_S64, NVSS(vss), vss, 0) != 0))
		return false;
	k = kstat_publish_statsblob(pub, "hostile", 0, "blob", "misc", (uint32_t)tpl, 2, 0);
	if (k == NULL || kstat_install(k) != 0)
		return false;
	b = kstat_blob(k);
	if (b == NULL)
		return false;
	(void)kstat_blob_voi(b, "none");
	if (kstat_blob_copy(b, &copy) == 0)
		stats_blob_destroy(copy);
	return true;
}

/* All that a master does with kstats, again as after a reload. What fails, fails with a message. */
static void
reload(kstat_pub_t *pub, kstat_t *before)
{
	const char *pseg[] = { "misc", "hostile", "0", "sizes" };
	kstat_counter_t *c = kstat_counter(before, "a");
	kstat_t *k;
	kstat2_t *h;

	kstat_counter_add(c, 1);
	kstat_counter_add(kstat_counter_own(before, "a", NULL), 1);
	(void)kstat_named_store(before, "text", "some text", 9);
	for (int i = 0; i < 3; i++) {
		kstat_pub_t *again = kstat_publish("master", 0); /* another one if the first is found damaged */

		if (again == NULL)
			continue;
		k = counters(again, i == 1 ? "kept" : i == 2 ? "new" : "first", i == 1 ? KSTAT_FLAG_PERSISTENT : 0);
		if (k != NULL) {
			kstat_counter_add(kstat_counter(k, "a"), 1);
			kstat_counter_add(kstat_counter_own(k, "a", NULL), 1);
			(void)kstat_named_store(k, "text", "other text", 10);
			if (i == 2)
				kstat_delete(k);
		}
		kstat_unpublish(again);
	}
	k = kstat_publish_create(pub, "hostile", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	if (k != NULL && kstat_install(k) == 0 && kstat_ioq_runq_enter(kstat_ioq(k)) == 0)
		(void)kstat_ioq_done(kstat_ioq(k), KSTAT_IO_READ, 1);
	(void)blob(pub);
	h = kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LOG2, KSTAT_NVMT_BYTES, 1, 0, 0, 0, 0, 0, "", 0);
	if (h != NULL && kstat2_install(h) == 0)
		(void)kstat2_hist_add_value(h, 5);
}

/* A master in a process of its own, whose worker does harm; true if the master ends as it should. */
static bool
survives(enum harm what, unsigned seed)
{
	pid_t master = fork(), worker;
	kstat_pub_t *pub;
	kstat_t *k, *deleted;
	int status;

	if (master != 0)
		return master > 0 && waitpid(master, &status, 0) == master && status == 0;
	(void)alarm(60);
	pub = kstat_publish("master", 0);
	k = pub != NULL ? counters(pub, "first", 0) : NULL;
	deleted = k != NULL ? counters(pub, "deleted", 0) : NULL;
	if (deleted == NULL || counters(pub, "kept", KSTAT_FLAG_PERSISTENT) == NULL)
		_exit(1);
	if (!blob(pub))
		_exit(3);
	kstat_delete(deleted);
	worker = fork();
	if (worker == 0) {
		become_nobody();
		harm(pub, what, seed);
		_exit(0);
	}
	if (waitpid(worker, &status, 0) != worker || status != 0)
		_exit(2);
	reload(pub, k);
	kstat_unpublish(pub);
	(void)kstat_publish_gc(KSTAT_GC_PERSISTENT, NULL, NULL);
	_exit(0);
}

static const char *
worker(void)
{
	static char wrong[80];

	for (int what = 0; what < HARMS; what++) {
		for (unsigned seed = 0; seed < (what == NOISE ? 4u : 2u); seed++) {
			if (survives((enum harm)what, seed))
				continue;
			(void)snprintf(wrong, sizeof(wrong), "the master died of harm %d, seed %u", what, seed);
			return wrong;
		}
	}
	return NULL;
}

/* --- a worker that looks for a descriptor to cut the file off with ------------------------------------- */

static int
cut_off_what_is_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *de;
	int cut = 0;

	while (d != NULL && (de = readdir(d)) != NULL) {
		char link[300], path[64];
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%.20s", de->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n > 0 && strstr((link[n] = '\0', link), ".kseg") != NULL)
			cut += ftruncate(atoi(de->d_name), 0) == 0;
	}
	if (d != NULL)
		(void)closedir(d);
	return cut;
}

static const char *
descriptor(void)
{
	kstat_pub_t *pub = kstat_publish("master", 0);
	kstat_t *k = pub != NULL ? counters(pub, "first", 0) : NULL;
	char path[512];
	struct stat st;
	int status;
	pid_t pid;

	if (k == NULL)
		return kstat_errmsg();
	pid = fork();
	if (pid == 0) {
		become_nobody();
		_exit(cut_off_what_is_open());
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return "a worker has a descriptor that can cut off its master's file";
	kstat_publish_path(pub, path, sizeof(path));
	if (stat(path, &st) != 0 || (size_t)st.st_size != pub->mapped)
		return "the master's file was cut off";
	kstat_counter_add(kstat_counter(k, "a"), 1);
	kstat_unpublish(pub);
	return NULL;
}

/* --- a reader that locks what it may read --------------------------------------------------------------- */

static const char *
reader(void)
{
	kstat_pub_t *pub;
	char path[512];
	int up[2], status, fd;
	struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	pid_t pid;
	char c;

	if (pipe(up) != 0)
		return "pipe";
	pid = fork();
	if (pid == 0) {
		(void)alarm(60);
		pub = kstat_publish("watched", 0);
		if (pub == NULL || counters(pub, "first", 0) == NULL || write(up[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	if (read(up[0], &c, 1) != 1)
		return "read";
	(void)snprintf(path, sizeof(path), "%s/watched.kseg", getenv("KSTAT_DIR"));
	fd = open(path, O_RDONLY);
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &fl) != 0 || fl.l_type == F_UNLCK)
		return "the publisher locks nothing";
	(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return "waitpid";
	fl = (struct flock){ .l_type = F_RDLCK, .l_whence = SEEK_SET };
	for (int i = 0; i < 2000 && fcntl(fd, F_OFD_SETLK, &fl) != 0; i++)
		(void)usleep(1000);
	pub = kstat_publish("watched", 0);
	if (pub == NULL)
		return kstat_errmsg();
	kstat_unpublish(pub);
	return access(path, F_OK) == 0 ? "the file of a dead publisher stays" : NULL;
}

/* --- a directory that is swapped for a link while others look for segments -------------------------------- */

static void
make_dead_segment(const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)setenv("KSTAT_DIR", dir, 1);
		if (kstat_publish("dead", 0) != NULL)
			(void)raise(SIGKILL);
		_exit(1);
	}
	(void)waitpid(pid, NULL, 0);
}

static const char *
swapped(void)
{
	char there[400], link[400], victim[400], dead[450], lock[450];
	const char *base = getenv("KSTAT_DIR");
	bool harmed = false;
	pid_t pid;

	(void)snprintf(there, sizeof(there), "%s/d", base);
	(void)snprintf(link, sizeof(link), "%s/link", base);
	(void)snprintf(victim, sizeof(victim), "%s/victim", base);
	(void)snprintf(dead, sizeof(dead), "%s/dead.kseg", victim);
	(void)snprintf(lock, sizeof(lock), "%s/.lock", victim);
	if (mkdir(there, 0755) != 0 || mkdir(victim, 0755) != 0 || symlink(victim, link) != 0)
		return "mkdir";
	make_dead_segment(victim);
	if (access(dead, F_OK) != 0 || unlink(lock) != 0)
		return "no dead segment";
	pid = fork();
	if (pid == 0) {
		(void)alarm(60);
		for (;;)
			(void)renameat2(AT_FDCWD, there, AT_FDCWD, link, RENAME_EXCHANGE);
	}
	(void)setenv("KSTAT_DIR", there, 1);
	for (int i = 0; i < 150 && !harmed; i++) {
		kstat_pub_t *pub;

		(void)kstat_publish_gc(0, NULL, NULL);
		pub = kstat_publish("mine", 0);
		harmed = access(dead, F_OK) != 0 || access(lock, F_OK) == 0;
		kstat_unpublish(pub);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return harmed ? "files behind the link were made or removed" : NULL;
}

/* --- publishers that want too much ------------------------------------------------------------------------ */

/* A segment of 60 kstats with a megabyte of descriptions each, which takes hardly any storage. */
static void
forge_heavy(const char *name)
{
	kstat_pub_t *pub = kstat_publish(name, 0);
	struct ks_seg_header *h = pub != NULL ? pub->header : NULL;
	uint64_t at = KS_SEG_HEADER;

	for (int i = 0; h != NULL && i < 60; i++) {
		struct ks_seg_entry *e = (struct ks_seg_entry *)((char *)h + at);

		*e = (struct ks_seg_entry){ .magic = KS_SEG_ENTRY_MAGIC, .version = KS_SEG_VERSION,
			.size = KS_SEG_MOST_STRINGS + sizeof(*e), .module = "heavy", .class_ = "misc", .instance = i,
			.type = KSTAT_TYPE_NAMED, .form = KS_FORM_FIELDS, .fields = sizeof(*e), .strings = sizeof(*e),
			.strings_size = KS_SEG_MOST_STRINGS, .data = sizeof(*e), .shards = 1 };
		(void)snprintf(e->name, sizeof(e->name), "%.20s", name);
		e->check = ks_seg_entry_check(e, "", (char *)e + sizeof(*e));
		atomic_store(&e->state, KS_SEG_INSTALLED);
		at += e->size;
		atomic_store(&h->used, at);
	}
}

/* A large record that this thread holds locked for ever. */
static void
publish_locked(const char *name)
{
	kstat_pub_t *pub = kstat_publish(name, 0);
	kstat_t *k = pub == NULL ? NULL : kstat_publish_create(pub, "locked", 0, name, "misc", KSTAT_TYPE_RAW,
	    3 << 20, 0);
	char *data;

	if (k == NULL || kstat_install(k) != 0)
		return;
	data = (char *)((struct ks_provider *)k)->published->entry + sizeof(struct ks_seg_entry);
	(void)ks_word_lock((ks_word *)(void *)data);
	memset(data + sizeof(struct ks_rec), 7, 3 << 20);
}

static void
publish_one(const char *name)
{
	kstat_pub_t *pub = kstat_publish(name, 0);

	if (pub != NULL)
		(void)counters(pub, name, 0);
}

/* Publishes N times as another user, and stays there until it is killed: prints a line when it is ready. */
static int
neighbour(const char *what, int n)
{
	become_nobody();
	for (int i = 0; i < n; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%d", i);
		if (strcmp(what, "heavy") == 0)
			forge_heavy(name);
		else if (strcmp(what, "locked") == 0)
			publish_locked(name);
		else
			publish_one(name);
	}
	printf("ready\n");
	(void)fflush(stdout);
	(void)alarm(120);
	(void)pause();
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		const char *(*play)(void);
	} parts[] = { { "worker", worker }, { "descriptor", descriptor }, { "reader", reader }, { "swapped", swapped } };

	if (argc > 3 && strcmp(argv[1], "neighbour") == 0)
		return neighbour(argv[2], atoi(argv[3]));
	for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *wrong;

		if (strcmp(argv[1], parts[i].name) != 0)
			continue;
		wrong = parts[i].play();
		printf("%s\n", wrong == NULL ? "unharmed" : wrong);
		return wrong != NULL;
	}
	return 2;
}
