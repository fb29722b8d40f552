/* SPDX-License-Identifier: Apache-2.0 */
/* An opener that is gone, over channels that say nothing of it, and one that comes back. */
#include "nic_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct waiting {
	struct lab t;
	struct mem from, to;
	tcpx_peer *back;
	tcpx_xfer *x;
};

/* The acceptor sends what the opener never asks for: it may wait as long as both live. */
static void
wait_begin(struct waiting *w, const struct tcpx_net_ops *net)
{
	struct tcpx_desc d = { 0, 0, 4096 };

	lab_open(&w->t, net, lab_settings);
	meet(&w->t);
	assert_ok(lab_info(&w->t).status);
	mem_open(&w->from, w->t.b, 4096, TCPX_MEM_LOCAL);
	mem_open(&w->to, w->t.a, 4096, TCPX_MEM_LOCAL);
	fill(w->from.at, 4096, 5);
	assert_ok(tcpx_peer_find(w->t.b, "anna", &w->back));
	d.region = w->from.id;
	assert_ok(tcpx_send(w->back, &d, 1, 7, &w->x));
	assert_false(run_until(&w->t, over, w->x, 20 * TCPX_SEC)); /* twice TCPX_STALL_MS */
	assert_ok(tcpx_fabric_cut_control(w->t.fabric, 0));
}

static void
wait_end(struct waiting *w)
{
	tcpx_xfer_free(w->x);
	tcpx_peer_free(w->back);
	lab_close(&w->t);
	mem_close(&w->from);
	mem_close(&w->to);
}

TEST(an_opener_that_is_gone_is_missed_soon)
{
	struct waiting w;
	uint64_t took_ns;

	wait_begin(&w, &tcpx_net_loop_comm);
	tcpx_fabric_refuse_all(w.t.fabric, true);
	took_ns = run_alone(&w.t, w.t.b, over, w.x, 60 * TCPX_SEC);
	assert_code(tcpx_test(w.x), TCPX_EPEERGONE);
	assert_non_null(strstr(w.t.last, "nobody listens at its addresses"));
	assert_in_range(took_ns, 1500 * TCPX_MS, 4 * TCPX_SEC);
	wait_end(&w);
}

TEST(an_opener_that_listens_is_waited_for)
{
	struct waiting w;
	uint64_t took_ns;

	wait_begin(&w, &tcpx_net_loop_comm);
	took_ns = run_alone(&w.t, w.t.b, over, w.x, 60 * TCPX_SEC);
	assert_code(tcpx_test(w.x), TCPX_ESTALLED);
	assert_non_null(strstr(w.t.last, "not resumed"));
	assert_in_range(took_ns, 10 * TCPX_SEC, 11 * TCPX_SEC);
	wait_end(&w);
}

/* Refused for as long as an opener has to come back, or asked while it is slow: it resumes. */
TEST(an_opener_that_comes_back_is_served)
{
	static const struct {
		uint64_t refuse_ns, silent_ns;
	} rows[] = { { 900 * TCPX_MS, 0 }, { 0, 5 * TCPX_SEC }, { 1020 * TCPX_MS, 3 * TCPX_SEC } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_counters c = { .struct_size = sizeof(c) };
		struct tcpx_desc d = { 0, 0, 4096 };
		struct waiting w;
		tcpx_xfer *x;

		wait_begin(&w, &tcpx_net_loop_comm);
		tcpx_fabric_refuse_all(w.t.fabric, rows[i].refuse_ns != 0);
		run_alone(&w.t, w.t.b, over, w.x, rows[i].refuse_ns);
		tcpx_fabric_refuse_all(w.t.fabric, false);
		run_alone(&w.t, w.t.b, over, w.x, rows[i].silent_ns);
		d.region = w.to.id;
		assert_ok(tcpx_recv(w.t.p, &d, 1, 7, &x));
		assert_true(run_until(&w.t, over, x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(x));
		assert_true(run_until(&w.t, over, w.x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(w.x));
		assert_filled(w.to.at, 4096, 5);
		assert_ok(tcpx_query(w.t.b, &c));
		assert_int_equal(c.ctrl_resumes, 1);
		tcpx_xfer_free(x);
		wait_end(&w);
	}
}

static const char *const fixed[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=7001",
				     "TCPX_DEBUG=WARN", NULL, NULL };

static void
secret_write(char *setting, size_t cap)
{
	char path[] = "/tmp/tcpx-opener-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	snprintf(setting, cap, "TCPX_SECRET_FILE=%s", path);
}

/* Killed and started again at once: its successor listens where it did, and is no proof by
 * silence. Asked, it says who it is. */
TEST(an_opener_that_restarted_is_missed_as_soon_as_its_successor_answers)
{
	static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };
	char secret[64];

	secret_write(secret, sizeof(secret));
	for (int i = 0; i < 4; i++) {
		const char *set[6];
		struct tcpx_desc d = { 0, 0, 4096 };
		struct waiting w = { .back = NULL };
		uint64_t took_ns;

		memcpy(set, fixed, sizeof(set));
		set[4] = i & 1 ? secret : NULL;
		lab_open_two(&w.t, nets[i / 2], set, set);
		meet(&w.t);
		assert_ok(lab_info(&w.t).status);
		mem_open(&w.from, w.t.b, 4096, TCPX_MEM_LOCAL);
		assert_ok(tcpx_peer_find(w.t.b, "anna", &w.back));
		d.region = w.from.id;
		assert_ok(tcpx_send(w.back, &d, 1, 7, &w.x));
		assert_false(run_until(&w.t, over, w.x, TCPX_SEC));
		tcpx_fabric_break_all(w.t.fabric, true);
		lab_restart_opener(&w.t, nets[i / 2], set);
		w.t.last[0] = '\0';
		took_ns = tcpx_fabric_now(w.t.fabric);
		assert_true(run_until(&w.t, over, w.x, 20 * TCPX_SEC));
		took_ns = tcpx_fabric_now(w.t.fabric) - took_ns;
		assert_code(tcpx_test(w.x), TCPX_EPEERGONE);
		assert_non_null(strstr(w.t.last, "another incarnation answers"));
		assert_in_range(took_ns, 0, 3 * TCPX_SEC);
		tcpx_xfer_free(w.x);
		tcpx_peer_free(w.back);
		lab_close(&w.t);
		mem_close(&w.from);
	}
	unlink(strchr(secret, '=') + 1);
}
