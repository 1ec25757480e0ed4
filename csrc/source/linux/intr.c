/*
 * intr.c - interrupts from /proc/interrupts and softirqs from /proc/softirqs, as
 * KSTAT_TYPE_INTR. A device's interrupt is module and instance of the device's name and the
 * whole name: virtio:1:virtio1-req.0, eth:0:eth0-TxRx-3. Those of the architecture are
 * intr:0:LOC and such, softirqs softirq:0:NET_RX. SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "source/linux/linux.h"

/* --- lines ------------------------------------------------------------------------------ */

/* Takes the label and the numbers apart, and finds the text behind the numbers. */
static bool
take_line(const struct ks_text *line, struct ks_text *label, struct ks_text *numbers,
    struct ks_text *tail)
{
	const char *colon = memchr(line->p, ':', ks_text_size(line));
	const char *p;

	if (colon == NULL)
		return false;
	*label = (struct ks_text){ line->p, colon };
	ks_text_trim(label);
	p = colon + 1;
	numbers->p = p;
	/* Numbers are words of digits only; the name of a chip may begin with digits. */
	for (;;) {
		const char *word;

		while (p < line->end && ks_text_blank(*p))
			p++;
		word = p;
		while (p < line->end && *p >= '0' && *p <= '9')
			p++;
		if (p == word || (p < line->end && !ks_text_blank(*p))) {
			p = word;
			break;
		}
	}
	numbers->end = p;
	*tail = (struct ks_text){ p, line->end };
	return label->p < label->end && numbers->p < numbers->end;
}

/* Label and tail, which name the interrupt; without the columns of blanks between. */
static size_t
make_key(char key[KS_UNIT_NAME], const struct ks_text *label, const struct ks_text *tail)
{
	size_t n = ks_text_size(label);

	if (n > KS_UNIT_NAME - 2)
		n = KS_UNIT_NAME - 2;
	memcpy(key, label->p, n);
	key[n++] = ' ';
	/* The end of a long tail tells more than its begin. */
	for (const char *p = ks_text_size(tail) > KS_UNIT_NAME - 1 - n ?
	    tail->end - (KS_UNIT_NAME - 1 - n) : tail->p; p < tail->end; p++)
		key[n++] = *p;
	return n;
}

/*
 * A line that is none of a unit: nothing to tell of the heading, nor of a line that has a label and
 * no numbers, as some architectures print.
 */
static void
note_line(struct ks_linux *lx, const struct ks_image *im, const struct ks_text *line)
{
	bool label = memchr(line->p, ':', ks_text_size(line)) != NULL && ks_text_plain(line);

	if (line->p != im->data && !label && !ks_text_empty(line))
		ks_linux_odd_line(lx, im, line);
}

static void
remember(struct ks_unit *unit, const struct ks_image *im, const struct ks_text *numbers)
{
	unit->at = (uint32_t)(numbers->p - im->data);
	unit->len = (uint32_t)ks_text_size(numbers);
	unit->seq = im->seq;
}

/* Sets where each unit's numbers are in an image read anew. */
static void
find_lines(struct ks_units *units, const struct ks_image *im)
{
	struct ks_text all = ks_text_of(im->data, im->len), line, label, numbers, tail;
	char key[KS_UNIT_NAME];

	while (ks_text_line(&all, &line)) {
		if (take_line(&line, &label, &numbers, &tail)) {
			struct ks_unit *unit = ks_units_find(units, key, make_key(key, &label, &tail));

			if (unit != NULL)
				remember(unit, im, &numbers);
		}
	}
}

/* The sum of a unit's numbers; -1 with errno and message. */
static int
total_of(struct ks_linux *lx, enum ks_image_id id, struct ks_units *units, uint64_t *seq,
    struct ks_unit *unit, uint_t *total)
{
	const struct ks_image *im = ks_linux_image(lx, id);
	struct ks_text t;
	uint64_t v, sum = 0;

	if (im == NULL)
		return -1;
	if (*seq != im->seq) {
		find_lines(units, im);
		*seq = im->seq;
	}
	if (unit->seq != im->seq)
		return ks_linux_gone(unit);
	t = ks_text_of(im->data + unit->at, unit->len);
	while (ks_text_u64(&t, &v))
		sum += v;
	*total = (uint_t)sum;
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
	const char *tail = strchr(key, ' ') + 1;
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
	unit->instance = (int)number;
	/* Colons separate in operands: ehci_hcd:usb1 could not be named there. */
	for (char *colon = unit->name; (colon = strchr(colon, ':')) != NULL;)
		*colon = '_';
}

static uint64_t
name_hash(const struct ks_unit *unit)
{
	uint64_t h = ks_hash_string(KS_HASH_INIT, unit->module);

	h = ks_hash_bytes(h, &unit->instance, sizeof(unit->instance));
	return ks_hash_string(h, unit->name);
}

