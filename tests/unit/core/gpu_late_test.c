/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that hang, and carry out their copies when their transfers have ended. */
#include "gpu_rig.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/memory/batch.h"
#include "core/memory/memory.h"
#include "core/session/session.h"

#define LEN (1u << 20)

#define MANY 12 /* more than a window, and than all staging buffers */

/* Nothing says that a GPU hangs. Its transfers fill windows, buffers and queues before it is late. */
TEST(a_gpu_that_hangs_ends_its_transfers_only)
{
	static const char *const few[] = { "TCPX_STAGING=8M", "TCPX_STALL_MS=4000", NULL };

	for (int i = 0; i < 4; i++) {
		int hung = i & 1;
		enum tcpx_op op = i & 2 ? TCPX_OP_READ : TCPX_OP_WRITE;
		struct gpu_rig r;
		struct area *near, *far, *host, *far_host;
		tcpx_xfer *x[MANY], *y[MANY];
		uint32_t sessions;

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, few);
		near = gpu_area(&r, 0, 0, LEN, 1);
		far = gpu_area(&r, 1, 1, LEN, 2);
		host = gpu_area(&r, 0, HOST, LEN, 3);
		far_host = gpu_area(&r, 1, HOST, LEN, 4);
		r.side[hung].gpu.hung = true;
		sessions = r.side[0].e->registry.session_count;
		for (int k = 0; k < MANY; k++) {
			x[k] = gpu_post(&r, op, near, far, LEN);
			y[k] = gpu_post(&r, k & 1 ? TCPX_OP_READ : TCPX_OP_WRITE, host, far_host, LEN);
		}
		gpu_pass(&r, 3500 * TCPX_MS); /* within TCPX_STALL_MS */
		for (int k = 0; k < MANY; k++) {
			assert_code(tcpx_test(x[k]), -EIO);
			assert_ok(tcpx_test(y[k]));
			tcpx_xfer_free(x[k]);
			tcpx_xfer_free(y[k]);
		}
		assert_int_equal(r.side[0].e->count.channels_lost, 0);
		assert_int_equal(r.side[0].e->registry.session_count, sessions);

		/* it is known by now: nobody waits */
		x[0] = gpu_post(&r, op, near, far, LEN);
		y[0] = gpu_post(&r, TCPX_OP_WRITE, host, far_host, LEN);
		gpu_pass(&r, 50 * TCPX_MS);
		assert_code(gpu_finish(&r, x[0]), -EIO);
		assert_ok(gpu_finish(&r, y[0]));

		r.side[hung].gpu.hung = false;
		gpu_pass(&r, TCPX_SEC);
		fill(near->at, LEN, 5);
		fill(far->at, LEN, 6);
		assert_ok(gpu_finish(&r, gpu_post(&r, op, near, far, LEN)));
		assert_filled(near->at, LEN, op == TCPX_OP_READ ? 6 : 5);
		assert_filled(far->at, LEN, op == TCPX_OP_READ ? 6 : 5);
		gpu_end(&r);
	}
}

/* Channels that have no copy under way wait for the buffers of those that have. */
TEST(a_gpu_that_hangs_keeps_no_channel_waiting_for_a_buffer)
{
	static const char *const wide[] = { "TCPX_CHANNELS=8", "TCPX_STAGING=8M", "TCPX_CHUNK=1M",
					    "TCPX_DIST=rr", "TCPX_STALL_MS=4000", NULL };

	for (int hung = 0; hung < 2; hung++) {
		struct gpu_rig r;
		struct area *near, *far;
		tcpx_xfer *x[MANY];

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, wide);
		near = gpu_area(&r, 0, 0, LEN, 1);
		far = gpu_area(&r, 1, 1, LEN, 2);
		r.side[hung].gpu.hung = true;
		for (int k = 0; k < MANY; k++)
			x[k] = gpu_post(&r, TCPX_OP_WRITE, near, far, LEN);
		gpu_pass(&r, 3500 * TCPX_MS); /* within TCPX_STALL_MS */
		for (int k = 0; k < MANY; k++) {
			assert_code(tcpx_test(x[k]), -EIO);
			tcpx_xfer_free(x[k]);
		}
		r.side[hung].gpu.hung = false;
		gpu_pass(&r, TCPX_SEC);
		assert_ok(gpu_finish(&r, gpu_post(&r, TCPX_OP_WRITE, near, far, LEN)));
		gpu_end(&r);
	}
}

