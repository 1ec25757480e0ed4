/*
 * source.c - the Linux source: opening, scanning and reading over the table of subsystems.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/linux/listing.h"
#include "source/sources.h"

static const struct ks_file uevents = { KS_ROOT_SYS, "kernel/uevent_seqnum", KS_MADE_WHOLE, false };

/* --- scanning --------------------------------------------------------------- */

/*
 * True if no device came or went since the last call, by the kernel's count of the events that it sends to
 * udev. False if the count is not known. Without this a further sample of vmstat or iostat takes 20 % more
 * CPU time, because directories of /sys are listed (`bench/run tools`, `bench/run iostat`).
 */
static bool
is_settled(struct ks_linux *lx)
{
	const struct ks_image *im = lx->root[KS_ROOT_SYS].kernel ? ks_linux_try(lx, &uevents) : NULL;
	uint64_t before = lx->events;
	struct ks_text t;

	lx->events = 0;
	if (im == NULL)
		return false;
	t = ks_text_of(im->data, im->len);
	return ks_text_u64(&t, &lx->events) && lx->events == before && before != 0;
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

	if (!lx->listed)
		lx->for_program = scan->for_program;
	if (!lx->listed || scan->asks_more)
		ks_linux_choose(lx, scan);
	lx->scan = scan;
	lx->round++;
	lx->drivers.n = 0;
	lx->drivers.known = false;
	if (!lx->root[KS_ROOT_PROC].kernel)
		follow_tree_time(lx);
	/* The count is taken before anything is listed. For CPUs alone the file is not worth reading. */
	lx->settled = lx->counts_events && is_settled(lx);
	ks_linux_leave_out_absent(lx);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_subsystem *sub = ks_linux_subsystem(s);
		struct ks_units *units = &lx->sub[s].units;
		int rc;

		if (lx->sub[s].off || lx->sub[s].absent)
			continue;
		if (lx->settled && sub->has_changed != NULL && sub->has_changed(lx))
			lx->settled = false;
		if (sub->on_events && units->scanned && lx->settled && lx->root[KS_ROOT_PROC].kernel)
			continue;
		units->last = lx->looked;
		units->now = ks_linux_now(lx);
		rc = sub->scan != NULL ? sub->scan(lx, units) : sub->listing != NULL ?
		    ks_listing_scan(lx, units, sub->listing) : ks_linux_scan_files(lx, s);
		ks_linux_parsed(lx);
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
	return ks_linux_offer_all(lx, scan);
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
	*part = &ks_linux_subsystem(s)->parts[p];
	return &units->v[u];
}

/* Reads a kstat that is made of a text: see ks_part. */
static int
read_text(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r, size_t sub)
{
	const struct ks_part *part = lx->part;
	const struct ks_listing *listing = ks_linux_subsystem(sub)->listing;
	struct ks_values vals = { .have = 0 };
	struct ks_text text;

	lx->unit = unit;
	lx->texts = (struct ks_texts){ lx->text, sizeof(lx->text), 0 };
	lx->im = listing != NULL ? ks_listing_find(lx, &lx->sub[sub].units, listing, unit, &text) :
	    ks_linux_image(lx, part->file);
	if (lx->im == NULL)
		return -1;
	if (listing == NULL)
		text = ks_text_of(lx->im->data, lx->im->len);
	if (part->add != NULL)
		return part->add(lx, text, r);
	part->collect(lx, text, &vals);
	ks_fields_add(r, part->fields, &vals);
	return 0;
}

static int
linux_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	struct ks_unit *unit = unit_of(lx, cookie, &lx->part);
	const struct ks_shape *shape;
	uint64_t *served;
	bool is_own; /* all its names are those of its table */
	int rc;

	if (unit == NULL)
		return ks_fail(ENXIO, "%s:%d:%s is gone", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	served = &unit->served[cookie >> 32 & 0xffff];
	lx->reads = lx->sub[cookie >> 48].reads[cookie >> 32 & 0xffff];
	lx->unread = lx->sub[cookie >> 48].unread[cookie >> 32 & 0xffff];
	if (*served == lx->round)
		lx->round++;
	/* A program that reads only once would keep files in vain. */
	for (size_t i = 0; i < 2 && *served != 0; i++)
		lx->root[i].kept = lx->root[i].kernel ? &lx->kept : NULL;
	*served = lx->round;
	lx->taken = 0;
	rc = lx->part->read != NULL ? lx->part->read(lx, unit, r) : read_text(lx, unit, r, cookie >> 48);
	ks_linux_parsed(lx);
	if (rc != 0)
		return -1;
	if (lx->part->type == KSTAT_TYPE_NAMED) {
		is_own = lx->part->fields != NULL && lx->part->meta == NULL;
		shape = ks_linux_shape_of(lx, cookie >> 48, cookie >> 32 & 0xffff);
		if (shape == NULL)
			return ks_fail(ENOMEM, "out of memory");
		if (!is_own || shape->has_texts)
			ks_record_clean_texts(r, !is_own);
		/* Nobody but a program in C sees the rest of the shape. */
		if (lx->for_program)
			ks_shape_apply(shape, r, false);
		else if (shape->retypes)
			ks_shape_retype(shape, r);
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
	ks_linux_forget_troubles(src);
	free(lx->long_names.hash);
	free(lx->drivers.module);
	ks_table_free(&lx->long_names.by_hash);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		if (lx->sub[s].state != NULL && ks_linux_subsystem(s)->release != NULL)
			ks_linux_subsystem(s)->release(lx->sub[s].state);
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
	.trouble = ks_linux_trouble, .forget_trouble = ks_linux_forget_troubles,
	.now = linux_now,
	.meta = linux_meta,
	.owns = ks_linux_owns,
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
		if (ks_linux_subsystem(s)->state_size == 0)
			continue;
		lx->sub[s].state = calloc(1, ks_linux_subsystem(s)->state_size);
		if (lx->sub[s].state == NULL)
			return false;
		if (ks_linux_subsystem(s)->start != NULL)
			ks_linux_subsystem(s)->start(lx->sub[s].state);
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
		return ks_fail_null(err, "cannot open %s: %s%s", proc, strerror(err),
		    err == ENOENT || err == ENOTDIR ? " (it must be a directory like /proc)" : "");
	}
	/* Most kstats do not need /sys, but a directory that the caller named must exist. */
	if (open_root(&lx->root[KS_ROOT_SYS], sys != NULL ? sys : "/sys", SYSFS_MAGIC) != 0 &&
	    (lx->root[KS_ROOT_SYS].fd >= 0 || ks_is_lack(errno) || sys != NULL)) {
		int err = errno;

		linux_close(&lx->src);
		return ks_fail_null(err, "cannot open %s: %s%s", sys != NULL ? sys : "/sys", strerror(err),
		    err == ENOENT || err == ENOTDIR ? " (it must be a directory like /sys; an empty one does)" : "");
	}
	if (!lx->root[KS_ROOT_PROC].kernel && (page = tree_page(lx)) != 0)
		lx->page = page;
	return &lx->src;
}
