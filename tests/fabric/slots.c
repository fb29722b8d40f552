/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted comms: payload leaves from slots and lands in pages of the provider. It is read
 * from its slot only when it lands, and a released page is overwritten at once. So a slot
 * reused too early and a page read too late both show as wrong bytes.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct loop_slot *
slot_of(struct loop_ring *r, uint64_t n)
{
	return &r->slot[n % LOOP_SLOTS];
}

int
tcpx_slotring_new(struct loop_ring **ring)
{
	*ring = calloc(1, sizeof(**ring));
	return *ring ? 0 : tcpx_fail(TCPX_SUB_NET, -ENOMEM, "scripted slots");
}

static void
slot_free_pages(struct loop_slot *s, struct tcpx_fabric *f)
{
	for (uint32_t i = 0; i < s->frag_count; i++)
		tcpx_fabric_page_put(f, s->page[i]);
	free(s->page);
	free(s->frag);
	s->page = NULL;
	s->frag = NULL;
	s->frag_count = 0;
}

void
tcpx_slotring_purge(struct loop_ring *r)
{
	r->sent = r->landed;
}

void
tcpx_slotring_clear(struct loop_ring *r, struct tcpx_fabric *f)
{
	for (; r->released < r->landed; r->released++)
		slot_free_pages(slot_of(r, r->released), f);
}

void
tcpx_slotring_free(struct loop_ring *r, struct tcpx_fabric *f)
{
	tcpx_slotring_purge(r);
	tcpx_slotring_clear(r, f);
	for (int i = 0; i < LOOP_SLOTS; i++)
		free(r->own[i]);
	free(r);
}

bool
tcpx_slotring_readable(const struct loop_link *l)
{
	struct loop_ring *r = l->ring;

	return r->landed < r->sent && r->landed < r->told &&
	       tcpx_link_when(l, slot_of(r, r->landed)->ready_ns) <= l->fabric->now_ns;
}

uint64_t
tcpx_slotring_next_ns(const struct loop_link *l)
{
	for (uint64_t n = l->ring->landed; n < l->ring->sent; n++) {
		uint64_t t = tcpx_link_when(l, slot_of(l->ring, n)->ready_ns);

		if (t > l->fabric->now_ns)
			return t;
	}
	return LOOP_NEVER;
}

/* ---- sending --------------------------------------------------------------------- */

int
tcpx_loop_comm_send(struct tcpx_chan *c, const struct tcpx_head *head)
{
	struct loop_link *l = c->end.link;
	struct loop_ring *r = l->ring;
	uint8_t *src = r->own[head->seq % LOOP_SLOTS];
	struct loop_slot *s;
	int rc;

	if (tcpx_loop_comm_ended(c))
		return TCPX_ECHANNEL;
	if (r->sent - r->released >= LOOP_SLOTS ||
	    tcpx_fabric_chance(l->fabric, l->fabric->script.short_ppm))
		return -EAGAIN;
	if (!src || head->len > LOOP_SLOT_BYTES)
		return tcpx_fabric_blame(l->fabric, "comm: message %llu of %u bytes, at most %u, "
					 "with%s a slot", (unsigned long long)head->seq,
					 head->len, LOOP_SLOT_BYTES, src ? "" : "out");
	rc = tcpx_loop_chan_begin(c, head);
	if (rc)
		return rc;
	s = slot_of(r, r->sent);
	*s = (struct loop_slot){ .head = *head, .src = src };
	s->ready_ns = tcpx_pipe_schedule(&l->pipe[c->end.side], head->len + LOOP_HEAD_BYTES);
	l->fabric->activity++;
	if (l->dead_ns[0] == LOOP_NEVER) /* else it is lost */
		r->sent++;
	tcpx_link_given(l, head->len + LOOP_HEAD_BYTES);
	return 0;
}

int
tcpx_loop_comm_ended(struct tcpx_chan *c)
{
	struct loop_link *l = c->end.link;

	return tcpx_link_dead(l, c->end.side) || tcpx_pipe_ended(&l->pipe[!c->end.side]) ?
	       TCPX_ECHANNEL : 0;
}

/* ---- receiving ------------------------------------------------------------------- */

