/*
 * file.c - files of segments: making them, and taking over those of publishers that died.
 * SPDX-License-Identifier: MIT
 */
#include "provider/segment/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "provider/segment/space.h"

void
ks_seg_file_name(char to[KS_SEG_NAME + 8], const struct kstat_pub *pub, bool temporary)
{
	(void)snprintf(to, KS_SEG_NAME + 8, "%s%s%s", temporary ? "." : "", pub->name,
	    temporary ? KS_SEG_TEMPORARY : KS_SEG_SUFFIX);
}

int
ks_seg_fail_at(const struct ks_seg_dir *d, const char *file, int error)
{
	return ks_fail(error, "%s/%s: %s", d->path, file, strerror(error));
}

/* --- mapping -------------------------------------------------------------------------------------- */

bool
ks_seg_header_is_good(const struct ks_seg_header *h, off_t size)
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
		return rl.rlim_cur < KS_SEG_FIRST_STORAGE ? KS_SEG_FIRST_STORAGE : (size_t)rl.rlim_cur & ~(size_t)4095;
	return wanted;
}

/* --- taking over what is there ----------------------------------------------------------------------- */

bool
ks_seg_is_entry(const struct ks_seg_entry *e, uint64_t room)
{
	return room >= sizeof(*e) && e->magic == KS_SEG_ENTRY_MAGIC && e->size >= sizeof(*e) &&
	    e->size % KS_SEG_ALIGN == 0 && e->size <= room;
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

		if (pread(old, &e, sizeof(e), (off_t)at) != (ssize_t)sizeof(e) || !ks_seg_is_entry(&e, used - at))
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
	if (ftruncate(fd, (off_t)size) != 0 || (errno = posix_fallocate(fd, 0, KS_SEG_FIRST_STORAGE)) != 0 ||
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

	ks_seg_file_name(file, pub, false);
	ks_seg_file_name(temporary, pub, true);
	(void)unlinkat(d->fd, temporary, 0); /* of one who died here: the directory is locked */
	fd = openat(d->fd, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return ks_seg_fail_at(d, temporary, errno);
	rc = fill_file(pub, fd, old, flags);
	if (rc == 0 && renameat(d->fd, temporary, d->fd, file) != 0)
		rc = ks_seg_fail_at(d, file, errno);
	error = errno;
	(void)close(fd);
	if (rc != 0)
		(void)unlinkat(d->fd, temporary, 0);
	errno = error;
	return rc;
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
		return errno == ENOENT ? 0 : ks_seg_fail_at(d, file, errno);
	f->live = ks_seg_is_live(f->fd);
	f->good = fstat(f->fd, &f->st) == 0 && S_ISREG(f->st.st_mode) && f->st.st_uid == geteuid() &&
	    pread(f->fd, &f->h, sizeof(f->h), 0) == (ssize_t)sizeof(f->h) &&
	    ks_seg_header_is_good(&f->h, f->st.st_size);
	return 1;
}

/* --- who publishes it already ------------------------------------------------------------------------ */

#define WHO 160 /* bytes of a text that names a process */

/* Stores the number and name of a process: "process 123 (nginx)". */
static void
name_process(char who[WHO], unsigned long pid)
{
	char path[64], name[32] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%lu/comm", pid);
	f = fopen(path, "re");
	if (f != NULL) {
		if (fgets(name, sizeof(name), f) != NULL)
			name[strcspn(name, "\n")] = '\0';
		(void)fclose(f);
	}
	(void)snprintf(who, WHO, name[0] != '\0' ? "process %lu (%s)" : "process %lu", pid, name);
}

/* Whether a process has mapped the file. Only its own user and root can see that. */
static bool
has_mapped(const char *pid, const struct stat *st)
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	f = fopen(path, "re");
	while (f != NULL && !found && getline(&line, &room, f) > 0) {
		unsigned device[2];
		unsigned long long inode;

		found = sscanf(line, "%*s %*s %*s %x:%x %llu", &device[0], &device[1], &inode) == 3 &&
		    inode == st->st_ino && device[0] == major(st->st_dev) && device[1] == minor(st->st_dev);
	}
	free(line);
	if (f != NULL)
		(void)fclose(f);
	return found;
}

/* Names the first process that has mapped the file, or its creator, which ended, as one does that becomes a daemon. */
static void
name_heir(char who[WHO], const struct stat *st, uint32_t creator)
{
	DIR *processes = opendir("/proc");
	const struct dirent *e;

	(void)snprintf(who, WHO, "children of process %u, which ended", creator);
	while (processes != NULL && (e = readdir(processes)) != NULL) {
		if (isdigit((unsigned char)e->d_name[0]) && has_mapped(e->d_name, st)) {
			name_process(who, strtoul(e->d_name, NULL, 10));
			break;
		}
	}
	if (processes != NULL)
		(void)closedir(processes);
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
	char who[WHO];

	if (!f->good)
		return f->live ? busy(f, d, file, "in another format or of another user") : 0;
	same_space = f->h.pid_space == ks_pid_space();
	same_process = same_space && f->h.creator_pid == (uint32_t)getpid() &&
	    f->h.creator == ks_owner_process();
	name_process(who, f->h.creator_pid);
	if (f->live && !same_process && !(flags & KSTAT_PUBLISH_SHARED)) {
		/* A dead one's children may publish on; but mostly it is about to let go. */
		if (ks_owner_alive(f->h.creator))
			return busy(f, d, file, who);
		if (!ks_seg_wait_end(f->fd)) {
			name_heir(who, &f->st, f->h.creator_pid);
			return busy(f, d, file, who);
		}
		f->live = false;
	}
	if (((f->h.flags ^ (uint32_t)flags) & KSTAT_PUBLISH_PRIV) != 0) {
		(void)strncat(who, " with other permissions", sizeof(who) - strlen(who) - 1);
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

int
ks_seg_take_file(struct kstat_pub *pub, const struct ks_seg_dir *d, int flags)
{
	struct found f = { .fd = -1 };
	char file[KS_SEG_NAME + 8];
	int rc, error;

	ks_seg_file_name(file, pub, false);
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
