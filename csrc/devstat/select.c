/*
 * select.c - choosing which devices to show, by their names or by patterns. The selection is an array parallel to the
 * list of devices until performance mode sorts it; `position` leads back. devstat.h states what of the real library's
 * behaviour is kept. SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "devstat/device.h"

/* --- patterns, such as "da,scsi" ------------------------------------------------------------------ */

#define MAX_ITEMS 3

/* The first of these words that an item starts with applies, so their order matters. */
static const struct devstat_match_table words[] = {
	{ "da", DEVSTAT_TYPE_DIRECT, DEVSTAT_MATCH_TYPE },
	{ "cd", DEVSTAT_TYPE_CDROM, DEVSTAT_MATCH_TYPE },
	{ "scsi", DEVSTAT_TYPE_IF_SCSI, DEVSTAT_MATCH_IF },
	{ "ide", DEVSTAT_TYPE_IF_IDE, DEVSTAT_MATCH_IF },
	{ "other", DEVSTAT_TYPE_IF_OTHER, DEVSTAT_MATCH_IF },
	{ "worm", DEVSTAT_TYPE_WORM, DEVSTAT_MATCH_TYPE },
	{ "sa", DEVSTAT_TYPE_SEQUENTIAL, DEVSTAT_MATCH_TYPE },
	{ "pass", DEVSTAT_TYPE_PASS, DEVSTAT_MATCH_PASS },
	{ "optical", DEVSTAT_TYPE_OPTICAL, DEVSTAT_MATCH_TYPE },
	{ "array", DEVSTAT_TYPE_STORARRAY, DEVSTAT_MATCH_TYPE },
	{ "changer", DEVSTAT_TYPE_CHANGER, DEVSTAT_MATCH_TYPE },
	{ "scanner", DEVSTAT_TYPE_SCANNER, DEVSTAT_MATCH_TYPE },
	{ "printer", DEVSTAT_TYPE_PRINTER, DEVSTAT_MATCH_TYPE },
	{ "floppy", DEVSTAT_TYPE_FLOPPY, DEVSTAT_MATCH_TYPE },
	{ "proc", DEVSTAT_TYPE_PROCESSOR, DEVSTAT_MATCH_TYPE },
	{ "comm", DEVSTAT_TYPE_COMM, DEVSTAT_MATCH_TYPE },
	{ "enclosure", DEVSTAT_TYPE_ENCLOSURE, DEVSTAT_MATCH_TYPE },
};

const struct devstat_match_table *
ks_devstat_word(const char *item, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].match_str);

		if (len >= n && strncasecmp(item, words[i].match_str, n) == 0)
			return &words[i];
	}
	return NULL;
}

const char *
ks_devstat_type_word(devstat_type_flags type, devstat_match_flags field)
{
	devstat_type_flags mask = field == DEVSTAT_MATCH_IF ? DEVSTAT_TYPE_IF_MASK :
	    DEVSTAT_TYPE_MASK;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].match_field == field && words[i].type == (type & mask))
			return words[i].match_str;
	}
	return NULL;
}

/* Returns the next non-empty item at *p and stores its length in *len; NULL at the end. */
static const char *
next_item(const char **p, size_t *len)
{
	const char *item = *p + strspn(*p, ",");

	*len = strcspn(item, ",");
	*p = item + *len;
	return *len != 0 ? item : NULL;
}

/* Adds one item to the pattern. */
static int
add_item(struct devstat_match *m, const char *item, size_t len)
{
	const struct devstat_match_table *word;
	size_t skip = 0, shown = len;

	while (skip < len && isspace((unsigned char)item[skip]))
		skip++;
	/* An item of white space is quoted whole in the message. */
	if (skip < len) {
		while (isspace((unsigned char)item[shown - 1]))
			shown--;
	}
	word = ks_devstat_word(item + skip, shown - skip);
	if (word == NULL)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: unknown match item \"%.*s\"",
		    shown < DEVSTAT_ERRBUF_SIZE ? (int)shown : DEVSTAT_ERRBUF_SIZE, item);
	if (m->match_fields & word->match_field)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: cannot have more than one "
		    "match item in a single category");
	m->match_fields = (devstat_match_flags)(m->match_fields | word->match_field);
	m->device_type = (devstat_type_flags)(m->device_type | word->type);
	m->num_match_categories++;
	return 0;
}

