/*
 * disk.c - disks and partitions from /proc/diskstats as I/O kstats, what Linux counts beyond
 * them, and the inventory of a disk (sderr:0:sda,err). SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "model/illumos.h"
#include "source/linux/disk/disk.h"
#include "source/linux/listing.h"

static const struct ks_listing listing;

#define SECTOR 512 /* the unit of /proc/diskstats, whatever the disk's own sectors are */

/* Columns after the name. Lines of old kernels end early. */
enum { D_READS, D_READ_MERGES, D_READ_SECTORS, D_READ_MS, D_WRITES, D_WRITE_MERGES, D_WRITE_SECTORS,
	D_WRITE_MS, D_ACTIVE, D_BUSY_MS, D_QUEUE_MS, D_DISCARDS, D_DISCARD_MERGES, D_DISCARD_SECTORS,
	D_DISCARD_MS, D_FLUSHES, D_FLUSH_MS, D_COUNT };
enum { D_SIZE = D_COUNT }; /* a statistic that is no column */

#define OLD_PARTITION_COLUMNS 4 /* before Linux 2.6.25: reads, sectors, writes, sectors */

#define OPS(stat, desc) KS_COUNT(stat, KSTAT_DATA_UINT64, desc)

/* Reads and writes themselves are in the I/O kstat. */
static const struct ks_field detail_fields[] = {
	[D_READS] = OPS("reads", "reads completed"),
	[D_READ_MERGES] = OPS("read_merges", "reads that became part of another"),
	[D_READ_SECTORS] = KS_BYTES("nread", "bytes read"),
	[D_READ_MS] = KS_NSEC("read_nsec", "time of all reads together"),
	[D_WRITES] = OPS("writes", "writes completed"),
	[D_WRITE_MERGES] = OPS("write_merges", "writes that became part of another"),
	[D_WRITE_SECTORS] = KS_BYTES("nwritten", "bytes written"),
	[D_WRITE_MS] = KS_NSEC("write_nsec", "time of all writes together"),
	[D_ACTIVE] = KS_GAUGE("active", KSTAT_DATA_UINT64, "requests in service"),
	[D_BUSY_MS] = KS_NSEC("busy_nsec", "time with requests in service"),
	[D_QUEUE_MS] = KS_NSEC("queue_nsec", "time of all requests of all kinds together"),
	[D_DISCARDS] = OPS("discards", "discards completed"),
	[D_DISCARD_MERGES] = OPS("discard_merges", "discards that became part of another"),
	[D_DISCARD_SECTORS] = KS_BYTES("ndiscarded", "bytes discarded"),
	[D_DISCARD_MS] = KS_NSEC("discard_nsec", "time of all discards together"),
	[D_FLUSHES] = OPS("flushes", "flushes completed"),
	[D_FLUSH_MS] = KS_NSEC("flush_nsec", "time of all flushes together"),
	[D_SIZE] = KS_AMOUNT("size", "how much the disk holds; 0 if there is nothing in it"),
	KS_FIELD_END
};

/* --- reading --------------------------------------------------------------------- */

/* Parses the columns of a line. A negative number, which some kernels print, counts as 0. */
static size_t
columns(struct ks_text t, uint64_t c[D_COUNT])
{
	struct ks_text word;
	size_t n;

	for (n = 0; n < D_COUNT; n++) {
		if (ks_text_u64(&t, &c[n]))
			continue;
		ks_text_skip(&t);
		if (t.p >= t.end || *t.p != '-')
			break;
		(void)ks_text_word(&t, &word);
		c[n] = 0;
	}
	if (n == OLD_PARTITION_COLUMNS) {
		c[D_WRITE_SECTORS] = c[3];
		c[D_WRITES] = c[2];
		c[D_READ_SECTORS] = c[1];
	}
	return n;
}

/* The columns that the kernel prints in 32 bits. */
static const uint8_t narrow[] = { D_READ_MS, D_WRITE_MS, D_BUSY_MS, D_QUEUE_MS, D_DISCARD_MS, D_FLUSH_MS };

/* Facts that do not change while a disk is there, read when they are needed first. */
struct inventory {
	bool known;
	bool is_countless; /* it lacks the counters of the SCSI layer */
	char vendor[64], product[64], revision[32], serial[64]; /* empty: not known */
};

/* ks_unit.extra of a disk or a partition. */
struct disk {
	struct ks_widened narrow[sizeof(narrow)];
	hrtime_t sized; /* when the size was read */
	uint64_t size;  /* bytes; 0 if nothing was in it then, or it is not known */
	struct inventory inv; /* only of disks with PART_ERR: there is no memory for it otherwise */
};

