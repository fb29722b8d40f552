/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines' memory and its expected content: the right bytes where a transfer succeeded,
 * old or right bytes where it failed, and old bytes everywhere else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

static void
fill(struct sim_world *w, uint8_t *mem, uint32_t len)
{
	struct tcpx_rng rng = tcpx_rng_seed(tcpx_rng_next(&w->rng));

	for (uint32_t i = 0; i + 8 <= len; i += 8) {
		uint64_t v = tcpx_rng_next(&rng);

		memcpy(mem + i, &v, sizeof(v));
	}
}

int
sim_memory_open(struct sim_world *w, int engine)
{
	struct sim_engine *e = &w->engine[engine];
	bool gpu;
	int rc = 0;

	for (int i = 0; i < SIM_REGIONS && rc == 0; i++) {
		struct sim_region *r = &e->region[i];

		r->dst = i >= 2;
		r->len = r->dst ? SIM_DST_BYTES : SIM_SRC_BYTES;
		r->mem = malloc(r->len);
		r->orig = malloc(r->len);
		if (!r->mem || !r->orig)
			return -ENOMEM;
		fill(w, r->orig, r->len);
		memcpy(r->mem, r->orig, r->len);
		gpu = r->dst ? e->gpu_dst : e->gpu_src;
		if (gpu) {
			e->gpu.range[e->gpu.range_count].addr = r->mem;
			e->gpu.range[e->gpu.range_count].len = r->len;
			e->gpu.range[e->gpu.range_count++].place = 3;
		}
		rc = tcpx_mem_register(e->engine, r->mem, r->len,
				       (r->dst ? TCPX_MEM_REMOTE_WRITE : TCPX_MEM_REMOTE_READ) |
				       (e->lends && !r->dst ? TCPX_MEM_LEND : 0), &r->id);
		/* only a device touches a GPU's memory, and that of slots */
		if (rc == 0 && (gpu || w->ops == &tcpx_net_loop_comm))
			tcpx_fabric_forbid(w->fabric, r->mem, r->len);
	}
	return rc;
}

void
sim_memory_close(struct sim_engine *e)
{
	for (int i = 0; i < SIM_REGIONS; i++) {
		free(e->region[i].mem);
		free(e->region[i].orig);
		free(e->region[i].frozen);
	}
}

void
sim_memory_freeze(struct sim_region *r)
{
	if (r->frozen)
		return;
	for (uint32_t i = 0; i < r->len; i++)
		r->mem[i] = (uint8_t)~r->mem[i];
	r->frozen = malloc(r->len);
	if (r->frozen)
		memcpy(r->frozen, r->mem, r->len);
}

/* ---- walking both lists ---------------------------------------------------------- */

struct walk {
	struct sim_world *w;
	const struct sim_xfer *x;
	uint32_t src, dst;       /* piece                */
	uint32_t src_at, dst_at; /* bytes of it gone by  */
	uint64_t left;
};

/* The next run that is contiguous on both sides. */
static uint32_t
walk_next(struct walk *k, struct sim_region **src, uint32_t *src_off, struct sim_region **dst,
	  uint32_t *dst_off)
{
	const struct sim_piece *s, *d;
	uint64_t n;

	if (!k->left)
		return 0;
	while (k->src_at == k->x->src.piece[k->src].len) {
		k->src++;
		k->src_at = 0;
	}
	while (k->dst_at == k->x->dst.piece[k->dst].len) {
		k->dst++;
		k->dst_at = 0;
	}
	s = &k->x->src.piece[k->src];
	d = &k->x->dst.piece[k->dst];
	n = s->len - k->src_at < d->len - k->dst_at ? s->len - k->src_at : d->len - k->dst_at;
	if (n > k->left)
		n = k->left;
	*src = &k->w->engine[k->x->src.engine].region[s->region];
	*dst = &k->w->engine[k->x->dst.engine].region[d->region];
	*src_off = s->offset + k->src_at;
	*dst_off = d->offset + k->dst_at;
	k->src_at += (uint32_t)n;
	k->dst_at += (uint32_t)n;
	k->left -= n;
	return (uint32_t)n;
}

static struct walk
walk_begin(struct sim_world *w, const struct sim_xfer *x)
{
	uint64_t n = x->moved < x->dst.total ? x->moved : x->dst.total;

	return (struct walk){ .w = w, .x = x, .left = n };
}

bool
sim_memory_arrived(struct sim_world *w, const struct sim_xfer *x)
{
	struct walk k = walk_begin(w, x);
	struct sim_region *src, *dst;
	uint32_t s, d, n;

	if (x->frozen)
		return true;
	while ((n = walk_next(&k, &src, &s, &dst, &d)))
		if (!dst->frozen && memcmp(dst->mem + d, src->orig + s, n))
			return false;
	return true;
}

