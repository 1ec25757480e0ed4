/* disk_own.c - see disk_own.h. SPDX-License-Identifier: MIT */
#include "source/linux/disk/disk_own.h"

#include "source/linux/disk/disk.h"

static struct ks_own_files *
own_of(const struct ks_linux *lx)
{
	return &((struct ks_disk_state *)lx->sub[KS_SUB_disk].state)->own;
}

void
ks_own_init(struct ks_own_files *own)
{
	for (size_t i = 0; i < KS_FEW_DISKS; i++) {
		own->file[i].decl = (struct ks_file){ KS_ROOT_SYS, own->file[i].path, KS_MADE_WHOLE, false };
		own->file[i].image = (struct ks_image){ .file = &own->file[i].decl, .fd = -1 };
	}
}

void
ks_own_close(struct ks_own_files *own)
{
	for (size_t i = 0; i < KS_FEW_DISKS; i++) {
		ks_image_free(&own->file[i].image);
		own->file[i].image.round = 0;
	}
	own->failed = false;
}

/* Counts a disk among those of this round. With the first one, decides by the count of the round before. */
static void
count(struct ks_linux *lx, uint32_t disk)
{
	const struct ks_units *units = &lx->sub[KS_SUB_disk].units;
	struct ks_own_files *own = own_of(lx);

	if (own->round != lx->round) {
		own->few = own->round != 0 && own->disks <= KS_FEW_DISKS &&
		    own->disks * 2 < units->n - units->dead;
		own->round = lx->round;
		own->disks = 0;
		if (!own->few)
			ks_own_close(own);
	}
	for (uint32_t i = 0; i < own->disks && i < KS_FEW_DISKS; i++) {
		if (own->disk[i] == disk)
			return;
	}
	if (own->disks < KS_FEW_DISKS)
		own->disk[own->disks] = disk;
	if (own->disks <= KS_FEW_DISKS)
		own->disks++;
}

/* The file of a disk, for which the one not read for longest makes room; NULL: all are in use. */
static struct ks_own_file *
file_of(struct ks_linux *lx, const struct ks_unit *unit, uint32_t disk)
{
	struct ks_own_file *files = own_of(lx)->file, *oldest = files;

	for (size_t i = 0; i < KS_FEW_DISKS; i++) {
		if (files[i].image.fd >= 0 && files[i].disk == disk)
			return &files[i];
		if (files[i].image.round < oldest->image.round)
			oldest = &files[i];
	}
	if (oldest->image.round == lx->round)
		return NULL;
	ks_image_free(&oldest->image);
	oldest->image.round = 0;
	oldest->disk = disk;
	ks_disk_path(oldest->path, sizeof(oldest->path), "class/block", unit->key, "/stat");
	return oldest;
}

bool
ks_own_line(struct ks_linux *lx, const struct ks_unit *unit, struct ks_text *line)
{
	uint32_t disk = (uint32_t)(unit - lx->sub[KS_SUB_disk].units.v);
	hrtime_t taken = lx->taken;
	struct ks_own_file *file;
	struct ks_text all;

	if (!lx->root[KS_ROOT_PROC].kernel || !lx->root[KS_ROOT_SYS].kernel)
		return false;
	count(lx, disk);
	/* What diskstats has of this round costs nothing. */
	if (!own_of(lx)->few || own_of(lx)->failed || ks_linux_was_read(lx, &ks_diskstats_file))
		return false;
	file = file_of(lx, unit, disk);
	if (file == NULL)
		return false;
	if (ks_linux_fetch(lx, &file->image) == 0) {
		all = ks_text_of(file->image.data, file->image.len);
		if (ks_text_line(&all, line) && ks_text_at_number(line))
			return true;
	}
	/* Not again before the disks have changed, or all of them were wanted. */
	ks_own_close(own_of(lx));
	own_of(lx)->failed = true;
	lx->taken = taken;
	return false;
}
