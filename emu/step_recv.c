/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look of a helper thread at a receive task. It reads the bytes that have arrived into
 * bounce pages; the task's shape sets the lengths of the fragments. Without a free page
 * nothing is read, and so the peer's kernel stops sending.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "emu/helper.h"
#include "emu/say.h"

/* One fragment over pages that lie one after the other. */
static bool
plan_large(struct emu_comm *c, struct emu_socket *s, struct emu_task *t)
{
	struct emu_shape next = t->shape;
	struct emu_cut cut = emu_shape_next(&next);

	s->fills = s->filled = 0;
	if (!emu_pool_take_run(c->pool, emu_pages(cut.src, cut.len), &s->fill[0].page))
		return false;
	t->shape = next;
	s->fill[0].src = cut.src;
	s->fill[0].len = cut.len;
	s->fill[0].got = 0;
	s->fills = 1;
	return true;
}

/* Chooses pages and lengths of the next fragments. False: no page is free. */
static bool
plan(struct emu_comm *c, struct emu_socket *s, struct emu_task *t)
{
	uint32_t page[EMU_BATCH], pages;

	if (t->shape.fault && t->shape.fault->kind == EMU_FAULT_FRAG_LARGE)
		return plan_large(c, s, t);
	pages = emu_pool_take(c->pool, page, EMU_BATCH);
	s->fills = s->filled = 0;
	while (s->fills < pages && t->shape.left) {
		struct emu_cut cut = emu_shape_next(&t->shape);

		s->fill[s->fills].page = page[s->fills];
		s->fill[s->fills].src = cut.src;
		s->fill[s->fills].len = cut.len;
		s->fill[s->fills].got = 0;
		s->fills++;
	}
	emu_pool_give(c->pool, page + s->fills, pages - s->fills);
	return s->fills > 0;
}

/* Where the CPU writes the bytes of fill @i: its page, or a staging area for it. */
static char *
place(struct emu_comm *c, struct emu_socket *s, unsigned i)
{
	char *pages = emu_pool_direct(c->pool) ? emu_pool_base(c->pool) +
			(size_t)s->fill[i].page * EMU_PAGE : s->staging + (size_t)i * EMU_PAGE;

	return pages + s->fill[i].src;
}

/* Fill @i, which begins at byte @at of the task, is complete. False: its copy failed. */
static bool
landed(struct emu_helper *h, struct emu_socket *s, struct emu_task *t, unsigned i, uint32_t at)
{
	struct emu_comm *c = h->comm;
	uint32_t src = s->fill[i].page * EMU_PAGE + s->fill[i].src, len = s->fill[i].len;
	char *bytes = place(c, s, i);

	if (t->flip >= at && t->flip < (int64_t)at + len) {
		bytes[t->flip - at] ^= 1;
		emu_fault_fired(t->flips);
	}
	if (!emu_pool_direct(c->pool) &&
	    !emu_copier_copy(&h->copier, emu_pool_base(c->pool) + src, bytes, len))
		return false;
	t->frag[t->frags++] = (struct nccl_unpack_frag){ src, len, t->offset + (uint64_t)at };
	if (t->frags == EMU_TASK_FRAGS)
		emu_fatal("task-fragments", "receive comm %d, request %llu: a chunk of %u bytes "
			  "came in %d fragments: at most 2047", c->index,
			  (unsigned long long)t->seq, t->len, EMU_TASK_FRAGS);
	return true;
}

/* The free rest of the fills, up to the byte at which a fault is due. Returns the count. */
static unsigned
vector(struct emu_comm *c, struct emu_socket *s, const struct emu_task *t,
       struct iovec iov[EMU_BATCH])
{
	uint32_t most = UINT32_MAX;
	unsigned n = 0;

	if (t->trigger.fault && t->trigger.at > t->moved)
		most = t->trigger.at - t->moved;
	for (unsigned i = s->filled; i < s->fills && most; i++) {
		uint32_t len = s->fill[i].len - s->fill[i].got;

		len = len < most ? len : most;
		iov[n].iov_base = place(c, s, i) + s->fill[i].got;
		iov[n++].iov_len = len;
		most -= len;
	}
	return n;
}

/* @n bytes have arrived in the fills. False: a copy failed. */
static bool
account(struct emu_helper *h, struct emu_socket *s, struct emu_task *t, uint32_t n)
{
	bool good = true;

	while (n && good) {
		unsigned i = s->filled;
		uint32_t len = s->fill[i].len - s->fill[i].got;

		len = len < n ? len : n;
		s->fill[i].got += len;
		t->moved += len;
		n -= len;
		if (s->fill[i].got == s->fill[i].len) {
			good = landed(h, s, t, i, t->moved - s->fill[i].len);
			s->filled++;
		}
	}
	/* staging is reused; and a finished fragment must be in place */
	if (good && s->filled == s->fills && !emu_pool_direct(h->comm->pool))
		good = emu_copier_wait(&h->copier);
	return good;
}

enum emu_step
emu_step_recv(struct emu_helper *h, struct emu_socket *s, struct emu_task *t)
{
	struct emu_comm *c = h->comm;
	struct iovec iov[EMU_BATCH];
	struct msghdr msg = { .msg_iov = iov };
	struct pollfd readable = { .fd = s->fd, .events = POLLIN };
	int on = 1;
	ssize_t n;

	if (!emu_pool_direct(c->pool) && !s->staging &&
	    !(s->staging = malloc((size_t)EMU_BATCH * EMU_PAGE)))
		return EMU_STEP_WAIT;
	if (poll(&readable, 1, 0) != 1)
		return EMU_STEP_BLOCKED;
	if (t->no_cmsg && !(readable.revents & POLLHUP))
		emu_fatal("no-cmsg", "fatal, receive comm %d, request %llu, socket %u rx no cmsg: %s",
			  c->index, (unsigned long long)t->seq, s->index, t->no_cmsg);
	if (s->filled == s->fills && !plan(c, s, t))
		return EMU_STEP_WAIT;
	msg.msg_iovlen = vector(c, s, t, iov);
	n = recvmsg(s->fd, &msg, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return EMU_STEP_BLOCKED;
	if (n <= 0) {
		errno = n ? errno : 0;
		return emu_helper_lost(h, s);
	}
	if (!account(h, s, t, (uint32_t)n))
		return EMU_STEP_END; /* gpu.c has said why */
	atomic_fetch_add(&s->landed, (uint64_t)n);
	/* else the sender may wait 40 ms for the last acknowledgement */
	setsockopt(s->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	return EMU_STEP_MOVED;
}
