/*
 * compute.c - the figures of one device over an interval.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdarg.h>

#include "devstat/bintime.h"
#include "devstat/device.h"

#define DEFAULT_BLOCK_SIZE 512
/* Shorter times count as 0: no clock is finer, and a division by far less would yield infinity. */
#define LEAST_ETIME 1e-9L

enum { OTHER = DEVSTAT_NO_DATA, READ = DEVSTAT_READ, WRITE = DEVSTAT_WRITE, FREE = DEVSTAT_FREE };
enum { ALL = DEVSTAT_N_TRANS_FLAGS }; /* index of the sum, behind the four kinds */

/* What a metric computes, whatever kind of transaction it is about. */
enum figure {
	NOTHING,
	BYTES,
	TRANSFERS,
	BLOCKS,
	KB_PER_TRANSFER,
	TRANSFERS_PER_SECOND,
	MB_PER_SECOND,
	BLOCKS_PER_SECOND,
	MS_PER_TRANSACTION,
	BUSY_PCT,
	QUEUE_LENGTH,
	DURATION,
	BUSY_TIME
};

static const struct {
	const char *name;
	uint8_t figure;
	uint8_t kind;
} metrics[DSM_MAX] = {
	[DSM_TOTAL_BYTES] = { "total_bytes", BYTES, ALL },
	[DSM_TOTAL_BYTES_READ] = { "total_bytes_read", BYTES, READ },
	[DSM_TOTAL_BYTES_WRITE] = { "total_bytes_write", BYTES, WRITE },
	[DSM_TOTAL_BYTES_FREE] = { "total_bytes_free", BYTES, FREE },
	[DSM_TOTAL_TRANSFERS] = { "total_transfers", TRANSFERS, ALL },
	[DSM_TOTAL_TRANSFERS_READ] = { "total_transfers_read", TRANSFERS, READ },
	[DSM_TOTAL_TRANSFERS_WRITE] = { "total_transfers_write", TRANSFERS, WRITE },
	[DSM_TOTAL_TRANSFERS_OTHER] = { "total_transfers_other", TRANSFERS, OTHER },
	[DSM_TOTAL_TRANSFERS_FREE] = { "total_transfers_free", TRANSFERS, FREE },
	[DSM_TOTAL_BLOCKS] = { "total_blocks", BLOCKS, ALL },
	[DSM_TOTAL_BLOCKS_READ] = { "total_blocks_read", BLOCKS, READ },
	[DSM_TOTAL_BLOCKS_WRITE] = { "total_blocks_write", BLOCKS, WRITE },
	[DSM_TOTAL_BLOCKS_FREE] = { "total_blocks_free", BLOCKS, FREE },
	[DSM_KB_PER_TRANSFER] = { "kb_per_transfer", KB_PER_TRANSFER, ALL },
	[DSM_KB_PER_TRANSFER_READ] = { "kb_per_transfer_read", KB_PER_TRANSFER, READ },
	[DSM_KB_PER_TRANSFER_WRITE] = { "kb_per_transfer_write", KB_PER_TRANSFER, WRITE },
	[DSM_KB_PER_TRANSFER_FREE] = { "kb_per_transfer_free", KB_PER_TRANSFER, FREE },
	[DSM_TRANSFERS_PER_SECOND] = { "transfers_per_second", TRANSFERS_PER_SECOND, ALL },
	[DSM_TRANSFERS_PER_SECOND_READ] =
	    { "transfers_per_second_read", TRANSFERS_PER_SECOND, READ },
	[DSM_TRANSFERS_PER_SECOND_WRITE] =
	    { "transfers_per_second_write", TRANSFERS_PER_SECOND, WRITE },
	[DSM_TRANSFERS_PER_SECOND_OTHER] =
	    { "transfers_per_second_other", TRANSFERS_PER_SECOND, OTHER },
	[DSM_TRANSFERS_PER_SECOND_FREE] =
	    { "transfers_per_second_free", TRANSFERS_PER_SECOND, FREE },
	[DSM_MB_PER_SECOND] = { "mb_per_second", MB_PER_SECOND, ALL },
	[DSM_MB_PER_SECOND_READ] = { "mb_per_second_read", MB_PER_SECOND, READ },
	[DSM_MB_PER_SECOND_WRITE] = { "mb_per_second_write", MB_PER_SECOND, WRITE },
	[DSM_MB_PER_SECOND_FREE] = { "mb_per_second_free", MB_PER_SECOND, FREE },
	[DSM_BLOCKS_PER_SECOND] = { "blocks_per_second", BLOCKS_PER_SECOND, ALL },
	[DSM_BLOCKS_PER_SECOND_READ] = { "blocks_per_second_read", BLOCKS_PER_SECOND, READ },
	[DSM_BLOCKS_PER_SECOND_WRITE] = { "blocks_per_second_write", BLOCKS_PER_SECOND, WRITE },
	[DSM_BLOCKS_PER_SECOND_FREE] = { "blocks_per_second_free", BLOCKS_PER_SECOND, FREE },
	[DSM_MS_PER_TRANSACTION] = { "ms_per_transaction", MS_PER_TRANSACTION, ALL },
	[DSM_MS_PER_TRANSACTION_READ] = { "ms_per_transaction_read", MS_PER_TRANSACTION, READ },
	[DSM_MS_PER_TRANSACTION_WRITE] = { "ms_per_transaction_write", MS_PER_TRANSACTION, WRITE },
	[DSM_MS_PER_TRANSACTION_OTHER] = { "ms_per_transaction_other", MS_PER_TRANSACTION, OTHER },
	[DSM_MS_PER_TRANSACTION_FREE] = { "ms_per_transaction_free", MS_PER_TRANSACTION, FREE },
	[DSM_BUSY_PCT] = { "busy_pct", BUSY_PCT, ALL },
	[DSM_QUEUE_LENGTH] = { "queue_length", QUEUE_LENGTH, ALL },
	[DSM_TOTAL_DURATION] = { "total_duration", DURATION, ALL },
	[DSM_TOTAL_DURATION_READ] = { "total_duration_read", DURATION, READ },
	[DSM_TOTAL_DURATION_WRITE] = { "total_duration_write", DURATION, WRITE },
	[DSM_TOTAL_DURATION_FREE] = { "total_duration_free", DURATION, FREE },
	[DSM_TOTAL_DURATION_OTHER] = { "total_duration_other", DURATION, OTHER },
	[DSM_TOTAL_BUSY_TIME] = { "total_busy_time", BUSY_TIME, ALL },
};

