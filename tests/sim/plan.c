/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a seed: the network's behaviour, the engines' settings, and the transfers
 * with their times. Nothing here looks at an engine.
 */
#include <stdio.h>
#include <string.h>

#include "proto/eager.h"
#include "sim/sim.h"

#define BYTES_MAX  (500u << 10) /* that one world moves */

void
sim_plan_network(struct sim_world *w)
{
	/* A tenth of the worlds is nearly as fast as memory, the others are not. */
	uint64_t delay = sim_one_in(w, 10) ? 1000 : sim_between(w, 20000, 2 * TCPX_MS);
	enum sim_weather weather;
	struct tcpx_fabric_script s = {
		.delay_min_ns = { sim_between(w, 0, delay), sim_between(w, 0, delay) },
		.segment_max = (uint32_t)sim_between(w, 2000, 40000),
		.buffer_bytes = (uint32_t)sim_between(w, 4000, 300000),
		.short_ppm = sim_one_in(w, 3) ? 0 : (uint32_t)sim_between(w, 0, 400000),
		.fragment_max = (uint32_t)sim_between(w, 500, 4096),
		.nic_Bps = sim_one_in(w, 2) ? 0 : sim_between(w, 20, 2000) * 1000000,
	};

	for (int k = 0; k < TCPX_FABRIC_KINDS; k++)
		s.delay_max_ns[k] = s.delay_min_ns[k] + sim_between(w, 0, delay);
	weather = (enum sim_weather)sim_between(w, SIM_SOUND, SIM_WILD);
	if (w->weather != SIM_BABBLE)
		w->weather = weather;
	if (w->weather == SIM_WILD) {
		s.cut_ppm = sim_one_in(w, 2) ? (uint32_t)sim_between(w, 0, 30000) : 0;
		s.break_ppm = sim_one_in(w, 2) ? (uint32_t)sim_between(w, 0, 30000) : 0;
		s.refuse_ppm = sim_one_in(w, 4) ? (uint32_t)sim_between(w, 0, 100000) : 0;
	}
	if (sim_one_in(w, 3)) {
		s.hold_ppm = (uint32_t)sim_between(w, 0, 5000);
		s.hold_max_ns = 10 * TCPX_MS;
	}
	if (sim_one_in(w, 2)) {
		w->secret = (struct tcpx_secret){ .ops = &tcpx_seal_plain_ops, .count = 1 };
		w->secret.lib = plain_seal_open(tcpx_rng_next(&w->rng));
		w->secret.psk[0] = (struct tcpx_seal_psk){ .id = { 1 }, .id_len = 1, .key = { 2 } };
	}
	w->ops = sim_one_in(w, 2) ? &tcpx_net_loop :
		 sim_one_in(w, 2) ? &tcpx_net_loop_lend : &tcpx_net_loop_comm;
	w->fabric = tcpx_fabric_new(tcpx_rng_next(&w->rng), &s);
	if (!w->fabric)
		return;
	w->clock = tcpx_fabric_clock(w->fabric);
	w->begun_ns = sim_now(w);
	w->calm_ns = w->begun_ns + 200 * TCPX_MS;
}

/* Faults with a time of their own. Breaks may take every channel of a session. */
static void
plan_faults(struct sim_world *w)
{
	uint64_t cuts = 0, breaks = 0;

	if (sim_is_broken(w)) {
		cuts = sim_between(w, 0, SIM_CUTS);
		breaks = sim_between(w, 0, SIM_BREAKS);
	}
	for (uint64_t i = 0; i < SIM_CUTS; i++)
		w->cut_ns[i] = i < cuts ? w->begun_ns + sim_between(w, 0, 2 * SIM_WORK_NS) : SIM_NEVER;
	for (uint64_t i = 0; i < SIM_BREAKS; i++)
		w->break_ns[i] = i < breaks ? w->begun_ns + sim_between(w, 0, 2 * SIM_WORK_NS)
					    : SIM_NEVER;
	w->nic_ns[0] = w->nic_ns[1] = SIM_NEVER;
	if (w->weather == SIM_WILD && sim_one_in(w, 4)) {
		w->nic_ns[0] = w->begun_ns + sim_between(w, 0, w->work_ns);
		w->nic_ns[1] = w->nic_ns[0] + sim_between(w, 0, 100 * TCPX_MS);
	}
}

