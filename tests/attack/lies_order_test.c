/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames come amid a list, beyond the credit, or speak of transfers that are open. The host ends
 * the session then, and a witness beside it sees nothing of that.
 */
#include "lane_lies.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "core/context/context.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"
#include "core/session/session.h"

/* These are offsets in the payload of OPEN, whose list is one region and one run. */
enum { FLAGS = 9, TOTAL = 10, ENTRIES = 30, KEY = 47, HALF = 1000 };

/* Opens a WRITE of two pieces with half of its list. With a wrong key it is refused. */
static void
open_half(struct liar *l, bool wrong)
{
	static const struct lie half[] = { { "", FLAGS, 1, TCPX_OPEN_MORE, 0 },
					   { "", TOTAL, 8, 2 * HALF, 0 },
					   { "", ENTRIES, 4, 2, 0 } };
	uint8_t room[512];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	write_open(l, &b, TCPX_WIRE_WRITE, HALF, false);
	for (size_t i = 0; i < ITEMS(half); i++)
		tell_lie(room, &half[i]);
	room[KEY] ^= wrong;
	liar_put(l, TCPX_FR_OPEN, &b);
}

/* Says the second half of the list, for transfer @id. */
static void
say_list(struct liar *l, uint64_t id, bool more)
{
	const struct tcpx_region_ref *ref = &lies_world()->ref;
	struct tcpx_run_entry first = { 0, 0, HALF }, second = { 0, HALF, HALF };
	uint8_t room[512], *at = room, *end = room + sizeof(room);
	struct tcpx_runs_writer rw;
	struct tcpx_buf b;

	tcpx_runs_write_init(&rw);
	assert_true(tcpx_runs_write(&rw, ref, &first, &at, end)); /* as OPEN has it */
	assert_true(tcpx_runs_write(&rw, ref, NULL, &at, end));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_listframe_write(&b, id);
	at = room + b.pos;
	assert_true(tcpx_runs_write(&rw, ref, &second, &at, end));
	assert_true(tcpx_runs_write(&rw, ref, NULL, &at, end));
	b.pos = (size_t)(at - room);
	tcpx_listframe_finish(&b, more);
	liar_put(l, TCPX_FR_LIST, &b);
}

/* Opens an honest WRITE under the number @id. */
static void
open_as(struct liar *l, uint64_t id)
{
	uint8_t room[512];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	l->opened = id - 1;
	write_open(l, &b, TCPX_WIRE_WRITE, SMALL, true);
	liar_put(l, TCPX_FR_OPEN, &b);
}

