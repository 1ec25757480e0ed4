/*
 * tables.c - the kernel's tables and how full they are, unix:0:tables; what runs, unix:0:os; its random numbers,
 * unix:0:entropy; and how the clock is kept, unix:0:clock. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/devices.h"
#include "source/linux/system/uptime.h"

#define GAUGE(stat, key, desc) KS_GAUGE_K(stat, KSTAT_DATA_UINT64, key, desc)
#define LIMIT(stat, key, desc) \
	KS_OF(stat, KS_KIND_GAUGE, KSTAT2_NVMT_LIMIT, KSTAT_DATA_UINT64, "", key, desc)

enum { T_THREADS, T_RUNNING, T_PROCESSES = 17, T_OWN_PIDS };

static const struct ks_field table_fields[] = {
	GAUGE("threads", NULL, "processes and threads on the machine"),
	GAUGE("threads_running", NULL, "processes and threads that run or wait for a CPU"),
	LIMIT("threads_max", "kernel/threads-max", "how many threads there may be"),
	LIMIT("pid_max", "kernel/pid_max", "the largest number of a process or thread, plus one"),
	GAUGE("files", "fs/file-nr#0", "open files"),
	LIMIT("files_max", "fs/file-nr#2", "how many open files there may be"),
	GAUGE("inodes", "fs/inode-nr#0", "inodes in memory"),
	GAUGE("inodes_free", "fs/inode-nr#1", "inodes in memory that are not in use"),
	GAUGE("dentries", "fs/dentry-state#0", "names of files in memory (directory entries)"),
	GAUGE("dentries_unused", "fs/dentry-state#1", "names of files in memory that are not in use"),
	GAUGE("dentries_negative", "fs/dentry-state#4",
	    "names in memory of which it is known that there is no file"),
	GAUGE("aio_requests", "fs/aio-nr", "asynchronous requests that programs have made room for"),
	LIMIT("aio_requests_max", "fs/aio-max-nr", "how many such requests there may be"),
	GAUGE("ptys", "kernel/pty/nr", "pseudo terminals"),
	LIMIT("ptys_max", "kernel/pty/max", "how many pseudo terminals there may be"),
	GAUGE("overcommit_memory", "vm/overcommit_memory",
	    "what the kernel promises: 0 what seems possible, 1 everything, 2 up to CommitLimit"),
	KS_COUNT_K("hung_tasks", KSTAT_DATA_UINT64, "kernel/hung_task_detect_count",
	    "tasks that were found to wait for too long without a break"),
	[T_PROCESSES] = GAUGE("processes", NULL,
	    "processes on the machine, those included that are hidden or in other PID name spaces"),
	[T_OWN_PIDS] = GAUGE("own_pids", NULL,
	    "1 if those who read have a PID name space of their own, as in a container"),
	KS_FIELD_END
};

/* The fourth word of /proc/loadavg is "running/all". */
static void
have_threads(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	const struct ks_image *im = ks_linux_try(lx, &ks_loadavg_file);
	struct ks_text t, word;
	int64_t processes = ks_linux_all_processes(lx);
	int own_pids = ks_linux_has_own_pids(lx);
	uint64_t running, all;

	(void)dir;
	(void)dev;
	if (processes >= 0)
		ks_have(vals, T_PROCESSES, (uint64_t)processes);
	if (own_pids >= 0)
		ks_have(vals, T_OWN_PIDS, (uint64_t)own_pids);
	if (im == NULL)
		return;
	t = ks_text_of(im->data, im->len);
	for (int i = 0; i < 3; i++)
		(void)ks_text_word(&t, &word);
	if (!ks_text_u64(&t, &running) || !ks_text_starts(&t, "/"))
		return;
	t.p++;
	if (ks_text_u64(&t, &all)) {
		ks_have(vals, T_THREADS, all);
		ks_have(vals, T_RUNNING, running);
	}
}

static const struct ks_devices tables = { .root = KS_ROOT_PROC, .path = "sys", .by = KS_BY_NAME,
	.add = have_threads };

static const struct ks_field entropy_fields[] = {
	KS_OF("available", KS_KIND_GAUGE, KSTAT2_NVMT_BITS, KSTAT_DATA_UINT64, "bits", "entropy_avail",
	    "entropy that the kernel has collected"),
	KS_OF("poolsize", KS_KIND_GAUGE, KSTAT2_NVMT_BITS, KSTAT_DATA_UINT64, "bits", "poolsize",
	    "how much entropy it can collect"),
	KS_FIELD_END
};

static const struct ks_devices entropy = { .root = KS_ROOT_PROC, .path = "sys/kernel/random", .by = KS_BY_NAME };

/* --- the system ------------------------------------------------------------------------------------- */

enum { O_MACHINE = 4, O_NAME, O_ID, O_VERSION, O_PRETTY };

