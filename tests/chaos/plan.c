/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults and transfers from a seed. Durations go by the stall deadline: most faults are shorter,
 * some are longer, so that both what must survive and what must fail is seen. Every eighth pause
 * is long, so that sessions have to be whole again in between.
 */
#include "chaos/plan.h"

#include <string.h>

const char *const chaos_fault_names[CHAOS_FAULTS] = {
	"link", "address", "rate", "all_nics", "reset", "freeze", "kill", "restart",
};

const char *const chaos_kind_names[CHAOS_KINDS] = {
	"write", "read", "send", "recv", "note", "session",
};

void
chaos_plan_init(struct chaos_plan *p, uint64_t seed, unsigned hosts, unsigned nics,
		uint64_t stall_ns, uint64_t rate_bps)
{
	memset(p, 0, sizeof(*p));
	p->rng = tcpx_rng_seed(seed);
	p->hosts = hosts;
	p->nics = nics;
	p->stall_ns = stall_ns;
	p->rate_bps = rate_bps;
}

/* Short enough to survive, or, one time in @rare, long enough to lose the session. */
static uint64_t
how_long(struct chaos_plan *p, unsigned rare)
{
	uint64_t s = p->stall_ns;

	if (!tcpx_rng_below(&p->rng, rare))
		return tcpx_rng_between(&p->rng, s + s / 4, 2 * s);
	return tcpx_rng_between(&p->rng, s / 50, s / 2);
}

static unsigned
first_free(const struct chaos_plan *p, unsigned start)
{
	unsigned best = start;

	for (unsigned i = 0; i < p->hosts; i++) {
		unsigned host = (start + i) % p->hosts;

		if (p->free_ns[host] <= p->now_ns)
			return host;
		if (p->free_ns[host] < p->free_ns[best])
			best = host;
	}
	return best;
}

void
chaos_plan_next(struct chaos_plan *p, struct chaos_event *e)
{
	static const unsigned rare[CHAOS_FAULTS] = {
		[CHAOS_LINK] = 4, [CHAOS_ADDRESS] = 4, [CHAOS_RATE] = 3, [CHAOS_ALL_NICS] = 4,
		[CHAOS_RESET] = 1, [CHAOS_FREEZE] = 5, [CHAOS_KILL] = 8, [CHAOS_RESTART] = 8,
	};
	bool quiet = ++p->given % 8 == 0;

	p->now_ns += tcpx_rng_between(&p->rng, p->stall_ns / 20, p->stall_ns / 4);
	for (unsigned i = 0; quiet && i < p->hosts; i++)
		if (p->now_ns < p->free_ns[i])
			p->now_ns = p->free_ns[i];
	if (quiet)
		p->now_ns += 2 * p->stall_ns;
	memset(e, 0, sizeof(*e));
	e->host = first_free(p, (unsigned)tcpx_rng_below(&p->rng, p->hosts));
	if (p->now_ns < p->free_ns[e->host])
		p->now_ns = p->free_ns[e->host];
	e->at_ns = p->now_ns;
	e->nic = (unsigned)tcpx_rng_below(&p->rng, p->nics);
	e->fault = (enum chaos_fault)tcpx_rng_below(&p->rng, CHAOS_FAULTS);
	e->for_ns = e->fault == CHAOS_RESET ? 0 : how_long(p, rare[e->fault]);
	if (e->fault == CHAOS_RATE)
		e->rate_bps = tcpx_rng_between(&p->rng, p->rate_bps / 20, p->rate_bps);
	p->free_ns[e->host] = e->at_ns + e->for_ns + p->stall_ns / 50;
}

/* Each order of magnitude as often as another. */
static uint32_t
any_length(struct tcpx_rng *rng, uint32_t min, uint32_t max)
{
	unsigned low = 31 - (unsigned)__builtin_clz(min), high = 31 - (unsigned)__builtin_clz(max);
	uint32_t len = 1u << tcpx_rng_between(rng, low, high);

	len += (uint32_t)tcpx_rng_below(rng, len);
	return len < min ? min : len > max ? max : len;
}

void
chaos_work_next(struct tcpx_rng *rng, unsigned hosts, unsigned me, struct chaos_work *w)
{
	static const enum chaos_kind kinds[] = { CHAOS_WRITE, CHAOS_READ, CHAOS_SEND, CHAOS_NOTE };

	memset(w, 0, sizeof(*w));
	w->kind = kinds[tcpx_rng_below(rng, 4)];
	w->to = (me + 1 + (unsigned)tcpx_rng_below(rng, hosts - 1)) % hosts;
	w->len = any_length(rng, w->kind == CHAOS_SEND ? 16 : 1, CHAOS_BYTES - 2 * CHAOS_EDGE);
	w->offset = CHAOS_EDGE +
		    (uint32_t)tcpx_rng_below(rng, CHAOS_BYTES - 2 * CHAOS_EDGE - w->len + 1);
	w->cut = (uint32_t)tcpx_rng_between(rng, 0, w->len);
	if (w->kind == CHAOS_NOTE || (w->kind == CHAOS_WRITE && tcpx_rng_below(rng, 2)))
		w->note_len = any_length(rng, 64, 2048);
	if (w->kind != CHAOS_NOTE && !tcpx_rng_below(rng, 16))
		w->cancel_us = (uint32_t)tcpx_rng_between(rng, 1, 50000);
}

static uint64_t
word_of(uint64_t id, uint64_t k)
{
	uint64_t z = (id + 1) * 0x9e3779b97f4a7c15ull + k * 0xd1342543de82ef95ull;

	return (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9ull;
}

void
chaos_fill(uint8_t *at, size_t len, uint64_t id)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = word_of(id, i / 8);

		memcpy(at + i, &v, len - i < 8 ? len - i : 8);
	}
}

size_t
chaos_wrong_from(const uint8_t *at, size_t len, uint64_t id, size_t first)
{
	size_t wrong = 0;

	for (size_t i = 0; i < len;) {
		size_t in = (first + i) % 8, n = 8 - in < len - i ? 8 - in : len - i;
		uint64_t v = word_of(id, (first + i) / 8);
		const uint8_t *want = (const uint8_t *)&v + in;

		if (memcmp(at + i, want, n))
			for (size_t k = 0; k < n; k++)
				wrong += at[i + k] != want[k];
		i += n;
	}
	return wrong;
}
