/*
 * wanted.c - which subsystems, and which parts of them, the caller of a scan and $KSTAT_WITH want.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/printable.h"
#include "model/origin.h"
#include "source/linux/linux.h"
#include "source/sources.h"

/* A part's module or name; NULL if it follows from the unit and can be any. */
static const char *
fixed(const char *pattern)
{
	return strpbrk(pattern, "@#") == NULL ? pattern : NULL;
}

/* True if some selector is about kstats of this name, and no other. */
static bool
is_selected_by_name(const struct ks_part *p, const struct ks_scan *scan)
{
	const char *module = fixed(p->module), *name = fixed(p->name);

	return name != NULL && ks_scan_wants(scan, module, p->class_, name) &&
	    !ks_scan_wants(scan, module, p->class_, "");
}

/* True unless the kind of a part has to be spelled out, and is not. */
static bool
is_spelled_out(const struct ks_part *p, const struct ks_scan *scan)
{
	const char *ending = p->name + strlen("@");

	if (!p->named || ks_scan_spells(scan, p->class_, *ending != '\0' ? ending : NULL, NULL))
		return true;
	if (*ending == '\0') /* it has a module of its own, and its statistics are those of others, too */
		return ks_scan_names(scan, p->module);
	for (const struct ks_field *f = p->fields; f->meta.stat != NULL; f++) {
		if (ks_scan_spells(scan, NULL, NULL, f->meta.stat))
			return true;
	}
	return false;
}

/* The parts that the caller of a scan may want; only_named: only those that it names. */
static uint16_t
wanted_parts(const struct ks_subsystem *sub, const struct ks_scan *scan, bool only_named)
{
	uint16_t wanted = 0;

	for (size_t i = 0; i < sub->nparts; i++) {
		const struct ks_part *p = &sub->parts[i];

		if (is_spelled_out(p, scan) && (only_named ? is_selected_by_name(p, scan) : sub->on_demand ?
		    ks_scan_asks_for(scan, fixed(p->module), p->class_, KS_ANY_INSTANCE, fixed(p->name)) :
		    ks_scan_wants(scan, fixed(p->module), p->class_, fixed(p->name))))
			wanted |= (uint16_t)(1u << i);
	}
	return wanted;
}

/* Marks the subsystem whose units a part needs. */
static void
mark_needed(bool needed[KS_SUB_COUNT], const struct ks_part *part)
{
	for (size_t s = 0; part->needs != NULL && s < KS_SUB_COUNT; s++)
		needed[s] |= part->needs == ks_linux_subsystem(s);
}

bool
ks_linux_has_module(const char *module)
{
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		for (size_t p = 0; p < ks_linux_subsystem(s)->nparts; p++) {
			const struct ks_part *part = &ks_linux_subsystem(s)->parts[p];

			/* What is added to a device, such as md:0:md0,array, has the module of its driver. */
			if (*part->module == *module && strcmp(part->module, module) == 0 &&
			    strncmp(part->name, "@,", 2) != 0)
				return true;
		}
	}
	return false;
}

/* True if the modules of the subsystem follow from the names of disks or interrupts. */
static bool
is_of_devices(const struct ks_subsystem *sub)
{
	return sub->has_wanted != NULL || (sub->parts[0].needs != NULL && sub->parts[0].needs->has_wanted != NULL);
}

/* True if modules of ZFS have this name: there is one for each pool. */
static bool
is_of_zfs(const char *module)
{
	return strncmp(module, "zfs", 3) == 0 && (module[3] == '\0' || module[3] == '/');
}

static bool
has_class(const char *class_)
{
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		for (size_t p = 0; p < ks_linux_subsystem(s)->nparts; p++) {
			if (strcmp(ks_linux_subsystem(s)->parts[p].class_, class_) == 0)
				return true;
		}
	}
	return false;
}

/* Classes of machines that illumos alone has, but reports about machines name. */
static const char *const classes_of_illumos[] = { "tape", "iopath", "zone_vfs", "zone_zfs", NULL };

bool
ks_source_linux_is_named(const char *module, const char *class_)
{
	if (module != NULL)
		return is_of_zfs(module) || ks_linux_has_module(module);
	return class_ != NULL && strcmp(class_, "misc") != 0 &&
	    (has_class(class_) || ks_is_among(classes_of_illumos, class_));
}

