/*
 * machine.c - clients that ask for the machine as a whole: vmstat, mpstat, iostat -c, sar, load averages, memory.
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <sys/dnlc.h>
#include <sys/sysinfo.h>
#include <sys/var.h>

#include "clients.h"

#define VM "pgrec|hat_fault|as_fault|dfree|scan|execpgin|execpgout|execfree|anonpgin|anonpgout|anonfree|fspgin|" \
	"fspgout|fsfree|pgpgin|pgpgout|pgin|pgout|pgfrec|maj_fault|cow_fault|zfod|rev"
#define SYS "intr|syscall|pswitch|cpu_ticks_user|cpu_ticks_kernel|cpu_ticks_idle|cpu_ticks_wait|sysfork|sysvfork|" \
	"sysexec|trap"

static kstat_t *total; /* of the CPUs, for add() and its callers */

/* Adds a CPU's statistics to the total position by position, as vmstat does. */
static void
add(kstat_t *ksp)
{
	kstat_named_t *to = (kstat_named_t *)total->ks_data, *from = (kstat_named_t *)ksp->ks_data;
	uint_t i;

	if (ksp->ks_ndata != total->ks_ndata)
		fail("differs in length from the first CPU's", ksp->ks_name);
	for (i = 0; i < ksp->ks_ndata; i++) {
		if (strcmp(from[i].name, to[i].name) != 0 || from[i].data_type != to[i].data_type)
			fail("is not what the first CPU has there", from[i].name);
		if (from[i].data_type == KSTAT_DATA_UINT64)
			to[i].value.ui64 += from[i].value.ui64;
	}
}

static void
show_total(kstat_t *ksp, const char *name)
{
	char what[2 * KSTAT_STRLEN];

	(void)sprintf(what, "%s:%s", ksp->ks_name, name);
	show_sum(what, look(ksp, name)->value.ui64);
}

/* Shows the sums of all CPUs: statistics of cpu:N:vm or cpu:N:sys. */
static void
sum_of_cpus(const char *name, const char *statistics)
{
	kstat_t *ksp = need("cpu", -1, name), sum = *ksp;

	if ((sum.ks_data = calloc(1, ksp->ks_data_size)) == NULL)
		fail("no memory", name);
	(void)memcpy(sum.ks_data, ksp->ks_data, ksp->ks_data_size);
	total = &sum;
	while ((ksp = next_of(ksp, "cpu", name)) != NULL) {
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), name);
		add(ksp);
	}
	for_each(&sum, statistics, show_total);
	free(sum.ks_data);
}

/* Opens the chain as illumos's iostat, vmstat and mpstat do: the descriptor is kept from children. */
static void
open_as_statcommon(void)
{
	if (fcntl(kc->kc_kd, F_SETFD, FD_CLOEXEC) == -1)
		fail(strerror(errno), "fcntl(kc_kd, F_SETFD)");
}

/* Repeats a reading until the chain does not change meanwhile. */
static void
until_unchanged(void (*read_all)(void))
{
	kid_t id;
	int tries = 0;

	do {
		read_all();
		while ((id = kstat_chain_update(kc)) == -1 && errno == EAGAIN)
			continue;
		if (id == -1)
			fail(strerror(errno), "kstat_chain_update");
		if (++tries > 100)
			fail("never the same twice", "the chain");
	} while (id != 0);
}

