/*
 * cpuinfo.c - cpu_info:N:cpu_infoN from /proc/cpuinfo and /sys/devices/system/cpu. The file is
 * slow to read, the kernel asks every CPU for its clock, so nothing else uses it.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>

#include "source/linux/cpu/cpus.h"
#include "source/linux/system/uptime.h"

static const struct ks_file cpuinfo_file = { KS_ROOT_PROC, "cpuinfo", KS_MADE_ANYHOW, false };

enum { I_STATE, I_STATE_BEGIN, I_CPU_TYPE, I_FPU_TYPE, I_CLOCK_MHZ, I_CHIP_ID, I_IMPLEMENTATION,
	I_BRAND, I_CORE_ID, I_CURRENT_HZ, I_SUPPORTED_HZ, I_CACHE_ID, I_VENDOR, I_FAMILY, I_MODEL,
	I_STEPPING, I_PKG_CORE_ID, I_NCPU, I_NCORE };

#define ID(stat, data, desc) \
	KS_UNITS(stat, KS_KIND_GAUGE, KSTAT2_NVMT_ID, data, "", desc)

const struct ks_field ks_cpu_info_fields[] = {
	[I_STATE] = KS_TEXT("state", KSTAT_DATA_CHAR, "on-line or off-line"),
	[I_STATE_BEGIN] = KS_UNITS("state_begin", KS_KIND_GAUGE, KSTAT2_NVMT_T_EPOCH, KSTAT_DATA_INT64,
	    "s", "since when it is in that state, seconds since 1970"),
	[I_CPU_TYPE] = KS_TEXT("cpu_type", KSTAT_DATA_CHAR, "kind of processor"),
	[I_FPU_TYPE] = KS_TEXT("fpu_type", KSTAT_DATA_CHAR, "kind of floating point unit"),
	[I_CLOCK_MHZ] = KS_FRACT("clock_MHz", KS_KIND_GAUGE, KSTAT2_NVMT_FREQ, KSTAT_DATA_INT64, 1,
	    "MHz", "nominal clock"),
	[I_CHIP_ID] = ID("chip_id", KSTAT_DATA_INT64, "number of the chip that the CPU is on"),
	[I_IMPLEMENTATION] = KS_TEXT("implementation", KSTAT_DATA_STRING, "maker, family, model and clock"),
	[I_BRAND] = KS_TEXT("brand", KSTAT_DATA_STRING, "name it is sold by"),
	[I_CORE_ID] = ID("core_id", KSTAT_DATA_INT64,
	    "number of the core in the machine that the CPU belongs to"),
	[I_CURRENT_HZ] = KS_UNITS("current_clock_Hz", KS_KIND_GAUGE, KSTAT2_NVMT_FREQ,
	    KSTAT_DATA_UINT64, "Hz", "clock it runs at"),
	[I_SUPPORTED_HZ] = KS_TEXT("supported_frequencies_Hz", KSTAT_DATA_STRING,
	    "clocks it can run at, ascending"),
	[I_CACHE_ID] = ID("cache_id", KSTAT_DATA_INT64, "number of the last level cache that the CPU uses"),
	[I_VENDOR] = KS_TEXT("vendor_id", KSTAT_DATA_STRING, "maker of the CPU"),
	[I_FAMILY] = ID("family", KSTAT_DATA_INT32, "family it belongs to"),
	[I_MODEL] = ID("model", KSTAT_DATA_INT32, "model in the family"),
	[I_STEPPING] = ID("stepping", KSTAT_DATA_INT32, "revision of the model"),
	[I_PKG_CORE_ID] = ID("pkg_core_id", KSTAT_DATA_INT64,
	    "number of the core in the chip that the CPU belongs to"),
	[I_NCPU] = KS_GAUGE("ncpu_per_chip", KSTAT_DATA_INT32, "CPUs in its chip"),
	[I_NCORE] = KS_GAUGE("ncore_per_chip", KSTAT_DATA_INT32, "cores in its chip"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_cpu_info_fields);

/* The numbers of /proc/cpuinfo that are used. */
enum { N_FAMILY, N_MODEL, N_STEPPING, N_CHIP, N_CORE, N_NCPU, N_NCORE, N_COUNT };

/* What /proc/cpuinfo says about one CPU. Texts point into the image. */
struct block {
	struct ks_text vendor, brand, features;
	bool x86, fpu, arm, has_khz, has[N_COUNT];
	uint64_t khz, v[N_COUNT];
};