TEST(amid_a_list)
{
	static const struct {
		const char *what;
		bool wrong; /* the transfer of the half list was refused */
		uint8_t type;
		uint64_t id;
	} lies[] = {
		{ "the same OPEN again", false, TCPX_FR_OPEN, 1 },
		{ "the next OPEN", false, TCPX_FR_OPEN, 2 },
		{ "the list of the next", false, TCPX_FR_LIST, 2 },
		{ "the list of transfer 0", false, TCPX_FR_LIST, 0 },
		{ "the refused OPEN again", true, TCPX_FR_OPEN, 1 },
		{ "the OPEN behind a refused one", true, TCPX_FR_OPEN, 2 },
		{ "the list behind a refused one", true, TCPX_FR_LIST, 2 },
		{ "the list of the host's", true, TCPX_FR_LIST, 1ull << 63 | 1 },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct liar l;

		liar_open(&l, lies_world()->host);
		open_half(&l, lies[i].wrong);
		if (lies[i].type == TCPX_FR_OPEN)
			open_as(&l, lies[i].id);
		else
			say_list(&l, lies[i].id, false);
		assert_verdict(lies[i].what, liar_verdict(&l, 0), TCPX_EPROTO);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* A list that is not needed any more is passed over as far as it goes, and no further. */
TEST(a_refused_list_is_passed_over)
{
	struct liar l;

	liar_open(&l, lies_world()->host);
	open_half(&l, true);
	assert_verdict("a wrong key", liar_verdict(&l, 1), TCPX_EKEY);
	say_list(&l, 1, true);
	say_list(&l, 1, false);
	assert_goes_on(&l, "the end of the list");
	say_list(&l, 1, false);
	assert_verdict("a list behind its end", liar_verdict(&l, 0), TCPX_EPROTO);
	liar_close(&l);
	assert_witness_is_well();
}

/* Waits until the host has read the OPEN of a list that is not complete. */
static void
wait_opening(void)
{
	struct session *s = NULL;
	bool opening = false;

	while (!opening) {
		sched_yield();
		while ((s = tcpx_session_after(lies_world()->host, s))) {
			pthread_mutex_lock(&s->lock);
			opening |= s->xfers.opening != NULL;
			pthread_mutex_unlock(&s->lock);
		}
	}
}

/* The owner takes its memory back between two frames of a list that names it. */
TEST(a_region_that_goes_while_its_list_comes)
{
	struct tcpx_region_ref ref = lies_world()->ref;
	struct region g;
	struct liar l;
	struct mem m;

	mem_open(&m, lies_world()->host, 2 * HALF, TCPX_MEM_REMOTE_WRITE);
	assert_int_equal(tcpx_region_get(&lies_world()->host->memory->regions, m.id, &g), 0);
	lies_world()->ref = g.ref;
	liar_open(&l, lies_world()->host);
	open_half(&l, false);
	wait_opening();
	assert_ok(tcpx_mem_deregister(lies_world()->host, m.id));
	say_list(&l, 1, false);
	assert_verdict("a region that has gone", liar_verdict(&l, 1), TCPX_EREGION);
	lies_world()->ref = ref;
	assert_goes_on(&l, "another region");
	liar_close(&l);
	mem_close(&m);
	assert_witness_is_well();
}

/* The host bears some more than it grants, since the sides count with a delay. */
TEST(beyond_the_number_of_transfers)
{
	static const struct {
		const char *what;
		uint8_t op;
		uint32_t grants; /* so many times the grant is borne */
	} rows[] = {
		{ "WRITEs whose chunks never come", TCPX_WIRE_WRITE, 4 },
		{ "SENDs without a receive", TCPX_WIRE_SEND, 2 },
	};
	uint32_t grant = lies_world()->host->limit.credit_xfers;

	for (size_t i = 0; i < ITEMS(rows); i++) {
		uint8_t room[512];
		struct tcpx_buf b;
		struct liar l;

		liar_open(&l, lies_world()->host);
		for (uint32_t n = 0; n < rows[i].grants * grant + 2; n++) {
			if (n == rows[i].grants * grant)
				assert_goes_on(&l, rows[i].what);
			tcpx_buf_init(&b, room, sizeof(room));
			write_open(&l, &b, rows[i].op, TWO_CHUNKS, false);
			liar_put(&l, TCPX_FR_OPEN, &b);
		}
		assert_verdict(rows[i].what, liar_verdict(&l, 0), TCPX_EPROTO);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* The application takes no notes. The host bears 64 that it has no room for. */
TEST(beyond_the_notes_on_the_way)
{
	enum { ROOM = 16, AHEAD = 64 };
	tcpx_engine *host = open_with("silent", NULL, "TCPX_NOTE_LIMIT=16");
	uint8_t payload[TCPX_FRAME_MAX];
	struct liar l;
	size_t len;

	liar_open(&l, host);
	for (int n = 0; n < ROOM + AHEAD; n++)
		liar_put_as(&l, TCPX_FR_NOTE, ++l.number, "note", 4);
	liar_put_as(&l, TCPX_FR_PING, 0, NULL, 0);
	assert_true(foe_get(&l.f, TCPX_FR_PONG, payload, &len));
	liar_put_as(&l, TCPX_FR_NOTE, ++l.number, "note", 4);
	assert_verdict("a note too many", liar_verdict(&l, 0), TCPX_EPROTO);
	liar_close(&l);
	tcpx_close(host);
}

/* ---- about transfers that are open ---- */

static void
say_done(struct liar *l, uint64_t id)
{
	struct tcpx_done d = { .id = id };
	uint8_t room[512];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_done_write(&b, &d);
	liar_put(l, TCPX_FR_DONE, &b);
}

static void
say(struct liar *l, uint8_t type, uint64_t id)
{
	if (type == TCPX_FR_DONE)
		say_done(l, id);
	else
		liar_put_u64(l, type, id);
}

/* The liar speaks of its own WRITE, whose chunks have not come. */
TEST(of_the_liars_own)
{
	static const uint8_t types[] = { TCPX_FR_DONE, TCPX_FR_MATCHED };

	for (size_t i = 0; i < ITEMS(types); i++) {
		struct liar l;

		liar_open(&l, lies_world()->host);
		say(&l, types[i], open_write(&l));
		assert_verdict(tcpx_frame_name(types[i]), liar_verdict(&l, 0), TCPX_EPROTO);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* Imports a region that the host takes for the liar's. */
static uint64_t
import_any(void)
{
	uint8_t blob[64];
	size_t len = sizeof(blob);
	uint64_t id;

	assert_ok(tcpx_mem_export(lies_world()->host, lies_world()->secret.id, blob, &len));
	assert_ok(tcpx_mem_import(lies_world()->host, blob, len, &id));
	return id;
}

/* Posts a transfer of the host's to the liar. Sets *id to the number in its OPEN. */
static tcpx_xfer *
open_theirs(struct liar *l, tcpx_peer *to, uint8_t op, uint64_t region, uint64_t len,
	    uint64_t *id)
{
	struct tcpx_desc near = { lies_world()->far.id, FAR / 2, len };
	struct tcpx_desc far = { region, 0, len };
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	tcpx_xfer *x;
	size_t size;

	if (op == TCPX_WIRE_SEND)
		assert_ok(tcpx_send(to, &near, 1, 7, &x));
	else
		assert_ok(tcpx_read(to, &near, 1, &far, 1, NULL, 0, &x));
	assert_true(foe_get(&l->f, TCPX_FR_OPEN, payload, &size));
	tcpx_buf_init_const(&b, payload, size);
	*id = tcpx_buf_get_u64(&b);
	return x;
}

TEST(of_the_hosts)
{
	enum { READ = TCPX_WIRE_READ, SEND = TCPX_WIRE_SEND };
	static const struct {
		const char *what;
		uint8_t op, first, lie; /* first: said before, honestly; 0: nothing */
		uint64_t len;
	} lies[] = {
		{ "CANCEL of a READ of the host's", READ, 0, TCPX_FR_CANCEL, TWO_CHUNKS },
		{ "MATCHED of a READ", READ, 0, TCPX_FR_MATCHED, TWO_CHUNKS },
		{ "DONE of a READ without its bytes", READ, 0, TCPX_FR_DONE, TWO_CHUNKS },
		{ "CANCEL of a SEND of the host's", SEND, 0, TCPX_FR_CANCEL, TWO_CHUNKS },
		{ "MATCHED of a SEND that came whole", SEND, 0, TCPX_FR_MATCHED, SMALL },
		{ "MATCHED twice", SEND, TCPX_FR_MATCHED, TCPX_FR_MATCHED, TWO_CHUNKS },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		uint64_t id, region = import_any();
		struct liar l;
		tcpx_peer *to;
		tcpx_xfer *x;

		liar_open(&l, lies_world()->host);
		assert_ok(tcpx_peer_find(lies_world()->host, "liar", &to));
		x = open_theirs(&l, to, lies[i].op, region, lies[i].len, &id);
		if (lies[i].first) {
			say(&l, lies[i].first, id);
			assert_goes_on(&l, "an honest one");
		}
		say(&l, lies[i].lie, id);
		assert_verdict(lies[i].what, liar_verdict(&l, 0), TCPX_EPROTO);
		assert_verdict(lies[i].what, finish(x), TCPX_EPROTO);
		assert_ok(tcpx_mem_deregister(lies_world()->host, region));
		tcpx_peer_free(to);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* A closed lane stays until the sends that have gone are acknowledged. It gets no receives any more. */
TEST(receives_behind_the_close_of_their_lane)
{
	struct spoken s;
	tcpx_xfer *x;

	spoken_open(&s);
	say_posts(&s.l, OURS | word(1), 1, 1, TWO_CHUNKS);
	assert_ok(tcpx_lane_post(s.lane, lies_world()->far.id, 0, TWO_CHUNKS, &x));
	assert_goes_on(&s.l, "a send that is under way");
	liar_put_u64(&s.l, TCPX_FR_LANE_CLOSE, OURS | word(1));
	assert_goes_on(&s.l, "an honest close");
	assert_code(tcpx_test(x), -EAGAIN);
	say_posts(&s.l, OURS | word(1), 2, 1, TWO_CHUNKS);
	assert_verdict("LANE_POST behind LANE_CLOSE", liar_verdict(&s.l, 0), TCPX_EPROTO);
	tcpx_xfer_free(x);
	spoken_close(&s);
	assert_witness_is_well();
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