void
sim_memory_scramble_src(struct sim_world *w, const struct sim_xfer *x)
{
	for (uint32_t i = 0; i < x->src.count; i++) {
		const struct sim_piece *p = &x->src.piece[i];
		struct sim_region *r = &w->engine[x->src.engine].region[p->region];

		for (uint32_t k = 0; k < p->len && !r->frozen; k++)
			r->mem[p->offset + k] = (uint8_t)~r->orig[p->offset + k];
	}
}

void
sim_memory_scramble_dst(struct sim_world *w, struct sim_xfer *x)
{
	uint64_t at = 0;

	x->frozen = malloc(x->dst.total + 1);
	if (!x->frozen)
		return;
	for (uint32_t i = 0; i < x->dst.count; i++) {
		const struct sim_piece *p = &x->dst.piece[i];
		struct sim_region *r = &w->engine[x->dst.engine].region[p->region];

		for (uint32_t k = 0; k < p->len && !r->frozen; k++)
			r->mem[p->offset + k] = (uint8_t)~r->mem[p->offset + k];
		memcpy(x->frozen + at, r->mem + p->offset, p->len);
		at += p->len;
	}
}

/* ---- the end --------------------------------------------------------------------- */

/* Bytes of a transfer that did not succeed: each is old or right. Where payload goes
 * directly to its place it may also be the filler of a message given up half way, and anything
 * where the network changes bytes: a sum is compared when all of the chunk is there. */
static void
check_part(struct sim_world *w, const struct sim_xfer *x)
{
	bool flips = w->flips && tcpx_fabric_flips(w->fabric) > 0;
	struct walk k = walk_begin(w, x);
	struct sim_region *src, *dst;
	uint32_t s, d, n;

	while ((n = walk_next(&k, &src, &s, &dst, &d))) {
		if (dst->frozen || !memcmp(dst->mem + d, dst->orig + d, n))
			continue;
		for (uint32_t i = 0; i < n && !flips; i++)
			if (dst->mem[d + i] != dst->orig[d + i] &&
			    dst->mem[d + i] != src->orig[s + i] &&
			    (dst->mem[d + i] != 0 || w->ops == &tcpx_net_loop_comm)) {
				sim_fail(w, "transfer %u failed and left a byte %02x that is "
					 "neither old %02x nor right %02x (source %02x)",
					 x->number, dst->mem[d + i], dst->orig[d + i],
					 src->orig[s + i], src->mem[s + i]);
				return;
			}
		memcpy(dst->orig + d, dst->mem + d, n);
	}
}

static void
check_frozen(struct sim_world *w, const struct sim_xfer *x)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < x->dst.count; i++) {
		const struct sim_piece *p = &x->dst.piece[i];
		struct sim_region *r = &w->engine[x->dst.engine].region[p->region];

		if (!r->frozen) {
			if (memcmp(r->mem + p->offset, x->frozen + at, p->len))
				sim_fail(w, "transfer %u wrote after it was given up",
					 x->number);
			memcpy(r->orig + p->offset, r->mem + p->offset, p->len);
		}
		at += p->len;
	}
}

static void
check_done(struct sim_world *w, const struct sim_xfer *x)
{
	struct walk k = walk_begin(w, x);
	struct sim_region *src, *dst;
	uint32_t s, d, n;

	if (!sim_memory_arrived(w, x))
		sim_fail(w, "transfer %u succeeded with a wrong byte", x->number);
	while ((n = walk_next(&k, &src, &s, &dst, &d)))
		memcpy(dst->orig + d, dst->mem + d, n);
}

void
sim_memory_check(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->xfer_count; i++) {
		const struct sim_xfer *x = &w->xfer[i];

		if (x->frozen)
			check_frozen(w, x);
		else if ((x->handle[0].ended && x->handle[0].status == 0) ||
			 (x->handle[1].ended && x->handle[1].status == 0))
			check_done(w, x);
		else
			check_part(w, x);
	}
	/* What transfers may have written is in orig by now. */
	for (uint32_t e = 0; e < w->engine_count; e++)
		for (int i = 0; i < SIM_REGIONS; i++) {
			const struct sim_region *r = &w->engine[e].region[i];
			const uint8_t *want = r->frozen ? r->frozen : r->orig;
			uint32_t at = 0;

			if (!r->dst && !r->frozen)
				continue;
			if (!memcmp(r->mem, want, r->len))
				continue;
			while (r->mem[at] == want[at])
				at++;
			sim_fail(w, "engine %u region %d: byte %u changed%s", e, i, at,
				 r->frozen ? " after it was given back" : " in no list");
		}
}
