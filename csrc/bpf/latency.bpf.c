/*
 * latency.bpf.c - how long things take, counted in the kernel: requests of disks, waits in the run queue, connections,
 * the lives of processes. Its programs are of the kind tp_btf alone, which needs neither kprobes nor tracefs. What
 * differs between kernels is decided by the types that the running one says it has: libbpf finds the fields, and
 * latency.c sets the constants below before it loads the programs. A difference below 0 is never counted.
 *
 * License of the object: "Dual MIT/GPL", since the kernel shows its structures to no other. SPDX-License-Identifier: MIT
 */
#include <linux/bpf.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/fields.h"
#include "bpf/latency.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct latency_settings settings;

struct row {
	u64 bucket[LATENCY_BUCKETS];
};

#define MAP(name, kind, flags_, n, key_, value_) \
	struct { \
		__uint(type, kind); \
		__uint(map_flags, flags_); \
		__uint(max_entries, n); \
		__type(key, key_); \
		__type(value, value_); \
	} name SEC(".maps")

/* Those of one entry get their size, that of what exists, before they are made. */
MAP(disk_rows, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 1, u32, struct row);
MAP(cpu_rows, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 1, u32, struct row);
MAP(group_rows, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 1, u32, struct row);
MAP(connect_rows, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 1, u32, struct row);
MAP(disks, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 1, u32, struct latency_disk);
MAP(losses, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, LOSSES, u32, u64);
MAP(exit_sums, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 1, u32, struct latency_exits);
MAP(exits, BPF_MAP_TYPE_HASH, 0, 1, struct latency_pair, struct latency_exits);

/* When a request came and when the disk got it, by hardware queue and tag: no two that live have the same. */
struct slot {
	u64 start, issue;
};
MAP(slots, BPF_MAP_TYPE_ARRAY, 0, 1, u32, struct slot);
MAP(queues, BPF_MAP_TYPE_ARRAY, 0, 1, u32, u32); /* the row of a disk by the number of its queue */
MAP(claims, BPF_MAP_TYPE_HASH, 0, 1, u32, u64);  /* who has a row: of two that want it, one */
struct begun {
	u64 start;
	u32 row, unused;
};
MAP(bios, BPF_MAP_TYPE_HASH, 0, 1, u64, struct begun);
MAP(connects, BPF_MAP_TYPE_HASH, 0, 1, u64, u64);
MAP(groups, BPF_MAP_TYPE_HASH, 0, 1, u64, u32); /* rows by the id of a control group, as latency.c says */

volatile u32 next_row = 1, next_slot = 0; /* only who has claimed next_row may change them */

static void
lose(u32 what)
{
	u64 *n = bpf_map_lookup_elem(&losses, &what);

	if (n != NULL)
		__sync_fetch_and_add(n, 1);
}

/* The bucket of a time: ks_exponential_index() at scale 4, plus 2. */
static u32
bucket_of(u64 ns)
{
	u64 mantissa = ns | !ns;
	u32 power = 63, j = 0, i;

#pragma unroll
	for (int bits = 32; bits > 0; bits /= 2)
		if (mantissa >> (64 - bits) == 0) {
			mantissa <<= bits;
			power -= bits;
		}
	if (mantissa == 1ULL << 63)
		i = power * 16 + 1;
	else {
		if (mantissa > settings.roots[8])
			j = 8;
		if (mantissa > settings.roots[j + 4])
			j += 4;
		if (mantissa > settings.roots[j + 2])
			j += 2;
		if (mantissa > settings.roots[j + 1])
			j += 1;
		i = power * 16 + j + 2;
	}
	return i < LATENCY_BUCKETS ? i : LATENCY_BUCKETS - 1;
}

/* Counts the time from one moment to another; nothing if the first is not known, or is the later one. */
static void
count(void *map, u32 index, u64 from, u64 to)
{
	struct row *row = bpf_map_lookup_elem(map, &index);
	u64 ns = to - from;

	if (row == NULL || from > to)
		return;
	__sync_fetch_and_add(&row->bucket[bucket_of(ns) & (LATENCY_BUCKETS - 1)], 1);
	__sync_fetch_and_add(&row->bucket[0], ns);
}

/* --- disks ------------------------------------------------------------------------------------------ */

/* The row of a queue's disk, NULL: it has none yet. */
static struct latency_disk *
find_disk(struct request_queue *q, u32 **row)
{
	u32 id = q->id;
	struct latency_disk *d;

	*row = bpf_map_lookup_elem(&queues, &id);
	if (*row == NULL)
		return NULL;
	d = bpf_map_lookup_elem(&disks, *row);
	return d != NULL && d->queue == (u64)q ? d : NULL;
}

