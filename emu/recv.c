/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receive comm's part of test(), and irecvConsumed(). Headers become tasks, finished
 * tasks become entries of the unpack queue, and consumed pages are overwritten before the
 * caller's call returns.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "emu/comm.h"
#include "emu/rng.h"
#include "emu/say.h"

#define POISON 0xdb

/* ---- taking finished chunks back --------------------------------------------------------- */

static void
collect_task(struct emu_comm *c, const struct emu_socket *s, const struct emu_task *t)
{
	struct emu_request *r = emu_comm_request(c, t->seq);

	if (r->frags + t->frags > NCCL_UNPACK_FRAGS)
		emu_fatal("request-fragments", "receive comm %d, request %llu: too many pages: "
			  "%u bytes came in %u fragments or more: at most %d", c->index,
			  (unsigned long long)t->seq, r->total, r->frags + t->frags,
			  NCCL_UNPACK_FRAGS);
	for (uint32_t i = 0; i < t->frags; i++, r->frags++) {
		r->frag[r->frags] = t->frag[i];
		r->group[r->frags] = (uint16_t)r->groups;
		r->page[r->frags] = (struct emu_page){
			t->frag[i].src_off / EMU_PAGE,
			(uint16_t)emu_pages(t->frag[i].src_off, t->frag[i].len),
			(uint16_t)s->index, t->epoch };
	}
	r->groups++;
	r->pending--;
}

static void
collect(struct emu_comm *c)
{
	for (unsigned i = 0; i < c->sockets; i++) {
		struct emu_socket *s = &c->socket[i];
		struct emu_task *t;

		while ((t = emu_socket_moved(s))) {
			collect_task(c, s, t);
			emu_socket_taken(s);
		}
	}
}

/* ---- headers ------------------------------------------------------------------------------ */

static struct emu_fault *
shape_fault(struct emu_comm *c, int64_t seq)
{
	static const enum emu_fault_kind kinds[] = { EMU_FAULT_FRAG_SIZE, EMU_FAULT_FRAG_ODD_EVEN,
						     EMU_FAULT_FRAG_COUNT, EMU_FAULT_FRAG_ALIGN,
						     EMU_FAULT_FRAG_LARGE };
	struct emu_fault *f = NULL;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !f; i++)
		f = emu_comm_fires(c, kinds[i], seq);
	return f;
}

static const char *
why_no_cmsg(struct emu_comm *c, const struct emu_socket *s, int64_t seq)
{
	struct emu_fault *f = emu_comm_fault(c, EMU_FAULT_NO_CMSG, seq);

	if (f && (f->socket == EMU_ANY || f->socket == (int64_t)s->index)) {
		emu_fault_fired(f);
		return "the fault no-cmsg";
	}
	if (s->early)
		return "the sender's data came before the flow rule was active";
	return c->no_cmsg;
}

/* A second chunk of a request on one socket: the real plugin restarts the count of the
 * socket's page tokens, and never gives back those of the first. */
static void
epoch_next(struct emu_comm *c, struct emu_request *r, struct emu_task *t, unsigned socket,
	   bool used)
{
	if (used)
		r->epoch[socket]++;
	if (used && !c->loss_said) { /* how many it were is said at close */
		c->loss_said = true;
		(c->config->page_loss_aborts ? emu_misuse : emu_refuse)("page-loss", "receive comm %d, request %llu: two chunks on socket %u, "
			   "pages are lost: a send is to have at most NCCL_DYNAMIC_CHUNK_SIZE = %u "
			   "bytes", c->index, (unsigned long long)t->seq, socket,
			   c->config->chunk);
	}
	t->epoch = r->epoch[socket];
}

static void
chunk_queue(struct emu_comm *c, struct emu_request *r, uint64_t seq, const struct emu_header *h)
{
	struct emu_socket *s = &c->socket[h->socket];
	struct emu_task *t = emu_socket_task(s);
	struct emu_fault *flip = emu_comm_fault(c, EMU_FAULT_FLIP_BYTE, (int64_t)seq);
	uint64_t seed = emu_rng_mix(emu_rng_mix(c->config->seed, (uint64_t)c->index), seq);
	uint32_t bit = 1u << h->socket;

	t->seq = seq;
	t->offset = h->offset;
	t->len = h->size;
	t->no_cmsg = why_no_cmsg(c, s, (int64_t)seq);
	t->flips = flip;
	if (flip)
		t->flip = emu_comm_fault_byte(flip, s, t, h->total);
	emu_shape_begin(&t->shape, shape_fault(c, (int64_t)seq), seed, h->offset, h->size,
			h->total);
	epoch_next(c, r, t, h->socket, r->posted_sockets & bit);
	r->posted_sockets |= bit;
	r->cut += h->size;
	r->pending++;
	emu_socket_add(c, s, h->total);
}

