/*
 * capture.c - a capture in place of the machine: the source that replays what `kstat -j`
 * printed. Formats are told by contents. One sample is in memory at a time.
 *
 * What a capture does not tell: the width of integers and the difference between texts. Whole
 * numbers of NAMED kstats become UINT64, or INT64 if negative, others DOUBLE; texts become
 * STRING; null a null string; true and false 1 and 0. Bytes from 0x80 up, which illumos prints
 * as one \u00xx each, are the characters of that number.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "source/replay/capture/stream.h"
#include "source/source.h"

struct capture {
	struct ks_source base;
	struct ks_capture_parser parser;
	char *path;
	bool offered; /* the current sample was offered to the chain */
};

static struct capture *
capture_of(struct ks_source *src)
{
	return (struct capture *)src;
}

static void
capture_close(struct ks_source *src)
{
	struct capture *c = capture_of(src);

	ks_capture_parser_free(&c->parser);
	free(c->path);
	free(c);
}

static void
warn_of(struct ks_scan *scan, const char *line, size_t n)
{
	if (n > 1)
		ks_scan_damage(scan, "%s (and %zu more)", line, n - 1);
	else if (n == 1)
		ks_scan_damage(scan, "%s", line);
}

/* Tells what of this sample, and before it, could not be had. */
static void
warn(struct capture *c, struct ks_scan *scan)
{
	struct ks_capture_notes *n = &c->parser.notes;

	warn_of(scan, n->problem, n->problems);
	warn_of(scan, n->damage, n->damages);
	n->damages = 0;
	if (n->end_errno != 0)
		ks_scan_damage(scan, "%s", n->end);
}

static int
capture_scan(struct ks_source *src, struct ks_scan *scan)
{
	struct capture *c = capture_of(src);
	const struct ks_capture_sample *s = &c->parser.sample;

	if (c->offered)
		return 0;
	warn(c, scan);
	for (size_t i = 0; i < ks_capture_sample_count(s); i++) {
		const struct ks_capture_kstat *k = ks_capture_sample_kstat(s, i);
		struct ks_offer offer = {
			.module = ks_capture_sample_text(s, k->module),
			.instance = k->instance,
			.name = ks_capture_sample_text(s, k->name),
			.class_ = ks_capture_sample_text(s, k->class_),
			.type = k->type,
			.flags = k->flags,
			.crtime = k->crtime,
			.ndata = k->ndata,
			.data_size = k->type == KSTAT_TYPE_NAMED ?
			    k->nvalues * sizeof(kstat_named_t) : k->size,
			.cookie = i
		};

		if (ks_scan_offer(scan, &offer) != 0)
			return -1;
	}
	c->offered = true;
	return 1;
}

static int
capture_read(struct ks_source *src, const kstat_t *ksp, uint64_t cookie, struct ks_record *r)
{
	const struct capture *c = capture_of(src);
	const struct ks_capture_sample *s = &c->parser.sample;
	const struct ks_capture_kstat *k;

	if (cookie < ks_capture_sample_count(s)) {
		k = ks_capture_sample_kstat(s, cookie);
		if (strcmp(ks_capture_sample_text(s, k->name), ksp->ks_name) == 0 &&
		    strcmp(ks_capture_sample_text(s, k->module), ksp->ks_module) == 0 &&
		    k->instance == ksp->ks_instance && k->type == ksp->ks_type) {
			if (!k->readable)
				return ks_fail(EIO, "%s: sample %llu: %s:%d:%s could not be read when "
				    "the capture was made", c->path,
				    (unsigned long long)c->parser.number, ksp->ks_module,
				    ksp->ks_instance, ksp->ks_name);
			ks_capture_sample_read(s, cookie, r);
			return 0;
		}
	}
	return ks_fail(ENXIO, "%s: sample %llu has no %s:%d:%s", c->path,
	    (unsigned long long)c->parser.number, ksp->ks_module, ksp->ks_instance, ksp->ks_name);
}

static int
capture_advance(struct ks_source *src)
{
	struct capture *c = capture_of(src);
	int rc = ks_capture_parser_next(&c->parser);

	if (rc > 0)
		c->offered = false;
	return rc;
}

static int
capture_time_of_day(struct ks_source *src, int64_t *ns)
{
	const struct ks_capture_parser *p = &capture_of(src)->parser;

	*ns = p->time;
	return p->has_time;
}

static int
capture_file(struct ks_source *src)
{
	return capture_of(src)->parser.in.fd;
}

static const struct ks_source_ops capture_ops = {
	.name = "capture",
	.scan = capture_scan,
	.read = capture_read,
	.advance = capture_advance,
	.time_of_day = capture_time_of_day,
	.file = capture_file,
	.close = capture_close
};

/* Moves to the first sample that has anything. */
static int
first_sample(struct capture *c)
{
	struct ks_capture_parser *p = &c->parser;
	struct ks_capture_notes *n = &p->notes;
	char problem[KS_CAPTURE_MESSAGE];
	size_t skipped;
	int rc = ks_capture_parser_next(p);

	if (rc == 0)
		return ks_fail(EBADMSG, "%s: empty: a capture is what kstat -j prints", c->path);
	if (rc < 0 || ks_capture_sample_count(&p->sample) > 0 || n->problems == 0)
		return rc;
	/* Not one kstat in it, but something else: perhaps later samples have some. */
	memcpy(problem, n->problem, sizeof(problem));
	skipped = n->problems;
	while (ks_capture_sample_count(&p->sample) == 0) {
		rc = ks_capture_parser_next(p);
		if (rc <= 0)
			return ks_fail(EBADMSG, "%s", problem);
		skipped += n->problems;
	}
	memcpy(n->problem, problem, sizeof(n->problem));
	n->problems = skipped;
	return rc;
}

struct ks_source *
ks_source_capture_open(const char *path)
{
	struct capture *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return ks_fail_null(ENOMEM, "%.200s: out of memory", path);
	c->base.ops = &capture_ops;
	c->path = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
	if (c->path == NULL) {
		free(c);
		return ks_fail_null(ENOMEM, "%.200s: out of memory", path);
	}
	if (ks_capture_parser_open(&c->parser, path) != 0 ||
	    (c->parser.notes.path = c->path, first_sample(c)) < 0) {
		int error = errno;

		capture_close(&c->base);
		errno = error;
		return NULL;
	}
	return &c->base;
}

void
ks_source_capture_until(struct ks_source *src, int64_t to)
{
	capture_of(src)->parser.until = to;
}
