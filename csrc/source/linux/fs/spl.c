/*
 * spl.c - the kstats that OpenZFS itself keeps, from /proc/spl/kstat: zfs:0:arcstats, a pool's
 * I/O as zfs:0:POOL (class disk, as on illumos), its data sets as zfs/POOL:0:objset-0x36.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/linux/described.h"
#include "source/linux/linux.h"

#define ROOT "spl/kstat"
#define MAX_DEPTH 3

/* The module's own numbers of data types, in its text. */
enum { SPL_CHAR, SPL_INT32, SPL_UINT32, SPL_INT64, SPL_UINT64, SPL_LONG, SPL_ULONG, SPL_STRING };

/* "kid type flags ndata data_size crtime snaptime" */
struct header {
	uint64_t type, crtime, snaptime;
};

/* --- reading ------------------------------------------------------------------------------ */

/* True for files that only root may read, such as the log dbgmsg: they are not kstats. */
static bool
is_for_root(const struct ks_linux *lx, const char *path)
{
	struct stat st;

	return fstatat(lx->root[KS_ROOT_PROC].fd, path, &st, 0) == 0 && (st.st_mode & 0777) == 0600;
}

/* Reads a file into the scratch image. Returns 0, or an errno, of which the user is warned. */
static int
read_path(struct ks_linux *lx, const char *path)
{
	int err = ks_linux_try_once(lx, KS_ROOT_PROC, path);

	if ((err == EACCES || err == EPERM) && is_for_root(lx, path))
		return err;
	ks_linux_note_path(lx, KS_ROOT_PROC, path, err);
	return err;
}

/* Reads a unit's file, as ks_linux_once() does. */
static const struct ks_image *
read_file(struct ks_linux *lx, const struct ks_unit *unit)
{
	return ks_linux_once(lx, unit, KS_ROOT_PROC, unit->extra);
}

/* Warns of a line without which there is no kstat. Returns -1 with errno EIO and message. */
static int
unknown_form(struct ks_linux *lx, const struct ks_unit *unit, const struct ks_text *line)
{
	ks_linux_odd_line(lx, lx->im, line);
	return ks_fail(EIO, "%s has an unknown form", (const char *)unit->extra);
}

/* Parses the line of the header. */
static bool
parse_header(struct ks_text line, struct header *h)
{
	struct ks_text flags;
	uint64_t kid, rest[2];

	if (!ks_text_u64(&line, &kid) || !ks_text_u64(&line, &h->type) ||
	    !ks_text_word(&line, &flags) || ks_text_numbers(&line, rest, 2) != 2)
		return false;
	return ks_text_u64(&line, &h->crtime) && ks_text_u64(&line, &h->snaptime);
}

/* Adds a number of one of the types; false if the text is something else, or does not fit. */
static bool
add_number(struct ks_record *r, const char *stat, struct ks_text value, uint64_t type)
{
	bool is_signed = type == SPL_INT32 || type == SPL_INT64 || type == SPL_LONG;
	int64_t i = 0;
	uint64_t u = 0;

	if ((is_signed ? ks_scan_i64(&value.p, value.end, &i) : ks_scan_u64(&value.p, value.end, &u)) != 0 ||
	    value.p != value.end || (type == SPL_INT32 && i != (int32_t)i) || (type == SPL_UINT32 && u > UINT32_MAX))
		return false;
	if (type == SPL_INT32)
		ks_named_i32(r, stat, (int32_t)i);
	else if (is_signed)
		ks_named_i64(r, stat, i);
	else if (type == SPL_UINT32)
		ks_named_u32(r, stat, (uint32_t)u);
	else
		ks_named_u64(r, stat, u);
	return true;
}

/* Parses "name  type  data" and adds it; false if the line cannot be parsed. */
static bool
add_named(struct ks_record *r, struct ks_text line)
{
	struct ks_text name;
	char stat[KSTAT_STRLEN];
	uint64_t type;

	if (!ks_text_plain(&line) || !ks_text_word(&line, &name) || !ks_text_u64(&line, &type))
		return false;
	ks_name_set(stat, sizeof(stat), name.p, ks_text_size(&name));
	ks_text_trim(&line);
	if (type > SPL_STRING)
		return false;
	if (type == SPL_CHAR)
		ks_named_chars(r, stat, line.p, ks_text_size(&line));
	else if (type == SPL_STRING)
		ks_named_string(r, stat, line.p, ks_text_size(&line));
	else
		return ks_text_size(&line) > 0 && add_number(r, stat, line, type);
	return true;
}

/* Skips the header and the headings of the columns; false with errno and message. */
static bool
skip_headings(struct ks_linux *lx, const struct ks_unit *unit, const struct ks_image *im,
    struct ks_text *all)
{
	struct ks_text line = { im->data, im->data };
	struct header h;

	*all = ks_text_of(im->data, im->len);
	if (ks_text_line(all, &line) && parse_header(line, &h) && ks_text_line(all, &line))
		return true;
	return unknown_form(lx, unit, &line) == 0;
}

