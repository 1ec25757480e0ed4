/* loader.c - see loader.h. SPDX-License-Identifier: MIT */
#include "bpf/loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/exponential.h"

#define MOST_BIOS 16384
#define MOST_CONNECTS 8192

/* The object that clang made, within this one. */
__asm__(".section .rodata\n.balign 8\nlatency_object: .incbin \"" LATENCY_OBJECT "\"\nlatency_object_end:\n.previous");
extern const char latency_object[] __attribute__((visibility("hidden")));
extern const char latency_object_end[] __attribute__((visibility("hidden")));

struct memory {
	void *at;
	size_t size;
	u32 n;
};

struct latency {
	struct bpf_object *object;
	struct bpf_link *links[16];
	size_t nlinks;
	struct memory rows[LATENCY_KINDS], disks, losses, exit_sums;
	int groups, exits;
};

static int
quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* --- what the kernel has ----------------------------------------------------------------------------- */

/* How many arguments a tracepoint has, 0: there is none. */
static u32
arguments(const struct btf *btf, const char *tracepoint)
{
	char name[64];
	const struct btf_type *t;
	int id;

	(void)snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	t = id > 0 ? btf__type_by_id(btf, btf__type_by_id(btf, (u32)id)->type) : NULL;
	t = t != NULL && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	/* The first one is the tracepoint's own. */
	return t != NULL && btf_is_func_proto(t) && btf_vlen(t) > 0 ? btf_vlen(t) - 1u : 0;
}

static bool
has_field(const struct btf *btf, const char *type, const char *field)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;

	for (u32 i = 0; t != NULL && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), field) == 0)
			return true;
	return false;
}

/* Chooses the programs. Returns the name of what the kernel lacks for one of them, or NULL. */
static const char *
choose(const struct btf *btf, const struct latency_wanted *w, bool has_storage, const char *names[16])
{
	static const char *const tracepoints[] = { "sched_switch", "inet_sock_set_state", "sched_process_exit" };
	const bool wanted[] = { w->cpu, w->connect, w->exits };
	size_t n = 0;

	for (size_t i = 0; i < 3; i++)
		if (wanted[i] && arguments(btf, tracepoints[i]) == 0)
			return tracepoints[i];
	if (w->disk && arguments(btf, "block_rq_issue") == 0)
		return "block_rq_issue";
	if (w->cpu && !has_field(btf, "sched_info", "run_delay"))
		return "sched_info";
	if (w->disk) {
		names[n++] = arguments(btf, "block_io_start") != 0 ? "disk_start" : "disk_insert";
		names[n++] = "disk_issue";
		names[n++] = "disk_complete";
	}
	if (w->disk && w->bios) {
		names[n++] = "bio_start";
		names[n++] = "bio_done";
	}
	if (w->cpu)
		names[n++] = has_storage ? "cpu_switch" : "cpu_switch_old";
	if (w->connect)
		names[n++] = "connect_state";
	if (w->exits)
		names[n++] = "exit_process";
	names[n] = NULL;
	return NULL;
}

/* --- opening ----------------------------------------------------------------------------------------- */

static void
set_size(struct bpf_object *o, const char *map, u32 n)
{
	(void)bpf_map__set_max_entries(bpf_object__find_map_by_name(o, map), n > 0 ? n : 1);
}

static void
set_sizes(struct bpf_object *o, const struct latency_wanted *w)
{
	set_size(o, "disk_rows", w->disk ? (w->disks + 1) * LATENCY_DISK_ROWS : 1);
	set_size(o, "cpu_rows", w->cpu ? (u32)libbpf_num_possible_cpus() : 1);
	set_size(o, "group_rows", w->cpu && w->groups ? w->groups + 1 : 1);
	set_size(o, "connect_rows", w->connect ? LATENCY_CONNECT_ROWS : 1);
	set_size(o, "disks", w->disks + 1);
	set_size(o, "slots", w->slots);
	set_size(o, "queues", w->queues);
	set_size(o, "claims", w->disks + 1);
	set_size(o, "bios", w->bios ? MOST_BIOS : 1);
	set_size(o, "connects", w->connect ? MOST_CONNECTS : 1);
	set_size(o, "groups", w->groups);
	set_size(o, "exits", w->exits ? LATENCY_MOST_EXITS : 1);
}

static int
set_settings(struct bpf_object *o, const struct btf *btf, const struct latency_wanted *w)
{
	struct latency_settings s = {
		.request_arg = arguments(btf, "block_rq_issue") == 2,
		.bio_arg = arguments(btf, "block_bio_queue") == 2,
		.has_no_start = arguments(btf, "block_io_start") == 0,
		.rows = w->disks + 1,
		.slots = w->slots,
		.has_group_dead = arguments(btf, "sched_process_exit") == 2,
		.by_group = w->groups > 0,
	};
	struct stat st;

	for (u32 i = 0; i < 16; i++)
		s.roots[i] = ks_exponential_root[i * 16];
	s.namespace = stat("/proc/self/ns/net", &st) == 0 ? (u32)st.st_ino : 0;
	return bpf_map__set_initial_value(bpf_object__find_map_by_name(o, ".rodata"), &s, sizeof(s));
}

static int
map_memory(struct bpf_object *o, const char *name, struct memory *m)
{
	struct bpf_map *map = bpf_object__find_map_by_name(o, name);

	m->n = bpf_map__max_entries(map);
	m->size = (size_t)m->n * ((bpf_map__value_size(map) + 7u) & ~7u);
	m->at = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (m->at == MAP_FAILED)
		m->at = NULL;
	return m->at != NULL ? 0 : -1;
}

