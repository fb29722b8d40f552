/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/health.h"

#define CLOSED_NS 500000000ull /* a process that ends closes its connections itself */

uint64_t
tcpx_rounds_apart(bool closed, uint64_t stall_ns)
{
	return closed || stall_ns / 4 < CLOSED_NS ? CLOSED_NS : stall_ns / 4;
}

bool
tcpx_refused_again(struct tcpx_refusals *r, uint32_t addresses, uint64_t apart_ns, uint64_t now_ns)
{
	if (r->row < addresses) {
		r->row++;
		r->round_ns = now_ns;
		return false;
	}
	if (now_ns < r->round_ns + apart_ns)
		return false;
	return ++r->row >= 2 * addresses;
}
