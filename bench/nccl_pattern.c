/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_pattern.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/clock.h"

enum {
	RING_STEPS = 4,        /* messages in flight of an all-reduce, each way          */
	RING_SLICES = 2,       /* messages of a chunk                                    */
	RING_MESSAGE = 1 << 20,
	PIECE_BYTES = 128 << 10, /* of a send, without NCCL_P2P_NET_CHUNKSIZE             */
};

/* Messages of a channel in one direction. */
struct queue {
	unsigned channel;
	bool sends;
	unsigned depth;
	uint64_t posted, done;
	size_t bytes[STEPS];
	void *request[STEPS];
};

static void __attribute__((noreturn))
die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, player_warnings());
	_Exit(1);
}

/* ---- one message ----------------------------------------------------------------- */

static uint64_t
word_of(uint64_t sender, uint64_t channel, uint64_t number, uint64_t at)
{
	return ((sender << 60 | channel << 40 | number) + at * 0x9e3779b97f4a7c15u) *
	       0xbf58476d1ce4e5b9u;
}

static uint8_t *
slot(const struct board *b, const struct queue *q, uint64_t number)
{
	size_t at = (q->sends ? 0 : b->comms) + q->channel;

	return b->memory + (at * b->depth + number % q->depth) * b->slot_bytes;
}

static void
write_words(const struct board *b, const struct queue *q, uint64_t number, size_t len)
{
	uint8_t *to = slot(b, q, number);

	for (size_t at = 0; at < len; at += 8) {
		uint64_t word = word_of((uint64_t)b->rank->me, q->channel, number, at);

		memcpy(to + at, &word, len - at < 8 ? len - at : 8);
	}
}

static bool
words_are_right(const struct board *b, const struct queue *q, uint64_t number, size_t len)
{
	const uint8_t *from = slot(b, q, number);

	for (size_t at = 0; at < len; at += 8) {
		uint64_t word = word_of((uint64_t)!b->rank->me, q->channel, number, at);

		if (memcmp(from + at, &word, len - at < 8 ? len - at : 8) != 0)
			return false;
	}
	return true;
}

/* False: again later. */
static bool
post(struct board *b, struct queue *q, size_t len)
{
	const struct player *p = &b->rank->player;
	void **request = &q->request[q->posted % q->depth];
	enum nccl_result result;

	*request = NULL;
	if (q->sends && b->pattern->checks)
		write_words(b, q, q->posted, len);
	if (q->sends)
		result = p->abi->isend(p->table, b->send[q->channel], slot(b, q, q->posted), len, 0,
				       b->mhandle, request);
	else
		result = p->abi->irecv(p->table, b->recv[q->channel], slot(b, q, q->posted),
				       b->slot_bytes, 0, b->mhandle, request);
	if (result)
		die("post");
	q->bytes[q->posted % q->depth] = len;
	q->posted += *request != NULL;
	return *request != NULL;
}

/* Of the oldest. */
static bool
ends(struct board *b, struct queue *q)
{
	const struct player *p = &b->rank->player;
	size_t len = q->bytes[q->done % q->depth];
	int done = 0, size = 0;

	if (q->done == q->posted)
		return false;
	if (p->abi->test(p->table, q->request[q->done % q->depth], &done, &size))
		die("test");
	if (!done)
		return false;
	if (b->pattern->checks && ((size_t)size != len ||
				   (!q->sends && !words_are_right(b, q, q->done, len))))
		b->wrong++;
	q->done++;
	return true;
}

static void
post_now(struct board *b, struct queue *q, size_t len)
{
	while (!post(b, q, len))
		sched_yield();
}

/* ---- one message at a time ------------------------------------------------------- */

/* Until @number is through in both. A plugin may move bytes of those alone that are tested. */
static void
wait_for(struct board *b, struct queue *in, struct queue *out, uint64_t number)
{
	while (in->done == number || (out && out->done == number)) {
		(void)(in->done == number && ends(b, in));
		(void)(out && out->done == number && ends(b, out));
		sched_yield();
	}
}

