/*
 * publication.c - segments that this process publishes: opening, adopting, closing, cleaning. See
 * kstat_provider.h for what they promise, segment_layout.h for what lies in them.
 *
 * Whoever makes, takes over or removes a file holds the directory's lock. A segment is live as long as
 * a publisher has it mapped: the lock belongs to the opening of the file, so that forked children keep it, and the
 * kernel drops it with the last mapping. No descriptor stays open: a child that is trusted less than its parent
 * could cut off the file with it.
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

#define CAPACITY ((size_t)64 << 20) /* of a new segment, unless it is given; storage is taken as it is used */
#define FIRST_STORAGE ((size_t)65536)
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

/* Opens the directory, and makes it if need be; its parent must be there. */
static int
open_own_dir(struct ks_seg_dir *d, const char *path)
{
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return ks_fail(errno, "cannot make %s: %s", path, strerror(errno));
	return ks_seg_dir_open(d, path, geteuid(), false);
}

/* The name of a publication's file; while it is being made: ".NAME.tmp". */
static void
file_name(char to[KS_SEG_NAME + 8], const struct kstat_pub *pub, bool temporary)
{
	(void)snprintf(to, KS_SEG_NAME + 8, "%s%s%s", temporary ? "." : "", pub->name,
	    temporary ? TEMPORARY : KS_SEG_SUFFIX);
}

static int
fail_at(const struct ks_seg_dir *d, const char *file, int error)
{
	return ks_fail(error, "%s/%s: %s", d->path, file, strerror(error));
}

/* --- mapping -------------------------------------------------------------------------------------- */

/* Checks a header that was mapped or is about to be. */
static bool
header_is_good(const struct ks_seg_header *h, off_t size)
{
	return h->magic == KS_SEG_MAGIC && h->version == KS_SEG_VERSION &&
	    h->byte_order == KS_SEG_BYTE_ORDER && h->check == ks_seg_header_check(h) &&
	    h->boot == ks_seg_boot() &&
	    h->capacity >= KS_SEG_HEADER && h->capacity <= KS_SEG_MOST_BYTES &&
	    (off_t)h->capacity <= size &&
	    atomic_load(&h->used) >= KS_SEG_HEADER && atomic_load(&h->used) <= h->capacity;
}

/* Maps the file, of which so many bytes are there. */
static int
map(struct kstat_pub *pub, int fd, size_t size)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) != 0)
		return ks_fail(errno, "the segment of %s: %s", pub->name, strerror(errno));
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return ks_fail(errno, "cannot map the segment of %s: %s", pub->name, strerror(errno));
	pub->header = at;
	pub->mapped = size;
	pub->dev = st.st_dev;
	pub->ino = st.st_ino;
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
	h->pid_space = ks_pid_space();
	h->creator = ks_owner_process();
	h->creator_pid = (uint32_t)getpid();
	h->flags = (uint32_t)flags;
	memcpy(h->publisher, pub->name, sizeof(h->publisher));
	h->check = ks_seg_header_check(h);
	atomic_store(&h->used, KS_SEG_HEADER);
}

/* How large a new segment becomes of which so many bytes are wanted. */
static size_t
capacity(size_t wanted)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur < wanted)
		return rl.rlim_cur < FIRST_STORAGE ? FIRST_STORAGE : (size_t)rl.rlim_cur & ~(size_t)4095;
	return wanted;
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

