/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the NIC map on any two machines, however odd. */
#include <errno.h>

#include "base_test.h"
#include "base/err.h"
#include "proto/netmap.h"

struct machine {
	struct tcpx_netmap_nic nic[TCPX_NETMAP_NICS];
	struct tcpx_netmap_rules rules;
	struct tcpx_netmap_side side;
	struct tcpx_netmap_offer offer[TCPX_NETMAP_NICS];
	int usable;
};

static bool
is_own(const struct tcpx_netmap_side *s, uint32_t nic, uint32_t gpu)
{
	uint8_t best = TCPX_NETMAP_UNKNOWN;
	bool ruled = false;

	for (uint32_t i = 0; i < s->rules->count; i++) {
		if (s->rules->entry[i].gpu != gpu)
			continue;
		if (!strcmp(s->rules->entry[i].nic, s->nic[nic].name))
			return true;
		ruled = true;
	}
	if (ruled)
		return false;
	for (uint32_t i = 0; i < s->nic_count; i++)
		if (s->nic[i].distance[gpu] < best)
			best = s->nic[i].distance[gpu];
	return best == TCPX_NETMAP_UNKNOWN ? s->nic_count == 1 : s->nic[nic].distance[gpu] == best;
}

static void
machine_make(struct machine *m, struct tcpx_rng *rng)
{
	struct tcpx_netmap_side *s = &m->side;
	uint32_t networks = (uint32_t)tcpx_rng_between(rng, 1, 6);
	bool known = tcpx_rng_below(rng, 4) > 0;

	memset(m, 0, sizeof(*m));
	s->nic = m->nic;
	s->rules = &m->rules;
	s->nic_count = (uint32_t)tcpx_rng_between(rng, 1, tcpx_rng_below(rng, 4) ? 5 : 32);
	s->gpu_count = (uint32_t)tcpx_rng_below(rng, TCPX_NETMAP_GPUS + 1);
	s->process = (uint32_t)tcpx_rng_below(rng, 1u << s->gpu_count);
	s->relay = tcpx_rng_below(rng, 2);
	s->gpu = TCPX_NETMAP_HOST;
	if (s->gpu_count && tcpx_rng_below(rng, 4)) {
		s->gpu = (int)tcpx_rng_below(rng, s->gpu_count);
		s->process |= 1u << s->gpu;
	}
	for (uint32_t i = 0; i < s->nic_count; i++) {
		snprintf(m->nic[i].name, sizeof(m->nic[i].name), "n%u", i);
		m->nic[i].network = tcpx_rng_below(rng, networks + 1);
		m->nic[i].used = tcpx_rng_below(rng, 5) > 0;
		for (uint32_t g = 0; g < TCPX_NETMAP_GPUS; g++)
			m->nic[i].distance[g] = known && tcpx_rng_below(rng, 9) ?
				(uint8_t)tcpx_rng_below(rng, 4) : TCPX_NETMAP_UNKNOWN;
	}
	for (uint32_t k = tcpx_rng_below(rng, 3) ? 0 : (uint32_t)tcpx_rng_below(rng, 4); k > 0; k--) {
		struct tcpx_netmap_entry *e = &m->rules.entry[m->rules.count++];

		e->gpu = (uint8_t)(s->gpu_count ? tcpx_rng_below(rng, s->gpu_count) : 0);
		snprintf(e->nic, sizeof(e->nic), "n%u", (unsigned)tcpx_rng_below(rng, s->nic_count));
	}
}

/* A rule is refused only if it contradicts what is known. */
static bool
rules_are_possible(const struct tcpx_netmap_side *s)
{
	struct tcpx_netmap_rules no_rules = { .count = 0 };
	struct tcpx_netmap_side bare = *s;

	bare.rules = &no_rules;
	for (uint32_t k = 0; k < s->rules->count; k++) {
		const struct tcpx_netmap_entry *e = &s->rules->entry[k];
		uint32_t nic = (uint32_t)atoi(e->nic + 1);

		if (e->gpu >= s->gpu_count ||
		    (s->nic[nic].distance[e->gpu] != TCPX_NETMAP_UNKNOWN && !is_own(&bare, nic, e->gpu)))
			return false;
	}
	return true;
}