int
devstat_buildmatch(char *match_str, struct devstat_match **matches, int *num_matches)
{
	struct devstat_match m = { DEVSTAT_MATCH_NONE, DEVSTAT_TYPE_DIRECT, 0 };
	const char *p, *item;
	size_t len, items = 0, n;

	devstat_errbuf[0] = '\0';
	if (match_str == NULL)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: no match expression");
	if (matches == NULL || num_matches == NULL || *num_matches < 0)
		return ks_devstat_fail(EINVAL, "devstat_buildmatch: no match list");
	for (p = match_str; next_item(&p, &len) != NULL;) {
		if (++items > MAX_ITEMS)
			return ks_devstat_fail(EINVAL,
			    "devstat_buildmatch: too many type arguments");
	}
	for (p = match_str; (item = next_item(&p, &len)) != NULL;) {
		if (add_item(&m, item, len) != 0)
			return -1;
	}
	if (*num_matches == 0)
		*matches = NULL;
	n = (size_t)*num_matches; /* the caller keeps no capacity */
	if (*num_matches == INT32_MAX || !KS_RESERVE(*matches, n, n + 1))
		return ks_devstat_fail(ENOMEM, "devstat_buildmatch: out of memory");
	(*matches)[(*num_matches)++] = m;
	return 0;
}

/* --- the selection ---------------------------------------------------------------------------------- */

#define DEVNAME_MAX (DEVSTAT_NAME_LEN + 12) /* name, unit as decimal, NUL */

/* The arguments of one call. */
struct selecting {
	struct device_selection *sel;
	struct device_selection **in_list_order; /* pointers into sel */
	const struct devstat *devices;
	int n; /* number of devices and of selections */
	int num_selected;
	int most;   /* that are selected in the end */
	int number; /* the last selection number that this call gave */
	bool removing;
};

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
in_names(const char *name, char **names, size_t n)
{
	return bsearch(&name, names, n, sizeof(*names), compare_names) != NULL;
}

static void
choose(struct selecting *s, struct device_selection *d)
{
	if (s->removing) {
		if (d->selected != 0) {
			d->selected = 0;
			s->num_selected--;
		}
	} else if (d->selected == 0) {
		d->selected = ++s->number;
		s->num_selected++;
	}
}

/* Returns whether the device is among the names, which are sorted. */
static void
choose_by_name(struct selecting *s, char **names, size_t n)
{
	char buf[DEVNAME_MAX];

	for (int i = 0; i < s->n; i++) {
		struct device_selection *d = &s->sel[i];
		const char *system_name = s->devices[d->position].system_name;

		(void)snprintf(buf, sizeof(buf), "%.*s%d", DEVSTAT_NAME_LEN - 1, d->device_name,
		    d->unit_number);
		if (in_names(buf, names, n) ||
		    (system_name[0] != '\0' && in_names(system_name, names, n)))
			choose(s, d);
	}
}

static bool
matches_device(const struct devstat_match *m, devstat_type_flags type)
{
	if (m->num_match_categories == 0)
		return false;
	/* Passthrough devices are second entries of devices that are listed already. */
	if (((type & DEVSTAT_TYPE_PASS) != 0) != ((m->match_fields & DEVSTAT_MATCH_PASS) != 0))
		return false;
	if ((m->match_fields & DEVSTAT_MATCH_TYPE) &&
	    (type & DEVSTAT_TYPE_MASK) != (m->device_type & DEVSTAT_TYPE_MASK))
		return false;
	if ((m->match_fields & DEVSTAT_MATCH_IF) &&
	    (type & DEVSTAT_TYPE_IF_MASK) != (m->device_type & DEVSTAT_TYPE_IF_MASK))
		return false;
	return true;
}

