/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a connection: segments that arrive in order, each at its time. Bytes
 * written before the writer closed are read before the end.
 */
#include "fabric/inside.h"

#include <stdlib.h>
#include <string.h>

void
tcpx_pipe_init(struct loop_pipe *p, struct loop_link *l, struct loop_nic *from,
	       struct loop_nic *to)
{
	*p = (struct loop_pipe){ .link = l, .from = from, .to = to, .fin_ns = LOOP_NEVER };
}

static uint64_t
passing_ns(uint64_t Bps, size_t len)
{
	return Bps ? (uint64_t)len * TCPX_SEC / Bps : 0;
}

/* The moment len bytes, the first there at start, have passed a NIC; it is busy then. */
static uint64_t
pass_nic(uint64_t *free_ns, uint64_t Bps, uint64_t start, size_t len)
{
	if (*free_ns > start && Bps)
		start = *free_ns;
	*free_ns = start + passing_ns(Bps, len);
	return *free_ns;
}

uint64_t
tcpx_pipe_schedule(struct loop_pipe *p, size_t len)
{
	struct tcpx_fabric *f = p->link->fabric;
	uint64_t left = pass_nic(&p->from->tx_free_ns, p->from->Bps, f->now_ns, len);
	uint64_t last = left + tcpx_fabric_delay(f, p->link->kind);
	uint64_t first = last - passing_ns(p->from->Bps, len);
	uint64_t there = pass_nic(&p->to->rx_free_ns, p->to->Bps, first, len);

	if (there < last)
		there = last;
	if (there > p->last_ns)
		p->last_ns = there;
	return p->last_ns;
}

size_t
tcpx_pipe_room(const struct loop_pipe *p)
{
	size_t cap = p->link->fabric->script.buffer_bytes;

	return p->queued < cap ? cap - p->queued : 0;
}

static size_t
put(struct loop_pipe *p, const void *data, size_t len, bool lend)
{
	struct tcpx_fabric *f = p->link->fabric;
	size_t room = tcpx_pipe_room(p), done = 0;

	len = tcpx_fabric_part(f, len < room ? len : room);
	/* A broken connection takes bytes until its end is seen, and loses them. */
	if (p->link->dead_ns[0] != LOOP_NEVER)
		return len;
	while (done < len) {
		size_t n = len - done < f->script.segment_max ? len - done
							      : f->script.segment_max;
		struct loop_segment *s = malloc(sizeof(*s) + n);

		if (!s)
			break;
		s->next = NULL;
		s->ready_ns = tcpx_pipe_schedule(p, n);
		s->len = n;
		s->off = 0;
		s->lent = lend ? (const uint8_t *)data + done : NULL;
		if (!lend)
			memcpy(s->data, (const char *)data + done, n);
		if (p->tail)
			p->tail->next = s;
		else
			p->head = s;
		p->tail = s;
		f->activity++;
		p->queued += n;
		done += n;
	}
	return done;
}

size_t
tcpx_pipe_write(struct loop_pipe *p, const void *data, size_t len)
{
	return put(p, data, len, false);
}

size_t
tcpx_pipe_lend(struct loop_pipe *p, const void *data, size_t len)
{
	return put(p, data, len, true);
}

void
tcpx_pipe_keep(struct loop_pipe *p)
{
	for (struct loop_segment *s = p->head; s; s = s->next) {
		if (s->lent)
			memcpy(s->data, s->lent, s->len);
		s->lent = NULL;
	}
}

bool
tcpx_pipe_has_bytes(const struct loop_pipe *p)
{
	return p->head && tcpx_link_when(p->link, p->head->ready_ns) <= p->link->fabric->now_ns;
}

bool
tcpx_pipe_ended(const struct loop_pipe *p)
{
	return !p->head && tcpx_link_when(p->link, p->fin_ns) <= p->link->fabric->now_ns;
}

size_t
tcpx_pipe_read(struct loop_pipe *p, void *data, size_t len)
{
	size_t done = 0;

	len = tcpx_fabric_part(p->link->fabric, len);
	while (done < len && tcpx_pipe_has_bytes(p)) {
		struct loop_segment *s = p->head;
		size_t n = s->len - s->off < len - done ? s->len - s->off : len - done;

		memcpy((char *)data + done, (s->lent ? s->lent : s->data) + s->off, n);
		s->off += n;
		p->link->fabric->activity++;
		p->link->moved_ns = p->link->fabric->now_ns;
		done += n;
		p->queued -= n;
		if (s->off < s->len)
			break;
		p->head = s->next;
		if (!p->head)
			p->tail = NULL;
		free(s);
		tcpx_link_delivered(p->link); /* may break it and empty the pipe */
	}
	return done;
}

void
tcpx_pipe_fin(struct loop_pipe *p)
{
	if (p->fin_ns == LOOP_NEVER)
		p->fin_ns = tcpx_pipe_schedule(p, 0);
}

void
tcpx_pipe_purge(struct loop_pipe *p)
{
	while (p->head) {
		struct loop_segment *s = p->head;

		p->head = s->next;
		free(s);
	}
	p->tail = NULL;
	p->queued = 0;
}

uint64_t
tcpx_pipe_next_ns(const struct loop_pipe *p)
{
	uint64_t now = p->link->fabric->now_ns;

	/* Ready times never fall: the first later one is the next. */
	for (const struct loop_segment *s = p->head; s; s = s->next) {
		uint64_t t = tcpx_link_when(p->link, s->ready_ns);

		if (t > now)
			return t;
	}
	if (p->fin_ns != LOOP_NEVER && tcpx_link_when(p->link, p->fin_ns) > now)
		return tcpx_link_when(p->link, p->fin_ns);
	return LOOP_NEVER;
}
