/* segment_idle.c - see segment_idle.h. SPDX-License-Identifier: MIT */
#include "source/segment/segment_idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "provider/blob_layout.h"

#define STEP_ENTRIES 1024
#define MOST_ROW (64u << 10) /* bytes of a kstat whose numbers are added up */

struct ks_seg_seen {
	uint64_t offset, number;
	int64_t crtime;
	double since;
};

int
ks_seg_idle_begin(struct ks_seg_idle *s, const char *path)
{
	struct ks_seg_seen *spare = s->before;
	size_t cap = s->before_cap;

	if (s->is_walking)
		ks_seg_walk_close(&s->walk);
	s->is_walking = ks_seg_walk_open(&s->walk, path) == 0;
	s->before = s->now;
	s->nbefore = s->n;
	s->before_cap = s->cap;
	s->now = spare;
	s->cap = cap;
	s->n = s->at = 0;
	return s->is_walking ? 0 : -1;
}

void
ks_seg_idle_free(struct ks_seg_idle *s)
{
	if (s->is_walking)
		ks_seg_walk_close(&s->walk);
	free(s->now);
	free(s->before);
	*s = (struct ks_seg_idle){ .n = 0 };
}

/* Copies the word of commits that lies there. */
static bool
get_word(struct ks_seg_walk *w, uint64_t offset, uint64_t *word)
{
	const char *data = ks_seg_walk_bytes(w, offset, sizeof(*word));

	if (data != NULL)
		memcpy(word, data, sizeof(*word));
	return data != NULL;
}

/* Stores a number that changes whenever something is counted. False: the kstat has none, or no labels. */
static bool
find_number(struct ks_seg_walk *w, const struct ks_seg_entry *e, uint64_t offset, uint64_t *number)
{
	const char *data;
	uint64_t word, n = (uint64_t)e->row * e->shards;
	struct ks_blob_head head;

	if (ks_seg_entry_wrong(e) != NULL)
		return false;
	*number = 0;
	if (ks_seg_is_statsblob(e)) {
		data = e->ndata > e->data_size || e->ndata < sizeof(head) ? NULL :
		    ks_seg_walk_bytes(w, offset + e->data, sizeof(head));
		if (data == NULL)
			return false;
		memcpy(&head, data, sizeof(head));
		if (head.nvois > KS_BLOB_MOST_VOIS || ks_blob_first(head.nvois) > e->ndata - sizeof(word))
			return false;
		return get_word(w, offset + e->data + ks_blob_first(head.nvois), number);
	}
	if (e->form == KS_FORM_COUNTS)
		return get_word(w, offset + e->data, number);
	data = e->form == KS_FORM_FIELDS && e->nfields > e->ncells && n > 0 && n < MOST_ROW ?
	    ks_seg_walk_bytes(w, offset + e->data, (size_t)n) : NULL;
	for (size_t i = 0; data != NULL && i < n; i += sizeof(word)) {
		memcpy(&word, data + i, sizeof(word));
		*number += word;
	}
	return data != NULL;
}

/* Notes the number of a kstat. Returns since when it is the same, or -1 without memory. */
static double
note(struct ks_seg_idle *s, const struct ks_seg_entry *e, uint64_t offset, uint64_t number, double now)
{
	const struct ks_seg_seen *last;

	while (s->at < s->nbefore && s->before[s->at].offset < offset)
		s->at++;
	last = s->at < s->nbefore ? &s->before[s->at] : NULL;
	if (last != NULL && last->offset == offset && last->crtime == e->crtime && last->number == number)
		now = last->since;
	if (!KS_RESERVE(s->now, s->cap, s->n + 1))
		return -1;
	s->now[s->n++] = (struct ks_seg_seen){ offset, number, e->crtime, now };
	return now;
}

static bool
is_one_of(const char *const *classes, size_t n, const char *class_)
{
	for (size_t i = 0; i < n; i++) {
		size_t end = strlen(classes[i]);

		if (strncmp(classes[i], class_, end > 0 && classes[i][end - 1] == '.' ? end : KSTAT_STRLEN) == 0)
			return true;
	}
	return false;
}

int
ks_seg_idle_next(struct ks_seg_idle *s, const char *const *classes, size_t n, double now, double seconds,
    char name[KSTAT_STRLEN])
{
	struct ks_seg_entry e;
	uint64_t offset, number;

	for (int i = 0; s->is_walking && i < STEP_ENTRIES; i++) {
		int rc = ks_seg_walk_next(&s->walk, &e, &offset, STEP_ENTRIES);
		double since;

		if (rc != KS_WALK_KSTAT)
			return rc;
		if (!is_one_of(classes, n, e.class_) || !find_number(&s->walk, &e, offset, &number))
			continue;
		since = note(s, &e, offset, number, now);
		if (since < 0)
			return ks_fail(ENOMEM, "out of memory for idle kstats");
		if (now - since >= seconds) {
			memcpy(name, e.name, KSTAT_STRLEN);
			name[KSTAT_STRLEN - 1] = '\0';
			return KS_WALK_KSTAT;
		}
	}
	return s->is_walking ? KS_WALK_MORE : KS_WALK_END;
}