/* The size is the sender's: the posted one is ignored, as by the real plugin. */
static bool
total_take(struct emu_comm *c, struct emu_request *r, uint64_t seq, const struct emu_header *h)
{
	r->known = true;
	r->total = h->total;
	if (h->total > r->posted)
		emu_misuse("size-larger", "receive comm %d, request %llu: %u bytes come where %u "
			   "were posted", c->index, (unsigned long long)seq, h->total, r->posted);
	return h->total > 0;
}

static bool
header_good(struct emu_comm *c, const struct emu_request *r, const struct emu_header *h)
{
	if (h->type == EMU_HEADER_DATA && h->socket < c->sockets && h->offset == r->cut &&
	    (r->known ? h->total == r->total : true) &&
	    (uint64_t)h->offset + h->size <= h->total && (h->size || !h->total))
		return true;
	emu_warn("[ctrl-nonsense] receive comm %d: a header that cannot be", c->index);
	c->ctrl.broken = true;
	return false;
}

static bool
ctrl_cut(struct emu_comm *c, const struct emu_header *h, uint64_t seq)
{
	struct emu_fault *f = emu_comm_fault(c, EMU_FAULT_CTRL_CLOSE, (int64_t)seq);

	if (!f || (f->byte != EMU_ANY && (uint64_t)f->byte >= (uint64_t)h->offset + h->size))
		return false;
	emu_fault_fired(f);
	shutdown(c->ctrl.fd, SHUT_RDWR);
	return c->ctrl.broken = true;
}

static void
headers_read(struct emu_comm *c)
{
	uint64_t seq = c->ring.cut;
	struct emu_request *r = emu_comm_request(c, seq);
	struct emu_header h;

	while (emu_ctrl_peek(&c->ctrl, &h)) {
		if (!header_good(c, r, &h) || ctrl_cut(c, &h, seq))
			return;
		if (h.total && !emu_socket_room(&c->socket[h.socket]))
			return;
		emu_ctrl_taken(&c->ctrl);
		if (!r->known && !total_take(c, r, seq, &h)) {
			c->ring.cut++;
			return;
		}
		chunk_queue(c, r, seq, &h);
		if (r->cut == r->total) {
			c->ring.cut++;
			return;
		}
	}
}

static void
announce(struct emu_comm *c)
{
	while (c->config->recv_sync && c->announce < c->ring.active && emu_ctrl_room(&c->ctrl)) {
		emu_ctrl_put(&c->ctrl, &(struct emu_header){ .type = EMU_HEADER_ANNOUNCE });
		c->announce++;
	}
	emu_ctrl_flush(&c->ctrl);
}

enum nccl_result
emu_recv_progress(struct emu_comm *c)
{
	if (atomic_load(&c->stalled))
		return NCCL_OK;
	collect(c);
	emu_ring_activate(&c->ring);
	announce(c);
	if (!emu_ring_has_active(&c->ring))
		return NCCL_OK;
	headers_read(c);
	if (!c->ctrl.broken || !emu_ring_has_active(&c->ring))
		return NCCL_OK;
	emu_warn("[ctrl-closed] receive comm %d: the control connection is closed", c->index);
	return NCCL_SYSTEM_ERROR;
}

/* ---- done ---------------------------------------------------------------------------------- */

/* False: there are no two. */
static bool
swap_fragments(struct emu_request *r)
{
	for (uint32_t i = 0; i + 1 < r->frags; i++) {
		for (uint32_t k = i + 1; k < r->frags; k++) {
			uint64_t other = r->frag[k].dst_off;

			if (r->frag[k].len != r->frag[i].len && k + 1 < r->frags)
				continue;
			r->frag[k].dst_off = r->frag[i].dst_off;
			r->frag[i].dst_off = other;
			return true;
		}
	}
	return false;
}

/* Interleaved: the first fragment of each chunk, the second of each... Or the chunks
 * from last to first. */
