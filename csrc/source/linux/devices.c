/* devices.c - see devices.h. SPDX-License-Identifier: MIT */
#include "source/linux/devices.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

#define MOST_DEVICES 8192 /* of a directory: a limit for one that lies */
#define LONGEST_FILE 512  /* longer ones are cut */

/* --- reading ----------------------------------------------------------------------------------- */

/* A number with an optional 0x, or with a suffix such as kB or M where sizes are counted. */
static bool
parse_u64(struct ks_text t, bool is_size, uint64_t *v)
{
	static const char suffixes[] = "kMGTP";
	const char *suffix;
	uint64_t whole, tenths = 0;

	ks_text_skip(&t);
	if (ks_text_starts(&t, "0x")) {
		*v = strtoull(t.p, NULL, 16); /* the text ends in a NUL */
		/* Drivers show -1 for what they do not count. */
		return ks_text_size(&t) > 2 && isxdigit((unsigned char)t.p[2]) && *v != UINT64_MAX;
	}
	if (!ks_text_u64(&t, &whole))
		return false;
	*v = whole;
	if (!is_size)
		return true;
	if (ks_text_starts(&t, ".") && ks_text_size(&t) > 1 && isdigit((unsigned char)t.p[1])) {
		tenths = (uint64_t)(t.p[1] - '0');
		t.p += 2;
	}
	ks_text_skip(&t);
	suffix = t.p < t.end ? strchr(suffixes, *t.p == 'K' ? 'k' : *t.p) : NULL;
	if (suffix != NULL && *suffix != '\0') {
		uint64_t unit = 1024ULL << 10 * (suffix - suffixes);

		return !__builtin_mul_overflow(whole, unit, v) && !__builtin_add_overflow(*v, unit * tenths / 10, v);
	}
	return true;
}

/* Sets the value of a field from the part of a file that is its own. */
static void
set_value(const struct ks_field *f, size_t i, struct ks_text t, struct ks_values *vals,
    struct ks_texts *texts)
{
	int64_t number;
	uint64_t v;

	if (f->data == KSTAT_DATA_STRING) {
		ks_have_copy(vals, i, texts, t);
	} else if (f->data == KSTAT_DATA_INT64 || f->data == KSTAT_DATA_INT32) {
		ks_text_skip(&t);
		if (ks_scan_i64(&t.p, t.end, &number) == 0)
			ks_have(vals, i, (uint64_t)number);
	} else if (parse_u64(t, f->meta.type == KSTAT2_NVMT_BYTES, &v)) {
		ks_have(vals, i, v);
	}
}

/* Finds the part of a file's text that a key means: what stands behind the path in the key (devices.h). */
static bool
find_part(const char *part, struct ks_text t, struct ks_text *found)
{
	unsigned long n = *part == '#' ? strtoul(part + 1, NULL, 10) : 0;
	struct ks_text last = t;

	*found = t;
	if (*part == '\0')
		return true;
	while (ks_text_word(&t, found)) {
		if (*part == '#' && n-- == 0)
			return true;
		if (*part == '?' && ks_text_is(found, part + 1))
			return ks_text_word(&t, found);
		if (*part == '*' && ks_text_is(found, "*")) {
			*found = last;
			return true;
		}
		last = *found;
		if (*part == '[' && *found->p == '[' && found->end[-1] == ']') {
			found->p++;
			found->end--;
			return found->p < found->end;
		}
	}
	return false;
}

/*
 * Stores what a key means that is about the directory itself: the name of it, of the one above, or its path. False if
 * it is another key.
 */
static bool
find_place(const struct ks_dir *dir, const char *key, char path[LONGEST_FILE], struct ks_text *found)
{
	const char *below = dir->below != NULL ? dir->below : "";
	bool whole = strcmp(key, "/") == 0, outer = strcmp(key, "..") == 0;
	char *name;

	if (!whole && !outer && strcmp(key, ".") != 0)
		return false;
	(void)snprintf(path, LONGEST_FILE, "%s/%s", dir->name != NULL ? dir->name : "", below);
	if (outer && (name = strrchr(path, '/')) != NULL)
		*name = '\0';
	name = whole ? path : strrchr(path, '/') + 1;
	*found = ks_text_of(name, strlen(name));
	return true;
}

void
ks_attributes_read(const struct ks_dir *dir, const struct ks_field *fields, uint64_t *absent,
    struct ks_values *vals, struct ks_texts *texts)
{
	char path[64] = "", file[LONGEST_FILE], place[LONGEST_FILE];
	bool missing = false;
	int len = -1;