static void
check_offers(const char *name, struct machine *m)
{
	const struct tcpx_netmap_side *s = &m->side;
	struct tcpx_netmap_text why;
	int usable = 0, lines = 0;

	m->usable = tcpx_netmap_offers(s, m->offer, &why);
	check(name, "refused rules", m->usable == TCPX_ECONFIG, !rules_are_possible(s));
	if (m->usable == TCPX_ECONFIG)
		return;
	for (uint32_t i = 0; i < s->nic_count; i++) {
		const struct tcpx_netmap_offer *o = &m->offer[i];
		bool could = s->gpu < 0 && !s->process;

		for (uint32_t g = 0; g < s->gpu_count; g++)
			could |= is_own(s, i, g) && s->process >> g & 1 &&
				 (s->relay || s->gpu < 0 || (int)g == s->gpu);
		check(name, "usable", o->usable, could && s->nic[i].used);
		usable += o->usable;
		if (!o->usable || o->gpu < 0) {
			check(name, "relayed", o->relayed, false);
			continue;
		}
		check(name, "the GPU's own", is_own(s, i, (uint32_t)o->gpu), true);
		check(name, "of the process", s->process >> o->gpu & 1, 1);
		check(name, "relayed", o->relayed, s->gpu >= 0 && o->gpu != s->gpu);
		if (o->relayed) /* only where it must be */
			check(name, "own", is_own(s, i, (uint32_t)s->gpu), false);
	}
	check(name, "count", m->usable, usable ? usable : -ENODEV);
	for (size_t i = 0; i < why.len; i++)
		lines += why.text[i] == '\n';
	check(name, "lines", lines == (int)s->nic_count || why.len > 3900, true);
}

/* Own NICs stand before relays, near relays before far ones; who asks does not matter. */
static void
check_ranks(const char *name, const struct machine *m)
{
	const struct tcpx_netmap_side *s = &m->side;
	struct tcpx_netmap_offer other[TCPX_NETMAP_NICS];
	struct tcpx_netmap_side alone = *s;
	struct tcpx_netmap_text why;
	uint32_t seen = 0;

	if (s->gpu < 0 || m->usable < 0)
		return;
	alone.process = 1u << s->gpu;
	tcpx_netmap_offers(&alone, other, &why);
	for (uint32_t i = 0; i < s->nic_count; i++) {
		const struct tcpx_netmap_offer *a = &m->offer[i];

		check(name, "rank for a process of one GPU", other[i].rank, a->rank);
		if (!a->usable)
			continue;
		check(name, "rank", a->rank < s->nic_count && !(seen >> a->rank & 1), true);
		seen |= 1u << a->rank;
		for (uint32_t k = 0; k < s->nic_count; k++) {
			const struct tcpx_netmap_offer *b = &m->offer[k];

			if (!b->usable || a->rank > b->rank)
				continue;
			check(name, "own first", a->relayed && !b->relayed, false);
			if (a->relayed && b->relayed)
				check(name, "near first", s->nic[i].distance[s->gpu] >
				      s->nic[k].distance[s->gpu], false);
		}
	}
}

static void
check_plan(const char *name, const struct machine *a, const struct machine *b,
	   struct tcpx_rng *rng)
{
	struct tcpx_netmap_channel out[TCPX_NETMAP_CHANNELS];
	uint32_t n = a->side.nic_count, m = b->side.nic_count;
	uint32_t wanted[2] = { (uint32_t)tcpx_rng_between(rng, 1, 70),
			       (uint32_t)tcpx_rng_between(rng, 1, 70) };
	uint32_t uses[TCPX_NETMAP_NICS][TCPX_NETMAP_NICS] = { { 0 } };
	uint32_t least = UINT32_MAX, most = 0, pairs = 0;
	struct tcpx_netmap_text why;
	bool meet = false;
	int rc;

	rc = tcpx_netmap_plan(a->offer, n, wanted[0], b->offer, m, wanted[1], out, &why);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < m; j++)
			meet |= a->offer[i].usable && b->offer[j].usable &&
				(a->offer[i].network == b->offer[j].network ||
				 !a->offer[i].network || !b->offer[j].network);
	check(name, "a plan", rc > 0, meet);
	if (rc < 0) {
		check(name, "code", rc, -ENONET);
		return;
	}
	check(name, "channels", rc, wanted[0] < wanted[1] ? (wanted[0] > 64 ? 64 : wanted[0]) :
							      (wanted[1] > 64 ? 64 : wanted[1]));
	for (int k = 0; k < rc; k++) {
		const struct tcpx_netmap_offer *x = &a->offer[out[k].near], *y = &b->offer[out[k].far];

		check(name, "near and far", out[k].near < n && out[k].far < m, true);
		check(name, "usable", x->usable && y->usable, true);
		check(name, "network", x->network == y->network || !x->network || !y->network, true);
		check(name, "near GPU", out[k].near_gpu, x->gpu);
		check(name, "far GPU", out[k].far_gpu, y->gpu);
		uses[out[k].near][out[k].far]++;
	}
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < m; j++) {
			least = uses[i][j] && uses[i][j] < least ? uses[i][j] : least;
			most = uses[i][j] > most ? uses[i][j] : most;
			pairs += uses[i][j] > 0;
		}
	}
	check(name, "evenly", most - least <= 1, true);
	/* with channels to spare, no NIC that has a partner of its network is idle */
	for (uint32_t i = 0; i < n && (uint32_t)rc > pairs; i++) {
		bool partner = false, used = false;

		for (uint32_t j = 0; j < m; j++) {
			partner |= b->offer[j].usable && a->offer[i].network == b->offer[j].network;
			used |= uses[i][j] > 0;
		}
		if (a->offer[i].usable && a->offer[i].network && partner)
			check(name, "used", used, true);
	}
}

