/*
 * io.c - what processes read and wrote, from /proc/PID/io, and what of it their children did.
 *
 * The kernel adds to /proc/PID/io, when a process waits for a child, all that the child ever did. Of a process that has
 * waited for one (it has page faults of children) the files of its threads are read, too: their sum is its own, and the
 * rest is cnread and cnwritten. Where these page faults stand still no child ended: the rest is of threads that did.
 * SPDX-License-Identifier: MIT
 */
#include "source/linux/listing.h"
#include "source/linux/process/processes.h"

enum { IO_RCHAR, IO_WCHAR, IO_SYSCR, IO_SYSCW, IO_NREAD, IO_NWRITTEN, IO_NCANCELLED,
	IO_OWN, IO_CNREAD = IO_OWN, IO_CNWRITTEN };

_Static_assert(IO_OWN == P_SUM_IO_LAST - P_SUM_IO + 1, "each has a sum over threads");

const struct ks_field ks_process_io_fields[] = {
	[IO_RCHAR] = KS_BYTES_K("rchar", "rchar", "bytes that calls such as read returned"),
	[IO_WCHAR] = KS_BYTES_K("wchar", "wchar", "bytes that calls such as write were given"),
	[IO_SYSCR] = KS_COUNT_K("syscr", KSTAT_DATA_UINT64, "syscr", "calls such as read"),
	[IO_SYSCW] = KS_COUNT_K("syscw", KSTAT_DATA_UINT64, "syscw", "calls such as write"),
	[IO_NREAD] = KS_BYTES_K("nread", "read_bytes", "bytes read from devices"),
	[IO_NWRITTEN] = KS_BYTES_K("nwritten", "write_bytes", "bytes to be written to devices"),
	[IO_NCANCELLED] = KS_BYTES_K("ncancelled", "cancelled_write_bytes",
	    "bytes of nwritten that were never written, because their file was cut or removed"),
	[IO_CNREAD] = KS_BYTES("cnread", "bytes that children read from devices, which ended and were waited for"),
	[IO_CNWRITTEN] = KS_BYTES("cnwritten",
	    "bytes to be written that are of children, which ended and were waited for"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_io_fields);

/* Adds the numbers of a thread, and counts it behind them. */
static bool
add_io(struct ks_linux *lx, struct ks_text all, uint64_t *sums)
{
	struct ks_values vals = { .have = 0 };

	ks_lines_collect_into(lx, all, ks_process_io_fields, &vals);
	for (size_t i = 0; i < IO_OWN; i++)
		sums[i] += vals.v[i].u;
	sums[IO_OWN]++;
	return true;
}

/* Whether no child ended since "io" was read before, which "stat" says after it was read again. */
static bool
no_child_ended(struct ks_linux *lx, const struct ks_process *p)
{
	struct ks_process again = { .pid = p->pid };
	struct ks_process_line line;
	char text[KS_PROCESS_STAT];

	return p->child_faults == p->io_faults && ks_process_load_stat(lx, &again, text, &line) == 0 &&
	    again.child_faults == p->io_faults;
}

/*
 * The kernel adds to the "io" of a process all that a child ever read and wrote when the process waits for it. What its
 * threads did is its own; the rest is the children's, or, where no child ended, of threads that did. The threads are
 * read behind the process, so that what they do meanwhile does not look as if children had done it. Where there are no
 * files of threads nothing changes.
 */
static void
separate_children(struct ks_linux *lx, struct ks_process *p, struct ks_values *vals)
{
	uint64_t own[IO_OWN + 1] = { 0 };
	bool had_children = p->child_faults > 0;

	for (size_t i = 0; i < IO_OWN && !had_children; i++)
		own[i] = vals->v[i].u;
	if (had_children && ks_process_has_threads(p))
		(void)ks_process_sum_threads(lx, p, "io", add_io, own);
	else if (had_children && ks_process_file(lx, p->pid, p->pid, "io") == 0)
		(void)add_io(lx, ks_image_text(&lx->scratch), own);
	if (had_children && own[IO_OWN] == 0)
		return;
	for (size_t i = 0; i < IO_OWN; i++)
		own[i] = ks_process_continue_sum(p, P_SUM_IO + i, own[i]);
	for (size_t i = 0; i < 2; i++) {
		uint64_t all = vals->v[IO_NREAD + i].u;
		uint64_t known = own[IO_NREAD + i] + p->of_threads[i] + p->of_children[i];

		if (all > known)
			*(no_child_ended(lx, p) ? &p->of_threads[i] : &p->of_children[i]) += all - known;
		own[IO_NREAD + i] += p->of_threads[i];
		ks_have(vals, IO_CNREAD + i, p->of_children[i]);
	}
	for (size_t i = 0; i < IO_OWN; i++)
		vals->v[i].u = own[i];
	p->io_faults = p->child_faults;
}

int
ks_process_read_io(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };
	int err = ks_process_file(lx, p->pid, p->tid, "io");

	if (err != 0)
		return ks_process_gone(unit, err);
	ks_lines_collect_into(lx, ks_image_text(&lx->scratch), ks_process_io_fields, &vals);
	if (p->tid == 0)
		separate_children(lx, p, &vals);
	ks_fields_add(r, ks_process_io_fields, &vals);
	return 0;
}
