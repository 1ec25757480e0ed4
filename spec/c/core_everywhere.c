/*
 * core_everywhere.c - cuts a file of kstats off at every byte, and changes every byte of it, and reads what is left.
 *
 *     core_everywhere past PATH COPY [CHANGES]    a recording, a capture, or a directory of them; COPY is a new file or
 *                                                 directory, of which one file is damaged at a time
 *     core_everywhere names PATH COPY             cuts and changes the names in a directory
 *     core_everywhere segment [CHANGES]           published kstats; KSTAT_DIR is set
 *
 * CHANGES: in how many ways each byte is changed (1). Wherever the damage is, the samples before it are the true ones.
 * Of a recording so are those behind it; what is missing is told in one line; and it takes no longer than reading the
 * whole. A capture and the values of published kstats have no checks: there what is changed may show another value.
 * Prints what was tried, and a line for each place where it is not so. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chain/chain.h"
#include "check.h"
#include "kstat_blob.h"
#include "kstat_provider.h"
#include "output/render.h"
#include "provider/segment/directory.h"
#include "provider/segment/segment.h"
#include "source/replay/recording/frame_file.h"
#include "source/replay/replay.h"
#include "source/sources.h"

#define MOST 2000       /* samples, or kstats */
#define MOST_FILES 16
#define LONGEST 3000000 /* us of processor time that a reading takes at most: a thousand times what it does take */
#define MOST_TOLD 20    /* places that are printed */

/* What a reading gave: the text of each sample, or of each kstat. */
struct reading {
	char *text[MOST];
	size_t sample[MOST]; /* in which it is */
	size_t n;
	unsigned lines; /* warnings, and the error */
	char line[512]; /* the first of these */
};

static unsigned long cuts, changed, told, longest;

static void
free_reading(struct reading *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->text[i]);
	r->n = 0;
}

static void
tell(struct reading *r, const char *line)
{
	/* The step behind a damaged sample says so again; what damage made of the times is no damage. */
	if ((r->lines > 0 && strcmp(r->line, line) == 0) || strncmp(line, "clocks were set back", 20) == 0 ||
	    strncmp(line, "nothing was recorded", 20) == 0)
		return;
	if (r->lines++ == 0)
		(void)snprintf(r->line, sizeof(r->line), "%s", line);
}

static void
tell_warnings(struct reading *r, kstat_ctl_t *kc)
{
	const char *line;

	while ((line = ks_chain_warning(kc)) != NULL)
		tell(r, line);
}

static int
append(void *buf, const char *p, size_t n)
{
	ks_buf_add(buf, p, n);
	return 0;
}

/* A sample with its time of day, or one kstat of it; what is read of a live one changes its snaptime. */
static char *
text_of(kstat_ctl_t *kc, const kstat_t *only, bool is_live)
{
	static const struct ks_selector everything;
	const struct ks_selector *selectors[] = { &everything };
	struct ks_buf b = KS_BUF_INIT;

	if (only == NULL) {
		ks_buf_addf(&b, "%lld ", (long long)ks_chain_time_of_day(kc, NULL));
		(void)ks_render_write(kc, selectors, 1, KS_FORMAT_JSON_CLASS, append, &b);
	} else {
		struct ks_values v = { NULL, 0, 0 };

		ks_buf_addf(&b, "%s:%d:%s ", only->ks_module, only->ks_instance, only->ks_name);
		(void)ks_values_collect(&v, only, true);
		for (size_t i = 0; i < v.n; i++) {
			ks_buf_addf(&b, "%s=", v.pair[i].name);
			if (!is_live || strcmp(v.pair[i].name, "snaptime") != 0)
				ks_render_value(&b, &v.pair[i].value);
		}
		ks_values_free(&v);
	}
	ks_buf_add(&b, "", 1);
	return b.data;
}

