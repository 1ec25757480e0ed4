/*
 * device.c - one struct devstat from the kstats of a disk or tape.
 *
 * It is the only file that knows the names of these kstats: the I/O kstat of class disk or tape, and beside it, both
 * optional, <name>,detail (what Linux counts of a disk beyond the I/O kstat) and <name>,dev of class device (what the
 * device is, and where a system counts as devstat does its read_, write_, free_ and other_ ops, bytes and time). All
 * comes through the chain, so that a replay needs no code of its own.
 * SPDX-License-Identifier: MIT
 */
#include "devstat/device.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devstat/bintime.h"
#include "model/origin.h"
#include "model/shape.h"

bool
ks_is_device(const kstat_t *ksp)
{
	return ksp->ks_type == KSTAT_TYPE_IO && !ks_is_published(ksp) &&
	    (strcmp(ksp->ks_class, "disk") == 0 || strcmp(ksp->ks_class, "tape") == 0);
}

/* Names that kernels give to devices, for systems and replays that report no type. */
static const struct {
	const char *prefix;
	devstat_type_flags type;
	devstat_priority priority;
} known_names[] = {
	{ "sd", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_SCSI, DEVSTAT_PRIORITY_DISK },
	{ "ssd", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_SCSI, DEVSTAT_PRIORITY_DISK },
	{ "da", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_SCSI, DEVSTAT_PRIORITY_DISK },
	{ "ada", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_IDE, DEVSTAT_PRIORITY_DISK },
	{ "hd", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_IDE, DEVSTAT_PRIORITY_DISK },
	{ "cmdk", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_IDE, DEVSTAT_PRIORITY_DISK },
	{ "nvme", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER, DEVSTAT_PRIORITY_DISK },
	{ "vd", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER, DEVSTAT_PRIORITY_DISK },
	{ "xvd", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER, DEVSTAT_PRIORITY_DISK },
	{ "mmcblk", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER, DEVSTAT_PRIORITY_DISK },
	{ "md", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER, DEVSTAT_PRIORITY_ARRAY },
	{ "sr", DEVSTAT_TYPE_CDROM | DEVSTAT_TYPE_IF_SCSI, DEVSTAT_PRIORITY_CD },
	{ "cd", DEVSTAT_TYPE_CDROM | DEVSTAT_TYPE_IF_SCSI, DEVSTAT_PRIORITY_CD },
	{ "st", DEVSTAT_TYPE_SEQUENTIAL | DEVSTAT_TYPE_IF_SCSI, DEVSTAT_PRIORITY_TAPE },
	{ "sa", DEVSTAT_TYPE_SEQUENTIAL | DEVSTAT_TYPE_IF_SCSI, DEVSTAT_PRIORITY_TAPE },
	{ "fd", DEVSTAT_TYPE_FLOPPY | DEVSTAT_TYPE_IF_OTHER, DEVSTAT_PRIORITY_FD },
};

/* Returns whether the name is the prefix followed by a number in digits or in letters. */
static bool
has_prefix(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0 || name[n] == '\0')
		return false;
	if (isdigit((unsigned char)name[n]))
		return true;
	for (name += n; *name != '\0'; name++) {
		if (!islower((unsigned char)*name))
			return false;
	}
	/* Only these drivers number their devices with letters: sda, hda, vda, xvda. */
	return prefix[n - 1] == 'd' && strcmp(prefix, "cd") != 0 && strcmp(prefix, "md") != 0 &&
	    strcmp(prefix, "fd") != 0;
}

static void
set_type_by_name(struct devstat *ds, const kstat_t *ksp)
{
	ds->device_type = DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER;
	ds->priority = DEVSTAT_PRIORITY_OTHER;
	for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++) {
		if (has_prefix(ksp->ks_name, known_names[i].prefix)) {
			ds->device_type = known_names[i].type;
			ds->priority = known_names[i].priority;
			return;
		}
	}
	if (strcmp(ksp->ks_class, "tape") == 0) {
		ds->device_type = DEVSTAT_TYPE_SEQUENTIAL | DEVSTAT_TYPE_IF_SCSI;
		ds->priority = DEVSTAT_PRIORITY_TAPE;
	}
}

