/*
 * disk_device.c - what disks and partitions are, from /sys: type, interface, block size, by which
 * devstat(3) sorts and selects; and the names, controllers and mount points that iostat shows.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/disk/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/linux/devices.h"
#include "source/linux/fs/mount.h"

enum { V_TYPE, V_INTERFACE, V_BLOCK_SIZE, V_PRIORITY, V_ROTATIONAL, V_REMOVABLE, V_NAME,
	V_CONTROLLER, V_ID, V_MAJOR, V_MINOR, V_MOUNT };

#define MOUNT_POINT KS_TEXT_STATE("mount_point", KSTAT_DATA_STRING, "where it is mounted, if it is")

static const struct ks_field fields[] = {
	[V_TYPE] = KS_TEXT("device_type", KSTAT_DATA_STRING,
	    "kind of device, in devstat's words: da, cd, sa, floppy"),
	[V_INTERFACE] = KS_TEXT("interface", KSTAT_DATA_STRING,
	    "how it is attached, in devstat's words: ide (ATA), scsi, other"),
	[V_BLOCK_SIZE] = KS_UNITS("block_size", KS_KIND_GAUGE, KSTAT2_NVMT_BYTES,
	    KSTAT_DATA_UINT32, "bytes", "smallest unit it reads and writes"),
	[V_PRIORITY] = KS_GAUGE("priority", KSTAT_DATA_UINT32, "place in devstat's list, large ones first"),
	[V_ROTATIONAL] = KS_GAUGE("rotational", KSTAT_DATA_UINT32, "1 if it has turning parts"),
	[V_REMOVABLE] = KS_GAUGE("removable", KSTAT_DATA_UINT32, "1 if the medium can be taken out"),
	[V_NAME] = KS_TEXT("descriptive_name", KSTAT_DATA_STRING, "the name that device mapper knows it by"),
	[V_CONTROLLER] = KS_TEXT("controller", KSTAT_DATA_STRING,
	    "SCSI host or NVMe controller that it is attached to"),
	[V_ID] = KS_TEXT("device_id", KSTAT_DATA_STRING, "worldwide identifier of the disk"),
	[V_MAJOR] = KS_GAUGE("major", KSTAT_DATA_UINT32, "major device number of the disk"),
	[V_MINOR] = KS_GAUGE("minor", KSTAT_DATA_UINT32, "minor device number of the disk"),
	[V_MOUNT] = MOUNT_POINT,
	KS_FIELD_END
};

enum { P_DISK, P_MOUNT };

static const struct ks_field partition_fields[] = {
	[P_DISK] = KS_TEXT("disk", KSTAT_DATA_STRING, "the disk that it is part of"),
	[P_MOUNT] = MOUNT_POINT,
	KS_FIELD_END
};

enum { Q_READS, Q_WRITES, Q_STATE, Q_SETTINGS };

#define KIBIBYTES(stat, key, desc) \
	KS_OF_TIMES(stat, KS_KIND_GAUGE, KSTAT2_NVMT_CNT, KSTAT_DATA_UINT64, 1024, "KiB", key, desc)

/* The settings, which are read now and then, come after what is read each time. */
static const struct ks_field queue_fields[] = {
	[Q_READS] = KS_GAUGE_K("reads_in_flight", KSTAT_DATA_UINT64, "inflight#0", "reads in service"),
	[Q_WRITES] = KS_GAUGE_K("writes_in_flight", KSTAT_DATA_UINT64, "inflight#1",
	    "writes and all requests but reads in service"),
	[Q_STATE] = KS_TEXT_STATE_K("state", "device/state", "running or live if the device is well"),
	[Q_SETTINGS] = KS_TEXT_STATE_K("scheduler", "queue/scheduler[]", "how requests are put in order"),
	KS_GAUGE_K("nr_requests", KSTAT_DATA_UINT64, "queue/nr_requests", "requests that can wait in the queue"),
	KS_TEXT_STATE_K("write_cache", "queue/write_cache",
	    "write back if the device has a cache that must be flushed"),
	KIBIBYTES("read_ahead", "queue/read_ahead_kb", "how much is read ahead"),
	KIBIBYTES("max_sectors", "queue/max_sectors_kb", "size of the largest request"),
	KS_FIELD_END
};

