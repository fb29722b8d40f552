/* SPDX-License-Identifier: Apache-2.0 */
/* TCPX_CHECKSUM on a scripted network that gets bits wrong. */
#include "nic_lab.h"

#include <string.h>

#define LEN  (3u << 20)
#define PPM  1000000u
#define NETS 3

static const struct tcpx_net_ops *const nets[NETS] = { &tcpx_net_loop, &tcpx_net_loop_lend,
						       &tcpx_net_loop_comm };
static const char *const plain[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
				     "TCPX_DEBUG=WARN", "TCPX_CHUNK=64K", NULL };
static const char *const summed[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
				      "TCPX_DEBUG=WARN", "TCPX_CHUNK=64K", "TCPX_CHECKSUM=1",
				      NULL };

/* Memory of both sides, and the last transfer between it. */
struct pair {
	struct mem near, far;
	struct tcpx_desc l, f;
	tcpx_xfer *x;
};

static void
pair_open(struct lab *t, struct pair *m)
{
	mem_open(&m->near, t->a, LEN, TCPX_MEM_LOCAL);
	mem_open(&m->far, t->b, LEN, TCPX_MEM_REMOTE_WRITE | TCPX_MEM_REMOTE_READ);
	m->l = (struct tcpx_desc){ m->near.id, 0, LEN };
	m->f = (struct tcpx_desc){ mem_tell(&m->far, t->b, t->a), 0, LEN };
}

static void
pair_close(struct pair *m)
{
	mem_close(&m->near);
	mem_close(&m->far);
}

/* Writes or reads @len bytes of pattern @seed; how it ended. */
static int
move_some(struct lab *t, struct pair *m, bool read, uint64_t len, uint32_t seed)
{
	int rc;

	fill(read ? m->far.at : m->near.at, len, seed);
	fill(read ? m->near.at : m->far.at, len, seed + 1);
	m->l.len = m->f.len = len;
	assert_ok((read ? tcpx_read : tcpx_write)(t->p, &m->l, 1, &m->f, 1, NULL, 0, &m->x));
	assert_true(run_until(t, over, m->x, 60 * TCPX_SEC));
	rc = tcpx_test(m->x);
	if (rc == 0 && counters_of(t->a).chunks_corrupt + counters_of(t->b).chunks_corrupt)
		assert_filled(read ? m->near.at : m->far.at, len, seed);
	return rc;
}

static bool
is_right(const struct pair *m, uint64_t len)
{
	return !memcmp(m->near.at, m->far.at, len);
}

TEST(changed_payload_is_sent_again)
{
	for (int i = 0; i < NETS; i++) {
		struct tcpx_counters a, b;
		struct pair m;
		struct lab t;

		lab_open(&t, nets[i], summed);
		meet(&t);
		pair_open(&t, &m);
		tcpx_fabric_set_flips(t.fabric, TCPX_FABRIC_DATA, i == 2 ? PPM / 1000 : PPM / 100);
		for (uint32_t k = 0; k < 6; k++) {
			assert_ok(move_some(&t, &m, k % 2, LEN, 10 * k));
			assert_true(is_right(&m, LEN));
			tcpx_xfer_free(m.x);
		}
		a = counters_of(t.a);
		b = counters_of(t.b);
		assert_true(tcpx_fabric_flips(t.fabric) > 0);
		assert_true(a.chunks_corrupt > 0 && b.chunks_corrupt > 0);
		assert_true(a.chunks_resent >= b.chunks_corrupt);
		assert_true(b.chunks_resent >= a.chunks_corrupt);
		assert_true(t.warnings > 0);
		pair_close(&m);
		lab_close(&t);
	}
}

/* A connection takes parts of a chunk: its sum counts each of its bytes once. */
TEST(a_chunk_that_goes_in_parts_is_summed_once)
{
	static const struct tcpx_fabric_script narrow = { .buffer_bytes = 100000,
							  .short_ppm = PPM / 2 };
	static const char *const chunk[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
					     "TCPX_DEBUG=WARN", "TCPX_CHUNK=256K",
					     "TCPX_CHECKSUM=1", NULL };

	for (int i = 0; i < NETS; i++) {
		struct pair m;
		struct lab t;

		lab_open_on(&t, nets[i], chunk, &narrow);
		meet(&t);
		pair_open(&t, &m);
		for (uint32_t k = 0; k < 2; k++) {
			assert_ok(move_some(&t, &m, k % 2, LEN, 10 * k));
			assert_true(is_right(&m, LEN));
			tcpx_xfer_free(m.x);
		}
		assert_int_equal(counters_of(t.a).chunks_corrupt + counters_of(t.b).chunks_corrupt, 0);
		pair_close(&m);
		lab_close(&t);
	}
}

/* Payload in OPEN and DONE, lists and answers. */
TEST(changed_frames_are_repeated)
{
	for (int i = 0; i < NETS; i++) {
		struct pair m;
		struct lab t;

		lab_open(&t, nets[i], summed);
		meet(&t);
		pair_open(&t, &m);
		tcpx_fabric_set_flips(t.fabric, TCPX_FABRIC_CONTROL, PPM / 20);
		for (uint32_t k = 0; k < 300; k++) {
			assert_ok(move_some(&t, &m, k % 2, 1000, k));
			assert_true(is_right(&m, 1000));
			tcpx_xfer_free(m.x);
		}
		assert_true(tcpx_fabric_flips(t.fabric) > 0);
		assert_true(counters_of(t.a).frames_corrupt > 0);
		assert_true(counters_of(t.b).frames_corrupt > 0);
		assert_true(counters_of(t.a).ctrl_resumes > 0);
		pair_close(&m);
		lab_close(&t);
	}
}

