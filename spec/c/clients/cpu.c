/*
 * cpu.c - clients that ask for CPUs: cpu_info by every kind of neglect, cpu_stat as a structure.
 * SPDX-License-Identifier: MIT
 */
#include <sys/processor.h>
#include <sys/sysinfo.h>

#include "clients.h"

static void
psrinfo(void)
{
	kstat_t *ksp;
	int found = 0;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu_info", NULL)) != NULL; found = 1) {
		if (kstat_read(kc, ksp, NULL) == 0)
			fail("0 is not a chain", ksp->ks_name);
		show_text(ksp, "state", look(ksp, "state")->value.c, sizeof(look(ksp, "state")->value.c));
		show_text(ksp, "cpu_type", look(ksp, "cpu_type")->value.c, sizeof(look(ksp, "cpu_type")->value.c));
		show_text(ksp, "fpu_type", look(ksp, "fpu_type")->value.c, sizeof(look(ksp, "fpu_type")->value.c));
		show_number(ksp, "state_begin", (u_longlong_t)look(ksp, "state_begin")->value.l);
		show_number(ksp, "clock_MHz", (u_longlong_t)look(ksp, "clock_MHz")->value.l);
		show_number(ksp, "chip_id", (u_longlong_t)look(ksp, "chip_id")->value.l);
		show_number(ksp, "core_id", (u_longlong_t)look(ksp, "core_id")->value.l);
		show_text(ksp, "brand", KSTAT_NAMED_STR_PTR(look(ksp, "brand")),
		    strlen(KSTAT_NAMED_STR_PTR(look(ksp, "brand"))));
		show_text(ksp, "implementation", KSTAT_NAMED_STR_PTR(look(ksp, "implementation")),
		    strlen(KSTAT_NAMED_STR_PTR(look(ksp, "implementation"))));
	}
	if (!found)
		fail("absent", "cpu_info");
}

/* hald, powertop and fastfetch: the string's length counts the NUL. */
static void
powertop(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu_info", NULL)) != NULL;) {
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		show_needed(ksp, "supported_frequencies_Hz|current_clock_Hz|clock_MHz");
	}
}

static void
fastfetch(void)
{
	kstat_t *ksp = need("cpu_info", -1, NULL);

	show_text(ksp, "brand", KSTAT_NAMED_STR_PTR(look(ksp, "brand")), KSTAT_NAMED_STR_BUFLEN(look(ksp, "brand")) - 1);
	show_text(ksp, "vendor_id", KSTAT_NAMED_STR_PTR(look(ksp, "vendor_id")),
	    KSTAT_NAMED_STR_BUFLEN(look(ksp, "vendor_id")) - 1);
	show_number(ksp, "clock_MHz", (u_longlong_t)look(ksp, "clock_MHz")->value.i32);
	show_present(need("unix", -1, "system_misc"), "ncpus");
}

/* libuv: CPUs from 0 up to the first hole; types are asserted. */
static void
libuv_cpus(void)
{
	kstat_t *ksp;
	kstat_named_t *named;
	int cpu, count;

	for (count = 0; kstat_lookup(kc, "cpu_info", count, NULL) != NULL; count++)
		continue;
	for (cpu = 0; cpu < count; cpu++) {
		ksp = need("cpu_info", cpu, NULL);
		named = look(ksp, "clock_MHz");
		if (named->data_type != KSTAT_DATA_INT32 && named->data_type != KSTAT_DATA_INT64)
			fail("is neither INT32 nor INT64", "clock_MHz");
		show(ksp, named);
		named = look(ksp, "brand");
		if (named->data_type != KSTAT_DATA_STRING || KSTAT_NAMED_STR_PTR(named) == NULL)
			fail("is no text", "brand");
		show(ksp, named);
	}
	for (cpu = 0; (ksp = kstat_lookup(kc, "cpu", cpu, "sys")) != NULL; cpu++) {
		if (cpu >= count)
			fail("more cpu:N:sys than cpu_info", "cpu");
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), "sys");
		if (look(ksp, "cpu_ticks_user")->data_type != KSTAT_DATA_UINT64)
			fail("is not UINT64", "cpu_ticks_user");
		show_unchecked(ksp, "cpu_ticks_user|cpu_ticks_kernel|cpu_ticks_idle|intr");
	}
}

