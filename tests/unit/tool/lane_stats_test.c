/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes in an engine's report, by session and by label: open ones, failed ones, messages and bytes each
 * way, and messages that wait. */
#include "stats_bed.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

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

static void
assert_figures(const json_t *o, const char *of, const double figures[8])
{
	static const char *const names[] = { "lanes", "lanes_failed", "lane_messages_tx",
					     "lane_messages_rx", "lane_bytes_tx", "lane_bytes_rx",
					     "lane_waiting_tx", "lane_waiting_rx" };

	for (int i = 0; i < 8; i++)
		if (!json_is_integer(json_object_get(o, names[i])) ||
		    top_number(o, names[i]) != figures[i])
			fail_msg("%s of %s: %g, not %g", names[i], of, top_number(o, names[i]),
				 figures[i]);
}

/* The figures of an engine's only session. */
static void
assert_lanes(const struct bed *b, const char *engine, const double figures[8])
{
	json_t *doc = bed_look(b);

	assert_figures(json_array_get(top_list(engine_named(doc, engine), "sessions"), 0), engine,
		       figures);
	json_decref(doc);
}

/* Of a label; NULL: it is not there. */
static void
assert_label(const struct bed *b, const char *engine, const char *label, const double figures[8])
{
	json_t *doc = bed_look(b);
	const json_t *o, *found = NULL;
	size_t i;

	json_array_foreach(top_list(engine_named(doc, engine), "lane_labels"), i, o)
		if (!strcmp(top_string(o, "label"), label)) {
			assert_null(found);
			found = o;
		}
	if (figures)
		assert_figures(found, label, figures);
	else
		assert_null(found);
	json_decref(doc);
}

TEST_WITH(snapshot_counts_lanes_and_their_messages, bed_setup, bed_teardown)
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
	assert_lanes(b, "anna", (double[]){ 3, 0, 3, 0, 1000011, 0, 0, 0 });
	assert_lanes(b, "bert", (double[]){ 3, 0, 0, 3, 0, 1000011, 0, 0 });

	tcpx_lane_close(tx[0]); /* with nothing open */
	while (tcpx_lane_ready(rx[0]) == 0)
		sched_yield();
	assert_lanes(b, "anna", (double[]){ 2, 0, 3, 0, 1000011, 0, 0, 0 });
	assert_lanes(b, "bert", (double[]){ 2, 0, 0, 3, 0, 1000011, 0, 0 });

	assert_ok(tcpx_lane_post(rx[1], r.far.id, 0, 8, &in));
	assert_lanes(b, "bert", (double[]){ 2, 0, 0, 3, 0, 1000011, 0, 1 });
	tcpx_cancel(in);
	assert_code(tcpx_wait(in, WAIT_MS), TCPX_ECANCELED);
	tcpx_xfer_free(in);
	while (tcpx_lane_ready(tx[1]) == 0)
		sched_yield();
	assert_lanes(b, "anna", (double[]){ 1, 1, 3, 0, 1000011, 0, 0, 0 });
	assert_lanes(b, "bert", (double[]){ 1, 1, 0, 3, 0, 1000011, 0, 0 });
	for (int i = 0; i < 3; i++) {
		tcpx_lane_close(rx[i]);
		if (i)
			tcpx_lane_close(tx[i]);
	}
	rig_end(&r);
}

