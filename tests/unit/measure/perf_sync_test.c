/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run is timed by the other side's clock. The offset of the clocks does not matter, nor
 * do some slow notes, as long as one at either end is fast.
 */
#include "cases.h"

#include <errno.h>
#include <string.h>

#include "measure/perf/sync.h"
#include "tool/tool.h"

static const struct {
	const char *name;
	int64_t apart; /* the other clock less ours */
	uint64_t way[4]; /* that each note takes */
} clocks[] = {
	{ "one clock", 0, { 10, 10, 10, 10 } },
	{ "the other is ahead", 5000000000, { 10, 10, 10, 10 } },
	{ "the other is behind", -70000, { 10, 10, 10, 10 } },
	{ "the first note is late", 0, { 4000000, 10, 12, 13 } },
	{ "the last note is late", 3, { 10, 11, 12, 4000000 } },
};

/* When @at was by the other clock, as it hears it. */
static uint64_t
told(size_t i, uint64_t at)
{
	struct sync s;

	sync_init(&s);
	for (size_t k = 0; k < 4; k++) {
		uint64_t said = at - 1000 + 100 * k;

		sync_hear(&s, said, said + (uint64_t)clocks[i].apart + clocks[i].way[k]);
	}
	return sync_map(&s, at);
}

TEST(an_interval_is_the_same_by_either_clock)
{
	for (size_t i = 0; i < ARRAY_LEN(clocks); i++) {
		uint64_t took = told(i, 1070000000) - told(i, 1000000000);

		if (took != 70000000)
			fail_msg("%s: %llu ns", clocks[i].name, (unsigned long long)took);
	}
}

TEST(a_clock_that_runs_otherwise_is_noticed)
{
	struct sync begin, end;

	sync_init(&begin);
	sync_init(&end);
	sync_hear(&begin, 1000, 2000);
	sync_hear(&end, 1000 + 1000000, 2000 + 1010000); /* 1 % faster */
	assert_int_equal(sync_map(&end, 1001000) - sync_map(&begin, 1000), 1010000);
}

/* A run takes no less than by the client's clock, however slow the notes before it were. */
TEST(slow_notes_before_a_run_make_it_no_shorter)
{
	struct sync begin, end;

	sync_init(&begin);
	sync_init(&end);
	sync_hear(&begin, 1000, 2000 + 90000);
	sync_hear(&end, 5000, 6000);
	assert_int_equal(sync_took(&end, sync_map(&begin, 2000), 4000, 2000), 2000);
	assert_int_equal(sync_took(&end, sync_map(&begin, 2000), 202000, 200000), 200000);
	assert_int_equal(sync_took(&begin, sync_map(&end, 2000), 4000, 2000), 92000);
}

TEST(times_travel_in_notes)
{
	const uint64_t ns[2] = { 0x0123456789abcdef, UINT64_MAX };
	char note[SYNC_NOTE_BYTES];
	uint64_t got[2] = { 0 };
	size_t len = sync_format(note, 'E', ns, 2);

	assert_int_equal(len, SYNC_NOTE_BYTES);
	assert_int_equal(note[0], 'E');
	assert_int_equal(note[1], 0x01);
	assert_int_equal(sync_parse(note, len, got, 2), 0);
	assert_memory_equal(got, ns, sizeof(ns));
	assert_int_equal(sync_parse(note, len, got, 1), -EINVAL);
	assert_int_equal(sync_parse(note, len - 1, got, 2), -EINVAL);
}

/* In place of the library's: a server that is silent, or whose session has ended. */
int __wrap_tcpx_note_wait(tcpx_engine *e, int timeout_ms, tcpx_note **note);
int __wrap_tcpx_notify(tcpx_peer *p, const void *data, size_t len);
int __wrap_tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info);
static int session;

int
__wrap_tcpx_note_wait(tcpx_engine *e, int timeout_ms, tcpx_note **note)
{
	(void)e, (void)timeout_ms, (void)note;
	return -EAGAIN;
}

int
__wrap_tcpx_notify(tcpx_peer *p, const void *data, size_t len)
{
	(void)p, (void)data, (void)len;
	return 0;
}

int
__wrap_tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info)
{
	(void)p;
	info->status = session;
	return 0;
}

TEST(a_server_that_does_not_answer_is_named)
{
	struct perf_args args = { .timeout_s = 0 };
	struct perf p = { .args = &args };

	assert_int_equal(sync_begin(&p), TCPX_ETIMEDOUT);
	assert_string_equal(p.refusal, "the server did not answer for 0 s");
	p.refusal[0] = '\0';
	session = TCPX_EPEERGONE; /* is not waited for */
	args.timeout_s = 86400;
	assert_int_equal(sync_end(&p, 1, 2), TCPX_EPEERGONE);
	assert_string_equal(p.refusal, "");
}