/* The receive first, as both proxies begin together. */
static void
play_pingpong(struct board *b, const struct pattern *p)
{
	struct queue out = { .sends = true, .depth = 1 }, in = { .depth = 1 };

	for (unsigned i = 0; i < p->count; i++) {
		post_now(b, &in, p->bytes);
		if (b->rank->me == 1)
			wait_for(b, &in, NULL, i);
		post_now(b, &out, p->bytes);
		wait_for(b, &in, &out, i);
	}
}

static void
play_exchange(struct board *b, const struct pattern *p)
{
	struct queue out = { .sends = true, .depth = 1 }, in = { .depth = 1 };

	for (unsigned i = 0; i < p->count; i++) {
		post_now(b, &in, p->bytes);
		post_now(b, &out, p->bytes);
		wait_for(b, &in, &out, i);
	}
}

/* ---- one way --------------------------------------------------------------------- */

/* @total bytes in messages of @len, the last one shorter. */
static void
play_one_way(struct board *b, size_t total, size_t len)
{
	unsigned channels = b->comms;
	struct queue q[CHANNELS_MAX];
	uint64_t messages = (total + len - 1) / len, done = 0, number;

	for (unsigned c = 0; c < channels; c++)
		q[c] = (struct queue){ .channel = c, .sends = b->rank->me == 0, .depth = STEPS };
	while (done < messages) {
		for (unsigned c = 0; c < channels; c++) {
			number = q[c].posted * channels + c;
			if (number < messages && q[c].posted < q[c].done + STEPS)
				(void)post(b, &q[c], number < messages - 1 ? len :
							     total - number * len);
			done += ends(b, &q[c]);
		}
		sched_yield();
	}
}

/* NCCL halves and quarters the pieces of small sends. */
static size_t
piece_of(size_t bytes)
{
	const char *set = getenv("NCCL_P2P_NET_CHUNKSIZE");
	size_t piece = set && *set ? strtoull(set, NULL, 0) : PIECE_BYTES;

	if (bytes < piece)
		return piece / 4;
	return bytes < 8 * piece ? piece / 2 : piece;
}

/* ---- an all-reduce --------------------------------------------------------------- */

/* What NCCL's kernel does on a channel: for each two chunks it sends its part of one, adds what comes
 * to its part of the other and sends that on, and takes the last. */
struct ring {
	struct queue out, in;
	uint64_t consumed, messages; /* each way                                     */
	uint64_t step, steps;        /* of the kernel                                */
};

static bool
kernel_step(struct board *b, struct ring *r, size_t len)
{
	unsigned step = (unsigned)(r->step / RING_SLICES % 3);
	bool takes = step > 0, gives = step < 2;

	if ((takes && r->in.done == r->consumed) ||
	    (gives && (r->out.posted == r->out.done + r->out.depth || !post(b, &r->out, len))))
		return false;
	r->consumed += takes;
	r->step++;
	return true;
}

/* One look of both proxies and of the kernel. True: there is more to do. */
static bool
ring_step(struct board *b, struct ring *r, size_t len)
{
	if (r->in.posted < r->messages && r->in.posted < r->consumed + r->in.depth)
		(void)post(b, &r->in, len);
	(void)ends(b, &r->in);
	(void)ends(b, &r->out);
	while (r->step < r->steps && kernel_step(b, r, len))
		;
	return r->out.done < r->messages || r->step < r->steps;
}

static size_t
ring_message(const struct board *b, size_t bytes)
{
	size_t part = bytes / b->channels / (2 * RING_SLICES);

	return part > RING_MESSAGE ? RING_MESSAGE : part > 0 ? part : 1;
}