/* Reads samples, or each kstat of them. */
static void
read_replay(struct reading *r, const char *path, bool each)
{
	kstat_ctl_t *kc;
	size_t sample = 0;

	memset(r, 0, sizeof(*r));
	kc = ks_chain_open_replay(&(struct ks_past){ .paths = path }, NULL);
	if (kc == NULL) {
		tell(r, kstat_errmsg());
		return;
	}
	do {
		tell_warnings(r, kc);
		for (const kstat_t *k = each ? kc->kc_chain : NULL; k != NULL && r->n < MOST; k = k->ks_next) {
			(void)kstat_read(kc, (kstat_t *)k, NULL);
			r->sample[r->n] = sample;
			r->text[r->n++] = text_of(kc, k, false);
		}
		if (!each) {
			r->sample[r->n] = sample;
			r->text[r->n++] = text_of(kc, NULL, false);
		}
		sample++;
		if (ks_chain_step(kc) < 0) {
			tell(r, kstat_errmsg());
			break;
		}
	} while (!ks_chain_ended(kc) && r->n < MOST);
	tell_warnings(r, kc);
	(void)kstat_close(kc);
}

static void
read_samples(struct reading *r, const char *path)
{
	read_replay(r, path, false);
}

static void
read_kstats(struct reading *r, const char *path)
{
	read_replay(r, path, true);
}

static void
read_segments(struct reading *r, const char *path)
{
	kstat_ctl_t *kc = ks_chain_open_source(ks_source_segment_open(), NULL);

	(void)path;
	memset(r, 0, sizeof(*r));
	if (kc == NULL) {
		tell(r, kstat_errmsg());
		return;
	}
	for (kstat_t *k = kc->kc_chain; k != NULL && r->n < MOST; k = k->ks_next) {
		if (kstat_read(kc, k, NULL) >= 0)
			r->text[r->n++] = text_of(kc, k, true);
		else
			tell(r, kstat_errmsg());
	}
	tell_warnings(r, kc);
	(void)kstat_close(kc);
}

static unsigned long
processor_time(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (unsigned long)t.tv_sec * 1000000 + (unsigned long)t.tv_nsec / 1000;
}

/* --- what must be so --------------------------------------------------------------------------------------- */

static void
wrong(const char *file, const char *how, size_t at, const char *what, const struct reading *r)
{
	failures++;
	if (told++ < MOST_TOLD)
		printf("%s, %s %zu: %s; %zu read, %u lines: %s\n", file, how, at, what, r->n, r->lines,
		    r->lines > 0 ? r->line : "");
}

/* How many of the texts are those of the truth, in order, from the first on: it goes on behind what is missing. */
static bool
is_part_of(const struct reading *r, const struct reading *truth)
{
	size_t i = 0;

	for (size_t t = 0; t < truth->n && i < r->n; t++)
		i += strcmp(r->text[i], truth->text[t]) == 0;
	return i == r->n;
}

static bool
begins_with(const struct reading *r, const struct reading *truth, size_t from, size_t n)
{
	bool same = r->n >= n && truth->n >= from + n;

	for (size_t i = 0; i < n && same; i++)
		same = strcmp(r->text[i], truth->text[from + i]) == 0;
	return same;
}

static bool
has_all(const struct reading *r, const struct reading *truth, size_t from, size_t n)
{
	size_t i = 0, t = from;

	for (; i < r->n && t < from + n; i++)
		t += strcmp(r->text[i], truth->text[t]) == 0;
	return t == from + n;
}

/* The file that is damaged among those of the truth: its samples are `first` to `first + n`. */
struct damaged {
	const char *name, *path; /* for messages, and of the copy */
	const char *all;         /* what is read: the path or its directory */
	void (*read)(struct reading *, const char *);
	const struct reading *truth;
	size_t first, n;
	bool has_checks; /* a changed byte is noticed */
	bool is_packed;  /* nothing is read behind it */
	char *bytes;
	size_t size;
	size_t *whole; /* how many samples are in the first bytes, for each number of these */
};

