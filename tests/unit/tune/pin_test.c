/* SPDX-License-Identifier: Apache-2.0 */
/* Pinning real threads: granted CPUs, missing CPUs, threads by name. */
#include "../base/base_test.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "host/host.h"
#include "tune/irq/pin.h"

static struct tcpx_cpuset own;

static int
remember_own(void **state)
{
	assert_int_equal(tcpx_host_own_cpus(&own), 0);
	return 0;
}

static int
take_back_own(void **state)
{
	struct tcpx_pin pin = { 0 };

	return tcpx_pin_thread(0, &own, &pin);
}

TEST_WITH(what_cannot_be_had_is_told, remember_own, take_back_own)
{
	struct tcpx_pin pin = { 0 };
	struct tcpx_cpuset want;
	int first = tcpx_cpuset_first(&own);

	tcpx_cpuset_init(&want);
	tcpx_cpuset_add(&want, first);
	tcpx_cpuset_add(&want, TCPX_CPUS_MAX - 1);
	assert_int_equal(tcpx_pin_thread(0, &want, &pin), 0);
	assert_int_equal(tcpx_cpuset_count(&pin.requested), 2);
	assert_int_equal(tcpx_cpuset_count(&pin.granted), 1);
	assert_true(tcpx_cpuset_has(&pin.granted, first));
	assert_int_equal(tcpx_cpuset_first(&pin.missing), TCPX_CPUS_MAX - 1);
	tcpx_cpuset_remove(&want, first);
	assert_int_equal(tcpx_pin_thread(0, &want, &pin), -EINVAL);
	tcpx_cpuset_init(&want);
	assert_int_equal(tcpx_pin_thread(0, &want, &pin), -EINVAL);
}

TEST(rules_are_read)
{
	static const struct {
		const char *text;
		int rc;
		bool spread;
	} rows[] = {
		{ "napi/eth1-*=36-51", 0, false }, { "a=b=0", 0, false }, { "*=%0,2", 0, true },
		{ "=0", -EINVAL, false },          { "a=", -EINVAL, false },
		{ "a", -EINVAL, false },           { "a=x", -EINVAL, false },
		{ "a=9999", -ERANGE, false },      { "a=%", -EINVAL, false },
		{ "a-name-of-more-than-thirty-one-bytes=0", -EINVAL, false },
	};
	struct tcpx_pin_rule rule;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check(rows[i].text, "rc", tcpx_pin_rule_parse(rows[i].text, &rule), rows[i].rc);
		if (rows[i].rc == 0)
			check(rows[i].text, "spread", rule.spread, rows[i].spread);
	}
}

static sem_t ready, leave;

static void *
worker(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	sem_post(&ready);
	sem_wait(&leave);
	return NULL;
}

/* A name may hold what the kernel's files use as marks. */
TEST_WITH(threads_are_found_by_name, remember_own, take_back_own)
{
	static char names[3][16] = { "w) x(0", "w) x(1", "other" };
	struct tcpx_pin_rule rules[2];
	struct tcpx_cpuset granted;
	struct tcpx_pin *pins;
	pthread_t thread[3];
	unsigned count;
	int first = tcpx_cpuset_first(&own), last = tcpx_cpuset_last(&own);

	sem_init(&ready, 0, 0);
	sem_init(&leave, 0, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, worker, names[i]), 0);
	for (int i = 0; i < 3; i++)
		while (sem_wait(&ready) < 0 && errno == EINTR)
			;

	memset(rules, 0, sizeof(rules));
	strcpy(rules[0].pattern, "w*");
	rules[0].spread = true;
	rules[0].cpus = own;
	strcpy(rules[1].pattern, "w) x(1");
	assert_int_equal(tcpx_pin_process(getpid(), rules, 2, &pins, &count), 0);
	assert_int_equal(count, 2);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(pins[i].rc, 0);
		assert_int_equal(tcpx_cpuset_count(&pins[i].granted), 1);
		assert_true(pins[i].tid != getpid());
	}
	assert_int_equal(tcpx_cpuset_first(&pins[0].granted), first);
	if (first != last)
		assert_int_not_equal(tcpx_cpuset_first(&pins[1].granted), first);
	free(pins);
	assert_int_equal(tcpx_host_own_cpus(&granted), 0);
	assert_true(tcpx_cpuset_equal(&granted, &own)); /* we were not meant */

	for (int i = 0; i < 3; i++)
		sem_post(&leave);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(tcpx_pin_process(0x7ffffff0, rules, 1, &pins, &count), -ESRCH);
}
