/*
 * cpuinfo.c - cpu_info:N:cpu_infoN from /proc/cpuinfo and /sys/devices/system/cpu. The file is
 * slow to read, the kernel asks every CPU for its clock, so nothing else uses it.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "source/linux/cpu/cpus.h"
#include "source/linux/system/uptime.h"

static const struct ks_file cpuinfo_file = { KS_ROOT_PROC, "cpuinfo", KS_MADE_ANYHOW, false };

enum { I_STATE, I_STATE_BEGIN, I_CPU_TYPE, I_FPU_TYPE, I_CLOCK_MHZ, I_CHIP_ID, I_IMPLEMENTATION,
	I_BRAND, I_CORE_ID, I_CURRENT_HZ, I_SUPPORTED_HZ, I_CACHE_ID, I_VENDOR, I_FAMILY, I_MODEL,
	I_STEPPING, I_PKG_CORE_ID, I_NCPU, I_NCORE, I_L1D, I_L1I, I_L2, I_L3 };

const struct ks_field ks_cpu_info_fields[] = {
	[I_STATE] = KS_TEXT_STATE("state", KSTAT_DATA_CHAR, "on-line or off-line"),
	[I_STATE_BEGIN] = KS_UNITS("state_begin", KS_KIND_GAUGE, KSTAT2_NVMT_T_EPOCH, KSTAT_DATA_INT64,
	    "s", "since when it is in that state, seconds since 1970"),
	[I_CPU_TYPE] = KS_TEXT("cpu_type", KSTAT_DATA_CHAR, "kind of processor"),
	[I_FPU_TYPE] = KS_TEXT("fpu_type", KSTAT_DATA_CHAR, "kind of floating point unit"),
	[I_CLOCK_MHZ] = KS_FRACT("clock_MHz", KS_KIND_GAUGE, KSTAT2_NVMT_FREQ, KSTAT_DATA_INT64, 1,
	    "MHz", "nominal clock"),
	[I_CHIP_ID] = KS_ID("chip_id", KSTAT_DATA_INT64, "number of the chip that the CPU is on"),
	[I_IMPLEMENTATION] = KS_TEXT("implementation", KSTAT_DATA_STRING, "maker, family, model and clock"),
	[I_BRAND] = KS_TEXT("brand", KSTAT_DATA_STRING, "name it is sold by"),
	[I_CORE_ID] = KS_ID("core_id", KSTAT_DATA_INT64, "number of the core in the machine that the CPU belongs to"),
	[I_CURRENT_HZ] = KS_UNITS("current_clock_Hz", KS_KIND_GAUGE, KSTAT2_NVMT_FREQ,
	    KSTAT_DATA_UINT64, "Hz", "clock it runs at"),
	[I_SUPPORTED_HZ] = KS_TEXT("supported_frequencies_Hz", KSTAT_DATA_STRING,
	    "clocks it can run at, ascending"),
	[I_CACHE_ID] = KS_ID("cache_id", KSTAT_DATA_INT64, "number of the last level cache that the CPU uses"),
	[I_VENDOR] = KS_TEXT("vendor_id", KSTAT_DATA_STRING, "maker of the CPU"),
	[I_FAMILY] = KS_ID("family", KSTAT_DATA_INT32, "family it belongs to"),
	[I_MODEL] = KS_ID("model", KSTAT_DATA_INT32, "model in the family"),
	[I_STEPPING] = KS_ID("stepping", KSTAT_DATA_INT32, "revision of the model"),
	[I_PKG_CORE_ID] = KS_ID("pkg_core_id", KSTAT_DATA_INT64, "number of the core in the chip that the CPU belongs to"),
	[I_NCPU] = KS_GAUGE("ncpu_per_chip", KSTAT_DATA_INT32, "CPUs in its chip"),
	[I_NCORE] = KS_GAUGE("ncore_per_chip", KSTAT_DATA_INT32, "cores in its chip"),
	[I_L1D] = KS_AMOUNT("l1d_cache", "size of its first level data cache"),
	[I_L1I] = KS_AMOUNT("l1i_cache", "size of its first level instruction cache"),
	[I_L2] = KS_AMOUNT("l2_cache", "size of the second level cache that it uses"),
	[I_L3] = KS_AMOUNT("l3_cache", "size of the third level cache that it uses"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_cpu_info_fields);

/* The numbers of /proc/cpuinfo that are used. */
enum { N_FAMILY, N_MODEL, N_STEPPING, N_CHIP, N_CORE, N_NCPU, N_NCORE, N_COUNT };