static void
look(struct reading *r, const struct damaged *d, const char *how, size_t at)
{
	unsigned long start = processor_time(), took;

	d->read(r, d->all);
	took = processor_time() - start;
	if (took > longest)
		longest = took;
	if (took > LONGEST)
		wrong(d->name, how, at, "takes too long", r);
	/* Without checks: what is left out of an array, and why the rest of it is not read; packed ones change to the end. */
	if (r->lines > (d->has_checks ? 1 : d->is_packed ? 2 * d->truth->n + 1 : 2))
		wrong(d->name, how, at, "more than one line", r);
	for (const char *p = r->line; *p != '\0'; p++) {
		if ((unsigned char)*p < ' ')
			wrong(d->name, how, at, "a control character", r);
	}
	/* Samples of other files are all there. */
	if (!has_all(r, d->truth, 0, d->first) ||
	    !has_all(r, d->truth, d->first + d->n, d->truth->n - d->first - d->n))
		wrong(d->name, how, at, "samples of another file are missing", r);
}

static void
store(const struct damaged *d, size_t n)
{
	int fd = open(d->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, d->bytes, n) != (ssize_t)n || close(fd) != 0)
		exit(2);
}

static void
cut_everywhere(struct damaged *d)
{
	struct reading r;
	size_t others = d->truth->n - d->n, before = 0;

	for (size_t at = 0; at <= d->size; at++, cuts++) {
		store(d, at);
		look(&r, d, "cut at", at);
		if (!is_part_of(&r, d->truth))
			wrong(d->name, "cut at", at, "a sample that is not true", &r);
		d->whole[at] = r.n - others;
		if (d->whole[at] != before && d->whole[at] != before + 1)
			wrong(d->name, "cut at", at, "not the samples before it", &r);
		/* Where a sample ends nothing is missing that could be known; nor is a file that has none, beside others. */
		if (r.lines == 0 && d->whole[at] < d->n && d->whole[at] == before && d->has_checks &&
		    (others == 0 || before > 0))
			wrong(d->name, "cut at", at, "silent", &r);
		before = d->whole[at];
		free_reading(&r);
	}
	CHECK(before == d->n);
}

/* True if all is there but what is in the sample of a byte, and in the next one, whose beginning it may hide. */
static bool
has_behind(const struct reading *r, const struct damaged *d, size_t at)
{
	const struct reading *t = d->truth;
	size_t behind = d->first + d->whole[at], last = behind < t->n ? t->sample[behind] + 1 : t->n;

	for (; behind < t->n; behind++) {
		size_t i = 0;

		while (t->sample[behind] > last && i < r->n && strcmp(r->text[i], t->text[behind]) != 0)
			i++;
		if (i == r->n && t->sample[behind] > last)
			return false;
	}
	return true;
}

static void
change_everywhere(struct damaged *d, int ways)
{
	struct reading r;

	for (size_t at = 0; at < d->size; at++) {
		for (int i = 0; i < ways; i++, changed++) {
			char was = d->bytes[at];

			d->bytes[at] ^= (char)(1 << (at + (size_t)i) % 8);
			store(d, d->size);
			d->bytes[at] = was;
			look(&r, d, "changed at", at);
			if (!begins_with(&r, d->truth, 0, d->first + d->whole[at]))
				wrong(d->name, "changed at", at, "not the samples before it", &r);
			if (d->has_checks && !is_part_of(&r, d->truth))
				wrong(d->name, "changed at", at, "a sample that is not true", &r);
			if (r.n > d->truth->n)
				wrong(d->name, "changed at", at, "more than there is", &r);
			if (!d->has_checks && !d->is_packed && !has_behind(&r, d, at))
				wrong(d->name, "changed at", at, "not the samples behind it", &r);
			if (r.n < d->truth->n && r.lines == 0)
				wrong(d->name, "changed at", at, "silent", &r);
			free_reading(&r);
		}
	}
	store(d, d->size);
}

/* --- recordings and captures --------------------------------------------------------------------------------- */

static char *
load(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *bytes = NULL;

	if (f != NULL && stat(path, &st) == 0)
		bytes = malloc((*n = (size_t)st.st_size) + 1);
	if (bytes == NULL || fread(bytes, 1, *n, f) != *n || fclose(f) != 0)
		exit(2);
	return bytes;
}

