/*
 * linux.c - the Linux source: opening, scanning and reading over a table of subsystems.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/printable.h"
#include "model/illumos.h"

#define SUBSYSTEM_POINTER(name) &ks_linux_##name,
static const struct ks_subsystem *const subsystems[KS_SUB_COUNT] = { KS_SUBSYSTEMS(SUBSYSTEM_POINTER) };

static const struct ks_file uevents = { KS_ROOT_SYS, "kernel/uevent_seqnum", KS_MADE_WHOLE, false };

const struct ks_subsystem *
ks_linux_subsystem(size_t sub)
{
	return subsystems[sub];
}

bool
ks_linux_is_header(const char *stat)
{
	return strcmp(stat, "crtime") == 0 || strcmp(stat, "snaptime") == 0 ||
	    strcmp(stat, "class") == 0;
}

int
ks_linux_gone(const struct ks_unit *unit)
{
	return ks_fail(ENXIO, "%s is gone", unit->name[0] != '\0' ? unit->name : unit->key);
}

/* --- scanning --------------------------------------------------------------- */

/*
 * Writes the module or the name of a kstat, fit to be printed. Returns true if this was cut or cleaned, so that the
 * name of another device may have become the same.
 */
static bool
expand(char to[KSTAT_STRLEN], const char *pattern, const char *at, int instance)
{
	char number[16] = "";
	size_t n = 0;

	if (strchr(pattern, '#') != NULL)
		(void)snprintf(number, sizeof(number), "%d", instance);
	for (; *pattern != '\0'; pattern++) {
		const char one[2] = { *pattern, '\0' };
		const char *s = *pattern == '@' ? at : *pattern == '#' ? number : one;

		while (*s != '\0' && n < KSTAT_STRLEN - 1)
			to[n++] = *s++;
	}
	to[n] = '\0';
	if (ks_is_printable(to, n))
		return n == KSTAT_STRLEN - 1;
	ks_clean_text(to, n);
	return true;
}

static bool
is_hash(const void *hashes, uint32_t slot, const void *hash)
{
	return ((const uint64_t *)hashes)[slot] == *(const uint64_t *)hash;
}

/*
 * Names may be cut or cleaned ones. One that an earlier such kstat of this scan has is made distinct by a hash of
 * what names its device. Returns 0, or -1 without memory.
 */
static int
make_distinct(struct ks_linux *lx, const char *module, int instance, char name[KSTAT_STRLEN],
    const struct ks_part *part, const struct ks_unit *unit)
{
	struct ks_long_names *l = &lx->long_names;
	uint64_t hash = ks_hash_string(ks_hash_string(KS_HASH_INIT, module), name) + (uint64_t)instance;

	if (ks_table_find(&l->by_hash, hash, is_hash, l->hash, &hash) != KS_NO_SLOT) {
		hash = ks_hash_string(ks_hash_string(KS_HASH_INIT, unit->key), part->name);
		(void)snprintf(name + strnlen(name, KSTAT_STRLEN - 10), 10, "~%08x", (unsigned)(hash ^ hash >> 32));
		return 0;
	}
	if (!KS_RESERVE(l->hash, l->cap, l->n + 1) || !ks_table_add(&l->by_hash, hash, (uint32_t)l->n))
		return ks_fail(ENOMEM, "out of memory");
	l->hash[l->n++] = hash;
	return 0;
}

/*
 * Returns the shape of the kstats of a part: the statistics of illumos in its order, then those of the part's table.
 * NULL without memory.
 */
static const struct ks_shape *
shape_of(struct ks_linux *lx, size_t sub, size_t p)
{
	const struct ks_part *part = &subsystems[sub]->parts[p];
	struct ks_shape *shape = &lx->sub[sub].shape[p];
	const char *list;
	size_t listed;
	bool made = true;

	if (shape->n > 0 || part->type != KSTAT_TYPE_NAMED)
		return shape;
	list = ks_illumos_stats(part->module, part->name, part->class_);
	if (list != NULL)
		made = ks_shape_add_list(shape, list);
	listed = shape->n;
	for (const struct ks_field *f = part->fields; made && f != NULL && f->meta.stat != NULL; f++)
		made = ks_shape_add(shape, listed, f->meta.stat, strlen(f->meta.stat), f->data);
	if (made)
		return shape;
	ks_shape_free(shape);
	return NULL;
}

