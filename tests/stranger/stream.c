/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include "pattern.h"
#include "plugin.h"

#include <stdio.h>
#include <string.h>

int
stream_open(struct stream *s, const struct link *link, const struct stream_plan *plan, unsigned way,
	    bool sends)
{
	*s = (struct stream){ .link = link, .plan = plan, .way = way, .left = plan->messages };
	if (room_make(&s->room, plan->max) < 0) {
		fprintf(stderr, "no memory for messages of %zu bytes\n", plan->max);
		return -1;
	}
	return plugin_said("regMr", link->net->reg_mr(sends ? link->send : link->recv, s->room.base,
						      (int)s->room.size, PTR_CUDA, &s->mr));
}

/* Room for the next message, with bytes before and behind it that are not its own. */
static bool
begin(struct stream *s, bool inverse)
{
	struct cut *cut = &s->cut;
	size_t skew, spare;
	uint8_t *at;

	if (cut->seq == s->plan->messages)
		return false;
	cut->key = pattern_key(s->plan->seed, s->way, cut->seq);
	cut->size = pattern_size(cut->key, cut->seq, s->plan->max);
	cut->at = 0;
	skew = cut->key % 64;
	spare = 1 + (cut->key >> 8) % 4096;
	at = room_take(&s->room, skew + cut->size + spare);
	if (!at)
		return false;
	cut->data = at + skew;
	pattern_fill(cut->data, cut->size, cut->key, inverse);
	return true;
}

/* The next request: as much as one may hold, or the rest. */
static struct flight
next_piece(const struct stream *s)
{
	const struct cut *cut = &s->cut;
	size_t rest = cut->size - cut->at;
	size_t size = rest < s->plan->piece ? rest : s->plan->piece;
	bool last = size == rest;

	return (struct flight){ .data = cut->data + cut->at,
				.size = size,
				.posted = size + (last ? (cut->key >> 8) % 4096 : 0),
				.last = last };
}

static void
posted(struct stream *s, const struct flight *flight)
{
	s->flight[s->tail++ % SLOTS] = *flight;
	s->cut.at += flight->size;
	if (flight->last) {
		s->cut.data = NULL;
		s->cut.seq++;
	}
}

/* 1 posted, 0 not now, -1 failed. */
static int
post(struct stream *s, bool sends)
{
	const struct net_table *net = s->link->net;
	struct flight f;
	int result;

	if (s->tail - s->head == SLOTS || (!s->cut.data && !begin(s, !sends)))
		return 0;
	f = next_piece(s);
	if (sends) {
		result = net->isend(s->link->send, f.data, (int)f.size, 0, s->mr, &f.request);
	} else {
		void *data = f.data;
		int size = (int)f.posted, tag = 0;

		result = net->irecv(s->link->recv, 1, &data, &size, &tag, &s->mr, &f.request);
	}
	if (plugin_said(sends ? "isend" : "irecv", result) < 0)
		return -1;
	if (!f.request)
		return 0;
	posted(s, &f);
	return 1;
}

/* Asks for the oldest that is not done. */
static int
ask(struct stream *s)
{
	int done = 0, size = 0;

	if (s->done == s->tail)
		return 0;
	if (plugin_said("test",
			s->link->net->test(s->flight[s->done % SLOTS].request, &done, &size)) < 0)
		return -1;
	s->done += done != 0;
	return done != 0;
}

int
stream_send(struct stream *s)
{
	int gone, moved = post(s, true);

	if (moved < 0)
		return -1;
	gone = ask(s);
	if (gone < 0)
		return -1;
	while (s->head != s->done) {
		s->tally.requests++;
		if (s->flight[s->head++ % SLOTS].last) {
			room_drop(&s->room);
			s->left--;
		}
	}
	return moved || gone;
}

/* Copies what slot n % 16 lists to where it belongs. */
static int
unpack(struct stream *s, const struct flight *f)
{
	const struct unpack_meta *meta = s->link->meta;
	uint64_t slot = s->head % SLOTS, sum = 0;
	uint64_t count = __atomic_load_n(&meta->count[slot], __ATOMIC_ACQUIRE);

	for (uint64_t i = 0; i < count && count <= LIST_MAX; i++) {
		const struct fragment *piece = &meta->list[slot][i];

		if (piece->dst > f->posted || piece->len > f->posted - piece->dst) {
			fprintf(stderr, "way %u: %u bytes at %lu of a receive of %zu\n", s->way,
				piece->len, (unsigned long)piece->dst, f->posted);
			return -1;
		}
		memcpy(f->data + piece->dst, s->link->bounce + piece->src, piece->len);
		sum += piece->len;
	}
	s->tally.fragments += count;
	if (count <= LIST_MAX && sum == f->size)
		return 0;
	fprintf(stderr, "way %u, receive %lu: %lu bytes in %lu fragments came, %zu were sent\n",
		s->way, (unsigned long)s->head, (unsigned long)sum, (unsigned long)count, f->size);
	return -1;
}

/* The oldest message is here: every byte. */
static int
compare(struct stream *s)
{
	uint64_t key = pattern_key(s->plan->seed, s->way, s->seq);
	size_t size = pattern_size(key, s->seq, s->plan->max);
	size_t wrong = pattern_differs(s->whole, size, key);

	if (wrong < size) {
		fprintf(stderr, "way %u, message %lu of %zu bytes: byte %zu is wrong\n", s->way,
			(unsigned long)s->seq, size, wrong);
		return -1;
	}
	s->tally.messages++;
	s->tally.bytes += size;
	s->seq++;
	s->left--;
	s->whole = NULL;
	room_drop(&s->room);
	return 0;
}

/* Takes the oldest receive that is done. */
static int
consume(struct stream *s)
{
	struct flight *f = &s->flight[s->head % SLOTS];

	if (!s->whole)
		s->whole = f->data;
	if (unpack(s, f) < 0 ||
	    plugin_said("irecvConsumed",
			s->link->net->irecv_consumed(s->link->recv, 1, f->request)) < 0)
		return -1;
	s->head++;
	s->tally.requests++;
	return f->last ? compare(s) : 0;
}

int
stream_receive(struct stream *s)
{
	int came, moved = post(s, false);
	bool pressed;

	if (moved < 0)
		return -1;
	came = ask(s);
	if (came < 0)
		return -1;
	/* Some are left a while, so that more than one waits to be consumed. */
	pressed = s->tail - s->head == SLOTS || s->done == s->tail;
	if (s->head == s->done || (!pressed && pattern_mix(s->turns++) % 4 > 0))
		return moved || came;
	return consume(s) < 0 ? -1 : 1;
}

int
stream_close(struct stream *s, bool sends)
{
	const struct link *link = s->link;
	int failed =
		plugin_said("deregMr", link->net->dereg_mr(sends ? link->send : link->recv, s->mr));

	room_free(&s->room);
	return failed;
}
