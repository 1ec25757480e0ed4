/* render.c - see render.h. SPDX-License-Identifier: MIT */
#include "output/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "chain/chain.h"
#include "chain/selection.h"
#include "model/blobstat.h"
#include "model/histstat.h"
#include "model/record.h"
#include "output/distribution.h"

/* Output is written in pieces of about this size, so that a huge chain needs little memory. */
#define PIECE 65536

struct render {
	kstat_ctl_t *kc;
	const struct ks_sample *now, *before; /* rates between these; now NULL: the chain as it is */
	enum ks_format format;
	struct ks_buf out;
	ks_write_fn *write;
	void *arg;
	uchar_t *state;       /* by kstat ID, with several selectors: what reading it gave */
	struct ks_json json;
	struct ks_values values;
	long count;
	struct ks_buf kstat;    /* memory of the kstat that is shown; values point into it */
	kstat_t unread;         /* header of one that could not be read; values point into it */
};

enum { STATE_UNREAD, STATE_READ, STATE_FAILED };

/* --- values ----------------------------------------------------------------- */

static void
add_number(struct ks_buf *b, const struct ks_value *v)
{
	char *to = ks_buf_room(b, KS_NUMBER_MAX);

	if (to == NULL)
		return;
	if (v->kind == KS_VALUE_U64)
		b->len += ks_format_u64(to, v->u64);
	else if (v->kind == KS_VALUE_DOUBLE)
		b->len += ks_format_double(to, v->d);
	else if (v->kind == KS_VALUE_TIME)
		b->len += ks_format_seconds(to, v->i64);
	else
		b->len += ks_format_i64(to, v->i64);
}

static void
add_ints(struct ks_buf *b, const struct ks_value *v)
{
	struct ks_json j = { .out = b };

	ks_json_open(&j, '[');
	for (uint32_t i = 0; i < v->len; i++)
		ks_json_u64(&j, ks_ints_at(v->str, i));
	ks_json_close(&j, ']');
}

static void
add_strs(struct ks_buf *b, const struct ks_value *v, bool is_quoted)
{
	struct ks_json j = { .out = b };

	ks_json_open(&j, '[');
	for (uint32_t at = 0, len; at < v->len; at += len + 1) {
		len = (uint32_t)strnlen(v->str + at, v->len - at);
		if (is_quoted)
			ks_json_string(&j, v->str + at, len);
		else
			ks_buf_add(ks_json_value(&j), v->str + at, len);
	}
	ks_json_close(&j, ']');
}

void
ks_render_value(struct ks_buf *b, const struct ks_value *v)
{
	if (v->kind == KS_VALUE_INTS)
		add_ints(b, v);
	else if (v->kind == KS_VALUE_STRS)
		add_strs(b, v, false);
	else if (v->kind == KS_VALUE_STRING)
		ks_buf_add(b, v->str, v->len);
	else
		add_number(b, v);
}

void
ks_render_json(struct ks_json *j, const struct ks_value *v)
{
	if (v->kind == KS_VALUE_STRING)
		ks_json_string(j, v->str, v->len);
	else if (v->kind == KS_VALUE_DOUBLE)
		ks_json_double(j, v->d);
	else if (v->kind == KS_VALUE_STRS)
		add_strs(ks_json_value(j), v, true);
	else
		ks_render_value(ks_json_value(j), v);
}

/* --- one kstat in each format ------------------------------------------------- */

static void
add_padded(struct ks_buf *b, const char *s, size_t n, size_t width)
{
	ks_buf_add(b, s, n);
	for (; n < width; n++)
		ks_buf_addc(b, ' ');
}

