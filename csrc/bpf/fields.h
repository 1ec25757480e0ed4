/*
 * fields.h - the fields of the kernel that latency.bpf.c reads. libbpf finds where the running kernel has them, so each
 * structure has only what is read; a name with three underscores is the same structure as older kernels have it.
 * SPDX-License-Identifier: MIT
 */
#ifndef BPF_FIELDS_H
#define BPF_FIELDS_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct request_queue;
struct gendisk {
	char disk_name[32];
	struct request_queue *queue;
};
struct request_queue {
	int id;
	unsigned int nr_hw_queues;
	unsigned long nr_requests;
	const void *mq_ops; /* NULL: bio-based */
	struct gendisk *disk;
};
struct blk_mq_tags {
	unsigned int nr_tags;
};
struct blk_mq_hw_ctx {
	unsigned int queue_num;
	struct blk_mq_tags *tags;
};
struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	unsigned int cmd_flags, rq_flags, __data_len;
	int tag, internal_tag;
	u64 start_time_ns;
};
struct request___disk {
	struct gendisk *rq_disk; /* until 5.16 */
};
struct block_device {
	struct gendisk *bd_disk;
};
struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
};
struct bio___disk {
	struct gendisk *bi_disk; /* until 5.11 */
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};
struct sched_entity {
	u64 sum_exec_runtime;
};
struct signal_struct {
	struct {
		int counter;
	} live;
	int group_exit_code;
	unsigned long long sum_sched_runtime;
};
struct task_struct {
	int pid, exit_code;
	u64 start_time;
	unsigned long nvcsw, nivcsw;
	char comm[16];
	struct sched_info sched_info;
	struct sched_entity se;
	struct signal_struct *signal;
	struct task_struct *group_leader, *real_parent;
};

struct net {
	struct {
		unsigned int inum;
	} ns;
};
struct sock_common {
	unsigned short skc_family;
	struct {
		struct net *net;
	} skc_net;
};
struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	int sk_err;
};
struct tcp_sock {
	u32 srtt_us; /* eight times the smoothed round trip */
};

#pragma clang attribute pop

#endif
