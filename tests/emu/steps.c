/* SPDX-License-Identifier: Apache-2.0 */
/* Single steps of a client, for tests that change their order. */
#include <sched.h>
#include <string.h>

#include "emu/client.h"

void
pair_start(struct pair *p)
{
	pair_connect(p, 0);
	pair_memory(p, CHUNK);
}

enum nccl_result
pair_send(struct pair *p, int size, void **request)
{
	return plugin()->isend(p->send, p->from, size, 0, p->from_mh, request);
}

enum nccl_result
pair_recv(struct pair *p, int size, void **request)
{
	void *at = p->to;
	int tag = 0;

	return plugin()->irecv(p->recv, 1, &at, &size, &tag, &p->to_mh, request);
}

void
finish(void *request)
{
	uint64_t end = now_ms() + FOREVER_MS;
	int done = 0;

	while (!done) {
		CHECK(plugin()->test(request, &done, NULL) == NCCL_OK);
		CHECK(now_ms() < end);
	}
}

void
pair_exchange(struct pair *p, unsigned n, int size, void **send, void **recv)
{
	for (unsigned i = 0; i < n; i++) {
		CHECK(pair_send(p, size, &send[i]) == NCCL_OK);
		CHECK(pair_recv(p, size, &recv[i]) == NCCL_OK);
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t end = now_ms() + FOREVER_MS;
		int sent = 0, received = 0;

		while (!sent || !received) {
			if (!sent)
				CHECK(plugin()->test(send[i], &sent, NULL) == NCCL_OK);
			if (!received)
				CHECK(plugin()->test(recv[i], &received, NULL) == NCCL_OK);
			CHECK(now_ms() < end);
		}
	}
}

void
halves_listen(struct halves *h)
{
	memset(h, 0, sizeof(*h));
	h->device = &h->room;
	CHECK(plugin()->listen(0, h->handle, &h->listen) == NCCL_OK);
}

void
halves_meet(struct halves *h)
{
	uint64_t end = now_ms() + FOREVER_MS;

	while (!h->send || !h->recv) {
		if (!h->recv)
			CHECK(plugin()->accept(h->listen, &h->recv, &h->device) == NCCL_OK);
		if (!h->send)
			CHECK(plugin()->connect(0, h->handle, &h->send, NULL) == NCCL_OK);
		CHECK(now_ms() < end);
		sched_yield(); /* the interface has no event: it is polled */
	}
}

