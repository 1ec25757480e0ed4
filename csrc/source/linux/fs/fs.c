/*
 * fs.c - mounted file systems (class fs), as df shows them: /proc/self/mountinfo says which there are, statvfs()
 * how full they are. Pseudo file systems are left out, and of several mounts of a device all but one.
 *
 * A file system that another machine or a process serves may never answer. So may one whose path goes through such
 * a mount. These are asked by threads (ask.h); all that are wanted in a round at the same time, so that a reading
 * of any number of dead ones waits once. The others are asked directly.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "source/linux/ask.h"
#include "source/linux/fs/mount.h"

enum { F_CAPACITY, F_USED, F_FREE, F_AVAILABLE, F_INODES, F_INODES_USED, F_INODES_FREE, F_BLOCK, F_READ_ONLY,
	F_ANSWERED, F_STATE, F_SILENT, F_TYPE, F_DEVICE, F_NAME, F_POINT, F_ROOT, F_OPTIONS, F_MAJOR, F_MINOR, F_MOUNT };

static const struct ks_field fs_fields[] = {
	[F_CAPACITY] = KS_AMOUNT("capacity", "size of the file system"),
	[F_USED] = KS_AMOUNT("used", "space in use"),
	[F_FREE] = KS_AMOUNT("free", "space not in use, that for root alone included"),
	[F_AVAILABLE] = KS_AMOUNT("available", "space that everybody may use"),
	[F_INODES] = KS_GAUGE("inodes", KSTAT_DATA_UINT64, "files that there can be, if this is limited"),
	[F_INODES_USED] = KS_GAUGE("inodes_used", KSTAT_DATA_UINT64, "files that there are, if they are limited"),
	[F_INODES_FREE] = KS_GAUGE("inodes_free", KSTAT_DATA_UINT64, "files that can be created"),
	[F_BLOCK] = KS_AMOUNT("block_size", "size of the blocks in which space is counted"),
	[F_READ_ONLY] = KS_STATE("read_only", "1: nothing can be written, also after an error of the file system"),
	[F_ANSWERED] = KS_STATE("answered", "1: the file system said how full it is; 0: see state"),
	[F_STATE] = KS_TEXT_STATE("state", KSTAT_DATA_STRING, "\"ok\", or why there are no figures"),
	[F_SILENT] = { KS_META_NSEC("no_answer_for", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL,
	    "for how long the file system has not answered"), KSTAT_DATA_UINT64, NULL },
	[F_TYPE] = KS_TEXT("fs_type", KSTAT_DATA_STRING, "type of the file system"),
	[F_DEVICE] = KS_TEXT("device", KSTAT_DATA_STRING, "device, or server and path"),
	[F_NAME] = KS_TEXT("device_name", KSTAT_DATA_STRING,
	    "the kernel's name of the block device, as in sd:0:sda1 and ext4:0:sda1"),
	[F_POINT] = KS_TEXT("mount_point", KSTAT_DATA_STRING, "where it is mounted"),
	[F_ROOT] = KS_TEXT("mount_root", KSTAT_DATA_STRING, "directory of the file system that is mounted there"),
	[F_OPTIONS] = KS_TEXT_STATE("options", KSTAT_DATA_STRING, "options of the mount"),
	[F_MAJOR] = KS_ID("major", KSTAT_DATA_UINT32, "major device number"),
	[F_MINOR] = KS_ID("minor", KSTAT_DATA_UINT32, "minor device number"),
	[F_MOUNT] = KS_ID("mount_id", KSTAT_DATA_UINT64, "the kernel's number of the mount"),
	KS_FIELD_END
};

/* Types that hold no files of users. df leaves out most of them, and others because their size is 0. */
static const char *const pseudo[] = { "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "cpuset",
	"debugfs", "devpts", "fuse.gvfsd-fuse", "fuse.lxcfs", "fuse.portal", "fusectl", "hugetlbfs", "mqueue", "nfsd",
	"nsfs", "proc", "pstore", "ramfs", "resctrl", "rootfs", "rpc_pipefs", "securityfs", "selinuxfs", "smackfs",
	"sysfs", "tracefs", NULL };

/* Types that a server or a process serves; also all that begin with "fuse". */
static const char *const served[] = { "9p", "acfs", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "davfs",
	"gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2",
	"smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", NULL };

