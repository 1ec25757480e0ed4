/*
 * intr.c - interrupts from /proc/interrupts and softirqs from /proc/softirqs, as
 * KSTAT_TYPE_INTR. A device's interrupt is module and instance of the device's name and the
 * whole name: virtio:1:virtio1-req.0, eth:0:eth0-TxRx-3. Those of the architecture are
 * intr:0:LOC and such, softirqs softirq:0:NET_RX. At the end are the same by CPU.
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/table.h"
#include "source/linux/cpu/cpus.h"
#include "source/linux/described.h"
#include "source/linux/listing.h"

const struct ks_file ks_interrupts_file = { KS_ROOT_PROC, "interrupts", KS_MADE_BY_CPU, false };
const struct ks_file ks_softirqs_file = { KS_ROOT_PROC, "softirqs", KS_MADE_WHOLE, false };

/* --- lines ------------------------------------------------------------------------------ */

/* Splits a line into the label, the numbers, and the text behind the numbers. */
static bool
split_line(const struct ks_text *line, struct ks_text *label, struct ks_text *numbers,
    struct ks_text *tail)
{
	const char *colon = memchr(line->p, ':', ks_text_size(line));

	if (colon == NULL)
		return false;
	*label = (struct ks_text){ line->p, colon };
	ks_text_trim(label);
	*tail = (struct ks_text){ colon + 1, line->end };
	numbers->p = tail->p;
	/* Numbers are words of digits only; the name of a chip may begin with digits. */
	for (;;) {
		const char *p;

		ks_text_skip(tail);
		for (p = tail->p; p < line->end && *p >= '0' && *p <= '9';)
			p++;
		if (p == tail->p || (p < line->end && !ks_text_blank(*p)))
			break;
		tail->p = p;
	}
	numbers->end = tail->p;
	return label->p < label->end && numbers->p < numbers->end;
}

/* Makes a key of label and tail, which name the interrupt; what is left of the line are the numbers. */
static size_t
take_key(struct ks_text *line, char key[KS_UNIT_NAME])
{
	struct ks_text label, numbers, tail;
	size_t n;

	if (!split_line(line, &label, &numbers, &tail))
		return 0;
	*line = numbers;
	n = ks_text_size(&label);
	if (n > KS_UNIT_NAME - 2)
		n = KS_UNIT_NAME - 2;
	memcpy(key, label.p, n);
	key[n++] = ' ';
	/* The end of a long tail says more than its beginning. */
	for (const char *p = ks_text_size(&tail) > KS_UNIT_NAME - 1 - n ?
	    tail.end - (KS_UNIT_NAME - 1 - n) : tail.p; p < tail.end; p++)
		key[n++] = *p;
	return n;
}

/* True for the first line, and for lines with a label and no numbers, which some architectures print. */
static bool
is_heading(const struct ks_image *im, const struct ks_text *line)
{
	return line->p == im->data ||
	    (memchr(line->p, ':', ks_text_size(line)) != NULL && ks_text_plain(line));
}

/* ks_unit.extra of an interrupt: the sum of its numbers, and how many there were. */
struct count {
	struct ks_widened sum;
	size_t n;
};

static int
allocate_count(struct ks_unit *unit)
{
	unit->extra = calloc(1, sizeof(struct count));
	return unit->extra != NULL ? 0 : -1;
}

/*
 * Adds the sum of a line's numbers as the count of one kind (KSTAT_INTR_*). A CPU that comes or goes brings or takes
 * what it counted since boot, so such an interval counts nothing.
 */
static int
add_total(struct ks_linux *lx, struct ks_columns *columns, struct ks_text line, struct ks_record *r, int kind)
{
	struct count *count = lx->unit->extra;
	kstat_intr_t *ki = ks_record_add(r, sizeof(*ki));
	uint64_t v, sum = 0;
	size_t n = ks_columns_of_row(columns, lx->im, &line, &sum);

	if (n == 0) {
		for (sum = 0; ks_text_u64(&line, &v); n++)
			sum += v;
	}
	if (n != count->n)
		count->sum.raw = sum;
	count->n = n;
	sum = ks_widen(&count->sum, sum);
	if (ki != NULL)
		ki->intrs[kind] = (uint_t)sum;
	return 0;
}

/* --- names -------------------------------------------------------------------------------- */

/*
 * The devices of a numbered line: what follows the last two blanks, as in
 * "IO-APIC   5-edge      ehci_hcd:usb1, mmc0". Empty if no device has the interrupt.
 */
