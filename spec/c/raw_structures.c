/*
 * raw_structures.c - the structures of kstat_raw.h have the sizes and offsets of 64-bit Solaris, and a
 * program that reads cpu_stat as a structure agrees with the statistics that the command decodes.
 * Prints idle, user, kernel and fsfree of cpu_stat0. SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <stdio.h>
#include <sys/dnlc.h>
#include <sys/kstat.h>
#include <sys/var.h>

#define AT(type, member, offset) \
	_Static_assert(offsetof(type, member) == (offset), #type "." #member)

_Static_assert(sizeof(cpu_stat_t) == 380, "cpu_stat_t");
AT(cpu_stat_t, cpu_sysinfo.cpu, 8);
AT(cpu_stat_t, cpu_sysinfo.wait, 24);
AT(cpu_stat_t, cpu_sysinfo.bread, 36);
AT(cpu_stat_t, cpu_sysinfo.intrthread, 168);
AT(cpu_stat_t, cpu_sysinfo.win_suo_cnt, 240);
AT(cpu_stat_t, cpu_syswait.iowait, 244);
AT(cpu_stat_t, cpu_vminfo.pgrec, 256);
AT(cpu_stat_t, cpu_vminfo.fsfree, 376);
_Static_assert(sizeof(sysinfo_t) == 24, "sysinfo_t");
AT(sysinfo_t, waiting, 20);
_Static_assert(sizeof(vminfo_t) == 48, "vminfo_t");
AT(vminfo_t, updates, 40);
_Static_assert(sizeof(struct var) == 60, "var");
AT(struct var, v_bufhwm, 56);
_Static_assert(sizeof(struct ncstats) == 32, "ncstats");
AT(struct ncstats, purges, 28);
_Static_assert(sizeof(struct mntinfo_kstat) == 492, "mntinfo_kstat");
AT(struct mntinfo_kstat, mik_acdirmax, 168);
AT(struct mntinfo_kstat, mik_noresponse, 220);
AT(struct mntinfo_kstat, mik_curserver, 232);

int
main(void)
{
	kstat_ctl_t *kc = kstat_open();
	kstat_t *ksp;
	cpu_stat_t cs;

	if (kc == NULL || (ksp = kstat_lookup(kc, "cpu_stat", 0, "cpu_stat0")) == NULL ||
	    kstat_read(kc, ksp, &cs) == -1) {
		(void)fprintf(stderr, "%s\n", kstat_errmsg());
		return 1;
	}
	printf("%u %u %u %u\n", cs.cpu_sysinfo.cpu[CPU_IDLE], cs.cpu_sysinfo.cpu[CPU_USER],
	    cs.cpu_sysinfo.cpu[CPU_KERNEL], cs.cpu_vminfo.fsfree);
	return kstat_close(kc);
}