#define STRING_ROOM 128 /* bytes of each text on the average; see also ks_unit.long_texts */

/* What the headers of all kstats of a part have in common. */
struct template {
	uchar_t flags;
	uint_t ndata;
	size_t size;
};

/*
 * The size of NAMED kstats whose files name the statistics is not known before a read. Strings that are not in the
 * shape are noticed then, too.
 */
static struct template
template_of(const struct ks_part *part, const struct ks_shape *shape)
{
	struct template t = { .ndata = 1, .size = part->size };

	if (part->type == KSTAT_TYPE_RAW)
		t.ndata = (uint_t)part->size;
	if (part->type != KSTAT_TYPE_NAMED)
		return t;
	t = (struct template){ .flags = shape->nstrings > 0 ? KSTAT_FLAG_LONGSTRINGS : 0, .ndata = (uint_t)shape->n,
		.size = shape->n * sizeof(kstat_named_t) + shape->nstrings * STRING_ROOM };
	if (part->fields == NULL || part->meta != NULL)
		t = (struct template){ .flags = (uchar_t)(t.flags | KSTAT_FLAG_VAR_SIZE) };
	return t;
}

static int
offer(struct ks_linux *lx, struct ks_scan *scan, const struct ks_part *part, const struct template *t,
    const struct ks_unit *unit, uint64_t cookie)
{
	char module[KSTAT_STRLEN], name[KSTAT_STRLEN];

	(void)expand(module, part->module, unit->module, unit->instance);
	if (expand(name, part->name, unit->name, unit->instance) &&
	    make_distinct(lx, module, unit->instance, name, part, unit) != 0)
		return -1;
	return ks_scan_offer(scan, &(struct ks_offer){
	    .module = module,
	    .instance = unit->instance,
	    .name = name,
	    .class_ = part->class_,
	    .type = part->type,
	    .flags = t->flags,
	    .crtime = unit->crtime,
	    .ndata = t->ndata,
	    .data_size = t->size > 0 && (t->flags & KSTAT_FLAG_LONGSTRINGS) != 0 ? t->size + unit->long_texts : t->size,
	    .cookie = cookie,
	});
}

/* A cookie is the subsystem, the part and the unit's slot. */
static uint64_t
cookie_of(size_t sub, size_t part, size_t slot)
{
	return (uint64_t)sub << 48 | (uint64_t)part << 32 | slot;
}

int
ks_linux_scan_files(struct ks_linux *lx, size_t id)
{
	const struct ks_subsystem *sub = subsystems[id];
	struct ks_units *units = &lx->sub[id].units;
	uint16_t wanted = lx->sub[id].wanted;
	const struct ks_file *last = NULL;
	struct ks_unit *unit;
	bool is_new, exists = true;

	if (units->scanned)
		return 0;
	ks_units_begin(units);
	unit = ks_units_see(units, sub->parts[0].module, strlen(sub->parts[0].module), 0, &is_new);
	if (unit == NULL)
		return -1;
	for (size_t i = 0; i < sub->nparts; i++) {
		const struct ks_file *file = sub->parts[i].file;

		if ((wanted >> i & 1) == 0)
			continue;
		if (file != last)
			exists = file == NULL || ks_linux_exists(lx, file->root, file->path);
		last = file;
		unit->parts |= (uint16_t)(exists << i);
	}
	return ks_units_end(units);
}

static int
offer_all(struct ks_linux *lx, struct ks_scan *scan)
{
	lx->long_names.n = 0;
	ks_table_clear(&lx->long_names.by_hash);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_subsystem *sub = subsystems[s];
		const struct ks_units *units = &lx->sub[s].units;
		struct template t[KS_UNIT_PARTS];

		for (size_t p = 0; units->n > 0 && p < sub->nparts; p++) {
			const struct ks_shape *shape = shape_of(lx, s, p);

			if (shape == NULL)
				return ks_fail(ENOMEM, "out of memory");
			t[p] = template_of(&sub->parts[p], shape);
		}
		for (size_t u = 0; u < units->n; u++) {
			for (size_t p = 0; units->v[u].alive && p < sub->nparts; p++) {
				if (((units->v[u].parts & lx->sub[s].wanted) >> p & 1) != 0 &&
				    offer(lx, scan, &sub->parts[p], &t[p], &units->v[u], cookie_of(s, p, u)) != 0)
					return -1;
			}
		}
	}
	return 1;
}

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