/* Whether the i-th statistic of a statsblob kstat is drawn: counts of a histogram, and their bounds. */
static bool
is_drawn(const struct render *r, const kstat_t *ksp, size_t i)
{
	const char *name = r->values.pair[i].name;
	size_t n = strlen(name);

	if (n <= 7 || strcmp(name + n - 7, "_bounds") != 0)
		return ks_is_blob_histogram(ksp, name);
	n -= 7;
	for (size_t k = 0; k < r->values.n; k++) {
		const char *other = r->values.pair[k].name;

		if (strncmp(other, name, n) == 0 && strcmp(other + n, "_buckets") == 0)
			return ks_is_blob_histogram(ksp, other);
	}
	return false;
}

static void
human(struct render *r, const kstat_t *ksp)
{
	struct ks_buf *b = &r->out;
	char instance[KS_NUMBER_MAX];
	struct ks_histstat histogram;
	bool plot = ks_histstat_open(&histogram, ksp), plotted = false, blob = ks_blobstat_is(ksp);

	ks_buf_adds(b, "module: ");
	add_padded(b, ksp->ks_module, strlen(ksp->ks_module), 30);
	ks_buf_adds(b, "  instance: ");
	add_padded(b, instance, ks_format_i64(instance, ksp->ks_instance), 6);
	ks_buf_adds(b, "\nname:   ");
	add_padded(b, ksp->ks_name, strlen(ksp->ks_name), 30);
	ks_buf_adds(b, "  class:    ");
	ks_buf_adds(b, ksp->ks_class);
	ks_buf_addc(b, '\n');
	for (size_t i = 0; i < r->values.n; i++) {
		const struct ks_pair *p = &r->values.pair[i];

		if (plot && strcmp(p->name, "buckets") == 0) {
			plotted = true;
			continue;
		}
		if (blob && is_drawn(r, ksp, i))
			continue;
		ks_buf_addc(b, '\t');
		add_padded(b, p->name, strlen(p->name), 30);
		ks_buf_adds(b, "  ");
		ks_render_value(b, &p->value);
		ks_buf_addc(b, '\n');
	}
	if (plotted)
		ks_histogram_plot(b, ksp, ks_chain_meta(r->kc, ksp, "buckets"));
	for (size_t i = 0; blob && i < r->values.n; i++)
		ks_blob_plot(b, ksp, r->values.pair[i].name);
	ks_buf_addc(b, '\n');
}

static void
lines(struct render *r, const kstat_t *ksp)
{
	struct ks_buf *b = &r->out;
	char prefix[2 * KSTAT_STRLEN + KS_NUMBER_MAX];
	size_t n = strlen(ksp->ks_module);

	memcpy(prefix, ksp->ks_module, n);
	prefix[n++] = ':';
	n += ks_format_i64(prefix + n, ksp->ks_instance);
	prefix[n++] = ':';
	memcpy(prefix + n, ksp->ks_name, strlen(ksp->ks_name));
	n += strlen(ksp->ks_name);
	prefix[n++] = ':';
	for (size_t i = 0; i < r->values.n; i++) {
		const struct ks_pair *p = &r->values.pair[i];

		ks_buf_add(b, prefix, n);
		ks_buf_adds(b, p->name);
		if (r->format != KS_FORMAT_LIST) {
			ks_buf_addc(b, r->format == KS_FORMAT_COLONS ? ':' : '\t');
			ks_render_value(b, &p->value);
		}
		ks_buf_addc(b, '\n');
	}
}

/* Who publishes a kstat; the process is absent if it is not known. */
static void
add_publisher(struct ks_json *j, const struct ks_origin *o)
{
	ks_json_name(j, "publisher");
	ks_json_open(j, '{');
	ks_json_string_member(j, "name", o->name);
	ks_json_i64_member(j, "uid", o->uid);
	if (o->pid != 0)
		ks_json_i64_member(j, "pid", o->pid);
	ks_json_close(j, '}');
}

