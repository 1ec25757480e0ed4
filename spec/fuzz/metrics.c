/*
 * metrics.c - fuzzes the answers of /metrics. The first line of the input is the header Accept of a client; the rest is a
 * capture, whose kstats are given as metrics in every format, twice. Whatever the bytes, that must end and stay inside
 * memory, texts must be lines, and protocol buffers messages, each after its length and in order to its innermost field.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "chain/chain.h"
#include "metrics/exposition.h"
#include "source/replay/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
	if (!is_true)
		abort();
}

static uint64_t
take_varint(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		check(*p < end && shift < 64);
		v |= (uint64_t)(**p & 0x7f) << shift;
		if ((*(*p)++ & 0x80) == 0)
			return v;
	}
}

/* Checks a message; kinds: which of its fields are messages, and of which kind. */
static void
check_message(const uint8_t *p, const uint8_t *end, int message)
{
	enum { FAMILY, METRIC, PAIR, VALUE, COUNTER, HISTOGRAM, TIME, BUCKET, SPAN };
	static const struct {
		int8_t field, within;
	} kinds[][4] = {
		[FAMILY] = { { 4, METRIC } }, [METRIC] = { { 1, PAIR }, { 2, VALUE }, { 3, COUNTER }, { 7, HISTOGRAM } },
		[COUNTER] = { { 3, TIME } }, [HISTOGRAM] = { { 3, BUCKET }, { 12, SPAN }, { 15, TIME } },
		[SPAN] = { { 0, 0 } }
	};

	while (p < end) {
		uint64_t tag = take_varint(&p, end), n;

		switch (tag & 7) {
		case 0:
			(void)take_varint(&p, end);
			break;
		case 1:
			check(end - p >= 8);
			p += 8;
			break;
		default:
			check((tag & 7) == 2);
			n = take_varint(&p, end);
			check(n <= (size_t)(end - p));
			for (int i = 0; i < 4; i++) {
				if (kinds[message][i].field != 0 && (uint64_t)kinds[message][i].field == tag >> 3)
					check_message(p, p + n, kinds[message][i].within);
			}
			p += n;
		}
	}
}

static void
check_text(const struct ks_buf *b, enum ks_metric_format format)
{
	const uint8_t *p, *end;

	if (b->len == 0)
		return;
	if (format != KS_METRIC_PROTOBUF) {
		check(b->data[b->len - 1] == '\n' && memchr(b->data, '\0', b->len) == NULL);
		return;
	}
	p = (const uint8_t *)b->data;
	end = p + b->len;
	while (p < end) {
		uint64_t n = take_varint(&p, end);

		check(n <= (size_t)(end - p));
		check_message(p, p + n, 0);
		p += n;
	}
}

static void
expose(kstat_ctl_t *kc, enum ks_metric_format format)
{
	static const struct ks_selector everything;
	static const struct ks_selector *const all[] = { &everything };
	struct ks_exposition *x = ks_exposition_open(kc, all, 1, format);
	struct ks_buf text = KS_BUF_INIT;
	int rc = 0;

	check(x != NULL);
	for (int i = 0; i < 2 && rc == 0; i++) {
		ks_buf_reset(&text);
		while ((rc = ks_exposition_step(x, &text)) > 0)
			;
		if (rc == 0)
			check_text(&text, format);
		check(ks_exposition_again(x) == 0);
	}
	ks_exposition_free(x);
	ks_buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = memchr(data, '\n', size);
	size_t n = line != NULL ? (size_t)(line - data) : size;
	char *accept = malloc(n + 1), path[40];
	int fd = memfd_create("capture", MFD_CLOEXEC);
	kstat_ctl_t *kc;

	check(accept != NULL && fd >= 0);
	memcpy(accept, data, n);
	accept[n] = '\0';
	check(ks_metric_media_type(ks_metric_negotiate(accept)) != NULL);
	free(accept);
	check(write(fd, data + n, size - n) == (ssize_t)(size - n));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kc = ks_chain_open_source(ks_source_replay_open(path, &KS_WINDOW_ALL), NULL);
	(void)close(fd);
	if (kc == NULL)
		return 0;
	for (int format = KS_METRIC_CLASSIC; format <= KS_METRIC_PROTOBUF; format++)
		expose(kc, (enum ks_metric_format)format);
	(void)kstat_close(kc);
	return 0;
}
