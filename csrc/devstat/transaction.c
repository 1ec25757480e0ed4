/*
 * transaction.c - counting a device's transactions: the provider half of devstat.
 * SPDX-License-Identifier: MIT
 */
#include "devstat.h"
#include "devstat/bintime.h"

static struct bintime
time_or_now(const struct bintime *now)
{
	return now != NULL ? *now : ks_bintime_of_ns(gethrtime());
}

void
devstat_start_transaction(struct devstat *ds, const struct bintime *now)
{
	if (ds == NULL)
		return;
	ds->sequence1++;
	if (ds->start_count == ds->end_count)
		ds->busy_from = time_or_now(now);
	ds->start_count++;
	ds->sequence0++;
}

void
devstat_end_transaction(struct devstat *ds, uint32_t bytes, devstat_tag_type tag_type,
    devstat_trans_flags flags, const struct bintime *now, const struct bintime *then)
{
	struct bintime at, t;

	if (ds == NULL || (unsigned)flags >= DEVSTAT_N_TRANS_FLAGS)
		return;
	at = time_or_now(now);
	ds->sequence1++;
	ds->bytes[flags] += bytes;
	ds->operations[flags]++;
	if ((unsigned)tag_type < DEVSTAT_TAG_NONE && !(ds->flags & DEVSTAT_NO_ORDERED_TAGS))
		ds->tag_types[tag_type]++;
	if (then != NULL) {
		t = at;
		ks_bintime_sub(&t, then);
		ks_bintime_add(&ds->duration[flags], &t);
	}
	t = at;
	ks_bintime_sub(&t, &ds->busy_from);
	ks_bintime_add(&ds->busy_time, &t);
	ds->busy_from = at;
	ds->end_count++;
	ds->sequence0++;
}