/* devstat's own numbers (devstat.h). */
enum { PRIORITY_OTHER = 0x020, PRIORITY_FLOPPY = 0x040, PRIORITY_TAPE = 0x060, PRIORITY_CD = 0x090,
	PRIORITY_DISK = 0x110, PRIORITY_ARRAY = 0x120 };

/* Facts that do not change while the device is there; they are read when they are needed first. */
struct facts {
	bool known;
	uint64_t unread; /* fields that nobody needed then */
	const char *type, *interface;
	char number[24];   /* "major:minor" */
	char source[160];  /* its path, as file systems may name it */
	char name[128], controller[32], id[128]; /* empty: not known */
	char disk[KS_UNIT_NAME]; /* of a partition */
	struct ks_values vals;
	struct queue {
		hrtime_t asked;  /* when the settings were read; 0: never */
		uint64_t unread; /* those that nobody needed then */
		uint64_t absent; /* files that it does not have */
		char text[96];   /* of the settings */
		struct ks_values settings;
	} queue; /* only of disks: there is no memory for it otherwise */
};

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

/* Copies the target of the link /sys/block/sda; empty if it is no link. */
static void
read_link(const struct ks_linux *lx, const struct ks_unit *unit, char *to, size_t size)
{
	char path[128];
	ssize_t n;

	ks_disk_path(path, sizeof(path), "block", unit->key, "");
	n = readlinkat(lx->root[KS_ROOT_SYS].fd, path, to, size - 1);
	to[n > 0 ? n : 0] = '\0';
}

/* The part of a path that is a word and a number, such as "host0"; empty if there is none. */
static struct ks_text
numbered_step(const char *way, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = strchr(way, '/'); s != NULL; s = strchr(s + 1, '/')) {
		size_t digits;

		if (strncmp(s + 1, word, n) != 0)
			continue;
		digits = strspn(s + 1 + n, "0123456789");
		if (digits > 0 && s[1 + n + digits] == '/')
			return ks_text_of(s + 1, n + digits);
	}
	return ks_text_of("", 0);
}

/* True for an ATA disk of a recorded tree, which may lack the link, by the name of its maker. */
static bool
made_by_ata(const struct ks_linux *lx, const struct ks_unit *unit)
{
	char vendor[16];

	return ks_disk_text(lx, unit->key, "/device/vendor", vendor, sizeof(vendor)) > 0 && strcmp(vendor, "ATA") == 0;
}

static unsigned
priority_of(const struct ks_linux *lx, const struct ks_unit *unit, const struct facts *f)
{
	if (strcmp(f->type, "cd") == 0)
		return PRIORITY_CD;
	if (strcmp(f->type, "sa") == 0)
		return PRIORITY_TAPE;
	if (strcmp(f->type, "floppy") == 0)
		return PRIORITY_FLOPPY;
	if (is_module(unit, "md"))
		return PRIORITY_ARRAY;
	/* Loops, RAM disks and mappings are not devices of their own. */
	return ks_disk_has(lx, unit->key, "/device") ? PRIORITY_DISK : PRIORITY_OTHER;
}

/* The text of a file of a disk; false, and empty, if it cannot be read. */
static bool
block_text(const struct ks_linux *lx, const struct ks_unit *unit, const char *file, char *to,
    size_t size)
{
	if (ks_disk_text(lx, unit->key, file, to, size) > 0)
		return true;
	to[0] = '\0';
	return false;
}

/* Reads the name, the identifier and the controller of a disk. */
static void
read_names(const struct ks_linux *lx, const struct ks_unit *unit, const char *way, struct facts *f)
{
	struct ks_text step = numbered_step(way, "host");

	if (ks_text_size(&step) == 0)
		step = numbered_step(way, "nvme");
	if (ks_text_size(&step) > 0) {
		ks_name_set(f->controller, sizeof(f->controller), step.p, ks_text_size(&step));
		ks_have_text(&f->vals, V_CONTROLLER, f->controller);
	}
	if (is_module(unit, "dm") && block_text(lx, unit, "/dm/name", f->name, sizeof(f->name)))
		ks_have_text(&f->vals, V_NAME, f->name);
	if (block_text(lx, unit, "/wwid", f->id, sizeof(f->id)) ||
	    block_text(lx, unit, "/device/wwid", f->id, sizeof(f->id)))
		ks_have_text(&f->vals, V_ID, f->id);
}

