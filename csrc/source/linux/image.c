/* image.c - see image.h. SPDX-License-Identifier: MIT */
#include "source/linux/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

#define FIRST_CAP 4096
#define MIN_PAGE 4096 /* the least that a page holds */
/*
 * No file of /proc comes near. In a recorded tree, what is longer is no record of one: a link to
 * /dev/zero has no end.
 */
#define MAX_SIZE (64u << 20)
#define MAX_RECORDED (16u << 20)

void
ks_image_free(struct ks_image *im)
{
	if (im->fd >= 0)
		(void)close(im->fd);
	free(im->data);
	im->fd = -1;
	im->data = NULL;
	im->len = im->cap = 0;
}

/* Room for one more byte and the NUL; 0 or an errno. */
static int
grow(struct ks_image *im, bool kernel)
{
	size_t cap = im->cap == 0 ? FIRST_CAP : im->cap * 2;
	char *data;

	if (im->cap - im->len > 1)
		return 0;
	if (cap > (kernel ? MAX_SIZE : MAX_RECORDED))
		return EFBIG;
	data = realloc(im->data, cap);
	if (data == NULL)
		return ENOMEM;
	im->data = data;
	im->cap = cap;
	return 0;
}

/* True if a read of n bytes, for which there was room for `room`, met the end of the file. */
static bool
is_last(const struct ks_image *im, size_t n, size_t room)
{
	if (im->made == KS_MADE_WHOLE)
		return n < room;
	return im->made == KS_MADE_BRIEFLY && n + KS_BRIEF <= MIN_PAGE && n + KS_BRIEF <= room;
}

static int
read_all(struct ks_image *im, bool kernel)
{
	int err;

	im->len = 0;
	while ((err = grow(im, kernel)) == 0) {
		size_t room = im->cap - im->len - 1;
		ssize_t n = pread(im->fd, im->data + im->len, room, (off_t)im->len);

		if (n == 0)
			break;
		if (n > 0)
			im->len += (size_t)n;
		else if (errno != EINTR)
			return errno;
		if (n > 0 && kernel && is_last(im, (size_t)n, room))
			break;
	}
	return err;
}

int
ks_image_read(struct ks_image *im, const struct ks_files *root)
{
	int err = 0;

	/* A file of a recorded tree may have been replaced by another of that name. */
	if (im->fd >= 0 && !root->kernel) {
		(void)close(im->fd);
		im->fd = -1;
	}
	im->seq++;
	im->taken = gethrtime();
	if (im->fd >= 0 && (err = read_all(im, root->kernel)) != 0) {
		/* What the descriptor stood for may be gone and back again. */
		(void)close(im->fd);
		im->fd = -1;
	}
	if (im->fd < 0 && (root->fd < 0 || im->absent)) {
		err = ENOENT;
	} else if (im->fd < 0) {
		im->fd = openat(root->fd, im->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		err = im->fd < 0 ? errno : read_all(im, root->kernel);
		/* What /proc has follows from how the kernel was built. */
		im->absent = err == ENOENT && root->kernel && im->root == KS_ROOT_PROC;
	}
	if (err != 0)
		im->len = 0;
	if (im->data != NULL)
		im->data[im->len] = '\0';
	im->err = err;
	im->took = gethrtime() - im->taken;
	return err;
}

int
ks_image_once(struct ks_image *im, const struct ks_files *root, const char *path)
{
	int err;

	im->path = path;
	im->absent = false;
	err = ks_image_read(im, root);
	if (im->fd >= 0)
		(void)close(im->fd);
	im->fd = -1;
	im->path = NULL;
	return err;
}

int
ks_file_small(const struct ks_files *root, const char *path, char *to, size_t size)
{
	int fd, err;
	ssize_t n;

	if (root->fd < 0) {
		errno = ENOENT;
		return -1;
	}
	fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	do {
		n = read(fd, to, size - 1);
	} while (n < 0 && errno == EINTR);
	err = errno;
	(void)close(fd);
	errno = err;
	if (n < 0)
		return -1;
	while (n > 0 && (to[n - 1] == '\n' || to[n - 1] == ' ' || to[n - 1] == '\t'))
		n--;
	to[n] = '\0';
	return (int)n;
}

int
ks_file_u64(const struct ks_files *root, const char *path, uint64_t *v)
{
	char text[64];
	const char *p = text;
	int n = ks_file_small(root, path, text, sizeof(text));

	if (n < 0)
		return -1;
	if (ks_scan_u64(&p, text + n, v) != 0) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}