	for (size_t i = 0; fields[i].meta.stat != NULL; i++) {
		const char *key = fields[i].key;
		size_t n = key != NULL ? strcspn(key, "#?[*") : 0;
		struct ks_text part;

		if (n == 0 || n >= sizeof(path) || (*absent >> i & 1) != 0)
			continue;
		if (find_place(dir, key, place, &part)) {
			set_value(&fields[i], i, part, vals, texts);
			continue;
		}
		if (strncmp(path, key, n) != 0 || path[n] != '\0') {
			ks_name_set(path, sizeof(path), key, n);
			len = ks_file_small(dir, path, file, sizeof(file));
			for (int k = 0; k < len; k++)
				file[k] = file[k] == '\n' ? ' ' : file[k];
			missing = len < 0 && errno == ENOENT && dir->kernel;
		}
		if (missing)
			*absent |= 1ULL << i;
		if (len >= 0 && find_part(key + n, ks_text_of(file, (size_t)len), &part))
			set_value(&fields[i], i, part, vals, texts);
	}
}

bool
ks_count_entries(struct ks_linux *lx, const struct ks_dir *dir, const char *path,
    int (*classify)(const struct ks_dir *entries, const char *name), uint64_t *counts)
{
	DIR *list = ks_dir_list(dir, path);
	const struct dirent *e;
	struct ks_dir entries;

	if (list == NULL)
		return false;
	entries = (struct ks_dir){ .fd = dirfd(list), .kernel = dir->kernel, .lack = dir->lack };
	while ((e = ks_linux_next_entry(lx, list)) != NULL) {
		int kind = e->d_name[0] != '.' ? classify(&entries, e->d_name) : -1;

		if (kind >= 0)
			counts[kind]++;
	}
	(void)closedir(list);
	return true;
}

int
ks_devices_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_devices *d = lx->part->devices;
	const struct ks_dir *root = &lx->root[d->root];
	struct ks_device *dev = unit->extra;
	char text[2048];
	struct ks_texts texts = { text, sizeof(text), 0 };
	struct ks_values vals = { .have = 0 };
	const struct ks_dir dir = ks_dir_below(root, dev->path);

	ks_attributes_read(&dir, lx->part->fields, &dev->absent, &vals, &texts);
	if (d->add != NULL)
		d->add(lx, &dir, dev, &vals);
	if (vals.have == 0 && !ks_dir_exists(&dir)) {
		return errno == ENOENT ? ks_linux_gone(unit) :
		    ks_fail(errno, "cannot read %s/%s: %s", root->name, dev->path, strerror(errno));
	}
	ks_fields_add(r, lx->part->fields, &vals);
	return 0;
}

/* --- scanning ------------------------------------------------------------------------------ */

/* The first number of a name; 0 if it has none that fits. */
static int
number_of(const char *name)
{
	const char *p = name + strcspn(name, "0123456789");
	uint64_t v;

	return ks_scan_u64(&p, name + strlen(name), &v) == 0 && v <= INT32_MAX ? (int)v : 0;
}

/* Reads the device's label as the name of its kstat; older drivers have it one level below. */
static bool
read_label(struct ks_linux *lx, struct ks_unit *unit, const struct ks_devices *d, const char *below)
{
	char path[600];

	(void)snprintf(path, sizeof(path), "%s/%s%s", ((struct ks_device *)unit->extra)->path, below, d->label);
	return ks_file_small(&lx->root[d->root], path, unit->name, sizeof(unit->name)) > 0;
}

static void
name_device(struct ks_linux *lx, struct ks_unit *unit, const struct ks_devices *d, const char *outer,
    const char *inner)
{
	const char *directory = inner != NULL ? inner : outer;
	char name[256];

	if (d->by != KS_BY_NAME || inner != NULL)
		unit->instance = number_of(d->by == KS_BY_OUTER || d->by == KS_BY_BOTH ? directory : outer);
	ks_name_set(name, sizeof(name), d->by == KS_BY_OUTER ? outer : directory,
	    strlen(d->by == KS_BY_OUTER ? outer : directory));
	if (d->by == KS_BY_BOTH)
		(void)snprintf(name, sizeof(name), "%.64s,%.64s", inner, outer);
	if (d->label != NULL && (read_label(lx, unit, d, "") || read_label(lx, unit, d, "device/")))
		ks_name_set(name, sizeof(name), unit->name, strlen(unit->name));
	for (char *s = name; *s != '\0'; s++) {
		if (*s == ':' || *s == '\n')
			*s = '_';
	}
	ks_name_set(unit->name, sizeof(unit->name), name, strlen(name));
}

