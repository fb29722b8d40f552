/* SPDX-License-Identifier: Apache-2.0 */
/* When a direction of a session needs all its channels, and when few will do. Pure. */
#ifndef PROTO_LOAD_H
#define PROTO_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#define TCPX_LOAD_BYTES   (8ull << 20)   /* as many at once, or within the time below, are a load */
#define TCPX_LOAD_NS      100000000ull   /* 100 ms                                          */
#define TCPX_LOAD_IDLE_NS 60000000000ull /* without any for so long, it is gone: 60 s       */

/* What one direction is given to send. All zero: nothing yet. */
struct tcpx_load {
	uint64_t since_ns, bytes; /* the present time of TCPX_LOAD_NS, and what came in it  */
	uint64_t used_ns;         /* the newest bytes came                                  */
};

/*
 * tcpx_load_is_high - @bytes more are to be sent: is that a load?
 * @waiting: bytes given before that are not acknowledged yet
 * @limit: TCPX_LOAD_BYTES; a test's may be less
 * As many came within TCPX_LOAD_NS, or wait together with the new ones: a slow path is one under
 * load, too.
 */
bool tcpx_load_is_high(struct tcpx_load *l, uint64_t bytes, uint64_t waiting, uint64_t limit,
		       uint64_t now_ns);
/* Has nothing been given, and nothing been under way, for @idle_ns? @moved_ns: the newest
 * acknowledgement. */
bool tcpx_load_is_gone(const struct tcpx_load *l, uint64_t waiting, uint64_t moved_ns,
		       uint64_t idle_ns, uint64_t now_ns);

#endif