/* Cuts the message into pages, each filled from a random place. */
static int
slot_land(struct loop_slot *s, struct tcpx_fabric *f)
{
	size_t left = s->head.len, cap = 0;

	while (left > 0) {
		size_t n = tcpx_rng_between(&f->rng, 1, f->script.fragment_max);
		uint8_t *page;

		if (s->frag_count == cap) {
			size_t more = cap ? 2 * cap : 16;
			struct iovec *frag = realloc(s->frag, more * sizeof(*frag));
			uint8_t **pages;

			if (!frag)
				return -ENOMEM;
			s->frag = frag;
			pages = realloc(s->page, more * sizeof(*pages));
			if (!pages)
				return -ENOMEM;
			s->page = pages;
			cap = more;
		}
		page = tcpx_fabric_page_get(f);
		if (!page)
			return -ENOMEM;
		if (n > left)
			n = left;
		s->page[s->frag_count] = page;
		page += tcpx_rng_below(&f->rng, LOOP_PAGE - n + 1);
		s->frag[s->frag_count++] = (struct iovec){ page, n };
		memcpy(page, s->src + (s->head.len - left), n);
		tcpx_fabric_flip(f, TCPX_FABRIC_DATA, page, n);
		left -= n;
	}
	return 0;
}

static bool
same_head(const struct tcpx_head *a, const struct tcpx_head *b)
{
	return a->xfer == b->xfer && a->chunk == b->chunk && a->len == b->len &&
	       a->channel == b->channel && a->generation == b->generation && a->seq == b->seq;
}

int
tcpx_loop_comm_recv(struct tcpx_chan *c, struct tcpx_landed *msg)
{
	struct loop_link *l = c->end.link;
	struct loop_ring *r = l->ring;
	struct loop_slot *s;

	if (tcpx_link_dead(l, c->end.side))
		return TCPX_ECHANNEL;
	if (c->sending)
		return tcpx_fabric_blame(l->fabric, "recv on the sending side");
	if (!tcpx_slotring_readable(l)) {
		if (r->landed == r->sent && tcpx_pipe_ended(&l->pipe[!c->end.side]))
			return TCPX_ECHANNEL;
		return -EAGAIN;
	}
	s = slot_of(r, r->landed);
	if (!same_head(&s->head, &r->heads[r->landed % LOOP_SLOTS]))
		return tcpx_fabric_blame(l->fabric, "comm: message %llu under another's header",
					 (unsigned long long)s->head.seq);
	if (slot_land(s, l->fabric))
		return TCPX_ECHANNEL;
	r->landed++;
	l->fabric->activity++;
	c->last_seq = s->head.seq;
	*msg = (struct tcpx_landed){ s->head, s->frag, s->frag_count };
	tcpx_link_delivered(l);
	return 0;
}

int
tcpx_loop_comm_release(struct tcpx_chan *c, uint64_t seq)
{
	struct loop_link *l = c->end.link;
	struct loop_ring *r = l->ring;

	if (c->sending || r->released == r->landed ||
	    slot_of(r, r->released)->head.seq != seq)
		return tcpx_fabric_blame(l->fabric, "release of message %llu, %llu next",
					 (unsigned long long)seq,
					 (unsigned long long)r->released + 1);
	slot_free_pages(slot_of(r, r->released), l->fabric);
	r->released++;
	tcpx_loop_chan_forget(l, seq); /* its acknowledgement does not come this way */
	l->fabric->activity++;
	return tcpx_link_dead(l, c->end.side) ? TCPX_ECHANNEL : 0; /* as of a plugin */
}

/* ---- what the core gives: memory of messages, and headers --------------------------- */

/* The message that had it before must have been released. */
void *
tcpx_loop_comm_slot(struct tcpx_chan *c, uint64_t seq)
{
	struct loop_ring *r = c->end.link->ring;
	uint8_t **own = &r->own[seq % LOOP_SLOTS];

	if (seq > r->released + LOOP_SLOTS)
		tcpx_fabric_blame(c->end.net->fabric, "comm: slot of message %llu, %llu released",
				  (unsigned long long)seq, (unsigned long long)r->released);
	if (!*own)
		*own = malloc(LOOP_SLOT_BYTES);
	if (*own)
		memset(*own, LOOP_POISON, LOOP_PAGE); /* a sender that does not pack
						       * again is noticed */
	return *own;
}

int
tcpx_loop_comm_head(struct tcpx_chan *c, const struct tcpx_head *head)
{
	struct loop_ring *r = c->end.link->ring;

	if (tcpx_link_dead(c->end.link, c->end.side))
		return TCPX_ECHANNEL;
	if (c->sending || head->seq != r->told + 1 || r->told >= r->released + LOOP_SLOTS)
		return tcpx_fabric_blame(c->end.net->fabric, "comm: header %llu after %llu",
					 (unsigned long long)head->seq,
					 (unsigned long long)r->told);
	r->heads[r->told++ % LOOP_SLOTS] = *head;
	return 0;
}