/* Returns the number that Linux writes in letters: "a" is 0, "z" 25, "aa" 26. -1 if s is no such number. */
static int
letters_number(const char *s)
{
	int n = 0;

	if (*s == '\0' || strlen(s) > 4)
		return -1;
	for (; *s != '\0'; s++) {
		if (*s < 'a' || *s > 'z')
			return -1;
		n = n * 26 + (*s - 'a' + 1);
	}
	return n - 1;
}

void
ks_device_set_name(struct devstat *ds, const kstat_t *ksp)
{
	const char *name = ksp->ks_name;
	size_t len = strlen(name), stem = len, module = strlen(ksp->ks_module);
	char joined[KSTAT_STRLEN + DEVSTAT_NAME_LEN];
	int unit = -1;

	/* The unit is the digits at the end; leading zeros belong to the name, because a number would lose them. */
	while (stem > 0 && isdigit((unsigned char)name[stem - 1]))
		stem--;
	while (len > 0 && stem < len - 1 && name[stem] == '0')
		stem++;
	if (stem < len && len - stem <= 9) {
		unit = atoi(name + stem);
	} else if (module > 0 && module < len && strncmp(name, ksp->ks_module, module) == 0 &&
	    (unit = letters_number(name + module)) >= 0) {
		stem = module;
	} else {
		stem = len;
		unit = ksp->ks_instance >= 0 ? ksp->ks_instance : 0;
	}
	if (stem >= DEVSTAT_NAME_LEN)
		stem = DEVSTAT_NAME_LEN - 1;
	memset(ds->device_name, 0, sizeof(ds->device_name));
	memcpy(ds->device_name, name, stem);
	ds->unit_number = unit;
	(void)snprintf(joined, sizeof(joined), "%s%d", ds->device_name, unit);
	if (strcmp(joined, name) != 0)
		memcpy(ds->system_name, name, sizeof(ds->system_name));
	else
		ds->system_name[0] = '\0';
}

uint64_t
ks_named_number(const kstat_named_t *kn)
{
	switch (kn->data_type) {
	case KSTAT_DATA_INT32:
		return kn->value.i32 > 0 ? (uint64_t)kn->value.i32 : 0;
	case KSTAT_DATA_UINT32:
		return kn->value.ui32;
	case KSTAT_DATA_INT64:
		return kn->value.i64 > 0 ? (uint64_t)kn->value.i64 : 0;
	case KSTAT_DATA_UINT64:
		return kn->value.ui64;
	case KSTAT_DATA_DOUBLE:
		return kn->value.d >= 0 && kn->value.d < 0x1p64 ? (uint64_t)kn->value.d : 0;
	default:
		return 0;
	}
}

/* Returns a named value as text in buf; "" if it is not text. */
static void
named_text(const kstat_named_t *kn, char *buf, size_t size)
{
	if (kn->data_type == KSTAT_DATA_STRING && KSTAT_NAMED_STR_PTR(kn) != NULL)
		(void)snprintf(buf, size, "%s", KSTAT_NAMED_STR_PTR(kn));
	else if (kn->data_type == KSTAT_DATA_CHAR)
		(void)snprintf(buf, size, "%.*s", (int)sizeof(kn->value.c), kn->value.c);
	else
		buf[0] = '\0';
}

static int64_t
clamp_ns(uint64_t ns)
{
	return ns <= INT64_MAX ? (int64_t)ns : INT64_MAX;
}