static bool
is_recording(const char *bytes, size_t n)
{
	return n > KS_REC_MAGIC_SIZE && memcmp(bytes, KS_REC_MAGIC, KS_REC_MAGIC_SIZE) == 0;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a directory in order; of a file that is none, itself as "". */
static size_t
list(const char *path, char *name[MOST_FILES])
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	size_t n = 0;

	while (dir != NULL && n < MOST_FILES && (e = readdir(dir)) != NULL) {
		if (*e->d_name != '.')
			name[n++] = strdup(e->d_name);
	}
	if (dir == NULL)
		name[n++] = strdup("");
	else
		(void)closedir(dir);
	qsort(name, n, sizeof(name[0]), compare_names);
	return n;
}

/* The path of a file below another one; the caller frees it. */
static char *
below(const char *path, const char *name)
{
	char *p = NULL;

	if (asprintf(&p, *name != '\0' ? "%s/%s" : "%s%s", path, name) < 0)
		exit(2);
	return p;
}

static void
free_damaged(struct damaged *d)
{
	free(d->bytes);
	free(d->whole);
}

/* Prepares the damage of a file of PATH, whose copy it makes. */
static struct damaged
prepare(const char *from, const char *copy, const char *all, const struct reading *truth, size_t first)
{
	struct damaged d = { .name = from, .path = copy, .all = all, .truth = truth, .first = first };
	struct reading own;

	d.bytes = load(from, &d.size);
	d.whole = calloc(d.size + 1, sizeof(*d.whole));
	d.has_checks = is_recording(d.bytes, d.size);
	d.is_packed = d.size > 0 && d.bytes[0] == '\037';
	d.read = d.has_checks ? read_samples : read_kstats;
	d.read(&own, from);
	d.n = own.n;
	free_reading(&own);
	store(&d, d.size);
	return d;
}

static size_t
copy_all(const char *path, const char *copy, char *name[MOST_FILES], char *copies[MOST_FILES],
    struct damaged d[MOST_FILES], struct reading *truth)
{
	size_t n = list(path, name), first = 0, size;
	char *one = below(path, name[0]), *bytes = load(one, &size);

	read_replay(truth, path, !is_recording(bytes, size));
	free(bytes);
	free(one);
	if (n == 0 || truth->n == 0 || truth->lines > 0)
		exit(2);
	if (*name[0] != '\0' && mkdir(copy, 0700) != 0)
		exit(2);
	for (size_t i = 0; i < n; i++) {
		char *from = below(path, name[i]);

		copies[i] = below(copy, name[i]);
		d[i] = prepare(from, copies[i], copy, truth, first);
		d[i].name = name[i];
		first += d[i].n;
		free(from);
	}
	CHECK(first == truth->n);
	return n;
}

static void
past(const char *path, const char *copy, int ways)
{
	static struct reading truth;
	static struct damaged d[MOST_FILES];
	char *name[MOST_FILES], *copies[MOST_FILES];
	size_t n = copy_all(path, copy, name, copies, d, &truth);

	for (size_t i = 0; i < n; i++) {
		cut_everywhere(&d[i]);
		change_everywhere(&d[i], ways);
	}
	for (size_t i = 0; i < n; i++) {
		free_damaged(&d[i]);
		free(name[i]);
		free(copies[i]);
	}
	free_reading(&truth);
}

/* The same in any order: a name far from a file's time is believed, and the clocks are said to be set back. */
static bool
is_subset_of(const struct reading *r, const struct reading *truth)
{
	for (size_t i = 0; i < r->n; i++) {
		size_t t = 0, same = 0;

		while (t < truth->n && strcmp(r->text[i], truth->text[t]) != 0)
			t++;
		for (size_t j = 0; j < r->n; j++)
			same += strcmp(r->text[i], r->text[j]) == 0;
		if (t == truth->n || same != 1)
			return false;
	}
	return true;
}