/* The parts that the caller of a scan may want; only_named: only those that it names. */
static uint16_t
wanted_parts(const struct ks_subsystem *sub, const struct ks_scan *scan, bool only_named)
{
	uint16_t wanted = 0;

	for (size_t i = 0; i < sub->nparts; i++) {
		const struct ks_part *p = &sub->parts[i];

		if (only_named ? is_selected_by_name(p, scan) : sub->on_demand ?
		    ks_scan_asks_for(scan, fixed(p->module), p->class_, KS_ANY_INSTANCE, fixed(p->name)) :
		    ks_scan_wants(scan, fixed(p->module), p->class_, fixed(p->name)))
			wanted |= (uint16_t)(1u << i);
	}
	return wanted;
}

/* Marks the subsystem whose units a part needs. */
static void
mark_needed(bool needed[KS_SUB_COUNT], const struct ks_part *part)
{
	for (size_t s = 0; part->needs != NULL && s < KS_SUB_COUNT; s++)
		needed[s] |= part->needs == subsystems[s];
}

bool
ks_linux_has_module(const char *module)
{
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		for (size_t p = 0; p < subsystems[s]->nparts; p++) {
			const struct ks_part *part = &subsystems[s]->parts[p];

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
		if (!no_device || !is_of_devices(subsystems[s]))
			lx->sub[s].wanted = wanted_parts(subsystems[s], scan,
			    lx->sub[s].optional && !subsystems[s]->is_partly);
		if (subsystems[s]->for_program && !lx->for_program)
			lx->sub[s].wanted = 0;
		for (size_t p = 0; p < subsystems[s]->nparts; p++) {
			if ((lx->sub[s].wanted >> p & 1) != 0)
				mark_needed(needed, &subsystems[s]->parts[p]);
		}
	}
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		lx->sub[s].off |= lx->sub[s].wanted == 0 && !needed[s];
		lx->counts_events |= !lx->sub[s].off && subsystems[s]->on_events;
	}
}

/* True if a list such as "slab,cgroup" or "all" names the thing. */
static bool
is_named(const char *list, const char *name)
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

/* Marks the optional subsystems of the running machine that neither $KSTAT_WITH nor a module in a selector names. */
static void
mark_optional(struct ks_linux *lx, const struct ks_scan *scan)
{
	const char *with = getenv("KSTAT_WITH");

	if (!lx->root[KS_ROOT_PROC].kernel)
		return;
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const char *word = subsystems[s]->optional;

		if (word != NULL && !is_named(with, word) && !ks_scan_names(scan, word))
			lx->sub[s].optional = true;
	}
}

#define ASK_AGAIN (10 * KS_NANOSEC) /* not every interrupt that comes is an event */

/* Finds out which subsystems have no device that is wanted; once more when one may have come. */
static void
leave_out_absent(struct ks_linux *lx)
{
	hrtime_t now = gethrtime();
	/* Events are not counted if no subsystem that is looked at has any: then time alone decides. */
	bool quiet = lx->settled || !lx->counts_events;
	bool recent = lx->listed && quiet && now - lx->asked < ASK_AGAIN;

	for (size_t s = 0; s < KS_SUB_COUNT && !recent; s++) {
		bool (*has_wanted)(struct ks_linux *) = subsystems[s]->has_wanted;

		if (has_wanted == NULL || lx->sub[s].off || (lx->listed && !lx->sub[s].absent))
			continue;
		lx->asked = now;
		/* What matches no module at all matches any: there is no need to look. */
		lx->sub[s].absent = !ks_scan_wants(lx->scan, "", NULL, NULL) && !has_wanted(lx);
	}
}

