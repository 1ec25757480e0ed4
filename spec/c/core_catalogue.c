/*
 * core_catalogue.c - prints the catalogue of the kstats of Linux, from the tables of the subsystems. `make doc`
 * writes the page, build/doc/kstats.md. Kinds of kstats with the same statistics share a section.
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/illumos.h"
#include "model/meta.h"
#include "model/raw_layout.h"
#include "source/linux/devices.h"
#include "source/linux/linux.h"

#define MOST_PARTS 512
#define MOST_ROWS 1024 /* statistics of a section */

static const char introduction[] =
    "# The catalogue of the kstats of Linux\n"
    "\n"
    "This page lists each kind of kstat that kstat can make of /proc, /sys and the kernel's other interfaces, with all\n"
    "statistics that it knows. `make doc` writes it from the tables of the program; what the numbers mean where\n"
    "Linux and Solaris differ is in linux.md. A machine has those of its devices and its kernel: a statistic\n"
    "whose source does not exist is absent. Statistics of newer kernels that are not here have a general sentence.\n"
    "\n"
    "In the names of kstats NAME, DRIVER and N stand for the name, the driver and the number of a device or another\n"
    "thing. Where names of statistics depend on the machine, there is an example of each: `temp1_max`, `sda_nread`.\n"
    "Kinds are counter (it grows; rates make sense), gauge (it goes up and down), text and time (a point in time).\n"
    "A unit is that of the value as it is stored, a statistic without a unit is a plain number. \"Linux\" is the first\n"
    "version that has the kstat or the statistic, where that is known and newer than 2.6. Members of I/O kstats\n"
    "that Linux does not count are 0.\n";

struct kind {
	const struct ks_subsystem *sub;
	const struct ks_part *part;
	bool is_done;
};

static struct kind kinds[MOST_PARTS];
static size_t nkinds;

/* --- names and sources ----------------------------------------------------------------------------- */

static void
print_pattern(const char *pattern, const char *unit)
{
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '@')
			fputs(unit, stdout);
		else
			putchar(*pattern == '#' ? 'N' : *pattern);
	}
}

static bool
is_fixed(const char *pattern)
{
	return strpbrk(pattern, "@#") == NULL;
}

/* True if there is one kstat of this kind, whose instance is 0. */
static bool
is_single(const struct kind *k)
{
	const struct ks_part *p = k->part;

	return is_fixed(p->module) && is_fixed(p->name) &&
	    (k->sub->scan == NULL || (p->file != NULL && strcmp(p->module, "nfs") != 0) ||
	    strcmp(p->module, "unix") == 0 || strcmp(p->module, "tcp_state") == 0);
}

static void
print_title(const struct kind *k)
{
	const struct ks_part *p = k->part;

	putchar('`');
	if (p->title != NULL) {
		fputs(p->title, stdout);
	} else {
		print_pattern(p->module, "DRIVER");
		fputs(is_single(k) ? ":0:" : ":N:", stdout);
		print_pattern(p->name, "NAME");
	}
	putchar('`');
}

/* Prints the path of directories of devices, such as /sys/class/thermal/thermal_zone*. */
static void
print_devices(const struct ks_devices *d)
{
	printf("`/%s/%s", d->root == KS_ROOT_PROC ? "proc" : "sys", d->path);
	if (d->prefix != NULL)
		printf("/%s*", d->prefix);
	if (d->prefix != NULL && d->inside != NULL)
		printf("%s%s/%s*", *d->inside != '\0' ? "/" : "", d->inside, d->inner != NULL ? d->inner : "");
	putchar('`');
}

/* Prints a list with commas; paths and patterns of files as code. */
static void
print_list(const char *list)
{
	while (*list != '\0') {
		size_t n = strcspn(list, ",");
		const char *mark = *list == '/' && memchr(list, '(', n) == NULL ? "`" : "";

		printf("%s%.*s%s", mark, (int)n, list, mark);
		list += n;
		if (*list != '\0')
			list += printf(", ");
	}
}

static void
print_source(const struct ks_part *p)
{
	if (p->from != NULL)
		print_list(p->from);
	else if (p->file != NULL)
		printf("`/%s/%s`", p->file->root == KS_ROOT_PROC ? "proc" : "sys", p->file->path);
	else if (p->devices != NULL)
		print_devices(p->devices);
	else
		fputs("nothing", stdout);
}