static int
lend_again(struct gpu_rig *r, const struct area *a)
{
	uint64_t id;

	return tcpx_mem_register(r->side[a->owner].e, a->at, a->len, TCPX_MEM_REMOTE_READ, &id);
}

/* The queue of a small copy, which ends no batch. */
static const struct tcpx_queue *held;

static int
poll(struct tcpx_queue *q, uint64_t ticket)
{
	return q == held ? -EAGAIN : tcpx_device_slow.poll(q, ticket);
}

/* The memory is neither read, written nor lent before they are over. */
TEST(late_copies_are_never_taken_for_new_bytes)
{
	static const char *const set[] = { "TCPX_STALL_MS=4000", "TCPX_INLINE=4096", NULL };

	for (int i = 0; i < 4; i++) {
		enum tcpx_op op = i & 1 ? TCPX_OP_READ : TCPX_OP_WRITE;
		enum tcpx_op back = i & 1 ? TCPX_OP_WRITE : TCPX_OP_READ;
		struct gpu_rig r;
		struct area *near, *far, *late;
		tcpx_xfer *x;

		gpu_begin(&r, &tcpx_net_loop_comm, 2, NULL, set);
		near = gpu_area(&r, 0, 0, LEN, 1);
		far = gpu_area(&r, 1, 1, LEN, 2);
		late = i & 1 ? near : far;
		assert_ok(gpu_finish(&r, gpu_post(&r, op, near, far, LEN)));
		r.side[late->owner].gpu.hung = true;
		x = gpu_post(&r, op, near, far, i & 2 ? 4096 : LEN);
		gpu_pass(&r, 3500 * TCPX_MS);
		assert_code(gpu_finish(&r, x), -EIO);
		assert_code(lend_again(&r, late), -EIO);
		gpu_area(&r, late->owner, late == near, LEN, 3); /* another GPU's, which it cannot reach, is lent */
		r.ops.poll = poll;
		held = r.side[late->owner].e->memory->gpus.stuck.queue;
		assert_int_equal(!held, !(i & 2));
		r.side[late->owner].gpu.hung = false; /* its copy is due */
		assert_code(gpu_finish(&r, gpu_post(&r, back, near, far, LEN)), -EIO);
		if (held)
			assert_code(gpu_finish(&r, gpu_post(&r, op, near, far, LEN)), -EIO);
		held = NULL;
		while (lend_again(&r, late) == -EIO)
			gpu_pass(&r, TCPX_MS);
		fill(late->at, LEN, 6);
		assert_ok(gpu_finish(&r, gpu_post(&r, back, near, far, LEN)));
		assert_filled(near->at, LEN, 6);
		assert_filled(far->at, LEN, 6);
		gpu_end(&r);
	}
}

static void
end_session(tcpx_engine *e)
{
	struct session *s = tcpx_session_after(e, NULL);

	assert_non_null(s);
	pthread_mutex_lock(&s->lock);
	tcpx_session_fail(s, TCPX_ETIMEDOUT, "the test ends it");
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
}

