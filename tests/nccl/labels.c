/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes with two communicators each, which exchange a known number of messages and leave one
 * receive waiting, until a file appears: tcpx top looks at them meanwhile.
 * Usage: nccl_labels PLUGIN VERSION STOP. Exit code 0: no error, every byte right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pair.h"

enum { GROUPS = 2, FLOWS = 3, LARGEST = 100000 };

/* As the log of NCCL could have them: 16 digits, and few. */
static const struct group {
	uint64_t comm_id;
	int comms;         /* each way                                              */
	uint32_t messages; /* each                                                  */
} groups[GROUPS] = { { 0xfedcba9876543210, 2, 5 }, { 0xd1ce, 1, 3 } };

struct open_group {
	struct rank rank;
	int comms;
	struct flow send[FLOWS], recv[FLOWS];
};

static bool
open_group(struct open_group *o, const struct rank *r, const struct group *g)
{
	void *send[FLOWS], *recv[FLOWS];

	*o = (struct open_group){ .rank = *r, .comms = g->comms };
	player_join(&o->rank.player, &r->player, g->comm_id);
	if (!pair_connect(&o->rank, send, recv, g->comms))
		return false;
	for (int i = 0; i < g->comms; i++) {
		struct flow f = { .player = &o->rank.player, .largest = LARGEST,
				  .total = g->messages };

		o->send[i] = o->recv[i] = f;
		o->send[i].comm = send[i];
		o->send[i].sends = true;
		o->send[i].seed = 1 + 2 * (uint64_t)i + (uint64_t)r->me;
		o->recv[i].comm = recv[i];
		o->recv[i].seed = 1 + 2 * (uint64_t)i + (uint64_t)(1 - r->me);
		flow_open(&o->send[i]);
		flow_open(&o->recv[i]);
	}
	return true;
}

static bool
is_right(const struct flow *f)
{
	if (f->failed || f->what[0])
		fprintf(stderr, "result %d, %s; %s\n", (int)f->failed, f->what, player_warnings());
	return !f->failed && !f->what[0];
}

static bool
move(struct open_group *o)
{
	bool more = true, right = true;

	while (more) {
		more = false;
		for (int i = 0; i < o->comms; i++)
			more |= flow_step(&o->send[i]) | flow_step(&o->recv[i]);
	}
	for (int i = 0; i < o->comms; i++)
		right = right && is_right(&o->send[i]) && is_right(&o->recv[i]);
	return right;
}

static int
play(struct rank *r)
{
	struct open_group group[GROUPS];
	struct flow *waits = &group[1].recv[0];
	bool right = true;

	for (int i = 0; i < GROUPS; i++)
		right = right && open_group(&group[i], r, &groups[i]) && move(&group[i]);
	if (!right)
		return 1; /* a group may not be open */
	for (waits->total++; right && waits->posted < waits->total;)
		right = flow_step(waits);
	pair_meet(r);
	if (r->me == 0)
		puts("ready");
	fflush(stdout);
	while (right && access(r->arg, F_OK))
		usleep(10000);
	pair_meet(r);
	group[1].send[0].total++;
	right = right && move(&group[1]);
	for (int i = 0; i < GROUPS; i++) {
		for (int k = 0; k < group[i].comms; k++) {
			flow_close(&group[i].send[k]);
			flow_close(&group[i].recv[k]);
		}
		player_close(&group[i].rank.player);
	}
	return right ? 0 : 1;
}

int
main(int argc, char **argv)
{
	return argc == 4 && pair_run(argv[1], atoi(argv[2]), play, argv[3]) ? 0 : 1;
}
