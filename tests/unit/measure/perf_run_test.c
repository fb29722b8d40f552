/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run as either side times it, by a clock of the test's: what the client measures, what it takes
 * from the server's report, and what the server reports by its own clock and its own CPU time.
 */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/perf/load.h"
#include "measure/perf/serve.h"
#include "measure/perf/sync.h"
#include "tool/tool.h"

enum { RUN = 10, TRANSFER_NS = 100 };

static struct {
	uint64_t now_ns;
	double cpu_s;
	uint64_t ctxt_switches;
	json_t *sent; /* by the server, the last */
} seen;

/* In place of what moves bytes, talks to the other side, or looks at this process. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_load_post(struct load *l, struct load_slot *slot, const char *note);
int __wrap_load_wait(struct load *l, struct load_slot *slot);
int __wrap_perf_tell(struct perf *p, const char *type, json_t *msg, const char *want);
int __wrap_perf_await(struct perf *p, const char *want, uint64_t timeout_ms, json_t **reply);
int __wrap_sync_begin(struct perf *p);
int __wrap_sync_end(struct perf *p, uint64_t begin_ns, uint64_t end_ns);
int __wrap_tcpx_notify(tcpx_peer *p, const void *data, size_t len);
int __wrap_tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info);
int __wrap_job_send(tcpx_peer *peer, const char *type, json_t *msg);
void __wrap_usage_read(tcpx_engine *engine, const char *peer, struct usage *u);
void __wrap_usage_read_process(struct usage *u);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_nsec = (long)seen.now_ns };
	return 0;
}

int
__wrap_load_post(struct load *l, struct load_slot *slot, const char *note)
{
	(void)l, (void)note;
	slot->post_ns = seen.now_ns;
	return 0;
}

int
__wrap_load_wait(struct load *l, struct load_slot *slot)
{
	(void)l, (void)slot;
	seen.now_ns += TRANSFER_NS;
	seen.cpu_s += 0.5;
	return 0;
}

int
__wrap_perf_tell(struct perf *p, const char *type, json_t *msg, const char *want)
{
	(void)p, (void)type, (void)want;
	json_decref(msg);
	return 0;
}

/* The server's report: nothing in it is as here. */
int
__wrap_perf_await(struct perf *p, const char *want, uint64_t timeout_ms, json_t **reply)
{
	(void)p, (void)timeout_ms;
	assert_string_equal(want, "ran");
	*reply = json_pack("{s:s, s:i, s:f, s:i}", "t", "ran", "now_ns", 7777, "cpu_s", 11.0,
			   "ctxt_switches", 13);
	return 0;
}

int
__wrap_sync_begin(struct perf *p)
{
	(void)p;
	seen.now_ns += 100000; /* times go to and fro */
	seen.cpu_s += 100;
	return 0;
}

int
__wrap_sync_end(struct perf *p, uint64_t begin_ns, uint64_t end_ns)
{
	(void)p;
	assert_int_equal(end_ns - begin_ns, RUN * TRANSFER_NS);
	seen.now_ns += 100000;
	seen.cpu_s += 100;
	seen.ctxt_switches += 100;
	return 0;
}

int
__wrap_tcpx_notify(tcpx_peer *p, const void *data, size_t len)
{
	(void)p, (void)data, (void)len;
	return 0;
}

/* The client is there. */
int
__wrap_tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info)
{
	info->status = 0;
	return 0;
}

int
__wrap_job_send(tcpx_peer *peer, const char *type, json_t *msg)
{
	(void)peer;
	assert_string_equal(type, "ran");
	json_decref(seen.sent);
	seen.sent = msg;
	return 0;
}

void
__wrap_usage_read_process(struct usage *u)
{
	u->now_ns = seen.now_ns;
	u->cpu_s = seen.cpu_s;
	u->ctxt_switches = seen.ctxt_switches;
}

void
__wrap_usage_read(tcpx_engine *engine, const char *peer, struct usage *u)
{
	(void)engine, (void)peer;
	memset(u, 0, sizeof(*u));
	__wrap_usage_read_process(u);
}

TEST(client_adds_its_own_figures_and_the_servers)
{
	struct perf_args args = { .timeout_s = 1 };
	struct load_slot slot[2] = { { .post_ns = 0 } };
	struct perf perf = { .args = &args };
	struct load load = { .perf = &perf, .slot = slot, .ring = 2, .filled = 2, .window = 1 };
	struct load_stats *stats = calloc(1, sizeof(*stats));

	memset(&seen, 0, sizeof(seen));
	tcpx_hist_init(&stats->hist);
	for (unsigned run = 1; run <= 2; run++) {
		assert_int_equal(load_run(&load, RUN, stats, NULL), 0);
		assert_int_equal(stats->iters, run * RUN);
		assert_int_equal(stats->ns, run * RUN * TRANSFER_NS);
		assert_int_equal(stats->far_ns, run * 7777);
		assert_int_equal(stats->hist.count, run * RUN);
		assert_int_equal(stats->hist.max, TRANSFER_NS);
		assert_float_equal(stats->sum_us, run * RUN * TRANSFER_NS / 1000.0, 1e-9);
		assert_float_equal(stats->near.cpu_s, run * RUN * 0.5, 1e-9);
		assert_int_equal(stats->near.ctxt_switches, 0);
		assert_int_equal(stats->near.now_ns, run * RUN * TRANSFER_NS);
		assert_float_equal(stats->far.cpu_s, run * 11, 1e-9);
		assert_int_equal(stats->far.ctxt_switches, run * 13);
	}
	free(stats);
}

/* A note that the server hears at @now_ns of its clock. */
static void
hear(struct serve *s, struct client *g, uint64_t now_ns, char kind, const uint64_t *ns, size_t count)
{
	char note[SYNC_NOTE_BYTES];
	size_t len = sync_format(note, kind, ns, count);

	seen.now_ns = now_ns;
	client_note_of_run(s, g, note, len);
}

/* The server's clock runs twice as fast as the client's: 1 ms of the client is 2 ms of the server. */
TEST(server_reports_by_its_own_clock_and_cpu)
{
	const uint64_t begin = 5000000, end = 6000000, both[2] = { begin, end };
	struct serve s = { .quiet = true };
	struct client *g = calloc(1, sizeof(*g));

	memset(&seen, 0, sizeof(seen));
	g->run = (struct client_run){ .on = true, .timed = true, .iters = RUN };
	seen.cpu_s = 3;
	hear(&s, g, 2 * begin + 40, JOB_NOTE_TIME, &begin, 1);
	seen.cpu_s = 4;
	seen.ctxt_switches = 100;
	hear(&s, g, 2 * begin + 50, JOB_NOTE_GO, NULL, 0);
	seen.cpu_s = 6.5;
	seen.ctxt_switches = 117;
	hear(&s, g, 2 * end, JOB_NOTE_END, both, 2);
	seen.cpu_s = 50;
	hear(&s, g, 2 * end + 40, JOB_NOTE_TIME, &end, 1);
	assert_null(seen.sent);
	hear(&s, g, 2 * end + 99, JOB_NOTE_DONE, NULL, 0);
	assert_non_null(seen.sent);
	assert_int_equal(json_integer_value(json_object_get(seen.sent, "now_ns")), 2000000);
	assert_float_equal(json_number_value(json_object_get(seen.sent, "cpu_s")), 2.5, 1e-9);
	assert_int_equal(json_integer_value(json_object_get(seen.sent, "ctxt_switches")), 17);
	assert_int_equal(g->timed_ns, 2000000);
	assert_int_equal(g->timed_iters, RUN);
	json_decref(seen.sent);
	free(g);
}