/* Reads what mountinfo knows the device by. */
static void
read_number(const struct ks_linux *lx, const struct ks_unit *unit, struct facts *f)
{
	char path[128];

	/* This folder has partitions and disks side by side. */
	ks_disk_path(path, sizeof(path), "class/block", unit->key, "/dev");
	if (ks_file_small(&lx->root[KS_ROOT_SYS], path, f->number, sizeof(f->number)) <= 0)
		f->number[0] = '\0';
	(void)snprintf(f->source, sizeof(f->source), "/dev/%s%s",
	    f->name[0] != '\0' ? "mapper/" : "", f->name[0] != '\0' ? f->name : unit->key);
}

static void
read_facts(const struct ks_linux *lx, const struct ks_unit *unit, struct facts *f)
{
	char way[1024];
	struct ks_text ata;
	uint64_t v;
	bool scsi = ks_disk_number(lx, unit->key, "/device/type", &v);

	read_link(lx, unit, way, sizeof(way));
	/* ATA disks look like SCSI disks: ".../ata1/host0/target0:0:0/0:0:0:0/block/sda". */
	ata = numbered_step(way, "ata");
	f->type = "da";
	f->interface = "other";
	if (scsi)
		f->type = scsi_type(v);
	else if (is_module(unit, "sr"))
		f->type = "cd";
	else if (is_module(unit, "fd"))
		f->type = "floppy";
	if (is_module(unit, "hd") || ks_text_size(&ata) > 0 || (scsi && made_by_ata(lx, unit)))
		f->interface = "ide";
	else if (scsi || is_module(unit, "sd") || is_module(unit, "sr"))
		f->interface = "scsi";
	ks_have_text(&f->vals, V_TYPE, f->type);
	ks_have_text(&f->vals, V_INTERFACE, f->interface);
	if (ks_disk_number(lx, unit->key, "/queue/logical_block_size", &v) && v <= UINT32_MAX)
		ks_have(&f->vals, V_BLOCK_SIZE, v);
	ks_have(&f->vals, V_PRIORITY, priority_of(lx, unit, f));
	if (ks_disk_number(lx, unit->key, "/removable", &v))
		ks_have(&f->vals, V_REMOVABLE, v != 0);
	read_names(lx, unit, way, f);
}

/* Adds the facts, and where the device is mounted, which may change. */
static void
add_fields(struct ks_linux *lx, struct ks_record *r, const struct ks_field *table, size_t mount,
    const struct facts *f)
{
	struct ks_values vals = f->vals;
	char point[1024];

	if ((lx->unread >> mount & 1) == 0 && ks_linux_mount_point(lx, f->number, f->source, point, sizeof(point)))
		ks_have_text(&vals, mount, point);
	ks_fields_add(r, table, &vals);
}

static int
read_device(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const uint64_t others = ~(1ULL << V_ROTATIONAL) & ((1u << (V_MOUNT + 1)) - 1);
	struct facts *f = unit->extra;
	bool is_lacking = !f->known || (f->unread & ~lx->unread) != 0;
	uint64_t v;

	if (is_lacking && ks_disk_number(lx, unit->key, "/queue/rotational", &v))
		ks_have(&f->vals, V_ROTATIONAL, v != 0);
	f->known = true;
	f->unread = is_lacking ? lx->unread : f->unread;
	if (is_lacking && (lx->unread & others) != others) {
		struct ks_text t;

		read_facts(lx, unit, f);
		read_number(lx, unit, f);
		t = ks_text_of(f->number, strlen(f->number));
		if (ks_text_u64(&t, &v) && ks_text_starts(&t, ":")) {
			ks_have(&f->vals, V_MAJOR, v);
			t.p++;
			if (ks_text_u64(&t, &v))
				ks_have(&f->vals, V_MINOR, v);
		}
	}
	add_fields(lx, r, fields, V_MOUNT, f);
	return 0;
}

static int
read_partition(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct facts *f = unit->extra;

	if (!f->known) {
		f->known = true;
		ks_have_text(&f->vals, P_DISK, f->disk);
		read_number(lx, unit, f);
	}
	add_fields(lx, r, partition_fields, P_MOUNT, f);
	return 0;
}

#define SETTINGS_LAST (10 * KS_NANOSEC) /* before they are read again */