/* Gives the disk of a queue a row, and slots for its tags. Of several that want a row one gets it, the others the next. */
static struct latency_disk *
add_disk(struct request_queue *q, u32 *row, struct gendisk *disk, u32 stride)
{
	u32 most = stride * q->nr_hw_queues, *other;
	u64 address = (u64)q;

	for (int i = 0; i < 16; i++) {
		u32 n = next_row, base = next_slot;
		struct latency_disk *d = find_disk(q, &other);

		if (d != NULL)
			return d;
		d = bpf_map_lookup_elem(&disks, &n);
		if (d == NULL || n >= settings.rows || base + most > settings.slots || disk == NULL)
			return NULL;
		if (bpf_map_update_elem(&claims, &n, &address, BPF_NOEXIST) != 0)
			continue;
		d->base = base;
		d->stride = stride;
		d->slots = most;
		d->row = n;
		bpf_probe_read_kernel_str(d->name, sizeof(d->name), disk->disk_name);
		d->queue = address;
		*row = n;
		next_slot = base + most;
		next_row = n + 1;
		return d;
	}
	return NULL;
}

static struct latency_disk *
disk_of_request(struct request *rq)
{
	struct request_queue *q = rq->q;
	u32 *row, stride;
	struct latency_disk *d = find_disk(q, &row);
	struct gendisk *disk;

	if (d != NULL || row == NULL)
		return d;
	if (bpf_core_field_exists(q->disk))
		disk = q->disk;
	else
		disk = ((struct request___disk *)rq)->rq_disk;
	/* Tags are the scheduler's or the driver's, whichever are more; a scheduler that is chosen later may have 256. */
	stride = rq->mq_hctx->tags->nr_tags;
	if (stride < q->nr_requests)
		stride = q->nr_requests;
	return add_disk(q, row, disk, stride < 256 ? 256 : stride);
}

/* Returns the slot of a request of a disk; NULL: it is no such request, or there is no place (LOSS_DISK). */
static struct slot *
slot_of(struct request *rq, struct latency_disk **d)
{
	int tag = rq->internal_tag >= 0 ? rq->internal_tag : rq->tag;
	struct slot *s = NULL;
	u32 i;

	if ((rq->cmd_flags & 0xff) >= 32) /* a command of the driver's own */
		return NULL;
	*d = disk_of_request(rq);
	if (*d != NULL && (u32)tag < (*d)->stride) {
		i = rq->mq_hctx->queue_num * (*d)->stride + (u32)tag;
		if (i < (*d)->slots) {
			i += (*d)->base;
			s = bpf_map_lookup_elem(&slots, &i);
		}
	}
	return s;
}

static u32
op_of(u32 flags)
{
	u32 op = flags & 0xff;

	return op == 2 ? LATENCY_FLUSH : op == 3 ? LATENCY_DISCARD : op & 1 ? LATENCY_WRITE : LATENCY_READ;
}

static int
start(struct request *rq)
{
	struct latency_disk *d;
	struct slot *s = slot_of(rq, &d);

	if (s != NULL) {
		/* A tag is used again when its request is done: the end of that one was kept from the programs. */
		if (s->issue != 0)
			lose(LOSS_MISSED);
		s->start = bpf_ktime_get_ns();
		s->issue = 0;
	} else if ((rq->cmd_flags & 0xff) < 32)
		lose(LOSS_DISK);
	return 0;
}

SEC("tp_btf/block_io_start")
int
disk_start(u64 *ctx)
{
	return start((struct request *)ctx[0]);
}

/* Before 6.5 the first that is known of a request is that a scheduler got it, or the disk. */
SEC("tp_btf/block_rq_insert")
int
disk_insert(u64 *ctx)
{
	return start((struct request *)(settings.request_arg == 1 ? ctx[1] : ctx[0]));
}

SEC("tp_btf/block_rq_issue")
int
disk_issue(u64 *ctx)
{
	struct latency_disk *d;
	struct slot *s = slot_of((struct request *)(settings.request_arg == 1 ? ctx[1] : ctx[0]), &d);

	if (s != NULL)
		s->issue = bpf_ktime_get_ns();
	return 0;
}

/*
 * (rq, error, bytes), called for each part of a request. Before 6.5 what went to the disk without a scheduler was not
 * begun: the time then is the kernel's own, which was still true; without RQF_IO_STAT it is stale.
 */
