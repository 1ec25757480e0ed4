/*
 * publication.c - segments that this process publishes: opening, adopting, closing, cleaning. See
 * kstat_provider.h for what they promise, segment_layout.h for what lies in them.
 *
 * Whoever makes, takes over or removes a file holds the directory's lock. A segment is live as long as
 * a publisher's descriptor is open or its mapping there: the lock belongs to the open file, so that
 * forked children keep it, and the kernel drops it with the last of them.
 * SPDX-License-Identifier: MIT
 */
#include "provider/segment/publication.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "provider/segment/directory.h"
#include "provider/segment/space.h"

#define CAPACITY (64u << 20) /* of a new segment; storage is taken as it is used */
#define FIRST_STORAGE 65536
#define TEMPORARY ".tmp" /* at the end of the name of a file that is being made */

static struct {
	pthread_mutex_t lock;
	struct kstat_pub *first;
} publications = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
unlock_in_child(void)
{
	/* Re-initialised, not unlocked: the thread that locked it has another ID here. */
	(void)pthread_mutex_init(&publications.lock, NULL);
}

static void
watch_forks(void)
{
	(void)pthread_atfork(ks_publish_lock, ks_publish_unlock, unlock_in_child);
}

void
ks_publish_lock(void)
{
	(void)pthread_mutex_lock(&publications.lock);
}

void
ks_publish_unlock(void)
{
	(void)pthread_mutex_unlock(&publications.lock);
}

/* --- names and directories --------------------------------------------------------------------- */

static int
check_name(const char *name)
{
	if (name == NULL || *name == '\0' || *name == '.' || strlen(name) >= KS_SEG_NAME ||
	    name[strspn(name, KS_SEG_NAME_CHARACTERS)] != '\0')
		return ks_fail(EINVAL, "'%.80s' is no name for published kstats: 1 to %d letters, digits, "
		    "'-', '_' and '.', which does not come first", name == NULL ? "" : name,
		    KSTAT_PUBLISH_NAME_MAX);
	return 0;
}

/* Makes the directory if need be; its parent must be there, or be the last but one of /run. */
static int
make_dir(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0755) != 0 && errno != EEXIST)
		return ks_fail(errno, "cannot make %s: %s", dir, strerror(errno));
	if (stat(dir, &st) != 0)
		return ks_fail(errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return ks_fail(ENOTDIR, "%s is not a directory", dir);
	/* Somebody else's directory, such as a planted /dev/shm/kstat-UID, is not to be trusted. */
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return ks_fail(EACCES, "%s belongs to another user", dir);
	return 0;
}

static int
path_in(char to[PATH_MAX], const char *dir, const char *name, const char *suffix)
{
	int n = snprintf(to, PATH_MAX, "%s/%s%s", dir, name, suffix);

	return n > 0 && n < PATH_MAX ? 0 : ks_fail(ENAMETOOLONG, "%s: the path is too long", dir);
}

/* --- mapping -------------------------------------------------------------------------------------- */

/* Checks a header that was mapped or is about to be. */
static bool
header_is_good(const struct ks_seg_header *h, off_t size)
{
	return h->magic == KS_SEG_MAGIC && h->version == KS_SEG_VERSION &&
	    h->byte_order == KS_SEG_BYTE_ORDER && h->check == ks_seg_header_check(h) &&
	    h->boot == ks_seg_boot() && h->pid_space == ks_seg_pid_space() &&
	    h->capacity >= KS_SEG_HEADER && h->capacity <= KS_SEG_MOST_BYTES &&
	    (off_t)h->capacity <= size &&
	    atomic_load(&h->used) >= KS_SEG_HEADER && atomic_load(&h->used) <= h->capacity &&
	    atomic_load(&h->allocated) <= h->capacity;
}

static int
map(struct kstat_pub *pub, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pub->fd, 0);

	if (at == MAP_FAILED)
		return ks_fail(errno, "cannot map the segment of %s: %s", pub->name, strerror(errno));
	pub->header = at;
	pub->mapped = size;
	return 0;
}

