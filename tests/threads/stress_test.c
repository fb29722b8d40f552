/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four application threads use two engines of three I/O threads each at once, every call
 * from every thread, for three seconds. Arrived data is checked; nothing may be late.
 */
#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"

#define SECONDS 3
#define WORKERS 3
#define AREA    (1u << 20) /* bytes a worker has at each side */

struct stress {
	struct rig rig;
	tcpx_peer *to_a;
	uint64_t end_ns;
	_Atomic uint32_t wrong, rounds, done, ended;
};

struct worker {
	struct stress *s;
	uint32_t number, tags;
	struct tcpx_rng rng;
	uint64_t far_off;
};

/* A check that fails is counted: only the main thread may leave a test. */
static bool
must(struct worker *w, bool holds, const char *what, int rc)
{
	if (!holds && atomic_fetch_add(&w->s->wrong, 1) < 8)
		print_error("worker %u: %s (%s)\n", w->number, what, tcpx_strerror_name(rc));
	return holds;
}

static uint64_t
below(struct worker *w, uint64_t n)
{
	return tcpx_rng_below(&w->rng, (uint32_t)n);
}

static bool
same(const uint8_t *at, size_t len, uint8_t value)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != value)
			return false;
	return true;
}

/* Whatever a waiting application may do with a transfer; its end. */
static int
let_run(struct worker *w, tcpx_xfer *x)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
	uint64_t spins = below(w, 200);

	switch (below(w, 6)) {
	case 0:
		while (spins-- && tcpx_test(x) == -EAGAIN)
			;
		tcpx_cancel(x);
		break;
	case 1:
		(void)tcpx_wait(x, (int)below(w, 3));
		tcpx_cancel(x);
		break;
	case 2:
		while (tcpx_test(x) == -EAGAIN)
			(void)tcpx_xfer_query(x, &info);
		break;
	default:
		return tcpx_wait(x, WAIT_MS);
	}
	return tcpx_test(x);
}

/* One transfer between memory of its own, which goes away at once when it has ended. */
static void
one_sided(struct worker *w)
{
	struct rig *r = &w->s->rig;
	bool write = below(w, 2);
	size_t len = 1 + below(w, below(w, 2) ? AREA : 10000);
	/* Nobody writes what is read: the peer may go on sending it for a moment after a
	 * cancel, and would race with what comes next. */
	uint64_t off = w->far_off + (write ? 0 : WORKERS * AREA);
	uint8_t *mine = malloc(len), *theirs = r->far.at + off;
	uint8_t value = (uint8_t)(1 + below(w, 255));
	struct tcpx_desc l = { 0, 0, len }, f = { r->far.far, off, len };
	bool gone = below(w, 4) == 0;
	tcpx_xfer *x;
	int rc;

	/* what an older, ended transfer may still send goes to a sink, not here */
	memset(mine, write ? value : 0, len);
	rc = tcpx_mem_register(r->a, mine, len, TCPX_MEM_LOCAL, &l.region);
	must(w, rc == 0, "register", rc);
	rc = write ? tcpx_write(r->to_b, &l, 1, &f, 1, "note", 4, &x) :
		     tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &x);
	if (!must(w, rc == 0, "post", rc))
		goto out;
	if (below(w, 2)) /* taken by look(), or not at all once it is freed */
		tcpx_xfer_watch(x, w->s);
	if (gone) {
		(void)tcpx_wait(x, (int)below(w, 2));
		rc = tcpx_mem_deregister(r->a, l.region);
		must(w, rc == 0, "deregister", rc);
		rc = tcpx_test(x);
		must(w, rc == 0 || rc == TCPX_EREGION, "end by deregister", rc);
	} else {
		rc = let_run(w, x);
		must(w, rc == 0 || rc == TCPX_ECANCELED, "end", rc);
	}
	if (rc == 0 && write)
		must(w, same(theirs, len, value), "bytes written", 0);
	if (rc == 0 && !write)
		must(w, memcmp(mine, theirs, len) == 0, "bytes read", 0);
	atomic_fetch_add(rc ? &w->s->ended : &w->s->done, 1);
	tcpx_xfer_free(x);
	if (!gone)
		rc = tcpx_mem_deregister(r->a, l.region);
out:
	memset(mine, 0xdd, len);
	free(mine);
}

