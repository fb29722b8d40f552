/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the comparison in one process over loopback: every byte of every round
 * gets to its slot of the ring, for all shapes of connections and threads.
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "measure/perf/baseline.h"
#include "tool/tool.h"

static const struct {
	const char *name;
	unsigned threads;
	size_t out, in; /* connections */
	uint64_t size, descs, depth, call;
} cases[] = {
	{ "one connection, one thread", 1, 1, 0, 300000, 1, 1, 65536 },
	{ "four connections, one thread", 1, 4, 0, 300001, 1, 1, 65536 },
	{ "the other way", 1, 0, 3, 300000, 1, 1, 65536 },
	{ "both ways", 1, 3, 3, 2000003, 1, 1, 65536 },
	{ "two threads", 2, 3, 2, 1000003, 1, 2, 65536 },
	{ "a thread for each", 4, 2, 2, 300000, 1, 1, 65536 },
	{ "scattered pieces", 2, 4, 0, 400000, 1000, 1, 100000 },
	{ "fewer bytes than connections", 2, 8, 8, 3, 1, 1, 65536 },
};

enum { ROUNDS = 3 }; /* of a ring */

static struct layout_verdict
verify(const struct layout *l, const uint8_t *mem, uint64_t seed, uint64_t depth)
{
	struct layout_verdict v = { 0 };

	for (uint64_t d = 0; d < depth && !v.wrong; d++)
		layout_verify(l, mem + d * l->span, seed, d, depth, 99, 0, &v);
	return v;
}

TEST(every_byte_arrives)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct baseline_plan *client = calloc(2, sizeof(*client)), *server = client + 1;
		struct layouts lay;
		struct layout_verdict out, in;
		struct baseline *c, *s;
		uint64_t slots = ROUNDS * cases[i].depth, ns;
		uint8_t *mem[4];
		uint16_t port;

		assert_int_equal(layouts_init(&lay, cases[i].size, cases[i].descs, i), 0);
		for (int k = 0; k < 4; k++)
			mem[k] = calloc(slots, lay.span);
		for (uint64_t d = 0; d < slots; d++) {
			layout_fill(&lay.client_out, mem[0] + d * lay.span, pattern_of(1, d));
			layout_poison(&lay.server_out, mem[1] + d * lay.span, 99);
			layout_poison(&lay.client_in, mem[2] + d * lay.span, 99);
			layout_fill(&lay.server_in, mem[3] + d * lay.span, pattern_of(2, d));
		}
		*client = (struct baseline_plan){
			.out = &lay.client_out, .in = &lay.client_in,
			.out_mem = mem[0], .in_mem = mem[2], .span = lay.span,
			.depth = cases[i].depth, .slots = slots, .threads = cases[i].threads, .token = 7,
			.conns = cases[i].out + cases[i].in };
		for (size_t k = 0; k < client->conns; k++) {
			client->conn[k].out = k < cases[i].out;
			strcpy(client->conn[k].from, k % 2 ? "127.0.0.1" : "127.0.2.1");
			strcpy(client->conn[k].to, "127.0.0.1");
		}
		*server = *client;
		server->out = &lay.server_out;
		server->in = &lay.server_in;
		server->out_mem = mem[1];
		server->in_mem = mem[3];

		assert_int_equal(baseline_serve(server, &port, &s), 0);
		assert_int_equal(baseline_connect(client, port, &c), 0);
		baseline_set_call(c, cases[i].call);
		baseline_set_call(s, cases[i].call);
		assert_int_equal(baseline_run(c, 2, &ns), 0);
		assert_int_equal(baseline_run(c, ROUNDS - 2, &ns), 0);
		out = verify(&lay.server_out, mem[1], 1, cases[i].out ? slots : 0);
		in = verify(&lay.client_in, mem[2], 2, cases[i].in ? slots : 0);
		if (out.wrong || in.wrong)
			fail_msg("%s: %s%s", cases[i].name, out.text, in.text);
		assert_int_equal(baseline_run(c, 20, &ns), 0);
		assert_true(ns > 0);
		baseline_close(c);
		baseline_close(s);
		for (int k = 0; k < 4; k++)
			free(mem[k]);
		layouts_fini(&lay);
		free(client);
	}
}

TEST(an_echo_comes_back)
{
	/* reno is in every kernel */
	struct baseline_plan plan = { .echo = true, .threads = 1, .token = 3, .congestion = "reno",
				      .conns = 1 };
	char names[BASELINE_NAMES];
	struct baseline *c, *s;
	struct layout_verdict v;
	struct layout l;
	uint8_t *there, *back;
	uint16_t port;

	assert_int_equal(layout_init(&l, 64, 1, 0), 0);
	there = calloc(2, l.span);
	back = calloc(2, l.span);
	layout_fill(&l, there + l.span, pattern_of(1, 1));
	layout_poison(&l, back + l.span, 99);
	plan.out = plan.in = &l;
	plan.span = l.span;
	plan.out_mem = there;
	plan.in_mem = back;
	strcpy(plan.conn[0].to, "127.0.0.1");
	assert_int_equal(baseline_serve(&plan, &port, &s), 0);
	assert_int_equal(baseline_connect(&plan, port, &c), 0);
	assert_int_equal(baseline_echo(c, 1), 0);
	assert_string_equal(baseline_congestion(c, names), "reno");
	assert_string_equal(baseline_congestion(s, names), "reno");
	layout_verify(&l, back + l.span, 1, 1, 2, 99, 0, &v);
	assert_int_equal(v.wrong, 0);
	baseline_close(c);
	baseline_close(s);
	free(there);
	free(back);
	layout_fini(&l);
}

TEST(a_server_that_nobody_came_to_closes)
{
	struct baseline_plan plan = { .echo = true, .threads = 1, .conns = 1 };
	struct baseline *s;
	uint16_t port;

	assert_int_equal(baseline_serve(&plan, &port, &s), 0);
	baseline_close(s);
}
