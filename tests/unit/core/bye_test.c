/* SPDX-License-Identifier: Apache-2.0 */
/* BYE of a peer that closes is read, though sends to that peer may fail by then. */
#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

struct talk {
	struct rig *r;
	_Atomic unsigned count;
	char why[256];
};

static void *
talk(void *arg)
{
	struct talk *t = arg;
	struct tcpx_desc d = { t->r->near.id, 0, 8 };
	tcpx_xfer *x;
	int rc;

	while ((rc = tcpx_send(t->r->to_b, &d, 1, 1, &x)) != TCPX_EPEERGONE) {
		if (rc == 0)
			tcpx_xfer_free(x);
		t->count++;
	}
	tcpx_last_error(t->r->a, t->why, sizeof(t->why));
	return NULL;
}

/* What a process says last is read, though sends to it fail by then. */
static void
a_peer_that_closes_amid_sends_says_so(void **state)
{
	static const char *const patient[] = { "TCPX_STALL_MS=600000", "TCPX_KEEPALIVE_MS=600000",
					       NULL };
	pthread_t thread;
	struct rig r;

	for (int turn = 0; turn < 10; turn++) {
		struct talk t = { .r = &r };

		rig_begin(&r, patient, patient);
		rig_memory(&r, 8, 8);
		assert_int_equal(pthread_create(&thread, NULL, talk, &t), 0);
		while (t.count < 100)
			sched_yield();
		tcpx_close(r.b);
		r.b = NULL;
		pthread_join(thread, NULL);
		assert_non_null(strstr(t.why, "engine bert closed"));
		rig_end(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_closes_amid_sends_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
