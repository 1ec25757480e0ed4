/*
 * gpu.c - process:PID:NAME,gpu: what drivers of GPUs say in /proc/PID/fdinfo of the contexts ("clients") that a process
 * has open. A context may be open several times, and in several processes; it counts once in each. The names of engines
 * and kinds of memory are the driver's. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "source/linux/described.h"
#include "source/linux/process/processes.h"

#define MOST_CLIENTS 256 /* of a process */
#define MOST_NAMES 48    /* engines and kinds of memory */

enum { U_CLIENTS, U_BUSY, U_MEMORY };

const struct ks_field ks_process_gpu_fields[] = {
	[U_CLIENTS] = KS_GAUGE("clients", KSTAT_DATA_UINT32, "contexts on GPUs that the process has open"),
	[U_BUSY] = KS_NSEC("busy_nsec", "time in which engines worked for its contexts, the sum over all engines"),
	[U_MEMORY] = KS_AMOUNT("gpu_memory", "memory of GPUs and of the machine that its contexts use"),
	KS_FIELD_END
};

/* What the lines of a file are about. The statistic is the text before the name, and the name. */
static const struct kind {
	const char *key, *stat;
	struct ks_meta meta;
	const char *before, *after; /* the sentence around the name */
} kinds[] = {
	{ "drm-engine-", "engine_", KS_META_NSEC("", KS_KIND_COUNTER, KSTAT2_NVMT_T_ACC, ""),
	    "time in which engine ", " worked for its contexts" },
	{ "drm-cycles-", "cycles_", KS_META_COUNTER("", ""), "cycles in which engine ", " worked for its contexts" },
	{ "drm-total-cycles-", "total_cycles_", KS_META_COUNTER("", ""),
	    "cycles that the clock of engine ", " has counted" },
	{ "drm-resident-", "memory_", KS_META_BYTES("", KS_KIND_GAUGE, ""),
	    "memory of the kind ", " that its contexts use" },
	{ "drm-memory-", "memory_", KS_META_BYTES("", KS_KIND_GAUGE, ""), "", "" },
	{ "drm-total-", "memory_", KS_META_BYTES("", KS_KIND_GAUGE, ""), "", "" },
};

enum { ENGINE, CYCLES, CLOCK, RESIDENT, MEMORY, TOTAL, NKINDS };

/* What is summed over the contexts of a process. */
struct sums {
	struct ks_linux *lx;
	pid_t pid;
	uint64_t client[MOST_CLIENTS]; /* hashes of those that were seen */
	uint64_t nclients, busy, memory;
	bool has_engines;
	struct {
		char stat[KSTAT_STRLEN];
		uint64_t v;
		uint64_t client; /* the last one that added to it */
	} named[MOST_NAMES];
	size_t n;
};

const struct ks_meta *
ks_process_gpu_meta(const char *stat)
{
	for (size_t i = 0; i <= RESIDENT; i++) {
		size_t n = strlen(kinds[i].stat);

		if (strncmp(stat, kinds[i].stat, n) == 0)
			return ks_described_as(&kinds[i].meta, kinds[i].before, stat + n, kinds[i].after);
	}
	return NULL;
}

/* Takes a number and its unit: ns, KiB or MiB. */
static bool
take_amount(struct ks_text t, uint64_t *v)
{
	if (!ks_text_u64(&t, v))
		return false;
	ks_text_trim(&t);
	return !ks_text_is(&t, "KiB") ? !ks_text_is(&t, "MiB") || !__builtin_mul_overflow(*v, 1048576, v) :
	    !__builtin_mul_overflow(*v, 1024, v);
}

/* Adds to a statistic: once for each context, and to the clock of an engine the greatest of all. */
static void
add(struct sums *s, size_t kind, struct ks_text name, uint64_t v)
{
	char stat[KSTAT_STRLEN];
	size_t i = 0;

	(void)snprintf(stat, sizeof(stat), "%s%.*s", kinds[kind].stat, (int)ks_text_size(&name), name.p);
	while (i < s->n && strcmp(s->named[i].stat, stat) != 0)
		i++;
	if (i == MOST_NAMES || (i < s->n && s->named[i].client == s->nclients))
		return;
	if (i == s->n) {
		memcpy(s->named[i].stat, stat, sizeof(stat));
		s->named[s->n++].v = 0;
	}
	s->named[i].client = s->nclients;
	s->named[i].v = kind == CLOCK ? (v > s->named[i].v ? v : s->named[i].v) : s->named[i].v + v;
	s->has_engines |= kind == ENGINE;
	s->busy += kind == ENGINE ? v : 0;
	s->memory += kind >= RESIDENT ? v : 0;
}