static uint32_t
entries_write(struct emu_request *r, struct nccl_unpack_frag *to, bool interleave, bool reverse)
{
	uint32_t n = 0, next[NCCL_UNPACK_FRAGS] = { 0 };

	if (!interleave && !reverse) {
		memcpy(to, r->frag, r->frags * sizeof(*to));
		return r->frags;
	}
	for (unsigned g = 0; reverse && g < r->groups; g++) {
		for (uint32_t i = 0; i < r->frags; i++) {
			if (r->group[i] == r->groups - 1 - g)
				to[n++] = r->frag[i];
		}
	}
	while (n < r->frags) {
		for (unsigned g = 0; g < r->groups; g++) {
			uint32_t i = next[g];

			while (i < r->frags && r->group[i] != g)
				i++;
			if (i < r->frags)
				to[n++] = r->frag[i];
			next[g] = i + 1;
		}
	}
	return n;
}

/* Into a buffer that is registered as host memory the real plugin reads by recv(). */
static void
host_write(struct emu_comm *c, struct emu_request *r)
{
	for (uint32_t i = 0; i < r->frags; i++) {
		const struct nccl_unpack_frag *f = &r->frag[i];

		if (emu_pool_direct(c->pool))
			memcpy(r->data + f->dst_off, emu_pool_base(c->pool) + f->src_off, f->len);
		else
			emu_copier_copy(&c->copier, r->data + f->dst_off,
					emu_pool_base(c->pool) + f->src_off, f->len);
	}
	emu_copier_wait(&c->copier);
}

bool
emu_recv_done(struct emu_comm *c, struct emu_request *r)
{
	int64_t seq = (int64_t)c->ring.done;
	unsigned slot = (unsigned)(seq % NCCL_UNPACK_SLOTS);
	struct emu_fault *swap;
	bool several;
	uint32_t n;

	if (r->pending)
		return false;
	swap = emu_comm_fault(c, EMU_FAULT_SWAP_FRAGMENTS, seq);
	if (swap && swap_fragments(r))
		emu_fault_fired(swap);
	if (!r->reg->gpu) {
		host_write(c, r);
		__atomic_store_n(&c->meta->cnt[slot], 0, __ATOMIC_RELEASE);
		return true;
	}
	several = r->groups > 1; /* one chunk has no order */
	n = entries_write(r, c->meta->mem[slot],
			  several && emu_comm_fires(c, EMU_FAULT_INTERLEAVE, seq),
			  several && emu_comm_fires(c, EMU_FAULT_SOCKET_REVERSE, seq));
	__atomic_store_n(&c->meta->cnt[slot], n, __ATOMIC_RELEASE);
	return true;
}

/* ---- consumed ------------------------------------------------------------------------------ */

/* Before the call returns, and outside the caller's stream order, as a NIC would. */
static void
poison(struct emu_comm *c, const struct emu_request *r)
{
	char *base = emu_pool_base(c->pool);

	for (uint32_t i = 0; i < r->frags; i++) {
		char *page = base + (size_t)r->page[i].page * EMU_PAGE;
		size_t len = (size_t)r->page[i].pages * EMU_PAGE;

		if (emu_pool_direct(c->pool))
			memset(page, POISON, len);
		else
			emu_copier_fill(&c->copier, page, POISON, len);
	}
	emu_copier_wait(&c->copier);
}

static void
lose(struct emu_comm *c, uint32_t page)
{
	if (c->lost_count == c->lost_cap) {
		uint32_t cap = c->lost_cap ? 2 * c->lost_cap : 256;
		uint32_t *more = realloc(c->lost, cap * sizeof(*more));

		if (!more)
			return;
		c->lost = more;
		c->lost_cap = cap;
	}
	c->lost[c->lost_count++] = page;
}

enum nccl_result
emu_recv_consumed(struct emu_comm *c, uint64_t seq)
{
	struct emu_request *r = emu_comm_request(c, seq);

	if (c->config->poison)
		poison(c, r);
	for (uint32_t i = 0; i < r->frags; i++) {
		const struct emu_page *p = &r->page[i];

		if (p->epoch == r->epoch[p->socket])
			emu_pool_give_run(c->pool, p->page, p->pages);
		else
			for (uint32_t k = 0; k < p->pages; k++)
				lose(c, p->page + k);
	}
	if (c->config->strict)
		__atomic_store_n(&c->meta->cnt[seq % NCCL_UNPACK_SLOTS], 0xdbdbdbdbdbdbdbdbull,
				 __ATOMIC_RELEASE);
	r->frags = 0;
	emu_reg_unuse(r->reg);
	c->ring.free++;
	return NCCL_OK;
}