SEC("tp_btf/block_rq_complete")
int
disk_complete(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u32 row, op = op_of(rq->cmd_flags);
	struct latency_disk *d;
	struct slot *s;

	if ((u32)ctx[2] < rq->__data_len)
		return 0;
	s = slot_of(rq, &d);
	/* The end of a write whose data were none is no request: its flush was. */
	if (s == NULL || s->issue == 0)
		return 0;
	if (s->start == 0 && settings.has_no_start && rq->rq_flags & 1 << 13)
		s->start = rq->start_time_ns;
	if (s->start != 0) {
		row = d->row * LATENCY_DISK_ROWS + op * 2;
		count(&disk_rows, row, s->start, s->issue);
		count(&disk_rows, row + 1, s->issue, bpf_ktime_get_ns());
	} else
		lose(LOSS_UNSEEN);
	s->issue = 0;
	/* A flush has the tag of the write that waits for it. */
	if (op != LATENCY_FLUSH)
		s->start = 0;
	return 0;
}

/* --- disks without requests -------------------------------------------------------------------------- */

static struct latency_disk *
disk_of_bio(struct bio *bio)
{
	struct gendisk *disk;
	struct request_queue *q;
	struct latency_disk *d;
	u32 *row;

	if (bpf_core_field_exists(bio->bi_bdev))
		disk = bio->bi_bdev->bd_disk;
	else
		disk = ((struct bio___disk *)bio)->bi_disk;
	q = disk->queue;
	if (q->mq_ops != NULL)
		return NULL;
	d = find_disk(q, &row);
	if (d == NULL && row != NULL)
		d = add_disk(q, row, disk, 0);
	if (d == NULL)
		lose(LOSS_DISK);
	return d;
}

SEC("tp_btf/block_bio_queue")
int
bio_start(u64 *ctx)
{
	struct bio *bio = (struct bio *)(settings.bio_arg == 1 ? ctx[1] : ctx[0]);
	u64 key = (u64)bio;
	struct latency_disk *d = disk_of_bio(bio);
	struct begun b = {};

	if (d == NULL)
		return 0;
	b.start = bpf_ktime_get_ns();
	b.row = d->row * LATENCY_DISK_ROWS + op_of(bio->bi_opf) * 2 + 1;
	if (bpf_map_update_elem(&bios, &key, &b, BPF_ANY) != 0)
		lose(LOSS_BIO);
	return 0;
}

/* The disk is that of the beginning: md hands some of its bios on to the disk below. */
SEC("tp_btf/block_bio_complete")
int
bio_done(u64 *ctx)
{
	struct bio *bio = (struct bio *)ctx[1];
	u64 key = (u64)bio;
	struct begun *b = bpf_map_lookup_elem(&bios, &key);

	if (b != NULL) {
		count(&disk_rows, b->row, b->start, bpf_ktime_get_ns());
		bpf_map_delete_elem(&bios, &key);
	} else if (disk_of_bio(bio) != NULL)
		lose(LOSS_UNSEEN);
	return 0;
}

/* --- run queue --------------------------------------------------------------------------------------- */

/*
 * The kernel adds up in sched_info how long a task waited. What was added since the task left a CPU for the last time
 * is the wait before the run that ends now. The first one of a task is known if it is its very first.
 */
static void
count_wait(struct task_struct *task, u64 before)
{
	u32 cpu = bpf_get_smp_processor_id(), *known, others = 0;
	u64 group, now = task->sched_info.run_delay;

	count(&cpu_rows, cpu, before, now);
	if (!settings.by_group)
		return;
	group = bpf_get_current_cgroup_id();
	known = bpf_map_lookup_elem(&groups, &group);
	count(&group_rows, known != NULL ? *known : others, before, now);
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} waits SEC(".maps"); /* run_delay when the task left, plus 1 */

SEC("tp_btf/sched_switch")
int
cpu_switch(u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];
	u64 *last;

	if (prev->pid == 0)
		return 0;
	last = bpf_task_storage_get(&waits, prev, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (last == NULL) {
		lose(LOSS_SWITCH);
		return 0;
	}
	if (*last != 0 || prev->sched_info.pcount == 1)
		count_wait(prev, *last != 0 ? *last - 1 : 0);
	*last = prev->sched_info.run_delay + 1;
	return 0;
}

/* Without task storage, before 5.11: what is noted of a task when it comes is lacking its wait on another CPU. */
struct wait {
	u64 task, delay;
};
MAP(arrivals, BPF_MAP_TYPE_PERCPU_ARRAY, 0, 1, u32, struct wait);

