/*
 * walk.c - clients that visit the whole chain: illumos's kstat, the Perl module, kstat-rs, ekstat, node-kstat.
 * SPDX-License-Identifier: MIT
 */
#include <sys/dnlc.h>
#include <sys/sysinfo.h>
#include <sys/var.h>
#include <nfs/nfs_clnt.h>

#include "clients.h"

/* Returns the size of the structure in a RAW kstat that these programs know; 0 for others. */
static size_t
size_of_structure(const kstat_t *ksp)
{
	if (strcmp(ksp->ks_module, "cpu_stat") == 0)
		return (sizeof(cpu_stat_t));
	if (strcmp(ksp->ks_module, "nfs") == 0 && strcmp(ksp->ks_name, "mntinfo") == 0)
		return (sizeof(struct mntinfo_kstat));
	if (strcmp(ksp->ks_module, "unix") != 0)
		return (0);
	return (strcmp(ksp->ks_name, "var") == 0 ? sizeof(struct var) :
	    strcmp(ksp->ks_name, "ncstats") == 0 ? sizeof(struct ncstats) :
	    strcmp(ksp->ks_name, "sysinfo") == 0 ? sizeof(sysinfo_t) :
	    strcmp(ksp->ks_name, "vminfo") == 0 ? sizeof(vminfo_t) : 0);
}

/* The header is asserted, as ekstat does, before anything was read. */
static void
check_header(const kstat_t *ksp)
{
	size_t size = size_of_structure(ksp);

	if (ksp->ks_data != NULL)
		fail("has data before it was read", ksp->ks_name);
	if (ksp->ks_flags & KSTAT_FLAG_INVALID)
		fail("is not installed", ksp->ks_name);
	if (ksp->ks_type == KSTAT_TYPE_RAW && size != 0 && (ksp->ks_data_size != size || ksp->ks_ndata != size))
		fail("has not the size of its structure", ksp->ks_name);
	if (ksp->ks_type == KSTAT_TYPE_IO && (ksp->ks_ndata != 1 || ksp->ks_data_size != sizeof(kstat_io_t)))
		fail("has not the size of a kstat_io_t", ksp->ks_name);
	if (ksp->ks_type == KSTAT_TYPE_INTR && (ksp->ks_ndata != 1 || ksp->ks_data_size != sizeof(kstat_intr_t)))
		fail("has not the size of a kstat_intr_t", ksp->ks_name);
	if (ksp->ks_type == KSTAT_TYPE_TIMER && ksp->ks_data_size != ksp->ks_ndata * sizeof(kstat_timer_t))
		fail("has not the size of its timers", ksp->ks_name);
	if (ksp->ks_type == KSTAT_TYPE_NAMED && ksp->ks_data_size < ksp->ks_ndata * sizeof(kstat_named_t))
		fail("has not room for its statistics", ksp->ks_name);
}

static void
show_data(const kstat_t *ksp, const void *data)
{
	const kstat_named_t *named = (const kstat_named_t *)data;
	const kstat_intr_t *intr = (const kstat_intr_t *)data;
	uint_t i;

	switch (ksp->ks_type) {
	case KSTAT_TYPE_RAW:
	case KSTAT_TYPE_TIMER:
		break;
	case KSTAT_TYPE_NAMED:
		for (i = 0; i < ksp->ks_ndata; i++)
			show(ksp, &named[i]);
		break;
	case KSTAT_TYPE_INTR:
		show_number(ksp, "hard", intr->intrs[KSTAT_INTR_HARD]);
		show_number(ksp, "soft", intr->intrs[KSTAT_INTR_SOFT]);
		show_number(ksp, "watchdog", intr->intrs[KSTAT_INTR_WATCHDOG]);
		show_number(ksp, "spurious", intr->intrs[KSTAT_INTR_SPURIOUS]);
		show_number(ksp, "multiple_service", intr->intrs[KSTAT_INTR_MULTSVC]);
		break;
	case KSTAT_TYPE_IO:
		show_io(ksp, (const kstat_io_t *)data);
		break;
	default: /* kstat-rs and illumos's kstat end here */
		fail("unknown type of kstat", ksp->ks_name);
	}
}

/* Reads each kstat into the chain's own memory. */
static void
walk(void)
{
	kstat_t *ksp;

	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next)
		check_header(ksp);
	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (strncmp(ksp->ks_name, "kstat_", 6) == 0)
			continue;
		if (kstat_read(kc, ksp, NULL) <= 0)
			continue;
		show_data(ksp, ksp->ks_data);
	}
}

/* Reads each kstat into memory of the size that its header has before the first read. */
static void
walk_own_memory(void)
{
	kstat_t *ksp;
	void *data;

	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (ksp->ks_data_size == 0)
			continue;
		if ((data = malloc(ksp->ks_data_size)) == NULL)
			fail("no memory", ksp->ks_name);
		if (kstat_read(kc, ksp, data) > 0)
			show_data(ksp, data);
		free(data);
	}
}

/* The Perl module's own test: some CPU is on-line or off-line, and a later reading has a later time. */
static void
perl_test(void)
{
	kstat_t *ksp = kstat_lookup(kc, "cpu_info", -1, NULL);
	hrtime_t before;

	if (ksp == NULL || kstat_read(kc, ksp, NULL) <= 0)
		fail("absent", "cpu_info");
	if (strncmp(look(ksp, "state")->value.c, "on-line", 7) != 0 &&
	    strncmp(look(ksp, "state")->value.c, "off-line", 8) != 0)
		fail("neither on-line nor off-line", ksp->ks_name);
	show(ksp, look(ksp, "state"));
	before = ksp->ks_snaptime;
	if (kstat_chain_update(kc) == -1)
		fail(strerror(errno), "kstat_chain_update");
	if (kstat_read(kc, ksp, NULL) <= 0 || ksp->ks_snaptime < before)
		fail("went back in time", ksp->ks_name);
}

const struct client walk_clients[] = {
	{ "kstat", walk }, { "kstat-rs", walk_own_memory }, { "Kstat.t", perl_test }, { NULL, NULL }
};