/* What else it has. */
enum { K_VENDOR = N_COUNT, K_BRAND, K_KHZ, K_FPU, K_ARM, K_IMPLEMENTER, K_PPC, K_ISA, K_VERSION, K_FLAGS };

/* What /proc/cpuinfo says about one CPU. Texts point into the image. */
struct block {
	struct ks_text vendor, brand, version, flags;
	const char *type; /* cpu_type; NULL: not known */
	bool fpu, has_khz, has[N_COUNT];
	uint64_t khz, v[N_COUNT];
};

/*
 * The words of architectures for the same: x86, 32-bit arm and loongarch, arm64, ppc64, riscv, s390. Kernels write
 * them in upper and in lower case.
 */
static const struct {
	const char *key;
	uint8_t what; /* N_* or K_* */
} keys[] = {
	{ "cpu family", N_FAMILY }, { "model", N_MODEL }, { "stepping", N_STEPPING }, { "physical id", N_CHIP },
	{ "core id", N_CORE }, { "siblings", N_NCPU }, { "cpu cores", N_NCORE }, { "vendor_id", K_VENDOR },
	{ "model name", K_BRAND }, { "cpu mhz", K_KHZ }, { "fpu", K_FPU }, { "flags", K_FLAGS },
	{ "cpu architecture", K_ARM }, { "cpu implementer", K_IMPLEMENTER }, { "cpu part", N_MODEL },
	{ "cpu revision", N_STEPPING },
	{ "package", N_CHIP }, { "core", N_CORE },
	{ "cpu", K_PPC }, { "clock", K_KHZ }, { "revision", K_VERSION },
	{ "isa", K_ISA }, { "uarch", K_BRAND }, { "mvendorid", K_VENDOR },
	{ "cpu mhz static", K_KHZ },
};

static bool
is_key(const struct ks_text *key, const char *lower)
{
	size_t n = ks_text_size(key);

	return (*key->p | 0x20) == *lower && strlen(lower) == n && strncasecmp(key->p, lower, n) == 0;
}

/* Takes a number that may be written as "0xd0c". */
static bool
take_number(struct ks_text t, uint64_t *v)
{
	if (!ks_text_starts(&t, "0x"))
		return ks_text_u64(&t, v);
	t.p += 2;
	return ks_text_hex(&t, v);
}

/* Takes over what is a text or names the architecture. */
static void
set_text(struct block *t, int what, struct ks_text value)
{
	switch (what) {
	case K_VENDOR:
		t->vendor = value;
		break;
	case K_PPC:
		t->type = "ppc64";
		/* fallthrough */
	case K_BRAND:
		t->brand = value;
		break;
	case K_KHZ:
		t->has_khz = ks_text_fixed(&value, 3, &t->khz);
		break;
	case K_FPU:
		t->fpu = ks_text_is(&value, "yes");
		break;
	case K_ARM:
		t->type = ks_text_starts(&value, "8") || ks_text_starts(&value, "AArch64") ? "aarch64" : "arm";
		break;
	case K_ISA:
		t->type = ks_text_starts(&value, "rv32") ? "riscv32" : "riscv64";
		t->version = value;
		break;
	case K_VERSION:
		t->version = value;
		break;
	default:
		t->flags = value;
		break;
	}
}

/* The company that arm's number stands for; an empty text if it is not known. */
static struct ks_text
implementer(struct ks_text value)
{
	static const struct {
		uint64_t number;
		const char *name;
	} known[] = {
		{ 0x41, "ARM" }, { 0x42, "Broadcom" }, { 0x43, "Cavium" }, { 0x46, "Fujitsu" }, { 0x48, "HiSilicon" },
		{ 0x4e, "NVIDIA" }, { 0x50, "APM" }, { 0x51, "Qualcomm" }, { 0x53, "Samsung" }, { 0x56, "Marvell" },
		{ 0x61, "Apple" }, { 0x69, "Intel" }, { 0x6d, "Microsoft" }, { 0x70, "Phytium" }, { 0xc0, "Ampere" },
	};
	uint64_t v;

	for (size_t i = 0; take_number(value, &v) && i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].number == v)
			return ks_text_of(known[i].name, strlen(known[i].name));
	}
	return ks_text_of("", 0);
}

/* Takes over one line. */
static void
set_value(struct block *t, const struct ks_text *key, struct ks_text value)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!is_key(key, keys[i].key))
			continue;
		if (keys[i].what < N_COUNT)
			t->has[keys[i].what] = take_number(value, &t->v[keys[i].what]);
		else if (keys[i].what == K_IMPLEMENTER)
			t->vendor = implementer(value);
		else
			set_text(t, keys[i].what, value);
	}
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
	/* As Solaris calls every PC processor. Only x86 has flags. */
	if (t->type == NULL && (t->flags.p != NULL || (t->vendor.p != NULL && t->has[N_FAMILY])))
		t->type = "i386";
	else if (t->type == NULL && ks_text_starts(&t->brand, "Loongson"))
		t->type = "loongarch64";
}

