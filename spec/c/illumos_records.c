/*
 * illumos_records.c - for illumos_spec.lua: what a program of illumos, which knows kstat.h alone, sees of the
 * kstats that kstat_open() finds. Lines, with tabs between, of NAMED ones:
 *
 *     kstat  module:instance:name  class  ks_ndata
 *     stat   type  name  "counted" or "hidden"  value
 *
 * and of each cpu_stat:
 *
 *     raw    module:instance:name  sysfork  pgpgin
 *
 * A value is read through the widest member that fits, as such programs do.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "kstat.h"
#include "kstat2.h"
#include "kstat_raw.h"

static const char *
type_name(const kstat_named_t *kn)
{
	static const char *const names[] = { "CHAR", "INT32", "UINT32", "INT64", "UINT64", "FLOAT", "DOUBLE", "", "",
		"STRING" };

	return kn->data_type < sizeof(names) / sizeof(names[0]) ? names[kn->data_type] : "other";
}

static void
print_statistic(kstat_ctl_t *kc, const kstat_t *ksp, const kstat_named_t *kn)
{
	kstat2_md_t md = { .md_flags = 0 };
	int rc = kstat2_get_md(kc, ksp, kn->name, &md);

	printf("stat\t%s\t%s\t%s\t", type_name(kn), kn->name,
	    rc == 0 && (md.md_flags & KSTAT2_NVMF_NOT_COUNTED) != 0 ? "hidden" : "counted");
	if (kn->data_type == KSTAT_DATA_CHAR)
		printf("%.16s\n", kn->value.c);
	else if (kn->data_type == KSTAT_DATA_STRING)
		printf("%.*s\n", (int)KSTAT_NAMED_STR_BUFLEN(kn) - 1, KSTAT_NAMED_STR_PTR(kn));
	else if (kn->data_type == KSTAT_DATA_INT32)
		printf("%d\n", kn->value.i32);
	else if (kn->data_type == KSTAT_DATA_INT64)
		printf("%lld\n", (long long)kn->value.i64);
	else /* a UINT32 too: programs read it so, and the other bytes are 0 */
		printf("%llu\n", (unsigned long long)kn->value.ui64);
}

static void
print_raw(const kstat_t *ksp)
{
	const cpu_stat_t *cs = ksp->ks_data;

	if (strcmp(ksp->ks_module, "cpu_stat") == 0 && ksp->ks_data_size >= sizeof(*cs))
		printf("raw\t%s:%d:%s\t%u\t%u\n", ksp->ks_module, ksp->ks_instance, ksp->ks_name,
		    cs->cpu_sysinfo.sysfork, cs->cpu_vminfo.pgpgin);
}

int
main(void)
{
	kstat_ctl_t *kc = kstat_open();

	if (kc == NULL) {
		fprintf(stderr, "%s\n", kstat_errmsg());
		return 1;
	}
	for (kstat_t *ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_type > KSTAT_TYPE_NAMED || kstat_read(kc, ksp, NULL) < 0)
			continue;
		if (ksp->ks_type == KSTAT_TYPE_RAW) {
			print_raw(ksp);
			continue;
		}
		printf("kstat\t%s:%d:%s\t%s\t%u\n", ksp->ks_module, ksp->ks_instance, ksp->ks_name, ksp->ks_class,
		    ksp->ks_ndata);
		for (uint_t i = 0; i < ksp->ks_ndata; i++)
			print_statistic(kc, ksp, KSTAT_NAMED_PTR(ksp) + i);
	}
	return kstat_close(kc);
}