/* ks_unit.extra: what mountinfo says of a file system. The texts are in the same block of memory. */
struct fs {
	uint64_t mount_id, major, minor;
	bool read_only, can_hang, is_wanted;
	bool after_error; /* the kernel refuses writes since an error or a shutdown, which statvfs() does not say */
	char device_name[32]; /* empty if it is on no block device, or this is not known */
	const char *type, *device, *point, *root, *options;
	char text[];
};

/* A mount while mountinfo is read anew. */
struct mount {
	struct ks_mount line;
	size_t order;
	uint64_t unique; /* as ks_linux_statvfs() has it */
	bool is_pseudo, is_served, can_hang, is_wanted, left_out;
};

struct state {
	uint64_t mounts; /* ks_linux_mounts_changed(); 0: list them, whether they have changed or not */
	uint64_t round; /* in which the questions were started last */
	hrtime_t asked; /* when this was */
};

/* --- reading ------------------------------------------------------------------------------ */

static uint64_t
bytes(uint64_t blocks, uint64_t size)
{
	uint64_t n;

	return __builtin_mul_overflow(blocks, size, &n) ? UINT64_MAX : n;
}

static void
add_figures(struct ks_values *vals, const struct statvfs *fs, bool after_error)
{
	uint64_t size = fs->f_frsize != 0 ? fs->f_frsize : fs->f_bsize;

	ks_have(vals, F_CAPACITY, bytes(fs->f_blocks, size));
	ks_have(vals, F_USED, fs->f_blocks > fs->f_bfree ? bytes(fs->f_blocks - fs->f_bfree, size) : 0);
	ks_have(vals, F_FREE, bytes(fs->f_bfree, size));
	/* A file system that is fuller than users may fill it can have a negative number here. */
	ks_have(vals, F_AVAILABLE, fs->f_bavail <= fs->f_bfree ? bytes(fs->f_bavail, size) : 0);
	ks_have(vals, F_BLOCK, size);
	ks_have(vals, F_READ_ONLY, (fs->f_flag & ST_RDONLY) != 0 || after_error);
	if (fs->f_files == 0)
		return;
	ks_have(vals, F_INODES, fs->f_files);
	ks_have(vals, F_INODES_USED, fs->f_files > fs->f_ffree ? fs->f_files - fs->f_ffree : 0);
	ks_have(vals, F_INODES_FREE, fs->f_ffree);
}

/* A question about a file system, and its answer. */
struct question {
	uint64_t mount_id;
	struct statvfs fs;
	char path[PATH_MAX];
};

static int
ask(void *data)
{
	struct question *q = data;

	return ks_linux_statvfs(q->path, q->mount_id, &q->fs, NULL);
}

static struct ks_question
question_of(const struct fs *fs, struct question *q)
{
	q->mount_id = fs->mount_id;
	(void)snprintf(q->path, sizeof(q->path), "%s", fs->point);
	return (struct ks_question){ "kstat-statvfs", ask, ks_hash_string(KS_HASH_INIT, fs->point) + fs->mount_id,
		offsetof(struct question, path) + strlen(q->path) + 1 };
}

/* Starts to ask all file systems of the chain that can hang, once in a round. Returns when they were asked. */
static hrtime_t
ask_all(struct ks_linux *lx)
{
	struct state *s = lx->sub[KS_SUB_fs].state;
	const struct ks_units *units = &lx->sub[KS_SUB_fs].units;

	if (s->round == lx->round)
		return s->asked;
	s->round = lx->round;
	s->asked = gethrtime();
	for (uint32_t i = 0; i < units->n; i++) {
		const struct fs *fs = units->v[i].extra;
		struct question q;

		if (units->v[i].alive && fs->can_hang && fs->is_wanted) {
			struct ks_question about = question_of(fs, &q);

			ks_ask_start(&about, &q, s->asked);
		}
	}
	return s->asked;
}

/*
 * Asks the file system how full it is. Returns 0, or -1 with errno ENXIO and message if another one is there now, or
 * nothing is. (Where a path can hang, a scan cannot find out either what is there.)
 */