static bool
has(size_t n, size_t column)
{
	return n > column || (n == OLD_PARTITION_COLUMNS &&
	    (column == D_WRITES || column == D_WRITE_SECTORS || column == D_READ_SECTORS));
}

static hrtime_t
ms_to_ns(uint64_t ms)
{
	return ms > INT64_MAX / 1000000 ? INT64_MAX : (hrtime_t)ms * 1000000;
}

/* The columns of a disk; how many there are, or -1 with errno and message. */
static int
columns_of(struct ks_linux *lx, struct ks_unit *unit, uint64_t c[D_COUNT])
{
	struct disk *disk = unit->extra;
	struct ks_text line;
	size_t n;

	if (!ks_own_line(lx, lx->sub[KS_SUB_disk].state, unit, &line) &&
	    ks_listing_find(lx, &lx->sub[KS_SUB_disk].units, &listing, unit, &line) == NULL)
		return -1;
	n = columns(line, c);
	for (size_t i = 0; i < sizeof(narrow) && n > OLD_PARTITION_COLUMNS; i++) {
		if (has(n, narrow[i]))
			c[narrow[i]] = ks_widen(&disk->narrow[i], c[narrow[i]]);
	}
	return (int)n;
}

/*
 * Linux knows one queue, in which a request is from its start to its end: it is the run queue here. The
 * length of the queue over time is the sum of the times of reads and writes, so that rlentime divided by
 * reads and writes is their mean time. Discards and flushes are in the detail kstat.
 */
static int
read_io(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	uint64_t c[D_COUNT] = { 0 };
	int n = columns_of(lx, unit, c);
	kstat_io_t *io;

	if (n < 0)
		return -1;
	io = ks_record_add(r, sizeof(*io));
	if (io == NULL)
		return 0;
	if (n == OLD_PARTITION_COLUMNS)
		c[D_READ_MS] = 0;
	io->nread = c[D_READ_SECTORS] * SECTOR;
	io->nwritten = c[D_WRITE_SECTORS] * SECTOR;
	io->reads = (uint_t)c[D_READS];
	io->writes = (uint_t)c[D_WRITES];
	io->rtime = ms_to_ns(c[D_BUSY_MS]);
	io->rlentime = ms_to_ns(c[D_READ_MS] + c[D_WRITE_MS]);
	/* The sums are complete as of now. */
	io->rlastupdate = lx->tree.now != 0 ? lx->tree.now : lx->taken;
	io->rcnt = (uint_t)c[D_ACTIVE];
	return 0;
}

#define SIZE_LASTS (10 * KS_NANOSEC) /* before it is read again */

/* Something may be put into an empty device at any time; other sizes seldom change. */
static void
have_size(struct ks_linux *lx, const struct ks_unit *unit, struct ks_values *vals)
{
	struct disk *disk = unit->extra;
	hrtime_t now = gethrtime();

	if (disk->size == 0 || now - disk->sized > SIZE_LASTS) {
		disk->size = 0;
		if (!ks_disk_number(lx, unit->key, "/size", &disk->size))
			return;
		disk->size *= SECTOR;
		disk->sized = now;
	}
	ks_have(vals, D_SIZE, disk->size);
}

static int
read_detail(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	uint64_t c[D_COUNT] = { 0 };
	struct ks_values vals = { .have = 0 };
	int n = columns_of(lx, unit, c);

	if (n < 0)
		return -1;
	for (size_t i = 0; i < D_COUNT; i++) {
		if (!has((size_t)n, i) ||
		    (n == OLD_PARTITION_COLUMNS && (i == D_READ_MERGES || i == D_READ_MS)))
			continue;
		if (detail_fields[i].meta.type == KSTAT2_NVMT_BYTES)
			c[i] *= SECTOR;
		else if (detail_fields[i].meta.type == KSTAT2_NVMT_T_ACC)
			c[i] = (uint64_t)ms_to_ns(c[i]);
		ks_have(&vals, i, c[i]);
	}
	have_size(lx, unit, &vals);
	ks_fields_add(r, detail_fields, &vals);
	return 0;
}

/* --- inventory ---------------------------------------------------------------------- */

enum { E_HARD, E_TRANSPORT, E_VENDOR, E_PRODUCT, E_REVISION, E_SERIAL, E_SIZE };

