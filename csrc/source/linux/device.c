/*
 * device.c - what kind of device a disk is, from /sys/block: type, interface, block size.
 * devstat(3) sorts and selects by it. SPDX-License-Identifier: MIT
 */
#include "source/linux/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { V_TYPE, V_INTERFACE, V_BLOCK_SIZE, V_PRIORITY, V_ROTATIONAL, V_REMOVABLE };

static const struct ks_field fields[] = {
	[V_TYPE] = KS_TEXT("device_type", KSTAT_DATA_STRING,
	    "kind of device, in devstat's words: da, cd, sa, floppy"),
	[V_INTERFACE] = KS_TEXT("interface", KSTAT_DATA_STRING,
	    "how it is attached, in devstat's words: ide (ATA), scsi, other"),
	[V_BLOCK_SIZE] = KS_UNITS("block_size", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES,
	    KSTAT_DATA_UINT32, "bytes", "smallest unit it reads and writes"),
	[V_PRIORITY] = KS_GAUGE("priority", KSTAT_DATA_UINT32,
	    "place in devstat's list, large ones first"),
	[V_ROTATIONAL] = KS_GAUGE("rotational", KSTAT_DATA_UINT32, "1 if it has turning parts"),
	[V_REMOVABLE] = KS_GAUGE("removable", KSTAT_DATA_UINT32, "1 if the medium can be taken out"),
	KS_FIELD_END
};

/* devstat's own numbers (devstat.h). */
enum { PRIORITY_OTHER = 0x020, PRIORITY_FLOPPY = 0x040, PRIORITY_TAPE = 0x060, PRIORITY_CD = 0x090,
	PRIORITY_DISK = 0x110, PRIORITY_ARRAY = 0x120 };

/* Looked up at the first reading; none of it changes while the device is there. */
struct facts {
	bool known;
	const char *type, *interface;
	struct ks_values vals;
};

/* Path of something of a disk below /sys/block; there a slash in a name is an exclamation mark. */
static void
block_path(char *to, size_t size, const struct ks_unit *unit, const char *file)
{
	char key[KS_UNIT_NAME];

	ks_name_set(key, sizeof(key), unit->key, strlen(unit->key));
	for (char *s = key; *s != '\0'; s++) {
		if (*s == '/')
			*s = '!';
	}
	(void)snprintf(to, size, "block/%s%s", key, file);
}

static bool
block_number(const struct ks_linux *lx, const struct ks_unit *unit, const char *file, uint64_t *v)
{
	char path[128];

	block_path(path, sizeof(path), unit, file);
	return ks_file_u64(&lx->root[KS_ROOT_SYS], path, v) == 0;
}

static bool
is_module(const struct ks_unit *unit, const char *module)
{
	return strcmp(unit->module, module) == 0;
}

/* SCSI numbers kinds of devices; the simplified and the zoned kinds of disk are disks. */
static const char *
scsi_type(uint64_t type)
{
	static const char *const words[] = { "da", "sa", "printer", "proc", "worm", "cd", "scanner",
		"optical", "changer", "comm", NULL, NULL, "array", "enclosure", "da" };

	return type < sizeof(words) / sizeof(words[0]) && words[type] != NULL ? words[type] : "da";
}

/*
 * True if the way to the device leads over an ATA port: Linux shows ATA disks as SCSI disks, but
 * /sys/block/sda is a link to ".../ata1/host0/target0:0:0/0:0:0:0/block/sda".
 */
static bool
behind_ata(const struct ks_linux *lx, const struct ks_unit *unit)
{
	char path[128], to[1024], *s = to;
	ssize_t n;

	block_path(path, sizeof(path), unit, "");
	n = readlinkat(lx->root[KS_ROOT_SYS].fd, path, to, sizeof(to) - 1);
	if (n <= 0)
		return false;
	to[n] = '\0';
	while ((s = strstr(s, "/ata")) != NULL) {
		s += 4;
		if (isdigit((unsigned char)*s) && s[strspn(s, "0123456789")] == '/')
			return true;
	}
	return false;
}

