/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others do with the memory of messages under way. A GPU that runs NCCL's protocol LL reads a message while it
 * comes: words of four bytes of data and a flag of four, and what has its flag must have its data. Another
 * thread of NCCL's registers memory with the same comm. Usage: nccl_readers PLUGIN
 */
#include "cases.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"

enum { STEPS_ALL = 1000, WORDS = 4096, LINE = 2 /* words */ };

static const char *plugin;

struct readers {
	struct player *player;
	int me;
	void *send, *recv, *sends, *receives; /* comms, and the memory's handles with each */
	_Atomic uint64_t in[WORDS];
	uint64_t out[WORDS];
	_Atomic uint32_t read;  /* steps that the GPU has read whole         */
	_Atomic bool over;
	uint32_t wrong;
	uint64_t other[512];    /* for the thread that registers             */
	uint32_t registered;
};

static uint32_t
words_of(uint32_t step)
{
	uint32_t rng = step;

	return LINE * (1 + flow_random(&rng) % (step % 4 ? 64 : WORDS / LINE));
}

static uint64_t
word_of(int sender, uint32_t step, uint32_t i)
{
	return (uint64_t)step << 32 | ((i * 2654435761u) ^ (step << 4) ^ (uint32_t)sender);
}

/* The GPU, which waits for a word's flag and takes the data beside it. */
static void *
read_steps(void *arg)
{
	struct readers *a = arg;
	uint32_t looks = 0;
	uint64_t word;

	for (uint32_t step = 1; step <= STEPS_ALL; step++) {
		for (uint32_t i = 0; i < words_of(step); i++) {
			while ((word = atomic_load_explicit(&a->in[i], memory_order_acquire)) >> 32 != step) {
				if (atomic_load(&a->over))
					return NULL;
				if (++looks % 4096 == 0)
					sched_yield();
			}
			a->wrong += word != word_of(!a->me, step, i);
		}
		atomic_store(&a->read, step);
	}
	return NULL;
}

/* The service thread, for another connection's buffers of the same communicator. */
static void *
register_others(void *arg)
{
	struct readers *a = arg;
	const struct plug_abi *abi = a->player->abi;
	const void *table = a->player->table;
	void *mhandle;

	while (!atomic_load(&a->over)) {
		if (abi->reg(table, a->recv, a->other, sizeof(a->other), NCCL_PTR_HOST, &mhandle) ||
		    abi->dereg(table, a->recv, mhandle))
			break;
		a->registered++;
		sched_yield();
	}
	return NULL;
}

/* False: it failed. */
static bool
tested(struct readers *a, void **request)
{
	int done = 0, size;

	if (!*request)
		return true;
	if (a->player->abi->test(a->player->table, *request, &done, &size))
		return false;
	if (done)
		*request = NULL;
	return true;
}

/* A message each way, and until the GPU has read the one that comes. */
static bool
move(struct readers *a, uint32_t step)
{
	const struct plug_abi *abi = a->player->abi;
	const void *table = a->player->table;
	size_t len = words_of(step) * sizeof(a->out[0]);
	void *in = NULL, *out = NULL;
	bool good = true;

	for (uint32_t i = 0; i < words_of(step); i++)
		a->out[i] = word_of(a->me, step, i);
	while (good && !in)
		good = !abi->irecv(table, a->recv, (void *)a->in, len, 0, a->receives, &in);
	while (good && !out)
		good = !abi->isend(table, a->send, a->out, len, 0, a->sends, &out);
	while (good && (in || out || atomic_load(&a->read) < step)) {
		good = tested(a, &in) && tested(a, &out);
		sched_yield();
	}
	return good;
}

static int
play(struct rank *r)
{
	struct readers *a = calloc(1, sizeof(*a));
	const struct plug_abi *abi = r->player.abi;
	const void *table = r->player.table;
	pthread_t gpu, service;
	bool good;

	if (!a || !pair_connect(r, &a->send, &a->recv, 1))
		return 1;
	a->player = &r->player;
	a->me = r->me;
	good = !abi->reg(table, a->send, a->out, sizeof(a->out), NCCL_PTR_HOST, &a->sends) &&
	       !abi->reg(table, a->recv, (void *)a->in, sizeof(a->in), NCCL_PTR_HOST, &a->receives) &&
	       !pthread_create(&gpu, NULL, read_steps, a) && !pthread_create(&service, NULL, register_others, a);
	if (!good)
		return 1;
	for (uint32_t step = 1; good && step <= STEPS_ALL; step++)
		good = move(a, step);
	atomic_store(&a->over, true);
	pthread_join(gpu, NULL);
	pthread_join(service, NULL);
	good = good && !a->wrong && a->registered;
	if (!good)
		fprintf(stderr, "rank %d: %u steps, %u words wrong, %u registered; %s\n", r->me,
			(unsigned)atomic_load(&a->read), a->wrong, a->registered, player_warnings());
	pair_meet(r);
	abi->dereg(table, a->send, a->sends);
	abi->dereg(table, a->recv, a->receives);
	abi->close_send(table, a->send);
	abi->close_recv(table, a->recv);
	free(a);
	return !good;
}

TEST(what_has_its_flag_has_its_data)
{
	assert_true(pair_run(plugin, 11, play, NULL));
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	plugin = argv[1];
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return run_cases(NULL, NULL);
}
