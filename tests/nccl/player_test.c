/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A net plugin of NCCL's, driven as NCCL drives it. Usage: nccl_player PLUGIN any|ours [SEED [ABORTS [VERSION]]]
 * any: what holds for each. ours: what libnccl-net-tcpx-p2p.so promises beside it.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/plugin/plug.h"
#include "pair.h"

enum { COMMS_MAX = 64 };

static const char *plugin;
static uint64_t seed = 1;
static int aborts = 40;
static int version; /* that aborts; 0: several */

struct plan {
	int comms;         /* each way                                      */
	uint32_t messages; /* each                                          */
	uint32_t largest;
	int rounds;
};

static void
open_flows(struct rank *r, struct flow *f, void **comm, bool sends, const struct plan *plan,
	   int round)
{
	for (int i = 0; i < plan->comms; i++) {
		f[i] = (struct flow){ .player = &r->player, .comm = comm[i], .sends = sends,
				      .total = plan->messages, .largest = plan->largest >> i % 3 * 2,
				      .seed = seed * 1000 + (uint64_t)round * 100 + (uint64_t)i * 2 +
					      (uint64_t)(sends == (r->me == 0)) };
		flow_open(&f[i]);
	}
}

static int
judge(struct rank *r, const struct flow *f, int count)
{
	for (int i = 0; i < count; i++) {
		if (!f[i].failed && !f[i].what[0])
			continue;
		fprintf(stderr, "rank %d comm %d: result %d, %s; %s\n", r->me, i, (int)f[i].failed,
			f[i].what, player_warnings());
		return 1;
	}
	return 0;
}

/* One progress thread for all comms. */
static void
progress(struct flow *f, int count)
{
	bool more = true;

	while (more) {
		more = false;
		for (int i = 0; i < count; i++)
			more |= flow_step(&f[i]);
	}
}

static int
play(struct rank *r)
{
	const struct plan *plan = r->arg;
	void *send[COMMS_MAX], *recv[COMMS_MAX];
	struct flow *f = calloc(2 * (size_t)plan->comms, sizeof(*f));
	int bad = 0;

	for (int round = 0; !bad && round < plan->rounds; round++) {
		if (!f || !pair_connect(r, send, recv, plan->comms))
			return 1;
		open_flows(r, f, send, true, plan, round);
		open_flows(r, f + plan->comms, recv, false, plan, round);
		progress(f, 2 * plan->comms);
		bad = judge(r, f, 2 * plan->comms);
		for (int i = 0; i < 2 * plan->comms; i++)
			flow_close(&f[i]);
	}
	pair_meet(r); /* nobody ends while the other still has messages */
	free(f);
	return bad;
}

static void
every_version_moves_messages_of_all_sizes(void **state)
{
	const struct plan plan = { .comms = 3, .messages = 16, .largest = 4 << 20, .rounds = 1 };

	for (int v = 6; v <= 12; v++)
		if (player_has(plugin, v))
			assert_true(pair_run(plugin, v, play, &plan));
}

static void
many_comms_at_once_and_again(void **state)
{
	const struct plan plan = { .comms = 48, .messages = 40, .largest = 16384, .rounds = 3 };

	assert_true(pair_run(plugin, 11, play, &plan));
}

/* ---- the process itself ---------------------------------------------------------- */

static int
play_alone(struct rank *r)
{
	const struct plan plan = { .comms = 1, .messages = 50, .largest = 1 << 20 };
	struct flow f[2];
	void *send, *recv;
	int bad;

	if (!self_connect(&r->player, &send, &recv))
		return 1;
	open_flows(r, &f[0], &send, true, &plan, 0);
	open_flows(r, &f[1], &recv, false, &plan, 0);
	f[1].seed = f[0].seed;
	progress(f, 2);
	bad = judge(r, f, 2);
	flow_close(&f[0]);
	flow_close(&f[1]);
	return bad;
}

static void
a_process_connects_to_itself(void **state)
{
	assert_true(pair_run(plugin, 12, play_alone, NULL));
}

/* ---- abort ----------------------------------------------------------------------- */