/* Each end has its own. */
TEST_WITH(lanes_of_a_label_are_summed, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	tcpx_lane *tx[3], *rx[3];
	tcpx_xfer *in;
	struct rig r;

	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 1 << 20, 1 << 20);
	for (int i = 0; i < 3; i++)
		open_lane(&r, &tx[i], &rx[i]);
	assert_label(b, "anna", "red", NULL);
	assert_ok(tcpx_lane_label(tx[0], "red"));
	assert_ok(tcpx_lane_label(tx[1], "red"));
	assert_ok(tcpx_lane_label(tx[2], "bl\"ue\\"));
	assert_ok(tcpx_lane_label(rx[2], "green"));
	pass(&r, tx[0], rx[0], 3);
	pass(&r, tx[1], rx[1], 50000);
	pass(&r, tx[2], rx[2], 7);
	pass(&r, tx[2], rx[2], 0);
	assert_label(b, "anna", "red", (double[]){ 2, 0, 2, 0, 50003, 0, 0, 0 });
	assert_label(b, "anna", "bl\"ue\\", (double[]){ 1, 0, 2, 0, 7, 0, 0, 0 });
	assert_label(b, "anna", "green", NULL);
	assert_label(b, "anna", "other", NULL);
	assert_label(b, "bert", "green", (double[]){ 1, 0, 0, 2, 0, 7, 0, 0 });

	assert_ok(tcpx_lane_post(rx[2], r.far.id, 0, 8, &in));
	assert_label(b, "bert", "green", (double[]){ 1, 0, 0, 2, 0, 7, 0, 1 });
	assert_ok(tcpx_lane_label(rx[2], "lime")); /* from now on */
	assert_label(b, "bert", "green", (double[]){ 0, 0, 0, 2, 0, 7, 0, 0 });
	assert_label(b, "bert", "lime", (double[]){ 1, 0, 0, 0, 0, 0, 0, 1 });
	assert_ok(tcpx_lane_label(tx[0], NULL));
	assert_ok(tcpx_lane_label(tx[1], "red"));
	pass(&r, tx[0], rx[0], 100);
	assert_label(b, "anna", "red", (double[]){ 1, 0, 2, 0, 50003, 0, 0, 0 });

	tcpx_cancel(in);
	assert_code(tcpx_wait(in, WAIT_MS), TCPX_ECANCELED);
	tcpx_xfer_free(in);
	while (tcpx_lane_ready(tx[2]) == 0)
		sched_yield();
	assert_label(b, "bert", "lime", (double[]){ 0, 1, 0, 0, 0, 0, 0, 0 });
	assert_label(b, "anna", "bl\"ue\\", (double[]){ 0, 1, 2, 0, 7, 0, 0, 0 });
	for (int i = 0; i < 3; i++) {
		tcpx_lane_close(tx[i]);
		tcpx_lane_close(rx[i]);
	}
	assert_label(b, "anna", "red", (double[]){ 0, 0, 2, 0, 50003, 0, 0, 0 });
	rig_end(&r);
}

/* A lane that listens has its label when its sender comes. */
TEST_WITH(label_is_given_before_the_sender_is_there, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	uint8_t key[TCPX_LANE_KEY];
	tcpx_lane *tx, *rx;
	struct rig r;

	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 1 << 20, 1 << 20);
	assert_ok(tcpx_lane_listen(r.b, key, &rx));
	assert_ok(tcpx_lane_label(rx, "early"));
	assert_label(b, "bert", "early", (double[]){ 0, 0, 0, 0, 0, 0, 0, 0 });
	assert_ok(tcpx_lane_open(r.to_b, key, &tx));
	assert_ok(tcpx_lane_label(tx, "early"));
	while (tcpx_lane_ready(tx) == -EAGAIN)
		sched_yield();
	pass(&r, tx, rx, 9);
	assert_label(b, "bert", "early", (double[]){ 1, 0, 0, 1, 0, 9, 0, 0 });
	assert_label(b, "anna", "early", (double[]){ 1, 0, 1, 0, 9, 0, 0, 0 });
	tcpx_lane_close(rx);
	tcpx_lane_close(tx);
	rig_end(&r);
}