/* Differences between two samples, for each kind of transaction and in sum. */
struct delta {
	uint64_t bytes[ALL + 1];
	uint64_t transfers[ALL + 1];
	uint64_t blocks[ALL + 1];
	long double duration[ALL + 1]; /* seconds */
	long double busy;              /* seconds */
};

static void
compute_delta(struct delta *d, const struct devstat *cur, const struct devstat *prev)
{
	uint64_t block_size = cur->block_size != 0 ? cur->block_size : DEFAULT_BLOCK_SIZE;

	d->bytes[ALL] = d->transfers[ALL] = 0;
	d->duration[ALL] = 0;
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++) {
		d->bytes[i] = cur->bytes[i] - (prev != NULL ? prev->bytes[i] : 0);
		d->transfers[i] = cur->operations[i] - (prev != NULL ? prev->operations[i] : 0);
		d->blocks[i] = d->bytes[i] / block_size;
		if (i != OTHER)
			d->bytes[ALL] += d->bytes[i];
		d->transfers[ALL] += d->transfers[i];
		d->duration[i] = ks_bintime_difference(&cur->duration[i],
		    prev != NULL ? &prev->duration[i] : NULL);
		d->duration[ALL] += d->duration[i];
	}
	/* The sum of the parts would be too small, since each of them was rounded down. */
	d->blocks[ALL] = d->bytes[ALL] / block_size;
	d->busy = ks_bintime_difference(&cur->busy_time, prev != NULL ? &prev->busy_time : NULL);
}

static uint64_t
integer_figure(const struct delta *d, const struct devstat *cur, int figure, int kind)
{
	switch (figure) {
	case BYTES:
		return d->bytes[kind];
	case TRANSFERS:
		return d->transfers[kind];
	case BLOCKS:
		return d->blocks[kind];
	default: /* QUEUE_LENGTH */
		return (uint32_t)(cur->start_count - cur->end_count);
	}
}