void
sim_setting(struct sim_world *w, const char *name, uint64_t value)
{
	uint32_t n = 0;

	while (w->settings[n])
		n++;
	snprintf(w->setting[n], sizeof(w->setting[n]), "%s=%llu", name,
		 (unsigned long long)value);
	w->settings[n] = w->setting[n];
}

/* Bits that arrive wrong, where all engines sum. Drawn apart, so that the rest of a seed's world does
 * not depend on it. */
static void
plan_flips(struct sim_world *w)
{
	struct tcpx_rng rng = tcpx_rng_seed(w->seed ^ 0xf11b5);

	if (tcpx_rng_below(&rng, 3))
		return;
	sim_setting(w, "TCPX_CHECKSUM", 1);
	if (!sim_is_broken(w))
		return;
	w->flips = true;
	/* of a comm each page of a message is a read: five wrong messages in a row shall be rare */
	tcpx_fabric_set_flips(w->fabric, TCPX_FABRIC_DATA,
			      (uint32_t)tcpx_rng_below(&rng, w->ops->comm ? 400 : 4000));
	if (!w->secret.ops) /* whose stand-in for TLS believes what comes */
		tcpx_fabric_set_flips(w->fabric, TCPX_FABRIC_CONTROL,
				      (uint32_t)tcpx_rng_below(&rng, 100000));
}

/* Lists that take many turns to be read, and to be filled. Drawn apart, too. */
static void
plan_turns(struct sim_world *w)
{
	struct tcpx_rng rng = tcpx_rng_seed(w->seed ^ 0x7a21);

	if (tcpx_rng_below(&rng, 2))
		w->turn_cost = (uint32_t)tcpx_rng_between(&rng, 1, 200);
	if (tcpx_rng_below(&rng, 2))
		w->turn_pieces = (uint32_t)tcpx_rng_between(&rng, 1, 30);
}

/* Sessions that begin narrow, and whose width changes as often as their load. Drawn apart, too. */
static void
plan_widths(struct sim_world *w)
{
	struct tcpx_rng rng = tcpx_rng_seed(w->seed ^ 0x31d7);

	if (tcpx_rng_below(&rng, 2))
		return;
	sim_setting(w, "TCPX_NARROW", 1);
	w->wide_bytes = 1 + tcpx_rng_below(&rng, 64 << 10);
	w->narrow_ns = tcpx_rng_below(&rng, 2) ? tcpx_rng_below(&rng, 3 * TCPX_MS) :
						 tcpx_rng_below(&rng, 100 * TCPX_MS);
}

void
sim_plan_settings(struct sim_world *w)
{
	uint64_t channels = sim_between(w, 1, 6), inline_bytes;

	plan_faults(w);
	sim_setting(w, "TCPX_CHANNELS", channels);
	sim_setting(w, "TCPX_CHUNK", sim_one_in(w, 2) ? 64 << 10 : 512 << 10);
	sim_setting(w, "TCPX_WINDOW", sim_between(w, 1, 16));
	sim_setting(w, "TCPX_THREADS", sim_between(w, 1, 2));
	inline_bytes = sim_one_in(w, 3) ? 0 : sim_between(w, 0, 8192);
	sim_setting(w, "TCPX_INLINE", inline_bytes);
	w->early_bytes = inline_bytes ? TCPX_EAGER_MOST : 0;
	sim_setting(w, "TCPX_EAGER", w->seed % 4 ? 32 << 20 : w->seed % 8 ? 0 : 64 << 10);
	sim_setting(w, "TCPX_CREDIT_XFERS", sim_one_in(w, 2) ? 64 : sim_between(w, 1, 4));
	sim_setting(w, "TCPX_STAGING", w->nap[SIM_NAPS - 1].from_ns == SIM_NEVER || w->seed % 2 == 0 ?
		    2 << 20 : 32 << 20);
	sim_setting(w, "TCPX_STALL_MS", 10000);
	sim_setting(w, "TCPX_KEEPALIVE_MS", sim_one_in(w, 2) ? 5000 : 50);
	if (sim_one_in(w, 4))
		sim_setting(w, "TCPX_DIST", 0);
	plan_flips(w);
	plan_turns(w);
	plan_widths(w);
	for (uint32_t i = 0; i < SIM_SETTINGS && w->settings[i]; i++)
		if (!strcmp(w->settings[i], "TCPX_DIST=0"))
			w->settings[i] = "TCPX_DIST=rr";
}