/* The settings seldom change, and with those of many disks a sample would take as long again. */
static int
read_queue(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const uint64_t now_fields = (1u << Q_SETTINGS) - 1;
	const struct ks_dir *sys = &lx->root[KS_ROOT_SYS];
	struct queue *q = &((struct facts *)unit->extra)->queue;
	struct ks_dir dir;
	char path[128], text[64];
	struct ks_texts texts = { text, sizeof(text), 0 };
	struct ks_values vals = { .have = 0 };
	hrtime_t now = gethrtime();
	uint64_t absent;

	ks_disk_path(path, sizeof(path), "block", unit->key, "");
	dir = ks_dir_below(sys, path);
	if (q->asked == 0 || now - q->asked > SETTINGS_LAST || (q->unread & ~lx->unread) != 0) {
		struct ks_texts kept = { q->text, sizeof(q->text), 0 };

		q->asked = now;
		q->settings.have = 0;
		q->unread = lx->unread;
		absent = now_fields | lx->unread;
		ks_attributes_read(&dir, queue_fields, &absent, &q->settings, &kept);
	}
	absent = q->absent | ~now_fields | lx->unread;
	ks_attributes_read(&dir, queue_fields, &absent, &vals, &texts);
	q->absent = absent & now_fields & ~lx->unread;
	for (size_t i = Q_SETTINGS; queue_fields[i].meta.stat != NULL; i++) {
		if ((q->settings.have >> i & 1) != 0) {
			vals.v[i] = q->settings.v[i];
			vals.have |= 1ULL << i;
		}
	}
	ks_fields_add(r, queue_fields, &vals);
	return 0;
}

enum { PART_DISK, PART_PARTITION, PART_QUEUE };

static const struct ks_part parts[] = {
	[PART_DISK] = KS_NAMED_PART("@", "@,dev", "device", .fields = KS_TABLE(fields), .read = read_device,
	    .needs = &ks_linux_disk, .from = "/sys/block/sda, /proc/self/mountinfo",
	    .title = "sd:0:sda,dev"),
	[PART_PARTITION] = KS_NAMED_PART("@", "@,dev", "device", .fields = KS_TABLE(partition_fields),
	    .read = read_partition, .needs = &ks_linux_disk, .from = "/sys/block/sda, /proc/self/mountinfo",
	    .title = "sd:0:sda1,dev"),
	[PART_QUEUE] = KS_NAMED_PART("@", "@,queue", "device_queue", .fields = KS_TABLE(queue_fields),
	    .read = read_queue, .needs = &ks_linux_disk, .from = "/sys/block/sda/queue, /sys/block/sda/inflight",
	    .title = "sd:0:sda,queue", .since = "; write_cache 4.7"),
};

/* True for a disk whose queue is wanted. Loops and RAM disks do not make requests wait. */
static bool
has_queue(const struct ks_linux *lx, const struct ks_unit *disk)
{
	return (lx->sub[KS_SUB_device].wanted & 1u << PART_QUEUE) != 0 && !is_module(disk, "loop") &&
	    !is_module(disk, "ram") && ks_disk_has(lx, disk->key, "/queue");
}

static int
scan_devices(struct ks_linux *lx, struct ks_units *units)
{
	struct ks_units *disks = &lx->sub[KS_SUB_disk].units;

	ks_units_begin(units);
	for (uint32_t i = 0; i < disks->n; i++) {
		const struct ks_unit *disk = &disks->v[i], *whole;
		struct ks_unit *unit;
		struct facts *f;
		bool is_new;

		if (!disk->alive)
			continue;
		unit = ks_units_see(units, disk->key, strlen(disk->key), disk->ident, &is_new);
		if (unit == NULL)
			return -1;
		if (!is_new)
			continue;
		f = unit->extra = calloc(1, ks_disk_is_partition(disk) ? offsetof(struct facts, queue) : sizeof(*f));
		if (f == NULL)
			return -1;
		memcpy(unit->name, disk->name, sizeof(unit->name));
		memcpy(unit->module, disk->module, sizeof(unit->module));
		unit->instance = disk->instance;
		unit->parts = ks_disk_is_partition(disk) ? 1u << PART_PARTITION : 1u << PART_DISK;
		if (!ks_disk_is_partition(disk) && has_queue(lx, unit))
			unit->parts |= 1u << PART_QUEUE;
		if (ks_disk_is_partition(disk) && (whole = ks_disk_of(disks, disk)) != NULL)
			ks_name_set(f->disk, sizeof(f->disk), whole->key, strlen(whole->key));
	}
	return ks_units_end(units);
}

KS_SUBSYSTEM(device, parts, .scan = scan_devices, .on_events = true);