static const struct ks_field err_fields[] = {
	[E_HARD] = KS_COUNT("Hard Errors", KSTAT_DATA_UINT32, "requests that failed"),
	[E_TRANSPORT] = KS_COUNT("Transport Errors", KSTAT_DATA_UINT32, "requests that timed out"),
	[E_VENDOR] = KS_TEXT("Vendor", KSTAT_DATA_STRING, "who made the disk"),
	[E_PRODUCT] = KS_TEXT("Product", KSTAT_DATA_STRING, "model of the disk"),
	[E_REVISION] = KS_TEXT("Revision", KSTAT_DATA_STRING, "revision of the firmware of the disk"),
	[E_SERIAL] = KS_TEXT("Serial No", KSTAT_DATA_STRING, "serial number of the disk"),
	[E_SIZE] = KS_AMOUNT("Size", "capacity of the disk"),
	KS_FIELD_END
};

/* The first of a NULL-terminated list of files with a text that is no bare number in hex. */
static void
first_text(const struct ks_linux *lx, const struct ks_unit *unit, const char *const *names,
    char *to, size_t size)
{
	for (; *names != NULL; names++) {
		if (ks_disk_text(lx, unit->key, *names, to, size) > 0 && strncmp(to, "0x", 2) != 0)
			return;
	}
	to[0] = '\0';
}

/* The serial number page of a SCSI disk: four bytes of header, then the text. */
static void
scsi_serial(const struct ks_linux *lx, const struct ks_unit *unit, char *to, size_t size)
{
	char page[260], *s;
	int n = ks_disk_text(lx, unit->key, "/device/vpd_pg80", page, sizeof(page)), len;

	if (n <= 4)
		return;
	len = (unsigned char)page[3];
	if (len > n - 4)
		len = n - 4;
	for (s = page + 4; len > 0 && *s == ' '; s++)
		len--;
	ks_name_set(to, size, s, (size_t)len);
}

/* A counter of the SCSI layer, in hex. */
static bool
scsi_counter(const struct ks_linux *lx, const struct ks_unit *unit, const char *name, uint64_t *v)
{
	char text[32];

	if (ks_disk_text(lx, unit->key, name, text, sizeof(text)) < 3 || strncmp(text, "0x", 2) != 0)
		return false;
	*v = strtoull(text + 2, NULL, 16);
	return true;
}

static void
read_inventory(const struct ks_linux *lx, const struct ks_unit *unit, struct inventory *inv)
{
	static const char *const vendors[] = { "/device/vendor", NULL };
	static const char *const products[] = { "/device/model", "/device/name", NULL };
	static const char *const revisions[] = { "/device/rev", "/device/firmware_rev", "/device/fwrev",
		NULL };
	static const char *const serials[] = { "/device/serial", "/serial", NULL };

	first_text(lx, unit, vendors, inv->vendor, sizeof(inv->vendor));
	first_text(lx, unit, products, inv->product, sizeof(inv->product));
	first_text(lx, unit, revisions, inv->revision, sizeof(inv->revision));
	first_text(lx, unit, serials, inv->serial, sizeof(inv->serial));
	if (inv->serial[0] == '\0')
		scsi_serial(lx, unit, inv->serial, sizeof(inv->serial));
	inv->known = true;
}

static void
have_text(struct ks_values *vals, size_t i, const char *s)
{
	if (*s != '\0')
		ks_have_text(vals, i, s);
}

static int
read_err(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const uint64_t texts = 1u << E_VENDOR | 1u << E_PRODUCT | 1u << E_REVISION | 1u << E_SERIAL;
	struct inventory *inv = &((struct disk *)unit->extra)->inv;
	struct ks_values vals = { .have = 0 };
	uint64_t v;

	if (!inv->known && (~lx->unread & texts) != 0)
		read_inventory(lx, unit, inv);
	if (!inv->is_countless && scsi_counter(lx, unit, "/device/ioerr_cnt", &v))
		ks_have(&vals, E_HARD, v);
	else
		inv->is_countless = errno == ENOENT;
	if (!inv->is_countless && scsi_counter(lx, unit, "/device/iotmo_cnt", &v))
		ks_have(&vals, E_TRANSPORT, v);
	have_text(&vals, E_VENDOR, inv->vendor);
	have_text(&vals, E_PRODUCT, inv->product);
	have_text(&vals, E_REVISION, inv->revision);
	have_text(&vals, E_SERIAL, inv->serial);
	if ((lx->unread >> E_SIZE & 1) == 0 && ks_disk_number(lx, unit->key, "/size", &v))
		ks_have(&vals, E_SIZE, v * SECTOR);
	ks_fields_add(r, err_fields, &vals);
	return 0;
}

/* --- names ------------------------------------------------------------------------- */