static int
add_live(struct ks_linux *lx, const struct ks_unit *unit, struct ks_values *vals)
{
	const struct fs *fs = unit->extra;
	struct question q = { .fs = { .f_bsize = 0 } };
	hrtime_t when = gethrtime();
	int err;

	if (fs->can_hang) {
		struct ks_question about = question_of(fs, &q);

		err = ks_ask_wait(&about, &q, ask_all(lx), &when);
	} else {
		err = ks_linux_statvfs(fs->point, fs->mount_id, &q.fs, NULL);
	}
	if (err == ENOENT && !fs->can_hang) {
		((struct state *)lx->sub[KS_SUB_fs].state)->mounts = 0;
		return ks_linux_gone(unit);
	}
	ks_linux_note_path(lx, KS_ROOT_MOUNT, fs->point, err == EAGAIN || err == EBUSY ? err : 0);
	lx->taken = err == EAGAIN ? gethrtime() : when;
	ks_note_lack(&lx->root[KS_ROOT_PROC], err);
	ks_have(vals, F_ANSWERED, err == 0);
	if (err == 0)
		add_figures(vals, &q.fs, fs->after_error);
	if (err == EAGAIN)
		ks_have(vals, F_SILENT, (uint64_t)(lx->taken - when));
	if (err == 0 || err == EAGAIN || err == EBUSY)
		ks_have_text(vals, F_STATE, err == 0 ? "ok" : err == EAGAIN ? "no answer" :
		    "not asked: too many others do not answer");
	else
		ks_have_text(vals, F_STATE, strerror(err));
	return 0;
}