static bool
is_x86(const struct block *t)
{
	return t->type != NULL && strcmp(t->type, "i386") == 0;
}

#define DIRECTORY 96

/* The directory of a CPU below /sys; its path stays in `path`. */
static struct ks_dir
directory_of(const struct ks_linux *lx, const struct ks_unit *unit, char path[DIRECTORY])
{
	(void)snprintf(path, DIRECTORY, "devices/system/cpu/cpu%s", unit->key);
	return ks_dir_below(&lx->root[KS_ROOT_SYS], path);
}

/* Adds the numbers of chip and core that /sys has, where the block lacks them. */
static void
add_topology(struct ks_linux *lx, const struct ks_unit *unit, struct block *t)
{
	static const struct {
		const char *file;
		uint8_t what;
	} files[] = { { "topology/physical_package_id", N_CHIP }, { "topology/core_id", N_CORE } };
	char path[DIRECTORY];
	const struct ks_dir dir = directory_of(lx, unit, path);

	for (size_t i = 0; i < 2; i++) {
		if (!t->has[files[i].what])
			t->has[files[i].what] = ks_file_u64(&dir, files[i].file, &t->v[files[i].what]) == 0;
	}
}

/* Counts the CPUs and the cores of each chip, for those of which no file says it. */
static void
count_chips(struct ks_units *units)
{
	for (uint32_t u = 0; u < units->n; u++) {
		struct ks_cpu *cpu = ks_cpu_of(&units->v[u]);
		struct ks_cpu_facts *facts;
		uint64_t last = UINT64_MAX;

		if (!units->v[u].alive)
			continue;
		facts = &cpu->facts;
		facts->ncpu = facts->ncore = 0;
		for (uint32_t i = 0; facts->has_chip && facts->has_core && i < units->n; i++) {
			const struct ks_cpu *other = ks_cpu_of(&units->v[i]);

			if (!units->v[i].alive || !other->facts.has_chip || other->facts.chip != facts->chip)
				continue;
			facts->ncpu++;
			facts->ncore += other->core != last; /* threads of a core are next to each other */
			last = other->core;
		}
	}
}

/*
 * Numbers the cores of the machine in the order in which they appear, and notes where each CPU is. `im` is NULL if
 * there is no /proc/cpuinfo.
 */