static void
play_ring(struct board *b, const struct pattern *p)
{
	size_t len = ring_message(b, p->bytes);
	uint64_t loops = p->bytes / b->channels / (2 * RING_SLICES * len);
	bool more = true;

	for (unsigned i = 0; i < p->count; i++) {
		struct ring r[CHANNELS_MAX];

		for (unsigned c = 0; c < b->channels; c++)
			r[c] = (struct ring){ .out = { c, true, RING_STEPS, 0 },
					      .in = { c, false, RING_STEPS, 0 },
					      .messages = loops * 2 * RING_SLICES,
					      .steps = loops * 3 * RING_SLICES };
		for (more = true; more; sched_yield()) {
			more = false;
			for (unsigned c = 0; c < b->channels; c++)
				more |= ring_step(b, &r[c], len);
		}
	}
}

/* ---- a pattern ------------------------------------------------------------------- */

static size_t
slot_size(const struct board *b, const struct pattern *p)
{
	if (p->kind == PATTERN_RING)
		return ring_message(b, p->bytes);
	return p->kind == PATTERN_SEND ? piece_of(p->bytes) : p->bytes;
}

static void
memory_get(struct board *b, const struct pattern *p)
{
	bool one = p->kind == PATTERN_EXCHANGE || p->kind == PATTERN_PINGPONG;
	const struct player *pl = &b->rank->player;

	b->pattern = p;
	b->slot_bytes = slot_size(b, p);
	b->comms = one ? 1 : p->kind == PATTERN_STREAM ? STREAM_CHANNELS : b->channels;
	b->depth = one ? 1 : STEPS;
	b->memory_bytes = 2 * (size_t)b->comms * b->depth * b->slot_bytes;
	b->memory = mmap(NULL, b->memory_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->memory == MAP_FAILED ||
	    pl->abi->reg(pl->table, b->recv[0], b->memory, b->memory_bytes, NCCL_PTR_HOST,
			 &b->mhandle))
		die("memory");
}

static void
memory_put(struct board *b)
{
	b->rank->player.abi->dereg(b->rank->player.table, b->recv[0], b->mhandle);
	munmap(b->memory, b->memory_bytes);
}

static void
play(struct board *b, const struct pattern *p)
{
	switch (p->kind) {
	case PATTERN_EXCHANGE:
		play_exchange(b, p);
		break;
	case PATTERN_PINGPONG:
		play_pingpong(b, p);
		break;
	case PATTERN_STREAM:
		play_one_way(b, p->bytes * p->count, p->bytes);
		break;
	case PATTERN_SEND:
		for (unsigned i = 0; i < p->count; i++)
			play_one_way(b, p->bytes, piece_of(p->bytes));
		break;
	case PATTERN_RING:
		play_ring(b, p);
		break;
	case PATTERN_END:
		break;
	}
}

static double
cpu_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

void
board_open(struct board *b, struct rank *r, unsigned channels)
{
	unsigned devices = (unsigned)r->player.devices;

	*b = (struct board){ .rank = r };
	b->channels = channels ? channels : devices > 2 ? devices : 2;
	if (b->channels > CHANNELS_MAX)
		b->channels = CHANNELS_MAX;
	b->open = b->channels > STREAM_CHANNELS ? b->channels : STREAM_CHANNELS;
	if (!pair_connect(r, b->send, b->recv, (int)b->open))
		die("connecting");
}

void
board_play(struct board *b, const struct pattern *p, double *us, double *cpu_us)
{
	uint64_t begin;

	memory_get(b, p);
	pair_meet(b->rank);
	*cpu_us = cpu_now();
	begin = tcpx_clock_now(&tcpx_clock_system);
	play(b, p);
	*us = (double)(tcpx_clock_now(&tcpx_clock_system) - begin) / 1e3;
	pair_meet(b->rank);
	*cpu_us = cpu_now() - *cpu_us;
	memory_put(b);
}

void
board_close(struct board *b)
{
	const struct player *p = &b->rank->player;

	for (unsigned c = 0; c < b->open; c++) {
		p->abi->close_send(p->table, b->send[c]);
		p->abi->close_recv(p->table, b->recv[c]);
	}
}