static int
read_named(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_image *im = read_file(lx, unit);
	struct ks_text all, line;

	if (im == NULL || !skip_headings(lx, unit, im, &all))
		return -1;
	while (ks_text_line(&all, &line)) {
		if (!add_named(r, line) && !ks_text_empty(&line))
			ks_linux_odd_line(lx, lx->im, &line);
	}
	return 0;
}

/* True if the numbers of a pool's I/O fit the structure. */
static bool
fit_io(const uint64_t v[12])
{
	static const uint64_t most[12] = { UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, INT64_MAX,
		INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, UINT32_MAX, UINT32_MAX };

	for (size_t i = 0; i < 12; i++) {
		if (v[i] > most[i])
			return false;
	}
	return true;
}

static int
read_io(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_image *im = read_file(lx, unit);
	struct ks_text all, line, rest;
	uint64_t v[12];
	kstat_io_t *io;

	if (im == NULL || !skip_headings(lx, unit, im, &all))
		return -1;
	rest = line = all;
	if (ks_text_line(&all, &line))
		rest = line;
	if (ks_text_numbers(&rest, v, 12) != 12 || !fit_io(v))
		return unknown_form(lx, unit, &line);
	io = ks_record_add(r, sizeof(*io));
	if (io == NULL)
		return 0;
	*io = (kstat_io_t){ .nread = v[0], .nwritten = v[1], .reads = (uint_t)v[2],
		.writes = (uint_t)v[3], .wtime = (hrtime_t)v[4], .wlentime = (hrtime_t)v[5],
		.wlastupdate = (hrtime_t)v[6], .rtime = (hrtime_t)v[7], .rlentime = (hrtime_t)v[8],
		.rlastupdate = (hrtime_t)v[9], .wcnt = (uint_t)v[10], .rcnt = (uint_t)v[11] };
	return 0;
}

static const struct ks_field state_fields[] = {
	KS_TEXT_STATE("state", KSTAT_DATA_STRING, "state of the pool, ONLINE if all is well"),
	KS_FIELD_END
};

static int
read_state(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_image *im = read_file(lx, unit);
	struct ks_values vals = { .have = 0 };
	struct ks_text all, line;
	char state[64];

	if (im == NULL)
		return -1;
	all = ks_text_of(im->data, im->len);
	if (ks_text_line(&all, &line)) {
		if (!ks_text_plain(&line))
			return unknown_form(lx, unit, &line);
		ks_text_trim(&line);
		ks_name_set(state, sizeof(state), line.p, ks_text_size(&line));
		ks_have_text(&vals, 0, state);
	}
	ks_fields_add(r, state_fields, &vals);
	return 0;
}

/* --- scanning ------------------------------------------------------------------------------ */

enum { PART_NAMED, PART_IO, PART_STATE };

static const struct ks_part parts[] = {
	[PART_NAMED] = KS_NAMED_PART("@", "@", "misc", .read = read_named, .meta = ks_zfs_meta, .known = ks_zfs_known,
	    KS_NAMES("scatter_order_0", "dbuf_cache_level_0", "dbuf_cache_level_0_bytes", "hash_dbuf_level_0",
	    "hash_dbuf_level_0_bytes"),
	    .from = "/proc/spl/kstat", .title = "zfs:0:arcstats"),
	[PART_IO] = KS_IO_PART("@", "@", "disk", .read = read_io,
	    .from = "/proc/spl/kstat/zfs/POOL/io", .title = "zfs:0:POOL"),
	[PART_STATE] = KS_NAMED_PART("@", "@", "misc", .fields = KS_TABLE(state_fields), .read = read_state,
	    .from = "/proc/spl/kstat/zfs/POOL/state", .title = "zfs/POOL:0:state"),
};

/*
 * True if the first line of a file without a kstat's header is not one that OpenZFS writes: its logs begin
 * with headings, and the text of a single value is one word.
 */
static bool
is_odd(struct ks_text line)
{
	struct ks_text word;

	if (!ks_text_plain(&line))
		return true;
	return ks_text_at_number(&line) && ks_text_word(&line, &word) && ks_text_word(&line, &word);
}

