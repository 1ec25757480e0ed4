/*
 * loader.h - loads the programs of latency.bpf.c and reads what they count. It knows nothing of kstats nor of Lua. All
 * that it puts into the kernel goes with its descriptors, however the process ends: nothing is pinned.
 * SPDX-License-Identifier: MIT
 */
#ifndef BPF_LOADER_H
#define BPF_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;

#include "bpf/latency.h"

enum latency_kind { LATENCY_OF_DISK, LATENCY_OF_CPU, LATENCY_OF_GROUP, LATENCY_OF_CONNECT, LATENCY_KINDS };

/* What is counted, and how large what exists is. */
struct latency_wanted {
	bool disk, cpu, connect, exits;
	bool bios;   /* there are disks without requests */
	u32 disks, slots, queues;
	u32 groups;  /* 0: not by control group */
};

struct latency;

/* NULL with errno and a line in `why`, which says what could not be done. */
struct latency *latency_open(const struct latency_wanted *wanted, char *why, size_t size);
void latency_close(struct latency *l);

/* The rows of a kind, *n of them, LATENCY_BUCKETS numbers each, which go on growing; NULL: it is not counted. */
const u64 *latency_rows(const struct latency *l, enum latency_kind kind, u32 *n);

/* The disk that has a row, of LATENCY_DISK_ROWS each; "": nobody's. */
const char *latency_disk_name(const struct latency *l, u32 disk);

/* Takes the row from a disk that went. */
void latency_forget_disk(struct latency *l, u32 disk);

/* The counts of what was lost, by enum latency_loss. */
const u64 *latency_losses(const struct latency *l);

/* Counts the waits of a control group in a row of its own, from 1 on, which begins anew; row 0: no longer. 0, or -1. */
int latency_group(struct latency *l, u64 id, u32 row);

/* The sums of all exits, NULL: they are not counted. */
const struct latency_exits *latency_exit_sums(const struct latency *l);

#define LATENCY_MOST_EXITS 4096

/* Copies at most LATENCY_MOST_EXITS pairs and their exits; how many, or -1. */
int latency_exits(const struct latency *l, struct latency_pair *pairs, struct latency_exits *exits);

/* Forgets a pair, so that another one has room. */
void latency_forget_exits(struct latency *l, const struct latency_pair *pair);

#endif