/* Takes over one line. */
static void
set_value(struct block *t, const struct ks_text *key, struct ks_text value)
{
	static const char *const numbers[N_COUNT] = { "cpu family", "model", "stepping", "physical id",
		"core id", "siblings", "cpu cores" };
	struct ks_text v = value;

	for (size_t i = 0; i < N_COUNT; i++) {
		if (*key->p == *numbers[i] && ks_text_is(key, numbers[i]))
			t->has[i] = ks_text_u64(&v, &t->v[i]);
	}
	if (ks_text_is(key, "vendor_id"))
		t->vendor = value, t->x86 = true;
	else if (ks_text_is(key, "model name"))
		t->brand = value;
	else if (ks_text_is(key, "cpu MHz"))
		t->has_khz = ks_text_fixed(&v, 3, &t->khz);
	else if (ks_text_is(key, "fpu"))
		t->fpu = ks_text_is(&value, "yes");
	else if (ks_text_is(key, "CPU architecture"))
		t->arm = ks_text_starts(&value, "8");
	else if (ks_text_is(key, "Features"))
		t->features = value;
}

/* Parses the lines of one CPU. */
static void
parse_block(struct block *t, struct ks_text lines)
{
	struct ks_text line, key, value;

	memset(t, 0, sizeof(*t));
	while (ks_text_line(&lines, &line)) {
		if (ks_text_pair(&line, &key, &value))
			set_value(t, &key, value);
	}
}

/* Numbers the cores of the machine in the order in which they appear. */
static void
number_cores(struct ks_linux *lx, const struct ks_image *im)
{
	struct ks_units *units = &lx->sub[KS_SUB_cpu].units;
	struct { uint64_t chip, core; } *cores = calloc(units->n, sizeof(*cores));
	uint32_t n = 0;

	if (cores == NULL)
		lx->lack = ENOMEM;
	for (uint32_t u = 0; cores != NULL && u < units->n; u++) {
		struct ks_cpu *cpu = ks_cpu_of(&units->v[u]);
		struct block t;
		uint32_t i;

		if (!units->v[u].alive || cpu->info.seq != im->seq)
			continue;
		parse_block(&t, ks_line_text(im, &cpu->info));
		/* CPUs next to each other are mostly of cores next to each other. */
		for (i = n; i > 0; i--) {
			if (cores[i - 1].chip == t.v[N_CHIP] && cores[i - 1].core == t.v[N_CORE])
				break;
		}
		if (i == 0) {
			cores[n].chip = t.v[N_CHIP];
			cores[n].core = t.v[N_CORE];
			i = ++n;
		}
		cpu->core = i - 1;
	}
	free(cores);
}

/* Finds each CPU's block: from its "processor" line to the next one. */
static void
parse_cpuinfo(struct ks_linux *lx, const struct ks_image *im)
{
	struct ks_text all = ks_text_of(im->data, im->len), line, key, value;
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	struct ks_cpu *cpu = NULL;
	uint32_t cpus = lx->sub[KS_SUB_cpu].units.n;
	bool first = s->cpuinfo_seq == 0 || s->cpuinfo_cpus != cpus;

	while (ks_text_line(&all, &line)) {
		if (ks_text_starts(&line, "processor") && ks_text_pair(&line, &key, &value) &&
		    ks_text_is(&key, "processor")) {
			struct ks_unit *unit = ks_cpu_unit(lx, &value);

			cpu = unit != NULL ? ks_cpu_of(unit) : NULL;
			if (cpu != NULL)
				cpu->info = ks_line_of(im, &line);
		} else if (cpu != NULL) {
			cpu->info.len = (uint32_t)(line.end - im->data) - cpu->info.at;
		}
		if (memchr(line.p, ':', ks_text_size(&line)) == NULL && !ks_text_plain(&line))
			ks_linux_odd_line(lx, im, &line);
	}
	s->cpuinfo_seq = im->seq;
	s->cpuinfo_cpus = cpus;
	if (first)
		number_cores(lx, im);
}

/* --- /sys ------------------------------------------------------------------------------ */

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* "1900000 1200000" in kHz becomes "1200000000:1900000000". */
static void
list_frequencies(char *to, size_t size, const char *khz, size_t len)
{
	struct ks_text t = ks_text_of(khz, len);
	uint64_t v[64];
	size_t count = ks_text_numbers(&t, v, sizeof(v) / sizeof(v[0])), n = 0;

	qsort(v, count, sizeof(v[0]), compare);
	for (size_t i = 0; i < count && size - n > KS_NUMBER_MAX; i++) {
		if (i > 0)
			to[n++] = ':';
		n += ks_format_u64(to + n, v[i] * 1000);
	}
	to[n] = '\0';
}

