/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/toll.h"

void
tcpx_toll_charge(struct tcpx_toll *t, uint64_t entries, uint64_t most_ns, uint64_t now_ns)
{
	uint64_t free_ns = now_ns > TCPX_TOLL_FREE_NS ? now_ns - TCPX_TOLL_FREE_NS : 0;

	if (t->paid_ns < free_ns)
		t->paid_ns = free_ns;
	t->paid_ns += entries * TCPX_TOLL_ENTRY_NS * TCPX_TOLL_TIMES;
	if (t->paid_ns > now_ns + most_ns)
		t->paid_ns = now_ns + most_ns;
}
