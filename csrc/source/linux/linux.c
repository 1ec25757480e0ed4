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
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/linux/disk_device.h"

/*
 * A file that was read this long ago (ns) is read again, even for a kstat it has not served
 * yet: what is read must be what is true now. A file that takes long to read may be older, in
 * proportion, so that reading it again never becomes most of the work.
 */
#define MAX_AGE 20000000
#define MAX_AGE_OF_READING 16

static const struct ks_subsystem *const subsystems[KS_SUB_COUNT] = {
	[KS_SUB_UNIX] = &ks_linux_unix,
	[KS_SUB_CPU] = &ks_linux_cpu,
	[KS_SUB_DISK] = &ks_linux_disk,
	[KS_SUB_DEVICE] = &ks_linux_device,
	[KS_SUB_LINK] = &ks_linux_link,
	[KS_SUB_INTR] = &ks_linux_intr,
	[KS_SUB_SOFTIRQ] = &ks_linux_softirq,
	[KS_SUB_MIB] = &ks_linux_mib,
	[KS_SUB_SPL] = &ks_linux_spl,
	[KS_SUB_PRESSURE] = &ks_linux_pressure,
	[KS_SUB_SLAB] = &ks_linux_slab,
	[KS_SUB_HWMON] = &ks_linux_hwmon,
	[KS_SUB_CGROUP] = &ks_linux_cgroup,
};

static const struct {
	enum ks_root root;
	const char *path;
	enum ks_made made;
} files[KS_IMG_COUNT] = {
	[KS_IMG_STAT] = { KS_ROOT_PROC, "stat", KS_MADE_WHOLE },
	[KS_IMG_INTERRUPTS] = { KS_ROOT_PROC, "interrupts", KS_MADE_BY_CPU },
	[KS_IMG_SOFTIRQS] = { KS_ROOT_PROC, "softirqs", KS_MADE_WHOLE },
	[KS_IMG_SCHEDSTAT] = { KS_ROOT_PROC, "schedstat" },
	[KS_IMG_CPUINFO] = { KS_ROOT_PROC, "cpuinfo" },
	[KS_IMG_LOADAVG] = { KS_ROOT_PROC, "loadavg", KS_MADE_WHOLE },
	[KS_IMG_UPTIME] = { KS_ROOT_PROC, "uptime", KS_MADE_WHOLE },
	[KS_IMG_MEMINFO] = { KS_ROOT_PROC, "meminfo", KS_MADE_WHOLE },
	[KS_IMG_VMSTAT] = { KS_ROOT_PROC, "vmstat", KS_MADE_BRIEFLY },
	[KS_IMG_ZONEINFO] = { KS_ROOT_PROC, "zoneinfo" },
	[KS_IMG_DISKSTATS] = { KS_ROOT_PROC, "diskstats", KS_MADE_BRIEFLY },
	[KS_IMG_NETDEV] = { KS_ROOT_PROC, "net/dev", KS_MADE_BRIEFLY },
	[KS_IMG_SLABINFO] = { KS_ROOT_PROC, "slabinfo" },
	[KS_IMG_SNMP] = { KS_ROOT_PROC, "net/snmp", KS_MADE_WHOLE },
	[KS_IMG_NETSTAT] = { KS_ROOT_PROC, "net/netstat", KS_MADE_WHOLE },
	[KS_IMG_PSI_CPU] = { KS_ROOT_PROC, "pressure/cpu", KS_MADE_WHOLE },
	[KS_IMG_PSI_IO] = { KS_ROOT_PROC, "pressure/io", KS_MADE_WHOLE },
	[KS_IMG_PSI_MEMORY] = { KS_ROOT_PROC, "pressure/memory", KS_MADE_WHOLE },
	[KS_IMG_PSI_IRQ] = { KS_ROOT_PROC, "pressure/irq", KS_MADE_WHOLE },
	[KS_IMG_UEVENTS] = { KS_ROOT_SYS, "kernel/uevent_seqnum", KS_MADE_WHOLE },
	[KS_IMG_CPU_ONLINE] = { KS_ROOT_SYS, "devices/system/cpu/online", KS_MADE_WHOLE },
	[KS_IMG_MOUNTINFO] = { KS_ROOT_PROC, "self/mountinfo" },
};

/* --- files ------------------------------------------------------------------ */

/* enough: how many bytes of it the caller needs, if it has them. */
static int
fetch(struct ks_linux *lx, struct ks_image *im, size_t enough)
{
	if (im->round != lx->round ||
	    gethrtime() - im->taken > MAX_AGE + MAX_AGE_OF_READING * im->took) {
		im->round = lx->round;
		(void)ks_image_read(im, &lx->root[im->root], enough);
	} else if (im->err == 0 && !im->whole && im->len < enough) {
		(void)ks_image_rest(im, &lx->root[im->root]);
	}
	if (im->err == 0 && (lx->taken == 0 || im->taken < lx->taken))
		lx->taken = im->taken;
	return im->err;
}

