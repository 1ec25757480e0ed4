/*
 * linux.c - what all files of the Linux source share: the table of subsystems, and the files and directories of /proc
 * and /sys as these ask for them. SPDX-License-Identifier: MIT
 */
#include "source/linux/linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "model/meta.h"

#define SUBSYSTEM_POINTER(name) &ks_linux_##name,
static const struct ks_subsystem *const subsystems[KS_SUB_COUNT] = { KS_SUBSYSTEMS(SUBSYSTEM_POINTER) };

const struct ks_subsystem *
ks_linux_subsystem(size_t sub)
{
	return subsystems[sub];
}

size_t
ks_linux_subsystem_of(const struct ks_linux *lx, const struct ks_units *units)
{
	size_t s = 0;

	while (&lx->sub[s].units != units)
		s++;
	return s;
}

int
ks_linux_gone(const struct ks_unit *unit)
{
	return ks_fail(ENXIO, "%s is gone", unit->name);
}

hrtime_t
ks_linux_now(const struct ks_linux *lx)
{
	return lx->tree.now != 0 ? lx->tree.now : gethrtime();
}

/* --- files --------------------------------------------------------------------------------------------- */

void
ks_linux_parsed(struct ks_linux *lx)
{
	for (struct ks_image *im = lx->is_unparsed ? lx->images : NULL; im != NULL; im = im->next) {
		if (im->is_unparsed)
			ks_reading_end(&im->reading, 0);
		im->is_unparsed = false;
	}
	lx->is_unparsed = false;
}

/* Reads an image if need be. Returns 0 or an errno. */
static int
fetch(struct ks_linux *lx, struct ks_image *im)
{
	if (ks_reading_is_due(&im->reading, lx->round)) {
		(void)ks_image_read(im, &lx->root[im->file->root], lx->round);
		lx->is_unparsed = im->is_unparsed = true;
	} else {
		ks_note_fault(&lx->root[im->file->root], im->err);
	}
	ks_linux_taken(lx, im->err, im->reading.taken);
	return im->err;
}

/* The image of a file, a new one if it was never read; NULL with errno ENOMEM. */
static struct ks_image *
find_or_add(struct ks_linux *lx, const struct ks_file *file)
{
	struct ks_image **im = &lx->images;

	while (*im != NULL && (*im)->file != file)
		im = &(*im)->next;
	if (*im == NULL && (*im = calloc(1, sizeof(**im))) != NULL) {
		(*im)->file = file;
		(*im)->fd = -1;
	}
	return *im;
}

const struct ks_image *
ks_linux_try(struct ks_linux *lx, const struct ks_file *file)
{
	struct ks_image *im = find_or_add(lx, file);
	uint64_t seq = im != NULL ? im->seq : 0;
	int err = im != NULL ? fetch(lx, im) : ENOMEM;

	/* A later look at the file may succeed, but what this one was for is missing. */
	if (im == NULL)
		lx->lack = ENOMEM;
	else if (im->seq != seq && !(file->is_for_root && (err == EACCES || err == EPERM)))
		ks_linux_note_path(lx, file->root, file->path, err);
	if (err != 0) {
		errno = err;
		return NULL;
	}
	return im;
}

const struct ks_image *
ks_linux_image(struct ks_linux *lx, const struct ks_file *file)
{
	const struct ks_image *im = ks_linux_try(lx, file);
	int err = errno;

	if (im == NULL)
		return ks_fail_null(err, "cannot read %s/%s: %s%s", lx->root[file->root].name, file->path,
		    strerror(err), ks_linux_remedy(err));
	return im;
}

int
ks_linux_try_once(struct ks_linux *lx, enum ks_root root, const char *path)
{
	return ks_linux_try_made(lx, root, path, KS_MADE_ANYHOW);
}

int
ks_linux_try_made(struct ks_linux *lx, enum ks_root root, const char *path, enum ks_made made)
{
	int err;

	ks_name_set(lx->scratch_path, sizeof(lx->scratch_path), path, strlen(path));
	lx->scratch_file = (struct ks_file){ root, lx->scratch_path, made, false };
	lx->scratch.file = &lx->scratch_file;
	err = ks_image_once(&lx->scratch, &lx->root[root]);
	ks_linux_taken(lx, err, lx->scratch.reading.taken);
	lx->im = &lx->scratch;
	return err;
}

const struct ks_image *
ks_linux_once(struct ks_linux *lx, const struct ks_unit *unit, enum ks_root root, const char *path)
{
	int err = ks_linux_try_once(lx, root, path);

	ks_linux_note_path(lx, root, path, err);
	if (err == 0)
		return lx->im;
	if (err == ENOENT)
		(void)ks_linux_gone(unit);
	else
		(void)ks_fail(err, "cannot read %s/%s: %s%s", lx->root[root].name, path, strerror(err),
		    ks_linux_remedy(err));
	return NULL;
}

