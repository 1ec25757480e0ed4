/*
 * devstat_driver.c - the C interface, driven line by line: each line of standard input is a
 * command, each answer one line. Strings travel as hexadecimal digits ("-" is empty), a device
 * as its counters, NULL as "null". SPDX-License-Identifier: MIT
 */
#include <devstat.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_METRICS 12

static char *
word(void)
{
	char *w = strtok(NULL, " \n");

	if (w == NULL) {
		(void)fprintf(stderr, "devstat_driver: a word is missing\n");
		exit(1);
	}
	return w;
}

static uint64_t
number(void)
{
	return strtoull(word(), NULL, 10);
}

static int
integer(void)
{
	return (int)strtol(word(), NULL, 10);
}

static struct bintime
bintime(void)
{
	struct bintime t;

	t.sec = strtoll(word(), NULL, 10);
	t.frac = number();
	return t;
}

/* NULL for the word "null", else *t. */
static struct bintime *
optional_bintime(struct bintime *t)
{
	char *w = word();

	if (strcmp(w, "null") == 0)
		return NULL;
	t->sec = strtoll(w, NULL, 10);
	t->frac = number();
	return t;
}

static char *
text(void)
{
	char *w = word(), *s = calloc(strlen(w) + 1, 1);
	size_t n = 0;

	for (; w[0] != '-' && w[0] != '\0' && w[1] != '\0'; w += 2) {
		char digits[3] = { w[0], w[1], '\0' };

		s[n++] = (char)strtol(digits, NULL, 16);
	}
	return s;
}

static struct devstat *
device(struct devstat *ds)
{
	memset(ds, 0, sizeof *ds);
	if (strcmp(word(), "null") == 0)
		return NULL;
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		ds->bytes[i] = number();
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		ds->operations[i] = number();
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		ds->duration[i] = bintime();
	ds->busy_time = bintime();
	ds->block_size = (uint32_t)number();
	ds->start_count = (unsigned int)number();
	ds->end_count = (unsigned int)number();
	return ds;
}

/* call COUNT METRIC... ETIME CURRENT PREVIOUS -> RET RESULT... TAB ERROR */
static void
do_call(void)
{
	struct devstat a, b, *cur, *prev;
	union {
		uint64_t u;
		long double f;
		unsigned char bytes[sizeof(long double)];
	} r[MAX_METRICS], untouched;
	int m[MAX_METRICS] = { 0 }, n = integer(), ret;
	long double etime;

	for (int i = 0; i < n && i < MAX_METRICS; i++)
		m[i] = integer();
	etime = strtold(word(), NULL);
	cur = device(&a);
	prev = device(&b);
	memset(&untouched, 0xa5, sizeof untouched);
	memset(r, 0xa5, sizeof r);
	ret = devstat_compute_statistics(cur, prev, etime, m[0], &r[0], m[1], &r[1], m[2], &r[2],
	    m[3], &r[3], m[4], &r[4], m[5], &r[5], m[6], &r[6], m[7], &r[7], m[8], &r[8],
	    m[9], &r[9], m[10], &r[10], m[11], &r[11], DSM_NONE);
	(void)printf("%d", ret);
	for (int i = 0; i < n; i++) {
		if (memcmp(&r[i], &untouched, sizeof(uint64_t)) == 0)
			(void)printf(" null");
		else if (devstat_metric_type(m[i]) == 'u')
			(void)printf(" %" PRIu64, r[i].u);
		else
			(void)printf(" %.21Lg", r[i].f);
	}
	(void)printf("\t%s\n", devstat_errbuf);
}

/* compute ETIME CURRENT PREVIOUS -> RESULT of every metric */
static void
do_compute(void)
{
	struct devstat a, b, *cur, *prev;
	long double etime = strtold(word(), NULL);

	cur = device(&a);
	prev = device(&b);
	for (int m = DSM_NONE + 1; m < DSM_MAX; m++) {
		uint64_t u = 0;
		long double f = 0;
		int type = devstat_metric_type((devstat_metric)m);

		if (type == 0)
			continue;
		if (devstat_compute_statistics(cur, prev, etime, (devstat_metric)m,
		    type == 'u' ? (void *)&u : (void *)&f, DSM_NONE) != 0)
			exit(1);
		if (type == 'u')
			(void)printf("%" PRIu64 " ", u);
		else
			(void)printf("%.21Lg ", f);
	}
	(void)printf("\n");
}