int
ks_linux_fetch(struct ks_linux *lx, struct ks_image *im)
{
	return fetch(lx, im, SIZE_MAX);
}

static const struct ks_image *
try(struct ks_linux *lx, enum ks_image_id id, size_t enough)
{
	struct ks_image *im = &lx->image[id];
	uint64_t seq = im->seq;
	int err = fetch(lx, im, enough);

	if (im->seq != seq)
		ks_linux_note_image(lx, id);
	if (err != 0) {
		errno = err;
		return NULL;
	}
	return im;
}

const struct ks_image *
ks_linux_try(struct ks_linux *lx, enum ks_image_id id)
{
	return try(lx, id, SIZE_MAX);
}

const struct ks_image *
ks_linux_begin(struct ks_linux *lx, enum ks_image_id id, size_t enough)
{
	const struct ks_image *im = try(lx, id, enough);
	int err = errno;

	if (im == NULL)
		return ks_fail_null(err, "cannot read %s/%s: %s%s", lx->root[files[id].root].name,
		    files[id].path, strerror(err), ks_linux_remedy(err));
	return im;
}

const struct ks_image *
ks_linux_image(struct ks_linux *lx, enum ks_image_id id)
{
	return ks_linux_begin(lx, id, SIZE_MAX);
}

const struct ks_image *
ks_linux_scan_image(struct ks_linux *lx, enum ks_image_id id)
{
	const struct ks_image *im = ks_linux_try(lx, id);
	int err = errno;

	if (im == NULL)
		ks_linux_note_scan(lx, id, err);
	return im;
}

bool
ks_linux_number(struct ks_linux *lx, enum ks_root root, const char *path, uint64_t *v)
{
	bool known = ks_file_u64(&lx->root[root], path, v) == 0;

	ks_linux_note_path(lx, root, path, known || errno == EINVAL ? 0 : errno);
	return known;
}

void
ks_linux_check_directory(struct ks_linux *lx, enum ks_root root, const char *path)
{
	/* With flags it is a system call of its own, which old containers do not let through. */
	int flags = geteuid() != getuid() || getegid() != getgid() ? AT_EACCESS : 0;

	if (lx->root[root].fd >= 0)
		ks_linux_note_path(lx, root, path,
		    faccessat(lx->root[root].fd, path, R_OK | X_OK, flags) == 0 ? 0 : errno);
}

