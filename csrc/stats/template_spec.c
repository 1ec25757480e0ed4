/*
 * template_spec.c - templates named in text: "NAME":HASH, "NAME", :HASH; the list of all of them, and lists of
 * sampling rates, by which the dice fall. SPDX-License-Identifier: MIT
 */

#include <stdlib.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/number.h"
#include "stats/template.h"

/* Returns the closing quote of a quoted name: the quote that only a hash, a rate or nothing follows. */
static const char *
closing(const char *p, const char *end)
{
	for (const char *q = p + 1; q < end; q++) {
		if (*q == '"' && (q + 1 == end || q[1] == ':' || q[1] == '='))
			return q;
	}
	return NULL;
}

/* Returns the template that the spec names, or -1. The caller holds the lock. */
static int
find_spec(const char *p, size_t len)
{
	const char *end = p + len, *colon = NULL, *q = NULL;
	uint64_t hash = 0;

	if (len > 0 && *p == '"')
		q = closing(p, end);
	if (q != NULL) {
		colon = q + 1 < end && q[1] == ':' ? q + 1 : NULL;
		len = (size_t)(q - p - 1);
		p++;
	} else {
		colon = memrchr(p, ':', len);
		len = (size_t)((colon != NULL ? colon : end) - p);
		/* Each of the two quotes is optional. */
		if (len > 0 && *p == '"') {
			p++;
			len--;
		}
		if (len > 0 && p[len - 1] == '"')
			len--;
	}
	/* A hash that is no number matches every hash. */
	if (colon != NULL) {
		const char *digits = colon + 1;

		if (ks_scan_u64(&digits, end, &hash) != 0)
			hash = 0;
		else if (hash > UINT32_MAX)
			return -1;
	}
	return ks_tpl_find(colon == p ? NULL : p, len, (uint32_t)hash);
}

/*
 * Returns the template that the spec in front of a '=' names, or -1; stores the spec's length in *end, which
 * is len if there is no '='. The caller holds the lock.
 */
static int
spec_front(const char *p, size_t len, size_t *end)
{
	const char *q = len > 0 && *p == '"' ? closing(p, p + len) : NULL, *sign;
	size_t first;
	int id;

	sign = memchr(p, '=', len);
	first = sign != NULL ? (size_t)(sign - p) : len;
	*end = first;
	if (q == NULL)
		return find_spec(p, first);
	/* A quoted name may contain '='. But a single quote is legal, too: "a=5,"b"=6. */
	sign = memchr(q, '=', (size_t)(p + len - q));
	*end = sign != NULL ? (size_t)(sign - p) : len;
	id = find_spec(p, *end);
	if (id < 0 && first < *end && find_spec(p, first) >= 0) {
		*end = first;
		id = find_spec(p, first);
	}
	return id;
}

int
stats_tpl_fetch_spec(const char *spec, size_t len)
{
	int id;

	if (spec == NULL)
		return -EINVAL;
	ks_tpl_lock();
	id = find_spec(spec, len);
	ks_tpl_unlock();
	return id < 0 ? -ESRCH : id;
}

/* Appends the normative form of a spec. The caller holds the lock. */
static void
print_spec(struct ks_buf *b, const struct statsblob_tpl *t)
{
	ks_buf_addc(b, '"');
	ks_buf_adds(b, t->name);
	ks_buf_addf(b, "\":%u", t->image->tplhash);
}

int
stats_tpl_list(struct sbuf *buf)
{
	struct ks_buf out = KS_BUF_INIT;
	uint32_t n;

	if (buf == NULL)
		return EINVAL;
	ks_tpl_lock();
	n = ks_tpl_count();
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			ks_buf_addc(&out, ',');
		print_spec(&out, ks_tpl_get(i));
	}
	ks_tpl_unlock();
	if (out.failed && buf->s_error == 0)
		buf->s_error = ENOMEM;
	else if (out.len > 0)
		(void)stats_sbuf_bcat(buf, out.data, out.len);
	ks_buf_free(&out);
	return stats_sbuf_error(buf);
}

/* --- sampling rates, and the dice --- */

/* Bytes per entry in the answer to a request for the size; no entry needs as many. */
#define RATE_TEXT_MAX 82

static bool
blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && blank(*p))
		p++;
	return p;
}

/* Reads an entry, SPEC=PERCENT, and the comma behind it. 0 or an errno. */
static int
parse_one(const char **pp, const char *end, struct stats_tpl_sample_rate *rate)
{
	const char *p = *pp;
	size_t speclen;
	uint64_t pct;
	int id = spec_front(p, (size_t)(end - p), &speclen);

	if (speclen == 0 || p + speclen == end)
		return EINVAL;
	p = skip_blanks(p + speclen + 1, end);
	if (p < end && *p == '+')
		p++;
	if (ks_scan_u64(&p, end, &pct) != 0 || pct > 100)
		return EINVAL;
	p = skip_blanks(p, end);
	if (p < end && *p != ',')
		return EINVAL;
	if (id < 0)
		return ESRCH;
	*pp = p < end ? p + 1 : p;
	*rate = (struct stats_tpl_sample_rate){ .tpl_slot_id = id, .tpl_sample_pct = (uint32_t)pct };
	return 0;
}

