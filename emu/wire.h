/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets for the threads that connect a comm. Every call that takes a patience waits, until
 * the socket is ready, the deadline is over or the stop is set. After a failure errno is
 * ETIMEDOUT, ECANCELED or the socket's error.
 */
#ifndef EMU_WIRE_H
#define EMU_WIRE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The connecting side sends it first on each connection. The listening side compares magic and
 * nonce; index is the socket's number in the comm, or EMU_CTRL_INDEX. */
struct emu_hello {
	uint32_t magic, index;
	uint64_t nonce;
};

/* The end of a wait: a deadline, or *stop becoming true before it. */
struct emu_patience {
	uint64_t until_ns; /* 0: for ever */
	_Atomic bool *stop;
};

/* Listens on an ephemeral port of @addr and sets the port there. -1: failed, errno. */
int emu_wire_listen(struct sockaddr_in *addr);
/* An attempt at that address of this host that its kernel refuses; false: it did not. */
bool emu_wire_refused(struct in_addr at, const struct emu_patience *p);
/* A connected socket, or -1. @from: the address to connect from; NULL: any. */
int emu_wire_dial(const struct sockaddr_in *to, const struct in_addr *from,
		  const struct emu_patience *p);
/* The next connection of the listener @fd, or -1. */
int emu_wire_accept(int fd, const struct emu_patience *p);
/* All @len bytes; false: failed. */
bool emu_wire_write(int fd, const void *data, unsigned len, const struct emu_patience *p);
bool emu_wire_read(int fd, void *data, unsigned len, const struct emu_patience *p);
/* Waits for @ns, whatever the deadline. false: it was stopped; errno is not set. */
bool emu_wire_sleep(uint64_t ns, const struct emu_patience *p);

#endif
