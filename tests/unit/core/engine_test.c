/* SPDX-License-Identifier: Apache-2.0 */
/* An engine: its options, its version, and its end, whatever is open. */
#include "rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIB (1u << 20)

TEST_WITH(an_engine_closes_with_everything_open, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l, f;
	tcpx_xfer *x[6];
	tcpx_peer *nobody;
	int rc;

	rig_memory(r, 32 * MIB, 32 * MIB);
	l = (struct tcpx_desc){ r->near.id, 0, 32 * MIB };
	f = (struct tcpx_desc){ r->far.far, 0, 32 * MIB };
	assert_ok(tcpx_peer_connect(r->a, "127.0.1.1:1", &nobody));
	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, "note", 4, &x[0]));
	assert_ok(tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &x[1]));
	assert_ok(tcpx_send(r->to_b, &l, 1, 1, &x[2]));
	assert_ok(tcpx_recv(r->to_b, &l, 1, 1, &x[3]));
	assert_ok(tcpx_send(nobody, &l, 1, 1, &x[4]));
	rc = tcpx_close_wait(r->a, 20);
	assert_true(rc == TCPX_ETIMEDOUT);
	r->a = NULL;
}

TEST(stop_waits_for_what_is_open)
{
	static const char *const three[] = { "TCPX_THREADS=3", "TCPX_CHANNELS=6", NULL };

	for (int i = 0; i < 10; i++) {
		struct rig r;
		struct tcpx_desc l, f;
		tcpx_xfer *x;

		rig_begin(&r, three, three);
		rig_memory(&r, 16 * MIB, 16 * MIB);
		l = (struct tcpx_desc){ r.near.id, 0, 16 * MIB };
		f = (struct tcpx_desc){ r.far.far, 0, 16 * MIB };
		assert_ok(tcpx_write(r.to_b, &l, 1, &f, 1, NULL, 0, &x));
		tcpx_peer_free(r.to_b);
		assert_ok(tcpx_close_wait(r.a, 2000));
		r.a = NULL;
		assert_filled(r.far.at, 16 * MIB, 1);
		rig_end(&r);
	}
	assert_ok(tcpx_close_wait(NULL, 0));
	tcpx_close(NULL);
}

TEST(the_library_has_the_version_of_its_header)
{
	char text[64];

	snprintf(text, sizeof(text), "%d.%d.%d", TCPX_VERSION_MAJOR, TCPX_VERSION_MINOR,
		 TCPX_VERSION_PATCH);
	assert_string_equal(tcpx_version(), text);
}

TEST(options_that_cannot_be_are_refused)
{
	static const char *const nic[] = { "TCPX_NICS=127.0.77.77x", NULL };
	static const char *const word[] = { "TCPX_DIST=never", NULL };
	static const char *const many[] = { "TCPX_CHANNELS=65", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	int fds = fd_count();
	tcpx_engine *e = NULL;
	char name[80];

	assert_int_not_equal(rig_try_open("x", nic, &e), 0);
	assert_code(rig_try_open("x", word, &e), TCPX_ECONFIG);
	assert_code(rig_try_open("x", many, &e), TCPX_ECONFIG);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	assert_code(rig_try_open(name, NULL, &e), -EINVAL);
	assert_code(rig_try_open("two\nlines", NULL, &e), -EINVAL);
	assert_code(rig_try_open("\x7f", NULL, &e), -EINVAL);
	opts.struct_size = 3;
	assert_code(tcpx_open(&opts, &e), -EINVAL);
	opts.struct_size = sizeof(opts) + 8;
	assert_code(tcpx_open(&opts, &e), -EINVAL);
	assert_null(e);
	assert_int_equal(fd_count(), fds);
}

/* How a connection to that address ends, at the engine's port. */
static int
call(tcpx_engine *e, const char *addr)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)tcpx_port(e)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	assert_int_equal(inet_pton(AF_INET, addr, &to.sin_addr), 1);
	rc = connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
	close(fd);
	return rc;
}

TEST_WITH(an_engine_listens_at_its_nics_alone, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	assert_int_equal(call(r->a, "127.0.1.1"), 0);
	assert_int_equal(call(r->a, "127.0.0.1"), ECONNREFUSED);
	assert_int_equal(call(r->a, "127.0.2.1"), ECONNREFUSED);
}