/* Sets up the kstat of a file "spl/kstat/MODULE/NAME" by its header. -1 without memory. */
static int
set_up(struct ks_linux *lx, struct ks_unit *unit, const char *path)
{
	const char *module = path + strlen(ROOT) + 1;
	const char *name = strrchr(path, '/') + 1;
	struct header h = { .type = KSTAT_TYPE_RAW };
	struct ks_text all, line;

	if (unit->extra == NULL && (unit->extra = strdup(path)) == NULL)
		return -1;
	ks_name_set(unit->module, sizeof(unit->module), module, (size_t)(name - module) - 1);
	ks_name_set(unit->name, sizeof(unit->name), name, strlen(name));
	if (strcmp(name, "state") == 0) {
		unit->parts = 1u << PART_STATE;
		return 0;
	}
	/* The pool's own I/O is of module zfs, see below. */
	if (!ks_scan_wants(lx->scan, unit->module, NULL, NULL) &&
	    (strncmp(unit->module, "zfs/", 4) != 0 || !ks_scan_wants(lx->scan, "zfs", "disk", NULL)))
		return 0;
	if (read_path(lx, path) != 0)
		return 0;
	all = ks_text_of(lx->scratch.data, lx->scratch.len);
	if (!ks_text_line(&all, &line))
		return 0;
	if (!parse_header(line, &h)) {
		if (is_odd(line))
			ks_linux_odd_line(lx, lx->im, &line);
		return 0;
	}
	/* A recorded tree may have been put together of several machines'. */
	if (unit->crtime == 0 && h.crtime <= (uint64_t)ks_linux_now(lx))
		unit->crtime = (hrtime_t)h.crtime;
	if (h.type == KSTAT_TYPE_NAMED) {
		unit->parts = 1u << PART_NAMED;
	} else if (h.type == KSTAT_TYPE_IO && strncmp(unit->module, "zfs/", 4) == 0) {
		/* The pool's own I/O: zfs:0:POOL. */
		ks_name_set(unit->name, sizeof(unit->name), module + 4, (size_t)(name - module) - 5);
		ks_name_set(unit->module, sizeof(unit->module), "zfs", 3);
		unit->parts = 1u << PART_IO;
	} else if (h.type == KSTAT_TYPE_IO) {
		unit->parts = 1u << PART_IO;
	}
	return 0;
}

static int
scan_file(struct ks_linux *lx, struct ks_units *units, const char *path)
{
	char key[KS_UNIT_NAME];
	struct ks_unit *unit;
	bool is_new;

	unit = ks_units_see(units, key, ks_key_of_path(key, path), 0, &is_new);
	if (unit == NULL)
		return -1;
	if (is_new)
		return set_up(lx, unit, path);
	if (unit->parts != 0 || !ks_linux_is_unreadable(lx, KS_ROOT_PROC, path))
		return 0;
	/* It could not be read before. */
	if (set_up(lx, unit, path) != 0)
		return -1;
	units->changed |= unit->parts != 0;
	return 0;
}

static int
scan_directory(struct ks_linux *lx, struct ks_units *units, const char *path, int depth)
{
	DIR *dir = ks_linux_open_directory(lx, KS_ROOT_PROC, path);
	const struct dirent *e;
	bool any = false;
	int rc = 0;

	if (dir == NULL)
		return 0;
	while (rc == 0 && (e = ks_linux_next_entry(lx, dir)) != NULL) {
		char below[512];
		int n = snprintf(below, sizeof(below), "%s/%s", path, e->d_name);

		if (e->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof(below))
			continue;
		any = true;
		if (e->d_type == DT_DIR)
			rc = depth > 1 ? scan_directory(lx, units, below, depth - 1) : 0;
		else if (depth < MAX_DEPTH)
			rc = scan_file(lx, units, below);
	}
	(void)closedir(dir);
	/* A pool has files. An empty directory is in the place of a file that was not recorded. */
	if (!any && depth == 1 && !lx->root[KS_ROOT_PROC].kernel)
		ks_linux_note_path(lx, KS_ROOT_PROC, path, EISDIR);
	return rc;
}

struct state {
	hrtime_t asked; /* when the directory was looked for last */
};

#define ASK_AGAIN 10 /* seconds after which it is asked whether a module was loaded */

/* True if kstats of OpenZFS may be wanted. */
static bool
is_wanted(const struct ks_linux *lx)
{
	return ks_scan_wants(lx->scan, "zfs", "misc", NULL) ||
	    ks_scan_wants(lx->scan, "zfs/pool", "misc", NULL);
}

/*
 * Without the module there is no directory, and loading a module is an event. Where events are not counted,
 * the directory is looked for; a path that is not in /proc costs a tenth of a tick of mpstat, which does not
 * want these kstats.
 */
static bool
is_known_absent(struct ks_linux *lx, const struct ks_units *units)
{
	struct state *s = lx->sub[KS_SUB_spl].state;
	hrtime_t now;

	if (units->scanned && lx->settled)
		return true;
	now = gethrtime();
	if (units->scanned && !lx->counts_events && lx->root[KS_ROOT_PROC].kernel && !is_wanted(lx) &&
	    now - s->asked < ASK_AGAIN * KS_NANOSEC)
		return true;
	s->asked = now;
	return !ks_linux_exists(lx, KS_ROOT_PROC, ROOT) && errno == ENOENT;
}

static int
scan_spl(struct ks_linux *lx, struct ks_units *units)
{
	if (units->n == units->dead && is_known_absent(lx, units)) {
		units->scanned = true;
		return 0;
	}
	ks_units_begin(units);
	return scan_directory(lx, units, ROOT, MAX_DEPTH) == 0 ? ks_units_end(units) : -1;
}

KS_SUBSYSTEM(spl, parts, .scan = scan_spl, .state_size = sizeof(struct state));
