/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes in an engine's report: open ones, failed ones, messages and bytes each way. */
#include "stats_bed.h"

#include <errno.h>
#include <sched.h>

#include "measure/top/top.h"

/* A lane from anna to bert. */
static void
open_lane(struct rig *r, tcpx_lane **tx, tcpx_lane **rx)
{
	uint8_t key[TCPX_LANE_KEY];
	int rc;

	assert_ok(tcpx_lane_listen(r->b, key, rx));
	assert_ok(tcpx_lane_open(r->to_b, key, tx));
	while ((rc = tcpx_lane_ready(*tx)) == -EAGAIN)
		sched_yield();
	assert_ok(rc);
}

static void
pass(struct rig *r, tcpx_lane *tx, tcpx_lane *rx, uint64_t len)
{
	tcpx_xfer *in, *out;

	assert_ok(tcpx_lane_post(rx, r->far.id, 0, 1 << 20, &in));
	assert_ok(tcpx_lane_post(tx, r->near.id, 0, len, &out));
	assert_ok(tcpx_wait(in, WAIT_MS));
	assert_ok(tcpx_wait(out, WAIT_MS));
	tcpx_xfer_free(in);
	tcpx_xfer_free(out);
}

/* The figures of an engine's only session. */
static void
assert_lanes(const struct bed *b, const char *engine, const double figures[6])
{
	static const char *const names[] = { "lanes", "lanes_failed", "lane_messages_tx",
					     "lane_messages_rx", "lane_bytes_tx", "lane_bytes_rx" };
	json_t *doc = bed_look(b);
	const json_t *session = json_array_get(top_list(engine_named(doc, engine), "sessions"), 0);

	for (int i = 0; i < 6; i++)
		if (!json_is_integer(json_object_get(session, names[i])) ||
		    top_number(session, names[i]) != figures[i])
			fail_msg("%s of %s: %g, not %g", names[i], engine,
				 top_number(session, names[i]), figures[i]);
	json_decref(doc);
}

static void
snapshot_counts_lanes_and_their_messages(void **state)
{
	struct bed *b = *state;
	tcpx_lane *tx[3], *rx[3];
	tcpx_xfer *in;
	struct rig r;

	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 1 << 20, 1 << 20);
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, 1 << 20)); /* of no lane */
	for (int i = 0; i < 3; i++)
		open_lane(&r, &tx[i], &rx[i]);
	pass(&r, tx[0], rx[0], 0);
	pass(&r, tx[0], rx[0], 1000003);
	pass(&r, tx[2], rx[2], 8);
	assert_lanes(b, "anna", (double[]){ 3, 0, 3, 0, 1000011, 0 });
	assert_lanes(b, "bert", (double[]){ 3, 0, 0, 3, 0, 1000011 });

	tcpx_lane_close(tx[0]); /* with nothing open */
	while (tcpx_lane_ready(rx[0]) == 0)
		sched_yield();
	assert_lanes(b, "anna", (double[]){ 2, 0, 3, 0, 1000011, 0 });
	assert_lanes(b, "bert", (double[]){ 2, 0, 0, 3, 0, 1000011 });

	assert_ok(tcpx_lane_post(rx[1], r.far.id, 0, 8, &in));
	tcpx_cancel(in);
	assert_code(tcpx_wait(in, WAIT_MS), TCPX_ECANCELED);
	tcpx_xfer_free(in);
	while (tcpx_lane_ready(tx[1]) == 0)
		sched_yield();
	assert_lanes(b, "anna", (double[]){ 1, 1, 3, 0, 1000011, 0 });
	assert_lanes(b, "bert", (double[]){ 1, 1, 0, 3, 0, 1000011 });
	for (int i = 0; i < 3; i++) {
		tcpx_lane_close(rx[i]);
		if (i)
			tcpx_lane_close(tx[i]);
	}
	rig_end(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(snapshot_counts_lanes_and_their_messages, bed_setup,
						bed_teardown),
	};

	return cmocka_run_group_tests_name("tool/lane_stats", tests, NULL, NULL);
}