bool
ks_linux_exists(const struct ks_linux *lx, enum ks_root root, const char *path)
{
	return lx->root[root].fd >= 0 && faccessat(lx->root[root].fd, path, F_OK, 0) == 0;
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

/* Writes a part's module or name for a unit, cut to the room there is. */
static void
expand(char to[KSTAT_STRLEN], const char *pattern, const char *at, int instance)
{
	char number[16];
	size_t n = 0;

	(void)snprintf(number, sizeof(number), "%d", instance);
	for (; *pattern != '\0'; pattern++) {
		const char one[2] = { *pattern, '\0' };
		const char *s = *pattern == '@' ? at : *pattern == '#' ? number : one;

		while (*s != '\0' && n < KSTAT_STRLEN - 1)
			to[n++] = *s++;
	}
	to[n] = '\0';
}

/* What is the same of all kstats of a part; strings that no table declares are seen when one is read. */
static uchar_t
flags_of(const struct ks_part *part)
{
	uchar_t flags = part->type == KSTAT_TYPE_NAMED ? KSTAT_FLAG_VAR_SIZE : 0;

	for (const struct ks_field *f = part->fields; f != NULL && f->meta.stat != NULL; f++) {
		if (f->data == KSTAT_DATA_STRING)
			flags |= KSTAT_FLAG_LONGSTRINGS;
	}
	return flags;
}

static int
offer(struct ks_scan *scan, const struct ks_part *part, uchar_t flags, const struct ks_unit *unit,
    uint64_t cookie)
{
	char module[KSTAT_STRLEN], name[KSTAT_STRLEN];

	expand(module, part->module, unit->module, unit->instance);
	expand(name, part->name, unit->name, unit->instance);
	return ks_scan_offer(scan, &(struct ks_offer){
	    .module = module,
	    .instance = unit->instance,
	    .name = name,
	    .class_ = part->class_,
	    .type = part->type,
	    .flags = flags,
	    .crtime = unit->crtime,
	    .ndata = part->type == KSTAT_TYPE_NAMED ? 0 : 1,
	    .data_size = part->size,
	    .cookie = cookie,
	});
}

/* A cookie is the subsystem, the part and the unit's slot. */
static uint64_t
cookie_of(size_t sub, size_t part, size_t slot)
{
	return (uint64_t)sub << 48 | (uint64_t)part << 32 | slot;
}

static int
offer_all(struct ks_linux *lx, struct ks_scan *scan)
{
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_part *parts = subsystems[s]->parts;
		uchar_t flags[KS_UNIT_PARTS];

		for (size_t i = 0; i < KS_UNIT_PARTS && parts[i].module != NULL; i++)
			flags[i] = flags_of(&parts[i]);
		for (size_t u = 0; u < lx->units[s].n; u++) {
			const struct ks_unit *unit = &lx->units[s].v[u];

			if (!unit->alive)
				continue;
			for (size_t p = 0; parts[p].module != NULL; p++) {
				if ((unit->parts & lx->wanted[s]) >> p & 1 &&
				    offer(scan, &parts[p], flags[p], unit, cookie_of(s, p, u)) != 0)
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

static uint16_t
wanted_parts(const struct ks_subsystem *sub, const struct ks_scan *scan)
{
	uint16_t wanted = 0;

	for (size_t i = 0; sub->parts[i].module != NULL; i++) {
		const struct ks_part *p = &sub->parts[i];

		if (ks_scan_wants(scan, fixed(p->module), p->class_, fixed(p->name)))
			wanted |= (uint16_t)(1u << i);
	}
	return wanted;
}

/* Subsystems that have nothing of what the chain is to hold are not looked at. */
static void
leave_out_unwanted(struct ks_linux *lx, const struct ks_scan *scan)
{
	uint32_t off = 0;

	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		lx->wanted[s] = wanted_parts(subsystems[s], scan);
		if (lx->wanted[s] == 0)
			off |= 1u << s;
	}
	/* Some need the units of another. */
	if (ks_unix_needs_cpus(lx))
		off &= ~(1u << KS_SUB_CPU);
	if ((off & 1u << KS_SUB_DEVICE) == 0)
		off &= ~(1u << KS_SUB_DISK);
	lx->off |= off;
}

#define ASK_AGAIN (10 * KS_NANOSEC) /* not every interrupt that comes is an event */

/* Looks which subsystems have no device that is wanted; again, if one may have come since. */
static void
leave_out_absent(struct ks_linux *lx)
{
	hrtime_t now = gethrtime();

	if (lx->listed && (lx->absent == 0 || (lx->settled && now - lx->asked < ASK_AGAIN)))
		return;
	lx->asked = now;
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		uint32_t bit = 1u << s;

		if (subsystems[s]->has_wanted == NULL || (lx->off & bit) != 0 ||
		    (lx->listed && (lx->absent & bit) == 0))
			continue;
		/* What matches no module at all matches any: there is no need to look. */
		if (ks_scan_wants(lx->scan, "", NULL, NULL) || subsystems[s]->has_wanted(lx))
			lx->absent &= ~bit;
		else
			lx->absent |= bit;
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
	while (!found && (e = readdir(dir)) != NULL)
		found = e->d_name[0] != '.' && is_meant(lx, e->d_name);
	if (dir != NULL)
		(void)closedir(dir);
	return found;
}

/*
 * True if no device came or went since the last call: the kernel counts the events that it tells
 * udev about. False if it does not tell. Without this a further sample of vmstat or iostat takes 20 % more CPU time,
 * because directories of /sys are listed (`bench/run tools`, `bench/run iostat`).
 */
static bool
is_settled(struct ks_linux *lx)
{
	const struct ks_image *im = lx->root[KS_ROOT_SYS].kernel ?
	    ks_linux_try(lx, KS_IMG_UEVENTS) : NULL;
	uint64_t before = lx->events;
	struct ks_text t;

	lx->events = 0;
	if (im == NULL)
		return false;
	t = ks_text_of(im->data, im->len);
	return ks_text_u64(&t, &lx->events) && lx->events == before && before != 0;
}

/* Subsystems that list something slow, and only if a device came or went. */
#define ON_EVENTS (1u << KS_SUB_DISK | 1u << KS_SUB_DEVICE | 1u << KS_SUB_LINK | 1u << KS_SUB_HWMON)

static int
linux_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	int changed = !lx->listed;
	const char *line;

	if (!lx->listed)
		leave_out_unwanted(lx, scan);
	lx->scan = scan;
	lx->round++;
	/* For CPUs alone it is not worth a file: they are in one that is read in any case. */
	lx->counts_events = (lx->off & ON_EVENTS) != ON_EVENTS;
	lx->settled = lx->counts_events && is_settled(lx); /* before anything is listed */
	leave_out_absent(lx);
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		int rc;

		lx->units[s].last = lx->looked;
		rc = ((lx->off | lx->absent) >> s & 1) != 0 ? 0 : subsystems[s]->scan(lx, &lx->units[s]);
		if (rc < 0)
			return ks_fail(ENOMEM, "out of memory");
		changed |= rc;
	}
	lx->looked = gethrtime();
	while ((line = ks_linux_trouble(src)) != NULL)
		ks_scan_warn(scan, "%s", line);
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

	if (s >= KS_SUB_COUNT || u >= lx->units[s].n || !lx->units[s].v[u].alive ||
	    p >= KS_UNIT_PARTS || (lx->units[s].v[u].parts >> p & 1) == 0)
		return NULL;
	*part = &subsystems[s]->parts[p];
	return &lx->units[s].v[u];
}

static int
linux_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	struct ks_linux *lx = (struct ks_linux *)src;
	const struct ks_part *part;
	struct ks_unit *unit = unit_of(lx, cookie, &part);
	uint64_t *served;

	if (unit == NULL)
		return ks_fail(ENXIO, "%s:%d:%s is gone", ksp->ks_module, ksp->ks_instance, ksp->ks_name);
	served = &unit->served[cookie >> 32 & 0xffff];
	if (*served == lx->round)
		lx->round++;
	*served = lx->round;
	lx->taken = 0;
	if (part->read(lx, unit, r) != 0)
		return -1;
	r->snaptime = lx->taken != 0 ? lx->taken : gethrtime();
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
	return m;
}

