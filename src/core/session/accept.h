/* SPDX-License-Identifier: Apache-2.0 */
/* Listening, and pending connections. */
#ifndef CORE_SESSION_ACCEPT_H
#define CORE_SESSION_ACCEPT_H

#include <stdint.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/breach.h"
#include "net/net.h"

struct listening {
	struct source source;
	struct tcpx_engine *engine;
	struct tcpx_stream *listener;
	const char *nic; /* its name, or "address" */
	struct tcpx_addr bound;
	uint64_t rest_until_ns; /* not watched until then; 0: watched */
};

#define PENDING_MAX 256 /* connections that have not introduced themselves */
#define HALF_OPEN_MAX 4096 /* sessions in the handshake that others have opened */
#define LOOPBACKS 2 /* 127.0.0.1 and ::1 */

/* The listeners of an engine. */
struct listeners {
	/* the control NIC's first, those that peers do not learn of last */
	struct listening at[TCPX_NET_NICS + CTRL_ADDRS + OTHER_ADDRS + LOOPBACKS];
	uint32_t count;
	uint32_t advertised; /* how many of them peers learn of */
	/* lease of loop 0 */
	struct tcpx_node pending; /* accepted, no first frame yet */
	uint32_t pending_count, pending_max;
	struct tcpx_node half_open; /* handshakes of sessions that others have opened */
	uint32_t half_open_count, half_open_max;
	struct breach_table breaches;
};

void tcpx_accept_timer(struct loop *l, uint64_t now_ns);
/* Moves the deadlines of pending connections. */
void tcpx_accept_late(struct loop *l, const struct pause *p);
void tcpx_accept_close_all(struct loop *l);
/* Takes the connections that wait at a listener. */
void tcpx_accept_ready(struct source *src, unsigned ready, uint64_t now_ns);

#endif