static void
two_sided(struct worker *w)
{
	struct rig *r = &w->s->rig;
	size_t len = 1 + below(w, AREA / 2);
	struct tcpx_desc out = { r->near.id, 0, len }, in = { r->far.id, w->far_off, AREA };
	/* never the same: a receive may also meet an older send whose cancel is on its way */
	uint64_t tag = (uint64_t)w->tags++ << 8 | w->number;
	tcpx_xfer *send, *recv;
	int rc, rc2;

	rc = tcpx_recv(w->s->to_a, &in, 1, tag, &recv);
	if (!must(w, rc == 0, "receive", rc))
		return;
	rc = tcpx_send(r->to_b, &out, 1, tag, &send);
	if (!must(w, rc == 0, "send", rc)) {
		tcpx_xfer_free(recv);
		return;
	}
	rc = let_run(w, send);
	if (rc)
		tcpx_cancel(recv);
	rc2 = tcpx_wait(recv, WAIT_MS);
	must(w, rc == 0 || rc == TCPX_ECANCELED, "end of send", rc);
	must(w, rc2 == 0 || rc2 == TCPX_ECANCELED, "end of receive", rc2);
	if (rc == 0)
		must(w, memcmp(r->far.at + w->far_off, r->near.at, len) == 0, "bytes sent", 0);
	atomic_fetch_add(rc ? &w->s->ended : &w->s->done, 1);
	tcpx_xfer_free(send);
	tcpx_xfer_free(recv);
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	while (tcpx_clock_now(&tcpx_clock_system) < w->s->end_ns) {
		if (below(w, 4))
			one_sided(w);
		else
			two_sided(w);
		atomic_fetch_add(&w->s->rounds, 1);
	}
	return NULL;
}

/* Takes notes and ends, looks at everything, drops and finds peers. */
static void *
look(void *arg)
{
	struct worker *w = arg;
	struct rig *r = &w->s->rig;
	struct tcpx_counters counters = { .struct_size = sizeof(counters) };
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	struct tcpx_channel_info ch[32];
	struct tcpx_event ends[8];
	tcpx_note *n;
	tcpx_peer *p;
	size_t count;
	char text[200];

	while (tcpx_clock_now(&tcpx_clock_system) < w->s->end_ns) {
		while (tcpx_note_wait(r->b, (int)below(w, 2), &n) == 0)
			tcpx_note_free(n);
		while (tcpx_note_get(r->a, &n) == 0)
			tcpx_note_free(n);
		for (count = 8; tcpx_event_get(r->a, ends, sizeof(ends[0]), &count) == 0; count = 8)
			for (size_t i = 0; i < count; i++)
				must(w, ends[i].user == w->s && ends[i].status != -EAGAIN, "an end", 0);
		must(w, tcpx_peer_find(r->b, "anna", &p) == 0, "find", 0);
		must(w, tcpx_notify(p, "hello", 5) == 0, "notify", 0);
		(void)tcpx_peer_query(p, &info);
		tcpx_peer_free(p);
		(void)tcpx_query(r->a, &counters);
		(void)tcpx_query(r->b, &counters);
		count = 32;
		(void)tcpx_query_channels(r->a, ch, sizeof(ch[0]), &count);
		tcpx_last_error(r->a, text, sizeof(text));
	}
	return NULL;
}

static void
every_call_from_every_thread(void **state)
{
	static const char *const three[] = { "TCPX_THREADS=3", "TCPX_CHANNELS=6",
					     "TCPX_CHUNK=64K", NULL };
	struct stress *s = calloc(1, sizeof(*s));
	struct worker w[WORKERS + 1];
	pthread_t thread[WORKERS + 1];

	rig_begin(&s->rig, three, three);
	rig_memory(&s->rig, AREA, 2 * WORKERS * AREA);
	s->to_a = rig_add(s->rig.b, s->rig.a);
	assert_ok(tcpx_peer_wait(s->to_a, WAIT_MS));
	s->end_ns = tcpx_clock_now(&tcpx_clock_system) + SECONDS * TCPX_SEC;
	for (uint32_t i = 0; i <= WORKERS; i++) {
		w[i] = (struct worker){ .s = s, .number = i, .rng = tcpx_rng_seed(i + 1),
					.far_off = (uint64_t)i * AREA };
		assert_int_equal(pthread_create(&thread[i], NULL, i < WORKERS ? work : look,
						&w[i]), 0);
	}
	for (uint32_t i = 0; i <= WORKERS; i++)
		pthread_join(thread[i], NULL);
	print_message("# %u rounds, %u transfers done, %u ended early\n", s->rounds, s->done,
		      s->ended);
	assert_int_equal(s->wrong, 0);
	assert_true(s->done > 0);
	assert_true(s->ended > 0);
	assert_in_range(counters_of(s->rig.a).sessions, 1, 2);
	tcpx_peer_free(s->to_a);
	rig_end(&s->rig);
	free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_call_from_every_thread) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
