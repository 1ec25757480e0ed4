/*
 * processes.h - what the files about processes and threads share. A process has a kstat for each kind of statistics,
 * and each kind comes from one file of /proc/PID; a thread has the same from /proc/PID/task/TID.
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_PROCESSES_H
#define SOURCE_LINUX_PROCESSES_H

#include <sys/types.h>

#include "source/linux/linux.h"
#include "source/linux/net/netlink.h"

#define KS_PROCESS_PATH 64 /* size of the path of a file below /proc, as "4194304/task/4194304/schedstat" */
#define KS_PROCESS_NAME 64 /* size of the name of a command; workers of the kernel have long ones */
#define KS_PROCESS_STAT 1024 /* more than a file "stat" has */

/* The statistics of a process, in the order in which they are shown. Those before P_SIZE have 32 bits. */
enum { P_PID, P_PPID, P_PGID, P_SID, P_EUID, P_TTYDEV, P_STATE, P_CLNAME, P_FNAME, P_PRI, P_NICE, P_ONPRO, P_NLWP,
	P_SIZE, P_RSSIZE, P_UTIME, P_STIME, P_GTIME, P_CUTIME, P_CSTIME, P_MINF, P_MAJF, P_BLOCKED, P_COUNT,
	P_WCHAN = P_COUNT /* in no ks_process: it is read when it is asked for */ };

_Static_assert(P_COUNT <= 32, "a statistic needs a bit");

/*
 * Sums over threads, which fall when a thread ends; what is shown of them does not. Those of "io" are its statistics in
 * their order.
 */
enum { P_SUM_RUN, P_SUM_WAIT, P_SUM_SLICES, P_SUM_VCTX, P_SUM_ICTX, P_SUM_IO, P_SUM_IO_LAST = P_SUM_IO + 6, P_SUMS };

/* ks_unit.extra of a process or a thread. */
struct ks_process {
	pid_t pid, tid;     /* tid 0: it is a process */
	uint32_t have;      /* which of the values are known, one bit each */
	char fname[KS_PROCESS_NAME];
	uint32_t small[P_SIZE]; /* as "stat" had them last; see ks_process_value() */
	uint64_t large[P_COUNT - P_SIZE];
	uint64_t round;     /* the round in which it was read */
	hrtime_t taken;     /* when */
	hrtime_t user_taken; /* when the kernel was asked whose it is */
	uint64_t start;     /* ticks after boot */
	uint64_t child_faults; /* page faults of children that it waited for: no program runs without one */
	uint16_t asked;     /* parts that somebody asks for under its name, one bit each */
	bool has_io;        /* this user may read "io" */
	struct {
		uint64_t last, lost;
	} sum[P_SUMS];      /* only where somebody may want kinds that have sums: see size_of_extra() */
	uint64_t of_children[2]; /* "io": what children read and wrote; these do not fall, either */
	uint64_t of_threads[2];  /* and what threads did that ended, since they were seen last */
	uint64_t io_faults;      /* child_faults when "io" was read last */
};

/* What a line of "stat" says beside the values. The name points into the line. */
struct ks_process_line {
	struct ks_text name;
	uint64_t start;
	bool is_worker; /* of the kernel: its name changes with its work */
};

/* The state of the subsystem, which processes and threads have each. */
struct ks_process_state {
	hrtime_t began, took; /* when the last scan read the files "stat", and for how long */
	/* The connection to the kernel's taskstats. */
	bool is_connected, is_refused; /* neither: it was not tried yet */
	struct ks_netlink netlink;
	uint16_t family;
	/* What there is beside /proc/PID/limits and the entries of /proc/PID/fd, which are slow; see detail.c. */
	bool is_examined, counts_fds, has_own_pids;
};

static inline struct ks_process *
ks_process_of(const struct ks_unit *unit)
{
	return unit->extra;
}

/* A value that "stat" had; one of 32 bits may be a negative number, of which these are the lower bits. */
static inline uint64_t
ks_process_value(const struct ks_process *p, size_t field)
{
	return field < P_SIZE ? p->small[field] : p->large[field - P_SIZE];
}