static void
do_etime(void)
{
	struct bintime cur = bintime(), prev;

	(void)printf("%.21Lg\n", devstat_compute_etime(&cur, optional_bintime(&prev)));
}

static struct devstat_match *matches;
static int nmatches;

static void
forget_matches(void)
{
	devstat_free(matches);
	matches = NULL;
	nmatches = 0;
}

/* match PATTERN -> RET COUNT FIELDS:TYPE:CATEGORIES... TAB ERROR */
static void
do_match(void)
{
	char *s = text();
	int ret = devstat_buildmatch(s, &matches, &nmatches);

	(void)printf("%d %d", ret, nmatches);
	for (int i = 0; i < nmatches; i++)
		(void)printf(" %d:%d:%d", (int)matches[i].match_fields,
		    (int)matches[i].device_type, matches[i].num_match_categories);
	(void)printf("\t%s\n", devstat_errbuf);
	free(s);
}

static struct device_selection *selection;
static int num_selected, num_selections;
static long select_generation;
static struct devstat *devices;
static int numdevs;

static void
forget_selection(void)
{
	devstat_free(selection);
	selection = NULL;
	num_selected = num_selections = 0;
	select_generation = 0;
}

/* devices COUNT (NUMBER NAME UNIT TYPE SYSTEM_NAME)... */
static void
do_devices(void)
{
	free(devices);
	numdevs = integer();
	devices = calloc((size_t)numdevs + 1, sizeof *devices);
	for (int i = 0; i < numdevs; i++) {
		char *s;

		devices[i].device_number = (uint32_t)number();
		s = text();
		(void)snprintf(devices[i].device_name, DEVSTAT_NAME_LEN, "%s", s);
		free(s);
		devices[i].unit_number = integer();
		devices[i].device_type = (devstat_type_flags)integer();
		s = text();
		(void)snprintf(devices[i].system_name, KSTAT_STRLEN, "%s", s);
		free(s);
	}
	(void)printf("ok\n");
}

/* bytes NAME VALUE */
static void
do_bytes(void)
{
	char *s = text(), buf[64];
	uint64_t value = number();

	for (int i = 0; i < num_selections; i++) {
		(void)snprintf(buf, sizeof buf, "%s%d", selection[i].device_name,
		    selection[i].unit_number);
		if (strcmp(buf, s) == 0)
			selection[i].bytes = value;
	}
	free(s);
	(void)printf("ok\n");
}

/* select MODE GENERATION MAX PERFORMANCE NMATCHES MATCH... NNAMES NAME... */
static void
do_select(void)
{
	int mode = integer(), maxshowdevs, perf, n, ret;
	long generation = integer();
	char **names;

	maxshowdevs = integer();
	perf = integer();
	forget_matches();
	for (n = integer(); n > 0; n--) {
		char *s = text();

		if (devstat_buildmatch(s, &matches, &nmatches) != 0)
			exit(1);
		free(s);
	}
	n = integer();
	names = calloc((size_t)n + 1, sizeof *names);
	for (int i = 0; i < n; i++)
		names[i] = text();
	ret = devstat_selectdevs(&selection, &num_selected, &num_selections, &select_generation,
	    generation, devices, numdevs, matches, nmatches, names, n,
	    (devstat_select_mode)mode, maxshowdevs, perf);
	(void)printf("%d %d %d %ld", ret, num_selected, num_selections, select_generation);
	for (int i = 0; i < num_selections; i++)
		(void)printf(" %s%d:%d:%d:%" PRIu64, selection[i].device_name,
		    selection[i].unit_number, selection[i].selected, selection[i].position,
		    selection[i].bytes);
	(void)printf("\n");
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static struct devstat counted;

static void
show_counted(void)
{
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		(void)printf("%" PRIu64 " ", counted.bytes[i]);
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		(void)printf("%" PRIu64 " ", counted.operations[i]);
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++)
		(void)printf("%lld %" PRIu64 " ", (long long)counted.duration[i].sec,
		    counted.duration[i].frac);
	(void)printf("%lld %" PRIu64 " ", (long long)counted.busy_time.sec,
	    counted.busy_time.frac);
	(void)printf("%lld %" PRIu64 " ", (long long)counted.busy_from.sec,
	    counted.busy_from.frac);
	(void)printf("%u %u", counted.start_count, counted.end_count);
	for (int i = 0; i < 3; i++)
		(void)printf(" %" PRIu64, counted.tag_types[i]);
	(void)printf("\n");
}

