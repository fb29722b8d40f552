/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"

void
wait_ready(tcpx_lane *l, int code)
{
	int rc;

	while ((rc = tcpx_lane_ready(l)) == -EAGAIN)
		sched_yield();
	assert_code(rc, code);
}

void
close_tx(struct pipe *p)
{
	tcpx_lane_close(p->tx);
	p->tx = NULL;
}

void
close_rx(struct pipe *p)
{
	tcpx_lane_close(p->rx);
	p->rx = NULL;
}

void
pipe_open(struct pipe *p)
{
	uint8_t key[TCPX_LANE_KEY];

	assert_ok(tcpx_lane_listen(p->rig.b, key, &p->rx));
	assert_ok(tcpx_lane_open(p->rig.to_b, key, &p->tx));
	wait_ready(p->tx, 0);
	wait_ready(p->rx, 0);
}

void
pipe_begin(struct pipe *p, const char *const *sender, const char *const *receiver, size_t room)
{
	memset(p, 0, sizeof(*p));
	rig_begin(&p->rig, sender, receiver);
	rig_memory(&p->rig, room, room);
	pipe_open(p);
}

void
pipe_end(struct pipe *p)
{
	close_tx(p);
	close_rx(p);
	rig_end(&p->rig);
}

int
pipe_setup(void **state)
{
	struct pipe *p = malloc(sizeof(*p));

	assert_non_null(p);
	pipe_begin(p, NULL, NULL, PIPE_ROOM);
	*state = p;
	return 0;
}

int
pipe_teardown(void **state)
{
	pipe_end(*state);
	free(*state);
	return 0;
}

tcpx_xfer *
post_send(struct pipe *p, size_t off, size_t len)
{
	tcpx_xfer *x;

	assert_ok(tcpx_lane_post(p->tx, p->rig.near.id, off, len, &x));
	return x;
}

tcpx_xfer *
post_recv(struct pipe *p, size_t off, size_t len)
{
	tcpx_xfer *x;

	assert_ok(tcpx_lane_post(p->rx, p->rig.far.id, off, len, &x));
	return x;
}

void
end_with(tcpx_xfer *x, int code)
{
	assert_code(tcpx_wait(x, WAIT_MS), code);
	tcpx_xfer_free(x);
}

struct session *
session_of(struct pipe *p)
{
	struct session *s = tcpx_session_after(p->rig.b, NULL);

	assert_non_null(s);
	tcpx_session_put(s);
	return s;
}

void
wait_credit(struct pipe *p, uint64_t bytes)
{
	struct session *s = tcpx_session_after(p->rig.a, NULL);
	uint64_t left;

	assert_non_null(s);
	do {
		sched_yield();
		pthread_mutex_lock(&s->lock);
		left = s->lanes.credit.granted - s->lanes.credit.used;
		pthread_mutex_unlock(&s->lock);
	} while (left < bytes);
	tcpx_session_put(s);
}

void
wait_kept(struct pipe *p, uint64_t bytes)
{
	struct session *s = session_of(p);
	uint64_t used;

	do {
		sched_yield();
		pthread_mutex_lock(&s->lock);
		used = s->lanes.kept.used - s->lanes.kept.taken;
		pthread_mutex_unlock(&s->lock);
	} while (used != bytes);
}