/* ---- lists ----------------------------------------------------------------------- */

static uint64_t
plan_total(struct sim_world *w, uint64_t left)
{
	uint64_t total = 0;

	switch (sim_between(w, 0, 19)) {
	case 0:
		break;
	case 1:
		total = 1;
		break;
	case 2 ... 6:
		total = sim_between(w, 2, 200);
		break;
	case 7 ... 11:
		total = sim_between(w, 200, 8300);
		break;
	case 12 ... 13: /* about where chunks end */
		total = (64 << 10) * sim_between(w, 1, 2) + sim_between(w, 0, 4) - 2;
		break;
	default:
		total = sim_between(w, 8000, 200 << 10);
	}
	return total < left ? total : left;
}

/* Cuts total into pieces; some are empty. */
static void
plan_cuts(struct sim_world *w, struct sim_list *l, uint64_t total)
{
	uint32_t most = sim_one_in(w, 3) ? SIM_PIECES : sim_one_in(w, 2) ? 12 : 1;
	uint32_t count = (uint32_t)sim_between(w, 1, most);
	uint64_t left = total;

	l->count = count;
	l->total = total;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t mean = left / (count - i);
		uint64_t n = i + 1 == count ? left : sim_between(w, 0, 2 * mean);

		if (n > left)
			n = left;
		l->piece[i].len = (uint32_t)n;
		left -= n;
	}
}

/* Source pieces lie anywhere, also over each other, unless the transfer wants bytes of
 * its own: those come from the upper half, once. */
static bool
plan_src(struct sim_world *w, struct sim_list *l, bool own)
{
	struct sim_engine *e = &w->engine[l->engine];

	for (uint32_t i = 0; i < l->count; i++) {
		struct sim_piece *p = &l->piece[i];
		struct sim_region *r;

		p->region = (uint8_t)sim_between(w, 0, 1);
		r = &e->region[p->region];
		if (!own) {
			if (p->len > r->len / 2)
				return false;
			p->offset = (uint32_t)sim_between(w, 0, r->len / 2 - p->len);
			continue;
		}
		if (r->len / 2 + r->used + p->len > r->len)
			return false;
		p->offset = r->len / 2 + r->used;
		r->used += p->len;
	}
	return true;
}

/* Destination pieces are apart from everything else, with gaps, in any order. */
static bool
plan_dst(struct sim_world *w, struct sim_list *l)
{
	struct sim_engine *e = &w->engine[l->engine];
	uint32_t order[SIM_PIECES];

	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t j = (uint32_t)sim_between(w, 0, i);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < l->count; i++) {
		struct sim_piece *p = &l->piece[order[i]];
		struct sim_region *r;
		uint32_t gap = sim_one_in(w, 2) ? 0 : (uint32_t)sim_between(w, 1, 40);

		p->region = (uint8_t)sim_between(w, 2, 3);
		r = &e->region[p->region];
		if (r->used + gap + p->len > r->len)
			return false;
		p->offset = r->used + gap;
		r->used += gap + p->len;
	}
	return true;
}

/* ---- work ------------------------------------------------------------------------ */

/* Threads may end a transfer while it is given up: there none is. */
static void
plan_kill(struct sim_world *w, struct sim_handle *h)
{
	if (!w->fabric)
		return;
	h->kill = sim_one_in(w, 2) ? SIM_CANCEL : SIM_FREE;
	h->kill_ns = h->post_ns + sim_between(w, 0, 8 * TCPX_MS);
}

