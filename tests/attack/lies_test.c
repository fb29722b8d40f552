/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lie in each field of each frame that a peer may say, one a session. Each is refused with its
 * code, or has no effect and the session goes on. A witness who works beside them sees nothing of
 * it, and no byte that was not granted changes. Of channels, and on them: lies_data_test.c.
 */
#include "lies.h"

#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"
#include "core/session/peer.h"

/* Offsets in the payload of OPEN, whose list is one region and one run. */
enum { ID = 0, OP = 8, FLAGS = 9, TOTAL = 10, CHUNK_AT = 18, ENTRIES = 30, NOTE_LEN = 34,
       LIST_LEN = 36, FIRST_OP = 38, REGION_ID = 39, KEY = 47, RUN_OP = 63, INDEX = 64, OFFSET = 65,
       LEN = 66 };

/* ---- OPEN ---- */

static void
lie_in_open(const struct lie *lie, size_t count, uint8_t op, uint64_t total, bool inlined)
{
	for (; count; count--, lie++) {
		uint8_t room[512];
		struct tcpx_buf b;
		struct liar l;

		liar_open(&l, lies_world()->host);
		assert_goes_on(&l, "before the lie");
		tcpx_buf_init(&b, room, sizeof(room));
		write_open(&l, &b, op, total, inlined);
		tell_lie(room, lie);
		liar_put(&l, TCPX_FR_OPEN, &b);
		assert_verdict(lie->what, liar_verdict(&l, l.opened), lie->want);
		if (lie->want != TCPX_EPROTO)
			assert_goes_on(&l, lie->what);
		liar_close(&l);
	}
	assert_witness_is_well();
}

TEST(in_a_write)
{
	static const struct lie lies[] = {
		{ "id that was used", ID, 8, 1, TCPX_EPROTO },
		{ "id 0", ID, 8, 0, TCPX_EPROTO },
		{ "id left out", ID, 8, 3, TCPX_EPROTO },
		{ "id of the host", ID, 8, 1ull << 63 | 2, TCPX_EPROTO },
		{ "op 0", OP, 1, 0, TCPX_EPROTO },
		{ "op 4", OP, 1, 4, TCPX_EPROTO },
		{ "a READ with its payload", OP, 1, TCPX_WIRE_READ, TCPX_EPROTO },
		{ "a SEND with a list", OP, 1, TCPX_WIRE_SEND, TCPX_EPROTO },
		{ "flag 8", FLAGS, 1, TCPX_OPEN_INLINE | 8, TCPX_EPROTO },
		{ "more list behind a payload", FLAGS, 1, TCPX_OPEN_INLINE | TCPX_OPEN_MORE, TCPX_EPROTO },
		{ "a payload that is not said", FLAGS, 1, 0, TCPX_EPROTO },
		{ "total above the payload", TOTAL, 8, SMALL + 1, TCPX_EPROTO },
		{ "total below the payload", TOTAL, 8, SMALL - 1, TCPX_EPROTO },
		{ "total of 2^64 - 1", TOTAL, 8, UINT64_MAX, TCPX_EPROTO },
		{ "no entry", ENTRIES, 4, 0, TCPX_EPROTO },
		{ "2 entries", ENTRIES, 4, 2, TCPX_EPROTO },
		{ "entries beyond the credit", ENTRIES, 4, 6000, TCPX_EPROTO },
		{ "2^32 - 1 entries", ENTRIES, 4, UINT32_MAX, TCPX_EPROTO },
		{ "a note beyond the frame", NOTE_LEN, 2, 400, TCPX_EPROTO },
		{ "a note of 65535 bytes", NOTE_LEN, 2, 65535, TCPX_EPROTO },
		{ "a list beyond the frame", LIST_LEN, 2, 2000, TCPX_EPROTO },
		{ "half a list", LIST_LEN, 2, 10, TCPX_EPROTO },
		{ "a run before a region", FIRST_OP, 1, 1, TCPX_EPROTO },
		{ "a region that there is not", REGION_ID, 8, 0x1234567890, TCPX_EREGION },
		{ "a wrong key", KEY, 1, 0x00, TCPX_EKEY },
		{ "a region twice", RUN_OP, 1, 0, TCPX_EPROTO },
		{ "index not introduced", INDEX, 1, 1, TCPX_EPROTO },
		{ "index without end", INDEX, 1, 0xff, TCPX_EPROTO },
		{ "offset -1", OFFSET, 1, 1, TCPX_EPROTO },
		{ "length 0", LEN, 1, 0, TCPX_EPROTO },
		{ "length above the total", LEN, 1, SMALL + 1, TCPX_EPROTO },
	};

	lie_in_open(lies, ITEMS(lies), TCPX_WIRE_WRITE, SMALL, true);
}

