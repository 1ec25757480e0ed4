/*
 * netlink.h - questions to the kernel over netlink, that for TCP sockets among them. What it answers is data from
 * outside: every length is compared with what there is. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_NET_NETLINK_H
#define SOURCE_LINUX_NET_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "source/linux/text.h"

/* A connection, which is opened at the first question, and again in a child of fork(). */
struct ks_netlink {
	int fd;        /* -1: not open */
	int protocol;  /* NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_GENERIC */
	uint32_t groups; /* of notifications that it receives, one bit each */
	pid_t pid;     /* the process that opened it */
	uint32_t seq;  /* of the last question */
	uint64_t news; /* counts the times that notifications came, or that some may have been lost */
	char *buf;     /* owned */
};

#define KS_NETLINK_INIT(protocol_, groups_) { -1, (protocol_), (groups_), 0, 0, 0, NULL }

void ks_netlink_close(struct ks_netlink *nl);

/* Sockets that the source has open itself, in this process: those above, and one to ask with ioctl(). */
extern _Atomic unsigned ks_own_sockets;

/* Opens a socket for ioctl() unless *fd is one; false with errno. Closes it. */
bool ks_ioctl_socket(int *fd);
void ks_socket_close(int fd);

/* Called with a message's type and what follows its head. Returns 0, or an errno that ends the answer. */
typedef int ks_netlink_each(void *arg, uint16_t type, struct ks_text body);

/*
 * Asks for all things of a kind, and calls each() for every message of the answer. type: of the request, such as
 * RTM_GETLINK; head, len: what follows its header. An answer that the kernel calls inconsistent is asked for again:
 * then each() gets the same things once more. Returns 0 or an errno.
 */
int ks_netlink_dump(struct ks_netlink *nl, uint16_t type, const void *head, size_t len, ks_netlink_each *each,
    void *arg);

/* The same for a question that has one message as its answer. */
int ks_netlink_ask(struct ks_netlink *nl, uint16_t type, const void *head, size_t len, ks_netlink_each *each,
    void *arg);

/*
 * Receives the notifications that are waiting. Returns a number that differs from the last one if there were any since,
 * or if some may have been lost. Several readers share a connection: each remembers the number before its own question.
 */
uint64_t ks_netlink_news(struct ks_netlink *nl);

enum ks_netlink_state { KS_NETLINK_MORE, KS_NETLINK_DONE, KS_NETLINK_FAILED };

/* An answer that is being received. */
struct ks_netlink_answer {
	uint32_t seq;          /* of the question */
	ks_netlink_each *each;
	void *arg;
	bool is_single;        /* it is one message */
	int err;               /* the errno with which it failed */
	bool is_inconsistent;  /* as the kernel says */
	bool has_others;       /* there were messages of another question, or notifications, which were skipped */
};

/* Parses n bytes of an answer. */
enum ks_netlink_state ks_netlink_parse(const char *data, size_t n, struct ks_netlink_answer *answer);

/* An attribute of a message. */
struct ks_attr {
	uint16_t type;
	struct ks_text data;
};

/* Takes the next attribute off a list of them; false at the end, and where it would reach beyond the end. */
bool ks_attr_next(struct ks_text *list, struct ks_attr *a);

/* Copies the fixed head of a message and takes it off; false if the message is shorter. */
static inline bool
ks_netlink_head(struct ks_text *body, void *head, size_t size)
{
	if (ks_text_size(body) < size)
		return false;
	memcpy(head, body->p, size);
	size = NLMSG_ALIGN(size);
	body->p = size <= ks_text_size(body) ? body->p + size : body->end;
	return true;
}

/* The number that an attribute holds; false if it has another size. */
static inline bool
ks_attr_u32(const struct ks_attr *a, uint32_t *v)
{
	if (ks_text_size(&a->data) != sizeof(*v))
		return false;
	memcpy(v, a->data.p, sizeof(*v));
	return true;
}

/* Copies the text of an attribute, which ends at a NUL or at its end; what does not fit is cut. */
void ks_attr_text(const struct ks_attr *a, char *to, size_t size);

/* --- TCP sockets (inet_diag) --------------------------------------------------------------- */

#define KS_TCP_STATES 12 /* states are from 1 to below this */
#define KS_TCP_LISTEN 10

/* A TCP socket as a message describes it. */
struct ks_diag {
	uint8_t family;       /* AF_INET or AF_INET6 */
	uint8_t state;        /* below KS_TCP_STATES */
	uint16_t port;        /* its own */
	uint16_t peer_port;   /* that it is connected to; 0: none */
	uint32_t interface;   /* that it is bound to; 0: none */
	uint32_t rqueue;      /* bytes received and not read; of one that listens: connections to be accepted */
	uint32_t wqueue;      /* bytes not acknowledged; of one that listens: the most that may wait */
	uint32_t uid, inode;  /* its user, and its number in the names of descriptors */
	uint32_t drops;       /* valid if has_drops */
	bool has_drops;
	unsigned char address[16]; /* of IPv4 the first four bytes */
	unsigned char peer[16];    /* that it is connected to */
};

/* Parses the body of a message; false if it is something else or too short. */
bool ks_diag_parse(uint16_t type, struct ks_text body, struct ks_diag *diag);

/*
 * Asks for the sockets of a family in these states, one bit each. Results as ks_netlink_dump(). A question for all of
 * them takes 1 ms for each thousand, one for those that listen 20 us, however many others there are.
 */
int ks_diag_dump(struct ks_netlink *nl, uint8_t family, uint32_t states, ks_netlink_each *each, void *arg);

/* For the states of subsystems that begin with a struct ks_netlink: ks_subsystem.start and .release. */
void ks_diag_start(void *state);
void ks_diag_release(void *state);

#endif
