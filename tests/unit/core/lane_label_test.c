/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane that listens gets its session in the moment in which a call that labels it has found that it
 * has none. Calls are wrapped at link time.
 */
#include "nic_lab.h"

#include <errno.h>

#include "core/context/context.h"
#include "core/session/session.h"
#include "core/transfer/label.h"

static struct scene {
	struct lab t;
	tcpx_lane *tx, *rx;
	uint8_t key[TCPX_LANE_KEY];
	const pthread_mutex_t *waits; /* not NULL: the lane is opened when this is let go */
	uint32_t given, locked;
} scene;

int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
void __real_tcpx_label_give(struct tcpx_lane *l, const char *text);
void __wrap_tcpx_label_give(struct tcpx_lane *l, const char *text);

static bool
stands(void *arg)
{
	struct scene *c = arg;

	return tcpx_lane_ready(c->rx) == 0 && tcpx_lane_ready(c->tx) == 0;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	int rc = __real_pthread_mutex_unlock(m);

	if (m == scene.waits) {
		scene.waits = NULL;
		assert_ok(tcpx_lane_open(scene.t.p, scene.key, &scene.tx));
		assert_true(run_until(&scene.t, stands, &scene, TCPX_SEC));
	}
	return rc;
}

void
__wrap_tcpx_label_give(struct tcpx_lane *l, const char *text)
{
	scene.given++;
	scene.locked += l->session && pthread_mutex_trylock(&l->session->lock) == EBUSY;
	__real_tcpx_label_give(l, text);
}

TEST(a_label_is_given_under_the_lock_of_the_session_that_came)
{
	struct scene *c = &scene;

	lab_open(&c->t, &tcpx_net_loop, lab_settings);
	meet(&c->t);
	assert_ok(tcpx_lane_listen(c->t.b, c->key, &c->rx));
	c->waits = &c->t.b->registry.lock;
	assert_ok(tcpx_lane_label(c->rx, "late"));
	assert_null(c->waits);
	assert_int_equal(c->given, 1);
	assert_int_equal(c->locked, 1);
	assert_string_equal(c->rx->label->text, "late");
	tcpx_lane_close(c->tx);
	tcpx_lane_close(c->rx);
	lab_close(&c->t);
}
