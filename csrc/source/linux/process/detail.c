/*
 * detail.c - what is read of processes only for those who name it: the command line, the control group, descriptors
 * and the sockets among them, and what the kernel thinks of them when memory runs out. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/linux/group/groups.h"
#include "source/linux/listing.h"
#include "source/linux/process/processes.h"
#include "source/linux/system/uptime.h"

/* --- cmdline --------------------------------------------------------------------------------- */

#define ARGS_MAX 4096

const struct ks_field ks_process_args_fields[] = {
	KS_TEXT("psargs", KSTAT_DATA_STRING, "command line, its first 4096 bytes; threads of the kernel have none"),
	KS_FIELD_END
};

int
ks_process_read_args(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_process *p = ks_process_of(unit);
	char path[KS_PROCESS_PATH], args[ARGS_MAX + 1];
	struct ks_values vals = { .have = 0 };
	ssize_t n;

	ks_process_path(path, p->pid, 0, "cmdline");
	n = ks_file_read(&lx->root[KS_ROOT_PROC], path, args, ARGS_MAX);
	if (n < 0)
		return ks_process_gone(unit, errno);
	while (n > 0 && (args[n - 1] == '\0' || args[n - 1] == ' '))
		n--;
	args[n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		args[i] = args[i] == '\0' ? ' ' : args[i];
	if (n > 0)
		ks_have_text(&vals, 0, args);
	ks_fields_add(r, ks_process_args_fields, &vals);
	return 0;
}

/* --- cgroup ---------------------------------------------------------------------------------- */

enum { G_PATH, G_CONTAINER };

const struct ks_field ks_process_group_fields[] = {
	[G_PATH] = KS_TEXT("cgroup", KSTAT_DATA_STRING,
	    "control group that the process is in: the path below the root"),
	[G_CONTAINER] = KS_TEXT("container", KSTAT_DATA_STRING,
	    "identifier of the container that this group, or one above it, belongs to"),
	KS_FIELD_END
};

/* How well a line of the file tells where a process belongs: version 1 has a line for each set of controllers. */
static int
rank(struct ks_text controllers, const struct ks_text *path)
{
	if (ks_text_is(path, "/"))
		return 1;
	return memmem(controllers.p, ks_text_size(&controllers), "memory", strlen("memory")) != NULL ? 4 :
	    ks_text_size(&controllers) == 0 ? 3 : 2;
}

/* Finds the path in lines such as "0::/user.slice"; empty if there is none. */
static struct ks_text
find_path(struct ks_text all)
{
	static const char deleted[] = " (deleted)";
	struct ks_text best = { all.p, all.p }, line;
	int best_rank = 0;

	while (ks_text_line(&all, &line)) {
		const char *first = memchr(line.p, ':', ks_text_size(&line));
		const char *second = first != NULL ? memchr(first + 1, ':', (size_t)(line.end - first - 1)) : NULL;
		struct ks_text path = { second != NULL ? second + 1 : line.end, line.end };
		int r = second != NULL ? rank((struct ks_text){ first + 1, second }, &path) : 0;

		if (r <= best_rank)
			continue;
		best_rank = r;
		best = path;
	}
	if (ks_text_size(&best) > strlen(deleted) && memcmp(best.end - strlen(deleted), deleted, strlen(deleted)) == 0)
		best.end -= strlen(deleted);
	return best;
}

int
ks_process_read_group(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_process *p = ks_process_of(unit);
	char text[2 * KS_GROUP_PATH];
	struct ks_texts texts = { text, sizeof(text), 0 };
	struct ks_values vals = { .have = 0 };
	struct ks_text path;
	int err = ks_process_file(lx, p->pid, 0, "cgroup");

	if (err != 0)
		return ks_process_gone(unit, err);
	path = find_path(ks_image_text(&lx->scratch));
	ks_have_copy(&vals, G_PATH, &texts, path);
	ks_have_copy(&vals, G_CONTAINER, &texts, ks_group_container_of(path));
	ks_fields_add(r, ks_process_group_fields, &vals);
	return 0;
}

/* --- fd and limits --------------------------------------------------------------------------- */

enum { F_OPEN, F_LIMIT, F_LIMIT_MAX, F_THREADS };

const struct ks_field ks_process_fd_fields[] = {
	[F_OPEN] = KS_GAUGE("open", KSTAT_DATA_UINT64, "file descriptors that are open"),
	[F_LIMIT] = KS_GAUGE("limit", KSTAT_DATA_UINT64,
	    "most descriptors that it may have open; absent without a limit"),
	[F_LIMIT_MAX] = KS_GAUGE("limit_max", KSTAT_DATA_UINT64, "up to which it may raise its limit itself"),
	[F_THREADS] = KS_GAUGE("threads_limit", KSTAT_DATA_UINT64,
	    "most threads that its user may have when it makes another one, unless that is root; absent without a limit"),
	KS_FIELD_END
};

static int
count_one(void *count, pid_t fd)
{
	(void)fd;
	++*(uint64_t *)count;
	return 0;
}

/*
 * Finds out whether directories "fd" have the number of descriptors as their size, as from 6.2 on, and whether /proc has
 * the PIDs that this process would call others by: both show in its own directory.
 */
static const struct ks_process_state *
examine(struct ks_linux *lx)
{
	struct ks_process_state *s = lx->sub[KS_SUB_process].state;
	const struct ks_dir *proc = &lx->root[KS_ROOT_PROC];
	uint64_t v[2];
	struct stat st;

	if (s->is_examined || !proc->kernel)
		return s;
	s->is_examined = true;
	s->counts_fds = fstatat(proc->fd, "self/fd", &st, 0) == 0 && st.st_size > 0;
	s->has_own_pids = ks_linux_own_pids(lx, v) == 1 && v[0] == (uint64_t)getpid(); /* one of each namespace inside */
	return s;
}

/* Counts the descriptors. False if this user may not. */
static bool
count_open(struct ks_linux *lx, pid_t pid, uint64_t *count)
{
	char path[KS_PROCESS_PATH];
	struct stat st;

	ks_process_path(path, pid, 0, "fd");
	if (examine(lx)->counts_fds && fstatat(lx->root[KS_ROOT_PROC].fd, path, &st, 0) == 0) {
		*count = (uint64_t)st.st_size;
		return true;
	}
	*count = 0;
	return ks_process_each_of(lx, pid, "fd", 0, count_one, count) == 0;
}

/* Collects "Max open files            1024                 524288               files". */
static void
collect_limits(struct ks_text all, struct ks_values *vals)
{
	static const char files[] = "Max open files", threads[] = "Max processes";
	struct ks_text line;
	uint64_t v;

	while (ks_text_line(&all, &line)) {
		bool is_of_files = ks_text_starts(&line, files);

		if (!is_of_files && !ks_text_starts(&line, threads))
			continue;
		line.p += is_of_files ? strlen(files) : strlen(threads);
		for (size_t i = is_of_files ? F_LIMIT : F_THREADS; i <= (is_of_files ? F_LIMIT_MAX : F_THREADS); i++) {
			struct ks_text word;

			if (ks_text_word(&line, &word) && ks_text_u64(&word, &v))
				ks_have(vals, i, v);
		}
	}
}

/* Asks for the limits of a process without a text of all limits; who may is its user, and root. */
static bool
ask_limits(struct ks_linux *lx, pid_t pid, struct ks_values *vals)
{
	struct rlimit limit;

	if (!examine(lx)->has_own_pids || prlimit(pid, RLIMIT_NOFILE, NULL, &limit) != 0)
		return false;
	if (limit.rlim_cur != RLIM_INFINITY)
		ks_have(vals, F_LIMIT, limit.rlim_cur);
	if (limit.rlim_max != RLIM_INFINITY)
		ks_have(vals, F_LIMIT_MAX, limit.rlim_max);
	if (prlimit(pid, RLIMIT_NPROC, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		ks_have(vals, F_THREADS, limit.rlim_cur);
	return true;
}

int
ks_process_read_fd(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };
	uint64_t count;

	if (!ask_limits(lx, p->pid, &vals)) {
		int err = ks_process_file(lx, p->pid, 0, "limits");

		if (err != 0)
			return ks_process_gone(unit, err);
		collect_limits(ks_image_text(&lx->scratch), &vals);
	}
	if (count_open(lx, p->pid, &count)) /* others may not list those of a process */
		ks_have(&vals, F_OPEN, count);
	ks_fields_add(r, ks_process_fd_fields, &vals);
	return 0;
}

/* --- sockets among the descriptors ----------------------------------------------------------- */

/* A search that is under way. */
struct search {
	struct ks_linux *lx;
	const struct ks_socket *sockets;
	size_t n;
	void (*held)(void *of, pid_t pid);
	pid_t pid; /* whose descriptors are looked at */
};

static int
compare_inodes(const void *a, const void *b)
{
	const struct ks_socket *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Compares what a descriptor links to, such as "socket:[4711]", with the sockets. */
static int
look_at_fd(void *arg, pid_t fd)
{
	const struct search *s = arg;
	char path[KS_PROCESS_PATH], target[32], file[16];
	const struct ks_socket *found;
	struct ks_socket key;
	ssize_t n;

	(void)snprintf(file, sizeof(file), "fd/%d", (int)fd);
	ks_process_path(path, s->pid, 0, file);
	n = readlinkat(s->lx->root[KS_ROOT_PROC].fd, path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	if (sscanf(target, "socket:[%" SCNu32 "]", &key.inode) != 1)
		return 0;
	found = bsearch(&key, s->sockets, s->n, sizeof(*s->sockets), compare_inodes);
	if (found != NULL)
		s->held(found->of, s->pid);
	return 0;
}

static int
look_at_process(void *arg, pid_t pid)
{
	struct search *s = arg;

	s->pid = pid;
	(void)ks_process_each_of(s->lx, pid, "fd", 0, look_at_fd, s); /* those of others cannot be listed */
	return 0;
}

void
ks_process_find_sockets(struct ks_linux *lx, struct ks_socket *sockets, size_t n,
    void (*held)(void *of, pid_t pid))
{
	struct search s = { lx, sockets, n, held, 0 };

	if (n == 0)
		return;
	qsort(sockets, n, sizeof(*sockets), compare_inodes);
	(void)ks_process_each(lx, ks_linux_open_directory(lx, KS_ROOT_PROC, "."), 1, look_at_process, &s);
}

/* --- oom_score ------------------------------------------------------------------------------- */

enum { O_SCORE, O_ADJ };

const struct ks_field ks_process_oom_fields[] = {
	[O_SCORE] = KS_GAUGE("oom_score", KSTAT_DATA_INT32,
	    "how soon it is killed when memory runs out: the greatest comes first"),
	[O_ADJ] = KS_GAUGE("oom_score_adj", KSTAT_DATA_INT32,
	    "what was set to be added to that, in thousandths of the memory; -1000: it is never killed"),
	KS_FIELD_END
};

int
ks_process_read_oom(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	static const char *const files[] = { "oom_score", "oom_score_adj" };
	const struct ks_process *p = ks_process_of(unit);
	struct ks_values vals = { .have = 0 };

	for (size_t i = O_SCORE; i <= O_ADJ; i++) {
		char path[KS_PROCESS_PATH], text[16], *end;
		long v;

		ks_process_path(path, p->pid, 0, files[i]);
		if (ks_file_small(&lx->root[KS_ROOT_PROC], path, text, sizeof(text)) < 0)
			return ks_process_gone(unit, errno);
		v = strtol(text, &end, 10);
		if (end != text && *end == '\0' && v >= INT32_MIN && v <= INT32_MAX)
			ks_have(&vals, i, (uint64_t)v);
	}
	ks_fields_add(r, ks_process_oom_fields, &vals);
	return 0;
}