/* Copies an entry to the end of the new segment, for the next that creates its kstat. */
static int
keep_entry(struct kstat_pub *pub, int old, uint64_t at, const struct ks_seg_entry *e)
{
	uint64_t used = atomic_load(&pub->header->used);
	uint64_t owners = (uint64_t)e->data + e->owners, n = e->shards * sizeof(ks_word);
	struct ks_seg_entry *to;

	if (ks_seg_take_storage(pub, used, e->size) != 0)
		return -1;
	to = (struct ks_seg_entry *)((char *)pub->header + used);
	if (pread(old, to, e->size, (off_t)at) != (ssize_t)e->size)
		return ks_fail(EIO, "the old segment of %s was cut off", pub->name);
	/* Threads that counted in rows of their own are gone, whatever namespace they were numbered in. */
	if (e->shards > 1 && owners % sizeof(ks_word) == 0 && n <= e->size && owners <= e->size - n)
		memset((char *)to + owners, 0, n);
	to->size = e->size;
	atomic_store(&to->state, KS_SEG_DORMANT);
	atomic_store(&pub->header->used, used + e->size);
	return 0;
}

/* Copies what is to be kept out of a dead publisher's segment, as far as it is sound. 0, or -1 with errno. */
static int
keep_persistent(struct kstat_pub *pub, int old)
{
	struct ks_seg_header h;
	uint64_t used, at = KS_SEG_HEADER;
	int rc = 0;

	if (pread(old, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return 0;
	used = atomic_load(&h.used);
	while (rc == 0 && at < used) {
		struct ks_seg_entry e;
		uint32_t state;

		if (pread(old, &e, sizeof(e), (off_t)at) != (ssize_t)sizeof(e) || !is_entry(&e, used - at))
			break;
		state = atomic_load(&e.state);
		if ((e.flags & KSTAT_FLAG_PERSISTENT) && state != KS_SEG_FREE && state != KS_SEG_REPLACED)
			rc = keep_entry(pub, old, at, &e);
		at += e.size;
	}
	return rc;
}

/* This process has another image now: what the last one published is hidden until it is created again. */
static void
hide_entries(struct kstat_pub *pub)
{
	struct ks_seg_header *h = pub->header;
	uint64_t v = ks_word_lock(&h->lock); /* children may be creating kstats */
	uint64_t changes = atomic_load(&h->changes) | 1;

	atomic_store(&h->changes, changes);
	for (uint64_t at = KS_SEG_HEADER, size; (size = ks_seg_entry_size(pub, at)) != 0; at += size) {
		struct ks_seg_entry *e = ks_seg_entry_at(pub, at);

		if (atomic_load(&e->state) == KS_SEG_INSTALLED)
			atomic_store(&e->state, e->flags & KSTAT_FLAG_PERSISTENT ? KS_SEG_DORMANT :
			    KS_SEG_ORPHAN);
	}
	atomic_store(&h->changes, changes + 1);
	if (v != KS_WORD_BUSY)
		ks_word_abort(&h->lock, v);
}

/* Makes the file, with the kstats that are to be kept of an old one (-1: there is none). */
static int
fill_file(struct kstat_pub *pub, int fd, int old, int flags)
{
	size_t size = capacity(pub->wanted);

	/* Storage is taken beforehand: a full file system is an error here, not a SIGBUS later. */
	if (ftruncate(fd, (off_t)size) != 0 || (errno = posix_fallocate(fd, 0, FIRST_STORAGE)) != 0 ||
	    ks_seg_hold(fd) != 0)
		return ks_fail(errno, "no room for the segment of %s: %s", pub->name, strerror(errno));
	if (map(pub, fd, size) != 0)
		return -1;
	fill_header(pub, flags);
	if (old >= 0 && keep_persistent(pub, old) != 0)
		return -1;
	return fchmod(fd, flags & KSTAT_PUBLISH_PRIV ? 0600 : 0644);
}

/* A new file, complete before it gets its name. */
static int
create_file(struct kstat_pub *pub, const struct ks_seg_dir *d, int old, int flags)
{
	char temporary[KS_SEG_NAME + 8], file[KS_SEG_NAME + 8];
	int fd, rc, error;

	file_name(file, pub, false);
	file_name(temporary, pub, true);
	(void)unlinkat(d->fd, temporary, 0); /* of one who died here: the directory is locked */
	fd = openat(d->fd, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_at(d, temporary, errno);
	rc = fill_file(pub, fd, old, flags);
	if (rc == 0 && renameat(d->fd, temporary, d->fd, file) != 0)
		rc = fail_at(d, file, errno);
	error = errno;
	(void)close(fd);
	if (rc != 0)
		(void)unlinkat(d->fd, temporary, 0);
	errno = error;
	return rc;
}

static void
unmap(struct kstat_pub *pub)
{
	if (pub->header != NULL)
		(void)munmap(pub->header, pub->mapped);
	pub->header = NULL;
}

/* What is known about a file that has the name already. */
struct found {
	int fd;
	bool live, good;
	struct stat st;
	struct ks_seg_header h; /* if it is good */
};

/* Looks at the file that has the name already. 1: it is there; 0: it is not; -1 with errno. */
static int
find_file(struct found *f, const struct ks_seg_dir *d, const char *file)
{
	f->fd = openat(d->fd, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0)
		return errno == ENOENT ? 0 : fail_at(d, file, errno);
	f->live = ks_seg_is_live(f->fd);
	f->good = fstat(f->fd, &f->st) == 0 && S_ISREG(f->st.st_mode) && f->st.st_uid == geteuid() &&
	    pread(f->fd, &f->h, sizeof(f->h), 0) == (ssize_t)sizeof(f->h) &&
	    header_is_good(&f->h, f->st.st_size);
	return 1;
}

static int
busy(const struct found *f, const struct ks_seg_dir *d, const char *file, const char *how)
{
	return ks_fail(EBUSY, "%s/%s: published by %s%s", d->path, file,
	    f->good ? "" : "another process, ", how);
}

/*
 * Joins the publishers of a file, if it is live or was this process's own before it called exec(). 1 done;
 * 0: a new file is to be made, which keeps what is persistent in this one; -1 with errno.
 */
static int
join(struct kstat_pub *pub, struct found *f, const struct ks_seg_dir *d, const char *file, int flags)
{
	bool same_space, same_process;
	char who[64];

	if (!f->good)
		return f->live ? busy(f, d, file, "in another format or of another user") : 0;
	same_space = f->h.pid_space == ks_pid_space();
	same_process = same_space && f->h.creator_pid == (uint32_t)getpid() &&
	    f->h.creator == ks_owner_process();
	(void)snprintf(who, sizeof(who), "process %u", f->h.creator_pid);
	if (f->live && !same_process && !(flags & KSTAT_PUBLISH_SHARED)) {
		/* A dead one's children may publish on; but mostly it is about to let go. */
		if (ks_owner_alive(f->h.creator))
			return busy(f, d, file, who);
		if (!ks_seg_wait_end(f->fd)) {
			(void)snprintf(who, sizeof(who), "children of process %u, which is dead",
			    f->h.creator_pid);
			return busy(f, d, file, who);
		}
		f->live = false;
	}
	if (((f->h.flags ^ (uint32_t)flags) & KSTAT_PUBLISH_PRIV) != 0) {
		(void)strcat(who, " with other permissions");
		f->good = f->live; /* nothing is kept of a dead one */
		return f->live ? busy(f, d, file, who) : 0;
	}
	if (!f->live && !same_process)
		return 0;
	if (ks_seg_hold(f->fd) != 0)
		return f->live ? ks_fail(EBUSY, "%s/%s: others lock all of it", d->path, file) : 0;
	if (map(pub, f->fd, f->h.capacity) != 0)
		return -1;
	if (same_process)
		hide_entries(pub);
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
	ks_seg_index_free(&pub->index);
	free(pub);
}

/* Finds, takes over or makes the file; the directory is locked. */
static int
open_file(struct kstat_pub *pub, const struct ks_seg_dir *d, int flags)
{
	struct found f = { .fd = -1 };
	char file[KS_SEG_NAME + 8];
	int rc, error;

	file_name(file, pub, false);
	rc = find_file(&f, d, file);
	if (rc > 0)
		rc = join(pub, &f, d, file, flags);
	if (rc == 0)
		rc = create_file(pub, d, f.good ? f.fd : -1, flags);
	error = errno;
	if (f.fd >= 0)
		(void)close(f.fd);
	errno = error;
	return rc;
}

static struct kstat_pub *
open_pub(const char *dir, const char *name, int flags, size_t wanted)
{
	struct kstat_pub *pub = calloc(1, sizeof(*pub));
	struct ks_seg_dir d = { .fd = -1 };
	int lock = -1, rc = -1, error;

	if (pub == NULL)
		return ks_fail_null(ENOMEM, "out of memory for a segment");
	(void)snprintf(pub->name, sizeof(pub->name), "%s", name);
	(void)snprintf(pub->dir, sizeof(pub->dir), "%s", dir);
	pub->flags = flags;
	pub->wanted = wanted;
	if (open_own_dir(&d, dir) == 0 && (lock = ks_seg_lock_dir(&d, true)) >= 0)
		rc = open_file(pub, &d, flags);
	error = errno;
	if (lock >= 0)
		(void)close(lock);
	if (d.fd >= 0)
		(void)close(d.fd);
	if (rc >= 0)
		return pub;
	free_pub(pub);
	errno = error;
	return NULL;
}

kstat_pub_t *
kstat_publish_sized(const char *name, int flags, size_t size)
{
	struct kstat_pub *pub;
	char dir[PATH_MAX];

	if (check_name(name) != 0 || ks_seg_own_dir(dir) != 0)
		return NULL;
	if (size < FIRST_STORAGE || size > KS_SEG_MOST_BYTES)
		return ks_fail_null(EINVAL, "a segment has %zu to %llu bytes, not %zu", FIRST_STORAGE,
		    (unsigned long long)KS_SEG_MOST_BYTES, size);
	if ((flags & ~(KSTAT_PUBLISH_PRIV | KSTAT_PUBLISH_SHARED)) != 0)
		return ks_fail_null(EINVAL, "there are no publishing flags 0x%x", (unsigned)flags);
	(void)pthread_once(&once, watch_forks);
	ks_publish_lock();
	pub = find_published(dir, name);
	if (pub == NULL && (pub = open_pub(dir, name, flags, (size + 4095) & ~(size_t)4095)) != NULL) {
		pub->next = publications.first;
		publications.first = pub;
	}
	if (pub != NULL)
		pub->refs++;
	ks_publish_unlock();
	return pub;
}

kstat_pub_t *
kstat_publish(const char *name, int flags)
{
	return kstat_publish_sized(name, flags, CAPACITY);
}

void
kstat_publish_path(const kstat_pub_t *pub, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/%s%s", pub->dir, pub->name, KS_SEG_SUFFIX);
}

/* --- closing -------------------------------------------------------------------------------------------- */

/* Opens a regular file, and nothing else: looking at a device may do something. -1 with errno. */
static int
open_regular(const struct ks_seg_dir *d, const char *file, int flags, struct stat *st)
{
	int fd;

	if (fstatat(d->fd, file, st, AT_SYMLINK_NOFOLLOW) != 0)
		return fail_at(d, file, errno);
	fd = S_ISREG(st->st_mode) ? openat(d->fd, file, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return ks_fail(S_ISREG(st->st_mode) ? errno : EINVAL, "%s/%s cannot be looked into", d->path, file);
}

static int
remove_file(const struct ks_seg_dir *d, const char *file)
{
	return unlinkat(d->fd, file, 0) == 0 ? 1 : fail_at(d, file, errno);
}

/*
 * Removes a file that nobody publishes; with `own`, one that this process published, whatever has become
 * of what is in it. 1 removed, 0 it is live, to be kept, or none of ours; -1 with errno.
 */
static int
remove_if_dead(const struct ks_seg_dir *d, const char *file, int flags, bool own)
{
	struct ks_seg_header h;
	struct stat st;
	bool keep, damaged;
	ssize_t n;
	int fd = open_regular(d, file, O_RDWR, &st);

	if (fd < 0)
		return -1;
	memset(&h, 0, sizeof(h));
	n = pread(fd, &h, sizeof(h), 0);
	keep = (h.magic != KS_SEG_MAGIC && !own) || ks_seg_is_live(fd);
	if (!keep && !(flags & KSTAT_GC_PERSISTENT) && n == (ssize_t)sizeof(h) &&
	    header_is_good(&h, st.st_size))
		keep = has_persistent(fd, &h, &damaged);
	(void)close(fd);
	return keep ? 0 : remove_file(d, file);
}

/*
 * Puts private memory in the mapping's place: pointers into it stay good, what is written there is
 * seen by nobody. The mapping would keep the segment live.
 */
static void
replace_mapping(struct kstat_pub *pub)
{
	(void)mmap(pub->header, pub->mapped, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	pub->closed = true;
}

/* The process's part in a segment ends; the last one removes the file. */
static void
close_pub(struct kstat_pub *pub)
{
	char file[KS_SEG_NAME + 8];
	struct ks_seg_dir d;
	struct stat there;
	int lock;

	file_name(file, pub, false);
	if (ks_seg_dir_open(&d, pub->dir, geteuid(), false) != 0) {
		replace_mapping(pub);
		return;
	}
	lock = ks_seg_lock_dir(&d, true);
	replace_mapping(pub);
	/* Without the lock it is another user's, such as a worker's: whoever has the right cleans up. */
	if (lock >= 0 && fstatat(d.fd, file, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    there.st_ino == pub->ino && there.st_dev == pub->dev)
		(void)remove_if_dead(&d, file, 0, true);
	if (lock >= 0)
		(void)close(lock);
	(void)close(d.fd);
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
		if (!pub->closed)
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
remove_temporary(const struct ks_seg_dir *d, const char *file)
{
	static const struct ks_seg_header nothing;
	struct ks_seg_header h;
	struct stat st;
	int fd = open_regular(d, file, O_RDONLY, &st);
	ssize_t n;

	if (fd < 0)
		return -1;
	memset(&h, 0, sizeof(h));
	n = pread(fd, &h, sizeof(h), 0);
	(void)close(fd);
	if (n < 0 || st.st_size > (off_t)KS_SEG_MOST_BYTES ||
	    (h.magic != KS_SEG_MAGIC && memcmp(&h, &nothing, sizeof(h)) != 0))
		return 0;
	return remove_file(d, file);
}

struct cleaning {
	int flags;
	int count;
	void (*removed)(const char *path, void *arg);
	void *arg;
};

static void
clean_file(const struct ks_seg_dir *d, const char *file, struct cleaning *c)
{
	bool temporary = is_temporary(file);
	char path[PATH_MAX + NAME_MAX + 2];

	if (!temporary && ks_seg_name_length(file) == 0)
		return;
	if ((temporary ? remove_temporary(d, file) : remove_if_dead(d, file, c->flags, false)) != 1)
		return;
	c->count++;
	(void)snprintf(path, sizeof(path), "%s/%s", d->path, file);
	if (c->removed != NULL)
		c->removed(path, c->arg);
}

static int
clean_dir(const struct ks_seg_dir *dir, void *arg)
{
	struct cleaning *c = arg;
	struct dirent *de;
	DIR *d;
	int lock;

	if (dir->fd < 0 || faccessat(dir->fd, ".", W_OK, AT_EACCESS) != 0)
		return 0;
	/* Anybody may hold the lock of a directory of their own for ever. */
	lock = ks_seg_lock_dir(dir, dir->uid == geteuid() || dir->uid == 0);
	d = lock >= 0 ? ks_seg_dir_list(dir) : NULL;
	while (d != NULL && (de = readdir(d)) != NULL)
		clean_file(dir, de->d_name, c);
	if (d != NULL)
		(void)closedir(d);
	if (lock >= 0)
		(void)close(lock);
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
