/*
 * man_page_io.c - the loop of kstat(3KSTAT) over all I/O kstats, as the page has it, with a display of
 * its own: one line per kstat. SPDX-License-Identifier: MIT
 */
#include <kstat.h>
#include <stdio.h>

static void
my_io_display(char *devname, kstat_io_t kio)
{
	printf("%s %llu %llu %u %u\n", devname, kio.nread, kio.nwritten, kio.reads, kio.writes);
}

int
main(void)
{
	kstat_ctl_t *kc;
	kstat_t *ksp;
	kstat_io_t kio;

	kc = kstat_open();
	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_type == KSTAT_TYPE_IO) {
			kstat_read(kc, ksp, &kio);
			my_io_display(ksp->ks_name, kio);
		}
	}
	return 0;
}
