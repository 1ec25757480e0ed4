/* machine.c - see machine.h. SPDX-License-Identifier: MIT */
#include "source/replay/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "source/replay/replay.h"

#define SETTLING 60 /* s by which clocks are corrected while a machine runs */
#define MOST_LOOKED_AT 8 /* files beforehand; others when they are read */

/* The value of a statistic of a NAMED kstat of the module unix; NULL: the sample has none. */
static const struct ks_store_value *
find_value(const struct ks_replay *r, const char *name, const char *stat)
{
	const struct ks_store *s = &r->sample;

	for (size_t i = 0; i < s->nkstats; i++) {
		const struct ks_store_kstat *k = &s->kstat[i];
		const struct ks_store_value *v = ks_store_values(s, k);

		if (k->type != KSTAT_TYPE_NAMED || (k->has_host && r->window.host == NULL) || !ks_machine_has(r, k) ||
		    strcmp(ks_store_text(s, k->name), name) != 0 ||
		    strcmp(ks_store_text(s, k->module), "unix") != 0)
			continue;
		for (uint32_t j = 0; j < k->nvalues; j++) {
			if (strcmp(ks_store_text(s, v[j].name), stat) == 0)
				return &v[j];
		}
	}
	return NULL;
}

int
ks_machine_look(struct ks_machine *m, const struct ks_replay *r, const struct ks_machine *before)
{
	const struct ks_store *s = &r->sample;
	const struct ks_store_value *host = find_value(r, "os", "nodename");
	const struct ks_store_value *started = find_value(r, "system_misc", "boot_time");

	*m = *before;
	m->time = r->time;
	m->newest = r->newest;
	if (started != NULL && started->width > 0)
		m->started = started->u64;
	if (host != NULL && host->width == 0 && host->at != KS_STORE_NULL)
		(void)snprintf(m->host, sizeof(m->host), "%.*s", (int)host->len, ks_store_text(s, host->at));
	return before->host[0] == '\0' || strcmp(m->host, before->host) == 0 ? 0 : -1;
}

bool
ks_machine_is_restarted(const struct ks_machine *before, const struct ks_machine *now)
{
	uint64_t a = before->started, b = now->started;
	int64_t went_by = ks_time_between(before->newest, now->newest), passed = ks_time_between(before->time, now->time);

	if (a != 0 && (a < b ? b - a : a - b) <= SETTLING)
		return false;
	/* A clock that is set moves the time of the start, too; the time that went by tells these apart. */
	if (a != 0 && ks_time_between(went_by, passed) > SETTLING * KS_NANOSEC)
		return true;
	/* A machine that was started between the two samples has not been up for longer than that. */
	return went_by < 0 && ks_time_between(passed, now->newest) <= SETTLING * KS_NANOSEC;
}

int
ks_machine_fail(const char *path, const struct ks_machine *m, const char *other_path, const struct ks_machine *other)
{
	return ks_fail(EINVAL, "%.100s is of the machine %.64s, and %.100s of %.64s: --host chooses one, and kstatlua "
	    "convert joins them", path, m->host, other_path, other->host);
}

/* Stores the name of the machine that a file is of, "" if it does not say. A file that cannot be read says nothing. */
static void
host_of(const char *path, const char *wanted, struct ks_machine *m)
{
	static const struct ks_machine none = { .host = "" };
	struct ks_window w = KS_WINDOW_ALL;
	struct ks_source *src;

	w.host = wanted;
	src = ks_source_replay_open(path, &w);
	*m = none;
	if (src == NULL)
		return;
	(void)ks_machine_look(m, (struct ks_replay *)src, &none);
	src->ops->close(src);
}

/* True if a file has samples of times that another one begins with, and both count these times by one clock. */
static bool
is_one_clock(const struct ks_file *earlier, const struct ks_file *f)
{
	struct ks_window w = KS_WINDOW_ALL;
	const struct ks_file *file[] = { earlier, f };
	int64_t began[2];

	w.from = f->first;
	for (size_t i = 0; i < 2; i++) {
		struct ks_source *src = ks_source_replay_open(file[i]->path, &w);
		const struct ks_replay *r = (struct ks_replay *)src;

		if (src == NULL)
			return false;
		began[i] = ks_time_between(r->newest, r->time);
		src->ops->close(src);
	}
	return ks_time_between(began[0], began[1]) / KS_NANOSEC / SETTLING == 0;
}