/* What an ATA disk of a recorded tree, which may lack the link, says of its maker. */
static bool
made_by_ata(const struct ks_linux *lx, const struct ks_unit *unit)
{
	char path[128], vendor[16];

	block_path(path, sizeof(path), unit, "/device/vendor");
	return ks_file_small(&lx->root[KS_ROOT_SYS], path, vendor, sizeof(vendor)) > 0 &&
	    strcmp(vendor, "ATA") == 0;
}

static unsigned
priority_of(const struct ks_linux *lx, const struct ks_unit *unit, const struct facts *f)
{
	char path[128];

	if (strcmp(f->type, "cd") == 0)
		return PRIORITY_CD;
	if (strcmp(f->type, "sa") == 0)
		return PRIORITY_TAPE;
	if (strcmp(f->type, "floppy") == 0)
		return PRIORITY_FLOPPY;
	if (is_module(unit, "md"))
		return PRIORITY_ARRAY;
	/* Loops, RAM disks and mappings are no devices of their own. */
	block_path(path, sizeof(path), unit, "/device");
	return ks_linux_exists(lx, KS_ROOT_SYS, path) ? PRIORITY_DISK : PRIORITY_OTHER;
}

static void
take_facts(const struct ks_linux *lx, const struct ks_unit *unit, struct facts *f)
{
	uint64_t v;
	bool scsi = block_number(lx, unit, "/device/type", &v);

	f->type = "da";
	f->interface = "other";
	if (scsi)
		f->type = scsi_type(v);
	else if (is_module(unit, "sr"))
		f->type = "cd";
	else if (is_module(unit, "fd"))
		f->type = "floppy";
	if (is_module(unit, "hd") || behind_ata(lx, unit) || (scsi && made_by_ata(lx, unit)))
		f->interface = "ide";
	else if (scsi || is_module(unit, "sd") || is_module(unit, "sr"))
		f->interface = "scsi";
	ks_have_text(&f->vals, V_TYPE, f->type);
	ks_have_text(&f->vals, V_INTERFACE, f->interface);
	if (block_number(lx, unit, "/queue/logical_block_size", &v) && v <= UINT32_MAX)
		ks_have(&f->vals, V_BLOCK_SIZE, v);
	ks_have(&f->vals, V_PRIORITY, priority_of(lx, unit, f));
	if (block_number(lx, unit, "/queue/rotational", &v))
		ks_have(&f->vals, V_ROTATIONAL, v != 0);
	if (block_number(lx, unit, "/removable", &v))
		ks_have(&f->vals, V_REMOVABLE, v != 0);
	f->known = true;
}

static int
read_device(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct facts *f = unit->extra;

	if (!f->known)
		take_facts(lx, unit, f);
	ks_fields_add(r, fields, &f->vals);
	return 0;
}

static const struct ks_part parts[] = {
	{ "@", "@,dev", "device", KSTAT_TYPE_NAMED, 0, fields, read_device, NULL },
	{ .module = NULL },
};

/* True if the unit has a kstat of class disk: it is no partition. */
static bool
is_disk(const struct ks_unit *unit)
{
	const struct ks_part *p = ks_linux_disk.parts;

	for (size_t i = 0; p[i].module != NULL; i++) {
		if ((unit->parts >> i & 1) != 0 && strcmp(p[i].class_, "disk") == 0)
			return true;
	}
	return false;
}

static int
scan_devices(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_units *disks = &lx->units[KS_SUB_DISK];

	ks_units_begin(units);
	for (uint32_t i = 0; i < disks->n; i++) {
		const struct ks_unit *disk = &disks->v[i];
		struct ks_unit *unit;
		bool fresh;

		if (!disk->alive || !is_disk(disk))
			continue;
		unit = ks_units_see(units, disk->key, strlen(disk->key), disk->ident, &fresh);
		if (unit == NULL)
			return -1;
		if (!fresh)
			continue;
		unit->extra = calloc(1, sizeof(struct facts));
		if (unit->extra == NULL) {
			errno = ENOMEM;
			return -1;
		}
		memcpy(unit->name, disk->name, sizeof(unit->name));
		memcpy(unit->module, disk->module, sizeof(unit->module));
		unit->instance = disk->instance;
		unit->parts = 1;
	}
	return ks_units_end(units);
}

const struct ks_subsystem ks_linux_device = { parts, scan_devices, NULL };