/* Adds the device of a directory. Returns 1; 0 if it is none; -1 without memory. */
static int
add_device(struct ks_linux *lx, struct ks_units *units, size_t part, const struct ks_devices *d,
    const char *outer, const char *inner, uint64_t ident)
{
	char path[512], key[KS_UNIT_NAME], file[600];
	struct ks_unit *unit;
	bool is_new;
	int n = snprintf(path, sizeof(path), "%s%s%s%s%s%s%s", d->path, outer != NULL ? "/" : "",
	    outer != NULL ? outer : "", inner != NULL && *d->inside != '\0' ? "/" : "",
	    inner != NULL ? d->inside : "", inner != NULL ? "/" : "", inner != NULL ? inner : "");

	(void)snprintf(file, sizeof(file), "%s/%s", path, d->needs != NULL ? d->needs : "");
	if (n >= (int)sizeof(path) || (d->needs != NULL && !ks_linux_exists(lx, d->root, file)))
		return 0;
	/* One directory may have devices of two parts. */
	(void)snprintf(file, sizeof(file), "%c%s", (char)('A' + part), path);
	unit = ks_units_see(units, key, ks_key_of_path(key, file), ident, &is_new);
	if (unit == NULL)
		return -1;
	if (!is_new) {
		((struct ks_device *)unit->extra)->absent = 0;
		return 1;
	}
	unit->extra = calloc(1, sizeof(struct ks_device) + (size_t)n + 1);
	if (unit->extra == NULL)
		return -1;
	memcpy(((struct ks_device *)unit->extra)->path, path, (size_t)n + 1);
	unit->parts = (uint16_t)(1u << part);
	name_device(lx, unit, d, outer != NULL ? outer : path, inner);
	return 1;
}

struct entry {
	uint64_t inode;
	char name[64];
};

static int
by_name(const void *a, const void *b)
{
	return strverscmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/*
 * Lists the directories in a directory whose names have a prefix, so that cpu2 comes before cpu10. Returns how many
 * there are, or -1 without memory. The caller frees the list in either case.
 */
static int
list(struct ks_linux *lx, const struct ks_devices *d, const char *path, const char *prefix, struct entry **list)
{
	DIR *dir = ks_linux_open_directory(lx, d->root, path);
	const struct dirent *e;
	size_t n = 0, cap = 0;

	*list = NULL;
	if (dir == NULL)
		return 0;
	while (n < MOST_DEVICES && (e = ks_linux_next_entry(lx, dir)) != NULL) {
		if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, strlen(prefix)) != 0 || e->d_type == DT_REG ||
		    strlen(e->d_name) >= sizeof((*list)->name))
			continue;
		if (!KS_RESERVE(*list, cap, n + 1)) {
			(void)closedir(dir);
			return -1;
		}
		(*list)[n].inode = e->d_ino;
		ks_name_set((*list)[n].name, sizeof((*list)[n].name), e->d_name, strlen(e->d_name));
		n++;
	}
	(void)closedir(dir);
	if (n > 0)
		qsort(*list, n, sizeof(**list), by_name);
	return (int)n;
}

/* Adds the devices inside a directory, or the directory itself if it is the device. Returns as add_device() does. */
static int
add_inner(struct ks_linux *lx, struct ks_units *units, size_t part, const struct ks_devices *d,
    const struct entry *outer)
{
	struct entry *inner = NULL;
	char path[512];
	int n, rc = 0;

	if (d->inside == NULL)
		return add_device(lx, units, part, d, outer->name, NULL, outer->inode);
	(void)snprintf(path, sizeof(path), "%s/%s/%s", d->path, outer->name, d->inside);
	n = list(lx, d, path, d->inner, &inner);
	for (int i = 0; i < n && rc >= 0; i++)
		rc = add_device(lx, units, part, d, outer->name, inner[i].name, inner[i].inode);
	free(inner);
	return n < 0 ? -1 : rc;
}

/* The entries of a directory, which several parts may look for their devices in. */
struct directory {
	const struct ks_devices *of;
	struct entry *v;
	int n; /* -1 without memory */
};

/* Adds all devices of a part. last: the directory that was listed last. Returns 0, or -1 without memory. */
static int
add_all(struct ks_linux *lx, struct ks_units *units, size_t part, const struct ks_devices *d,
    struct directory *last)
{
	int rc = 0, tried = 0;

	if (d->prefix == NULL)
		return ks_linux_exists(lx, d->root, d->path) &&
		    add_device(lx, units, part, d, NULL, NULL, 0) < 0 ? -1 : 0;
	if (last->of == NULL || last->of->root != d->root || strcmp(last->of->path, d->path) != 0) {
		free(last->v);
		last->of = d;
		last->n = list(lx, d, d->path, "", &last->v);
	}
	for (int i = 0; i < last->n && rc >= 0 && !(rc == 0 && tried == 1 && d->alike); i++) {
		if (strncmp(last->v[i].name, d->prefix, strlen(d->prefix)) == 0) {
			rc = add_inner(lx, units, part, d, &last->v[i]);
			tried++;
		}
	}
	return last->n < 0 || rc < 0 ? -1 : 0;
}

int
ks_devices_scan(struct ks_linux *lx, struct ks_units *units)
{
	size_t sub = ks_linux_subsystem_of(lx, units);
	const struct ks_subsystem *subsystem = ks_linux_subsystem(sub);
	struct directory last = { NULL, NULL, 0 };
	int rc = 0;

	ks_units_begin(units);
	for (size_t i = 0; rc == 0 && i < subsystem->nparts; i++) {
		if ((lx->sub[sub].wanted >> i & 1) != 0 && subsystem->parts[i].devices != NULL)
			rc = add_all(lx, units, i, subsystem->parts[i].devices, &last);
	}
	free(last.v);
	return rc == 0 ? ks_units_end(units) : -1;
}
