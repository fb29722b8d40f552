/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn of a loop runs what was queued when it began, each work once, whatever happens to it. What is
 * about sessions comes first.
 */
#include "bare.h"

#include "core/loop/loop.h"

#define ENDLESS 1000 /* runs of one work in a turn that would not end */

struct task {
	struct work work;
	struct loop *loop;
	struct task *cancels; /* NULL: nobody */
	uint32_t runs;
};

/* Queues itself again, as a busy channel does. */
static void
again(struct work *w, uint64_t now_ns)
{
	struct task *t = tcpx_container(w, struct task, work);

	(void)now_ns;
	if (t->cancels)
		tcpx_loop_cancel(t->loop, &t->cancels->work);
	if (++t->runs < ENDLESS)
		tcpx_loop_post(t->loop, w);
}

static int64_t slept_ns;

static int
no_events(struct tcpx_poller *p, struct tcpx_net_event *ev, int max, int64_t timeout_ns)
{
	(void)p, (void)ev, (void)max;
	slept_ns = timeout_ns;
	return 0;
}

static void
begin(struct bare *b, struct task *t, size_t count)
{
	bare_open(b, true);
	b->ops.poller_wait = no_events;
	for (size_t i = 0; i < BARE_LOOPS; i++)
		tcpx_node_init(&b->loop[i].deferred);
	memset(t, 0, count * sizeof(*t));
	for (size_t i = 0; i < count; i++) {
		t[i].loop = &b->loop[1];
		t[i].work.run = again;
		tcpx_node_init(&t[i].work.node);
		tcpx_loop_post(t[i].loop, &t[i].work);
	}
}

static void
end(struct bare *b, struct task *t, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tcpx_loop_cancel(t[i].loop, &t[i].work);
	bare_close(b);
}

TEST(work_that_queues_itself_runs_once_a_turn)
{
	struct bare b;
	struct task t[3];

	begin(&b, t, 3);
	for (uint32_t turn = 1; turn < 4; turn++) {
		tcpx_loop_turn(&b.loop[1], 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(t[i].runs, turn);
	}
	end(&b, t, 3);
}

TEST(a_turn_ends_though_its_last_work_is_cancelled)
{
	struct bare b;
	struct task t[2];

	begin(&b, t, 2);
	t[0].cancels = &t[1];
	tcpx_loop_turn(&b.loop[1], 0);
	assert_int_equal(t[0].runs, 1);
	assert_int_equal(t[1].runs, 0);
	end(&b, t, 2);
}

TEST(no_turn_sleeps_while_work_is_queued)
{
	struct bare b;
	struct task t;

	for (int ahead = 0; ahead < 2; ahead++) {
		begin(&b, &t, 1);
		tcpx_loop_cancel(t.loop, &t.work);
		tcpx_loop_turn(&b.loop[1], TCPX_SEC);
		assert_int_equal(slept_ns, TCPX_SEC);
		t.work.ahead = ahead;
		tcpx_loop_post(t.loop, &t.work);
		tcpx_loop_turn(&b.loop[1], TCPX_SEC);
		assert_int_equal(t.runs, ahead ? 2 : 1); /* once more after the events */
		assert_int_equal(slept_ns, 0);
		end(&b, &t, 1);
	}
}

/* What ran, in order. */
static char order[16];

struct step {
	struct work work;
	struct source source;
	struct step *posts; /* NULL: nothing */
	char name;
};

static struct step chunk = { .name = 'c' }, session = { .name = 's', .work.ahead = true },
		   late = { .name = 'l', .work.ahead = true }, control = { .name = 'C', .source.ahead = true },
		   channel = { .name = 'D' };
static struct loop *loop;

static void
note(struct step *s)
{
	order[strlen(order)] = s->name;
	if (s->posts)
		tcpx_loop_post(loop, &s->posts->work);
}

static void
note_work(struct work *w, uint64_t now_ns)
{
	(void)now_ns;
	note(tcpx_container(w, struct step, work));
}

static void
note_event(struct source *src, unsigned ready, uint64_t now_ns)
{
	(void)ready, (void)now_ns;
	note(tcpx_container(src, struct step, source));
}

static int
two_events(struct tcpx_poller *p, struct tcpx_net_event *ev, int max, int64_t timeout_ns)
{
	(void)p, (void)timeout_ns;
	assert_true(max >= 2);
	ev[0] = (struct tcpx_net_event){ .owner = &channel.source, .ready = TCPX_READABLE };
	ev[1] = (struct tcpx_net_event){ .owner = &control.source, .ready = TCPX_READABLE };
	return 2;
}

/* Work that an event of a session causes does not wait for the chunks of that turn, nor of the next. */
TEST(sessions_come_before_chunks)
{
	struct step *all[] = { &chunk, &session, &late, &control, &channel };
	struct bare b;

	bare_open(&b, true);
	assert_true(b.s->source.ahead && b.s->dials.ahead && b.s->work.ahead && b.s->arrival.ahead);
	b.ops.poller_wait = two_events;
	loop = &b.loop[1];
	tcpx_node_init(&loop->deferred);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		tcpx_node_init(&all[i]->work.node);
		all[i]->work.run = note_work;
		all[i]->source.on_ready = note_event;
	}
	control.posts = &late;
	tcpx_loop_post(loop, &chunk.work);
	tcpx_loop_post(loop, &session.work);
	tcpx_loop_turn(loop, 0);
	assert_string_equal(order, "scClD");
	assert_false(loop->queue.any || loop->queue.any_ahead);
	bare_close(&b);
}
