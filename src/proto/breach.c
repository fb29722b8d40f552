/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/breach.h"

static uint32_t
remembered(const struct tcpx_breaches *b, uint64_t now_ns)
{
	uint64_t forgotten = now_ns > b->newest_ns ? (now_ns - b->newest_ns) / TCPX_BREACH_FORGET_NS : 0;

	return forgotten < b->count ? b->count - (uint32_t)forgotten : 0;
}

void
tcpx_breach(struct tcpx_breaches *b, uint64_t now_ns)
{
	uint32_t count = remembered(b, now_ns);

	b->count = count < 2 * TCPX_BREACH_FEW ? count + 1 : count;
	b->newest_ns = now_ns;
}

uint64_t
tcpx_breach_until(const struct tcpx_breaches *b, uint64_t first_ns, uint64_t now_ns)
{
	uint32_t count = remembered(b, now_ns);
	uint64_t until_ns;

	if (count == 0)
		return 0;
	until_ns = b->newest_ns + (1u << (count < 6 ? count - 1 : 5)) * first_ns;
	return now_ns < until_ns ? until_ns : 0;
}

uint64_t
tcpx_breach_turn(const struct tcpx_breaches *b, uint64_t last_ns, uint64_t first_ns, uint64_t now_ns)
{
	uint64_t at_ns = last_ns + first_ns / TCPX_BREACH_TURN;

	return remembered(b, now_ns) >= TCPX_BREACH_FEW && now_ns < at_ns ? at_ns : 0;
}
