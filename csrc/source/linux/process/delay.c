/*
 * delay.c - what processes and threads waited for, from the kernel's taskstats over netlink. The kernel answers
 * only those with CAP_NET_ADMIN, and only counts if sysctl kernel.task_delayacct is 1 (older kernels: by the boot
 * parameter). SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "source/linux/process/processes.h"

#define ANSWER_MAX 4096

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

/* --- netlink ------------------------------------------------------------------------------ */

/* A request of generic netlink with one attribute, which has at most 16 bytes. */
struct request {
	struct nlmsghdr n;
	struct genlmsghdr g;
	struct nlattr a;
	char value[16];
};

/* Sends a request and reads the answer, which the kernel has ready by then. Returns its length, or -1 with errno. */
static ssize_t
ask(int fd, uint16_t family, uint8_t command, uint16_t attribute, const void *value, size_t n, void *answer)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct request q = {
		.n = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST },
		.g = { .cmd = command, .version = 1 },
		.a = { .nla_type = attribute, .nla_len = (uint16_t)(NLA_HDRLEN + n) },
	};

	memcpy(q.value, value, n);
	q.n.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(NLA_HDRLEN + n));
	if (sendto(fd, &q, q.n.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -1;
	return recv(fd, answer, ANSWER_MAX, MSG_DONTWAIT);
}

/* The attributes of an answer; empty, with errno, if it is an error or is not whole. */
static struct ks_text
attributes_of(const char *answer, ssize_t length)
{
	const struct ks_text none = ks_text_of(answer, 0);
	struct nlmsghdr head;
	int32_t error;

	errno = EBADMSG;
	if (length < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN))
		return none;
	memcpy(&head, answer, sizeof(head));
	if (head.nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN || head.nlmsg_len > (size_t)length)
		return none;
	if (head.nlmsg_type == NLMSG_ERROR) {
		memcpy(&error, answer + NLMSG_HDRLEN, sizeof(error));
		errno = error < 0 && error >= -4095 ? -error : EBADMSG;
		return none;
	}
	return (struct ks_text){ answer + NLMSG_HDRLEN + GENL_HDRLEN, answer + head.nlmsg_len };
}

/* Finds an attribute; false if it is not there. */
static bool
find_attribute(struct ks_text all, uint16_t type, struct ks_text *value)
{
	struct nlattr a;

	while (ks_text_size(&all) >= NLA_HDRLEN) {
		size_t size;

		memcpy(&a, all.p, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > ks_text_size(&all))
			return false;
		*value = ks_text_of(all.p + NLA_HDRLEN, a.nla_len - NLA_HDRLEN);
		if ((a.nla_type & NLA_TYPE_MASK) == type)
			return true;
		size = NLA_ALIGN(a.nla_len);
		all.p += size < ks_text_size(&all) ? size : ks_text_size(&all);
	}
	return false;
}

/* The number of the kernel's family of messages about tasks; 0 if it has none. */
static uint16_t
find_family(int fd)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
	struct ks_text value;
	uint16_t family = 0;
	ssize_t n = ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
	    sizeof(TASKSTATS_GENL_NAME), answer);

	if (find_attribute(attributes_of(answer, n), CTRL_ATTR_FAMILY_ID, &value) &&
	    ks_text_size(&value) >= sizeof(family))
		memcpy(&family, value.p, sizeof(family));
	return family;
}

/* --- the kernel's answers ---------------------------------------------------------------------- */

/* The connection to the kernel, which is opened when it is needed first. */
struct connection {
	int fd;
	uint16_t family;
};

/* Copies what the kernel has about a process (tid 0) or a thread. Returns the size of it, or 0 with errno. */
static size_t
fetch(const struct connection *c, pid_t pid, pid_t tid, struct taskstats *to)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
	uint32_t id = (uint32_t)(tid != 0 ? tid : pid);
	struct ks_text inner, stats;
	ssize_t n = ask(c->fd, c->family, TASKSTATS_CMD_GET, tid != 0 ? TASKSTATS_CMD_ATTR_PID :
	    TASKSTATS_CMD_ATTR_TGID, &id, sizeof(id), answer);
	size_t size;

	if (n < 0 || !find_attribute(attributes_of(answer, n), tid != 0 ? TASKSTATS_TYPE_AGGR_PID :
	    TASKSTATS_TYPE_AGGR_TGID, &inner) || !find_attribute(inner, TASKSTATS_TYPE_STATS, &stats))
		return 0;
	size = ks_text_size(&stats);
	if (size > sizeof(*to))
		size = sizeof(*to);
	memset(to, 0, sizeof(*to));
	memcpy(to, stats.p, size);
	return size;
}

/* Opens a connection; false if this user gets no answers. */
static bool
connect_kernel(struct connection *c)
{
	struct taskstats stats;

	c->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (c->fd < 0)
		return false;
	c->family = find_family(c->fd);
	if (c->family != 0 && fetch(c, getpid(), 0, &stats) > 0)
		return true;
	(void)close(c->fd);
	c->fd = -1;
	return false;
}

static const struct ks_file switch_file = { KS_ROOT_PROC, "sys/kernel/task_delayacct", KS_MADE_WHOLE, false };

bool
ks_process_has_delays(struct ks_linux *lx, struct ks_process_state *s)
{
	struct connection c;
	const struct ks_image *im;

	if (!lx->root[KS_ROOT_PROC].kernel)
		return false;
	im = ks_linux_try(lx, &switch_file);
	if (im != NULL && (im->len == 0 || im->data[0] == '0'))
		return false;
	if (!s->is_connected && !s->is_refused) {
		s->is_connected = connect_kernel(&c);
		s->is_refused = !s->is_connected;
		s->netlink = c.fd;
		s->family = c.family;
	}
	return s->is_connected;
}

void
ks_process_release(void *state)
{
	const struct ks_process_state *s = state;

	if (s->is_connected)
		(void)close(s->netlink);
}

int
ks_process_read_delay(struct ks_linux *lx, struct ks_unit *unit, struct ks_record *r)
{
	const struct ks_process *p = ks_process_of(unit);
	const struct ks_process_state *s = lx->sub[p->tid != 0 ? KS_SUB_thread : KS_SUB_process].state;
	const struct connection c = { s->netlink, s->family };
	struct ks_values vals = { .have = 0 };
	struct taskstats stats;
	size_t size = fetch(&c, p->pid, p->tid, &stats);

	if (size == 0)
		return ks_process_gone(unit, errno);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (size_t j = 0; j < 2; j++) {
			uint64_t v;

			if (places[i][j] > size - sizeof(v) || size < sizeof(v))
				continue;
			memcpy(&v, (const char *)&stats + places[i][j], sizeof(v));
			ks_have(&vals, 2 * i + j, v);
		}
	}
	ks_fields_add(r, ks_process_delay_fields, &vals);
	return 0;
}
