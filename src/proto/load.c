/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/load.h"

bool
tcpx_load_is_high(struct tcpx_load *l, uint64_t bytes, uint64_t waiting, uint64_t limit,
		  uint64_t now_ns)
{
	if (now_ns >= l->since_ns + TCPX_LOAD_NS) {
		l->since_ns = now_ns;
		l->bytes = 0;
	}
	l->bytes += bytes;
	l->used_ns = now_ns;
	return l->bytes >= limit || waiting + bytes >= limit;
}

bool
tcpx_load_is_gone(const struct tcpx_load *l, uint64_t waiting, uint64_t moved_ns, uint64_t idle_ns,
		  uint64_t now_ns)
{
	uint64_t last_ns = l->used_ns > moved_ns ? l->used_ns : moved_ns;

	return waiting == 0 && now_ns >= last_ns + idle_ns;
}
