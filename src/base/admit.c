/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of addresses. Two addresses may fall together, which costs a share, no more. */
#include "base/admit.h"

#include "base/hash.h"

#define BUCKETS 1024

static uint32_t
bucket_of(const struct tcpx_addr *a)
{
	uint64_t hash = tcpx_hash(0, a->ip, a->family == 4 ? 4 : 8);

	return (uint32_t)((hash ^ hash >> 32) % BUCKETS);
}

int
tcpx_admit_victim(const struct tcpx_admit_guest *guest, uint32_t count, uint64_t spare_ns,
		  uint64_t now_ns)
{
	uint32_t share[BUCKETS] = { 0 };
	uint32_t most = 0, mine;
	int victim = -1;

	for (uint32_t i = 0; i < count; i++)
		if (!guest[i].known)
			share[bucket_of(&guest[i].from)]++;
	for (uint32_t i = 0; i < count; i++) {
		if (guest[i].known || now_ns < guest[i].since_ns + spare_ns)
			continue;
		mine = share[bucket_of(&guest[i].from)];
		if (mine < most || (mine == most && victim >= 0 &&
				    guest[i].since_ns >= guest[victim].since_ns))
			continue;
		most = mine;
		victim = (int)i;
	}
	return victim;
}

uint32_t
tcpx_admit_room(uint64_t descriptors, uint32_t ports, uint32_t most)
{
	uint64_t room = descriptors / 8 / (ports ? ports : 1);

	return room < 8 ? 8 : room > most ? most : (uint32_t)room;
}
