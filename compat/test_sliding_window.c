/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of a channel: however much is posted, no more messages are in flight than it
 * has slots; all arrive, and in place.
 */
#include <stdlib.h>
#include <string.h>

#include "pair.h"

enum { LEN = 8 << 20, SLOT = 64 << 10, MESSAGES = LEN / SLOT };

struct side {
	uint8_t *memory;
	uint64_t region;
	tcpx_xfer *x[MESSAGES];
};

static int
post_all(struct pair *p, struct side *from, struct side *to)
{
	int rc = 0;

	for (uint64_t i = 0; !rc && i < MESSAGES; i++) {
		struct tcpx_desc d = { to->region, i * SLOT, SLOT };

		rc = tcpx_recv(p->to_client, &d, 1, 99 + i, &to->x[i]);
	}
	for (uint64_t i = 0; !rc && i < MESSAGES; i++) {
		struct tcpx_desc d = { from->region, i * SLOT, SLOT };

		rc = tcpx_send(p->to_server, &d, 1, 99 + i, &from->x[i]);
	}
	return rc;
}

static int
wait_all(struct side *side)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < MESSAGES; i++)
		rc = side->x[i] ? tcpx_wait(side->x[i], 30000) : 0;
	return rc;
}

static void
free_all(struct side *side)
{
	for (size_t i = 0; i < MESSAGES; i++) {
		tcpx_xfer_free(side->x[i]);
		side->x[i] = NULL;
	}
}

static uint32_t
most_in_flight(struct pair *p)
{
	struct tcpx_channel_info c[64];
	size_t count = 64;
	uint32_t most = 0;

	if (tcpx_query_channels(p->client, c, sizeof(c[0]), &count))
		return UINT32_MAX;
	for (size_t i = 0; i < count && i < 64; i++)
		if (c[i].sending && c[i].in_flight_max > most)
			most = c[i].in_flight_max;
	return most;
}

static void
one_window(struct pair *p, struct side *from, struct side *to, unsigned slots)
{
	char window[32];
	const char *settings[] = { "TCPX_CHANNELS=1", "TCPX_CHUNK=64K", window, NULL };
	uint32_t most;
	int rc;

	snprintf(window, sizeof(window), "TCPX_WINDOW=%u", slots);
	if (pair_open(p, settings, settings) || pair_meet(p))
		return;
	memset(to->memory, 0, LEN);
	rc = tcpx_mem_register(p->client, from->memory, LEN, TCPX_MEM_LOCAL, &from->region);
	if (!rc)
		rc = tcpx_mem_register(p->server, to->memory, LEN, TCPX_MEM_LOCAL, &to->region);
	if (!rc)
		rc = post_all(p, from, to);
	if (!rc)
		rc = wait_all(from);
	if (!rc)
		rc = wait_all(to);
	most = most_in_flight(p);
	printf("[SlidingWindow] window=%u posted=%d max in flight=%u\n", slots, MESSAGES, most);
	pair_check(p, !rc, "%d messages: %s", MESSAGES, tcpx_strerror_name(rc));
	pair_check(p, most >= 1 && most <= slots, "at most %u in flight", slots);
	pair_check(p, !memcmp(from->memory, to->memory, LEN), "every byte is in place");
	free_all(from);
	free_all(to);
	pair_close(p);
}

int
main(int argc, char **argv)
{
	struct side from = { .memory = malloc(LEN) }, to = { .memory = malloc(LEN) };
	struct pair p = { .tag = "SlidingWindow" };
	int rc = pair_args(argc, argv, "Checks that windows bound what is in flight, within this"
				       " process.\n");

	if (!rc && from.memory && to.memory) {
		for (uint32_t i = 0; i < LEN; i++)
			from.memory[i] = (uint8_t)(i * 2654435761u >> 24);
		one_window(&p, &from, &to, 16);
		one_window(&p, &from, &to, 12);
		one_window(&p, &from, &to, 1);
		rc = pair_end(&p);
	}
	free(from.memory);
	free(to.memory);
	return rc < 0 ? 0 : rc;
}