static void
choose_by_pattern(struct selecting *s, const struct devstat_match *m)
{
	for (int i = 0; i < s->n; i++) {
		if (matches_device(m, s->devices[i].device_type))
			choose(s, s->in_list_order[i]);
	}
}

static void
choose_rest(struct selecting *s)
{
	for (int i = 0; i < s->n; i++)
		choose(s, &s->sel[i]);
}

/* Orders selected devices first, then those with more bytes; equal ones keep the list's order. */
static int
compare_performance(const void *a, const void *b)
{
	const struct device_selection *x = a, *y = b;

	if ((x->selected != 0) != (y->selected != 0))
		return x->selected != 0 ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

static void
sort_by_performance(struct selecting *s)
{
	if (s->n > 1)
		qsort(s->sel, (size_t)s->n, sizeof(*s->sel), compare_performance);
	s->number = 0;
	if (s->num_selected == 0) {
		bool removing = s->removing;

		s->removing = false; /* after the last one was removed all are shown again */
		choose_rest(s);
		s->removing = removing;
		return;
	}
	for (int i = 0; i < s->num_selected; i++)
		s->sel[i].selected = ++s->number;
}

static int
compare_numbers(const void *a, const void *b)
{
	const struct device_selection *x = a, *y = b;

	return x->device_number < y->device_number ? -1 : x->device_number > y->device_number;
}

/* Returns whether a device is missing in old or has another selection number there. Sorts old. */
static bool
selections_differ(const struct selecting *s, struct device_selection *old, int nold)
{
	if (nold > 1)
		qsort(old, (size_t)nold, sizeof(*old), compare_numbers);
	for (int i = 0; i < s->n; i++) {
		const struct device_selection *was = nold == 0 ? NULL :
		    bsearch(&s->sel[i], old, (size_t)nold, sizeof(*old), compare_numbers);

		if (was == NULL || s->sel[i].selected != was->selected)
			return true;
	}
	return false;
}

static struct device_selection *
new_selections(const struct devstat *devices, int n)
{
	struct device_selection *sel = calloc(n > 0 ? (size_t)n : 1, sizeof(*sel));

	if (sel == NULL)
		return NULL;
	for (int i = 0; i < n; i++) {
		sel[i].device_number = devices[i].device_number;
		memcpy(sel[i].device_name, devices[i].device_name, DEVSTAT_NAME_LEN);
		sel[i].device_name[DEVSTAT_NAME_LEN - 1] = '\0';
		sel[i].unit_number = devices[i].unit_number;
		sel[i].position = i;
	}
	return sel;
}

/* Returns a sorted copy of the names that are not NULL, or NULL without memory. */
static char **
sort_names(char **names, int n, size_t *kept)
{
	char **sorted = calloc(n > 0 ? (size_t)n : 1, sizeof(*sorted));

	*kept = 0;
	if (sorted == NULL)
		return NULL;
	for (int i = 0; i < n; i++) {
		if (names[i] != NULL)
			sorted[(*kept)++] = names[i];
	}
	if (*kept > 1)
		qsort(sorted, *kept, sizeof(*sorted), compare_names);
	return sorted;
}

/*
 * Fills s->in_list_order and counts the selected devices. Returns false if the positions are not those of a
 * list of this length. Positions and the count index memory, and the caller may have changed either, so
 * neither is trusted.
 */
static bool
map_positions(struct selecting *s)
{
	for (int i = 0; i < s->n; i++) {
		int position = s->sel[i].position;

		if (position < 0 || position >= s->n || s->in_list_order[position] != NULL)
			return false;
		s->in_list_order[position] = &s->sel[i];
		if (s->sel[i].selected != 0)
			s->num_selected++;
	}
	return true;
}

/* Selects what the names and the patterns say, and what is left if devices are only added. */
static void
choose_all(struct selecting *s, char **names, size_t nnames, struct devstat_match *matches, int num_matches,
    devstat_select_mode mode, bool by_performance)
{
	if (mode == DS_SELECT_ONLY) {
		for (int i = 0; i < s->n; i++)
			s->sel[i].selected = 0;
		s->num_selected = 0;
	}
	if (nnames > 0)
		choose_by_name(s, names, nnames);
	for (int i = 0; i < num_matches && s->num_selected < s->most; i++)
		choose_by_pattern(s, &matches[i]);
	if (by_performance)
		sort_by_performance(s);
	if (mode == DS_SELECT_ADD && s->num_selected < s->most)
		choose_rest(s);
}

/* Checks what devstat_selectdevs() was given. 0, or -1 with errno EINVAL and a message. */
static int
check_lists(const struct devstat *devices, int numdevs, const struct devstat_match *matches, int num_matches,
    char *const *dev_selections, int num_dev_selections, devstat_select_mode mode)
{
	if (numdevs < 0 || (devices == NULL && numdevs > 0))
		return ks_devstat_fail(EINVAL, "%s: device list is NULL", "devstat_selectdevs");
	if (num_matches < 0 || (matches == NULL && num_matches > 0) || num_dev_selections < 0 ||
	    (dev_selections == NULL && num_dev_selections > 0))
		return ks_devstat_fail(EINVAL, "%s: a list is NULL", "devstat_selectdevs");
	if ((int)mode < DS_SELECT_ADD || mode > DS_SELECT_ADDONLY)
		return ks_devstat_fail(EINVAL, "%s: unknown selection mode %d", "devstat_selectdevs",
		    (int)mode);
	return 0;
}

int
devstat_selectdevs(struct device_selection **dev_select, int *num_selected,
    int *num_selections, long *select_generation, long current_generation,
    struct devstat *devices, int numdevs, struct devstat_match *matches, int num_matches,
    char **dev_selections, int num_dev_selections, devstat_select_mode select_mode,
    int maxshowdevs, int perf_select)
{
	struct device_selection *old = NULL, *kept;
	struct selecting s = {
		.devices = devices, .n = numdevs, .most = maxshowdevs,
		.removing = select_mode == DS_SELECT_REMOVE
	};
	char **names = NULL;
	size_t nnames, room = numdevs > 0 ? (size_t)numdevs : 1;
	int nold = 0, ret = -1;
	bool first, rebuild, compare;

	devstat_errbuf[0] = '\0';
	if (dev_select == NULL || num_selected == NULL || num_selections == NULL ||
	    select_generation == NULL)
		return ks_devstat_fail(EINVAL, "%s: no place for the selection", __func__);
	if (check_lists(devices, numdevs, matches, num_matches, dev_selections, num_dev_selections,
	    select_mode) != 0)
		return -1;

	first = *dev_select == NULL;
	rebuild = first || *num_selections != numdevs || *select_generation < current_generation;
	compare = !first && (rebuild || select_mode == DS_SELECT_ONLY || perf_select);
	kept = *dev_select;
	s.sel = rebuild ? new_selections(devices, numdevs) : kept;
	s.in_list_order = calloc(room, sizeof(struct device_selection *));
	names = sort_names(dev_selections, num_dev_selections, &nnames);
	if (compare) {
		nold = *num_selections > 0 ? *num_selections : 0;
		old = calloc(nold > 0 ? (size_t)nold : 1, sizeof(*old));
	}
	if (s.sel == NULL || s.in_list_order == NULL || names == NULL || (compare && old == NULL)) {
		(void)ks_devstat_fail(ENOMEM, "%s: out of memory", __func__);
		goto out;
	}
	if (!map_positions(&s)) {
		(void)ks_devstat_fail(EINVAL, "%s: the selection is of another list", __func__);
		goto out;
	}
	if (nold > 0)
		memcpy(old, kept, (size_t)nold * sizeof(*old));

	/* Nothing can fail from here on. */
	choose_all(&s, names, nnames, matches, num_matches, select_mode, perf_select != 0);
	ret = first || s.num_selected != *num_selected ||
	    (compare && selections_differ(&s, old, nold));
	*num_selected = s.num_selected;
	if (rebuild) {
		free(kept);
		*dev_select = s.sel;
		*num_selections = numdevs;
		*select_generation = current_generation;
	}
out:
	if (ret == -1 && rebuild)
		free(s.sel);
	free(s.in_list_order);
	free(names);
	free(old);
	return ret;
}
