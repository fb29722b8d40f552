/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's threads. Each communicator has a service thread, which connects, accepts, registers and closes, and a
 * progress thread, which posts and tests meanwhile. Several communicators of a process live side by side, and
 * come and go. Usage: nccl_threads PLUGIN any|ours [SEED [LIVES]]
 */
#include "cases.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

enum {
	COMMUNICATORS = 3, CONNECTIONS = 6, FLOWS = 2 * CONNECTIONS,
	KEPT = 3,    /* connections at work while others are made and closed           */
	GRANT = 4,   /* messages of each flow for one doing of the service thread      */
	LARGEST = 128 << 10,
};

static const char *plugin;
static uint64_t seed = 1;
static int lives = 2;
static bool with_aborts; /* the plugin lets go of memory at deregMr */

/* A communicator, as NCCL's ncclProxyState has it. */
struct proxy {
	struct rank rank;             /* its own link                                */
	const struct player *first;   /* that loaded the plugin                      */
	int number, life;
	struct flow flow[FLOWS];      /* of the progress thread once they are open   */
	atomic_int open;
	atomic_uint granted[FLOWS], done[FLOWS];
	atomic_bool stop, abort, failed;
	int closed;                   /* connections, from the first on              */
	unsigned busy;                /* doings beside messages under way            */
	bool good;
};

/* ---- the progress thread --------------------------------------------------------- */

static void *
run_progress(void *arg)
{
	struct proxy *p = arg;
	bool more = true, stop = false;

	while (more || !stop) {
		stop = atomic_load(&p->stop);
		more = false;
		for (int i = 0; i < atomic_load(&p->open); i++) {
			struct flow *f = &p->flow[i];

			f->total = atomic_load(&p->granted[i]);
			more |= flow_step(f);
			atomic_store(&p->done[i], f->done);
			if (f->failed || f->what[0])
				atomic_store(&p->failed, true);
		}
		if (atomic_load(&p->abort) || atomic_load(&p->failed))
			break;
		if (!more)
			sched_yield();
	}
	return NULL;
}

/* ---- the service thread ---------------------------------------------------------- */

/* Messages for the flows of all connections that stand, the same at both ends. */
static void
grant(struct proxy *p)
{
	for (int i = 2 * p->closed; i < atomic_load(&p->open); i++)
		atomic_fetch_add(&p->granted[i], GRANT);
}

static bool
is_busy(struct proxy *p)
{
	for (int i = 2 * p->closed; i < atomic_load(&p->open); i++)
		if (atomic_load(&p->done[i]) < atomic_load(&p->granted[i]))
			return true;
	return false;
}

static bool
connect_one(struct proxy *p)
{
	int open = atomic_load(&p->open);
	void *comm[2];

	if (!pair_connect(&p->rank, &comm[0], &comm[1], 1))
		return false;
	for (int i = 0; i < 2; i++) {
		bool sends = i == 0;

		p->flow[open + i] = (struct flow){
			.player = &p->rank.player, .comm = comm[i], .sends = sends, .largest = LARGEST,
			.seed = (((seed * COMMUNICATORS + (uint64_t)p->number) * 1000 + (uint64_t)p->life) *
				 FLOWS + (uint64_t)open) * 2 + (uint64_t)(sends == (p->rank.me == 0)) };
		flow_open(&p->flow[open + i]);
	}
	atomic_store(&p->open, open + 2);
	return true;
}

/* User buffers: the place that the flow has, a part of it, and another, with comms that are at work. */
static bool
register_others(struct proxy *p)
{
	const struct plug_abi *abi = p->rank.player.abi;
	const void *table = p->rank.player.table;
	static uint8_t other[COMMUNICATORS][4096];
	bool good = true;

	for (int i = 2 * p->closed; good && i < atomic_load(&p->open); i++) {
		struct flow *f = &p->flow[i];
		const struct {
			void *at;
			size_t len;
		} place[] = { { f->buffer, flow_bytes(f) }, { f->buffer + 64, LARGEST },
			      { other[p->number], sizeof(other[0]) } };
		void *mhandle[3];

		for (int k = 0; good && k < 3; k++)
			good = !abi->reg(table, f->comm, place[k].at, place[k].len, NCCL_PTR_HOST, &mhandle[k]);
		for (int k = 0; good && k < 3; k++)
			good = !abi->dereg(table, f->comm, mhandle[k]);
	}
	return good;
}

/* The oldest, after its last message, as NCCL's start does where NCCL_OOB_NET_ENABLE has it use the net. The
 * sender may not know yet that its message has come. */