TEST(any_two_machines)
{
	static struct machine a, b;

	for (uint64_t seed = 1; seed <= 4000; seed++) {
		struct tcpx_rng rng = tcpx_rng_seed(seed);
		char name[32];

		snprintf(name, sizeof(name), "seed %u", (unsigned)seed);
		machine_make(&a, &rng);
		machine_make(&b, &rng);
		check_offers(name, &a);
		check_offers(name, &b);
		check_ranks(name, &a);
		if (a.usable != TCPX_ECONFIG && b.usable != TCPX_ECONFIG)
			check_plan(name, &a, &b, &rng);
	}
}

/* A machine of like GPUs and NICs in any order: the GPUs of a NIC are as many for each. */
static uint32_t
regular_make(struct machine *m, struct tcpx_rng *rng)
{
	struct tcpx_netmap_side *s = &m->side;
	uint32_t nics = (uint32_t)tcpx_rng_between(rng, 1, 8);
	uint32_t each = (uint32_t)tcpx_rng_between(rng, 1, TCPX_NETMAP_GPUS / nics);
	uint8_t far = tcpx_rng_below(rng, 2) ? 2 : TCPX_NETMAP_UNKNOWN;
	uint32_t left[TCPX_NETMAP_NICS];

	memset(m, 0, sizeof(*m));
	s->nic = m->nic;
	s->rules = &m->rules;
	s->relay = true;
	s->nic_count = nics;
	s->gpu_count = nics * each;
	s->process = (uint32_t)((1ull << s->gpu_count) - 1);
	for (uint32_t i = 0; i < nics; i++) {
		snprintf(m->nic[i].name, sizeof(m->nic[i].name), "n%u", i);
		m->nic[i].network = i + 1;
		m->nic[i].used = true;
		memset(m->nic[i].distance, far, sizeof(m->nic[i].distance));
		left[i] = each;
	}
	for (uint32_t g = 0; g < s->gpu_count; g++) {
		uint32_t own = (uint32_t)tcpx_rng_below(rng, nics);

		while (left[own] == 0)
			own = (own + 1) % nics;
		left[own]--;
		m->nic[own].distance[g] = 0;
	}
	return each;
}

/* However many channels a GPU has, all GPUs together put as many on each NIC, or one more. */
TEST(like_gpus_share_evenly)
{
	static struct machine m;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct tcpx_rng rng = tcpx_rng_seed(seed);
		uint32_t each = regular_make(&m, &rng), load[TCPX_NETMAP_NICS] = { 0 };
		struct tcpx_netmap_text why;
		char name[48];

		for (uint32_t k = 0; k < m.side.nic_count; k++) {
			uint32_t least = UINT32_MAX, most = 0;

			for (m.side.gpu = 0; m.side.gpu < (int)m.side.gpu_count; m.side.gpu++) {
				assert_true(tcpx_netmap_offers(&m.side, m.offer, &why) > 0);
				for (uint32_t i = 0; i < m.side.nic_count; i++)
					load[i] += m.offer[i].rank == k;
			}
			for (uint32_t i = 0; i < m.side.nic_count; i++) {
				least = load[i] < least ? load[i] : least;
				most = load[i] > most ? load[i] : most;
			}
			snprintf(name, sizeof(name), "seed %u, %u x %u GPUs, %u channels", (unsigned)seed,
				 m.side.nic_count, each, k + 1);
			check(name, "most less least", most - least, 0);
		}
	}
}

/* Whatever the text, what is read reads the same again. */
TEST(any_map)
{
	static const char letters[] = "gpu01,;=eth2 ";
	struct tcpx_rng rng = tcpx_rng_seed(3);
	struct tcpx_netmap_rules rules, again;
	char text[64], out[4096];
	int good = 0;

	for (int i = 0; i < 100000; i++) {
		size_t len = tcpx_rng_below(&rng, 24);

		for (size_t k = 0; k < len; k++)
			text[k] = letters[tcpx_rng_below(&rng, sizeof(letters) - 1)];
		text[len] = '\0';
		if (tcpx_rng_below(&rng, 2) && len > 5)
			memcpy(text, "gpu0=", 5);
		if (tcpx_netmap_parse(text, &rules))
			continue;
		good++;
		assert_true(tcpx_netmap_format(&rules, out, sizeof(out)) < sizeof(out));
		assert_int_equal(tcpx_netmap_parse(out, &again), 0);
		assert_memory_equal(&rules, &again, sizeof(rules));
	}
	assert_true(good > 100);
}

int
main(void)
{
	tcpx_log_setup("NONE", NULL, NULL);
	return run_cases(NULL, NULL);
}