static struct ks_text
devices_of(const char *key)
{
	size_t label = strcspn(key, " ");
	/* A damaged file may have a NUL in a label, at which the key ends. */
	const char *tail = key + label + (key[label] == ' ');
	struct ks_text t = ks_text_of(tail, strlen(tail));
	const char *p;

	for (p = t.end; p > t.p; p--) {
		if (p - t.p >= 2 && p[-1] == ' ' && p[-2] == ' ')
			break;
	}
	if (p == t.p)
		t.p = t.end;
	else
		t.p = p;
	return t;
}

/* Sets module, instance and name of the interrupt of devices. */
static void
set_device(struct ks_unit *unit, const char *devices, size_t n)
{
	size_t first, letters;
	const char *p;
	uint64_t number = 0;

	ks_name_set(unit->name, sizeof(unit->name), devices, n);
	/* The device's own name ends at the first separator; its number starts at the first digit. */
	first = strcspn(unit->name, " ,:[@/-");
	letters = strcspn(unit->name, "0123456789");
	if (letters >= first || letters < 2) {
		letters = first; /* i8042, i915: the number is part of the name */
	} else {
		p = unit->name + letters;
		if (ks_scan_u64(&p, unit->name + first, &number) != 0 || number > INT32_MAX)
			number = 0;
	}
	ks_name_set(unit->module, sizeof(unit->module), unit->name, letters > 0 ? letters : 1);
	/* The modules of other subsystems are theirs alone: who wants these looks at no interrupt. */
	if (ks_linux_has_module(unit->module))
		ks_name_set(unit->module, sizeof(unit->module), "irq", 3);
	unit->instance = (int)number;
	/* Colons separate in operands: ehci_hcd:usb1 could not be named there. */
	for (char *colon = unit->name; (colon = strchr(colon, ':')) != NULL;)
		*colon = '_';
}

static bool
has_same_name(const void *units, uint32_t slot, const void *key)
{
	const struct ks_unit *a = (const struct ks_unit *)units + slot, *b = key;

	return a->instance == b->instance && strcmp(a->name, b->name) == 0 && strcmp(a->module, b->module) == 0;
}

/* The key of an interrupt begins with its number. */
static void
append_number(struct ks_unit *unit)
{
	char suffix[16];
	size_t digits = strcspn(unit->key, " "), most = sizeof(suffix) - 2;
	size_t n = (size_t)snprintf(suffix, sizeof(suffix), ",%.*s", (int)(digits < most ? digits : most), unit->key);
	size_t at = strlen(unit->name);

	if (at > sizeof(unit->name) - 1 - n)
		at = sizeof(unit->name) - 1 - n;
	memcpy(unit->name + at, suffix, n + 1);
}

/* The hash by which the table of names has a unit. */
static uint64_t
name_hash(const struct ks_unit *unit)
{
	return ks_hash_string(KS_HASH_INIT, unit->name);
}

#define MOST_NUMBERS 4 /* in a row: a long name has room for one only, and the rest would change nothing */

/*
 * Gives an interrupt a name of its own: its number is appended once more if a device is called so. False without
 * memory.
 */
static bool
rename_unit(struct ks_table *names, struct ks_units *units, uint32_t u)
{
	struct ks_unit *unit = &units->v[u];
	int numbers = 0;

	do {
		append_number(unit);
		if (ks_table_find(names, name_hash(unit), has_same_name, units->v, unit) == KS_NO_SLOT)
			return ks_table_add(names, name_hash(unit), u);
	} while (++numbers < MOST_NUMBERS);
	return true;
}

/* Appends their numbers to interrupts that share a name: i8042,1 and i8042,12. -1 without memory. */
static int
tell_apart(struct ks_units *units)
{
	struct ks_table names = { NULL, 0, 0 };
	bool *shared = calloc(units->n + 1, sizeof(*shared));
	int rc = shared != NULL ? 0 : -1;

	for (uint32_t u = 0; rc == 0 && u < units->n; u++) {
		const struct ks_unit *unit = &units->v[u];
		uint64_t hash = name_hash(unit);
		uint32_t other;

		if (!unit->alive)
			continue;
		other = ks_table_find(&names, hash, has_same_name, units->v, unit);
		if (other != KS_NO_SLOT)
			shared[other] = shared[u] = true;
		else if (!ks_table_add(&names, hash, u))
			rc = -1;
	}
	for (uint32_t u = 0; rc == 0 && u < units->n; u++) {
		if (shared[u] && !rename_unit(&names, units, u))
			rc = -1;
	}
	ks_table_free(&names);
	free(shared);
	return rc;
}

