/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that are dropped cost each the same, however many there are. Virtual time; locks
 * taken are the work. */
#include "nic_lab.h"

#include <pthread.h>
#include <stdlib.h>

#define FEW  50
#define MANY 800

static const char *const settings[] = { "TCPX_CHANNELS=2", "TCPX_THREADS=1", "TCPX_PORT=0", "TCPX_DEBUG=WARN",
					"TCPX_LINGER_MS=100", "TCPX_CONNECT_MS=600000", NULL };

static uint64_t locks;

int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);

int
__wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	locks++;
	return __real_pthread_mutex_lock(m);
}

static bool
none_is_left(void *engine)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };

	assert_ok(tcpx_query(engine, &c));
	return c.sessions == 0;
}

/* The locks that it takes for each of @count peers that nobody answers for, until their
 * sessions have ended. */
static uint64_t
locks_of_each(uint32_t count)
{
	tcpx_peer **p = calloc(count, sizeof(*p));
	uint64_t before;
	struct lab t;

	assert_non_null(p);
	lab_open(&t, &tcpx_net_loop, settings);
	for (int n = 0; n < NICS; n++)
		assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[0][n].addr, false));
	for (uint32_t i = 0; i < count; i++) {
		char at[64];

		snprintf(at, sizeof(at), "10.0.0.2:%u", 20000 + i);
		assert_ok(tcpx_peer_connect(t.a, at, &p[i]));
	}
	assert_false(run_until(&t, none_is_left, t.a, 10 * TCPX_MS));
	before = locks;
	for (uint32_t i = 0; i < count; i++)
		tcpx_peer_free(p[i]);
	assert_true(run_until(&t, none_is_left, t.a, 60 * TCPX_SEC));
	before = locks - before;
	free(p);
	lab_close(&t);
	return before / count;
}

TEST(a_dropped_peer_costs_the_same_beside_many)
{
	uint64_t few = locks_of_each(FEW), many = locks_of_each(MANY);

	print_message("# %llu locks a peer of %u, %llu of %u\n", (unsigned long long)few, FEW,
		      (unsigned long long)many, MANY);
	assert_in_range(many, 1, 2 * few);
}
