/*
 * latency.h - what latency.bpf.c counts in the kernel and latency.c reads: fixed-width fields, the same for both.
 * SPDX-License-Identifier: MIT
 */
#ifndef BPF_LATENCY_H
#define BPF_LATENCY_H

/*
 * A histogram: buckets by the numbers of an exponential histogram of scale 4 that begins at 1 ns. Bucket 0, which would
 * hold 0 ns, has the sum of all values in ns in its place; what took 0 ns counts as 1.
 */
#define LATENCY_BUCKETS 1024
#define LATENCY_SCALE 4
#define LATENCY_HIGHEST 1000000000000 /* of a published histogram: 1,000 s */

enum latency_op { LATENCY_READ, LATENCY_WRITE, LATENCY_FLUSH, LATENCY_DISCARD, LATENCY_OPS };
enum latency_outcome {
	LATENCY_CONNECT, LATENCY_ACCEPT, LATENCY_REFUSED, LATENCY_TIMEOUT, LATENCY_FAILED, LATENCY_OUTCOMES
};

/* Rows of histograms: a disk has two for each operation, a kind of connection four: by family and namespace. */
#define LATENCY_DISK_ROWS (LATENCY_OPS * 2)
#define LATENCY_CONNECT_ROWS (LATENCY_OUTCOMES * 4)

/* What could not be counted, and the like. */
enum latency_loss {
	LOSS_DISK,    /* requests without a slot or a row */
	LOSS_BIO,     /* bios that the full map left out */
	LOSS_CONNECT, /* the same of connections */
	LOSS_EXIT,    /* the same of exits; they are in the sums */
	LOSS_UNSEEN,  /* requests whose beginning was not seen */
	LOSS_SWITCH,  /* waits of tasks without a place to note them */
	LOSS_ACCEPT,  /* connections accepted whose round trip is not known: a SYN-ACK was sent again, or a cookie */
	LOSS_MISSED,  /* requests whose end was not seen: the kernel did not run the program */
	LOSSES
};

/* What latency.c finds out before it loads the programs. */
struct latency_settings {
	u64 roots[16];       /* 2^63 * 2^(i/16), of the model's table */
	u32 request_arg;     /* of block_rq_issue and block_rq_insert: 1 where a queue comes before the request */
	u32 bio_arg;         /* the same of block_bio_queue */
	u32 has_no_start;    /* there is no block_io_start */
	u32 rows, slots;     /* of disks: how many there may be; row 0 is nobody's */
	u32 namespace;       /* the number of this network namespace */
	u32 has_group_dead;  /* sched_process_exit says that the last thread ends */
	u32 by_group;        /* waits are counted by control group, too */
};

/* A disk that had a request. */
struct latency_disk {
	u64 queue;        /* its address: a queue's number is used again */
	u32 base, stride; /* of its slots, and how many tags each hardware queue has */
	u32 slots;
	u32 row;
	char name[32];
};

struct latency_pair {
	char parent[16], command[16];
};

struct latency_exits {
	u64 exits, failed, killed, lifetime, cputime, group;
};

#endif