/* Adds the lines of one kind. */
static void
add_kind(struct sums *s, size_t kind, struct ks_text all)
{
	struct ks_text line, key, value;
	uint64_t v;

	while (ks_text_line(&all, &line)) {
		if (!ks_text_pair(&line, &key, &value) || !ks_text_starts(&key, kinds[kind].key))
			continue;
		key.p += strlen(kinds[kind].key);
		/* These have keys that begin like those of the kind: "drm-engine-capacity-NAME", "drm-total-cycles-NAME". */
		if ((kind == ENGINE && ks_text_starts(&key, "capacity-")) || (kind == TOTAL && ks_text_starts(&key, "cycles-")))
			continue;
		if (ks_text_size(&key) > 0 && take_amount(value, &v))
			add(s, kind, key, v);
	}
}

/* A number for the context that the file of a descriptor is about; 0: it is about none. Some drivers have no numbers. */
static uint64_t
client_of(struct ks_text all, pid_t fd)
{
	uint64_t hash = KS_HASH_INIT;
	struct ks_text line, key, value;
	bool is_drm = false, has_number = false;

	while (ks_text_line(&all, &line)) {
		if (!ks_text_pair(&line, &key, &value))
			continue;
		is_drm |= ks_text_is(&key, "drm-driver");
		has_number |= ks_text_is(&key, "drm-client-id");
		if (ks_text_is(&key, "drm-client-id") || ks_text_is(&key, "drm-pdev"))
			hash = ks_hash_bytes(hash, value.p, ks_text_size(&value));
	}
	return !is_drm ? 0 : has_number ? hash | 1 : (uint64_t)fd << 1 | 1;
}

/* Adds the context of a descriptor, if it is one that was not seen yet. ks_process_take. */
static int
add_descriptor(void *sums, pid_t fd)
{
	struct sums *s = sums;
	const struct ks_dir *proc = &s->lx->root[KS_ROOT_PROC];
	char path[KS_PROCESS_PATH], target[32] = "", file[32];
	uint64_t client, i = 0;

	(void)snprintf(file, sizeof(file), "fd/%d", (int)fd);
	ks_process_path(path, s->pid, 0, file);
	/* A recorded tree has no such links. */
	if (readlinkat(proc->fd, path, target, sizeof(target) - 1) > 0 && strncmp(target, "/dev/dri/", 9) != 0)
		return 0;
	(void)snprintf(file, sizeof(file), "fdinfo/%d", (int)fd);
	if (ks_process_file(s->lx, s->pid, 0, file) != 0)
		return 0;
	client = client_of(ks_image_text(&s->lx->scratch), fd);
	while (i < s->nclients && s->client[i] != client)
		i++;
	if (client == 0 || i < s->nclients || i == MOST_CLIENTS)
		return 0;
	s->client[s->nclients++] = client;
	for (size_t kind = 0; kind < NKINDS; kind++)
		add_kind(s, kind, ks_image_text(&s->lx->scratch));
	return 0;
}

/* Sums up the contexts of a process. Returns 0 or an errno. */
static int
sum_up(struct ks_linux *lx, pid_t pid, struct sums *s)
{
	char path[KS_PROCESS_PATH];
	DIR *dir;

	memset(s, 0, sizeof(*s));
	s->lx = lx;
	s->pid = pid;
	ks_process_path(path, pid, 0, "fdinfo");
	dir = ks_dir_list(&lx->root[KS_ROOT_PROC], path);
	if (dir == NULL)
		return errno;
	(void)ks_process_each(lx, dir, 0, add_descriptor, s);
	return 0;
}

bool
ks_process_uses_gpu(struct ks_linux *lx, pid_t pid)
{
	struct sums s;

	return sum_up(lx, pid, &s) == 0 && s.nclients > 0;
}

int
ks_process_read_gpu(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	struct ks_values vals = { .have = 0 };
	struct sums s;
	int err = sum_up(lx, ks_process_of(unit)->pid, &s);

	if (err != 0)
		return ks_process_gone(unit, err);
	ks_have(&vals, U_CLIENTS, s.nclients);
	if (s.has_engines)
		ks_have(&vals, U_BUSY, s.busy);
	ks_have(&vals, U_MEMORY, s.memory);
	ks_fields_add(r, ks_process_gpu_fields, &vals);
	for (size_t i = 0; i < s.n; i++)
		ks_named_u64(r, s.named[i].stat, s.named[i].v);
	return 0;
}
