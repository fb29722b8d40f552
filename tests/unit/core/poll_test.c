/* SPDX-License-Identifier: Apache-2.0 */
/* Polling: who runs the loop between polls, that it goes back, and several pollers at once. */
#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/transfer/transfer.h"

#define POLLERS  4
#define MESSAGES 400
#define FAR_NS   (3600 * TCPX_SEC)

static struct lease *
lease_of(tcpx_engine *e)
{
	return &e->loop[0].lease;
}

/* Until a poll has run a turn. */
static void
poll_once(tcpx_engine *e)
{
	int rc;

	while ((rc = tcpx_poll(e)) == -EAGAIN)
		sched_yield();
	assert_ok(rc);
}

static void
wait_for_holder(tcpx_engine *e, int holder)
{
	while (atomic_load(&lease_of(e)->holder) != holder)
		sched_yield();
}

static tcpx_xfer *
post(struct rig *r)
{
	struct tcpx_desc near = { r->near.id, 0, 64 }, far = { r->far.far, 0, 64 };
	tcpx_xfer *x;

	assert_ok(tcpx_write(r->to_b, &near, 1, &far, 1, NULL, 0, &x));
	return x;
}

/* As if the polls did not end for an hour: the I/O thread keeps off. */
static void
poll_for_long(tcpx_engine *e)
{
	do {
		poll_once(e);
		atomic_store(&lease_of(e)->lent_ns, engine_now(e) + FAR_NS);
	} while (atomic_load(&lease_of(e)->holder) != LEASE_NONE);
}

TEST_WITH(polls_do_the_io, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_xfer *x;

	rig_memory(r, 4096, 4096);
	assert_ok(tcpx_peer_wait(r->to_b, WAIT_MS));
	poll_for_long(r->a);
	poll_for_long(r->b);
	for (int i = 0; i < 100; i++) {
		x = post(r);
		while (atomic_load(&x->status) == -EAGAIN) {
			poll_for_long(r->a); /* nobody else does */
			poll_for_long(r->b);
		}
		assert_ok(tcpx_test(x));
		tcpx_xfer_free(x);
	}
}

TEST_WITH(without_polls_the_loop_goes_back, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	for (int i = 0; i < 50; i++) {
		poll_once(r->a);
		wait_for_holder(r->a, LEASE_IO);
	}
}

/* Until the I/O thread is about to sleep for an hour. */
static void
wait_for_sleep(tcpx_engine *e)
{
	uint64_t look_ns, end_ns = engine_now(e) + FAR_NS / 2;

	do {
		sched_yield();
		look_ns = atomic_load(&lease_of(e)->look_ns);
	} while (look_ns == UINT64_MAX || look_ns < end_ns);
}

TEST_WITH(done_gives_it_back_at_once, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	for (int i = 0; i < 50; i++) {
		poll_for_long(r->a);
		wait_for_sleep(r->a);
		tcpx_poll_done(r->a);
		wait_for_holder(r->a, LEASE_IO);
	}
	tcpx_poll_done(r->a);
	tcpx_poll_done(r->a);
}

TEST_WITH(a_poll_waits_for_nobody, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct lease *l = lease_of(r->a);

	poll_for_long(r->a);
	pthread_mutex_lock(&l->lock);
	assert_code(tcpx_poll(r->a), -EAGAIN);
	atomic_store(&l->holder, LEASE_APP);
	assert_code(tcpx_poll(r->a), -EAGAIN);
	atomic_store(&l->holder, LEASE_NONE);
	pthread_mutex_unlock(&l->lock);
	poll_once(r->a);
	tcpx_poll_done(r->a);
}

TEST_WITH(a_child_polls_nothing, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		tcpx_poll_done(r->a);
		_exit(tcpx_poll(r->a) != TCPX_ESTATE);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

struct crowd {
	struct rig *r;
	_Atomic bool stop;
	_Atomic unsigned turns;
};

/* Polls both engines, with pauses that others may fill, and gives back now and then. */
static void *
poller(void *arg)
{
	struct crowd *c = arg;

	for (unsigned i = 0; !atomic_load(&c->stop); i++) {
		if (tcpx_poll(c->r->a) == 0)
			atomic_fetch_add(&c->turns, 1);
		(void)tcpx_poll(c->r->b);
		if (i % 64 == 63)
			tcpx_poll_done(i % 128 == 127 ? c->r->a : c->r->b);
		if (i % 8 == 7)
			sched_yield();
	}
	return NULL;
}

TEST_WITH(several_pollers_beside_those_who_test_and_wait, rig_setup, rig_teardown)
{
	struct crowd c = { .r = *state };
	pthread_t id[POLLERS];
	tcpx_xfer *x;
	int rc;

	rig_memory(c.r, 4096, 4096);
	assert_ok(tcpx_peer_wait(c.r->to_b, WAIT_MS));
	for (int i = 0; i < POLLERS; i++)
		assert_int_equal(pthread_create(&id[i], NULL, poller, &c), 0);
	for (int i = 0; i < MESSAGES; i++) {
		x = post(c.r);
		while (i % 2 && (rc = tcpx_test(x)) == -EAGAIN)
			sched_yield();
		rc = i % 2 ? rc : tcpx_wait(x, WAIT_MS);
		assert_ok(rc);
		tcpx_xfer_free(x);
	}
	while (atomic_load(&c.turns) == 0)
		sched_yield();
	atomic_store(&c.stop, true);
	for (int i = 0; i < POLLERS; i++)
		pthread_join(id[i], NULL);
	wait_for_holder(c.r->a, LEASE_IO);
	wait_for_holder(c.r->b, LEASE_IO);
}

static void *
wait_without_end(void *arg)
{
	(void)tcpx_wait(arg, -1);
	return NULL;
}

/* Else the I/O thread does the second one's work, and has to wake it up each time. */
TEST_WITH(one_of_two_that_wait_takes_the_loop_when_the_other_leaves, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc near;
	tcpx_xfer *x[2];
	pthread_t id[2];

	rig_memory(r, 128, 128);
	assert_ok(tcpx_peer_wait(r->to_b, WAIT_MS));
	near = (struct tcpx_desc){ r->near.id, 0, 64 };
	for (int i = 0; i < 2; i++) {
		assert_ok(tcpx_recv(r->to_b, &near, 1, 1 + (uint64_t)i, &x[i]));
		assert_int_equal(pthread_create(&id[i], NULL, wait_without_end, x[i]), 0);
		while (i ? atomic_load(&x[1]->waiters.sleepers) == 0 :
			   atomic_load(&lease_of(r->a)->holder) != LEASE_APP)
			sched_yield();
	}
	tcpx_cancel(x[0]);
	pthread_join(id[0], NULL);
	wait_for_holder(r->a, LEASE_APP);
	tcpx_cancel(x[1]);
	pthread_join(id[1], NULL);
	for (int i = 0; i < 2; i++) {
		assert_code(tcpx_test(x[i]), TCPX_ECANCELED);
		tcpx_xfer_free(x[i]);
	}
}