/* go-kstat: raw data of the right size, a time right after the lookup, cpu:-1:sys. */
static void
go_kstat(void)
{
	kstat_t *ksp = kstat_lookup(kc, "unix", 0, "sysinfo");

	if (ksp == NULL || ksp->ks_ndata != sizeof(sysinfo_t))
		fail("has not its size in the header", "sysinfo");
	if ((ksp = kstat_lookup(kc, "cpu", -1, "sys")) == NULL || kstat_read(kc, ksp, NULL) <= 0 || ksp->ks_snaptime <= 0)
		fail("absent", "sys");
	show_unchecked(ksp, "syscall|trap");
	ksp = need("cpu_info", 0, "cpu_info0");
	if (look(ksp, "state")->data_type != KSTAT_DATA_CHAR || look(ksp, "brand")->data_type != KSTAT_DATA_STRING ||
	    look(ksp, "family")->data_type != KSTAT_DATA_INT32 || look(ksp, "clock_MHz")->data_type != KSTAT_DATA_INT64)
		fail("has other types", "cpu_info0");
	show_needed(ksp, "state|brand|family|clock_MHz");
	show_number(need("unix", 0, "system_misc"), "clk_intr", look(need("unix", 0, "system_misc"),
	    "clk_intr")->value.ui32);
}

static void
node_exporter_cpu(void)
{
	int cpu;

	for (cpu = 0; kstat_lookup(kc, "cpu", cpu, "sys") != NULL; cpu++)
		show_needed(need("cpu", cpu, "sys"), "cpu_nsec_idle|cpu_nsec_kernel|cpu_nsec_user|cpu_nsec_wait");
}

static void
node_exporter_cpufreq(void)
{
	kstat_t *ksp = need("cpu_info", 0, "cpu_info0");

	if (look(ksp, "current_clock_Hz")->data_type != KSTAT_DATA_UINT64)
		fail("is signed", "current_clock_Hz");
	show_needed(ksp, "current_clock_Hz|clock_MHz");
}

/* hwloc: only CPUs that are on-line count, and state must be CHAR. */
static void
hwloc(void)
{
	kstat_t *ksp;
	kstat_named_t *state;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu_info", NULL)) != NULL;) {
		if (kstat_read(kc, ksp, NULL) <= 0 || (state = look(ksp, "state")) == NULL)
			continue;
		if (state->data_type != KSTAT_DATA_CHAR)
			fail("is not CHAR", "state");
		if (strcmp(state->value.c, PS_ONLINE) == 0)
			show_needed(ksp, "chip_id|core_id");
	}
}

/* PCP and oshi take what is there; a value of another type would count as absent. */
static void
pcp_cpu_info(void)
{
	kstat_t *ksp = need("cpu_info", 0, NULL);
	kstat_named_t *named = look(ksp, "ncpu_per_chip");

	show_present(ksp, "brand|chip_id|clock_MHz|clog_id|core_id|current_clock_Hz|current_cstate|implementation|"
	    "ncore_per_chip|ncpu_per_chip|pkg_core_id|supported_frequencies_Hz|supported_max_cstates|vendor_id|model|"
	    "stepping");
	if (named != NULL && named->data_type != KSTAT_DATA_INT32)
		fail("is not INT32", "ncpu_per_chip");
}

static void
intrd(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu", "sys")) != NULL;) {
		show_unchecked(need("cpu", ksp->ks_instance, "sys"), "cpu_nsec_idle|cpu_nsec_user|cpu_nsec_kernel");
		if (ksp->ks_snaptime <= ksp->ks_crtime)
			fail("has no time", ksp->ks_name);
	}
}

