/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three full segments each way, each on a connection of its own, since one that loses them carries
 * nothing more. Where they do not arrive, single packets of growing size say what does.
 */
#include "tune/doctor/peer_size.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "net/sock/fd.h"
#include "tool/reach.h"
#include "tool/tool.h"
#include "tune/doctor/peer_ask.h"

#define SEGMENTS 3

/* MTUs that are met: of tunnels, clouds, and switches with jumbo frames. */
static const uint32_t sizes[] = { 128,	576,  1280, 1400, 1420, 1450, 1460,
				  1480, 1500, 2000, 4000, 8000, 8896, 9000 };

/* A question that leaves as packets of @size bytes, or that wants them. */
static struct peer_ask
ask_for(uint64_t token, bool out, uint32_t size, uint32_t head, unsigned times)
{
	uint32_t piece = size > head ? size - head : 1;
	uint32_t bytes = piece * times < REACH_BYTES ? piece * times : piece;

	return out ? (struct peer_ask){ .token = token, .bytes = bytes, .piece = piece } :
		     (struct peer_ask){ .token = token, .want = bytes };
}

static void
connect_again(const struct size_try *t, const char *congestion, struct attempt *a)
{
	attempt_start(t->nic, t->to, a);
	if (a->fd >= 0 && tcpx_sock_tune(a->fd, congestion))
		a->error = EINVAL;
}

/* The largest packet that arrives, of the directions that carry small ones only. */
static void
find_passing(const struct size_try *t, uint64_t token, const char *congestion)
{
	struct reach_way *way[2] = { &t->pair->out, &t->pair->in };
	struct attempt a[2] = { { -1, ENOTCONN }, { -1, ENOTCONN } };
	struct peer_ask ask[2];
	struct reach_answer answer;

	for (int w = 0; w < 2; w++)
		if (way[w]->small)
			connect_again(t, congestion, &a[w]);
	attempts_finish(a, 2);
	for (size_t k = 0; k <= ARRAY_LEN(sizes); k++) {
		uint64_t end = peer_ask_end(REACH_FULL_MS);
		uint32_t size[2];

		for (int w = 0; w < 2; w++) {
			struct reach_packets p = { .full = 0 };

			size[w] = k < ARRAY_LEN(sizes) && sizes[k] < way[w]->full ? sizes[k]
										  : way[w]->full;
			if (a[w].error)
				continue;
			reach_packets(a[w].fd, &p);
			ask[w] = ask_for(token, w == 0, size[w], p.head, 1);
			(void)peer_ask_send(a[w].fd, &ask[w], end);
		}
		for (int w = 0; w < 2; w++) {
			if (a[w].error)
				continue;
			if (!peer_ask_hear(a[w].fd, &ask[w], &answer, end))
				a[w].error = ETIMEDOUT;
			else
				way[w]->passes = size[w];
			if (way[w]->passes == way[w]->full) {
				way[w]->small = false;
				a[w].error = EALREADY;
			}
		}
	}
	for (int w = 0; w < 2; w++) /* a peer that says nothing has not lost a packet */
		way[w]->small &= way[w]->passes != 0;
	attempts_close(a, 2);
}

/* The question on a connection of its own; the answer says that all has arrived. */
static void
ask_out(const struct size_try *t, uint64_t token, const char *congestion, struct attempt *a,
	struct peer_ask *ask)
{
	struct reach_packets p = { .full = 0 };

	if (a->error || tcpx_sock_tune(a->fd, congestion))
		return;
	reach_packets(a->fd, &p);
	t->pair->out.full = p.full;
	t->pair->mtu = p.mtu;
	*ask = ask_for(token, true, p.full, p.head, SEGMENTS);
	(void)peer_ask_send(a->fd, ask, peer_ask_end(REACH_FULL_MS));
}

static void
ask_in(const struct size_try *t, uint64_t token, struct peer_ask *ask)
{
	struct reach_packets p = { .full = 0 };

	reach_packets(t->fd, &p);
	*ask = ask_for(token, false, t->pair->in.full, p.head, SEGMENTS);
	(void)peer_ask_send(t->fd, ask, peer_ask_end(REACH_FULL_MS));
}

void
peer_sizes(const struct size_try *t, unsigned count, uint64_t token, const char *congestion)
{
	struct attempt *a = tool_need(calloc(count + 1, sizeof(*a)));
	struct peer_ask *ask = tool_need(calloc(2 * count + 1, sizeof(*ask)));
	struct reach_answer answer;
	uint64_t end;

	for (unsigned i = 0; i < count; i++)
		attempt_start(t[i].nic, t[i].to, &a[i]);
	attempts_finish(a, count);
	for (unsigned i = 0; i < count; i++) {
		ask_out(&t[i], token, congestion, &a[i], &ask[2 * i]);
		ask_in(&t[i], token, &ask[2 * i + 1]);
	}
	end = peer_ask_end(REACH_FULL_MS);
	for (unsigned i = 0; i < count; i++) {
		t[i].pair->out.small = !a[i].error &&
				       !peer_ask_hear(a[i].fd, &ask[2 * i], &answer, end);
		t[i].pair->in.small = !peer_ask_hear(t[i].fd, &ask[2 * i + 1], &answer, end);
	}
	attempts_close(a, count);
	for (unsigned i = 0; i < count; i++)
		if (t[i].pair->out.small || t[i].pair->in.small)
			find_passing(&t[i], token, congestion);
	free(a);
	free(ask);
}