/* A channel that is closed meanwhile has slots or pages that they still read or write. */
TEST(late_copies_reach_slots_of_closed_channels)
{
	static const char *const set[] = { "TCPX_STALL_MS=4000", NULL };

	for (int i = 0; i < 8; i++) {
		struct gpu_rig r;
		int hung = i & 1, leaves = i & 4 ? hung : !hung;
		struct area *near, *far;
		tcpx_xfer *x;

		gpu_begin(&r, &tcpx_net_loop_comm, 2, NULL, set);
		near = gpu_area(&r, 0, 0, LEN, 1);
		far = gpu_area(&r, 1, 1, LEN, 2);
		r.side[hung].gpu.hung = true;
		x = gpu_post(&r, i & 2 ? TCPX_OP_READ : TCPX_OP_WRITE, near, far, LEN);
		gpu_pass(&r, 3500 * TCPX_MS);
		assert_code(gpu_finish(&r, x), -EIO);
		end_session(r.side[leaves].e);
		gpu_pass(&r, 100 * TCPX_MS);
		r.side[hung].gpu.hung = false;
		gpu_pass(&r, TCPX_SEC);
		assert_ok(lend_again(&r, hung ? far : near));
		gpu_end(&r);
	}
}

/* In a process of its own, which ends with what is left to the GPU. */
static void
close_while_it_hangs(void)
{
	struct area *near, *far;
	struct gpu_rig r;
	tcpx_xfer *x;

	gpu_begin(&r, &tcpx_net_loop_comm, 2, NULL, NULL);
	near = gpu_area(&r, 0, 0, LEN, 1);
	far = gpu_area(&r, 1, 1, LEN, 2);
	r.side[0].gpu.hung = true;
	x = gpu_post(&r, TCPX_OP_WRITE, near, far, LEN);
	gpu_pass(&r, 8 * TCPX_SEC);
	assert_code(gpu_finish(&r, x), -EIO);
	tcpx_close(r.side[0].e);
	assert_non_null(strstr(r.said, "what they may reach is left to it"));
	tcpx_close(r.side[1].e);
	assert_true(r.side[0].gpu.live > 0);
	assert_string_equal(tcpx_fabric_violation(r.fabric), ""); /* nor is the network closed below them */
	_exit(0);
}

TEST(an_engine_leaves_to_late_copies_what_they_reach)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0)
		close_while_it_hangs();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int
reach(struct tcpx_device *dev, int place, int peer)
{
	(void)dev;
	(void)place;
	(void)peer;
	return 0;
}

#define LONG (4 * LEN)

/* Other memory is sent from slots that they cannot change any more: those of new channels, or, where the
 * slots are the late GPU's, from the same ones when it has finished. */
TEST(late_copies_change_nothing_that_is_sent)
{
	static const char *const set[] = { "TCPX_STALL_MS=4000", "TCPX_CHUNK=64K", NULL };
	struct tcpx_fabric_script slow = { .delay_min_ns = { [TCPX_FABRIC_DATA] = 200 * TCPX_MS },
					   .delay_max_ns = { [TCPX_FABRIC_DATA] = 200 * TCPX_MS } };

	for (int of_gpu = 0; of_gpu < 2; of_gpu++) {
		struct area *near, *far, *other, *far_other;
		struct gpu_rig r;
		tcpx_xfer *x;

		gpu_begin(&r, &tcpx_net_loop_comm, 2, &slow, set);
		r.ops.reach = reach;
		r.side[0].e->nics.at[0].gpu = r.side[0].e->nics.at[1].gpu = of_gpu ? 0 : TCPX_ON_HOST;
		near = gpu_area(&r, 0, 0, LONG, 1);
		far = gpu_area(&r, 1, HOST, LONG, 2);
		other = gpu_area(&r, 0, of_gpu ? 1 : HOST, LONG, 3);
		far_other = gpu_area(&r, 1, HOST, LONG, 4);
		r.side[0].gpu.hung = true;
		x = gpu_post(&r, TCPX_OP_WRITE, near, far, LEN);
		gpu_pass(&r, 3200 * TCPX_MS);
		assert_code(gpu_finish(&r, x), -EIO);
		if (!of_gpu)
			assert_ok(gpu_finish(&r, gpu_post(&r, TCPX_OP_WRITE, other, far_other, 1)));
		x = gpu_post(&r, TCPX_OP_WRITE, other, far_other, LONG);
		gpu_pass(&r, 2850 * TCPX_MS); /* the next messages in these slots are on their way */
		r.side[0].gpu.hung = false;
		assert_ok(gpu_finish(&r, x));
		assert_filled(far_other->at, LONG, 3);
		gpu_end(&r);
	}
}