/* Both sides stop anywhere; the next communicator of the same processes is as good as new. */
static int
play_aborts(struct rank *r)
{
	const struct plan *plan = r->arg;
	uint32_t rng = (uint32_t)seed * 31 + (uint32_t)r->me + 1;
	void *send[COMMS_MAX], *recv[COMMS_MAX];
	struct flow f[2 * COMMS_MAX];
	int bad = 0;

	for (int round = 0; !bad && round < plan->rounds; round++) {
		uint32_t steps = flow_random(&rng) % 3000;

		if (!pair_connect(r, send, recv, plan->comms))
			return 1;
		open_flows(r, f, send, true, plan, round);
		open_flows(r, f + plan->comms, recv, false, plan, round);
		for (uint32_t i = 0; i < steps; i++)
			for (int k = 0; k < 2 * plan->comms; k++)
				(void)flow_step(&f[k]);
		for (int k = 0; k < 2 * plan->comms; k++) {
			f[k].failed = NCCL_OK; /* the other side may have been first */
			flow_abort(&f[k]);
		}
		bad = judge(r, f, 2 * plan->comms);
		pair_meet(r);
	}
	if (bad || !pair_connect(r, send, recv, 1))
		return 1;
	pair_meet(r);
	r->player.abi->close_send(r->player.table, send[0]);
	r->player.abi->close_recv(r->player.table, recv[0]);
	return 0;
}

static void
abort_at_any_moment_leaves_memory_alone(void **state)
{
	struct plan plan = { .comms = 3, .messages = 1000, .largest = 256 << 10, .rounds = aborts };

	assert_true(pair_run(plugin, version ? version : 11, play_aborts, &plan));
	plan.rounds = aborts / 8;
	for (int v = 8; !version && v <= 12; v += 4)
		assert_true(pair_run(plugin, v, play_aborts, &plan));
}

/* Everything that may be left half-way when a communicator fails while it is made. */
static int
play_half_way(struct rank *r)
{
	struct player *p = &r->player;
	uint8_t handle[PLUG_HANDLE_BYTES], never[PLUG_HANDLE_BYTES];
	void *listen, *forgotten, *comm = NULL, *dialing = NULL, *other = NULL;

	if (p->abi->listen(p->table, p->ctx, 0, handle, &listen) ||
	    p->abi->listen(p->table, p->ctx, 1, never, &forgotten))
		return 1;
	if (p->abi->connect(p->table, p->ctx, 0, never, &other))
		return 1; /* begun, and never asked for again: mostly it has no comm yet */
	if (p->abi->accept(p->table, listen, &comm, NULL))
		return 1;
	if (comm)
		p->abi->close_recv(p->table, comm);
	while (!dialing) {
		comm = NULL;
		if (p->abi->connect(p->table, p->ctx, 0, handle, &comm))
			return 1;
		dialing = comm;
	}
	p->abi->close_send(p->table, dialing);
	if (other)
		p->abi->close_send(p->table, other);
	p->abi->close_listen(p->table, listen); /* with what has arrived */
	p->abi->close_listen(p->table, forgotten);
	return 0;
}

static void
what_is_left_half_way_goes(void **state)
{
	assert_true(pair_run(plugin, 11, play_half_way, NULL));
}

/* ---- failure --------------------------------------------------------------------- */

static int
play_death(struct rank *r)
{
	const struct plan plan = { .comms = 2, .messages = 100000, .largest = 128 << 10 };
	void *send[2], *recv[2];
	struct flow f[4];
	bool alive = true;

	if (!pair_connect(r, send, recv, 2))
		return 1;
	open_flows(r, f, send, true, &plan, 0);
	open_flows(r, f + 2, recv, false, &plan, 0);
	while (alive) {
		for (int i = 0; i < 4; i++)
			alive &= flow_step(&f[i]);
		if (r->me == 1 && f[0].done > 20)
			_Exit(0);
	}
	if (judge(r, f, 4) == 0 || !strstr(player_warnings(), "failed: "))
		return 1;
	for (int i = 0; i < 4; i++)
		flow_abort(&f[i]);
	return 0;
}

static void
a_dead_peer_is_one_error_with_its_sentence(void **state)
{
	assert_true(pair_run(plugin, 11, play_death, NULL));
}

/* A send that is longer than its receive. */
static int
play_too_long(struct rank *r)
{
	const struct plan plan = { .comms = 1, .messages = 1, .largest = 100000 };
	void *send, *recv;
	struct flow f[2];

	if (!pair_connect(r, &send, &recv, 1))
		return 1;
	open_flows(r, &f[0], &send, true, &plan, 0);
	open_flows(r, &f[1], &recv, false, &plan, 0);
	f[0].seed = 0; /* a size that is not 0 */
	f[1].room = 0;
	while (f[0].posted == 0 || (!f[1].failed && f[1].done == 0)) {
		(void)flow_step(&f[0]);
		(void)flow_step(&f[1]);
	}
	if (f[1].failed != NCCL_INVALID_USAGE || !strstr(player_warnings(), "failed: ")) {
		fprintf(stderr, "%d: %s\n", (int)f[1].failed, player_warnings());
		return 1;
	}
	pair_meet(r);
	flow_abort(&f[0]);
	flow_abort(&f[1]);
	return 0;
}

static void
too_long_a_message_is_named(void **state)
{
	assert_true(pair_run(plugin, 11, play_too_long, NULL));
}