static void
htop_cpu(void)
{
	kstat_t *ksp;
	int cpu;

	for (cpu = 0; (ksp = without("cpu", cpu, "sys")) != NULL; cpu++) {
		show_unchecked(ksp, "cpu_nsec_idle|cpu_nsec_intr|cpu_nsec_kernel|cpu_nsec_user");
		show_unchecked(need("cpu_info", cpu, NULL), "current_clock_Hz");
	}
}

static void
pgstat(void)
{
	kstat_t *ksp;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu", "sys")) != NULL;)
		show_needed(need("cpu", ksp->ks_instance, "sys"), "cpu_ticks_user|cpu_ticks_kernel|cpu_ticks_idle");
}

static void
show_cpu_stat(const kstat_t *ksp, const cpu_stat_t *cpu)
{
	show_number(ksp, "idle", cpu->cpu_sysinfo.cpu[CPU_IDLE]);
	show_number(ksp, "user", cpu->cpu_sysinfo.cpu[CPU_USER]);
	show_number(ksp, "kernel", cpu->cpu_sysinfo.cpu[CPU_KERNEL]);
	show_number(ksp, "wait", cpu->cpu_sysinfo.cpu[CPU_WAIT]);
	show_number(ksp, "wait_io", cpu->cpu_sysinfo.wait[W_IO]);
}

/* collectd: the structure lies on the stack, and its size is not checked. */
static void
collectd_cpu(void)
{
	struct { cpu_stat_t cpu; char guard[64]; } memory;
	kstat_t *ksp;
	size_t i;
	int found = 0;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu_stat", NULL)) != NULL; found = 1) {
		(void)memset(&memory, '#', sizeof(memory));
		if (kstat_read(kc, ksp, &memory.cpu) == -1)
			fail(strerror(errno), ksp->ks_name);
		for (i = 0; i < sizeof(memory.guard); i++)
			if (memory.guard[i] != '#')
				fail("is larger than a cpu_stat_t", ksp->ks_name);
		show_cpu_stat(ksp, &memory.cpu);
	}
	if (!found)
		fail("absent", "cpu_stat");
}

/* net-snmp: the header must have the structure's size before any read, else all stays 0. */
static void
net_snmp_cpu(void)
{
	kstat_t *ksp;
	cpu_stat_t cpu;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu_stat", NULL)) != NULL;) {
		if (ksp->ks_type != KSTAT_TYPE_RAW || ksp->ks_data_size != sizeof(cpu_stat_t))
			fail("has another size", ksp->ks_name);
		if (kstat_read(kc, ksp, &cpu) <= 0)
			fail(strerror(errno), ksp->ks_name);
		show_cpu_stat(ksp, &cpu);
		show_number(ksp, "intr", cpu.cpu_sysinfo.intr);
		show_number(ksp, "pswitch", cpu.cpu_sysinfo.pswitch);
	}
}

/* sigar knows no structure: four numbers from byte 8 on. It goes on until it has found as many as there are CPUs. */
static void
sigar_cpu(void)
{
	static const char *const names[] = { "idle", "user", "kernel", "wait" };
	kstat_t *ksp;
	uint_t count = look(need("unix", 0, "system_misc"), "ncpus")->value.ui32, found, i;
	int id = 0;

	for (found = 0; found < count; id++) {
		if (id > 10000)
			fail("fewer than CPUs", "cpu_stat");
		if ((ksp = kstat_lookup(kc, "cpu_stat", id, NULL)) == NULL)
			continue;
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		for (i = 0; i < 4; i++)
			show_number(ksp, names[i], ((uint_t *)((char *)ksp->ks_data + 8))[i]);
		found++;
	}
}

