/*
 * proc_stat.c - parses /proc/stat, as far as its readers need it: the times of the CPUs, totals, and since when the
 * machine runs. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "source/linux/cpu/cpus.h"
#include "source/linux/system/uptime.h"

const struct ks_file ks_stat_file = { KS_ROOT_PROC, "stat", KS_MADE_WHOLE, false };

/*
 * The times of the CPUs. The kernel corrects idle, iowait and steal backwards, and the line of all CPUs falls when a CPU
 * comes back. Here no time falls.
 */

/* Starts a reading: the lines of CPUs that follow are of an image that was taken at that time. */
static void
begin_ticks(struct ks_cpu_ticks_all *all, hrtime_t taken)
{
	all->parsed++;
	memcpy(all->last, all->sum, sizeof(all->last));
	all->before = all->now;
	all->now = taken;
}

/*
 * Stores what a CPU counted since the reading before. A time that fell counts 0. Where idle fell, which is nearly
 * all of the time of most CPUs, it counts what the other states leave of the time that passed. The times of
 * guests are part of others.
 */
static void
differences(const struct ks_cpu_ticks *t, const uint64_t *now, uint64_t passed, uint64_t *counted)
{
	uint64_t accounted = 0;

	for (size_t i = 0; i < t->n; i++) {
		counted[i] = now[i] > t->raw[i] ? now[i] - t->raw[i] : 0;
		if (i < KS_TICKS_GUEST)
			accounted += counted[i];
	}
	if (now[KS_TICKS_IDLE] < t->raw[KS_TICKS_IDLE] && passed > accounted)
		counted[KS_TICKS_IDLE] = passed - accounted;
}

/* Adds the line of a CPU, without its label. 0, or -1 with errno ENOMEM: the CPU counts nothing. */
static int
add_ticks(struct ks_cpu_ticks_all *all, uint64_t cpu, uint64_t seq, struct ks_text line)
{
	uint64_t now[KS_TICKS_COUNT] = { 0 }, counted[KS_TICKS_COUNT] = { 0 };
	struct ks_cpu_ticks *t;
	size_t n = ks_text_numbers(&line, now, KS_TICKS_COUNT);

	if (cpu >= KS_CPU_MAX)
		return 0;
	if (!KS_RESERVE(all->v, all->cap, cpu + 1))
		return -1;
	if (cpu >= all->n) {
		memset(all->v + all->n, 0, (cpu + 1 - all->n) * sizeof(*all->v));
		all->n = cpu + 1;
	}
	t = &all->v[cpu];
	if (t->n == 0)
		memcpy(t->ticks, now, sizeof(now));
	else if (t->parsed + 1 == all->parsed)
		differences(t, now, (uint64_t)(all->now - all->before) / KS_NSEC_PER_TICK, counted);
	/* A CPU that was away counts from its return: it is not known what it did in between. */
	for (size_t i = 0; i < KS_TICKS_COUNT; i++) {
		t->ticks[i] += counted[i];
		all->sum[i] += counted[i];
	}
	memcpy(t->raw, now, sizeof(now));
	t->n = (uint32_t)n;
	t->seq = seq;
	t->parsed = all->parsed;
	return 0;
}

/* Ends a reading. line: the line of all CPUs, without its label. */
static void
end_ticks(struct ks_cpu_ticks_all *all, struct ks_text line)
{
	uint64_t now[KS_TICKS_COUNT] = { 0 };
	size_t n = ks_text_numbers(&line, now, KS_TICKS_COUNT);

	if (all->ncolumns == 0 || all->n == 0)
		memcpy(all->sum, now, sizeof(now));
	/*
	 * The kernel rounds each line down. Where the sum differs from the line of all CPUs by no more than that, the line
	 * is taken: another program begins with it, and must not find less than this one.
	 */
	for (size_t i = 0; i < KS_TICKS_COUNT; i++) {
		if (now[i] >= all->last[i] && now[i] < all->sum[i] + all->n && now[i] + all->n > all->sum[i])
			all->sum[i] = now[i];
	}
	all->ncolumns = (uint32_t)n;
}