static void
set_device_type(struct devstat *ds, const char *stat, const kstat_named_t *kn)
{
	const struct devstat_match_table *word;
	devstat_match_flags field = DEVSTAT_MATCH_TYPE;
	devstat_type_flags mask = DEVSTAT_TYPE_MASK;
	char text[32];

	if (strcmp(stat, "pass") == 0) {
		if (ks_named_number(kn) != 0)
			ds->device_type |= DEVSTAT_TYPE_PASS;
		return;
	}
	if (strcmp(stat, "interface") == 0) {
		field = DEVSTAT_MATCH_IF;
		mask = DEVSTAT_TYPE_IF_MASK;
	}
	named_text(kn, text, sizeof(text));
	word = ks_devstat_word(text, strlen(text));
	if (word != NULL && word->match_field == field)
		ds->device_type = (ds->device_type & ~mask) | word->type;
}

/* Stores the value of "read_bytes" and the names like it. Returns false for other names. */
static bool
set_by_kind(struct devstat *ds, const char *stat, const kstat_named_t *kn)
{
	static const char *const kinds[DEVSTAT_N_TRANS_FLAGS] = {
		"other_", "read_", "write_", "free_"
	};

	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++) {
		size_t n = strlen(kinds[i]);

		if (strncmp(stat, kinds[i], n) != 0)
			continue;
		if (strcmp(stat + n, "ops") == 0)
			ds->operations[i] = ks_named_number(kn);
		else if (strcmp(stat + n, "bytes") == 0)
			ds->bytes[i] = ks_named_number(kn);
		else if (strcmp(stat + n, "time") == 0)
			ds->duration[i] = ks_bintime_of_ns(clamp_ns(ks_named_number(kn)));
		else
			return false;
		return true;
	}
	return false;
}

/* The times of each kind are known, so the sum over both queues, used for all kinds before, is dropped. */
static void
forget_queue_sum(struct devstat *ds, bool *known)
{
	if (!*known)
		ds->duration[DEVSTAT_NO_DATA] = ks_bintime_of_ns(0);
	*known = true;
}

static void
set_from_detail(struct devstat *ds, const kstat_t *detail, bool *known)
{
	static const struct {
		const char *name;
		int kind;
		enum { OPS, BYTES, TIME } what;
	} table[] = {
		{ "reads", DEVSTAT_READ, OPS }, { "nread", DEVSTAT_READ, BYTES },
		{ "read_nsec", DEVSTAT_READ, TIME }, { "writes", DEVSTAT_WRITE, OPS },
		{ "nwritten", DEVSTAT_WRITE, BYTES }, { "write_nsec", DEVSTAT_WRITE, TIME },
		{ "discards", DEVSTAT_FREE, OPS }, { "ndiscarded", DEVSTAT_FREE, BYTES },
		{ "discard_nsec", DEVSTAT_FREE, TIME }, { "flushes", DEVSTAT_NO_DATA, OPS },
		{ "flush_nsec", DEVSTAT_NO_DATA, TIME },
	};
	const kstat_named_t *kn = KSTAT_NAMED_PTR(detail);

	for (uint_t i = 0; i < detail->ks_ndata; i++, kn++) {
		size_t k = 0, n = sizeof(table) / sizeof(table[0]);

		if (ks_named_is_hidden(kn))
			continue;
		while (k < n && strcmp(kn->name, table[k].name) != 0)
			k++;
		if (k == n)
			continue;
		if (table[k].what == OPS) {
			ds->operations[table[k].kind] = ks_named_number(kn);
		} else if (table[k].what == BYTES) {
			ds->bytes[table[k].kind] = ks_named_number(kn);
		} else {
			forget_queue_sum(ds, known);
			ds->duration[table[k].kind] =
			    ks_bintime_of_ns(clamp_ns(ks_named_number(kn)));
		}
	}
}