/* rcapd: a reading that fails leaves out the check. */
static void
rcapd(void)
{
	kstat_t *ksp;
	u_longlong_t scan = 0;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu_stat", NULL)) != NULL;)
		if (kstat_read(kc, ksp, NULL) != -1)
			scan += ((cpu_stat_t *)ksp->ks_data)->cpu_vminfo.scan;
	show_sum("cpu_stat:scan", scan);
}

/* intrd compares the type with the NUL behind it in the CHAR value. */
static void
pci_intrs(void)
{
	kstat_t *ksp;
	int found = 0;

	for (ksp = NULL; (ksp = next_of(ksp, "pci_intrs", NULL)) != NULL; found = 1) {
		if (kstat_read(kc, ksp, NULL) <= 0)
			fail(strerror(errno), ksp->ks_name);
		if (memcmp(look(ksp, "type")->value.c, "disabled", sizeof("disabled")) != 0)
			show_needed(ksp, "cpu|type|name|buspath|ino|time|pil");
	}
	if (!found)
		fail("absent", "pci_intrs");
}

/* PCP counts from 0 to the first hole; ganglia and libgtop name the kstat as well. */
static void
pcp_cpu(void)
{
	char name[KSTAT_STRLEN];
	kstat_t *ksp;
	int cpu;

	for (cpu = 0; (ksp = kstat_lookup(kc, "cpu_stat", cpu, NULL)) != NULL; cpu++) {
		(void)sprintf(name, "cpu_stat%d", cpu);
		if (kstat_lookup(kc, "cpu_stat", -1, name) != ksp || kstat_read(kc, ksp, NULL) <= 0)
			fail("absent", name);
		show_cpu_stat(ksp, (cpu_stat_t *)ksp->ks_data);
	}
	if (cpu == 0)
		fail("absent", "cpu_stat");
}

/* libstatgrab, rcapd and vmstat's elders add up all CPUs' pages. */
static void
libstatgrab_cpu(void)
{
	kstat_t *ksp;
	cpu_stat_t *cpu;
	u_longlong_t in = 0, out = 0, scan = 0, switches = 0, ticks = 0;

	for (ksp = NULL; (ksp = next_of(ksp, "cpu_stat", NULL)) != NULL;) {
		if (kstat_read(kc, ksp, NULL) == -1)
			fail(strerror(errno), ksp->ks_name);
		cpu = (cpu_stat_t *)ksp->ks_data;
		in += cpu->cpu_vminfo.pgpgin;
		out += cpu->cpu_vminfo.pgpgout;
		scan += cpu->cpu_vminfo.scan;
		switches += cpu->cpu_sysinfo.pswitch;
		ticks += cpu->cpu_sysinfo.cpu[CPU_USER];
	}
	show_sum("cpu_stat:pgpgin", in);
	show_sum("cpu_stat:pgpgout", out);
	show_sum("cpu_stat:scan", scan);
	show_sum("cpu_stat:pswitch", switches);
	show_sum("cpu_stat:user", ticks);
}

const struct client cpu_clients[] = {
	{ "psrinfo", psrinfo }, { "powertop", powertop }, { "fastfetch", fastfetch }, { "libuv-cpus", libuv_cpus },
	{ "go-kstat", go_kstat }, { "node_exporter-cpu", node_exporter_cpu },
	{ "node_exporter-cpufreq", node_exporter_cpufreq }, { "hwloc", hwloc }, { "pcp-cpu_info", pcp_cpu_info },
	{ "intrd", intrd }, { "htop-cpu", htop_cpu }, { "pgstat", pgstat }, { "collectd-cpu", collectd_cpu },
	{ "net-snmp-cpu", net_snmp_cpu }, { "sigar-cpu", sigar_cpu }, { "pcp-cpu", pcp_cpu },
	{ "libstatgrab-cpu", libstatgrab_cpu }, { "rcapd", rcapd }, { "pci_intrs", pci_intrs }, { NULL, NULL }
};
