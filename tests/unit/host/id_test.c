/* SPDX-License-Identifier: Apache-2.0 */
/* The number of this host and network namespace: kept, and another one elsewhere. */
#include "../fixture.h"

#include <pthread.h>
#include <sched.h>

#include "host/host.h"

/* In a network namespace of its own; 0: none can be had. */
static void *
elsewhere(void *arg)
{
	uint64_t *id = arg;

	*id = unshare(CLONE_NEWNET) == 0 ? tcpx_host_id() : 0;
	return NULL;
}

static void
a_namespace_is_another_host(void **state)
{
	uint64_t here = tcpx_host_id(), there;
	pthread_t thread;

	(void)state;
	assert_int_not_equal(here, 0);
	assert_int_equal(pthread_create(&thread, NULL, elsewhere, &there), 0);
	pthread_join(thread, NULL);
	if (there == 0) {
		print_message("# skipped: no network namespaces here\n");
		skip();
	}
	assert_true(there != here);
	assert_true(tcpx_host_id() == here);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_namespace_is_another_host) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