/* --- opening and closing ------------------------------------------------------ */

static void
linux_close(struct ks_source *src)
{
	struct ks_linux *lx = (struct ks_linux *)src;

	for (size_t i = 0; i < KS_IMG_COUNT; i++)
		ks_image_free(&lx->image[i]);
	ks_image_free(&lx->scratch);
	ks_own_close(&lx->own);
	ks_linux_forget_troubles(lx);
	for (size_t i = 0; i < KS_SUB_COUNT; i++)
		ks_units_free(&lx->units[i]);
	ks_columns_free(&lx->interrupts);
	ks_columns_free(&lx->softirqs);
	if (lx->socket >= 0)
		(void)close(lx->socket);
	for (size_t i = 0; i < 2; i++) {
		if (lx->root[i].fd >= 0)
			(void)close(lx->root[i].fd);
		free(lx->root[i].name);
	}
	free(lx);
}

static const struct ks_source_ops linux_ops = {
	.name = "linux",
	.scan = linux_scan,
	.read = linux_read,
	.trouble = ks_linux_trouble,
	.meta = linux_meta,
	.close = linux_close,
};

static int
open_root(struct ks_files *f, const char *name, long magic)
{
	struct statfs fs;

	f->name = strdup(name);
	if (f->name == NULL)
		return ks_fail(ENOMEM, "out of memory");
	f->fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		return -1;
	f->kernel = fstatfs(f->fd, &fs) == 0 && fs.f_type == magic;
	return 0;
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

static void
leave_out(struct ks_linux *lx)
{
	const char *with = getenv("KSTAT_WITH");

	if (!lx->root[KS_ROOT_PROC].kernel)
		return;
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		if (subsystems[s]->optional != NULL && !is_named(with, subsystems[s]->optional))
			lx->off |= 1u << s;
	}
}

struct ks_source *
ks_source_linux_open(const char *proc, const char *sys)
{
	struct ks_linux *lx = calloc(1, sizeof(*lx));

	if (lx == NULL)
		return ks_fail_null(ENOMEM, "out of memory");
	lx->src.ops = &linux_ops;
	lx->root[KS_ROOT_PROC].fd = lx->root[KS_ROOT_SYS].fd = lx->socket = lx->scratch.fd = -1;
	for (size_t i = 0; i < KS_IMG_COUNT; i++) {
		lx->image[i].fd = -1;
		lx->image[i].root = files[i].root;
		lx->image[i].path = files[i].path;
		lx->image[i].made = files[i].made;
	}
	lx->page = (uint64_t)sysconf(_SC_PAGESIZE);
	ks_own_init(&lx->own);
	proc = proc != NULL ? proc : "/proc";
	if (open_root(&lx->root[KS_ROOT_PROC], proc, PROC_SUPER_MAGIC) != 0) {
		int err = errno;

		linux_close(&lx->src);
		return ks_fail_null(err, "cannot open %s: %s (it must be a directory like /proc)", proc,
		    strerror(err));
	}
	/* Without /sys most of it works all the same, but one that was asked for must be there. */
	if (open_root(&lx->root[KS_ROOT_SYS], sys != NULL ? sys : "/sys", SYSFS_MAGIC) != 0 &&
	    (errno == ENOMEM || sys != NULL)) {
		int err = errno;

		linux_close(&lx->src);
		return ks_fail_null(err, "cannot open %s: %s (it must be a directory like /sys; an empty "
		    "one does)", sys != NULL ? sys : "/sys", strerror(err));
	}
	leave_out(lx);
	return &lx->src;
}