static void
json(struct render *r, const kstat_t *ksp)
{
	struct ks_json *j = &r->json;
	struct ks_origin origin;

	ks_json_open(j, '{');
	ks_json_string_member(j, "module", ksp->ks_module);
	ks_json_i64_member(j, "instance", ksp->ks_instance);
	ks_json_string_member(j, "name", ksp->ks_name);
	ks_json_string_member(j, "class", ksp->ks_class);
	ks_json_i64_member(j, "type", ksp->ks_type);
	/* Captures of illumos have raw kstats with statistics, too, that their command does not show. */
	if (ks_blobstat_is(ksp))
		ks_json_i64_member(j, "statsblob", 1);
	if (ks_chain_publisher(r->kc, ksp, &origin))
		add_publisher(j, &origin);
	if (ks_chain_host(r->kc, ksp) != NULL)
		ks_json_string_member(j, "host", ks_chain_host(r->kc, ksp));
	ks_json_name(j, "snaptime");
	/* A kstat that could not be read: what it held when it was created is the last known of it. */
	add_number(ks_json_value(j), &(struct ks_value){ .kind = KS_VALUE_TIME,
		.i64 = ksp->ks_snaptime != 0 ? ksp->ks_snaptime : ksp->ks_crtime });
	ks_json_name(j, "data");
	ks_json_open(j, '{');
	for (size_t i = 0; i < r->values.n; i++) {
		ks_json_name(j, r->values.pair[i].name);
		ks_render_json(j, &r->values.pair[i].value);
	}
	ks_json_close(j, '}');
	ks_json_close(j, '}');
}

/* --- the whole ------------------------------------------------------------------ */

static bool
is_json(enum ks_format format)
{
	return format == KS_FORMAT_JSON || format == KS_FORMAT_JSON_CLASS;
}

static bool
shows_class(enum ks_format format)
{
	return format != KS_FORMAT_HUMAN && format != KS_FORMAT_JSON;
}

/* Writes the output that has gathered, if it is at least `least` bytes. */
static int
write_out(struct render *r, size_t least)
{
	if (r->out.failed)
		return ks_fail(ENOMEM, "out of memory for the output");
	if (r->out.len < least || r->out.len == 0)
		return 0;
	if (r->write(r->arg, r->out.data, r->out.len) != 0)
		return -1;
	ks_buf_reset(&r->out);
	return 0;
}

/*
 * Reads a kstat of the chain and returns it. With several selectors it stays in the chain, because it may be shown again;
 * else it is read into memory that the next one uses, too, for 100,000 control groups have 200 MB of data. One that could
 * not be read has no data.
 */
static const kstat_t *
read_once(struct render *r, kstat_t *ksp)
{
	const kstat_t *copy = NULL;
	uchar_t *state = r->state != NULL ? &r->state[ksp->ks_kid] : NULL;

	if (state == NULL)
		copy = ks_chain_read_into(r->kc, ksp, &r->kstat);
	else if (*state == STATE_UNREAD)
		*state = kstat_read(r->kc, ksp, NULL) >= 0 ? STATE_READ : STATE_FAILED;
	if (copy != NULL)
		return copy;
	if (state != NULL && *state == STATE_READ)
		return ksp;
	r->unread = *ksp;
	r->unread.ks_data = NULL;
	return &r->unread;
}

/* Keeps only the values that the selector wants, and with these the last one, the host, if `names_host`. */
static void
keep_matching(struct ks_values *v, const struct ks_selector *s, bool names_host)
{
	size_t n = 0;

	if (s->stat.kind == KS_PATTERN_ANY)
		return;
	for (size_t i = 0; i < v->n; i++) {
		if (ks_selector_matches_stat(s, v->pair[i].name) || (names_host && n > 0 && i + 1 == v->n))
			v->pair[n++] = v->pair[i];
	}
	v->n = n;
}