static bool
close_one(struct proxy *p)
{
	struct flow *f = &p->flow[2 * p->closed];

	for (int i = 0; i < 2; i++)
		while (atomic_load(&p->done[2 * p->closed + i]) < atomic_load(&p->granted[2 * p->closed + i])) {
			if (atomic_load(&p->failed))
				return false;
			sched_yield();
		}
	flow_close(&f[0]);
	flow_close(&f[1]);
	p->closed++;
	return true;
}

static bool
is_right(struct proxy *p)
{
	for (int i = 0; i < atomic_load(&p->open); i++)
		if (p->flow[i].failed || p->flow[i].what[0]) {
			fprintf(stderr, "rank %d, communicator %d: result %d, %s; %s\n", p->rank.me,
				p->number, (int)p->flow[i].failed, p->flow[i].what, player_warnings());
			return false;
		}
	return true;
}

/* With requests open, once the other process makes no connection more. */
static bool
end_by_abort(struct proxy *p, pthread_t progress)
{
	grant(p);
	pair_meet(&p->rank);
	atomic_store(&p->abort, true);
	pthread_join(progress, NULL);
	for (int i = 2 * p->closed; i < atomic_load(&p->open); i++) {
		p->flow[i].failed = NCCL_OK; /* the other side may have been first */
		flow_abort(&p->flow[i]);
	}
	return is_right(p);
}

/* The connections that are left close once the progress thread has ended, while those of other
 * communicators are at work. */
static bool
end(struct proxy *p, pthread_t progress)
{
	atomic_store(&p->stop, true);
	pthread_join(progress, NULL);
	if (!is_right(p))
		return false;
	for (int i = 2 * p->closed; i < atomic_load(&p->open); i++)
		flow_close(&p->flow[i]);
	return true;
}

static void *
run_service(void *arg)
{
	struct proxy *p = arg;
	bool good = true, aborts = with_aborts && (p->life + p->number) % 3 == 0;
	pthread_t progress;

	if (pthread_create(&progress, NULL, run_progress, p))
		return NULL;
	for (int i = 0; good && i < CONNECTIONS; i++) {
		grant(p);
		p->busy += is_busy(p);
		good = connect_one(p);
		grant(p);
		good = good && register_others(p) && (i < KEPT || close_one(p));
	}
	if (!good) {
		atomic_store(&p->stop, true);
		pthread_join(progress, NULL);
		(void)is_right(p);
		return NULL;
	}
	p->good = aborts ? end_by_abort(p, progress) : end(p, progress);
	return NULL;
}

/* ---- communicators of a process -------------------------------------------------- */

static void
begin(struct proxy *p, int life)
{
	p->life = life;
	p->closed = 0;
	p->good = false;
	atomic_store(&p->open, 0);
	for (int i = 0; i < FLOWS; i++) {
		atomic_store(&p->granted[i], 0);
		atomic_store(&p->done[i], 0);
	}
	atomic_store(&p->stop, false);
	atomic_store(&p->abort, false);
	atomic_store(&p->failed, false);
}

/* The application's thread, which makes communicators one after the other. */
static void *
run_application(void *arg)
{
	struct proxy *p = arg;
	pthread_t service;

	for (int life = 0; life < lives; life++) {
		begin(p, life);
		player_join(&p->rank.player, p->first, (uint64_t)(p->number * 1000 + life + 1));
		if (pthread_create(&service, NULL, run_service, p))
			_Exit(5);
		pthread_join(service, NULL);
		if (!p->good)
			_Exit(4);
		player_close(&p->rank.player);
		pair_meet(&p->rank);
	}
	return NULL;
}

static int
play(struct rank *r)
{
	static struct proxy proxy[COMMUNICATORS];
	pthread_t thread[COMMUNICATORS];
	unsigned busy = 0;

	for (int i = 0; i < COMMUNICATORS; i++) {
		struct proxy *p = &proxy[i];

		p->rank = *r;
		p->rank.link = pair_link(r);
		p->number = i;
		p->first = &r->player;
		if (p->rank.link < 0 || pthread_create(&thread[i], NULL, run_application, p))
			return 1;
	}
	for (int i = 0; i < COMMUNICATORS; i++) {
		pthread_join(thread[i], NULL);
		busy += proxy[i].busy;
	}
	fprintf(stderr, "# rank %d: %u connections made beside messages under way\n", r->me, busy);
	pair_meet(r);
	return busy ? 0 : 2;
}

TEST(service_threads_work_beside_progress_threads)
{
	for (int version = 8; version <= 12; version += 4)
		if (player_has(plugin, version))
			assert_true(pair_run(plugin, version, play, NULL));
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	plugin = argv[1];
	with_aborts = !strcmp(argv[2], "ours");
	if (argc > 3)
		seed = strtoull(argv[3], NULL, 0);
	if (argc > 4)
		lives = atoi(argv[4]);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return run_cases(NULL, NULL);
}
