/*
 * disk_own.c - the files of one disk or partition below /sys. /sys/class/block/sda/stat has the numbers of its line
 * of /proc/diskstats, for which the kernel adds up what each CPU counted for each disk: a report on a few of many disks
 * need not wait for the others. With 1,000 disks a tick of vmstat, which shows four, takes 2.7 times the instructions
 * without these files, with 64 disks 1.1 times, with 4 as many.
 *
 * If the last round that read disks read only a few, this round reads their own files; otherwise, and in the
 * first round, it reads diskstats. Both show the same counters, so no counter goes backwards between them.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/disk/disk.h"

#include "base/clock.h"

const struct ks_file ks_diskstats_file = { KS_ROOT_PROC, "diskstats", KS_MADE_BRIEFLY, false };

/* Appends a text as far as there is room, and returns the place behind it. */
static char *
append(char *to, const char *end, const char *s)
{
	while (to < end && *s != '\0')
		*to++ = *s++;
	return to;
}

void
ks_disk_path(char *to, size_t size, const char *dir, const char *disk, const char *file)
{
	const char *end = to + size - 1;
	char *name = append(append(to, end, dir), end, "/"), *p = append(name, end, disk);

	for (; name < p; name++)
		*name = *name == '/' ? '!' : *name;
	*append(p, end, file) = '\0';
}

#define PATH 128

bool
ks_disk_has(const struct ks_linux *lx, const char *disk, const char *file)
{
	char path[PATH];

	ks_disk_path(path, sizeof(path), "block", disk, file);
	return ks_linux_exists(lx, KS_ROOT_SYS, path);
}

int
ks_disk_text(const struct ks_linux *lx, const char *disk, const char *file, char *to, size_t size)
{
	char path[PATH];

	ks_disk_path(path, sizeof(path), "block", disk, file);
	return ks_file_small(&lx->root[KS_ROOT_SYS], path, to, size);
}

bool
ks_disk_number(const struct ks_linux *lx, const char *disk, const char *file, uint64_t *v)
{
	char path[PATH];

	ks_disk_path(path, sizeof(path), "block", disk, file);
	return ks_file_u64(&lx->root[KS_ROOT_SYS], path, v) == 0;
}

/* Counts a disk among those of this round. With the first one, decides by the count of the round before. */
static void
count(struct ks_own_disks *own, uint64_t round, const struct ks_units *units, uint32_t disk)
{
	if (own->round != round) {
		own->few = own->round != 0 && own->n <= KS_FEW_DISKS && own->n * 2 < units->n - units->dead;
		own->round = round;
		own->n = 0;
	}
	for (uint32_t i = 0; i < own->n && i < KS_FEW_DISKS; i++) {
		if (own->disk[i] == disk)
			return;
	}
	if (own->n < KS_FEW_DISKS)
		own->disk[own->n] = disk;
	own->n += own->n <= KS_FEW_DISKS;
}

/* Reads the file of a disk, unless it is what was read last. */
static void
read_own(struct ks_linux *lx, struct ks_own_disks *own, const struct ks_unit *unit, uint32_t disk)
{
	char path[PATH];

	if (own->last.disk != disk)
		own->last.reading.round = 0;
	if (!ks_reading_is_due(&own->last.reading, lx->round))
		return;
	own->last.disk = disk;
	ks_reading_begin(&own->last.reading, lx->round);
	ks_disk_path(path, sizeof(path), "class/block", unit->key, "/stat");
	if (ks_file_small(&lx->root[KS_ROOT_SYS], path, own->last.text, sizeof(own->last.text)) < 0)
		own->last.text[0] = '\0';
}

bool
ks_own_line(struct ks_linux *lx, struct ks_own_disks *own, const struct ks_unit *unit, struct ks_text *line)
{
	const struct ks_units *units = &lx->sub[KS_SUB_disk].units;
	uint32_t disk = (uint32_t)(unit - units->v);

	if (!lx->root[KS_ROOT_PROC].kernel || !lx->root[KS_ROOT_SYS].kernel)
		return false;
	count(own, lx->round, units, disk);
	/* What diskstats has of this round costs nothing. */
	if (!own->few || own->n > KS_FEW_DISKS || ks_linux_was_read(lx, &ks_diskstats_file))
		return false;
	read_own(lx, own, unit, disk);
	*line = ks_text_of(own->last.text, strlen(own->last.text));
	if (!ks_text_at_number(line))
		return false;
	ks_linux_taken(lx, 0, own->last.reading.taken);
	return true;
}
