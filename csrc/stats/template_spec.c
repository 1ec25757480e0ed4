/*
 * template_spec.c - templates named in text: "NAME":HASH, "NAME", :HASH, and the list of
 * all of them. SPDX-License-Identifier: MIT
 */
#include "stats/template_spec.h"

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

int
ks_spec_front(const char *p, size_t len, size_t *end)
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

void
ks_spec_print(struct ks_buf *b, const struct statsblob_tpl *t)
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
		ks_spec_print(&out, ks_tpl_get(i));
	}
	ks_tpl_unlock();
	if (out.failed && buf->s_error == 0)
		buf->s_error = ENOMEM;
	else if (out.len > 0)
		(void)stats_sbuf_bcat(buf, out.data, out.len);
	ks_buf_free(&out);
	return stats_sbuf_error(buf);
}