static const struct ks_field os_fields[] = {
	KS_TEXT_K("sysname", "ostype", "name of the kernel, uname -s"),
	KS_TEXT_K("release", "osrelease", "release of the kernel, uname -r"),
	KS_TEXT_K("version", "version", "version of the kernel, uname -v"),
	KS_TEXT_K("nodename", "hostname", "name of the machine, uname -n"),
	[O_MACHINE] = KS_TEXT("machine", KSTAT_DATA_STRING, "kind of machine, uname -m"),
	[O_NAME] = KS_TEXT("os_name", KSTAT_DATA_STRING, "name of the distribution, NAME of os-release"),
	[O_ID] = KS_TEXT("os_id", KSTAT_DATA_STRING, "the same for programs, ID of os-release"),
	[O_VERSION] = KS_TEXT("os_version", KSTAT_DATA_STRING, "version of the distribution, VERSION_ID of os-release"),
	[O_PRETTY] = KS_TEXT("os_pretty_name", KSTAT_DATA_STRING, "name and version for people, PRETTY_NAME of os-release"),
	KS_FIELD_END
};

/* Takes the lines of /etc/os-release: NAME="Debian GNU/Linux". */
static void
have_release(struct ks_linux *lx, struct ks_text all, struct ks_values *vals)
{
	static const struct {
		const char *key;
		uint8_t field;
	} keys[] = { { "NAME=", O_NAME }, { "ID=", O_ID }, { "VERSION_ID=", O_VERSION }, { "PRETTY_NAME=", O_PRETTY } };
	struct ks_text line;

	while (ks_text_line(&all, &line)) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			struct ks_text value = line;

			if (!ks_text_starts(&line, keys[i].key))
				continue;
			value.p += strlen(keys[i].key);
			if (value.end - value.p > 1 && (*value.p == '"' || *value.p == '\'') && value.end[-1] == *value.p) {
				value.p++;
				value.end--;
			}
			ks_have_copy(vals, keys[i].field, &lx->texts, value);
		}
	}
}

/* A recorded tree has no /etc, and another machine than this one. */
static void
have_system(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	static const char *const paths[] = { "/etc/os-release", "/usr/lib/os-release" };
	struct utsname u;
	char text[2048];
	ssize_t n = -1;

	(void)dir;
	(void)dev;
	if (!lx->root[KS_ROOT_PROC].kernel)
		return;
	lx->texts = (struct ks_texts){ lx->text, sizeof(lx->text), 0 };
	if (uname(&u) == 0)
		ks_have_copy(vals, O_MACHINE, &lx->texts, ks_text_of(u.machine, strlen(u.machine)));
	for (size_t i = 0; i < 2 && n < 0; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text));
		(void)close(fd);
	}
	have_release(lx, ks_text_of(text, n > 0 ? (size_t)n : 0), vals);
}

static const struct ks_devices os = { .root = KS_ROOT_PROC, .path = "sys/kernel", .by = KS_BY_NAME,
	.needs = "osrelease", .add = have_system };

/* --- the clock ------------------------------------------------------------------------------------- */

enum { C_SOURCE, C_SYNCHRONIZED, C_OFFSET, C_FREQUENCY, C_MAX_ERROR, C_ESTIMATED_ERROR, C_STATUS, C_CONSTANT,
	C_TICK, C_TAI, C_PPS_FREQUENCY, C_PPS_SHIFT, C_PPS_WANDER, C_PPS_WANDERS, C_PPS_JITTER, C_PPS_JITTERS,
	C_PPS_CALIBRATIONS, C_PPS_ERRORS };

#define MICROSECONDS(stat, desc) \
	KS_FRACT(stat, KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_INT64, 1000000, "us", desc)