/* Drivers whose disks are lettered: sda, sdb, ... sdaa. */
static const char *const lettered[] = { "xvd", "sd", "hd", "vd", "ubd", "dasd", "rssd", NULL };

/* The driver's name and the unit's number in a disk's name. */
static void
set_module(struct ks_unit *unit)
{
	const char *s = unit->key;
	size_t n = 0;
	uint64_t instance = 0;

	for (const char *const *l = lettered; *l != NULL; l++) {
		size_t k = strlen(*l);

		if (strncmp(s, *l, k) != 0 || !islower((unsigned char)s[k]))
			continue;
		for (n = k; islower((unsigned char)s[n]) && instance < 1000000; n++)
			instance = instance * 26 + (uint64_t)(s[n] - 'a') + 1;
		instance--;
		n = k;
		break;
	}
	if (n == 0) {
		/* nvme0n1, mmcblk0, dm-3, cciss/c0d0: letters, then the number. */
		const char *p, *end = s + strlen(s);

		n = strcspn(s, "0123456789/");
		p = s + n;
		if (ks_scan_u64(&p, end, &instance) != 0 || instance > INT32_MAX)
			instance = 0;
		while (n > 1 && (s[n - 1] == '-' || s[n - 1] == '_'))
			n--;
	}
	if (n == 0)
		n = strlen(s);
	ks_name_set(unit->module, sizeof(unit->module), s, n);
	unit->instance = (int)instance;
}

const struct ks_unit *
ks_disk_of(struct ks_units *units, const struct ks_unit *unit)
{
	size_t whole = strlen(unit->key), n = whole;
	const struct ks_unit *disk;

	while (n > 0 && isdigit((unsigned char)unit->key[n - 1]))
		n--;
	if (n == whole || n == 0)
		return NULL;
	if (n > 1 && unit->key[n - 1] == 'p' && isdigit((unsigned char)unit->key[n - 2]))
		n--;
	disk = ks_units_find(units, unit->key, n);
	return disk != NULL && !ks_disk_is_partition(disk) ? disk : NULL;
}

enum { PART_DISK, PART_PARTITION, PART_ERR, PART_DETAIL, PART_PARTITION_DETAIL };

#define DISKSTATS "/proc/diskstats, /sys/class/block/sda/stat"

static const struct ks_part parts[] = {
	[PART_DISK] = KS_IO_PART("@", "@", "disk", .read = read_io, .from = DISKSTATS, .title = "sd:0:sda"),
	[PART_PARTITION] = KS_IO_PART("@", "@", "partition", .read = read_io, .from = DISKSTATS,
	    .title = "sd:0:sda1"),
	[PART_ERR] = KS_NAMED_PART("@err", "@,err", "device_error", .fields = KS_TABLE(err_fields), .read = read_err,
	    .from = "/sys/block/sda/device", .title = "sderr:0:sda,err"),
	[PART_DETAIL] = KS_NAMED_PART("@", "@,detail", "disk_detail", .fields = KS_TABLE(detail_fields),
	    .read = read_detail, .from = DISKSTATS ", /sys/block/sda/size", .title = "sd:0:sda,detail",
	    .since = "; *discard* 4.18; flush* 5.5"),
	[PART_PARTITION_DETAIL] = KS_NAMED_PART("@", "@,detail", "partition_detail", .fields = KS_TABLE(detail_fields),
	    .read = read_detail, .from = DISKSTATS ", /sys/block/sda/size", .title = "mmcblk:0:mmcblk0p1,detail",
	    .since = "; *discard* 4.18; flush* 5.5"),
};

bool
ks_disk_is_partition(const struct ks_unit *unit)
{
	return (unit->parts & 1u << PART_PARTITION) != 0;
}

/* --- scanning ------------------------------------------------------------------------ */

/* Removes "major minor name" from a line. */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text name;
	uint64_t number;

	if (!ks_text_u64(line, &number) || !ks_text_u64(line, &number) || !ks_text_word(line, &name) ||
	    !ks_text_at_number(line))
		return 0;
	return ks_listing_key(key, &name);
}

static uint64_t
identity(struct ks_linux *lx, const char *key)
{
	char path[128];

	ks_disk_path(path, sizeof(path), "class/block", key, "");
	return ks_linux_inode(lx, KS_ROOT_SYS, path);
}

static int
allocate(struct ks_unit *unit, size_t size)
{
	unit->extra = calloc(1, size);
	return unit->extra != NULL ? 0 : -1;
}