bool
ks_linux_any_entry(struct ks_linux *lx, enum ks_root root, const char *path,
    bool (*is_meant)(struct ks_linux *lx, const char *name))
{
	int fd = lx->root[root].kernel && lx->root[KS_ROOT_PROC].kernel ?
	    openat(lx->root[root].fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	bool found = dir == NULL;

	if (dir == NULL && fd >= 0)
		(void)close(fd);
	while (!found && (e = ks_linux_next_entry(lx, dir)) != NULL)
		found = e->d_name[0] != '.' && is_meant(lx, e->d_name);
	if (dir != NULL)
		(void)closedir(dir);
	return found;
}

/*
 * True if no device came or went since the last call, by the kernel's count of the events that it sends to
 * udev. False if the count is not known. Without this a further sample of vmstat or iostat takes 20 % more
 * CPU time, because directories of /sys are listed (`bench/run tools`, `bench/run iostat`).
 */
static bool
is_settled(struct ks_linux *lx)
{
	const struct ks_image *im = lx->root[KS_ROOT_SYS].kernel ?
	    ks_linux_try(lx, &uevents) : NULL;
	uint64_t before = lx->events;
	struct ks_text t;

	lx->events = 0;
	if (im == NULL)
		return false;
	t = ks_text_of(im->data, im->len);
	return ks_text_u64(&t, &lx->events) && lx->events == before && before != 0;
}

/* Writes the words that $KSTAT_WITH may hold, each with a comma behind it. */
static const char *
list_words(char words[256])
{
	size_t n = 0;

	words[0] = '\0';
	for (size_t s = 0; s < KS_SUB_COUNT && n < 256; s++) {
		if (subsystems[s]->optional != NULL)
			n += (size_t)snprintf(words + n, 256 - n, "%s, ", subsystems[s]->optional);
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
			const char *word = subsystems[s]->optional;

			known = word != NULL && strlen(word) == n && strncmp(with, word, n) == 0;
		}
		if (!known)
			ks_scan_warn(scan, "KSTAT_WITH: there is no '%.*s', but: %sall", (int)n, with, list_words(words));
	}
}

hrtime_t
ks_linux_now(const struct ks_linux *lx)
{
	return lx->tree.now != 0 ? lx->tree.now : gethrtime();
}

/*
 * Finds out the time of a recorded tree. It runs on as this machine's clock does while the uptime stands still or
 * falls, and advances by each step of the uptime. It never goes backwards.
 */
static void
follow_tree_time(struct ks_linux *lx)
{
	char text[64];
	struct ks_text t;
	uint64_t centiseconds;
	hrtime_t uptime, real = gethrtime();
	int n = ks_file_small(&lx->root[KS_ROOT_PROC], "uptime", text, sizeof(text));

	t = ks_text_of(text, n > 0 ? (size_t)n : 0);
	if (!ks_text_fixed(&t, 2, &centiseconds) || centiseconds == 0 ||
	    centiseconds > INT64_MAX / 2 / (KS_NANOSEC / 100))
		return;
	uptime = (hrtime_t)centiseconds * (KS_NANOSEC / 100);
	lx->tree.now += uptime > lx->tree.uptime ? uptime - lx->tree.uptime : real - lx->tree.real;
	lx->tree.uptime = uptime;
	lx->tree.real = real;
}

static hrtime_t
linux_now(struct ks_source *src)
{
	return ks_linux_now((struct ks_linux *)src);
}

static int
linux_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	int changed = !lx->listed;
	const char *line;
	bool is_lack;

	if (!lx->listed) {
		lx->for_program = scan->for_program;
		mark_optional(lx, scan);
		leave_out_unwanted(lx, scan);
		warn_of_words(scan);
	}
	lx->scan = scan;
	lx->round++;
	if (!lx->root[KS_ROOT_PROC].kernel)
		follow_tree_time(lx);
	/* The count is taken before anything is listed. For CPUs alone the file is not worth reading. */
	lx->settled = lx->counts_events && is_settled(lx);
	leave_out_absent(lx);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		struct ks_units *units = &lx->sub[s].units;
		int rc;

		if (lx->sub[s].off || lx->sub[s].absent)
			continue;
		units->last = lx->looked;
		units->now = ks_linux_now(lx);
		rc = subsystems[s]->scan != NULL ? subsystems[s]->scan(lx, units) :
		    ks_linux_scan_files(lx, s);
		if (rc < 0)
			return ks_fail(ENOMEM, "out of memory");
		changed |= rc;
	}
	lx->looked = ks_linux_now(lx);
	ks_kept_scan(&lx->kept, changed);
	while ((line = ks_linux_trouble(src, &is_lack)) != NULL)
		(is_lack ? ks_scan_damage : ks_scan_warn)(scan, "%s", line);
	if (!changed)
		return 0;
	lx->listed = true;
	return offer_all(lx, scan);
}