TEST_WITH(label_that_is_none_is_refused, bed_setup, bed_teardown)
{
	static const char *const bad[] = { "12345678901234567890123456789012", "a\nb", "\x7f",
					   "gr\xc3\xbcn", "\x1b[2J" };
	struct bed *b = *state;
	uint8_t key[TCPX_LANE_KEY];
	tcpx_lane *rx;
	struct rig r;

	rig_begin(&r, b->settings, b->settings);
	assert_ok(tcpx_lane_listen(r.b, key, &rx));
	assert_ok(tcpx_lane_label(rx, "1234567890123456789012345678901"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_code(tcpx_lane_label(rx, bad[i]), -EINVAL);
	assert_label(b, "bert", "1234567890123456789012345678901", (double[8]){ 0 });
	tcpx_lane_close(rx);
	rig_end(&r);
}

/* Their number is fixed, and no count is lost: that of all is the session's. */
TEST_WITH(labels_beyond_the_most_are_one, bed_setup, bed_teardown)
{
	enum { MANY = TCPX_LANE_LABELS + 3 };
	struct bed *b = *state;
	tcpx_lane *tx[MANY], *rx[MANY], *more_tx, *more_rx;
	char label[TCPX_LANE_LABEL];
	struct rig r;

	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 1 << 20, 1 << 20);
	for (int i = 0; i < MANY; i++) {
		open_lane(&r, &tx[i], &rx[i]);
		snprintf(label, sizeof(label), "label %d", i);
		assert_ok(tcpx_lane_label(tx[i], label));
		pass(&r, tx[i], rx[i], (uint64_t)i);
	}
	snprintf(label, sizeof(label), "label %d", TCPX_LANE_LABELS - 1);
	assert_label(b, "anna", label, (double[]){ 1, 0, 1, 0, TCPX_LANE_LABELS - 1, 0, 0, 0 });
	snprintf(label, sizeof(label), "label %d", TCPX_LANE_LABELS);
	assert_label(b, "anna", label, NULL);
	assert_label(b, "anna", "other", (double[]){ 3, 0, 3, 0, 3 * TCPX_LANE_LABELS + 3, 0, 0, 0 });

	/* the first without lanes gives its place away, the next with lanes does not */
	tcpx_lane_close(tx[5]);
	tcpx_lane_close(tx[6]);
	assert_label(b, "anna", "label 5", (double[]){ 0, 0, 1, 0, 5, 0, 0, 0 });
	open_lane(&r, &more_tx, &more_rx);
	assert_ok(tcpx_lane_label(more_tx, "label 4"));
	assert_label(b, "anna", "label 5", (double[]){ 0, 0, 1, 0, 5, 0, 0, 0 });
	assert_ok(tcpx_lane_label(more_tx, "new"));
	assert_label(b, "anna", "label 5", NULL);
	assert_label(b, "anna", "label 6", (double[]){ 0, 0, 1, 0, 6, 0, 0, 0 });
	assert_label(b, "anna", "other", (double[]){ 3, 0, 4, 0, 3 * TCPX_LANE_LABELS + 8, 0, 0, 0 });
	pass(&r, more_tx, more_rx, 11);
	assert_label(b, "anna", "new", (double[]){ 1, 0, 1, 0, 11, 0, 0, 0 });
	assert_ok(tcpx_lane_label(more_tx, "other")); /* a name like another's */
	assert_label(b, "anna", "other", (double[]){ 4, 0, 4, 0, 3 * TCPX_LANE_LABELS + 8, 0, 0, 0 });

	for (int i = 0; i < MANY; i++) {
		if (i != 5 && i != 6)
			tcpx_lane_close(tx[i]);
		tcpx_lane_close(rx[i]);
	}
	tcpx_lane_close(more_tx);
	tcpx_lane_close(more_rx);
	rig_end(&r);
}

struct namer {
	tcpx_lane *lane[2];
	int rc;
	_Atomic bool over;
};

static void *
name_again_and_again(void *arg)
{
	static const char *const names[] = { "a", "b", "c", NULL };
	struct namer *n = arg;

	for (unsigned i = 0; !n->over; i++) {
		n->rc = n->rc ? n->rc : tcpx_lane_label(n->lane[0], names[i % 3]);
		n->rc = n->rc ? n->rc : tcpx_lane_label(n->lane[1], names[i % 4]);
	}
	return NULL;
}

/* Each message counts once, while another thread names its lane, also before its sender is there. */
TEST_WITH(naming_beside_messages_loses_none, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	uint8_t key[TCPX_LANE_KEY];
	double messages = 0, lanes = 0;
	struct namer n = { .over = false };
	tcpx_lane *tx, *rx;
	tcpx_peer *back;
	pthread_t thread;
	const json_t *o;
	json_t *doc;
	struct rig r;
	size_t i;

	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 1 << 20, 1 << 20);
	open_lane(&r, &n.lane[0], &rx);
	assert_ok(tcpx_lane_listen(r.a, key, &n.lane[1]));
	/* the thread may begin late, and no message is to go without a name */
	assert_ok(tcpx_lane_label(n.lane[0], "a"));
	assert_int_equal(pthread_create(&thread, NULL, name_again_and_again, &n), 0);
	back = rig_add(r.b, r.a);
	assert_ok(tcpx_lane_open(back, key, &tx));
	for (int k = 0; k < 200; k++)
		pass(&r, n.lane[0], rx, k % 2 ? 100 : 50000);
	while (tcpx_lane_ready(n.lane[1]) == -EAGAIN)
		sched_yield();
	n.over = true;
	pthread_join(thread, NULL);
	assert_ok(n.rc);
	assert_ok(tcpx_lane_label(n.lane[1], "a"));
	doc = bed_look(b);
	json_array_foreach(top_list(engine_named(doc, "anna"), "lane_labels"), i, o) {
		messages += top_number(o, "lane_messages_tx");
		lanes += top_number(o, "lanes");
	}
	assert_true(messages == 200);
	assert_true(lanes == 2);
	json_decref(doc);
	tcpx_lane_close(tx);
	tcpx_lane_close(rx);
	tcpx_lane_close(n.lane[0]);
	tcpx_lane_close(n.lane[1]);
	tcpx_peer_free(back);
	rig_end(&r);
}