/* The caller holds the lock of the list of templates. */
static int
parse(const char *p, size_t len, struct ks_rates *r)
{
	const char *end = p + len;
	uint32_t sum = 0;
	size_t cap = (size_t)r->n;
	int ret;

	if (memchr(p, '\0', len) != NULL)
		return EINVAL;
	for (p = skip_blanks(p, end); p < end; p = skip_blanks(p, end)) {
		if (r->n == INT32_MAX || !KS_RESERVE(r->list, cap, (size_t)r->n + 1))
			return ENOMEM;
		ret = parse_one(&p, end, &r->list[r->n]);
		if (ret != 0)
			return ret;
		sum += r->list[r->n++].tpl_sample_pct;
		if (sum > 100)
			return EINVAL;
	}
	return 0;
}

int
ks_rates_parse(const char *text, size_t len, struct ks_rates *r)
{
	int ret;

	ks_tpl_lock();
	ret = parse(text, len, r);
	ks_tpl_unlock();
	return ret;
}

static int
get(stats_tpl_sr_cb_t cb, void *ctx, char *oldbuf, size_t *oldlen)
{
	struct ks_buf out = KS_BUF_INIT;
	struct ks_rates r = { 0 };
	int ret, unlock;

	if (oldbuf == NULL) {
		ret = cb(TPL_SR_UNLOCKED_GET, &r.list, &r.n, ctx);
		if (ret == 0)
			*oldlen = r.n > 0 ? (size_t)r.n * RATE_TEXT_MAX : 1;
		return ret;
	}
	ret = cb(TPL_SR_RLOCKED_GET, &r.list, &r.n, ctx);
	if (ret != 0)
		return ret;
	ks_tpl_lock();
	for (int i = 0; i < r.n; i++) {
		const struct statsblob_tpl *t = ks_tpl_get(r.list[i].tpl_slot_id);

		if (t == NULL)
			continue;
		if (out.len > 0)
			ks_buf_addc(&out, ',');
		print_spec(&out, t);
		ks_buf_addf(&out, "=%u", r.list[i].tpl_sample_pct);
	}
	ks_tpl_unlock();
	unlock = cb(TPL_SR_RUNLOCK, &r.list, &r.n, ctx);
	ks_buf_addc(&out, '\0');
	if (out.failed || out.len > *oldlen)
		ret = ENOMEM;
	else
		memcpy(oldbuf, out.data, out.len);
	*oldlen = out.len;
	ks_buf_free(&out);
	return ret != 0 ? ret : unlock;
}

static int
set(stats_tpl_sr_cb_t cb, void *ctx, const char *text, size_t len)
{
	struct ks_rates r = { 0 };
	int ret;

	ret = ks_rates_parse(text, len, &r);
	/* After a PUT this is the former list, which the manual page lets this function free. */
	if (ret == 0)
		ret = cb(TPL_SR_PUT, &r.list, &r.n, ctx);
	free(r.list);
	return ret;
}

int
stats_tpl_sample_rates(stats_tpl_sr_cb_t cb, size_t ctxsz, char *oldbuf, size_t *oldlen,
    const char *newtext, size_t newlen)
{
	void *ctx = NULL;
	int ret = 0;

	if (cb == NULL || (oldbuf != NULL && oldlen == NULL))
		return EINVAL;
	if (ctxsz > 0 && (ctx = calloc(1, ctxsz)) == NULL)
		return ENOMEM;
	if (oldlen != NULL)
		ret = get(cb, ctx, oldbuf, oldlen);
	if (ret == 0 && newtext != NULL)
		ret = set(cb, ctx, newtext, newlen);
	free(ctx);
	return ret;
}

int
stats_tpl_sample_rollthedice(struct stats_tpl_sample_rate *rates, int nrates, void *seed_bytes,
    size_t seed_len)
{
	uint32_t hash, roll, sum = 0;

	if (rates == NULL || nrates <= 0)
		return -1;
	if (seed_bytes != NULL)
		hash = ks_tpl_hash32(0, seed_bytes, seed_len);
	else if (getrandom(&hash, sizeof(hash), GRND_NONBLOCK) != (ssize_t)sizeof(hash))
		return -1;
	/* From 0 to 99; the reference yields 100 for the 96 greatest hashes. */
	roll = hash / (UINT32_MAX / 100);
	if (roll > 99)
		roll = 99;
	for (int i = 0; i < nrates; i++) {
		sum += rates[i].tpl_sample_pct;
		if (roll < sum)
			return rates[i].tpl_slot_id;
	}
	return -1;
}