/* begin START_COUNT END_COUNT NO_ORDERED_TAGS */
static void
do_begin(void)
{
	memset(&counted, 0, sizeof counted);
	counted.start_count = (unsigned int)number();
	counted.end_count = (unsigned int)number();
	counted.flags = integer() ? DEVSTAT_NO_ORDERED_TAGS : DEVSTAT_ALL_SUPPORTED;
	show_counted();
}

static void
do_start(void)
{
	struct bintime now = bintime();

	devstat_start_transaction(&counted, &now);
	show_counted();
}

/* end NOW BYTES TAG FLAGS THEN */
static void
do_end(void)
{
	struct bintime now = bintime(), then;
	uint32_t bytes = (uint32_t)number();
	int tag = integer(), flags = integer();

	devstat_end_transaction(&counted, bytes, (devstat_tag_type)tag,
	    (devstat_trans_flags)flags, &now, optional_bintime(&then));
	show_counted();
}

static devstat_registry_t *registry;
static struct devstat **added;
static size_t nadded;

static void
forget_registry(void)
{
	devstat_registry_destroy(registry);
	free(added);
	registry = NULL;
	added = NULL;
	nadded = 0;
}

static void
show_registry(void)
{
	struct devinfo dinfo = { NULL, NULL, 0, 0 };
	struct statinfo stats = { .dinfo = &dinfo };
	int ret = devstat_registry_getdevs(registry, &stats);

	(void)printf("%d %d %ld", ret, dinfo.numdevs, dinfo.generation);
	for (int i = 0; i < dinfo.numdevs; i++)
		(void)printf(" %s%d:%" PRIu32 ":%d", dinfo.devices[i].device_name,
		    dinfo.devices[i].unit_number, dinfo.devices[i].device_number,
		    (int)dinfo.devices[i].priority);
	(void)printf("\n");
	devstat_freedevs(&dinfo);
}

static void
do_registry(void)
{
	forget_registry();
	registry = devstat_registry_create();
	show_registry();
}

/* add NAME UNIT PRIORITY */
static void
do_add(void)
{
	char *s = text();
	int unit = integer(), priority = integer();

	added = realloc(added, (nadded + 1) * sizeof(struct devstat *));
	added[nadded++] = devstat_new_entry(registry, unit == -1 ? NULL : s, unit, 512,
	    DEVSTAT_ALL_SUPPORTED, DEVSTAT_TYPE_DIRECT, (devstat_priority)priority);
	free(s);
	show_registry();
}

static void
do_remove(void)
{
	size_t i = (size_t)number();

	devstat_remove_entry(registry, added[i]);
	added[i] = NULL;
	show_registry();
}

static const struct {
	const char *name;
	void (*run)(void);
	bool silent; /* answers "ok" itself */
} commands[] = {
	{ "call", do_call, false },
	{ "compute", do_compute, false },
	{ "etime", do_etime, false },
	{ "forget-matches", forget_matches, true },
	{ "match", do_match, false },
	{ "forget-selection", forget_selection, true },
	{ "devices", do_devices, false },
	{ "bytes", do_bytes, false },
	{ "select", do_select, false },
	{ "begin", do_begin, false },
	{ "start", do_start, false },
	{ "end", do_end, false },
	{ "registry", do_registry, false },
	{ "add", do_add, false },
	{ "remove", do_remove, false },
};

int
main(void)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		char *name = strtok(line, " \n");
		size_t i, n = sizeof commands / sizeof commands[0];

		for (i = 0; i < n && strcmp(commands[i].name, name) != 0; i++)
			continue;
		if (i == n) {
			(void)fprintf(stderr, "devstat_driver: unknown command %s\n", name);
			return 1;
		}
		commands[i].run();
		if (commands[i].silent)
			(void)printf("ok\n");
	}
	free(line);
	free(devices);
	forget_matches();
	forget_selection();
	forget_registry();
	return 0;
}
