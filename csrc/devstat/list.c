/*
 * list.c - the list of devices that a chain holds: read, exchanged and freed.
 *
 * The memory of a struct devinfo is one block: a header, then the devices. It holds nothing
 * else, so that free(mem_ptr), which clients of the real library use, gives everything back.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "devstat/device.h"
#include "model/origin.h"
#include "model/shape.h"

#define NSEC_PER_TICK 10000000 /* cp_time counts hundredths of a second */

struct devmem {
	long generation; /* first, as in the data of sysctl kern.devstat.all */
	size_t room;     /* number of devices that fit */
	struct devstat devices[];
};

/* The devices found in one pass over the chain, in its order; ~kid for a device that could not be read. */
struct identity {
	kid_t *kids;
	size_t n, room;
};

struct devstat_list {
	kstat_ctl_t *kc; /* owned by the caller */
	long generation;
	bool fresh;              /* no pass was made yet */
	struct identity last;    /* the devices of this generation */
	struct identity current; /* those of the pass being made */
	struct devstat *devices; /* those that were read, in chain order */
	size_t numdevs;          /* number of devices read */
	size_t room;             /* number of devices that fit */
};

struct devstat *
ks_devinfo_room(struct devinfo *dinfo, size_t n)
{
	struct devmem *mem = (struct devmem *)(void *)dinfo->mem_ptr;
	size_t bytes;

	if (mem != NULL && mem->room >= n)
		return mem->devices;
	if (__builtin_mul_overflow(n, sizeof(struct devstat), &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*mem), &bytes) ||
	    (mem = realloc(mem, bytes)) == NULL)
		return NULL;
	mem->room = n;
	dinfo->mem_ptr = (uint8_t *)mem;
	dinfo->devices = mem->devices;
	return mem->devices;
}

int
ks_devinfo_set(struct devinfo *dinfo, int numdevs, long generation)
{
	struct devmem *mem = (struct devmem *)(void *)dinfo->mem_ptr;
	int changed = dinfo->generation != generation || dinfo->numdevs != numdevs;

	mem->generation = dinfo->generation = generation;
	dinfo->numdevs = numdevs;
	dinfo->devices = mem->devices;
	return changed;
}

devstat_list_t *
devstat_list_open(kstat_ctl_t *kc)
{
	devstat_list_t *list;

	if (kc == NULL) {
		(void)ks_devstat_fail(EINVAL, "%s: no chain", __func__);
		return NULL;
	}
	list = calloc(1, sizeof(*list));
	if (list == NULL) {
		(void)ks_devstat_fail(ENOMEM, "%s: out of memory", __func__);
		return NULL;
	}
	list->kc = kc;
	list->fresh = true;
	return list;
}

void
ks_devstat_list_follow(devstat_list_t *list, long generation)
{
	list->generation = generation;
}

long
ks_devstat_list_generation(const devstat_list_t *list)
{
	return list->generation;
}

void
devstat_list_close(devstat_list_t *list)
{
	if (list == NULL)
		return;
	free(list->last.kids);
	free(list->current.kids);
	free(list->devices);
	free(list);
}

/* Adds a device to the pass being made. */
static int
add_to_pass(devstat_list_t *list, kid_t kid)
{
	struct identity *id = &list->current;

	if (id->n >= INT32_MAX || !KS_RESERVE(id->kids, id->room, id->n + 1))
		return ks_devstat_fail(ENOMEM, "devstat: out of memory");
	id->kids[id->n++] = kid;
	return 0;
}

/* Ends the pass; the generation grows if the devices differ from those of the previous pass. */
static void
end_pass(devstat_list_t *list)
{
	struct identity t = list->last;

	if (list->fresh || t.n != list->current.n ||
	    (t.n > 0 && memcmp(t.kids, list->current.kids, t.n * sizeof(*t.kids)) != 0))
		list->generation++;
	list->fresh = false;
	list->last = list->current;
	list->current = t;
}

int
ks_devstat_list_count(devstat_list_t *list, long *generation)
{
	size_t i = 0;
	int n = 0;

	list->current.n = 0;
	for (kstat_t *ksp = list->kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		kid_t kid = ksp->ks_kid;

		if (!ks_is_device(ksp))
			continue;
		/* Nothing is read here, so a device that could not be read counts as unreadable still. */
		if (i < list->last.n && list->last.kids[i] == ~kid)
			kid = ~kid;
		if (add_to_pass(list, kid) != 0)
			return -1;
		n += kid >= 0;
		i++;
	}
	end_pass(list);
	if (generation != NULL)
		*generation = list->generation;
	return n;
}

/* Reads every device of the chain. Devices that are gone or cannot be read are left out of the list. */
static int
read_devices(devstat_list_t *list)
{
	list->current.n = list->numdevs = 0;
	for (kstat_t *ksp = list->kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		size_t n = list->numdevs;
		kid_t kid = ksp->ks_kid;

		if (!ks_is_device(ksp))
			continue;
		if (n >= INT32_MAX || !KS_RESERVE(list->devices, list->room, n + 1))
			return ks_devstat_fail(ENOMEM, "devstat: out of memory");
		if (ks_device_read(list->kc, ksp, &list->devices[n]) == 0)
			list->numdevs++;
		else
			kid = ~kid;
		if (add_to_pass(list, kid) != 0)
			return -1;
	}
	end_pass(list);
	return 0;
}