/* --- reading ---------------------------------------------------------------- */

/* The unit and part of a cookie; NULL with errno ENXIO if the unit is gone. */
static struct ks_unit *
unit_of(struct ks_linux *lx, uint64_t cookie, const struct ks_part **part)
{
	size_t s = cookie >> 48, p = cookie >> 32 & 0xffff, u = cookie & 0xffffffff;

	const struct ks_units *units = &lx->sub[s < KS_SUB_COUNT ? s : 0].units;

	if (s >= KS_SUB_COUNT || u >= units->n || !units->v[u].alive || p >= KS_UNIT_PARTS ||
	    (units->v[u].parts >> p & 1) == 0)
		return NULL;
	*part = &subsystems[s]->parts[p];
	return &units->v[u];
}

static int
linux_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	struct ks_unit *unit = unit_of(lx, cookie, &lx->part);
	const struct ks_shape *shape;
	uint64_t *served;

	if (unit == NULL)
		return ks_fail(ENXIO, "%s:%d:%s is gone", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	served = &unit->served[cookie >> 32 & 0xffff];
	if (*served == lx->round)
		lx->round++;
	/* A program that reads only once would keep files in vain. */
	for (size_t i = 0; i < 2 && *served != 0; i++)
		lx->root[i].kept = lx->root[i].kernel ? &lx->kept : NULL;
	*served = lx->round;
	lx->taken = 0;
	if (lx->part->read(lx, unit, r) != 0)
		return -1;
	if (lx->part->type == KSTAT_TYPE_NAMED) {
		ks_record_clean_texts(r);
		shape = shape_of(lx, cookie >> 48, cookie >> 32 & 0xffff);
		if (shape == NULL)
			return ks_fail(ENOMEM, "out of memory");
		ks_shape_apply(shape, r, false);
	}
	r->snaptime = lx->taken != 0 && lx->tree.now == 0 ? lx->taken : ks_linux_now(lx);
	if (lx->looked < r->snaptime)
		lx->looked = r->snaptime;
	return 0;
}

static const struct ks_meta *
linux_meta(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, const char *stat)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	const struct ks_part *part;
	const struct ks_meta *m = NULL;

	(void)ksp;
	if (unit_of(lx, cookie, &part) == NULL)
		return NULL;
	if (part->fields != NULL)
		m = ks_field_meta(part->fields, stat);
	if (m == NULL && part->meta != NULL)
		m = part->meta(stat);
	return m != NULL || !ks_shape_has(&lx->sub[cookie >> 48].shape[cookie >> 32 & 0xffff], stat) ? m :
	    &ks_meta_not_counted;
}

/* --- opening and closing ------------------------------------------------------ */

static void
free_images(struct ks_linux *lx)
{
	while (lx->images != NULL) {
		struct ks_image *im = lx->images;

		lx->images = im->next;
		ks_image_free(im);
		free(im);
	}
	ks_image_free(&lx->scratch);
}

static void
linux_close(struct ks_source *src)
{
	struct ks_linux *lx = (struct ks_linux *)src;

	free_images(lx);
	ks_kept_free(&lx->kept);
	ks_linux_forget_troubles(lx);
	free(lx->long_names.hash);
	ks_table_free(&lx->long_names.by_hash);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		if (lx->sub[s].state != NULL && subsystems[s]->release != NULL)
			subsystems[s]->release(lx->sub[s].state);
		free(lx->sub[s].state);
		for (size_t p = 0; p < KS_UNIT_PARTS; p++)
			ks_shape_free(&lx->sub[s].shape[p]);
		ks_units_free(&lx->sub[s].units);
	}
	for (size_t i = 0; i < 2; i++) {
		if (lx->root[i].fd >= 0)
			(void)close(lx->root[i].fd);
		free(lx->root[i].name);
	}
	free(lx);
}