/* Without the setting nothing is summed, and nothing is found. */
TEST(either_side_may_ask)
{
	for (int i = 0; i < 4 * NETS; i++) {
		bool wanted = i % 4;
		uint64_t found;
		struct pair m;
		struct lab t;

		lab_open_two(&t, nets[i / 4], i & 1 ? summed : plain, i & 2 ? summed : plain);
		meet(&t);
		pair_open(&t, &m);
		tcpx_fabric_set_flips(t.fabric, TCPX_FABRIC_DATA, i >= 8 ? PPM / 1000 : PPM / 100);
		assert_ok(move_some(&t, &m, false, LEN, 1));
		found = counters_of(t.b).chunks_corrupt;
		assert_true(tcpx_fabric_flips(t.fabric) > 0);
		assert_int_equal(found > 0, wanted);
		assert_int_equal(is_right(&m, LEN), wanted);
		assert_int_equal(counters_of(t.a).chunks_resent > 0, wanted);
		tcpx_xfer_free(m.x);
		pair_close(&m);
		lab_close(&t);
	}
}

/* More messages of a transfer arrive changed than would end it in a row. */
TEST(a_transfer_bears_many_changes_with_good_chunks_between)
{
	for (int i = 0; i < 2 * NETS; i++) {
		uint32_t flips = i % NETS == 2 ? PPM / 60 : PPM / 6;
		bool read = i / NETS;
		struct pair m;
		struct lab t;

		lab_open(&t, nets[i % NETS], summed);
		meet(&t);
		pair_open(&t, &m);
		tcpx_fabric_set_flips(t.fabric, TCPX_FABRIC_DATA, flips);
		assert_ok(move_some(&t, &m, read, LEN, 1));
		assert_in_range(counters_of(read ? t.a : t.b).chunks_corrupt, 6, UINT32_MAX);
		assert_true(is_right(&m, LEN));
		tcpx_xfer_free(m.x);
		pair_close(&m);
		lab_close(&t);
	}
}

struct ends {
	tcpx_lane *tx, *rx;
};

static bool
is_ready(void *arg)
{
	const struct ends *l = arg;

	return tcpx_lane_ready(l->tx) == 0 && tcpx_lane_ready(l->rx) == 0;
}

/* Changes of messages that come before their receives are counted for the lane. */
TEST(a_lane_bears_many_changes_with_good_messages_between)
{
	enum { BYTES = 32768, COUNT = 60 };

	for (int i = 0; i < 2; i++) { /* the third net has no lanes */
		uint8_t key[TCPX_LANE_KEY];
		tcpx_xfer *in, *out;
		struct ends l;
		struct pair m;
		struct lab t;

		lab_open(&t, nets[i], summed);
		meet(&t);
		pair_open(&t, &m);
		assert_ok(tcpx_lane_listen(t.b, key, &l.rx));
		assert_ok(tcpx_lane_open(t.p, key, &l.tx));
		assert_true(run_until(&t, is_ready, &l, TCPX_SEC));
		tcpx_fabric_set_flips(t.fabric, TCPX_FABRIC_DATA, PPM / 6);
		for (uint32_t k = 0; k < COUNT; k++) {
			fill(m.near.at, BYTES, k);
			assert_ok(tcpx_lane_post(l.tx, m.near.id, 0, BYTES, &out));
			assert_true(run_until(&t, over, out, 60 * TCPX_SEC));
			assert_ok(tcpx_lane_post(l.rx, m.far.id, 0, BYTES, &in));
			assert_true(run_until(&t, over, in, 60 * TCPX_SEC));
			assert_ok(tcpx_test(out));
			assert_ok(tcpx_test(in));
			assert_filled(m.far.at, BYTES, k);
			tcpx_xfer_free(out);
			tcpx_xfer_free(in);
		}
		assert_in_range(counters_of(t.b).chunks_corrupt, 6, UINT32_MAX);
		tcpx_lane_close(l.tx);
		tcpx_lane_close(l.rx);
		pair_close(&m);
		lab_close(&t);
	}
}

TEST(what_never_arrives_right_ends_its_transfer)
{
	for (int i = 0; i < 2 * NETS; i++) {
		struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
		struct pair m;
		struct lab t;

		lab_open(&t, nets[i % NETS], summed);
		meet(&t);
		pair_open(&t, &m);
		tcpx_fabric_set_flips(t.fabric, TCPX_FABRIC_DATA, PPM);
		assert_code(move_some(&t, &m, i / NETS, LEN, 1), TCPX_EDATA);
		assert_ok(tcpx_xfer_query(m.x, &info));
		if (!strstr(info.cause, "arrived changed"))
			fail_msg("\"%s\"", info.cause);
		tcpx_xfer_free(m.x);
		tcpx_fabric_set_flips(t.fabric, TCPX_FABRIC_DATA, 0);
		assert_ok(move_some(&t, &m, i / NETS, LEN, 5));
		assert_true(is_right(&m, LEN));
		tcpx_xfer_free(m.x);
		pair_close(&m);
		lab_close(&t);
	}
}