static void
fill_header(struct kstat_pub *pub, int flags)
{
	struct ks_seg_header *h = pub->header;

	h->magic = KS_SEG_MAGIC;
	atomic_signal_fence(memory_order_seq_cst); /* whoever dies from here on leaves a file that says whose it is */
	h->version = KS_SEG_VERSION;
	h->byte_order = KS_SEG_BYTE_ORDER;
	h->capacity = pub->mapped;
	if (getrandom(&h->generation, sizeof(h->generation), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(h->generation))
		h->generation = (uint64_t)gethrtime() ^ (uint64_t)getpid() << 40;
	h->boot = ks_seg_boot();
	h->pid_space = ks_seg_pid_space();
	h->creator = ks_owner_process();
	h->creator_pid = (uint32_t)getpid();
	h->flags = (uint32_t)flags;
	memcpy(h->publisher, pub->name, sizeof(h->publisher));
	h->check = ks_seg_header_check(h);
	atomic_store(&h->used, KS_SEG_HEADER);
	atomic_store(&h->allocated, FIRST_STORAGE);
}

static size_t
capacity(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur < CAPACITY)
		return rl.rlim_cur < FIRST_STORAGE ? FIRST_STORAGE : (size_t)rl.rlim_cur & ~(size_t)4095;
	return CAPACITY;
}

/* A new file, complete before it gets its name. */
static int
create_file(struct kstat_pub *pub, const char *path, int flags)
{
	char temporary[PATH_MAX], file[KS_SEG_NAME + 8];
	size_t size = capacity();
	int error;

	(void)snprintf(file, sizeof(file), ".%s" TEMPORARY, pub->name);
	if (path_in(temporary, pub->dir, file, "") != 0)
		return -1;
	(void)unlink(temporary); /* of one who died here: the directory is locked */
	pub->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (pub->fd < 0)
		return ks_fail(errno, "%s: %s", temporary, strerror(errno));
	/* Storage is taken beforehand: a full file system is an error here, not a SIGBUS later. */
	if (ftruncate(pub->fd, (off_t)size) != 0 ||
	    (errno = posix_fallocate(pub->fd, 0, FIRST_STORAGE)) != 0 || ks_seg_hold(pub->fd) != 0) {
		(void)ks_fail(errno, "%s: %s", temporary, strerror(errno));
	} else if (map(pub, size) == 0) {
		fill_header(pub, flags);
		if (fchmod(pub->fd, flags & KSTAT_PUBLISH_PRIV ? 0600 : 0644) == 0 &&
		    rename(temporary, path) == 0)
			return 0;
		(void)ks_fail(errno, "%s: %s", path, strerror(errno));
	}
	error = errno;
	(void)unlink(temporary);
	errno = error;
	return -1;
}

/* --- taking over what is there ----------------------------------------------------------------------- */

/* True if that can be an entry, of a segment that goes on for so many bytes. */
static bool
is_entry(const struct ks_seg_entry *e, uint64_t room)
{
	return room >= sizeof(*e) && e->magic == KS_SEG_ENTRY_MAGIC && e->size >= sizeof(*e) &&
	    e->size % KS_SEG_ALIGN == 0 && e->size <= room;
}

/*
 * True if there is a kstat that outlives its process; *damaged if the entries cannot be walked. Reads the file:
 * --gc looks into those of other users, and a mapped one could shrink.
 */
static bool
has_persistent(int fd, const struct ks_seg_header *h, bool *damaged)
{
	uint64_t used = atomic_load(&h->used), at = KS_SEG_HEADER;
	bool found = false;

	*damaged = false;
	while (at < used && !*damaged) {
		struct ks_seg_entry e;
		uint32_t state;

		*damaged = pread(fd, &e, sizeof(e), (off_t)at) != (ssize_t)sizeof(e) ||
		    !is_entry(&e, used - at);
		if (*damaged)
			return false;
		state = atomic_load(&e.state);
		found |= (e.flags & KSTAT_FLAG_PERSISTENT) && state != KS_SEG_FREE &&
		    state != KS_SEG_REPLACED;
		at += e.size;
	}
	return found;
}