/* ---- what it says of itself ------------------------------------------------------ */

extern char **environ;

static int
count_words(char **words)
{
	int count = 0;

	while (words[count])
		count++;
	return count;
}

static int
play_facts(struct rank *r)
{
	struct player *p = &r->player;
	void *send, *recv, *request, *mhandle;
	int count = 0, posted = 0, words = count_words(environ);
	static char memory[64];
	struct plug_facts facts;

	if (p->abi->devices(p->table, &count) || count < 8 ||
	    p->abi->properties(p->table, count, &facts) == NCCL_OK ||
	    p->abi->properties(p->table, count - 1, &facts))
		return 1;
	if (facts.ptr_support != NCCL_PTR_HOST || facts.max_recvs != 1 || facts.speed < 1 ||
	    strcmp(p->abi->name(p->table), "tcpx-p2p") != 0)
		return 2;
	if (!pair_connect(r, &send, &recv, 1))
		return 3;
	if (p->abi->reg(p->table, recv, memory, sizeof(memory), NCCL_PTR_CUDA, &mhandle) == NCCL_OK ||
	    p->abi->reg(p->table, recv, memory, sizeof(memory), NCCL_PTR_HOST, &mhandle))
		return 4;
	do { /* one more than NCCL ever has is "again later" */
		if (p->abi->irecv(p->table, recv, memory, sizeof(memory), 0, mhandle, &request))
			return 5;
		posted += request != NULL;
	} while (request);
	if (posted != 32)
		return 6;
	pair_meet(r);
	p->abi->close_recv(p->table, recv); /* with all of them open */
	p->abi->dereg(p->table, send, mhandle);
	p->abi->close_send(p->table, send);
	return count_words(environ) == words ? 0 : 7;
}

/* 512 KiB a piece, unless the user says otherwise; nothing else of the environment is touched. */
static int
play_environ(struct rank *r)
{
	const char *piece = getenv("NCCL_P2P_NET_CHUNKSIZE");

	return piece && !strcmp(piece, r->arg) ? 0 : 1;
}

static void
it_sets_the_piece_and_spares_the_users(void **state)
{
	int words = count_words(environ);

	assert_true(pair_run(plugin, 11, play_environ, "524288"));
	setenv("NCCL_P2P_NET_CHUNKSIZE", "131072", 1);
	assert_true(pair_run(plugin, 8, play_environ, "131072"));
	unsetenv("NCCL_P2P_NET_CHUNKSIZE");
	assert_int_equal(count_words(environ), words);
}

static void
it_says_what_it_is(void **state)
{
	assert_true(pair_run(plugin, 9, play_facts, NULL));
}

static void
an_engine_refuses_to_drive_it(void **state)
{
	struct plug *p;

	assert_int_equal(plug_open(plugin, &p), -ENODEV);
}

static void
it_has_the_tables_of_all_versions(void **state)
{
	for (int v = 6; v <= 12; v++)
		assert_true(player_has(plugin, v));
}

/* What NCCL asks of any plugin, so that it holds for the sockets plugin, too. Not the abort: a
 * helper thread of that sends from memory that was deregistered. */
static const struct CMUnitTest any[] = {
	cmocka_unit_test(every_version_moves_messages_of_all_sizes),
	cmocka_unit_test(many_comms_at_once_and_again),
	cmocka_unit_test(a_process_connects_to_itself),
	cmocka_unit_test(a_dead_peer_is_one_error_with_its_sentence),
	cmocka_unit_test(too_long_a_message_is_named),
};

static const struct CMUnitTest ours[] = {
	cmocka_unit_test(an_engine_refuses_to_drive_it),
	cmocka_unit_test(it_says_what_it_is),
	cmocka_unit_test(it_has_the_tables_of_all_versions),
	cmocka_unit_test(it_sets_the_piece_and_spares_the_users),
	cmocka_unit_test(abort_at_any_moment_leaves_memory_alone),
	cmocka_unit_test(what_is_left_half_way_goes),
};

int
main(int argc, char **argv)
{
	bool is_ours = argc > 2 && !strcmp(argv[2], "ours");

	if (argc < 3 || (!is_ours && strcmp(argv[2], "any") != 0))
		return 2;
	plugin = argv[1];
	if (argc > 3)
		seed = strtoull(argv[3], NULL, 0);
	if (argc > 4)
		aborts = atoi(argv[4]);
	if (argc > 5)
		version = atoi(argv[5]);
	if (argc > 5 && (version < 6 || version > 12)) {
		fprintf(stderr, "version \"%s\": 6 to 12 are allowed\n", argv[5]);
		return 2;
	}
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return is_ours ? cmocka_run_group_tests(ours, NULL, NULL) :
			 cmocka_run_group_tests(any, NULL, NULL);
}