const struct ks_cpu_ticks *
ks_cpu_ticks_of(const struct ks_cpu_ticks_all *all, int cpu, uint64_t seq)
{
	return cpu >= 0 && (size_t)cpu < all->n && all->v[cpu].seq == seq ? &all->v[cpu] : NULL;
}

struct ks_unit *
ks_cpu_unit(struct ks_linux *lx, const struct ks_text *number)
{
	return ks_units_find(&lx->sub[KS_SUB_cpu].units, number->p, ks_text_size(number));
}

bool
ks_cpu_label(struct ks_text *line, struct ks_text *number)
{
	struct ks_text word;

	if (!ks_text_starts(line, "cpu") || !ks_text_word(line, &word))
		return false;
	word.p += 3;
	*number = word;
	return word.p < word.end && *word.p >= '0' && *word.p <= '9';
}

uint32_t
ks_cpu_times(const uint64_t t[KS_TICKS_COUNT], size_t ncolumns, uint64_t time[KS_TIME_COUNT])
{
	const struct {
		size_t needs; /* the last column */
		uint64_t ticks;
	} of[KS_TIME_COUNT] = {
		[KS_TIME_IDLE] = { KS_TICKS_IDLE, t[KS_TICKS_IDLE] },
		[KS_TIME_USER] = { KS_TICKS_NICE, t[KS_TICKS_USER] + t[KS_TICKS_NICE] },
		[KS_TIME_KERNEL] = { KS_TICKS_SYSTEM,
		    t[KS_TICKS_SYSTEM] + t[KS_TICKS_IRQ] + t[KS_TICKS_SOFTIRQ] },
		[KS_TIME_WAIT] = { KS_TICKS_IOWAIT, t[KS_TICKS_IOWAIT] },
		[KS_TIME_INTR] = { KS_TICKS_SOFTIRQ, t[KS_TICKS_IRQ] + t[KS_TICKS_SOFTIRQ] },
		[KS_TIME_STOLEN] = { KS_TICKS_STEAL, t[KS_TICKS_STEAL] },
	};
	uint32_t have = 0;

	for (size_t i = 0; i < KS_TIME_COUNT; i++) {
		time[i] = of[i].ticks;
		have |= (uint32_t)(ncolumns > of[i].needs) << i;
	}
	return have;
}

static const char *const totals[KS_STAT_COUNT] = {
	[KS_STAT_CTXT] = "ctxt",
	[KS_STAT_BTIME] = "btime",
	[KS_STAT_PROCESSES] = "processes",
	[KS_STAT_RUNNING] = "procs_running",
	[KS_STAT_BLOCKED] = "procs_blocked",
	[KS_STAT_INTR] = "intr",
};

/* Parses a line that starts with "cpu". total: where the line of all CPUs goes. */
static void
parse_cpu(struct ks_linux *lx, const struct ks_image *im, struct ks_text *line, struct ks_text *total)
{
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	struct ks_text whole = *line, number = { NULL, NULL };
	const struct ks_unit *unit;
	uint64_t cpu;

	if (!ks_cpu_label(line, &number)) {
		if (number.p != NULL && number.p == number.end)
			*total = *line;
		return;
	}
	if (!ks_text_at_number(line))
		ks_linux_odd_line(lx, im, &whole);
	unit = ks_cpu_unit(lx, &number);
	if (unit != NULL && ks_cpu_of(unit)->online)
		s->stat.known++;
	else
		s->stat.strangers++;
	if (ks_text_u64(&number, &cpu) && add_ticks(&s->ticks, cpu, im->seq, *line) != 0)
		lx->lack = ENOMEM;
}

