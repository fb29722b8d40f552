/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session gives way to its twin, and is freed, in the moment in which a post with it lets go of its
 * lock. Calls are wrapped at link time. What looks at the session afterwards is found by ASan.
 */
#include "nic_lab.h"

#include <string.h>

#include "core/context/context.h"
#include "core/session/peer.h"
#include "core/session/session.h"

#define LEN 3000 /* beyond what travels in OPEN */

static struct scene {
	struct lab t;
	struct mem near, far;
	tcpx_peer *back;                /* of the second engine                        */
	tcpx_xfer *x, *recv;
	const pthread_mutex_t *waits;   /* not NULL: the twin opens when this is let go */
	bool gave_way;
} scene;

int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);

static bool
twin_alone_is_left(void *arg)
{
	struct scene *c = arg;

	return lab_info(&c->t).status == 0 && counters_of(c->t.a).sessions == 1 && !c->t.p->out;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	int rc = __real_pthread_mutex_unlock(m);

	if (m == scene.waits) {
		scene.waits = NULL;
		scene.gave_way = run_until(&scene.t, twin_alone_is_left, &scene, 10 * TCPX_SEC);
	}
	return rc;
}

/* Two that dial each other; the second, of the smaller incarnation, keeps its session. */
static void
scene_dial(struct scene *c, const char *const *settings)
{
	*c = (struct scene){ 0 };
	lab_open(&c->t, &tcpx_net_loop, settings);
	c->t.a->incarnation = 7;
	c->t.b->incarnation = 5;
	c->back = rig_add(c->t.b, c->t.a);
	c->t.p = rig_add(c->t.a, c->t.b);
}

static void
scene_open(struct scene *c)
{
	scene_dial(c, lab_settings);
	mem_open(&c->near, c->t.a, LEN, TCPX_MEM_REMOTE_WRITE);
	mem_open(&c->far, c->t.b, LEN, TCPX_MEM_REMOTE_WRITE);
	c->far.far = mem_tell(&c->far, c->t.b, c->t.a);
	fill(c->near.at, LEN, 3);
}

/* What was posted arrives over the twin. */
static void
scene_close(struct scene *c, int rc)
{
	assert_true(c->gave_way);
	assert_ok(rc);
	assert_true(run_until(&c->t, over, c->x, 10 * TCPX_SEC));
	assert_ok(tcpx_test(c->x));
	if (c->recv)
		assert_true(run_until(&c->t, over, c->recv, 10 * TCPX_SEC));
	assert_filled(c->far.at, LEN, 3);
	tcpx_xfer_free(c->x);
	tcpx_xfer_free(c->recv);
	tcpx_peer_free(c->back);
	lab_close(&c->t);
	mem_close(&c->near);
	mem_close(&c->far);
}

TEST(a_write_does_not_look_at_what_gave_way)
{
	struct scene *c = &scene;
	struct tcpx_desc l, r;

	scene_open(c);
	l = (struct tcpx_desc){ c->near.id, 0, LEN };
	r = (struct tcpx_desc){ c->far.far, 0, LEN };
	c->waits = &c->t.p->out->lock;
	scene_close(c, tcpx_write(c->t.p, &l, 1, &r, 1, NULL, 0, &c->x));
}

TEST(nor_does_a_send)
{
	struct scene *c = &scene;
	struct tcpx_desc l, r;

	scene_open(c);
	l = (struct tcpx_desc){ c->near.id, 0, LEN };
	r = (struct tcpx_desc){ c->far.id, 0, LEN };
	assert_ok(tcpx_recv(c->back, &r, 1, 7, &c->recv));
	c->waits = &c->t.p->out->lock;
	scene_close(c, tcpx_send(c->t.p, &l, 1, 7, &c->x));
}

/* The peer takes none yet: more than may be on the way wait, and later ones with them. */
TEST(notes_that_wait_move_with_the_rest)
{
	static const char *const few[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
					   "TCPX_DEBUG=WARN", "TCPX_NOTE_LIMIT=3", NULL };
	enum { BEFORE = 200, AFTER = 100 };
	struct scene *c = &scene;
	char text[16];

	scene_dial(c, few);
	for (int i = 0; i < BEFORE + AFTER; i++) {
		if (i == BEFORE)
			assert_true(run_until(&c->t, twin_alone_is_left, c, 10 * TCPX_SEC));
		snprintf(text, sizeof(text), "%d", i);
		assert_ok(tcpx_notify(c->t.p, text, strlen(text)));
	}
	for (int i = 0; i < BEFORE + AFTER; i++) {
		tcpx_note *n = NULL;
		size_t len;

		while (tcpx_note_get(c->t.b, &n) != 0)
			assert_false(run_until(&c->t, never, NULL, TCPX_MS));
		snprintf(text, sizeof(text), "%d", i);
		assert_memory_equal(tcpx_note_data(n, &len), text, strlen(text));
		assert_int_equal(len, strlen(text));
		tcpx_note_free(n);
	}
	tcpx_peer_free(c->back);
	lab_close(&c->t);
}