/* Copies the devices to the caller's memory by descending priority; equal ones keep the chain's order. */
static void
put_in_order(const devstat_list_t *list, struct devstat *to)
{
	size_t n = list->numdevs, done = 0;
	int below = DEVSTAT_PRIORITY_MAX + 1;

	/* There are few priorities, so one pass over the devices is made for each. */
	while (done < n) {
		int next = -1;

		for (size_t i = 0; i < n; i++) {
			int priority = (int)list->devices[i].priority;

			if (priority < below && priority > next)
				next = priority;
		}
		for (size_t i = 0; i < n; i++) {
			if ((int)list->devices[i].priority == next)
				to[done++] = list->devices[i];
		}
		below = next;
	}
}

/* Adds a named value to *sum. Returns false if the kstat does not have it. */
static bool
add_named(kstat_t *ksp, const char *name, long *sum)
{
	const kstat_named_t *kn = kstat_data_lookup(ksp, name);

	if (kn == NULL || ks_named_is_hidden(kn))
		return false;
	*sum = (long)((unsigned long)*sum + ks_named_number(kn));
	return true;
}

/*
 * Adds the times of one CPU. They come from "cpu:N:time" if the system has it, which counts nice and
 * interrupts separately, else from user, kernel and idle of "cpu:N:sys".
 */
static void
add_cpu(kstat_ctl_t *kc, kstat_t *sys, long cp_time[CPUSTATES], struct ks_devstat_extra *extra)
{
	static const struct {
		const char *name;
		int state;
	} times[] = {
		{ "nsec_user", CP_USER }, { "nsec_nice", CP_NICE }, { "nsec_system", CP_SYS },
		{ "nsec_irq", CP_INTR }, { "nsec_softirq", CP_INTR }, { "nsec_idle", CP_IDLE },
		{ "nsec_iowait", CP_IDLE },
	};
	kstat_t *ksp = kstat_lookup(kc, sys->ks_module, sys->ks_instance, "time");

	if (ksp != NULL && ksp->ks_type == KSTAT_TYPE_NAMED &&
	    kstat_read(kc, ksp, NULL) != -1 && ksp->ks_data != NULL) {
		long ns[CPUSTATES] = { 0 };

		for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
			if (add_named(ksp, times[i].name, &ns[times[i].state]))
				extra->cpu = true;
		}
		for (int i = 0; i < CPUSTATES; i++)
			cp_time[i] += ns[i] / NSEC_PER_TICK;
		return;
	}
	if (add_named(sys, "cpu_ticks_user", &cp_time[CP_USER]))
		extra->cpu = true;
	(void)add_named(sys, "cpu_ticks_kernel", &cp_time[CP_SYS]);
	(void)add_named(sys, "cpu_ticks_idle", &cp_time[CP_IDLE]);
	(void)add_named(sys, "cpu_ticks_wait", &cp_time[CP_IDLE]);
}

/* Stores CPU times and terminal characters, summed over the CPUs. */
static void
read_cpus(kstat_ctl_t *kc, struct statinfo *stats, struct ks_devstat_extra *extra,
    hrtime_t *snaptime)
{
	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_type != KSTAT_TYPE_NAMED || ks_is_published(ksp) || strcmp(ksp->ks_module, "cpu") != 0 ||
		    strcmp(ksp->ks_name, "sys") != 0 || kstat_read(kc, ksp, NULL) == -1 ||
		    ksp->ks_data == NULL)
			continue;
		add_cpu(kc, ksp, stats->cp_time, extra);
		if (add_named(ksp, "rawch", &stats->tk_nin))
			extra->tty = true;
		(void)add_named(ksp, "outch", &stats->tk_nout);
		if (ksp->ks_snaptime > *snaptime)
			*snaptime = ksp->ks_snaptime;
	}
}

int
ks_devstat_list_read(devstat_list_t *list, struct statinfo *stats,
    struct ks_devstat_extra *extra)
{
	struct ks_devstat_extra unused;
	struct devstat *to;
	hrtime_t snaptime = 0;

	if (list == NULL || stats == NULL || stats->dinfo == NULL)
		return ks_devstat_fail(EINVAL, "devstat_getdevs: no statinfo or no devinfo");
	if (extra == NULL)
		extra = &unused;
	if (read_devices(list) != 0)
		return -1;
	to = ks_devinfo_room(stats->dinfo, list->numdevs);
	if (to == NULL)
		return ks_devstat_fail(ENOMEM, "devstat_getdevs: out of memory");
	put_in_order(list, to);

	memset(extra, 0, sizeof(*extra));
	memset(stats->cp_time, 0, sizeof(stats->cp_time));
	stats->tk_nin = stats->tk_nout = 0;
	read_cpus(list->kc, stats, extra, &snaptime);
	for (kstat_t *ksp = list->kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ks_is_device(ksp) && ksp->ks_snaptime > snaptime)
			snaptime = ksp->ks_snaptime;
	}
	/* Without a disk or CPU that could be read the time is now. */
	stats->snap_time = (long double)(snaptime != 0 ? snaptime : gethrtime()) / 1e9L;
	devstat_errbuf[0] = '\0';
	return ks_devinfo_set(stats->dinfo, (int)list->numdevs, list->generation);
}

int
devstat_list_getdevs(devstat_list_t *list, struct statinfo *stats)
{
	return ks_devstat_list_read(list, stats, NULL);
}

void
devstat_freedevs(struct devinfo *dinfo)
{
	if (dinfo == NULL)
		return;
	free(dinfo->mem_ptr);
	memset(dinfo, 0, sizeof(*dinfo));
}

void
devstat_free(void *p)
{
	free(p);
}

void
devstat_swap(struct statinfo *current, struct statinfo *previous)
{
	struct statinfo t;

	if (current == NULL || previous == NULL)
		return;
	t = *current;
	*current = *previous;
	*previous = t;
}