static void
read_cpus(void)
{
	kstat_t *ksp = NULL;

	while ((ksp = next_of(ksp, "cpu", NULL)) != NULL)
		if ((strcmp(ksp->ks_name, "vm") == 0 || strcmp(ksp->ks_name, "sys") == 0) &&
		    kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
	while ((ksp = next_of(ksp, "cpu_info", NULL)) != NULL)
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
}

static void
show_raw_sums(void)
{
	sysinfo_t sysinfo_sums;
	vminfo_t vminfo_sums;
	kstat_t *ksp = kstat_lookup(kc, "unix", 0, "sysinfo");

	if (ksp == NULL || kstat_read(kc, ksp, &sysinfo_sums) <= 0)
		fail("absent", "sysinfo");
	show_number(ksp, "updates", sysinfo_sums.updates);
	show_number(ksp, "runque", sysinfo_sums.runque);
	show_number(ksp, "swpque", sysinfo_sums.swpque);
	show_number(ksp, "waiting", sysinfo_sums.waiting);
	ksp = kstat_lookup(kc, "unix", 0, "vminfo");
	if (ksp == NULL || kstat_read(kc, ksp, &vminfo_sums) <= 0)
		fail("absent", "vminfo");
	show_number(ksp, "freemem", vminfo_sums.freemem);
	show_number(ksp, "swap_resv", vminfo_sums.swap_resv);
	show_number(ksp, "swap_avail", vminfo_sums.swap_avail);
	show_number(ksp, "updates", vminfo_sums.updates);
}

static void
vmstat(void)
{
	struct nc_stats names;
	kstat_t *ksp;

	open_as_statcommon();
	sum_of_cpus("vm", VM);
	sum_of_cpus("sys", SYS);
	show_raw_sums();
	ksp = kstat_lookup(kc, "unix", 0, "dnlcstats");
	if (ksp == NULL || kstat_read(kc, ksp, &names) <= 0)
		fail("absent", "dnlcstats");
	show_number(ksp, "hits", names.ncs_hits.value.ui64);
	show_number(ksp, "misses", names.ncs_misses.value.ui64);
	if (strcmp(names.ncs_dir_recl_any.name, "dir_reclaim_any") != 0)
		fail("has another order", "dnlcstats");
	ksp = need("unix", 0, "system_misc");
	show(ksp, look(ksp, "clk_intr"));
	show(ksp, look(ksp, "deficit"));
	until_unchanged(read_cpus);
}

static void
mpstat(void)
{
	kstat_t *ksp = NULL;

	open_as_statcommon();
	until_unchanged(read_cpus);
	while ((ksp = next_of(ksp, "cpu", "sys")) != NULL) {
		show_unchecked(ksp, "xcalls|intr|intrthread|pswitch|inv_swtch|cpumigrate|mutex_adenters|rw_rdfails|"
		    "rw_wrfails|syscall|cpu_ticks_user|cpu_ticks_kernel|cpu_ticks_wait|cpu_ticks_idle");
		show_unchecked(need("cpu", ksp->ks_instance, "vm"), "hat_fault|as_fault|maj_fault");
		(void)need("cpu_info", ksp->ks_instance, NULL);
	}
}

static void
iostat_c(void)
{
	open_as_statcommon();
	sum_of_cpus("sys", "rawch|outch|cpu_ticks_idle|cpu_ticks_user|cpu_ticks_kernel|cpu_nsec_dtrace|cpu_ticks_wait");
	show_raw_sums();
	show_needed(need("unix", 0, "system_misc"), "clk_intr|deficit");
}

/* poolstat, smbstat and zonestatd, which name the CPU or take the first. */
static void
poolstat(void)
{
	show_needed(need("cpu", -1, "sys"), "cpu_ticks_user|cpu_ticks_kernel|cpu_ticks_idle|cpu_ticks_wait");
}

static void
zonestatd(void)
{
	kstat_t *ksp = NULL;

	while ((ksp = next_of(ksp, "cpu", "sys")) != NULL)
		show_needed(need("cpu", ksp->ks_instance, "sys"), "cpu_nsec_idle|cpu_nsec_kernel|cpu_nsec_user");
	show_present(need("unix", 0, "system_pages"), "physmem|pp_kernel");
}

static void
rstatd(void)
{
	kstat_t *ksp = need("unix", 0, "system_misc");

	show_needed(ksp, "boot_time|avenrun_1min|avenrun_5min|avenrun_15min");
	for (ksp = NULL; (ksp = next_of(ksp, "cpu", "sys")) != NULL;) {
		show_needed(need("cpu", ksp->ks_instance, "sys"),
		    "cpu_ticks_user|cpu_ticks_wait|cpu_ticks_kernel|cpu_ticks_idle|intr|pswitch");
		show_needed(need("cpu", ksp->ks_instance, "vm"), "pgpgin|pgpgout");
	}
}

/* Places of statistics in the first kmem cache, which sar takes for those of all. */
static const char *const kmem_names[] = { "buf_size", "slab_create", "slab_destroy", "slab_size", "buf_avail",
	"alloc_fail" };
static size_t kmem_places[6];

static void
read_kmem(void)
{
	kstat_t *ksp;
	size_t each, i;
	int first = 1;

	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
		if (strcmp(ksp->ks_class, "kmem_cache") != 0)
			continue;
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		each = ksp->ks_data_size / ksp->ks_ndata;
		for (i = 0; i < 6 && first; i++)
			kmem_places[i] = (size_t)((char *)look(ksp, kmem_names[i]) - (char *)ksp->ks_data) / each;
		first = 0;
		for (i = 0; i < 6; i++)
			if (strcmp(KSTAT_NAMED_PTR(ksp)[kmem_places[i]].name, kmem_names[i]) != 0)
				fail("has another order", ksp->ks_name);
		show(ksp, &KSTAT_NAMED_PTR(ksp)[kmem_places[0]]);
		show(ksp, &KSTAT_NAMED_PTR(ksp)[kmem_places[4]]);
	}
	if (first)
		fail("no kmem cache", "kmem_cache");
}