bool
ks_linux_was_read(const struct ks_linux *lx, const struct ks_file *file)
{
	const struct ks_image *im = lx->images;

	while (im != NULL && im->file != file)
		im = im->next;
	return im != NULL && im->reading.round == lx->round;
}

DIR *
ks_linux_open_directory(struct ks_linux *lx, enum ks_root root, const char *path)
{
	DIR *dir = ks_dir_list(&lx->root[root], path);
	int err = dir == NULL ? errno : 0;

	if (lx->root[root].fd >= 0)
		ks_linux_note_path(lx, root, path, err);
	errno = err;
	return dir;
}

bool
ks_linux_number(struct ks_linux *lx, enum ks_root root, const char *path, uint64_t *v)
{
	bool known = ks_file_u64(&lx->root[root], path, v) == 0;

	ks_linux_note_path(lx, root, path, known || errno == EINVAL ? 0 : errno);
	return known;
}

void
ks_linux_check_directory(struct ks_linux *lx, enum ks_root root, const char *path)
{
	/* Flags make it another system call, which old containers do not allow. */
	int flags = geteuid() != getuid() || getegid() != getgid() ? AT_EACCESS : 0;

	if (lx->root[root].fd >= 0)
		ks_linux_note_path(lx, root, path,
		    faccessat(lx->root[root].fd, path, R_OK | X_OK, flags) == 0 ? 0 : errno);
}

bool
ks_linux_exists(const struct ks_linux *lx, enum ks_root root, const char *path)
{
	bool exists = lx->root[root].fd >= 0 && faccessat(lx->root[root].fd, path, F_OK, 0) == 0;

	if (!exists && lx->root[root].fd >= 0)
		ks_note_look(&lx->root[root], errno);
	return exists;
}

const struct dirent *
ks_linux_next_entry(struct ks_linux *lx, DIR *dir)
{
	const struct dirent *e;

	errno = 0;
	e = readdir(dir);
	if (e == NULL && errno != 0)
		lx->lack = errno;
	return e;
}

uint64_t
ks_linux_inode(const struct ks_linux *lx, enum ks_root root, const char *path)
{
	struct stat st;

	if (lx->root[root].fd < 0 || fstatat(lx->root[root].fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	return st.st_ino;
}

bool
ks_linux_any_entry(struct ks_linux *lx, enum ks_root root, const char *path,
    bool (*is_meant)(struct ks_linux *lx, const char *name))
{
	DIR *dir = lx->root[root].kernel && lx->root[KS_ROOT_PROC].kernel ? ks_dir_list(&lx->root[root], path) : NULL;
	const struct dirent *e;
	bool found = dir == NULL;

	while (!found && (e = ks_linux_next_entry(lx, dir)) != NULL)
		found = e->d_name[0] != '.' && is_meant(lx, e->d_name);
	if (dir != NULL)
		(void)closedir(dir);
	return found;
}

void
ks_linux_scanned(struct ks_linux *lx, struct ks_units *units, int before)
{
	units->scanned = lx->lack == 0 || lx->lack == EACCES;
	lx->lack = lx->lack != 0 ? lx->lack : before;
}

int
ks_linux_scan_files(struct ks_linux *lx, size_t id)
{
	const struct ks_subsystem *sub = ks_linux_subsystem(id);
	struct ks_units *units = &lx->sub[id].units;
	uint16_t wanted = lx->sub[id].wanted;
	const struct ks_file *last = NULL;
	struct ks_unit *unit;
	bool is_new, exists = true;
	int lack = lx->lack, rc;
	uint16_t before;

	if (units->scanned)
		return 0;
	lx->lack = 0;
	ks_units_begin(units);
	unit = ks_units_see(units, sub->parts[0].module, strlen(sub->parts[0].module), 0, &is_new);
	if (unit == NULL)
		return -1;
	before = unit->parts;
	for (size_t i = 0; i < sub->nparts; i++) {
		const struct ks_file *file = sub->parts[i].file;

		if ((wanted >> i & 1) == 0)
			continue;
		if (file != last)
			exists = file == NULL || ks_linux_exists(lx, file->root, file->path);
		last = file;
		if (exists && (sub->has_part == NULL || sub->has_part(lx, i)))
			unit->parts |= (uint16_t)(1u << i);
	}
	units->changed |= unit->parts != before;
	rc = ks_units_end(units);
	ks_linux_scanned(lx, units, lack);
	return rc;
}