/* Writes the least and the greatest clock of a driver that chooses any between them. Returns the length, or 0. */
static int
read_range(const struct ks_dir *sys, const char *cpu, char *text, size_t size)
{
	static const char *const files[2] = { "cpuinfo_min_freq", "cpuinfo_max_freq" };
	char path[128];
	uint64_t khz[2] = { 0, 0 };

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "devices/system/cpu/cpu%s/cpufreq/%s", cpu, files[i]);
		(void)ks_file_u64(sys, path, &khz[i]);
	}
	if (khz[0] == 0 || khz[1] <= khz[0])
		return 0;
	return snprintf(text, size, "%llu %llu", (unsigned long long)khz[0], (unsigned long long)khz[1]);
}

static void
read_facts(struct ks_linux *lx, const struct ks_unit *unit, struct ks_cpu_facts *facts)
{
	const struct ks_dir *sys = &lx->root[KS_ROOT_SYS];
	char path[128], text[1024];
	int n;

	for (int level = 3; level >= 2 && !facts->has_cache; level--) {
		(void)snprintf(path, sizeof(path), "devices/system/cpu/cpu%s/cache/index%d/id", unit->key,
		    level);
		facts->has_cache = ks_file_u64(sys, path, &facts->cache_id) == 0;
	}
	(void)snprintf(path, sizeof(path), "devices/system/cpu/cpu%s/cpufreq", unit->key);
	facts->has_frequency = ks_linux_exists(lx, KS_ROOT_SYS, path);
	if (facts->has_frequency) {
		(void)snprintf(path, sizeof(path), "devices/system/cpu/cpu%s/cpufreq/base_frequency",
		    unit->key);
		(void)ks_file_u64(sys, path, &facts->base_khz);
		(void)snprintf(path, sizeof(path),
		    "devices/system/cpu/cpu%s/cpufreq/scaling_available_frequencies", unit->key);
		n = ks_file_small(sys, path, text, sizeof(text));
		if (n <= 0)
			n = read_range(sys, unit->key, text, sizeof(text));
		if (n > 0)
			list_frequencies(facts->frequencies, sizeof(facts->frequencies), text, (size_t)n);
	}
	facts->known = true;
}

/* --- the kstat ---------------------------------------------------------------------------- */

/* The clock in a name such as "... CPU E5-2650 v2 @ 2.60GHz", in MHz; 0 if there is none. */
static uint64_t
brand_mhz(const struct ks_text *brand)
{
	const char *at = memchr(brand->p, '@', ks_text_size(brand));
	struct ks_text t;
	uint64_t mhz;

	if (at == NULL)
		return 0;
	t = (struct ks_text){ at + 1, brand->end };
	if (!ks_text_fixed(&t, 3, &mhz))
		return 0;
	if (ks_text_starts(&t, "MHz"))
		return mhz / 1000;
	return ks_text_starts(&t, "GHz") ? mhz : 0;
}

static void
text_set(char *to, size_t size, const struct ks_text *t)
{
	ks_name_set(to, size, t->p, ks_text_size(t));
}

/* "x86 (GenuineIntel 306E4 family 6 model 62 step 4 clock 2600 MHz)" */
static void
describe(char *to, size_t size, const struct block *t, uint64_t mhz)
{
	uint64_t family = t->v[N_FAMILY], model = t->v[N_MODEL], step = t->v[N_STEPPING];
	uint64_t base = family > 15 ? 15 : family;
	uint64_t signature = (step & 15) | (model & 15) << 4 | base << 8 | (model >> 4 & 15) << 16 |
	    (family - base) << 20;

	(void)snprintf(to, size, "x86 (%.*s %llX family %llu model %llu step %llu clock %llu MHz)",
	    (int)(ks_text_size(&t->vendor) & 63), t->vendor.p, (unsigned long long)signature,
	    (unsigned long long)family, (unsigned long long)model, (unsigned long long)step,
	    (unsigned long long)mhz);
}

static void
have_if(struct ks_values *vals, size_t i, bool known, uint64_t v)
{
	if (known)
		ks_have(vals, i, v);
}

/* Adds the speed of the clock, now and as it can be set. Returns its nominal speed in MHz, 0 if that is not known. */
static uint64_t
add_clock(struct ks_linux *lx, const struct ks_unit *unit, struct ks_cpu *cpu, const struct block *t,
    struct ks_values *vals)
{
	char path[128];
	uint64_t khz, mhz = 0;

