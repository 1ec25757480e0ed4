/*
 * publication.c - segments that this process publishes: opening and closing. See
 * kstat_provider.h for what they promise, segment_layout.h for what lies in them.
 *
 * Whoever makes, takes over or removes a file holds the directory's lock. A segment is live as long as
 * a publisher has it mapped: the lock belongs to the opening of the file, so that forked children keep it, and the
 * kernel drops it with the last mapping. No descriptor stays open: a child that is trusted less than its parent
 * could cut off the file with it.
 * SPDX-License-Identifier: MIT
 */
#include "provider/segment/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "provider/segment/directory.h"
#include "provider/segment/file.h"
#include "provider/segment/space.h"

#define CAPACITY ((size_t)64 << 20) /* of a new segment, unless it is given; storage is taken as it is used */

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

/* --- damage -------------------------------------------------------------------------------------------- */

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

/* True if the file of that name is the segment's own. */
static bool
is_file_of(const struct kstat_pub *pub, const struct ks_seg_dir *d, const char *file)
{
	struct stat there;

	return fstatat(d->fd, file, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == pub->ino &&
	    there.st_dev == pub->dev;
}

void
ks_publish_condemn(struct kstat_pub *pub)
{
	atomic_store(&pub->header->condemned, 1);
}

/* Looks for damage in a segment that this process published before. */
static bool
is_damaged(struct kstat_pub *pub)
{
	struct ks_seg_header *h = pub->header;
	uint64_t at = KS_SEG_HEADER, size, v;
	bool damaged;

	if (atomic_load(&h->condemned) != 0 || !ks_seg_header_is_good(h, (off_t)pub->mapped))
		return true;
	v = ks_word_lock(&h->lock); /* children may be creating kstats */
	if (v == KS_WORD_BUSY) /* for a second: nobody does that who means well */
		return true;
	while ((size = ks_seg_entry_size(pub, at)) != 0 && ks_seg_entry_is_whole(pub, at, size))
		at += size;
	damaged = at != atomic_load(&h->used);
	ks_word_abort(&h->lock, v);
	return damaged;
}

/*
 * Makes room for a new segment in place of a damaged one. The file goes, though children may have it mapped still;
 * what this process keeps of its kstats lies in private memory from now on. False: this process may not remove it.
 */
static bool
give_up(struct kstat_pub *pub)
{
	struct kstat_pub **at = &publications.first;
	char file[KS_SEG_NAME + 8];
	struct ks_seg_dir d;
	int lock;
	bool gone;

	ks_seg_file_name(file, pub, false);
	if (ks_seg_dir_open(&d, pub->dir, geteuid(), false) == 0) {
		lock = ks_seg_lock_dir(&d, true);
		gone = lock >= 0 && (!is_file_of(pub, &d, file) || unlinkat(d.fd, file, 0) == 0);
		if (lock >= 0)
			(void)close(lock);
		(void)close(d.fd);
	} else {
		gone = errno == ENOENT;
	}
	if (!gone)
		return false;
	while (*at != pub)
		at = &(*at)->next;
	*at = pub->next;
	replace_mapping(pub);
	return true;
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
unmap(struct kstat_pub *pub)
{
	if (pub->header != NULL)
		(void)munmap(pub->header, pub->mapped);
	pub->header = NULL;
}

static void
free_pub(struct kstat_pub *pub)
{
	unmap(pub);
	ks_seg_index_free(&pub->index);
	free(pub);
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
		rc = ks_seg_take_file(pub, &d, flags);
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

/* True if the directory in which this process publishes is another one now, and stores it. */
static bool
has_moved(char dir[PATH_MAX])
{
	char before[PATH_MAX];
	int error = errno;
	bool moved;

	memcpy(before, dir, PATH_MAX);
	moved = ks_seg_own_dir(dir) == 0 && strcmp(before, dir) != 0;
	errno = error;
	return moved;
}

kstat_pub_t *
kstat_publish_sized(const char *name, int flags, size_t size)
{
	struct kstat_pub *pub;
	char dir[PATH_MAX];
	bool is_new = false;

	if (check_name(name) != 0 || ks_seg_own_dir(dir) != 0)
		return NULL;
	if (size < KS_SEG_FIRST_STORAGE || size > KS_SEG_MOST_BYTES)
		return ks_fail_null(EINVAL, "a segment has %zu to %llu bytes, not %zu", KS_SEG_FIRST_STORAGE,
		    (unsigned long long)KS_SEG_MOST_BYTES, size);
	if ((flags & ~(KSTAT_PUBLISH_PRIV | KSTAT_PUBLISH_SHARED)) != 0)
		return ks_fail_null(EINVAL, "there are no publishing flags 0x%x", (unsigned)flags);
	(void)pthread_once(&once, watch_forks);
	ks_publish_lock();
	pub = find_published(dir, name);
	if (pub != NULL && is_damaged(pub) && give_up(pub))
		pub = NULL;
	size = (size + 4095) & ~(size_t)4095;
	if (pub == NULL) {
		pub = open_pub(dir, name, flags, size);
		/* Another user may just have made a directory of that name. */
		if (pub == NULL && errno == EACCES && has_moved(dir))
			pub = open_pub(dir, name, flags, size);
		is_new = pub != NULL;
	}
	if (is_new) {
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
	if (pub != NULL)
		(void)snprintf(buf, size, "%s/%s%s", pub->dir, pub->name, KS_SEG_SUFFIX);
	else if (size > 0)
		*buf = '\0';
}

/* --- kstats of a segment ---------------------------------------------------------------------------- */

void
ks_published_free(struct ks_published *d)
{
	struct ks_published **at = &d->pub->kstats;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	/* Its counts lie in the segment: ks_provider_free() must see that it is published. */
	ks_provider_free(d->provider);
	free(d->fields);
	free(d);
}

void
ks_published_forget(struct ks_provider *p)
{
	ks_publish_lock();
	for (int i = 0; i < KS_QUEUE_TIMES; i++) {
		if (p->published->times[i] != NULL)
			ks_published_free(((struct ks_provider *)p->published->times[i])->published);
	}
	ks_published_free(p->published);
	ks_publish_unlock();
}

/* --- closing -------------------------------------------------------------------------------------------- */

/* The process's part in a segment ends; the last one removes the file. */
static void
close_pub(struct kstat_pub *pub)
{
	char file[KS_SEG_NAME + 8];
	struct ks_seg_dir d;
	int lock;

	ks_seg_file_name(file, pub, false);
	if (ks_seg_dir_open(&d, pub->dir, geteuid(), false) != 0) {
		replace_mapping(pub);
		return;
	}
	lock = ks_seg_lock_dir(&d, true);
	replace_mapping(pub);
	/* Without the lock it is another user's, such as a worker's: whoever has the right cleans up. */
	if (lock >= 0 && is_file_of(pub, &d, file))
		(void)ks_seg_remove_if_dead(&d, file, 0, true);
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
		while (*at != NULL && *at != pub)
			at = &(*at)->next;
		if (*at != NULL) /* it was not damaged */
			*at = pub->next;
		while (pub->kstats != NULL)
			ks_published_free(pub->kstats);
		if (!pub->closed)
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
