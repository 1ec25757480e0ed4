/*
 * stat.c - the statistics of processes that /proc/PID/stat has, with the names of Solaris's psinfo and usage.
 *
 * Whose a process is that slept is remembered for 5 s: without that top takes 10 % more CPU time with 1,000 processes.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "source/linux/listing.h"
#include "source/linux/process/processes.h"

#define TICK_NSEC (KS_NANOSEC / 100) /* of the times that the kernel gives to programs */
#define USER_AGE (5 * KS_NANOSEC) /* for which it is believed whose a process is that sleeps */
#define WCHAN 64 /* bytes that the name of a function of the kernel takes at most here */
#define WORKER 0x20 /* a bit of the flags: a thread of the kernel's work queues */

#define NUMBER(stat, desc) KS_ID(stat, KSTAT_DATA_INT32, desc)

const struct ks_field ks_process_fields[] = {
	[P_PID] = NUMBER("pid", "process that the thread belongs to"),
	[P_PPID] = NUMBER("ppid", "parent process"),
	[P_PGID] = NUMBER("pgid", "process group"),
	[P_SID] = NUMBER("sid", "identifier of its session"),
	[P_EUID] = KS_ID("euid", KSTAT_DATA_UINT32, "effective user, who owns the process's directory in /proc"),
	[P_TTYDEV] = KS_ID("ttydev", KSTAT_DATA_UINT32,
	    "controlling terminal, as a device number; absent without one"),
	[P_STATE] = KS_TEXT_STATE("state", KSTAT_DATA_CHAR,
	    "R runs or waits for a CPU, S sleeps, D sleeps and no signal wakes it, T stopped, t traced, Z zombie, I idle"),
	[P_CLNAME] = KS_TEXT("clname", KSTAT_DATA_CHAR, "scheduling class: TS, FIFO, RR, BATCH, IDLE, DEADLINE, EXT"),
	[P_FNAME] = KS_TEXT("fname", KSTAT_DATA_STRING,
	    "name of its command as the kernel has it: 15 bytes, of threads of the kernel more"),
	[P_PRI] = NUMBER("pri", "priority of the scheduler: 0 to 39, below 0 for real time; less comes first"),
	[P_NICE] = NUMBER("nice", "nice value: -20 to 19"),
	[P_ONPRO] = NUMBER("onpro", "CPU that ran it last"),
	[P_NLWP] = KS_GAUGE("nlwp", KSTAT_DATA_UINT32, "threads of the process"),
	[P_SIZE] = KS_AMOUNT("size", "size of the address space"),
	[P_RSSIZE] = KS_AMOUNT("rssize", "memory in use, shared memory included"),
	[P_UTIME] = KS_NSEC("utime", "CPU time in user mode, that of guests included"),
	[P_STIME] = KS_NSEC("stime", "CPU time in the kernel"),
	[P_GTIME] = KS_NSEC("gtime", "CPU time in which a guest ran"),
	[P_CUTIME] = KS_NSEC("cutime", "user time of children that ended and were waited for"),
	[P_CSTIME] = KS_NSEC("cstime", "time in the kernel of children that ended and were waited for"),
	[P_MINF] = KS_COUNT("minf", KSTAT_DATA_UINT64, "page faults without a disk access"),
	[P_MAJF] = KS_COUNT("majf", KSTAT_DATA_UINT64, "page faults with a disk access"),
	[P_BLOCKED] = KS_NSEC("blkio_time",
	    "time in which it waited for block I/O; absent unless sysctl kernel.task_delayacct is 1"),
	[P_WCHAN] = KS_TEXT_STATE("wchan", KSTAT_DATA_STRING,
	    "function of the kernel in which it sleeps, in state D alone; absent if this user may not see it"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_fields);

/* Columns of the file, counted from 1 as proc(5) does; the third is the first behind the name. */
enum { COLUMN_FLAGS = 9, COLUMN_CHILDREN = 11, COLUMN_START = 22, COLUMN_POLICY = 41, COLUMNS = 43 };

static const struct {
	uint8_t column, field;
} columns[] = {
	{ 4, P_PPID }, { 5, P_PGID }, { 6, P_SID }, { 7, P_TTYDEV }, { 10, P_MINF }, { 12, P_MAJF }, { 14, P_UTIME },
	{ 15, P_STIME }, { 16, P_CUTIME }, { 17, P_CSTIME }, { 18, P_PRI }, { 19, P_NICE }, { 20, P_NLWP },
	{ 23, P_SIZE }, { 24, P_RSSIZE }, { 39, P_ONPRO }, { COLUMN_POLICY, P_CLNAME }, { 42, P_BLOCKED },
	{ 43, P_GTIME },
};

static const char *const class_names[] = { "TS", "FIFO", "RR", "BATCH", "", "IDLE", "DEADLINE", "EXT" };

#define NCLASSES (sizeof(class_names) / sizeof(class_names[0]))

/* This is done for every file of every process: snprintf() would take longer than to read the file's numbers. */
void
ks_process_path(char path[KS_PROCESS_PATH], pid_t pid, pid_t tid, const char *file)
{
	static const char task[] = "/task/";
	size_t n = ks_format_i64(path, pid);

	if (tid != 0) {
		memcpy(path + n, task, sizeof(task) - 1);
		n += sizeof(task) - 1;
		n += ks_format_i64(path + n, tid);
	}
	path[n++] = '/';
	ks_name_set(path + n, KS_PROCESS_PATH - n, file, strlen(file));
}

/* Takes a number that may be negative, as its 64 bits. */
static bool
take_number(struct ks_text *t, uint64_t *v)
{
	bool negative;

	ks_text_skip(t);
	negative = t->p < t->end && *t->p == '-';
	t->p += negative;
	if (!ks_text_u64(t, v))
		return false;
	if (negative)
		*v = -*v;
	return true;
}

static void
set(struct ks_process *p, size_t field, uint64_t v)
{
	if (field < P_SIZE)
		p->small[field] = (uint32_t)v;
	else
		p->large[field - P_SIZE] = v;
	p->have |= 1u << field;
}

static uint64_t
in_unit(const struct ks_linux *lx, size_t field, uint64_t v)
{
	if (field == P_RSSIZE)
		return (int64_t)v > 0 ? v * lx->page : 0;
	if (field == P_UTIME || field == P_STIME || field == P_GTIME || field == P_CUTIME || field == P_CSTIME ||
	    field == P_BLOCKED)
		return (int64_t)v > 0 ? v * TICK_NSEC : 0;
	return v;
}

/*
 * Parses the file. Sets the values that it has, by the names of the P_ constants, and their bits in p->have. False if
 * the text is not that of a process.
 */
static bool
parse_stat(const struct ks_linux *lx, struct ks_text text, struct ks_process *p, struct ks_process_line *line)
{
	const char *open = memchr(text.p, '(', ks_text_size(&text));
	const char *close = memrchr(text.p, ')', ks_text_size(&text)); /* a name may hold any characters */
	struct ks_text rest, state;
	uint64_t v, flags = 0;
	size_t next = 0;
	int n;

	if (open == NULL || close == NULL || close < open)
		return false;
	line->name = (struct ks_text){ open + 1, close };
	ks_name_set(p->fname, sizeof(p->fname), line->name.p, ks_text_size(&line->name));
	rest = (struct ks_text){ close + 1, text.end };
	if (!ks_text_word(&rest, &state) || ks_text_size(&state) != 1)
		return false;
	set(p, P_STATE, (unsigned char)*state.p);
	for (n = 4; n <= COLUMNS && take_number(&rest, &v); n++) {
		if (n == COLUMN_FLAGS)
			flags = v;
		if (n == COLUMN_CHILDREN)
			p->child_faults = v;
		if (n == COLUMN_START)
			line->start = v;
		if (next < sizeof(columns) / sizeof(columns[0]) && columns[next].column == n) {
			set(p, columns[next].field, in_unit(lx, columns[next].field, v));
			next++;
		}
	}
	line->is_worker = (flags & WORKER) != 0;
	if (p->small[P_TTYDEV] == 0)
		p->have &= ~(1u << P_TTYDEV);
	return n > COLUMN_START;
}

/* The effective user of a recorded process, whose files belong to whoever recorded them. */
static bool
recorded_user(struct ks_linux *lx, const struct ks_process *p, uint64_t *uid)
{
	char path[KS_PROCESS_PATH];
	struct ks_text ids;
	uint64_t v[2] = { 0, 0 };

	ks_process_path(path, p->pid, p->tid, "status");
	if (ks_linux_try_once(lx, KS_ROOT_PROC, path) != 0 ||
	    !ks_columns_line(ks_image_text(lx->im), ks_text_of("Uid:", 4), &ids))
		return false;
	*uid = ks_text_numbers(&ids, v, 2) == 2 ? v[1] : 0;
	return true;
}

/*
 * True if a process did nothing that counts since `before`: whose it is changes where it runs. A thousand questions for
 * that take a tenth of the time of a scan, so that of who sleeps it is asked every few seconds.
 */
static bool
has_slept(const struct ks_process *p, const struct ks_process *before, uint64_t start)
{
	const size_t behind = P_EUID + 1;

	return before != NULL && before->start == start && (before->have >> P_EUID & 1) != 0 &&
	    p->taken - before->user_taken < USER_AGE && p->child_faults == before->child_faults &&
	    memcmp(p->small, before->small, P_EUID * sizeof(p->small[0])) == 0 &&
	    memcmp(&p->small[behind], &before->small[behind], sizeof(p->small) - behind * sizeof(p->small[0])) == 0 &&
	    memcmp(p->large, before->large, sizeof(p->large)) == 0;
}

static void
load_user(struct ks_linux *lx, struct ks_process *p)
{
	const struct ks_dir *proc = &lx->root[KS_ROOT_PROC];
	char path[KS_PROCESS_PATH];
	uint64_t uid = 0;
	struct stat st;
	bool known;

	if (proc->kernel) {
		ks_process_path(path, p->pid, p->tid, "");
		known = fstatat(proc->fd, path, &st, 0) == 0;
		uid = known ? st.st_uid : 0;
	} else {
		known = recorded_user(lx, p, &uid);
	}
	if (known)
		set(p, P_EUID, uid);
}

int
ks_process_each(struct ks_linux *lx, DIR *dir, pid_t least, ks_process_take *take, void *arg)
{
	const struct dirent *e;
	int rc = 0;

	while (dir != NULL && rc == 0 && (e = ks_linux_next_entry(lx, dir)) != NULL) {
		struct ks_text t = ks_text_of(e->d_name, strlen(e->d_name));
		uint64_t v;

		if (ks_text_u64(&t, &v) && t.p == t.end && v >= (uint64_t)least && v <= INT32_MAX)
			rc = take(arg, (pid_t)v);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return rc;
}

int
ks_process_each_of(struct ks_linux *lx, pid_t pid, const char *directory, pid_t least, ks_process_take *take, void *arg)
{
	char path[KS_PROCESS_PATH];
	DIR *dir;

	ks_process_path(path, pid, 0, directory);
	dir = ks_dir_list(&lx->root[KS_ROOT_PROC], path);
	return dir != NULL ? ks_process_each(lx, dir, least, take, arg) : errno;
}

int
ks_process_load_stat(struct ks_linux *lx, struct ks_process *p, char text[KS_PROCESS_STAT],
    struct ks_process_line *line)
{
	const struct ks_dir *proc = &lx->root[KS_ROOT_PROC];
	char path[KS_PROCESS_PATH];
	int n;

	ks_process_path(path, p->pid, p->tid, "stat");
	p->have = 0;
	p->taken = gethrtime();
	n = ks_file_small(proc, path, text, KS_PROCESS_STAT);
	if (n < 0)
		return errno;
	if (!parse_stat(lx, ks_text_of(text, (size_t)n), p, line)) {
		const struct ks_text all = ks_text_of(text, (size_t)n);

		ks_linux_odd_path(lx, KS_ROOT_PROC, path, text, &all);
		return EINVAL;
	}
	return 0;
}

int
ks_process_load(struct ks_linux *lx, struct ks_process *p, const struct ks_process *before,
    char text[KS_PROCESS_STAT], struct ks_process_line *line)
{
	int err = ks_process_load_stat(lx, p, text, line);

	if (err != 0)
		return err;
	p->round = lx->round;
	if (lx->root[KS_ROOT_PROC].kernel && has_slept(p, before, line->start)) {
		p->user_taken = before->user_taken;
		set(p, P_EUID, before->small[P_EUID]);
	} else {
		p->user_taken = p->taken;
		load_user(lx, p);
	}
	return 0;
}

int
ks_process_gone(const struct ks_unit *unit, int err)
{
	if (err == ENOMEM || ks_is_lack(err))
		return ks_fail(err, "cannot read %s: %s", unit->key, strerror(err));
	return ks_linux_gone(unit);
}

/* Values of a scan serve the reading after it, unless they are older than this (ns) beside the time that it took. */
#define MAX_AGE 20000000
#define MAX_AGE_OF_SCAN 4

/* Reads the values unless this round has. Returns 0, or -1 with errno and message. */
static int
refresh(struct ks_linux *lx, const struct ks_unit *unit)
{
	struct ks_process *p = ks_process_of(unit);
	const struct ks_process_state *s = lx->sub[p->tid != 0 ? KS_SUB_thread : KS_SUB_process].state;
	char text[KS_PROCESS_STAT];
	struct ks_process_line line;
	int err;

	if (p->round == lx->round && gethrtime() - s->began < MAX_AGE + MAX_AGE_OF_SCAN * s->took)
		return 0;
	err = ks_process_load(lx, p, NULL, text, &line);
	if (err != 0 || line.start != p->start)
		return ks_process_gone(unit, err);
	return 0;
}

static const struct ks_file delayacct_file = { KS_ROOT_PROC, "sys/kernel/task_delayacct", KS_MADE_WHOLE, false };

/* True if the kernel counts how long processes waited for I/O; older kernels do so without a switch. */
static bool
has_blocked_time(struct ks_linux *lx, uint64_t v)
{
	const struct ks_image *im = ks_linux_try(lx, &delayacct_file);

	return im == NULL ? v != 0 : im->len > 0 && im->data[0] != '0';
}

/* Says in which function of the kernel a process sleeps that no signal wakes: what is frozen is not stuck. */
static void
have_wchan(struct ks_linux *lx, const struct ks_process *p, struct ks_values *vals, char name[WCHAN])
{
	char path[KS_PROCESS_PATH];
	ssize_t n;

	ks_process_path(path, p->pid, p->tid, "wchan");
	n = ks_file_read(&lx->root[KS_ROOT_PROC], path, name, WCHAN - 1);
	if (n <= 0 || name[0] == '0')
		return;
	name[n] = '\0';
	name[strcspn(name, "\n")] = '\0';
	ks_have_text(vals, P_WCHAN, name);
}

int
ks_process_read(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_process *p = ks_process_of(unit);
	struct ks_values vals;
	char state[2] = "", wchan[WCHAN];

	if (refresh(lx, unit) != 0)
		return -1;
	vals.have = p->have;
	state[0] = (char)p->small[P_STATE];
	for (size_t i = 0; i < P_COUNT; i++)
		vals.v[i].u = ks_process_value(p, i);
	ks_have_text(&vals, P_STATE, state);
	ks_have_text(&vals, P_FNAME, p->fname);
	if (state[0] == 'D')
		have_wchan(lx, p, &vals, wchan);
	if ((p->have >> P_CLNAME & 1) != 0 && p->small[P_CLNAME] < NCLASSES)
		ks_have_text(&vals, P_CLNAME, class_names[p->small[P_CLNAME]]);
	else
		vals.have &= ~(1ULL << P_CLNAME);
	if (!has_blocked_time(lx, ks_process_value(p, P_BLOCKED)))
		vals.have &= ~(1ULL << P_BLOCKED);
	lx->taken = p->taken;
	if (p->tid != 0) {
		ks_have(&vals, P_PID, (uint64_t)p->pid);
		vals.have &= ~(1ULL << P_NLWP);
	}
	ks_fields_add(r, ks_process_fields, &vals);
	return 0;
}