	if (cpu->facts.has_frequency)
		(void)snprintf(path, sizeof(path), "devices/system/cpu/cpu%s/cpufreq/scaling_cur_freq", unit->key);
	if (cpu->facts.has_frequency && ks_file_u64(&lx->root[KS_ROOT_SYS], path, &khz) == 0)
		ks_have(vals, I_CURRENT_HZ, khz * 1000);
	else if (t->has_khz)
		ks_have(vals, I_CURRENT_HZ, t->khz * 1000);
	if (cpu->facts.base_khz > 0)
		mhz = cpu->facts.base_khz / 1000;
	else if (t->brand.p < t->brand.end)
		mhz = brand_mhz(&t->brand);
	if (mhz == 0 && t->has_khz)
		mhz = (t->khz + 500) / 1000;
	have_if(vals, I_CLOCK_MHZ, mhz > 0, mhz);
	if (cpu->facts.frequencies[0] == '\0' && !cpu->facts.has_frequency && mhz > 0)
		(void)snprintf(cpu->facts.frequencies, sizeof(cpu->facts.frequencies), "%llu000000",
		    (unsigned long long)mhz); /* nothing changes its clock */
	if (cpu->facts.frequencies[0] != '\0')
		ks_have_text(vals, I_SUPPORTED_HZ, cpu->facts.frequencies);
	return mhz;
}

int
ks_cpu_info_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const uint8_t fields_of[N_COUNT] = { [N_FAMILY] = I_FAMILY, [N_MODEL] = I_MODEL,
		[N_STEPPING] = I_STEPPING, [N_CHIP] = I_CHIP_ID, [N_CORE] = I_PKG_CORE_ID, [N_NCPU] = I_NCPU,
		[N_NCORE] = I_NCORE };
	struct ks_cpu *cpu = ks_cpu_of(unit);
	const struct ks_image *im = ks_linux_try(lx, &cpuinfo_file);
	struct ks_values vals = { .have = 0 };
	struct block t = { .x86 = false };
	char brand[128], vendor[64];
	uint64_t boot, mhz;

	if (!cpu->facts.known)
		read_facts(lx, unit, &cpu->facts);
	if (im != NULL && ks_cpu_state_of(lx)->cpuinfo_seq != im->seq)
		parse_cpuinfo(lx, im);
	if (im != NULL && cpu->info.seq == im->seq)
		parse_block(&t, ks_line_text(im, &cpu->info));

	ks_have_text(&vals, I_STATE, cpu->online ? "on-line" : "off-line");
	if (cpu->since > 0)
		ks_have(&vals, I_STATE_BEGIN, (uint64_t)cpu->since);
	else if (ks_linux_boot_time(lx, &boot))
		ks_have(&vals, I_STATE_BEGIN, boot);
	if (t.x86) {
		text_set(vendor, sizeof(vendor), &t.vendor);
		ks_have_text(&vals, I_VENDOR, vendor);
		ks_have_text(&vals, I_CPU_TYPE, "i386"); /* as Solaris calls every PC processor */
		if (t.fpu)
			ks_have_text(&vals, I_FPU_TYPE, "i387 compatible");
	} else if (t.arm) {
		ks_have_text(&vals, I_CPU_TYPE, "aarch64");
	}
	if (t.brand.p < t.brand.end) {
		text_set(brand, sizeof(brand), &t.brand);
		ks_have_text(&vals, I_BRAND, brand);
	}

	mhz = add_clock(lx, unit, cpu, &t, &vals);
	if (t.x86 && t.has[N_FAMILY] && t.has[N_MODEL] && t.has[N_STEPPING]) {
		if (cpu->facts.implementation[0] == '\0' || cpu->facts.mhz != mhz)
			describe(cpu->facts.implementation, sizeof(cpu->facts.implementation), &t, mhz);
		cpu->facts.mhz = mhz;
		ks_have_text(&vals, I_IMPLEMENTATION, cpu->facts.implementation);
	}
	have_if(&vals, I_CACHE_ID, cpu->facts.has_cache, cpu->facts.cache_id);
	have_if(&vals, I_CORE_ID, t.has[N_CORE], cpu->core);
	for (size_t i = 0; i < N_COUNT; i++)
		have_if(&vals, fields_of[i], t.has[i], t.v[i]);
	ks_fields_add(r, ks_cpu_info_fields, &vals);
	return 0;
}