static int
read_fs(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct fs *fs = unit->extra;
	struct ks_values vals = { .have = 0 };

	ks_have(&vals, F_READ_ONLY, fs->read_only);
	if (lx->root[KS_ROOT_PROC].kernel && add_live(lx, unit, &vals) != 0)
		return -1;
	ks_have_text(&vals, F_TYPE, fs->type);
	ks_have_text(&vals, F_DEVICE, fs->device);
	if (fs->device_name[0] != '\0')
		ks_have_text(&vals, F_NAME, fs->device_name);
	ks_have_text(&vals, F_POINT, fs->point);
	ks_have_text(&vals, F_ROOT, fs->root);
	ks_have_text(&vals, F_OPTIONS, fs->options);
	ks_have(&vals, F_MAJOR, fs->major);
	ks_have(&vals, F_MINOR, fs->minor);
	ks_have(&vals, F_MOUNT, fs->mount_id);
	ks_fields_add(r, fs_fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("fs", "@", "fs", .fields = KS_TABLE(fs_fields), .read = read_fs,
	    .from = "/proc/self/mountinfo, statvfs(3)", .title = "fs:N:MOUNT_POINT"),
};

/* --- which mounts are shown ------------------------------------------------------------------ */

static bool
is_one_of(const char *const *list, const struct ks_text *type)
{
	while (*list != NULL && !ks_text_is(type, *list))
		list++;
	return *list != NULL;
}

/* Parses the lines of mountinfo into an array, which the caller frees. Returns -1 without memory. */
static int
parse_mounts(struct ks_linux *lx, const struct ks_image *im, struct mount **v, size_t *n)
{
	struct ks_text all = ks_text_of(im->data, im->len), line;
	size_t cap = 0;

	while (ks_text_line(&all, &line)) {
		struct ks_mount m;

		if (!ks_linux_parse_mount(line, &m)) {
			if (!ks_text_empty(&line))
				ks_linux_odd_line(lx, im, &line);
			continue;
		}
		if (!KS_RESERVE(*v, cap, *n + 1))
			return -1;
		(*v)[*n] = (struct mount){ .line = m, .order = *n,
			.is_pseudo = is_one_of(pseudo, &m.type),
			.is_served = is_one_of(served, &m.type) || ks_text_starts(&m.type, "fuse") ||
			    (*m.source.p != '/' && memchr(m.source.p, ':', ks_text_size(&m.source)) != NULL) };
		(*n)++;
	}
	return 0;
}

static int
compare_texts(const struct ks_text *a, const struct ks_text *b)
{
	size_t n = ks_text_size(a), k = ks_text_size(b);
	int order = memcmp(a->p, b->p, n < k ? n : k);

	return order != 0 ? order : (n > k) - (n < k);
}

static int
by_point(const void *a, const void *b)
{
	const struct mount *x = a, *y = b;
	int order = compare_texts(&x->line.point, &y->line.point);

	return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static int
by_number(const void *a, const void *b)
{
	const struct mount *x = a, *y = b;
	int order = compare_texts(&x->line.number, &y->line.number);

	return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* True if a path is below another one, or is the same. */
static bool
is_below(const struct ks_text *path, const struct ks_text *top)
{
	size_t n = ks_text_size(top);

	if (ks_text_size(path) < n || memcmp(path->p, top->p, n) != 0)
		return false;
	return n == 1 || path->p + n == path->end || path->p[n] == '/';
}

/* Finds out which mounts are hidden by a later one at the same point, and which can hang. Sorts by point. */
static void
look_at_points(struct mount *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_point);
	for (size_t i = 0; i < n; i++) {
		v[i].left_out = v[i].is_pseudo ||
		    (i + 1 < n && compare_texts(&v[i].line.point, &v[i + 1].line.point) == 0);
		v[i].can_hang = v[i].is_served;
	}
	/* A path goes through all mounts above it; an automount may be at the same point. */
	for (size_t i = 0; i < n; i++) {
		if (!v[i].is_served || ks_text_size(&v[i].line.point) == 1)
			continue;
		for (size_t k = i + 1; k < n && is_below(&v[k].line.point, &v[i].line.point); k++)
			v[k].can_hang = true;
	}
}

/* Writes the name of the kstat of a mount point. */
static void
name_of(char name[KSTAT_STRLEN], const struct ks_text *point)
{
	(void)ks_linux_unescape(point, name, KSTAT_STRLEN);
	for (char *p = name; (p = strchr(p, ':')) != NULL;)
		*p = '_';
}

/* Finds out whether the kstat of a mount may be wanted. A cut name can still get another end. */
static void
look_at_wish(struct ks_linux *lx, struct mount *m)
{
	char name[KSTAT_STRLEN];

	name_of(name, &m->line.point);
	m->is_wanted = strlen(name) == KSTAT_STRLEN - 1 || ks_scan_wants(lx->scan, "fs", "fs", name);
}

/* True if a mount that cannot hang can be reached by its path, and has a size, or is too broken to say it. */
static bool
has_size(struct mount *m)
{
	char point[4096];
	struct statvfs fs;
	int err;

	(void)ks_linux_unescape(&m->line.point, point, sizeof(point));
	err = ks_linux_statvfs(point, m->line.id, &fs, &m->unique);
	return err == EIO || err == EUCLEAN || (err == 0 && fs.f_blocks > 0);
}

/*
 * Of two mounts of a device, true if the second is shown, as df decides: one whose source has a slash, or one that
 * is nearer to the root and not a part of what the first shows.
 */
static bool
is_second_better(const struct ks_mount *a, const struct ks_mount *b)
{
	bool a_slash = memchr(a->source.p, '/', ks_text_size(&a->source)) != NULL;
	bool b_slash = memchr(b->source.p, '/', ks_text_size(&b->source)) != NULL;

	if (b_slash && !a_slash)
		return true;
	return ks_text_size(&a->point) > ks_text_size(&b->point) && ks_text_size(&a->root) >= ks_text_size(&b->root);
}

/* Leaves out all but one of the mounts of each device. Sorts by the device's number. */
static void
leave_out_repeated(struct mount *v, size_t n)
{
	struct mount *kept = NULL;

	qsort(v, n, sizeof(*v), by_number);
	for (struct mount *m = v; m < v + n; m++) {
		if (m->left_out)
			continue;
		if (kept == NULL || compare_texts(&kept->line.number, &m->line.number) != 0 || (m->is_served &&
		    kept->is_served && compare_texts(&kept->line.source, &m->line.source) != 0)) {
			kept = m;
		} else if (is_second_better(&kept->line, &m->line)) {
			kept->left_out = true;
			kept = m;
		} else {
			m->left_out = true;
		}
	}
}

/* --- scanning ------------------------------------------------------------------------------ */

/* Copies a text of mountinfo to *to, which moves behind it. Returns the copy. */
static const char *
copy(char **to, const struct ks_text *from)
{
	char *s = *to;

	*to += ks_linux_unescape(from, s, ks_text_size(from) + 1) + 1;
	return s;
}

/* Returns the facts of a mount in memory that the caller frees; NULL without memory. */
static struct fs *
facts_of(const struct mount *m)
{
	const struct ks_mount *l = &m->line;
	struct ks_text number = l->number;
	struct fs *fs = calloc(1, sizeof(*fs) + ks_text_size(&l->type) + ks_text_size(&l->source) +
	    ks_text_size(&l->point) + ks_text_size(&l->root) + ks_text_size(&l->options) + 5);
	char *to;

	if (fs == NULL)
		return NULL;
	to = fs->text;
	fs->mount_id = l->id;
	if (ks_text_u64(&number, &fs->major) && number.p < number.end && *number.p++ == ':')
		(void)ks_text_u64(&number, &fs->minor);
	fs->after_error = ks_linux_option(l->super, "emergency_ro", NULL) ||
	    ks_linux_option(l->super, "shutdown", NULL);
	fs->read_only = ks_linux_option(l->options, "ro", NULL) || ks_linux_option(l->super, "ro", NULL) ||
	    fs->after_error;
	fs->can_hang = m->can_hang;
	fs->is_wanted = m->is_wanted;
	fs->type = copy(&to, &l->type);
	fs->device = copy(&to, &l->source);
	fs->point = copy(&to, &l->point);
	fs->root = copy(&to, &l->root);
	fs->options = copy(&to, &l->options);
	return fs;
}

/* Finds out the kernel's name of a block device, to which a link in /sys leads. */
static void
set_device_name(const struct ks_linux *lx, struct fs *fs)
{
	char path[64], target[512];
	const char *slash = strrchr(fs->device, '/');
	ssize_t n;

	(void)snprintf(path, sizeof(path), "dev/block/%llu:%llu", (unsigned long long)fs->major,
	    (unsigned long long)fs->minor);
	n = fs->major != 0 ? readlinkat(lx->root[KS_ROOT_SYS].fd, path, target, sizeof(target) - 1) : -1;
	if (n > 0) {
		target[n] = '\0';
		slash = strrchr(target, '/');
	} else if (strncmp(fs->device, "/dev/", 5) != 0 || strncmp(fs->device, "/dev/mapper/", 12) == 0) {
		slash = NULL;
	}
	/* A file system on several devices, btrfs, has a number of its own. */
	if (slash != NULL)
		ks_name_set(fs->device_name, sizeof(fs->device_name), slash + 1, strlen(slash + 1));
}

static uint64_t
identity_of(const struct fs *fs, uint64_t unique)
{
	uint64_t hash = ks_hash_string(ks_hash_string(KS_HASH_INIT, fs->device), fs->type);

	return (hash ^ unique << 1 ^ fs->mount_id << 40 ^ fs->major << 20 ^ fs->minor) | 1;
}

/* Adds the unit of a mount, or brings its facts up to date. Returns -1 without memory. */
static int
add_unit(const struct ks_linux *lx, struct ks_units *units, const struct mount *m)
{
	struct fs *fs = facts_of(m);
	char key[KS_UNIT_NAME];
	struct ks_unit *unit;
	bool is_new;

	if (fs == NULL)
		return -1;
	unit = ks_units_see(units, key, ks_key_of_path(key, fs->point), identity_of(fs, m->unique), &is_new);
	if (unit == NULL) {
		free(fs);
		return -1;
	}
	free(unit->extra);
	unit->extra = fs;
	set_device_name(lx, fs);
	if (!is_new)
		return 0;
	unit->long_texts = (uint32_t)(strlen(fs->device) + strlen(fs->point) + strlen(fs->root));
	name_of(unit->name, &m->line.point);
	unit->instance = fs->minor <= INT32_MAX ? (int)fs->minor : 0;
	unit->parts = 1;
	return 0;
}

static int
list_mounts(struct ks_linux *lx, struct ks_units *units, const struct ks_image *im)
{
	struct mount *v = NULL;
	size_t n = 0;
	int rc = im != NULL ? parse_mounts(lx, im, &v, &n) : 0;

	if (rc == 0 && n > 0) {
		look_at_points(v, n);
		for (struct mount *m = v; m < v + n; m++) {
			look_at_wish(lx, m);
			if (lx->root[KS_ROOT_PROC].kernel && !m->left_out && !m->can_hang && m->is_wanted)
				m->left_out = !has_size(m);
		}
		leave_out_repeated(v, n);
	}
	ks_units_begin(units);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (!v[i].left_out)
			rc = add_unit(lx, units, &v[i]);
	}
	free(v);
	return rc == 0 ? ks_units_end(units) : -1;
}

static int
scan_fs(struct ks_linux *lx, struct ks_units *units)
{
	struct state *s = lx->sub[KS_SUB_fs].state;
	const struct ks_image *im;
	int rc = ks_linux_mounts_changed(lx, &s->mounts, &im) ? list_mounts(lx, units, im) : 0;

	if (rc < 0)
		s->mounts = 0;
	return rc;
}

KS_SUBSYSTEM(fs, parts, .scan = scan_fs, .state_size = sizeof(struct state));
