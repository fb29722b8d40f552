/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/path.h"

#define MS_NS 1000000ull
#define S_NS  1000000000ull

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
elapsed(uint64_t since_ns, uint64_t now_ns)
{
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

/* UINT64_MAX: for ever. */
static uint64_t
passing_ns(uint64_t bytes, uint64_t Bps)
{
	unsigned __int128 ns = Bps ? (unsigned __int128)bytes * S_NS / Bps : UINT64_MAX;

	return ns < UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

/* Since when nothing has come back of what is under way. */
static uint64_t
quiet_since_ns(const struct tcpx_path *p)
{
	return later(later(p->since_ns, p->clear_ns), p->heard_ns);
}

uint64_t
tcpx_path_due_ns(const struct tcpx_path *p, uint64_t stall_ns)
{
	return quiet_since_ns(p) + stall_ns / TCPX_PATH_PARTS;
}

bool
tcpx_path_is_lost(const struct tcpx_path *p, const struct tcpx_path_others *o, uint64_t stall_ns,
		  uint64_t now_ns)
{
	uint64_t least_ns = stall_ns / TCPX_PATH_PARTS;
	uint64_t own_ns = elapsed(later(p->oldest_ns, p->clear_ns), now_ns), quiet_ns = quiet_since_ns(p);
	uint64_t others_ns = later(o->moved_ns, o->alive_ns);

	if (elapsed(quiet_ns, now_ns) >= least_ns)
		return others_ns >= quiet_ns + least_ns / 2;
	if (!o->Bps || elapsed(others_ns, now_ns) >= least_ns)
		return false;
	if (!p->known)
		least_ns *= 2; /* it may be slow by nature */
	return own_ns >= least_ns && own_ns / 2 >= passing_ns(o->bytes, o->Bps);
}

uint16_t
tcpx_path_carries(const struct tcpx_packet *p, uint64_t stall_ns)
{
	static const uint16_t usual[] = { 1500, TCPX_PACKET_ANY, 576 };
	uint64_t least_ns = stall_ns / (2 * TCPX_PATH_PARTS);

	if (least_ns > 600 * MS_NS)
		least_ns = 600 * MS_NS;
	if (p->resent < 2 || p->stuck_ns < least_ns || p->heard_ns > p->stuck_ns / 4 * 3 ||
	    (p->carried && !p->same))
		return 0;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (p->bytes > usual[i])
			return usual[i];
	return 0;
}

static uint64_t
doubled(uint64_t first_ns, uint32_t times, uint64_t most_ns)
{
	while (times-- > 0 && first_ns < most_ns)
		first_ns *= 2;
	return first_ns < most_ns ? first_ns : most_ns;
}

void
tcpx_heal_lost(struct tcpx_heal *h, uint64_t now_ns)
{
	h->wasted = h->proven ? 0 : h->wasted + 1;
	h->at_ns = h->proven ? now_ns : now_ns + doubled(S_NS, h->wasted - 1, 32 * S_NS);
	h->failed = 0;
	h->proven = false;
}

void
tcpx_heal_failed(struct tcpx_heal *h, uint64_t now_ns)
{
	h->at_ns = now_ns + doubled(100 * MS_NS, h->failed++, S_NS);
}

void
tcpx_heal_urgent(struct tcpx_heal *h, uint64_t stall_ns, uint64_t now_ns)
{
	if (h->at_ns > now_ns + stall_ns / 8)
		h->at_ns = now_ns + stall_ns / 8;
}

uint64_t
tcpx_heal_look_ns(uint64_t running_ns)
{
	uint64_t ns = running_ns / 8;

	if (ns >= MS_NS)
		ns -= ns % MS_NS;
	return ns < MS_NS / 5 ? MS_NS / 5 : ns > TCPX_LOOK_MAX_NS ? TCPX_LOOK_MAX_NS : ns;
}