/* Prints the version of Linux that a statistic needs, or a kstat if `stat` is "". Returns false if none is known. */
static bool
print_since(const struct ks_part *p, const char *stat)
{
	char text[512], pattern[64], version[16];
	char *rest = text, *one;

	(void)snprintf(text, sizeof(text), "%s", p->since != NULL ? p->since : "");
	for (bool first = true; (one = strsep(&rest, ";")) != NULL; first = false) {
		if (first && *stat == '\0') {
			fputs(one, stdout);
			return *one != '\0';
		}
		if (!first && sscanf(one, " %63s %15s", pattern, version) == 2 && fnmatch(pattern, stat, 0) == 0) {
			fputs(version, stdout);
			return true;
		}
	}
	return false;
}

/* --- statistics -------------------------------------------------------------------------------------- */

static const char *rows[MOST_ROWS]; /* the names of those of the section that is printed */
static size_t nrows;

static bool
was_printed(const char *stat)
{
	size_t i = 0;

	while (i < nrows && strcmp(rows[i], stat) != 0)
		i++;
	return i < nrows;
}

static void
print_row(const struct ks_part *p, const char *stat, const struct ks_meta *m, const char *key)
{
	if (was_printed(stat))
		return;
	if (m == NULL || nrows == MOST_ROWS) {
		fprintf(stderr, "%s:%s:%s has no description\n", p->module, p->name, stat);
		exit(1);
	}
	rows[nrows++] = stat;
	printf("| `%s` | %s | %s | %s |", stat, ks_kind_name(m->kind), m->unit, m->desc);
	if (p->since != NULL && strchr(p->since, ';') != NULL) {
		putchar(' ');
		(void)print_since(p, stat);
		fputs(" |", stdout);
	}
	if (p->keys != NULL)
		printf(key != NULL ? " `%s` |" : " |", key);
	putchar('\n');
}

/* Returns the members of the C structure of a kstat, whose type and names it stores in *k; NULL if it is none. */
static const struct ks_raw_field *
members_of(const struct ks_part *p, kstat_t *k)
{
	const struct ks_raw_layout *layout;

	*k = (kstat_t){ .ks_type = p->type };
	(void)snprintf(k->ks_module, sizeof(k->ks_module), "%s", p->module);
	(void)snprintf(k->ks_name, sizeof(k->ks_name), "%.*s", (int)strcspn(p->name, "#"), p->name);
	layout = ks_structure_find(p->type, k->ks_module, k->ks_name);
	return layout != NULL ? layout->fields : NULL;
}

/* Returns whether a member of a structure is counted: all are, unless the part names those that are. */
static bool
is_counted(const struct ks_part *p, const char *stat)
{
	for (size_t i = 0; i < p->nnames; i++) {
		if (strcmp(p->names[i], stat) == 0)
			return true;
	}
	return p->nnames == 0;
}

static void
print_members(const struct ks_part *p)
{
	kstat_t k;

	for (const struct ks_raw_field *f = members_of(p, &k); f != NULL && f->name != NULL; f++) {
		if (is_counted(p, f->name))
			print_row(p, f->name, ks_meta_of_model(&k, f->name), NULL);
	}
}

static void
print_statistics(const struct ks_part *p)
{
	nrows = 0;
	if (p->type != KSTAT_TYPE_NAMED)
		print_members(p);
	for (const struct ks_field *f = p->fields; f != NULL && f->meta.stat != NULL; f++)
		print_row(p, f->meta.stat, &f->meta, f->key);
	for (const struct ks_meta *m = p->known; m != NULL && m->stat != NULL; m++)
		print_row(p, m->stat, m, NULL);
	for (size_t i = 0; p->type == KSTAT_TYPE_NAMED && i < p->nnames; i++) {
		if (p->names[i] != NULL)
			print_row(p, p->names[i], p->meta(p->names[i]), NULL);
	}
}

/* Adds a statistic to the list of those that a kind of kstat lacks, unless it has it. */
static void
print_lack(const struct kind *k, const char *stat, bool *any)
{
	if (was_printed(stat))
		return;
	if (!*any) {
		fputs("\nNot counted in ", stdout);
		print_title(k);
	}
	printf("%s `%s`", *any ? "," : ":", stat);
	*any = true;
}

/* Lists the statistics of illumos that this kind of kstat lacks. */
static void
print_not_counted(const struct kind *k)
{
	const struct ks_part *p = k->part;
	const char *list = p->type == KSTAT_TYPE_NAMED ? ks_illumos_stats(p->module, p->name, p->class_) : NULL;
	bool any = false;
	kstat_t ks;

	for (const struct ks_raw_field *f = p->nnames > 0 ? members_of(p, &ks) : NULL; f != NULL && f->name != NULL; f++)
		print_lack(k, f->name, &any);
	while (list != NULL && *list != '\0') {
		size_t skip = list[1] == ' ' ? 2 : 0, n = strcspn(list + skip, ",|");
		char stat[64];

		(void)snprintf(stat, sizeof(stat), "%.*s", (int)n, list + skip);
		list += skip + n + (list[skip + n] != '\0');
		print_lack(k, stat, &any);
	}
	if (any)
		fputs(".\n", stdout);
}