static long double
ratio(long double amount, long double per)
{
	return per > 0 ? amount / per : 0;
}

static long double
float_figure(const struct delta *d, long double etime, int figure, int kind)
{
	long double transfers = (long double)d->transfers[kind];

	switch (figure) {
	case KB_PER_TRANSFER:
		return ratio((long double)d->bytes[kind] / 1024, transfers);
	case TRANSFERS_PER_SECOND:
		return ratio(transfers, etime);
	case MB_PER_SECOND:
		return ratio((long double)d->bytes[kind] / (1024 * 1024), etime);
	case BLOCKS_PER_SECOND:
		return ratio((long double)d->blocks[kind], etime);
	case MS_PER_TRANSACTION:
		return ratio(d->duration[kind] * 1000, transfers);
	case BUSY_PCT:
		return d->busy > 0 ? ratio(d->busy * 100, etime) : 0;
	case DURATION:
		return d->duration[kind];
	default: /* BUSY_TIME */
		return d->busy;
	}
}

int
devstat_metric_type(devstat_metric metric)
{
	if ((unsigned)metric >= DSM_MAX)
		return 0;
	switch (metrics[metric].figure) {
	case NOTHING:
		return 0;
	case BYTES:
	case TRANSFERS:
	case BLOCKS:
	case QUEUE_LENGTH:
		return 'u';
	default:
		return 'f';
	}
}

const char *
devstat_metric_name(devstat_metric metric)
{
	return (unsigned)metric < DSM_MAX ? metrics[metric].name : NULL;
}

int
devstat_compute_statistics(struct devstat *current, struct devstat *previous,
    long double etime, ...)
{
	struct delta d;
	va_list ap;
	int metric, ret = 0;

	devstat_errbuf[0] = '\0';
	if (current == NULL)
		return ks_devstat_fail(EINVAL, "%s: current stats structure was NULL", __func__);
	if (!(etime >= LEAST_ETIME))
		etime = 0; /* so that a NaN counts as 0, too */
	compute_delta(&d, current, previous);
	va_start(ap, etime);
	while ((metric = va_arg(ap, int)) != DSM_NONE) {
		if (metric < 0 || metric >= DSM_MAX) {
			ret = ks_devstat_fail(EINVAL, "%s: metric %d is out of range", __func__,
			    metric);
			break;
		}
		int figure = metrics[metric].figure, kind = metrics[metric].kind;
		void *to = va_arg(ap, void *);

		/* The caller does not want the result if the pointer is NULL. */
		if (figure == NOTHING || to == NULL)
			continue;
		if (devstat_metric_type((devstat_metric)metric) == 'u')
			*(uint64_t *)to = integer_figure(&d, current, figure, kind);
		else
			*(long double *)to = float_figure(&d, etime, figure, kind);
	}
	va_end(ap);
	return ret;
}

long double
devstat_compute_etime(struct bintime *cur_time, struct bintime *prev_time)
{
	struct bintime t;

	if (cur_time == NULL)
		return 0;
	t = *cur_time;
	if (prev_time != NULL)
		ks_bintime_sub(&t, prev_time);
	return ks_bintime_seconds(&t);
}

int
devstat_baseline(const struct devstat *current, const struct devstat *previous,
    struct devstat *baseline)
{
	int back = 0;

	*baseline = *previous;
	for (int i = 0; i < DEVSTAT_N_TRANS_FLAGS; i++) {
		if (baseline->bytes[i] > current->bytes[i]) {
			baseline->bytes[i] = current->bytes[i];
			back = 1;
		}
		if (baseline->operations[i] > current->operations[i]) {
			baseline->operations[i] = current->operations[i];
			back = 1;
		}
		if (ks_bintime_before(&current->duration[i], &baseline->duration[i])) {
			baseline->duration[i] = current->duration[i];
			back = 1;
		}
	}
	if (ks_bintime_before(&current->busy_time, &baseline->busy_time)) {
		baseline->busy_time = current->busy_time;
		back = 1;
	}
	return back;
}