TEST(in_a_read)
{
	static const struct lie lies[] = {
		{ "chunk 0", CHUNK_AT, 4, 0, TCPX_EPROTO },
		{ "chunk 1", CHUNK_AT, 4, 1, TCPX_EPROTO },
		{ "chunk 4095", CHUNK_AT, 4, 4095, TCPX_EPROTO },
		{ "chunk beyond the session's", CHUNK_AT, 4, CHUNK + 1, TCPX_EPROTO },
		{ "total of 2^63", TOTAL, 8, 1ull << 63, TCPX_EPROTO },
		{ "total above the list", TOTAL, 8, 1001, TCPX_EPROTO },
		{ "a wrong key", KEY, 1, 0x00, TCPX_EKEY },
		{ "no list at all", LIST_LEN, 2, 0, TCPX_EPROTO },
	};

	lie_in_open(lies, ITEMS(lies), TCPX_WIRE_READ, 1000, false);
}

TEST(in_a_send)
{
	static const struct lie lies[] = {
		{ "chunk 0", CHUNK_AT, 4, 0, TCPX_EPROTO },
		{ "entries", ENTRIES, 4, 1, TCPX_EPROTO },
		{ "more list", FLAGS, 1, TCPX_OPEN_MORE, TCPX_EPROTO },
		{ "total without end", TOTAL, 8, UINT64_MAX, TCPX_EPROTO },
	};

	lie_in_open(lies, ITEMS(lies), TCPX_WIRE_SEND, 100000, false);
}

