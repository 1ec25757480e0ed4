/* netlink.c - see netlink.h. SPDX-License-Identifier: MIT */
#include "source/linux/net/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define BUFFER 65536 /* the kernel sends at most 32 KiB at once */
#define MOST_TRIES 4 /* of a question with an inconsistent answer */
#define MOST_BODY 64 /* bytes of a question behind its header */

_Atomic unsigned ks_own_sockets;

static int
open_own(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	ks_own_sockets += fd >= 0;
	return fd;
}

bool
ks_ioctl_socket(int *fd)
{
	if (*fd < 0)
		*fd = open_own(AF_INET, SOCK_DGRAM, 0);
	if (*fd < 0)
		*fd = open_own(AF_UNIX, SOCK_DGRAM, 0);
	return *fd >= 0;
}

void
ks_socket_close(int fd)
{
	if (fd >= 0 && close(fd) == 0)
		ks_own_sockets--;
}

void
ks_netlink_close(struct ks_netlink *nl)
{
	ks_socket_close(nl->fd);
	free(nl->buf);
	nl->fd = -1;
	nl->buf = NULL;
}

/* Returns 0 or an errno. */
static int
open_socket(struct ks_netlink *nl)
{
	struct sockaddr_nl own = { .nl_family = AF_NETLINK, .nl_groups = nl->groups };
	struct timeval limit = { .tv_sec = 2 };

	/* A child of fork() has the parent's socket, which must not take the parent's answers. */
	if (nl->fd >= 0 && nl->pid == getpid())
		return 0;
	ks_netlink_close(nl);
	nl->buf = malloc(BUFFER);
	if (nl->buf == NULL)
		return ENOMEM;
	nl->fd = open_own(AF_NETLINK, SOCK_RAW, nl->protocol);
	if (nl->fd < 0)
		return errno;
	nl->pid = getpid();
	if (bind(nl->fd, (const struct sockaddr *)&own, sizeof(own)) != 0 ||
	    setsockopt(nl->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0) {
		int err = errno;

		ks_netlink_close(nl);
		return err;
	}
	return 0;
}

/* Receives what the kernel sent: how many bytes, or -1 with errno. What others sent counts as nothing. */
static ssize_t
receive(struct ks_netlink *nl, int flags)
{
	struct sockaddr_nl from = { .nl_pid = 0 };
	socklen_t len = sizeof(from);
	ssize_t n;

	do {
		n = recvfrom(nl->fd, nl->buf, BUFFER, flags | MSG_TRUNC, (struct sockaddr *)&from, &len);
	} while (n < 0 && errno == EINTR);
	if (n > BUFFER) {
		errno = EMSGSIZE;
		return -1;
	}
	return n > 0 && from.nl_pid != 0 ? 0 : n;
}

bool
ks_attr_next(struct ks_text *list, struct ks_attr *a)
{
	struct nlattr head;
	size_t room = ks_text_size(list), step;

	if (room < sizeof(head))
		return false;
	memcpy(&head, list->p, sizeof(head));
	if (head.nla_len < sizeof(head) || head.nla_len > room)
		return false;
	a->type = head.nla_type & NLA_TYPE_MASK;
	a->data = ks_text_of(list->p + sizeof(head), head.nla_len - sizeof(head));
	step = NLA_ALIGN(head.nla_len);
	list->p = step <= room ? list->p + step : list->end;
	return true;
}

void
ks_attr_text(const struct ks_attr *a, char *to, size_t size)
{
	size_t n = strnlen(a->data.p, ks_text_size(&a->data));

	if (n >= size)
		n = size - 1;
	memcpy(to, a->data.p, n);
	to[n] = '\0';
}

/* The errno of a message that ends an answer; 0: there is none. */
static int
error_of(struct ks_text body)
{
	int32_t error;

	if (ks_text_size(&body) < sizeof(error))
		return 0;
	memcpy(&error, body.p, sizeof(error));
	return error < 0 && error > -4096 ? -error : 0;
}

enum ks_netlink_state
ks_netlink_parse(const char *data, size_t n, struct ks_netlink_answer *answer)
{
	struct ks_text rest = ks_text_of(data, n);

	while (ks_text_size(&rest) >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr h;
		size_t room = ks_text_size(&rest), step;
		struct ks_text body;

		memcpy(&h, rest.p, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > room)
			break;
		body = ks_text_of(rest.p + sizeof(h), h.nlmsg_len - sizeof(h));
		step = NLMSG_ALIGN((size_t)h.nlmsg_len);
		rest.p = step <= room ? rest.p + step : rest.end;
		if (h.nlmsg_seq != answer->seq) {
			answer->has_others = true;
			continue;
		}
		answer->is_inconsistent |= (h.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (h.nlmsg_type == NLMSG_ERROR || h.nlmsg_type == NLMSG_DONE) {
			answer->err = error_of(body);
			/* A mere acknowledgement means that there is no answer. */
			if (answer->err == 0 && h.nlmsg_type == NLMSG_ERROR)
				answer->err = EPROTO;
			return answer->err != 0 ? KS_NETLINK_FAILED : KS_NETLINK_DONE;
		}
		answer->err = h.nlmsg_type < NLMSG_MIN_TYPE ? 0 : answer->each(answer->arg, h.nlmsg_type, body);
		if (answer->err != 0)
			return KS_NETLINK_FAILED;
		if (answer->is_single)
			return KS_NETLINK_DONE;
	}
	return KS_NETLINK_MORE;
}

/* Sends a question. Returns 0 or an errno. */
static int
ask(struct ks_netlink *nl, uint16_t type, uint16_t flags, const void *head, size_t len)
{
	struct {
		struct nlmsghdr h;
		char body[MOST_BODY];
	} request = { .h = { .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = ++nl->seq } };

	if (len > MOST_BODY)
		return EINVAL;
	memcpy(request.body, head, len);
	request.h.nlmsg_len = (uint32_t)(sizeof(request.h) + len);
	return send(nl->fd, &request, request.h.nlmsg_len, 0) < 0 ? errno : 0;
}

/* Receives an answer. Returns 0 or an errno. */
static int
receive_answer(struct ks_netlink *nl, struct ks_netlink_answer *answer)
{
	enum ks_netlink_state state = KS_NETLINK_MORE;

	while (state == KS_NETLINK_MORE) {
		ssize_t n = receive(nl, 0);

		if (n < 0)
			return errno;
		state = ks_netlink_parse(nl->buf, (size_t)n, answer);
	}
	nl->news += answer->has_others;
	return answer->err;
}

int
ks_netlink_dump(struct ks_netlink *nl, uint16_t type, const void *head, size_t len, ks_netlink_each *each, void *arg)
{
	struct ks_netlink_answer answer = { .is_inconsistent = true };
	int err = open_socket(nl);

	for (int i = 0; i < MOST_TRIES && answer.is_inconsistent && err == 0; i++) {
		err = ask(nl, type, NLM_F_DUMP, head, len);
		answer = (struct ks_netlink_answer){ .seq = nl->seq, .each = each, .arg = arg };
		if (err == 0)
			err = receive_answer(nl, &answer);
	}
	/* What is left of an answer that was given up would only be skipped later. */
	if (err != 0)
		ks_netlink_close(nl);
	return err;
}

int
ks_netlink_ask(struct ks_netlink *nl, uint16_t type, const void *head, size_t len, ks_netlink_each *each, void *arg)
{
	struct ks_netlink_answer answer = { .each = each, .arg = arg, .is_single = true };
	int err = open_socket(nl);

	if (err == 0)
		err = ask(nl, type, 0, head, len);
	answer.seq = nl->seq;
	return err == 0 ? receive_answer(nl, &answer) : err;
}

uint64_t
ks_netlink_news(struct ks_netlink *nl)
{
	bool any = nl->fd < 0 || nl->pid != getpid();
	ssize_t n;

	if (open_socket(nl) != 0)
		return ++nl->news;
	while ((n = receive(nl, MSG_DONTWAIT)) >= 0)
		any = true;
	/* ENOBUFS: there were more than the socket can hold. */
	nl->news += any || (errno != EAGAIN && errno != EWOULDBLOCK);
	return nl->news;
}

/* --- TCP sockets --------------------------------------------------------------------------- */

/* The place of a socket's drops among the numbers about its memory. */
#define DROPS 8

bool
ks_diag_parse(uint16_t type, struct ks_text body, struct ks_diag *diag)
{
	struct inet_diag_msg m;
	struct ks_attr a;

	if (type != SOCK_DIAG_BY_FAMILY || !ks_netlink_head(&body, &m, sizeof(m)) || m.idiag_state >= KS_TCP_STATES)
		return false;
	*diag = (struct ks_diag){ .family = m.idiag_family, .state = m.idiag_state, .port = ntohs(m.id.idiag_sport),
		.peer_port = ntohs(m.id.idiag_dport),
		.interface = m.id.idiag_if, .rqueue = m.idiag_rqueue, .wqueue = m.idiag_wqueue,
		.uid = m.idiag_uid, .inode = m.idiag_inode };
	memcpy(diag->address, m.id.idiag_src, m.idiag_family == AF_INET ? 4 : sizeof(diag->address));
	memcpy(diag->peer, m.id.idiag_dst, m.idiag_family == AF_INET ? 4 : sizeof(diag->peer));
	while (ks_attr_next(&body, &a)) {
		if (a.type != INET_DIAG_SKMEMINFO || ks_text_size(&a.data) < (DROPS + 1) * sizeof(uint32_t))
			continue;
		memcpy(&diag->drops, a.data.p + DROPS * sizeof(uint32_t), sizeof(diag->drops));
		diag->has_drops = true;
	}
	return true;
}

int
ks_diag_dump(struct ks_netlink *nl, uint8_t family, uint32_t states, ks_netlink_each *each, void *arg)
{
	const struct inet_diag_req_v2 request = { .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP,
		.idiag_ext = states == 1u << KS_TCP_LISTEN ? 1 << (INET_DIAG_SKMEMINFO - 1) : 0, .idiag_states = states };

	return ks_netlink_dump(nl, SOCK_DIAG_BY_FAMILY, &request, sizeof(request), each, arg);
}

void
ks_diag_start(void *state)
{
	*(struct ks_netlink *)state = (struct ks_netlink)KS_NETLINK_INIT(NETLINK_SOCK_DIAG, 0);
}

void
ks_diag_release(void *state)
{
	ks_netlink_close(state);
}