/* sar's collector; kmem caches are slow to list on Linux, so that a run asks for them by KSTAT_WITH=slab. */
static void
sadc(void)
{
	struct var var;
	kstat_t *ksp;

	show_raw_sums();
	ksp = kstat_lookup(kc, "unix", 0, "var");
	if (ksp == NULL || kstat_read(kc, ksp, &var) <= 0)
		fail("absent", "var");
	show_number(ksp, "v_proc", (u_longlong_t)var.v_proc);
	show_needed(need("unix", 0, "system_misc"), "nproc");
	for (ksp = NULL; (ksp = next_of(ksp, NULL, "cpu_stat*")) != NULL;)
		if (ksp->ks_data_size != sizeof(cpu_stat_t) || kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
	read_kmem();
}

/* vmstat -i: the clock and all interrupts of drivers. */
static void
vmstat_i(void)
{
	kstat_t *ksp;

	show_unchecked(need("unix", 0, "system_misc"), "clk_intr");
	for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next)
		if (ksp->ks_type == KSTAT_TYPE_INTR && kstat_read(kc, ksp, NULL) > 0)
			show_number(ksp, "hard", KSTAT_INTR_PTR(ksp)->intrs[KSTAT_INTR_HARD]);
}

/* fuser and htop, whose struct var is on the stack */
static void
fuser(void)
{
	kstat_t *ksp = kstat_lookup(kc, "unix", 0, "var");
	struct var var;

	if (ksp == NULL || kstat_read(kc, ksp, &var) <= 0)
		fail("absent", "var");
	show_number(ksp, "v_proc", (u_longlong_t)var.v_proc);
}

static void
libstatgrab_load(void)
{
	show_needed(need("unix", 0, "system_misc"), "avenrun_1min|avenrun_5min|avenrun_15min");
	show_needed(need("unix", 0, "system_pages"), "physmem|freemem");
}

static void
collectd_memory(void)
{
	show_needed(need("unix", 0, "system_pages"), "pagestotal|pagesfree|pageslocked|pp_kernel|physmem|availrmem");
}

static void
collectd_uptime(void)
{
	kstat_named_t *named = look(need("unix", 0, "system_misc"), "boot_time");

	if (named == NULL || named->value.ui32 == 0)
		fail("absent or 0", "boot_time");
}

static void
node_exporter_loadavg(void)
{
	show_unchecked(need("unix", 0, "system_misc"), "avenrun_1min|avenrun_5min|avenrun_15min|boot_time");
}

static void
powerd(void)
{
	kstat_t *ksp = need("unix", 0, "system_misc");

	show_number(ksp, "avenrun_1min", (u_longlong_t)look(ksp, "avenrun_1min")->value.l);
}

/* libuv's uptime: UINT32 read as a long, and nothing is checked */
static void
libuv_uptime(void)
{
	kstat_t *ksp = kstat_lookup(kc, "unix", 0, "system_misc");

	(void)kstat_read(kc, ksp, NULL);
	show_number(ksp, "clk_intr", look(ksp, "clk_intr")->value.ul);
}

static void
htop_memory(void)
{
	kstat_t *ksp = need("unix", 0, "system_pages");
	longlong_t used = (longlong_t)(look(ksp, "pagestotal")->value.ui64 - look(ksp, "pageslocked")->value.ui64 -
	    look(ksp, "pagesfree")->value.ui64);

	show_unchecked(ksp, "physmem|pagesfree|pagestotal|pageslocked");
	if (used < 0)
		fail("less than nothing is used", "system_pages");
}

