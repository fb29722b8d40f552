/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets while a comm is being connected: everything waits, until a deadline or a stop. */
#ifndef EMU_WIRE_H
#define EMU_WIRE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the connecting side says first on each connection. */
struct emu_hello {
	uint32_t magic, index;
	uint64_t nonce;
};

/* Until when to wait, and what ends it before. */
struct emu_patience {
	uint64_t until_ns; /* 0: for ever */
	_Atomic bool *stop;
};

/* An ephemeral port of @addr; *addr tells it. -1: failed, errno. */
int emu_wire_listen(struct sockaddr_in *addr);
/* -1: errno is ETIMEDOUT, ECANCELED or what went wrong. @from: NULL, or the address to use. */
int emu_wire_dial(const struct sockaddr_in *to, const struct in_addr *from,
		  const struct emu_patience *p);
int emu_wire_accept(int fd, const struct emu_patience *p);
bool emu_wire_write(int fd, const void *data, unsigned len, const struct emu_patience *p);
bool emu_wire_read(int fd, void *data, unsigned len, const struct emu_patience *p);
/* false: it was stopped. */
bool emu_wire_sleep(uint64_t ns, const struct emu_patience *p);

#endif