/* Memory of GPU 0, which is late, and of GPU 1; all slots are GPU 0's. */
static void
begin_with_two_loops(struct gpu_rig *r, const char *dist, struct area *at[4])
{
	const char *const set[] = { "TCPX_STALL_MS=4000", "TCPX_CHUNK=64K", "TCPX_THREADS=2", dist, NULL };

	gpu_begin(r, &tcpx_net_loop_comm, 2, NULL, set);
	r->ops.reach = reach;
	r->ops.poll = poll;
	r->side[0].e->nics.at[0].gpu = r->side[0].e->nics.at[1].gpu = 0;
	for (int i = 0; i < 4; i++)
		at[i] = gpu_area(r, i & 1, i & 1 ? HOST : i / 2, LONG, i + 1);
}

static const struct tcpx_queue *
queue_of(struct gpu_rig *r, int loop)
{
	return r->side[0].e->loop[loop].batches->queue[TCPX_FLOW_PACK][1];
}

/* The other channel sends all, and they do not wake each other for ever. */
TEST(a_channel_whose_slots_rest_holds_up_no_other)
{
	static const char *const dist[] = { "TCPX_DIST=pull", "TCPX_DIST=rr" };

	for (int i = 0; i < 2; i++) {
		struct area *at[4];
		struct gpu_rig r;
		tcpx_xfer *x;
		int turns = 0;

		begin_with_two_loops(&r, dist[i], at);
		held = queue_of(&r, 1);
		x = gpu_post(&r, TCPX_OP_WRITE, at[0], at[1], LEN);
		gpu_pass(&r, 3500 * TCPX_MS);
		assert_code(gpu_finish(&r, x), -EIO);
		x = gpu_post(&r, TCPX_OP_WRITE, at[2], at[3], LEN);
		while (tcpx_test(x) == -EAGAIN && turns < 20000) {
			gpu_turn(&r);
			turns++;
		}
		assert_true(turns < 20000);
		assert_ok(gpu_finish(&r, x));
		held = NULL;
		gpu_pass(&r, TCPX_SEC);
		gpu_end(&r);
	}
}

static void
lose_nic(struct gpu_rig *r, int nic)
{
	struct tcpx_engine *e = r->side[0].e;
	struct session *s = tcpx_session_after(e, NULL);

	atomic_store(&e->nics.down[nic], true);
	atomic_store(&e->nics.one_down, true);
	tcpx_session_wake_loop(s);
	tcpx_session_put(s);
}

/* Its own loop's copies are over before those of the other, whose channel is lost. */
TEST(a_channel_waits_for_the_late_copies_of_all_loops)
{
	struct area *at[4];
	struct gpu_rig r;
	tcpx_xfer *x[2];

	begin_with_two_loops(&r, "TCPX_CHUNK=1M", at);
	r.side[0].gpu.hung = true;
	for (int i = 0; i < 2; i++) {
		x[i] = gpu_post(&r, TCPX_OP_WRITE, at[0], at[1], LEN);
		gpu_pass(&r, 30 * TCPX_MS);
	}
	gpu_pass(&r, 3200 * TCPX_MS);
	assert_code(gpu_finish(&r, x[0]), -EIO);
	assert_code(gpu_finish(&r, x[1]), -EIO);
	lose_nic(&r, 0);
	gpu_pass(&r, 200 * TCPX_MS);
	x[0] = gpu_post(&r, TCPX_OP_WRITE, at[2], at[3], 60000);
	gpu_pass(&r, 100 * TCPX_MS);
	held = queue_of(&r, 0);
	r.side[0].gpu.hung = false;
	gpu_pass(&r, 150 * TCPX_MS);
	assert_code(tcpx_test(x[0]), -EAGAIN);
	held = NULL;
	gpu_pass(&r, 250 * TCPX_MS);
	assert_code(tcpx_test(x[0]), 0);
	assert_ok(gpu_finish(&r, x[0]));
	assert_filled(at[3]->at, 60000, 3);
	gpu_end(&r);
}
