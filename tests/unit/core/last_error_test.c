/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx_last_error() after each kind of failing call: the text of that failure, and no older. */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEN 100000

/* An older failure: its text must not come again. */
static void
fail_before(tcpx_engine *e)
{
	tcpx_peer *p;

	assert_code(tcpx_peer_connect(e, NULL, &p), -EINVAL);
}

static void
assert_told(tcpx_engine *e, int rc, int code, const char *words)
{
	char text[512], name[64];

	assert_code(rc, code);
	tcpx_last_error(e, text, sizeof(text));
	snprintf(name, sizeof(name), "(%s)", tcpx_strerror_name(code));
	if (!strstr(text, words) || !strstr(text, name))
		fail_msg("\"%s\": %s and %s expected", text, words, name);
}

#define TOLD(e, call, code, words)                                                     \
	do {                                                                           \
		fail_before(e);                                                        \
		assert_told(e, call, code, words);                                     \
	} while (0)

static int
setup(void **state)
{
	int rc = rig_setup(state);

	rig_memory(*state, LEN, LEN);
	return rc;
}

TEST_WITH(calls_that_are_wrong, setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc wild = { r->near.id, LEN, 1 }, far = { r->far.far, 0, 1 };
	struct tcpx_desc much[2] = { { r->far.far, 0, LEN }, { r->far.far, 0, LEN } };
	struct tcpx_xfer_info info = { .struct_size = 1 };
	struct tcpx_peer_info peer_info = { .struct_size = 1 };
	struct tcpx_counters counters = { .struct_size = 1 };
	uint64_t id;
	size_t len = 0;
	tcpx_peer *p;
	tcpx_xfer *x;
	char byte[1];

	TOLD(r->a, tcpx_peer_find(r->a, "nobody", &p), -ENOENT, "nobody");
	TOLD(r->a, tcpx_metadata(r->a, NULL, &len), -ENOBUFS, "blob of this engine");
	len = 1;
	TOLD(r->a, tcpx_mem_export(r->a, r->near.id, byte, &len), -ENOBUFS, "blob of a region");
	len = 1;
	TOLD(r->a, tcpx_mem_export(r->a, 12345, byte, &len), TCPX_ESTALE, "0x3039");
	TOLD(r->a, tcpx_mem_import(r->a, "x", 1, &id), TCPX_EBLOB, "1 bytes");
	TOLD(r->a, tcpx_mem_deregister(r->a, 12345), TCPX_ESTALE, "0x3039");
	TOLD(r->a, tcpx_mem_query(r->a, 12345, NULL, NULL), TCPX_ESTALE, "0x3039");
	TOLD(r->a, tcpx_mem_register(r->a, NULL, 1, 0, &id), -EINVAL, "length 1");
	TOLD(r->a, tcpx_peer_add(r->a, "x", 1, &p), TCPX_EBLOB, "engine blob");
	TOLD(r->a, tcpx_peer_connect(r->a, "127.0.1.1:0", &p), -EINVAL, "127.0.1.1:0");
	TOLD(r->a, tcpx_peer_query(r->to_b, &peer_info), -EINVAL, "tcpx_peer_info");
	TOLD(r->a, tcpx_query(r->a, &counters), -EINVAL, "tcpx_counters");
	TOLD(r->a, tcpx_notify(r->to_b, NULL, 1), -EINVAL, "note of 1");
	TOLD(r->a, tcpx_write(r->to_b, &wild, 1, &far, 1, NULL, 0, &x), TCPX_ERANGE, "100000");
	TOLD(r->a, tcpx_read(r->to_b, &far, 1, &far, 1, NULL, 0, &x), TCPX_ESTALE, "no live");
	wild.offset = 0;
	TOLD(r->a, tcpx_write(r->to_b, &wild, 1, much, 2, NULL, 0, &x), -EINVAL, "200000");
	assert_ok(tcpx_write(r->to_b, &wild, 1, &far, 1, NULL, 0, &x));
	TOLD(r->a, tcpx_xfer_query(x, &info), -EINVAL, "tcpx_xfer_info");
	assert_ok(finish(x));
}

/* Failures that a thread of the library has found. */
TEST_WITH(failures_found_elsewhere, setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc near = { r->near.id, 0, LEN }, far = { .len = LEN };
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	struct mem fixed;
	tcpx_xfer *x;
	int rc;

	mem_open(&fixed, r->b, LEN, TCPX_MEM_REMOTE_READ);
	far.region = mem_tell(&fixed, r->b, r->a);
	fail_before(r->a);
	assert_ok(tcpx_write(r->to_b, &near, 1, &far, 1, NULL, 0, &x));
	rc = tcpx_wait(x, WAIT_MS);
	assert_told(r->a, rc, TCPX_EKEY, "may not write region");
	TOLD(r->a, tcpx_test(x), TCPX_EKEY, "may not write region");
	tcpx_xfer_free(x);
	tcpx_close(r->b);
	r->b = NULL;
	do { /* until our thread has noticed */
		fail_before(r->a);
		rc = tcpx_peer_wait(r->to_b, 10);
	} while (rc == 0 || rc == -EAGAIN);
	assert_told(r->a, rc, TCPX_EPEERGONE, "session with bert");
	TOLD(r->a, tcpx_peer_wait(r->to_b, WAIT_MS), TCPX_EPEERGONE, "session with bert");
	assert_ok(tcpx_peer_query(r->to_b, &info));
	assert_code(info.status, TCPX_EPEERGONE);
	assert_string_not_equal(info.cause, "");
	TOLD(r->a, tcpx_notify(r->to_b, "x", 1), TCPX_EPEERGONE, "session with bert");
	TOLD(r->a, tcpx_write(r->to_b, &near, 1, &far, 1, NULL, 0, &x), TCPX_EPEERGONE,
	     "session with bert");
	mem_close(&fixed);
}

TEST(closing_with_work_left)
{
	tcpx_engine *a = rig_open("anna", NULL), *b = rig_open("bert", NULL);
	struct tcpx_desc d;
	tcpx_peer *p = rig_add(a, b);
	struct mem m;
	tcpx_xfer *x;

	mem_open(&m, a, LEN, TCPX_MEM_LOCAL);
	d = (struct tcpx_desc){ m.id, 0, LEN };
	assert_ok(tcpx_send(p, &d, 1, 7, &x)); /* which nobody receives */
	fail_before(b);
	tcpx_peer_free(p);
	assert_told(b, tcpx_close_wait(a, 1), TCPX_ETIMEDOUT, "after 1 ms");
	tcpx_close(b);
	mem_close(&m);
}
