/*
 * diag.h - asks the kernel for TCP sockets (inet_diag). A question for all of them takes 1 ms for each thousand, one
 * for those that listen 20 us, however many others there are. SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_LINUX_NET_DIAG_H
#define SOURCE_LINUX_NET_DIAG_H

#include "source/linux/net/netlink.h"

#define KS_TCP_STATES 12 /* states are from 1 to below this */
#define KS_TCP_LISTEN 10

/* A socket as a message describes it. */
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

/* Asks for the sockets of a family in these states, one bit each. Results as ks_netlink_dump(). */
int ks_diag_dump(struct ks_netlink *nl, uint8_t family, uint32_t states, ks_netlink_each *each, void *arg);

/* For the states of subsystems that begin with a struct ks_netlink: ks_subsystem.start and .release. */
void ks_diag_start(void *state);
void ks_diag_release(void *state);

#endif