static int
name_partition(struct ks_unit *unit, const struct ks_unit *disk)
{
	memcpy(unit->module, disk->module, sizeof(unit->module));
	unit->instance = disk->instance;
	unit->parts = 1u << PART_PARTITION;
	/* Those of cards are what programs that know nothing of partitions show. */
	if (strcmp(unit->module, "mmcblk") == 0)
		unit->parts |= 1u << PART_PARTITION_DETAIL;
	return allocate(unit, offsetof(struct disk, inv));
}

static int
name_disk(struct ks_linux *lx, struct ks_unit *unit)
{
	set_module(unit);
	unit->parts = 1u << PART_DISK | 1u << PART_DETAIL;
	if ((lx->sub[KS_SUB_disk].wanted & 1u << PART_ERR) == 0 || !ks_disk_has(lx, unit->key, "/device"))
		return allocate(unit, offsetof(struct disk, inv));
	unit->parts |= 1u << PART_ERR;
	return allocate(unit, sizeof(struct disk));
}

static int
set_up(struct ks_linux *lx, struct ks_unit *unit)
{
	const struct ks_unit *disk = ks_disk_of(&lx->sub[KS_SUB_disk].units, unit);

	return disk != NULL ? name_partition(unit, disk) : name_disk(lx, unit);
}

/*
 * Devices that hold nothing and never had a request are no disks: loop devices without a file, card readers without a
 * card. Programs that show four disks would show four of these. They are remembered: the kernel reports not always that
 * something was put into them.
 */
struct state {
	struct ks_own_disks own; /* the first member */
	char (*empty)[KS_UNIT_NAME]; /* owned */
	size_t n, cap;
};

static bool
holds_nothing(const struct ks_linux *lx, const char *key)
{
	uint64_t size;

	return ks_disk_number(lx, key, "/size", &size) && size == 0;
}

/* True for "loop0" and the like. */
static bool
is_late(const char *key)
{
	size_t n = strcspn(key, "0123456789");

	return key[n] != '\0' && ks_illumos_is_late(key, n);
}

static int
pass_of(struct ks_linux *lx, const char *key, struct ks_text rest)
{
	struct state *s = lx->sub[KS_SUB_disk].state;
	uint64_t c[D_COUNT] = { 0 };
	int pass = is_late(key) ? 2 : 1;
	size_t i = 0;

	(void)columns(rest, c);
	if ((c[D_READS] | c[D_WRITES] | c[D_ACTIVE] | c[D_DISCARDS] | c[D_FLUSHES]) != 0 || !holds_nothing(lx, key))
		return pass;
	while (i < s->n && strcmp(s->empty[i], key) != 0)
		i++;
	if (i == s->n && KS_RESERVE(s->empty, s->cap, i + 1))
		strcpy(s->empty[s->n++], key);
	return i < s->n ? 0 : pass; /* without memory it is a disk */
}

static const struct ks_listing listing = { &ks_diskstats_file, take_key, NULL, identity, set_up };

static int
scan_disks(struct ks_linux *lx, struct ks_units *units)
{
	((struct state *)lx->sub[KS_SUB_disk].state)->n = 0;
	ks_linux_check_directory(lx, KS_ROOT_SYS, "block");
	return ks_listing_scan_twice(lx, units, &listing, pass_of);
}

static bool
has_filled(struct ks_linux *lx)
{
	const struct state *s = lx->sub[KS_SUB_disk].state;
	size_t i = 0;

	while (i < s->n && holds_nothing(lx, s->empty[i]))
		i++;
	return i < s->n;
}

static void
release(void *state)
{
	free(((struct state *)state)->empty);
}

/* True if the kstats of the disk or partition with this entry in /sys/class/block may be wanted. */
static bool
is_wanted(struct ks_linux *lx, const char *entry)
{
	struct ks_unit unit = { .parts = 0 };
	char err[sizeof(unit.module) + 3];

	ks_name_set(unit.key, sizeof(unit.key), entry, strlen(entry));
	for (char *s = unit.key; (s = strchr(s, '!')) != NULL;)
		*s = '/';
	set_module(&unit);
	(void)snprintf(err, sizeof(err), "%serr", unit.module);
	return ks_scan_wants(lx->scan, unit.module, NULL, NULL) || ks_scan_wants(lx->scan, err, NULL, NULL);
}

static bool
has_wanted(struct ks_linux *lx)
{
	return ks_linux_any_entry(lx, KS_ROOT_SYS, "class/block", is_wanted);
}

KS_SUBSYSTEM(disk, parts, .scan = scan_disks, .has_wanted = has_wanted, .on_events = true,
    .has_changed = has_filled, .state_size = sizeof(struct state), .release = release);