static const struct ks_field clock_fields[] = {
	[C_SOURCE] = KS_TEXT_STATE_K("source", "current_clocksource", "the hardware that time is read from"),
	[C_SYNCHRONIZED] = KS_GAUGE("synchronized", KSTAT_DATA_UINT32,
	    "1 if a daemon keeps the clock in step with others"),
	[C_OFFSET] = KS_FRACT("offset", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_INT64, 1000000000, "ns",
	    "by how much the clock is still to be set right"),
	[C_FREQUENCY] = KS_FRACT("frequency", KS_KIND_GAUGE, KSTAT2_NVMT_UNKNOWN, KSTAT_DATA_INT64, 65536, "1/65536 ppm",
	    "by how much the clock is made to run faster, in millionths"),
	[C_MAX_ERROR] = MICROSECONDS("max_error", "most by which the clock may be wrong"),
	[C_ESTIMATED_ERROR] = MICROSECONDS("estimated_error", "by how much the clock is probably wrong"),
	[C_STATUS] = KS_UNITS("status", KS_KIND_GAUGE, KSTAT2_NVMT_FLAGS, KSTAT_DATA_UINT32, "",
	    "the bits STA_* of adjtimex(2)"),
	[C_CONSTANT] = KS_GAUGE("constant", KSTAT_DATA_INT64, "how slowly the clock is set right"),
	[C_TICK] = MICROSECONDS("tick", "length of a tick of the clock"),
	[C_TAI] = KS_UNITS("tai", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_INT64, "s",
	    "atomic time (TAI) less the time of day (UTC)"),
	[C_PPS_FREQUENCY] = KS_FRACT("pps_frequency", KS_KIND_GAUGE, KSTAT2_NVMT_UNKNOWN, KSTAT_DATA_INT64, 65536,
	    "1/65536 ppm", "by how much the clock is wrong by the pulses of a clock at the machine, in millionths"),
	[C_PPS_SHIFT] = KS_UNITS("pps_shift", KS_KIND_GAUGE, KSTAT2_NVMT_T_REL, KSTAT_DATA_INT64, "log2 s",
	    "length of the intervals in which the clock is compared with the pulses"),
	[C_PPS_WANDER] = KS_FRACT("pps_wander", KS_KIND_GAUGE, KSTAT2_NVMT_UNKNOWN, KSTAT_DATA_INT64, 65536,
	    "1/65536 ppm", "how much the frequency varies by the pulses, in millionths"),
	[C_PPS_WANDERS] = KS_COUNT("pps_wanders", KSTAT_DATA_UINT64, "intervals in which it varied too much"),
	[C_PPS_JITTER] = MICROSECONDS("pps_jitter", "how much the pulses of a clock at the machine vary"),
	[C_PPS_JITTERS] = KS_COUNT("pps_jitters", KSTAT_DATA_UINT64, "pulses that varied too much"),
	[C_PPS_CALIBRATIONS] = KS_COUNT("pps_calibrations", KSTAT_DATA_UINT64,
	    "intervals in which the clock was compared with the pulses"),
	[C_PPS_ERRORS] = KS_COUNT("pps_errors", KSTAT_DATA_UINT64, "intervals in which this was not possible"),
	KS_FIELD_END
};

static void
have_clock(struct ks_linux *lx, const struct ks_dir *dir, struct ks_device *dev, struct ks_values *vals)
{
	struct timex t = { .modes = 0 };
	bool nano;

	(void)dir;
	(void)dev;
	/* A recorded tree has no clock. */
	if (!lx->root[KS_ROOT_PROC].kernel || adjtimex(&t) < 0)
		return;
	nano = (t.status & STA_NANO) != 0;
	ks_have(vals, C_SYNCHRONIZED, (t.status & STA_UNSYNC) == 0);
	ks_have(vals, C_OFFSET, (uint64_t)((int64_t)t.offset * (nano ? 1 : 1000)));
	ks_have(vals, C_FREQUENCY, (uint64_t)(int64_t)t.freq);
	ks_have(vals, C_MAX_ERROR, (uint64_t)(int64_t)t.maxerror);
	ks_have(vals, C_ESTIMATED_ERROR, (uint64_t)(int64_t)t.esterror);
	ks_have(vals, C_STATUS, (uint32_t)t.status);
	ks_have(vals, C_CONSTANT, (uint64_t)(int64_t)t.constant);
	ks_have(vals, C_TICK, (uint64_t)(int64_t)t.tick);
	ks_have(vals, C_TAI, (uint64_t)(int64_t)t.tai);
	ks_have(vals, C_PPS_FREQUENCY, (uint64_t)(int64_t)t.ppsfreq);
	ks_have(vals, C_PPS_SHIFT, (uint64_t)(int64_t)t.shift);
	ks_have(vals, C_PPS_WANDER, (uint64_t)(int64_t)t.stabil);
	ks_have(vals, C_PPS_WANDERS, (uint64_t)t.stbcnt);
	ks_have(vals, C_PPS_JITTER, (uint64_t)((int64_t)t.jitter / (nano ? 1000 : 1)));
	ks_have(vals, C_PPS_JITTERS, (uint64_t)t.jitcnt);
	ks_have(vals, C_PPS_CALIBRATIONS, (uint64_t)t.calcnt);
	ks_have(vals, C_PPS_ERRORS, (uint64_t)t.errcnt);
}

static const struct ks_part parts[] = {
	KS_DEVICE_PART("unix", "tables", "misc", table_fields, &tables,
	    .since = "; dentries_negative 5.0; hung_tasks 6.13"),
	KS_DEVICE_PART("unix", "os", "misc", os_fields, &os, .from = "/proc/sys/kernel, uname(2), /etc/os-release"),
	KS_DEVICE_PART("unix", "entropy", "misc", entropy_fields, &entropy),
	KS_DEVICE_PART("unix", "clock", "misc", clock_fields,
	    KS_DEVICES("devices/system/clocksource/clocksource0", NULL, .by = KS_BY_NAME, .add = have_clock)),
};

static int
scan_tables(struct ks_linux *lx, struct ks_units *units)
{
	return units->scanned ? 0 : ks_devices_scan(lx, units);
}

KS_SUBSYSTEM(table, parts, .scan = scan_tables);