static int
map_all(struct latency *l, const struct latency_wanted *w)
{
	static const char *const names[] = { "disk_rows", "cpu_rows", "group_rows", "connect_rows" };
	const bool wanted[] = { w->disk, w->cpu, w->cpu && w->groups > 0, w->connect };

	for (size_t i = 0; i < LATENCY_KINDS; i++)
		if (wanted[i] && map_memory(l->object, names[i], &l->rows[i]) != 0)
			return -1;
	l->groups = bpf_map__fd(bpf_object__find_map_by_name(l->object, "groups"));
	l->exits = bpf_map__fd(bpf_object__find_map_by_name(l->object, "exits"));
	if (w->exits && map_memory(l->object, "exit_sums", &l->exit_sums) != 0)
		return -1;
	return map_memory(l->object, "disks", &l->disks) != 0 || map_memory(l->object, "losses", &l->losses) != 0 ? -1 : 0;
}

static struct bpf_program *
find(const struct bpf_object *o, const char *name)
{
	return bpf_object__find_program_by_name(o, name);
}

/* Loads and starts the programs; NULL, or what failed, with errno. */
static const char *
load(struct latency *l, const struct latency_wanted *w, const char *const names[], bool has_storage)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, l->object)
		(void)bpf_program__set_autoload(p, false);
	for (size_t i = 0; names[i] != NULL; i++)
		(void)bpf_program__set_autoload(find(l->object, names[i]), true);
	(void)bpf_map__set_autocreate(bpf_object__find_map_by_name(l->object, "waits"), w->cpu && has_storage);
	if (bpf_object__load(l->object) != 0)
		return "cannot load the programs into the kernel";
	if (map_all(l, w) != 0)
		return "cannot map what the programs count";
	for (size_t i = 0; names[i] != NULL; i++) {
		struct bpf_link *link = bpf_program__attach(find(l->object, names[i]));

		if (link == NULL)
			return "cannot start the programs";
		l->links[l->nlinks++] = link;
	}
	return NULL;
}

struct latency *
latency_open(const struct latency_wanted *w, char *why, size_t size)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "kstat");
	struct latency *l = calloc(1, sizeof(*l));
	struct btf *btf;
	const char *names[16], *lacks, *failed = NULL;
	bool has_storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
	int error;

	(void)libbpf_set_print(quiet);
	btf = btf__load_vmlinux_btf();
	if (l == NULL || btf == NULL) {
		error = l == NULL ? ENOMEM : ESRCH;
		failed = l == NULL ? "out of memory" : "the kernel does not describe its types: no /sys/kernel/btf/vmlinux";
	} else if ((lacks = choose(btf, w, has_storage, names)) != NULL) {
		error = ENOTSUP;
		(void)snprintf(why, size, "the kernel has no %s", lacks);
	} else if ((l->object = bpf_object__open_mem(latency_object, (size_t)(latency_object_end - latency_object),
	    &opts)) == NULL) {
		error = errno;
		failed = "cannot read the programs";
	} else {
		set_sizes(l->object, w);
		failed = set_settings(l->object, btf, w) != 0 ? "cannot set up the programs" : load(l, w, names, has_storage);
		error = failed != NULL ? errno : 0;
	}
	btf__free(btf);
	(void)malloc_trim(0); /* the kernel's types took 10 MB for a moment */
	if (error == 0)
		return l;
	if (failed != NULL)
		(void)snprintf(why, size, "%s", failed);
	latency_close(l);
	errno = error;
	return NULL;
}

void
latency_close(struct latency *l)
{
	struct memory *memories[] = { &l->rows[0], &l->rows[1], &l->rows[2], &l->rows[3], &l->disks, &l->losses,
		&l->exit_sums };

	if (l == NULL)
		return;
	while (l->nlinks > 0)
		(void)bpf_link__destroy(l->links[--l->nlinks]);
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
		if (memories[i]->at != NULL)
			(void)munmap(memories[i]->at, memories[i]->size);
	bpf_object__close(l->object);
	free(l);
}

/* --- reading ----------------------------------------------------------------------------------------- */

const u64 *
latency_rows(const struct latency *l, enum latency_kind kind, u32 *n)
{
	*n = l->rows[kind].n;
	return l->rows[kind].at;
}

const char *
latency_disk_name(const struct latency *l, u32 disk)
{
	return disk < l->disks.n ? ((const struct latency_disk *)l->disks.at)[disk].name : "";
}

void
latency_forget_disk(struct latency *l, u32 disk)
{
	if (disk < l->disks.n)
		((struct latency_disk *)l->disks.at)[disk].queue = 0;
}

const u64 *
latency_losses(const struct latency *l)
{
	return l->losses.at;
}

int
latency_group(struct latency *l, u64 id, u32 row)
{
	const struct memory *m = &l->rows[LATENCY_OF_GROUP];

	if (row == 0)
		return bpf_map_delete_elem(l->groups, &id);
	if (row >= m->n) {
		errno = EINVAL;
		return -1;
	}
	memset((u64 *)m->at + (size_t)row * LATENCY_BUCKETS, 0, LATENCY_BUCKETS * sizeof(u64));
	return bpf_map_update_elem(l->groups, &id, &row, BPF_ANY);
}

const struct latency_exits *
latency_exit_sums(const struct latency *l)
{
	return l->exit_sums.at;
}

int
latency_exits(const struct latency *l, struct latency_pair *pairs, struct latency_exits *exits)
{
	u32 n = LATENCY_MOST_EXITS, next;

	if (bpf_map_lookup_batch(l->exits, NULL, &next, pairs, exits, &n, NULL) != 0 && errno != ENOENT)
		return -1;
	return (int)n;
}

void
latency_forget_exits(struct latency *l, const struct latency_pair *pair)
{
	(void)bpf_map_delete_elem(l->exits, pair);
}