SEC("tp_btf/sched_switch")
int
cpu_switch_old(u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
	u32 key = 0;
	struct wait *w = bpf_map_lookup_elem(&arrivals, &key);

	if (w == NULL)
		return 0;
	if (prev->pid != 0 && w->task == (u64)prev)
		count_wait(prev, w->delay);
	w->task = (u64)next;
	w->delay = next->sched_info.run_delay;
	return 0;
}

/* --- connections ------------------------------------------------------------------------------------- */

SEC("tp_btf/inet_sock_set_state")
int
connect_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	int from = (int)ctx[1], to = (int)ctx[2], error;
	u64 key = (u64)sk, now = bpf_ktime_get_ns(), *began;
	u32 outcome, kind;

	if (sk->sk_protocol != 6)
		return 0;
	kind = (sk->__sk_common.skc_family == 10) << 1 | (sk->__sk_common.skc_net.net->ns.inum != settings.namespace);
	if (to == 2 /* TCP_SYN_SENT */) {
		if (bpf_map_update_elem(&connects, &key, &now, BPF_ANY) != 0)
			lose(LOSS_CONNECT);
	} else if (from == 2) {
		began = bpf_map_lookup_elem(&connects, &key);
		if (began == NULL)
			return 0;
		error = sk->sk_err;
		outcome = to == 1 || to == 3 /* both sides at once */ ? LATENCY_CONNECT : error == 111 ? LATENCY_REFUSED :
		    error == 110 ? LATENCY_TIMEOUT : LATENCY_FAILED;
		count(&connect_rows, outcome << 2 | kind, *began, now);
		bpf_map_delete_elem(&connects, &key);
	} else if (from == 3 /* TCP_SYN_RECV */ && to == 1) {
		/* The socket is made when the answer to the SYN-ACK comes; how long that took is its first round trip. */
		u64 us = BPF_CORE_READ((struct tcp_sock *)sk, srtt_us) >> 3;

		if (us != 0)
			count(&connect_rows, LATENCY_ACCEPT << 2 | kind, 0, us * 1000);
		else
			lose(LOSS_ACCEPT);
	}
	return 0;
}

/* --- exits ------------------------------------------------------------------------------------------- */

static void
add_exit(struct latency_exits *e, int code, u64 life, u64 cpu)
{
	__sync_fetch_and_add(&e->exits, 1);
	__sync_fetch_and_add(&e->lifetime, life);
	__sync_fetch_and_add(&e->cputime, cpu);
	if (code & 0x7f)
		__sync_fetch_and_add(&e->killed, 1);
	else if (code != 0)
		__sync_fetch_and_add(&e->failed, 1);
}

SEC("tp_btf/sched_process_exit")
int
exit_process(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0], *leader = task->group_leader;
	struct signal_struct *signal = task->signal;
	u64 now = bpf_ktime_get_ns(), began = leader->start_time, life = now > began ? now - began : 0, cpu;
	int code = signal->group_exit_code != 0 ? signal->group_exit_code : task->exit_code;
	struct latency_exits *e, none = {};
	struct latency_pair pair = {};
	u32 key = 0;

	if (settings.has_group_dead ? !(ctx[1] & 1) : signal->live.counter != 0)
		return 0;
	cpu = signal->sum_sched_runtime + leader->se.sum_exec_runtime;
	if (task != leader)
		cpu += task->se.sum_exec_runtime;
	/* One that was never interrupted has no CPU time yet: it ran for as long as it did not wait. */
	if (cpu == 0 && life > task->sched_info.run_delay)
		cpu = life - task->sched_info.run_delay;
	e = bpf_map_lookup_elem(&exit_sums, &key);
	if (e != NULL)
		add_exit(e, code, life, cpu);
	bpf_probe_read_kernel_str(pair.command, sizeof(pair.command), leader->comm);
	bpf_probe_read_kernel_str(pair.parent, sizeof(pair.parent), leader->real_parent->group_leader->comm);
	e = bpf_map_lookup_elem(&exits, &pair);
	if (e == NULL) {
		(void)bpf_map_update_elem(&exits, &pair, &none, BPF_NOEXIST);
		e = bpf_map_lookup_elem(&exits, &pair);
	}
	if (e == NULL) {
		lose(LOSS_EXIT);
		return 0;
	}
	add_exit(e, code, life, cpu);
	e->group = bpf_get_current_cgroup_id();
	return 0;
}