/* sigar: the place of a name is found once; the instance is not named. */
static void
sigar_load(void)
{
	kstat_t *ksp = need("unix", -1, "system_misc");
	long place = look(ksp, "avenrun_1min") - KSTAT_NAMED_PTR(ksp);

	if (kstat_chain_update(kc) == -1 || (ksp = kstat_lookup(kc, "unix", -1, "system_misc")) == NULL ||
	    kstat_read(kc, ksp, NULL) <= 0 || strcmp(KSTAT_NAMED_PTR(ksp)[place].name, "avenrun_1min") != 0)
		fail("is at another place", "avenrun_1min");
}

/* libgtop: 32-bit values read as longs; repeats the update until nothing changes. */
static void
libgtop_load(void)
{
	kstat_t *ksp = need("unix", -1, "system_misc");
	int i;

	show_number(ksp, "boot_time", look(ksp, "boot_time")->value.ul);
	show_number(ksp, "avenrun_1min", look(ksp, "avenrun_1min")->value.ul);
	show_number(ksp, "avenrun_5min", look(ksp, "avenrun_5min")->value.ul);
	show_number(ksp, "avenrun_15min", look(ksp, "avenrun_15min")->value.ul);
	show_unchecked(need("unix", -1, "system_pages"), "pagesfree|pageslocked");
	for (i = 0; kstat_chain_update(kc) != 0; i++)
		if (i > 100)
			fail("never unchanged", "the chain");
}

static void
ganglia(void)
{
	kstat_t *ksp = kstat_lookup(kc, "unix", 0, "system_misc");

	if (kstat_read(kc, ksp, NULL) <= 0)
		fail(strerror(errno), "system_misc");
	show_unchecked(ksp, "avenrun_15min|avenrun_5min|avenrun_1min|nproc|ncpus|boot_time");
	show_unchecked(need("unix", 0, "system_pages"), "pagesfree|pagestotal");
}

/* cfengine and libstatgrab: what is freemem on average; both sums tick together */
static void
cfengine(void)
{
	sysinfo_t sums;
	vminfo_t pages;
	kstat_t *ksp = kstat_lookup(kc, "unix", 0, "sysinfo"), *vm = kstat_lookup(kc, "unix", 0, "vminfo");

	if (ksp == NULL || vm == NULL || kstat_read(kc, ksp, &sums) <= 0 || kstat_read(kc, vm, &pages) <= 0)
		fail("absent", "sysinfo or vminfo");
	if (sums.updates == 0)
		fail("never updated", "sysinfo");
	show_number(vm, "freemem", pages.freemem);
}

static void
oshi(void)
{
	kstat_t *ksp = need("cpu", -1, "sys");

	show_present(ksp, "cpu_ticks_idle|cpu_ticks_kernel|cpu_ticks_user|intr|pswitch|inv_swtch");
	show_present(need("unix", 0, "system_pages"), "availrmem|physmem");
	show_present(need("unix", 0, "system_misc"), "boot_time");
}

/* net-snmp reads the list of kstats as data: an array of kstat_t. */
static void
net_snmp_headers(void)
{
	kstat_t *ksp = kstat_lookup(kc, "unix", 0, "kstat_headers"), *header;
	uint_t i;

	if (ksp == NULL || kstat_read(kc, ksp, NULL) <= 0)
		fail("absent", "kstat_headers");
	if (ksp->ks_data_size != ksp->ks_ndata * sizeof(kstat_t))
		fail("is not an array of headers", "kstat_headers");
	header = (kstat_t *)ksp->ks_data;
	for (i = 0; i < ksp->ks_ndata; i++)
		if (kstat_lookup(kc, header[i].ks_module, header[i].ks_instance, header[i].ks_name) == NULL)
			fail("is listed but not there", header[i].ks_name);
}

const struct client machine_clients[] = {
	{ "vmstat", vmstat }, { "mpstat", mpstat }, { "iostat-c", iostat_c }, { "poolstat", poolstat },
	{ "zonestatd", zonestatd }, { "rstatd", rstatd }, { "sadc", sadc }, { "fuser", fuser },
	{ "vmstat-i", vmstat_i }, { "libstatgrab-load", libstatgrab_load },
	{ "collectd-memory", collectd_memory }, { "collectd-uptime", collectd_uptime },
	{ "node_exporter-loadavg", node_exporter_loadavg }, { "powerd", powerd }, { "libuv-uptime", libuv_uptime },
	{ "htop-memory", htop_memory }, { "sigar-load", sigar_load }, { "libgtop-load", libgtop_load },
	{ "ganglia", ganglia }, { "cfengine", cfengine }, { "oshi", oshi }, { "net-snmp-headers", net_snmp_headers },
	{ NULL, NULL }
};
