/*
 * trouble.c - what the person is to be told about files: those that are there and cannot be read,
 * and those with a line that means nothing. Each is told once, and again only if it was well in
 * between. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/linux/linux.h"

/* A file that is no image, or a directory. */
struct ks_path_trouble {
	struct ks_path_trouble *next;
	enum ks_root root;
	int err;          /* why it cannot be read; 0: it can */
	uint32_t line;    /* the first that means nothing, from 1; 0: none */
	bool untold_err, untold_line;
	char path[];      /* below its root */
};

/* True if a file is there and cannot be read; a kernel may have switched off what it is about. */
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

/* --- images ------------------------------------------------------------------------------- */

void
ks_linux_note_image(struct ks_linux *lx, enum ks_image_id id)
{
	uint32_t bit = 1u << id;

	if (!is_unreadable(lx->image[id].err)) {
		lx->warned &= ~bit;
		lx->untold &= ~bit;
	} else if ((lx->warned & bit) == 0 && id != KS_IMG_SLABINFO) {
		lx->untold |= bit; /* slab caches are for root; their scan tells the rest */
	}
}

void
ks_linux_note_scan(struct ks_linux *lx, enum ks_image_id id, int err)
{
	if (is_unreadable(err) && (lx->warned & 1u << id) == 0)
		lx->untold |= 1u << id;
}

void
ks_linux_odd_line(struct ks_linux *lx, const struct ks_image *im, const struct ks_text *line)
{
	size_t id = (size_t)(im - lx->image);

	if ((lx->odd & 1u << id) != 0)
		return;
	lx->odd |= 1u << id;
	lx->odd_untold |= 1u << id;
	lx->odd_line[id] = line_number(im->data, line);
}

/* --- other files --------------------------------------------------------------------------- */

/* The link that points to the entry of a path, or is the NULL at the end. */
static struct ks_path_trouble **
link_of(struct ks_linux *lx, enum ks_root root, const char *path)
{
	struct ks_path_trouble **t = &lx->troubles;

	while (*t != NULL && ((*t)->root != root || strcmp((*t)->path, path) != 0))
		t = &(*t)->next;
	return t;
}

/* The entry of a path, a new one if there is none; NULL without memory, and nothing is told. */
static struct ks_path_trouble *
find_or_add(struct ks_linux *lx, enum ks_root root, const char *path)
{
	struct ks_path_trouble **t = link_of(lx, root, path);
	size_t size = strlen(path) + 1;

	if (*t == NULL && (*t = calloc(1, sizeof(**t) + size)) != NULL) {
		(*t)->root = root;
		memcpy((*t)->path, path, size);
	}
	return *t;
}

void
ks_linux_note_path(struct ks_linux *lx, enum ks_root root, const char *path, int err)
{
	bool wrong = is_unreadable(err);
	struct ks_path_trouble *t = wrong ? find_or_add(lx, root, path) : *link_of(lx, root, path);

	if (t == NULL)
		return;
	t->untold_err = wrong && (t->untold_err || t->err == 0);
	t->err = wrong ? err : 0;
}

bool
ks_linux_is_unreadable(struct ks_linux *lx, enum ks_root root, const char *path)
{
	const struct ks_path_trouble *t = *link_of(lx, root, path);

	return t != NULL && t->err != 0;
}

void
ks_linux_odd_path(struct ks_linux *lx, enum ks_root root, const char *path, const char *text,
    const struct ks_text *line)
{
	struct ks_path_trouble *t = find_or_add(lx, root, path);

	if (t == NULL || t->line != 0)
		return;
	t->line = line_number(text, line);
	t->untold_line = true;
}

void
ks_linux_forget_troubles(struct ks_linux *lx)
{
	while (lx->troubles != NULL) {
		struct ks_path_trouble *t = lx->troubles;

		lx->troubles = t->next;
		free(t);
	}
}

/* --- telling ------------------------------------------------------------------------------- */

static const char *
say_unreadable(struct ks_linux *lx, enum ks_root root, const char *path, int err)
{
	(void)snprintf(lx->trouble, sizeof(lx->trouble), "cannot read %s/%s: %s%s", lx->root[root].name,
	    path, strerror(err), ks_linux_remedy(err));
	return lx->trouble;
}

static const char *
say_odd(struct ks_linux *lx, enum ks_root root, const char *path, uint32_t line)
{
	(void)snprintf(lx->trouble, sizeof(lx->trouble), "%s/%s: line %u cannot be understood and is "
	    "left out, as others like it", lx->root[root].name, path, line);
	return lx->trouble;
}

const char *
ks_linux_trouble(struct ks_source *src)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	int id = __builtin_ffs((int)lx->untold) - 1;

	if (id >= 0) {
		lx->untold &= ~(1u << id);
		lx->warned |= 1u << id;
		return say_unreadable(lx, lx->image[id].root, lx->image[id].path, lx->image[id].err);
	}
	id = __builtin_ffs((int)lx->odd_untold) - 1;
	if (id >= 0) {
		lx->odd_untold &= ~(1u << id);
		return say_odd(lx, lx->image[id].root, lx->image[id].path, lx->odd_line[id]);
	}
	for (struct ks_path_trouble *t = lx->troubles; t != NULL; t = t->next) {
		if (t->untold_err) {
			t->untold_err = false;
			return say_unreadable(lx, t->root, t->path, t->err);
		}
		if (t->untold_line) {
			t->untold_line = false;
			return say_odd(lx, t->root, t->path, t->line);
		}
	}
	return NULL;
}
