/* SPDX-License-Identifier: Apache-2.0 */
/* Byte credit of eager messages. */
#include "proto/eager.h"

#include "base/err.h"

bool
tcpx_eager_use(struct tcpx_eager_tx *t, uint64_t cost)
{
	if (cost > t->granted - t->used)
		return false;
	t->used += cost;
	return true;
}

void
tcpx_eager_unused(struct tcpx_eager_tx *t, uint64_t cost)
{
	t->used -= cost;
}

int
tcpx_eager_granted(struct tcpx_eager_tx *t, uint64_t granted)
{
	if (granted < t->granted)
		return TCPX_EPROTO;
	t->granted = granted;
	return 0;
}

int
tcpx_eager_begins(struct tcpx_eager_rx *r, uint64_t cost)
{
	if (cost > r->granted - r->used - r->coming)
		return TCPX_EPROTO;
	r->coming += cost;
	return 0;
}

void
tcpx_eager_stops(struct tcpx_eager_rx *r, uint64_t cost)
{
	r->coming -= cost;
}

int
tcpx_eager_arrived(struct tcpx_eager_rx *r, uint64_t cost)
{
	if (cost > r->granted - r->used - r->coming)
		return TCPX_EPROTO;
	r->used += cost;
	return 0;
}

bool
tcpx_eager_taken(struct tcpx_eager_rx *r, uint64_t cost)
{
	r->taken += cost;
	return r->taken + r->window - r->granted >= r->window / 4;
}

bool
tcpx_eager_short(const struct tcpx_eager_rx *r, uint64_t longest)
{
	uint64_t left = r->granted - r->used;

	return left < r->window / 4 || (longest && left < tcpx_eager_cost(longest));
}

uint64_t
tcpx_eager_grant(struct tcpx_eager_rx *r)
{
	return r->granted = r->taken + r->window;
}
