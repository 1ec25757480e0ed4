/*
 * trouble.c - warnings about files: those that exist and cannot be read, and those with a line that cannot be
 * parsed. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "source/linux/linux.h"

/* What is wrong with a file or a directory. */
struct ks_trouble {
	struct ks_trouble *next;
	enum ks_root root;
	int err;          /* why it could not be read the last time; 0: it could */
	uint32_t line;    /* number of the first line that could not be parsed, from 1; 0: none */
	bool err_is_new, line_is_new; /* the user was not warned yet */
	char path[];      /* below its root */
};

/* True if a file exists and cannot be read. EOPNOTSUPP: the kernel does not keep what the file is about. */
static bool
is_unreadable(int err)
{
	return err != 0 && err != ENOENT && err != ENOTDIR && err != EOPNOTSUPP;
}

const char *
ks_linux_remedy(int err)
{
	if (err == EACCES || err == EPERM)
		return " (run as root, or ask for read permission)";
	if (err == ENOENT)
		return " (this kernel does not have it)";
	if (err == EFBIG)
		return " (no file of /proc is so large)";
	return "";
}

static uint32_t
line_number(const char *text, const struct ks_text *line)
{
	uint32_t number = 1;

	for (const char *p = text; p < line->p; p++)
		number += *p == '\n';
	return number;
}

/* The link that points to the entry of a path, or the NULL at the end of the list. */
static struct ks_trouble **
link_of(struct ks_linux *lx, enum ks_root root, const char *path)
{
	struct ks_trouble **t = &lx->troubles;

	while (*t != NULL && ((*t)->root != root || strcmp((*t)->path, path) != 0))
		t = &(*t)->next;
	return t;
}

/* The entry of a path, a new one if there is none; NULL without memory, of which the user is warned instead. */
static struct ks_trouble *
find_or_add(struct ks_linux *lx, enum ks_root root, const char *path)
{
	struct ks_trouble **t = link_of(lx, root, path);
	size_t size = strlen(path) + 1;

	if (*t == NULL && (*t = calloc(1, sizeof(**t) + size)) != NULL) {
		(*t)->root = root;
		memcpy((*t)->path, path, size);
	}
	if (*t == NULL)
		lx->lack = ENOMEM;
	return *t;
}

void
ks_linux_note_path(struct ks_linux *lx, enum ks_root root, const char *path, int err)
{
	bool wrong = is_unreadable(err);
	struct ks_trouble *t = wrong ? find_or_add(lx, root, path) : *link_of(lx, root, path);

	if (t == NULL)
		return;
	t->err_is_new = wrong && (t->err_is_new || t->err == 0);
	t->err = wrong ? err : 0;
}

bool
ks_linux_is_unreadable(struct ks_linux *lx, enum ks_root root, const char *path)
{
	const struct ks_trouble *t = *link_of(lx, root, path);

	return t != NULL && t->err != 0;
}

void
ks_linux_odd_path(struct ks_linux *lx, enum ks_root root, const char *path, const char *text,
    const struct ks_text *line)
{
	struct ks_trouble *t = find_or_add(lx, root, path);

	if (t == NULL || t->line != 0)
		return;
	t->line = line_number(text, line);
	t->line_is_new = true;
}

void
ks_linux_odd_line(struct ks_linux *lx, const struct ks_image *im, const struct ks_text *line)
{
	ks_linux_odd_path(lx, im->file->root, im->file->path, im->data, line);
}

void
ks_linux_forget_troubles(struct ks_source *src)
{
	struct ks_linux *lx = (struct ks_linux *)src;

	while (lx->troubles != NULL) {
		struct ks_trouble *t = lx->troubles;

		lx->troubles = t->next;
		free(t);
	}
}

const char *
ks_linux_gpu_state(int err)
{
	return err == 0 ? "ok" : err == EAGAIN ? "no answer" : err == ENODEV ? "lost" :
	    err == ENOTRECOVERABLE ? "to be reset" : err == EACCES ? "not accessible" :
	    "not asked: too many others do not answer";
}

static const char *
describe_unreadable(struct ks_linux *lx, enum ks_root root, const char *path, int err)
{
	if (root == KS_ROOT_MOUNT)
		(void)snprintf(lx->trouble, sizeof(lx->trouble), "%s: the file system %s; its sizes are missing", path,
		    err == EAGAIN ? "does not answer" : "is not asked, since too many others do not answer");
	else if (root == KS_ROOT_GPU)
		(void)snprintf(lx->trouble, sizeof(lx->trouble), "nvidia:%s:%s: %s; its statistics are missing%s",
		    path + strcspn(path, "0123456789"), path, ks_linux_gpu_state(err), err == ENODEV ||
		    err == ENOTRECOVERABLE ? " (the kernel's log says why; reset the GPU or restart the machine)" : "");
	else
		(void)snprintf(lx->trouble, sizeof(lx->trouble), "cannot read %s/%s: %s%s", lx->root[root].name,
		    path, strerror(err), ks_linux_remedy(err));
	return lx->trouble;
}

static const char *
describe_odd(struct ks_linux *lx, enum ks_root root, const char *path, uint32_t line)
{
	(void)snprintf(lx->trouble, sizeof(lx->trouble), "%s/%s: line %u cannot be understood and is "
	    "left out, as others like it", lx->root[root].name, path, line);
	return lx->trouble;
}

/* A line for what is missing without another warning; NULL if nothing is. */
static const char *
describe_lack(struct ks_linux *lx)
{
	if (lx->lack == 0)
		return NULL;
	(void)snprintf(lx->trouble, sizeof(lx->trouble), "kstats or statistics are missing: %s",
	    strerror(lx->lack));
	lx->lack = 0;
	return lx->trouble;
}

const char *
ks_linux_trouble(struct ks_source *src, bool *is_lack)
{
	struct ks_linux *lx = (struct ks_linux *)src;

	*is_lack = false;
	for (struct ks_trouble *t = lx->troubles; t != NULL; t = t->next) {
		if (t->err_is_new) {
			t->err_is_new = false;
			*is_lack = ks_is_lack(t->err) || t->err == EIO || t->err == EINTR;
			lx->lack = *is_lack ? 0 : lx->lack;
			return describe_unreadable(lx, t->root, t->path, t->err);
		}
		if (t->line_is_new) {
			t->line_is_new = false;
			return describe_odd(lx, t->root, t->path, t->line);
		}
	}
	*is_lack = lx->lack != 0 && lx->lack != EACCES;
	return describe_lack(lx);
}