/* Parses the file: its totals, and with them the times of all CPUs if they are wanted. */
static void
parse_stat(struct ks_linux *lx, const struct ks_image *im, bool with_cpus)
{
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	struct ks_stat *st = &s->stat;
	struct ks_text all = ks_text_of(im->data, im->len), total = ks_text_of("", 0), line, whole, word;

	st->have = st->have_time = 0;
	st->seq = im->seq;
	if (with_cpus) {
		st->known = st->strangers = 0;
		st->cpus_seq = im->seq;
		begin_ticks(&s->ticks, lx->tree.now == 0 ? im->reading.taken : lx->tree.now);
	}
	while (ks_text_line(&all, &line)) {
		if (ks_text_starts(&line, "cpu")) {
			if (with_cpus)
				parse_cpu(lx, im, &line, &total);
			continue;
		}
		whole = line;
		if (!ks_text_word(&line, &word))
			continue;
		if (!ks_text_at_number(&line))
			ks_linux_odd_line(lx, im, &whole);
		for (size_t i = 0; i < KS_STAT_COUNT; i++) {
			if (ks_text_is(&word, totals[i]) && ks_text_u64(&line, &st->v[i]))
				st->have |= 1u << i;
		}
	}
	if (!with_cpus)
		return;
	end_ticks(&s->ticks, total);
	st->have_time = ks_cpu_times(s->ticks.sum, s->ticks.ncolumns, st->time);
	for (size_t i = 0; i < KS_TIME_COUNT; i++)
		st->time[i] *= KS_NSEC_PER_TICK;
}

/* /proc/stat as this round has it, parsed as far as its caller needs it; NULL with errno and message. */
static const struct ks_stat *
parsed_stat(struct ks_linux *lx, bool with_cpus)
{
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	const struct ks_image *im = ks_linux_image(lx, &ks_stat_file);

	if (im == NULL)
		return NULL;
	s->stat.im = im;
	if ((with_cpus ? s->stat.cpus_seq : s->stat.seq) != im->seq)
		parse_stat(lx, im, with_cpus);
	return &s->stat;
}

const struct ks_stat *
ks_linux_stat(struct ks_linux *lx)
{
	return parsed_stat(lx, false);
}

const struct ks_stat *
ks_linux_stat_with_times(struct ks_linux *lx)
{
	return parsed_stat(lx, true);
}

/* --- since when the machine runs, see uptime.h ------------------------------------------------ */

const struct ks_file ks_loadavg_file = { KS_ROOT_PROC, "loadavg", KS_MADE_WHOLE, false };
static const struct ks_file uptime_file = { KS_ROOT_PROC, "uptime", KS_MADE_WHOLE, false };

bool
ks_linux_uptime(struct ks_linux *lx, uint64_t *centiseconds)
{
	const struct ks_image *im;
	struct timespec up;
	struct ks_text t;

	if (lx->root[KS_ROOT_PROC].kernel && clock_gettime(CLOCK_BOOTTIME, &up) == 0) {
		/* What the kernel prints there, without a file to read. */
		*centiseconds = (uint64_t)up.tv_sec * 100 + (uint64_t)up.tv_nsec / 10000000;
		return true;
	}
	im = ks_linux_try(lx, &uptime_file);
	if (im == NULL)
		return false;
	t = ks_text_of(im->data, im->len);
	if (ks_text_fixed(&t, 2, centiseconds))
		return true;
	ks_linux_odd_line(lx, im, &t);
	return false;
}

bool
ks_linux_boot_time(struct ks_linux *lx, uint64_t *seconds)
{
	struct timespec boot;
	const struct ks_stat *st;
	int64_t now;

	if (lx->root[KS_ROOT_PROC].kernel && clock_gettime(CLOCK_BOOTTIME, &boot) == 0) {
		/* What the kernel computes for btime, without the long /proc/stat. */
		now = ks_time_of_day();
		now -= (int64_t)boot.tv_sec * KS_NANOSEC + boot.tv_nsec;
		*seconds = (uint64_t)(now / KS_NANOSEC);
		return true;
	}
	st = ks_linux_stat(lx);
	if (st == NULL || (st->have & 1u << KS_STAT_BTIME) == 0)
		return false;
	*seconds = st->v[KS_STAT_BTIME];
	return true;
}