/* --- sections ------------------------------------------------------------------------------------------ */

static bool
are_same_texts(const char *a, const char *b)
{
	return a == NULL || b == NULL || strcmp(a, b) == 0;
}

/* True if the kinds have the same statistics with the same meanings. */
static bool
are_alike(const struct ks_part *a, const struct ks_part *b)
{
	if (a->type != b->type || a->fields != b->fields || a->known != b->known || a->meta != b->meta ||
	    a->nnames != b->nnames || !are_same_texts(a->since, b->since))
		return false;
	for (size_t i = 0; i < a->nnames; i++) {
		if ((a->names[i] == NULL) != (b->names[i] == NULL) || !are_same_texts(a->names[i], b->names[i]))
			return false;
	}
	return a->type != KSTAT_TYPE_RAW || strcmp(a->name, b->name) == 0;
}

/* Prints what is known of one kind of kstat: its class, its source, and when it is listed. */
static void
print_facts(const struct kind *k)
{
	static const char *const types[] = { "RAW", "NAMED", "interrupt", "I/O", "timer" };
	const struct ks_part *p = k->part;

	fputs("* ", stdout);
	print_title(k);
	printf(": %s, class `%s`, from ", types[p->type], p->class_);
	print_source(p);
	if (p->since != NULL && isdigit((unsigned char)*p->since)) {
		fputs("; Linux ", stdout);
		(void)print_since(p, "");
	}
	if (k->sub->for_program)
		fputs("; only for C programs that were written for illumos", stdout);
	else if (p->named && strcmp(p->name, "@") != 0)
		fputs("; only for those who spell out the class, a statistic or the end of the name", stdout);
	else if (p->named || k->sub->on_demand)
		fputs("; only for those who spell out the module or the class", stdout);
	else if (k->sub->is_partly)
		printf("; some by default, all with `KSTAT_WITH=%s`", k->sub->optional);
	else if (k->sub->optional != NULL)
		printf("; only with `KSTAT_WITH=%s` or for those who name it", k->sub->optional);
	fputs("\n", stdout);
}

static void
print_section(struct kind *k)
{
	const struct ks_part *p = k->part;
	const char *versions = p->since != NULL ? strchr(p->since, ';') : NULL;

	fputs("\n## ", stdout);
	print_title(k);
	fputs("\n\n", stdout);
	for (struct kind *other = k; other < kinds + nkinds; other++) {
		if (!other->is_done && are_alike(p, other->part)) {
			print_facts(other);
			other->is_done = true;
		}
	}
	if (p->fields != NULL && p->fields->meta.stat == NULL) {
		nrows = 0;
	} else {
		printf("\n| statistic | kind | unit | meaning |%s", versions != NULL ? " Linux |" : "");
		if (p->keys != NULL)
			printf(" %s |", p->keys);
		printf("\n|---|---|---|---|%s%s\n", versions != NULL ? "---|" : "", p->keys != NULL ? "---|" : "");
		print_statistics(p);
	}
	for (struct kind *other = k; other < kinds + nkinds; other++) {
		if (other->is_done && are_alike(p, other->part))
			print_not_counted(other);
	}
}

static void
print_headers(void)
{
	static const char *const stats[] = { "class", "crtime", "snaptime" };
	kstat_t k = { .ks_type = KSTAT_TYPE_NAMED };

	fputs("\n## All kstats\n\n| statistic | kind | unit | meaning |\n|---|---|---|---|\n", stdout);
	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++) {
		const struct ks_meta *m = ks_meta_of_model(&k, stats[i]);

		printf("| `%s` | %s | %s | %s |\n", stats[i], ks_kind_name(m->kind), m->unit, m->desc);
	}
}

int
main(void)
{
	for (size_t s = 0; s < KS_SUB_COUNT; s++) {
		const struct ks_subsystem *sub = ks_linux_subsystem(s);

		for (size_t p = 0; p < sub->nparts && nkinds < MOST_PARTS; p++)
			kinds[nkinds++] = (struct kind){ sub, &sub->parts[p], false };
	}
	fputs(introduction, stdout);
	print_headers();
	for (size_t i = 0; i < nkinds; i++) {
		if (!kinds[i].is_done)
			print_section(&kinds[i]);
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