/* What is read of a directory in which a file has another name: each sample at most once, and no other one. */
static void
rename_to(const struct damaged *d, const char *to, size_t at)
{
	char *path = below(d->all, to);
	struct reading r;
	struct stat st;

	if (lstat(path, &st) != 0 && rename(d->path, path) == 0) {
		look(&r, d, "name changed at", at);
		if (!is_subset_of(&r, d->truth))
			wrong(to, "name changed at", at, "a sample that is not true", &r);
		if (r.n < d->truth->n && r.n != d->truth->n - d->n)
			wrong(to, "name changed at", at, "a part of the file", &r);
		changed++;
		free_reading(&r);
		if (rename(path, d->path) != 0)
			exit(2);
	}
	free(path);
}

static void
names(const char *path, const char *copy)
{
	static struct reading truth;
	static struct damaged d[MOST_FILES];
	char *name[MOST_FILES], *copies[MOST_FILES];
	size_t n = copy_all(path, copy, name, copies, d, &truth);

	for (size_t i = 0; i < n; i++) {
		for (size_t at = 0; name[i][at] != '\0'; at++) {
			char other[256];

			(void)snprintf(other, sizeof(other), "%.*s", (int)at, name[i]);
			if (at > 0)
				rename_to(&d[i], other, at);
			(void)snprintf(other, sizeof(other), "%s", name[i]);
			for (int bit = 0; bit < 8; bit++) {
				other[at] = (char)(name[i][at] ^ (1 << bit));
				if (other[at] != '/' && other[at] != '\0')
					rename_to(&d[i], other, at);
			}
		}
	}
	for (size_t i = 0; i < n; i++) {
		free_damaged(&d[i]);
		free(name[i]);
		free(copies[i]);
	}
	free_reading(&truth);
}

/* --- published kstats ------------------------------------------------------------------------------------------ */

static kstat_t *
publish_blob(kstat_pub_t *pub)
{
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_TDGSTCLUST32(4, 4) };
	int tpl = stats_tpl_alloc("everywhere", 0);
	kstat_t *k;

	if (tpl < 0 || stats_tpl_add_voistats((uint32_t)tpl, 0, "v", VSD_DTYPE_INT_S64, NVSS(vss), vss, 0) != 0)
		return NULL;
	k = kstat_publish_statsblob(pub, "every", 0, "blob", "misc", (uint32_t)tpl, 1, 0);
	if (k == NULL || kstat_install(k) != 0)
		return NULL;
	for (int i = 0; i < 20; i++)
		(void)kstat_blob_update_int(kstat_blob(k), 0, i, false);
	return k;
}

/* Kstats of all forms in one segment; exits where one cannot be made. */
static void
publish_all(kstat_pub_t *pub)
{
	kstat_t *io = kstat_publish_create(pub, "every", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	kstat_t *named = kstat_publish_create(pub, "every", 0, "named", "misc", KSTAT_TYPE_NAMED, 2, 0);
	kstat_t *timer = kstat_publish_create(pub, "every", 0, "timer", "misc", KSTAT_TYPE_TIMER, 1, 0);
	kstat2_t *times = kstat_publish_latency(pub, "every", 0, "times", NULL, 0, NULL, 1, 100, 1000);

	if (io == NULL || named == NULL || timer == NULL || times == NULL)
		exit(2);
	kstat_named_init(&KSTAT_NAMED_PTR(named)[0], "count", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(named)[1], "text", KSTAT_DATA_STRING);
	(void)kstat_named_setstr(&KSTAT_NAMED_PTR(named)[1], "what it does");
	kstat_timer_init(timer->ks_data, "event");
	if (kstat_publish_label(times, "route", "/search") != 0 || kstat_install(io) != 0 || kstat_install(named) != 0 ||
	    kstat_install(timer) != 0 || kstat2_install(times) != 0 || publish_blob(pub) == NULL)
		exit(2);
	kstat_counter_add(kstat_counter(named, "count"), 7);
	(void)kstat_ioq_count(kstat_ioq(io), KSTAT_IO_READ, 512);
	for (uint64_t i = 0; i < 10; i++)
		(void)kstat2_hist_add_value(times, 150 * i);
}

/* Where the kstat of a text lies in the segment: its number there, 0 for the header. */
static size_t
entry_of(const char *bytes, size_t size, size_t at)
{
	size_t n = 0;

	for (size_t from = KS_SEG_HEADER; from <= at && from + sizeof(struct ks_seg_entry) <= size; n++) {
		struct ks_seg_entry e;

		memcpy(&e, bytes + from, sizeof(e));
		from += e.size > 0 ? e.size : size;
	}
	return n;
}

/* A live segment of which nothing changes by itself, in the place of the one that was published. */
static int
copy_segment(struct damaged *d, char path[PATH_MAX])
{
	kstat_pub_t *pub = kstat_publish("every", 0);
	int fd;

	if (pub == NULL)
		exit(2);
	publish_all(pub);
	d->size = atomic_load(&pub->header->used);
	d->bytes = malloc(d->size);
	memcpy(d->bytes, pub->header, d->size);
	kstat_publish_path(pub, path, PATH_MAX);
	kstat_unpublish(pub);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, d->bytes, d->size, 0) != (ssize_t)d->size || ks_seg_hold(fd) != 0)
		exit(2);
	return fd;
}