int64_t
ks_machine_begin(struct ks_files *files, size_t i)
{
	struct ks_file *f = &files->file[i];

	f->from = f->is_compared ? f->from : INT64_MIN;
	for (size_t k = f->is_compared || f->is_set ? i : 0; k < i; k++) {
		const struct ks_file *earlier = &files->file[k];

		if (earlier->first <= f->first && earlier->last >= f->first && earlier->last >= f->from &&
		    earlier->last < INT64_MAX && is_one_clock(earlier, f))
			f->from = earlier->last + 1;
	}
	f->is_compared = true;
	return f->from;
}

/* Adds a machine to those that a refusal names, in the order of their names, unless it is among them or they are full. */
static void
add_other(struct ks_machine other[KS_MOST_NAMED], size_t *n, const char *host)
{
	size_t i = 0;

	while (i < *n && strcmp(other[i].host, host) < 0)
		i++;
	if (host[0] == '\0' || *n == KS_MOST_NAMED || (i < *n && strcmp(other[i].host, host) == 0))
		return;
	memmove(&other[i + 1], &other[i], (*n - i) * sizeof(other[0]));
	(void)snprintf(other[i].host, sizeof(other[i].host), "%s", host);
	(*n)++;
}

int
ks_machine_refuse(const struct ks_machine *other, size_t n, const char *host)
{
	char names[KS_MOST_NAMED * (sizeof(other->host) + sizeof(" and "))] = "no file says which one it is of";
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ",
		    other[i].host);
	return ks_fail(EINVAL, "there is no machine '%.64s' here, but %s", host, names);
}

int
ks_machine_find(struct ks_replay *r)
{
	struct ks_machine other[KS_MOST_NAMED];
	size_t n = 0;
	int rc = 1;

	for (; rc > 0; rc = r->base.ops->advance(&r->base)) {
		for (size_t i = 0; i < r->sample.nkstats; i++) {
			const struct ks_store_kstat *k = &r->sample.kstat[i];

			if (ks_machine_has(r, k))
				return 0;
			add_other(other, &n, ks_store_text(&r->sample, k->host));
		}
	}
	return rc < 0 ? -1 : ks_machine_refuse(other, n, r->window.host);
}

int
ks_machine_choose(struct ks_files *files, const char *host)
{
	struct ks_machine m, other[KS_MOST_NAMED];
	size_t n = 0;

	for (size_t i = files->several ? files->n : 0; i-- > 0;) {
		host_of(files->file[i].path, host, &m);
		if (strcmp(m.host, host) == 0)
			continue;
		add_other(other, &n, m.host);
		ks_files_remove(files, i);
	}
	return files->n == 0 ? ks_machine_refuse(other, n, host) : 0;
}

/* The number of the next file from number i on that has samples in a window; that of files if there is none. */
static size_t
next_in(const struct ks_files *files, const struct ks_window *w, size_t i)
{
	while (i < files->n && (files->file[i].first > w->to || files->file[i].last < w->from))
		i++;
	return i;
}

int
ks_machine_check(const struct ks_files *files, const struct ks_window *w)
{
	struct ks_machine m, first = { .host = "" };
	const char *path = NULL;
	size_t looked_at = 0, i = next_in(files, w, 0);

	if (next_in(files, w, i + 1) >= files->n)
		return 0; /* one file is of one machine; to look costs as much as to find a sample */
	for (; i < files->n && looked_at < MOST_LOOKED_AT; i = next_in(files, w, i + 1)) {
		const struct ks_file *f = &files->file[i];

		looked_at++;
		host_of(f->path, NULL, &m);
		if (path != NULL && m.host[0] != '\0' && strcmp(m.host, first.host) != 0)
			return ks_machine_fail(path, &first, f->path, &m);
		if (path == NULL && m.host[0] != '\0') {
			first = m;
			path = f->path;
		}
	}
	return 0;
}
