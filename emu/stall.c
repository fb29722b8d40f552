/* SPDX-License-Identifier: Apache-2.0 */
/* A comm moves when a mark of its ring, a chunk or a byte of one does. */
#include "emu/stall.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "emu/say.h"

/* Everything that grows while requests move. */
static uint64_t
progress(const struct emu_comm *c)
{
	uint64_t sum = c->ring.free + c->ring.done + c->ring.cut + c->ring.active;

	for (unsigned i = 0; i < c->sockets; i++) {
		const struct emu_socket *s = &c->socket[i];

		sum += s->head + atomic_load(&s->moved) + atomic_load(&s->tail) + atomic_load(&s->sent) +
		       atomic_load(&s->landed);
	}
	return sum;
}

static bool
any_ended(const struct emu_comm *c)
{
	bool ended = false;

	for (unsigned i = 0; i < c->helpers; i++)
		ended |= atomic_load(&c->helper[i].ended);
	for (unsigned i = 0; i < c->sockets; i++)
		ended |= atomic_load(&c->socket[i].lies);
	return ended;
}

static const char *
reason(const struct emu_comm *c)
{
	const struct emu_request *r = &c->request[c->ring.done % EMU_REQUESTS];

	if (any_ended(c))
		return "a data connection is gone, and no result tells of it";
	if (c->role == EMU_RECV && r->pending && !emu_pool_left(c->pool))
		return "no bounce page is free: receives that are done and not consumed have them";
	if (c->role == EMU_RECV && !r->known)
		return "the peer has sent no header for it: has it posted the send, and does it call test()?";
	if (c->role == EMU_RECV)
		return "its payload does not come";
	if (c->config->recv_sync && c->ring.cut >= c->announced)
		return "the peer has announced no receive for it (RECV_SYNC)";
	return "the peer does not take its bytes: has it posted the receive, and does it call test()?";
}

void
emu_stall_look(struct emu_comm *c)
{
	uint64_t now = emu_now_ns(), moved = progress(c);

	if (moved != c->stall.moved || !c->stall.since) {
		c->stall.moved = moved;
		c->stall.since = now;
		c->stall.said = false;
		return;
	}
	if (c->stall.said || now - c->stall.since < c->config->stall_ms * 1000000ull)
		return;
	c->stall.said = true;
	emu_warn("[stall] %s comm %d, request %llu: nothing has moved for %u ms: %s",
		 c->role == EMU_SEND ? "send" : "receive", c->index, (unsigned long long)c->ring.done,
		 c->config->stall_ms, reason(c));
}

/* Without a call nothing looks at a comm: for posted sends that is a mistake. */
static void *
watch(void *arg)
{
	const uint64_t stall_ns = *(const uint32_t *)arg * 1000000ull;
	const struct timespec pause = { (time_t)(stall_ns / 4 / 1000000000u),
					(long)(stall_ns / 4 % 1000000000u) };
	int index;

	for (;;) {
		nanosleep(&pause, NULL);
		while ((index = emu_comm_neglected(emu_now_ns() - stall_ns)) >= 0)
			emu_warn("[stall] send comm %d: has sends, and for %u ms nobody has called test(): "
				 "all progress happens there", index, *(const uint32_t *)arg);
	}
	return NULL;
}

void
emu_stall_start(const struct emu_config *config)
{
	pthread_attr_t detached;
	sigset_t all, old;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, &detached, watch, (void *)&config->stall_ms))
		emu_warn("no thread that looks for stalls: %m");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&detached);
}

void
emu_stall_asked(struct emu_comm *c)
{
	if (c->role == EMU_SEND)
		atomic_store(&c->asked_ns, c->ring.done == c->ring.tail ? 0 : emu_now_ns());
}

void
emu_stall_close(const struct emu_comm *c)
{
	unsigned long long left = c->ring.tail - c->ring.done;

	if (left && c->role == EMU_SEND)
		emu_warn("[close-busy] send comm %d is closed with %llu sends that are not done: the NIC may "
			 "still read their memory, and the peer may wait for them", c->index, left);
	else if (left)
		/* the real plugin warns of every such close, though nothing is wrong */
		emu_info("[close-busy] receive comm %d is closed with %llu receives that are not done",
			 c->index, left);
	else if (c->ring.free != c->ring.tail)
		emu_warn("[close-busy] receive comm %d is closed with %llu receives that were not consumed",
			 c->index, (unsigned long long)(c->ring.tail - c->ring.free));
}