/* Of the kstats that are not damaged each is there at most once, as it is; those before the damage are there. */
static void
compare_kstats(const struct damaged *d, const struct reading *r, const char *how, size_t at)
{
	size_t entry = entry_of(d->bytes, d->size, at), others = 0, before = 0;

	for (size_t i = 0; i < r->n; i++) {
		size_t t = 0;

		while (t < d->truth->n && strcmp(r->text[i], d->truth->text[t]) != 0)
			t++;
		others += t == d->truth->n;
		before += t + 1 < entry;
	}
	if (others > (entry > 0))
		wrong(d->name, how, at, "a kstat that is not true", r);
	if (entry > 1 && before < entry - 1)
		wrong(d->name, how, at, "a kstat before it is missing", r);
	if (r->n > d->truth->n)
		wrong(d->name, how, at, "more kstats than there are", r);
}

static void
segment(int ways)
{
	static struct reading truth;
	struct damaged d = { .name = "segment", .read = read_segments, .truth = &truth };
	char path[PATH_MAX];
	struct reading r;
	int fd = copy_segment(&d, path);

	read_segments(&truth, NULL);
	d.n = truth.n;
	CHECK(truth.n == 5 && truth.lines == 0);
	for (size_t at = 0; at < d.size; at++, cuts++) {
		if (ftruncate(fd, (off_t)at) != 0)
			exit(2);
		look(&r, &d, "cut at", at);
		compare_kstats(&d, &r, "cut at", at);
		if (r.n < truth.n && r.lines == 0)
			wrong(d.name, "cut at", at, "silent", &r);
		free_reading(&r);
		if (pwrite(fd, d.bytes, d.size, 0) != (ssize_t)d.size)
			exit(2);
	}
	for (size_t at = 0; at < d.size; at++) {
		for (int i = 0; i < ways; i++, changed++) {
			char byte = (char)(d.bytes[at] ^ (1 << (at + (size_t)i) % 8));

			if (pwrite(fd, &byte, 1, (off_t)at) != 1)
				exit(2);
			look(&r, &d, "changed at", at);
			compare_kstats(&d, &r, "changed at", at);
			free_reading(&r);
			if (pwrite(fd, &d.bytes[at], 1, (off_t)at) != 1)
				exit(2);
		}
	}
	(void)close(fd);
	(void)unlink(path);
	free(d.bytes);
	free_reading(&truth);
}

int
main(int argc, char **argv)
{
	if (argc >= 4 && strcmp(argv[1], "past") == 0)
		past(argv[2], argv[3], argc > 4 ? atoi(argv[4]) : 1);
	else if (argc == 4 && strcmp(argv[1], "names") == 0)
		names(argv[2], argv[3]);
	else if (argc >= 2 && strcmp(argv[1], "segment") == 0)
		segment(argc > 2 ? atoi(argv[2]) : 1);
	else
		return 2;
	printf("%lu cuts, %lu changes, %d wrong\n", cuts, changed, failures);
	(void)fprintf(stderr, "longest %lu us\n", longest);
	return failures > 0;
}