static bool
plan_xfer(struct sim_world *w, struct sim_xfer *x, int engine, uint64_t *left)
{
	uint64_t total = plan_total(w, *left), room = total;
	int a = (int)sim_between(w, 0, w->engine_count - 1);
	int b = (int)sim_between(w, 0, w->engine_count - 1);
	uint64_t now = sim_now(w);
	bool kill = sim_one_in(w, 8), kill_recv = false;

	if (engine >= 0)
		*(sim_one_in(w, 2) ? &a : &b) = engine;
	x->op = sim_one_in(w, 4) ? TCPX_OP_SEND : sim_one_in(w, 2) ? TCPX_OP_READ : TCPX_OP_WRITE;
	x->tag = x->number; /* one receive for one send */
	x->src.engine = x->op == TCPX_OP_READ ? b : a;
	x->dst.engine = x->op == TCPX_OP_READ ? a : b;
	x->handle[0].post_ns = now + sim_between(w, 0, w->work_ns);
	if (x->op == TCPX_OP_SEND) {
		x->handle[1].post_ns = now + sim_between(w, 0, w->work_ns);
		if (w->babble) /* their work may take longer than a send may wait */
			x->handle[1].post_ns = x->handle[0].post_ns + sim_between(w, 0, 2 * SIM_WORK_NS) -
					       SIM_WORK_NS;
		kill_recv = sim_one_in(w, 8);
		if (sim_one_in(w, 4))
			room = total + sim_between(w, 1, 5000); /* a longer receive */
		else if (total > 0 && sim_one_in(w, 8))
			room = sim_between(w, 0, total - 1);
	} else {
		x->has_note = sim_one_in(w, 2);
		x->note_len = (uint32_t)(sim_one_in(w, 8) ? sim_between(w, 8, 8192)
							  : sim_between(w, 8, 60));
	}
	if (kill)
		plan_kill(w, &x->handle[0]);
	if (kill_recv)
		plan_kill(w, &x->handle[1]);
	for (int h = 0; h < 2; h++) {
		x->handle[h].watched = !sim_one_in(w, 4);
		x->handle[h].watch_again = sim_one_in(w, 4);
	}
	plan_cuts(w, &x->src, total);
	plan_cuts(w, &x->dst, room);
	x->moved = total;
	x->own_src = (kill || x->number % 2) && x->op != TCPX_OP_READ;
	if (!plan_src(w, &x->src, x->own_src) || !plan_dst(w, &x->dst))
		return false;
	*left -= total;
	return true;
}

/* @engine: one side of each; -1: any */
static void
plan_xfers(struct sim_world *w, int engine, uint32_t wanted, uint64_t bytes)
{
	for (uint32_t i = 0; i < wanted; i++) {
		struct sim_xfer *x = &w->xfer[w->xfer_count];

		memset(x, 0, sizeof(*x));
		x->number = w->xfer_count;
		if (plan_xfer(w, x, engine, &bytes))
			w->xfer_count++;
	}
}

void
sim_plan_more(struct sim_world *w, int engine)
{
	plan_xfers(w, engine, (uint32_t)sim_between(w, 1, SIM_XFERS - SIM_FIRST), BYTES_MAX / 5);
}

void
sim_plan_work(struct sim_world *w)
{
	plan_xfers(w, -1, (uint32_t)sim_between(w, 1, SIM_FIRST), BYTES_MAX);
	w->note_count = sim_one_in(w, 2) ? 0 : (uint32_t)sim_between(w, 1, SIM_NOTES);
	for (uint32_t i = 0; i < w->note_count; i++)
		w->note[i] = (struct sim_note){
			.from = (int)sim_between(w, 0, w->engine_count - 1),
			.to = (int)sim_between(w, 0, w->engine_count - 1),
			.len = (uint32_t)(sim_one_in(w, 6) ? sim_between(w, 8, 8192)
							   : sim_between(w, 8, 60)),
			.post_ns = w->begun_ns + sim_between(w, 0, w->work_ns),
		};
	w->deregister_ns = w->close_ns = SIM_NEVER;
	if (!w->fabric)
		return;
	if (sim_one_in(w, 5)) {
		w->deregister_ns = w->begun_ns + sim_between(w, 0, 2 * SIM_WORK_NS);
		w->deregister_engine = (int)sim_between(w, 0, w->engine_count - 1);
		w->deregister_region = (int)sim_between(w, 0, SIM_REGIONS - 1);
	}
	if (sim_one_in(w, 10)) {
		w->close_ns = w->begun_ns + sim_between(w, 0, 2 * SIM_WORK_NS);
		w->close_engine = (int)sim_between(w, w->babble != NULL, w->engine_count - 1);
	}
}