/* True if a text is what the name of a part stands for, '@' and '#' being anything. */
static bool
stands_for(const char *name, const char *text)
{
	size_t before = strcspn(name, "@#"), length = strlen(text), behind;

	if (name[before] == '\0')
		return strcmp(name, text) == 0;
	behind = strlen(name + before + strcspn(name + before, ",:;"));
	return length >= before + behind && strncmp(name, text, before) == 0 &&
	    strcmp(name + strlen(name) - behind, text + length - behind) == 0;
}

const struct ks_meta *
ks_source_linux_describe(const kstat_t *ksp, const char *stat, bool *stranger)
{
	const struct ks_meta *m = NULL;

	*stranger = true;
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_subsystem *sub = ks_linux_subsystem(s);

		for (size_t i = 0; i < sub->nparts && m == NULL; i++) {
			const struct ks_part *part = &sub->parts[i];

			if (part->type != ksp->ks_type || strcmp(part->class_, ksp->ks_class) != 0 ||
			    !stands_for(part->module, ksp->ks_module) || !stands_for(part->name, ksp->ks_name) ||
			    (*part->module == '@' && strcmp(part->class_, "misc") == 0)) /* that is everybody's class */
				continue;
			*stranger = false;
			m = part->fields != NULL ? ks_field_meta(part->fields, stat) : NULL;
			m = m == NULL && part->meta != NULL ? part->meta(stat) : m;
		}
	}
	return m;
}

/* A scan that wants nothing, and gathers the modules that it is asked about: those of devices. */
struct gathering {
	struct ks_scan base;
	struct ks_linux *lx;
};

static bool
gather(const struct ks_scan *scan, const char *module, const char *class_, const char *name)
{
	struct ks_linux *lx = ((const struct gathering *)scan)->lx;

	(void)class_;
	(void)name;
	for (size_t i = 0; i < lx->drivers.n; i++) {
		if (strcmp(lx->drivers.module[i], module) == 0)
			return false;
	}
	if (KS_RESERVE(lx->drivers.module, lx->drivers.cap, lx->drivers.n + 1))
		(void)snprintf(lx->drivers.module[lx->drivers.n++], KSTAT_STRLEN, "%s", module);
	return false;
}

/*
 * Gathers the modules of the machine's devices: of those that are listed, and by their names in /sys of the others,
 * which the bound of a chain leaves out. The former is enough for a recorded tree.
 */
static void
gather_drivers(struct ks_linux *lx)
{
	static const struct ks_scan_ops ops = { .wants = gather };
	struct gathering g = { .base = { .ops = &ops }, .lx = lx };
	struct ks_scan *scan = lx->scan;

	lx->scan = &g.base;
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_subsystem *sub = ks_linux_subsystem(s);
		const struct ks_units *units = &lx->sub[s].units;

		for (uint32_t i = 0; is_of_devices(sub) && i < units->n; i++)
			(void)gather(&g.base, units->v[i].module, NULL, NULL);
		if (sub->has_wanted != NULL && !units->scanned)
			(void)sub->has_wanted(lx);
	}
	lx->scan = scan;
	lx->drivers.known = true;
}

/* Names that fall together with the machine's are owned, too. Modules of Linux have small letters, digits and '_'. */
bool
ks_linux_owns(struct ks_source *src, const char *module)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	char name[KSTAT_STRLEN];

	(void)ks_alike(module, name, sizeof(name));
	if (ks_linux_has_module(name) || (strncmp(name, "zfs", 3) == 0 && (name[3] == '\0' || name[3] == '_')))
		return true;
	if (!lx->drivers.known)
		gather_drivers(lx);
	for (size_t i = 0; i < lx->drivers.n; i++) {
		if (ks_are_alike(lx->drivers.module[i], name))
			return true;
	}
	return false;
}

bool
ks_linux_is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	if (list == NULL)
		return false;
	for (;;) {
		size_t k = strcspn(list, ",");

		if ((k == n && strncmp(list, name, n) == 0) || (k == 3 && strncmp(list, "all", 3) == 0))
			return true;
		if (list[k] == '\0')
			return false;
		list += k + 1;
	}
}

/* The fields of a part that are not on a list. */
static uint64_t
fields_beside(const struct ks_field *fields, const char *list)
{
	uint64_t others = 0;

	for (size_t i = 0; list != NULL && fields != NULL && fields[i].meta.stat != NULL && i < KS_VALUES_MAX; i++)
		others |= (uint64_t)!ks_linux_is_listed(list, fields[i].meta.stat) << i;
	return others;
}

/*
 * Leaves out the subsystems of which the caller of the scan wants no kstat, and nobody else the units. Those that
 * look at every device beforehand are left out if only modules of the other subsystems are wanted.
 */
