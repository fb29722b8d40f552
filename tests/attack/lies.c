/* SPDX-License-Identifier: Apache-2.0 */
/* See lies.h. */
#include "lies.h"

#include <string.h>

#include "core/engine/engine.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"

static struct lies w;

struct lies *
lies_world(void)
{
	return &w;
}

int
lies_begin(void **state)
{
	struct region g;

	(void)state;
	w.host = open_with("host", NULL, "TCPX_CREDIT_LIST_BYTES=64K");
	w.witness = open_with("witness", NULL, NULL);
	w.p = rig_add(w.witness, w.host);
	assert_ok(tcpx_peer_wait(w.p, WAIT_MS));
	mem_open(&w.far, w.host, FAR, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	mem_open(&w.secret, w.host, FAR, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	mem_open(&w.mine, w.witness, FAR, TCPX_MEM_LOCAL);
	w.secret.far = mem_tell(&w.secret, w.host, w.witness);
	fill(w.mine.at, FAR, 3);
	fill(w.secret.at, FAR, 4);
	fill(w.far.at, FAR, 5);
	assert_int_equal(tcpx_region_get(&w.host->memory->regions, w.far.id, &g), 0);
	w.ref = g.ref;
	return 0;
}

int
lies_end(void **state)
{
	(void)state;
	tcpx_peer_free(w.p);
	tcpx_close(w.witness);
	tcpx_close(w.host);
	mem_close(&w.far);
	mem_close(&w.secret);
	mem_close(&w.mine);
	return 0;
}

void
assert_witness_is_well(void)
{
	struct tcpx_desc near = { w.mine.id, 0, FAR / 2 }, far = { w.secret.far, 0, FAR / 2 };
	struct tcpx_desc back = { w.mine.id, FAR / 2, FAR / 2 };
	tcpx_xfer *x;

	memset(w.mine.at + FAR / 2, 0, FAR / 2);
	assert_ok(tcpx_write(w.p, &near, 1, &far, 1, NULL, 0, &x));
	assert_ok(finish(x));
	assert_ok(tcpx_read(w.p, &back, 1, &far, 1, NULL, 0, &x));
	assert_ok(finish(x));
	assert_memory_equal(w.mine.at, w.mine.at + FAR / 2, FAR / 2);
	for (size_t k = GRANTED; k < FAR; k++)
		if (w.far.at[k] != (uint8_t)((k * 2654435761u + 5 * 97) >> 11))
			fail_msg("byte %zu has changed", k);
}

void
write_open(struct liar *l, struct tcpx_buf *b, uint8_t op, uint64_t total, bool inlined)
{
	static const uint8_t payload[FAR / 16];
	struct tcpx_open o = { .id = ++l->opened, .op = op, .total = total, .chunk = CHUNK,
			       .entry_count = op != TCPX_WIRE_SEND };
	struct tcpx_run_entry e = { 0, 0, total };
	struct tcpx_runs_writer rw;
	uint8_t *at;

	tcpx_open_write(b, &o);
	at = b->data + b->pos;
	tcpx_runs_write_init(&rw);
	if (op != TCPX_WIRE_SEND) {
		assert_true(tcpx_runs_write(&rw, &w.ref, &e, &at, b->data + b->cap));
		assert_true(tcpx_runs_write(&rw, &w.ref, NULL, &at, b->data + b->cap));
	}
	b->pos = (size_t)(at - b->data);
	tcpx_open_finish(b, inlined ? TCPX_OPEN_INLINE : 0, payload, inlined ? (uint16_t)total : 0);
}

void
tell_lie(uint8_t *bytes, const struct lie *lie)
{
	for (uint32_t i = 0; i < lie->size; i++)
		bytes[lie->at + i] = (uint8_t)(lie->value >> 8 * (lie->size - 1 - i));
}

void
assert_verdict(const char *what, int got, int want)
{
	if (got != want)
		fail_msg("%s: %s, %s expected", what, tcpx_strerror_name(got),
			 tcpx_strerror_name(want));
}

void
assert_goes_on(struct liar *l, const char *what)
{
	uint8_t room[512];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	write_open(l, &b, TCPX_WIRE_WRITE, SMALL, true);
	liar_put(l, TCPX_FR_OPEN, &b);
	assert_verdict(what, liar_verdict(l, l->opened), 0);
}

uint64_t
open_write(struct liar *l)
{
	uint8_t room[512];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	write_open(l, &b, TCPX_WIRE_WRITE, TWO_CHUNKS, false);
	liar_put(l, TCPX_FR_OPEN, &b);
	return l->opened;
}

struct tcpx_head
first_chunk(uint64_t id)
{
	return (struct tcpx_head){ .xfer = id, .len = CHUNK, .generation = 1, .seq = 1 };
}

void
assert_channel_works(struct liar *l, uint16_t channel, const char *what, uint64_t id)
{
	struct tcpx_head h = first_chunk(id);

	h.channel = channel;
	for (uint64_t k = 0; k < 2; k++) {
		h.chunk = (uint32_t)k;
		h.len = k ? TWO_CHUNKS - CHUNK : CHUNK;
		h.seq = ++l->seq[channel];
		liar_send(l, channel, &h, h.len);
	}
	assert_verdict(what, liar_verdict(l, id), 0);
}
