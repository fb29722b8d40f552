/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One allocation fails, each in turn. Opening an engine reports it and leaves nothing
 * behind; a running engine loses only what it must. Calls are wrapped at link time.
 */
#include "rig.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 2000

static _Atomic int left = -1; /* good allocations until one fails; below 0: none does */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool
fails(void)
{
	return atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0;
}

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static void
opening_survives_every_failing_allocation(void **state)
{
	int threads = thread_count(), fds = fd_count(), n, rc = -ENOMEM;
	tcpx_engine *e = NULL;

	for (n = 0; rc && n < TRIES; n++) {
		atomic_store(&left, n);
		rc = rig_try_open("anna", NULL, &e);
		if (atomic_load(&left) < 0 && rc == 0) { /* it failed and did not matter */
			tcpx_close(e);
			e = NULL;
			rc = -ENOMEM;
		}
		atomic_store(&left, -1);
		if (rc == 0)
			tcpx_close(e);
		else
			assert_null(e);
		assert_int_equal(fd_count(), fds);
		assert_threads(threads);
	}
	assert_in_range(n, 10, TRIES - 1);
}

/* The whole way of a transfer, from the first look at the peer to the last byte. */
static int
a_transfer_with(int n, const char *const *settings)
{
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	uint8_t *from = malloc(200000), *to = malloc(200000);
	struct tcpx_desc l = { 0, 0, 200000 }, f = l;
	tcpx_engine *a = rig_open("anna", settings), *b = rig_open("bert", settings);
	tcpx_peer *p = NULL;
	tcpx_xfer *x = NULL;
	int rc;

	fill(from, 200000, 1);
	memset(to, 0, 200000);
	assert_ok(tcpx_metadata(b, blob, &len));
	atomic_store(&left, n);
	rc = tcpx_mem_register(a, from, 200000, TCPX_MEM_LOCAL, &l.region);
	if (rc == 0)
		rc = tcpx_mem_register(b, to, 200000, TCPX_MEM_REMOTE_WRITE, &f.region);
	if (rc == 0)
		rc = tcpx_peer_add(a, blob, len, &p);
	if (rc == 0) {
		len = sizeof(blob);
		rc = tcpx_mem_export(b, f.region, blob, &len);
	}
	if (rc == 0)
		rc = tcpx_mem_import(a, blob, len, &f.region);
	if (rc == 0)
		rc = tcpx_write(p, &l, 1, &f, 1, "note", 4, &x);
	if (rc == 0)
		rc = tcpx_wait(x, WAIT_MS);
	if (rc == 0)
		assert_filled(to, 200000, 1);
	rc = rc ? rc : atomic_load(&left) < 0 ? -ENOMEM : 0;
	atomic_store(&left, -1);
	assert_code(rc == -EAGAIN, 0); /* it always ends */
	tcpx_xfer_free(x);
	tcpx_peer_free(p);
	tcpx_close(a);
	tcpx_close(b);
	free(from);
	free(to);
	return rc;
}

static void
a_transfer_survives_every_failing_allocation(void **state)
{
	static const char *const brief[] = { "TCPX_CHANNELS=1", "TCPX_CONNECT_MS=60",
					     "TCPX_HANDSHAKE_MS=60", "TCPX_STALL_MS=100",
					     "TCPX_KEEPALIVE_MS=50", NULL };
	int threads = thread_count(), fds = fd_count(), n;

	for (n = 0; n < TRIES && a_transfer_with(n, brief) != 0; n++) {
		assert_int_equal(fd_count(), fds);
		assert_threads(threads);
	}
	assert_in_range(n, 10, TRIES - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening_survives_every_failing_allocation),
		cmocka_unit_test(a_transfer_survives_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
