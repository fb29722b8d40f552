/* SPDX-License-Identifier: Apache-2.0 */
#include "side.h"

#include "plugin.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct side {
	int peer;
	unsigned long sends, receives; /* a bit for each way */
	struct link link[WAYS];
	struct stream out[WAYS], in[WAYS];
};

static bool
has(unsigned long ways, unsigned way)
{
	return ways >> way & 1;
}

/* As many bytes each way. Nobody has to call the plugin for the other to get so far. */
static int
swap(int peer, const void *mine, void *theirs, size_t size)
{
	if (send(peer, mine, size, MSG_NOSIGNAL) == (ssize_t)size &&
	    recv(peer, theirs, size, MSG_WAITALL) == (ssize_t)size)
		return 0;
	fprintf(stderr, "the other process has gone\n");
	return -1;
}

static int
meet(const struct side *side)
{
	char mine = 1, theirs;

	return side->peer < 0 ? 0 : swap(side->peer, &mine, &theirs, 1);
}

static int
stand(struct side *side, const struct net_table *net)
{
	char mine[WAYS][HANDLE_BYTES] = { 0 }, theirs[WAYS][HANDLE_BYTES] = { 0 };

	for (unsigned way = 0; way < WAYS; way++) {
		side->link[way].net = net;
		if (has(side->receives, way) && link_listen(&side->link[way], mine[way]) < 0)
			return -1;
	}
	if (side->peer < 0)
		memcpy(theirs, mine, sizeof theirs);
	else if (swap(side->peer, mine, theirs, sizeof mine) < 0)
		return -1;
	for (unsigned way = 0; way < WAYS; way++)
		memcpy(side->link[way].theirs, theirs[way], HANDLE_BYTES);
	if (link_stand(side->link, WAYS, side->sends) < 0)
		return -1;
	/* Who sends before the receiver stands may lose what it sends. */
	return meet(side);
}

static int
open_streams(struct side *side, const struct stream_plan *plan)
{
	for (unsigned way = 0; way < WAYS; way++) {
		if (has(side->sends, way) &&
		    stream_open(&side->out[way], &side->link[way], plan, way, true) < 0)
			return -1;
		if (has(side->receives, way) &&
		    stream_open(&side->in[way], &side->link[way], plan, way, false) < 0)
			return -1;
	}
	return 0;
}

/* One round over all streams. What moved, or -1; adds to LEFT what is still to come or to go. */
static int
turn(struct side *side, uint64_t *left)
{
	int moved = 0;

	for (unsigned way = 0; way < WAYS; way++) {
		int sent = has(side->sends, way) ? stream_send(&side->out[way]) : 0;
		int came = has(side->receives, way) ? stream_receive(&side->in[way]) : 0;

		if (sent < 0 || came < 0)
			return -1;
		moved |= sent | came;
		*left += side->out[way].left + side->in[way].left;
	}
	return moved;
}

/* Of a peer's end a plugin may say nothing. */
static bool
gone(int peer)
{
	char byte;

	return peer >= 0 && recv(peer, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static int
move(struct side *side)
{
	for (;;) {
		uint64_t left = 0;
		int moved = turn(side, &left);

		if (moved < 0)
			return -1;
		if (left == 0)
			return 0;
		if (!moved && gone(side->peer)) {
			fprintf(stderr, "the other process has gone\n");
			return -1;
		}
		if (!moved)
			sched_yield();
	}
}

/* Both processes count in one place. */
static void
add(uint64_t *to, uint64_t what)
{
	__atomic_fetch_add(to, what, __ATOMIC_RELAXED);
}

static int
end(struct side *side, struct tally *tally)
{
	int failed = 0;

	for (unsigned way = 0; way < WAYS; way++) {
		const struct tally *came = &side->in[way].tally;

		if (has(side->sends, way))
			failed |= stream_close(&side->out[way], true);
		if (has(side->receives, way))
			failed |= stream_close(&side->in[way], false);
		failed |= link_close(&side->link[way]);
		add(&tally->messages, came->messages);
		add(&tally->requests, came->requests);
		add(&tally->fragments, came->fragments);
		add(&tally->bytes, came->bytes);
	}
	return failed;
}

int
side_run(const struct net_table *net, int peer, bool second, const struct stream_plan *plan,
	 struct tally *tally)
{
	static struct side side; /* large */
	const unsigned long all = (1ul << WAYS) - 1, odd = 0xaaaaaaaaul & all;

	memset(&side, 0, sizeof side);
	side.peer = peer;
	side.sends = peer < 0 ? all : second ? odd : all & ~odd;
	side.receives = peer < 0 ? all : all & ~side.sends;
	if (stand(&side, net) < 0 || open_streams(&side, plan) < 0 || move(&side) < 0 ||
	    meet(&side) < 0)
		return -1;
	return end(&side, tally);
}