static void
number_cores(struct ks_linux *lx, const struct ks_image *im)
{
	struct ks_units *units = &lx->sub[KS_SUB_cpu].units;
	struct { uint64_t chip, core; } *cores = calloc(units->n, sizeof(*cores));
	bool is_counted = true;
	uint32_t n = 0;

	if (cores == NULL)
		lx->lack = ENOMEM;
	for (uint32_t u = 0; cores != NULL && u < units->n; u++) {
		struct ks_cpu *cpu = ks_cpu_of(&units->v[u]);
		struct block t;
		uint32_t i;

		if (!units->v[u].alive)
			continue;
		parse_block(&t, im != NULL && cpu->info.seq == im->seq ? ks_line_text(im, &cpu->info) : ks_text_of("", 0));
		is_counted &= t.has[N_NCPU] && t.has[N_NCORE];
		add_topology(lx, &units->v[u], &t);
		cpu->facts.has_chip = t.has[N_CHIP];
		cpu->facts.has_core = t.has[N_CORE];
		cpu->facts.chip = t.v[N_CHIP];
		cpu->facts.core = t.v[N_CORE];
		if (!t.has[N_CORE])
			continue;
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
	/* A container without /sys may have a part of a chip's CPUs. */
	if (cores != NULL && !is_counted && ks_linux_exists(lx, KS_ROOT_SYS, "devices/system/cpu/cpu0/topology"))
		count_chips(units);
	free(cores);
}

/* Finds each CPU's block: from its "processor" line to the next one. */
static void
parse_cpuinfo(struct ks_linux *lx, const struct ks_image *im)
{
	struct ks_text all = ks_text_of(im->data, im->len), line, key, value;
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	struct ks_cpu *cpu = NULL;

	while (ks_text_line(&all, &line)) {
		bool is_first = ks_text_starts(&line, "processor") || ks_text_starts(&line, "cpu number");

		if (is_first && ks_text_pair(&line, &key, &value) &&
		    (ks_text_is(&key, "processor") || ks_text_is(&key, "cpu number"))) {
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
read_range(const struct ks_dir *dir, char *text, size_t size)
{
	uint64_t least = 0, most = 0;

	(void)ks_file_u64(dir, "cpufreq/cpuinfo_min_freq", &least);
	(void)ks_file_u64(dir, "cpufreq/cpuinfo_max_freq", &most);
	if (least == 0 || most <= least)
		return 0;
	return snprintf(text, size, "%llu %llu", (unsigned long long)least, (unsigned long long)most);
}

/* Reads the sizes of the caches of a CPU, such as "512K". */
static void
read_caches(const struct ks_dir *dir, struct ks_cpu_facts *facts)
{
	char path[32], type[16], size[32];
	uint64_t level, kib;

	for (int i = 0; i < 5; i++) {
		struct ks_text t;
		size_t which;
		int n;

		(void)snprintf(path, sizeof(path), "cache/index%d/level", i);
		if (ks_file_u64(dir, path, &level) != 0 || level < 1 || level > 3)
			continue;
		(void)snprintf(path, sizeof(path), "cache/index%d/type", i);
		if (ks_file_small(dir, path, type, sizeof(type)) < 0)
			continue;
		(void)snprintf(path, sizeof(path), "cache/index%d/size", i);
		n = ks_file_small(dir, path, size, sizeof(size));
		t = ks_text_of(size, n > 0 ? (size_t)n : 0);
		which = level > 1 ? KS_CACHE_L2 + (size_t)level - 2 : *type == 'I' ? KS_CACHE_L1I : KS_CACHE_L1D;
		if (ks_text_u64(&t, &kib) && ks_text_starts(&t, "K") && kib < UINT32_MAX)
			facts->cache[which] = kib * 1024;
	}
}

/* Finds out the nominal clock of a CPU, which none of its drivers calls so but two. */
static void
read_nominal(const struct ks_dir *dir, struct ks_cpu_facts *facts)
{
	if (ks_file_u64(dir, "cpufreq/base_frequency", &facts->base_khz) == 0)
		return;
	/* In MHz. */
	if (ks_file_u64(dir, "acpi_cppc/nominal_freq", &facts->base_khz) == 0 && facts->base_khz < UINT32_MAX)
		facts->base_khz *= 1000;
	else
		facts->base_khz = 0;
}

static void
read_facts(struct ks_linux *lx, const struct ks_unit *unit, struct ks_cpu_facts *facts)
{
	char path[DIRECTORY], frequency[DIRECTORY + 16], text[1024];
	const struct ks_dir dir = directory_of(lx, unit, path);
	int lack = lx->lack, n;

	lx->lack = 0;
	facts->has_cache = ks_file_u64(&dir, "cache/index3/id", &facts->cache_id) == 0 ||
	    ks_file_u64(&dir, "cache/index2/id", &facts->cache_id) == 0;
	(void)snprintf(frequency, sizeof(frequency), "%s/cpufreq", path);
	facts->has_frequency = ks_linux_exists(lx, KS_ROOT_SYS, frequency);
	read_nominal(&dir, facts);
	read_caches(&dir, facts);
	if (facts->has_frequency) {
		n = ks_file_small(&dir, "cpufreq/scaling_available_frequencies", text, sizeof(text));
		facts->has_list = n > 0;
		if (n <= 0)
			n = read_range(&dir, text, sizeof(text));
		if (n > 0)
			list_frequencies(facts->frequencies, sizeof(facts->frequencies), text, (size_t)n);
	}
	facts->known = lx->lack == 0 || lx->lack == EACCES; /* what a lack hides is looked for again */
	lx->lack = lx->lack != 0 ? lx->lack : lack;
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

/* The greatest of the clocks "1200000000:2600000000", in MHz; 0 if there is none. */
static uint64_t
greatest_mhz(const char *frequencies)
{
	const char *last = strrchr(frequencies, ':'), *p = last != NULL ? last + 1 : frequencies;
	uint64_t hz;

	return ks_scan_u64(&p, p + strlen(p), &hz) == 0 ? hz / 1000000 : 0;
}

/*
 * True if "cpu MHz" is the clock of the moment, as x86 measures it where it can, and not the one that the CPU has
 * always.
 */
static bool
is_measured(const struct block *t)
{
	return is_x86(t) && t->flags.p != NULL &&
	    memmem(t->flags.p, ks_text_size(&t->flags), "aperfmperf", strlen("aperfmperf")) != NULL;
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
	char path[DIRECTORY];
	const struct ks_dir dir = directory_of(lx, unit, path);
	uint64_t khz, mhz = 0;

	if (cpu->facts.has_frequency && ks_file_u64(&dir, "cpufreq/scaling_cur_freq", &khz) == 0)
		ks_have(vals, I_CURRENT_HZ, khz * 1000);
	else if (t->has_khz)
		ks_have(vals, I_CURRENT_HZ, t->khz * 1000);
	if (cpu->facts.base_khz > 0)
		mhz = cpu->facts.base_khz / 1000;
	else if (t->brand.p < t->brand.end)
		mhz = brand_mhz(&t->brand);
	/* A driver with a list of clocks does not list turbo. */
	if (mhz == 0 && cpu->facts.has_frequency && cpu->facts.has_list)
		mhz = greatest_mhz(cpu->facts.frequencies);
	if (mhz == 0 && t->has_khz && !cpu->facts.has_frequency && !is_measured(t))
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
	const struct ks_units *cpus = &lx->sub[KS_SUB_cpu].units;
	struct ks_cpu *cpu = ks_cpu_of(unit);
	const struct ks_image *im = ks_linux_try(lx, &cpuinfo_file);
	bool is_late = im == NULL && errno != ENOENT && errno != EACCES;
	struct ks_values vals = { .have = 0 };
	struct ks_cpu_state *s = ks_cpu_state_of(lx);
	struct block t = { .type = NULL };
	char brand[128], vendor[64], version[160];
	uint64_t boot, mhz;

	if (!cpu->facts.known)
		read_facts(lx, unit, &cpu->facts);
	if (im != NULL && s->cpuinfo_seq != im->seq)
		parse_cpuinfo(lx, im);
	if (s->cpuinfo_cpus != cpus->n - cpus->dead)
		number_cores(lx, im);
	s->cpuinfo_cpus = is_late ? 0 : cpus->n - cpus->dead;
	if (im != NULL && cpu->info.seq == im->seq)
		parse_block(&t, ks_line_text(im, &cpu->info));

	ks_have_text(&vals, I_STATE, cpu->online ? "on-line" : "off-line");
	if (cpu->since > 0)
		ks_have(&vals, I_STATE_BEGIN, (uint64_t)cpu->since);
	else if (ks_linux_boot_time(lx, &boot))
		ks_have(&vals, I_STATE_BEGIN, boot);
	if (t.vendor.p < t.vendor.end) {
		text_set(vendor, sizeof(vendor), &t.vendor);
		ks_have_text(&vals, I_VENDOR, vendor);
	}
	if (t.type != NULL)
		ks_have_text(&vals, I_CPU_TYPE, t.type);
	if (t.fpu)
		ks_have_text(&vals, I_FPU_TYPE, "i387 compatible");
	if (t.brand.p < t.brand.end) {
		text_set(brand, sizeof(brand), &t.brand);
		ks_have_text(&vals, I_BRAND, brand);
	}

	mhz = add_clock(lx, unit, cpu, &t, &vals);
	if (t.version.p < t.version.end) {
		text_set(version, sizeof(version), &t.version);
		ks_have_text(&vals, I_IMPLEMENTATION, version);
	} else if (is_x86(&t) && t.has[N_FAMILY] && t.has[N_MODEL] && t.has[N_STEPPING]) {
		if (cpu->facts.implementation[0] == '\0' || cpu->facts.mhz != mhz)
			describe(cpu->facts.implementation, sizeof(cpu->facts.implementation), &t, mhz);
		cpu->facts.mhz = mhz;
		ks_have_text(&vals, I_IMPLEMENTATION, cpu->facts.implementation);
	}
	have_if(&vals, I_CACHE_ID, cpu->facts.has_cache, cpu->facts.cache_id);
	have_if(&vals, I_CORE_ID, cpu->facts.has_core, cpu->core);
	have_if(&vals, I_CHIP_ID, cpu->facts.has_chip, cpu->facts.chip);
	have_if(&vals, I_PKG_CORE_ID, cpu->facts.has_core, cpu->facts.core);
	have_if(&vals, I_NCPU, cpu->facts.ncpu > 0, cpu->facts.ncpu);
	have_if(&vals, I_NCORE, cpu->facts.ncore > 0, cpu->facts.ncore);
	for (size_t i = KS_CACHE_L1D; i <= KS_CACHE_L3; i++)
		have_if(&vals, I_L1D + i, cpu->facts.cache[i] > 0, cpu->facts.cache[i]);
	for (size_t i = 0; i < N_COUNT; i++)
		have_if(&vals, fields_of[i], t.has[i], t.v[i]);
	ks_fields_add(r, ks_cpu_info_fields, &vals);
	return 0;
}
