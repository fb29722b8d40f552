/* SPDX-License-Identifier: Apache-2.0 */
/* A control frame that does not fit ends its session: no transfer waits for it for ever. */
#include "gpu_rig.h"

#include <errno.h>

#include "core/context/context.h"
#include "core/session/session.h"
#include "proto/ctrl.h"

#define LEN (64u << 10)

static struct session *
session_of(struct gpu_rig *r, int side)
{
	struct session *s = tcpx_session_after(r->side[side].e, NULL);

	assert_non_null(s);
	tcpx_session_put(s);
	return s;
}

/* With frames that mean nothing, until not one more has room. */
static void
fill_log(struct gpu_rig *r, int side, bool bulk)
{
	struct tcpx_ctrl *c = session_of(r, side)->control.ctrl;
	const uint64_t none = 0;

	while ((bulk ? tcpx_ctrl_put_bulk(c, TCPX_FR_NOTED, &none, sizeof(none), NULL) :
		       tcpx_ctrl_put(c, TCPX_FR_NOTED, &none, sizeof(none))) == 0)
		;
}

static tcpx_xfer *
post(struct gpu_rig *r, const struct area *a, bool sends)
{
	struct tcpx_desc d = { a->id, 0, LEN };
	tcpx_peer *to = r->side[a->owner].to[!a->owner];
	tcpx_xfer *x;

	assert_ok(sends ? tcpx_send(to, &d, 1, 7, &x) : tcpx_recv(to, &d, 1, 7, &x));
	return x;
}

static void
assert_ended(struct gpu_rig *r, int side)
{
	struct session *s = session_of(r, side);

	assert_int_equal(s->state, SESS_FAILED);
	assert_code(s->cause, TCPX_ELIMIT);
	gpu_pass(r, 30 * TCPX_SEC);
}

TEST(a_match)
{
	for (int first = 0; first < 2; first++) {
		struct gpu_rig r;
		struct area *near, *far;
		tcpx_xfer *send = NULL, *recv;

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
		near = gpu_area(&r, 0, HOST, LEN, 1);
		far = gpu_area(&r, 1, HOST, LEN, 2);
		if (first)
			send = post(&r, near, true);
		else
			recv = post(&r, far, false);
		gpu_turns(&r, 50);
		fill_log(&r, 1, false);
		if (first)
			recv = post(&r, far, false);
		else
			send = post(&r, near, true);
		for (int i = 0; i < 50 && session_of(&r, 1)->state == SESS_OPEN; i++)
			gpu_turn(&r);
		assert_ended(&r, 1);
		assert_code(gpu_finish(&r, recv), TCPX_ELIMIT);
		assert_true(gpu_finish(&r, send) < 0);
		gpu_end(&r);
	}
}

TEST(a_cancel)
{
	struct gpu_rig r;
	struct area *near, *far;
	tcpx_xfer *x;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	near = gpu_area(&r, 0, HOST, LEN, 1);
	far = gpu_area(&r, 1, HOST, LEN, 2);
	tcpx_fabric_hold(r.fabric, TCPX_FABRIC_DATA, TCPX_SEC);
	x = gpu_post(&r, TCPX_OP_WRITE, near, far, LEN);
	gpu_pass(&r, TCPX_MS);
	assert_int_equal(session_of(&r, 1)->xfers.live, 1);
	fill_log(&r, 0, true);
	tcpx_cancel(x);
	assert_ended(&r, 0);
	tcpx_xfer_free(x);
	gpu_end(&r);
}

/* The reader needs no frame of its own but this one. */
TEST(an_acknowledgement_of_a_plugins_channel)
{
	struct gpu_rig r;
	struct area *near, *far;
	tcpx_xfer *x;

	gpu_begin(&r, &tcpx_net_loop_comm, 2, NULL, NULL);
	near = gpu_area(&r, 0, HOST, LEN, 1);
	far = gpu_area(&r, 1, HOST, LEN, 2);
	tcpx_fabric_hold(r.fabric, TCPX_FABRIC_DATA, 5 * TCPX_MS);
	x = gpu_post(&r, TCPX_OP_READ, near, far, LEN);
	gpu_pass(&r, TCPX_MS);
	fill_log(&r, 0, false);
	for (int i = 0; i < 10000 && session_of(&r, 0)->state == SESS_OPEN; i++)
		gpu_turn(&r);
	assert_ended(&r, 0);
	assert_ok(gpu_finish(&r, x)); /* all was here before */
	gpu_end(&r);
}
