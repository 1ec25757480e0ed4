/* format.c - see format.h. SPDX-License-Identifier: MIT */
#include "metrics/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

#define OPENMETRICS "application/openmetrics-text"
#define PROTOBUF "application/vnd.google.protobuf"
#define MESSAGE "io.prometheus.client.MetricFamily"

/* A part of a header, which ends where the next one begins. */
struct word {
	const char *p;
	size_t n;
};

/* Takes the next part up to a byte away from a text. False: nothing is left. */
static bool
next_word(struct word *rest, char end, struct word *w)
{
	const char *at;

	if (rest->p == NULL)
		return false;
	at = memchr(rest->p, end, rest->n);
	*w = (struct word){ rest->p, at != NULL ? (size_t)(at - rest->p) : rest->n };
	rest->n -= at != NULL ? w->n + 1 : w->n;
	rest->p = at != NULL ? at + 1 : NULL;
	while (w->n > 0 && (*w->p == ' ' || *w->p == '\t')) {
		w->p++;
		w->n--;
	}
	while (w->n > 0 && (w->p[w->n - 1] == ' ' || w->p[w->n - 1] == '\t'))
		w->n--;
	return true;
}

static bool
is_text(const struct word *w, const char *text)
{
	return w->n == strlen(text) && strncasecmp(w->p, text, w->n) == 0;
}

/* Reads what one client wants: a media type with parameters. False: it is none of ours, or is not wanted at all. */
static bool
read_wish(struct word wish, enum ks_metric_format *format, double *weight)
{
	struct word type, parameter, name, value;
	bool is_family = false, is_delimited = false;

	*weight = 1;
	if (!next_word(&wish, ';', &type))
		return false;
	while (next_word(&wish, ';', &parameter)) {
		if (!next_word(&parameter, '=', &name) || !next_word(&parameter, '\0', &value))
			continue;
		if (is_text(&name, "q") && !(ks_scan_double(value.p, value.n, weight) == 0 && *weight <= 1))
			return false;
		is_family |= is_text(&name, "proto") && is_text(&value, MESSAGE);
		is_delimited |= is_text(&name, "encoding") && is_text(&value, "delimited");
	}
	if (is_text(&type, OPENMETRICS))
		*format = KS_METRIC_OPENMETRICS;
	else if (type.n >= 5 && strncasecmp(type.p, "text/", 5) == 0)
		*format = KS_METRIC_CLASSIC;
	else if (is_text(&type, PROTOBUF) && is_family && is_delimited)
		*format = KS_METRIC_PROTOBUF;
	else
		return false;
	return *weight > 0;
}

enum ks_metric_format
ks_metric_negotiate(const char *accept)
{
	struct word rest = { accept, accept != NULL ? strlen(accept) : 0 }, wish;
	enum ks_metric_format best = KS_METRIC_CLASSIC, format;
	double most = 0, weight;

	while (next_word(&rest, ',', &wish)) {
		if (read_wish(wish, &format, &weight) &&
		    (weight > most || (weight == most && best == KS_METRIC_CLASSIC))) {
			best = format;
			most = weight;
		}
	}
	return best;
}

const char *
ks_metric_media_type(enum ks_metric_format format)
{
	static const char *const types[] = {
		[KS_METRIC_CLASSIC] = "text/plain; version=0.0.4; charset=utf-8",
		[KS_METRIC_OPENMETRICS] = OPENMETRICS "; version=1.0.0; charset=utf-8",
		[KS_METRIC_PROTOBUF] = PROTOBUF "; proto=" MESSAGE "; encoding=delimited"
	};

	return types[format];
}
