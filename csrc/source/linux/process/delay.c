/*
 * delay.c - what processes and threads waited for, from the kernel's taskstats over netlink. The kernel answers
 * only those with CAP_NET_ADMIN, and only counts if sysctl kernel.task_delayacct is 1 (older kernels: by the boot
 * parameter). SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/process/processes.h"

#define DELAY(name, what) \
	KS_COUNT(name "_delays", KSTAT_DATA_UINT64, "times that it waited " what), \
	KS_NSEC(name "_nsec", "time in which it waited " what)

const struct ks_field ks_process_delay_fields[] = {
	DELAY("cpu", "for a CPU"),
	DELAY("blkio", "for block I/O"),
	DELAY("swapin", "for pages to be swapped in"),
	DELAY("reclaim", "for memory to be freed"),
	DELAY("thrashing", "for pages that had been evicted while in use"),
	DELAY("compact", "for memory to be compacted"),
	DELAY("cow", "for pages to be copied on write"),
	DELAY("irq", "because its CPU served interrupts"),
	KS_FIELD_END
};
KS_FIELDS_FIT(ks_process_delay_fields);

/* Where the kernel's structure has the count and the time of each, in the order of the table. */
#define PLACE(member, total) { offsetof(struct taskstats, member), offsetof(struct taskstats, total) }
static const size_t places[][2] = {
	PLACE(cpu_count, cpu_delay_total), PLACE(blkio_count, blkio_delay_total),
	PLACE(swapin_count, swapin_delay_total), PLACE(freepages_count, freepages_delay_total),
	PLACE(thrashing_count, thrashing_delay_total),
#if TASKSTATS_VERSION >= 11
	PLACE(compact_count, compact_delay_total),
#endif
#if TASKSTATS_VERSION >= 13
	PLACE(wpcopy_count, wpcopy_delay_total),
#endif
#if TASKSTATS_VERSION >= 14
	PLACE(irq_count, irq_delay_total),
#endif
};

/* --- the kernel's answers ---------------------------------------------------------------------- */

/* A request of generic netlink with one attribute, behind its header. */
struct request {
	struct genlmsghdr g;
	struct nlattr a;
	char value[16];
};

static int
ask(struct ks_process_state *s, uint16_t family, uint8_t command, uint16_t attribute, const void *value, size_t n,
    ks_netlink_each *each, void *arg)
{
	struct request q = { .g = { .cmd = command, .version = 1 },
		.a = { .nla_type = attribute, .nla_len = (uint16_t)(NLA_HDRLEN + n) } };

	memcpy(q.value, value, n);
	return ks_netlink_ask(&s->netlink, family, &q, GENL_HDRLEN + NLA_ALIGN(NLA_HDRLEN + n), each, arg);
}

/* Finds an attribute; false if it is not there. */
static bool
find_attribute(struct ks_text all, uint16_t type, struct ks_text *value)
{
	struct ks_attr a;

	while (ks_attr_next(&all, &a)) {
		*value = a.data;
		if (a.type == type)
			return true;
	}
	return false;
}

/* Takes the number of the kernel's family of messages about tasks. */
static int
take_family(void *family, uint16_t type, struct ks_text body)
{
	struct genlmsghdr g;
	struct ks_text value;

	(void)type;
	if (!ks_netlink_head(&body, &g, sizeof(g)) || !find_attribute(body, CTRL_ATTR_FAMILY_ID, &value) ||
	    ks_text_size(&value) < sizeof(uint16_t))
		return EBADMSG;
	memcpy(family, value.p, sizeof(uint16_t));
	return 0;
}

/* What the kernel has about a process (tid 0) or a thread. */
struct answer {
	pid_t tid;
	size_t size; /* of what the kernel knows of the structure */
	struct taskstats stats;
};

static int
take_stats(void *arg, uint16_t type, struct ks_text body)
{
	struct answer *a = arg;
	struct ks_text inner, stats;
	struct genlmsghdr g;

	(void)type;
	if (!ks_netlink_head(&body, &g, sizeof(g)) ||
	    !find_attribute(body, a->tid != 0 ? TASKSTATS_TYPE_AGGR_PID : TASKSTATS_TYPE_AGGR_TGID, &inner) ||
	    !find_attribute(inner, TASKSTATS_TYPE_STATS, &stats))
		return EBADMSG;
	a->size = ks_text_size(&stats) < sizeof(a->stats) ? ks_text_size(&stats) : sizeof(a->stats);
	memset(&a->stats, 0, sizeof(a->stats));
	memcpy(&a->stats, stats.p, a->size);
	return 0;
}

/* Asks for a process (tid 0) or a thread. Returns 0 or an errno. */
static int
fetch(struct ks_process_state *s, pid_t pid, pid_t tid, struct answer *a)
{
	uint32_t id = (uint32_t)(tid != 0 ? tid : pid);

	a->tid = tid;
	return ask(s, s->family, TASKSTATS_CMD_GET, tid != 0 ? TASKSTATS_CMD_ATTR_PID : TASKSTATS_CMD_ATTR_TGID, &id,
	    sizeof(id), take_stats, a);
}

/* True if this user gets answers. */
static bool
is_answered(struct ks_process_state *s)
{
	struct answer a;

	return ask(s, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
	    sizeof(TASKSTATS_GENL_NAME), take_family, &s->family) == 0 && fetch(s, getpid(), 0, &a) == 0;
}

static const struct ks_file switch_file = { KS_ROOT_PROC, "sys/kernel/task_delayacct", KS_MADE_WHOLE, false };

bool
ks_process_has_delays(struct ks_linux *lx, struct ks_process_state *s)
{
	const struct ks_image *im;

	if (!lx->root[KS_ROOT_PROC].kernel)
		return false;
	im = ks_linux_try(lx, &switch_file);
	if (im != NULL && (im->len == 0 || im->data[0] == '0'))
		return false;
	if (!s->is_connected && !s->is_refused) {
		s->is_connected = is_answered(s);
		s->is_refused = !s->is_connected;
	}
	return s->is_connected;
}

void
ks_process_start(void *state)
{
	((struct ks_process_state *)state)->netlink = (struct ks_netlink)KS_NETLINK_INIT(NETLINK_GENERIC, 0);
}

void
ks_process_release(void *state)
{
	ks_netlink_close(&((struct ks_process_state *)state)->netlink);
}

int
ks_process_read_delay(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_process *p = ks_process_of(unit);
	struct ks_process_state *s = lx->sub[p->tid != 0 ? KS_SUB_thread : KS_SUB_process].state;
	struct ks_values vals = { .have = 0 };
	struct answer a;
	int err = fetch(s, p->pid, p->tid, &a);

	if (err != 0)
		return ks_process_gone(unit, err);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (size_t j = 0; j < 2; j++) {
			uint64_t v;

			if (places[i][j] > a.size - sizeof(v) || a.size < sizeof(v))
				continue;
			memcpy(&v, (const char *)&a.stats + places[i][j], sizeof(v));
			ks_have(&vals, 2 * i + j, v);
		}
	}
	ks_fields_add(r, ks_process_delay_fields, &vals);
	return 0;
}