static void
set_names(struct ks_unit *unit)
{
	const char *p = unit->key;
	size_t n = strcspn(unit->key, " ");
	struct ks_text t;
	uint64_t irq;

	if (ks_scan_u64(&p, unit->key + n, &irq) != 0 || p != unit->key + n) {
		ks_name_set(unit->module, sizeof(unit->module), "intr", 4);
		unit->instance = 0;
		ks_name_set(unit->name, sizeof(unit->name), unit->key, n);
		return;
	}
	t = devices_of(unit->key);
	if (t.p < t.end) {
		set_device(unit, t.p, ks_text_size(&t));
	} else {
		ks_name_set(unit->module, sizeof(unit->module), "irq", 3);
		unit->instance = (int)(irq <= INT32_MAX ? irq : 0);
		(void)snprintf(unit->name, sizeof(unit->name), "irq%llu", (unsigned long long)irq);
	}
}

/* --- interrupts ------------------------------------------------------------------------------- */

enum { PART_DEVICE, PART_ARCH };

static int
set_up(struct ks_linux *lx, struct ks_unit *unit)
{
	(void)lx;
	unit->parts = 1u << (isdigit((unsigned char)unit->key[0]) ? PART_DEVICE : PART_ARCH);
	return allocate_count(unit);
}

static const struct ks_listing interrupts = { &ks_interrupts_file, take_key, is_heading, NULL,
	set_up };

static int
add_interrupts(struct ks_linux *lx, struct ks_text line, struct ks_record *r)
{
	const char *name = lx->unit->name;
	bool spurious = lx->unit->parts == 1u << PART_ARCH &&
	    (strcmp(name, "SPU") == 0 || strcmp(name, "ERR") == 0 || strcmp(name, "Err") == 0);

	return add_total(lx, &ks_cpu_state_of(lx)->interrupts, line, r, spurious ? KSTAT_INTR_SPURIOUS : KSTAT_INTR_HARD);
}

static const struct ks_part parts[] = {
	[PART_DEVICE] = KS_INTR_PART("@", "@", "controller", .add = add_interrupts, .from = "/proc/interrupts",
	    .title = "virtio:1:virtio1-req.0"),
	[PART_ARCH] = KS_INTR_PART("@", "@", "interrupts", .add = add_interrupts, .from = "/proc/interrupts",
	    .title = "intr:0:LOC"),
};

static int
scan_interrupts(struct ks_linux *lx, struct ks_units *units)
{
	int rc = ks_listing_scan(lx, units, &interrupts);

	if (rc <= 0)
		return rc;
	/* An interrupt that comes or goes may change the names of others. */
	for (uint32_t i = 0; i < units->n; i++) {
		if (units->v[i].alive)
			set_names(&units->v[i]);
	}
	return tell_apart(units) == 0 ? 1 : -1;
}

/*
 * True if the kstat of an interrupt, an entry of /sys/kernel/irq, may be wanted. One without devices is shown
 * with the number that its controller has for it as the device.
 */
static bool
is_wanted(struct ks_linux *lx, const char *entry)
{
	struct ks_unit unit = { .parts = 0 };
	char path[64], devices[256];
	int n;

	(void)snprintf(path, sizeof(path), "kernel/irq/%.32s/actions", entry);
	n = ks_file_small(&lx->root[KS_ROOT_SYS], path, devices, sizeof(devices));
	if (n == 0) {
		(void)snprintf(path, sizeof(path), "kernel/irq/%.32s/hwirq", entry);
		n = ks_file_small(&lx->root[KS_ROOT_SYS], path, devices, sizeof(devices));
	}
	if (n <= 0)
		return n < 0 && errno != ENOENT;
	set_device(&unit, devices, (size_t)n);
	return ks_scan_wants(lx->scan, unit.module, NULL, NULL);
}

/* The names of devices are in /sys as well, where no counters of all CPUs are printed beside them. */
static bool
has_wanted(struct ks_linux *lx)
{
	return ks_scan_wants(lx->scan, "intr", NULL, NULL) || ks_scan_wants(lx->scan, "irq", NULL, NULL) ||
	    ks_linux_any_entry(lx, KS_ROOT_SYS, "kernel/irq", is_wanted);
}

KS_SUBSYSTEM(intr, parts, .scan = scan_interrupts, .listing = &interrupts, .has_wanted = has_wanted);

