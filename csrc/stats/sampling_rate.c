/* sampling_rate.c - sampling rates of templates, and the dice. SPDX-License-Identifier: MIT */
#include "stats/sampling_rate.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/number.h"
#include "stats/template.h"
#include "stats/template_spec.h"

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
	int id = ks_spec_front(p, (size_t)(end - p), &speclen);

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
		ks_spec_print(&out, t);
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
