/* mount.c - see mount.h. SPDX-License-Identifier: MIT */
#include "source/linux/fs/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define UNIQUE_ID 0x4000u /* STATX_MNT_ID_UNIQUE, which older headers do not have */
#define LOOK_AGAIN (10 * KS_NANOSEC) /* after which the file is read even if the kernel reports no change */

static const struct ks_file mountinfo_file = { KS_ROOT_PROC, "self/mountinfo", KS_MADE_POLLED, false };

/* Counts a change if there was one since the last look. What is mounted anew in the same way leaves the same text. */
static void
look(struct ks_linux *lx)
{
	const struct ks_image *im = lx->mounts.im;
	struct pollfd p = { .fd = im != NULL ? im->fd : -1, .events = POLLPRI };
	bool is_news = lx->mounts.news == 0 || (p.fd >= 0 && lx->root[KS_ROOT_PROC].kernel && poll(&p, 1, 0) != 0);
	uint64_t hash;

	if (!is_news && p.fd >= 0 && lx->root[KS_ROOT_PROC].kernel && gethrtime() - lx->mounts.read < LOOK_AGAIN)
		return;
	lx->mounts.im = im = ks_linux_try(lx, &mountinfo_file);
	lx->mounts.read = gethrtime();
	hash = im != NULL ? ks_hash_bytes(KS_HASH_INIT, im->data, im->len) : 0;
	lx->mounts.news += is_news || hash != lx->mounts.hash;
	lx->mounts.hash = hash;
}

bool
ks_linux_mounts_changed(struct ks_linux *lx, uint64_t *seen, const struct ks_image **im)
{
	look(lx);
	*im = lx->mounts.im;
	if (*seen == lx->mounts.news)
		return false;
	*seen = lx->mounts.news;
	return true;
}

bool
ks_linux_parse_mount(struct ks_text line, struct ks_mount *m)
{
	struct ks_text word;

	if (!ks_text_u64(&line, &m->id) || !ks_text_word(&line, &word) || !ks_text_word(&line, &m->number) ||
	    !ks_text_word(&line, &m->root) || !ks_text_word(&line, &m->point) ||
	    !ks_text_word(&line, &m->options))
		return false;
	/* Any number of fields, then a dash. */
	do {
		if (!ks_text_word(&line, &word))
			return false;
	} while (!ks_text_is(&word, "-"));
	if (!ks_text_word(&line, &m->type) || !ks_text_word(&line, &m->source))
		return false;
	(void)ks_text_word(&line, &m->super);
	return true;
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

size_t
ks_linux_unescape(const struct ks_text *from, char *to, size_t size)
{
	const char *p = from->p;
	size_t n = 0;

	while (p < from->end && n + 1 < size) {
		if (*p == '\\' && from->end - p >= 4 && p[1] <= '3' && is_octal(p[1]) &&
		    is_octal(p[2]) && is_octal(p[3])) {
			to[n++] = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			to[n++] = *p++;
		}
	}
	to[n] = '\0';
	return n;
}

bool
ks_linux_option(struct ks_text options, const char *name, struct ks_text *value)
{
	size_t n = strlen(name);

	while (options.p < options.end) {
		const char *comma = memchr(options.p, ',', ks_text_size(&options));
		const char *end = comma != NULL ? comma : options.end;

		if ((size_t)(end - options.p) >= n && memcmp(options.p, name, n) == 0 &&
		    (options.p + n == end || options.p[n] == '=')) {
			if (value != NULL)
				*value = (struct ks_text){ options.p + n + (options.p + n < end), end };
			return true;
		}
		options.p = comma != NULL ? comma + 1 : options.end;
	}
	return false;
}

static bool
is_in(const struct ks_text *all, const char *word)
{
	return *word != '\0' && memmem(all->p, ks_text_size(all), word, strlen(word)) != NULL;
}

bool
ks_linux_mount_point(struct ks_linux *lx, const char *number, const char *source, char *to,
    size_t size)
{
	const struct ks_image *im = ks_linux_try(lx, &mountinfo_file);
	struct ks_text all, line, found = { NULL, NULL };
	struct ks_mount m;

	if (im == NULL)
		return false;
	all = ks_text_of(im->data, im->len);
	/* Most devices are not mounted: then no line needs to be taken apart. */
	if (!is_in(&all, number) && !is_in(&all, source))
		return false;
	while (ks_text_line(&all, &line)) {
		if (!ks_linux_parse_mount(line, &m)) {
			if (!ks_text_empty(&line))
				ks_linux_odd_line(lx, im, &line);
			continue;
		}
		if (!((*number != '\0' && ks_text_is(&m.number, number)) ||
		    (*source != '\0' && ks_text_is(&m.source, source))))
			continue;
		if (found.p == NULL || ks_text_is(&m.root, "/"))
			found = m.point;
		if (ks_text_is(&m.root, "/"))
			break;
	}
	if (found.p == NULL)
		return false;
	(void)ks_linux_unescape(&found, to, size);
	return true;
}

/* True if a descriptor is of that mount, as far as this can be found out. */
static bool
is_of_mount(int fd, uint64_t mount_id)
{
#ifdef STATX_MNT_ID
	struct statx st;

	/* Nothing is asked of a server for this. Kernels before 5.8 do not know the number of a mount. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) == 0 &&
	    (st.stx_mask & STATX_MNT_ID) != 0)
		return st.stx_mnt_id == mount_id;
#else
	(void)fd;
	(void)mount_id;
#endif
	return true;
}

/* The number of a descriptor's mount that is never used again; 0: it is not known. */
static uint64_t
unique_mount(int fd)
{
#ifdef STATX_MNT_ID
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, UNIQUE_ID, &st) == 0 &&
	    (st.stx_mask & UNIQUE_ID) != 0)
		return st.stx_mnt_id;
#else
	(void)fd;
#endif
	return 0;
}

int
ks_linux_statvfs(const char *path, uint64_t mount_id, struct statvfs *fs, uint64_t *unique)
{
	/* O_PATH does not trigger an automount, as statvfs() of a path does. */
	int fd = open(path, O_PATH | O_CLOEXEC);
	int err = fd < 0 ? errno : 0;
	struct stat root;

	if (fd >= 0) {
		if (unique != NULL)
			*unique = unique_mount(fd);
		if (!is_of_mount(fd, mount_id))
			err = ENOENT;
		/* XFS that shut itself down still says how full it is, but answers all else with EIO. */
		else if (fstatvfs(fd, fs) != 0 || fstat(fd, &root) != 0)
			err = errno;
		(void)close(fd);
	}
	return err;
}