/*
 * Finds out the size of a page of a recorded tree, which may be of another machine: the same amount of memory is
 * in KiB in one file and in pages in another. 0 if it is not known.
 */
static uint64_t
tree_page(struct ks_linux *lx)
{
	const struct ks_dir *proc = &lx->root[KS_ROOT_PROC];
	char meminfo[4096], vmstat[4096];
	const char *kib, *pages;
	double ratio;

	if (ks_file_small(proc, "meminfo", meminfo, sizeof(meminfo)) <= 0 ||
	    ks_file_small(proc, "vmstat", vmstat, sizeof(vmstat)) <= 0)
		return 0;
	kib = strstr(meminfo, "MemFree:");
	pages = strstr(vmstat, "nr_free_pages ");
	if (kib == NULL || pages == NULL)
		return 0;
	ratio = strtod(kib + strlen("MemFree:"), NULL) / strtod(pages + strlen("nr_free_pages "), NULL);
	for (unsigned size = 4; size <= 64; size *= 2) {
		if (ratio > 0.9 * size && ratio < 1.1 * size)
			return (uint64_t)size * 1024;
	}
	return 0;
}

static const struct ks_source_ops linux_ops = {
	.name = "linux",
	.scan = linux_scan,
	.read = linux_read,
	.trouble = ks_linux_trouble,
	.now = linux_now,
	.meta = linux_meta,
	.close = linux_close,
};

static int
open_root(struct ks_dir *f, const char *name, long magic)
{
	struct statfs fs;

	f->name = strdup(name);
	if (f->name == NULL)
		return ks_fail(ENOMEM, "out of memory");
	f->fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		return -1;
	if (fstatfs(f->fd, &fs) != 0)
		return -1;
	f->kernel = (long)fs.f_type == magic;
	return 0;
}

/* Allocates the states of the subsystems; false without memory. */
static bool
start_subsystems(struct ks_linux *lx)
{
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		if (subsystems[s]->state_size == 0)
			continue;
		lx->sub[s].state = calloc(1, subsystems[s]->state_size);
		if (lx->sub[s].state == NULL)
			return false;
		if (subsystems[s]->start != NULL)
			subsystems[s]->start(lx->sub[s].state);
	}
	return true;
}

struct ks_source *
ks_source_linux_open(const char *proc, const char *sys)
{
	struct ks_linux *lx = calloc(1, sizeof(*lx));
	uint64_t page;

	if (lx == NULL)
		return ks_fail_null(ENOMEM, "out of memory");
	lx->src.ops = &linux_ops;
	lx->root[KS_ROOT_PROC].fd = lx->root[KS_ROOT_SYS].fd = lx->scratch.fd = -1;
	lx->root[KS_ROOT_PROC].lack = lx->root[KS_ROOT_SYS].lack = &lx->lack;
	lx->page = (uint64_t)sysconf(_SC_PAGESIZE);
	ks_kept_start(&lx->kept);
	lx->root[KS_ROOT_PROC].few_files = lx->root[KS_ROOT_SYS].few_files = ks_kept_none();
	if (!start_subsystems(lx)) {
		linux_close(&lx->src);
		return ks_fail_null(ENOMEM, "out of memory");
	}
	proc = proc != NULL ? proc : "/proc";
	if (open_root(&lx->root[KS_ROOT_PROC], proc, PROC_SUPER_MAGIC) != 0) {
		int err = errno;

		linux_close(&lx->src);
		return ks_fail_null(err, "cannot open %s: %s (it must be a directory like /proc)", proc,
		    strerror(err));
	}
	/* Most kstats do not need /sys, but a directory that the caller named must exist. */
	if (open_root(&lx->root[KS_ROOT_SYS], sys != NULL ? sys : "/sys", SYSFS_MAGIC) != 0 &&
	    (lx->root[KS_ROOT_SYS].fd >= 0 || ks_is_lack(errno) || sys != NULL)) {
		int err = errno;

		linux_close(&lx->src);
		return ks_fail_null(err, "cannot open %s: %s (it must be a directory like /sys; an empty "
		    "one does)", sys != NULL ? sys : "/sys", strerror(err));
	}
	if (!lx->root[KS_ROOT_PROC].kernel && (page = tree_page(lx)) != 0)
		lx->page = page;
	return &lx->src;
}
