/*
 * provide.c - the provider half of devstat: a list of devices that this process counts itself, in order of priority,
 * and counting their transactions.
 *
 * The registry owns its entries. Entries of one priority form a queue, and there are few priorities, so the
 * cost of adding and removing does not depend on the number of devices.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "devstat/bintime.h"
#include "devstat/device.h"

struct entry {
	struct devstat ds; /* first, because the caller's pointer to it is one to the entry */
	bool listed;       /* false for a placeholder */
	devstat_priority priority;
	struct entry *prev, *next;
};

struct queue {
	devstat_priority priority;
	struct entry *head, *tail;
};

struct devstat_registry {
	struct queue *queues; /* by priority, the highest first */
	size_t nqueues, queue_cap;
	long generation;
	int numdevs; /* placeholders do not count */
	uint32_t next_number;
};

devstat_registry_t *
devstat_registry_create(void)
{
	devstat_registry_t *reg = calloc(1, sizeof(*reg));

	if (reg == NULL) {
		(void)ks_devstat_fail(ENOMEM, "%s: out of memory", __func__);
		return NULL;
	}
	reg->generation = 1;
	return reg;
}

void
devstat_registry_destroy(devstat_registry_t *reg)
{
	if (reg == NULL)
		return;
	for (size_t i = 0; i < reg->nqueues; i++) {
		struct entry *e = reg->queues[i].head, *next;

		for (; e != NULL; e = next) {
			next = e->next;
			free(e);
		}
	}
	free(reg->queues);
	free(reg);
}

/* Returns the index of the queue of this priority, or the index where it belongs. */
static size_t
queue_index(const devstat_registry_t *reg, devstat_priority priority)
{
	size_t low = 0, high = reg->nqueues;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (reg->queues[mid].priority > priority)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the queue of this priority, which is added if there is none; NULL without memory. */
static struct queue *
find_or_add_queue(devstat_registry_t *reg, devstat_priority priority)
{
	size_t i = queue_index(reg, priority);
	struct queue *queue;

	if (i < reg->nqueues && reg->queues[i].priority == priority)
		return &reg->queues[i];
	if (!KS_RESERVE(reg->queues, reg->queue_cap, reg->nqueues + 1))
		return NULL;
	queue = &reg->queues[i];
	memmove(queue + 1, queue, (reg->nqueues++ - i) * sizeof(*queue));
	*queue = (struct queue){ .priority = priority };
	return queue;
}

struct devstat *
devstat_new_entry(devstat_registry_t *reg, const char *dev_name, int unit_number,
    uint32_t block_size, devstat_support_flags flags, devstat_type_flags device_type,
    devstat_priority priority)
{
	struct entry *e;
	struct queue *q;

	if (reg == NULL || (e = calloc(1, sizeof(*e))) == NULL) {
		(void)ks_devstat_fail(reg == NULL ? EINVAL : ENOMEM, "%s: %s", __func__,
		    reg == NULL ? "no registry" : "out of memory");
		return NULL;
	}
	e->ds.unit_number = unit_number;
	e->ds.priority = e->priority = priority;
	if (unit_number != -1) {
		q = find_or_add_queue(reg, priority);
		if (q == NULL || reg->numdevs == INT32_MAX) {
			free(e);
			(void)ks_devstat_fail(ENOMEM, "%s: out of memory", __func__);
			return NULL;
		}
		e->prev = q->tail;
		*(q->tail != NULL ? &q->tail->next : &q->head) = e;
		q->tail = e;
		reg->numdevs++;
		if (dev_name != NULL)
			strncpy(e->ds.device_name, dev_name, DEVSTAT_NAME_LEN - 1);
		e->ds.device_number = reg->next_number++;
		e->ds.block_size = block_size;
		e->ds.flags = flags;
		e->ds.device_type = device_type;
		e->ds.creation_time = ks_bintime_of_ns(gethrtime());
		e->ds.allocated = 1;
		e->listed = true;
	}
	reg->generation++;
	return &e->ds;
}

void
devstat_remove_entry(devstat_registry_t *reg, struct devstat *ds)
{
	struct entry *e = (struct entry *)ds;

	if (reg == NULL || ds == NULL)
		return;
	if (e->listed) {
		struct queue *q = &reg->queues[queue_index(reg, e->priority)];

		*(e->prev != NULL ? &e->prev->next : &q->head) = e->next;
		*(e->next != NULL ? &e->next->prev : &q->tail) = e->prev;
		reg->numdevs--;
	}
	reg->generation++;
	free(e);
}

int
devstat_registry_getdevs(devstat_registry_t *reg, struct statinfo *stats)
{
	struct devstat *to;

	devstat_errbuf[0] = '\0';
	if (reg == NULL || stats == NULL || stats->dinfo == NULL)
		return ks_devstat_fail(EINVAL, "%s: no registry or no devinfo", __func__);
	to = ks_devinfo_room(stats->dinfo, (size_t)reg->numdevs);
	if (to == NULL)
		return ks_devstat_fail(ENOMEM, "%s: out of memory", __func__);
	for (size_t i = 0; i < reg->nqueues; i++) {
		for (struct entry *e = reg->queues[i].head; e != NULL; e = e->next)
			*to++ = e->ds;
	}
	memset(stats->cp_time, 0, sizeof(stats->cp_time));
	stats->tk_nin = stats->tk_nout = 0;
	stats->snap_time = (long double)gethrtime() / 1e9L;
	return ks_devinfo_set(stats->dinfo, reg->numdevs, reg->generation);
}

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
