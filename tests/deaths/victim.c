/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that the survivor starts: those that die, and the one that stays. See part.h. */
#include "deaths/part.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Nothing more is to be read: the survivor has closed the pipe, or is no more. */
static bool
asked_to_end(int ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, ms) != 0;
}

static void
drop_notes(tcpx_engine *e)
{
	tcpx_note *n;

	while (tcpx_note_get(e, &n) == 0)
		tcpx_note_free(n);
}

/* One conversation: the survivor knows this engine's memory by its first note. True: to the end. */
static bool
converse(tcpx_engine *e, struct areas *mine, const struct blob *who, struct traffic *t)
{
	uint8_t text[2 * TCPX_BLOB_MAX + sizeof(HELLO) + 2];
	uint32_t rounds = 1 + tcpx_rng_below(&t->rng, 400);
	size_t len = sizeof(HELLO) - 1;
	bool end = false;

	MUST(tcpx_peer_add(e, who->data, who->len, &t->peer) == 0);
	memcpy(text, HELLO, len);
	text[len++] = (uint8_t)mine->read_blob.len;
	memcpy(text + len, mine->read_blob.data, mine->read_blob.len);
	len += mine->read_blob.len;
	memcpy(text + len, mine->write_blob.data, mine->write_blob.len);
	len += mine->write_blob.len;
	if (tcpx_notify(t->peer, text, len) == 0)
		while (!end && rounds-- && traffic_post(t) && traffic_look(t) == 0) {
			tcpx_note *n;

			if (tcpx_note_wait(e, 1, &n) == 0)
				tcpx_note_free(n);
			drop_notes(e);
			end = asked_to_end(0);
		}
	traffic_cancel(t);
	tcpx_peer_free(t->peer);
	return end || asked_to_end(0);
}

int
victim(const char *name, uint32_t seed)
{
	struct traffic t = { .rng = tcpx_rng_seed(seed) };
	struct blob who, read, write;
	struct areas mine;
	tcpx_engine *e;
	bool end = false;

	if (!part_get(STDIN_FILENO, &who) || !part_get(STDIN_FILENO, &read) ||
	    !part_get(STDIN_FILENO, &write))
		return 1;
	while (!end) {
		e = part_open(name);
		part_areas(e, &mine);
		t.mine = &mine;
		MUST(tcpx_mem_import(e, read.data, read.len, &t.read_id) == 0);
		MUST(tcpx_mem_import(e, write.data, write.len, &t.write_id) == 0);
		end = converse(e, &mine, &who, &t);
		if (!end && tcpx_rng_below(&t.rng, 2)) /* the same engine again */
			end = converse(e, &mine, &who, &t);
		part_areas_free(e, &mine);
		tcpx_close(e);
	}
	return 0;
}

int
bystander(void)
{
	tcpx_engine *e = part_open("bystander");
	struct areas mine;
	struct blob who;
	size_t len = sizeof(who.data);

	part_areas(e, &mine);
	MUST(tcpx_metadata(e, who.data, &len) == 0);
	who.len = (uint32_t)len;
	MUST(part_put(STDOUT_FILENO, &who) && part_put(STDOUT_FILENO, &mine.write_blob));
	while (!asked_to_end(-1))
		;
	part_areas_free(e, &mine);
	tcpx_close(e);
	return 0;
}