static void
set_from_companion(struct devstat *ds, const kstat_t *dev, bool *known)
{
	const kstat_named_t *kn = KSTAT_NAMED_PTR(dev);

	for (uint_t i = 0; i < dev->ks_ndata; i++, kn++) {
		if (ks_named_is_hidden(kn))
			continue;
		if (strcmp(kn->name, "read_time") == 0 || strcmp(kn->name, "other_time") == 0)
			forget_queue_sum(ds, known);
		if (strcmp(kn->name, "device_type") == 0 || strcmp(kn->name, "interface") == 0 ||
		    strcmp(kn->name, "pass") == 0)
			set_device_type(ds, kn->name, kn);
		else if (strcmp(kn->name, "block_size") == 0)
			ds->block_size = (uint32_t)ks_named_number(kn);
		else if (strcmp(kn->name, "priority") == 0)
			ds->priority = (devstat_priority)(ks_named_number(kn) &
			    DEVSTAT_PRIORITY_MAX);
		else if (strcmp(kn->name, "busy_time") == 0)
			ds->busy_time = ks_bintime_of_ns(clamp_ns(ks_named_number(kn)));
		else
			(void)set_by_kind(ds, kn->name, kn);
	}
}

static void
set_from_io(struct devstat *ds, const kstat_io_t *io)
{
	hrtime_t sum;

	ds->bytes[DEVSTAT_READ] = io->nread;
	ds->bytes[DEVSTAT_WRITE] = io->nwritten;
	ds->operations[DEVSTAT_READ] = io->reads;
	ds->operations[DEVSTAT_WRITE] = io->writes;
	if (__builtin_add_overflow(io->wlentime, io->rlentime, &sum))
		sum = INT64_MAX;
	ds->duration[DEVSTAT_NO_DATA] = ks_bintime_of_ns(sum);
	ds->busy_time = ks_bintime_of_ns(io->rtime);
	ds->busy_from = ks_bintime_of_ns(io->rlastupdate);
}

/* Reads and returns the NAMED kstat "<name><suffix>" of the same device; NULL if there is none. */
static kstat_t *
read_beside(kstat_ctl_t *kc, const kstat_t *ksp, const char *suffix)
{
	char name[KSTAT_STRLEN + 8];
	kstat_t *beside;

	(void)snprintf(name, sizeof(name), "%s%s", ksp->ks_name, suffix);
	if (strlen(name) >= KSTAT_STRLEN)
		return NULL;
	beside = kstat_lookup(kc, ksp->ks_module, ksp->ks_instance, name);
	if (beside == NULL || beside->ks_type != KSTAT_TYPE_NAMED ||
	    kstat_read(kc, beside, NULL) == -1 || beside->ks_data == NULL)
		return NULL;
	return beside;
}

int
ks_device_read(kstat_ctl_t *kc, kstat_t *ksp, struct devstat *ds)
{
	const kstat_io_t *io;
	const kstat_t *beside;
	uint64_t ended = 0;
	bool known = false;

	memset(ds, 0, sizeof(*ds));
	if (kstat_read(kc, ksp, NULL) == -1)
		return -1;
	if (ksp->ks_data == NULL || ksp->ks_data_size < sizeof(*io)) {
		errno = EIO;
		return -1;
	}
	io = KSTAT_IO_PTR(ksp);
	ks_device_set_name(ds, ksp);
	set_type_by_name(ds, ksp);
	ds->allocated = 1;
	ds->device_number = (uint32_t)ksp->ks_kid;
	ds->creation_time = ks_bintime_of_ns(ksp->ks_crtime);
	set_from_io(ds, io);

	beside = read_beside(kc, ksp, ",detail");
	if (beside != NULL)
		set_from_detail(ds, beside, &known);
	beside = read_beside(kc, ksp, ",dev");
	if (beside != NULL)
		set_from_companion(ds, beside, &known);

	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		ended += ds->operations[i];
	ds->end_count = (unsigned int)ended;
	ds->start_count = ds->end_count + io->wcnt + io->rcnt;
	if (ds->block_size == 0)
		ds->flags = DEVSTAT_BS_UNAVAILABLE;
	return 0;
}

char *
devstat_devname(const struct devstat *device, char *buf)
{
	if (device->system_name[0] != '\0')
		(void)snprintf(buf, KSTAT_STRLEN, "%.*s", KSTAT_STRLEN - 1, device->system_name);
	else
		(void)snprintf(buf, KSTAT_STRLEN, "%.*s%d", DEVSTAT_NAME_LEN - 1,
		    device->device_name, device->unit_number);
	return buf;
}