/* --- softirqs -------------------------------------------------------------------------- */

static int
set_up_softirq(struct ks_linux *lx, struct ks_unit *unit)
{
	(void)lx;
	unit->parts = 1;
	ks_name_set(unit->name, sizeof(unit->name), unit->key, strcspn(unit->key, " "));
	return allocate_count(unit);
}

static const struct ks_listing softirqs = { &ks_softirqs_file, take_key, is_heading, NULL,
	set_up_softirq };

static int
add_softirqs(struct ks_linux *lx, struct ks_text line, struct ks_record *r)
{
	return add_total(lx, &ks_cpu_state_of(lx)->softirqs, line, r, KSTAT_INTR_SOFT);
}

static const struct ks_part softirq_parts[] = {
	KS_INTR_PART("softirq", "@", "interrupts", .add = add_softirqs, .from = "/proc/softirqs",
	    .title = "softirq:0:NET_RX"),
};

/* The kinds of softirqs do not change while the kernel runs. */
static int
scan_softirqs(struct ks_linux *lx, struct ks_units *units)
{
	if (units->n > 0 && lx->root[KS_ROOT_PROC].kernel)
		return 0;
	return ks_listing_scan(lx, units, &softirqs);
}

KS_SUBSYSTEM(softirq, softirq_parts, .scan = scan_softirqs, .listing = &softirqs);

/* --- by CPU ------------------------------------------------------------------------------ */

/*
 * With a statistic for each CPU: intr_cpu:NUMBER:DEVICE, intr_cpu:0:LOC, softirq_cpu:0:NET_RX. A large machine has a
 * million of these counters, so that only those who name the module or the class get them.
 */

static int
set_up_by_cpu(struct ks_linux *lx, struct ks_unit *unit)
{
	const char *number = unit->key;
	uint64_t irq = 0;

	if (isdigit((unsigned char)*number))
		(void)ks_scan_u64(&number, number + strlen(number), &irq);
	set_names(unit);
	unit->instance = (int)(irq <= INT32_MAX ? irq : 0);
	if (ks_scan_asks_for(lx->scan, "intr_cpu", "interrupts_cpu", unit->instance, unit->name))
		unit->parts = 1;
	return 0;
}

static const struct ks_listing interrupts_by_cpu = { &ks_interrupts_file, take_key, is_heading, NULL, set_up_by_cpu };
static const struct ks_listing softirqs_by_cpu = { &ks_softirqs_file, take_key, is_heading, NULL, NULL };

/* Adds the counters of a line, but those of a line that does not count by CPU. They have 32 bits in the kernel. */
static int
add_counters(struct ks_linux *lx, struct ks_text line, struct ks_record *r)
{
	struct ks_text all = ks_text_of(lx->im->data, lx->im->len), heading, rest;
	char name[KSTAT_STRLEN];
	uint64_t cpu, v, columns = 0, numbers = 0;

	if (!ks_text_line(&all, &heading))
		return 0;
	for (rest = heading; ks_cpu_of_heading(&rest, &cpu);)
		columns++;
	for (rest = line; ks_text_u64(&rest, &v);)
		numbers++;
	while (columns == numbers && ks_cpu_of_heading(&heading, &cpu) && ks_text_u64(&line, &v)) {
		(void)snprintf(name, sizeof(name), "cpu%u", (unsigned)cpu);
		ks_named_u32(r, name, (uint32_t)v);
	}
	return 0;
}

static const struct ks_meta *
meta(const char *stat)
{
	static const struct ks_meta counter = KS_META_COUNTER("", "");

	return ks_described_as(&counter, "times that ", stat, " served it");
}

static const struct ks_part intr_cpu_parts[] = {
	KS_NAMED_PART("intr_cpu", "@", "interrupts_cpu", .add = add_counters, .meta = meta,
	    .file = &ks_interrupts_file, KS_NAMES("cpu0")),
};

static const struct ks_part softirq_cpu_parts[] = {
	KS_NAMED_PART("softirq_cpu", "@", "interrupts_cpu", .add = add_counters, .meta = meta,
	    .file = &ks_softirqs_file, KS_NAMES("cpu0")),
};

KS_SUBSYSTEM(intr_cpu, intr_cpu_parts, .listing = &interrupts_by_cpu, .on_demand = true);
KS_SUBSYSTEM(softirq_cpu, softirq_cpu_parts, .listing = &softirqs_by_cpu, .on_demand = true);