/* Lists that lie in more than a byte. */
TEST(in_a_list)
{
	static const struct {
		const char *what;
		struct tcpx_run_entry e;
		uint64_t total;
		int want;
	} lies[] = {
		{ "beyond the region", { 0, FAR, SMALL }, SMALL, TCPX_ERANGE },
		{ "half beyond it", { 0, FAR - SMALL / 2, SMALL }, SMALL, TCPX_ERANGE },
		{ "far beyond it", { 0, 1ull << 40, SMALL }, SMALL, TCPX_ERANGE },
		{ "longer than it", { 0, 0, FAR + 1 }, FAR + 1, TCPX_ERANGE },
		{ "longer than memory", { 0, 0, 1ull << 46 }, 1ull << 46, TCPX_ELIMIT },
		{ "around the end of addresses", { 0, UINT64_MAX - 7, SMALL }, SMALL, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_open o = { .op = TCPX_WIRE_WRITE, .total = lies[i].total, .chunk = CHUNK,
				       .entry_count = 1 };
		struct tcpx_runs_writer rw;
		uint8_t room[512], *at;
		struct tcpx_buf b;
		struct liar l;

		liar_open(&l, lies_world()->host);
		o.id = ++l.opened;
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_open_write(&b, &o);
		at = room + b.pos;
		tcpx_runs_write_init(&rw);
		assert_true(tcpx_runs_write(&rw, &lies_world()->ref, &lies[i].e, &at, room + sizeof(room)));
		assert_true(tcpx_runs_write(&rw, &lies_world()->ref, NULL, &at, room + sizeof(room)));
		b.pos = (size_t)(at - room);
		tcpx_open_finish(&b, 0, NULL, 0);
		liar_put(&l, TCPX_FR_OPEN, &b);
		assert_verdict(lies[i].what, liar_verdict(&l, 1), lies[i].want);
		liar_close(&l);
	}
	assert_witness_is_well();
}

TEST(rights_are_asked)
{
	static const unsigned access[] = { TCPX_MEM_REMOTE_READ, TCPX_MEM_REMOTE_WRITE, TCPX_MEM_LOCAL };
	struct lies *w = lies_world();
	struct tcpx_region_ref ref = w->ref;

	for (size_t i = 0; i < ITEMS(access); i++) {
		struct mem m;
		struct region g;
		uint8_t room[512];
		struct tcpx_buf b;
		struct liar l;

		mem_open(&m, lies_world()->host, 4096, access[i]);
		assert_int_equal(tcpx_region_get(&lies_world()->host->memory->regions, m.id, &g), 0);
		lies_world()->ref = g.ref;
		liar_open(&l, lies_world()->host);
		tcpx_buf_init(&b, room, sizeof(room));
		write_open(&l, &b, access[i] == TCPX_MEM_REMOTE_WRITE ? TCPX_WIRE_READ : TCPX_WIRE_WRITE,
			   1000, false);
		liar_put(&l, TCPX_FR_OPEN, &b);
		assert_verdict("an access without the right", liar_verdict(&l, 1), TCPX_EKEY);
		liar_close(&l);
		assert_ok(tcpx_mem_deregister(lies_world()->host, m.id));
		mem_close(&m);
	}
	lies_world()->ref = ref;
	assert_witness_is_well();
}

/* ---- frames of a number ---- */

TEST(in_a_number)
{
	static const struct {
		const char *what;
		uint8_t type;
		uint64_t value;
		int want;
	} lies[] = {
		{ "CANCEL of what was never opened", TCPX_FR_CANCEL, 7, TCPX_EPROTO },
		{ "CANCEL of the host's own", TCPX_FR_CANCEL, 1ull << 63 | 1, TCPX_EPROTO },
		{ "CANCEL of what has ended", TCPX_FR_CANCEL, 1, LIVES },
		{ "MATCHED that was never opened", TCPX_FR_MATCHED, 1ull << 63 | 1, TCPX_EPROTO },
		{ "MATCHED of its own", TCPX_FR_MATCHED, 1, TCPX_EPROTO },
		{ "NOTED of notes never sent", TCPX_FR_NOTED, 1, TCPX_EPROTO },
		{ "NOTED of 2^64 - 1", TCPX_FR_NOTED, UINT64_MAX, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct liar l;

		liar_open(&l, lies_world()->host);
		assert_goes_on(&l, "before the lie");
		liar_put_u64(&l, lies[i].type, lies[i].value);
		if (lies[i].want == LIVES)
			assert_goes_on(&l, lies[i].what);
		else
			assert_verdict(lies[i].what, liar_verdict(&l, 0), lies[i].want);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* Frames whose payload is too short, too long, or not theirs. */
TEST(in_a_payload)
{
	static const uint8_t bytes[TCPX_FRAME_MAX];
	static const struct {
		const char *what;
		uint8_t type;
		size_t len;
	} lies[] = {
		{ "OPEN without a payload", TCPX_FR_OPEN, 0 },
		{ "OPEN of zeros", TCPX_FR_OPEN, 100 },
		{ "LIST that nobody waits for", TCPX_FR_LIST, 11 },
		{ "LIST of 3 bytes", TCPX_FR_LIST, 3 },
		{ "MATCHED of 7 bytes", TCPX_FR_MATCHED, 7 },
		{ "CANCEL of 9 bytes", TCPX_FR_CANCEL, 9 },
		{ "NOTED of 4 bytes", TCPX_FR_NOTED, 4 },
		{ "DONE of 10 bytes", TCPX_FR_DONE, 10 },
		{ "a NOTE of 8193 bytes", TCPX_FR_NOTE, TCPX_NOTE_MAX + 1 },
		{ "BYE without a code", TCPX_FR_BYE, 0 },
		{ "BYE with code 0", TCPX_FR_BYE, 6 },
		{ "HANDLES again", TCPX_FR_HANDLES, 34 },
		{ "READY again", TCPX_FR_READY, 16 },
		{ "CHANNEL_DOWN of 2 bytes", TCPX_FR_CHANNEL_DOWN, 2 },
		{ "FENCED of 2 bytes", TCPX_FR_FENCED, 2 },
		{ "CHANNEL_ASK of 2 bytes", TCPX_FR_CHANNEL_ASK, 2 },
		{ "CHANNEL_HANDLE of 2 bytes", TCPX_FR_CHANNEL_HANDLE, 2 },
		{ "MESSAGE of 2 bytes", TCPX_FR_MESSAGE, 2 },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct liar l;

		liar_open(&l, lies_world()->host);
		liar_put_as(&l, lies[i].type, ++l.number, bytes, lies[i].len);
		assert_verdict(lies[i].what, liar_verdict(&l, 0), TCPX_EPROTO);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* ---- DONE ---- */

/* Of a READ of the host's; it must end with the code, whatever was said. */
TEST(in_an_answer)
{
	static const struct {
		const char *what;
		struct tcpx_done d;
		int want; /* how the host's transfer ends */
	} lies[] = {
		{ "DONE of a READ with other bytes", { .bytes = 999, .payload_len = 1000 }, TCPX_EPROTO },
		{ "DONE of a READ with a short payload", { .bytes = 1000, .payload_len = 999 }, TCPX_EPROTO },
		{ "DONE of a READ without one", { .bytes = 1000 }, TCPX_EPROTO },
		{ "DONE with -EAGAIN", { .code = -11 }, TCPX_EPROTO },
		{ "DONE with a code that is none", { .code = -99999 }, TCPX_EPROTO },
		{ "DONE with the least code", { .code = INT32_MIN }, TCPX_EPROTO },
		{ "DONE with one of a refusal", { .code = TCPX_ERANGE }, TCPX_ERANGE },
	};
	static const uint8_t bytes[1000];

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_desc near = { lies_world()->far.id, FAR / 2, 1000 }, far = { .len = 1000 };
		struct tcpx_done d = lies[i].d;
		uint8_t room[2048], blob[64], payload[TCPX_FRAME_MAX];
		size_t len = sizeof(blob);
		tcpx_peer *to;
		struct tcpx_buf b;
		struct liar l;
		tcpx_xfer *x;

		liar_open(&l, lies_world()->host);
		assert_ok(tcpx_mem_export(lies_world()->host, lies_world()->secret.id, blob, &len));
		assert_ok(tcpx_mem_import(lies_world()->host, blob, len, &far.region));
		assert_ok(tcpx_peer_find(lies_world()->host, "liar", &to));
		assert_ok(tcpx_read(to, &near, 1, &far, 1, NULL, 0, &x));
		assert_true(foe_get(&l.f, TCPX_FR_OPEN, payload, &len));
		tcpx_buf_init_const(&b, payload, len);
		d.id = tcpx_buf_get_u64(&b);
		d.payload = d.payload_len ? bytes : NULL;
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_done_write(&b, &d);
		liar_put(&l, TCPX_FR_DONE, &b);
		assert_verdict(lies[i].what, finish(x), lies[i].want);
		assert_ok(tcpx_mem_deregister(lies_world()->host, far.region));
		tcpx_peer_free(to);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* DONE of nobody's transfer, and twice. */
TEST(answers_to_nothing)
{
	struct tcpx_done d = { .id = 1ull << 63 | 1 };
	uint8_t room[512];
	struct tcpx_buf b;
	struct liar l;

	for (int own = 0; own < 2; own++) {
		d.id = own ? 1 : 1ull << 63 | 1;
		liar_open(&l, lies_world()->host);
		assert_goes_on(&l, "before the lie");
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_done_write(&b, &d);
		liar_put(&l, TCPX_FR_DONE, &b);
		assert_verdict("DONE of nothing", liar_verdict(&l, 0), TCPX_EPROTO);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* ---- heads of frames ---- */

TEST(in_the_head)
{
	static const struct lie lies[] = {
		{ "length 19", 0, 4, 19, TCPX_EPROTO },
		{ "length 16385", 0, 4, TCPX_FRAME_MAX + 1, TCPX_EPROTO },
		{ "length 2^31", 0, 4, 1u << 31, TCPX_EPROTO },
		{ "type 0", 4, 1, 0, TCPX_EPROTO },
		{ "type 49", 4, 1, 49, TCPX_EPROTO },
		{ "type 64, of what may come", 4, 1, 64, TCPX_EPROTO },
		{ "a flag", 5, 1, 1, TCPX_EPROTO },
		{ "no zero", 6, 2, 1, TCPX_EPROTO },
		{ "number 0", 8, 8, 0, TCPX_EPROTO },
		{ "a number left out", 8, 8, 3, TCPX_EPROTO },
		{ "a number of 2^64 - 1", 8, 8, UINT64_MAX, TCPX_EPROTO },
	};
	uint8_t room[TCPX_FRAME_HEAD + 4] = { 0 };
	struct tcpx_buf b;
	struct liar l;

	for (size_t i = 0; i < 2 * ITEMS(lies); i++) {
		const struct lie *lie = &lies[i / 2];

		liar_open(&l, lies_world()->host);
		tcpx_frame_head_write(room, TCPX_FR_NOTE, 2, 4);
		tell_lie(room, lie);
		if (i % 2) { /* with a check that fits */
			tcpx_buf_init(&b, room + 16, 4);
			tcpx_buf_put_u32(&b, tcpx_frame_head_own(room).len ^ room[4] ^
					     (uint32_t)tcpx_frame_head_own(room).number);
		}
		foe_say(&l.f, room, sizeof(room));
		assert_verdict(lie->what, liar_verdict(&l, 0), lie->want);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* A frame that has come is not taken twice, as after a resume. */
TEST(said_twice)
{
	struct liar l;

	liar_open(&l, lies_world()->host);
	liar_put_as(&l, TCPX_FR_NOTE, ++l.number, "once", 4);
	liar_put_as(&l, TCPX_FR_NOTE, l.number, "once", 4);
	assert_goes_on(&l, "a number twice");
	assert_note(lies_world()->host, "liar", "once");
	assert_no_note(lies_world()->host);
	liar_close(&l);
	assert_witness_is_well();
}

/* Frames of a connection: misplaced, or with a lie. */
TEST(of_a_connection)
{
	static const struct {
		const char *what;
		uint8_t type, byte;
		size_t len;
		int want;
	} lies[] = {
		{ "HELLO again", TCPX_FR_HELLO, 0, 100, TCPX_EPROTO },
		{ "START again", TCPX_FR_START, 0, 14, TCPX_EPROTO },
		{ "RESUME in a session", TCPX_FR_RESUME, 0, 60, TCPX_EPROTO },
		{ "RESUMED that nobody asked for", TCPX_FR_RESUMED, 0, 60, TCPX_EPROTO },
		{ "ACK of frames never sent", TCPX_FR_ACK, 0x7f, 8, TCPX_EPROTO },
		{ "ACK of 3 bytes", TCPX_FR_ACK, 0, 3, TCPX_EPROTO },
		{ "ACK of what was acknowledged", TCPX_FR_ACK, 0, 8, LIVES },
		{ "REFUSE without a code", TCPX_FR_REFUSE, 0, 2, TCPX_EPROTO },
		{ "REFUSE with a positive code", TCPX_FR_REFUSE, 1, 6, TCPX_EPROTO },
		{ "PONG that nobody asked for", TCPX_FR_PONG, 0, 0, LIVES },
		{ "PING with words", TCPX_FR_PING, 0, 5, LIVES },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		uint8_t bytes[128];
		struct liar l;

		memset(bytes, lies[i].byte, sizeof(bytes));
		liar_open(&l, lies_world()->host);
		liar_put_as(&l, lies[i].type, 0, bytes, lies[i].len);
		if (lies[i].want == LIVES)
			assert_goes_on(&l, lies[i].what);
		else
			assert_verdict(lies[i].what, liar_verdict(&l, 0), lies[i].want);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* HELLO names an address, and control connection and channels come from another: nobody is called there. */
TEST(of_an_address)
{
	struct tcpx_hello h = foe_introduction("elsewhere");
	tcpx_peer *found;
	struct liar l;

	h.session = h.incarnation = 4000;
	h.nic[0].addr.port = 7;
	assert_true(liar_greet(&l, lies_world()->host, &h));
	liar_wire(&l);
	assert_ok(tcpx_peer_find(lies_world()->host, "elsewhere", &found));
	assert_ok(tcpx_peer_wait(found, WAIT_MS));
	assert_int_equal(found->addr_count, 0);
	tcpx_peer_free(found);
	liar_close(&l);
	assert_witness_is_well();
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