static void
leave_out_unwanted(struct ks_linux *lx, const struct ks_scan *scan)
{
	bool no_device = ks_scan_wants_only(scan, ks_linux_has_module);
	bool needed[KS_SUB_COUNT] = { false };

	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		if (!no_device || !is_of_devices(ks_linux_subsystem(s)))
			lx->sub[s].wanted = wanted_parts(ks_linux_subsystem(s), scan,
			    lx->sub[s].optional && !ks_linux_subsystem(s)->is_partly);
		if (ks_linux_subsystem(s)->for_program && !lx->for_program)
			lx->sub[s].wanted = 0;
		for (size_t p = 0; p < ks_linux_subsystem(s)->nparts; p++) {
			const struct ks_part *part = &ks_linux_subsystem(s)->parts[p];

			if ((lx->sub[s].wanted >> p & 1) == 0)
				continue;
			mark_needed(needed, part);
			lx->sub[s].reads[p] = ks_scan_reads(scan, fixed(part->module), part->class_, fixed(part->name));
			lx->sub[s].unread[p] = fields_beside(part->fields, lx->sub[s].reads[p]);
		}
	}
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		lx->sub[s].off = lx->sub[s].wanted == 0 && !needed[s];
		lx->counts_events |= !lx->sub[s].off && ks_linux_subsystem(s)->on_events;
	}
}

/* Marks the optional subsystems of the running machine that neither $KSTAT_WITH nor a module in a selector names. */
static void
mark_optional(struct ks_linux *lx, const struct ks_scan *scan)
{
	const char *with = getenv("KSTAT_WITH");

	if (!lx->root[KS_ROOT_PROC].kernel)
		return;
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const char *word = ks_linux_subsystem(s)->optional;

		lx->sub[s].optional = word != NULL && !ks_linux_is_listed(with, word) && !ks_scan_names(scan, word);
	}
}

#define ASK_AGAIN (10 * KS_NANOSEC) /* not every interrupt that comes is an event */

void
ks_linux_leave_out_absent(struct ks_linux *lx)
{
	hrtime_t now = gethrtime();
	/* Events are not counted if no subsystem that is looked at has any: then time alone decides. */
	bool quiet = lx->settled || !lx->counts_events;
	bool recent = lx->listed && quiet && now - lx->asked < ASK_AGAIN;

	for (size_t s = 0; s < KS_SUB_COUNT && !recent; s++) {
		bool (*has_wanted)(struct ks_linux *) = ks_linux_subsystem(s)->has_wanted;

		if (has_wanted == NULL || lx->sub[s].off || (lx->listed && !lx->sub[s].absent))
			continue;
		lx->asked = now;
		/* What matches no module at all matches any: there is no need to look. */
		lx->sub[s].absent = !ks_scan_wants(lx->scan, "", NULL, NULL) && !has_wanted(lx);
	}
}

/* Writes the words that $KSTAT_WITH may hold, each with a comma behind it. */
static const char *
list_words(char words[256])
{
	size_t n = 0;

	words[0] = '\0';
	for (size_t s = 0; s < KS_SUB_COUNT && n < 256; s++) {
		if (ks_linux_subsystem(s)->optional != NULL)
			n += (size_t)snprintf(words + n, 256 - n, "%s, ", ks_linux_subsystem(s)->optional);
	}
	return words;
}

/* Warns of the words of $KSTAT_WITH that no subsystem has. */
static void
warn_of_words(struct ks_scan *scan)
{
	const char *with = getenv("KSTAT_WITH");
	char words[256];

	for (size_t n; with != NULL && *with != '\0'; with += n + (with[n] == ',')) {
		bool known = false;

		n = strcspn(with, ",");
		known = n == 0 || (n == 3 && strncmp(with, "all", 3) == 0);
		for (size_t s = 0; s < KS_SUB_COUNT && !known; s++) {
			const char *word = ks_linux_subsystem(s)->optional;

			known = word != NULL && strlen(word) == n && strncmp(with, word, n) == 0;
		}
		if (!known)
			ks_scan_warn(scan, "KSTAT_WITH: there is no '%.*s', but: %sall", (int)n, with, list_words(words));
	}
}

void
ks_linux_choose(struct ks_linux *lx, struct ks_scan *scan)
{
	mark_optional(lx, scan);
	leave_out_unwanted(lx, scan);
	if (!lx->listed)
		warn_of_words(scan);
}