/* Nobody updates the segment any more: what goes on and what does not. */
static void
retire_entries(struct kstat_pub *pub, bool same_process)
{
	struct ks_seg_header *h = pub->header;
	uint64_t used = atomic_load(&h->used), at = KS_SEG_HEADER;
	uint64_t v = ks_word_lock(&h->lock); /* children may be creating kstats */
	uint64_t changes = atomic_load(&h->changes) | 1;

	atomic_store(&h->changes, changes);
	while (at < used) {
		struct ks_seg_entry *e = ks_seg_entry_at(pub, at);
		uint32_t state;

		if (!is_entry(e, used - at))
			break;
		state = atomic_load(&e->state);
		if (state == KS_SEG_INSTALLED && (e->flags & KSTAT_FLAG_PERSISTENT)) {
			atomic_store(&e->state, KS_SEG_DORMANT);
		} else if (state == KS_SEG_INSTALLED && same_process) {
			atomic_store(&e->state, KS_SEG_ORPHAN);
		} else if (state != KS_SEG_DORMANT && state != KS_SEG_FREE && !same_process) {
			ks_seg_free_entry(h, e, 0);
		}
		at += e->size;
	}
	atomic_store(&h->changes, changes + 1);
	if (v != KS_WORD_BUSY)
		ks_word_abort(&h->lock, v);
}

static void
unmap(struct kstat_pub *pub)
{
	if (pub->header != NULL)
		(void)munmap(pub->header, pub->mapped);
	pub->header = NULL;
	if (pub->fd >= 0)
		(void)close(pub->fd);
	pub->fd = -1;
}

/*
 * Looks at the file that has the name already. 1: it is this process's now; 0: there is none, or
 * none of use; -1 with errno.
 */