/* Interrupts that share a name get their number after it: i8042,1 and i8042,12. */
static int
tell_apart(struct ks_units *units)
{
	size_t cap = 16, i;
	struct { uint64_t hash; uint32_t count; } *seen;

	while (cap < 2 * (size_t)units->n)
		cap *= 2;
	seen = calloc(cap, sizeof(*seen));
	if (seen == NULL)
		return -1;
	for (uint32_t u = 0; u < units->n; u++) {
		uint64_t h = name_hash(&units->v[u]);

		if (!units->v[u].alive)
			continue;
		for (i = h & (cap - 1); seen[i].count > 0 && seen[i].hash != h; i = (i + 1) & (cap - 1))
			;
		seen[i].hash = h;
		seen[i].count++;
	}
	for (uint32_t u = 0; u < units->n; u++) {
		struct ks_unit *unit = &units->v[u];
		uint64_t h = name_hash(unit);
		char suffix[16];
		size_t n, at;

		if (!unit->alive)
			continue;
		for (i = h & (cap - 1); seen[i].hash != h; i = (i + 1) & (cap - 1))
			;
		if (seen[i].count < 2)
			continue;
		n = (size_t)snprintf(suffix, sizeof(suffix), ",%.*s", (int)strcspn(unit->key, " ") % 12,
		    unit->key);
		at = strlen(unit->name);
		if (at > sizeof(unit->name) - 1 - n)
			at = sizeof(unit->name) - 1 - n;
		memcpy(unit->name + at, suffix, n + 1);
	}
	free(seen);
	return 0;
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
read_intr(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	kstat_intr_t *ki;
	uint_t total;
	bool spurious = unit->parts == 1u << PART_ARCH &&
	    (strcmp(unit->name, "SPU") == 0 || strcmp(unit->name, "ERR") == 0 ||
	    strcmp(unit->name, "Err") == 0);

	if (total_of(lx, KS_IMG_INTERRUPTS, &lx->units[KS_SUB_INTR], &lx->interrupts_seq, unit,
	    &total) != 0)
		return -1;
	ki = ks_record_add(r, sizeof(*ki));
	if (ki != NULL)
		ki->intrs[spurious ? KSTAT_INTR_SPURIOUS : KSTAT_INTR_HARD] = total;
	return 0;
}

static const struct ks_part parts[] = {
	[PART_DEVICE] = { "@", "@", "controller", KSTAT_TYPE_INTR, sizeof(kstat_intr_t), NULL,
	    read_intr, NULL },
	[PART_ARCH] = { "@", "@", "interrupts", KSTAT_TYPE_INTR, sizeof(kstat_intr_t), NULL, read_intr,
	    NULL },
	{ .module = NULL },
};

static int
scan_interrupts(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_image *im = ks_linux_scan_image(lx, KS_IMG_INTERRUPTS);
	struct ks_text all, line, label, numbers, tail;
	char key[KS_UNIT_NAME];
	bool fresh;

	ks_units_begin(units);
	all = im != NULL ? ks_text_of(im->data, im->len) : ks_text_of("", 0);
	while (ks_text_line(&all, &line)) {
		struct ks_unit *unit;

		if (!take_line(&line, &label, &numbers, &tail)) {
			note_line(lx, im, &line);
			continue;
		}
		unit = ks_units_see(units, key, make_key(key, &label, &tail), 0, &fresh);
		if (unit == NULL)
			return -1;
		if (fresh)
			unit->parts = 1u << (isdigit((unsigned char)unit->key[0]) ? PART_DEVICE : PART_ARCH);
		remember(unit, im, &numbers);
	}
	if (im != NULL)
		lx->interrupts_seq = im->seq;
	if (ks_units_end(units) == 0)
		return 0;
	for (uint32_t i = 0; i < units->n; i++) {
		if (units->v[i].alive)
			set_names(&units->v[i]);
	}
	if (tell_apart(units) != 0) {
		errno = ENOMEM;
		return -1;
	}
	return 1;
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

const struct ks_subsystem ks_linux_intr = { parts, scan_interrupts, NULL, has_wanted };

/* --- softirqs -------------------------------------------------------------------------- */

static int
read_softirq(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	kstat_intr_t *ki;
	uint_t total;

	if (total_of(lx, KS_IMG_SOFTIRQS, &lx->units[KS_SUB_SOFTIRQ], &lx->softirqs_seq, unit,
	    &total) != 0)
		return -1;
	ki = ks_record_add(r, sizeof(*ki));
	if (ki != NULL)
		ki->intrs[KSTAT_INTR_SOFT] = total;
	return 0;
}

static const struct ks_part softirq_parts[] = {
	{ "softirq", "@", "interrupts", KSTAT_TYPE_INTR, sizeof(kstat_intr_t), NULL, read_softirq,
	    NULL },
	{ .module = NULL },
};

/* The kinds of softirqs are fixed in a kernel: one look is enough. */
static int
scan_softirqs(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_image *im;
	struct ks_text all, line, label, numbers, tail;
	char key[KS_UNIT_NAME];
	bool fresh;

	if (units->n > 0 && lx->root[KS_ROOT_PROC].kernel)
		return 0;
	im = ks_linux_scan_image(lx, KS_IMG_SOFTIRQS);
	ks_units_begin(units);
	all = im != NULL ? ks_text_of(im->data, im->len) : ks_text_of("", 0);
	while (ks_text_line(&all, &line)) {
		struct ks_unit *unit;

		if (!take_line(&line, &label, &numbers, &tail)) {
			note_line(lx, im, &line);
			continue;
		}
		unit = ks_units_see(units, key, make_key(key, &label, &tail), 0, &fresh);
		if (unit == NULL)
			return -1;
		if (fresh) {
			unit->parts = 1;
			ks_name_set(unit->name, sizeof(unit->name), label.p, ks_text_size(&label));
		}
		remember(unit, im, &numbers);
	}
	if (im != NULL)
		lx->softirqs_seq = im->seq;
	return ks_units_end(units);
}

const struct ks_subsystem ks_linux_softirq = { softirq_parts, scan_softirqs, NULL, NULL };