/* Collects the values of a kstat that are shown. 0, or -1 with errno. */
static int
collect(struct render *r, const kstat_t *ksp)
{
	bool with_class = shows_class(r->format);
	const char *host = r->format != KS_FORMAT_JSON ? ks_chain_host(r->kc, ksp) : NULL; /* it is a member there */
	struct ks_delta delta;
	int rc;

	if (r->now != NULL && ksp->ks_data != NULL) {
		r->values.n = 0;
		if (!ks_delta_open(&delta, r->before, ksp))
			return 0;
		rc = ks_values_collect_rates(&r->values, &delta, r->kc, with_class);
	} else {
		rc = ks_values_collect(&r->values, ksp, with_class);
	}
	if (rc == 0 && host != NULL)
		rc = ks_values_add(&r->values, "host", &(struct ks_value){ .kind = KS_VALUE_STRING, .str = host,
			.len = (uint32_t)strlen(host) });
	return rc;
}

/* Shows what the selector matches of a kstat. */
static int
render_kstat(struct render *r, const struct ks_selector *s, kstat_t *in_chain)
{
	const kstat_t *ksp = r->now != NULL ? in_chain : read_once(r, in_chain);
	bool has_values = r->format != KS_FORMAT_LIST && !is_json(r->format);

	if (collect(r, ksp) != 0)
		return -1;
	keep_matching(&r->values, s, has_values && ks_chain_host(r->kc, ksp) != NULL);
	if (r->values.n == 0)
		return 0;
	r->count += (long)r->values.n;
	if (r->format == KS_FORMAT_QUIET)
		return 0;
	ks_values_sort(&r->values);
	if (r->format == KS_FORMAT_HUMAN)
		human(r, ksp);
	else if (is_json(r->format))
		json(r, ksp);
	else
		lines(r, ksp);
	return write_out(r, PIECE);
}

static int
render_selector(struct render *r, const struct ks_selector *s)
{
	struct ks_selection sel;
	int rc = r->now != NULL ? ks_selector_pick(&s, 1, r->now->ksp, r->now->n, &sel) :
	    ks_selector_select(s, r->kc, &sel);

	for (size_t i = 0; rc == 0 && i < sel.n; i++)
		rc = render_kstat(r, s, sel.ksp[i]);
	ks_selection_free(&sel);
	return rc;
}

/* With several selectors a kstat may be shown twice; it is read once, so that both agree. */
static int
remember_reads(struct render *r)
{
	kid_t most = 0;

	for (const kstat_t *ksp = r->kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_kid > most)
			most = ksp->ks_kid;
	}
	r->state = calloc((size_t)most + 1, 1);
	return r->state != NULL ? 0 : ks_fail(ENOMEM, "out of memory for a report");
}

/* Ends the use of r. */
static long
render_all(struct render *r, const struct ks_selector *const *selectors, size_t n)
{
	int rc = r->now == NULL && n > 1 ? remember_reads(r) : 0;

	r->json = (struct ks_json){ .out = &r->out, .next = ", ", .is_indented = true };
	if (is_json(r->format))
		ks_json_open(&r->json, '[');
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = render_selector(r, selectors[i]);
	if (is_json(r->format)) {
		ks_json_close(&r->json, ']');
		ks_buf_addc(&r->out, '\n');
	}
	if (rc == 0)
		rc = write_out(r, 0);
	ks_chain_warn_of_selectors(r->kc, selectors, n);
	ks_buf_free(&r->out);
	ks_buf_free(&r->kstat);
	ks_values_free(&r->values);
	free(r->state);
	return rc == 0 ? r->count : -1;
}

long
ks_render_write(kstat_ctl_t *kc, const struct ks_selector *const *selectors, size_t n,
    enum ks_format format, ks_write_fn *write, void *arg)
{
	struct render r = { .kc = kc, .format = format, .write = write, .arg = arg };

	return render_all(&r, selectors, n);
}

long
ks_render_rates(kstat_ctl_t *kc, const struct ks_sample *now, const struct ks_sample *before,
    const struct ks_selector *const *selectors, size_t n, enum ks_format format, ks_write_fn *write,
    void *arg)
{
	struct render r = { .kc = kc, .now = now, .before = before, .format = format, .write = write,
	    .arg = arg };

	return render_all(&r, selectors, n);
}
