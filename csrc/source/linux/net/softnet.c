/*
 * softnet.c - packets received by each CPU: cpu:N:softnet, from /proc/net/softnet_stat. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/linux/linux.h"

static const struct ks_file softnet_file = { KS_ROOT_PROC, "net/softnet_stat", KS_MADE_BRIEFLY, false };

#define COUNT(stat, desc) KS_COUNT(stat, KSTAT_DATA_UINT64, desc)
#define GAUGE(stat, desc) KS_GAUGE(stat, KSTAT_DATA_UINT64, desc)

enum { S_PROCESSED, S_DROPPED, S_SQUEEZED, S_COLLISIONS, S_RPS, S_FLOW_LIMIT, S_COUNTERS,
	S_BACKLOG = S_COUNTERS, S_INPUT, S_PROCESS };

static const struct ks_field fields[] = {
	[S_PROCESSED] = COUNT("processed", "packets that this CPU took from links"),
	[S_DROPPED] = COUNT("dropped", "packets dropped because the backlog of this CPU was full"),
	[S_SQUEEZED] = COUNT("time_squeezed", "times that work was left when time or budget of a round was used up"),
	[S_COLLISIONS] = COUNT("cpu_collision", "times that a link was being sent on by another CPU"),
	[S_RPS] = COUNT("received_rps", "times that this CPU was woken to receive packets for another"),
	[S_FLOW_LIMIT] = COUNT("flow_limit", "packets dropped because one flow filled the backlog"),
	[S_BACKLOG] = GAUGE("backlog_len", "packets that wait in the backlog of this CPU"),
	[S_INPUT] = GAUGE("input_qlen", "packets of the backlog that were not taken over for processing yet"),
	[S_PROCESS] = GAUGE("process_qlen", "packets of the backlog that are being processed"),
	KS_FIELD_END
};

/* Columns of a line. Older kernels have fewer. */
enum { N_PROCESSED, N_DROPPED, N_SQUEEZED, N_COLLISIONS = 8, N_RPS, N_FLOW_LIMIT, N_BACKLOG, N_CPU, N_INPUT,
	N_PROCESS, N_COUNT };

static const uint8_t columns[] = {
	[S_PROCESSED] = N_PROCESSED, [S_DROPPED] = N_DROPPED, [S_SQUEEZED] = N_SQUEEZED,
	[S_COLLISIONS] = N_COLLISIONS, [S_RPS] = N_RPS, [S_FLOW_LIMIT] = N_FLOW_LIMIT,
	[S_BACKLOG] = N_BACKLOG, [S_INPUT] = N_INPUT, [S_PROCESS] = N_PROCESS,
};

/* ks_unit.extra of a CPU: its line, and the counters continued, for the kernel keeps them in 32 bits. */
struct counters {
	size_t n; /* columns */
	uint64_t v[N_COUNT];
	struct ks_widened wide[S_COUNTERS];
};

/*
 * Takes the next CPU's line apart: returns the number of its columns, 0 at the end. Kernels before 5.10 do not say
 * which CPU it is; they have a line for each CPU that is online, in order, and *cpu is the number of the line.
 */
static size_t
next_line(struct ks_linux *lx, const struct ks_image *im, struct ks_text *all, uint64_t *line_number,
    uint64_t v[N_COUNT], uint64_t *cpu)
{
	struct ks_text line;

	while (ks_text_line(all, &line)) {
		struct ks_text rest = line;
		size_t n = 0;

		while (n < N_COUNT && ks_text_hex(&rest, &v[n]))
			n++;
		if (n <= N_SQUEEZED || (n < N_COUNT && !ks_text_empty(&rest))) {
			if (!ks_text_empty(&line))
				ks_linux_odd_line(lx, im, &line);
			continue;
		}
		*cpu = n > N_CPU ? v[N_CPU] : *line_number;
		++*line_number;
		if (*cpu <= INT32_MAX)
			return n;
	}
	return 0;
}

/*
 * Brings the units up to date with the lines of an image; adds new ones if it is a scan. Returns 0, or -1 with errno
 * ENOMEM.
 */
static int
take_lines(struct ks_linux *lx, struct ks_units *units, const struct ks_image *im, bool scan)
{
	struct ks_text all = ks_text_of(im->data, im->len);
	uint64_t v[N_COUNT], cpu, number = 0;
	size_t n;

	while ((n = next_line(lx, im, &all, &number, v, &cpu)) > 0) {
		char key[24];
		size_t len = (size_t)snprintf(key, sizeof(key), "%d", (int)cpu);
		bool is_new = false;
		struct ks_unit *unit = scan ? ks_units_see(units, key, len, 0, &is_new) : ks_units_find(units, key, len);
		struct counters *c;

		if (unit == NULL && !scan)
			continue;
		if (unit == NULL || (is_new && (unit->extra = calloc(1, sizeof(*c))) == NULL))
			return -1;
		if (is_new) {
			unit->instance = (int)cpu;
			unit->parts = 1;
		}
		c = unit->extra;
		c->n = n;
		memcpy(c->v, v, sizeof(v));
		unit->seq = im->seq;
	}
	units->seq = im->seq;
	return 0;
}

static int
read_softnet(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_image *im = ks_linux_image(lx, &softnet_file);
	struct ks_units *units = &lx->sub[KS_SUB_softnet].units;
	struct counters *c = unit->extra;
	struct ks_values vals = { .have = 0 };

	if (im == NULL)
		return -1;
	if (units->seq != im->seq)
		(void)take_lines(lx, units, im, false);
	if (unit->seq != im->seq)
		return ks_linux_gone(unit);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		uint64_t v = c->v[columns[i]];

		if (columns[i] < c->n)
			ks_have(&vals, i, i < S_COUNTERS ? ks_widen(&c->wide[i], v) : v);
	}
	ks_fields_add(r, fields, &vals);
	return 0;
}

static const struct ks_part parts[] = {
	KS_NAMED_PART("cpu", "softnet", "misc", .fields = KS_TABLE(fields), .read = read_softnet,
	    .from = "/proc/net/softnet_stat"),
};

static int
scan_softnet(struct ks_linux *lx, struct ks_units *units)
{
	const struct ks_image *im = ks_linux_try(lx, &softnet_file);

	ks_units_begin(units);
	if (im != NULL && take_lines(lx, units, im, true) != 0)
		return -1;
	return ks_units_end(units);
}

KS_SUBSYSTEM(softnet, parts, .scan = scan_softnet);
