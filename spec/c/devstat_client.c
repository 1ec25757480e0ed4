/*
 * devstat_client.c - a program as one would write it to the manual page: the devices twice, with
 * what moved between. Prints a line for each step. SPDX-License-Identifier: MIT
 */
#include <devstat.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
show(struct statinfo *cur, struct statinfo *prev)
{
	long double etime = cur->snap_time - (prev->dinfo->numdevs > 0 ? prev->snap_time : 0);

	for (int i = 0; i < cur->dinfo->numdevs; i++) {
		struct devstat *d = &cur->dinfo->devices[i];
		struct devstat *before = devstat_finddev(prev->dinfo->devices,
		    prev->dinfo->numdevs, d, i);
		u_int64_t transfers, queue;
		long double ms;
		char name[KSTAT_STRLEN];

		if (devstat_compute_statistics(d, before, etime, DSM_TOTAL_TRANSFERS, &transfers,
		    DSM_MS_PER_TRANSACTION, &ms, DSM_SKIP, NULL, DSM_QUEUE_LENGTH, &queue,
		    DSM_NONE) != 0)
			errx(1, "%s", devstat_errbuf);
		(void)printf("%s%d (%s) %" PRIu64 " transfers %.3Lf ms %" PRIu64 " queued%s\n",
		    d->device_name, d->unit_number, devstat_devname(d, name), transfers, ms, queue,
		    before != NULL ? "" : " new");
	}
}

int
main(void)
{
	struct statinfo cur, prev;
	kvm_t *kvm = (kvm_t *)(void *)&cur;
	int changed;

	memset(&cur, 0, sizeof cur);
	memset(&prev, 0, sizeof prev);
	cur.dinfo = calloc(1, sizeof *cur.dinfo);
	prev.dinfo = calloc(1, sizeof *prev.dinfo);
	(void)printf("size %zu\n", sizeof devstat_errbuf);
	changed = devstat_checkversion(kvm);
	(void)printf("kvm %d %s\n", changed, devstat_errbuf);
	changed = devstat_getnumdevs(kvm);
	(void)printf("kvm %d %s\n", changed, devstat_errbuf);
	if (devstat_checkversion(NULL) != 0 || devstat_getversion(NULL) != DEVSTAT_VERSION)
		errx(1, "%s", devstat_errbuf);
	if (devstat_getnumdevs(NULL) == -1)
		errx(1, "%s", devstat_errbuf);
	(void)printf("devices %d generation %ld\n", devstat_getnumdevs(NULL),
	    devstat_getgeneration(NULL));
	for (int i = 0; i < 3; i++) {
		changed = devstat_getdevs(NULL, &cur);
		if (changed == -1)
			errx(1, "%s", devstat_errbuf);
		(void)printf("changed %d generation %ld at %.1Lf user %ld idle %ld tty %ld\n", changed,
		    cur.dinfo->generation, cur.snap_time, cur.cp_time[CP_USER],
		    cur.cp_time[CP_IDLE], cur.tk_nin);
		show(&cur, &prev);
		devstat_swap(&cur, &prev);
	}
	/* Both ways to give memory back. */
	devstat_freedevs(cur.dinfo);
	free(prev.dinfo->mem_ptr);
	free(cur.dinfo);
	free(prev.dinfo);
	devstat_close();
	return 0;
}