/* Writes the path below /proc of a file of a process (tid 0) or a thread, or of its directory (""). */
void ks_process_path(char path[KS_PROCESS_PATH], pid_t pid, pid_t tid, const char *file);

/*
 * Calls take() with each number from `least` on that is the name of an entry of a directory (NULL: it has none), until
 * take() returns something else than 0, and returns that. Closes the directory.
 */
typedef int ks_process_take(void *arg, pid_t id);
int ks_process_each(struct ks_linux *lx, DIR *dir, pid_t least, ks_process_take *take, void *arg);

/* The same for a directory of a process, "task" or "fd". If that cannot be listed, it returns an errno. */
int ks_process_each_of(struct ks_linux *lx, pid_t pid, const char *directory, pid_t least, ks_process_take *take,
    void *arg);

/*
 * Reads "stat" into p, of which pid and tid are set; ks_process_load() reads who the process belongs to, too, unless it
 * slept since `before` (NULL: it is not known). Returns 0 or an errno: ESRCH or ENOENT if the process ended, EINVAL if
 * the text cannot be parsed.
 */
int ks_process_load_stat(struct ks_linux *lx, struct ks_process *p, char text[KS_PROCESS_STAT],
    struct ks_process_line *line);
int ks_process_load(struct ks_linux *lx, struct ks_process *p, const struct ks_process *before,
    char text[KS_PROCESS_STAT], struct ks_process_line *line);

/*
 * Reads a file of a process (tid 0) or a thread; ks_image_text(&lx->scratch) is its contents then. Returns 0 or an
 * errno.
 */
int ks_process_file(struct ks_linux *lx, pid_t pid, pid_t tid, const char *file);

typedef bool ks_process_parse_thread(struct ks_linux *lx, struct ks_text text, uint64_t *sums);

/*
 * Adds up numbers of which the file of a process has those of its first thread only. Returns 0 or an errno. A thread
 * that ends meanwhile is left out.
 */
int ks_process_sum_threads(struct ks_linux *lx, const struct ks_process *p, const char *file,
    ks_process_parse_thread *parse, uint64_t *sums);

/* True if the numbers of a process have to be summed over its threads. */
bool ks_process_has_threads(const struct ks_process *p);

/* Returns a sum over threads that was read, continued so that it does not fall. */
uint64_t ks_process_continue_sum(struct ks_process *p, size_t which, uint64_t now);

/* True if a process has a context on a GPU open, as far as this user may see that. */
bool ks_process_uses_gpu(struct ks_linux *lx, pid_t pid);

/* ks_part.meta of what a process does with GPUs. */
const struct ks_meta *ks_process_gpu_meta(const char *stat);

/* Fails with ENXIO because the process of a unit ended; returns -1. With another errno for a lack of memory or such. */
int ks_process_gone(const struct ks_unit *unit, int err);

/* A socket whose owners are looked for; `of` is the caller's. */
struct ks_socket {
	uint32_t inode;
	void *of;
};

/*
 * Looks for the processes that hold sockets: goes over the descriptors of all processes, and calls held() for each that
 * is one of the n sockets, which are sorted. All of a process come one after the other.
 */
void ks_process_find_sockets(struct ks_linux *lx, struct ks_socket *sockets, size_t n,
    void (*held)(void *of, pid_t pid));

/* True if the kernel counts what processes wait for, and answers this user about it. */
bool ks_process_has_delays(struct ks_linux *lx, struct ks_process_state *s);

/* ks_subsystem.start and .release: of the connection. */
void ks_process_start(void *state);
void ks_process_release(void *state);

extern const struct ks_field ks_process_fields[], ks_process_status_fields[], ks_process_io_fields[],
	ks_process_sched_fields[], ks_process_delay_fields[], ks_process_args_fields[], ks_process_group_fields[],
	ks_process_fd_fields[], ks_process_memory_fields[], ks_process_oom_fields[], ks_process_gpu_fields[];
ks_part_read ks_process_read, ks_process_read_status, ks_process_read_io, ks_process_read_sched,
	ks_process_read_delay, ks_process_read_args, ks_process_read_group, ks_process_read_fd,
	ks_process_read_memory, ks_process_read_oom, ks_process_read_gpu;

#endif
