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
#define MOST_LOOKED_AT 64 /* files beforehand; others when they are read */

/* The value of a statistic of a NAMED kstat of the module unix; NULL: the sample has none. */
static const struct ks_store_value *
find_value(const struct ks_store *s, const char *name, const char *stat)
{
	for (size_t i = 0; i < s->nkstats; i++) {
		const struct ks_store_kstat *k = &s->kstat[i];
		const struct ks_store_value *v = ks_store_values(s, k);

		if (k->type != KSTAT_TYPE_NAMED || k->has_host || strcmp(ks_store_text(s, k->name), name) != 0 ||
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
	const struct ks_store_value *host = find_value(s, "os", "nodename");
	const struct ks_store_value *started = find_value(s, "system_misc", "boot_time");

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
host_of(const char *path, struct ks_machine *m)
{
	static const struct ks_machine none = { .host = "" };
	struct ks_source *src = ks_source_replay_open(path, &KS_WINDOW_ALL);

	*m = none;
	if (src == NULL)
		return;
	(void)ks_machine_look(m, (struct ks_replay *)src, &none);
	src->ops->close(src);
}

int
ks_machine_refuse(const struct ks_machine *m, const char *host)
{
	return ks_fail(EINVAL, "there is no machine '%.64s' here, but %s", host,
	    m->host[0] != '\0' ? m->host : "no file says which one it is of");
}

int
ks_machine_choose(struct ks_files *files, const char *host)
{
	struct ks_machine m, other = { .host = "" };

	for (size_t i = files->several ? files->n : 0; i-- > 0;) {
		host_of(files->file[i].path, &m);
		if (strcmp(m.host, host) == 0)
			continue;
		if (m.host[0] != '\0')
			other = m;
		ks_files_remove(files, i);
	}
	return files->n == 0 ? ks_machine_refuse(&other, host) : 0;
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
		host_of(f->path, &m);
		if (path != NULL && m.host[0] != '\0' && strcmp(m.host, first.host) != 0)
			return ks_machine_fail(path, &first, f->path, &m);
		if (path == NULL && m.host[0] != '\0') {
			first = m;
			path = f->path;
		}
	}
	return 0;
}