static int
take_over(struct kstat_pub *pub, const char *path, int flags)
{
	struct ks_seg_header h;
	struct stat st;
	bool live, same_process, damaged = false, persistent;

	pub->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (pub->fd < 0)
		return errno == ENOENT ? 0 : ks_fail(errno, "%s: %s", path, strerror(errno));
	live = ks_seg_is_live(pub->fd);
	if (fstat(pub->fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    pread(pub->fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || !header_is_good(&h, st.st_size)) {
		unmap(pub);
		return live ? ks_fail(EBUSY, "%s: published by another process, in another format", path) : 0;
	}
	same_process = h.creator_pid == (uint32_t)getpid() && h.creator == ks_owner_process();
	if (live && !same_process && !(flags & KSTAT_PUBLISH_SHARED)) {
		/* A dead one's children may publish on; but mostly it is about to let go. */
		bool dead = !ks_owner_alive(h.creator);

		live = !dead || !ks_seg_wait_end(pub->fd);
		if (live) {
			unmap(pub);
			return ks_fail(EBUSY, dead ? "%s: published by children of process %u, which is dead" :
			    "%s: published by process %u", path, h.creator_pid);
		}
	}
	if (((h.flags ^ (uint32_t)flags) & KSTAT_PUBLISH_PRIV) != 0 ||
	    (st.st_uid != geteuid() && !live)) {
		unmap(pub);
		return live ? ks_fail(EBUSY, "%s: published by process %u with other permissions", path,
		    h.creator_pid) : 0;
	}
	if (map(pub, h.capacity) != 0 || ks_seg_hold(pub->fd) != 0)
		return -1;
	persistent = has_persistent(pub->fd, pub->header, &damaged);
	if (damaged || !(live || same_process || persistent)) {
		unmap(pub);
		return 0;
	}
	if (!live || same_process)
		retire_entries(pub, same_process);
	return 1;
}

/* --- opening ------------------------------------------------------------------------------------------ */

static struct kstat_pub *
find_published(const char *dir, const char *name)
{
	struct kstat_pub *pub = publications.first;

	while (pub != NULL && (strcmp(pub->name, name) != 0 || strcmp(pub->dir, dir) != 0))
		pub = pub->next;
	return pub;
}

static void
free_pub(struct kstat_pub *pub)
{
	unmap(pub);
	free(pub->index.offset);
	free(pub);
}

static struct kstat_pub *
open_pub(const char *dir, const char *name, int flags)
{
	struct kstat_pub *pub = calloc(1, sizeof(*pub));
	char path[PATH_MAX];
	int lock, rc, error;

	if (pub == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a segment");
	pub->fd = -1;
	(void)snprintf(pub->name, sizeof(pub->name), "%s", name);
	(void)snprintf(pub->dir, sizeof(pub->dir), "%s", dir);
	if (path_in(path, dir, name, KS_SEG_SUFFIX) != 0 || make_dir(dir) != 0 ||
	    (lock = ks_seg_lock_dir(dir)) < 0) {
		error = errno;
		free_pub(pub);
		errno = error;
		return NULL;
	}
	rc = take_over(pub, path, flags);
	if (rc == 0)
		rc = create_file(pub, path, flags);
	error = errno;
	(void)close(lock);
	if (rc < 0) {
		free_pub(pub);
		errno = error;
		return NULL;
	}
	return pub;
}

kstat_pub_t *
kstat_publish(const char *name, int flags)
{
	struct kstat_pub *pub;
	char dir[PATH_MAX];

	if (check_name(name) != 0 || ks_seg_own_dir(dir) != 0)
		return NULL;
	if ((flags & ~(KSTAT_PUBLISH_PRIV | KSTAT_PUBLISH_SHARED)) != 0)
		return ks_fail_null(EINVAL, "there are no publishing flags 0x%x", (unsigned)flags);
	(void)pthread_once(&once, watch_forks);
	ks_publish_lock();
	pub = find_published(dir, name);
	if (pub == NULL && (pub = open_pub(dir, name, flags)) != NULL) {
		pub->next = publications.first;
		publications.first = pub;
	}
	if (pub != NULL)
		pub->refs++;
	ks_publish_unlock();
	return pub;
}

void
kstat_publish_path(const kstat_pub_t *pub, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/%s%s", pub->dir, pub->name, KS_SEG_SUFFIX);
}

/* --- closing -------------------------------------------------------------------------------------------- */

/* Opens a regular file, and nothing else: looking at a device may do something. -1 with errno. */
static int
open_regular(const char *path, int flags, struct stat *st)
{
	int fd;

	if (lstat(path, st) != 0)
		return ks_fail(errno, "%s: %s", path, strerror(errno));
	fd = S_ISREG(st->st_mode) ? open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return ks_fail(S_ISREG(st->st_mode) ? errno : EINVAL, "%s cannot be looked into", path);
}

/*
 * Removes a file that nobody publishes; with `own`, one that this process published, whatever has become
 * of what is in it. 1 removed, 0 it is live, to be kept, or none of ours; -1 with errno.
 */
static int
remove_if_dead(const char *path, int flags, bool own)
{
	struct ks_seg_header h;
	struct stat st;
	bool keep, damaged;
	ssize_t n;
	int fd = open_regular(path, O_RDWR, &st);

	if (fd < 0)
		return -1;
	memset(&h, 0, sizeof(h));
	n = pread(fd, &h, sizeof(h), 0);
	keep = (h.magic != KS_SEG_MAGIC && !own) || ks_seg_is_live(fd);
	if (!keep && !(flags & KSTAT_GC_PERSISTENT) && n == (ssize_t)sizeof(h) &&
	    header_is_good(&h, st.st_size))
		keep = has_persistent(fd, &h, &damaged);
	(void)close(fd);
	if (keep)
		return 0;
	return unlink(path) == 0 ? 1 : ks_fail(errno, "%s: %s", path, strerror(errno));
}

/*
 * Puts private memory in the mapping's place: pointers into it stay good, what is written there is
 * seen by nobody. The mapping, like the descriptor, would keep the segment live.
 */
static void
replace_mapping(struct kstat_pub *pub)
{
	(void)mmap(pub->header, pub->mapped, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* The process's part in a segment ends; the last one removes the file. */
static void
close_pub(struct kstat_pub *pub)
{
	char path[PATH_MAX];
	struct stat mine, there;
	int lock;

	if (path_in(path, pub->dir, pub->name, KS_SEG_SUFFIX) != 0 || fstat(pub->fd, &mine) != 0)
		return;
	lock = ks_seg_lock_dir(pub->dir);
	replace_mapping(pub);
	(void)close(pub->fd);
	pub->fd = -1;
	if (lock < 0)
		return; /* another user's, such as a worker's: whoever has the right cleans up */
	if (lstat(path, &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev)
		(void)remove_if_dead(path, 0, true);
	(void)close(lock);
}

void
ks_unpublish(struct kstat_pub *pub, bool keep_memory)
{
	struct kstat_pub **at = &publications.first;

	ks_publish_lock();
	if (--pub->refs == 0) {
		while (*at != pub)
			at = &(*at)->next;
		*at = pub->next;
		while (pub->kstats != NULL)
			ks_published_free(pub->kstats);
		close_pub(pub);
		if (keep_memory)
			pub->header = NULL;
		free_pub(pub);
	}
	ks_publish_unlock();
}

void
kstat_unpublish(kstat_pub_t *pub)
{
	if (pub != NULL)
		ks_unpublish(pub, false);
}

/* At exit. Other threads may be updating still. */
__attribute__((destructor)) static void
close_all(void)
{
	if (pthread_mutex_trylock(&publications.lock) != 0)
		return;
	for (struct kstat_pub *pub = publications.first; pub != NULL; pub = pub->next) {
		if (pub->fd >= 0)
			close_pub(pub);
	}
	ks_publish_unlock();
}

/* --- cleaning --------------------------------------------------------------------------------------------- */

/* True if it is called as the file is that a publisher makes first: ".NAME.tmp". */
static bool
is_temporary(const char *file)
{
	size_t n = strlen(file), suffix = strlen(TEMPORARY);

	return n > suffix + 1 && n - suffix - 1 < KS_SEG_NAME && file[0] == '.' && file[1] != '.' &&
	    strspn(file, KS_SEG_NAME_CHARACTERS) == n && strcmp(file + n - suffix, TEMPORARY) == 0;
}

/*
 * Removes one of a publisher that died: it is empty, or its header zeros, or begun with the magic. Files are
 * made under the directory's lock, so it is nobody's now. 1 removed, 0 none of ours, -1 with errno.
 */
static int
remove_temporary(const char *path)
{
	static const struct ks_seg_header nothing;
	struct ks_seg_header h;
	struct stat st;
	int fd = open_regular(path, O_RDONLY, &st);
	ssize_t n;

	if (fd < 0)
		return -1;
	memset(&h, 0, sizeof(h));
	n = pread(fd, &h, sizeof(h), 0);
	(void)close(fd);
	if (n < 0 || st.st_size > (off_t)KS_SEG_MOST_BYTES ||
	    (h.magic != KS_SEG_MAGIC && memcmp(&h, &nothing, sizeof(h)) != 0))
		return 0;
	return unlink(path) == 0 ? 1 : ks_fail(errno, "%s: %s", path, strerror(errno));
}

struct cleaning {
	int flags;
	int count;
	void (*removed)(const char *path, void *arg);
	void *arg;
};

static int
clean_dir(const char *dir, void *arg)
{
	struct cleaning *c = arg;
	char path[PATH_MAX];
	struct dirent *de;
	DIR *d = opendir(dir);
	int lock;

	if (d == NULL)
		return 0;
	lock = access(dir, W_OK) == 0 ? ks_seg_lock_dir(dir) : -1;
	while (lock >= 0 && (de = readdir(d)) != NULL) {
		bool temporary = is_temporary(de->d_name);

		if ((!temporary && ks_seg_name_length(de->d_name) == 0) ||
		    path_in(path, dir, de->d_name, "") != 0)
			continue;
		if ((temporary ? remove_temporary(path) : remove_if_dead(path, c->flags, false)) != 1)
			continue;
		c->count++;
		if (c->removed != NULL)
			c->removed(path, c->arg);
	}
	if (lock >= 0)
		(void)close(lock);
	(void)closedir(d);
	return 0;
}

int
kstat_publish_gc(int flags, void (*removed)(const char *path, void *arg), void *arg)
{
	struct cleaning c = { .flags = flags, .removed = removed, .arg = arg };

	if ((flags & ~KSTAT_GC_PERSISTENT) != 0)
		return ks_fail(EINVAL, "there are no cleaning flags 0x%x", (unsigned)flags);
	(void)ks_seg_each_dir(clean_dir, &c);
	return c.count;
}
